//! A directory of the file system.

#![expect(clippy::disallowed_methods, reason = "the one place where the log meets std::fs")]
#![expect(clippy::disallowed_types, reason = "the one place where the log meets std::fs")]

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{FileEntry, Storage, StorageFile};

/// Name of the file that carries the directory's lock. Its content means nothing.
const LOCK_NAME: &str = "lock";

/// A [`Storage`] on a directory of a local file system. Network file systems are not supported: their locks and
/// fsyncs mean too many different things.
#[derive(Clone, Debug)]
pub struct DirStorage {
    path: PathBuf,
    /// Kept open to fsync it.
    directory: Arc<File>,
}

impl DirStorage {
    /// Opens the directory at `path`, creating it and its parents durably if need be.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        create_dir_durably(&path)?;
        let directory = Arc::new(File::open(&path)?);
        Ok(Self { path, directory })
    }

    /// Opens the directory at `path`, which must exist.
    ///
    /// # Errors
    /// Those of the file system; [`io::ErrorKind::NotFound`] above all.
    pub fn open_existing(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let directory = Arc::new(File::open(&path)?);
        Ok(Self { path, directory })
    }

    /// Absolute path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates `path`, and fsyncs each parent whose listing changed: otherwise a power loss could take the whole data
/// directory with everything acknowledged in it.
fn create_dir_durably(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let Some(parent) = path.parent() else { return Ok(()) };
    create_dir_durably(parent)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => File::open(parent)?.sync_all(),
    }
}

/// The exclusive lock on a [`DirStorage`]. The operating system releases it also when the process dies.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

impl Storage for DirStorage {
    type File = DirFile;
    type Lock = DirLock;

    fn lock(&self) -> io::Result<DirLock> {
        let path = self.path.join(LOCK_NAME);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(DirLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let metadata = match entry.metadata() {
                // Removed between the listing and the look at it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                found => found?,
            };
            // Names that are not UTF-8 are not ours.
            if let (true, Ok(name)) = (metadata.is_file(), entry.file_name().into_string()) {
                entries.push(FileEntry { name, bytes: metadata.len() });
            }
        }
        Ok(entries)
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<DirFile> {
        let path = self.path.join(name);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        if let Err(error) = allocate(&file, bytes) {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(DirFile { file })
    }

    fn open(&self, name: &str) -> io::Result<DirFile> {
        let file = OpenOptions::new().read(true).write(true).open(self.path.join(name))?;
        Ok(DirFile { file })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.directory.sync_all()
    }
}

/// Reserves `bytes` of space for `file`, so that later writes inside them cannot meet a full disk.
#[cfg(target_os = "linux")]
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::{
        fs::{FallocateFlags, fallocate},
        io::Errno,
    };
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // A file system without the call: the length is all it can promise.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(bytes),
        done => done.map_err(io::Error::from),
    }
}

/// Without a portable call to reserve space only the length is set; a full disk then shows at a write.
#[cfg(not(target_os = "linux"))]
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// An open file of a [`DirStorage`].
#[derive(Debug)]
pub struct DirFile {
    file: File,
}

impl StorageFile for DirFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}
