//! Reading records back, one by position or all in order.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    Position,
    codec::u32_at,
    error::ReadError,
    frame::{MAX_FRAME_BYTES, RECORD_HEADER_BYTES, verify_record},
    segment::{HEAD_BYTES, Segment},
    shared::Shared,
    storage::{Storage, StorageFile},
};

/// First read for a record. Most messages are shorter, and it is what a disk reads anyway.
const FIRST_READ_BYTES: usize = 4096;

/// The third of the four roles: reads what was appended. Any number of clones, on any threads.
pub struct Reader<S: Storage> {
    pub(crate) shared: Arc<Shared<S>>,
}

impl<S: Storage> Clone for Reader<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

/// Where a record is, and the promise that its segment is not recycled while this exists. Does not read anything.
pub struct RecordRef<S: Storage> {
    shared: Arc<Shared<S>>,
    segment: Arc<Segment<S::File>>,
    position: Position,
}

impl<S: Storage> Clone for RecordRef<S> {
    fn clone(&self) -> Self {
        let Self { shared, segment, position } = self;
        Self { shared: Arc::clone(shared), segment: Arc::clone(segment), position: *position }
    }
}

impl<S: Storage> Reader<S> {
    pub(crate) fn new(shared: Arc<Shared<S>>) -> Self {
        Self { shared }
    }

    /// Finds and pins the segment of the record at `position`, without I/O. `None` when nothing was appended there
    /// yet, or the segment was retired. Whether a record begins there shows when it is read.
    #[must_use]
    pub fn locate(&self, position: Position) -> Option<RecordRef<S>> {
        if position >= self.shared.written.load() || position.offset() < HEAD_BYTES {
            return None;
        }
        let segment = self.shared.segment(position.segment())?;
        Some(RecordRef { shared: Arc::clone(&self.shared), segment, position })
    }

    /// Reads the record at `position` and checks it against its checksum. One read of 4 KiB for most records, a
    /// second one for longer ones; no lock is held meanwhile.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when [`locate`](Self::locate) finds nothing; those of [`RecordRef::read`].
    pub fn read(&self, position: Position) -> Result<Bytes, ReadError> {
        self.locate(position).ok_or(ReadError::Missing { position })?.read()
    }

    /// End of what has been appended and acknowledged.
    #[must_use]
    pub fn tail(&self) -> Position {
        self.shared.written.load()
    }
}

impl<S: Storage> RecordRef<S> {
    /// Position of the record.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Reads the record and checks it against its checksum. The result owns exactly its own bytes.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] when no intact record begins there; [`ReadError::Io`].
    pub fn read(&self) -> Result<Bytes, ReadError> {
        let position = self.position;
        let damaged = ReadError::Damaged { position };
        let offset = u64::from(position.offset());
        let mut first = [0; FIRST_READ_BYTES];
        let found = self.read_at(&mut first, offset)?;
        if found < RECORD_HEADER_BYTES {
            return Err(damaged);
        }
        let (header, first) = first[..found].split_at(RECORD_HEADER_BYTES);
        let length = u32_at(header, 0) as usize;
        if length > MAX_FRAME_BYTES as usize {
            return Err(damaged);
        }
        let data = match first.get(..length) {
            Some(data) => Bytes::copy_from_slice(data),
            None => {
                let mut data = vec![0; length];
                data[..first.len()].copy_from_slice(first);
                let rest = offset + found as u64;
                if self.read_at(&mut data[first.len()..], rest)? < length - first.len() {
                    return Err(damaged);
                }
                Bytes::from(data)
            }
        };
        if verify_record(header, &data, position, self.shared.key) { Ok(data) } else { Err(damaged) }
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize, ReadError> {
        let position = self.position;
        self.segment.file.read_at(buf, offset).map_err(|source| ReadError::Io { position, source })
    }
}
