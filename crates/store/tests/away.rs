//! Backlogs whose messages are in posting files: damage, crashes while they go, and files that empty.
//!
//! Every other test of this crate runs with all that can be put away put away, too.

mod util;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tidegate_engine::{Command, MessageSeq, Reply, RequestId};
use tidegate_log::{MemoryStorage, Storage, StorageFile};
use tidegate_store::{Outcome, audit};
use util::machine::Machine;
use util::{address, create, receive, secs, send};

/// A machine with so many messages in `q`, all that can be in posting files.
fn deep(count: usize) -> Machine {
    let mut machine = Machine::new(64 << 10);
    machine.keeper.prepare_spare().expect("prepares a spare segment");
    machine.done(create("q"));
    machine.done(create("other"));
    fill(&mut machine, "q", count);
    settle(&mut machine);
    assert!(machine.shard.engine().footprint().written < 4_000, "{:?}", machine.shard.engine().footprint());
    machine
}

fn fill(machine: &mut Machine, name: &str, count: usize) {
    for _ in 0..count {
        let mut entry = machine.entry(20, None);
        entry.message.group_id = None;
        machine.done(send(name, vec![entry]));
        machine.keeper.prepare_spare().expect("prepares a spare segment");
    }
}

/// Stores checkpoints until the shard knows of one.
fn settle(machine: &mut Machine) {
    for _ in 0..2 {
        // So that each checkpoint is for a place of its own.
        machine.done(Command::TagQueue { queue: address("other"), tags: [("k".into(), "v".into())].into() });
        machine.checkpoint();
    }
}

fn posting_files(storage: &MemoryStorage) -> BTreeSet<String> {
    let files = storage.list().expect("lists").into_iter().map(|file| file.name);
    files.filter(|name| name.ends_with(".post")).collect()
}

/// Flips a bit in every block of every posting file, or flips it back.
fn damage(storage: &MemoryStorage) {
    for name in posting_files(storage) {
        let file = storage.open(&name).expect("opens");
        let length = file.len().expect("measures");
        let mut content = vec![0; usize::try_from(length).expect("short")];
        file.read_at(&mut content, 0).expect("reads");
        let mut at = 24;
        while at < content.len() {
            let bytes = u32::from_le_bytes(content[at..at + 4].try_into().expect("four bytes"));
            content[at + 4] ^= 1;
            at += 8 + bytes as usize;
        }
        file.write_all_at(&content, 0).expect("writes");
    }
}

/// Hands a command to the shard without telling the model; the answer, if there is one at once.
fn ask(machine: &mut Machine, request: u64, command: Command) -> Option<Outcome> {
    machine.shard.handle(machine.now, RequestId(request), command);
    answer(machine, request)
}

fn answer(machine: &mut Machine, request: u64) -> Option<Outcome> {
    let commit = machine.shard.take_commit()?;
    commit.replies.into_iter().find(|(of, _)| *of == RequestId(request)).map(|(_, outcome)| outcome)
}

fn seqs(outcome: Option<Outcome>) -> Option<Vec<MessageSeq>> {
    match outcome? {
        Ok(Reply::Received(deliveries)) => Some(deliveries.iter().map(|d| d.receipt.seq).collect()),
        other => panic!("not received: {other:?}"),
    }
}

#[test]
fn a_damaged_run_is_reported_and_loses_nothing_once_it_can_be_read() {
    let mut machine = deep(200);
    fill(&mut machine, "other", 3);
    damage(&machine.storage);
    let (mut request, mut seen) = (1_000_000, Vec::new());
    let mut next = || {
        request += 1;
        request
    };
    let hidden = Some(secs(40_000));
    let waiting = loop {
        let request = next();
        match seqs(ask(&mut machine, request, receive("q", hidden))) {
            Some(got) => seen.extend(got),
            None => break request,
        }
    };
    assert!(machine.shard.poll_error().is_some());
    let other = ask(&mut machine, next(), receive("other", hidden));
    assert_eq!(seqs(other).map(|got| got.len()), Some(3), "other queues go on");
    machine.now = machine.now + secs(1);
    machine.shard.handle_timeout(machine.now);
    assert_eq!(seqs(answer(&mut machine, waiting)), Some(Vec::new()));
    while machine.shard.poll_error().is_some() {}
    assert!(audit(&machine.shard, &machine.reader).is_err(), "an audit finds it");

    damage(&machine.storage);
    assert_eq!(seqs(ask(&mut machine, next(), receive("q", hidden))), None, "not tried again at once");
    machine.now = machine.now + secs(6);
    machine.shard.handle_timeout(machine.now);
    machine.shard.take_commit();
    while seen.len() < 200 {
        let got = seqs(ask(&mut machine, next(), receive("q", hidden))).expect("answers at once");
        assert!(!got.is_empty());
        seen.extend(got);
    }
    assert!(seen.is_sorted());
    audit(&machine.shard, &machine.reader).expect("all is well");
}

#[test]
fn a_purge_of_what_is_away_goes_on_after_a_crash() {
    for delete in [false, true] {
        for checkpointed in [false, true] {
            let mut machine = deep(300);
            let queue = address("q");
            machine.done(if delete { Command::DeleteQueue { queue } } else { Command::PurgeQueue { queue } });
            assert!(machine.shard.is_releasing());
            for _ in 0..10 {
                machine.shard.release_some(machine.now);
            }
            if checkpointed {
                settle(&mut machine);
            }
            assert!(machine.shard.is_releasing(), "little by little");
            machine.kill();
            assert!(machine.shard.is_releasing(), "it goes on");
            assert_eq!(machine.live_by_segment(), BTreeMap::new());
        }
    }
}

#[test]
fn a_file_that_is_hardly_used_is_emptied_and_goes() {
    let mut machine = deep(400);
    let first = posting_files(&machine.storage);
    let mut left = 400;
    while left > 40 {
        let receipts = machine.receive("q", Some(Duration::from_secs(100)));
        let receipts: Vec<_> = receipts.iter().map(|delivery| delivery.receipt).collect();
        left -= receipts.len();
        machine.done(Command::Delete { queue: address("q"), receipts });
        machine.keeper.prepare_spare().expect("prepares a spare segment");
    }
    for _ in 0..4 {
        settle(&mut machine);
    }
    let now = posting_files(&machine.storage);
    assert!(!now.is_empty() && now.is_disjoint(&first), "{first:?}, then {now:?}");
    machine.kill();
    machine.check();
    assert_eq!(machine.drain("q"), left);
}

#[test]
fn a_checkpoint_of_a_deep_backlog_is_small() {
    let mut machine = deep(2_000);
    let checkpoint = machine.shard.checkpoint(machine.now);
    let stored = checkpoint.store(&mut machine.keeper, &machine.reader).expect("stores");
    assert_eq!(stored.posting_bytes, 0, "all that lasts was written before");
    // An extent of four messages takes some 40 bytes, those of full size the same.
    assert!(stored.checkpoint_bytes < 500 * 50, "{} bytes", stored.checkpoint_bytes);
}
