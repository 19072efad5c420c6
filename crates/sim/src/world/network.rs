//! Requests and answers on their way.

use super::{Event, World};
use crate::content::{Tag, body, digest, id};
use crate::faults::FaultKind;
use crate::machine::{Answer, Caller, Input};
use crate::options::Options;
use crate::random::stream;
use std::collections::BTreeMap;
use std::time::Duration;
use tidegate_engine::{Command, MoveTaskId, Receive, Reply};

/// The network, and how bad it is.
pub(super) struct Network {
    delays: fastrand::Rng,
    /// For each kind of fault its own chance, and how many of a thousand it befalls.
    faults: BTreeMap<FaultKind, (fastrand::Rng, u32)>,
}

impl Network {
    pub(super) fn new(options: &Options) -> Self {
        let kinds = FaultKind::ALL.into_iter().filter(|kind| kind.is_of_network());
        let faults = kinds.filter(|kind| !options.without_faults.contains(kind)).map(|kind| {
            let mut random = stream(options.seed, kind.name());
            let per_mille = random.choice([0, 5, 30, 100]).expect("one of four");
            (kind, (random, per_mille))
        });
        Network { delays: stream(options.seed, "network"), faults: faults.collect() }
    }

    /// No faults any more.
    pub(super) fn heal(&mut self) {
        self.faults.clear();
    }

    fn delay(&mut self) -> u64 {
        self.delays.u64(0..20)
    }

    /// Whether a fault befalls something; if so, a number that says how.
    fn befalls(&mut self, kind: FaultKind) -> Option<u64> {
        let (random, per_mille) = self.faults.get_mut(&kind)?;
        (random.u32(0..1000) < *per_mille).then(|| random.u64(..))
    }
}

/// How long a client waits for an answer beyond what it asked for, in milliseconds.
const PATIENCE: u64 = 5_000;
/// Longest wait of a receive.
const WAIT_MAX: u64 = 20_000;

impl World {
    /// A client's request goes on its way.
    pub(super) fn send(&mut self, client: usize, attempt: u64, command: Command) {
        let wait = match &command {
            Command::Receive(Receive { wait: Some(wait), .. }) => wait.as_millis() as u64,
            Command::Receive(_) => WAIT_MAX,
            _ => 0,
        };
        self.schedule(wait + PATIENCE, Event::GiveUp { client, attempt });
        if let Some(how) = self.befalls(FaultKind::VanishedCaller).filter(|_| wait > 0) {
            self.watch.tally.strike(FaultKind::VanishedCaller);
            self.seats[client].client.forget();
            self.schedule(how % wait, Event::GiveUp { client, attempt });
        }
        let delay = self.network.delay();
        if let Some(how) = self.befalls(FaultKind::DuplicatedRequest) {
            self.watch.tally.strike(FaultKind::DuplicatedRequest);
            let command = Box::new(command.clone());
            // Mostly at once, sometimes long after.
            let later = if how % 4 == 0 { how / 4 % 60_000 } else { how / 4 % 50 };
            self.schedule(delay + later, Event::Arrive { client, attempt, command, is_copy: true });
        }
        if self.befalls(FaultKind::LostRequest).is_some() {
            return self.watch.tally.strike(FaultKind::LostRequest);
        }
        let command = Box::new(command);
        self.schedule(delay, Event::Arrive { client, attempt, command, is_copy: false });
    }

    fn befalls(&mut self, kind: FaultKind) -> Option<u64> {
        self.network.befalls(kind)
    }

    pub(super) fn arrive(&mut self, client: usize, attempt: u64, command: Command, is_copy: bool) {
        let command = Box::new(self.stamp(command));
        let Some(server) = &mut self.server else {
            // Nobody listens, which shows at once.
            return self.schedule(1, Event::GiveUp { client, attempt });
        };
        let caller = if is_copy { Caller::Nobody } else { Caller::Client { client, attempt } };
        server.push(Input::Command { caller, command });
        self.wake_owner();
    }

    /// What a server draws for a request when it arrives: numbers that nothing else has.
    pub(super) fn stamp(&mut self, mut command: Command) -> Command {
        let mut next = || {
            self.next_tag += 1;
            Tag(self.next_tag)
        };
        match &mut command {
            Command::Send { entries, .. } => {
                for entry in entries {
                    let (tag, message) = (next(), &mut entry.message);
                    (message.id, message.body_md5) = (id(tag), digest(tag));
                    message.body = body(tag, message.body.len());
                }
            }
            Command::StartMoveTask { id: task, .. } | Command::Redrive { id: task, .. } => {
                *task = MoveTaskId(id(next()).0);
            }
            _ => {}
        }
        command
    }

    pub(super) fn hang_up(&mut self, client: usize, attempt: u64) {
        if let Some(server) = &mut self.server {
            server.push(Input::Cancel { client, attempt });
            self.wake_owner();
        }
    }

    /// Answers leave the server, which may take it a while.
    pub(super) fn release(&mut self, answers: Vec<Answer>, latency: u64) {
        for answer in answers {
            match answer.caller {
                Caller::Nobody => {}
                Caller::Witness(number) => self.witnessed[number] = Some(answer),
                Caller::House => {
                    if let Some(server) = &mut self.server {
                        server.house.answer(answer.outcome.is_ok());
                    }
                }
                Caller::Client { client, attempt } => self.release_to(client, attempt, answer, latency),
            }
        }
    }

    fn release_to(&mut self, client: usize, attempt: u64, answer: Answer, latency: u64) {
        let seat = &self.seats[client];
        if seat.attempt != attempt || !seat.waits {
            return self.give_back(&answer);
        }
        if self.befalls(FaultKind::LostAnswer).is_some() {
            return self.watch.tally.strike(FaultKind::LostAnswer);
        }
        let delay = latency + self.network.delay();
        self.schedule(delay, Event::Deliver { client, attempt, answer: Box::new(answer) });
    }

    /// Makes messages visible again that nobody took.
    fn give_back(&mut self, answer: &Answer) {
        let Ok(Reply::Received(deliveries)) = &answer.outcome else { return };
        if let Some(server) = self.server.as_mut().filter(|_| !deliveries.is_empty()) {
            self.watch.tally.see("answers given back", 1);
            server.give_back(deliveries.iter().map(|delivery| delivery.receipt).collect());
            self.wake_owner();
        }
    }

    /// A short poll for all that can be had.
    pub(super) fn short_poll(queue: &str) -> Command {
        Command::Receive(Receive {
            queue: crate::queues::address(queue),
            max: tidegate_engine::limits::BATCH_ENTRIES,
            visibility_timeout: Some(Duration::from_secs(60)),
            wait: Some(Duration::ZERO),
            attempt_id: None,
        })
    }
}
