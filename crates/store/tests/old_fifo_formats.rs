//! Directories with FIFO queues and move tasks, written by every released version, open today.
//!
//! `fixtures/v1-fifo/` holds what `live` does, half of it in a checkpoint; `fixtures/v1-fifo.txt` says what must be found
//! in it. Both are written as `old_formats.rs` tells, by
//!
//! ```text
//! TIDEGATE_WRITE_FIXTURE=1 cargo test -p tidegate-store --test old_fifo_formats
//! ```

mod util;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use tidegate_engine::{
    AttributeChange, Command, Config, DeduplicationScope, Delivery, Event, FifoThroughputLimit, MoveTaskId,
    Receive, RedrivePolicy, Reply, RequestId, SendEntry, Tags, Timestamp,
};
use tidegate_log::{Appender, Keeper, MemoryStorage, Position, Reader, SegmentedLog};
use tidegate_store::{MemoryBudget, Shard, codec, recover};
use util::fixture::{dump, fixtures, load};
use util::machine::config;
use util::{START, address, message, none_away, secs};

const WRITE: &str = "TIDEGATE_WRITE_FIXTURE";
const SEGMENT_BYTES: u32 = 64 << 10;

#[test]
fn fifo_queues_of_every_version_open() {
    if std::env::var_os(WRITE).is_some() {
        let mut server = Server::open(MemoryStorage::new());
        server.live();
        dump(&server.storage, &fixtures().join("v1-fifo"));
        std::fs::write(fixtures().join("v1-fifo.txt"), describe(&load(&fixtures().join("v1-fifo"))))
            .expect("writes");
    }
    let expected = std::fs::read_to_string(fixtures().join("v1-fifo.txt")).expect("reads");
    assert_eq!(describe(&load(&fixtures().join("v1-fifo"))), expected);
}

#[test]
fn the_directory_holds_the_records_of_fifo_queues_and_move_tasks() {
    if std::env::var_os(WRITE).is_some() {
        return; // It is being written.
    }
    let opened =
        SegmentedLog::open(load(&fixtures().join("v1-fifo")), config(SEGMENT_BYTES), [0; 16]).expect("opens");
    let (mut all, mut in_checkpoint) = (BTreeSet::new(), BTreeSet::new());
    let mut visit = |position: Position, record: bytes::Bytes, _: &tidegate_log::FrameInfo| {
        let event = codec::decode(&record).expect("decodes").1;
        let kind = match event {
            Event::MessagesReceived { attempt_id: Some(_), .. } => "attempt",
            Event::ReceiveRepeated { .. } => "repetition",
            Event::MessageDeadLettered { seq, target_seq, .. } if seq != target_seq => "dead letter",
            Event::MessageRedriven { by_task: true, .. } => "task's move",
            Event::MessageRedriven { by_task: false, .. } => "redrive",
            Event::MoveTaskStarted { .. } => "task",
            Event::MoveTaskEnded { .. } => "end",
            _ => return ControlFlow::Continue(()),
        };
        all.insert(kind);
        if position < opened.replay_from {
            in_checkpoint.insert(kind);
        }
        ControlFlow::Continue(())
    };
    let (from, to) = (Position::segment_start(opened.tail.segment()), opened.tail);
    opened.reader.scan(from, to, &mut visit).expect("reads");
    assert_eq!(all.len(), 7, "{all:?}");
    assert_eq!(in_checkpoint, all, "each before the checkpoint and after it");
}

/// Everything the engine knows, and that every message's record is there.
fn describe(storage: &MemoryStorage) -> String {
    let opened = SegmentedLog::open(storage.clone(), config(SEGMENT_BYTES), [0; 16]).expect("opens");
    let recovered = recover(opened, Config::default(), MemoryBudget::UNLIMITED).expect("recovers");
    let snapshot = recovered.shard.engine().snapshot();
    snapshot.for_each_position(none_away, |position| {
        let record = recovered.reader.read(position.0.into()).expect("a live message's record");
        codec::decode_message(&record).expect("decodes").expect("a message's record");
    });
    format!("{snapshot:#?}\n")
}

struct Server {
    storage: MemoryStorage,
    shard: Shard<MemoryStorage>,
    appender: Appender<MemoryStorage>,
    reader: Reader<MemoryStorage>,
    keeper: Keeper<MemoryStorage>,
    now: Timestamp,
    messages: u64,
}

impl Server {
    fn open(storage: MemoryStorage) -> Self {
        let opened = SegmentedLog::open(storage.clone(), config(SEGMENT_BYTES), [7; 16]).expect("opens");
        let recovered = recover(opened, Config::default(), MemoryBudget::UNLIMITED).expect("recovers");
        let (shard, appender, keeper) = (recovered.shard, recovered.appender, recovered.keeper);
        let reader = recovered.reader;
        Server { storage, shard, appender, reader, keeper, now: START, messages: 0 }
    }

    fn call(&mut self, command: Command) -> Reply {
        self.shard.handle(self.now, RequestId(1), command);
        let commit = self.shard.take_commit().expect("an answer");
        self.appender.append(&commit.frame.into_iter().collect::<Vec<_>>()).expect("appends");
        let (_, reply) = commit.replies.into_iter().next().expect("an answer");
        reply.expect("accepted")
    }

    fn send(&mut self, queue: &str, group: &str, deduplication_id: &str) {
        self.messages += 1;
        let mut message = message(self.messages, 20);
        message.group_id = Some(group.into());
        message.deduplication_id = Some(deduplication_id.into());
        let entries = vec![SendEntry { message, delay: None, content_based: false }];
        self.call(Command::Send { queue: address(queue), entries });
    }

    fn receive(&mut self, queue: &str, timeout: u64, attempt_id: Option<&str>) -> Vec<Delivery> {
        let receive = Receive {
            queue: address(queue),
            max: 10,
            visibility_timeout: Some(secs(timeout)),
            wait: Some(secs(0)),
            attempt_id: attempt_id.map(Into::into),
        };
        match self.call(Command::Receive(receive)) {
            Reply::Received(got) => got,
            other => panic!("not received: {other:?}"),
        }
    }

    fn create(&mut self, name: &str, more: &[AttributeChange]) {
        let mut attributes = vec![AttributeChange::FifoQueue(true)];
        attributes.extend_from_slice(more);
        self.call(Command::CreateQueue { queue: address(name), attributes, tags: Tags::new() });
    }

    /// Everything once before a checkpoint, and once after it.
    fn live(&mut self) {
        self.create("dead.fifo", &[AttributeChange::ContentBasedDeduplication(true)]);
        let redrive = RedrivePolicy { dead_letter_target: address("dead.fifo"), max_receive_count: 1 };
        self.create(
            "work.fifo",
            &[
                AttributeChange::DeduplicationScope(DeduplicationScope::MessageGroup),
                AttributeChange::FifoThroughputLimit(FifoThroughputLimit::PerMessageGroupId),
                AttributeChange::RedrivePolicy(Some(redrive)),
            ],
        );
        self.create("slow.fifo", &[AttributeChange::DelaySeconds(secs(900))]);
        for half in ["first", "second"] {
            self.half(half);
            if half == "first" {
                let checkpoint = self.shard.checkpoint(self.now);
                checkpoint.store(&mut self.keeper, &self.reader).expect("stores");
            }
        }
    }

    fn half(&mut self, half: &str) {
        let id = |name: &str| format!("{half} {name}");
        self.send("slow.fifo", "s", &id("slow"));
        // Three dead letters, of which a task moves one and a redrive another; the next task goes on running.
        for name in ["a", "b", "c"] {
            self.send("work.fifo", &id(name), &id(name));
        }
        assert!(self.receive("work.fifo", 0, None).len() >= 3);
        self.now = self.now + secs(1);
        assert!(self.receive("work.fifo", 0, None).is_empty(), "they are dead letters now");
        let task = |n| {
            MoveTaskId([
                n,
                u8::try_from(half.len()).expect("short"),
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                1,
            ])
        };
        let start =
            |id, rate| Command::StartMoveTask { source: address("dead.fifo"), destination: None, rate, id };
        self.call(start(task(1), Some(1)));
        self.call(Command::CancelMoveTask { source: address("dead.fifo"), id: task(1) });
        let peek = Command::Peek { queue: address("dead.fifo"), after: None, max: 1 };
        let Reply::Peeked(peeked) = self.call(peek) else { panic!("not peeked") };
        self.call(Command::Redrive {
            queue: address("dead.fifo"),
            destination: Some(address("slow.fifo")),
            messages: vec![peeked[0].touched.stored.seq],
            id: task(2),
        });
        let running = start(task(3), Some(1));
        if half == "second" {
            self.call(running);
        }
        // A receive and its repetition; one message of the next one is deleted, which makes it unrepeatable.
        self.send("work.fifo", &id("again"), &id("again"));
        let got = self.receive("work.fifo", 600, Some(&id("attempt")));
        assert!(!got.is_empty());
        assert_eq!(self.receive("work.fifo", 1_200, Some(&id("attempt"))), got);
        self.send("work.fifo", &id("group"), &id("open"));
        self.send("work.fifo", &id("group"), &id("left"));
        let got = self.receive("work.fifo", 900, Some(&id("void")));
        self.call(Command::Delete { queue: address("work.fifo"), receipts: vec![got[0].receipt] });
        self.send("work.fifo", "waiting", &id("waiting"));
        self.now = self.now + secs(2);
    }
}
