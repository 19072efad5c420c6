//! A server without threads: the shard, the log's roles, and a driver that plays the threads between them.
//!
//! The driver keeps the one rule that makes an answer a promise: an answer is released, and becomes part of what the
//! durable model holds, when the append of its frame and of all before it has returned. Every answer is checked by
//! the model when it is made, and every delivered message is read from the log and compared when it is released.

use super::model::{Asked, Model};
use super::{START, message};
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;
use tidegate_engine::{
    BacklogSizes, Command, Config, Delivery, Demand, Event, MessageSeq, Position, QueueAddress, QueueId,
    Receipt, Reply, RequestId, SendEntry, StoredMessage, Timestamp,
};
use tidegate_log::{
    AppendError, Appender, CrashPolicy, Frame, Keeper, KeeperError, LogConfig, MemoryStorage, Reader,
    RecordRef, Recovery, SegmentedLog, Space,
};
use tidegate_store::{
    Candidate, Checkpoint, MemoryBudget, Outcome, ReclaimPlan, RecoveryReport, Segments, Shard, audit, codec,
    offer_messages, read_extent, recover,
};

/// A receipt that a client holds.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) queue: QueueAddress,
    pub(crate) receipt: Receipt,
}

pub(crate) struct Machine {
    pub(crate) storage: MemoryStorage,
    pub(crate) config: LogConfig,
    pub(crate) shard: Shard<MemoryStorage>,
    pub(crate) appender: Appender<MemoryStorage>,
    pub(crate) reader: Reader<MemoryStorage>,
    pub(crate) keeper: Keeper<MemoryStorage>,
    pub(crate) report: RecoveryReport,
    /// What the log had to mend.
    pub(crate) mended: Recovery,
    pub(crate) now: Timestamp,
    /// After everything that was taken from the shard.
    pub(crate) live: Model,
    /// After everything that was appended.
    pub(crate) durable: Model,
    /// Taken and not yet appended.
    pub(crate) pending: VecDeque<Pending>,
    asked: HashMap<RequestId, Asked>,
    /// Answers that were released.
    pub(crate) released: HashMap<RequestId, Outcome>,
    /// What clients received, in that order.
    pub(crate) tickets: Vec<Ticket>,
    /// What the maintenance works by.
    pub(crate) housekeeping: Housekeeping,
    /// Whether every command has a commit of its own. Queues from which dead letters move need that: answers do not
    /// tell of a move, so the model has to see where in a commit it was.
    pub(crate) apart: bool,
    /// Dead letters that were moved.
    pub(crate) moved: usize,
    next_request: u64,
    next_message: u64,
    pub(crate) spill: Spill,
}

/// What is put away of backlogs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spill {
    pub(crate) sizes: BacklogSizes,
    pub(crate) memory: MemoryBudget,
}

impl Spill {
    pub(crate) const NONE: Spill = Spill {
        sizes: BacklogSizes { chunk_messages: 256, run_chunks: 16, read_ahead: 128 },
        memory: MemoryBudget::UNLIMITED,
    };

    /// Everything that can be, in parts so small that a few messages make many.
    pub(crate) const ALL: Spill = Spill {
        sizes: BacklogSizes { chunk_messages: 2, run_chunks: 2, read_ahead: 20 },
        memory: MemoryBudget::of(0),
    };
}

/// A commit on its way to the log.
pub(crate) struct Pending {
    frame: Option<Frame>,
    replies: Vec<(RequestId, Outcome)>,
    fetches: Vec<Fetch>,
    housekeeping: Option<Housekeeping>,
    model: Model,
}

/// A checkpoint and the use of the segments as they were at a commit; nobody may see them before it is durable.
#[derive(Default)]
pub(crate) struct Housekeeping {
    pub(crate) checkpoint: Option<Checkpoint>,
    /// `None` until there was a commit: a plan by counts that miss messages would give up their segments.
    pub(crate) segments: Option<Segments>,
}

/// A delivered message that is still to be read.
struct Fetch {
    ticket: Ticket,
    position: Position,
    /// Keeps the record from being recycled. `None` for a record that is not appended yet.
    pinned: Option<RecordRef<MemoryStorage>>,
    expected: Rc<StoredMessage>,
    /// Whether it is a dead letter.
    dead: bool,
}

/// What a commit's records say of messages that go from queue to queue.
#[derive(Debug, PartialEq)]
enum Step {
    Moved(QueueId, MessageSeq, QueueId),
    Received,
}

/// In their order. The header of a frame has 48 bytes, that of a record 8, its length first.
fn steps(frame: &Frame) -> VecDeque<Step> {
    let mut rest = &frame.bytes()[48..];
    let mut steps = VecDeque::new();
    for _ in 0..frame.record_count() {
        let (header, after) = rest.split_at(8);
        let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes"));
        let (record, after) = after.split_at(length as usize);
        rest = after;
        match codec::decode(&Bytes::copy_from_slice(record)).expect("decodes").1 {
            Event::MessageDeadLettered { queue, seq, target, .. } => {
                steps.push_back(Step::Moved(queue, seq, target));
            }
            Event::MessagesReceived { .. } => steps.push_back(Step::Received),
            _ => {}
        }
    }
    steps
}

const IDENTITY: [u8; 16] = *b"sixteen random b";

/// A log with segments of `segment_bytes`.
pub(crate) fn config(segment_bytes: u32) -> LogConfig {
    // The medium is what these tests look at.
    LogConfig { segment_bytes, recent_bytes: 0, ..LogConfig::default() }
}

impl Machine {
    pub(crate) fn new(segment_bytes: u32) -> Self {
        Machine::open(MemoryStorage::new(), config(segment_bytes), START).expect("a fresh storage opens")
    }

    /// Opens what is in `storage` without knowing what should be there.
    pub(crate) fn open(
        storage: MemoryStorage,
        config: LogConfig,
        now: Timestamp,
    ) -> Result<Self, Box<dyn Error>> {
        Machine::open_with(storage, config, now, Spill::ALL)
    }

    pub(crate) fn open_with(
        storage: MemoryStorage,
        config: LogConfig,
        now: Timestamp,
        spill: Spill,
    ) -> Result<Self, Box<dyn Error>> {
        let opened = SegmentedLog::open(storage.clone(), config.clone(), IDENTITY)?;
        let engine = Config { backlog_sizes: spill.sizes, ..Config::default() };
        let recovered = recover(opened, engine, spill.memory)?;
        let now = now.max(recovered.shard.at());
        let mut machine = Machine {
            storage,
            config,
            shard: recovered.shard,
            appender: recovered.appender,
            reader: recovered.reader,
            keeper: recovered.keeper,
            report: recovered.report,
            mended: recovered.log,
            now,
            live: Model::default(),
            durable: Model::default(),
            pending: VecDeque::new(),
            asked: HashMap::new(),
            released: HashMap::new(),
            tickets: Vec::new(),
            housekeeping: Housekeeping::default(),
            apart: false,
            moved: 0,
            next_request: 0,
            next_message: 0,
            spill,
        };
        machine.check_segments();
        machine.live = machine.model();
        machine.durable = machine.live.clone();
        Ok(machine)
    }

    // Asking.

    /// Hands in a command. Its answer is released later, when what it tells of is durable.
    pub(crate) fn ask(&mut self, command: Command) -> RequestId {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        let refused = match (command.demand(), self.shard.space()) {
            (Demand::Reads, _) | (_, Space::Ample) => false,
            (Demand::Frees, space) => space == Space::Full,
            // The shares of the reserve are tested apart, in `full_disk`.
            (Demand::Changes | Demand::Moves, _) => !self.shard.admits(command.demand()),
            (Demand::Stores, _) => true,
        };
        let returns = matches!(command, Command::ReturnUndelivered { .. });
        if returns || self.apart {
            self.take();
        }
        self.asked.insert(request, Asked { command: command.clone(), refused });
        self.shard.handle(self.now, request, command);
        if returns {
            // Those who waited are served, and answered, before this command's own answer. The model wants its
            // effect first.
            self.take_with_first(Some(request));
        } else if self.apart {
            self.take();
        }
        request
    }

    /// Hands in a command, makes it durable and returns the answer.
    #[track_caller]
    pub(crate) fn call(&mut self, command: Command) -> Outcome {
        let request = self.ask(command);
        self.sync();
        self.released.remove(&request).expect("answered at once")
    }

    #[track_caller]
    pub(crate) fn done(&mut self, command: Command) {
        let outcome = self.call(command);
        assert!(outcome.is_ok(), "{outcome:?}");
    }

    /// An entry with a new message whose body has `bytes` bytes.
    pub(crate) fn entry(&mut self, bytes: usize, delay: Option<Duration>) -> SendEntry {
        self.next_message += 1;
        SendEntry { message: message(self.next_message, bytes), delay, content_based: false }
    }

    pub(crate) fn entries(&mut self, count: usize, bytes: usize) -> Vec<SendEntry> {
        (0..count).map(|_| self.entry(bytes, None)).collect()
    }

    /// Receives and returns the receipts; the messages themselves are compared with the model on the way.
    #[track_caller]
    pub(crate) fn receive(&mut self, name: &str, timeout: Option<Duration>) -> Vec<Delivery> {
        match self.call(super::receive(name, timeout)) {
            Ok(Reply::Received(deliveries)) => deliveries,
            other => panic!("not received: {other:?}"),
        }
    }

    /// Receives and deletes everything visible in a queue; returns how many messages that were.
    #[track_caller]
    pub(crate) fn drain(&mut self, name: &str) -> usize {
        let mut count = 0;
        loop {
            // Receives and deletes are written, too.
            self.keeper.prepare_spare().expect("prepares a spare segment, or finds no room");
            let receipts: Vec<_> = self.receive(name, None).iter().map(|delivery| delivery.receipt).collect();
            if receipts.is_empty() {
                return count;
            }
            count += receipts.len();
            self.done(Command::Delete { queue: super::address(name), receipts });
        }
    }

    // The way to the log.

    /// Takes a commit; the answers in it are checked by the model.
    pub(crate) fn take(&mut self) {
        self.take_with_first(None);
    }

    fn take_with_first(&mut self, first: Option<RequestId>) {
        let Some(mut commit) = self.shard.take_commit() else { return };
        commit.replies.sort_by_key(|(request, _)| Some(*request) != first);
        let mut fetches = Vec::new();
        let mut steps = commit.frame.as_ref().map(steps).unwrap_or_default();
        for (request, outcome) in &commit.replies {
            let asked = self.asked.remove(request).expect("every request is answered once");
            if let (Command::Receive(_), Ok(Reply::Received(deliveries))) = (&asked.command, outcome) {
                while let Some(Step::Moved(..)) = steps.front() {
                    self.follow(steps.pop_front());
                }
                if !deliveries.is_empty() {
                    assert_eq!(steps.pop_front(), Some(Step::Received), "an event for every receive");
                }
            }
            self.live.apply(self.now, &asked, outcome);
            if let (Command::Receive(receive), Ok(Reply::Received(deliveries))) = (&asked.command, outcome) {
                for delivery in deliveries {
                    let held = &self.live.queues[&receive.queue].messages[&delivery.receipt.seq.0];
                    fetches.push(Fetch {
                        ticket: Ticket { queue: receive.queue.clone(), receipt: delivery.receipt },
                        position: delivery.position,
                        pinned: self.reader.locate(delivery.position.0.into()),
                        expected: Rc::clone(&held.stored),
                        dead: held.source.is_some(),
                    });
                }
            }
        }
        steps.into_iter().for_each(|step| self.follow(Some(step)));
        let model = self.live.clone();
        let (frame, replies) = (commit.frame, commit.replies);
        self.pending.push_back(Pending { frame, replies, fetches, housekeeping: None, model });
    }

    fn follow(&mut self, step: Option<Step>) {
        match step {
            Some(Step::Moved(queue, seq, target)) => {
                self.live.bury(self.now, queue, seq, target);
                self.moved += 1;
            }
            other => panic!("nobody was told of {other:?}"),
        }
    }

    /// Appends the `count` oldest commits at once and releases their answers.
    pub(crate) fn append(&mut self, count: usize) -> Result<(), AppendError> {
        let frames: Vec<_> = self.pending.iter_mut().take(count).filter_map(|p| p.frame.take()).collect();
        self.appender.append(&frames)?;
        for pending in self.pending.drain(..count).collect::<Vec<_>>() {
            self.durable = pending.model;
            for fetch in pending.fetches {
                let record = fetch.pinned.or_else(|| self.reader.locate(fetch.position.0.into()));
                let record = record.unwrap_or_else(|| panic!("no record at {:?}", fetch.position));
                let stored = codec::decode_message(&record.read().expect("the record is whole"));
                let mut stored = stored.expect("decodes").expect("a message's record");
                if fetch.dead {
                    stored.queue = fetch.expected.queue; // The record names the queue that held it when it was written.
                }
                assert_eq!(stored, *fetch.expected, "the message as it was sent");
                self.tickets.push(fetch.ticket);
            }
            self.released.extend(pending.replies);
            if let Some(housekeeping) = pending.housekeeping {
                self.housekeeping = housekeeping;
            }
        }
        Ok(())
    }

    /// Takes and appends everything.
    #[track_caller]
    pub(crate) fn sync(&mut self) {
        self.take();
        self.append(self.pending.len()).expect("the log takes it");
    }

    // Time. It moves between commits only, so that all answers of a commit were made at one instant.

    pub(crate) fn wait(&mut self, duration: Duration) {
        self.take();
        self.now = self.now + duration;
        if self.shard.poll_timeout().is_some_and(|due| due <= self.now) {
            self.shard.handle_timeout(self.now);
        }
        self.take();
    }

    // Maintenance.

    /// Has the maintenance look at the state of now, once that is appended.
    pub(crate) fn begin_housekeeping(&mut self, checkpoint: bool) {
        self.take();
        // One at a time: the next one has to know what was written with this one.
        let mut under_way = self.pending.iter().filter_map(|pending| pending.housekeeping.as_ref());
        let is_under_way = under_way.any(|housekeeping| housekeeping.checkpoint.is_some());
        let checkpoint = checkpoint && !is_under_way && self.housekeeping.checkpoint.is_none();
        let housekeeping = Housekeeping {
            checkpoint: checkpoint.then(|| self.shard.checkpoint(self.now)),
            segments: Some(self.shard.segments().clone()),
        };
        self.pending.push_back(Pending {
            frame: None,
            replies: Vec::new(),
            fetches: Vec::new(),
            housekeeping: Some(housekeeping),
            model: self.live.clone(),
        });
    }

    /// Stores the checkpoint that was handed to the maintenance, if one was.
    pub(crate) fn store_checkpoint(&mut self) -> Result<(), KeeperError> {
        let Some(checkpoint) = self.housekeeping.checkpoint.take() else { return Ok(()) };
        let stored = checkpoint.store(&mut self.keeper, &self.reader)?;
        // A shard that is too busy to hear of it goes on without.
        if !self.next_request.is_multiple_of(5) {
            self.shard.note_stored(stored);
        }
        Ok(())
    }

    #[track_caller]
    pub(crate) fn checkpoint(&mut self) {
        self.begin_housekeeping(true);
        self.sync();
        self.store_checkpoint().expect("stores the checkpoint");
    }

    pub(crate) fn plan(&self) -> ReclaimPlan {
        let Some(segments) = &self.housekeeping.segments else { return ReclaimPlan::default() };
        let present = self.keeper.sealed_segments().into_iter();
        let present = present.map(|sealed| (sealed.number, u64::from(sealed.end_bytes)));
        segments.plan(present, self.keeper.oldest_checkpoint())
    }

    /// Retires what is dead. Returns the messages of a sparse segment, in batches to be relocated.
    pub(crate) fn reclaim(&mut self) -> Result<Vec<Vec<Candidate>>, KeeperError> {
        let plan = self.plan();
        for number in plan.dead {
            self.keeper.retire(number)?;
            self.shard.forget_segment(number);
        }
        let mut batches = Vec::new();
        if let Some(number) = plan.sparse {
            offer_messages(&self.reader, number, |batch| {
                batches.push(batch);
                std::ops::ControlFlow::Continue(())
            })
            .expect("reads the segment");
        }
        Ok(batches)
    }

    /// Releases all that purges and the like left.
    pub(crate) fn release_all(&mut self) {
        while self.shard.is_releasing() {
            self.shard.release_some(self.now);
        }
    }

    /// One round of everything the maintenance does.
    #[track_caller]
    pub(crate) fn maintain(&mut self) {
        self.release_all();
        self.checkpoint();
        self.empty_sparse();
        let room = self.keeper.prepare_spare().expect("prepares a spare segment");
        if !room && self.keeper.give_up_fallback().expect("gives up a checkpoint") {
            self.empty_sparse();
            self.keeper.prepare_spare().expect("prepares a spare segment");
        }
    }

    fn empty_sparse(&mut self) {
        for messages in self.reclaim().expect("reclaims") {
            self.done_or_full(Command::Relocate { messages });
        }
    }

    #[track_caller]
    pub(crate) fn done_or_full(&mut self, command: Command) -> bool {
        match self.call(command) {
            Ok(_) => true,
            Err(tidegate_engine::Error::StorageFull) => false,
            Err(error) => panic!("{error:?}"),
        }
    }

    pub(crate) fn file_count(&self, extension: &str) -> usize {
        use tidegate_log::Storage;
        let files = self.storage.list().expect("lists");
        files.iter().filter(|file| file.name.ends_with(extension)).count()
    }

    // Ends and new beginnings.

    /// The machine loses power and comes back: see [`Machine::come_back`].
    #[track_caller]
    pub(crate) fn lose_power(&mut self, policy: CrashPolicy) {
        self.come_back(self.storage.crash(policy), 0);
    }

    /// The process is killed and started again: see [`Machine::come_back`].
    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.come_back(self.storage.restart_process(), 0);
    }

    /// Opens `storage` after a crash and finds out how much survived: at least everything that was appended, and of
    /// the first `attempted` pending commits some prefix, each wholly or not at all.
    #[track_caller]
    pub(crate) fn come_back(&mut self, storage: MemoryStorage, attempted: usize) -> usize {
        let opened = Machine::open_with(storage, self.config.clone(), self.now, self.spill);
        let found = opened.unwrap_or_else(|error| {
            let source = error.source().map(ToString::to_string);
            panic!("recovery: {error} ({source:?})")
        });
        self.take_over(found, attempted)
    }

    /// Goes on as the machine that was `found`; returns how many of the attempted commits it has.
    #[track_caller]
    pub(crate) fn take_over(&mut self, found: Machine, attempted: usize) -> usize {
        assert_eq!(found.now, self.now, "no event is of the future");
        let attempted = self.pending.drain(..attempted).map(|pending| pending.model);
        let candidates: Vec<_> = std::iter::once(self.durable.clone()).chain(attempted).collect();
        let compare = |mut candidate: Model| {
            candidate.advance(found.now);
            candidate.difference(&found.live)
        };
        let differences: Vec<_> = candidates.into_iter().map(compare).collect();
        let survived = differences.iter().rposition(Option::is_none);
        let survived = survived.unwrap_or_else(|| {
            panic!("what was recovered is none of the states that may be: {differences:#?}");
        });
        let tickets = std::mem::take(&mut self.tickets);
        let Machine { apart, moved, next_request, next_message, .. } = *self;
        *self = Machine { tickets, apart, moved, next_request, next_message, ..found };
        survived
    }

    // Looking.

    /// The numbers of the dead letters that are there.
    pub(crate) fn dead_letters(&self) -> impl Iterator<Item = u64> {
        let messages = self.live.queues.values().flat_map(|queue| &queue.messages);
        messages.filter(|(_, held)| held.source.is_some()).map(|(seq, _)| *seq)
    }

    pub(crate) fn read(&self, position: Position) -> StoredMessage {
        let record = self.reader.read(position.0.into());
        let record = record.unwrap_or_else(|error| panic!("a live message's record: {error}"));
        codec::decode_message(&record).expect("decodes").expect("a message's record")
    }

    /// The state of the engine at this instant, as a model: every message's record is read. Only what is appended
    /// can be.
    pub(crate) fn model(&mut self) -> Model {
        self.shard.gauges(self.now);
        let read_extent = |extent: &_| read_extent(&self.reader, extent).expect("reads what was put away");
        let read = |position| self.read(position);
        Model::of(&self.shard.engine().snapshot(), self.now, read, read_extent)
    }

    /// Live messages by segment.
    pub(crate) fn live_by_segment(&mut self) -> BTreeMap<u32, u64> {
        self.release_all();
        self.check_segments();
        let live = self.shard.segments().iter().map(|(number, usage)| (number, usage.live));
        live.filter(|(_, live)| *live > 0).collect()
    }

    /// The shard's running counts are those of the state.
    #[track_caller]
    pub(crate) fn check_segments(&self) {
        audit(&self.shard, &self.reader).expect("live messages by segment");
    }

    /// The state that a restart would find is the one that answers told of.
    #[track_caller]
    pub(crate) fn check(&mut self) {
        self.sync();
        self.check_segments();
        let found = self.model();
        self.live.advance(self.now);
        assert_eq!(self.live.difference(&found), None);
    }
}
