//! A checkpoint: the state at one place of the log, and how it is stored.
//!
//! What lasts of backlogs goes into posting files, once; the checkpoint itself refers to them and so stays small. It is
//! stored by another thread than the one that goes on changing the state, which is told afterwards what was written.

use crate::extents::{self, block_of, place_of};
use crate::snapshot::{self, Contents};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_engine::{Chunk, Extent, ExtentPlace, Messages, Portion, QueueId};
use tidegate_log::{Keeper, KeeperError, Position, Reader, Storage};

/// Bytes of blocks that go into one posting file; what there is more goes into others.
const FILE_BYTES: usize = 32 << 20;
/// A posting file of which less than this share is referred to is emptied: its runs are copied.
const SPARSE_PERCENT: u64 = 25;
/// Bytes of runs that are copied with one checkpoint.
const COPY_BYTES_MAX: u64 = 16 << 20;
/// Number of posting files from which on small ones are merged, so that their number does not grow with time.
const FILES_MAX: usize = 256;
/// A posting file with less than this is small.
const SMALL_BYTES: u64 = 1 << 20;

/// The state of a shard at one place of its log, to be stored.
#[derive(Debug)]
pub struct Checkpoint {
    /// Replay goes on here.
    pub position: Position,
    pub(crate) contents: Contents,
}

/// What was written with a checkpoint, for [`Shard::note_stored`](crate::Shard::note_stored).
#[derive(Debug, Default)]
pub struct Stored {
    pub(crate) written: Vec<(QueueId, Vec<Chunk>, Extent)>,
    pub(crate) copied: Vec<(QueueId, Extent, ExtentPlace)>,
    /// Bytes of the checkpoint itself.
    pub checkpoint_bytes: usize,
    /// Bytes of new posting files.
    pub posting_bytes: u64,
}

impl Checkpoint {
    /// Stores it, durably. Meant for another thread than the one that has the shard.
    ///
    /// # Errors
    /// Those of [`Keeper::write_postings`] and [`Keeper::write_checkpoint`]. What was stored before is still valid then.
    pub fn store<S: Storage>(
        mut self,
        keeper: &mut Keeper<S>,
        reader: &Reader<S>,
    ) -> Result<Stored, KeeperError> {
        let mut in_use = self.files();
        let mut stored = Stored::default();
        self.write_lasting(keeper, &mut stored)?;
        self.copy_sparse(keeper, reader, &mut stored)?;
        let files = self.files();
        let payload = snapshot::encode(&self.contents);
        let numbers: Vec<_> = files.iter().copied().collect();
        keeper.write_checkpoint(self.position, &payload, &numbers)?;
        // What was in use when the state was looked at is read until the shard knows of the copies.
        in_use.extend(files);
        keeper.set_postings_in_use(in_use);
        stored.checkpoint_bytes = payload.len();
        Ok(stored)
    }

    fn backlogs(&mut self) -> impl Iterator<Item = (QueueId, &mut Vec<Portion>)> {
        self.contents.snapshot.queues.iter_mut().filter_map(|queue| match &mut queue.messages {
            Messages::Standard(messages) => Some((queue.id, &mut messages.backlog)),
            Messages::Fifo(_) => None,
        })
    }

    /// The posting files that the state refers to.
    fn files(&mut self) -> BTreeSet<u32> {
        let orphans: Vec<_> = self.contents.snapshot.orphans.iter().filter_map(file_of).collect();
        let backlogs = self.backlogs().flat_map(|(_, portions)| portions.iter()).filter_map(file_of);
        backlogs.chain(orphans).collect()
    }

    /// Writes what lasts and is not written yet.
    fn write_lasting<S: Storage>(
        &mut self,
        keeper: &mut Keeper<S>,
        stored: &mut Stored,
    ) -> Result<(), KeeperError> {
        let mut file = File::default();
        for (queue, portions) in self.backlogs() {
            for portion in portions {
                let Portion::Lasting(chunks) = portion else { continue };
                let block = extents::encode(chunks);
                file.push(block, (queue, portion));
                if file.bytes >= FILE_BYTES {
                    file.write_runs(keeper, stored)?;
                }
            }
        }
        file.write_runs(keeper, stored)
    }

    /// Copies the runs of files that are hardly referred to any more, so that these can go.
    fn copy_sparse<S: Storage>(
        &mut self,
        keeper: &mut Keeper<S>,
        reader: &Reader<S>,
        stored: &mut Stored,
    ) -> Result<(), KeeperError> {
        let sparse = self.sparse_files(&keeper.posting_files()?);
        let mut file = File::default();
        for (queue, portions) in self.backlogs() {
            for portion in portions {
                let Portion::Written { extent, .. } = &*portion else { continue };
                if !sparse.contains(&extent.place.file) {
                    continue;
                }
                // One that cannot be read is reported to those who need it; here it only keeps its file.
                if let Ok(block) = reader.read_block(block_of(extent.place)) {
                    file.push(block.to_vec(), (queue, portion));
                }
            }
        }
        file.write_copies(keeper, stored)
    }

    /// The files to be emptied, of those that there are with their lengths.
    fn sparse_files(&mut self, files: &[(u32, u64)]) -> BTreeSet<u32> {
        let mut used = BTreeMap::<u32, u64>::new();
        for (_, portions) in self.backlogs() {
            for portion in portions {
                if let Portion::Written { extent, .. } = portion {
                    *used.entry(extent.place.file).or_default() += u64::from(extent.place.bytes);
                }
            }
        }
        let are_many = files.len() > FILES_MAX;
        let mut copied = 0;
        let is_sparse = |(number, length): &&(u32, u64)| {
            let Some(used) = used.get(number) else { return false };
            let is_sparse = used * 100 < length * SPARSE_PERCENT || (are_many && *used < SMALL_BYTES);
            let fits = is_sparse && copied + used <= COPY_BYTES_MAX;
            copied += if fits { *used } else { 0 };
            fits
        };
        files.iter().filter(is_sparse).map(|(number, _)| *number).collect()
    }
}

fn file_of(portion: &Portion) -> Option<u32> {
    match portion {
        Portion::Written { extent, .. } => Some(extent.place.file),
        Portion::Passing(_) | Portion::Lasting(_) => None,
    }
}

/// Blocks of a posting file to be written, and the portion that each is of.
#[derive(Default)]
struct File<'a> {
    blocks: Vec<Vec<u8>>,
    portions: Vec<(QueueId, &'a mut Portion)>,
    bytes: usize,
}

impl<'a> File<'a> {
    fn push(&mut self, block: Vec<u8>, of: (QueueId, &'a mut Portion)) {
        self.bytes += block.len();
        self.blocks.push(block);
        self.portions.push(of);
    }

    /// Writes the file, if there is something for it; gives each portion and the place of its block.
    fn write<S: Storage>(
        &mut self,
        keeper: &mut Keeper<S>,
        stored: &mut Stored,
    ) -> Result<impl Iterator<Item = (QueueId, &'a mut Portion, ExtentPlace)> + use<'a, S>, KeeperError> {
        let File { blocks, portions, bytes } = std::mem::take(self);
        let places = if blocks.is_empty() { Vec::new() } else { keeper.write_postings(&blocks)? };
        stored.posting_bytes += bytes as u64;
        Ok(portions.into_iter().zip(places).map(|((queue, of), block)| (queue, of, place_of(block))))
    }

    fn write_runs<S: Storage>(
        &mut self,
        keeper: &mut Keeper<S>,
        stored: &mut Stored,
    ) -> Result<(), KeeperError> {
        for (queue, portion, place) in self.write(keeper, stored)? {
            let Portion::Lasting(chunks) = portion else { unreachable!("chosen above") };
            let extent = Extent::of(chunks, place);
            stored.written.push((queue, std::mem::take(chunks), extent));
            *portion = Portion::Written { extent, expired_to: tidegate_engine::Timestamp::ZERO };
        }
        Ok(())
    }

    fn write_copies<S: Storage>(
        &mut self,
        keeper: &mut Keeper<S>,
        stored: &mut Stored,
    ) -> Result<(), KeeperError> {
        for (queue, portion, place) in self.write(keeper, stored)? {
            let Portion::Written { extent, .. } = portion else { unreachable!("chosen above") };
            stored.copied.push((queue, *extent, place));
            extent.place = place;
        }
        Ok(())
    }
}
