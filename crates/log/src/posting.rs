//! Posting files: immutable blocks that checkpoints refer to instead of holding them. What is inside belongs to the
//! caller. A file is written once, before the first checkpoint that needs it, and removed after the last one.
//!
//! ```text
//! header                                   block, one after the other from byte 24
//!  0  magic "TGPF"            u32           0  payload bytes                                     u32
//!  4  keyed CRC-32C of 8..24  u32           4  keyed CRC-32C of number, offset, payload bytes    u32
//!  8  format version          u32              (three u32) and the payload
//! 12  number                  u32           8  payload
//! 16  block count             u32
//! 20  zero                    u32
//! ```

use std::io;

use crate::{
    codec::{Key, put_u32, u32_at},
    storage::StorageFile,
    superblock::FORMAT_VERSION,
};

const HEADER_BYTES: usize = 24;
const BLOCK_HEADER_BYTES: usize = 8;
const MAGIC: u32 = u32::from_le_bytes(*b"TGPF");
/// Longest block. Bounds what a damaged length makes a reader ask for.
const BLOCK_BYTES_MAX: usize = 16 << 20;

/// Where a block is that was written with [`Keeper::write_postings`](crate::Keeper::write_postings).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockRef {
    /// Number of the posting file.
    pub file: u32,
    /// Offset in that file, in bytes.
    pub offset: u32,
    /// Length of the block's payload, in bytes.
    pub bytes: u32,
}

/// The content of posting file `number`, and where its blocks are.
///
/// # Panics
/// When a block is longer than 16 MiB, or all of them than 4 GiB.
pub(crate) fn encode(number: u32, blocks: &[Vec<u8>], key: Key) -> (Vec<u8>, Vec<BlockRef>) {
    let bytes = |block: &Vec<u8>| BLOCK_HEADER_BYTES + block.len();
    let mut content = Vec::with_capacity(HEADER_BYTES + blocks.iter().map(bytes).sum::<usize>());
    content.resize(HEADER_BYTES, 0);
    put_u32(&mut content, 0, MAGIC);
    put_u32(&mut content, 8, FORMAT_VERSION);
    put_u32(&mut content, 12, number);
    put_u32(&mut content, 16, u32::try_from(blocks.len()).expect("blocks are not empty"));
    let crc = key.crc(&content[8..HEADER_BYTES]);
    put_u32(&mut content, 4, crc);
    let mut places = Vec::with_capacity(blocks.len());
    for block in blocks {
        assert!(block.len() <= BLOCK_BYTES_MAX, "a block is short");
        let place = BlockRef {
            file: number,
            offset: u32::try_from(content.len()).expect("the caller bounds a file"),
            bytes: block.len() as u32,
        };
        content.extend_from_slice(&place.bytes.to_le_bytes());
        content.extend_from_slice(&block_crc(place, block, key).to_le_bytes());
        content.extend_from_slice(block);
        places.push(place);
    }
    (content, places)
}

fn block_crc(place: BlockRef, payload: &[u8], key: Key) -> u32 {
    let mut head = [0; 12];
    put_u32(&mut head, 0, place.file);
    put_u32(&mut head, 4, place.offset);
    put_u32(&mut head, 8, place.bytes);
    crc32c::crc32c_append(key.crc(&head), payload)
}

/// Reads a block; `None` when it is not there as it was written.
pub(crate) fn read_block(file: &impl StorageFile, place: BlockRef, key: Key) -> io::Result<Option<Vec<u8>>> {
    let length = place.bytes as usize;
    if length > BLOCK_BYTES_MAX {
        return Ok(None);
    }
    let mut block = vec![0; BLOCK_HEADER_BYTES + length];
    let read = file.read_at(&mut block, u64::from(place.offset))?;
    if read < block.len() || u32_at(&block, 0) != place.bytes {
        return Ok(None);
    }
    let crc = u32_at(&block, 4);
    let payload = block.split_off(BLOCK_HEADER_BYTES);
    Ok((crc == block_crc(place, &payload, key)).then_some(payload))
}

/// Reads all of posting file `number` and counts its blocks. The inner error is a clause that says what is wrong.
pub(crate) fn verify(
    file: &impl StorageFile,
    number: u32,
    key: Key,
) -> io::Result<Result<u32, &'static str>> {
    let mut header = [0; HEADER_BYTES];
    let read = file.read_at(&mut header, 0)?;
    if read < HEADER_BYTES || u32_at(&header, 0) != MAGIC || u32_at(&header, 4) != key.crc(&header[8..]) {
        return Ok(Err("its header does not match its checksum"));
    }
    if u32_at(&header, 8) != FORMAT_VERSION {
        return Ok(Err("it has another format version than the other files"));
    }
    if u32_at(&header, 12) != number {
        return Ok(Err("it has another number than its name says"));
    }
    let (count, length) = (u32_at(&header, 16), file.len()?);
    let mut offset = HEADER_BYTES as u64;
    for _ in 0..count {
        let mut bytes = [0; 4];
        file.read_at(&mut bytes, offset)?;
        let bytes = u32::from_le_bytes(bytes);
        let Ok(at) = u32::try_from(offset) else { return Ok(Err("it is too long")) };
        if read_block(file, BlockRef { file: number, offset: at, bytes }, key)?.is_none() {
            return Ok(Err("a block does not match its checksum"));
        }
        offset += (BLOCK_HEADER_BYTES as u64) + u64::from(bytes);
    }
    Ok(if offset == length { Ok(count) } else { Err("it has not the length of its blocks") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{MemoryStorage, Storage};

    #[test]
    fn reads_what_was_written_and_notices_every_flipped_byte() {
        let storage = MemoryStorage::new();
        let key = Key::new(&[3; 16]);
        let blocks = vec![b"first".to_vec(), vec![], vec![7; 300]];
        let (content, places) = encode(9, &blocks, key);
        storage.replace_file("f", &[&content]).unwrap();
        let file = storage.open("f").unwrap();
        let read = |place| read_block(&file, place, key).unwrap();
        for (place, block) in places.iter().zip(&blocks) {
            assert_eq!(read(*place).as_ref(), Some(block));
            assert_eq!(read(BlockRef { file: 8, ..*place }), None, "of another file");
            assert_eq!(read(BlockRef { bytes: place.bytes + 1, ..*place }), None);
        }
        assert_eq!(verify(&file, 9, key).unwrap(), Ok(3));
        assert!(verify(&file, 8, key).unwrap().is_err());
        for offset in 0..content.len() as u64 {
            let mut byte = [0];
            file.read_at(&mut byte, offset).unwrap();
            file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
            assert!(verify(&file, 9, key).unwrap().is_err(), "byte {offset}");
            file.write_all_at(&byte, offset).unwrap();
        }
    }
}
