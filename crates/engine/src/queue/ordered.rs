//! A set in the order of its entries' keys that takes little more memory than the entries themselves.
//!
//! The standard library's B-tree is half empty after inserts in rising order, which is how nearly everything comes to a
//! queue. Here the entries lie in blocks: the highest ones in an open block, which is filled to the brim before the next
//! one starts; the others in closed blocks, which are found by their lowest keys.

mod closed;

use closed::{Closed, upper_part};
use std::fmt::Debug;

/// An entry of an [`Ordered`] set.
pub(crate) trait Keyed {
    /// What an entry is found by.
    type Key: Copy + Ord + Debug;
    /// The entry's own key, which must not change while it is in a set.
    fn key(&self) -> Self::Key;
}

/// A pair is its own key.
impl<A: Copy + Ord + Debug, B: Copy + Ord + Debug> Keyed for (A, B) {
    type Key = Self;

    fn key(&self) -> Self {
        *self
    }
}

/// Bytes of a block: shifting half of it, as an insert or a removal does, takes about as long as one miss of the cache.
const BLOCK_BYTES: usize = 2_048;
/// Entries for which an emptied set keeps room.
const SPARE: usize = 8;

/// Entries with different keys, lowest first. Operations take the logarithm of their number; adding at the end and taking
/// from the open block takes constant time.
///
/// Invariant: the entries of the open block lie above all others.
#[derive(Debug)]
pub(crate) struct Ordered<T: Keyed> {
    closed: Closed<T>,
    open: Vec<T>,
    len: usize,
}

impl<T: Keyed> Default for Ordered<T> {
    fn default() -> Self {
        Ordered { closed: Closed::default(), open: Vec::new(), len: 0 }
    }
}

impl<T: Keyed> Ordered<T> {
    /// Entries of a full block: a power of two, as vectors grow.
    const BLOCK_MAX: usize = {
        let fitting = BLOCK_BYTES / size_of::<T>();
        assert!(fitting >= 8, "a block holds several entries");
        1 << fitting.ilog2()
    };

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn contains(&self, key: T::Key) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn get(&self, key: T::Key) -> Option<&T> {
        let block = if self.is_in_open(key) { &self.open } else { self.closed.get(self.closed.find(key)?) };
        place(block, key).ok().map(|at| &block[at])
    }

    /// The entry with that key, to change anything but the key.
    pub(crate) fn get_mut(&mut self, key: T::Key) -> Option<&mut T> {
        let block =
            if self.is_in_open(key) { &mut self.open } else { self.closed.get_mut(self.closed.find(key)?) };
        place(block, key).ok().map(|at| &mut block[at])
    }

    /// The entry with the lowest key.
    pub(crate) fn first(&self) -> Option<&T> {
        self.closed.first().unwrap_or(&self.open).first()
    }

    /// Puts in an entry.
    ///
    /// # Panics
    /// If there is one with its key.
    pub(crate) fn insert(&mut self, entry: T) {
        self.len += 1;
        // So that what is in the open block tells where an entry belongs.
        if self.open.is_empty()
            && let Some(highest) = self.closed.pop()
        {
            self.open = highest;
        }
        if self.open.last().is_some_and(|last| entry.key() <= last.key()) {
            return self.insert_within(entry);
        }
        if self.open.len() == Self::BLOCK_MAX {
            self.closed.push(std::mem::take(&mut self.open));
        }
        self.open.push(entry);
    }

    /// Puts in an entry below the highest one.
    fn insert_within(&mut self, entry: T) {
        let key = entry.key();
        if self.is_in_open(key) || self.closed.is_empty() {
            if self.open.len() == Self::BLOCK_MAX {
                let upper = split_off_half(&mut self.open);
                self.closed.push(std::mem::replace(&mut self.open, upper));
                return self.insert_within(entry);
            }
            return put(&mut self.open, entry);
        }
        let Some(at) = self.closed.find(key) else {
            self.closed.extend_down(key);
            return self.insert_within(entry);
        };
        let block = self.closed.get_mut(at);
        if block.len() == Self::BLOCK_MAX {
            let upper = split_off_half(block);
            self.closed.insert_after(at, upper);
            return self.insert_within(entry);
        }
        put(block, entry);
    }

    pub(crate) fn remove(&mut self, key: T::Key) -> Option<T> {
        if self.is_in_open(key) {
            let removed = self.open.remove(place(&self.open, key).ok()?);
            self.len -= 1;
            if self.open.is_empty() {
                self.open.shrink_to(SPARE);
            }
            return Some(removed);
        }
        let at = self.closed.find(key)?;
        let block = self.closed.get_mut(at);
        let removed = block.remove(place(block, key).ok()?);
        self.len -= 1;
        match block.len() {
            0 => drop(self.closed.remove(at)),
            // Looked at when it has halved, and not each time.
            left if left < Self::BLOCK_MAX && left.is_power_of_two() => {
                self.closed.merge(at, Self::BLOCK_MAX * 3 / 4);
            }
            _ => {}
        }
        Some(removed)
    }

    pub(crate) fn pop_first(&mut self) -> Option<T> {
        self.remove(self.first()?.key())
    }

    /// The entry with that key or the next higher one.
    pub(crate) fn first_from(&self, key: T::Key) -> Option<&T> {
        if self.is_in_open(key) {
            return upper_part(&self.open, key).first();
        }
        self.closed.first_from(key).or(self.open.first())
    }

    /// All entries, lowest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.closed.iter().chain(&self.open)
    }

    /// The entries with that key or a higher one, lowest first.
    pub(crate) fn from(&self, key: T::Key) -> impl Iterator<Item = &T> {
        let is_in_open = self.is_in_open(key);
        let open = if is_in_open { upper_part(&self.open, key) } else { &self.open };
        (!is_in_open).then(|| self.closed.from(key)).into_iter().flatten().chain(open)
    }

    fn is_in_open(&self, key: T::Key) -> bool {
        self.open.first().is_some_and(|first| first.key() <= key)
    }
}

fn place<T: Keyed>(block: &[T], key: T::Key) -> Result<usize, usize> {
    block.binary_search_by(|entry| entry.key().cmp(&key))
}

fn put<T: Keyed>(block: &mut Vec<T>, entry: T) {
    let at = place(block, entry.key()).expect_err("a key is in a set once");
    block.insert(at, entry);
}

/// Takes the upper half out of a full block, which keeps its room.
fn split_off_half<T>(block: &mut Vec<T>) -> Vec<T> {
    let mut upper = Vec::with_capacity(block.len());
    upper.extend(block.drain(block.len() / 2..));
    upper
}

impl<T: Keyed> FromIterator<T> for Ordered<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut set = Ordered::default();
        entries.into_iter().for_each(|entry| set.insert(entry));
        set
    }
}

#[cfg(test)]
#[path = "ordered/tests.rs"]
mod tests;
