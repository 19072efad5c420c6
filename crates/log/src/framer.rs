//! Deciding positions before anything is written.

use std::{fmt, mem, sync::Arc};

use bytes::Bytes;

use crate::{
    LogConfig, Position,
    codec::align_8,
    frame::{FRAME_HEADER_BYTES, FrameHeader, MAX_FRAME_BYTES, RECORD_HEADER_BYTES, seal_record},
    segment::HEAD_BYTES,
    shared::Shared,
    storage::Storage,
};

/// How much room the log has, and so what the caller may still accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Accept everything.
    Ample,
    /// There is no next segment and no room for one, or half of the active segment's headroom is used up before the
    /// next was ready. Refuse what stores more; go on with what leads out of it, deletes above all.
    Low,
    /// The headroom of the active segment is all but used up, too. Refuse everything until [`Ample`](Self::Ample) or
    /// [`Low`](Self::Low) returns, which takes a [`Keeper`](crate::Keeper) that finds room.
    Full,
}

/// Frames with known positions, for the [`Appender`](crate::Appender) in the order in which they were finished.
pub struct Frame {
    pub(crate) start: Position,
    pub(crate) bytes: Bytes,
    pub(crate) record_count: u32,
    pub(crate) first_sequence: u64,
}

impl Frame {
    /// Where the frame begins.
    #[must_use]
    pub fn start(&self) -> Position {
        self.start
    }

    /// Where the next frame of the same segment begins.
    #[must_use]
    pub fn end(&self) -> Position {
        Position::new(self.start.segment(), self.start.offset() + self.bytes.len() as u32)
    }

    /// The bytes as they go to the medium, header and padding included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of records, at least 1.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        self.record_count
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Frame {{ start: {}, bytes: {}, record_count: {} }}",
            self.start,
            self.bytes.len(),
            self.record_count
        )
    }
}

/// The first of the four roles: gathers records into frames and gives each its final position, without I/O.
///
/// Frames must reach the appender in order and without gaps; a frame that is lost on the way makes the appender panic.
pub struct Framer<S: Storage> {
    shared: Arc<Shared<S>>,
    /// Where the next frame begins, or the one being built began.
    start: Position,
    /// Offset at which the active segment counts as full.
    full_at: u32,
    /// Length of what is allocated for the active segment.
    allocated_bytes: u64,
    next_sequence: u64,
    /// The frame being built, with room for its header; empty between frames.
    bytes: Vec<u8>,
    record_count: u32,
    /// Length of the last frame: a guess at the next one's.
    usual_bytes: usize,
}

impl<S: Storage> Framer<S> {
    pub(crate) fn new(
        shared: Arc<Shared<S>>,
        tail: Position,
        allocated_bytes: u64,
        next_sequence: u64,
    ) -> Self {
        let LogConfig { segment_bytes, .. } = shared.config;
        // The segment may have been allocated when the configuration was another.
        let usable = allocated_bytes.saturating_sub(u64::from(shared.config.headroom_bytes()));
        let full_at = usable.min(u64::from(segment_bytes)) as u32;
        Self {
            shared,
            start: tail,
            full_at,
            allocated_bytes,
            next_sequence,
            bytes: Vec::new(),
            record_count: 0,
            usual_bytes: 0,
        }
    }

    /// Begins a frame, if none is being built, and returns where it stands. If the active segment has reached its
    /// full length and a spare one is ready, that is in the spare one, from then on the active one.
    pub fn begin(&mut self) -> Position {
        if self.bytes.is_empty() {
            self.roll_if_due();
            self.bytes.reserve(self.usual_bytes);
            self.bytes.resize(FRAME_HEADER_BYTES, 0);
        }
        self.start
    }

    fn roll_if_due(&mut self) {
        if self.start.offset() < self.full_at {
            return;
        }
        if let Some(number) = self.shared.spare.take() {
            assert_eq!(number, self.start.segment() + 1, "segments follow one another");
            self.start = Position::new(number, HEAD_BYTES);
            self.full_at = self.shared.config.segment_bytes;
            self.allocated_bytes = self.shared.config.file_bytes();
        }
    }

    /// Adds one record to the frame, beginning one if none is being built, and returns the record's final position.
    /// `write` appends the record's bytes to the buffer and leaves what is already in it alone. An empty record is a
    /// record.
    ///
    /// # Panics
    /// If `write` shortens the buffer; if the frame exceeds [`MAX_FRAME_BYTES`] (bound it with [`bytes`](Self::bytes));
    /// if [`Space::Full`] was ignored until the segment reached 4 GiB.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Position {
        self.begin();
        let at = self.bytes.len();
        self.bytes.extend([0; RECORD_HEADER_BYTES]);
        write(&mut self.bytes);
        assert!(self.bytes.len() >= at + RECORD_HEADER_BYTES, "a record's writer only appends");
        assert!(align_8(self.bytes.len()) <= MAX_FRAME_BYTES as usize, "frames are bounded by their caller");
        assert!(self.used_bytes() < u64::from(u32::MAX), "callers stop when the space is `Full`");
        let position = Position::new(self.start.segment(), self.start.offset() + at as u32);
        seal_record(&mut self.bytes[at..], position, self.shared.key);
        self.record_count += 1;
        position
    }

    /// Bytes of the frame being built; 0 when none is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Records in the frame being built.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        self.record_count
    }

    /// Ends the frame. `None` when it holds no records.
    pub fn finish(&mut self) -> Option<Frame> {
        if self.record_count == 0 {
            self.bytes.clear();
            return None;
        }
        let mut bytes = mem::take(&mut self.bytes);
        let record_count = mem::take(&mut self.record_count);
        let header = FrameHeader {
            payload_bytes: (bytes.len() - FRAME_HEADER_BYTES) as u32,
            payload_crc: self.shared.key.crc(&bytes[FRAME_HEADER_BYTES..]),
            epoch: self.shared.epoch,
            segment: self.start.segment(),
            record_count,
            first_sequence: self.next_sequence,
            durable: self.durable_offset(),
        };
        bytes[..FRAME_HEADER_BYTES].copy_from_slice(&header.encode(self.shared.key));
        bytes.resize(align_8(bytes.len()), 0);
        let bytes = Bytes::from(bytes);
        let frame = Frame { start: self.start, bytes, record_count, first_sequence: self.next_sequence };
        self.start = frame.end();
        self.next_sequence += u64::from(record_count);
        self.usual_bytes = frame.bytes.len();
        Some(frame)
    }

    /// What is known to be on the medium of the active segment: at least its head.
    fn durable_offset(&self) -> u32 {
        let durable = self.shared.durable.load();
        if durable.segment() == self.start.segment() { durable.offset() } else { HEAD_BYTES }
    }

    /// Where the frame being built began, or the next one would if nothing rolls: the end of all finished frames.
    #[must_use]
    pub fn tail(&self) -> Position {
        self.start
    }

    /// Sequence of the next finished frame's first record: how many records the log has ever held.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// How much room there is, the frame being built counted.
    #[must_use]
    pub fn space(&self) -> Space {
        let spare = &self.shared.spare;
        if spare.is_ready() {
            Space::Ample
        } else if self.room_bytes() < self.shared.config.last_room_bytes() {
            Space::Full
        } else if spare.has_no_room() || self.room_bytes() < self.shared.config.late_room_bytes() {
            Space::Low
        } else {
            Space::Ample
        }
    }

    /// Bytes left of what is allocated for the active segment. While [`space`](Self::space) is not [`Space::Ample`],
    /// keep frames within it, so that they cannot meet a full disk. Before [`Space::Full`] it is never less than a
    /// quarter of the headroom, which is 2 MiB by default.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        self.allocated_bytes.saturating_sub(self.used_bytes())
    }

    /// Bytes that are allocated for the active segment.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated_bytes
    }

    /// Length of the active segment once the frame being built is written.
    fn used_bytes(&self) -> u64 {
        u64::from(self.start.offset()) + self.bytes.len() as u64
    }
}
