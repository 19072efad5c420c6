//! Messages that go from queue to queue.

use super::{Hidden, Message, Naive};
use std::time::Duration;
use tidegate_engine::{
    Error, MessageId, MessageSeq, MoveTask, MoveTaskFailure, MoveTaskId, MoveTaskOutcome, QueueAddress,
};

/// How long a move task runs at most.
const TASK_TIME: Duration = Duration::from_secs(36 * 3_600);

impl Naive {
    /// Where the messages of a queue go that were received too often, and how often that is. Not to a queue that does
    /// not exist, and not back to the same.
    pub(crate) fn dead_letter_queue(&self, n: usize) -> Option<(usize, u32)> {
        let policy = self.queues[n].attributes.redrive_policy.as_ref()?;
        let target = self.named(&policy.dead_letter_target)?;
        (target != n).then_some((target, policy.max_receive_count))
    }

    /// A message became a dead letter, because somebody receives from its queue.
    pub(crate) fn bury(&mut self, n: usize, seq: MessageSeq, target: u64, target_seq: MessageSeq) {
        let (to, limit) = self.dead_letter_queue(n).expect("it has a dead-letter queue");
        assert_eq!(self.queues[to].number, target, "the one that its policy names");
        assert!(self.room(n) > 0, "nothing could be received");
        let message = self.queues[n].find(seq).expect("it is here");
        assert!(message.receives >= limit && !message.moved, "it may stay: {message:?}");
        assert!(self.queues[n].walk().contains(&seq), "no receive reaches it");
        self.take_seq(target_seq);
        let now = self.now;
        let from = self.queues[n].address.clone();
        let message = self.take_out(n, seq);
        self.note(if message.source.is_some() { "chain" } else { "dead letter" });
        let dead = Message {
            seq: target_seq,
            deduplication_id: message.id.to_string(),
            sent_at: now,
            received_at: None,
            source: Some(from),
            moved: true,
            lying: true,
            ..message
        };
        self.put_in(to, dead);
    }

    fn take_out(&mut self, n: usize, seq: MessageSeq) -> Message {
        let messages = &mut self.queues[n].messages;
        let at = messages.iter().position(|message| message.seq == seq).expect("it is here");
        assert_eq!(messages[at].hidden, Hidden::No, "only a visible message moves");
        messages.remove(at)
    }

    fn put_in(&mut self, n: usize, message: Message) {
        self.queues[n].newest = message.seq;
        self.queues[n].messages.push(message);
    }

    /// The queue that a message is to go to.
    pub(crate) fn destination(
        &self,
        n: usize,
        seq: MessageSeq,
        destination: Option<&QueueAddress>,
    ) -> Result<usize, Error> {
        let message = self.queues[n].find(seq).filter(|message| message.hidden == Hidden::No);
        let message = message.ok_or(Error::MessageNotVisible)?;
        let destination = destination.or(message.source.as_ref()).ok_or(Error::MoveSourceUnknown)?;
        let to = self.named(destination).ok_or(Error::MoveDestinationMissing)?;
        if to == n { Err(Error::MoveToItself) } else { Ok(to) }
    }

    /// A message was redriven.
    pub(crate) fn redrive(
        &mut self,
        n: usize,
        seq: MessageSeq,
        to: usize,
        target_seq: MessageSeq,
        id: MessageId,
    ) {
        self.take_seq(target_seq);
        self.take_id(id);
        let now = self.now;
        let message = self.take_out(n, seq);
        let new = Message {
            seq: target_seq,
            id,
            deduplication_id: id.to_string(),
            sent_at: now,
            receives: 0,
            first_received_at: tidegate_engine::Timestamp::ZERO,
            received_at: None,
            source: None,
            moved: false,
            lying: false,
            ..message
        };
        self.put_in(to, new);
    }

    pub(crate) fn check_destination(
        &self,
        source: &QueueAddress,
        destination: Option<&QueueAddress>,
    ) -> Result<(), Error> {
        let Some(destination) = destination else { return Ok(()) };
        self.named(destination).ok_or(Error::MoveDestinationMissing)?;
        if destination == source { Err(Error::MoveToItself) } else { Ok(()) }
    }

    /// Whether a task can begin that empties a queue.
    pub(crate) fn check_start(
        &self,
        source: &QueueAddress,
        destination: Option<&QueueAddress>,
    ) -> Result<usize, Error> {
        let n = self.named(source).ok_or(Error::MoveSourceMissing)?;
        self.check_destination(source, destination)?;
        let names_it = |queue: &super::Queue| {
            let policy = queue.attributes.redrive_policy.as_ref();
            policy.is_some_and(|policy| policy.dead_letter_target == *source)
        };
        if !self.queues.iter().any(names_it) {
            return Err(Error::SourceNotDeadLetterQueue);
        }
        if self.is_running(n) {
            return Err(Error::MoveTaskRunning);
        }
        Ok(n)
    }

    pub(crate) fn is_running(&self, n: usize) -> bool {
        self.queues[n].tasks.last().is_some_and(|task| task.outcome.is_none())
    }

    pub(crate) fn start_task(
        &mut self,
        n: usize,
        id: MoveTaskId,
        destination: Option<QueueAddress>,
        rate: Option<u32>,
    ) {
        let started_at = self.now;
        let queue = &mut self.queues[n];
        let to_move = queue.counts().0;
        let task = MoveTask { id, destination, rate, started_at, to_move, moved: 0, outcome: None };
        queue.tasks.push(task);
        if queue.tasks.len() > 10 {
            queue.tasks.remove(0);
        }
        queue.pace = Some((started_at, 0));
    }

    /// After a restart a pace counts from the first step.
    pub(crate) fn forget_paces(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.pace = None);
    }

    /// A task moved a message.
    pub(crate) fn step_of_task(
        &mut self,
        n: usize,
        seq: MessageSeq,
        target: u64,
        target_seq: MessageSeq,
        id: MessageId,
    ) {
        assert!(self.is_running(n), "a task runs");
        let task = self.queues[n].tasks.last().expect("it runs").clone();
        assert!(task.moved < task.to_move, "it has moved all that was there");
        assert!(self.now < task.started_at + TASK_TIME, "it has run for long enough");
        let next = self.next_of_turn(n);
        assert!(next.contains(&seq), "no receive reaches it");
        let to = self.destination(n, seq, task.destination.as_ref()).expect("it can go");
        assert_eq!(self.queues[to].number, target);
        let now = self.now;
        let (from, before) = *self.queues[n].pace.get_or_insert((now, task.moved));
        if let Some(rate) = task.rate {
            let elapsed = now.since(from).as_millis() as u64;
            let allowed = elapsed * u64::from(rate) / 1_000 + 1;
            assert!(
                task.moved - before < allowed,
                "{elapsed} ms at {rate} a second allow {allowed} messages"
            );
            self.note("moved at a rate");
        }
        self.redrive(n, seq, to, target_seq, id);
        self.queues[n].tasks.last_mut().expect("it runs").moved += 1;
        self.note("moved by a task");
    }

    /// The first deliverable message of every group: the order of groups changes nothing for anybody.
    fn next_of_turn(&self, n: usize) -> Vec<MessageSeq> {
        let queue = &self.queues[n];
        let mut groups = Vec::new();
        let mut firsts = Vec::new();
        for seq in queue.walk() {
            let group = &queue.find(seq).expect("walked over").group;
            if !groups.contains(&group) {
                groups.push(group);
                firsts.push(seq);
            }
        }
        firsts
    }

    /// A task ended by itself.
    pub(crate) fn end_task(&mut self, n: usize, outcome: MoveTaskOutcome) {
        assert!(self.is_running(n), "a task runs");
        let task = self.queues[n].tasks.last().expect("it runs").clone();
        let mut next = self.next_of_turn(n).into_iter();
        let mut fails = |why: &[Error]| {
            next.any(|seq| {
                self.destination(n, seq, task.destination.as_ref()).is_err_and(|error| why.contains(&error))
            })
        };
        let (may, what) = match outcome {
            MoveTaskOutcome::Completed => {
                (task.moved == task.to_move || self.queues[n].walk().is_empty(), "task completed")
            }
            MoveTaskOutcome::Cancelled => (false, "task cancelled"),
            MoveTaskOutcome::Failed(MoveTaskFailure::DestinationMissing) => {
                (fails(&[Error::MoveDestinationMissing, Error::MoveToItself]), "task without destination")
            }
            MoveTaskOutcome::Failed(MoveTaskFailure::SourceUnknown) => {
                (fails(&[Error::MoveSourceUnknown]), "task without source")
            }
            MoveTaskOutcome::Failed(MoveTaskFailure::TimedOut) => {
                (self.now >= task.started_at + TASK_TIME, "task timed out")
            }
        };
        assert!(may, "{task:?} ended with {outcome:?}");
        self.queues[n].tasks.last_mut().expect("it runs").outcome = Some(outcome);
        self.note(what);
    }
}
