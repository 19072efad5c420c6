//! Operators: they change attributes, purge queues, and move dead letters back.

use super::{Client, News, Next};
use crate::queues::{self, address};
use std::time::Duration;
use tidegate_engine::{AttributeChange, Command, MoveTaskId, RedrivePolicy, Reply, limits};

/// What an operator looks after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    Attributes,
    Purges,
    MoveTasks,
}

pub(super) struct Operator {
    random: fastrand::Rng,
    duty: Duty,
    /// Longest pause between two things that it does, in milliseconds.
    pause: u64,
    /// A move task that is known to run.
    running: Option<(&'static str, MoveTaskId)>,
    /// The queue whose move tasks were asked for last.
    listed: &'static str,
}

impl Operator {
    pub(super) fn new(mut random: fastrand::Rng, duty: Duty) -> Self {
        let pause = if duty == Duty::Purges { 30_000 } else { random.choice([1_000, 5_000]).expect("one") };
        Operator { random, duty, pause, running: None, listed: queues::ORDERS_DEAD }
    }

    fn change(&mut self) -> Command {
        let random = &mut self.random;
        let name = random.choice(queues::ALL).expect("one of several");
        let dead = queues::dead_letter_queue(name);
        let attribute = match (random.u32(0..3), dead) {
            (0, Some(dead)) => AttributeChange::RedrivePolicy((random.u32(0..4) > 0).then(|| {
                RedrivePolicy { dead_letter_target: address(dead), max_receive_count: random.u32(1..=4) }
            })),
            (1, None) if queues::stays(&address(name).name) => {
                AttributeChange::DelaySeconds(Duration::from_secs(random.u64(0..=2)))
            }
            _ => AttributeChange::VisibilityTimeout(Duration::from_secs(random.u64(0..=20))),
        };
        Command::SetQueueAttributes { queue: address(name), attributes: vec![attribute] }
    }

    /// Starts a task, or ends the one that runs.
    fn move_back(&mut self) -> Command {
        if let Some((name, id)) = self.running.take().filter(|_| self.random.bool()) {
            return Command::CancelMoveTask { source: address(name), id };
        }
        self.listed = self.random.choice([queues::ORDERS_DEAD, queues::STEPS_DEAD]).expect("one of two");
        let source = address(self.listed);
        if self.random.bool() {
            return Command::ListMoveTasks { source, max: limits::BATCH_ENTRIES };
        }
        let rate = self.random.bool().then(|| self.random.u32(1..=20));
        // The server gives it another one.
        let id = MoveTaskId([0; 16]);
        Command::StartMoveTask { source, destination: None, rate, id }
    }

    fn do_something(&mut self) -> Command {
        match self.duty {
            Duty::Attributes => self.change(),
            Duty::Purges => {
                let name = self.random.choice(queues::ALL).expect("one of several");
                Command::PurgeQueue { queue: address(name) }
            }
            Duty::MoveTasks => self.move_back(),
        }
    }
}

impl Client for Operator {
    fn go_on(&mut self, news: News<'_>) -> Next {
        if let News::Woke = news
            && self.random.bool()
        {
            return Next::Ask(self.do_something());
        }
        if let News::Answered(answer) = news
            && let Ok(Reply::MoveTasks(tasks)) = &answer.outcome
        {
            let running = tasks.iter().find(|task| task.outcome.is_none());
            self.running = running.map(|task| (self.listed, task.id));
        }
        Next::Rest(self.random.u64(1..=self.pause))
    }

    fn forget(&mut self) {
        self.running = None;
    }
}
