//! Messages in flight: received, hidden until a deadline.

use super::Touched;
use super::ordered::{Keyed, Ordered};
use crate::{MessageSeq, Timestamp};

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) touched: Touched,
    pub(crate) visible_at: Timestamp,
}

impl Keyed for Hidden {
    type Key = MessageSeq;

    fn key(&self) -> MessageSeq {
        self.touched.stored.seq
    }
}

// What a message in flight takes beside this is 16 bytes for its deadline.
const _: () = assert!(size_of::<Hidden>() <= 64);

/// Invariant: `deadlines` holds exactly the `visible_at` of every entry.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    entries: Ordered<Hidden>,
    deadlines: Ordered<(Timestamp, MessageSeq)>,
}

impl InFlight {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, seq: MessageSeq) -> Option<&Hidden> {
        self.entries.get(seq)
    }

    pub(crate) fn touched_mut(&mut self, seq: MessageSeq) -> Option<&mut Touched> {
        self.entries.get_mut(seq).map(|hidden| &mut hidden.touched)
    }

    /// The message with the lowest number, which is the oldest.
    pub(crate) fn oldest(&self) -> Option<&Hidden> {
        self.entries.first()
    }

    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    pub(crate) fn insert(&mut self, hidden: Hidden) {
        let seq = hidden.touched.stored.seq;
        self.deadlines.insert((hidden.visible_at, seq));
        self.entries.insert(hidden);
    }

    pub(crate) fn remove(&mut self, seq: MessageSeq) -> Option<Hidden> {
        let hidden = self.entries.remove(seq)?;
        let listed = self.deadlines.remove((hidden.visible_at, seq));
        assert!(listed.is_some(), "every message in flight has its deadline listed");
        Some(hidden)
    }

    /// The message whose timeout ended first, if one's did.
    pub(crate) fn first_due(&self, now: Timestamp) -> Option<MessageSeq> {
        self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, seq)| *seq)
    }

    /// Those with that number or a higher one, in order.
    pub(crate) fn from(&self, seq: MessageSeq) -> impl Iterator<Item = &Hidden> {
        self.entries.from(seq)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Hidden> {
        self.entries.iter()
    }
}
