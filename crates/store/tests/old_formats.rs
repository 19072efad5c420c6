//! Directories written by every released version open today, with everything in them.
//!
//! `fixtures/v1/` holds a small directory as version 1 of the format wrote it: sealed segments, one that was
//! recycled, an active one, two checkpoints with records after them, and every kind of record and of field. What
//! must be found in it stands in `fixtures/v1.txt`.
//!
//! For the next version of the format: copy nothing, raise `VERSION` here, run
//!
//! ```text
//! TIDEGATE_WRITE_FIXTURE=1 cargo test -p tidegate-store --test old_formats
//! ```
//!
//! read the text that was written beside the new directory, and commit both. Directories of released versions are
//! never written again.

mod util;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use tidegate_engine::{
    AttributeChange, Command, Document, Event, Receive, RedriveAllowPolicy, RedrivePolicy, Reply, SendEntry,
    Tags, Timestamp,
};
use tidegate_log::{MemoryStorage, Position, SegmentedLog};
use tidegate_store::codec;
use util::fixture::{dump, fixtures, load};
use util::machine::{Machine, config};
use util::{address, create, secs, send};

/// The version that is written today; all up to it are read.
const VERSION: u32 = 1;
/// Asks for the directory of this version to be written anew.
const WRITE: &str = "TIDEGATE_WRITE_FIXTURE";
const SEGMENT_BYTES: u32 = 8 << 10;

#[test]
fn directories_of_every_version_open() {
    if std::env::var_os(WRITE).is_some() {
        write_fixture();
    }
    for version in 1..=VERSION {
        let storage = load(&fixtures().join(format!("v{version}")));
        let expected = std::fs::read_to_string(fixtures().join(format!("v{version}.txt"))).expect("reads");
        let found = describe(storage);
        assert_eq!(found, expected, "version {version}");
    }
}

#[test]
fn the_newest_directory_holds_every_kind_of_record() {
    if std::env::var_os(WRITE).is_some() {
        return; // It is being written.
    }
    let storage = load(&fixtures().join(format!("v{VERSION}")));
    let mut opened = SegmentedLog::open(storage, config(SEGMENT_BYTES), [0; 16]).expect("opens");
    let mut kinds = BTreeSet::new();
    let mut before_checkpoint = BTreeSet::new();
    let mut visit = |position: Position, record: bytes::Bytes, _: &tidegate_log::FrameInfo| {
        let (_, event) = codec::decode(&record).expect("decodes");
        let kind = kind(&event);
        kinds.insert(kind);
        if position < opened.replay_from {
            before_checkpoint.insert(kind);
        }
        ControlFlow::Continue(())
    };
    // One by one: those between were retired.
    let sealed = opened.keeper.sealed_segments().into_iter().map(|segment| segment.number);
    for number in sealed.chain([opened.tail.segment()]) {
        let (from, to) = (Position::segment_start(number), Position::segment_start(number + 1));
        opened.reader.scan(from, to, &mut visit).expect("reads");
    }
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
    assert!(!before_checkpoint.is_empty(), "some of it is in the checkpoint");
    assert!(opened.keeper.prepare_spare().expect("prepares a spare segment"));
}

/// Kinds of events there are; the match below fails to compile when there are more.
const KINDS: usize = 12;

fn kind(event: &Event) -> &'static str {
    match event {
        Event::QueueCreated { .. } => "QueueCreated",
        Event::QueueDeleted { .. } => "QueueDeleted",
        Event::AttributesSet { .. } => "AttributesSet",
        Event::QueueTagged { .. } => "QueueTagged",
        Event::QueueUntagged { .. } => "QueueUntagged",
        Event::QueuePurged { .. } => "QueuePurged",
        Event::MessageSent { .. } => "MessageSent",
        Event::MessagesReceived { .. } => "MessagesReceived",
        Event::VisibilityChanged { .. } => "VisibilityChanged",
        Event::MessageDeleted { .. } => "MessageDeleted",
        Event::MessageRelocated { .. } => "MessageRelocated",
        Event::MessageDeadLettered { .. } => "MessageDeadLettered",
        Event::ReceiveRepeated { .. } => "ReceiveRepeated",
        Event::MessageRedriven { .. } => "MessageRedriven",
        Event::MoveTaskStarted { .. } => "MoveTaskStarted",
        Event::MoveTaskEnded { .. } => "MoveTaskEnded",
    }
}

/// Everything that a client or an operator could find out about what is stored.
fn describe(storage: MemoryStorage) -> String {
    let opened = SegmentedLog::open(storage.clone(), config(SEGMENT_BYTES), [0; 16]).expect("opens");
    let mut text = String::new();
    let mut line = |args: std::fmt::Arguments<'_>| writeln!(text, "{args}").expect("a string takes it");
    line(format_args!("replay from {} to {}", opened.replay_from, opened.tail));
    for segment in opened.keeper.sealed_segments() {
        let (number, records, end) = (segment.number, segment.record_count, segment.end_bytes);
        line(format_args!("segment {number} has {records} records in {end} bytes"));
    }
    drop(opened);
    let storage = storage.restart_process();
    let mut machine = Machine::open(storage, config(SEGMENT_BYTES), Timestamp::ZERO).expect("recovers");
    line(format_args!("the newest event is of {}", machine.now));
    line(format_args!("{} records replayed", machine.report.records));
    for (address, queue) in &machine.live.queues {
        line(format_args!(""));
        line(format_args!(
            "queue {}: {} in {}, account {}",
            queue.id.0, address.name, address.region, address.account
        ));
        line(format_args!(
            "  created {}, modified {}, purged {:?}",
            queue.created_at, queue.modified_at, queue.purged_at
        ));
        line(format_args!("  tags {:?}", queue.tags));
        for change in queue.attributes.changes() {
            line(format_args!("  {change:?}"));
        }
        for (seq, held) in &queue.messages {
            let stored = &held.stored;
            let message = &stored.message;
            line(format_args!("  message {seq}: {}, sent {}", message.id, stored.sent_at));
            line(format_args!(
                "    hidden until {}, received {} times, first {}, last {}",
                held.hidden_until, held.receive_count, held.first_received_at, held.received_at
            ));
            line(format_args!(
                "    from {}, trace header {:?}, group {:?}",
                message.sender, message.trace_header, message.group_id
            ));
            for attribute in &message.attributes {
                let value = attribute.value.as_bytes().escape_ascii();
                line(format_args!("    attribute {} {}: {value}", attribute.name, attribute.data_type));
            }
            line(format_args!("    body {:?}", String::from_utf8_lossy(&message.body)));
        }
    }
    let resting = &machine.shard.engine().snapshot().deleted;
    line(format_args!(""));
    for (at, address) in resting {
        line(format_args!("{} was deleted at {at}", address.name));
    }
    // And it is not only read: life goes on in it.
    machine.keeper.prepare_spare().expect("prepares a spare segment");
    machine.done(create("later"));
    let entries = machine.entries(1, 10);
    machine.done(send("later", entries));
    machine.maintain();
    machine.kill();
    assert_eq!(machine.drain("later"), 1);
    text
}

fn write_fixture() {
    let mut machine = Machine::new(SEGMENT_BYTES);
    machine.keeper.prepare_spare().expect("prepares a spare segment");
    live(&mut machine);
    let directory = fixtures().join(format!("v{VERSION}"));
    dump(&machine.storage, &directory);
    let text = describe(load(&directory));
    std::fs::write(fixtures().join(format!("v{VERSION}.txt")), text).expect("writes");
}

/// All attributes that a standard queue can have, each off its default.
fn attributes() -> Vec<AttributeChange> {
    let redrive = RedrivePolicy { dead_letter_target: address("dead"), max_receive_count: 5 };
    let policy = Document {
        text: "{ \"Version\": \"2012-10-17\" }".into(),
        canonical: "{\"Version\":\"2012-10-17\"}".into(),
    };
    vec![
        AttributeChange::DelaySeconds(secs(1)),
        AttributeChange::MaximumMessageSize(2_048),
        AttributeChange::MessageRetentionPeriod(secs(1_209_600)),
        AttributeChange::ReceiveMessageWaitTimeSeconds(secs(2)),
        AttributeChange::VisibilityTimeout(secs(45)),
        AttributeChange::Policy(Some(policy)),
        AttributeChange::RedrivePolicy(Some(redrive)),
        AttributeChange::RedriveAllowPolicy(Some(RedriveAllowPolicy::ByQueue(vec![
            address("full").arn().into(),
        ]))),
        AttributeChange::KmsMasterKeyId(Some("alias/key".into())),
        AttributeChange::KmsDataKeyReusePeriodSeconds(secs(86_400)),
    ]
}

/// Messages with bodies that a person can read.
fn text_entries(machine: &mut Machine, count: usize) -> Vec<SendEntry> {
    let mut entries = machine.entries(count, 0);
    for (n, entry) in entries.iter_mut().enumerate() {
        entry.message.body = format!("message {n} of {count}, \u{e9}t\u{e9} \"quoted\"\r\n").into();
    }
    entries
}

/// Receives one message and returns its receipt.
fn receive_one(machine: &mut Machine, name: &str, timeout: u64) -> tidegate_engine::Receipt {
    let (queue, wait) = (address(name), Some(secs(0)));
    let receive = Receive { queue, max: 1, visibility_timeout: Some(secs(timeout)), wait, attempt_id: None };
    match machine.call(Command::Receive(receive)) {
        Ok(Reply::Received(got)) if got.len() == 1 => got[0].receipt,
        other => panic!("one message is there: {other:?}"),
    }
}

/// A short life in which everything happens once before the last checkpoint, and once after it.
fn live(machine: &mut Machine) {
    machine.done(create("dead"));
    let tags: Tags = [("team".into(), "tide".into()), ("ä".into(), "".into())].into();
    machine.done(Command::CreateQueue { queue: address("full"), attributes: attributes(), tags });
    machine.done(create("busy"));
    machine.done(Command::SetQueueAttributes {
        queue: address("dead"),
        attributes: vec![
            AttributeChange::RedriveAllowPolicy(Some(RedriveAllowPolicy::DenyAll)),
            AttributeChange::SqsManagedSseEnabled(false),
        ],
    });
    let mut entries = text_entries(machine, 2);
    entries[1].delay = Some(secs(900));
    machine.done(send("full", entries));
    let entries = text_entries(machine, 6);
    machine.done(send("dead", entries));
    for _ in 0..2 {
        // Until the first segment is emptied and its file is used again.
        for round in 0..2 {
            machine.wait(secs(1));
            for _ in 0..8 {
                let entries = machine.entries(10, 90);
                machine.done(send("busy", entries));
                machine.drain("busy");
            }
            if round == 1 {
                let deleted = receive_one(machine, "dead", 30);
                machine.done(Command::Delete { queue: address("dead"), receipts: vec![deleted] });
            }
            machine.maintain();
        }
        let changed = receive_one(machine, "dead", 30);
        machine.done(Command::ChangeVisibility {
            queue: address("dead"),
            changes: vec![(changed, secs(7_200))],
        });
        let back = receive_one(machine, "dead", 0);
        assert_eq!(back.receive, 1);
        machine.done(Command::TagQueue { queue: address("busy"), tags: [("k".into(), "v".into())].into() });
        machine.done(Command::UntagQueue { queue: address("busy"), keys: vec!["k".into()] });
        machine.done(create("gone"));
        machine.done(Command::DeleteQueue { queue: address("gone") });
        machine.done(Command::PurgeQueue { queue: address("busy") });
        machine.wait(secs(61));
    }
    machine.done(create("new"));
    machine.done(Command::SetQueueAttributes {
        queue: address("new"),
        attributes: vec![AttributeChange::RedriveAllowPolicy(Some(RedriveAllowPolicy::AllowAll))],
    });
    let entries = text_entries(machine, 3);
    machine.done(send("new", entries));
    receive_one(machine, "new", 43_200);
    machine.done(create("grave"));
    let redrive = RedrivePolicy { dead_letter_target: address("grave"), max_receive_count: 1 };
    machine.done(create("letters"));
    machine.done(Command::SetQueueAttributes {
        queue: address("letters"),
        attributes: vec![AttributeChange::RedrivePolicy(Some(redrive))],
    });
    let entries = text_entries(machine, 1);
    machine.done(send("letters", entries));
    receive_one(machine, "letters", 0);
    machine.wait(secs(1));
    assert!(machine.receive("letters", None).is_empty(), "it is a dead letter now");
    machine.check();
}
