//! The container of a checkpoint. What is inside belongs to the caller.
//!
//! ```text
//!  0  magic "TGCK"             u32     24  payload bytes          u64
//!  4  keyed CRC-32C of 8..40   u32     32  CRC-32C of the payload u32
//!  8  format version           u32     36  zero                   u32
//! 12  zero                     u32     40  payload
//! 16  position                 u64
//! ```

use bytes::Bytes;

use crate::{
    Position,
    codec::{Key, put_u32, put_u64, u32_at, u64_at},
    error::LogError,
    names,
    storage::Storage,
    superblock::FORMAT_VERSION,
};

const HEADER_BYTES: usize = 40;
const MAGIC: u32 = u32::from_le_bytes(*b"TGCK");

/// A checkpoint as it was given to [`Keeper::write_checkpoint`](crate::Keeper::write_checkpoint).
#[derive(Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Replay starts with the frame at this position.
    pub position: Position,
    /// The caller's bytes.
    pub payload: Bytes,
}

impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Checkpoint {{ position: {}, payload: {} bytes }}", self.position, self.payload.len())
    }
}

/// Header of the container around `payload`.
pub(crate) fn encode_header(position: Position, payload: &[u8], key: Key) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    put_u32(&mut bytes, 0, MAGIC);
    put_u32(&mut bytes, 8, FORMAT_VERSION);
    put_u64(&mut bytes, 16, position.into());
    put_u64(&mut bytes, 24, payload.len() as u64);
    put_u32(&mut bytes, 32, crc32c::crc32c(payload));
    let crc = key.crc(&bytes[8..]);
    put_u32(&mut bytes, 4, crc);
    bytes
}

/// Reads the checkpoint at `position`. The inner error is a clause that says what is wrong with the file.
pub(crate) fn read(
    storage: &impl Storage,
    position: Position,
    key: Key,
) -> Result<Result<Checkpoint, &'static str>, LogError> {
    let file = names::checkpoint(position);
    let content = storage.read_file(&file).map_err(LogError::io("read a checkpoint"))?.unwrap_or_default();
    if content.len() < HEADER_BYTES || u32_at(&content, 0) != MAGIC {
        return Ok(Err("it does not begin like a checkpoint"));
    }
    if u32_at(&content, 4) != key.crc(&content[8..HEADER_BYTES]) {
        return Ok(Err("its header does not match its checksum"));
    }
    let found = u32_at(&content, 8);
    if found != FORMAT_VERSION {
        return Err(LogError::Version { file, found, supported: FORMAT_VERSION });
    }
    if u64_at(&content, 16) != u64::from(position) {
        return Ok(Err("it is for another position than its name says"));
    }
    let payload = &content[HEADER_BYTES..];
    if u64_at(&content, 24) != payload.len() as u64 || u32_at(&content, 32) != crc32c::crc32c(payload) {
        return Ok(Err("its payload does not match its checksum"));
    }
    Ok(Ok(Checkpoint { position, payload: Bytes::from(content).slice(HEADER_BYTES..) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{MemoryStorage, StorageFile};

    #[test]
    fn reads_what_was_written_and_notices_every_flipped_byte() {
        let storage = MemoryStorage::new();
        let key = Key::new(&[3; 16]);
        let position = Position::new(2, 4_096);
        let payload = b"state of the queues";
        let name = names::checkpoint(position);
        storage.replace_file(&name, &[&encode_header(position, payload, key), payload]).unwrap();
        let checkpoint = read(&storage, position, key).unwrap().unwrap();
        assert_eq!((checkpoint.position, &checkpoint.payload[..]), (position, &payload[..]));

        let file = storage.open(&name).unwrap();
        for offset in 0..file.len().unwrap() {
            let mut byte = [0];
            file.read_at(&mut byte, offset).unwrap();
            file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
            assert!(read(&storage, position, key).unwrap().is_err(), "byte {offset}");
            file.write_all_at(&byte, offset).unwrap();
        }
        assert!(read(&storage, Position::new(2, 8), key).unwrap().is_err());
    }
}
