//! Everything a caller can ask of the engine, and everything it answers.

use crate::{
    AccountId, AttributeChange, Document, Message, MessageId, MessageSeq, MoveTask, MoveTaskId, Origin,
    Peeked, Position, QueueAddress, QueueAttributes, QueueName, Receipt, Region, StoredMessage, Timestamp,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The caller's number for one request; a reply carries it back. Unique among the requests under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Tags of a queue, in key order.
pub type Tags = BTreeMap<Box<str>, Box<str>>;

/// A request to the engine. Values are parsed and in range; only what depends on state is left to check.
#[derive(Clone, Debug)]
pub enum Command {
    /// Creates a queue, or confirms one whose given attributes are equal. Reply: `Done`.
    CreateQueue {
        /// The queue.
        queue: QueueAddress,
        /// Attributes off their defaults; the order is the client's.
        attributes: Vec<AttributeChange>,
        /// Tags of a new queue; not compared with an existing one's.
        tags: Tags,
    },
    /// Deletes a queue and all it holds. Parked receives end with an error. Reply: `Done`.
    DeleteQueue {
        /// The queue.
        queue: QueueAddress,
    },
    /// Asks whether a queue exists. Reply: `Done`.
    FindQueue {
        /// The queue.
        queue: QueueAddress,
    },
    /// Lists names in order. Reply: `Queues`.
    ListQueues {
        /// Owner of the queues.
        account: AccountId,
        /// Their region.
        region: Region,
        /// What the names start with; may be empty.
        prefix: Box<str>,
        /// Only names after this one.
        after: Option<QueueName>,
        /// At most so many, 1–1000.
        max: usize,
    },
    /// Lists the queues whose redrive policy names a queue, in name order. Reply: `Queues`.
    ListSources {
        /// The dead-letter queue.
        queue: QueueAddress,
        /// Only names after this one.
        after: Option<QueueName>,
        /// At most so many, 1–1000.
        max: usize,
    },
    /// Reads everything about a queue but its messages. Reply: `Queue`.
    ViewQueue {
        /// The queue.
        queue: QueueAddress,
    },
    /// Changes attributes; all or none. Reply: `Done`.
    SetQueueAttributes {
        /// The queue.
        queue: QueueAddress,
        /// The new values.
        attributes: Vec<AttributeChange>,
    },
    /// Changes a queue's policy if it is still the one that the change was made from. Reply: `Done`.
    ReplacePolicy {
        /// The queue.
        queue: QueueAddress,
        /// Text of the policy that was read; `None` if there was none.
        expected: Option<Box<str>>,
        /// The new policy; `None` removes it.
        policy: Option<Document>,
    },
    /// Sets tags, overwriting equal keys. Reply: `Done`.
    TagQueue {
        /// The queue.
        queue: QueueAddress,
        /// The tags.
        tags: Tags,
    },
    /// Removes tags; unknown keys are no error. Reply: `Done`.
    UntagQueue {
        /// The queue.
        queue: QueueAddress,
        /// The keys.
        keys: Vec<Box<str>>,
    },
    /// Deletes all messages of a queue. Reply: `Done`.
    PurgeQueue {
        /// The queue.
        queue: QueueAddress,
    },
    /// Stores messages. Reply: `Sent`, a result for each entry in order.
    Send {
        /// The queue.
        queue: QueueAddress,
        /// At most ten.
        entries: Vec<SendEntry>,
    },
    /// Receives messages. Reply: `Received`.
    Receive(Receive),
    /// Deletes received messages. Reply: `Settled`, a result for each receipt in order.
    Delete {
        /// The queue.
        queue: QueueAddress,
        /// At most ten.
        receipts: Vec<Receipt>,
    },
    /// Sets when received messages become visible again. Reply: `Settled`, in order.
    ChangeVisibility {
        /// The queue.
        queue: QueueAddress,
        /// Receipt and new timeout, counted from now, at most 12 hours. At most ten.
        changes: Vec<(Receipt, Duration)>,
    },
    /// Begins to move messages out of a dead-letter queue. Reply: `Done`.
    StartMoveTask {
        /// The dead-letter queue.
        source: QueueAddress,
        /// Where to; `None` returns each message to the queue it came from.
        destination: Option<QueueAddress>,
        /// Messages a second, 1–500; `None` leaves the pace to the server.
        rate: Option<u32>,
        /// A new random id.
        id: MoveTaskId,
    },
    /// Lists move tasks. Reply: `MoveTasks`.
    ListMoveTasks {
        /// The queue they empty.
        source: QueueAddress,
        /// At most so many.
        max: usize,
    },
    /// Ends the running move task. Reply: `MoveTaskCancelled`.
    CancelMoveTask {
        /// The queue it empties.
        source: QueueAddress,
        /// The task.
        id: MoveTaskId,
    },
    /// Moves chosen visible messages to another queue, where they are new. Reply: `Settled`, a result for each message.
    Redrive {
        /// The queue that has them.
        queue: QueueAddress,
        /// Where to; `None` returns each message to the queue it came from.
        destination: Option<QueueAddress>,
        /// At most [`limits::PEEK_MAX`](crate::limits::PEEK_MAX).
        messages: Vec<MessageSeq>,
        /// A new random id, of which those of the messages are made.
        id: MoveTaskId,
    },
    /// Looks at messages and changes nothing. Reply: `Peeked`.
    Peek {
        /// The queue.
        queue: QueueAddress,
        /// Only messages after this number.
        after: Option<MessageSeq>,
        /// At most so many, up to [`limits::PEEK_MAX`](crate::limits::PEEK_MAX).
        max: usize,
    },
    /// Makes messages visible again whose delivery never reached its client. Reply: `Done`.
    ReturnUndelivered {
        /// What the lost reply handed out.
        receipts: Vec<Receipt>,
    },
    /// Stores surviving messages of an old log segment anew, so that the segment can be reused. Reply: `Done`.
    Relocate {
        /// Candidates with the position they were read at; those deleted meanwhile are skipped.
        messages: Vec<(Position, StoredMessage)>,
    },
}

/// One message to be stored.
#[derive(Clone, Debug)]
pub struct SendEntry {
    /// The message.
    pub message: Message,
    /// Its delay, at most 15 minutes; `None` takes the queue's. FIFO queues know only the queue's.
    pub delay: Option<Duration>,
    /// Whether the deduplication id is a digest of the body, which the queue has to allow.
    pub content_based: bool,
}

/// A receive.
#[derive(Clone, Debug)]
pub struct Receive {
    /// The queue.
    pub queue: QueueAddress,
    /// At most so many messages, 1–10.
    pub max: usize,
    /// Visibility timeout of what is received; `None` takes the queue's.
    pub visibility_timeout: Option<Duration>,
    /// How long to wait for a first message; `None` takes the queue's.
    pub wait: Option<Duration>,
    /// `ReceiveRequestAttemptId`: on a FIFO queue a receive with the same one repeats the answer.
    pub attempt_id: Option<Box<str>>,
}

/// What a command asks of the log; decides whether it is accepted while room is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Stores something new.
    Stores,
    /// Stores messages anew so that an old segment can be given back: takes room and then makes more.
    Moves,
    /// Writes a few bytes.
    Changes,
    /// Writes a few bytes and makes room.
    Frees,
    /// Writes nothing.
    Reads,
}

impl Command {
    /// The queue that the command is about; `None` if it is about several or none.
    pub fn queue(&self) -> Option<&QueueAddress> {
        match self {
            Command::CreateQueue { queue, .. }
            | Command::DeleteQueue { queue }
            | Command::FindQueue { queue }
            | Command::ListSources { queue, .. }
            | Command::ViewQueue { queue }
            | Command::SetQueueAttributes { queue, .. }
            | Command::ReplacePolicy { queue, .. }
            | Command::TagQueue { queue, .. }
            | Command::UntagQueue { queue, .. }
            | Command::PurgeQueue { queue }
            | Command::Send { queue, .. }
            | Command::Receive(Receive { queue, .. })
            | Command::Delete { queue, .. }
            | Command::ChangeVisibility { queue, .. }
            | Command::Redrive { queue, .. }
            | Command::Peek { queue, .. }
            | Command::StartMoveTask { source: queue, .. }
            | Command::ListMoveTasks { source: queue, .. }
            | Command::CancelMoveTask { source: queue, .. } => Some(queue),
            Command::ListQueues { .. } | Command::ReturnUndelivered { .. } | Command::Relocate { .. } => None,
        }
    }

    /// What the command asks of the log.
    pub fn demand(&self) -> Demand {
        match self {
            Command::CreateQueue { .. }
            | Command::SetQueueAttributes { .. }
            | Command::ReplacePolicy { policy: Some(_), .. }
            | Command::TagQueue { .. }
            | Command::Send { .. } => Demand::Stores,
            Command::Relocate { .. } => Demand::Moves,
            Command::UntagQueue { .. }
            | Command::ReplacePolicy { policy: None, .. }
            | Command::Receive(_)
            | Command::ChangeVisibility { .. }
            | Command::StartMoveTask { .. }
            | Command::CancelMoveTask { .. }
            | Command::Redrive { .. }
            | Command::ReturnUndelivered { .. } => Demand::Changes,
            Command::DeleteQueue { .. } | Command::PurgeQueue { .. } | Command::Delete { .. } => {
                Demand::Frees
            }
            Command::FindQueue { .. }
            | Command::ListQueues { .. }
            | Command::ListSources { .. }
            | Command::ListMoveTasks { .. }
            | Command::Peek { .. }
            | Command::ViewQueue { .. } => Demand::Reads,
        }
    }
}

/// The engine's answer to a command.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It was done; there is nothing to say.
    Done,
    /// Names of queues, and whether there are more after the last.
    Queues {
        /// In name order.
        names: Vec<QueueName>,
        /// Whether another page follows.
        more: bool,
    },
    /// A queue's description.
    Queue(Box<QueueView>),
    /// What became of each entry of a send.
    Sent(Vec<Result<Sent, crate::Error>>),
    /// Received messages; empty when none was to be had.
    Received(Vec<Delivery>),
    /// Move tasks, newest first.
    MoveTasks(Vec<MoveTask>),
    /// A move task was ended.
    MoveTaskCancelled {
        /// Messages it had moved.
        moved: u64,
    },
    /// Messages in the order of their numbers; fewer than asked for when there are no more.
    Peeked(Vec<Peeked>),
    /// What became of each receipt of a delete or change, or of each message of a redrive.
    Settled(Vec<Result<(), crate::Error>>),
}

/// An accepted message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its public id; that of the first one when the message is a duplicate.
    pub id: MessageId,
    /// Its number in a FIFO queue.
    pub sequence: Option<MessageSeq>,
}

/// One received message; its content lies in the log at `position`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Proof of this receive.
    pub receipt: Receipt,
    /// Where the message's record is.
    pub position: Position,
    /// Receives so far, this one included.
    pub receive_count: u32,
    /// When it was sent to the queue, or moved there.
    pub sent_at: Timestamp,
    /// When it was first received.
    pub first_received_at: Timestamp,
    /// Where it came from, if it was moved.
    pub origin: Option<Arc<Origin>>,
}

impl Delivery {
    /// The message's public id; a redrive gave it another one than its record has.
    pub fn message_id(&self, stored: &StoredMessage) -> MessageId {
        let renewed = self.origin.as_ref().and_then(|origin| origin.id);
        renewed.unwrap_or(stored.message.id)
    }

    /// The source queue of a dead letter.
    pub fn dead_letter_source(&self) -> Option<&QueueAddress> {
        self.origin.as_ref()?.source.as_ref()
    }
}

/// Everything about a queue but its messages.
#[derive(Clone, Debug)]
pub struct QueueView {
    /// Its address.
    pub address: QueueAddress,
    /// Its attributes.
    pub attributes: QueueAttributes,
    /// Its tags.
    pub tags: Tags,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its attributes last changed.
    pub modified_at: Timestamp,
    /// Its message counts.
    pub counts: Counts,
    /// The number that the next message will have, in whatever queue: those that are there now have lower ones.
    pub next_seq: MessageSeq,
}

/// Message counts of a queue; exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that a receive would find.
    pub visible: u64,
    /// Received and neither deleted nor visible again.
    pub in_flight: u64,
    /// Not visible yet for the first time.
    pub delayed: u64,
}
