//! Sealed runs of stored messages, delta-coded: about four bytes a message.
//!
//! A chunk's bytes hold, for every entry after the first, three variable-length numbers (seven bits a byte,
//! low bits first, high bit = more follows): the step of the message number, and the zigzag-coded steps of
//! position and send time. The first entry stands beside the bytes.

use crate::{MessageSeq, Position, Timestamp};
use std::sync::Arc;

/// Entries of a full chunk: small enough to be rewritten when one message moves (about a microsecond), large
/// enough that a chunk's own 90 bytes do not count.
pub(crate) const CHUNK_ENTRIES: usize = 256;
/// What sharing the coded entries costs: two counters, and what an allocator adds.
const SHARED_BYTES: usize = 32;

/// What the index remembers of an untouched message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The message's number.
    pub seq: MessageSeq,
    /// Where its record is.
    pub position: Position,
    /// When it was sent; retention counts from here.
    pub sent_at: Timestamp,
}

/// An immutable run of stored messages in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    first: Stored,
    last_seq: MessageSeq,
    last_sent_at: Timestamp,
    len: u32,
    steps: Arc<[u8]>,
}

/// Why bytes are no chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the steps of a chunk do not decode to its {len} entries")]
pub struct ChunkMalformed {
    /// Entries the chunk claims.
    pub len: u32,
}

impl Chunk {
    /// Number of messages, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a chunk is never empty")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// The first entry.
    pub fn first(&self) -> Stored {
        self.first
    }

    /// The coded entries after the first.
    pub fn steps(&self) -> &[u8] {
        &self.steps
    }

    /// Puts a chunk together from its stored parts.
    ///
    /// # Errors
    /// When `steps` does not hold exactly `len - 1` rising entries.
    pub fn from_parts(first: Stored, len: u32, steps: &[u8]) -> Result<Self, ChunkMalformed> {
        let mut entries = Entries { next: (len > 0).then_some(first), left: len, steps };
        let mut last: Option<Stored> = None;
        let mut count = 0;
        for entry in entries.by_ref() {
            if last.is_some_and(|l| l.seq >= entry.seq) {
                return Err(ChunkMalformed { len });
            }
            last = Some(entry);
            count += 1;
        }
        match last {
            Some(last) if count == len && entries.steps.is_empty() => {
                let (last_seq, last_sent_at) = (last.seq, last.sent_at);
                Ok(Chunk { first, last_seq, last_sent_at, len, steps: steps.into() })
            }
            _ => Err(ChunkMalformed { len }),
        }
    }

    /// The number of the last message.
    pub fn last_seq(&self) -> MessageSeq {
        self.last_seq
    }

    pub(crate) fn last_sent_at(&self) -> Timestamp {
        self.last_sent_at
    }

    /// The entries in their order, decoded one by one.
    pub fn iter(&self) -> impl Iterator<Item = Stored> {
        self.entries()
    }

    pub(crate) fn entries(&self) -> Entries<'_> {
        Entries { next: Some(self.first), left: self.len, steps: &self.steps }
    }

    /// Whether it is the very same run in memory, not an equal one.
    pub(crate) fn is(&self, other: &Chunk) -> bool {
        Arc::ptr_eq(&self.steps, &other.steps)
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Chunk>() + SHARED_BYTES + self.steps.len()
    }

    /// The same run with one message's record elsewhere.
    pub(crate) fn with_position(&self, seq: MessageSeq, position: Position) -> Chunk {
        let mut builder = ChunkBuilder::default();
        for stored in self.iter() {
            let moved = stored.seq == seq;
            builder.push(Stored { position: if moved { position } else { stored.position }, ..stored });
        }
        builder.seal()
    }

    /// The same run without one message; `None` when nothing is left.
    pub(crate) fn without(&self, seq: MessageSeq) -> Option<Chunk> {
        let mut builder = ChunkBuilder::default();
        self.iter().filter(|stored| stored.seq != seq).for_each(|stored| builder.push(stored));
        (!builder.is_empty()).then(|| builder.seal())
    }
}

/// A chunk under construction.
#[derive(Debug, Default)]
pub(crate) struct ChunkBuilder {
    first: Stored,
    last: Stored,
    len: u32,
    steps: Vec<u8>,
}

impl ChunkBuilder {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn last_seq(&self) -> Option<MessageSeq> {
        (self.len > 0).then_some(self.last.seq)
    }

    pub(crate) fn push(&mut self, stored: Stored) {
        if self.len == 0 {
            self.first = stored;
        } else {
            assert!(self.last.seq < stored.seq, "a chunk is in the order of numbers");
            put_varint(&mut self.steps, stored.seq.0 - self.last.seq.0);
            put_varint(&mut self.steps, zigzag(stored.position.0, self.last.position.0));
            put_varint(&mut self.steps, zigzag(stored.sent_at.as_millis(), self.last.sent_at.as_millis()));
        }
        self.last = stored;
        self.len += 1;
    }

    /// Ends the chunk and starts another.
    ///
    /// # Panics
    /// When it is empty.
    pub(crate) fn seal(&mut self) -> Chunk {
        assert!(self.len > 0, "a chunk is never empty");
        let done = std::mem::take(self);
        let (last_seq, last_sent_at) = (done.last.seq, done.last.sent_at);
        Chunk { first: done.first, last_seq, last_sent_at, len: done.len, steps: done.steps.into() }
    }

    pub(crate) fn iter(&self) -> Entries<'_> {
        Entries { next: (self.len > 0).then_some(self.first), left: self.len, steps: &self.steps }
    }
}

/// The entries of a chunk, decoded one by one; ends early where the bytes do not decode.
pub(crate) struct Entries<'a> {
    next: Option<Stored>,
    left: u32,
    steps: &'a [u8],
}

impl Iterator for Entries<'_> {
    type Item = Stored;

    fn next(&mut self) -> Option<Stored> {
        let entry = self.next.take()?;
        self.left -= 1;
        if self.left > 0 {
            self.next = self.step(entry);
        }
        Some(entry)
    }
}

impl Entries<'_> {
    fn step(&mut self, from: Stored) -> Option<Stored> {
        let seq = from.seq.0.checked_add(take_varint(&mut self.steps)?)?;
        let position = unzigzag(from.position.0, take_varint(&mut self.steps)?);
        let sent_at = unzigzag(from.sent_at.as_millis(), take_varint(&mut self.steps)?);
        let sent_at = Timestamp::from_millis(sent_at);
        Some(Stored { seq: MessageSeq(seq), position: Position(position), sent_at })
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The signed step from `from` to `to`, small numbers for small steps in either direction.
fn zigzag(to: u64, from: u64) -> u64 {
    let step = to.wrapping_sub(from) as i64;
    ((step << 1) ^ (step >> 63)) as u64
}

fn unzigzag(from: u64, coded: u64) -> u64 {
    from.wrapping_add((coded >> 1) ^ (coded & 1).wrapping_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_steps_survive_coding() {
        let edges = [0, 1, 63, 64, 127, 128, 16_383, 1 << 32, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        let mut builder = ChunkBuilder::default();
        let mut all = Vec::new();
        for (n, &a) in edges.iter().enumerate() {
            for (m, &b) in edges.iter().enumerate() {
                let stored = Stored {
                    seq: MessageSeq((n * edges.len() + m) as u64),
                    position: Position(a),
                    sent_at: Timestamp::from_millis(b),
                };
                builder.push(stored);
                all.push(stored);
            }
        }
        let chunk = builder.seal();
        assert_eq!(chunk.iter().collect::<Vec<_>>(), all);
        assert_eq!(Chunk::from_parts(chunk.first(), chunk.len, chunk.steps()), Ok(chunk));
    }

    #[test]
    fn an_ordinary_chunk_takes_about_four_bytes_a_message() {
        let mut builder = ChunkBuilder::default();
        for n in 0..CHUNK_ENTRIES as u64 {
            let sent_at = Timestamp::from_millis(1_800_000_000_000 + n / 20);
            builder.push(Stored { seq: MessageSeq(n), position: Position(n * 420), sent_at });
        }
        let chunk = builder.seal();
        let bytes = chunk.steps().len() + size_of::<Chunk>();
        assert!(bytes <= 9 * CHUNK_ENTRIES / 2, "{bytes} bytes");
    }

    #[test]
    fn damaged_parts_are_no_chunk() {
        let mut builder = ChunkBuilder::default();
        (1..4).for_each(|n| builder.push(Stored { seq: MessageSeq(n), ..Stored::default() }));
        let chunk = builder.seal();
        let (first, steps) = (chunk.first(), chunk.steps().to_vec());
        let malformed = |len| Err(ChunkMalformed { len });
        assert_eq!(Chunk::from_parts(first, 0, &[]), malformed(0));
        assert_eq!(Chunk::from_parts(first, 4, &steps), malformed(4));
        assert_eq!(Chunk::from_parts(first, 2, &steps), malformed(2));
        assert_eq!(Chunk::from_parts(first, 3, &steps[..steps.len() - 1]), malformed(3));
        assert_eq!(Chunk::from_parts(first, 3, &[0; 6]), malformed(3), "numbers must rise");
    }
}
