//! The seam between the log and its files.
//!
//! Everything the log needs from a file system is in these two traits, so that the same code runs on a directory
//! ([`DirStorage`]) and on a simulated machine that loses power ([`MemoryStorage`]).

mod crash;
mod damage;
mod faults;
mod file;
mod memory;
mod sparse;

use std::io;

pub use crash::CrashPolicy;
pub use damage::Damage;
pub use faults::{Fault, Trigger};
pub use file::{DirFile, DirLock, DirStorage};
pub use memory::{MemoryFile, MemoryLock, MemoryStorage};

/// One file of a [`Storage`]. May be used from several threads at once.
pub trait StorageFile: Send + Sync + 'static {
    /// Reads into `buf` from byte `offset`, and returns how many bytes were read: fewer than `buf.len()` only where
    /// the file ends. Allocated space that was never written reads as zeros.
    ///
    /// # Errors
    /// Those of the medium.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `buf` at byte `offset`, making the file longer if need be. Durable only after
    /// [`sync_data`](Self::sync_data).
    ///
    /// # Errors
    /// Those of the medium; [`io::ErrorKind::StorageFull`] when there is no room. Part of `buf` may have been written.
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Brings everything written so far, by anyone, to the medium, and the length with it.
    ///
    /// # Errors
    /// Those of the medium. After one, nothing is known about what was written since the last success.
    fn sync_data(&self) -> io::Result<()>;

    /// Length in bytes.
    ///
    /// # Errors
    /// Those of the medium.
    fn len(&self) -> io::Result<u64>;

    /// Whether the length is 0.
    ///
    /// # Errors
    /// Those of the medium.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// A name and a length, as [`Storage::list`] gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Name, without a path.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// A flat directory of files that belongs to one log.
///
/// Creating, renaming and removing take effect at once and become durable with [`sync_dir`](Self::sync_dir). An open
/// file stays usable when it is renamed or removed.
pub trait Storage: Send + Sync + 'static {
    /// An open file.
    type File: StorageFile;
    /// Proof that nobody else has the directory; released when dropped.
    type Lock: Send + Sync + 'static;

    /// Takes the directory for this owner alone, without waiting.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when another owner has it; those of the medium.
    fn lock(&self) -> io::Result<Self::Lock>;

    /// All files, in no particular order.
    ///
    /// # Errors
    /// Those of the medium.
    fn list(&self) -> io::Result<Vec<FileEntry>>;

    /// Creates `name` with `bytes` of allocated space that reads as zeros, replacing any file of that name. On an
    /// error no file is left behind, as far as the medium allows.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] when there is no room; those of the medium.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Self::File>;

    /// Opens `name` for reading and writing.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; those of the medium.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// Renames `from` to `to` atomically, replacing any file of that name.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; those of the medium.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes `name`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; those of the medium.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all earlier creating, renaming and removing durable.
    ///
    /// # Errors
    /// Those of the medium.
    fn sync_dir(&self) -> io::Result<()>;

    /// The whole content of `name`; `None` when there is no such file.
    ///
    /// # Errors
    /// Those of the medium.
    fn read_file(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let file = match self.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let length =
            usize::try_from(file.len()?).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let mut content = vec![0; length];
        let read = file.read_at(&mut content, 0)?;
        content.truncate(read);
        Ok(Some(content))
    }

    /// Makes `parts`, one after the other, the whole content of `name`: atomically and durably, through a temporary
    /// file, an fsync, a rename and an fsync of the directory.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] when there is no room; those of the medium. The old content stays in place,
    /// unless the last step failed: then either may be found later.
    fn replace_file(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let temporary = format!("{name}.tmp");
        let written = self.create(&temporary, 0).and_then(|file| {
            let mut offset = 0;
            for part in parts {
                file.write_all_at(part, offset)?;
                offset += part.len() as u64;
            }
            file.sync_data()
        });
        if let Err(error) = written.and_then(|()| self.rename(&temporary, name)) {
            // Only tidiness: an old temporary file is replaced the next time.
            let _ = self.remove(&temporary);
            return Err(error);
        }
        self.sync_dir()
    }
}
