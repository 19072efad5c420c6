//! What was seen at the server's door: requests going in, answers coming out, and now and then all that is stored.
//!
//! Checkers know nothing else. What a request may do it may do from the moment it goes in; what an answer promises holds
//! from the moment it comes out. A request that is under way when the process ends may have been done, or not.

use tidegate_engine::{
    Command, MoveTask, Peeked, QueueAddress, QueueView, RequestId, StoredMessage, Timestamp,
};
use tidegate_store::Outcome;

/// One thing that was seen. Instants are those of the server's clock.
#[derive(Clone, Copy, Debug)]
pub enum Fact<'a> {
    /// A request went in.
    Asked {
        /// When.
        now: Timestamp,
        /// Its number; no other request has it, in whatever life.
        request: RequestId,
        /// What it asks for.
        command: &'a Command,
    },
    /// An answer came out. Requests that were handled earlier are answered earlier.
    Answered {
        /// When.
        now: Timestamp,
        /// The request.
        request: RequestId,
        /// What it asked for.
        command: &'a Command,
        /// The answer.
        outcome: &'a Outcome,
        /// For each delivery in the answer, what was read for it.
        contents: &'a [Content],
    },
    /// The process ended.
    Ended,
    /// The medium was damaged under what is stored, or mended.
    Damaged(bool),
    /// Everything that is stored, at a moment when nothing was under way but receives that wait.
    Looked(&'a Look),
}

/// What was read for a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A message.
    Whole(StoredMessage),
    /// Its record was gone.
    Missing,
    /// Its record was found damaged, or the medium refused to read it; the server reported that.
    Unreadable,
}

/// Everything that is stored.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// When, by the server's clock.
    pub now: Timestamp,
    /// The queues, in the order of their addresses.
    pub queues: Vec<LookedQueue>,
    /// Receives that wait.
    pub parked: usize,
    /// Receives that wait as far as their callers know.
    pub waiting: usize,
    /// Bytes of backlogs in memory that could be put away, of a server whose memory setting allows none.
    pub memory_bytes: Option<usize>,
}

/// A queue with its messages.
#[derive(Clone, Debug)]
pub struct LookedQueue {
    /// Its address.
    pub address: QueueAddress,
    /// Its description.
    pub view: QueueView,
    /// Its messages in the order of their numbers, with what was read for each.
    pub messages: Vec<(Peeked, Content)>,
    /// Its move tasks, newest first.
    pub tasks: Vec<MoveTask>,
}

impl Look {
    /// Whether some of what is stored does not show, because what it is listed in cannot be read.
    pub fn is_partial(&self) -> bool {
        let all = |queue: &LookedQueue| {
            let counts = queue.view.counts;
            counts.visible + counts.in_flight + counts.delayed
        };
        self.queues.iter().any(|queue| (queue.messages.len() as u64) < all(queue))
    }
}
