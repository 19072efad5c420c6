//! Reading the log back in order: frame by frame, or record by record.

use std::{ops::ControlFlow, sync::Arc};

use bytes::Bytes;

use crate::{
    Position,
    codec::Key,
    error::LogError,
    frame::{FrameFault, FrameHeader, Records},
    reader::Reader,
    segment::{HEAD_BYTES, Segment},
    shared::Shared,
    storage::Storage,
    walk::{Expected, Step, Walk},
};

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

/// A frame as it was found: its header is checked, its payload is not yet. Its checks may be left to another thread than
/// the one that reads.
pub struct StoredFrame {
    info: FrameInfo,
    payload: Bytes,
    payload_crc: u32,
    key: Key,
}

impl StoredFrame {
    /// What its header says.
    #[must_use]
    pub fn info(&self) -> &FrameInfo {
        &self.info
    }

    /// Bytes of it in the log, header and padding included.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.info.end.offset() - self.info.start.offset()
    }

    /// Checks the payload against its checksum, then calls `visit` for each record, which shares the memory that the
    /// frame was read into.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] when the frame is not as it was written.
    pub fn visit(
        &self,
        mut visit: impl FnMut(Position, Bytes) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, LogError> {
        if self.key.crc(&self.payload) != self.payload_crc {
            return Err(self.corrupt(FrameFault::Payload));
        }
        for record in Records::new(&self.payload, self.info.start) {
            let record = record.map_err(|fault| self.corrupt(fault))?;
            if visit(record.position, self.payload.slice_ref(record.data)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn corrupt(&self, fault: FrameFault) -> LogError {
        let start = self.info.start;
        LogError::Corrupt { segment: start.segment(), offset: start.offset(), what: fault.what() }
    }
}

/// A segment that is read, and the walk over it.
type Entered<S> = (Arc<Segment<<S as Storage>::File>>, Walk);

/// The frames of a part of the log, in order; made by [`Reader::frames`].
pub struct Frames<S: Storage> {
    shared: Arc<Shared<S>>,
    current: Option<Entered<S>>,
    /// Where the next frame begins.
    at: Position,
    /// Frames that begin here or later are not wanted.
    to: Position,
    /// End of the log.
    tail: Position,
    expected: Expected,
}

impl<S: Storage> Reader<S> {
    /// The frames that begin at `from` or later and before `to`. `from` is the position of a frame, the end of one, or a
    /// [`Position::segment_start`].
    #[must_use]
    pub fn frames(&self, from: Position, to: Position) -> Frames<S> {
        let tail = self.tail();
        Frames {
            shared: Arc::clone(&self.shared),
            current: None,
            at: from,
            to: to.min(tail),
            tail,
            expected: Expected { epoch_min: 0, epoch_max: self.shared.epoch, sequence: None },
        }
    }

    /// Bytes of the frames from `from` to the end of the log, without reading anything.
    #[must_use]
    pub fn bytes_after(&self, from: Position) -> u64 {
        let tail = self.tail();
        let segments = self.shared.segments();
        let bytes = segments.range(from.segment()..=tail.segment()).map(|(number, segment)| {
            let end = segment.seal().map_or(tail.offset(), |seal| seal.end);
            let start = if *number == from.segment() { from.offset().max(HEAD_BYTES) } else { HEAD_BYTES };
            u64::from(end.saturating_sub(start))
        });
        bytes.sum()
    }

    /// Calls `visit` for every record of the frames that begin at `from` or later and before `to`, in order, and
    /// returns where it stopped: the position of the frame after the last one visited. `from` is as for
    /// [`frames`](Self::frames). Streams, checking each frame's checksum; a frame whose `visit` breaks counts as
    /// visited. Records share the memory that they were read into.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] when a frame below the end of the log is not as it was written, or a segment is missing;
    /// [`LogError::Io`].
    pub fn scan(
        &self,
        from: Position,
        to: Position,
        mut visit: impl FnMut(Position, Bytes, &FrameInfo) -> ControlFlow<()>,
    ) -> Result<Position, LogError> {
        let mut frames = self.frames(from, to);
        while let Some(frame) = frames.next().transpose()? {
            if frame.visit(|position, record| visit(position, record, &frame.info))?.is_break() {
                return Ok(frame.info.end);
            }
        }
        Ok(frames.at)
    }
}

impl<S: Storage> Frames<S> {
    fn read(&mut self) -> Result<Option<StoredFrame>, LogError> {
        while self.at < self.to {
            let number = self.at.segment();
            let Some((segment, walk)) = &mut self.current else {
                let entered = enter(&self.shared, self.at, self.tail, self.expected)?;
                self.at = Position::new(number, entered.1.offset());
                self.current = Some(entered);
                continue;
            };
            match walk.next_unverified(&segment.file).map_err(LogError::io("read a segment"))? {
                Step::Frame(header, payload) => {
                    let start = self.at;
                    self.at = Position::new(number, walk.offset());
                    return Ok(Some(stored(start, self.at, &header, payload, self.shared.key)));
                }
                Step::Fault(fault) => {
                    let offset = walk.offset();
                    return Err(LogError::Corrupt { segment: number, offset, what: fault.what() });
                }
                Step::Limit if segment.seal().is_some() => {
                    self.expected = walk.expected();
                    self.at = Position::segment_start(number + 1);
                    self.current = None;
                }
                Step::Limit => return Ok(None),
            }
        }
        Ok(None)
    }
}

impl<S: Storage> Iterator for Frames<S> {
    type Item = Result<StoredFrame, LogError>;

    /// The next frame. Nothing follows an error.
    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.to = self.at;
        }
        read.transpose()
    }
}

/// The segment of `at`, and a walk over its frames from there on.
fn enter<S: Storage>(
    shared: &Shared<S>,
    at: Position,
    tail: Position,
    expected: Expected,
) -> Result<Entered<S>, LogError> {
    let number = at.segment();
    let missing = LogError::Corrupt { segment: number, offset: 0, what: "the segment is missing" };
    let segment = shared.segment(number).ok_or(missing)?;
    let limit = segment.seal().map_or(tail.offset(), |seal| seal.end);
    let walk = Walk::new(shared.key, number, at.offset(), u64::from(limit), expected);
    Ok((segment, walk))
}

fn stored(start: Position, end: Position, header: &FrameHeader, payload: Bytes, key: Key) -> StoredFrame {
    let info = FrameInfo {
        start,
        end,
        epoch: header.epoch,
        first_sequence: header.first_sequence,
        record_count: header.record_count,
    };
    StoredFrame { info, payload, payload_crc: header.payload_crc, key }
}
