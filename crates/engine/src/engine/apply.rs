//! The only place where durable state changes.

use super::Engine;
use crate::queue::{Queue, Standard, Stored, Waiting};
use crate::{Event, MessageSeq, Origin, Position, QueueAttributes, QueueId, StoredMessage, Timestamp};
use std::sync::Arc;

impl Engine {
    /// Takes over an event that happened at `at` and whose record lies at `position`.
    ///
    /// Live running and replay both come through here. Replay must hand in the events in the order they were
    /// appended, from a fresh engine or from the snapshot taken before them.
    ///
    /// # Panics
    /// If the event contradicts the state: the log's checksums hold, so that is a mistake of ours.
    pub fn apply(&mut self, at: Timestamp, event: &Event, position: Position) {
        assert!(self.at <= at, "events are in the order of their times");
        self.at = at;
        match event {
            Event::QueueCreated { queue, address, attributes, tags } => {
                self.next_queue = queue.0 + 1;
                let created = Queue {
                    id: *queue,
                    address: address.clone(),
                    attributes: QueueAttributes::from_changes(attributes),
                    tags: tags.clone(),
                    created_at: at,
                    modified_at: at,
                    purged_at: None,
                    messages: Standard::default(),
                    waiting: Waiting::default(),
                    armed_at: None,
                    moves_left: false,
                };
                let former = self.names.insert(address.clone(), *queue);
                assert!(former.is_none(), "a name belongs to one queue");
                self.queues.insert(*queue, created);
                self.note_policy(*queue, attributes);
            }
            Event::QueueDeleted { queue } => {
                self.orphan_dormant(*queue);
                let mut deleted = self.queues.remove(queue).expect("a deleted queue existed");
                deleted.messages.clear(&mut self.released);
                self.names.remove(&deleted.address);
                if deleted.attributes.policy.is_some() {
                    self.policies.insert(deleted.address.clone());
                }
                self.forget_deleted(at);
                self.deleted.push_back((at, deleted.address));
            }
            Event::AttributesSet { queue, attributes } => {
                let changed = self.advanced(*queue, at);
                attributes.iter().for_each(|change| changed.attributes.apply(change));
                changed.modified_at = at;
                self.note_policy(*queue, attributes);
            }
            Event::QueueTagged { queue, tags } => {
                let tags = tags.iter().map(|(key, value)| (key.clone(), value.clone()));
                self.queue(*queue).tags.extend(tags);
            }
            Event::QueueUntagged { queue, keys } => {
                let queue = self.queue(*queue);
                keys.iter().for_each(|key| drop(queue.tags.remove(key)));
            }
            Event::QueuePurged { queue } => {
                self.orphan_dormant(*queue);
                let queue = self.queues.get_mut(queue).expect("a purged queue exists");
                queue.messages.clear(&mut self.released);
                queue.purged_at = Some(at);
            }
            Event::MessageSent { stored, visible_at } => self.apply_sent(at, stored, *visible_at, position),
            Event::MessagesReceived { queue, messages, visible_at } => {
                let queue = self.advanced(*queue, at);
                messages.iter().for_each(|seq| queue.messages.receive(*seq, at, *visible_at));
            }
            Event::VisibilityChanged { receipt, visible_at } => {
                self.advanced(receipt.queue, at).messages.change_visibility(receipt.seq, *visible_at);
            }
            Event::MessageDeadLettered { queue, seq, target } => {
                self.apply_dead_lettered(at, *queue, *seq, *target);
            }
            Event::MessageDeleted { queue, seq } => {
                let position = self.advanced(*queue, at).messages.delete(*seq);
                self.released.push(super::Released::Record(position));
            }
            Event::MessageRelocated { stored } => {
                let old =
                    self.advanced(stored.queue, at).messages.relocate(stored.seq, position, stored.queue);
                self.released.push(super::Released::Record(old));
            }
        }
    }

    fn apply_sent(
        &mut self,
        at: Timestamp,
        message: &StoredMessage,
        visible_at: Timestamp,
        position: Position,
    ) {
        assert!(message.seq.0 >= self.next_seq, "message numbers rise");
        self.next_seq = message.seq.0 + 1;
        let stored = Stored { seq: message.seq, position, sent_at: message.sent_at };
        let queue = self.advanced(message.queue, at);
        if visible_at <= at {
            queue.messages.add(stored);
        } else {
            queue.messages.add_delayed(stored, visible_at);
        }
    }

    fn apply_dead_lettered(&mut self, at: Timestamp, queue: QueueId, seq: MessageSeq, target: QueueId) {
        self.advanced(target, at);
        let source = self.advanced(queue, at);
        let mut touched = source.messages.take_returned(seq);
        let sent_to = touched.origin.as_ref().map_or(queue, |origin| origin.sent_to);
        let sent_as = touched.origin.as_ref().map_or(seq, |origin| origin.sent_as);
        let id = touched.origin.as_ref().and_then(|origin| origin.id);
        let source = Some(source.address.clone());
        touched.origin = Some(Arc::new(Origin { sent_to, sent_as, source, id }));
        self.queue(target).messages.put_returned(touched);
        self.sent_elsewhere.entry(sent_to).or_default().insert(target);
    }

    /// The queue as it is at `at`.
    fn advanced(&mut self, id: QueueId, at: Timestamp) -> &mut Queue {
        let queue = self.queues.get_mut(&id).expect("an event's queue exists");
        queue.advance(at, &mut self.released);
        queue
    }

    /// Drops names whose time of rest is over.
    fn forget_deleted(&mut self, now: Timestamp) {
        // The default cool-down, whatever the setting: replay under another setting must keep the same names.
        let rested = |at: Timestamp| at + crate::limits::COOLDOWN <= now;
        while self.deleted.front().is_some_and(|(at, _)| rested(*at)) {
            self.deleted.pop_front();
        }
    }
}
