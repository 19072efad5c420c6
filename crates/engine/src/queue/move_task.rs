//! Move tasks: the emptying of a dead-letter queue, message by message, at a pace.

use crate::{MessageId, MessageSeq, QueueAddress, Timestamp, limits};
use std::time::Duration;

/// The number of a move task: a random UUID chosen by the caller of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MoveTaskId(pub [u8; 16]);

impl MoveTaskId {
    /// The public id of a message that is redriven: as random as the task's own, and another one for every message.
    pub(crate) fn message_id(&self, seq: MessageSeq) -> MessageId {
        let half = |bytes: &[u8], salt: u64| {
            let bytes = <[u8; 8]>::try_from(bytes).expect("half of sixteen");
            scramble(u64::from_le_bytes(bytes) ^ scramble(seq.0 ^ salt)).to_le_bytes()
        };
        let (first, second) = self.0.split_at(8);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&half(first, 0));
        bytes[8..].copy_from_slice(&half(second, u64::MAX));
        MessageId::from_random(bytes)
    }
}

/// A one-to-one mapping in which every bit of the input changes half of the output (the finalizer of SplitMix64).
fn scramble(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A move task, running or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveTask {
    /// Its id.
    pub id: MoveTaskId,
    /// Where its messages go; `None` returns each to the queue it came from.
    pub destination: Option<QueueAddress>,
    /// Messages a second, 1–500; `None` leaves the pace to the server.
    pub rate: Option<u32>,
    /// When it began.
    pub started_at: Timestamp,
    /// Messages that were visible when it began; the task ends when it has moved as many.
    pub to_move: u64,
    /// Messages moved so far.
    pub moved: u64,
    /// How it ended; `None` while it runs.
    pub outcome: Option<MoveTaskOutcome>,
}

/// How a move task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveTaskOutcome {
    /// It moved what there was.
    Completed,
    /// It was told to stop.
    Cancelled,
    /// It could not go on; the rest is where it was.
    Failed(MoveTaskFailure),
}

/// Why a move task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveTaskFailure {
    /// The destination, or a message's source queue, does not exist any more.
    DestinationMissing,
    /// A message was sent to the dead-letter queue directly, and no destination was given.
    SourceUnknown,
    /// It ran for as long as a task may.
    TimedOut,
}

/// The move tasks of a queue, oldest first; at most the last one runs.
#[derive(Debug, Default)]
pub(crate) struct MoveTasks {
    tasks: Vec<MoveTask>,
    /// From when the running task's pace counts, and what it had moved then. Not part of the durable state: after a
    /// restart nothing is made up for.
    pace: Option<(Timestamp, u64)>,
    /// The instant for which the engine's timer table holds its next step. Not part of the durable state.
    pub(crate) armed_at: Option<Timestamp>,
}

/// What the running task may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Move so many messages.
    Move(u64),
    /// Nothing before then.
    Wait(Timestamp),
}

impl MoveTasks {
    pub(crate) fn restore(tasks: Vec<MoveTask>) -> Self {
        MoveTasks { tasks, ..MoveTasks::default() }
    }

    pub(crate) fn all(&self) -> &[MoveTask] {
        &self.tasks
    }

    pub(crate) fn running(&self) -> Option<&MoveTask> {
        self.tasks.last().filter(|task| task.outcome.is_none())
    }

    /// # Panics
    /// If none runs.
    pub(crate) fn running_mut(&mut self) -> &mut MoveTask {
        let last = self.tasks.last_mut().filter(|task| task.outcome.is_none());
        last.expect("a move task runs")
    }

    pub(crate) fn start(&mut self, task: MoveTask) {
        assert!(self.running().is_none(), "one move task at a time");
        if self.tasks.len() == limits::MOVE_TASKS_KEPT {
            self.tasks.remove(0);
        }
        self.tasks.push(task);
        self.pace = None;
    }

    /// How far the running task may go at `now`, at most `max` messages.
    pub(crate) fn pace(&mut self, now: Timestamp, max: u64) -> Option<Pace> {
        let task = self.tasks.last().filter(|task| task.outcome.is_none())?;
        let Some(rate) = task.rate else { return Some(Pace::Move(max)) };
        let (from, before) = *self.pace.get_or_insert((now, task.moved));
        let (rate, moved) = (u64::from(rate), task.moved - before);
        let elapsed = u64::try_from(now.since(from).as_millis()).unwrap_or(u64::MAX);
        // The first one goes at once, the next ones at even distances.
        let allowed = (elapsed.saturating_mul(rate) / 1_000).saturating_add(1).saturating_sub(moved);
        if allowed > 0 {
            return Some(Pace::Move(allowed.min(max)));
        }
        Some(Pace::Wait(from + Duration::from_millis((moved * 1_000).div_ceil(rate))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn redriven_messages_get_ids_of_their_own() {
        let tasks = [MoveTaskId([7; 16]), MoveTaskId([8; 16])];
        let ids: HashSet<_> =
            tasks.iter().flat_map(|task| (0..10_000).map(|seq| task.message_id(MessageSeq(seq)))).collect();
        assert_eq!(ids.len(), 20_000);
    }

    #[test]
    fn a_rate_spreads_the_messages_evenly() {
        for rate in [1, 3, 7, 300, 499, 500] {
            let start = Timestamp::from_millis(1_000_000);
            let task = MoveTask {
                id: MoveTaskId([1; 16]),
                destination: None,
                rate: Some(rate),
                started_at: start,
                to_move: 2_000,
                moved: 0,
                outcome: None,
            };
            let mut tasks = MoveTasks::default();
            tasks.start(task);
            let mut now = start;
            while tasks.running().is_some_and(|task| task.moved < 2_000) {
                match tasks.pace(now, 100).expect("it runs") {
                    Pace::Move(count) => {
                        tasks.running_mut().moved += count;
                        let elapsed = now.since(start).as_millis() as u64;
                        let most = elapsed * u64::from(rate) / 1_000 + 1;
                        assert_eq!(tasks.all()[0].moved, most, "at {elapsed} ms with {rate} a second");
                    }
                    Pace::Wait(until) => {
                        assert!(until > now);
                        now = until;
                    }
                }
            }
        }
    }
}
