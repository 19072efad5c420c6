//! One table of everything that happens by itself at some instant, and one next deadline.

use crate::{QueueId, RequestId, Timestamp};
use std::collections::BTreeSet;

/// Deadlines of queues (an end of visibility, delay or retention), of parked receives and of move tasks; at most one a
/// queue.
///
/// A queue's timer may be early, never late: finding nothing due, its owner arms it again. That keeps the
/// table still while messages are received and deleted in order.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queues: BTreeSet<(Timestamp, QueueId)>,
    parked: BTreeSet<(Timestamp, RequestId)>,
    moves: BTreeSet<(Timestamp, QueueId)>,
}

impl Timers {
    /// Arms the timer of a queue; the caller remembers the earliest instant it armed.
    pub(crate) fn arm_queue(&mut self, at: Timestamp, queue: QueueId) {
        self.queues.insert((at, queue));
    }

    /// Takes back what was armed, before another instant is armed or when the queue goes away: entries left
    /// to run out would pile up for as long as the longest retention period.
    pub(crate) fn disarm_queue(&mut self, at: Timestamp, queue: QueueId) {
        self.queues.remove(&(at, queue));
    }

    pub(crate) fn arm_parked(&mut self, at: Timestamp, request: RequestId) {
        self.parked.insert((at, request));
    }

    pub(crate) fn disarm_parked(&mut self, at: Timestamp, request: RequestId) {
        self.parked.remove(&(at, request));
    }

    /// The earliest deadline of all.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let queue = self.queues.first().map(|(at, _)| *at);
        let parked = self.parked.first().map(|(at, _)| *at);
        let moving = self.moves.first().map(|(at, _)| *at);
        queue.into_iter().chain(parked).chain(moving).min()
    }

    /// Takes one queue timer that is due.
    pub(crate) fn due_queue(&mut self, now: Timestamp) -> Option<(Timestamp, QueueId)> {
        let due = *self.queues.first().filter(|(at, _)| *at <= now)?;
        self.queues.remove(&due);
        Some(due)
    }

    /// Arms the next step of a queue's move task.
    pub(crate) fn arm_move(&mut self, at: Timestamp, queue: QueueId) {
        self.moves.insert((at, queue));
    }

    pub(crate) fn disarm_move(&mut self, at: Timestamp, queue: QueueId) {
        self.moves.remove(&(at, queue));
    }

    /// Takes one move task whose next step is due.
    pub(crate) fn due_move(&mut self, now: Timestamp) -> Option<QueueId> {
        let due = *self.moves.first().filter(|(at, _)| *at <= now)?;
        self.moves.remove(&due);
        Some(due.1)
    }

    /// The parked receive whose deadline is due first; it stays armed.
    pub(crate) fn due_parked(&self, now: Timestamp) -> Option<RequestId> {
        self.parked.first().filter(|(at, _)| *at <= now).map(|(_, request)| *request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_is_armed_anew_leaves_nothing_behind() {
        let mut timers = Timers::default();
        let (queue, far) = (QueueId(7), Timestamp::from_millis(1 << 40));
        timers.arm_queue(far, queue);
        for n in 0..100 {
            let near = Timestamp::from_millis(n);
            timers.disarm_queue(far, queue);
            timers.arm_queue(near, queue);
            assert_eq!(timers.due_queue(near), Some((near, queue)));
            timers.arm_queue(far, queue);
        }
        assert_eq!(timers.queues.len(), 1);
    }
}
