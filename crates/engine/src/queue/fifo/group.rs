//! Message groups: which messages each has, and which group is served next.

use super::entry::{Entry, Link};
use crate::MessageSeq;
use crate::queue::ordered::Ordered;
use crate::queue::pool::Pool;
use std::sync::Arc;

/// A group's turn: groups are served in this order.
///
/// Recorded: a group that was not served yet comes in the order of its first message; one that was served, and whose
/// messages are visible again, comes after all that were there when it was served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The message after which it is the group's turn.
    pub after: MessageSeq,
    /// Which of the queue's deliveries put it there; zero for a group whose first message was not received yet.
    pub delivery: u64,
}

/// The place of a group in memory. Nothing that can be observed depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupIndex(u32);

/// A group that has messages.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: Arc<str>,
    /// Its oldest message and its newest one; those between are linked. What was received comes first.
    first: Link,
    last: Link,
    /// Its turn when its first message is one that was received.
    served: Turn,
    /// The part of the key's hash under which it is found.
    hash: u32,
    listed: Listed,
}

const _: () = assert!(size_of::<Group>() <= 56);

/// Under which turn a group is listed as ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// Not at all: its first message cannot be delivered.
    Not,
    /// That of its first message, which was never received.
    ByFirst,
    /// That of a group that was served.
    ByServed,
}

impl Group {
    fn turn(&self, listed: Listed) -> Option<Turn> {
        match listed {
            Listed::Not => None,
            Listed::ByFirst => self.first.get().map(|after| Turn { after, delivery: 0 }),
            Listed::ByServed => Some(self.served),
        }
    }
}

/// The groups of a queue. A group exists while it has messages.
///
/// Invariant: `ready` holds exactly the groups whose first message can be delivered, each under its turn.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: Pool<Group>,
    /// By a part of the hashes of their names.
    by_hash: Ordered<(u32, GroupIndex)>,
    ready: Ordered<(Turn, GroupIndex)>,
    deliveries: u64,
}

impl Groups {
    pub(super) fn get(&self, index: GroupIndex) -> &Group {
        self.groups.get(index.0)
    }

    fn get_mut(&mut self, index: GroupIndex) -> &mut Group {
        self.groups.get_mut(index.0)
    }

    /// The oldest message of a group.
    pub(super) fn first(&self, index: GroupIndex) -> MessageSeq {
        self.get(index).first.get().expect("a group has messages")
    }

    /// The group of that name, which comes to be if need be and must then get a message.
    pub(super) fn find_or_add(&mut self, name: &str, hash: u64) -> GroupIndex {
        self.find(name, hash).unwrap_or_else(|| self.add(name.into(), hash, Turn::default()))
    }

    fn find(&self, name: &str, hash: u64) -> Option<GroupIndex> {
        let mut from = (hash as u32, GroupIndex(0));
        loop {
            let (_, index) = *self.by_hash.first_from(from).filter(|(other, _)| *other == from.0)?;
            if *self.get(index).key == *name {
                return Some(index);
            }
            from.1 = GroupIndex(index.0 + 1);
        }
    }

    /// Adds a group that does not exist and must get a message, as `served` says of when it was served last.
    pub(super) fn add(&mut self, key: Arc<str>, hash: u64, served: Turn) -> GroupIndex {
        let (first, last) = (Link::NONE, Link::NONE);
        let hash = hash as u32;
        let group = Group { key, first, last, served, hash, listed: Listed::Not };
        let index = GroupIndex(self.groups.insert(group));
        self.by_hash.insert((hash, index));
        index
    }

    /// Appends a message to its group; returns the one before it.
    pub(super) fn push(&mut self, index: GroupIndex, seq: MessageSeq) -> Link {
        let group = self.get_mut(index);
        let before = std::mem::replace(&mut group.last, Link::to(seq));
        assert!(before.get().is_none_or(|before| before < seq), "a group is in the order of numbers");
        if before == Link::NONE {
            group.first = group.last;
        }
        before
    }

    /// Takes a message out of its group; returns whether the group still exists.
    pub(super) fn remove(&mut self, entry: &Entry) -> bool {
        let index = entry.group;
        if entry.before == Link::NONE {
            self.list(index, Listed::Not);
        }
        let group = self.get_mut(index);
        if entry.before == Link::NONE {
            group.first = entry.after;
        }
        if entry.after == Link::NONE {
            group.last = entry.before;
        }
        if group.first != Link::NONE {
            return true;
        }
        let gone = self.groups.remove(index.0);
        self.by_hash.remove((gone.hash, index));
        false
    }

    /// Notes that a message of the group is delivered, the newest of the queue being `newest`.
    pub(super) fn serve(&mut self, index: GroupIndex, newest: MessageSeq) {
        self.list(index, Listed::Not);
        self.deliveries += 1;
        self.get_mut(index).served = Turn { after: newest, delivery: self.deliveries };
    }

    /// The group's turn when it was served last.
    pub(super) fn served(&self, index: GroupIndex) -> Turn {
        self.get(index).served
    }

    /// Lists the group as ready, or as not ready.
    pub(super) fn list(&mut self, index: GroupIndex, listed: Listed) {
        let group = self.groups.get_mut(index.0);
        let former = std::mem::replace(&mut group.listed, listed);
        if former == listed {
            return;
        }
        let (former, turn) = (group.turn(former), group.turn(listed));
        if let Some(former) = former {
            self.ready.remove((former, index));
        }
        if let Some(turn) = turn {
            self.ready.insert((turn, index));
        }
    }

    /// The groups whose first message can be delivered, the next one first.
    pub(super) fn ready(&self) -> impl Iterator<Item = GroupIndex> {
        self.ready.iter().map(|(_, index)| *index)
    }

    /// How many messages were delivered.
    pub(super) fn deliveries(&self) -> u64 {
        self.deliveries
    }

    pub(super) fn restore_deliveries(&mut self, deliveries: u64) {
        self.deliveries = deliveries;
    }
}
