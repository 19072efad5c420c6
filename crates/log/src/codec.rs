//! Little-endian fields at fixed offsets, and the keyed checksum.

use std::fmt;

/// The `u32` at byte `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes were sliced"))
}

/// The `u64` at byte `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were sliced"))
}

/// Writes `value` at byte `at`.
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes `value` at byte `at`.
pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// `n` rounded up to a multiple of 8.
pub(crate) const fn align_8(n: usize) -> usize {
    (n + 7) & !7
}

/// Checksum seed of one installation, from its random identity.
///
/// With a secret seed a sender cannot craft a message body that recovery would take for a frame, and a segment file
/// copied in from another installation is not taken for one of ours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    seed: u32,
    hash: u32,
}

impl Key {
    pub(crate) fn new(identity: &[u8; 16]) -> Self {
        Self {
            seed: crc32c::crc32c(identity),
            hash: crc32c::crc32c_append(crc32c::crc32c(b"segment"), identity),
        }
    }

    /// Stands in segment headers to tell whose segment it is.
    pub(crate) fn hash(self) -> u32 {
        self.hash
    }

    /// CRC-32C of `bytes`, seeded.
    pub(crate) fn crc(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(self.seed, bytes)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}
