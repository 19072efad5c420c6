//! Everything that can go wrong, by what the caller should do about it.

use std::{error::Error, io};

use thiserror::Error;

use crate::Position;

/// Why a log cannot be opened, scanned or checked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// Someone else has the directory open. Stop the other process, or use another directory.
    #[error("another process has this data directory open; stop it first, or choose another directory")]
    Locked,
    /// A segment is damaged in a place that was durable. Nothing has been changed.
    #[error(
        "segment {segment} is damaged at byte {offset}: {what}. Nothing was changed. Check the disk, run \
         `tidegate check` for the whole picture, and restore the directory from a copy"
    )]
    Corrupt {
        /// Segment number.
        segment: u32,
        /// Offset of the first bad byte range in the segment file; 0 when the whole file is meant.
        offset: u32,
        /// What is wrong, as a clause.
        what: &'static str,
    },
    /// A file other than a segment is damaged or missing. Nothing has been changed.
    #[error(
        "file `{file}` is damaged: {what}. Nothing was changed. Check the disk, run `tidegate check` for the whole \
         picture, and restore the directory from a copy"
    )]
    CorruptFile {
        /// Name of the file in the data directory.
        file: String,
        /// What is wrong, as a clause.
        what: &'static str,
    },
    /// Written by a version with another format. Open the directory with that version.
    #[error("file `{file}` has format version {found}, and this program reads version {supported}")]
    Version {
        /// Name of the file in the data directory.
        file: String,
        /// Version the file claims.
        found: u32,
        /// Version this crate reads and writes.
        supported: u32,
    },
    /// A setting is out of range.
    #[error("segment_bytes is {given}, but must lie between {min} and {max}")]
    SegmentBytes {
        /// Value in the configuration.
        given: u32,
        /// Smallest allowed value.
        min: u32,
        /// Largest allowed value.
        max: u32,
    },
    /// The storage refused an operation. For a full disk, free some space and start again.
    #[error("the data directory failed to {action}")]
    Io {
        /// What was being done, as a verb phrase.
        action: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl LogError {
    /// For `map_err`: an [`LogError::Io`] that says what was being done.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

/// The two bad answers to an append. The third answer, a position, is `Ok`.
#[derive(Debug, Error)]
pub enum AppendError {
    /// Another owner has taken the log over with a higher epoch. Nothing more may be written by this one.
    #[error("the log was taken over by another owner, at epoch {epoch}")]
    Fenced {
        /// Epoch of the new owner.
        epoch: u64,
    },
    /// A write or an fsync failed, now or earlier: nobody knows what is on the medium. Replies that wait for this
    /// append must not be sent. End the process, or drop all roles and open the log again. Never retried, because a
    /// failed fsync may have dropped the pages it could not write and report success the next time.
    #[error("a write to the log failed and its outcome is unknown; the log must be opened again")]
    Unknown {
        /// The first failure.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Why a block of a posting file cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BlockError {
    /// There is no such file, or it was removed.
    #[error("there is no posting file {file:08x}")]
    Missing {
        /// Number of the file.
        file: u32,
    },
    /// The bytes there are not the block that was written.
    #[error("the block at byte {offset} of posting file {file:08x} is damaged")]
    Damaged {
        /// Number of the file.
        file: u32,
        /// Offset of the block.
        offset: u32,
    },
    /// The storage failed.
    #[error("the block at byte {offset} of posting file {file:08x} could not be read")]
    Io {
        /// Number of the file.
        file: u32,
        /// Offset of the block.
        offset: u32,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Why one record cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The position was never written, or its segment was retired.
    #[error("the log holds no record at {position}")]
    Missing {
        /// The position asked for.
        position: Position,
    },
    /// The bytes at the position are not the record that was written there.
    #[error("the record at {position} is damaged, or no record begins there")]
    Damaged {
        /// The position asked for.
        position: Position,
    },
    /// The storage failed.
    #[error("the record at {position} could not be read")]
    Io {
        /// The position asked for.
        position: Position,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Why maintenance was refused or failed. The log itself goes on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// The segment is still needed to recover from the oldest checkpoint that is kept.
    #[error("segment {segment} is needed for recovery from the checkpoint at {checkpoint}")]
    Needed {
        /// The segment that was to be retired.
        segment: u32,
        /// Position of the oldest checkpoint that is kept; 0:0 when there is none.
        checkpoint: Position,
    },
    /// Only sealed segments can be retired, and each only once.
    #[error("segment {segment} is not a sealed segment of this log")]
    NotSealed {
        /// The segment that was to be retired.
        segment: u32,
    },
    /// A checkpoint may only cover what has been appended, and must not go back.
    #[error("a checkpoint at {position} is outside the range {oldest} to {end} that can be covered now")]
    CheckpointRange {
        /// Position of the refused checkpoint.
        position: Position,
        /// Position of the newest checkpoint.
        oldest: Position,
        /// End of what has been appended.
        end: Position,
    },
    /// No room, even after the older checkpoint and the reserve were given up.
    #[error("there is no room on the disk for a checkpoint")]
    NoRoom {
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// An append failed earlier, so that the state of the medium is unknown.
    #[error("the log is out of order since a write failed; it must be opened again")]
    Poisoned,
    /// The storage failed.
    #[error("the data directory failed to {action}")]
    Io {
        /// What was being done, as a verb phrase.
        action: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl KeeperError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
