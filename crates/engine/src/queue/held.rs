//! The messages of a queue, whatever its type.

use super::backlog::Backlog;
use super::chunk::Chunk;
use super::fifo::{Fifo, FifoMessages, HashKey};
use super::run::Extent;
use super::standard::{Released, Standard, StandardMessages};
use super::{Stored, Touched};
use crate::{Config, Counts, MessageSeq, Position, QueueAttributes, QueueId, StoredMessage, Timestamp};
use std::sync::Arc;

/// What both types of queue can do; each type's own operations are reached through its variant.
#[derive(Debug)]
pub(crate) enum Held {
    Standard(Standard),
    Fifo(Fifo),
}

/// A message on its way from one queue to another of the same type.
#[derive(Debug)]
pub(crate) struct Moving {
    pub(crate) touched: Touched,
    /// Its group; on FIFO queues it has one.
    group: Option<Arc<str>>,
}

impl Held {
    pub(crate) fn new(attributes: &QueueAttributes, config: &Config) -> Self {
        match attributes.fifo {
            None => Held::Standard(Standard::new(config.backlog_sizes)),
            Some(_) => Held::Fifo(Fifo::new(HashKey::new(config.hash_key))),
        }
    }

    pub(crate) fn fifo(&self) -> Option<&Fifo> {
        match self {
            Held::Standard(_) => None,
            Held::Fifo(fifo) => Some(fifo),
        }
    }

    /// # Panics
    /// If the queue is a standard one.
    pub(crate) fn fifo_mut(&mut self) -> &mut Fifo {
        match self {
            Held::Standard(_) => panic!("only a FIFO queue does that"),
            Held::Fifo(fifo) => fifo,
        }
    }

    /// The untouched messages of a standard queue that have no group.
    pub(crate) fn backlog(&self) -> Option<&Backlog> {
        match self {
            Held::Standard(standard) => Some(standard.backlog()),
            Held::Fifo(_) => None,
        }
    }

    pub(crate) fn backlog_mut(&mut self) -> Option<&mut Backlog> {
        match self {
            Held::Standard(standard) => Some(standard.backlog_mut()),
            Held::Fifo(_) => None,
        }
    }

    /// Whether nothing can be received before a run comes back.
    pub(crate) fn is_stalled(&self) -> bool {
        self.backlog().is_some_and(Backlog::is_stalled)
    }

    /// Whether a run that receives are about to reach is away and will come. Receives wait for it: their answer would be
    /// shorter than it need be.
    pub(crate) fn is_wanting(&self) -> bool {
        self.backlog().is_some_and(Backlog::is_wanting)
    }

    pub(crate) fn counts(&self) -> Counts {
        match self {
            Held::Standard(standard) => standard.counts(),
            Held::Fifo(fifo) => fifo.counts(),
        }
    }

    pub(crate) fn in_flight_count(&self) -> usize {
        match self {
            Held::Standard(standard) => standard.in_flight_count(),
            Held::Fifo(fifo) => fifo.in_flight_count(),
        }
    }

    /// How many tenants of a standard queue are noisy now.
    pub(crate) fn noisy_tenant_count(&self) -> usize {
        match self {
            Held::Standard(standard) => standard.noisy_tenant_count(),
            Held::Fifo(_) => 0,
        }
    }

    /// Stores a message that was accepted at `now`.
    pub(crate) fn accept(
        &mut self,
        now: Timestamp,
        message: &StoredMessage,
        position: Position,
        visible_at: Timestamp,
    ) {
        let stored = Stored { seq: message.seq, position, sent_at: message.sent_at };
        let is_delayed = visible_at > now;
        let message = &message.message;
        let group = message.group_id.as_deref();
        match self {
            Held::Standard(standard) if is_delayed => standard.add_delayed(stored, visible_at, group),
            Held::Standard(standard) => standard.add(stored, group),
            Held::Fifo(fifo) => fifo.accept(stored, message, is_delayed),
        }
    }

    /// Messages that can be delivered now, in the order in which they should be, at most `max`.
    pub(crate) fn next_visible(&mut self, max: usize) -> Vec<MessageSeq> {
        match self {
            Held::Standard(standard) => standard.next_visible(max),
            Held::Fifo(fifo) => fifo.next_visible(max),
        }
    }

    pub(crate) fn receive(&mut self, seq: MessageSeq, now: Timestamp, visible_at: Timestamp) {
        match self {
            Held::Standard(standard) => standard.receive(seq, now, visible_at),
            Held::Fifo(fifo) => fifo.receive(seq, now, visible_at),
        }
    }

    /// A message that was received at least once and is not deleted, in flight or visible again.
    pub(crate) fn received(&self, seq: MessageSeq) -> Option<&Touched> {
        match self {
            Held::Standard(standard) => standard.received(seq),
            Held::Fifo(fifo) => fifo.received(seq),
        }
    }

    /// What is known of a message, whatever its state.
    pub(crate) fn get(&self, seq: MessageSeq) -> Option<Touched> {
        match self {
            Held::Standard(standard) => standard.get(seq),
            Held::Fifo(fifo) => fifo.get(seq),
        }
    }

    /// Whether a receive could find the message, were it the next one.
    pub(crate) fn is_visible(&self, seq: MessageSeq) -> bool {
        match self {
            Held::Standard(standard) => standard.is_visible(seq),
            Held::Fifo(fifo) => fifo.is_visible(seq),
        }
    }

    pub(crate) fn change_visibility(&mut self, seq: MessageSeq, visible_at: Timestamp) {
        match self {
            Held::Standard(standard) => standard.change_visibility(seq, visible_at),
            Held::Fifo(fifo) => fifo.change_visibility(seq, visible_at),
        }
    }

    pub(crate) fn delete(&mut self, seq: MessageSeq) -> Released {
        match self {
            Held::Standard(standard) => standard.delete(seq),
            Held::Fifo(fifo) => fifo.delete(seq),
        }
    }

    /// Takes out a visible message.
    pub(crate) fn take(&mut self, seq: MessageSeq) -> Moving {
        match self {
            Held::Standard(standard) => {
                let (touched, group) = standard.take(seq);
                Moving { touched, group }
            }
            Held::Fifo(fifo) => {
                let (touched, group) = fifo.take(seq);
                Moving { touched, group: Some(group) }
            }
        }
    }

    /// Puts in a message that was taken out of a queue of the same type, visible.
    pub(crate) fn put(&mut self, Moving { touched, group }: Moving) {
        match self {
            Held::Standard(standard) => standard.put_moved(touched, group.as_deref()),
            Held::Fifo(fifo) => {
                fifo.put_moved(touched, &group.expect("messages stay in queues of their type"));
            }
        }
    }

    /// Ends delays, timeouts and retention periods that are over at `now`.
    pub(crate) fn advance(
        &mut self,
        now: Timestamp,
        attributes: &QueueAttributes,
        released: &mut Vec<Released>,
    ) {
        let retention = attributes.retention_period;
        match self {
            Held::Standard(standard) => standard.advance(now, retention, released),
            Held::Fifo(fifo) => fifo.advance(now, retention, attributes.delay, released),
        }
    }

    /// When something next happens by itself.
    pub(crate) fn next_due(&self, attributes: &QueueAttributes) -> Option<Timestamp> {
        match self {
            Held::Standard(standard) => standard.next_due(attributes.retention_period),
            Held::Fifo(fifo) => fifo.next_due(attributes.retention_period, attributes.delay),
        }
    }

    /// When the oldest message that is not delayed was sent.
    pub(crate) fn oldest_sent_at(&self) -> Option<Timestamp> {
        match self {
            Held::Standard(standard) => standard.oldest_sent_at(),
            Held::Fifo(fifo) => fifo.oldest_sent_at(),
        }
    }

    /// Notes that the message's record moved, and that the new one names `holder`, this queue, and this number.
    pub(crate) fn relocate(&mut self, seq: MessageSeq, position: Position, holder: QueueId) -> Released {
        match self {
            Held::Standard(standard) => standard.relocate(seq, position, holder),
            Held::Fifo(fifo) => fifo.relocate(seq, position, holder),
        }
    }

    /// Drops every message.
    pub(crate) fn clear(&mut self, released: &mut Vec<Released>) {
        match self {
            Held::Standard(standard) => standard.clear(released),
            Held::Fifo(fifo) => fifo.clear(released),
        }
    }

    /// Messages that were moved here: the numbers their records have, and their own.
    pub(crate) fn moved(&self) -> Vec<(MessageSeq, MessageSeq)> {
        let numbers = |touched: &Touched| Some((touched.origin.as_ref()?.sent_as, touched.stored.seq));
        match self {
            Held::Standard(standard) => standard.moved().filter_map(numbers).collect(),
            Held::Fifo(fifo) => fifo.moved().filter_map(numbers).collect(),
        }
    }

    pub(crate) fn snapshot(&self) -> Messages {
        match self {
            Held::Standard(standard) => Messages::Standard(standard.snapshot()),
            Held::Fifo(fifo) => Messages::Fifo(fifo.snapshot()),
        }
    }

    pub(crate) fn restore(messages: Messages, config: &Config) -> Self {
        match messages {
            Messages::Standard(messages) => Held::Standard(Standard::restore(messages, config.backlog_sizes)),
            Messages::Fifo(messages) => Held::Fifo(Fifo::restore(messages, HashKey::new(config.hash_key))),
        }
    }
}

/// The messages of a queue as plain data; what a checkpoint keeps of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Of a standard queue.
    Standard(StandardMessages),
    /// Of a FIFO queue.
    Fifo(FifoMessages),
}

impl Messages {
    /// The place of every message's record, in no particular order. Of what is written out only `read` knows the chunks.
    pub fn for_each_position(
        &self,
        read: &mut impl FnMut(&Extent) -> Vec<Chunk>,
        mut visit: impl FnMut(Position),
    ) {
        match self {
            Messages::Standard(messages) => messages.for_each_position(read, visit),
            Messages::Fifo(messages) => {
                messages.messages.iter().for_each(|message| visit(message.touched.stored.position));
            }
        }
    }
}
