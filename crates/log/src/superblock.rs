//! The superblock: whose log this is, and which owner it has.
//!
//! Two slots of 4 KiB, written in turn: a torn write leaves the other slot whole, and taking ownership needs no new
//! space, so that a server starts on a full disk.
//!
//! ```text
//!  0  magic "TGSB"     u32     16  identity   16 bytes
//!  4  CRC-32C of 8..40 u32     32  epoch      u64
//!  8  format version   u32
//! 12  zero             u32
//! ```

use crate::{
    codec::{put_u32, put_u64, u32_at, u64_at},
    error::LogError,
    names,
    storage::{Storage, StorageFile},
};

/// Version of the format of all files. Raised together, see `docs/log-format.md`.
pub(crate) const FORMAT_VERSION: u32 = 1;

const MAGIC: u32 = u32::from_le_bytes(*b"TGSB");
const SLOT_BYTES: usize = 4096;
const FIELDS_BYTES: usize = 40;

/// Content of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) identity: [u8; 16],
    pub(crate) epoch: u64,
    /// Whether both slots were valid. Not stored.
    pub(crate) is_whole: bool,
}

impl Superblock {
    /// Reads the newer valid slot; `None` when there is no superblock.
    pub(crate) fn read(storage: &impl Storage) -> Result<Option<Self>, LogError> {
        let read = storage.read_file(names::SUPERBLOCK).map_err(LogError::io("read the superblock"))?;
        let Some(bytes) = read else { return Ok(None) };
        let mut newest: Option<Self> = None;
        let mut valid = 0;
        for slot in bytes.chunks_exact(SLOT_BYTES).filter_map(decode) {
            let found = slot?;
            valid += 1;
            if newest.is_none_or(|known| known.epoch < found.epoch) {
                newest = Some(found);
            }
        }
        let damaged = || LogError::CorruptFile {
            file: names::SUPERBLOCK.into(),
            what: "neither of its two slots is valid",
        };
        let newest = newest.ok_or_else(damaged)?;
        Ok(Some(Self { is_whole: valid == 2, ..newest }))
    }

    /// The epoch for the next owner: larger than any that was ever used, and for the slot that may be overwritten.
    pub(crate) fn next_epoch(&self) -> u64 {
        // A damaged slot may have held the epoch after this one, and that may have been used.
        if self.is_whole { self.epoch + 1 } else { self.epoch + 3 }
    }

    /// The largest epoch that may have been used.
    pub(crate) fn epoch_max(&self) -> u64 {
        self.next_epoch() - 1
    }

    /// Creates the file, durably, with this content in both slots.
    pub(crate) fn create(&self, storage: &impl Storage) -> Result<(), LogError> {
        let slot = self.encode();
        storage
            .replace_file(names::SUPERBLOCK, &[&slot, &slot])
            .map_err(LogError::io("create the superblock"))
    }

    /// Writes this content durably into the slot that its epoch selects.
    pub(crate) fn update(&self, storage: &impl Storage) -> Result<(), LogError> {
        let offset = (self.epoch % 2) * SLOT_BYTES as u64;
        let file = storage.open(names::SUPERBLOCK).map_err(LogError::io("open the superblock"))?;
        file.write_all_at(&self.encode(), offset).map_err(LogError::io("write the superblock"))?;
        file.sync_data().map_err(LogError::io("sync the superblock"))
    }

    fn encode(&self) -> Vec<u8> {
        let mut slot = vec![0; SLOT_BYTES];
        put_u32(&mut slot, 0, MAGIC);
        put_u32(&mut slot, 8, FORMAT_VERSION);
        slot[16..32].copy_from_slice(&self.identity);
        put_u64(&mut slot, 32, self.epoch);
        let crc = crc32c::crc32c(&slot[8..FIELDS_BYTES]);
        put_u32(&mut slot, 4, crc);
        slot
    }
}

/// The content of a slot, unless it is blank or torn.
fn decode(slot: &[u8]) -> Option<Result<Superblock, LogError>> {
    if u32_at(slot, 0) != MAGIC || u32_at(slot, 4) != crc32c::crc32c(&slot[8..FIELDS_BYTES]) {
        return None;
    }
    let found = u32_at(slot, 8);
    if found != FORMAT_VERSION {
        let file = names::SUPERBLOCK.into();
        return Some(Err(LogError::Version { file, found, supported: FORMAT_VERSION }));
    }
    let identity = slot[16..32].try_into().expect("sixteen bytes were sliced");
    Some(Ok(Superblock { identity, epoch: u64_at(slot, 32), is_whole: true }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;

    #[test]
    fn newer_slot_wins_and_a_torn_one_does_not_count() {
        let storage = MemoryStorage::new();
        assert_eq!(Superblock::read(&storage).unwrap(), None);
        let first = Superblock { identity: *b"0123456789abcdef", epoch: 4, is_whole: true };
        first.create(&storage).unwrap();
        let second = Superblock { epoch: 5, ..first };
        second.update(&storage).unwrap();
        assert_eq!(Superblock::read(&storage).unwrap(), Some(second));

        let file = storage.open(names::SUPERBLOCK).unwrap();
        file.write_all_at(&[0xff], 4096 + 33).unwrap();
        let read = Superblock::read(&storage).unwrap().unwrap();
        assert_eq!(read, Superblock { is_whole: false, ..first });
        assert_eq!((first.next_epoch(), read.next_epoch()), (5, 7), "5 may have been used");
        file.write_all_at(&[0xff], 33).unwrap();
        assert!(matches!(Superblock::read(&storage), Err(LogError::CorruptFile { .. })));
    }

    #[test]
    fn other_version_is_named() {
        let storage = MemoryStorage::new();
        let superblock = Superblock { identity: [1; 16], epoch: 1, is_whole: true };
        let mut slot = superblock.encode();
        put_u32(&mut slot, 8, 9);
        let crc = crc32c::crc32c(&slot[8..FIELDS_BYTES]);
        put_u32(&mut slot, 4, crc);
        storage.replace_file(names::SUPERBLOCK, &[&slot, &slot]).unwrap();
        assert!(matches!(Superblock::read(&storage), Err(LogError::Version { found: 9, .. })));
    }
}
