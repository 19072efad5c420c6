//! Opening a log.

use std::sync::Arc;

use crate::{
    Checkpoint, LogConfig, LogError, Position,
    appender::{Active, Appender},
    codec::Key,
    framer::Framer,
    keeper::{FreeFile, Keeper},
    names,
    reader::Reader,
    segment::{HEAD_BYTES, Head, SEAL_OFFSET, Segment, encode_head},
    shared::{Postings, Segments, Shared, create_segment},
    storage::{Storage, StorageFile},
    superblock::Superblock,
    survey::{Found, Inventory, Survey, survey},
    verdict::Body,
};

/// The log as a whole. It exists only as its four roles, which [`open`](Self::open) gives out.
pub enum SegmentedLog {}

/// An open log. Call [`Keeper::prepare_spare`] once before serving. The directory stays locked until all four roles
/// and all [`RecordRef`](crate::RecordRef)s are dropped.
pub struct Opened<S: Storage> {
    /// Random bytes that were drawn when the log was created. Never changes.
    pub identity: [u8; 16],
    /// Number of this ownership: 1 for the first, and larger than that of every earlier opening.
    pub epoch: u64,
    /// The newest valid checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Where to begin [`Reader::scan`] to bring the checkpoint up to date: its position, or the log's first frame.
    pub replay_from: Position,
    /// End of the log: where the next frame goes, and where replay ends.
    pub tail: Position,
    /// What recovery had to do.
    pub recovery: Recovery,
    /// For the owner thread.
    pub framer: Framer<S>,
    /// For the writer thread.
    pub appender: Appender<S>,
    /// For every thread that reads.
    pub reader: Reader<S>,
    /// For the maintenance thread.
    pub keeper: Keeper<S>,
}

/// What recovery found, for the server's own log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Where an interrupted write was cut off. Nothing in it had been acknowledged.
    pub torn_at: Option<Position>,
    /// Names of checkpoints that were damaged and skipped.
    pub damaged_checkpoints: Vec<String>,
}

impl SegmentedLog {
    /// Opens the log in `storage`, or creates one there if the directory is fresh, with `fresh_identity` as its
    /// identity: 16 random bytes, not used otherwise. Takes the lock and a new epoch, finds the newest valid
    /// checkpoint and the end of the log, and makes durable what is found (a process that died may have left it in
    /// the page cache only). Reads the head of each segment and all of the active one.
    ///
    /// Sealed segments are not read; a scan over them reports what it finds damaged.
    ///
    /// # Errors
    /// Any [`LogError`]. A damaged directory is left as it was, except for the epoch.
    pub fn open<S: Storage>(
        storage: S,
        config: LogConfig,
        fresh_identity: [u8; 16],
    ) -> Result<Opened<S>, LogError> {
        config.validate()?;
        let lock = lock(&storage)?;
        let Superblock { identity, epoch, .. } = take_over(&storage, &config, fresh_identity)?;
        let key = Key::new(&identity);
        let inventory = Inventory::take(&storage)?;
        let survey = survey(&storage, &inventory, key, epoch - 1, config.file_bytes())?;
        settle(&storage, &inventory, &survey, key)?;
        let postings = open_postings(&storage, &survey)?;

        let Survey {
            checkpoint,
            checkpoints,
            damaged_checkpoints,
            replay_from,
            sealed,
            active,
            tail,
            spare,
            ..
        } = survey;
        let recovery = Recovery {
            torn_at: (tail.body == Body::Torn).then(|| Position::new(active.number, tail.end)),
            damaged_checkpoints: damaged_checkpoints.into_iter().map(|(name, _)| name).collect(),
        };
        let allocated_bytes = active.bytes;
        let spare_number = spare.as_ref().map(|spare| spare.number);
        let next_segment = spare_number.unwrap_or(active.number) + 1;
        let mut segments: Segments<S> = sealed
            .into_iter()
            .map(|(seal, file)| (seal.segment, Arc::new(Segment::sealed(seal, file))))
            .collect();
        for Found { number, file, .. } in [Some(active), spare].into_iter().flatten() {
            segments.insert(number, Arc::new(Segment::open(number, file)));
        }
        let active_number = next_segment - 1 - u32::from(spare_number.is_some());
        let active = Active {
            segment: Arc::clone(&segments[&active_number]),
            end: tail.end,
            record_count: tail.record_count,
            first_sequence: tail.first_sequence,
        };
        let (tail, next_sequence) = (active.tail(), active.next_sequence());
        let shared =
            Arc::new(Shared::new(storage, lock, config, key, epoch, segments, postings, tail, spare_number));
        let in_use = checkpoint.iter().flat_map(|checkpoint| checkpoint.postings.iter().copied()).collect();
        let free = inventory.free.iter().map(|&(number, bytes)| FreeFile { number, bytes }).collect();
        Ok(Opened {
            identity,
            epoch,
            checkpoint,
            replay_from,
            tail,
            recovery,
            framer: Framer::new(Arc::clone(&shared), tail, allocated_bytes, next_sequence),
            appender: Appender::new(Arc::clone(&shared), active),
            reader: Reader::new(Arc::clone(&shared)),
            keeper: Keeper::new(shared, next_segment, free, checkpoints, in_use, inventory.has_reserve),
        })
    }
}

/// Opens the posting files that checkpoints refer to. Of a checkpoint to fall back on they may be missing.
fn open_postings<S: Storage>(storage: &S, survey: &Survey<S::File>) -> Result<Postings<S>, LogError> {
    let mut postings = Postings::<S>::new();
    for number in survey.checkpoints.iter().flat_map(|checkpoint| &checkpoint.postings) {
        match storage.open(&names::posting(*number)) {
            Ok(file) => drop(postings.insert(*number, Arc::new(file))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(LogError::Io { action: "open a posting file", source }),
        }
    }
    Ok(postings)
}

/// Takes the directory's lock.
pub(crate) fn lock<S: Storage>(storage: &S) -> Result<S::Lock, LogError> {
    storage.lock().map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => LogError::Locked,
        _ => LogError::Io { action: "take its lock", source: error },
    })
}

/// Raises the epoch, or creates the log.
fn take_over(storage: &impl Storage, config: &LogConfig, fresh: [u8; 16]) -> Result<Superblock, LogError> {
    if let Some(superblock) = Superblock::read(storage)? {
        let superblock = Superblock { epoch: superblock.next_epoch(), ..superblock };
        superblock.update(storage)?;
        return Ok(superblock);
    }
    refuse_unless_fresh(storage)?;
    let superblock = Superblock { identity: fresh, epoch: 1, is_whole: true };
    // The superblock last: where there is one, there is a first segment.
    create_segment(storage, 1, Key::new(&fresh), config.file_bytes())
        .map_err(LogError::io("create the first segment"))?;
    superblock.create(storage)?;
    Ok(superblock)
}

/// A directory without a superblock may hold an unfinished creation, and nothing else of ours.
fn refuse_unless_fresh(storage: &impl Storage) -> Result<(), LogError> {
    let inventory = Inventory::take(storage)?;
    let mut fresh = inventory.free.is_empty()
        && inventory.checkpoints.is_empty()
        && matches!(inventory.segments[..], [] | [1]);
    if let (true, [first]) = (fresh, &inventory.segments[..]) {
        let file = storage.open(&names::segment(*first)).map_err(LogError::io("open a segment"))?;
        let mut bytes = [0; 64];
        file.read_at(&mut bytes, u64::from(HEAD_BYTES)).map_err(LogError::io("read a segment"))?;
        fresh = bytes == [0; 64];
    }
    if fresh {
        return Ok(());
    }
    Err(LogError::CorruptFile {
        file: names::SUPERBLOCK.into(),
        what: "it is missing although there are other files",
    })
}

/// Makes the surveyed state durable and removes left-overs.
fn settle<S: Storage>(
    storage: &S,
    inventory: &Inventory,
    survey: &Survey<S::File>,
    key: Key,
) -> Result<(), LogError> {
    let active = &survey.active;
    if active.head == Head::Blank {
        active
            .file
            .write_all_at(&encode_head(active.number, key), 0)
            .map_err(LogError::io("write a segment"))?;
    } else {
        // An interrupted sealing must not look like a damaged seal once the segment has been written on.
        active.file.write_all_at(&[0; 64], SEAL_OFFSET).map_err(LogError::io("write a segment"))?;
    }
    // The owner before us may have died between a write and its sync. What we found, and are about to act on, must
    // not be lost to a later power failure.
    for file in survey.sealed.last().map(|(_, file)| file).into_iter().chain([&active.file]) {
        file.sync_data().map_err(LogError::io("sync a segment"))?;
    }
    let surplus = survey.surplus.iter().map(|number| names::segment(*number));
    let postings = inventory.postings.iter().filter(|number| !survey.needs_posting(**number));
    let surplus = surplus.chain(postings.map(|number| names::posting(*number)));
    for name in inventory.temporary.iter().cloned().chain(surplus) {
        storage.remove(&name).map_err(LogError::io("remove a left-over file"))?;
    }
    storage.sync_dir().map_err(LogError::io("sync its list of files"))
}
