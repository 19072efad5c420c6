//! Dead letters: messages that were received too often go to the queue that their queue's redrive policy names.
//!
//! A message moves on the receive that would exceed the limit, not when its last visibility timeout ends. While the
//! dead-letter queue does not exist the message stays and is delivered on.

use super::administration::page;
use super::{Engine, Journal};
use crate::{Event, MessageSeq, Position, QueueAddress, QueueId, QueueName, Reply, StoredMessage, Timestamp};

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
                messages.received(*seq).is_some_and(|touched| touched.receive_count >= limit)
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
                // On a standard queue it stays among the messages of its time; a FIFO queue counts anew.
                let is_fifo = self.queue(target).messages.fifo().is_some();
                let target_seq = if is_fifo { self.next_seq() } else { seq };
                let event = Event::MessageDeadLettered { queue: id, seq, target, target_seq };
                self.commit(now, &event, journal);
                // Two queues that name each other would pass a message back and forth without end.
                self.moved_now.insert(target_seq);
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

    /// What a message has become whose record was read at `position`: its queue, number, id and send time now. `None`
    /// when that record is not the message's any more.
    pub(super) fn brought_up_to_date(
        &mut self,
        now: Timestamp,
        mut stored: StoredMessage,
        position: Position,
    ) -> Option<StoredMessage> {
        let sent = (stored.queue, stored.seq);
        let (id, seq) = self.moved.get(stored.seq).map_or(sent, |moved| (moved.queue, moved.seq));
        let queue = self.queues.get_mut(&id)?;
        queue.advance(now, &mut self.released);
        let touched = queue.messages.get(seq).filter(|touched| touched.stored.position == position)?;
        (stored.queue, stored.seq, stored.sent_at) = (id, seq, touched.stored.sent_at);
        if let Some(origin) = &touched.origin
            && stored.message.deduplication_id.is_some()
        {
            let id = origin.id.unwrap_or(stored.message.id);
            stored.message.deduplication_id = Some(id.to_string().into());
        }
        stored.message.id = touched.origin.and_then(|origin| origin.id).unwrap_or(stored.message.id);
        Some(stored)
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
