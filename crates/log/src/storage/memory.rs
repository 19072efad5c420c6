//! Files in memory: for tests a machine that can lose power, for the `memory` mode a place that costs no disk.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    CrashPolicy, Damage, Fault, FileEntry, Storage, StorageFile, Trigger,
    crash::{Crash, PendingWrite},
    damage::Scars,
    faults::{Answer, Faults, Kind},
    sparse::Sparse,
};

const UNPOISONED: &str = "no code panics while it holds a lock of the memory storage";

/// A [`Storage`] in memory. Clones share the files.
///
/// [`MemoryStorage::new`] keeps for every file a live and a durable image, and for the directory likewise, so that
/// [`crash`](Self::crash) can give what a rebooted machine would see; every write is remembered until it is synced.
/// [`MemoryStorage::volatile`] keeps only the live image. Space is taken as it is written, not as it is allocated.
#[derive(Clone)]
pub struct MemoryStorage {
    machine: Arc<Machine>,
    locked: Arc<AtomicBool>,
}

/// What all files share.
struct Machine {
    /// Whether durable images are kept.
    durable: bool,
    state: Mutex<State>,
}

/// Order of locks: `State` before `Content`, and never two `Content`s.
#[derive(Default)]
struct State {
    live: BTreeMap<String, Arc<RwLock<Content>>>,
    durable: BTreeMap<String, Arc<RwLock<Content>>>,
    /// Changes to `live` that `durable` has not seen.
    changes: Vec<Change>,
    faults: Faults,
    write_order: u64,
    capacity_bytes: Option<u64>,
    used_bytes: u64,
}

/// One change to the directory.
enum Change {
    Create(String, Arc<RwLock<Content>>),
    Rename(String, String),
    Remove(String),
}

#[derive(Default)]
struct Content {
    live: Sparse,
    length: u64,
    durable: Sparse,
    durable_length: u64,
    pending: Vec<PendingWrite>,
    scars: Scars,
}

impl MemoryStorage {
    /// An empty machine whose power can fail.
    #[must_use]
    pub fn new() -> Self {
        Self::with(true, State::default())
    }

    /// An empty storage that keeps nothing but the live bytes.
    #[must_use]
    pub fn volatile() -> Self {
        Self::with(false, State::default())
    }

    fn with(durable: bool, state: State) -> Self {
        Self { machine: Arc::new(Machine { durable, state: Mutex::new(state) }), locked: Arc::default() }
    }

    /// The machine after a power loss now and a reboot: nobody holds its lock, no faults are planned, and unsynced
    /// changes are left as `policy` says. `self` goes on unchanged.
    ///
    /// # Panics
    /// On a [`volatile`](Self::volatile) storage.
    #[must_use]
    pub fn crash(&self, policy: CrashPolicy) -> Self {
        assert!(self.machine.durable, "a volatile storage has nothing to come back to");
        let state = self.state();
        let mut crash = Crash::new(policy, state.write_order);
        let mut names = state.durable.clone();
        let kept = crash.keep_changes(state.changes.len());
        for (change, _) in state.changes.iter().zip(kept).filter(|(_, kept)| *kept) {
            change.apply(&mut names);
        }
        let mut reborn = State { capacity_bytes: state.capacity_bytes, ..State::default() };
        for (name, content) in names {
            let content = content.read().expect(UNPOISONED).survivor(&mut crash);
            reborn.used_bytes += content.length;
            reborn.live.insert(name, Arc::new(RwLock::new(content)));
        }
        reborn.durable = reborn.live.clone();
        Self::with(true, reborn)
    }

    /// The machine after its process alone was killed: everything written is still there, synced or not, nobody holds
    /// the lock, and no faults are planned any more. Shares its files with `self`.
    #[must_use]
    pub fn restart_process(&self) -> Self {
        self.state().faults.clear();
        Self { machine: Arc::clone(&self.machine), locked: Arc::default() }
    }

    /// Plans `fault` for when `trigger` comes.
    pub fn inject(&self, trigger: Trigger, fault: Fault) {
        self.state().faults.plan(trigger, fault);
    }

    /// Damages file `name` at byte `offset`, if it is that long. Stays until something is written there, also over
    /// crashes.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn damage(&self, name: &str, offset: u64, damage: Damage) {
        let state = self.state();
        let mut content = state.live[name].write().expect(UNPOISONED);
        if offset < content.length {
            let mut byte = [0];
            content.live.read(&mut byte, offset);
            content.scars.add(offset, byte[0], damage);
        }
    }

    /// Undoes all damage: every file reads as it was written.
    pub fn mend(&self) {
        let state = self.state();
        for content in state.live.values().chain(state.durable.values()) {
            content.write().expect(UNPOISONED).scars = Scars::default();
        }
    }

    /// How many operations that change anything there have been, as [`Trigger::Operation`] counts them.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state().faults.operations()
    }

    /// How many writes there have been, as [`Trigger::Write`] counts them.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.state().faults.writes()
    }

    /// How many syncs of files there have been, as [`Trigger::Sync`] counts them.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().faults.syncs()
    }

    /// From now on, operations that would take the sum of all file lengths above `bytes` fail with
    /// [`io::ErrorKind::StorageFull`]; `None` lifts the bound.
    pub fn limit_capacity(&self, bytes: Option<u64>) {
        self.state().capacity_bytes = bytes;
    }

    /// Sum of the lengths of all files, in bytes, those without a name but still open excepted.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.state().used_bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.machine.state.lock().expect(UNPOISONED)
    }

    fn change(&self, state: &mut State, change: Change) {
        change.apply(&mut state.live);
        if self.machine.durable {
            state.changes.push(change);
        }
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    /// Accounts for `more` bytes, if there is room for them. What takes none is possible on a disk that is more than full,
    /// as after a crash that brought removed files back.
    fn take_room(&mut self, more: u64) -> io::Result<()> {
        if more > 0 && self.capacity_bytes.is_some_and(|capacity| self.used_bytes + more > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.used_bytes += more;
        Ok(())
    }

    fn give_back(&mut self, name: &str) {
        if let Some(content) = self.live.get(name) {
            self.used_bytes -= content.read().expect(UNPOISONED).length;
        }
    }

    fn require(&self, name: &str) -> io::Result<&Arc<RwLock<Content>>> {
        self.live.get(name).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Change {
    /// Does the change to `names`; one whose predecessor was lost does nothing.
    fn apply(&self, names: &mut BTreeMap<String, Arc<RwLock<Content>>>) {
        match self {
            Self::Create(name, content) => {
                names.insert(name.clone(), Arc::clone(content));
            }
            Self::Rename(from, to) => {
                if let Some(content) = names.remove(from) {
                    names.insert(to.clone(), content);
                }
            }
            Self::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl Content {
    fn survivor(&self, crash: &mut Crash) -> Self {
        let mut image = self.durable.clone();
        let mut length = self.durable_length;
        if crash.keep_length() {
            length = length.max(self.length);
        }
        for write in &self.pending {
            length = length.max(crash.apply(write, &mut image));
        }
        Self {
            live: image.clone(),
            length,
            durable: image,
            durable_length: length,
            pending: Vec::new(),
            scars: self.scars.clone(),
        }
    }

    fn sync(&mut self) {
        for write in self.pending.drain(..) {
            self.durable.write(&write.bytes, write.offset);
        }
        self.durable_length = self.length;
    }
}

/// The exclusive lock on a [`MemoryStorage`].
pub struct MemoryLock {
    locked: Arc<AtomicBool>,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.locked.store(false, Ordering::Release);
    }
}

impl Storage for MemoryStorage {
    type File = MemoryFile;
    type Lock = MemoryLock;

    fn lock(&self) -> io::Result<MemoryLock> {
        if self.locked.swap(true, Ordering::Acquire) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(MemoryLock { locked: Arc::clone(&self.locked) })
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        let bytes = |content: &Arc<RwLock<Content>>| content.read().expect(UNPOISONED).length;
        let state = self.state();
        let entries =
            state.live.iter().map(|(name, content)| FileEntry { name: name.clone(), bytes: bytes(content) });
        Ok(entries.collect())
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<MemoryFile> {
        let mut state = self.state();
        state.faults.admit(Kind::Directory)?;
        state.take_room(bytes)?;
        state.give_back(name);
        let content = Arc::new(RwLock::new(Content { length: bytes, ..Content::default() }));
        self.change(&mut state, Change::Create(name.to_owned(), Arc::clone(&content)));
        Ok(MemoryFile { machine: Arc::clone(&self.machine), content })
    }

    fn open(&self, name: &str) -> io::Result<MemoryFile> {
        let content = Arc::clone(self.state().require(name)?);
        Ok(MemoryFile { machine: Arc::clone(&self.machine), content })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.faults.admit(Kind::Directory)?;
        state.require(from)?;
        state.give_back(to);
        self.change(&mut state, Change::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.faults.admit(Kind::Directory)?;
        state.require(name)?;
        state.give_back(name);
        self.change(&mut state, Change::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.state();
        state.faults.admit(Kind::Directory)?;
        let State { durable, changes, .. } = &mut *state;
        for change in changes.drain(..) {
            change.apply(durable);
        }
        Ok(())
    }
}

/// An open file of a [`MemoryStorage`].
pub struct MemoryFile {
    machine: Arc<Machine>,
    content: Arc<RwLock<Content>>,
}

impl MemoryFile {
    fn state(&self) -> MutexGuard<'_, State> {
        self.machine.state.lock().expect(UNPOISONED)
    }
}

impl StorageFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = self.content.read().expect(UNPOISONED);
        let available = content.length.saturating_sub(offset);
        let read = buf.len().min(usize::try_from(available).unwrap_or(usize::MAX));
        content.live.read(&mut buf[..read], offset);
        content.scars.read(&mut buf[..read], offset)?;
        Ok(read)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state();
        let admitted = match state.faults.admit(Kind::Write)? {
            Answer::Go => buf.len(),
            Answer::Short(bytes) => bytes.min(buf.len()),
        };
        let mut content = self.content.write().expect(UNPOISONED);
        let end = offset + admitted as u64;
        state.take_room(end.saturating_sub(content.length))?;
        content.length = content.length.max(end);
        content.live.write(&buf[..admitted], offset);
        if !content.scars.is_empty() {
            content.scars.write(offset, admitted);
        }
        if self.machine.durable {
            state.write_order += 1;
            let bytes = buf[..admitted].to_vec();
            content.pending.push(PendingWrite { order: state.write_order, offset, bytes });
        }
        if admitted < buf.len() { Err(io::Error::other("injected short write")) } else { Ok(()) }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.state().faults.admit(Kind::Sync)?;
        if self.machine.durable {
            self.content.write().expect(UNPOISONED).sync();
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.read().expect(UNPOISONED).length)
    }
}
