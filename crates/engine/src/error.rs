//! Why the engine refuses a command.

use thiserror::Error;

/// A refusal. Nothing was changed, except where a batch says otherwise entry by entry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// No queue has that address.
    #[error("the queue does not exist")]
    QueueMissing,
    /// A queue of that name exists with another value of an attribute given.
    #[error("a queue of that name exists with another value of {attribute}")]
    QueueExists {
        /// The first given attribute that differs.
        attribute: &'static str,
    },
    /// A queue of that name was deleted less than 60 seconds ago.
    #[error("a queue of that name was deleted less than 60 seconds ago")]
    QueueDeletedRecently,
    /// The queue was purged less than 60 seconds ago.
    #[error("the queue was purged less than 60 seconds ago")]
    PurgeInProgress,
    /// The attribute belongs to FIFO queues and the queue is a standard one.
    #[error("{attribute} is an attribute of FIFO queues")]
    AttributeOfFifo {
        /// The attribute.
        attribute: &'static str,
    },
    /// A FIFO queue would become a standard one.
    #[error("the type of a queue never changes")]
    QueueTypeFixed,
    /// `perMessageGroupId` was asked for while deduplication is not by message group.
    #[error("a throughput limit per message group needs deduplication per message group")]
    ThroughputLimitNeedsGroupScope,
    /// A message for a FIFO queue has no deduplication id, and the queue does not make one of the body.
    #[error("the message has no deduplication id and the queue has no content-based deduplication")]
    DeduplicationIdMissing,
    /// The visibility timeout of that receive is over, which ends the receipt on a FIFO queue.
    #[error("the receipt handle has expired")]
    ReceiptExpired,
    /// Messages of the receive that is to be repeated were deleted or their visibility was changed.
    #[error("the receive cannot be repeated: some of its messages were deleted or changed")]
    AttemptNotRetryable,
    /// KMS encryption and managed encryption were asked for together.
    #[error("one kind of encryption at a time")]
    EncryptionConflict,
    /// A redrive policy names a dead-letter queue that does not exist.
    #[error("the dead-letter queue does not exist")]
    DeadLetterMissing,
    /// A redrive policy names a queue of the other kind.
    #[error("the dead-letter queue is of another type than its source")]
    DeadLetterType,
    /// The dead-letter queue's redrive allow policy does not allow this source.
    #[error("the dead-letter queue does not allow this source queue")]
    DeadLetterForbidden,
    /// The queue's policy is no longer the one that was read.
    #[error("the policy was changed meanwhile")]
    PolicyChanged,
    /// The queue has as many tags as a queue may have.
    #[error("a queue has at most {limit} tags")]
    TooManyTags {
        /// The limit.
        limit: usize,
    },
    /// The server has as many queues as it may have.
    #[error("this server holds at most {limit} queues")]
    TooManyQueues {
        /// The limit.
        limit: usize,
    },
    /// The message is longer than the queue allows.
    #[error("the message is longer than {limit} bytes")]
    MessageTooLong {
        /// The queue's `MaximumMessageSize`.
        limit: u32,
    },
    /// The queue has as many messages in flight as a queue may have.
    #[error("too many messages are in flight")]
    OverLimit,
    /// As many receives wait as a server lets wait.
    #[error("too many receives are waiting")]
    TooManyWaiting,
    /// The receipt was issued by another queue.
    #[error("the receipt handle is not one of this queue")]
    ReceiptOfOtherQueue,
    /// The message is gone: its visibility cannot be changed.
    #[error("the message does not exist or is not available for a visibility change")]
    NotAvailable,
    /// The new timeout would hide the message for more than 12 hours since its receive.
    #[error("the total visibility timeout exceeds 12 hours")]
    VisibilityBeyondLimit,
    /// The queue whose messages are to be moved does not exist.
    #[error("the source queue does not exist")]
    MoveSourceMissing,
    /// The queue that messages are to be moved to does not exist.
    #[error("the destination queue does not exist")]
    MoveDestinationMissing,
    /// Messages would be moved to where they are.
    #[error("source and destination are the same queue")]
    MoveToItself,
    /// Messages would be moved to a queue of the other type.
    #[error("source and destination are queues of different types")]
    MoveTypesDiffer,
    /// Only dead-letter queues are emptied by move tasks.
    #[error("the source is no queue's dead-letter queue")]
    SourceNotDeadLetterQueue,
    /// A move task of that queue runs.
    #[error("a move task of that queue is running")]
    MoveTaskRunning,
    /// No such move task runs.
    #[error("the move task does not exist or does not run")]
    MoveTaskMissing,
    /// The account has as many running move tasks as it may have.
    #[error("at most {limit} move tasks of an account run at the same time")]
    TooManyMoveTasks {
        /// The limit.
        limit: usize,
    },
    /// The message was sent to its queue directly, and no destination was given.
    #[error("the message came from no other queue and no destination was given")]
    MoveSourceUnknown,
    /// The message is gone, in flight or delayed.
    #[error("the message is not visible")]
    MessageNotVisible,
    /// The disk has no room for new messages; deletes are still accepted.
    #[error("no room for new messages: delete messages or make room on the disk")]
    StorageFull,
}
