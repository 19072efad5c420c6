//! A producer: sends batches, and sends again what was not acknowledged.

use super::{Client, News, Next};
use crate::content::{Tag, body, digest, id};
use crate::queues::address;
use std::time::Duration;
use tidegate_engine::{Command, Message, QueueAddress, Reply, SendEntry};

pub(super) struct Producer {
    random: fastrand::Rng,
    queue: QueueAddress,
    /// Pause between two sends, at most, in milliseconds.
    pause: u64,
    body_bytes: usize,
    next_id: u64,
    /// What was asked for last, and how often.
    last: Option<(Command, u32)>,
}

/// How often one batch is sent before it is given up.
const TRIES: u32 = 6;
const GROUPS: u64 = 4;

impl Producer {
    pub(super) fn new(mut random: fastrand::Rng, queue: &str) -> Self {
        let pause = random.choice([20, 100, 400]).expect("one of three");
        let body_bytes = random.choice([40, 200, 1_500]).expect("one of three");
        Producer { random, queue: address(queue), pause, body_bytes, next_id: 0, last: None }
    }

    fn batch(&mut self) -> Command {
        let count = if self.random.bool() { 1 } else { self.random.usize(1..=10) };
        let entries = (0..count).map(|_| self.entry()).collect();
        Command::Send { queue: self.queue.clone(), entries }
    }

    fn entry(&mut self) -> SendEntry {
        let is_fifo = self.queue.name.is_fifo();
        let has_group = is_fifo || self.random.u32(0..4) == 0;
        let group = self.random.u64(0..GROUPS);
        let delay = (!is_fifo && self.random.u32(0..5) == 0).then(|| self.random.u64(0..4));
        let unused = Tag(0);
        let message = Message {
            id: id(unused),
            body: body(unused, self.random.usize(8..=self.body_bytes)),
            body_md5: digest(unused),
            attributes: Vec::new(),
            trace_header: None,
            group_id: has_group.then(|| format!("g{group}").into()),
            deduplication_id: is_fifo.then(|| self.deduplication_id()),
            sender: "123456789012".into(),
        };
        SendEntry { message, delay: delay.map(Duration::from_secs), content_based: false }
    }

    /// A new one, mostly; sometimes one that was there before.
    fn deduplication_id(&mut self) -> Box<str> {
        self.next_id += 1;
        let number = match self.random.u32(0..10) {
            0 => self.random.u64(self.next_id.saturating_sub(30)..=self.next_id),
            _ => self.next_id,
        };
        format!("d{number}").into()
    }

    fn ask(&mut self, command: Command, tries: u32) -> Next {
        self.last = Some((command.clone(), tries));
        Next::Ask(command)
    }
}

impl Client for Producer {
    fn go_on(&mut self, news: News<'_>) -> Next {
        match news {
            News::Woke => {
                if let Some((command, tries)) = self.last.take() {
                    return self.ask(command, tries + 1);
                }
                let batch = self.batch();
                self.ask(batch, 1)
            }
            News::Answered(answer) => {
                if matches!(answer.outcome, Ok(Reply::Sent(_))) {
                    self.last = None;
                    return Next::Rest(self.random.u64(0..=self.pause));
                }
                self.last = self.last.take().filter(|(_, tries)| *tries < TRIES);
                Next::Rest(self.random.u64(200..2_000))
            }
            News::NoAnswer => match self.last.take() {
                Some((command, tries)) if tries < TRIES => self.ask(command, tries + 1),
                _ => Next::Rest(self.pause),
            },
        }
    }

    fn forget(&mut self) {
        self.last = None;
    }
}
