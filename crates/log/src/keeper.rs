//! Maintenance: spare segments, retired segments, checkpoints.

use std::{collections::BTreeSet, io, sync::Arc};

use crate::{
    Durability, Position, checkpoint,
    error::KeeperError,
    names::{self, Name},
    posting::{self, BlockRef},
    segment::{HEAD_BYTES, Segment},
    shared::{Shared, christen, create_segment},
    storage::{Storage, StorageFile},
    survey::KeptCheckpoint,
};

/// Unused segment files that are kept for reuse beside the spare one: as many as become free with one checkpoint of a
/// server under load. Appending to a file that was written before takes a third less time than to a new one.
const FREE_FILES_MAX: usize = 6;
/// Bytes of zeros that are written at once: less than the time of a slow append.
const FILL_BYTES: usize = 256 << 10;
/// Checkpoints that are kept: the newest, and one to fall back on.
const CHECKPOINTS_MAX: usize = 2;

/// The last of the four roles: everything that is slow and can wait.
///
/// Call [`prepare_spare`](Self::prepare_spare) whenever a segment was begun, and after every retirement; how soon it
/// follows decides how much of a segment is left for deletes when the disk turns out to be full.
pub struct Keeper<S: Storage> {
    shared: Arc<Shared<S>>,
    /// Number of the next segment to create.
    next_segment: u32,
    /// Retired, and possibly still pinned by readers.
    retired: Vec<Arc<Segment<S::File>>>,
    free: Vec<FreeFile>,
    /// The checkpoints that are kept, oldest first.
    checkpoints: Vec<KeptCheckpoint>,
    /// Posting files that are read by others than recovery.
    postings_in_use: BTreeSet<u32>,
    /// Posting files for a checkpoint that is still to be stored.
    new_postings: Vec<u32>,
    /// Number of the next posting file.
    next_posting: u32,
    has_reserve: bool,
    fresh: Option<Fresh>,
}

/// The spare segment while its file was never written.
struct Fresh {
    number: u32,
    /// Offset of what is not filled yet.
    filled: u64,
}

/// A file that was a segment and can become one again.
pub(crate) struct FreeFile {
    pub(crate) number: u32,
    pub(crate) bytes: u64,
}

/// A segment that is complete and will not change any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedSegment {
    /// Its number.
    pub number: u32,
    /// Offset after its last frame: the bytes in use.
    pub end_bytes: u32,
    /// Number of its records.
    pub record_count: u64,
}

impl<S: Storage> Keeper<S> {
    pub(crate) fn new(
        shared: Arc<Shared<S>>,
        next_segment: u32,
        free: Vec<FreeFile>,
        checkpoints: Vec<KeptCheckpoint>,
        postings_in_use: BTreeSet<u32>,
        has_reserve: bool,
    ) -> Self {
        let next_posting = shared.posting_numbers().last().map_or(1, |last| last + 1);
        let (retired, new_postings) = (Vec::new(), Vec::new());
        Self {
            shared,
            next_segment,
            retired,
            free,
            checkpoints,
            postings_in_use,
            new_postings,
            next_posting,
            has_reserve,
            fresh: None,
        }
    }

    /// Makes sure that the segment after the active one exists, out of a free file if there is one. Returns whether
    /// it does; `false` means that there is no room, which the framer then reports as [`Space::Low`](crate::Space).
    /// Costs two syncs of a file and of the directory when there is something to do; nothing otherwise.
    ///
    /// # Errors
    /// [`KeeperError::Poisoned`]; [`KeeperError::Io`] for anything but a lack of room. May be called again.
    pub fn prepare_spare(&mut self) -> Result<bool, KeeperError> {
        self.refuse_if_poisoned()?;
        self.reclaim()?;
        if self.shared.spare.is_ready() {
            return Ok(true);
        }
        match self.make_segment() {
            Ok(file) => {
                self.shared.insert_segment(Segment::open(self.next_segment, file));
                self.shared.spare.offer(self.next_segment);
                self.next_segment += 1;
                self.restore_reserve();
                Ok(true)
            }
            Err(error) if is_full(&error) => {
                self.shared.spare.set_no_room(true);
                Ok(false)
            }
            Err(source) => Err(KeeperError::Io { action: "prepare a spare segment", source }),
        }
    }

    fn make_segment(&mut self) -> io::Result<S::File> {
        let Shared { storage, config, key, .. } = &*self.shared;
        while let Some(FreeFile { number, bytes }) = self.free.pop() {
            let name = names::free(number);
            // Files of another configured length are not worth a conversion.
            if bytes < config.file_bytes() || bytes > 2 * config.file_bytes() {
                storage.remove(&name)?;
                continue;
            }
            let file = storage.open(&name)?;
            // After a failure the file stays out of use, because a second sync of it would prove nothing.
            christen(storage, &name, &file, self.next_segment, *key)?;
            return Ok(file);
        }
        self.bound(config.file_bytes())?;
        let file = create_segment(storage, self.next_segment, *key, config.file_bytes())?;
        if config.durability == Durability::Fsync {
            self.fresh = Some(Fresh { number: self.next_segment, filled: HEAD_BYTES.into() });
        }
        Ok(file)
    }

    /// Writes zeros over the next part of a spare segment whose file is new, and syncs them; whether there is more to do.
    /// What is written for the second time costs a file system less than what is written first: syncing it changes no
    /// metadata. Nothing is done to a file that was used before, or when appends are not synced.
    ///
    /// # Errors
    /// [`KeeperError::Poisoned`]; [`KeeperError::Io`].
    pub fn fill_spare(&mut self) -> Result<bool, KeeperError> {
        self.refuse_if_poisoned()?;
        let Some(Fresh { number, filled }) = self.fresh.take() else { return Ok(false) };
        let Some(segment) = self.shared.segment(number) else { return Ok(false) };
        let end = self.shared.config.file_bytes().min(filled + FILL_BYTES as u64);
        {
            let Some(_held) = self.shared.spare.hold(number) else { return Ok(false) };
            let zeros = &[0; FILL_BYTES][..(end - filled) as usize];
            segment.file.write_all_at(zeros, filled).map_err(KeeperError::io("fill a spare segment"))?;
        }
        segment.file.sync_data().map_err(|source| {
            self.shared.poison();
            KeeperError::Io { action: "sync a spare segment", source }
        })?;
        self.fresh = (end < self.shared.config.file_bytes()).then_some(Fresh { number, filled: end });
        Ok(self.fresh.is_some())
    }

    /// Fails like a full disk when `more` bytes would exceed the configured bound.
    fn bound(&self, more: u64) -> io::Result<()> {
        match self.shared.config.max_bytes {
            Some(max) if self.sum_files()? + more > max => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    /// Gives up sealed segment `number`, in which nothing is of use any more. Readers that have pinned it keep it;
    /// others no longer find it. Its file becomes a free one as soon as nobody pins it, now or in a later call of
    /// this or of [`prepare_spare`](Self::prepare_spare).
    ///
    /// If the machine fails before the file is reused, the segment may be there again after recovery, sealed and
    /// whole; retire it again.
    ///
    /// # Errors
    /// [`KeeperError::Needed`] unless all of it lies before the oldest checkpoint that is kept (one checkpoint more
    /// than recovery needs, so that a damaged checkpoint can be outlived); [`KeeperError::NotSealed`];
    /// [`KeeperError::Io`], after which the segment is retired but its file remains until the next opening.
    pub fn retire(&mut self, number: u32) -> Result<(), KeeperError> {
        self.refuse_if_poisoned()?;
        let sealed = self.shared.segment(number).is_some_and(|segment| segment.seal().is_some());
        if !sealed {
            return Err(KeeperError::NotSealed { segment: number });
        }
        let checkpoint = self.oldest_checkpoint();
        if number >= checkpoint.segment() {
            return Err(KeeperError::Needed { segment: number, checkpoint });
        }
        self.retired.extend(self.shared.remove_segment(number));
        self.reclaim()
    }

    /// Segments below this position's can be retired: that of the oldest checkpoint kept, 0:0 when there is none.
    #[must_use]
    pub fn oldest_checkpoint(&self) -> Position {
        self.checkpoints.first().map(|oldest| oldest.position).unwrap_or_default()
    }

    /// Turns retired segments that nobody pins into free files.
    fn reclaim(&mut self) -> Result<(), KeeperError> {
        for segment in std::mem::take(&mut self.retired) {
            match Arc::try_unwrap(segment) {
                Ok(segment) => self.free_segment(segment).map_err(KeeperError::io("recycle a segment"))?,
                Err(pinned) => self.retired.push(pinned),
            }
        }
        Ok(())
    }

    fn free_segment(&mut self, segment: Segment<S::File>) -> io::Result<()> {
        let storage = &self.shared.storage;
        let number = segment.number;
        let name = names::segment(number);
        if self.free.len() >= FREE_FILES_MAX {
            return storage.remove(&name);
        }
        storage.rename(&name, &names::free(number))?;
        // Before the header may be overwritten: under its old name the file must never have a new number.
        storage.sync_dir()?;
        let bytes = segment.into_file().len()?;
        self.free.push(FreeFile { number, bytes });
        Ok(())
    }

    /// Writes blocks durably into a new posting file, for the checkpoint that is stored next; if that fails, so that the
    /// file is of no use, it is removed. Without room, the older checkpoint and then a small reserve are given up for it.
    /// Blocks may have 16 MiB each and 1 GiB together.
    ///
    /// # Errors
    /// [`KeeperError::NoRoom`]; [`KeeperError::Poisoned`]; [`KeeperError::Io`].
    pub fn write_postings(&mut self, blocks: &[Vec<u8>]) -> Result<Vec<BlockRef>, KeeperError> {
        self.refuse_if_poisoned()?;
        let number = self.next_posting;
        // Not used again after a failure, which may have left something under that name.
        self.next_posting += 1;
        let (content, places) = posting::encode(number, blocks, self.shared.key);
        let name = names::posting(number);
        let stored = self.replace_file(&name, &[&content], "write a posting file");
        let opened = stored
            .and_then(|()| self.shared.storage.open(&name).map_err(KeeperError::io("open a posting file")));
        match opened {
            Ok(file) => {
                self.shared.insert_posting(number, file);
                self.new_postings.push(number);
                Ok(places)
            }
            Err(error) => {
                // Only tidiness: the next opening removes it, too.
                let _ = self.shared.storage.remove(&name);
                self.forget_new_postings();
                Err(error)
            }
        }
    }

    /// Says which posting files are read from now on. Others are removed unless a checkpoint that is kept refers to them.
    pub fn set_postings_in_use(&mut self, numbers: BTreeSet<u32>) {
        self.postings_in_use = numbers;
        self.remove_other_postings();
    }

    /// Numbers and lengths, in bytes, of the posting files that there are.
    ///
    /// # Errors
    /// [`KeeperError::Io`].
    pub fn posting_files(&self) -> Result<Vec<(u32, u64)>, KeeperError> {
        let numbers = self.shared.posting_numbers().into_iter();
        let measured = numbers.filter_map(|number| Some((number, self.shared.posting(number)?)));
        let measured = measured.map(|(number, file)| Ok((number, file.len()?)));
        measured.collect::<io::Result<_>>().map_err(KeeperError::io("measure a posting file"))
    }

    fn forget_new_postings(&mut self) {
        self.new_postings.clear();
        self.remove_other_postings();
    }

    /// Removes posting files that nobody needs. What cannot be removed now is tried again the next time.
    fn remove_other_postings(&self) {
        for number in self.shared.posting_numbers() {
            let is_needed = self.postings_in_use.contains(&number)
                || self.new_postings.contains(&number)
                || self.checkpoints.iter().any(|checkpoint| checkpoint.postings.contains(&number));
            if !is_needed && self.shared.storage.remove(&names::posting(number)).is_ok() {
                self.shared.remove_posting(number);
            }
        }
    }

    /// Stores `payload` durably as the checkpoint of everything before `position`, which is the position of a frame
    /// or the end of one, and keeps the one before it. `postings` are the numbers, ascending, of the posting files that it
    /// refers to. With [`Durability::Os`] the log itself is synced up to there first. Without room, the older checkpoint
    /// and then a small reserve are given up for it.
    ///
    /// # Errors
    /// [`KeeperError::CheckpointRange`] for a position beyond the end of the log or before the newest checkpoint;
    /// [`KeeperError::NoRoom`]; [`KeeperError::Poisoned`]; [`KeeperError::Io`]. The newest checkpoint that was there
    /// before is then still valid.
    pub fn write_checkpoint(
        &mut self,
        position: Position,
        payload: &[u8],
        postings: &[u32],
    ) -> Result<(), KeeperError> {
        let stored = self.try_write_checkpoint(position, payload, postings);
        self.forget_new_postings();
        stored
    }

    fn try_write_checkpoint(
        &mut self,
        position: Position,
        payload: &[u8],
        postings: &[u32],
    ) -> Result<(), KeeperError> {
        self.refuse_if_poisoned()?;
        let oldest = self.checkpoints.last().map(|newest| newest.position).unwrap_or_default();
        let end = self.shared.written.load();
        if position < oldest || position > end {
            return Err(KeeperError::CheckpointRange { position, oldest, end });
        }
        self.sync_log(position, end)?;
        let header = checkpoint::encode_header(position, payload, postings, self.shared.key);
        self.replace_file(&names::checkpoint(position), &[&header, payload], "write a checkpoint")?;
        self.checkpoints.retain(|checkpoint| checkpoint.position != position);
        self.checkpoints.push(KeptCheckpoint { position, postings: postings.to_vec() });
        let surplus = self.checkpoints.len().saturating_sub(CHECKPOINTS_MAX);
        self.checkpoints.drain(..surplus);
        self.remove_other_checkpoints();
        Ok(())
    }

    /// Gives up the checkpoint before the newest, so that the segments it needs can be retired. Returns whether there was
    /// one. For when there is no other room: should the newest be damaged, nothing is left to fall back on.
    ///
    /// # Errors
    /// [`KeeperError::Poisoned`]; [`KeeperError::Io`].
    pub fn give_up_fallback(&mut self) -> Result<bool, KeeperError> {
        self.refuse_if_poisoned()?;
        if self.checkpoints.len() < 2 {
            return Ok(false);
        }
        self.give_up_room()
    }

    /// A checkpoint must not outlive the log that it is for.
    fn sync_log(&self, position: Position, end: Position) -> Result<(), KeeperError> {
        if self.shared.config.durability == Durability::Fsync || position <= self.shared.durable.load() {
            return Ok(());
        }
        let Some(segment) = self.shared.segment(position.segment()) else { return Ok(()) };
        segment.file.sync_data().map_err(|source| {
            self.shared.poison();
            KeeperError::Io { action: "sync a segment for a checkpoint", source }
        })?;
        self.shared.durable.advance(if end.segment() == position.segment() { end } else { position });
        Ok(())
    }

    /// Writes a file for a checkpoint, with whatever room can be given up for it.
    fn replace_file(&mut self, name: &str, parts: &[&[u8]], action: &'static str) -> Result<(), KeeperError> {
        loop {
            match self.shared.storage.replace_file(name, parts) {
                Ok(()) => return Ok(()),
                Err(source) if !is_full(&source) => return Err(KeeperError::Io { action, source }),
                Err(source) if !self.give_up_room()? => return Err(KeeperError::NoRoom { source }),
                Err(_) => {}
            }
        }
    }

    /// Frees something for a checkpoint; `false` when there is nothing left to give.
    fn give_up_room(&mut self) -> Result<bool, KeeperError> {
        let name = if self.checkpoints.len() > 1 {
            names::checkpoint(self.checkpoints.remove(0).position)
        } else if std::mem::take(&mut self.has_reserve) {
            names::RESERVE.to_owned()
        } else {
            return Ok(false);
        };
        self.shared.storage.remove(&name).map_err(KeeperError::io("make room for a checkpoint"))?;
        self.remove_other_postings();
        self.shared.storage.sync_dir().map_err(KeeperError::io("make room for a checkpoint"))?;
        Ok(true)
    }

    /// Removes checkpoints that are superseded or were found damaged. What cannot be removed now is tried again after
    /// the next checkpoint.
    fn remove_other_checkpoints(&self) {
        let Ok(files) = self.shared.storage.list() else { return };
        for file in files {
            let Some(Name::Checkpoint(position)) = Name::parse(&file.name) else { continue };
            if !self.checkpoints.iter().any(|checkpoint| checkpoint.position == position) {
                let _ = self.shared.storage.remove(&file.name);
            }
        }
    }

    /// Takes the reserve back once there is room again. A failure only means no reserve.
    fn restore_reserve(&mut self) {
        let bytes = self.shared.config.reserve_bytes();
        if !self.has_reserve && self.bound(bytes).is_ok() {
            self.has_reserve = self.shared.storage.create(names::RESERVE, bytes).is_ok();
        }
    }

    /// Sum of the lengths of all files in the directory, in bytes.
    ///
    /// # Errors
    /// [`KeeperError::Io`].
    pub fn bytes_on_disk(&self) -> Result<u64, KeeperError> {
        self.sum_files().map_err(KeeperError::io("list its files"))
    }

    fn sum_files(&self) -> io::Result<u64> {
        Ok(self.shared.storage.list()?.iter().map(|file| file.bytes).sum())
    }

    /// All sealed segments that are not retired, oldest first.
    #[must_use]
    pub fn sealed_segments(&self) -> Vec<SealedSegment> {
        let segments = self.shared.segments();
        let sealed = segments.values().filter_map(|segment| {
            let seal = segment.seal()?;
            Some(SealedSegment { number: seal.segment, end_bytes: seal.end, record_count: seal.record_count })
        });
        sealed.collect()
    }

    /// Retired segments that readers still pin.
    #[must_use]
    pub fn pinned_count(&self) -> usize {
        self.retired.len()
    }

    fn refuse_if_poisoned(&self) -> Result<(), KeeperError> {
        if self.shared.is_poisoned() { Err(KeeperError::Poisoned) } else { Ok(()) }
    }
}

/// Whether `error` is for lack of room: a full disk or an exhausted quota.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
