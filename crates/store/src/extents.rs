//! Runs of chunks as blocks of posting files, and back.

use crate::codec::{DecodeError, Fields, Put};
use crate::snapshot::{put_chunk, take_chunk};
use bytes::Bytes;
use std::collections::BTreeMap;
use thiserror::Error;
use tidegate_engine::{Chunk, Extent, ExtentPlace, Timestamp};
use tidegate_log::{BlockError, BlockRef, Reader, Storage};

/// Why a run of a backlog cannot be brought back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExtentError {
    /// Its block is gone, damaged or cannot be read.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The block is as it was written, but is not this run.
    #[error(
        "the block at byte {offset} of posting file {file:08x} does not hold the messages that it should"
    )]
    Other {
        /// Number of the file.
        file: u32,
        /// Offset of the block.
        offset: u32,
    },
    /// The block does not decode.
    #[error("the block at byte {offset} of posting file {file:08x} holds no messages")]
    Decode {
        /// Number of the file.
        file: u32,
        /// Offset of the block.
        offset: u32,
        /// Why.
        #[source]
        source: DecodeError,
    },
}

pub(crate) fn block_of(place: ExtentPlace) -> BlockRef {
    BlockRef { file: place.file, offset: place.offset, bytes: place.bytes }
}

pub(crate) fn place_of(block: BlockRef) -> ExtentPlace {
    ExtentPlace { file: block.file, offset: block.offset, bytes: block.bytes }
}

/// A run as a block.
pub(crate) fn encode(chunks: &[Chunk]) -> Vec<u8> {
    let mut block = Vec::new();
    block.put_number(chunks.len() as u64);
    chunks.iter().for_each(|chunk| put_chunk(chunk, &mut block));
    block
}

fn decode(block: Bytes) -> Result<Vec<Chunk>, DecodeError> {
    let mut fields = Fields::new(&block);
    let chunks = fields.list(take_chunk)?;
    fields.end()?;
    Ok(chunks)
}

/// Reads a run.
///
/// # Errors
/// Any [`ExtentError`].
pub fn read_extent<S: Storage>(reader: &Reader<S>, extent: &Extent) -> Result<Vec<Chunk>, ExtentError> {
    let ExtentPlace { file, offset, .. } = extent.place;
    let block = reader.read_block(block_of(extent.place))?;
    let chunks = decode(block).map_err(|source| ExtentError::Decode { file, offset, source })?;
    if extent.outlines(&chunks) { Ok(chunks) } else { Err(ExtentError::Other { file, offset }) }
}

/// How long a run that could not be read is not tried again, in milliseconds.
const RETRY_MS: u64 = 5_000;

/// Reads runs for the engine, and remembers what could not be read.
pub(crate) struct Library<S: Storage> {
    reader: Reader<S>,
    failed: BTreeMap<ExtentPlace, Timestamp>,
    errors: Vec<ExtentError>,
}

impl<S: Storage> Library<S> {
    pub(crate) fn new(reader: Reader<S>) -> Self {
        Library { reader, failed: BTreeMap::new(), errors: Vec::new() }
    }

    /// Reads a run, unless that failed a moment ago.
    pub(crate) fn read(&mut self, now: Timestamp, extent: &Extent) -> Option<Vec<Chunk>> {
        if let Some(at) = self.failed.get(&extent.place)
            && now.since(*at).as_millis() < u128::from(RETRY_MS)
        {
            return None;
        }
        match read_extent(&self.reader, extent) {
            Ok(chunks) => {
                self.failed.remove(&extent.place);
                Some(chunks)
            }
            Err(error) => {
                self.failed.retain(|_, at| now.since(*at).as_millis() < u128::from(RETRY_MS));
                self.failed.insert(extent.place, now);
                self.errors.push(error);
                None
            }
        }
    }

    pub(crate) fn poll_error(&mut self) -> Option<ExtentError> {
        self.errors.pop()
    }
}
