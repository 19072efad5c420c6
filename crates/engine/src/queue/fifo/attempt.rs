//! Receives that can be repeated, by their attempt id.

use super::entry::Kept;
use crate::{MessageSeq, Timestamp, limits};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A receive that came with an attempt id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// `ReceiveRequestAttemptId`.
    pub id: Arc<str>,
    /// When it was answered.
    pub at: Timestamp,
    /// What it received, with the receive count of each; empty once one of them was deleted or changed.
    pub received: Vec<(MessageSeq, u32)>,
}

/// The receives of the last five minutes that had an attempt id and found messages.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    by_id: HashMap<Arc<str>, Attempt>,
    /// In the order in which they are forgotten; holds an id twice when it was used again.
    order: VecDeque<(Timestamp, Arc<str>)>,
}

impl Attempts {
    pub(super) fn get(&self, id: &str) -> Option<&Attempt> {
        self.by_id.get(id)
    }

    pub(super) fn remember(&mut self, attempt: Attempt) {
        self.order.push_back((attempt.at, attempt.id.clone()));
        self.by_id.insert(attempt.id.clone(), attempt);
    }

    /// Makes a message's newest receive unrepeatable, since the message is not as it was.
    pub(super) fn void_of(&mut self, kept: &Kept) {
        let message = (kept.touched.stored.seq, kept.touched.receive_count);
        if let Some(attempt) = kept.attempt.as_ref().and_then(|id| self.by_id.get_mut(id))
            && attempt.received.contains(&message)
        {
            attempt.received.clear();
        }
    }

    pub(super) fn forget_expired(&mut self, now: Timestamp) {
        let over = |at: Timestamp| at + limits::ATTEMPT_INTERVAL <= now;
        while self.order.front().is_some_and(|(at, _)| over(*at))
            && let Some((at, id)) = self.order.pop_front()
        {
            if self.by_id.get(&id).is_some_and(|attempt| attempt.at == at) {
                self.by_id.remove(&id);
            }
        }
    }

    /// When the next one is forgotten.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.order.front().map(|(at, _)| *at + limits::ATTEMPT_INTERVAL)
    }

    /// Everything remembered, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Attempt> {
        let current =
            |(at, id): &(Timestamp, Arc<str>)| self.by_id.get(id).filter(|attempt| attempt.at == *at);
        self.order.iter().filter_map(current)
    }
}
