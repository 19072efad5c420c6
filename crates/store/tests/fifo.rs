//! FIFO queues, their memories and move tasks outlive every loss of power.
//!
//! Each seed is a server's life with FIFO queues: sends and duplicates, receives with attempt ids, deletes, dead
//! letters, move tasks, redrives. Commits are appended some at a time, checkpoints stored on the way, records written
//! anew. Then the power fails, between two steps or at a chosen operation of the storage. What comes back must be,
//! field by field, the state after a commit that was at least the newest acknowledged one: messages in their groups and
//! states, deduplication ids, attempts, turns and tasks; and every message's record must be there.

mod util;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tidegate_engine::{
    AttributeChange, Command, Config, Delivery, Message, MoveTaskId, QueueAddress, Receipt, Receive,
    RedrivePolicy, Reply, RequestId, SendEntry, Snapshot, Tags, Timestamp,
};
use tidegate_log::{
    Appender, CrashPolicy, Fault, Frame, Keeper, MemoryStorage, Reader, SegmentedLog, Trigger,
};
use tidegate_store::{Checkpoint, MemoryBudget, Shard, codec, recover};
use util::machine::config;
use util::{START, address, message, millis, none_away, secs};

const QUEUES: [&str; 3] = ["a.fifo", "b.fifo", "dead.fifo"];
const IDENTITY: [u8; 16] = *b"sixteen random b";

struct Server {
    shard: Shard<MemoryStorage>,
    appender: Appender<MemoryStorage>,
    reader: Reader<MemoryStorage>,
    keeper: Keeper<MemoryStorage>,
}

fn open(storage: MemoryStorage) -> Server {
    let opened = SegmentedLog::open(storage, config(16 << 10), IDENTITY).expect("opens");
    let recovered = recover(opened, Config::default(), MemoryBudget::UNLIMITED).expect("recovers");
    let (shard, appender) = (recovered.shard, recovered.appender);
    Server { shard, appender, reader: recovered.reader, keeper: recovered.keeper }
}

struct Life {
    random: fastrand::Rng,
    storage: MemoryStorage,
    server: Server,
    now: Timestamp,
    /// Frames on their way, each with the state after it.
    pending: VecDeque<(Option<Frame>, Snapshot)>,
    durable: Snapshot,
    checkpoint: Option<Checkpoint>,
    receipts: Vec<(QueueAddress, Receipt)>,
    requests: u64,
    /// Lives in which something worth its name came back.
    seen: [u64; 4],
}

impl Life {
    fn new(seed: u64) -> Self {
        let storage = MemoryStorage::new();
        let server = open(storage.clone());
        let durable = server.shard.engine().snapshot();
        Life {
            random: fastrand::Rng::with_seed(seed),
            storage,
            server,
            now: START,
            pending: VecDeque::new(),
            durable,
            checkpoint: None,
            receipts: Vec::new(),
            requests: 0,
            seen: [0; 4],
        }
    }

    fn run(mut self) -> [u64; 4] {
        for _ in 0..self.random.usize(2..5) {
            self.create_queues();
            let alive = (0..self.random.usize(10..150)).all(|_| self.step());
            self.die(alive);
        }
        self.seen
    }

    /// Those that are there already stay as they are.
    fn create_queues(&mut self) {
        for name in ["dead.fifo", "a.fifo", "b.fifo"] {
            let mut attributes = vec![AttributeChange::FifoQueue(true)];
            let dead_letter_target = address("dead.fifo");
            let policy = RedrivePolicy { dead_letter_target, max_receive_count: 1 };
            attributes.extend((name != "dead.fifo").then_some(AttributeChange::RedrivePolicy(Some(policy))));
            self.ask(Command::CreateQueue { queue: address(name), attributes, tags: Tags::new() });
        }
    }

    fn step(&mut self) -> bool {
        match self.random.u32(0..100) {
            0..70 => {
                let command = self.command();
                self.ask(command);
            }
            70..84 => {
                let count = self.random.usize(0..=self.pending.len());
                return self.append(count);
            }
            84..92 => self.now = self.now + self.while_passes(),
            92..95 => {
                self.append(self.pending.len());
                self.checkpoint = Some(self.server.shard.checkpoint(self.now));
            }
            95..98 => {
                // Only what the log already has may be in a checkpoint.
                let durable = self.pending.is_empty();
                if let Some(checkpoint) = self.checkpoint.take().filter(|_| durable) {
                    let Server { keeper, reader, .. } = &mut self.server;
                    return checkpoint.store(keeper, reader).is_ok();
                }
            }
            _ => return self.server.keeper.prepare_spare().is_ok(),
        }
        true
    }

    fn while_passes(&mut self) -> std::time::Duration {
        let short = millis(self.random.u64(0..3_000));
        if self.random.u8(0..6) > 0 { short } else { secs(self.random.u64(0..400)) }
    }

    fn ask(&mut self, command: Command) {
        self.requests += 1;
        self.server.shard.handle(self.now, RequestId(self.requests), command);
        let Some(commit) = self.server.shard.take_commit() else { return };
        for (_, reply) in commit.replies {
            if let Ok(Reply::Received(got)) = reply {
                let got: Vec<_> = got.iter().map(|got| (self.owner(got), got.receipt)).collect();
                self.receipts.extend(got);
            }
        }
        self.pending.push_back((commit.frame, self.server.shard.engine().snapshot()));
    }

    fn owner(&self, got: &Delivery) -> QueueAddress {
        let queues = self.server.shard.engine().snapshot().queues;
        queues.into_iter().find(|queue| queue.id == got.receipt.queue).expect("it exists").address
    }

    fn append(&mut self, count: usize) -> bool {
        let frames: Vec<_> =
            self.pending.iter_mut().take(count).filter_map(|(frame, _)| frame.take()).collect();
        if self.server.appender.append(&frames).is_err() {
            return false;
        }
        if let Some((_, newest)) = self.pending.drain(..count).next_back() {
            self.durable = newest;
        }
        true
    }

    fn die(&mut self, alive: bool) {
        if alive && self.random.bool() {
            let trigger = Trigger::Operation(self.storage.operations() + self.random.u64(1..=4));
            self.storage.inject(trigger, Fault::PowerOff);
            self.append(self.pending.len());
        }
        self.storage = self.storage.crash(CrashPolicy::Seeded(self.random.u64(..)));
        self.server = open(self.storage.clone());
        let found = self.advanced(self.server.shard.engine().snapshot());
        let candidates =
            std::iter::once(self.durable.clone()).chain(self.pending.drain(..).map(|(_, state)| state));
        let candidates: Vec<_> = candidates.collect();
        let is_it = |candidate: &Snapshot| self.advanced(candidate.clone()) == found;
        assert!(candidates.iter().any(is_it), "{found:#?} is no state that may be: {candidates:#?}");
        self.checkpoint = None;
        found.for_each_position(none_away, |position| {
            let record = self.server.reader.read(position.0.into()).expect("a live message's record");
            codec::decode_message(&record).expect("decodes").expect("a message's record");
        });
        self.note(&found);
        self.durable = self.server.shard.engine().snapshot();
    }

    fn note(&mut self, found: &Snapshot) {
        for queue in &found.queues {
            let tidegate_engine::Messages::Fifo(messages) = &queue.messages else {
                panic!("FIFO queues only")
            };
            let running = queue.move_tasks.iter().any(|task| task.outcome.is_none());
            let moved = messages.messages.iter().any(|message| message.touched.origin.is_some());
            let came_back = [!messages.remembered.is_empty(), !messages.attempts.is_empty(), moved, running];
            for (seen, came_back) in self.seen.iter_mut().zip(came_back) {
                *seen += u64::from(came_back);
            }
        }
    }

    /// A state as it is when time has passed.
    fn advanced(&self, snapshot: Snapshot) -> Snapshot {
        let mut engine = tidegate_engine::Engine::restore(Config::default(), snapshot);
        engine.gauges(self.now);
        // A start from a checkpoint begins at that one's time.
        Snapshot { at: Timestamp::ZERO, ..engine.snapshot() }
    }

    fn command(&mut self) -> Command {
        let queue = address(QUEUES[self.random.usize(0..3)]);
        self.requests += 1;
        let id = MoveTaskId(u128::from(self.requests).to_be_bytes());
        match self.random.u32(0..100) {
            0..35 => {
                let entries = (0..self.random.usize(1..4)).map(|_| self.entry()).collect();
                Command::Send { queue, entries }
            }
            35..65 => {
                let attempts = [None, None, Some("x"), Some("y")];
                let attempt_id = attempts[self.random.usize(0..4)].map(Into::into);
                let visibility_timeout = Some(secs(self.random.u64(0..20)));
                let max = self.random.usize(1..=10);
                Command::Receive(Receive { queue, max, visibility_timeout, wait: Some(secs(0)), attempt_id })
            }
            65..80 => match self.random.choice(&self.receipts).cloned() {
                Some((queue, receipt)) => Command::Delete { queue, receipts: vec![receipt] },
                None => Command::FindQueue { queue },
            },
            80..84 => match self.random.choice(&self.receipts).cloned() {
                Some((queue, receipt)) => Command::ChangeVisibility {
                    queue,
                    changes: vec![(receipt, secs(self.random.u64(0..40)))],
                },
                None => Command::FindQueue { queue },
            },
            84..90 => {
                let rate = [None, Some(1), Some(1)][self.random.usize(0..3)];
                let destination = [None, Some(address("a.fifo"))][self.random.usize(0..2)].clone();
                Command::StartMoveTask { source: address("dead.fifo"), destination, rate, id }
            }
            90..93 => {
                let snapshot = self.server.shard.engine().snapshot();
                let dead = snapshot.queues.iter().find(|queue| queue.address == address("dead.fifo"));
                let Some(tidegate_engine::Messages::Fifo(dead)) = dead.map(|queue| &queue.messages) else {
                    panic!("it exists")
                };
                let messages =
                    dead.messages.iter().map(|message| message.touched.stored.seq).step_by(2).collect();
                Command::Redrive { queue: address("dead.fifo"), destination: None, messages, id }
            }
            93 => Command::PurgeQueue { queue },
            _ if self.pending.is_empty() => self.relocate(),
            _ => Command::FindQueue { queue },
        }
    }

    fn entry(&mut self) -> SendEntry {
        self.requests += 1;
        let number = if self.random.bool() { self.requests } else { self.random.u64(0..4) };
        let group = format!("g{}", self.random.u8(0..3));
        let message = Message {
            group_id: Some(group.into()),
            deduplication_id: Some(format!("id {number}").into()),
            ..message(self.requests, self.random.usize(0..200))
        };
        SendEntry { message, delay: None, content_based: false }
    }

    /// Writes some of the records anew, wherever their messages are now.
    fn relocate(&mut self) -> Command {
        let mut positions = Vec::new();
        self.server
            .shard
            .engine()
            .snapshot()
            .for_each_position(none_away, |position| positions.push(position));
        let candidate = |position: tidegate_engine::Position| {
            let record = self.server.reader.read(position.0.into()).expect("a live message's record");
            (position, codec::decode_message(&record).expect("decodes").expect("a message's record"))
        };
        Command::Relocate { messages: positions.into_iter().step_by(3).map(candidate).collect() }
    }
}

#[test]
fn fifo_queues_survive_every_loss_of_power() {
    if let Ok(seed) = std::env::var("TIDEGATE_SEED") {
        Life::new(seed.parse().expect("a number")).run();
        return;
    }
    let count = if std::env::var_os("TIDEGATE_LONG").is_some() { 10_000 } else { 300 };
    let mut seen = [0; 4];
    for seed in 0..count {
        match catch_unwind(AssertUnwindSafe(|| Life::new(seed).run())) {
            Ok(of_seed) => seen.iter_mut().zip(of_seed).for_each(|(seen, more)| *seen += more),
            Err(panic) => {
                eprintln!("seed {seed} failed; replay it with:");
                eprintln!("TIDEGATE_SEED={seed} cargo test -p tidegate-store --test fifo");
                resume_unwind(panic);
            }
        }
    }
    assert!(
        seen.iter().all(|seen| seen * 10 >= count),
        "ids, attempts, moved messages, running tasks: {seen:?}"
    );
}
