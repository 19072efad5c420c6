//! The untouched messages of a queue: sent, visible, never received, in the order of their numbers.
//!
//! A backlog of any depth is a row of sealed chunks, a few bytes a message, between a decoded head that
//! receives take from and an open tail that sends append to. Chunks behind the first may be put away; a receive gets
//! as far as the first chunk that is not there.

use super::chunk::{CHUNK_ENTRIES, Chunk, ChunkBuilder, Stored};
use super::sealed::Sealed;
use crate::{MessageSeq, Position};
use std::collections::VecDeque;

/// Messages in the head below which the next chunk is asked for, so that receives rarely wait for it.
const READ_AHEAD: usize = CHUNK_ENTRIES / 2;

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Decoded entries, older than everything else here.
    head: VecDeque<Stored>,
    sealed: VecDeque<Sealed>,
    tail: ChunkBuilder,
    /// Messages in all three parts.
    len: usize,
}

impl Backlog {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The newest number here, below which `push` must not go.
    pub(crate) fn last_seq(&self) -> Option<MessageSeq> {
        let sealed = || self.sealed.back().map(Sealed::last_seq);
        self.tail.last_seq().or_else(sealed).or_else(|| self.head.back().map(|s| s.seq))
    }

    /// Appends a message with a higher number than any here.
    pub(crate) fn push(&mut self, stored: Stored) {
        assert!(self.last_seq().is_none_or(|last| last < stored.seq), "a backlog is in the order of numbers");
        self.len += 1;
        if self.sealed.is_empty() && self.tail.is_empty() && self.head.len() < CHUNK_ENTRIES {
            self.head.push_back(stored);
            return;
        }
        self.tail.push(stored);
        if self.tail.len() == CHUNK_ENTRIES {
            self.sealed.push_back(Sealed::Resident(self.tail.seal()));
        }
    }

    /// The oldest message.
    pub(crate) fn front(&self) -> Option<Stored> {
        let sealed = || self.sealed.front().map(Sealed::first);
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
            match self.sealed.pop_front() {
                None => self.head.extend(self.tail.seal().iter()),
                Some(Sealed::Resident(chunk)) => self.head.extend(chunk.iter()),
                Some(away) => return self.sealed.push_front(away),
            }
        }
    }

    /// Whether nothing can be received before a chunk comes back.
    pub(crate) fn is_stalled(&self) -> bool {
        self.head.is_empty() && self.next_is_away()
    }

    /// Whether receives find nothing beyond the head before a chunk comes back.
    pub(crate) fn next_is_away(&self) -> bool {
        self.sealed.front().is_some_and(|first| first.resident().is_none())
    }

    /// The first message of a chunk that should come back now: receives are about to reach it.
    pub(crate) fn poll_wanted(&mut self) -> Option<MessageSeq> {
        let near = self.head.len() < READ_AHEAD;
        let first = self.sealed.front_mut().filter(|_| near)?;
        first.want().then(|| first.first().seq)
    }

    /// First messages of the chunks that may be put away: all but the one that receives come to next.
    pub(crate) fn evictable(&self) -> impl Iterator<Item = MessageSeq> {
        self.sealed.iter().skip(1).filter_map(Sealed::resident).map(|chunk| chunk.first().seq)
    }

    /// Puts away the chunk that begins with `first`; `None` when there is none that may go.
    pub(crate) fn evict(&mut self, first: MessageSeq) -> Option<Chunk> {
        let at = self.chunk_of(first).filter(|at| *at > 0)?;
        self.sealed[at].evict()
    }

    /// Takes back a chunk; gives it back when it is not one that is away here.
    pub(crate) fn supply(&mut self, chunk: Chunk) -> Result<(), Chunk> {
        match self.chunk_of(chunk.first().seq) {
            Some(at) => self.sealed[at].supply(chunk),
            None => Err(chunk),
        }
    }

    /// Removes the oldest message, unless its chunk is away.
    pub(crate) fn pop(&mut self) -> Option<Stored> {
        self.fill_head(1);
        let oldest = self.head.pop_front()?;
        self.len -= 1;
        Some(oldest)
    }

    /// The message of that number, if it is here and its chunk is in memory.
    pub(crate) fn get(&self, seq: MessageSeq) -> Option<Stored> {
        if self.head.back().is_some_and(|last| seq <= last.seq) {
            let at = self.head.binary_search_by_key(&seq, |s| s.seq).ok()?;
            return Some(self.head[at]);
        }
        let mut entries = match self.chunk_of(seq) {
            Some(at) => self.sealed[at].resident()?.iter(),
            None => self.tail.iter(),
        };
        entries.find(|stored| stored.seq >= seq).filter(|stored| stored.seq == seq)
    }

    /// The messages from a number on, as far as the first chunk that is away.
    pub(crate) fn from(&self, seq: MessageSeq) -> impl Iterator<Item = Stored> {
        let head = self.head.range(self.head.partition_point(|stored| stored.seq < seq)..).copied();
        let first = self.sealed.partition_point(|chunk| chunk.last_seq() < seq);
        let resident = self.sealed.range(first..).map_while(Sealed::resident).flat_map(Chunk::iter);
        let is_whole = self.sealed.range(first..).all(|sealed| sealed.resident().is_some());
        let tail = is_whole.then(|| self.tail.iter()).into_iter().flatten();
        head.chain(resident).chain(tail).skip_while(move |stored| stored.seq < seq)
    }

    /// The first message of the first chunk that is away and does not end before a number.
    pub(crate) fn first_away(&self, from: MessageSeq) -> Option<MessageSeq> {
        let away = |sealed: &&Sealed| sealed.resident().is_none() && sealed.last_seq() >= from;
        self.sealed.iter().find(away).map(|sealed| sealed.first().seq)
    }

    /// Takes a message out of the row, if it is here and its chunk is in memory.
    pub(crate) fn remove(&mut self, seq: MessageSeq) -> Option<Stored> {
        let removed = self.get(seq)?;
        self.len -= 1;
        if self.head.back().is_some_and(|last| seq <= last.seq) {
            let at = self.head.binary_search_by_key(&seq, |s| s.seq).expect("found above");
            self.head.remove(at);
        } else if let Some(at) = self.chunk_of(seq) {
            let chunk = self.sealed[at].resident().expect("found above");
            match chunk.without(seq) {
                Some(rest) => self.sealed[at] = Sealed::Resident(rest),
                None => drop(self.sealed.remove(at)),
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
        } else if let Some(at) = self.chunk_of(seq) {
            let chunk = self.sealed[at].resident().expect("its position was found");
            self.sealed[at] = Sealed::Resident(chunk.with_position(seq, position));
        } else {
            let moved = self.tail.seal().with_position(seq, position);
            moved.iter().for_each(|stored| self.tail.push(stored));
        }
        old
    }

    /// The sealed chunk whose range covers `seq`.
    fn chunk_of(&self, seq: MessageSeq) -> Option<usize> {
        let at = self.sealed.partition_point(|chunk| chunk.last_seq() < seq);
        (at < self.sealed.len()).then_some(at)
    }

    /// Wants every chunk that is away: their first messages, and whether they were not asked for before.
    pub(crate) fn want_all(&mut self) -> impl Iterator<Item = (MessageSeq, bool)> {
        let away = self.sealed.iter_mut().filter(|sealed| sealed.resident().is_none());
        away.map(|sealed| (sealed.first().seq, sealed.want()))
    }

    /// Whether every chunk is in memory.
    pub(crate) fn is_resident(&self) -> bool {
        self.sealed.iter().all(|sealed| sealed.resident().is_some())
    }

    /// Everything that is in memory as sealed chunks; cheap, since sealed chunks are shared.
    pub(crate) fn to_chunks(&self) -> Vec<Chunk> {
        let mut chunks = Vec::with_capacity(self.sealed.len() + 2);
        let mut head = ChunkBuilder::default();
        self.head.iter().for_each(|stored| head.push(*stored));
        let mut tail = ChunkBuilder::default();
        self.tail.iter().for_each(|stored| tail.push(stored));
        chunks.extend((!head.is_empty()).then(|| head.seal()));
        chunks.extend(self.sealed.iter().filter_map(Sealed::resident).cloned());
        chunks.extend((!tail.is_empty()).then(|| tail.seal()));
        chunks
    }

    pub(crate) fn from_chunks(chunks: Vec<Chunk>) -> Self {
        let len = chunks.iter().map(Chunk::len).sum();
        Backlog { sealed: chunks.into_iter().map(Sealed::Resident).collect(), len, ..Backlog::default() }
    }
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
        let again = Backlog::from_chunks(backlog.to_chunks());
        assert_eq!(again.len(), 1_000);
        assert_eq!(again.get(MessageSeq(600)).map(|s| s.position), Some(Position(1 << 40)));
        assert_eq!(again.get(MessageSeq(602)).map(|s| s.position), Some(stored(602).position));
    }
}
