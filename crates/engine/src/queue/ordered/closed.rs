//! The closed blocks of an ordered set: two levels of sorted rows, so that a row that changes is never long.

use super::{Keyed, place};

/// Blocks of a full section. Few in tests, which then have many sections.
const SECTION_MAX: usize = if cfg!(test) { 8 } else { 256 };

/// Invariants: no section and no block is empty; a block's key lies above the entries of the blocks before and not above
/// its own.
#[derive(Debug)]
pub(super) struct Closed<T: Keyed> {
    sections: Vec<Section<T>>,
}

#[derive(Debug)]
struct Section<T: Keyed> {
    /// The keys of the blocks.
    keys: Vec<T::Key>,
    blocks: Vec<Vec<T>>,
}

/// Where a block is, until the next change of the row.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    section: usize,
    block: usize,
}

impl<T: Keyed> Default for Closed<T> {
    fn default() -> Self {
        Closed { sections: Vec::new() }
    }
}

impl<T: Keyed> Closed<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// The block whose range covers a key.
    pub(super) fn find(&self, key: T::Key) -> Option<At> {
        let section = self.sections.partition_point(|section| section.keys[0] <= key).checked_sub(1)?;
        let block = self.sections[section].keys.partition_point(|first| *first <= key) - 1;
        Some(At { section, block })
    }

    pub(super) fn get(&self, at: At) -> &Vec<T> {
        &self.sections[at.section].blocks[at.block]
    }

    pub(super) fn get_mut(&mut self, at: At) -> &mut Vec<T> {
        &mut self.sections[at.section].blocks[at.block]
    }

    pub(super) fn first(&self) -> Option<&Vec<T>> {
        self.sections.first().map(|section| &section.blocks[0])
    }

    /// Makes the first block cover lower keys, too.
    pub(super) fn extend_down(&mut self, key: T::Key) {
        if let Some(section) = self.sections.first_mut() {
            section.keys[0] = key;
        }
    }

    /// Adds a block above all others.
    pub(super) fn push(&mut self, block: Vec<T>) {
        match self.sections.last_mut().filter(|section| section.blocks.len() < SECTION_MAX) {
            Some(section) => section.insert(section.blocks.len(), block),
            None => self.sections.push(Section { keys: vec![block[0].key()], blocks: vec![block] }),
        }
    }

    /// Takes the highest block.
    pub(super) fn pop(&mut self) -> Option<Vec<T>> {
        let section = self.sections.len().checked_sub(1)?;
        Some(self.remove(At { section, block: self.sections[section].blocks.len() - 1 }))
    }

    /// Adds a block right above another.
    pub(super) fn insert_after(&mut self, at: At, block: Vec<T>) {
        let section = &mut self.sections[at.section];
        section.insert(at.block + 1, block);
        if section.blocks.len() > SECTION_MAX {
            let half = section.blocks.len() / 2;
            let upper =
                Section { keys: section.keys.split_off(half), blocks: section.blocks.split_off(half) };
            self.sections.insert(at.section + 1, upper);
        }
    }

    pub(super) fn remove(&mut self, at: At) -> Vec<T> {
        let section = &mut self.sections[at.section];
        section.keys.remove(at.block);
        let block = section.blocks.remove(at.block);
        if section.blocks.is_empty() {
            self.sections.remove(at.section);
            if self.sections.is_empty() {
                self.sections = Vec::new();
            }
        } else if section.blocks.len().is_power_of_two() {
            section.keys.shrink_to(section.blocks.len() * 2);
            section.blocks.shrink_to(section.blocks.len() * 2);
        }
        block
    }

    /// Puts a block together with a neighbour if that makes at most `max` entries.
    pub(super) fn merge(&mut self, at: At, max: usize) {
        let blocks = &mut self.sections[at.section].blocks;
        let fits = |lower: &usize| {
            blocks.get(lower + 1).is_some_and(|upper| blocks[*lower].len() + upper.len() <= max)
        };
        let Some(lower) = [Some(at.block), at.block.checked_sub(1)].into_iter().flatten().find(fits) else {
            // What is left of it alone takes no more room than it needs.
            let left = blocks[at.block].len();
            return blocks[at.block].shrink_to(left * 2);
        };
        let mut upper = self.remove(At { block: lower + 1, ..at });
        self.sections[at.section].blocks[lower].append(&mut upper);
    }

    /// The entry with that key or the next higher one.
    pub(super) fn first_from(&self, key: T::Key) -> Option<&T> {
        let Some(at) = self.find(key) else { return self.first()?.first() };
        let next = || {
            let section = &self.sections[at.section];
            let next = || self.sections.get(at.section + 1).map(|section| &section.blocks[0]);
            section.blocks.get(at.block + 1).or_else(next)?.first()
        };
        upper_part(self.get(at), key).first().or_else(next)
    }

    /// All entries, lowest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.sections.iter().flat_map(|section| section.blocks.iter().flatten())
    }

    /// The entries with that key or a higher one, lowest first.
    pub(super) fn from(&self, key: T::Key) -> impl Iterator<Item = &T> {
        let (start, covering) = match self.find(key) {
            None => (At { section: 0, block: 0 }, &[][..]),
            Some(at) => (At { block: at.block + 1, ..at }, upper_part(self.get(at), key)),
        };
        let section = self.sections.get(start.section);
        let rest = section.map_or(&[][..], |section| &section.blocks[start.block..]);
        let sections = self.sections.get(start.section + 1..).unwrap_or_default();
        let above = sections.iter().flat_map(|section| section.blocks.iter().flatten());
        covering.iter().chain(rest.iter().flatten()).chain(above)
    }

    #[cfg(test)]
    pub(super) fn blocks(&self) -> impl Iterator<Item = (T::Key, &Vec<T>)> {
        self.sections.iter().flat_map(|section| section.keys.iter().copied().zip(&section.blocks))
    }
}

impl<T: Keyed> Section<T> {
    fn insert(&mut self, at: usize, block: Vec<T>) {
        self.keys.insert(at, block[0].key());
        self.blocks.insert(at, block);
    }
}

/// The entries of a block with that key or a higher one.
pub(super) fn upper_part<T: Keyed>(block: &[T], key: T::Key) -> &[T] {
    &block[place(block, key).unwrap_or_else(|at| at)..]
}
