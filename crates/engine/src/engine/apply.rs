//! The only place where durable state changes.

use super::{Engine, Moved};
use crate::queue::{Footprint, Held, MoveTask, MoveTasks, Queue, Stored, Touched, Waiting};
use crate::{
    Event, MessageId, MessageSeq, Origin, Position, QueueAttributes, QueueId, StoredMessage, Timestamp,
};
use std::sync::Arc;

/// A message's queue and number.
type Place = (QueueId, MessageSeq);

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
                let defaults_changed = QueueAttributes::from_changes(attributes);
                let created = Queue {
                    id: *queue,
                    address: address.clone(),
                    tags: tags.clone(),
                    created_at: at,
                    modified_at: at,
                    purged_at: None,
                    messages: Held::new(&defaults_changed, &self.config),
                    move_tasks: MoveTasks::default(),
                    attributes: defaults_changed,
                    waiting: Waiting::default(),
                    hurried: Vec::new(),
                    footprint: Footprint::default(),
                    armed_at: None,
                    moves_left: false,
                };
                let former = self.names.insert(address.clone(), *queue);
                assert!(former.is_none(), "a name belongs to one queue");
                self.queues.insert(*queue, Box::new(created));
                self.note_policy(*queue, attributes);
            }
            Event::QueueDeleted { queue } => {
                self.forget_footprint(*queue);
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
                let purged = self.queues.get_mut(queue).expect("a purged queue exists");
                purged.messages.clear(&mut self.released);
                purged.purged_at = Some(at);
                self.note_footprint(*queue);
            }
            Event::MessageSent { stored, visible_at } => self.apply_sent(at, stored, *visible_at, position),
            Event::MessagesReceived { queue, messages, visible_at, attempt_id } => {
                let queue = self.advanced(*queue, at);
                messages.iter().for_each(|seq| queue.messages.receive(*seq, at, *visible_at));
                if let Some(id) = attempt_id {
                    queue.messages.fifo_mut().remember_attempt((**id).into(), at, messages);
                }
            }
            Event::ReceiveRepeated { queue, messages, visible_at } => {
                self.advanced(*queue, at).messages.fifo_mut().repeat(messages, *visible_at);
            }
            Event::VisibilityChanged { receipt, visible_at } => {
                self.advanced(receipt.queue, at).messages.change_visibility(receipt.seq, *visible_at);
            }
            Event::MessageDeadLettered { queue, seq, target, target_seq } => {
                self.apply_dead_lettered(at, (*queue, *seq), (*target, *target_seq));
            }
            Event::MessageRedriven { queue, seq, target, target_seq, id, by_task } => {
                self.apply_redriven(at, (*queue, *seq), (*target, *target_seq), *id);
                if *by_task {
                    self.queue(*queue).move_tasks.running_mut().moved += 1;
                }
            }
            Event::MoveTaskStarted { queue, id, destination, rate, to_move } => {
                self.queue(*queue).move_tasks.start(MoveTask {
                    id: *id,
                    destination: destination.clone(),
                    rate: *rate,
                    started_at: at,
                    to_move: *to_move,
                    moved: 0,
                    outcome: None,
                });
            }
            Event::MoveTaskEnded { queue, outcome } => {
                self.queue(*queue).move_tasks.running_mut().outcome = Some(*outcome);
            }
            Event::MessageDeleted { queue, seq } => {
                let released = self.advanced(*queue, at).messages.delete(*seq);
                self.released.push(released);
            }
            Event::MessageRelocated { stored } => {
                let old =
                    self.advanced(stored.queue, at).messages.relocate(stored.seq, position, stored.queue);
                self.released.push(old);
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
        self.advanced(message.queue, at).messages.accept(at, message, position, visible_at);
    }

    fn apply_dead_lettered(&mut self, at: Timestamp, from: Place, to: Place) {
        self.apply_moved(at, from, to, |touched, source, origin| {
            if touched.stored.seq != to.1 {
                touched.stored = Stored { seq: to.1, sent_at: at, ..touched.stored };
                // There it is a message that nobody received yet, and its group's turn comes by its number.
                touched.received_at = Timestamp::ZERO;
            }
            touched.origin = Some(Arc::new(Origin { source: Some(source.address.clone()), ..origin }));
        });
    }

    fn apply_redriven(&mut self, at: Timestamp, from: Place, to: Place, id: MessageId) {
        self.apply_moved(at, from, to, |touched, _, origin| {
            let stored = Stored { seq: to.1, sent_at: at, ..touched.stored };
            let origin = Origin { source: None, id: Some(id), ..origin };
            *touched = Touched { stored, origin: Some(Arc::new(origin)), ..Touched::default() };
        });
    }

    /// Moves a message from queue to queue. `change` gets what is known of it, its old queue, and where its record is.
    fn apply_moved(
        &mut self,
        at: Timestamp,
        (queue, seq): Place,
        (target, target_seq): Place,
        change: impl FnOnce(&mut Touched, &Queue, Origin),
    ) {
        self.next_seq = self.next_seq.max(target_seq.0 + 1);
        self.advanced(target, at);
        let source = self.advanced(queue, at);
        let mut moving = source.messages.take(seq);
        let here = Origin { sent_to: queue, sent_as: seq, source: None, id: None };
        let origin = moving.touched.origin.as_deref().cloned().unwrap_or(here);
        let sent_as = origin.sent_as;
        change(&mut moving.touched, source, origin);
        self.queue(target).messages.put(moving);
        self.moved.remove(sent_as);
        self.moved.insert(Moved { sent_as, queue: target, seq: target_seq });
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
