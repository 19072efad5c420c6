//! Moving messages out of dead-letter queues: tasks that do it at a pace, and the redrive of chosen messages.
//!
//! A redriven message is a new one where it comes to: with another id, another send time and no receives.

use super::{Engine, Journal};
use crate::queue::{Pace, READ_AHEAD};
use crate::{
    Error, Event, MessageSeq, MoveTaskFailure, MoveTaskId, MoveTaskOutcome, QueueAddress, QueueId, Reply,
    RequestId, Timestamp, limits,
};
use std::time::Duration;

/// Messages that a task moves in one turn, so that others have theirs.
const TURN_MAX: u64 = 100;
const _: () = assert!(TURN_MAX <= READ_AHEAD as u64, "what a turn takes is in memory");
/// When the next turn of a task without a rate comes.
const NEXT_TURN: Duration = Duration::from_millis(1);

impl Engine {
    #[expect(clippy::too_many_arguments, reason = "the parts of one command")]
    pub(super) fn start_move_task(
        &mut self,
        now: Timestamp,
        request: RequestId,
        source: &QueueAddress,
        destination: Option<QueueAddress>,
        rate: Option<u32>,
        id: MoveTaskId,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        let queue = self.find(source).map_err(|_| Error::MoveSourceMissing)?;
        self.check_destination(source, destination.as_ref())?;
        let Reply::Queues { names, .. } = self.list_sources(source, None, 1) else {
            unreachable!("a listing")
        };
        if names.is_empty() {
            return Err(Error::SourceNotDeadLetterQueue);
        }
        if self.queue(queue).move_tasks.running().is_some() {
            return Err(Error::MoveTaskRunning);
        }
        self.check_task_count(source)?;
        self.advance(now, queue);
        let to_move = self.queue(queue).messages.counts().visible;
        self.commit(now, &Event::MoveTaskStarted { queue, id, destination, rate, to_move }, journal);
        journal.reply(request, Ok(Reply::Done));
        self.run_move_task(now, queue, journal);
        Ok(())
    }

    fn check_destination(
        &self,
        source: &QueueAddress,
        destination: Option<&QueueAddress>,
    ) -> Result<(), Error> {
        let Some(destination) = destination else { return Ok(()) };
        self.find(destination).map_err(|_| Error::MoveDestinationMissing)?;
        if destination == source {
            return Err(Error::MoveToItself);
        }
        if destination.name.is_fifo() != source.name.is_fifo() {
            return Err(Error::MoveTypesDiffer);
        }
        Ok(())
    }

    fn check_task_count(&self, source: &QueueAddress) -> Result<(), Error> {
        let of_account = self.queues.values().filter(|queue| queue.address.account == source.account);
        let running = of_account.filter(|queue| queue.move_tasks.running().is_some()).count();
        let limit = limits::MOVE_TASKS_MAX;
        if running < limit { Ok(()) } else { Err(Error::TooManyMoveTasks { limit }) }
    }

    pub(super) fn list_move_tasks(&self, source: &QueueAddress, max: usize) -> Result<Reply, Error> {
        let queue = self.find(source).map_err(|_| Error::MoveSourceMissing)?;
        let tasks = self.queues[&queue].move_tasks.all().iter().rev();
        Ok(Reply::MoveTasks(tasks.take(max).cloned().collect()))
    }

    pub(super) fn cancel_move_task(
        &mut self,
        now: Timestamp,
        request: RequestId,
        source: &QueueAddress,
        id: MoveTaskId,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        let queue = self.find(source).map_err(|_| Error::MoveSourceMissing)?;
        let running = self.queue(queue).move_tasks.running().filter(|task| task.id == id);
        let moved = running.ok_or(Error::MoveTaskMissing)?.moved;
        self.end_move_task(now, queue, MoveTaskOutcome::Cancelled, journal);
        journal.reply(request, Ok(Reply::MoveTaskCancelled { moved }));
        Ok(())
    }

    fn end_move_task(
        &mut self,
        now: Timestamp,
        queue: QueueId,
        outcome: MoveTaskOutcome,
        journal: &mut impl Journal,
    ) {
        self.arm_move(None, queue);
        self.commit(now, &Event::MoveTaskEnded { queue, outcome }, journal);
    }

    /// Lets a queue's move task go as far as its pace allows now, and arms its next step.
    pub(super) fn run_move_task(&mut self, now: Timestamp, id: QueueId, journal: &mut impl Journal) {
        self.arm_move(None, id);
        let queue = self.queue(id);
        let Some(task) = queue.move_tasks.running().cloned() else { return };
        if task.started_at + limits::MOVE_TASK_TIME_MAX <= now {
            let outcome = MoveTaskOutcome::Failed(MoveTaskFailure::TimedOut);
            return self.end_move_task(now, id, outcome, journal);
        }
        let mut next_step = now + NEXT_TURN;
        match queue.move_tasks.pace(now, TURN_MAX).expect("it runs") {
            Pace::Wait(until) => next_step = until,
            Pace::Move(count) => {
                let count = count.min(task.to_move - task.moved);
                if let Err(outcome) = self.move_some(now, id, &task.destination, task.id, count, journal) {
                    return self.end_move_task(now, id, outcome, journal);
                }
                let task = self.queue(id).move_tasks.running().expect("only its end ends it");
                if task.moved >= task.to_move {
                    return self.end_move_task(now, id, MoveTaskOutcome::Completed, journal);
                }
            }
        }
        self.arm_move(Some(next_step), id);
    }

    /// Sets when the queue's move task goes on.
    pub(crate) fn arm_move(&mut self, next_step: Option<Timestamp>, id: QueueId) {
        if let Some(armed) = std::mem::replace(&mut self.queue(id).move_tasks.armed_at, next_step) {
            self.timers.disarm_move(armed, id);
        }
        if let Some(next_step) = next_step {
            self.timers.arm_move(next_step, id);
        }
    }

    /// Moves the oldest visible messages of a queue; fails with how the task ends when there is nothing more to do.
    fn move_some(
        &mut self,
        now: Timestamp,
        id: QueueId,
        destination: &Option<QueueAddress>,
        task: MoveTaskId,
        count: u64,
        journal: &mut impl Journal,
    ) -> Result<(), MoveTaskOutcome> {
        self.advance(now, id);
        let count = usize::try_from(count).expect("a turn is short");
        let messages = self.queue(id).messages.next_visible(count);
        if messages.is_empty() && !self.queue(id).messages.is_stalled() {
            return Err(MoveTaskOutcome::Completed);
        }
        for seq in messages {
            let moved = self.redrive_one(now, (id, seq), destination.as_ref(), (task, true), journal);
            moved.map_err(|error| {
                MoveTaskOutcome::Failed(match error {
                    Error::MoveSourceUnknown => MoveTaskFailure::SourceUnknown,
                    _ => MoveTaskFailure::DestinationMissing,
                })
            })?;
        }
        self.settle(now, id, journal);
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one command")]
    pub(super) fn redrive(
        &mut self,
        now: Timestamp,
        request: RequestId,
        queue: &QueueAddress,
        destination: Option<&QueueAddress>,
        messages: &[MessageSeq],
        id: MoveTaskId,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        assert!(messages.len() <= limits::PEEK_MAX, "the caller bounds a redrive");
        let source = self.find(queue)?;
        self.check_destination(queue, destination)?;
        self.advance(now, source);
        let one = |seq: &MessageSeq| self.redrive_one(now, (source, *seq), destination, (id, false), journal);
        let results = messages.iter().map(one).collect();
        journal.reply(request, Ok(Reply::Settled(results)));
        // Nobody who waits on the source gains: what stands behind a visible message waits for others, too.
        self.read_ahead(source);
        Ok(())
    }

    fn redrive_one(
        &mut self,
        now: Timestamp,
        (queue, seq): (QueueId, MessageSeq),
        destination: Option<&QueueAddress>,
        (task, by_task): (MoveTaskId, bool),
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        let messages = &self.queue(queue).messages;
        if !messages.is_visible(seq) {
            return Err(Error::MessageNotVisible);
        }
        let origin = messages.get(seq).and_then(|touched| touched.origin);
        let source = origin.as_ref().and_then(|origin| origin.source.as_ref());
        let destination = destination.or(source).ok_or(Error::MoveSourceUnknown)?;
        let target = self.find(destination).map_err(|_| Error::MoveDestinationMissing)?;
        if target == queue {
            return Err(Error::MoveToItself);
        }
        let (target_seq, id) = (self.next_seq(), task.message_id(seq));
        self.commit(now, &Event::MessageRedriven { queue, seq, target, target_seq, id, by_task }, journal);
        self.unsettled.insert(target);
        Ok(())
    }
}
