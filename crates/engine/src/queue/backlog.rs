//! The untouched messages of a queue: sent, visible, never received, in the order of their numbers.
//!
//! A backlog of any depth is a row of sealed chunks, a few bytes a message, between a decoded head that
//! receives take from and an open tail that sends append to.

use super::chunk::{CHUNK_ENTRIES, Chunk, ChunkBuilder, Stored};
use crate::{MessageSeq, Position};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Decoded entries, older than everything else here.
    head: VecDeque<Stored>,
    sealed: VecDeque<Chunk>,
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
        let sealed = || self.sealed.back().map(Chunk::last_seq);
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
            self.sealed.push_back(self.tail.seal());
        }
    }

    /// The oldest message.
    pub(crate) fn front(&self) -> Option<Stored> {
        let sealed = || self.sealed.front().map(Chunk::first);
        self.head.front().copied().or_else(sealed).or_else(|| self.tail.iter().next())
    }

    /// The oldest messages, at most `count` of them.
    pub(crate) fn first(&mut self, count: usize) -> impl Iterator<Item = &Stored> {
        self.fill_head(count);
        self.head.iter().take(count)
    }

    /// Decodes chunks until the head has `count` messages or everything is in it.
    fn fill_head(&mut self, count: usize) {
        while self.head.len() < count.min(self.len) {
            let chunk = self.sealed.pop_front().unwrap_or_else(|| self.tail.seal());
            self.head.extend(chunk.iter());
        }
    }

    /// Removes the oldest message.
    pub(crate) fn pop(&mut self) -> Option<Stored> {
        self.fill_head(1);
        let oldest = self.head.pop_front()?;
        self.len -= 1;
        Some(oldest)
    }

    /// Where the message's record is, if the message is here.
    pub(crate) fn position(&self, seq: MessageSeq) -> Option<Position> {
        if self.head.back().is_some_and(|last| seq <= last.seq) {
            let at = self.head.binary_search_by_key(&seq, |s| s.seq).ok()?;
            return Some(self.head[at].position);
        }
        let chunk = self.chunk_of(seq);
        let mut entries = chunk.map_or_else(|| self.tail.iter(), |at| self.sealed[at].iter());
        entries.find(|s| s.seq >= seq).filter(|s| s.seq == seq).map(|s| s.position)
    }

    /// Notes that the message's record moved; returns where it was.
    ///
    /// # Panics
    /// If the message is not here.
    pub(crate) fn relocate(&mut self, seq: MessageSeq, position: Position) -> Position {
        let old = self.position(seq).expect("a relocated message is in its queue");
        if self.head.back().is_some_and(|last| seq <= last.seq) {
            let at = self.head.binary_search_by_key(&seq, |s| s.seq).expect("found above");
            self.head[at].position = position;
        } else if let Some(at) = self.chunk_of(seq) {
            self.sealed[at] = self.sealed[at].with_position(seq, position);
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

    /// The whole backlog as sealed chunks; cheap, since sealed chunks are shared.
    pub(crate) fn to_chunks(&self) -> Vec<Chunk> {
        let mut chunks = Vec::with_capacity(self.sealed.len() + 2);
        let mut seal = |entries: &mut dyn Iterator<Item = Stored>, then: &[Chunk]| {
            let mut builder = ChunkBuilder::default();
            entries.for_each(|stored| builder.push(stored));
            if !builder.is_empty() {
                chunks.push(builder.seal());
            }
            chunks.extend_from_slice(then);
        };
        let (front, back) = self.sealed.as_slices();
        seal(&mut self.head.iter().copied(), front);
        seal(&mut std::iter::empty(), back);
        seal(&mut self.tail.iter(), &[]);
        chunks
    }

    pub(crate) fn from_chunks(chunks: Vec<Chunk>) -> Self {
        let len = chunks.iter().map(Chunk::len).sum();
        Backlog { sealed: chunks.into(), len, ..Backlog::default() }
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
            assert_eq!(backlog.position(seq), Some(Position(1 << 40)));
            assert_eq!(backlog.position(MessageSeq(n * 2 + 1)), None);
        }
        let again = Backlog::from_chunks(backlog.to_chunks());
        assert_eq!(again.len(), 1_000);
        assert_eq!(again.position(MessageSeq(600)), Some(Position(1 << 40)));
        assert_eq!(again.position(MessageSeq(602)), Some(stored(602).position));
    }
}
