//! The thread that owns engine and log, a turn at a time: takes what waits, handles it, commits it with one fsync.

use super::House;
use crate::checker::Violation;
use crate::history::{Content, Fact, Look, LookedQueue};
use crate::time::{Moment, ServerClock, SystemClock};
use crate::watch::Watch;
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use tidegate_engine::{
    BacklogSizes, Command, Config, Demand, MessageSeq, Peeked, Position, Receipt, Reply, RequestId,
    Timestamp, limits,
};
use tidegate_log::{
    AppendError, Appender, Frame, LogConfig, MemoryStorage, ReadError, Reader, Recovery, SegmentedLog,
};
use tidegate_store::{Checkpoint, MemoryBudget, Outcome, Segments, Shard, Stored, audit, codec, recover};

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A client, with the number of its try.
    Client {
        client: usize,
        attempt: u64,
    },
    House,
    /// Whoever takes what is left in the end.
    Witness(usize),
    Nobody,
}

/// Something put to the owner.
pub(crate) enum Input {
    Command {
        caller: Caller,
        command: Box<Command>,
    },
    /// The caller of that try went away.
    Cancel {
        client: usize,
        attempt: u64,
    },
    Housekeeping {
        checkpoint: bool,
    },
    Stored(Stored),
    SegmentsRetired(Vec<u32>),
}

/// What the keeper works by.
pub(crate) struct Housekeeping {
    pub(crate) segments: Segments,
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// An answer on its way out.
pub(crate) struct Answer {
    pub(crate) caller: Caller,
    pub(crate) outcome: Outcome,
    /// For each delivery in it, what was read.
    pub(crate) contents: Vec<Content>,
}

/// How a server is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) segment_bytes: u32,
    pub(crate) recent_bytes: usize,
    /// Whether all that can be put away of backlogs is.
    pub(crate) puts_away: bool,
    /// Records after which a checkpoint is due: as a server of the same log would have it, on a smaller scale.
    pub(crate) checkpoint_records: u64,
}

/// A process that serves.
pub(crate) struct Server {
    shard: Shard<MemoryStorage>,
    appender: Appender<MemoryStorage>,
    reader: Reader<MemoryStorage>,
    pub(crate) house: House,
    clock: ServerClock,
    inbox: VecDeque<Input>,
    under_way: BTreeMap<RequestId, (Caller, Command)>,
    active_segment: u32,
    settings: Settings,
    records: u64,
    pub(crate) recovery: Recovery,
    pub(crate) from_checkpoint: bool,
}

/// Why a process ended by itself.
#[derive(Debug)]
pub(crate) enum End {
    /// The log could not be written.
    Append(AppendError),
    /// A promise was broken, so there is no use in going on.
    Broken(Violation),
}

impl From<Violation> for End {
    fn from(violation: Violation) -> Self {
        End::Broken(violation)
    }
}

const IDENTITY: [u8; 16] = *b"sixteen random b";
const COMMIT_BYTES: usize = 256 << 10;

impl Server {
    pub(crate) fn start(
        storage: MemoryStorage,
        settings: Settings,
        system: &SystemClock,
        moment: Moment,
    ) -> Result<Self, Box<dyn Error>> {
        let log = LogConfig {
            segment_bytes: settings.segment_bytes,
            recent_bytes: settings.recent_bytes,
            ..LogConfig::default()
        };
        let small = BacklogSizes { chunk_messages: 2, run_chunks: 2, read_ahead: 20 };
        let (backlog_sizes, memory) = match settings.puts_away {
            true => (small, MemoryBudget::of(0)),
            false => (BacklogSizes::default(), MemoryBudget::UNLIMITED),
        };
        let opened = SegmentedLog::open(storage, log, IDENTITY)?;
        let recovered = recover(opened, Config { backlog_sizes, ..Config::default() }, memory)?;
        Ok(Server {
            clock: ServerClock::start(recovered.shard.at(), system, moment),
            house: House::new(recovered.keeper, recovered.reader.clone()),
            shard: recovered.shard,
            appender: recovered.appender,
            reader: recovered.reader,
            inbox: VecDeque::new(),
            under_way: BTreeMap::new(),
            // Not a segment's number, so that the keeper is called for the first one too.
            active_segment: 0,
            settings,
            records: 0,
            recovery: recovered.log,
            from_checkpoint: recovered.report.from_checkpoint,
        })
    }

    pub(crate) fn push(&mut self, input: Input) {
        self.inbox.push_back(input);
    }

    /// The number of the segment that is written now.
    pub(crate) fn active_segment(&self) -> u32 {
        self.shard.active_segment()
    }

    pub(crate) fn has_input(&self) -> bool {
        !self.inbox.is_empty()
    }

    pub(crate) fn now(&mut self, system: &SystemClock, moment: Moment) -> Timestamp {
        self.clock.now(system, moment)
    }

    /// Milliseconds that the owner sleeps if nothing comes in; `None` is without end.
    pub(crate) fn patience(&self, now: Timestamp) -> Option<u64> {
        if self.shard.is_releasing() {
            return Some(0);
        }
        if !self.shard.admits(Demand::Changes) {
            return Some(100);
        }
        self.shard.poll_timeout().map(|at| at.since(now).as_millis() as u64)
    }

    /// One turn. All of it happens at one instant.
    pub(crate) fn turn(&mut self, now: Timestamp, watch: &mut Watch) -> Result<Vec<Answer>, End> {
        self.call_keeper();
        let mut answers = Vec::new();
        for input in std::mem::take(&mut self.inbox) {
            self.take(now, input, watch, &mut answers)?;
            if self.shard.pending_bytes() >= COMMIT_BYTES {
                self.commit(now, watch, &mut answers)?;
            }
        }
        if self.shard.poll_timeout().is_some_and(|at| at <= now) {
            self.shard.handle_timeout(now);
        }
        self.shard.release_some(now);
        self.commit(now, watch, &mut answers)?;
        while let Some(error) = self.poll_error() {
            watch.note_unreadable(&*error)?;
        }
        Ok(answers)
    }

    fn take(
        &mut self,
        now: Timestamp,
        input: Input,
        watch: &mut Watch,
        answers: &mut Vec<Answer>,
    ) -> Result<(), End> {
        match input {
            Input::Command { caller, command } => {
                let request = watch.next_request();
                watch.observe(&Fact::Asked { now, request, command: &command })?;
                self.under_way.insert(request, (caller, (*command).clone()));
                self.shard.handle(now, request, *command);
            }
            Input::Cancel { client, attempt } => {
                // An answer made in this very turn goes out first: it finds nobody and comes back.
                self.commit(now, watch, answers)?;
                let gone = Caller::Client { client, attempt };
                let waits = self.under_way.iter().find(|(_, (caller, _))| *caller == gone);
                if let Some(request) = waits.map(|(request, _)| *request) {
                    self.shard.cancel(request);
                    self.under_way.remove(&request);
                }
            }
            Input::Housekeeping { checkpoint } => {
                self.commit(now, watch, answers)?;
                let is_due = checkpoint || self.shard.checkpoint_due() || self.is_checkpoint_due();
                self.records = if is_due { 0 } else { self.records };
                self.house.hand_over(Housekeeping {
                    segments: self.shard.segments().clone(),
                    checkpoint: is_due.then(|| self.shard.checkpoint(now)),
                });
            }
            Input::Stored(stored) => self.shard.note_stored(stored),
            Input::SegmentsRetired(numbers) => {
                numbers.into_iter().for_each(|number| self.shard.forget_segment(number));
            }
        }
        Ok(())
    }

    fn is_checkpoint_due(&self) -> bool {
        self.records >= self.settings.checkpoint_records
    }

    fn call_keeper(&mut self) {
        let active = self.shard.active_segment();
        if active != self.active_segment || self.shard.checkpoint_due() || self.is_checkpoint_due() {
            self.active_segment = active;
            self.house.call();
        }
    }

    /// Appends what was gathered; then the answers that waited for it leave.
    fn commit(&mut self, now: Timestamp, watch: &mut Watch, answers: &mut Vec<Answer>) -> Result<(), End> {
        let Some(commit) = self.shard.take_commit() else { return Ok(()) };
        if let Some(frame) = commit.frame {
            self.append(frame)?;
        }
        for (request, outcome) in commit.replies {
            let contents = match &outcome {
                Ok(Reply::Received(deliveries)) => {
                    let positions: Vec<_> = deliveries.iter().map(|delivery| delivery.position).collect();
                    self.read(&positions)
                }
                _ => Vec::new(),
            };
            let (caller, command) = self.under_way.remove(&request).expect("every request is answered once");
            watch.observe(&Fact::Answered {
                now,
                request,
                command: &command,
                outcome: &outcome,
                contents: &contents,
            })?;
            answers.push(Answer { caller, outcome, contents });
        }
        Ok(())
    }

    fn append(&mut self, frame: Frame) -> Result<(), End> {
        self.records += u64::from(frame.record_count());
        self.appender.append(&[frame]).map(drop).map_err(End::Append)
    }

    fn read(&self, positions: &[Position]) -> Vec<Content> {
        let positions: Vec<_> = positions.iter().map(|position| position.0.into()).collect();
        let content = |record| match record {
            Err(ReadError::Missing { .. }) => Content::Missing,
            Err(_) => Content::Unreadable,
            Ok(record) => match codec::decode_message(&record) {
                Ok(Some(stored)) => Content::Whole(stored),
                _ => Content::Unreadable,
            },
        };
        self.reader.read_all(&positions).into_iter().map(content).collect()
    }

    /// Takes what could not be read since it was asked last.
    pub(crate) fn poll_error(&mut self) -> Option<Box<dyn Error>> {
        self.shard.poll_error().map(Into::into).or_else(|| self.house.report.take().map(Into::into))
    }

    /// Looks at everything that is stored, between two turns.
    pub(crate) fn look(&mut self, now: Timestamp) -> Look {
        let (parked, waiting) = (self.shard.parked_count(), self.under_way.len());
        let memory_bytes = self.settings.puts_away.then(|| self.shard.engine().footprint().written);
        let mut look = Look { now, waiting, parked, memory_bytes, ..Look::default() };
        for gauge in self.shard.gauges(now) {
            let Reply::Queue(view) = self.ask_now(now, Command::ViewQueue { queue: gauge.address.clone() })
            else {
                unreachable!("the queue exists")
            };
            let mut peeked = Vec::<Peeked>::new();
            loop {
                let after = peeked.last().map(|peeked| peeked.touched.stored.seq);
                let page = self.peek(now, &gauge.address, after);
                if page.is_empty() {
                    break;
                }
                peeked.extend(page);
            }
            let positions: Vec<_> = peeked.iter().map(|peeked| peeked.touched.stored.position).collect();
            let contents = self.read(&positions);
            let list = Command::ListMoveTasks { source: gauge.address.clone(), max: limits::BATCH_ENTRIES };
            let Reply::MoveTasks(tasks) = self.ask_now(now, list) else { unreachable!("the queue exists") };
            let messages = peeked.into_iter().zip(contents).collect();
            let address = gauge.address;
            look.queues.push(LookedQueue { address, view: *view, messages, tasks });
        }
        look
    }

    fn peek(
        &mut self,
        now: Timestamp,
        queue: &tidegate_engine::QueueAddress,
        after: Option<MessageSeq>,
    ) -> Vec<Peeked> {
        let peek = Command::Peek { queue: queue.clone(), after, max: limits::PEEK_MAX };
        match self.ask_now(now, peek) {
            Reply::Peeked(page) => page,
            other => unreachable!("not a page: {other:?}"),
        }
    }

    /// Asks something that changes nothing.
    fn ask_now(&mut self, now: Timestamp, command: Command) -> Reply {
        const LOOKER: RequestId = RequestId(u64::MAX);
        self.shard.handle(now, LOOKER, command);
        let commit = self.shard.take_commit().expect("a question is answered at once");
        assert!(commit.frame.is_none(), "a look changes nothing");
        let (_, outcome) = commit.replies.into_iter().next().expect("one answer");
        outcome.expect("a look is never refused")
    }

    /// Whether what the shard counts is what there is.
    pub(crate) fn audit(&self) -> Result<(), String> {
        if self.shard.is_releasing() {
            return Ok(());
        }
        audit(&self.shard, &self.reader).map_err(|error| error.to_string())
    }

    /// Gives back messages whose answer nobody took.
    pub(crate) fn give_back(&mut self, receipts: Vec<Receipt>) {
        let command = Box::new(Command::ReturnUndelivered { receipts });
        self.push(Input::Command { caller: Caller::Nobody, command });
    }
}
