//! One queue: what it is called, how it is set up, the messages it holds and the receives that wait on it.

mod backlog;
mod chunk;
mod delayed;
mod fifo;
mod held;
mod in_flight;
mod move_task;
mod ordered;
mod peek;
mod pool;
mod row;
mod run;
mod standard;
mod tenants;
mod visible;
mod waiting;

pub use backlog::BacklogSizes;
pub(crate) use backlog::{Backlog, Evicted, READ_AHEAD};
pub use chunk::{Chunk, ChunkMalformed, Stored};
pub(crate) use fifo::Repetition;
pub use fifo::{Attempt, FifoMessage, FifoMessages, FifoState, Remembered, Turn};
pub(crate) use held::Held;
pub use held::Messages;
pub use move_task::{MoveTask, MoveTaskFailure, MoveTaskId, MoveTaskOutcome};
pub(crate) use move_task::{MoveTasks, Pace};
pub(crate) use ordered::{Keyed, Ordered};
pub use peek::{Peeked, PeekedState};
pub(crate) use run::Run;
pub use run::{Extent, ExtentPlace, Footprint, Portion};
pub(crate) use standard::Released;
pub use standard::{StandardMessages, TenantMessages};
pub(crate) use waiting::{Parked, Place, Waiting, Wanted};

use crate::{
    MessageId, MessageSeq, Position, QueueAddress, QueueAttributes, QueueId, QueueView, RequestId, Tags,
    Timestamp,
};
use std::sync::Arc;

/// What is known of a message that was received, or that became visible out of the order of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Where its record is, and when it was sent.
    pub stored: Stored,
    /// Receives so far; zero for a message whose delay has just ended.
    pub receive_count: u32,
    /// When it was first received.
    pub first_received_at: Timestamp,
    /// When it was last received; the 12-hour limit counts from here. Zero for a dead letter in a FIFO queue before its
    /// first receive there.
    pub received_at: Timestamp,
    /// Where it came from, if it is a dead letter.
    pub origin: Option<Arc<Origin>>,
}

/// Where a message came from that was moved from queue to queue; its record stays where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The queue that its record names: the one it was sent to.
    pub sent_to: QueueId,
    /// The number that its record has.
    pub sent_as: MessageSeq,
    /// The queue it left last as a dead letter; that may be gone meanwhile. `None` after a redrive.
    pub source: Option<QueueAddress>,
    /// The public id that a redrive gave it.
    pub id: Option<MessageId>,
}

impl Keyed for Touched {
    type Key = MessageSeq;

    fn key(&self) -> MessageSeq {
        self.stored.seq
    }
}

impl Touched {
    pub(crate) fn never_received(stored: Stored) -> Self {
        Touched { stored, ..Touched::default() }
    }

    /// Notes that the record moved; the new one names the queue and says of the message what is known here. Returns what
    /// held the message before.
    fn relocate(&mut self, position: Position, holder: QueueId) -> Released {
        let old = Released::of(self);
        self.stored.position = position;
        self.origin = self.origin.take().filter(|origin| origin.source.is_some()).map(|origin| {
            Arc::new(Origin { sent_to: holder, sent_as: self.stored.seq, id: None, ..(*origin).clone() })
        });
        old
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) id: QueueId,
    pub(crate) address: QueueAddress,
    pub(crate) attributes: QueueAttributes,
    pub(crate) tags: Tags,
    pub(crate) created_at: Timestamp,
    pub(crate) modified_at: Timestamp,
    pub(crate) purged_at: Option<Timestamp>,
    pub(crate) messages: Held,
    pub(crate) move_tasks: MoveTasks,
    /// Not part of the durable state.
    pub(crate) waiting: Waiting,
    /// Receives that wait, although they asked not to, for messages that are away. Not part of the durable state.
    pub(crate) hurried: Vec<RequestId>,
    /// What of its chunks the engine has counted. Not part of the durable state.
    pub(crate) footprint: Footprint,
    /// The earliest instant for which the engine's timer table holds an entry. Not part of the durable state.
    pub(crate) armed_at: Option<Timestamp>,
    /// Whether the last receive stopped moving dead letters with more to do. Not part of the durable state.
    pub(crate) moves_left: bool,
}

impl Queue {
    /// Lets time pass for the queue's messages.
    pub(crate) fn advance(&mut self, now: Timestamp, released: &mut Vec<Released>) {
        self.messages.advance(now, &self.attributes, released);
    }

    /// When something next happens to the queue's messages by itself.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.messages.next_due(&self.attributes)
    }

    pub(crate) fn view(&self, next_seq: MessageSeq) -> QueueView {
        QueueView {
            address: self.address.clone(),
            attributes: self.attributes.clone(),
            tags: self.tags.clone(),
            created_at: self.created_at,
            modified_at: self.modified_at,
            counts: self.messages.counts(),
            next_seq,
        }
    }
}
