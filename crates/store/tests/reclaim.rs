//! Space comes back: dead segments are reused, sparse ones are emptied, and nothing that is needed goes.

mod util;

use tidegate_engine::{Command, Reply};
use tidegate_log::{CrashPolicy, KeeperError, Position, Storage, StorageFile};
use util::machine::Machine;
use util::{START, address, create, receive, secs, send};

const SEGMENT_BYTES: u32 = 16 << 10;

fn machine() -> Machine {
    let mut machine = Machine::new(SEGMENT_BYTES);
    machine.keeper.prepare_spare().expect("prepares a spare segment");
    machine.done(create("old"));
    machine.done(create("busy"));
    machine
}

/// Sends messages of `bytes` until another segment is begun.
fn fill_segment(machine: &mut Machine, name: &str, bytes: usize) {
    let active = machine.shard.active_segment();
    while machine.shard.active_segment() == active {
        let entries = machine.entries(1, bytes);
        machine.done(send(name, entries));
    }
    machine.keeper.prepare_spare().expect("prepares a spare segment");
}

#[test]
fn one_old_message_does_not_keep_what_passed_it_by() {
    let mut machine = machine();
    let entries = machine.entries(1, 700);
    machine.done(send("old", entries));
    let mut segments_max = 0;
    for _ in 0..150 {
        let entries = machine.entries(10, 500);
        machine.done(send("busy", entries));
        machine.drain("busy");
        machine.maintain();
        segments_max = segments_max.max(machine.file_count(".seg"));
    }
    // Two checkpoints' worth, the active, the spare, and one on its way out.
    assert!(segments_max <= 6, "{segments_max} segments");
    assert!(machine.shard.active_segment() > 30, "much has passed");
    machine.lose_power(CrashPolicy::DropAll);
    let survivor = machine.receive("old", None);
    assert_eq!(survivor.len(), 1, "its bytes are compared with what was sent");
    let at = Position::from(survivor[0].position.0).segment();
    assert!(at > 1, "it was moved out of its first segment");
    machine.check();
}

#[test]
fn survivors_in_every_segment_are_gathered() {
    let mut machine = machine();
    let mut survivors = 0;
    for round in 0..60 {
        for _ in 0..2 {
            let entries = machine.entries(10, 400);
            machine.done(send("busy", entries));
        }
        if round % 2 == 0 {
            let entries = machine.entries(1, 400);
            machine.done(send("old", entries));
            survivors += 1;
        }
        machine.drain("busy");
        machine.maintain();
    }
    let segments = machine.file_count(".seg");
    assert!(machine.shard.active_segment() > 30, "much has passed");
    // Thirty survivors fill one segment; at most every third byte of a kept segment is theirs.
    assert!(segments <= 10, "{segments} segments");
    machine.lose_power(CrashPolicy::DropAll);
    assert_eq!(machine.drain("old"), survivors);
    machine.check();
}

#[test]
fn dead_segments_are_used_again() {
    let mut machine = machine();
    let mut recycled = 0;
    for _ in 0..30 {
        let free = machine.file_count(".free");
        fill_segment(&mut machine, "busy", 900);
        recycled += free - machine.file_count(".free");
        machine.drain("busy");
        machine.checkpoint();
        machine.reclaim().expect("reclaims");
    }
    assert!(recycled >= 10, "{recycled} recycled");
    machine.kill();
    machine.check();
}

#[test]
fn a_message_in_any_state_moves_without_being_touched() {
    let mut machine = machine();
    let entries = machine.entries(3, 100);
    machine.done(send("old", entries));
    // One back after a timeout, one in flight, one never received.
    let one = |timeout| {
        let Command::Receive(receive) = receive("old", Some(timeout)) else { unreachable!("made here") };
        Command::Receive(tidegate_engine::Receive { max: 1, ..receive })
    };
    machine.done(one(secs(0)));
    machine.wait(secs(1));
    machine.done(one(secs(1)));
    machine.done(one(secs(600)));
    machine.wait(secs(2));
    let in_flight = machine.tickets.last().expect("received").clone();
    let entries = vec![machine.entry(100, Some(secs(900)))];
    machine.done(send("old", entries));
    let delayed = machine.receive("busy", None);
    assert!(delayed.is_empty());
    for _ in 0..4 {
        fill_segment(&mut machine, "busy", 900);
        machine.drain("busy");
        machine.maintain();
    }
    machine.maintain();
    assert_eq!(machine.live_by_segment().get(&1), None, "nothing lives in the first segment any more");
    machine.lose_power(CrashPolicy::DropAll);
    machine.done(Command::Delete { queue: address("old"), receipts: vec![in_flight.receipt] });
    assert_eq!(machine.drain("old"), 2);
    machine.wait(secs(900));
    assert_eq!(machine.drain("old"), 1);
    for _ in 0..3 {
        fill_segment(&mut machine, "busy", 900);
        machine.drain("busy");
        machine.maintain();
    }
    assert!(machine.keeper.sealed_segments().iter().all(|segment| segment.number > 1), "the first is gone");
}

/// A machine whose first segment is sealed, sparse, and read for relocation.
fn offered() -> (Machine, Vec<tidegate_store::Candidate>) {
    let mut machine = machine();
    let entries = machine.entries(2, 100);
    machine.done(send("old", entries));
    for _ in 0..3 {
        fill_segment(&mut machine, "busy", 900);
        machine.drain("busy");
        machine.checkpoint();
    }
    let offered = machine.reclaim().expect("reclaims").into_iter().flatten();
    let old = machine.live.queues[&address("old")].id;
    let candidates: Vec<_> = offered.filter(|(_, stored)| stored.queue == old).collect();
    assert_eq!(candidates.len(), 2, "the two old messages are offered");
    (machine, candidates)
}

#[test]
fn a_message_deleted_before_it_moves_stays_deleted() {
    let (mut machine, messages) = offered();
    assert_eq!(machine.drain("old"), 2);
    let tail = machine.reader.tail();
    machine.done(Command::Relocate { messages });
    assert_eq!(machine.reader.tail(), tail, "nothing was written");
    machine.lose_power(CrashPolicy::KeepAll);
    assert!(machine.live.queues[&address("old")].messages.is_empty());
    machine.check();
}

#[test]
fn a_message_deleted_after_it_moved_stays_deleted() {
    let (mut machine, messages) = offered();
    let received = machine.receive("old", None);
    machine.done(Command::Relocate { messages: messages.clone() });
    let again = machine.reader.tail();
    machine.done(Command::Relocate { messages });
    assert_eq!(machine.reader.tail(), again, "a message that moved is not at its old place");
    let receipts = vec![received[0].receipt];
    machine.done(Command::Delete { queue: address("old"), receipts });
    machine.maintain();
    machine.lose_power(CrashPolicy::DropAll);
    machine.check();
    machine.wait(secs(30));
    assert_eq!(machine.drain("old"), 1);
}

#[test]
fn messages_of_a_purged_or_deleted_queue_are_not_moved() {
    let (mut machine, messages) = offered();
    machine.done(Command::PurgeQueue { queue: address("old") });
    machine.done(Command::Relocate { messages: messages.clone() });
    machine.done(Command::DeleteQueue { queue: address("old") });
    machine.done(Command::Relocate { messages });
    assert!(machine.live_by_segment().is_empty());
    machine.kill();
    machine.check();
}

/// Counts that take in what is not durable call a segment dead whose messages a crash brings back. Plans are made
/// by counts that were handed on with a commit.
#[test]
fn a_plan_is_made_by_durable_counts() {
    let (mut machine, messages) = offered();
    machine.ask(Command::Relocate { messages });
    machine.take();
    let present = machine.keeper.sealed_segments().into_iter();
    let present = present.map(|sealed| (sealed.number, u64::from(sealed.end_bytes)));
    let hasty = machine.shard.segments().plan(present, machine.keeper.oldest_checkpoint());
    assert!(hasty.dead.contains(&1), "the move is counted at once");
    assert!(!machine.plan().dead.contains(&1), "and waits for its commit");
    machine.lose_power(CrashPolicy::KeepAll);
    assert_eq!(machine.drain("old"), 2, "the move never happened");
}

#[test]
fn what_replay_needs_stays() {
    let mut machine = machine();
    for round in 0..25 {
        let entries = machine.entries(10, 400);
        machine.done(send(if round % 5 == 0 { "old" } else { "busy" }, entries));
        machine.drain("busy");
        machine.maintain();
        let oldest = machine.keeper.oldest_checkpoint();
        for segment in machine.keeper.sealed_segments() {
            if segment.number >= oldest.segment() {
                let refused = machine.keeper.retire(segment.number);
                assert!(matches!(refused, Err(KeeperError::Needed { .. })), "{refused:?}");
            }
        }
        // Replay from the older checkpoint, which is there for when the newer one is damaged.
        let copy = machine.storage.crash(CrashPolicy::KeepAll);
        let names = copy.list().expect("lists").into_iter().map(|file| file.name);
        if let Some(newest) = names.filter(|name| name.starts_with("checkpoint-")).max() {
            copy.open(&newest).expect("opens").write_all_at(&[0xff; 8], 44).expect("writes");
        }
        let mut other = Machine::open(copy, machine.config.clone(), machine.now).expect("recovers");
        assert_eq!(other.mended.damaged_checkpoints.len(), 1);
        other.live.advance(machine.now);
        machine.live.advance(machine.now);
        assert_eq!(machine.live.difference(&other.live), None);
    }
}

#[test]
fn an_interrupted_reclaim_is_taken_up_again() {
    let mut machine = machine();
    let entries = machine.entries(2, 100);
    machine.done(send("old", entries));
    for _ in 0..4 {
        fill_segment(&mut machine, "busy", 900);
        machine.drain("busy");
        machine.checkpoint();
    }
    let batches = machine.reclaim().expect("reclaims");
    machine.lose_power(CrashPolicy::DropAll);
    // Whatever was retired may be there again, and what was read for relocation is read again.
    drop(batches);
    for _ in 0..4 {
        fill_segment(&mut machine, "busy", 900);
        machine.drain("busy");
        machine.maintain();
    }
    assert!(machine.file_count(".seg") <= 6);
    let Ok(Reply::Received(got)) = machine.call(receive("old", None)) else { panic!("receives") };
    assert_eq!(got.len(), 2);
    assert!(machine.now >= START);
}
