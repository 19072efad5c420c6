//! The engine alone: decisions and the index of queues, nothing encoded, nothing written.

use crate::sample::{NOW, create, grouped, message, receive, send};
use crate::{Outcome, Run, Workload};
use std::time::Duration;
use tidegate_engine::{
    Command, Config, Engine, Error, Event, Journal, Message, Position, Receipt, Reply, RequestId, Timestamp,
};

pub(crate) const WORKLOADS: &[Workload] = &[
    Workload { name: "engine: send", operations: MESSAGES, prepare: || sends("q", standard) },
    Workload { name: "engine: receive and delete", operations: MESSAGES, prepare: || drains("q", standard) },
    Workload { name: "engine: time out and receive again", operations: MESSAGES, prepare: timeouts },
    Workload {
        name: "engine: FIFO send, 1,000 groups",
        operations: MESSAGES,
        prepare: || sends("q.fifo", fifo),
    },
    Workload {
        name: "engine: FIFO receive and delete, 1,000 groups",
        operations: MESSAGES,
        prepare: || drains("q.fifo", fifo),
    },
];

const MESSAGES: u64 = 4_000;
const GROUPS: u64 = 1_000;

fn standard(number: u64) -> Message {
    message(number)
}

fn fifo(number: u64) -> Message {
    grouped(number, GROUPS)
}

/// Gives each event a position and keeps the last reply.
#[derive(Default)]
struct Log {
    end: u64,
    reply: Option<Result<Reply, Error>>,
}

impl Journal for Log {
    fn append(&mut self, _: Timestamp, _: &Event) -> Position {
        // As far apart as records with a small body are.
        self.end += 400;
        Position(self.end)
    }

    fn reply(&mut self, _: RequestId, reply: Result<Reply, Error>) {
        self.reply = Some(reply);
    }
}

struct Bench {
    engine: Engine,
    log: Log,
    name: &'static str,
}

impl Bench {
    fn new(name: &'static str) -> Self {
        let mut bench = Bench { engine: Engine::new(Config::default()), log: Log::default(), name };
        bench.ask(NOW, create(name));
        bench
    }

    fn ask(&mut self, now: Timestamp, command: Command) -> Reply {
        self.engine.handle(now, RequestId(1), command, &mut self.log);
        while self.engine.poll_released().is_some() {}
        self.log.reply.take().expect("nothing waits").expect("nothing is refused")
    }

    fn receive(&mut self, now: Timestamp) -> Vec<Receipt> {
        match self.ask(now, receive(self.name)) {
            Reply::Received(deliveries) => deliveries.iter().map(|delivery| delivery.receipt).collect(),
            other => panic!("a receive was answered by {other:?}"),
        }
    }

    /// Receives ten at a time until nothing comes; how many came.
    fn receive_all(&mut self, now: Timestamp, delete: bool) -> u64 {
        let mut count = 0;
        loop {
            let receipts = self.receive(now);
            if receipts.is_empty() {
                return count;
            }
            count += receipts.len() as u64;
            if delete {
                let queue = crate::sample::address(self.name);
                self.ask(now, Command::Delete { queue, receipts });
            }
        }
    }
}

fn commands(name: &str, make: fn(u64) -> Message) -> Vec<Command> {
    (0..MESSAGES).map(|number| send(name, vec![make(number)])).collect()
}

fn filled(name: &'static str, make: fn(u64) -> Message) -> Bench {
    let mut bench = Bench::new(name);
    for command in commands(name, make) {
        bench.ask(NOW, command);
    }
    bench
}

fn sends(name: &'static str, make: fn(u64) -> Message) -> Run {
    let mut bench = Bench::new(name);
    let commands = commands(name, make);
    Box::new(move || {
        for command in commands {
            bench.ask(NOW, command);
        }
        Box::new(bench) as Outcome
    })
}

fn drains(name: &'static str, make: fn(u64) -> Message) -> Run {
    let mut bench = filled(name, make);
    Box::new(move || {
        assert_eq!(bench.receive_all(NOW, true), MESSAGES);
        Box::new(bench)
    })
}

fn timeouts() -> Run {
    let mut bench = filled("q", standard);
    assert_eq!(bench.receive_all(NOW, false), MESSAGES);
    Box::new(move || {
        // The default visibility timeout is 30 s.
        assert_eq!(bench.receive_all(NOW + Duration::from_secs(31), false), MESSAGES);
        Box::new(bench)
    })
}
