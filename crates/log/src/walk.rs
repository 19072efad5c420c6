//! Walking over the frames of one segment, streaming, and telling where and why the walk ends.

use std::{io, ops::Range};

use bytes::Bytes;

use crate::{
    codec::Key,
    frame::{FRAME_HEADER_BYTES, FRAME_MAGIC, FrameFault, FrameHeader},
    segment::HEAD_BYTES,
    storage::StorageFile,
};

/// Least to read at once. Large enough that a disk streams.
const CHUNK_BYTES: usize = 1 << 20;

/// What the next frame must be, apart from intact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// Frames of smaller epochs are stale. Never falls along the log.
    pub(crate) epoch_min: u64,
    /// Epoch of the superblock.
    pub(crate) epoch_max: u64,
    /// Sequence of its first record, if known.
    pub(crate) sequence: Option<u64>,
}

/// A step of the walk.
pub(crate) enum Step {
    /// The next frame's header and payload. The walk has moved past it.
    Frame(FrameHeader, Bytes),
    /// The limit was reached exactly.
    Limit,
    /// What is at [`Walk::offset`] is not the next frame. The walk is over.
    Fault(FrameFault),
}

/// A walk over the frames of one segment, in order.
pub(crate) struct Walk {
    key: Key,
    segment: u32,
    offset: u32,
    /// Where frames end: no frame may reach beyond.
    limit: u64,
    expected: Expected,
    window: Window,
}

impl Walk {
    /// Walks `segment` from `offset`, the start of a frame, to `limit`. Each step is handed the segment's file.
    pub(crate) fn new(key: Key, segment: u32, offset: u32, limit: u64, expected: Expected) -> Self {
        Self { key, segment, offset: offset.max(HEAD_BYTES), limit, expected, window: Window::default() }
    }

    /// Where the next frame would begin, or where the fault is.
    pub(crate) fn offset(&self) -> u32 {
        self.offset
    }

    pub(crate) fn expected(&self) -> Expected {
        self.expected
    }

    /// The next frame, if header and payload are intact.
    pub(crate) fn next(&mut self, file: &impl StorageFile) -> io::Result<Step> {
        let step = self.read(file)?;
        if let Step::Frame(header, payload) = &step {
            if self.key.crc(payload) != header.payload_crc {
                return Ok(Step::Fault(FrameFault::Payload));
            }
            self.pass(header);
        }
        Ok(step)
    }

    /// The next frame, if its header is intact. Whether the payload is stays open; the header, which has a checksum of
    /// its own, tells where the frame after it is.
    pub(crate) fn next_unverified(&mut self, file: &impl StorageFile) -> io::Result<Step> {
        let step = self.read(file)?;
        if let Step::Frame(header, _) = &step {
            self.pass(header);
        }
        Ok(step)
    }

    fn read(&mut self, file: &impl StorageFile) -> io::Result<Step> {
        let offset = u64::from(self.offset);
        if offset == self.limit {
            return Ok(Step::Limit);
        }
        let header_end = offset + FRAME_HEADER_BYTES as u64;
        if header_end > self.limit {
            return Ok(Step::Fault(FrameFault::Blank));
        }
        let range = self.window.fill(file, offset, FRAME_HEADER_BYTES, self.limit)?;
        let header = match FrameHeader::decode(&self.window.bytes[range], self.key)
            .and_then(|header| self.admit(header))
        {
            Ok(header) => header,
            Err(fault) => return Ok(Step::Fault(fault)),
        };
        if offset + u64::from(header.frame_bytes()) > self.limit {
            return Ok(Step::Fault(FrameFault::Payload));
        }
        let range = self.window.fill(file, header_end, header.payload_bytes as usize, self.limit)?;
        Ok(Step::Frame(header, self.window.bytes.slice(range)))
    }

    fn pass(&mut self, header: &FrameHeader) {
        self.offset += header.frame_bytes();
        self.expected.epoch_min = header.epoch;
        self.expected.sequence = Some(header.first_sequence + u64::from(header.record_count));
    }

    fn admit(&self, header: FrameHeader) -> Result<FrameHeader, FrameFault> {
        if header.segment != self.segment || header.epoch < self.expected.epoch_min {
            return Err(FrameFault::Stale);
        }
        if header.epoch > self.expected.epoch_max {
            return Err(FrameFault::FutureEpoch);
        }
        if self.expected.sequence.is_some_and(|sequence| sequence != header.first_sequence) {
            return Err(FrameFault::Sequence);
        }
        Ok(header)
    }
}

/// The part of a file that is in memory. Payloads are slices of it, so that nobody has to copy them.
#[derive(Default)]
struct Window {
    bytes: Bytes,
    start: u64,
}

impl Window {
    /// Where in `bytes` the `length` bytes at `offset` are, which must end by `limit`. Reads ahead, but not beyond
    /// `limit`; what the file does not have reads as zeros.
    fn fill(
        &mut self,
        file: &impl StorageFile,
        offset: u64,
        length: usize,
        limit: u64,
    ) -> io::Result<Range<usize>> {
        let held = self.start..self.start + self.bytes.len() as u64;
        if !(held.contains(&offset) && offset + length as u64 <= held.end) {
            let ahead = CHUNK_BYTES.max(length).min((limit - offset) as usize);
            // The same memory again, unless a payload of it is still in use.
            let mut bytes = std::mem::take(&mut self.bytes).try_into_mut().unwrap_or_default();
            bytes.resize(ahead, 0);
            let read = file.read_at(&mut bytes, offset)?;
            bytes[read..].fill(0);
            self.bytes = bytes.freeze();
            self.start = offset;
        }
        let from = (offset - self.start) as usize;
        Ok(from..from + length)
    }
}

/// Looks through `from..to` of a segment's file for a valid frame header of this segment that `wanted` accepts, and
/// returns its offset. `from` is a multiple of 8. Payloads are not looked at: a header alone, with its keyed
/// checksum, proves that it was written for this segment.
pub(crate) fn find_header(
    file: &impl StorageFile,
    key: Key,
    segment: u32,
    from: u32,
    to: u64,
    wanted: impl Fn(&FrameHeader) -> bool,
) -> io::Result<Option<u32>> {
    let mut window = Window::default();
    let mut offset = u64::from(from);
    while offset + FRAME_HEADER_BYTES as u64 <= to {
        let length = CHUNK_BYTES.min((to - offset) as usize);
        let range = window.fill(file, offset, length, to)?;
        let bytes = &window.bytes[range];
        let start_count = (length - FRAME_HEADER_BYTES) / 8 + 1;
        for at in magics(bytes, start_count * 8) {
            match FrameHeader::decode(&bytes[at..], key) {
                Ok(header) if header.segment == segment && wanted(&header) => {
                    return Ok(Some((offset + at as u64) as u32));
                }
                _ => {}
            }
        }
        offset += start_count as u64 * 8;
    }
    Ok(None)
}

/// Multiples of 8 below `end` at which `bytes` has a frame's magic. Passes over zeros a block at a time: most of what
/// is searched was allocated and never written.
fn magics(bytes: &[u8], end: usize) -> impl Iterator<Item = usize> {
    const BLANK: [u8; 4096] = [0; 4096];
    let blocks =
        bytes[..end].chunks(BLANK.len()).enumerate().filter(|(_, block)| *block != &BLANK[..block.len()]);
    blocks.flat_map(move |(index, block)| {
        let starts = (0..block.len()).step_by(8).filter(|at| block[*at..].starts_with(&FRAME_MAGIC));
        starts.map(move |at| index * BLANK.len() + at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        frame::FrameHeader,
        storage::{MemoryStorage, Storage},
    };

    const FROM: u32 = HEAD_BYTES;

    /// A frame with a payload of `payload_bytes` sevens.
    fn frame(key: Key, payload_bytes: usize, first_sequence: u64) -> Vec<u8> {
        let payload = vec![7; payload_bytes];
        let header = FrameHeader {
            payload_bytes: payload_bytes as u32,
            payload_crc: key.crc(&payload),
            epoch: 1,
            segment: 3,
            record_count: 1,
            first_sequence,
            durable: FROM,
        };
        let mut bytes = header.encode(key).to_vec();
        bytes.extend(payload);
        bytes.resize(header.frame_bytes() as usize, 0);
        bytes
    }

    #[test]
    fn headers_are_found_wherever_reads_are_cut() {
        let key = Key::new(&[1; 16]);
        let storage = MemoryStorage::volatile();
        let end = u64::from(FROM) + 2 * CHUNK_BYTES as u64;
        let around_cut =
            (-96..=96).step_by(8).map(|near| (i64::from(FROM) + CHUNK_BYTES as i64 + near) as u64);
        for offset in around_cut.chain([u64::from(FROM), u64::from(FROM) + 4_088, end - 48]) {
            let file = storage.create("x", end).unwrap();
            file.write_all_at(&frame(key, 0, 0), offset).unwrap();
            let found = |number, to| find_header(&file, key, number, FROM, to, |_| true).unwrap();
            assert_eq!(found(3, end), Some(offset as u32));
            assert_eq!(found(4, end), None, "of another segment");
            assert_eq!(found(3, offset + 40), None, "cut off at {offset}");
            file.write_all_at(&[0xff], offset + 30).unwrap();
            assert_eq!(found(3, end), None, "damaged at {offset}");
        }
    }

    #[test]
    fn frames_that_do_not_belong_here_are_told_apart() {
        let key = Key::new(&[1; 16]);
        let storage = MemoryStorage::volatile();
        let file = storage.create("x", 8_192).unwrap();
        file.write_all_at(&frame(key, 100, 40), u64::from(FROM)).unwrap();
        let fault = |segment, epoch_min, epoch_max, sequence| {
            let expected = Expected { epoch_min, epoch_max, sequence };
            match Walk::new(key, segment, FROM, 8_192, expected).next(&file).unwrap() {
                Step::Fault(fault) => Some(fault),
                _ => None,
            }
        };
        assert_eq!(fault(3, 0, 9, None), None);
        assert_eq!(fault(3, 1, 1, Some(40)), None);
        assert_eq!(fault(2, 0, 9, None), Some(FrameFault::Stale), "of another segment");
        assert_eq!(fault(3, 2, 9, None), Some(FrameFault::Stale), "of an earlier owner");
        assert_eq!(fault(3, 0, 0, None), Some(FrameFault::FutureEpoch));
        assert_eq!(fault(3, 0, 9, Some(41)), Some(FrameFault::Sequence));
        assert_eq!(fault(3, 0, 9, Some(39)), Some(FrameFault::Sequence));
    }

    #[test]
    fn walk_crosses_reads_of_any_cut() {
        let key = Key::new(&[1; 16]);
        let storage = MemoryStorage::volatile();
        let lengths = [1, CHUNK_BYTES - 100, 90, 3 * CHUNK_BYTES, 0, 8, CHUNK_BYTES, 77];
        let bytes: Vec<u8> =
            lengths.iter().zip(0..).flat_map(|(length, sequence)| frame(key, *length, sequence)).collect();
        let file = storage.create("x", u64::from(FROM) + bytes.len() as u64 + 500).unwrap();
        file.write_all_at(&bytes, u64::from(FROM)).unwrap();
        let expected = Expected { epoch_min: 0, epoch_max: 1, sequence: None };
        let limit = u64::from(FROM) + bytes.len() as u64;
        for (limit, at_limit) in [(limit, true), (limit + 500, false)] {
            let mut walk = Walk::new(key, 3, FROM, limit, expected);
            for length in lengths {
                let Step::Frame(_, payload) = walk.next(&file).unwrap() else {
                    panic!("a frame of {length}")
                };
                assert_eq!(payload, vec![7; length]);
            }
            match walk.next(&file).unwrap() {
                Step::Limit => assert!(at_limit),
                Step::Fault(fault) => assert_eq!((fault, at_limit), (FrameFault::Blank, false)),
                Step::Frame(..) => panic!("there are no more frames"),
            }
        }
    }
}
