//! A line on the terminal that says how far a check has come.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_log::{FileEntry, Storage, StorageFile};

/// Bytes between two changes of the line: a few a second on a fast disk.
const STEP_BYTES: u64 = 64 << 20;

/// How many bytes were read, of how many.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    visible: bool,
    expected: Arc<AtomicU64>,
    read: Arc<AtomicU64>,
}

impl Progress {
    /// Shown if standard error is a terminal.
    pub(super) fn on_terminal() -> Self {
        Progress { visible: io::stderr().is_terminal(), ..Self::hidden() }
    }

    /// Never shown.
    pub(super) fn hidden() -> Self {
        Progress { visible: false, expected: Arc::default(), read: Arc::default() }
    }

    /// Says how many bytes there are. All are read twice: for their checksums, and to rehearse a start.
    pub(super) fn expect(&self, bytes: u64) {
        self.expected.store(2 * bytes, Ordering::Relaxed);
    }

    fn add(&self, bytes: u64) {
        let before = self.read.fetch_add(bytes, Ordering::Relaxed);
        let expected = self.expected.load(Ordering::Relaxed).max(1);
        if self.visible && before / STEP_BYTES != (before + bytes) / STEP_BYTES {
            // A start may read less, after a checkpoint, or some parts again; the line is a help, not an account.
            let percent = ((before + bytes) * 100 / expected).min(99);
            drop(write!(io::stderr(), "\rchecked {percent} %"));
        }
    }

    fn finish(&self) {
        if self.visible && self.read.load(Ordering::Relaxed) >= STEP_BYTES {
            drop(write!(io::stderr(), "\r             \r"));
        }
    }
}

/// A storage whose reads are counted.
#[derive(Clone, Debug)]
pub(super) struct Watched<S> {
    storage: S,
    progress: Progress,
}

impl<S> Watched<S> {
    pub(super) fn new(storage: S, progress: Progress) -> Self {
        Watched { storage, progress }
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        self.progress.finish();
    }
}

impl<S: Storage> Storage for Watched<S> {
    type File = WatchedFile<S::File>;
    type Lock = S::Lock;

    fn lock(&self) -> io::Result<S::Lock> {
        self.storage.lock()
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        self.storage.list()
    }

    fn open(&self, name: &str) -> io::Result<Self::File> {
        Ok(WatchedFile { file: self.storage.open(name)?, progress: self.progress.clone() })
    }

    fn create(&self, _: &str, _: u64) -> io::Result<Self::File> {
        Err(unchanging())
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(unchanging())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Err(unchanging())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A file whose reads are counted.
pub(super) struct WatchedFile<F> {
    file: F,
    progress: Progress,
}

impl<F: StorageFile> StorageFile for WatchedFile<F> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(buf, offset)?;
        self.progress.add(read as u64);
        Ok(read)
    }

    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(unchanging())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

/// A check changes nothing. Should a part of the log try, it fails here, before the directory.
fn unchanging() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "a check changes nothing")
}
