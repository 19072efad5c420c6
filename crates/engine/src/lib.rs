//! The queue engine of Tidegate: a deterministic state machine without clock, I/O or randomness.
//!
//! Commands and time go in, events and replies come out. [`Engine::handle`] decides and hands every decision
//! as an [`Event`] to a [`Journal`]; state changes only in [`Engine::apply`], and recovery replays the same
//! events through the same `apply`. Message bodies are not kept: the journal returns a [`Position`] for each
//! stored message, and that number is all the engine remembers of a body.
//!
//! The life of a message:
//!
//! ```text
//!            delay > 0              delay over
//!   send ──────────────▶ delayed ─────────────┐
//!     │                                       ▼         receive
//!     └─────────────────────────────────▶ visible ─────────────────▶ in flight ──▶ deleted
//!                                             ▲                          │
//!                                             └──────────────────────────┘
//!                                              timeout over, or set to 0
//!   any state ──▶ gone when the retention period ends, the queue is purged or deleted
//! ```

mod address;
mod attributes;
mod command;
mod engine;
mod error;
mod event;
pub mod limits;
mod message;
mod queue;
mod snapshot;
mod time;
mod timer;

pub use address::{AccountId, FIFO_SUFFIX, QueueAddress, QueueName, Region};
pub use attributes::{
    AttributeChange, DeduplicationScope, Document, FifoAttributes, FifoThroughputLimit,
    KMS_REUSE_PERIOD_DEFAULT, QueueAttributes, RedriveAllowPolicy, RedrivePolicy,
};
pub use command::{
    Command, Counts, Delivery, Demand, QueueView, Receive, Reply, RequestId, SendEntry, Sent, Tags,
};
pub use engine::{Config, Engine, Journal, Orphan, PolicyUpdate, QueueGauge};
pub use error::Error;
pub use event::{Event, QueueId};
pub use message::{
    AttributeValue, Message, MessageAttribute, MessageId, MessageSeq, Position, Receipt, StoredMessage,
};
pub use queue::{
    Attempt, BacklogSizes, Chunk, ChunkMalformed, Extent, ExtentPlace, FifoMessage, FifoMessages, FifoState,
    Footprint, Messages, MoveTask, MoveTaskFailure, MoveTaskId, MoveTaskOutcome, Origin, Peeked, PeekedState,
    Portion, Remembered, StandardMessages, Stored, TenantMessages, Touched, Turn,
};
pub use snapshot::{QueueSnapshot, Snapshot};
pub use time::Timestamp;
