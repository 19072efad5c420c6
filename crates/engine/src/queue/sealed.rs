//! A sealed chunk in its place in a backlog: in memory, or put away with only its outline left.

use super::chunk::{Chunk, Stored};
use crate::MessageSeq;

#[derive(Debug)]
pub(crate) enum Sealed {
    Resident(Chunk),
    Dormant(Dormant),
}

/// What is known of a chunk that was put away.
#[derive(Debug)]
pub(crate) struct Dormant {
    first: Stored,
    last_seq: MessageSeq,
    len: usize,
    /// Whether the chunk was asked for.
    wanted: bool,
}

impl Sealed {
    pub(crate) fn first(&self) -> Stored {
        match self {
            Sealed::Resident(chunk) => chunk.first(),
            Sealed::Dormant(dormant) => dormant.first,
        }
    }

    pub(crate) fn last_seq(&self) -> MessageSeq {
        match self {
            Sealed::Resident(chunk) => chunk.last_seq(),
            Sealed::Dormant(dormant) => dormant.last_seq,
        }
    }

    pub(crate) fn resident(&self) -> Option<&Chunk> {
        match self {
            Sealed::Resident(chunk) => Some(chunk),
            Sealed::Dormant(_) => None,
        }
    }

    /// Puts the chunk away; `None` when it is away already.
    pub(crate) fn evict(&mut self) -> Option<Chunk> {
        let chunk = self.resident()?;
        let (first, last_seq, len) = (chunk.first(), chunk.last_seq(), chunk.len());
        let dormant = Sealed::Dormant(Dormant { first, last_seq, len, wanted: false });
        match std::mem::replace(self, dormant) {
            Sealed::Resident(chunk) => Some(chunk),
            Sealed::Dormant(_) => unreachable!("resident, looked at above"),
        }
    }

    /// Takes the chunk back, if it is away and this is it.
    pub(crate) fn supply(&mut self, chunk: Chunk) -> Result<(), Chunk> {
        match self {
            Sealed::Dormant(dormant)
                if (dormant.first, dormant.last_seq, dormant.len)
                    == (chunk.first(), chunk.last_seq(), chunk.len()) =>
            {
                *self = Sealed::Resident(chunk);
                Ok(())
            }
            _ => Err(chunk),
        }
    }

    /// Notes that the chunk is needed; whether it is away and was not asked for before.
    pub(crate) fn want(&mut self) -> bool {
        match self {
            Sealed::Resident(_) => false,
            Sealed::Dormant(dormant) => !std::mem::replace(&mut dormant.wanted, true),
        }
    }
}
