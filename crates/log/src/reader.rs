//! Reading records back, one by position or all in order.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    Position,
    codec::{Key, u32_at},
    error::{BlockError, ReadError},
    frame::{MAX_FRAME_BYTES, RECORD_HEADER_BYTES, verify_record},
    posting::{self, BlockRef},
    segment::{HEAD_BYTES, Segment},
    shared::Shared,
    storage::{Storage, StorageFile},
};

/// First read for a record. Most messages are shorter, and it is what a disk reads anyway.
const FIRST_READ_BYTES: usize = 4096;
/// Most that several records share one read of.
const BLOCK_BYTES_MAX: usize = 64 << 10;

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

    /// Reads the record at `position` and checks it against its checksum. No I/O for one that was appended lately, one
    /// read of 4 KiB for most others, a second one for long ones; no lock is held meanwhile.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when [`locate`](Self::locate) finds nothing; those of [`RecordRef::read`].
    pub fn read(&self, position: Position) -> Result<Bytes, ReadError> {
        match self.read_recent(position) {
            Some(record) => record,
            None => self.locate(position).ok_or(ReadError::Missing { position })?.read(),
        }
    }

    /// Reads several records as [`read`](Self::read) does. Those that lie close to one another, in rising order, share
    /// a read of at most 64 KiB.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), for each record its own.
    pub fn read_all(&self, positions: &[Position]) -> Vec<Result<Bytes, ReadError>> {
        let mut records = Vec::with_capacity(positions.len());
        let mut block: Option<(Position, Bytes)> = None;
        for (index, &position) in positions.iter().enumerate() {
            if let Some(record) = self.read_recent(position) {
                records.push(record);
                continue;
            }
            let inside = block.as_ref().and_then(|(start, bytes)| {
                let offset = distance(*start, position).filter(|offset| *offset < bytes.len())?;
                take_record(position, bytes.slice(offset..), self.shared.key)
            });
            records.push(inside.unwrap_or_else(|| {
                let record = self.locate(position).ok_or(ReadError::Missing { position })?;
                let bytes = record.read_block(neighbours(&positions[index..]))?;
                block = Some((position, bytes.clone()));
                take_record(position, bytes, self.shared.key).unwrap_or_else(|| record.read())
            }));
        }
        records
    }

    /// The record if its frame is among the newest.
    fn read_recent(&self, position: Position) -> Option<Result<Bytes, ReadError>> {
        take_record(position, self.shared.recent.find(position)?, self.shared.key)
    }

    /// Reads a block of a posting file and checks it against its checksum. One read; no lock is held meanwhile.
    ///
    /// # Errors
    /// Any [`BlockError`].
    pub fn read_block(&self, place: BlockRef) -> Result<Bytes, BlockError> {
        let BlockRef { file, offset, .. } = place;
        let posting = self.shared.posting(file).ok_or(BlockError::Missing { file })?;
        match posting::read_block(&*posting, place, self.shared.key) {
            Ok(Some(block)) => Ok(block.into()),
            Ok(None) => Err(BlockError::Damaged { file, offset }),
            Err(source) => Err(BlockError::Io { file, offset, source }),
        }
    }

    /// End of what has been appended and acknowledged.
    #[must_use]
    pub fn tail(&self) -> Position {
        self.shared.written.load()
    }
}

/// Bytes from one position to a later one of the same segment.
fn distance(from: Position, to: Position) -> Option<usize> {
    let bytes = to.offset().checked_sub(from.offset()).filter(|_| from.segment() == to.segment())?;
    Some(bytes as usize)
}

/// Length of a read from the first of `positions` that covers the following ones as far as they lie close by.
fn neighbours(positions: &[Position]) -> usize {
    let steps = positions.windows(2).map_while(|pair| distance(pair[0], pair[1]));
    let span = steps.take_while(|step| *step <= FIRST_READ_BYTES).sum::<usize>();
    span.min(BLOCK_BYTES_MAX - FIRST_READ_BYTES) + FIRST_READ_BYTES
}

impl<S: Storage> RecordRef<S> {
    /// Position of the record.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Reads the record and checks it against its checksum.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] when no intact record begins there; [`ReadError::Io`].
    pub fn read(&self) -> Result<Bytes, ReadError> {
        let (position, key) = (self.position, self.shared.key);
        let first = self.read_block(FIRST_READ_BYTES)?;
        let record = take_record(position, first.clone(), key).or_else(|| {
            let length = first.get(..RECORD_HEADER_BYTES).map(|header| u32_at(header, 0) as usize)?;
            let whole = self.read_block(RECORD_HEADER_BYTES + length);
            whole.map(|bytes| take_record(position, bytes, key)).transpose().map(Result::flatten)
        });
        record.unwrap_or(Err(ReadError::Damaged { position }))
    }

    /// Reads `length` bytes from the record's position on, or as many as there are.
    fn read_block(&self, length: usize) -> Result<Bytes, ReadError> {
        let position = self.position;
        let mut block = vec![0; length];
        let found = self.segment.file.read_at(&mut block, position.offset().into());
        block.truncate(found.map_err(|source| ReadError::Io { position, source })?);
        Ok(block.into())
    }
}

/// The record that `bytes` begin with, found at `position`; `None` when they end before it does.
fn take_record(position: Position, mut bytes: Bytes, key: Key) -> Option<Result<Bytes, ReadError>> {
    if bytes.len() < RECORD_HEADER_BYTES {
        return None;
    }
    let header = bytes.split_to(RECORD_HEADER_BYTES);
    let length = u32_at(&header, 0) as usize;
    if length > MAX_FRAME_BYTES as usize {
        return Some(Err(ReadError::Damaged { position }));
    }
    if bytes.len() < length {
        return None;
    }
    bytes.truncate(length);
    let is_intact = verify_record(&header, &bytes, position, key);
    Some(if is_intact { Ok(bytes) } else { Err(ReadError::Damaged { position }) })
}
