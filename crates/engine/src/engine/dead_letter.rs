//! Dead letters: messages that were received too often go to the queue that their queue's redrive policy names.
//!
//! A message moves on the receive that would exceed the limit, not when its last visibility timeout ends. While the
//! dead-letter queue does not exist the message stays and is delivered on.

use super::administration::page;
use super::{Engine, Journal};
use crate::{Event, MessageSeq, Position, QueueAddress, QueueId, QueueName, Reply, StoredMessage, Timestamp};
use std::collections::BTreeSet;

/// Messages that one receive moves at most: bounds a turn. The next receive goes on, and for receives that wait the timer.
const MOVES_MAX: usize = 100;

impl Engine {
    /// The next messages of a queue that may be delivered, at most `max`. Those that were received too often are moved
    /// out of the way first.
    pub(super) fn next_deliverable(
        &mut self,
        now: Timestamp,
        id: QueueId,
        max: usize,
        journal: &mut impl Journal,
    ) -> Vec<MessageSeq> {
        let Some((target, limit)) = self.dead_letter_queue(id) else {
            return self.queue(id).messages.next_visible(max);
        };
        let (mut moves, mut staying) = (0, 0);
        loop {
            // Messages that exceed the limit and stay must not hide those behind them.
            let visible = self.queue(id).messages.next_visible(max + staying);
            let messages = &self.queue(id).messages;
            let exceeds = |seq: &MessageSeq| {
                messages.touched(*seq).is_some_and(|touched| touched.receive_count >= limit)
            };
            let (exceeding, within): (Vec<_>, Vec<_>) = visible.into_iter().partition(exceeds);
            let exceeding_count = exceeding.len();
            let due: Vec<_> = exceeding.into_iter().filter(|seq| !self.moved_now.contains(seq)).collect();
            if due.is_empty() && staying < exceeding_count {
                staying = exceeding_count;
                continue;
            }
            if due.is_empty() || moves >= MOVES_MAX {
                self.queue(id).moves_left = !due.is_empty();
                return within;
            }
            moves += due.len();
            for seq in due {
                self.commit(now, &Event::MessageDeadLettered { queue: id, seq, target }, journal);
                // Two queues that name each other would pass a message back and forth without end.
                self.moved_now.insert(seq);
                self.unsettled.insert(target);
            }
        }
    }

    /// The dead-letter queue of a queue, and how often its messages may be received. A queue that names itself has none.
    fn dead_letter_queue(&self, id: QueueId) -> Option<(QueueId, u32)> {
        let policy = self.queues.get(&id)?.attributes.redrive_policy.as_ref()?;
        let target = *self.names.get(&policy.dead_letter_target)?;
        (target != id).then_some((target, policy.max_receive_count))
    }

    /// Serves the receives that wait on queues which dead letters have come to.
    pub(super) fn settle_targets(&mut self, now: Timestamp, journal: &mut impl Journal) {
        while let Some(target) = self.unsettled.pop_first() {
            self.settle(now, target, journal);
        }
    }

    /// The queue that holds a message whose record was read at `position`, if that record is still the message's.
    pub(super) fn holder(
        &mut self,
        now: Timestamp,
        stored: &StoredMessage,
        position: Position,
    ) -> Option<QueueId> {
        let elsewhere = self.sent_elsewhere.get(&stored.queue).cloned().unwrap_or_default();
        let candidates: BTreeSet<_> = elsewhere.into_iter().chain([stored.queue]).collect();
        candidates.into_iter().find(|id| {
            let Some(queue) = self.queues.get_mut(id) else { return false };
            queue.advance(now, &mut self.released);
            queue.messages.position(stored.seq) == Some(position)
        })
    }

    /// The queues whose redrive policy names `target`; they are in its account and region.
    pub(super) fn list_sources(&self, target: &QueueAddress, after: Option<QueueName>, max: usize) -> Reply {
        let name = after.clone().unwrap_or_else(QueueName::lowest);
        let from = QueueAddress { name, ..target.clone() };
        let names_target = |id: &QueueId| {
            let policy = self.queues[id].attributes.redrive_policy.as_ref();
            policy.is_some_and(|policy| policy.dead_letter_target == *target)
        };
        let sources = self.names_from(from).filter(|(_, id)| names_target(id)).map(|(name, _)| name);
        page(sources, after.as_ref(), max)
    }
}
