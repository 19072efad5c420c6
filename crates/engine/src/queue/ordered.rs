//! A set in the order of its entries' keys that takes little more memory than the entries themselves.
//!
//! The standard library's B-tree is half empty after inserts in rising order, which is how nearly everything comes to a
//! queue. Here the entries lie in blocks: the highest ones in an open block, which is filled to the brim before the next
//! one starts; the others in closed blocks, found through a tree of a key for each block.

use std::collections::BTreeMap;
use std::ops::Bound;

/// An entry of an [`Ordered`] set.
pub(crate) trait Keyed {
    /// What an entry is found by.
    type Key: Copy + Ord;
    /// The entry's own key, which must not change while it is in a set.
    fn key(&self) -> Self::Key;
}

/// A pair is its own key.
impl<A: Copy + Ord, B: Copy + Ord> Keyed for (A, B) {
    type Key = Self;

    fn key(&self) -> Self {
        *self
    }
}

/// Bytes of a block: shifting half of it, as an insert or a removal does, takes about as long as one miss of the cache.
const BLOCK_BYTES: usize = 2_048;
/// Entries for which an emptied set keeps room.
const SPARE: usize = 8;

/// Entries with different keys, lowest first. Every operation takes the logarithm of their number; adding at the end and
/// taking from the open block takes constant time.
///
/// Invariants: no closed block is empty; the key of a closed block lies above the entries of the blocks before and not
/// above its own; the entries of the open block lie above all others.
#[derive(Debug)]
pub(crate) struct Ordered<T: Keyed> {
    closed: BTreeMap<T::Key, Vec<T>>,
    open: Vec<T>,
    len: usize,
}

impl<T: Keyed> Default for Ordered<T> {
    fn default() -> Self {
        Ordered { closed: BTreeMap::new(), open: Vec::new(), len: 0 }
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
        let block = if self.is_in_open(key) { &self.open } else { self.closed_block(key)?.1 };
        place(block, key).ok().map(|at| &block[at])
    }

    /// The entry with that key, to change anything but the key.
    pub(crate) fn get_mut(&mut self, key: T::Key) -> Option<&mut T> {
        let block =
            if self.is_in_open(key) { &mut self.open } else { self.closed.range_mut(..=key).next_back()?.1 };
        place(block, key).ok().map(|at| &mut block[at])
    }

    /// The entry with the lowest key.
    pub(crate) fn first(&self) -> Option<&T> {
        let lowest = self.closed.first_key_value().map_or(&self.open, |(_, block)| block);
        lowest.first()
    }

    /// Puts in an entry.
    ///
    /// # Panics
    /// If there is one with its key.
    pub(crate) fn insert(&mut self, entry: T) {
        let key = entry.key();
        self.len += 1;
        if self.open.is_empty() {
            // So that what is in the open block tells where an entry belongs.
            self.open = self.closed.pop_last().map_or(std::mem::take(&mut self.open), |(_, block)| block);
        }
        match self.open.last() {
            Some(last) if key <= last.key() => self.insert_within(entry),
            _ => {
                self.close_if_full();
                self.open.push(entry);
            }
        }
    }

    /// Puts in an entry below the highest one.
    fn insert_within(&mut self, entry: T) {
        let key = entry.key();
        if self.is_in_open(key) || self.closed.is_empty() {
            if self.open.len() == Self::BLOCK_MAX {
                let upper = split_off_half(&mut self.open);
                let lower = std::mem::replace(&mut self.open, upper);
                self.closed.insert(lower[0].key(), lower);
                return self.insert_within(entry);
            }
            return put(&mut self.open, entry);
        }
        let Some((first, block)) = self.closed.range_mut(..=key).next_back() else {
            // Below everything: the first block begins with it from now on.
            let (_, block) = self.closed.pop_first().expect("it is not empty");
            self.closed.insert(key, block);
            return self.insert_within(entry);
        };
        if block.len() == Self::BLOCK_MAX {
            let (first, upper) = (*first, split_off_half(block));
            self.closed.insert(upper[0].key(), upper);
            assert!(first <= key, "it belongs to one of the two");
            return self.insert_within(entry);
        }
        put(block, entry);
    }

    fn close_if_full(&mut self) {
        if self.open.len() == Self::BLOCK_MAX {
            let full = std::mem::take(&mut self.open);
            self.closed.insert(full[0].key(), full);
        }
    }

    pub(crate) fn remove(&mut self, key: T::Key) -> Option<T> {
        if self.is_in_open(key) {
            let at = place(&self.open, key).ok()?;
            let removed = self.open.remove(at);
            self.len -= 1;
            if self.open.is_empty() {
                self.open.shrink_to(SPARE);
            }
            return Some(removed);
        }
        let (first, block) = self.closed.range_mut(..=key).next_back()?;
        let (first, at) = (*first, place(block, key).ok()?);
        let removed = block.remove(at);
        self.len -= 1;
        match block.len() {
            0 => drop(self.closed.remove(&first)),
            // Looked at when it has halved, and not each time.
            left if left < Self::BLOCK_MAX && left.is_power_of_two() => self.merge(first),
            _ => {}
        }
        Some(removed)
    }

    pub(crate) fn pop_first(&mut self) -> Option<T> {
        self.remove(self.first()?.key())
    }

    /// Puts a closed block together with a neighbour, if that leaves room in it.
    fn merge(&mut self, first: T::Key) {
        let len = |(key, block): (&T::Key, &Vec<T>)| (*key, block.len());
        let own = self.closed[&first].len();
        let after = self.closed.range((Bound::Excluded(first), Bound::Unbounded)).next().map(len);
        let before = self.closed.range(..first).next_back().map(len);
        let fits = |&(_, other): &(T::Key, usize)| own + other <= Self::BLOCK_MAX * 3 / 4;
        let (lower, upper) = match (before.filter(fits), after.filter(fits)) {
            (_, Some((after, _))) => (first, after),
            (Some((before, _)), None) => (before, first),
            (None, None) => {
                let block = self.closed.get_mut(&first).expect("it is there");
                return block.shrink_to(own * 2);
            }
        };
        let mut upper = self.closed.remove(&upper).expect("it is there");
        let block = self.closed.get_mut(&lower).expect("it is there");
        block.append(&mut upper);
    }

    /// All entries, lowest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.closed.values().flatten().chain(&self.open)
    }

    /// The entries with that key or a higher one, lowest first.
    pub(crate) fn from(&self, key: T::Key) -> impl Iterator<Item = &T> {
        let first = self.closed_block(key).map_or(key, |(first, _)| first);
        let closed = self.closed.range(first..).flat_map(|(_, block)| block);
        closed.chain(&self.open).skip_while(move |entry| entry.key() < key)
    }

    fn is_in_open(&self, key: T::Key) -> bool {
        self.open.first().is_some_and(|first| first.key() <= key)
    }

    /// The closed block whose range covers a key, and what it is found by.
    fn closed_block(&self, key: T::Key) -> Option<(T::Key, &Vec<T>)> {
        self.closed.range(..=key).next_back().map(|(first, block)| (*first, block))
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
