//! Damage of the medium: places that do not read as they were written.

use std::{collections::BTreeMap, io, ops::Range};

/// What a [`MemoryStorage`](super::MemoryStorage) can be told has happened to a place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Bits of one byte turned over: those that are set here.
    Rot(u8),
    /// A write that was meant for somewhere else put these bytes down.
    Stray(Vec<u8>),
    /// Reading so many bytes fails.
    Unreadable(u64),
}

/// The damaged places of one file. What is written over one is sound again.
#[derive(Clone, Default)]
pub(super) struct Scars {
    wrong: BTreeMap<u64, u8>,
    unreadable: Vec<Range<u64>>,
}

impl Scars {
    /// `byte` is what reads at `offset` until then.
    pub(super) fn add(&mut self, offset: u64, byte: u8, damage: Damage) {
        match damage {
            Damage::Rot(bits) => drop(self.wrong.insert(offset, byte ^ bits)),
            Damage::Stray(bytes) => self.wrong.extend((offset..).zip(bytes)),
            Damage::Unreadable(bytes) => self.unreadable.push(offset..offset + bytes),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.wrong.is_empty() && self.unreadable.is_empty()
    }

    /// Makes of what should be at `offset` what reads there.
    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let range = offset..offset + buf.len() as u64;
        if self.unreadable.iter().any(|place| overlap(place, &range)) {
            return Err(io::Error::other("the medium cannot be read there"));
        }
        for (at, byte) in self.wrong.range(range) {
            buf[(at - offset) as usize] = *byte;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, offset: u64, bytes: usize) {
        let range = offset..offset + bytes as u64;
        self.wrong.retain(|at, _| !range.contains(at));
        self.unreadable.retain(|place| !overlap(place, &range));
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
