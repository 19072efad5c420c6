//! A full disk refuses sends and never loses anything; deletes go on and lead out of it.

mod util;

use tidegate_engine::{Command, Demand, Error, Receipt, Reply};
use tidegate_log::{CrashPolicy, LogConfig, MemoryStorage, Space};
use util::machine::{Machine, config};
use util::{START, address, create, secs, send};

const SEGMENT_BYTES: u32 = 32 << 10;
const MAX_BYTES: u64 = 256 << 10;

/// A machine whose log may take only so much, by its configuration or by the size of its disk.
fn bounded(by_disk: bool) -> Machine {
    let config = LogConfig { max_bytes: (!by_disk).then_some(MAX_BYTES), ..config(SEGMENT_BYTES) };
    let storage = MemoryStorage::new();
    storage.limit_capacity(by_disk.then_some(MAX_BYTES));
    let mut machine = Machine::open(storage, config, START).expect("opens");
    machine.keeper.prepare_spare().expect("prepares a spare segment");
    machine.done(create("q"));
    machine
}

/// Sends until there is no room; returns how many messages were accepted.
fn fill(machine: &mut Machine) -> usize {
    for count in 0..10_000 {
        machine.keeper.prepare_spare().expect("prepares a spare segment, or finds no room");
        let entries = machine.entries(1, 1_000);
        if !machine.done_or_full(send("q", entries)) {
            return count;
        }
        assert!(machine.storage.used_bytes() <= MAX_BYTES);
    }
    panic!("the disk never fills");
}

fn send_one(machine: &mut Machine) -> bool {
    let entries = machine.entries(1, 1_000);
    machine.done_or_full(send("q", entries))
}

/// Gives back what is dead, up to the second newest checkpoint if that makes room, else up to the newest.
fn make_room(machine: &mut Machine) {
    machine.maintain();
}

fn settle(machine: &mut Machine) {
    let received = machine.receive("q", Some(secs(20)));
    assert!(!received.is_empty(), "receives go on");
    let queue = address("q");
    let changes = vec![(received[0].receipt, secs(0))];
    let changed = machine.call(Command::ChangeVisibility { queue: queue.clone(), changes });
    assert!(matches!(&changed, Ok(Reply::Settled(all)) if all == &[Ok(())]), "{changed:?}");
    let deleted = machine.call(Command::Delete { queue, receipts: vec![received[1].receipt] });
    assert!(matches!(&deleted, Ok(Reply::Settled(all)) if all == &[Ok(())]), "{deleted:?}");
}

#[test]
fn a_full_log_refuses_sends_and_goes_on_with_the_rest() {
    for by_disk in [false, true] {
        let mut machine = bounded(by_disk);
        let sent = fill(&mut machine);
        assert!(sent > 100, "{sent} messages");
        assert_eq!(machine.shard.space(), Space::Low);
        settle(&mut machine);
        let refused = [
            create("another"),
            Command::TagQueue { queue: address("q"), tags: [("k".into(), "v".into())].into() },
            Command::SetQueueAttributes { queue: address("q"), attributes: Vec::new() },
        ];
        for command in refused {
            assert_eq!(machine.call(command).err(), Some(Error::StorageFull));
        }
        machine.done(Command::ViewQueue { queue: address("q") });
        machine.check();
    }
}

#[test]
fn deletes_make_room_again_and_again() {
    for by_disk in [false, true] {
        let mut machine = bounded(by_disk);
        for _ in 0..5 {
            let sent = fill(&mut machine);
            assert!(sent > 50, "{sent} messages");
            assert!(!send_one(&mut machine));
            machine.wait(secs(30));
            machine.drain("q");
            make_room(&mut machine);
            assert_eq!(machine.shard.space(), Space::Ample);
            assert!(send_one(&mut machine));
            assert!(machine.storage.used_bytes() <= MAX_BYTES);
            machine.check();
        }
    }
}

#[test]
fn a_purge_makes_room() {
    let mut machine = bounded(true);
    machine.checkpoint();
    fill(&mut machine);
    machine.done(Command::PurgeQueue { queue: address("q") });
    make_room(&mut machine);
    assert!(send_one(&mut machine));
}

#[test]
fn a_full_log_recovers_and_nothing_is_lost() {
    for by_disk in [false, true] {
        for checkpointed in [false, true] {
            let mut machine = bounded(by_disk);
            fill(&mut machine);
            settle(&mut machine);
            if checkpointed {
                machine.checkpoint();
            }
            machine.lose_power(CrashPolicy::DropAll);
            assert!(!machine.keeper.prepare_spare().expect("finds no room"));
            assert!(!send_one(&mut machine));
            settle(&mut machine);
            machine.kill();
            machine.wait(secs(30));
            machine.drain("q");
            make_room(&mut machine);
            assert!(send_one(&mut machine));
            machine.check();
        }
    }
}

/// Uses up what changes may take, with changes that free nothing; a receipt for each message in flight.
fn exhaust(machine: &mut Machine) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    for _ in 0..4 {
        receipts.extend(machine.receive("q", Some(secs(3_000))).iter().map(|delivery| delivery.receipt));
    }
    for _ in 0..10_000 {
        let changes = receipts[..10].iter().map(|receipt| (*receipt, secs(3_000))).collect();
        if !machine.done_or_full(Command::ChangeVisibility { queue: address("q"), changes }) {
            return receipts;
        }
    }
    panic!("the headroom never ends");
}

#[test]
fn changes_cannot_use_up_the_room_of_deletes() {
    for by_disk in [false, true] {
        let mut machine = bounded(by_disk);
        fill(&mut machine);
        let receipts = exhaust(&mut machine);
        assert_eq!(machine.shard.space(), Space::Low);
        assert!(machine.storage.used_bytes() <= MAX_BYTES, "every frame fitted what was allocated");
        for receipt in receipts {
            assert_eq!(machine.call(util::receive("q", None)).err(), Some(Error::StorageFull));
            let deleted = machine.call(Command::Delete { queue: address("q"), receipts: vec![receipt] });
            assert!(matches!(&deleted, Ok(Reply::Settled(all)) if all == &[Ok(())]), "{deleted:?}");
        }
        machine.done(Command::ViewQueue { queue: address("q") });
        machine.lose_power(CrashPolicy::DropAll);
        machine.done(Command::PurgeQueue { queue: address("q") });
        make_room(&mut machine);
        assert!(send_one(&mut machine));
        machine.check();
    }
}

/// Every queue holds a few old messages all over the log: no segment is dead, and only moving them makes room.
#[test]
fn scattered_survivors_are_moved_on_a_full_disk() {
    let mut machine = bounded(true);
    machine.done(create("slow"));
    machine.checkpoint();
    for n in 0.. {
        let entries = machine.entries(1, 300);
        let queue = if n % 13 == 0 { "slow" } else { "q" };
        if !machine.done_or_full(send(queue, entries)) {
            break;
        }
    }
    machine.drain("q");
    for _ in 0..10 {
        machine.maintain();
    }
    assert_eq!(machine.shard.space(), Space::Ample);
    assert!(send_one(&mut machine));
    machine.check();
}

/// Many commands in one frame use up their share as many frames do: the frame under construction counts.
#[test]
fn one_large_frame_does_not_outgrow_the_headroom() {
    let mut machine = bounded(true);
    fill(&mut machine);
    let received = machine.receive("q", Some(secs(3_000)));
    let changes: Vec<_> = received.iter().map(|delivery| (delivery.receipt, secs(3_000))).collect();
    for _ in 0..1_000 {
        machine.ask(Command::ChangeVisibility { queue: address("q"), changes: changes.clone() });
    }
    machine.sync();
    assert!(!machine.shard.admits(Demand::Changes));
    assert!(machine.storage.used_bytes() <= MAX_BYTES);
    machine.lose_power(CrashPolicy::DropAll);
    machine.check();
}

#[test]
fn power_may_fail_on_a_full_disk() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut machine = bounded(random.bool());
        let first = machine.storage.clone();
        for _ in 0..3 {
            fill(&mut machine);
            for _ in 0..random.usize(0..12) {
                match random.u32(0..4) {
                    0 => drop(machine.call(util::receive("q", Some(secs(random.u64(0..40)))))),
                    1 => machine.wait(secs(random.u64(0..30))),
                    2 => machine.checkpoint(),
                    _ => {
                        let tickets = machine.tickets.drain(..machine.tickets.len().min(10));
                        let receipts = tickets.map(|ticket| ticket.receipt).collect();
                        machine.done_or_full(Command::Delete { queue: address("q"), receipts });
                    }
                }
            }
            machine.lose_power(CrashPolicy::Seeded(random.u64(..)));
            if random.bool() {
                machine.wait(secs(40));
                machine.drain("q");
            }
            machine.maintain();
        }
        machine.check();
        drop(first);
    }
}
