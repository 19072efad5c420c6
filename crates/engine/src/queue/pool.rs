//! Places for values that keep their number, in pages, so that pages nobody uses any more are given back.

use slab::Slab;
use std::collections::BTreeSet;

/// Values of a page.
const PAGE: usize = 64;
/// Values for which an emptied page keeps room.
const SPARE: usize = 4;

/// Every operation takes constant time as long as few pages have gaps. Numbers of values that are gone are used again,
/// the lowest page first.
#[derive(Debug)]
pub(super) struct Pool<T> {
    pages: Vec<Slab<T>>,
    /// The pages that are not full.
    gaps: BTreeSet<usize>,
    len: usize,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { pages: Vec::new(), gaps: BTreeSet::new(), len: 0 }
    }
}

impl<T> Pool<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts in a value; returns its number.
    pub(super) fn insert(&mut self, value: T) -> u32 {
        let page = self.gaps.first().copied().unwrap_or_else(|| {
            self.pages.push(Slab::new());
            self.gaps.insert(self.pages.len() - 1);
            self.pages.len() - 1
        });
        let place = self.pages[page].insert(value);
        self.len += 1;
        if self.pages[page].len() == PAGE {
            self.gaps.remove(&page);
        }
        u32::try_from(page * PAGE + place).expect("a queue has fewer groups than four billion")
    }

    /// # Panics
    /// If no value has that number, as the next ones do.
    pub(super) fn get(&self, number: u32) -> &T {
        let (page, place) = split(number);
        &self.pages[page][place]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut T {
        let (page, place) = split(number);
        &mut self.pages[page][place]
    }

    pub(super) fn remove(&mut self, number: u32) -> T {
        let (page, place) = split(number);
        let value = self.pages[page].remove(place);
        self.len -= 1;
        self.gaps.insert(page);
        if self.pages[page].is_empty() && self.pages[page].capacity() > SPARE {
            self.pages[page] = Slab::new();
        }
        while self.pages.len() > 1 && self.pages.last().is_some_and(Slab::is_empty) {
            self.pages.pop();
            self.gaps.remove(&self.pages.len());
        }
        value
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten().map(|(_, value)| value)
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.pages.into_iter().flatten().map(|(_, value)| value)
    }
}

fn split(number: u32) -> (usize, usize) {
    (number as usize / PAGE, number as usize % PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn values_keep_their_numbers_and_leave_no_room_behind() {
        for seed in (0..4).chain([fastrand::u64(..)]) {
            println!("seed {seed}");
            let mut rng = Rng::with_seed(seed);
            let (mut pool, mut model) = (Pool::default(), BTreeMap::new());
            for step in 0..20_000 {
                if rng.u32(0..10) < if step / 5_000 % 2 == 0 { 7 } else { 3 } {
                    let former = model.insert(pool.insert(step), step);
                    assert_eq!(former, None, "a number is given once");
                } else if let Some((&number, _)) = model.range(rng.u32(0..3_000)..).next() {
                    assert_eq!(Some(pool.remove(number)), model.remove(&number));
                }
                assert_eq!(pool.is_empty(), model.is_empty());
            }
            assert!(model.iter().all(|(number, value)| pool.get(*number) == value));
            let all: BTreeSet<_> = pool.iter().copied().collect();
            assert!(all.iter().eq(model.values().copied().collect::<BTreeSet<_>>().iter()));
            // Everything goes but two in different pages.
            let kept: Vec<_> = model.keys().step_by(model.len() / 2 + 1).copied().collect();
            for number in model.keys().filter(|number| !kept.contains(number)) {
                assert_eq!(pool.remove(*number), model[number]);
            }
            let room: usize = pool.pages.iter().map(Slab::capacity).sum();
            assert!(kept.len() == 2 && room <= 2 * PAGE + SPARE, "room for {room}");
            kept.iter().for_each(|number| assert_eq!(pool.get(*number), &model[number]));
        }
    }
}
