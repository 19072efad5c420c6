//! What the four roles share, and nothing else: a few atomics and the map of segments.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use crate::{
    LogConfig, Position,
    codec::Key,
    names,
    recent::RecentFrames,
    segment::{Segment, encode_head},
    storage::{Storage, StorageFile},
};

pub(crate) type Postings<S> = BTreeMap<u32, Arc<<S as Storage>::File>>;
pub(crate) type Segments<S> = BTreeMap<u32, Arc<Segment<<S as Storage>::File>>>;

pub(crate) struct Shared<S: Storage> {
    pub(crate) storage: S,
    pub(crate) config: LogConfig,
    pub(crate) key: Key,
    pub(crate) epoch: u64,
    pub(crate) spare: Spare,
    /// End of what appends have acknowledged; readers may read below it.
    pub(crate) written: AtomicPosition,
    /// End of what is known to be on the medium. Not beyond `written`.
    pub(crate) durable: AtomicPosition,
    /// Set by the first failed write or sync, for good.
    pub(crate) poisoned: AtomicBool,
    /// All segments that can be read or written, the spare among them. A `RwLock`, because a read holds it for one
    /// look-up only, and it is written a few times per segment.
    segments: RwLock<Segments<S>>,
    pub(crate) recent: RecentFrames,
    /// All posting files that may be read; a `RwLock` for the same reason.
    postings: RwLock<Postings<S>>,
    _lock: S::Lock,
}

impl<S: Storage> Shared<S> {
    #[expect(clippy::too_many_arguments, reason = "built once, by recovery")]
    pub(crate) fn new(
        storage: S,
        lock: S::Lock,
        config: LogConfig,
        key: Key,
        epoch: u64,
        segments: Segments<S>,
        postings: Postings<S>,
        tail: Position,
        spare: Option<u32>,
    ) -> Self {
        Self {
            recent: RecentFrames::new(config.recent_bytes),
            storage,
            config,
            key,
            epoch,
            spare: Spare::new(spare),
            written: AtomicPosition::new(tail),
            durable: AtomicPosition::new(tail),
            poisoned: AtomicBool::new(false),
            segments: RwLock::new(segments),
            postings: RwLock::new(postings),
            _lock: lock,
        }
    }

    pub(crate) fn segments(&self) -> RwLockReadGuard<'_, Segments<S>> {
        // Nothing panics while it holds the lock, and the map is whole at every moment.
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn segment(&self, number: u32) -> Option<Arc<Segment<S::File>>> {
        self.segments().get(&number).cloned()
    }

    pub(crate) fn insert_segment(&self, segment: Segment<S::File>) {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        let previous = segments.insert(segment.number, Arc::new(segment));
        assert!(previous.is_none(), "segment numbers are used once");
    }

    pub(crate) fn remove_segment(&self, number: u32) -> Option<Arc<Segment<S::File>>> {
        self.segments.write().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }

    pub(crate) fn posting(&self, number: u32) -> Option<Arc<S::File>> {
        self.postings.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    pub(crate) fn posting_numbers(&self) -> Vec<u32> {
        self.postings.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    pub(crate) fn insert_posting(&self, number: u32, file: S::File) {
        let mut postings = self.postings.write().unwrap_or_else(PoisonError::into_inner);
        let previous = postings.insert(number, Arc::new(file));
        assert!(previous.is_none(), "numbers of posting files are used once");
    }

    pub(crate) fn remove_posting(&self, number: u32) {
        self.postings.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }
}

/// A position that threads share.
pub(crate) struct AtomicPosition(AtomicU64);

impl AtomicPosition {
    fn new(position: Position) -> Self {
        Self(AtomicU64::new(position.into()))
    }

    pub(crate) fn load(&self) -> Position {
        self.0.load(Ordering::Acquire).into()
    }

    /// Moves it forward to `position`; never back.
    pub(crate) fn advance(&self, position: Position) {
        self.0.fetch_max(position.into(), Ordering::AcqRel);
    }
}

/// The hand-over of spare segments from the keeper to the framer: the keeper sets it, the framer takes it.
pub(crate) struct Spare {
    /// Number of the segment that is ready, 0 when there is none.
    ready: AtomicU32,
    /// Held while zeros are written into the spare segment, and while it is taken: nothing else may be written into
    /// one that is taken.
    filling: Mutex<()>,
    /// Whether the last try to make one failed for lack of room.
    no_room: AtomicBool,
}

impl Spare {
    fn new(ready: Option<u32>) -> Self {
        Self {
            ready: AtomicU32::new(ready.unwrap_or(0)),
            filling: Mutex::new(()),
            no_room: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) != 0
    }

    /// Keeps the segment from being taken for as long as the result lives; `None` when it is not the spare one any more.
    pub(crate) fn hold(&self, number: u32) -> Option<MutexGuard<'_, ()>> {
        let held = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        (self.ready.load(Ordering::Acquire) == number).then_some(held)
    }

    pub(crate) fn take(&self) -> Option<u32> {
        let _held = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        match self.ready.swap(0, Ordering::AcqRel) {
            0 => None,
            number => Some(number),
        }
    }

    pub(crate) fn offer(&self, number: u32) {
        self.no_room.store(false, Ordering::Release);
        self.ready.store(number, Ordering::Release);
    }

    pub(crate) fn set_no_room(&self, no_room: bool) {
        self.no_room.store(no_room, Ordering::Release);
    }

    pub(crate) fn has_no_room(&self) -> bool {
        self.no_room.load(Ordering::Acquire)
    }
}

/// Makes a new file into segment `number`. When this returns, file, header and name are durable.
pub(crate) fn create_segment<S: Storage>(
    storage: &S,
    number: u32,
    key: Key,
    bytes: u64,
) -> io::Result<S::File> {
    let unborn = names::unborn(number);
    let file = storage.create(&unborn, bytes)?;
    match christen(storage, &unborn, &file, number, key) {
        Ok(()) => Ok(file),
        Err(error) => {
            // Only tidiness: the next opening removes it, too.
            let _ = storage.remove(&unborn);
            Err(error)
        }
    }
}

/// Gives `file`, now called `name`, a new header and the name of segment `number`, durably and in this order: under
/// its final name a segment always has its header.
pub(crate) fn christen<S: Storage>(
    storage: &S,
    name: &str,
    file: &S::File,
    number: u32,
    key: Key,
) -> io::Result<()> {
    file.write_all_at(&encode_head(number, key), 0)?;
    file.sync_data()?;
    storage.rename(name, &names::segment(number))?;
    storage.sync_dir()
}
