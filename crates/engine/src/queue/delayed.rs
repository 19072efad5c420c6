//! Messages whose delay has not ended yet.

use super::chunk::Stored;
use super::ordered::{Keyed, Ordered};
use crate::{MessageSeq, Timestamp};

#[derive(Debug)]
struct Entry {
    stored: Stored,
    visible_at: Timestamp,
}

impl Keyed for Entry {
    type Key = MessageSeq;

    fn key(&self) -> MessageSeq {
        self.stored.seq
    }
}

/// Invariant: `ends` holds exactly the end of every entry's delay.
#[derive(Debug, Default)]
pub(crate) struct Delayed {
    entries: Ordered<Entry>,
    ends: Ordered<(Timestamp, MessageSeq)>,
}

impl Delayed {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn insert(&mut self, stored: Stored, visible_at: Timestamp) {
        self.ends.insert((visible_at, stored.seq));
        self.entries.insert(Entry { stored, visible_at });
    }

    pub(crate) fn get(&self, seq: MessageSeq) -> Option<&Stored> {
        self.entries.get(seq).map(|entry| &entry.stored)
    }

    pub(crate) fn get_mut(&mut self, seq: MessageSeq) -> Option<&mut Stored> {
        self.entries.get_mut(seq).map(|entry| &mut entry.stored)
    }

    /// The message with the lowest number, which is the oldest.
    pub(crate) fn oldest(&self) -> Option<Stored> {
        self.entries.first().map(|entry| entry.stored)
    }

    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        self.ends.first().map(|(at, _)| *at)
    }

    pub(crate) fn remove(&mut self, seq: MessageSeq) -> Option<Stored> {
        let Entry { stored, visible_at } = self.entries.remove(seq)?;
        let listed = self.ends.remove((visible_at, seq));
        assert!(listed.is_some(), "every delayed message has its end listed");
        Some(stored)
    }

    /// Takes the message whose delay ended first, if one's did.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<Stored> {
        let (_, seq) = *self.ends.first().filter(|(at, _)| *at <= now)?;
        self.remove(seq)
    }

    /// Those with that number or a higher one, and the ends of their delays.
    pub(crate) fn from(&self, seq: MessageSeq) -> impl Iterator<Item = (Stored, Timestamp)> {
        self.entries.from(seq).map(|entry| (entry.stored, entry.visible_at))
    }

    /// Messages and the ends of their delays, oldest message first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Stored, Timestamp)> {
        self.entries.iter().map(|entry| (entry.stored, entry.visible_at))
    }
}
