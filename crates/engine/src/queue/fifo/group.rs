//! Message groups: which messages each has, and which group is served next.

use crate::MessageSeq;
use slab::Slab;
use std::collections::{BTreeSet, HashMap, VecDeque};
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

/// The place of a group in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupIndex(u32);

/// A group that has messages.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: Arc<str>,
    /// All its messages in order. Those that were received are the first.
    messages: VecDeque<MessageSeq>,
    /// Its turn when its first message is one that was received.
    served: Turn,
    /// Under which turn it is listed as ready.
    listed: Option<Turn>,
}

impl Group {
    pub(super) fn messages(&self) -> impl Iterator<Item = MessageSeq> {
        self.messages.iter().copied()
    }
}

/// The groups of a queue. A group exists while it has messages.
///
/// Invariant: `ready` holds exactly the groups whose first message can be delivered, each under its turn.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_key: HashMap<Arc<str>, GroupIndex>,
    slots: Slab<Group>,
    ready: BTreeSet<(Turn, GroupIndex)>,
    deliveries: u64,
}

impl Groups {
    pub(super) fn get(&self, index: GroupIndex) -> &Group {
        &self.slots[index.0 as usize]
    }

    /// Appends a message to its group, which comes to be if need be.
    pub(super) fn push(&mut self, key: &str, seq: MessageSeq) -> GroupIndex {
        let index = match self.by_key.get(key) {
            Some(index) => *index,
            None => self.add(key.into()),
        };
        let messages = &mut self.slots[index.0 as usize].messages;
        assert!(messages.back().is_none_or(|last| *last < seq), "a group is in the order of numbers");
        messages.push_back(seq);
        index
    }

    fn add(&mut self, key: Arc<str>) -> GroupIndex {
        let group =
            Group { key: key.clone(), messages: VecDeque::new(), served: Turn::default(), listed: None };
        let slot = self.slots.insert(group);
        let index = GroupIndex(u32::try_from(slot).expect("a queue has fewer groups than four billion"));
        self.by_key.insert(key, index);
        index
    }

    /// Takes a message out of its group; returns whether the group still exists.
    pub(super) fn remove(&mut self, index: GroupIndex, seq: MessageSeq) -> bool {
        let group = &mut self.slots[index.0 as usize];
        let place = group.messages.binary_search(&seq).expect("a message is listed in its group");
        group.messages.remove(place);
        if !group.messages.is_empty() {
            return true;
        }
        self.list(index, None);
        let group = self.slots.remove(index.0 as usize);
        self.by_key.remove(&group.key);
        false
    }

    /// Notes that a message of the group is delivered, the newest of the queue being `newest`.
    pub(super) fn serve(&mut self, index: GroupIndex, newest: MessageSeq) {
        self.deliveries += 1;
        self.slots[index.0 as usize].served = Turn { after: newest, delivery: self.deliveries };
    }

    /// The group's turn when it was served last.
    pub(super) fn served(&self, index: GroupIndex) -> Turn {
        self.get(index).served
    }

    /// Lists the group as ready under a turn, or as not ready.
    pub(super) fn list(&mut self, index: GroupIndex, turn: Option<Turn>) {
        let listed = std::mem::replace(&mut self.slots[index.0 as usize].listed, turn);
        if listed == turn {
            return;
        }
        if let Some(listed) = listed {
            self.ready.remove(&(listed, index));
        }
        if let Some(turn) = turn {
            self.ready.insert((turn, index));
        }
    }

    /// The groups whose first message can be delivered, the next one first.
    pub(super) fn ready(&self) -> impl Iterator<Item = &Group> {
        self.ready.iter().map(|(_, index)| self.get(*index))
    }

    /// How many messages were delivered.
    pub(super) fn deliveries(&self) -> u64 {
        self.deliveries
    }

    /// Takes over what a snapshot says of a group that has messages.
    pub(super) fn restore_served(&mut self, key: &str, served: Turn) -> GroupIndex {
        let index = self.by_key[key];
        self.slots[index.0 as usize].served = served;
        index
    }

    pub(super) fn restore_deliveries(&mut self, deliveries: u64) {
        self.deliveries = deliveries;
    }
}
