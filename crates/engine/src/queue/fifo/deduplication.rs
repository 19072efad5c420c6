//! The deduplication ids of the last five minutes.

use crate::{DeduplicationScope, MessageId, MessageSeq, Timestamp, limits};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// An accepted message whose repetition is a duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Its `MessageDeduplicationId`.
    pub id: Arc<str>,
    /// Its group.
    pub group: Arc<str>,
    /// When it was accepted; duplicates do not prolong the interval.
    pub sent_at: Timestamp,
    /// What the answer to a duplicate repeats.
    pub message_id: MessageId,
    /// The same, as the sequence number.
    pub seq: MessageSeq,
}

/// Ids outlive their messages: what was received and deleted still has duplicates.
#[derive(Debug, Default)]
pub(super) struct Deduplication {
    /// Under each id one message, or one of each group that used it, oldest first. So both scopes find theirs, also
    /// after the scope was changed.
    by_id: HashMap<Arc<str>, Vec<Remembered>>,
    /// In the order in which they are forgotten.
    order: VecDeque<(Timestamp, Arc<str>)>,
}

impl Deduplication {
    /// The message that one with this id and group would repeat.
    pub(super) fn find(&self, scope: DeduplicationScope, id: &str, group: &str) -> Option<&Remembered> {
        let mut known = self.by_id.get(id)?.iter();
        match scope {
            DeduplicationScope::Queue => known.next(),
            DeduplicationScope::MessageGroup => known.find(|known| *known.group == *group),
        }
    }

    pub(super) fn remember(&mut self, accepted: Remembered) {
        self.order.push_back((accepted.sent_at, accepted.id.clone()));
        // Nearly always the only one.
        let known = self.by_id.entry(accepted.id.clone()).or_insert_with(|| Vec::with_capacity(1));
        known.push(accepted);
    }

    pub(super) fn forget_expired(&mut self, now: Timestamp) {
        let over = |sent_at: Timestamp| sent_at + limits::DEDUPLICATION_INTERVAL <= now;
        while self.order.front().is_some_and(|(sent_at, _)| over(*sent_at))
            && let Some((_, id)) = self.order.pop_front()
        {
            let known = self.by_id.get_mut(&id).expect("every id in the order is known");
            known.remove(0);
            if known.is_empty() {
                self.by_id.remove(&id);
            }
        }
    }

    /// When the next id is forgotten.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.order.front().map(|(sent_at, _)| *sent_at + limits::DEDUPLICATION_INTERVAL)
    }

    /// Everything remembered, oldest first.
    pub(super) fn to_vec(&self) -> Vec<Remembered> {
        let mut all: Vec<_> = self.by_id.values().flatten().cloned().collect();
        all.sort_unstable_by_key(|known| known.seq);
        all
    }
}
