//! One engine with one log.

use crate::checkpoint::{Checkpoint, Stored};
use crate::codec;
use crate::extents::{ExtentError, Library};
use crate::memory::MemoryBudget;
use crate::segments::Segments;
use crate::snapshot::Contents;
use tidegate_engine::{
    Chunk, Command, Demand, Engine, Error, Event, Journal, Orphan, PolicyUpdate, QueueGauge, Reply,
    RequestId, Timestamp,
};
use tidegate_log::{Frame, Framer, Position, Reader, Space, Storage};

/// What became of a command.
pub type Outcome = Result<Reply, Error>;

/// One atomic step of the log and the answers that may leave when it is durable.
#[derive(Debug)]
pub struct Commit {
    /// What to append; `None` when nothing changed.
    pub frame: Option<Frame>,
    /// The answers. They tell of this frame and of all before it.
    pub replies: Vec<(RequestId, Outcome)>,
}

/// Log bytes after which a new checkpoint is due: bounds what a restart replays to a second or two.
const CHECKPOINT_BYTES: u64 = 256 << 20;
/// Records after which a new checkpoint is due; replay does about a million a second.
const CHECKPOINT_RECORDS: u64 = 1_000_000;

/// One engine with one log, without threads, clock or waiting.
pub struct Shard<S: Storage> {
    engine: Engine,
    journal: FrameJournal<S>,
    library: Library<S>,
    memory: MemoryBudget,
    /// Bytes of written out runs in memory up to which there is no use in looking for some to put away.
    evict_above: usize,
    /// Bytes of runs in memory that the last checkpoint left there without writing them.
    loose_bytes: usize,
}

impl<S: Storage> Shard<S> {
    pub(crate) fn new(
        engine: Engine,
        framer: Framer<S>,
        reader: Reader<S>,
        segments: Segments,
        memory: MemoryBudget,
    ) -> Self {
        let journal = FrameJournal { framer, replies: Vec::new(), segments, written: Written::default() };
        let library = Library::new(reader);
        let evict_above = memory.backlog_bytes();
        Shard { engine, journal, library, memory, evict_above, loose_bytes: 0 }
    }

    /// Handles a command at the instant `now`. The reply is in a later [`Commit`]; it is a refusal when the log
    /// has no room for what the command demands.
    pub fn handle(&mut self, now: Timestamp, request: RequestId, command: Command) {
        if !self.admits(command.demand()) {
            return self.journal.reply(request, Err(Error::StorageFull));
        }
        for (queue, extent) in self.engine.dormant_for(&command) {
            if let Some(chunks) = self.library.read(now, &extent) {
                self.engine.supply(queue, &extent, chunks);
            }
        }
        self.engine.handle(now, request, command, &mut self.journal);
        self.bring_back(now);
    }

    /// Forgets a request whose caller went away.
    pub fn cancel(&mut self, request: RequestId) {
        self.engine.cancel(request);
    }

    /// When [`Shard::handle_timeout`] is due next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.engine.poll_timeout()
    }

    /// Lets time pass. While room is very short what falls due waits until there is more.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.admits(Demand::Changes) {
            self.engine.handle_timeout(now, &mut self.journal);
            self.bring_back(now);
        }
    }

    /// Whether messages are gone whose records are still to be released, by [`release_some`](Self::release_some).
    pub fn is_releasing(&self) -> bool {
        self.engine.has_orphans()
    }

    /// Releases the records of one run of messages that went in a purge or the like: a few thousand at most, which takes
    /// less than a tenth of a millisecond. Until all are, segments of the log seem to be in use that are not.
    pub fn release_some(&mut self, now: Timestamp) {
        let chunks = match self.engine.poll_orphan() {
            None => return,
            Some(Orphan::Chunks(chunks)) => chunks,
            Some(Orphan::Extent(extent)) => match self.library.read(now, &extent) {
                Some(chunks) => chunks,
                None => return self.engine.keep_orphan(extent),
            },
        };
        let (mut segment, mut count) = (0, 0);
        for stored in chunks.iter().flat_map(Chunk::iter) {
            let of = Position::from(stored.position.0).segment();
            if of != segment && count > 0 {
                self.journal.segments.release_many(segment, std::mem::take(&mut count));
            }
            segment = of;
            count += 1;
        }
        if count > 0 {
            self.journal.segments.release_many(segment, count);
        }
    }

    /// Takes an error about messages that cannot be brought back into memory. They stay where they are, and what needs
    /// them waits; the next receive tries again.
    pub fn poll_error(&mut self) -> Option<ExtentError> {
        self.library.poll_error()
    }

    /// Whether the log has room for what a command asks of it.
    ///
    /// Short of room, what is left of the active segment is shared out: moves, which give back more than they take, may
    /// use the first half, receives and visibility changes three quarters, and what frees messages all of it.
    pub fn admits(&self, demand: Demand) -> bool {
        let framer = &self.journal.framer;
        let (room, whole) = (framer.room_bytes(), framer.allocated_bytes());
        match (framer.space(), demand) {
            (_, Demand::Reads) | (Space::Ample, _) | (Space::Low, Demand::Frees) => true,
            (Space::Low, Demand::Moves) => room >= whole / 2,
            (Space::Low, Demand::Changes) => room >= whole / 4,
            (Space::Low, Demand::Stores) | (Space::Full, _) => false,
        }
    }

    /// Answers every receive that waits, with nothing.
    pub fn release_waiting(&mut self) {
        self.engine.release_waiting(&mut self.journal);
    }

    /// Takes the policy of one queue that changed; after a recovery, one by one, of every queue that has one. It is in
    /// force once the next commit is durable.
    pub fn poll_policy(&mut self) -> Option<PolicyUpdate> {
        self.engine.poll_policy()
    }

    /// Bytes gathered for the next commit.
    pub fn pending_bytes(&self) -> usize {
        self.journal.framer.bytes()
    }

    /// Takes what was gathered since the last commit; `None` when that is nothing.
    pub fn take_commit(&mut self) -> Option<Commit> {
        let frame = self.journal.framer.finish();
        let replies = std::mem::take(&mut self.journal.replies);
        (frame.is_some() || !replies.is_empty()).then_some(Commit { frame, replies })
    }

    /// Whether enough was written since the last checkpoint that another is due.
    pub fn checkpoint_due(&self) -> bool {
        let written = &self.journal.written;
        let is_large =
            self.engine.footprint().loose >= self.loose_bytes.saturating_add(self.memory.changed_bytes());
        written.bytes >= CHECKPOINT_BYTES || written.records >= CHECKPOINT_RECORDS || is_large
    }

    /// Whether anything was written since the last checkpoint.
    pub fn checkpoint_useful(&self) -> bool {
        self.journal.written.records > 0
    }

    /// The state after the newest commit, at the instant `now`. It must not be stored before that commit is durable.
    ///
    /// A start from it does not take up an earlier time: messages whose retention has ended by now stay ended, although
    /// no event says so, because their records may be gone by then.
    ///
    /// # Panics
    /// While events wait for a commit.
    pub fn checkpoint(&mut self, now: Timestamp) -> Checkpoint {
        assert_eq!(self.pending_bytes(), 0, "a checkpoint stands between two frames");
        self.journal.written = Written::default();
        self.loose_bytes = self.engine.footprint().loose;
        let mut snapshot = self.engine.snapshot();
        snapshot.at = snapshot.at.max(now);
        let contents = Contents { snapshot, segments: self.journal.segments.clone() };
        Checkpoint { position: self.journal.framer.tail(), contents }
    }

    /// Takes note of what was written with a checkpoint: it can be put away now.
    pub fn note_stored(&mut self, stored: Stored) {
        for (queue, chunks, extent) in stored.written {
            self.engine.note_written(queue, &chunks, extent);
        }
        for (queue, from, to) in stored.copied {
            self.engine.note_copied(queue, &from, to);
        }
        self.loose_bytes = self.engine.footprint().loose;
        self.evict();
    }

    /// The use of the log's segments.
    pub fn segments(&self) -> &Segments {
        &self.journal.segments
    }

    /// Forgets a segment whose file was given back.
    pub fn forget_segment(&mut self, number: u32) {
        self.journal.segments.forget(number);
    }

    /// The number of the segment that is written now.
    pub fn active_segment(&self) -> u32 {
        self.journal.framer.tail().segment()
    }

    /// Whether the log has room.
    pub fn space(&self) -> Space {
        self.journal.framer.space()
    }

    /// Counts and ages of every queue.
    pub fn gauges(&mut self, now: Timestamp) -> Vec<QueueGauge> {
        let gauges = self.engine.gauges(now);
        self.account();
        gauges
    }

    /// Number of receives that wait.
    pub fn parked_count(&self) -> usize {
        self.engine.parked_count()
    }

    /// The time of the newest event.
    pub fn at(&self) -> Timestamp {
        self.engine.at()
    }

    /// The engine, for looking at it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Reads what receives are about to reach, and takes note of what happened.
    fn bring_back(&mut self, now: Timestamp) {
        while let Some((queue, extent)) = self.engine.poll_wanted() {
            match self.library.read(now, &extent) {
                Some(chunks) => self.engine.handle_extent(now, queue, &extent, chunks, &mut self.journal),
                None => self.engine.handle_unreadable(now, queue, &extent, &mut self.journal),
            }
        }
        self.account();
        self.evict();
    }

    /// Puts away what exceeds the budget.
    fn evict(&mut self) {
        let (written, allowed) = (self.engine.footprint().written, self.memory.backlog_bytes());
        if written <= self.evict_above {
            self.evict_above = if written <= allowed { allowed } else { self.evict_above };
            return;
        }
        self.engine.evict(allowed);
        let left = self.engine.footprint().written;
        // All of it is about to be received: only if there is more is there a reason to look through it again.
        self.evict_above = if left > allowed { left + allowed / 16 } else { allowed };
    }

    fn account(&mut self) {
        while let Some(position) = self.engine.poll_released() {
            self.journal.segments.release(position.0.into());
        }
    }
}

/// Amount written since the last checkpoint.
#[derive(Debug, Default)]
struct Written {
    bytes: u64,
    records: u64,
}

/// Puts events into the frame under construction.
struct FrameJournal<S: Storage> {
    framer: Framer<S>,
    replies: Vec<(RequestId, Outcome)>,
    segments: Segments,
    written: Written,
}

impl<S: Storage> Journal for FrameJournal<S> {
    fn append(&mut self, at: Timestamp, event: &Event) -> tidegate_engine::Position {
        let mut bytes = 0;
        let position = self.framer.push(|frame| {
            let before = frame.len();
            codec::encode(at, event, frame);
            bytes = (frame.len() - before) as u64;
        });
        if matches!(event, Event::MessageSent { .. } | Event::MessageRelocated { .. }) {
            self.segments.add(position, bytes);
        }
        self.written.bytes += bytes;
        self.written.records += 1;
        tidegate_engine::Position(position.into())
    }

    fn reply(&mut self, request: RequestId, reply: Outcome) {
        self.replies.push((request, reply));
    }
}
