//! The untouched messages of a queue: sent, visible, never received, in the order of their numbers.
//!
//! A backlog of any depth is a row of runs of sealed chunks, a few bytes a message, between a decoded head that
//! receives take from and an open tail that sends append to. Runs that were written out may be put away; a receive gets
//! as far as the first run that is not there.
//!
//! Send times rise with the numbers here: what was sent earlier and becomes visible later waits elsewhere.

use super::chunk::{CHUNK_ENTRIES, Chunk, ChunkBuilder, Stored};
use super::run::{Extent, ExtentPlace, Footprint, Portion, Run, Written};
use super::standard::Released;
use crate::{MessageSeq, Position, Timestamp};
use std::collections::VecDeque;

/// Messages in front below which the next run that is away is asked for.
pub(crate) const READ_AHEAD: usize = 128;
/// Chunks of a full run.
const RUN_CHUNKS: usize = 16;

/// How large the parts of a backlog become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogSizes {
    /// Messages of a chunk. Default 256.
    pub chunk_messages: usize,
    /// Chunks of a run, which is what is put away at once. Default 16.
    pub run_chunks: usize,
    /// Messages in front below which the next run that is away is asked for. The default, 128, is more than any turn
    /// takes, so that receives do not meet runs that are away.
    pub read_ahead: usize,
}

impl Default for BacklogSizes {
    fn default() -> Self {
        BacklogSizes { chunk_messages: CHUNK_ENTRIES, run_chunks: RUN_CHUNKS, read_ahead: READ_AHEAD }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    sizes: BacklogSizes,
    /// Decoded entries, older than everything else here.
    head: VecDeque<Stored>,
    runs: VecDeque<Run>,
    tail: ChunkBuilder,
    /// Messages in all three parts.
    len: usize,
    /// Of the runs.
    footprint: Footprint,
}

impl Backlog {
    pub(crate) fn new(sizes: BacklogSizes) -> Self {
        Backlog { sizes, ..Backlog::default() }
    }

    pub(crate) fn sizes(&self) -> BacklogSizes {
        self.sizes
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory that the chunks take.
    pub(crate) fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// The newest number here, below which `push` must not go.
    pub(crate) fn last_seq(&self) -> Option<MessageSeq> {
        let sealed = || self.runs.back().map(Run::last_seq);
        self.tail.last_seq().or_else(sealed).or_else(|| self.head.back().map(|s| s.seq))
    }

    /// Appends a message with a higher number than any here.
    pub(crate) fn push(&mut self, stored: Stored) {
        assert!(self.last_seq().is_none_or(|last| last < stored.seq), "a backlog is in the order of numbers");
        self.len += 1;
        if self.runs.is_empty() && self.tail.is_empty() && self.head.len() < self.sizes.chunk_messages {
            self.head.push_back(stored);
            return;
        }
        self.tail.push(stored);
        if self.tail.len() == self.sizes.chunk_messages {
            let chunk = self.tail.seal();
            self.push_chunk(chunk);
        }
    }

    fn push_chunk(&mut self, chunk: Chunk) {
        self.footprint.loose += chunk.memory_bytes();
        match self.runs.back_mut() {
            Some(Run::Loose(chunks)) if chunks.len() < self.sizes.run_chunks => chunks.push_back(chunk),
            _ => self.runs.push_back(Run::Loose([chunk].into())),
        }
    }

    /// The oldest message.
    pub(crate) fn front(&self) -> Option<Stored> {
        let sealed = || self.runs.front().map(Run::first);
        self.head.front().copied().or_else(sealed).or_else(|| self.tail.iter().next())
    }

    /// The oldest messages that are in memory, at most `count` of them.
    pub(crate) fn first(&mut self, count: usize) -> impl Iterator<Item = &Stored> {
        self.fill_head(count);
        self.head.iter().take(count)
    }

    /// Decodes chunks until the head has `count` messages, or everything is in it, or the next chunk is away.
    fn fill_head(&mut self, count: usize) {
        while self.head.len() < count.min(self.len) {
            if self.runs.is_empty() {
                self.head.extend(self.tail.seal().iter());
                continue;
            }
            let Some(chunk) = self.pop_chunk() else { return };
            self.head.extend(chunk.iter());
        }
    }

    /// Takes the oldest chunk, unless it is away.
    fn pop_chunk(&mut self) -> Option<Chunk> {
        let taken = self.alter(0, |run| run.loosen().and_then(VecDeque::pop_front))?;
        if self.runs[0].resident().is_some_and(VecDeque::is_empty) {
            self.runs.pop_front();
        }
        Some(taken)
    }

    /// Changes a run and keeps count of memory.
    fn alter<R>(&mut self, at: usize, change: impl FnOnce(&mut Run) -> R) -> R {
        let run = &mut self.runs[at];
        self.footprint -= run.footprint();
        let result = change(run);
        self.footprint += run.footprint();
        result
    }

    /// Whether nothing can be received before a run comes back.
    pub(crate) fn is_stalled(&self) -> bool {
        self.head.is_empty() && self.next_is_away()
    }

    /// Whether receives find nothing beyond the head before a run comes back.
    pub(crate) fn next_is_away(&self) -> bool {
        self.runs.front().is_some_and(Run::is_away)
    }

    /// The run that should come back now: receives are about to reach it. Each is named once.
    pub(crate) fn poll_wanted(&mut self) -> Option<Extent> {
        let at = self.next_away()?;
        self.runs[at].want()
    }

    /// Whether a run that receives are about to reach is away and will come.
    pub(crate) fn is_wanting(&self) -> bool {
        self.next_away().is_some_and(|at| !self.runs[at].is_unreadable())
    }

    /// The first run that is away, if receives are about to reach it.
    fn next_away(&self) -> Option<usize> {
        let mut ahead = self.head.len();
        for (at, run) in self.runs.iter().enumerate() {
            if ahead >= self.sizes.read_ahead {
                return None;
            }
            if run.is_away() {
                return Some(at);
            }
            ahead += run.len();
        }
        None
    }

    /// Has a run that could not be read asked for again.
    pub(crate) fn want_again(&mut self) {
        self.runs.front_mut().into_iter().for_each(Run::want_again);
    }

    /// Notes that a run that was asked for cannot be read.
    pub(crate) fn note_unreadable(&mut self, extent: &Extent) {
        if let Some(at) = self.run_of(extent.first.seq)
            && away_extent(&self.runs[at]) == Some(*extent)
        {
            self.runs[at].note_unreadable();
        }
    }

    /// Puts away the run that begins with `first`, if it is written out.
    pub(crate) fn evict(&mut self, first: MessageSeq) -> Evicted {
        let Some(at) = self.run_of(first).filter(|at| self.runs[*at].first().seq == first) else {
            return Evicted::Gone;
        };
        let mut ahead = self.head.len();
        for run in self.runs.range(..at) {
            if ahead >= self.sizes.read_ahead {
                break;
            }
            ahead += run.len();
        }
        if ahead < self.sizes.read_ahead {
            return Evicted::Needed;
        }
        if self.alter(at, Run::evict) { Evicted::Away } else { Evicted::Gone }
    }

    /// Whether a run that begins with `first` is written out and in memory.
    pub(crate) fn is_resident(&self, first: MessageSeq) -> bool {
        let run = self.run_of(first).map(|at| &self.runs[at]).filter(|run| run.first().seq == first);
        run.is_some_and(|run| matches!(run, Run::Written(written) if !written.is_away()))
    }

    /// Takes back a run that is away; whether it was. What was to go meanwhile goes.
    pub(crate) fn supply(
        &mut self,
        extent: &Extent,
        chunks: Vec<Chunk>,
        released: &mut Vec<Released>,
    ) -> bool {
        let Some(at) = self.run_of(extent.first.seq) else { return false };
        if !self.alter(at, |run| run.supply(extent, chunks)) {
            return false;
        }
        let Run::Written(Written { expired_to, .. }) = self.runs[at] else {
            unreachable!("only what is written out was away")
        };
        self.expire(expired_to, released);
        true
    }

    /// Notes that chunks were written out. `false` when they are not a run any more.
    pub(crate) fn note_written(&mut self, chunks: &[Chunk], extent: Extent) -> bool {
        let Some(at) = self.run_of(extent.first.seq) else { return false };
        let Run::Loose(here) = &self.runs[at] else { return false };
        if here.len() != chunks.len() || !here.iter().zip(chunks).all(|(one, other)| one.is(other)) {
            return false;
        }
        self.alter(at, |run| {
            let chunks = run.loosen().map(std::mem::take).unwrap_or_default();
            *run = Run::Written(Written::away(extent, Timestamp::ZERO));
            run.supply(&extent, chunks.into());
        });
        true
    }

    /// Notes that what was written at a place is at another one as well.
    pub(crate) fn note_copied(&mut self, from: &Extent, to: ExtentPlace) {
        let Some(at) = self.run_of(from.first.seq) else { return };
        if let Run::Written(written) = &mut self.runs[at]
            && written.extent == *from
        {
            written.extent.place = to;
        }
    }

    /// Removes the oldest message, unless its chunk is away.
    pub(crate) fn pop(&mut self) -> Option<Stored> {
        self.fill_head(1);
        let oldest = self.head.pop_front()?;
        self.len -= 1;
        Some(oldest)
    }

    /// Drops the messages that were sent at `until` or before. Whole runs go as they are, in memory or not; of one that
    /// is away what is over goes when it comes back.
    pub(crate) fn expire(&mut self, until: Timestamp, released: &mut Vec<Released>) {
        while let Some(oldest) = self.front().filter(|stored| stored.sent_at <= until) {
            if !self.head.is_empty() {
                released.push(Released::Record(oldest.position));
                self.head.pop_front();
                self.len -= 1;
                continue;
            }
            match self.runs.front_mut() {
                Some(run) if run.last_sent_at() <= until => {
                    let run = self.runs.pop_front().expect("looked at");
                    self.len -= run.len();
                    self.footprint -= run.footprint();
                    released.push(Released::Run(run));
                }
                Some(Run::Written(written)) if written.is_away() => {
                    written.expired_to = written.expired_to.max(until);
                    return;
                }
                _ => self.fill_head(1),
            }
        }
    }

    /// When the message was sent whose end of retention changes something next.
    pub(crate) fn next_to_expire(&self) -> Option<Timestamp> {
        match self.runs.front() {
            Some(Run::Written(written)) if self.head.is_empty() && written.is_away() => {
                let first = written.extent.first.sent_at;
                // What is over of it waits for it, or for the rest of it to be over as well.
                Some(if first <= written.expired_to { written.extent.last_sent_at } else { first })
            }
            _ => self.front().map(|stored| stored.sent_at),
        }
    }

    /// The message of that number, if it is here and its chunk is in memory.
    pub(crate) fn get(&self, seq: MessageSeq) -> Option<Stored> {
        if self.head.back().is_some_and(|last| seq <= last.seq) {
            let at = self.head.binary_search_by_key(&seq, |s| s.seq).ok()?;
            return Some(self.head[at]);
        }
        let mut entries = match self.run_of(seq) {
            Some(at) => {
                let chunks = self.runs[at].resident()?;
                chunks[chunk_of(chunks, seq)?].entries()
            }
            None => self.tail.iter(),
        };
        entries.find(|stored| stored.seq >= seq).filter(|stored| stored.seq == seq)
    }

    /// The messages from a number on, as far as the first run that is away.
    pub(crate) fn from(&self, seq: MessageSeq) -> impl Iterator<Item = Stored> {
        let head = self.head.range(self.head.partition_point(|stored| stored.seq < seq)..).copied();
        let first = self.runs.partition_point(|run| run.last_seq() < seq);
        let resident = self.runs.range(first..).map_while(Run::resident).flatten();
        let resident = resident.skip_while(move |chunk| chunk.last_seq() < seq).flat_map(Chunk::iter);
        let mut rest = self.runs.range(first..);
        // Only looked at when everything before it was taken.
        let tail = std::iter::once_with(move || rest.all(|run| !run.is_away()).then(|| self.tail.iter()));
        head.chain(resident).chain(tail.flatten().flatten()).skip_while(move |stored| stored.seq < seq)
    }

    /// The first message of the first run that is away and does not end before a number.
    pub(crate) fn first_away(&self, from: MessageSeq) -> Option<MessageSeq> {
        let first = self.runs.partition_point(|run| run.last_seq() < from);
        self.runs.range(first..).find(|run| run.is_away()).map(|run| run.first().seq)
    }

    /// The runs that are away of those that hold `count` messages from a number on.
    pub(crate) fn away_from(&self, seq: MessageSeq, count: usize) -> Vec<Extent> {
        let first = self.runs.partition_point(|run| run.last_seq() < seq);
        let (mut extents, mut found) = (Vec::new(), 0);
        for (run, at) in self.runs.range(first..).zip(0..) {
            if found >= count {
                break;
            }
            extents.extend(away_extent(run));
            // Of the first one nobody knows how much lies before that number.
            found += if at == 0 { 1 } else { run.len() };
        }
        extents
    }

    /// The run that a message would be in, if that is away.
    pub(crate) fn away_with(&self, seq: MessageSeq) -> Option<Extent> {
        let run = &self.runs[self.run_of(seq)?];
        (run.first().seq <= seq).then(|| away_extent(run)).flatten()
    }

    /// Takes a message out of the row, if it is here and its chunk is in memory.
    pub(crate) fn remove(&mut self, seq: MessageSeq) -> Option<Stored> {
        let removed = self.get(seq)?;
        self.len -= 1;
        if self.head.back().is_some_and(|last| seq <= last.seq) {
            let at = self.head.binary_search_by_key(&seq, |s| s.seq).expect("found above");
            self.head.remove(at);
        } else if let Some(at) = self.run_of(seq) {
            self.change_chunk(at, seq, |chunk| chunk.without(seq));
            if self.runs[at].resident().is_some_and(VecDeque::is_empty) {
                self.runs.remove(at);
            }
        } else {
            let tail = self.tail.seal();
            tail.iter().filter(|stored| stored.seq != seq).for_each(|stored| self.tail.push(stored));
        }
        Some(removed)
    }

    /// Notes that the message's record moved; returns where it was.
    ///
    /// # Panics
    /// If the message is not here.
    pub(crate) fn relocate(&mut self, seq: MessageSeq, position: Position) -> Position {
        let old = self.get(seq).expect("a relocated message is in its queue").position;
        if self.head.back().is_some_and(|last| seq <= last.seq) {
            let at = self.head.binary_search_by_key(&seq, |s| s.seq).expect("found above");
            self.head[at].position = position;
        } else if let Some(at) = self.run_of(seq) {
            self.change_chunk(at, seq, |chunk| Some(chunk.with_position(seq, position)));
        } else {
            let moved = self.tail.seal().with_position(seq, position);
            moved.iter().for_each(|stored| self.tail.push(stored));
        }
        old
    }

    /// Changes the chunk of a run that covers `seq`, or drops it. The run is not what was written any more.
    fn change_chunk(&mut self, at: usize, seq: MessageSeq, change: impl FnOnce(&Chunk) -> Option<Chunk>) {
        self.alter(at, |run| {
            let chunks = run.loosen().expect("a message of it was found");
            let at = chunk_of(chunks, seq).expect("a message of it was found");
            match change(&chunks[at]) {
                Some(changed) => chunks[at] = changed,
                None => drop(chunks.remove(at)),
            }
        });
    }

    /// The run whose range covers `seq`.
    fn run_of(&self, seq: MessageSeq) -> Option<usize> {
        let at = self.runs.partition_point(|run| run.last_seq() < seq);
        (at < self.runs.len()).then_some(at)
    }

    /// Everything as runs.
    pub(crate) fn into_runs(mut self) -> impl Iterator<Item = Run> {
        let head = seal_all(self.head.iter().copied()).map(|chunk| Run::Loose([chunk].into()));
        let tail = (!self.tail.is_empty()).then(|| Run::Loose([self.tail.seal()].into()));
        head.into_iter().chain(self.runs).chain(tail)
    }

    /// Everything as plain data. Costs a little for each run, not for each message or chunk that is written out.
    pub(crate) fn portions(&self) -> Vec<Portion> {
        let mut portions = Vec::with_capacity(self.runs.len() + 2);
        portions.extend(seal_all(self.head.iter().copied()).map(|chunk| Portion::Passing(vec![chunk])));
        let last = self.runs.len().saturating_sub(1);
        portions.extend(self.runs.iter().enumerate().map(|(at, run)| match run {
            Run::Written(Written { extent, expired_to, .. }) => {
                Portion::Written { extent: *extent, expired_to: *expired_to }
            }
            Run::Loose(chunks) => {
                let is_full = chunks.len() >= self.sizes.run_chunks;
                let chunks = chunks.iter().cloned().collect();
                // The first is about to be received, the last still grows.
                let is_inside = 0 < at && at < last;
                if is_full || is_inside { Portion::Lasting(chunks) } else { Portion::Passing(chunks) }
            }
        }));
        portions.extend(seal_all(self.tail.iter()).map(|chunk| Portion::Passing(vec![chunk])));
        portions
    }

    /// Everything as chunks, those that are away excepted.
    pub(crate) fn to_chunks(&self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        chunks.extend(seal_all(self.head.iter().copied()));
        chunks.extend(self.runs.iter().filter_map(Run::resident).flatten().cloned());
        chunks.extend(seal_all(self.tail.iter()));
        chunks
    }

    pub(crate) fn from_portions(sizes: BacklogSizes, portions: Vec<Portion>) -> Self {
        let mut backlog = Backlog::new(sizes);
        for portion in portions {
            match portion {
                Portion::Passing(chunks) | Portion::Lasting(chunks) => {
                    backlog.len += chunks.iter().map(Chunk::len).sum::<usize>();
                    chunks.into_iter().for_each(|chunk| backlog.push_chunk(chunk));
                }
                Portion::Written { extent, expired_to } => {
                    backlog.len += extent.len as usize;
                    backlog.runs.push_back(Run::Written(Written::away(extent, expired_to)));
                }
            }
        }
        backlog.reopen_tail();
        backlog
    }

    /// Makes a last chunk that is not full the tail again.
    fn reopen_tail(&mut self) {
        let Some(Run::Loose(chunks)) = self.runs.back() else { return };
        let last = chunks.back().filter(|chunk| chunk.len() < self.sizes.chunk_messages).cloned();
        let Some(last) = last else { return };
        let at = self.runs.len() - 1;
        self.alter(at, |run| run.loosen().map(VecDeque::pop_back));
        if self.runs[at].resident().is_some_and(VecDeque::is_empty) {
            self.runs.pop_back();
        }
        last.iter().for_each(|stored| self.tail.push(stored));
    }
}

/// What became of a run that was to be put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evicted {
    /// It is.
    Away,
    /// Receives are about to reach it.
    Needed,
    /// There is no such run, or it is not written out.
    Gone,
}

fn away_extent(run: &Run) -> Option<Extent> {
    match run {
        Run::Written(written) if written.is_away() => Some(written.extent),
        _ => None,
    }
}

/// The chunk whose range covers `seq`.
fn chunk_of(chunks: &VecDeque<Chunk>, seq: MessageSeq) -> Option<usize> {
    let at = chunks.partition_point(|chunk| chunk.last_seq() < seq);
    (at < chunks.len()).then_some(at)
}

fn seal_all(entries: impl Iterator<Item = Stored>) -> Option<Chunk> {
    let mut builder = ChunkBuilder::default();
    entries.for_each(|stored| builder.push(stored));
    (!builder.is_empty()).then(|| builder.seal())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn stored(n: u64) -> Stored {
        Stored { seq: MessageSeq(n), position: Position(n * 400 + 7), sent_at: Timestamp::from_millis(n / 3) }
    }

    #[test]
    fn a_deep_backlog_comes_out_as_it_went_in() {
        let mut backlog = Backlog::default();
        let mut expected = VecDeque::new();
        for n in 0..5_000 {
            backlog.push(stored(n * 3));
            expected.push_back(stored(n * 3));
            if n % 3 == 0 {
                assert_eq!(backlog.pop(), expected.pop_front());
            }
        }
        assert_eq!(backlog.len(), expected.len());
        while let Some(want) = expected.pop_front() {
            assert_eq!(backlog.first(10).count(), expected.len().min(9) + 1);
            assert_eq!(backlog.pop(), Some(want));
        }
        assert_eq!((backlog.pop(), backlog.len(), backlog.last_seq()), (None, 0, None));
    }

    #[test]
    fn a_moved_record_is_found_at_its_new_place_wherever_the_message_waits() {
        let mut backlog = Backlog::default();
        (0..1_000).for_each(|n| backlog.push(stored(n * 2)));
        for n in [0, 1, 255, 256, 300, 511, 900, 998, 999] {
            let seq = MessageSeq(n * 2);
            assert_eq!(backlog.relocate(seq, Position(1 << 40)), stored(n * 2).position);
            assert_eq!(backlog.get(seq).map(|s| s.position), Some(Position(1 << 40)));
            assert_eq!(backlog.get(MessageSeq(n * 2 + 1)), None);
        }
        let again = Backlog::from_portions(BacklogSizes::default(), backlog.portions());
        assert_eq!(again.len(), 1_000);
        assert_eq!(again.get(MessageSeq(600)).map(|s| s.position), Some(Position(1 << 40)));
        assert_eq!(again.get(MessageSeq(602)).map(|s| s.position), Some(stored(602).position));
    }
}
