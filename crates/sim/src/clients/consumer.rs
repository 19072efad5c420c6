//! A consumer: receives, works for a while with heartbeats, deletes, or gives up in one of several ways.

use super::{Client, News, Next};
use crate::history::Content;
use crate::machine::Answer;
use crate::queues::address;
use std::time::Duration;
use tidegate_engine::{Command, QueueAddress, Receipt, Receive, Reply, limits};

pub(super) struct Consumer {
    random: fastrand::Rng,
    queue: QueueAddress,
    /// Longest work on what one receive gave, in milliseconds.
    work: u64,
    held: Vec<Receipt>,
    /// Heartbeats that are still to be sent before the work is done.
    heartbeats: u32,
    asked: Asked,
    /// What its attempt ids begin with, and how many there were.
    attempts: (u32, u64),
    /// A receive with an attempt id that was not answered.
    repeat: Option<Receive>,
}

/// What was asked for last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Receive,
    Heartbeat,
    End,
}

impl Consumer {
    pub(super) fn new(mut random: fastrand::Rng, queue: &str) -> Self {
        let work = random.choice([10, 300, 3_000]).expect("one of three");
        Consumer {
            queue: address(queue),
            work,
            held: Vec::new(),
            heartbeats: 0,
            asked: Asked::Receive,
            attempts: (random.u32(..), 0),
            random,
            repeat: None,
        }
    }

    fn receive(&mut self) -> Next {
        self.asked = Asked::Receive;
        if let Some(receive) = self.repeat.clone() {
            return Next::Ask(Command::Receive(receive));
        }
        let random = &mut self.random;
        let timeout = (random.u32(0..3) > 0).then(|| Duration::from_secs(random.u64(0..12)));
        let wait = match random.u32(0..4) {
            0 => None,
            1 => Some(Duration::ZERO),
            _ => Some(Duration::from_secs(random.u64(1..=20))),
        };
        let with_attempt = self.queue.name.is_fifo() && random.u32(0..3) == 0;
        let (name, number) = self.attempts;
        let attempt_id = with_attempt.then(|| format!("{name:x}-{number}").into());
        self.attempts.1 += 1;
        let receive = Receive {
            queue: self.queue.clone(),
            max: self.random.usize(1..=limits::BATCH_ENTRIES),
            visibility_timeout: timeout,
            wait,
            attempt_id,
        };
        self.repeat = receive.attempt_id.is_some().then(|| receive.clone());
        Next::Ask(Command::Receive(receive))
    }

    fn take(&mut self, answer: &Answer) -> Next {
        self.repeat = None;
        let Ok(Reply::Received(deliveries)) = &answer.outcome else {
            return Next::Rest(self.random.u64(100..1_000));
        };
        // What could not be read was left out of the answer.
        let read = deliveries.iter().zip(&answer.contents);
        let read = read.filter(|(_, content)| matches!(content, Content::Whole(_)));
        self.held = read.map(|(delivery, _)| delivery.receipt).collect();
        self.heartbeats = if self.random.u32(0..4) == 0 { self.random.u32(1..4) } else { 0 };
        Next::Rest(self.random.u64(0..=self.work))
    }

    /// Tells that the work takes longer.
    fn heartbeat(&mut self) -> Next {
        self.heartbeats -= 1;
        self.asked = Asked::Heartbeat;
        let timeout = Duration::from_secs(self.random.u64(1..15));
        let changes = self.held.iter().map(|receipt| (*receipt, timeout)).collect();
        Next::Ask(Command::ChangeVisibility { queue: self.queue.clone(), changes })
    }

    fn end(&mut self) -> Next {
        self.asked = Asked::End;
        let queue = self.queue.clone();
        match self.random.u32(0..20) {
            0..15 => Next::Ask(Command::Delete { queue, receipts: self.held.clone() }),
            15 => {
                let some = self.random.usize(0..self.held.len());
                self.held.drain(..some);
                Next::Ask(Command::Delete { queue, receipts: self.held.clone() })
            }
            16 | 17 => {
                let changes = self.held.iter().map(|receipt| (*receipt, Duration::ZERO)).collect();
                Next::Ask(Command::ChangeVisibility { queue, changes })
            }
            _ => {
                self.held.clear();
                Next::Rest(self.random.u64(0..=self.work))
            }
        }
    }

    fn work_on(&mut self) -> Next {
        match (self.held.is_empty(), self.heartbeats) {
            (true, _) => self.receive(),
            (false, 0) => self.end(),
            (false, _) => self.heartbeat(),
        }
    }
}

impl Client for Consumer {
    fn go_on(&mut self, news: News<'_>) -> Next {
        match (news, self.asked) {
            (News::Woke, _) => self.work_on(),
            (News::Answered(answer), Asked::Receive) => self.take(answer),
            (News::Answered(_) | News::NoAnswer, Asked::Heartbeat) => {
                Next::Rest(self.random.u64(0..=self.work))
            }
            (News::Answered(_), Asked::End) => {
                self.held.clear();
                Next::Rest(self.random.u64(0..50))
            }
            (News::NoAnswer, Asked::Receive) => Next::Rest(self.random.u64(0..50)),
            (News::NoAnswer, Asked::End) if self.random.bool() => self.work_on(),
            (News::NoAnswer, Asked::End) => {
                self.held.clear();
                Next::Rest(self.random.u64(0..50))
            }
        }
    }

    fn forget(&mut self) {
        self.held.clear();
        self.repeat = None;
    }
}
