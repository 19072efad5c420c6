//! A restart changes nothing that can be observed: with a checkpoint or without, or with a damaged one.

mod util;

use std::collections::BTreeMap;
use std::error::Error as _;
use tidegate_engine::{AttributeChange, Command, Config, Error, Receive, Reply, Tags, Timestamp};
use tidegate_log::{CrashPolicy, Durability, LogConfig, MemoryStorage, SegmentedLog, Storage, StorageFile};
use tidegate_store::{MemoryBudget, RecoverError, recover};
use util::machine::{Machine, config};
use util::{START, address, create, millis, secs, send};

/// Queues with messages in every state, some of them moved, and with every attribute and tag.
fn busy(machine: &mut Machine, random: &mut fastrand::Rng) {
    let retention = AttributeChange::MessageRetentionPeriod(secs(random.u64(60..200)));
    for (name, attributes) in [("plain", vec![]), ("short", vec![retention])] {
        let tags: Tags = [("team".into(), name.into())].into();
        machine.done(Command::CreateQueue { queue: address(name), attributes, tags });
    }
    for _ in 0..random.usize(5..40) {
        let name = if random.bool() { "plain" } else { "short" };
        let delay = random.bool().then(|| secs(random.u64(0..300)));
        let count = random.usize(1..=10);
        let entries = (0..count).map(|_| machine.entry(random.usize(0..400), delay)).collect();
        machine.done_or_full(send(name, entries));
        if random.bool() {
            let timeout = secs(random.u64(0..120));
            let mut receipts: Vec<_> =
                machine.receive(name, Some(timeout)).iter().map(|delivery| delivery.receipt).collect();
            receipts.truncate(random.usize(0..=receipts.len()));
            machine.done(Command::Delete { queue: address(name), receipts });
        }
        if random.u32(0..4) == 0 {
            machine.wait(millis(random.u64(0..30_000)));
        }
        machine.keeper.prepare_spare().expect("prepares a spare segment");
    }
    machine.done(Command::SetQueueAttributes {
        queue: address("plain"),
        attributes: vec![AttributeChange::VisibilityTimeout(secs(7)), AttributeChange::DelaySeconds(secs(1))],
    });
    machine.done(Command::UntagQueue { queue: address("plain"), keys: vec!["team".into()] });
    machine.done(create("gone"));
    machine.done(Command::DeleteQueue { queue: address("gone") });
}

/// What operators see: gauges and the use of segments.
fn gauges(machine: &mut Machine) -> (String, BTreeMap<u32, (u64, u64)>) {
    machine.release_all();
    let gauges = format!("{:?}", machine.shard.gauges(machine.now));
    let uses = machine.shard.segments().iter().filter(|(_, usage)| usage.live > 0);
    (gauges, uses.map(|(number, usage)| (number, (usage.messages, usage.live))).collect())
}

/// Restarts and compares everything: the model is compared inside, and everything is received in the end.
fn restart_and_receive_everything(mut machine: Machine) {
    let before = gauges(&mut machine);
    let epoch = machine.report.epoch;
    machine.kill();
    assert_eq!(gauges(&mut machine), before);
    assert_eq!(machine.report.epoch, epoch + 1);
    let stored: u64 = before.1.values().map(|(_, live)| live).sum();
    assert!(machine.report.messages >= stored, "those that have expired since are counted, too");
    assert_eq!(machine.report.queues, machine.live.queues.len());
    for name in ["plain", "short"] {
        while !machine.live.queues[&address(name)].messages.is_empty() {
            machine.keeper.prepare_spare().expect("prepares a spare segment");
            machine.drain(name);
            let hidden = machine.live.queues[&address(name)].messages.values();
            let next = hidden.map(|held| held.hidden_until).min().unwrap_or(Timestamp::ZERO);
            machine.wait(next.since(machine.now));
        }
    }
    machine.check();
    assert_eq!(machine.live_by_segment(), BTreeMap::new());
}

#[test]
fn replay_alone_leads_to_the_same_state() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut machine = Machine::new(16 << 10);
        busy(&mut machine, &mut random);
        assert!(!machine.report.from_checkpoint);
        restart_and_receive_everything(machine);
    }
}

#[test]
fn a_checkpoint_without_replay_leads_to_the_same_state() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut machine = Machine::new(16 << 10);
        busy(&mut machine, &mut random);
        machine.checkpoint();
        assert!(!machine.shard.checkpoint_useful());
        machine.kill();
        assert!(machine.report.from_checkpoint);
        assert_eq!((machine.report.records, machine.report.bytes), (0, 0));
        restart_and_receive_everything(machine);
    }
}

#[test]
fn a_checkpoint_on_the_way_and_replay_after_it_lead_to_the_same_state() {
    for seed in 0..80 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut machine = Machine::new(8 << 10);
        busy(&mut machine, &mut random);
        for _ in 0..random.usize(1..4) {
            machine.maintain();
            for _ in 0..random.usize(1..6) {
                let entries = machine.entries(random.usize(1..=10), 100);
                machine.keeper.prepare_spare().expect("prepares a spare segment");
                machine.done_or_full(send("plain", entries));
                machine.receive("plain", Some(secs(random.u64(0..60))));
                machine.wait(millis(random.u64(0..40_000)));
            }
        }
        assert!(machine.shard.checkpoint_useful());
        restart_and_receive_everything(machine);
    }
}

/// The names of the checkpoints in a storage, oldest first.
fn checkpoints(storage: &MemoryStorage) -> Vec<String> {
    let names = storage.list().expect("lists").into_iter().map(|file| file.name);
    let mut names: Vec<_> = names.filter(|name| name.starts_with("checkpoint-")).collect();
    names.sort();
    names
}

fn damage(storage: &MemoryStorage, name: &str, offset: u64) {
    let file = storage.open(name).expect("opens");
    let mut byte = [0];
    file.read_at(&mut byte, offset).expect("reads");
    file.write_all_at(&[byte[0] ^ 0x40], offset).expect("writes");
}

#[test]
fn the_checkpoint_before_a_damaged_one_leads_to_the_same_state() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut machine = Machine::new(8 << 10);
        busy(&mut machine, &mut random);
        for _ in 0..3 {
            machine.maintain();
            let entries = machine.entries(10, 300);
            machine.done_or_full(send("plain", entries));
            machine.receive("plain", Some(secs(30)));
        }
        let [_, newest] = &checkpoints(&machine.storage)[..] else { panic!("two checkpoints are kept") };
        let bytes = machine.storage.open(newest).expect("opens").len().expect("has a length");
        damage(&machine.storage, newest, random.u64(0..bytes));
        machine.kill();
        assert_eq!(machine.mended.damaged_checkpoints, std::slice::from_ref(newest));
        assert!(machine.report.from_checkpoint);
        restart_and_receive_everything(machine);
    }
}

#[test]
fn the_whole_log_makes_up_for_all_checkpoints_while_it_is_there() {
    let mut machine = Machine::new(1 << 20);
    busy(&mut machine, &mut fastrand::Rng::with_seed(7));
    machine.maintain();
    machine.done(Command::PurgeQueue { queue: address("short") });
    machine.maintain();
    checkpoints(&machine.storage).iter().for_each(|name| damage(&machine.storage, name, 50));
    machine.kill();
    assert_eq!(machine.mended.damaged_checkpoints.len(), 2);
    assert!(!machine.report.from_checkpoint);
    restart_and_receive_everything(machine);
}

#[test]
fn without_any_good_checkpoint_a_log_whose_beginning_is_gone_is_refused() {
    let mut machine = Machine::new(8 << 10);
    machine.done(create("q"));
    while machine.keeper.sealed_segments().first().is_none_or(|segment| segment.number < 3) {
        let entries = machine.entries(10, 100);
        machine.done_or_full(send("q", entries));
        machine.drain("q");
        machine.maintain();
    }
    checkpoints(&machine.storage).iter().for_each(|name| damage(&machine.storage, name, 50));
    let storage = machine.storage.restart_process();
    let refused = Machine::open(storage, machine.config.clone(), START).err().expect("refuses");
    assert!(refused.to_string().contains("segment 1 is damaged"), "{refused}");
}

#[test]
fn a_kill_of_the_process_loses_nothing_when_the_system_writes_later() {
    for seed in 0..20 {
        let config = LogConfig { durability: Durability::Os, ..config(8 << 10) };
        let mut machine = Machine::open(MemoryStorage::new(), config, START).expect("opens");
        busy(&mut machine, &mut fastrand::Rng::with_seed(seed));
        machine.maintain();
        machine.receive("plain", Some(secs(3)));
        restart_and_receive_everything(machine);
    }
}

#[test]
fn old_receipts_deadlines_and_counters_outlive_a_restart() {
    for with_checkpoint in [false, true] {
        let mut machine = Machine::new(8 << 10);
        machine.done(create("q"));
        let entries = machine.entries(2, 10);
        machine.done(send("q", entries));
        machine.receive("q", Some(secs(5)));
        machine.wait(secs(5));
        let received = machine.receive("q", Some(secs(60)));
        if with_checkpoint {
            machine.checkpoint();
        }
        machine.lose_power(CrashPolicy::DropAll);
        machine.wait(secs(60) - millis(1));
        assert_eq!(machine.receive("q", None).len(), 0, "hidden until the old deadline");
        let receipts = vec![received[0].receipt];
        machine.done(Command::Delete { queue: address("q"), receipts });
        machine.wait(millis(1));
        let again = machine.receive("q", None);
        assert_eq!(again.len(), 1, "visible at the old deadline, and the other one is deleted");
        assert_eq!((again[0].receipt.seq, again[0].receive_count), (received[1].receipt.seq, 3));
        assert_eq!(again[0].first_received_at, received[1].first_received_at);
    }
}

#[test]
fn timers_run_after_a_restart() {
    for with_checkpoint in [false, true] {
        let mut machine = Machine::new(8 << 10);
        machine.done(create("q"));
        let entries = machine.entries(1, 10);
        machine.done(send("q", entries));
        machine.receive("q", Some(secs(9)));
        if with_checkpoint {
            machine.checkpoint();
        }
        machine.kill();
        let (queue, wait) = (address("q"), Some(secs(20)));
        let poll = machine.ask(Command::Receive(Receive {
            queue,
            max: 1,
            visibility_timeout: None,
            wait,
            attempt_id: None,
        }));
        machine.sync();
        assert!(!machine.released.contains_key(&poll), "it waits");
        assert!(machine.shard.poll_timeout().is_some_and(|due| due <= machine.now + secs(9)));
        machine.wait(secs(9));
        machine.sync();
        let answer = machine.released.remove(&poll);
        assert!(matches!(&answer, Some(Ok(Reply::Received(got))) if got.len() == 1), "{answer:?}");
    }
}

#[test]
fn times_of_rest_outlive_a_restart() {
    for with_checkpoint in [false, true] {
        let mut machine = Machine::new(8 << 10);
        machine.done(create("q"));
        machine.done(create("gone"));
        machine.done(Command::PurgeQueue { queue: address("q") });
        machine.done(Command::DeleteQueue { queue: address("gone") });
        if with_checkpoint {
            machine.checkpoint();
        }
        machine.kill();
        machine.wait(secs(60) - millis(1));
        let purged = machine.call(Command::PurgeQueue { queue: address("q") });
        assert_eq!(purged.err(), Some(Error::PurgeInProgress));
        assert_eq!(machine.call(create("gone")).err(), Some(Error::QueueDeletedRecently));
        machine.wait(millis(1));
        machine.done(Command::PurgeQueue { queue: address("q") });
        machine.done(create("gone"));
    }
}

#[test]
fn numbers_are_not_given_out_twice() {
    let mut machine = Machine::new(8 << 10);
    machine.done(create("a"));
    let entries = machine.entries(3, 10);
    machine.done(send("a", entries));
    machine.drain("a");
    machine.done(Command::DeleteQueue { queue: address("a") });
    machine.checkpoint();
    machine.kill();
    machine.done(create("b"));
    let entries = machine.entries(1, 10);
    machine.done(send("b", entries));
    let received = machine.receive("b", None);
    assert_eq!((received[0].receipt.queue.0, received[0].receipt.seq.0), (1, 3));
}

/// Recovery of a log with one raw record or checkpoint in it.
fn recover_raw(record: Option<&[u8]>, checkpoint: Option<&[u8]>) -> RecoverError {
    let storage = MemoryStorage::new();
    let mut opened = SegmentedLog::open(storage.clone(), config(8 << 10), [1; 16]).expect("opens");
    if let Some(record) = record {
        opened.framer.push(|buffer| buffer.extend_from_slice(record));
        opened.appender.append(&[opened.framer.finish().expect("a record")]).expect("appends");
    }
    if let Some(payload) = checkpoint {
        opened.keeper.write_checkpoint(opened.framer.tail(), payload, &[]).expect("writes");
    }
    drop(opened);
    let opened = SegmentedLog::open(storage, config(8 << 10), [1; 16]).expect("opens");
    recover(opened, Config::default(), MemoryBudget::UNLIMITED).err().expect("refuses")
}

#[test]
fn records_and_checkpoints_of_another_version_are_refused_and_named() {
    let error = recover_raw(Some(&[99, 0, 0]), None);
    assert!(matches!(&error, RecoverError::Record { .. }), "{error:?}");
    assert!(error.source().expect("has a cause").to_string().contains("unknown tag 99 for a record"));
    let error = recover_raw(Some(&[]), None);
    assert!(error.source().expect("has a cause").to_string().contains("ends early"));
    let error = recover_raw(None, Some(&[2]));
    assert!(matches!(&error, RecoverError::Checkpoint { .. }), "{error:?}");
    assert!(
        error.source().expect("has a cause").to_string().contains("unknown tag 2 for a checkpoint's layout")
    );
}

/// Messages end with their retention period without any event, and then their records may go: a start must not take up
/// an earlier time, or they would be there again without their records.
#[test]
fn a_start_from_a_checkpoint_is_not_earlier_than_the_checkpoint() {
    let mut machine = Machine::open(MemoryStorage::new(), config(64 << 10), START).expect("opens");
    machine.done(create("q"));
    machine.wait(secs(7_200));
    let taken_at = machine.now;
    machine.checkpoint();
    machine.kill();
    assert_eq!(machine.shard.at(), taken_at);
}
