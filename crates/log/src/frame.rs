//! Frames and records: the bytes between a segment's head and its tail.
//!
//! A frame is the unit of recovery: all its records survive, or none. It starts at a multiple of 8.
//!
//! ```text
//!  0  magic "TGFR"                      u32    24  segment number                u32
//!  4  keyed CRC-32C of 8..48            u32    28  record count, at least 1      u32
//!  8  payload bytes, without padding    u32    32  sequence of the first record  u64
//! 12  keyed CRC-32C of the payload      u32    40  durable                       u32
//! 16  epoch of the writer               u64    44  zero                          u32
//! 48  payload: records; then zeros up to a multiple of 8
//! ```
//!
//! `durable`: everything below this offset of the segment was known to be on the medium when the frame was built.
//!
//! A record, anywhere in the payload, without alignment:
//!
//! ```text
//!  0  bytes of data     u32
//!  4  keyed CRC-32C of (position u64, bytes of data u32, data)
//!  8  data
//! ```
//!
//! The record's own position is in its checksum, so that an old record at the same offset of a recycled file is not
//! taken for it.

use std::fmt;

use crate::{
    Position,
    codec::{Key, align_8, put_u32, put_u64, u32_at, u64_at},
};

/// Largest frame, header and padding included. Recovery must hold one in memory.
pub const MAX_FRAME_BYTES: u32 = 16 << 20;

pub(crate) const FRAME_HEADER_BYTES: usize = 48;
pub(crate) const RECORD_HEADER_BYTES: usize = 8;
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"TGFR";

/// What the header of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) payload_bytes: u32,
    pub(crate) payload_crc: u32,
    pub(crate) epoch: u64,
    pub(crate) segment: u32,
    pub(crate) record_count: u32,
    pub(crate) first_sequence: u64,
    pub(crate) durable: u32,
}

impl FrameHeader {
    pub(crate) fn encode(&self, key: Key) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[..4].copy_from_slice(&FRAME_MAGIC);
        put_u32(&mut bytes, 8, self.payload_bytes);
        put_u32(&mut bytes, 12, self.payload_crc);
        put_u64(&mut bytes, 16, self.epoch);
        put_u32(&mut bytes, 24, self.segment);
        put_u32(&mut bytes, 28, self.record_count);
        put_u64(&mut bytes, 32, self.first_sequence);
        put_u32(&mut bytes, 40, self.durable);
        let crc = key.crc(&bytes[8..]);
        put_u32(&mut bytes, 4, crc);
        bytes
    }

    /// Reads a header from the first 48 of `bytes`. The payload is not looked at.
    pub(crate) fn decode(bytes: &[u8], key: Key) -> Result<Self, FrameFault> {
        let bytes = &bytes[..FRAME_HEADER_BYTES];
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(FrameFault::Blank);
        }
        if bytes[..4] != FRAME_MAGIC || u32_at(bytes, 4) != key.crc(&bytes[8..]) {
            return Err(FrameFault::Header);
        }
        let header = Self {
            payload_bytes: u32_at(bytes, 8),
            payload_crc: u32_at(bytes, 12),
            epoch: u64_at(bytes, 16),
            segment: u32_at(bytes, 24),
            record_count: u32_at(bytes, 28),
            first_sequence: u64_at(bytes, 32),
            durable: u32_at(bytes, 40),
        };
        // A writer never makes such a frame; the bound keeps the arithmetic of the callers safe.
        if header.payload_bytes > MAX_FRAME_BYTES - FRAME_HEADER_BYTES as u32 || header.record_count == 0 {
            return Err(FrameFault::Header);
        }
        Ok(header)
    }

    /// Bytes of the whole frame, header and padding included.
    pub(crate) fn frame_bytes(&self) -> u32 {
        (FRAME_HEADER_BYTES + align_8(self.payload_bytes as usize)) as u32
    }
}

/// Why the bytes at some place are not the next frame of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameFault {
    /// Zeros, or the end of the file: nothing was written here.
    Blank,
    /// A valid frame of an earlier life of the file, or one that an earlier recovery cut off.
    Stale,
    /// No valid header.
    Header,
    /// The header is valid, the payload is not.
    Payload,
    /// Both are valid, and the records in it do not add up.
    Records,
    /// Both are valid, and the frame does not follow the one before it.
    Sequence,
    /// Written by an owner that the superblock has never heard of.
    FutureEpoch,
}

impl FrameFault {
    /// As a clause after "…: ".
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Blank => "a frame is missing here",
            Self::Stale => "an older frame stands where a newer one was written",
            Self::Header => "the header of a frame is damaged",
            Self::Payload => "the payload of a frame does not match its checksum",
            Self::Records => "the records of a frame do not add up to its length",
            Self::Sequence => "a frame does not continue the one before it",
            Self::FutureEpoch => "a frame is newer than the superblock, which must have lost its last update",
        }
    }
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what())
    }
}

/// Checksum of the record with `data` at `position`.
fn record_crc(key: Key, position: Position, data: &[u8]) -> u32 {
    let mut prefix = [0; 12];
    put_u64(&mut prefix, 0, position.into());
    put_u32(&mut prefix, 8, data.len() as u32);
    crc32c::crc32c_append(key.crc(&prefix), data)
}

/// Fills in the header of the record that occupies `record`, which begins at `position`.
pub(crate) fn seal_record(record: &mut [u8], position: Position, key: Key) {
    let (header, data) = record.split_at_mut(RECORD_HEADER_BYTES);
    put_u32(header, 0, data.len() as u32);
    put_u32(header, 4, record_crc(key, position, data));
}

/// Whether `data`, found at `position`, matches the checksum in the record's `header`.
pub(crate) fn verify_record(header: &[u8], data: &[u8], position: Position, key: Key) -> bool {
    u32_at(header, 4) == record_crc(key, position, data)
}

/// The records of a frame's payload, in order, with their positions. Structure is checked; checksums are left to the
/// caller, who has usually checked the whole payload's.
pub(crate) struct Records<'a> {
    payload: &'a [u8],
    at: usize,
    start: Position,
}

/// One record as it lies in a payload.
pub(crate) struct RawRecord<'a> {
    pub(crate) position: Position,
    pub(crate) header: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl<'a> Records<'a> {
    /// `frame` is the position of the frame whose payload this is.
    pub(crate) fn new(payload: &'a [u8], frame: Position) -> Self {
        let start = Position::new(frame.segment(), frame.offset() + FRAME_HEADER_BYTES as u32);
        Self { payload, at: 0, start }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RawRecord<'a>, FrameFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.payload[self.at..];
        if rest.is_empty() {
            return None;
        }
        let position = Position::new(self.start.segment(), self.start.offset() + self.at as u32);
        let split = rest.split_at_checked(RECORD_HEADER_BYTES).and_then(|(header, after)| {
            let data = after.get(..u32_at(header, 0) as usize)?;
            Some(RawRecord { position, header, data })
        });
        // After a fault nothing further can be found.
        self.at = split
            .as_ref()
            .map_or(self.payload.len(), |record| self.at + RECORD_HEADER_BYTES + record.data.len());
        Some(split.ok_or(FrameFault::Records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: fn() -> Key = || Key::new(&[7; 16]);

    fn header() -> FrameHeader {
        FrameHeader {
            payload_bytes: 13,
            payload_crc: 0xdead_beef,
            epoch: 3,
            segment: 5,
            record_count: 1,
            first_sequence: 99,
            durable: 4_096,
        }
    }

    #[test]
    fn header_survives_and_every_bit_is_guarded() {
        let bytes = header().encode(KEY());
        assert_eq!(FrameHeader::decode(&bytes, KEY()), Ok(header()));
        assert_eq!(header().frame_bytes(), 64);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FrameHeader::decode(&flipped, KEY()), Err(FrameFault::Header), "bit {bit}");
        }
        assert_eq!(FrameHeader::decode(&[0; 48], KEY()), Err(FrameFault::Blank));
        assert_eq!(FrameHeader::decode(&bytes, Key::new(&[8; 16])), Err(FrameFault::Header));
    }

    #[test]
    fn records_are_walked_and_cut_ones_found() {
        let frame = Position::new(5, 4_096);
        let mut payload = Vec::new();
        for data in [&b"first"[..], b"", b"third"] {
            let at = payload.len();
            payload.extend([0; RECORD_HEADER_BYTES]);
            payload.extend(data);
            seal_record(&mut payload[at..], Position::new(5, 4_144 + at as u32), KEY());
        }
        let found: Vec<_> = Records::new(&payload, frame).map(Result::unwrap).collect();
        assert_eq!(
            found.iter().map(|record| record.data).collect::<Vec<_>>(),
            [&b"first"[..], b"", b"third"]
        );
        assert_eq!(found[1].position, Position::new(5, 4_144 + 13));
        assert!(found.iter().all(|record| verify_record(record.header, record.data, record.position, KEY())));
        assert!(!verify_record(found[0].header, found[0].data, found[1].position, KEY()));
        for cut in [1, 12, 14, 33] {
            assert!(Records::new(&payload[..cut], frame).any(|record| record.is_err()), "cut at {cut}");
        }
    }
}
