//! What a loss of power leaves of unsynced changes.

use super::sparse::Sparse;

/// How [`MemoryStorage::crash`](super::MemoryStorage::crash) decides about everything that was not yet synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPolicy {
    /// All of it is lost.
    DropAll,
    /// All of it had reached the medium.
    KeepAll,
    /// All of it had reached the medium except the last write, of which only the first so many bytes did.
    TearLast(usize),
    /// Each write is kept, dropped, cut at some byte or reduced to some of its 512-byte sectors, and of the changes
    /// to the directory a prefix or any subset is kept; all chosen by the seed.
    Seeded(u64),
}

/// A write that no sync has covered yet. `order` counts over all files.
#[derive(Clone)]
pub(super) struct PendingWrite {
    pub(super) order: u64,
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// Decides, one change after the other.
pub(super) struct Crash {
    policy: CrashPolicy,
    last_write: u64,
    random: SplitMix,
}

const SECTOR_BYTES: usize = 512;

impl Crash {
    /// `last_write` is the order of the newest pending write.
    pub(super) fn new(policy: CrashPolicy, last_write: u64) -> Self {
        let seed = if let CrashPolicy::Seeded(seed) = policy { seed } else { 0 };
        Self { policy, last_write, random: SplitMix(seed) }
    }

    /// Applies to `image` what is left of `write`, and returns where it ends in the file (0 if nothing is left).
    pub(super) fn apply(&mut self, write: &PendingWrite, image: &mut Sparse) -> u64 {
        let length = write.bytes.len();
        let kept = match self.policy {
            CrashPolicy::DropAll => 0,
            CrashPolicy::KeepAll => length,
            CrashPolicy::TearLast(bytes) if write.order == self.last_write => bytes.min(length),
            CrashPolicy::TearLast(_) => length,
            CrashPolicy::Seeded(_) => match self.random.below(4) {
                0 => 0,
                1 => length,
                2 => self.random.below(length as u64 + 1) as usize,
                _ => return self.apply_some_sectors(write, image),
            },
        };
        image.write(&write.bytes[..kept], write.offset);
        if kept == 0 { 0 } else { write.offset + kept as u64 }
    }

    fn apply_some_sectors(&mut self, write: &PendingWrite, image: &mut Sparse) -> u64 {
        let mut end = 0;
        let mut start = 0;
        while start < write.bytes.len() {
            let offset = write.offset + start as u64;
            let to_boundary = SECTOR_BYTES - offset as usize % SECTOR_BYTES;
            let stop = (start + to_boundary).min(write.bytes.len());
            if self.random.below(2) == 1 {
                image.write(&write.bytes[start..stop], offset);
                end = write.offset + stop as u64;
            }
            start = stop;
        }
        end
    }

    /// Which of `count` unsynced changes to the directory are left, in order.
    pub(super) fn keep_changes(&mut self, count: usize) -> Vec<bool> {
        match self.policy {
            CrashPolicy::DropAll => vec![false; count],
            CrashPolicy::KeepAll | CrashPolicy::TearLast(_) => vec![true; count],
            CrashPolicy::Seeded(_) if self.random.below(2) == 0 => {
                let prefix = self.random.below(count as u64 + 1) as usize;
                (0..count).map(|index| index < prefix).collect()
            }
            CrashPolicy::Seeded(_) => (0..count).map(|_| self.random.below(2) == 1).collect(),
        }
    }

    /// Whether a length that was allocated but not synced is left.
    pub(super) fn keep_length(&mut self) -> bool {
        match self.policy {
            CrashPolicy::DropAll => false,
            CrashPolicy::KeepAll | CrashPolicy::TearLast(_) => true,
            CrashPolicy::Seeded(_) => self.random.below(2) == 1,
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a few lines, so that the library needs no random crate for its tests' sake.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
