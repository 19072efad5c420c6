//! One table of everything that happens by itself at some instant, and one next deadline.

use crate::{QueueId, RequestId, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Deadlines of queues (an end of visibility, delay or retention) and of parked receives.
///
/// A queue's timer may be early, never late: finding nothing due, its owner arms it again. That keeps the
/// table still while messages are received and deleted in order.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queues: BinaryHeap<Reverse<(Timestamp, QueueId)>>,
    parked: BTreeSet<(Timestamp, RequestId)>,
}

impl Timers {
    /// Arms the timer of a queue; the caller remembers the earliest instant it armed.
    pub(crate) fn arm_queue(&mut self, at: Timestamp, queue: QueueId) {
        self.queues.push(Reverse((at, queue)));
    }

    pub(crate) fn arm_parked(&mut self, at: Timestamp, request: RequestId) {
        self.parked.insert((at, request));
    }

    pub(crate) fn disarm_parked(&mut self, at: Timestamp, request: RequestId) {
        self.parked.remove(&(at, request));
    }

    /// The earliest deadline of all.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let queue = self.queues.peek().map(|Reverse((at, _))| *at);
        let parked = self.parked.first().map(|(at, _)| *at);
        queue.into_iter().chain(parked).min()
    }

    /// Takes one queue timer that is due.
    pub(crate) fn due_queue(&mut self, now: Timestamp) -> Option<(Timestamp, QueueId)> {
        let Reverse((at, _)) = self.queues.peek()?;
        (*at <= now).then(|| self.queues.pop().expect("peeked above").0)
    }

    /// The parked receive whose deadline is due first; it stays armed.
    pub(crate) fn due_parked(&self, now: Timestamp) -> Option<RequestId> {
        self.parked.first().filter(|(at, _)| *at <= now).map(|(_, request)| *request)
    }
}
