//! Writing frames, one fsync for many.

use std::{io, sync::Arc};

use thiserror::Error;

use crate::{
    Durability, Position,
    error::AppendError,
    framer::Frame,
    segment::{HEAD_BYTES, SEAL_OFFSET, Seal, Segment},
    shared::Shared,
    storage::{Storage, StorageFile},
    superblock::Superblock,
};

/// The second of the four roles: the only writer of segments.
pub struct Appender<S: Storage> {
    shared: Arc<Shared<S>>,
    active: Active<S::File>,
    /// Whether the active segment holds writes that no sync has covered.
    unsynced: bool,
    /// For joining several frames into one write; kept for its allocation.
    joined: Vec<u8>,
}

/// The segment being written, and what its seal will say.
pub(crate) struct Active<F> {
    pub(crate) segment: Arc<Segment<F>>,
    /// Offset after the last frame.
    pub(crate) end: u32,
    pub(crate) record_count: u64,
    pub(crate) first_sequence: u64,
}

impl<F> Active<F> {
    pub(crate) fn tail(&self) -> Position {
        Position::new(self.segment.number, self.end)
    }

    pub(crate) fn next_sequence(&self) -> u64 {
        self.first_sequence + self.record_count
    }

    fn seal(&self, epoch: u64) -> Seal {
        Seal {
            segment: self.segment.number,
            end: self.end,
            record_count: self.record_count,
            first_sequence: self.first_sequence,
            epoch,
        }
    }
}

enum Failure {
    Fenced(u64),
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The cause of all answers after the first failure.
#[derive(Debug, Error)]
#[error("an earlier write to the log failed")]
struct Poisoned;

/// Frames that are joined into one write at most, unless a single one is larger. Bounds the buffer.
const JOINED_BYTES_MAX: usize = 1 << 20;

impl<S: Storage> Appender<S> {
    pub(crate) fn new(shared: Arc<Shared<S>>, active: Active<S::File>) -> Self {
        Self { shared, active, unsynced: false, joined: Vec::new() }
    }

    /// Appends `frames`, in the order in which the [`Framer`](crate::Framer) finished them, and returns the end of
    /// the log. With [`Durability::Fsync`] everything before it is then on the medium; the cost is one write and one
    /// sync, and two syncs more whenever a segment is sealed. With no frames nothing is done.
    ///
    /// # Errors
    /// The two bad answers of [`AppendError`]. Both are final: every later call answers [`AppendError::Unknown`].
    ///
    /// # Panics
    /// If a frame does not begin where the one before it ended.
    pub fn append(&mut self, frames: &[Frame]) -> Result<Position, AppendError> {
        if self.shared.is_poisoned() {
            return Err(AppendError::Unknown { source: Box::new(Poisoned) });
        }
        match self.write_all(frames) {
            Ok(()) => Ok(self.active.tail()),
            Err(failure) => {
                self.shared.poison();
                Err(self.explain(failure))
            }
        }
    }

    fn write_all(&mut self, frames: &[Frame]) -> Result<(), Failure> {
        for run in frames.chunk_by(|a, b| a.start.segment() == b.start.segment()) {
            if run[0].start.segment() != self.active.segment.number {
                self.roll(&run[0])?;
            }
            self.write_run(run)?;
        }
        if self.shared.config.durability == Durability::Fsync {
            self.sync()?;
        }
        for frame in frames {
            self.shared.recent.push(frame.start, frame.bytes.clone());
        }
        self.shared.written.advance(self.active.tail());
        Ok(())
    }

    /// Writes frames of the active segment, several at once.
    fn write_run(&mut self, mut run: &[Frame]) -> io::Result<()> {
        while let Some((first, more)) = run.split_first() {
            let offset = self.admit(first);
            self.joined.clear();
            run = more;
            while let Some((next, more)) = run.split_first() {
                let joined = first.bytes.len().max(self.joined.len()) + next.bytes.len();
                if joined > JOINED_BYTES_MAX {
                    break;
                }
                if self.joined.is_empty() {
                    self.joined.extend_from_slice(&first.bytes);
                }
                self.admit(next);
                self.joined.extend_from_slice(&next.bytes);
                run = more;
            }
            let bytes = if self.joined.is_empty() { &first.bytes[..] } else { &self.joined[..] };
            self.unsynced = true;
            self.active.segment.file.write_all_at(bytes, u64::from(offset))?;
        }
        Ok(())
    }

    /// Counts `frame` in, and returns its offset.
    fn admit(&mut self, frame: &Frame) -> u32 {
        assert_eq!(frame.start, self.active.tail(), "frames are appended in order and without gaps");
        assert_eq!(frame.first_sequence, self.active.next_sequence(), "records are numbered without gaps");
        self.active.record_count += u64::from(frame.record_count);
        self.active.end = frame.end().offset();
        frame.start.offset()
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.unsynced {
            self.active.segment.file.sync_data()?;
            self.unsynced = false;
            self.shared.durable.advance(self.active.tail());
        }
        Ok(())
    }

    /// Seals the active segment and turns to the one in which `first` begins.
    fn roll(&mut self, first: &Frame) -> Result<(), Failure> {
        assert_eq!(
            first.start,
            Position::new(self.active.segment.number + 1, HEAD_BYTES),
            "segments are not skipped"
        );
        // The frames first: a valid seal promises that all of them are on the medium.
        self.sync()?;
        let seal = self.active.seal(self.shared.epoch);
        let old = &self.active.segment;
        old.file.write_all_at(&seal.encode(self.shared.key), SEAL_OFFSET)?;
        // The seal before the first frame of the next segment: a segment followed by frames is always sealed.
        old.file.sync_data()?;
        old.set_sealed(seal);
        if let Some(epoch) = self.newer_owner() {
            return Err(Failure::Fenced(epoch));
        }
        let segment =
            self.shared.segment(first.start.segment()).expect("the keeper published it before the framer");
        self.active =
            Active { segment, end: HEAD_BYTES, record_count: 0, first_sequence: seal.next_sequence() };
        Ok(())
    }

    fn explain(&self, failure: Failure) -> AppendError {
        match failure {
            Failure::Fenced(epoch) => AppendError::Fenced { epoch },
            Failure::Io(source) => match self.newer_owner() {
                Some(epoch) => AppendError::Fenced { epoch },
                None => AppendError::Unknown { source: Box::new(source) },
            },
        }
    }

    /// Epoch of the owner that has taken the log from us, if that is what the superblock says. The lock makes that
    /// next to impossible; an operator who deletes the lock file makes it possible again.
    fn newer_owner(&self) -> Option<u64> {
        let superblock = Superblock::read(&self.shared.storage).ok().flatten()?;
        (superblock.epoch > self.shared.epoch).then_some(superblock.epoch)
    }
}
