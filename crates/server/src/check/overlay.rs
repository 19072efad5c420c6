//! A storage whose changes stay in memory, so that a start can be rehearsed on a directory that must not change.

use std::collections::{BTreeMap, btree_map};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_log::{FileEntry, Storage, StorageFile};

/// Unit in which changed bytes are kept.
const BLOCK_BYTES: usize = 4_096;

/// `base` with changes over it. The view is one map of names, taken once: nobody else changes the directory while its
/// lock is held.
pub(super) struct Overlay<S: Storage> {
    base: S,
    names: Mutex<Option<Names<S::File>>>,
}

type Names<F> = BTreeMap<String, Entry<F>>;

enum Entry<F> {
    /// As it is below, with its length.
    Untouched(u64),
    /// Opened or created here.
    Open(OverlayFile<F>),
}

impl<S: Storage> Overlay<S> {
    pub(super) fn new(base: S) -> Self {
        Overlay { base, names: Mutex::new(None) }
    }

    fn with_names<T>(&self, act: impl FnOnce(&mut Names<S::File>) -> io::Result<T>) -> io::Result<T> {
        let mut names = held(&self.names);
        if names.is_none() {
            let entries = self.base.list()?.into_iter().map(|file| (file.name, Entry::Untouched(file.bytes)));
            *names = Some(entries.collect());
        }
        act(names.get_or_insert_default())
    }

    /// The file of that name, opened below if need be.
    fn opened(&self, names: &mut Names<S::File>, name: &str) -> io::Result<OverlayFile<S::File>> {
        let entry = names.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        let file = match entry {
            Entry::Open(file) => file.clone(),
            Entry::Untouched(bytes) => OverlayFile::over(Some(self.base.open(name)?), *bytes),
        };
        *entry = Entry::Open(file.clone());
        Ok(file)
    }
}

impl<S: Storage> Storage for Overlay<S> {
    type File = OverlayFile<S::File>;
    type Lock = S::Lock;

    fn lock(&self) -> io::Result<S::Lock> {
        self.base.lock()
    }

    fn list(&self) -> io::Result<Vec<FileEntry>> {
        self.with_names(|names| {
            let entries = names.iter().map(|(name, entry)| {
                let bytes = match entry {
                    Entry::Untouched(bytes) => *bytes,
                    Entry::Open(file) => file.len()?,
                };
                Ok(FileEntry { name: name.clone(), bytes })
            });
            entries.collect()
        })
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Self::File> {
        self.with_names(|names| {
            let file = OverlayFile::over(None, bytes);
            names.insert(name.into(), Entry::Open(file.clone()));
            Ok(file)
        })
    }

    fn open(&self, name: &str) -> io::Result<Self::File> {
        self.with_names(|names| self.opened(names, name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.with_names(|names| {
            let file = self.opened(names, from)?;
            names.remove(from);
            names.insert(to.into(), Entry::Open(file));
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.with_names(|names| match names.remove(name) {
            Some(_) => Ok(()),
            None => Err(io::ErrorKind::NotFound.into()),
        })
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A file with changes over it.
pub(super) struct OverlayFile<F> {
    content: Arc<Content<F>>,
}

struct Content<F> {
    /// What is below; nothing for a file that was created here.
    base: Option<F>,
    changes: Mutex<Changes>,
}

struct Changes {
    bytes: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK_BYTES]>>,
}

impl<F> Clone for OverlayFile<F> {
    fn clone(&self) -> Self {
        OverlayFile { content: Arc::clone(&self.content) }
    }
}

impl<F: StorageFile> OverlayFile<F> {
    fn over(base: Option<F>, bytes: u64) -> Self {
        let changes = Mutex::new(Changes { bytes, blocks: BTreeMap::new() });
        OverlayFile { content: Arc::new(Content { base, changes }) }
    }
}

impl<F: StorageFile> Content<F> {
    /// Fills `buf` from below; what is not there reads as zeros.
    fn read_base(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut read = 0;
        if let Some(base) = &self.base {
            read = base.read_at(buf, offset)?;
        }
        buf[read..].fill(0);
        Ok(())
    }
}

impl<F: StorageFile> StorageFile for OverlayFile<F> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let changes = held(&self.content.changes);
        let length = changes.bytes.saturating_sub(offset).min(buf.len() as u64) as usize;
        let buf = &mut buf[..length];
        self.content.read_base(buf, offset)?;
        let end = offset + length as u64;
        let unit = BLOCK_BYTES as u64;
        for (number, block) in changes.blocks.range(offset / unit..end.div_ceil(unit)) {
            let start = number * unit;
            let (from, to) = (offset.max(start), end.min(start + unit));
            let source = &block[(from - start) as usize..(to - start) as usize];
            buf[(from - offset) as usize..(to - offset) as usize].copy_from_slice(source);
        }
        Ok(length)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut changes = held(&self.content.changes);
        let unit = BLOCK_BYTES as u64;
        let mut written = 0;
        while written < buf.len() {
            let at = offset + written as u64;
            let (number, start) = (at / unit, (at % unit) as usize);
            let block = match changes.blocks.entry(number) {
                btree_map::Entry::Occupied(block) => block.into_mut(),
                btree_map::Entry::Vacant(place) => {
                    let mut block = Box::new([0; BLOCK_BYTES]);
                    self.content.read_base(&mut block[..], number * unit)?;
                    place.insert(block)
                }
            };
            let length = (BLOCK_BYTES - start).min(buf.len() - written);
            block[start..start + length].copy_from_slice(&buf[written..written + length]);
            written += length;
        }
        changes.bytes = changes.bytes.max(offset + buf.len() as u64);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(held(&self.content.changes).bytes)
    }
}

/// The lock's content. Nothing panics while it is held, and a rehearsal ends with its process.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tidegate_log::MemoryStorage;

    use super::*;

    fn content(storage: &impl Storage, name: &str) -> Vec<u8> {
        storage.read_file(name).unwrap().unwrap()
    }

    #[test]
    fn changes_are_seen_above_and_not_below() {
        let base = MemoryStorage::new();
        base.replace_file("a", &[&[7; 10_000]]).unwrap();
        base.replace_file("b", &[b"kept"]).unwrap();
        let above = Overlay::new(base.clone());

        let file = above.open("a").unwrap();
        file.write_all_at(&[1; 5_000], 4_000).unwrap();
        file.write_all_at(&[2; 3], 12_000).unwrap();
        let mut expected = [vec![7; 4_000], vec![1; 5_000], vec![7; 1_000], vec![0; 2_000]].concat();
        expected.extend([2; 3]);
        assert_eq!(content(&above, "a"), expected);
        let mut part = [0; 4];
        assert_eq!(file.read_at(&mut part, 8_998).unwrap(), 4);
        assert_eq!(part, [1, 1, 7, 7]);
        assert_eq!(file.read_at(&mut part, 12_001).unwrap(), 2, "the file ends");
        assert_eq!(file.read_at(&mut part, 20_000).unwrap(), 0);

        above.rename("a", "c").unwrap();
        above.remove("b").unwrap();
        above.create("d", 20).unwrap();
        let mut names: Vec<_> =
            above.list().unwrap().into_iter().map(|file| (file.name, file.bytes)).collect();
        names.sort();
        assert_eq!(names, [("c".to_owned(), 12_003), ("d".to_owned(), 20)]);
        assert_eq!(above.open("b").err().unwrap().kind(), io::ErrorKind::NotFound);
        assert_eq!(content(&above, "c"), expected);

        assert_eq!(content(&base, "a"), [7; 10_000]);
        assert_eq!(content(&base, "b"), b"kept");
        assert_eq!(base.list().unwrap().len(), 2);
    }
}
