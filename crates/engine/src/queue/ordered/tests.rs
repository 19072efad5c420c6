use super::*;
use fastrand::Rng;
use std::collections::btree_map::{BTreeMap, Entry::Vacant};

/// Big enough that a block holds 32 of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    key: u64,
    value: u64,
    rest: [u64; 6],
}

impl Entry {
    fn new(key: u64, value: u64) -> Self {
        Entry { key, value, rest: [value; 6] }
    }
}

impl Keyed for Entry {
    type Key = u64;

    fn key(&self) -> u64 {
        self.key
    }
}

impl<T: Keyed> Ordered<T> {
    fn check_invariants(&self) {
        let mut bound = None;
        for (first, block) in self.closed.blocks() {
            assert!(bound.is_none_or(|bound| bound < first), "blocks do not overlap");
            assert!(!block.is_empty() && block.len() <= Self::BLOCK_MAX && first <= block[0].key());
            assert!(block.is_sorted_by(|a, b| a.key() < b.key()));
            bound = block.last().map(T::key);
        }
        assert!(self.open.len() <= Self::BLOCK_MAX && self.open.is_sorted_by(|a, b| a.key() < b.key()));
        assert!(self.open.first().is_none_or(|first| bound.is_none_or(|bound| bound < first.key())));
        assert_eq!(
            self.len,
            self.closed.blocks().map(|(_, block)| block).chain([&self.open]).map(Vec::len).sum()
        );
    }

    /// Entries for which there is room.
    fn capacity(&self) -> usize {
        self.closed.blocks().map(|(_, block)| block).chain([&self.open]).map(Vec::capacity).sum()
    }
}

/// How a sequence of operations chooses its keys.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// New ones mostly rise, old ones mostly go first, as in a queue.
    Queue,
    Falling,
    Random,
}

fn run(seed: u64, keys: Keys) {
    println!("seed {seed}, {keys:?}");
    let mut rng = Rng::with_seed(seed);
    let (mut set, mut model) = (Ordered::default(), BTreeMap::new());
    for step in 0..20_000_u64 {
        // Grows, shrinks to nothing, grows again.
        let grows = if step / 4_000 % 2 == 0 { 7 } else { 3 };
        let key = match keys {
            Keys::Queue => 10 * step + rng.u64(0..100),
            Keys::Falling => 10 * (20_000 - step) + rng.u64(0..100),
            Keys::Random => rng.u64(0..10_000),
        };
        if rng.u64(0..10) < grows {
            if let Vacant(place) = model.entry(key) {
                set.insert(place.insert(Entry::new(key, step)).clone());
            }
        } else {
            let key = match keys {
                Keys::Queue | Keys::Falling if rng.u8(0..4) > 0 => model.keys().next().copied(),
                _ => model.range(key / 2..).next().map(|(key, _)| *key),
            };
            let key = key.unwrap_or(key_of_none(&model));
            assert_eq!(set.remove(key), model.remove(&key));
        }
        assert_eq!((set.get(key), set.contains(key)), (model.get(&key), model.contains_key(&key)));
        assert_eq!((set.first(), set.len()), (model.values().next(), model.len()));
        if let Some(entry) = set.get_mut(key) {
            entry.value += 1;
            model.get_mut(&key).expect("both have it").value += 1;
        }
        let sought = key + rng.u64(0..200);
        assert_eq!(set.first_from(sought), model.range(sought..).next().map(|(_, entry)| entry));
        if step % 200 == 0 {
            set.check_invariants();
            assert!(set.iter().eq(model.values()));
            assert!(set.from(key).eq(model.range(key..).map(|(_, entry)| entry)));
            assert!(set.capacity() <= 8 * model.len() + 2 * Ordered::<Entry>::BLOCK_MAX, "gives memory back");
        }
    }
    while let Some(first) = set.pop_first() {
        assert_eq!(Some(first), model.pop_first().map(|(_, entry)| entry));
    }
    assert!(model.is_empty() && set.len() == 0 && set.capacity() <= SPARE);
}

/// A key that is not there.
fn key_of_none(model: &BTreeMap<u64, Entry>) -> u64 {
    model.keys().next_back().map_or(7, |last| last + 1)
}

#[test]
fn it_agrees_with_a_map_on_random_sequences() {
    for keys in [Keys::Queue, Keys::Falling, Keys::Random] {
        (0..8).chain([fastrand::u64(..)]).for_each(|seed| run(seed, keys));
    }
}

#[test]
fn rising_keys_fill_their_blocks() {
    let mut set = Ordered::default();
    (0..10_000).for_each(|key| set.insert(Entry::new(key, 0)));
    assert!(set.capacity() < 10_000 + Ordered::<Entry>::BLOCK_MAX);
    assert_eq!(Ordered::<Entry>::BLOCK_MAX, 32);
    // With seven of eight gone the blocks that are left are put together.
    (0..10_000).filter(|key| key % 8 != 0).for_each(|key| assert!(set.remove(key).is_some()));
    assert!(set.capacity() <= 3 * set.len(), "{} for {}", set.capacity(), set.len());
    set.check_invariants();
}

#[test]
#[should_panic(expected = "a key is in a set once")]
fn a_key_is_not_put_in_twice() {
    let mut set: Ordered<_> = (0..100).map(|key| Entry::new(key, 0)).collect();
    set.insert(Entry::new(50, 1));
}
