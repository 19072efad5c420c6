//! A world: one machine with a server, its clients, the network between them, and time.
//!
//! Everything that is going to happen stands in one row by its moment. The world takes the first, lets it happen, and so
//! on; nothing else makes time pass.

mod finale;
mod life;
mod network;
mod strike;

use crate::checker::Violation;
use crate::clients::{Client, News, Next, Role, client};
use crate::faults::FaultKind;
use crate::history::Fact;
use crate::machine::{Answer, Server, Settings};
use crate::options::Options;
use crate::random::stream;
use crate::time::{Moment, SystemClock};
use crate::watch::Watch;
use network::Network;
use std::collections::BTreeMap;
use strike::Plan;
use tidegate_engine::Command;
use tidegate_log::MemoryStorage;

/// Something that is going to happen.
enum Event {
    /// The owner's thread wakes.
    Turn,
    /// The keeper's thread wakes.
    House,
    /// A client goes on, unless it has meanwhile.
    Wake {
        client: usize,
        attempt: u64,
    },
    /// A client has waited for an answer long enough.
    GiveUp {
        client: usize,
        attempt: u64,
    },
    /// A request arrives; the answer to a copy finds nobody.
    Arrive {
        client: usize,
        attempt: u64,
        command: Box<Command>,
        is_copy: bool,
    },
    /// An answer arrives.
    Deliver {
        client: usize,
        attempt: u64,
        answer: Box<Answer>,
    },
    /// The server learns that a caller is gone.
    HangUp {
        client: usize,
        attempt: u64,
    },
    Strike(FaultKind),
    /// Something that lasted is over.
    Relief(FaultKind),
    Restart,
    Look,
}

/// A client and what it waits for.
struct Seat {
    client: Box<dyn Client>,
    /// Counts what it did; what belongs to an earlier number is of no interest any more.
    attempt: u64,
    waits: bool,
}

pub(crate) struct World {
    moment: Moment,
    system: SystemClock,
    events: BTreeMap<(Moment, u64), Event>,
    next_event: u64,
    storage: MemoryStorage,
    settings: Settings,
    server: Option<Server>,
    /// When the owner wakes; other turns in the row are out of date.
    turn_at: Option<Moment>,
    house_at: Option<Moment>,
    /// Until when the owner is busy or paused.
    busy_until: Moment,
    /// At which operation of the disk the power fails.
    power_off_at: Option<u64>,
    seats: Vec<Seat>,
    network: Network,
    plan: Plan,
    /// Chance of what is not chosen by anybody: how long the disk takes, where a write is torn.
    nature: fastrand::Rng,
    next_tag: u64,
    /// Answers to what was asked in the end.
    witnessed: Vec<Option<Answer>>,
    watch: Watch,
}

impl World {
    pub(crate) fn new(options: &Options, is_traced: bool) -> Self {
        let mut nature = stream(options.seed, "nature");
        let settings = life::settings(&mut nature);
        let roles = Role::ALL.into_iter().filter(|role| !options.without_clients.contains(role));
        let seats = roles.map(|role| Seat { client: client(role, options.seed), attempt: 0, waits: false });
        World {
            moment: Moment::default(),
            system: SystemClock::default(),
            events: BTreeMap::new(),
            next_event: 0,
            storage: MemoryStorage::new(),
            settings,
            server: None,
            turn_at: None,
            house_at: None,
            busy_until: Moment::default(),
            power_off_at: None,
            seats: seats.collect(),
            network: Network::new(options),
            plan: Plan::new(options),
            nature,
            next_tag: 1,
            witnessed: Vec::new(),
            watch: Watch::new(is_traced),
        }
    }

    /// Runs to the end, or until a promise is broken.
    pub(crate) fn run(&mut self) -> Result<(), Violation> {
        self.begin()?;
        while let Some(entry) = self.events.first_entry() {
            let (moment, _) = *entry.key();
            if moment > self.plan.end {
                break;
            }
            let event = entry.remove();
            self.pass_to(moment);
            self.happen(event)?;
        }
        self.pass_to(self.plan.end);
        self.finish()
    }

    pub(crate) fn into_watch(self) -> Watch {
        self.watch
    }

    fn pass_to(&mut self, moment: Moment) {
        self.moment = self.moment.max(moment);
        self.watch.moment = self.moment;
    }

    fn schedule(&mut self, millis: u64, event: Event) {
        self.next_event += 1;
        self.events.insert((self.moment.after(millis), self.next_event), event);
    }

    fn happen(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Turn if self.turn_at == Some(self.moment) => return self.turn(),
            Event::House if self.house_at == Some(self.moment) => return self.keep_house(),
            Event::Turn | Event::House => {}
            Event::Wake { client, attempt } => {
                if self.seats[client].attempt == attempt {
                    self.tell(client, News::Woke);
                }
            }
            Event::GiveUp { client, attempt } => {
                if self.seats[client].attempt == attempt && self.seats[client].waits {
                    self.schedule(1, Event::HangUp { client, attempt });
                    self.tell(client, News::NoAnswer);
                }
            }
            Event::Arrive { client, attempt, command, is_copy } => {
                self.arrive(client, attempt, *command, is_copy);
            }
            Event::Deliver { client, attempt, answer } => {
                if self.seats[client].attempt == attempt && self.seats[client].waits {
                    self.tell(client, News::Answered(&answer));
                }
            }
            Event::HangUp { client, attempt } => self.hang_up(client, attempt),
            Event::Strike(kind) => return self.strike(kind),
            Event::Relief(kind) => self.relieve(kind),
            Event::Restart => return self.restart(),
            Event::Look => {
                self.schedule(self.plan.look_every, Event::Look);
                return self.look().map(drop);
            }
        }
        Ok(())
    }

    /// Tells a client something, and does what it does then.
    fn tell(&mut self, client: usize, news: News<'_>) {
        let seat = &mut self.seats[client];
        seat.attempt += 1;
        let attempt = seat.attempt;
        let next = seat.client.go_on(news);
        seat.waits = matches!(next, Next::Ask(_));
        match next {
            Next::Ask(command) => self.send(client, attempt, command),
            Next::Rest(millis) => self.schedule(millis, Event::Wake { client, attempt }),
        }
    }

    /// Looks at everything that is stored, if the server is up; returns the number of messages.
    fn look(&mut self) -> Result<usize, Violation> {
        let Some(server) = &mut self.server else { return Ok(0) };
        let now = server.now(&self.system, self.moment);
        let look = server.look(now);
        while let Some(error) = server.poll_error() {
            self.watch.note_unreadable(&*error)?;
        }
        self.watch.observe(&Fact::Looked(&look))?;
        if !self.watch.is_damaged {
            server.audit().map_err(|what| Violation { checker: "audit", what })?;
        }
        Ok(look.queues.iter().map(|queue| queue.messages.len()).sum())
    }
}
