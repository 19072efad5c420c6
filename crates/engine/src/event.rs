//! Everything that can happen to the engine's state; the only input of `apply`.

use crate::{
    AttributeChange, MessageId, MessageSeq, MoveTaskId, MoveTaskOutcome, QueueAddress, Receipt,
    StoredMessage, Tags, Timestamp,
};

/// The number of a queue: grows with every creation, never reused, so that a queue created anew under an old
/// name is another queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u64);

/// One change of state. Ends of visibility timeouts, delays and retention are no events: they follow from
/// the events' own times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A queue came to be.
    QueueCreated {
        /// Its number.
        queue: QueueId,
        /// Its address.
        address: QueueAddress,
        /// Attributes off their defaults.
        attributes: Vec<AttributeChange>,
        /// Its tags.
        tags: Tags,
    },
    /// A queue went away with all its messages.
    QueueDeleted {
        /// The queue.
        queue: QueueId,
    },
    /// Attributes of a queue changed.
    AttributesSet {
        /// The queue.
        queue: QueueId,
        /// The new values.
        attributes: Vec<AttributeChange>,
    },
    /// Tags were added or overwritten.
    QueueTagged {
        /// The queue.
        queue: QueueId,
        /// The tags.
        tags: Tags,
    },
    /// Tags were removed.
    QueueUntagged {
        /// The queue.
        queue: QueueId,
        /// Their keys.
        keys: Vec<Box<str>>,
    },
    /// All messages of a queue went away.
    QueuePurged {
        /// The queue.
        queue: QueueId,
    },
    /// A message was accepted.
    MessageSent {
        /// The message; `sent_at` is the event's time.
        stored: StoredMessage,
        /// When it becomes visible; not after `sent_at` if it is not delayed.
        visible_at: Timestamp,
    },
    /// Messages of one queue were received together.
    MessagesReceived {
        /// The queue.
        queue: QueueId,
        /// The messages.
        messages: Vec<MessageSeq>,
        /// Until when they stay hidden.
        visible_at: Timestamp,
        /// The attempt id, on FIFO queues.
        attempt_id: Option<Box<str>>,
    },
    /// A receive of a FIFO queue was repeated by its attempt id.
    ReceiveRepeated {
        /// The queue.
        queue: QueueId,
        /// What it had received, all of it still in flight.
        messages: Vec<MessageSeq>,
        /// Until when they stay hidden now.
        visible_at: Timestamp,
    },
    /// A received message's visibility was set anew.
    VisibilityChanged {
        /// The message; the receive it names need not be the newest.
        receipt: Receipt,
        /// When it becomes visible.
        visible_at: Timestamp,
    },
    /// A message went to its queue's dead-letter queue, as it is: its record stays where it was.
    MessageDeadLettered {
        /// The queue it left.
        queue: QueueId,
        /// The message.
        seq: MessageSeq,
        /// The dead-letter queue.
        target: QueueId,
        /// Its number there: on standard queues the one it had.
        target_seq: MessageSeq,
    },
    /// A message went from a dead-letter queue to another queue, where it is a new one; its record stays where it was.
    MessageRedriven {
        /// The queue it left.
        queue: QueueId,
        /// The message.
        seq: MessageSeq,
        /// The queue it went to.
        target: QueueId,
        /// Its number there.
        target_seq: MessageSeq,
        /// Its new public id.
        id: MessageId,
        /// Whether the queue's running move task did it.
        by_task: bool,
    },
    /// A move task began.
    MoveTaskStarted {
        /// The queue that is emptied.
        queue: QueueId,
        /// The task.
        id: MoveTaskId,
        /// Where its messages go; `None` returns each to the queue it came from.
        destination: Option<QueueAddress>,
        /// Messages a second; `None` leaves the pace to the server.
        rate: Option<u32>,
        /// Messages that were there to be moved.
        to_move: u64,
    },
    /// The queue's running move task ended.
    MoveTaskEnded {
        /// The queue.
        queue: QueueId,
        /// How it ended.
        outcome: MoveTaskOutcome,
    },
    /// A message was deleted.
    MessageDeleted {
        /// The queue.
        queue: QueueId,
        /// The message.
        seq: MessageSeq,
    },
    /// A message's record was written anew; nothing else about it changed.
    MessageRelocated {
        /// The message, with the queue that holds it now.
        stored: StoredMessage,
    },
}
