//! Settings of a log.

use crate::{error::LogError, frame::MAX_FRAME_BYTES, segment::HEAD_BYTES};

/// How far an append goes before it counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// To the medium: survives power loss. One `fdatasync` an append.
    #[default]
    Fsync,
    /// To the operating system: survives a crash of the process, not of the machine. After a power loss the log is
    /// a prefix of what was appended: segments are still fsynced when they are sealed, and everything before a
    /// checkpoint is fsynced with it.
    Os,
}

/// Settings of one log, fixed while it is open. All may differ from one opening to the next.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Length at which a segment is full and the next one begins. 8 KiB to 1 GiB, default 64 MiB. Files on disk are
    /// an eighth longer (at most 8 MiB), see [`LogConfig::file_bytes`]. Larger segments mean fewer rolls and coarser
    /// reclaiming.
    pub segment_bytes: u32,
    /// Default [`Durability::Fsync`].
    pub durability: Durability,
    /// Bound on the bytes of all files of the log together. Default none: the medium is the bound. Reaching it has
    /// the same effect as a full disk. Checkpoints are still written above it, since they lead out of it.
    pub max_bytes: Option<u64>,
    /// Bytes of the newest frames that are kept in memory, so that reading them costs no I/O. Default 8 MiB; 0 keeps none.
    pub recent_bytes: usize,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            durability: Durability::Fsync,
            max_bytes: None,
            recent_bytes: 8 << 20,
        }
    }
}

/// Smallest segment: a head block and as much again. Only tests go near it.
const SEGMENT_BYTES_MIN: u32 = 2 * HEAD_BYTES;
/// Largest segment. Keeps every offset, including the overshoot of the last frame, far inside 32 bits.
const SEGMENT_BYTES_MAX: u32 = 1 << 30;
/// Most room kept beyond `segment_bytes`: hundreds of thousands of deletes, and larger than any usual frame.
const HEADROOM_BYTES_MAX: u32 = 8 << 20;

const _: () =
    assert!(SEGMENT_BYTES_MAX as u64 + HEADROOM_BYTES_MAX as u64 + MAX_FRAME_BYTES as u64 <= u32::MAX as u64);

impl LogConfig {
    /// Room allocated beyond [`segment_bytes`](Self::segment_bytes), in bytes. The last frame of a segment runs into
    /// it, and deletes live in it when the disk is full.
    #[must_use]
    pub fn headroom_bytes(&self) -> u32 {
        (self.segment_bytes / 8).min(HEADROOM_BYTES_MAX)
    }

    /// Bytes allocated for a new segment file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        u64::from(self.segment_bytes) + u64::from(self.headroom_bytes())
    }

    /// When less than this is left of a segment file, it counts as full: room for the last frame, which is built while
    /// there still seems to be some.
    pub(crate) fn last_room_bytes(&self) -> u64 {
        u64::from(self.headroom_bytes() / 4)
    }

    /// When less than this is left of a segment file while the next is still in the making, what stores more is refused.
    /// Until then the keeper has merely not come round to it.
    pub(crate) fn late_room_bytes(&self) -> u64 {
        u64::from(self.headroom_bytes() / 2)
    }

    /// Bytes of the reserve file that is given up so that a checkpoint can be written on a full disk.
    pub(crate) fn reserve_bytes(&self) -> u64 {
        u64::from(self.segment_bytes / 64)
    }

    pub(crate) fn validate(&self) -> Result<(), LogError> {
        if (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&self.segment_bytes) {
            return Ok(());
        }
        Err(LogError::SegmentBytes {
            given: self.segment_bytes,
            min: SEGMENT_BYTES_MIN,
            max: SEGMENT_BYTES_MAX,
        })
    }
}
