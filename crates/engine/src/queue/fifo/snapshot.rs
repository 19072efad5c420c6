//! The messages of a FIFO queue as plain data, and back.

use super::entry::Entry;
use super::{Attempt, Fifo, HashKey, Remembered, State, Turn};
use crate::queue::Touched;
use crate::{MessageSeq, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Fifo {
    pub(crate) fn snapshot(&self) -> FifoMessages {
        let mut groups = Vec::new();
        let mut numbers = BTreeMap::new();
        let message = |entry: &Entry| {
            let group = *numbers.entry(entry.group).or_insert_with(|| {
                let group = self.groups.get(entry.group);
                groups.push((group.key.clone(), self.groups.served(entry.group)));
                groups.len() - 1
            });
            let state = match entry.state {
                State::Visible => FifoState::Visible,
                State::Delayed => FifoState::Delayed,
                State::InFlight => FifoState::InFlight { visible_at: entry.visible_at() },
            };
            let attempt = entry.kept().and_then(|kept| kept.attempt.clone());
            FifoMessage { touched: entry.to_touched(), group, state, attempt }
        };
        let messages = self.entries.iter().map(message).collect();
        FifoMessages {
            newest: self.newest,
            deliveries: self.groups.deliveries(),
            groups,
            messages,
            remembered: self.deduplication.to_vec(),
            attempts: self.attempts.iter().cloned().collect(),
        }
    }

    /// # Panics
    /// If the parts contradict each other: the decoder checked them.
    pub(crate) fn restore(from: FifoMessages, hash_key: HashKey) -> Self {
        let mut fifo = Fifo::new(hash_key);
        let add = |(name, served): (Arc<str>, Turn)| {
            let hash = hash_key.of_group(&name);
            fifo.groups.add(name, hash, served)
        };
        let groups: Vec<_> = from.groups.into_iter().map(add).collect();
        for FifoMessage { touched, group, state, attempt } in from.messages {
            let seq = touched.stored.seq;
            let group = groups[group];
            match state {
                FifoState::Delayed => fifo.add(touched.stored, group, true),
                _ if touched == Touched::never_received(touched.stored) => {
                    fifo.add(touched.stored, group, false);
                }
                _ => fifo.put(touched, group),
            }
            if let Some(kept) = fifo.kept_mut(seq) {
                kept.attempt = attempt;
            }
            if let FifoState::InFlight { visible_at } = state {
                fifo.hide(seq, visible_at);
            }
        }
        fifo.newest = from.newest;
        fifo.groups.restore_deliveries(from.deliveries);
        from.remembered.into_iter().for_each(|accepted| fifo.deduplication.remember(accepted));
        from.attempts.into_iter().for_each(|attempt| fifo.attempts.remember(attempt));
        fifo
    }
}

/// The messages of a FIFO queue as plain data; what a checkpoint keeps of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FifoMessages {
    /// The newest message that was accepted.
    pub newest: MessageSeq,
    /// How many messages were delivered.
    pub deliveries: u64,
    /// The groups that have messages, in the order of their first ones, and their turns when they were served last.
    pub groups: Vec<(Arc<str>, Turn)>,
    /// The messages in the order of their numbers.
    pub messages: Vec<FifoMessage>,
    /// What duplicates are known by, oldest first.
    pub remembered: Vec<Remembered>,
    /// The receives that have an attempt id, oldest first.
    pub attempts: Vec<Attempt>,
}

/// One message of a FIFO queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FifoMessage {
    /// What is known of it, whether it was received or not.
    pub touched: Touched,
    /// Its group, as an index.
    pub group: usize,
    /// Whether it can be received.
    pub state: FifoState,
    /// The attempt id of its newest receive.
    pub attempt: Option<Arc<str>>,
}

/// The state of a message of a FIFO queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FifoState {
    /// Visible, but perhaps behind others of its group.
    Visible,
    /// Hidden by the queue's delay.
    Delayed,
    /// Received.
    InFlight {
        /// Until then.
        visible_at: Timestamp,
    },
}
