//! A row that grows at one end and shrinks at the other, whose items keep their number, and which gives memory back.

use std::collections::VecDeque;

/// Items of a block: a power of two, as vectors grow, and few enough that a block in use takes a page of memory at most.
const BLOCK: usize = 32;

/// Numbers count from zero and start again after four billion; there are never so many items at a time.
#[derive(Debug)]
pub(super) struct Row<T> {
    blocks: VecDeque<Vec<T>>,
    /// Items of the first block that are gone.
    gone: usize,
    /// The number of the first item that is left, or of the next one that comes.
    first: u32,
    len: u32,
}

impl<T> Default for Row<T> {
    fn default() -> Self {
        Row { blocks: VecDeque::new(), gone: 0, first: 0, len: 0 }
    }
}

impl<T: Copy> Row<T> {
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Appends an item; returns its number.
    pub(super) fn push(&mut self, item: T) -> u32 {
        if self.blocks.back().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push_back(Vec::new());
        }
        self.blocks.back_mut().expect("there is one").push(item);
        let number = self.first.wrapping_add(self.len);
        self.len = self.len.checked_add(1).expect("fewer items than four billion");
        number
    }

    /// The item with that number, if it is there.
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        let at = number.wrapping_sub(self.first);
        let place = self.gone + at as usize;
        (at < self.len).then(|| &self.blocks[place / BLOCK][place % BLOCK])
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.get(self.first)
    }

    /// Takes the first item and its number.
    pub(super) fn pop_first(&mut self) -> Option<(u32, T)> {
        let (number, item) = (self.first, *self.first()?);
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        self.gone += 1;
        if self.gone == BLOCK || self.len == 0 {
            self.blocks.pop_front();
            self.gone = 0;
        }
        if self.blocks.is_empty() && self.blocks.capacity() > BLOCK {
            self.blocks = VecDeque::new();
        }
        Some((number, item))
    }

    /// All items, first to last.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten().skip(self.gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_a_queue_whatever_its_first_number() {
        for (start, seed) in [(0, 1), (u32::MAX - 700, 2), (u32::MAX, fastrand::u64(..))] {
            println!("seed {seed}");
            let mut rng = fastrand::Rng::with_seed(seed);
            let (mut row, mut model) = (Row { first: start, ..Row::default() }, VecDeque::new());
            for step in 0..5_000_u32 {
                let number = start.wrapping_add(model.len() as u32);
                if rng.u32(0..10) < if step / 1_000 % 2 == 0 { 7 } else { 2 } {
                    let number = row.push(step);
                    model.push_back((number, step));
                } else {
                    assert_eq!(row.pop_first(), model.pop_front());
                }
                assert_eq!(
                    (row.len(), row.first().copied()),
                    (model.len(), model.front().map(|(_, item)| *item))
                );
                let known = model.iter().find(|(known, _)| *known == number).map(|(_, item)| item);
                assert_eq!(row.get(number), known);
            }
            assert!(row.iter().eq(model.iter().map(|(_, item)| item)));
            let room: usize = row.blocks.iter().map(Vec::capacity).sum();
            assert!(room <= model.len() + 2 * BLOCK, "room for {room}");
            while row.pop_first().is_some() {}
            assert!(row.blocks.is_empty() && row.blocks.capacity() <= BLOCK);
        }
    }
}
