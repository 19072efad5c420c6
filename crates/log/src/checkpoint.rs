//! The container of a checkpoint. What is inside belongs to the caller.
//!
//! ```text
//!  0  magic "TGCK"             u32     24  payload bytes          u64
//!  4  keyed CRC-32C of 8..40   u32     32  CRC-32C of the rest    u32
//!  8  format version           u32     36  count of posting files u32
//! 12  zero                     u32     40  their numbers          u32 each, ascending
//! 16  position                 u64         payload
//! ```
//!
//! The second CRC-32C covers everything after the header: the numbers of the posting files that the payload refers to,
//! and the payload.

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
    /// Numbers of the posting files that they refer to, ascending.
    pub postings: Vec<u32>,
}

impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Checkpoint {{ position: {}, payload: {} bytes }}", self.position, self.payload.len())
    }
}

/// What stands before `payload`, which refers to `postings`.
pub(crate) fn encode_header(position: Position, payload: &[u8], postings: &[u32], key: Key) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    postings.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    put_u32(&mut bytes, 0, MAGIC);
    put_u32(&mut bytes, 8, FORMAT_VERSION);
    put_u64(&mut bytes, 16, position.into());
    put_u64(&mut bytes, 24, payload.len() as u64);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[HEADER_BYTES..]), payload);
    put_u32(&mut bytes, 32, crc);
    put_u32(&mut bytes, 36, u32::try_from(postings.len()).expect("a number is given to a file once"));
    let crc = key.crc(&bytes[8..HEADER_BYTES]);
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
    let rest = &content[HEADER_BYTES..];
    let postings_bytes = u64::from(u32_at(&content, 36)) * 4;
    let length = u64_at(&content, 24).saturating_add(postings_bytes);
    if length != rest.len() as u64 || u32_at(&content, 32) != crc32c::crc32c(rest) {
        return Ok(Err("its payload does not match its checksum"));
    }
    let (postings, _) = rest.split_at(postings_bytes as usize);
    let postings = postings.chunks_exact(4).map(|number| u32_at(number, 0)).collect();
    let payload = Bytes::from(content).slice(HEADER_BYTES + postings_bytes as usize..);
    Ok(Ok(Checkpoint { position, payload, postings }))
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
        storage
            .replace_file(&name, &[&encode_header(position, payload, &[4, 70_000], key), payload])
            .unwrap();
        let checkpoint = read(&storage, position, key).unwrap().unwrap();
        assert_eq!((checkpoint.position, &checkpoint.payload[..]), (position, &payload[..]));
        assert_eq!(checkpoint.postings, [4, 70_000]);

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
