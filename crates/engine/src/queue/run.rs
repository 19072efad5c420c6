//! Runs of sealed chunks in their place in a backlog: in memory only, written out as well, or only written out.

use super::chunk::{Chunk, Stored};
use crate::{MessageSeq, Position, Timestamp};
use std::collections::VecDeque;

/// Where the bytes of an extent lie. Opaque to the engine: it keeps it and hands it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentPlace {
    /// Number of a file.
    pub file: u32,
    /// Offset in that file, in bytes.
    pub offset: u32,
    /// Length, in bytes.
    pub bytes: u32,
}

/// The outline of a run of chunks that was written out, and where it was written. What is written never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first message.
    pub first: Stored,
    /// The number of the last message.
    pub last_seq: MessageSeq,
    /// When the last message was sent; no other was sent later.
    pub last_sent_at: Timestamp,
    /// Number of messages, at least one.
    pub len: u32,
    /// Where the chunks are.
    pub place: ExtentPlace,
}

impl Extent {
    /// The outline of chunks that were written to `place`.
    ///
    /// # Panics
    /// When there are none.
    pub fn of(chunks: &[Chunk], place: ExtentPlace) -> Self {
        let (first, last) = (chunks.first(), chunks.last());
        let (first, last) = first.zip(last).expect("a run has chunks");
        let len = chunks.iter().map(Chunk::len).sum::<usize>();
        Extent {
            first: first.first(),
            last_seq: last.last_seq(),
            last_sent_at: last.last_sent_at(),
            len: u32::try_from(len).expect("a run is short"),
            place,
        }
    }

    /// Whether the chunks have this outline: what was read is what was written.
    pub fn outlines(&self, chunks: &[Chunk]) -> bool {
        let in_order = chunks.windows(2).all(|pair| pair[0].last_seq() < pair[1].first().seq);
        !chunks.is_empty() && in_order && Extent::of(chunks, self.place) == *self
    }
}

/// A part of a backlog as plain data; what a checkpoint keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Portion {
    /// Chunks that will soon change or go.
    Passing(Vec<Chunk>),
    /// Chunks that will stay for a while: worth being written out.
    Lasting(Vec<Chunk>),
    /// Chunks that are written out.
    Written {
        /// Their outline.
        extent: Extent,
        /// Messages sent up to then are gone, although they are part of the extent.
        expired_to: Timestamp,
    },
}

impl Portion {
    /// The place of every message's record. Of what is written out only `read` knows the chunks.
    pub fn for_each_position(
        &self,
        read: &mut impl FnMut(&Extent) -> Vec<Chunk>,
        mut visit: impl FnMut(Position),
    ) {
        match self {
            Portion::Passing(chunks) | Portion::Lasting(chunks) => {
                chunks.iter().flat_map(Chunk::iter).for_each(|stored| visit(stored.position));
            }
            // What has expired holds its record until it is released.
            Portion::Written { extent, .. } => {
                read(extent).iter().flat_map(Chunk::iter).for_each(|stored| visit(stored.position));
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Run {
    /// Written nowhere but inside checkpoints.
    Loose(VecDeque<Chunk>),
    Written(Written),
}

/// Chunks that are written out, and in memory or not.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) extent: Extent,
    /// `None` while they are away.
    pub(crate) chunks: Option<VecDeque<Chunk>>,
    /// Messages sent up to then are to go when the chunks come back.
    pub(crate) expired_to: Timestamp,
    wanted: Wanted,
}

/// Whether chunks that are away were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    No,
    Yes,
    /// They were, and cannot be read.
    InVain,
}

impl Written {
    pub(crate) fn away(extent: Extent, expired_to: Timestamp) -> Self {
        Written { extent, chunks: None, expired_to, wanted: Wanted::No }
    }

    pub(crate) fn is_away(&self) -> bool {
        self.chunks.is_none()
    }
}

impl From<Portion> for Run {
    fn from(portion: Portion) -> Self {
        match portion {
            Portion::Passing(chunks) | Portion::Lasting(chunks) => Run::Loose(chunks.into()),
            Portion::Written { extent, expired_to } => Run::Written(Written::away(extent, expired_to)),
        }
    }
}

impl Run {
    pub(crate) fn first(&self) -> Stored {
        match self {
            Run::Loose(chunks) => chunks.front().expect("a run has chunks").first(),
            Run::Written(written) => written.extent.first,
        }
    }

    pub(crate) fn last_seq(&self) -> MessageSeq {
        match self {
            Run::Loose(chunks) => chunks.back().expect("a run has chunks").last_seq(),
            Run::Written(written) => written.extent.last_seq,
        }
    }

    pub(crate) fn last_sent_at(&self) -> Timestamp {
        match self {
            Run::Loose(chunks) => chunks.back().expect("a run has chunks").last_sent_at(),
            Run::Written(written) => written.extent.last_sent_at,
        }
    }

    /// Number of messages.
    pub(crate) fn len(&self) -> usize {
        match self {
            Run::Loose(chunks) => chunks.iter().map(Chunk::len).sum(),
            Run::Written(written) => written.extent.len as usize,
        }
    }

    /// The chunks, if they are in memory.
    pub(crate) fn resident(&self) -> Option<&VecDeque<Chunk>> {
        match self {
            Run::Loose(chunks) => Some(chunks),
            Run::Written(written) => written.chunks.as_ref(),
        }
    }

    pub(crate) fn is_away(&self) -> bool {
        self.resident().is_none()
    }

    /// Makes the chunks a run of its own that may change. `None` while they are away.
    pub(crate) fn loosen(&mut self) -> Option<&mut VecDeque<Chunk>> {
        if let Run::Written(written) = self {
            *self = Run::Loose(written.chunks.take()?);
        }
        match self {
            Run::Loose(chunks) => Some(chunks),
            Run::Written(_) => unreachable!("made loose above"),
        }
    }

    /// Bytes of memory that putting the run away would free, and bytes that stay.
    pub(crate) fn footprint(&self) -> Footprint {
        let bytes = |chunks: &VecDeque<Chunk>| chunks.iter().map(Chunk::memory_bytes).sum();
        match self {
            Run::Loose(chunks) => Footprint { written: 0, loose: bytes(chunks) },
            Run::Written(written) => {
                Footprint { written: written.chunks.as_ref().map_or(0, bytes), loose: 0 }
            }
        }
    }

    /// Puts the chunks away, if they are written out and in memory.
    pub(crate) fn evict(&mut self) -> bool {
        match self {
            Run::Written(written) => {
                written.wanted = Wanted::No;
                written.chunks.take().is_some()
            }
            Run::Loose(_) => false,
        }
    }

    /// Takes the chunks back, if they are away and these are they.
    pub(crate) fn supply(&mut self, extent: &Extent, chunks: Vec<Chunk>) -> bool {
        match self {
            Run::Written(written) if written.chunks.is_none() && written.extent == *extent => {
                written.chunks = Some(chunks.into());
                true
            }
            _ => false,
        }
    }

    /// Notes that the chunks are needed; their extent, if they are away and were not asked for before.
    pub(crate) fn want(&mut self) -> Option<Extent> {
        match self {
            Run::Written(written) if written.chunks.is_none() && written.wanted == Wanted::No => {
                written.wanted = Wanted::Yes;
                Some(written.extent)
            }
            _ => None,
        }
    }

    /// Whether the chunks are away and cannot be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Run::Written(written) if written.is_away() && written.wanted == Wanted::InVain)
    }

    /// Notes that the chunks cannot be read.
    pub(crate) fn note_unreadable(&mut self) {
        if let Run::Written(written) = self {
            written.wanted = Wanted::InVain;
        }
    }

    /// Lets chunks that could not be read be asked for again.
    pub(crate) fn want_again(&mut self) {
        if let Run::Written(written) = self
            && written.wanted == Wanted::InVain
        {
            written.wanted = Wanted::No;
        }
    }
}

/// Bytes of memory that the chunks of backlogs take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Chunks that are written out: these can be put away.
    pub written: usize,
    /// Other chunks.
    pub loose: usize,
}

impl std::ops::AddAssign for Footprint {
    fn add_assign(&mut self, other: Footprint) {
        self.written += other.written;
        self.loose += other.loose;
    }
}

impl std::ops::SubAssign for Footprint {
    fn sub_assign(&mut self, other: Footprint) {
        self.written -= other.written;
        self.loose -= other.loose;
    }
}
