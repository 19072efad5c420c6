//! The state machine: decides on commands, commits events, lets time pass.

mod administration;
mod apply;
mod dead_letter;
mod dormant;
mod messages;
mod move_task;
mod policy;

use crate::queue::{BacklogSizes, Keyed, Ordered, Place, Queue, Released, Run};
use crate::timer::Timers;
use crate::{
    Command, Demand, Error, Event, Extent, MessageSeq, Position, QueueAddress, QueueId, Reply, RequestId,
    Timestamp, limits,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use dormant::Dormant;
pub use dormant::Orphan;
pub use policy::PolicyUpdate;

/// Where the engine's decisions go.
///
/// Replies must not leave before every event appended up to then is durable.
pub trait Journal {
    /// Takes an event into the log's order; returns the place of its record.
    fn append(&mut self, at: Timestamp, event: &Event) -> Position;
    /// Answers a request. Every request that is not cancelled is answered once.
    fn reply(&mut self, request: RequestId, reply: Result<Reply, Error>);
}

/// The engine's few settings.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Time between two purges of a queue and before a deleted name is used again. Default 60 s.
    pub cooldown: Duration,
    /// Messages of one standard queue in flight. Default 120,000; each takes about 85 bytes of memory.
    pub in_flight_max: usize,
    /// The same for FIFO queues.
    pub fifo_in_flight_max: usize,
    /// Key of the hashes that stand for deduplication ids. Default zero; a server has a secret one, and keeps it: under
    /// another key the ids in a snapshot are not found.
    pub hash_key: [u8; 16],
    /// How large the parts of backlogs become. Only tests have a reason to change it.
    pub backlog_sizes: BacklogSizes,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            cooldown: limits::COOLDOWN,
            in_flight_max: limits::IN_FLIGHT_MAX,
            fifo_in_flight_max: limits::FIFO_IN_FLIGHT_MAX,
            hash_key: [0; 16],
            backlog_sizes: BacklogSizes::default(),
        }
    }
}

/// Where a message is that was moved from queue to queue.
#[derive(Debug)]
pub(crate) struct Moved {
    /// The number that its record has.
    pub(crate) sent_as: MessageSeq,
    pub(crate) queue: QueueId,
    pub(crate) seq: MessageSeq,
}

impl Keyed for Moved {
    type Key = MessageSeq;

    fn key(&self) -> MessageSeq {
        self.sent_as
    }
}

/// The queue engine; see the crate's documentation.
#[derive(Debug, Default)]
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) next_queue: u64,
    pub(crate) next_seq: u64,
    pub(crate) names: BTreeMap<QueueAddress, QueueId>,
    /// In boxes: queues are big, and nodes of the map half empty.
    pub(crate) queues: BTreeMap<QueueId, Box<Queue>>,
    /// Names that may not be used again yet, in the order they were deleted.
    pub(crate) deleted: VecDeque<(Timestamp, QueueAddress)>,
    /// The time of the newest event.
    pub(crate) at: Timestamp,
    /// Runs of messages that are gone, whose records are still to be released.
    pub(crate) orphans: VecDeque<Run>,
    /// The same, of those that could not be read.
    unreadable_orphans: Vec<Extent>,
    /// Everything below is not durable state.
    pub(crate) timers: Timers,
    parked: HashMap<RequestId, (QueueId, Place)>,
    released: Vec<Released>,
    /// What was moved from queue to queue.
    pub(crate) moved: Ordered<Moved>,
    /// Messages that became dead letters in the call under way, which moves each of them once.
    moved_now: BTreeSet<MessageSeq>,
    /// Queues that dead letters came to in the call under way, or that lost their dead-letter queue, and whose waiting
    /// receives were not served yet.
    unsettled: BTreeSet<QueueId>,
    dormant: Dormant,
    /// Queues whose policy is another than the one that was taken last.
    pub(crate) policies: BTreeSet<QueueAddress>,
}

impl Engine {
    /// An engine without queues.
    pub fn new(config: Config) -> Self {
        Engine { config, ..Engine::default() }
    }

    /// Decides on a command at the instant `now`, which must not lie before that of any earlier call.
    ///
    /// The reply may come during a later call, when the command is a receive that waits.
    pub fn handle(
        &mut self,
        now: Timestamp,
        request: RequestId,
        command: Command,
        journal: &mut impl Journal,
    ) {
        self.moved_now.clear();
        // What was due by now comes first: a late receive does not overtake one that waits, and a wait that is
        // over gets nothing that comes after it. A command that only reads must not make others write.
        if command.demand() != Demand::Reads {
            self.handle_timeout(now, journal);
        }
        let result = match command {
            Command::Send { queue, entries } => self.send(now, request, &queue, entries, journal),
            Command::Receive(receive) => self.receive(now, request, &receive, journal),
            Command::Delete { queue, receipts } => self.delete(now, request, &queue, &receipts, journal),
            Command::ChangeVisibility { queue, changes } => {
                self.change_visibility(now, request, &queue, &changes, journal)
            }
            Command::ReturnUndelivered { receipts } => {
                self.return_undelivered(now, request, &receipts, journal)
            }
            Command::Relocate { messages } => self.relocate(now, request, messages, journal),
            Command::StartMoveTask { source, destination, rate, id } => {
                self.start_move_task(now, request, &source, destination, rate, id, journal)
            }
            Command::CancelMoveTask { source, id } => {
                self.cancel_move_task(now, request, &source, id, journal)
            }
            Command::Redrive { queue, destination, messages, id } => {
                self.redrive(now, request, &queue, destination.as_ref(), &messages, id, journal)
            }
            administration => {
                let done = self.administer(now, administration, journal);
                done.map(|reply| journal.reply(request, Ok(reply)))
            }
        };
        if let Err(error) = result {
            journal.reply(request, Err(error));
        }
        self.settle_targets(now, journal);
    }

    /// Forgets a request whose caller went away, so that no message is given to it. One that was answered
    /// already is no error.
    pub fn cancel(&mut self, request: RequestId) {
        if let Some((queue, place)) = self.parked.remove(&request)
            && let Some(queue) = self.queues.get_mut(&queue)
            && let Some(parked) = queue.waiting.leave(place)
        {
            queue.hurried.retain(|hurried| *hurried != request);
            self.timers.disarm_parked(parked.deadline, request);
        }
    }

    /// When `handle_timeout` is due next; `None` while nothing is.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// Lets time pass: ends delays, visibility timeouts, retention periods and waits.
    pub fn handle_timeout(&mut self, now: Timestamp, journal: &mut impl Journal) {
        self.moved_now.clear();
        while let Some((at, id)) = self.timers.due_queue(now) {
            let armed_at = self.queue(id).armed_at.take();
            assert_eq!(armed_at, Some(at), "the table holds what the queue remembers");
            self.settle(now, id, journal);
        }
        while let Some(id) = self.timers.due_move(now) {
            self.run_move_task(now, id, journal);
        }
        self.settle_targets(now, journal);
        while let Some(request) = self.timers.due_parked(now) {
            self.cancel(request);
            journal.reply(request, Ok(Reply::Received(Vec::new())));
        }
    }

    /// Ends every wait with an empty answer, as before a shutdown.
    pub fn release_waiting(&mut self, journal: &mut impl Journal) {
        let mut waiting: Vec<_> = self.parked.keys().copied().collect();
        waiting.sort_unstable();
        for request in waiting {
            self.cancel(request);
            journal.reply(request, Ok(Reply::Received(Vec::new())));
        }
    }

    /// The time of the newest event; the caller's clock must not start before it.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Number of receives that wait.
    pub fn parked_count(&self) -> usize {
        self.parked.len()
    }

    /// The counters and ages of every queue at `now`, in address order.
    pub fn gauges(&mut self, now: Timestamp) -> Vec<QueueGauge> {
        let mut gauges = Vec::with_capacity(self.names.len());
        for (address, id) in &self.names {
            let queue = self.queues.get_mut(id).expect("every name has its queue");
            queue.advance(now, &mut self.released);
            gauges.push(QueueGauge {
                address: address.clone(),
                counts: queue.messages.counts(),
                noisy_tenants: queue.messages.noisy_tenant_count(),
                oldest_age: queue.messages.oldest_sent_at().map(|at| now.since(at)),
            });
        }
        gauges
    }

    /// The number of queues, and of messages in all of them.
    pub fn totals(&self) -> (usize, u64) {
        let counts = self.queues.values().map(|queue| queue.messages.counts());
        (self.queues.len(), counts.map(|counts| counts.visible + counts.in_flight + counts.delayed).sum())
    }

    /// Takes the place of one record that holds no message any more. Whole runs of them become orphans.
    pub fn poll_released(&mut self) -> Option<Position> {
        loop {
            match self.released.pop()? {
                Released::Record(position) => return Some(position),
                Released::Moved(position, sent_as) => {
                    self.moved.remove(sent_as);
                    return Some(position);
                }
                Released::Run(run) => self.orphans.push_back(run),
            }
        }
    }

    fn find(&self, queue: &QueueAddress) -> Result<QueueId, Error> {
        self.names.get(queue).copied().ok_or(Error::QueueMissing)
    }

    fn queue(&mut self, id: QueueId) -> &mut Queue {
        self.queues.get_mut(&id).expect("an id taken from the names or an event is a queue's")
    }

    /// Makes an event durable state: first into the log's order, then into memory.
    fn commit(&mut self, now: Timestamp, event: &Event, journal: &mut impl Journal) {
        let position = journal.append(now, event);
        self.apply(now, event, position);
    }

    /// After anything that may have made messages of a queue visible: serves who waits, and sets the timer.
    fn settle(&mut self, now: Timestamp, id: QueueId, journal: &mut impl Journal) {
        self.serve_waiting(now, id, journal);
        self.answer_hurried(id, journal);
        let Some(queue) = self.queues.get_mut(&id) else { return };
        self.dormant.read_ahead(queue);
        let goes_on = std::mem::take(&mut queue.moves_left) && queue.waiting.first().is_some();
        let next_turn = goes_on.then(|| now + Duration::from_millis(1));
        if let Some(due) = queue.next_due().into_iter().chain(next_turn).min()
            && queue.armed_at.is_none_or(|armed| due < armed)
        {
            // Armed for now or earlier, the timer would ring for ever within one call of `handle_timeout`.
            assert!(now < due, "whatever was due is settled");
            if let Some(armed) = queue.armed_at.replace(due) {
                self.timers.disarm_queue(armed, id);
            }
            self.timers.arm_queue(due, id);
        }
    }

    fn next_seq(&self) -> MessageSeq {
        MessageSeq(self.next_seq)
    }
}

/// What operators watch of a queue.
#[derive(Clone, Debug)]
pub struct QueueGauge {
    /// The queue.
    pub address: QueueAddress,
    /// Its counts.
    pub counts: crate::Counts,
    /// Tenants whose messages others go before; see [`limits::NOISY_IN_FLIGHT_MIN`].
    pub noisy_tenants: usize,
    /// Age of the oldest message that is not delayed; `None` when there is none.
    pub oldest_age: Option<Duration>,
}
