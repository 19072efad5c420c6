//! Segment files: the head block with its header and seal, and a segment as the running log knows it.
//!
//! The first 4,096 bytes are the head block; frames follow. Header, at 0, and seal, at 2,048, are in different sectors,
//! so that writing the seal cannot hurt the header.
//!
//! ```text
//! header                                    seal (the footer of a sealed segment)
//!  0  magic "TGSG"            u32            0  magic "TGSE"                    u32
//!  4  keyed CRC-32C of 8..24  u32            4  keyed CRC-32C of 8..40          u32
//!  8  format version          u32            8  segment number                  u32
//! 12  segment number          u32           12  end: offset after last frame    u32
//! 16  hash of the identity    u32           16  record count                    u64
//! 20  zero                    u32           24  sequence of the first record    u64
//!                                           32  epoch of the writer             u64
//! ```
//!
//! The seal stands in the head, where one read finds it, rather than behind the last frame, where finding it would
//! take a walk over the whole segment.

use std::sync::OnceLock;

use crate::{
    codec::{Key, put_u32, put_u64, u32_at, u64_at},
    superblock::FORMAT_VERSION,
};

/// Bytes before the first frame of a segment.
pub(crate) const HEAD_BYTES: u32 = 4096;
/// Where the seal stands.
pub(crate) const SEAL_OFFSET: u64 = 2048;
const SEAL_BYTES: usize = 40;
const HEADER_BYTES: usize = 24;
const HEADER_MAGIC: u32 = u32::from_le_bytes(*b"TGSG");
const SEAL_MAGIC: u32 = u32::from_le_bytes(*b"TGSE");

/// Why a segment ended, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    pub(crate) segment: u32,
    /// Offset after the last frame.
    pub(crate) end: u32,
    pub(crate) record_count: u64,
    pub(crate) first_sequence: u64,
    pub(crate) epoch: u64,
}

impl Seal {
    pub(crate) fn encode(&self, key: Key) -> [u8; SEAL_BYTES] {
        let mut bytes = [0; SEAL_BYTES];
        put_u32(&mut bytes, 0, SEAL_MAGIC);
        put_u32(&mut bytes, 8, self.segment);
        put_u32(&mut bytes, 12, self.end);
        put_u64(&mut bytes, 16, self.record_count);
        put_u64(&mut bytes, 24, self.first_sequence);
        put_u64(&mut bytes, 32, self.epoch);
        let crc = key.crc(&bytes[8..]);
        put_u32(&mut bytes, 4, crc);
        bytes
    }

    /// Sequence that follows the segment's last record.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.first_sequence + self.record_count
    }
}

/// What the place of the seal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealMark {
    /// Zeros: the segment was not sealed.
    Open,
    /// A valid seal.
    Sealed(Seal),
    /// Neither: sealing was interrupted, or the seal is damaged.
    Damaged,
}

/// What the head block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// A valid header.
    Valid(SealMark),
    /// Zeros all over, or a file that ends before: nothing was written yet.
    Blank,
    /// The header of an installation with another identity.
    Foreign,
    /// A header of another format version.
    Version(u32),
    /// No valid header.
    Damaged,
}

/// A head block with the header of segment `number` and no seal.
pub(crate) fn encode_head(number: u32, key: Key) -> Vec<u8> {
    let mut block = vec![0; HEAD_BYTES as usize];
    put_u32(&mut block, 0, HEADER_MAGIC);
    put_u32(&mut block, 8, FORMAT_VERSION);
    put_u32(&mut block, 12, number);
    put_u32(&mut block, 16, key.hash());
    let crc = key.crc(&block[8..HEADER_BYTES]);
    put_u32(&mut block, 4, crc);
    block
}

/// Reads the head block of segment `number`.
pub(crate) fn decode_head(block: &[u8], number: u32, key: Key) -> Head {
    if block.len() < HEAD_BYTES as usize || block.iter().all(|byte| *byte == 0) {
        return Head::Blank;
    }
    if u32_at(block, 0) != HEADER_MAGIC {
        return Head::Damaged;
    }
    if u32_at(block, 4) != key.crc(&block[8..HEADER_BYTES]) {
        let foreign = u32_at(block, 16) != key.hash();
        return if foreign { Head::Foreign } else { Head::Damaged };
    }
    match (u32_at(block, 8), u32_at(block, 12)) {
        (FORMAT_VERSION, found) if found == number => Head::Valid(decode_seal(block, number, key)),
        (FORMAT_VERSION, _) => Head::Damaged,
        (version, _) => Head::Version(version),
    }
}

fn decode_seal(block: &[u8], number: u32, key: Key) -> SealMark {
    let bytes = &block[SEAL_OFFSET as usize..SEAL_OFFSET as usize + SEAL_BYTES];
    if bytes.iter().all(|byte| *byte == 0) {
        return SealMark::Open;
    }
    let seal = Seal {
        segment: u32_at(bytes, 8),
        end: u32_at(bytes, 12),
        record_count: u64_at(bytes, 16),
        first_sequence: u64_at(bytes, 24),
        epoch: u64_at(bytes, 32),
    };
    let intact = u32_at(bytes, 0) == SEAL_MAGIC && u32_at(bytes, 4) == key.crc(&bytes[8..]);
    if intact && seal.segment == number { SealMark::Sealed(seal) } else { SealMark::Damaged }
}

/// A segment of the open log. Whoever holds it keeps its file from being recycled.
pub(crate) struct Segment<F> {
    pub(crate) number: u32,
    pub(crate) file: F,
    seal: OnceLock<Seal>,
}

impl<F> Segment<F> {
    pub(crate) fn open(number: u32, file: F) -> Self {
        Self { number, file, seal: OnceLock::new() }
    }

    pub(crate) fn sealed(seal: Seal, file: F) -> Self {
        Self { number: seal.segment, file, seal: OnceLock::from(seal) }
    }

    /// Notes that the seal is on the medium.
    pub(crate) fn set_sealed(&self, seal: Seal) {
        let set = self.seal.set(seal);
        assert!(set.is_ok(), "segment {} is sealed once", self.number);
    }

    pub(crate) fn seal(&self) -> Option<&Seal> {
        self.seal.get()
    }

    /// Hands the file over for reuse.
    pub(crate) fn into_file(self) -> F {
        self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_tells_its_states_apart() {
        let key = Key::new(&[1; 16]);
        let mut block = encode_head(9, key);
        assert_eq!(decode_head(&block, 9, key), Head::Valid(SealMark::Open));
        assert_eq!(decode_head(&block, 8, key), Head::Damaged);
        assert_eq!(decode_head(&block[..100], 9, key), Head::Blank);
        assert_eq!(decode_head(&[0; 4096], 9, key), Head::Blank);
        assert_eq!(decode_head(&block, 9, Key::new(&[2; 16])), Head::Foreign);

        let seal = Seal { segment: 9, end: 70_000, record_count: 12, first_sequence: 4, epoch: 2 };
        let at = SEAL_OFFSET as usize;
        block[at..at + SEAL_BYTES].copy_from_slice(&seal.encode(key));
        assert_eq!(decode_head(&block, 9, key), Head::Valid(SealMark::Sealed(seal)));
        assert_eq!(seal.next_sequence(), 16);
        for bit in 0..SEAL_BYTES * 8 {
            block[at + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_head(&block, 9, key), Head::Valid(SealMark::Damaged), "bit {bit}");
            block[at + bit / 8] ^= 1 << (bit % 8);
        }
        block[5] ^= 1;
        assert_eq!(decode_head(&block, 9, key), Head::Damaged);
    }
}
