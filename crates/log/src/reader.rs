//! Reading records back, one by position or all in order.

use std::{
    ops::{ControlFlow, Range},
    sync::Arc,
};

use bytes::Bytes;

use crate::{
    Position,
    codec::u32_at,
    error::{LogError, ReadError},
    frame::{MAX_FRAME_BYTES, RECORD_HEADER_BYTES, Records, verify_record},
    segment::{HEAD_BYTES, Segment},
    shared::Shared,
    storage::{Storage, StorageFile},
    walk::{Expected, Step, Walk},
};

/// First read for a record. Most messages are shorter, and it is what a disk reads anyway.
const FIRST_READ_BYTES: usize = 4096;

/// The third of the four roles: reads what was appended. Any number of clones, on any threads.
pub struct Reader<S: Storage> {
    shared: Arc<Shared<S>>,
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

/// The frame that a scanned record stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    /// Position of the frame.
    pub start: Position,
    /// Position of the next frame, if that is in the same segment.
    pub end: Position,
    /// Epoch of the owner that wrote it.
    pub epoch: u64,
    /// Sequence of its first record.
    pub first_sequence: u64,
    /// Number of its records.
    pub record_count: u32,
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

    /// Calls `visit` for every record of the frames that begin at `from` or later and before `to`, in order, and
    /// returns where it stopped: the position of the frame after the last one visited. `from` is the position of a
    /// frame, the end of one, or a [`Position::segment_start`]. Streams, checking each frame's checksum; a frame
    /// whose `visit` breaks counts as visited.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] when a frame below the end of the log is not as it was written, or a segment is missing;
    /// [`LogError::Io`].
    pub fn scan(
        &self,
        from: Position,
        to: Position,
        mut visit: impl FnMut(Position, &[u8], &FrameInfo) -> ControlFlow<()>,
    ) -> Result<Position, LogError> {
        let tail = self.tail();
        let to = to.min(tail);
        let mut from = from;
        let mut expected = Expected { epoch_min: 0, epoch_max: self.shared.epoch, sequence: None };
        while from < to {
            let segment = self.shared.segment(from.segment()).ok_or(LogError::Corrupt {
                segment: from.segment(),
                offset: 0,
                what: "the segment is missing",
            })?;
            let limit = segment.seal().map_or(tail.offset(), |seal| seal.end);
            match scan_segment(&self.shared, &segment, limit, &mut expected, from..to, &mut visit)? {
                ControlFlow::Break(stopped) => return Ok(stopped),
                ControlFlow::Continue(end) if segment.seal().is_some() && end < to => {
                    from = Position::segment_start(from.segment() + 1);
                }
                ControlFlow::Continue(end) => return Ok(end),
            }
        }
        Ok(from)
    }
}

/// The part of a scan that lies in one segment, whose frames end at `limit`; `Continue` with where it ended.
fn scan_segment<S: Storage>(
    shared: &Shared<S>,
    segment: &Segment<S::File>,
    limit: u32,
    expected: &mut Expected,
    range: Range<Position>,
    visit: &mut impl FnMut(Position, &[u8], &FrameInfo) -> ControlFlow<()>,
) -> Result<ControlFlow<Position, Position>, LogError> {
    let number = segment.number;
    let corrupt = |offset, what| LogError::Corrupt { segment: number, offset, what };
    let mut walk =
        Walk::new(&segment.file, shared.key, number, range.start.offset(), u64::from(limit), *expected);
    loop {
        let at = Position::new(number, walk.offset());
        if at >= range.end {
            return Ok(ControlFlow::Continue(at));
        }
        let (header, payload) = match walk.next().map_err(LogError::io("read a segment"))? {
            Step::Frame(header, payload) => (header, payload),
            Step::Limit => break,
            Step::Fault(fault) => return Err(corrupt(at.offset(), fault.what())),
        };
        let info = FrameInfo {
            start: at,
            end: Position::new(number, at.offset() + header.frame_bytes()),
            epoch: header.epoch,
            first_sequence: header.first_sequence,
            record_count: header.record_count,
        };
        for record in Records::new(payload, at) {
            let record = record.map_err(|fault| corrupt(at.offset(), fault.what()))?;
            if visit(record.position, record.data, &info).is_break() {
                return Ok(ControlFlow::Break(info.end));
            }
        }
    }
    *expected = walk.expected();
    Ok(ControlFlow::Continue(Position::new(number, limit)))
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
