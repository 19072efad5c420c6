//! Goal: after any crash, everything whose append said Ok is there, in order and bit for bit; nothing is there that
//! was never appended; frames are atomic; and the log goes on from there, also through the next crash.
//!
//! Method: a random history on a simulated machine, several lives per seed, next to a model (`harness`). Each life
//! ends at a random operation, and what was unsynced is then kept, dropped or torn. Besides, two short histories are
//! tried exhaustively: power loss at every operation, and a last write torn at every byte.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "all of it is test code")]

mod harness;

use harness::{End, IDENTITY, World, scan, small};
use tidegate_log::{CrashPolicy, Durability, Fault, LogConfig, MemoryStorage, SegmentedLog, Trigger};

/// 1,000 seeds usually, 50,000 with `TIDEGATE_LONG=1`.
fn seeds() -> std::ops::Range<u64> {
    if std::env::var_os("TIDEGATE_LONG").is_some() { 0..50_000 } else { 0..1_000 }
}

fn live_and_die(seed: u64, config: LogConfig) -> World {
    let mut world = World::new(seed, config);
    for _ in 0..8 {
        let end = world.live();
        world.end(end);
    }
    assert!(world.open().is_some(), "no fault is planned any more");
    world
}

/// Runs `test` for all seeds, and names the seed of a failure.
fn for_all_seeds(mut test: impl FnMut(u64) + std::panic::UnwindSafe + Copy) {
    for seed in seeds() {
        if let Err(panic) = std::panic::catch_unwind(move || test(seed)) {
            println!("failed with seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn fsync_mode_keeps_everything_acknowledged() {
    for_all_seeds(|seed| {
        live_and_die(seed, small());
    });
}

#[test]
fn os_mode_keeps_a_prefix_and_everything_before_a_checkpoint() {
    for_all_seeds(|seed| {
        live_and_die(seed, LogConfig { durability: Durability::Os, ..small() });
    });
}

#[test]
fn random_lives_do_what_they_are_for() {
    let mut total = [0; 6];
    for seed in 0..50 {
        let counts = live_and_die(seed, small()).counts;
        let counts = [
            counts.appends,
            counts.rolls,
            counts.recycled,
            counts.checkpoints,
            counts.in_flight_kept,
            counts.torn,
        ];
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    println!("appends, rolls, recycled, checkpoints, unacknowledged frames kept, torn tails: {total:?}");
    assert!(total.iter().all(|count| *count >= 20), "{total:?}");
}

/// A fixed history with rolls, recycling and checkpoints, up to the first error.
fn fixed_history(world: &mut World) -> Result<(), Box<dyn std::error::Error>> {
    let Some(mut life) = world.open() else { return Ok(()) };
    for round in 0..40 {
        life.keeper.prepare_spare()?;
        world.append(&mut life)?;
        if round % 10 == 9 {
            world.write_checkpoint(&mut life)?;
            let bound = life.keeper.oldest_checkpoint().segment();
            for segment in life.keeper.sealed_segments().iter().filter(|segment| segment.number < bound) {
                world.retired.insert(segment.number);
                life.keeper.retire(segment.number)?;
            }
        }
    }
    Ok(())
}

#[test]
fn power_loss_at_every_operation() {
    let mut measured = World::new(7, small());
    fixed_history(&mut measured).unwrap();
    let operations = measured.storage.operations();
    println!("{operations} operations");
    assert!(measured.retired.len() >= 3 && operations > 100);
    for operation in 1..=operations {
        let seeded = (0..3).map(|salt| CrashPolicy::Seeded(operation * 31 + salt));
        for policy in [CrashPolicy::DropAll, CrashPolicy::KeepAll].into_iter().chain(seeded) {
            let mut world = World::new(7, small());
            world.storage.inject(Trigger::Operation(operation), Fault::PowerOff);
            let _ = fixed_history(&mut world);
            println!("operation {operation}, {policy:?}");
            world.end(End::PowerLoss(policy));
            fixed_history(&mut world).unwrap();
            world.end(End::PowerLoss(CrashPolicy::DropAll));
            assert!(world.open().is_some());
        }
    }
}

#[test]
fn last_write_torn_at_every_byte() {
    // Two frames in one write: lengths that are not multiples of 8, and an empty record.
    let history = |storage: &MemoryStorage| {
        let mut log = SegmentedLog::open(storage.clone(), small(), IDENTITY).unwrap();
        log.framer.push(|record| record.extend_from_slice(b"acknowledged"));
        log.appender.append(&[log.framer.finish().unwrap()]).unwrap();
        let mut frames = Vec::new();
        for texts in [["first", ""], ["second frame", "x"]] {
            for text in texts {
                log.framer.push(|record| record.extend_from_slice(text.as_bytes()));
            }
            frames.push(log.framer.finish().unwrap());
        }
        let ends =
            frames.iter().map(|frame| frame.end().offset() - frames[0].start().offset()).collect::<Vec<_>>();
        // The write takes place and its sync does not.
        storage.inject(Trigger::Operation(storage.operations() + 2), Fault::PowerOff);
        log.appender.append(&frames).unwrap_err();
        ends
    };
    let ends = history(&MemoryStorage::new());
    let padding = 7;
    for kept in 0..=ends[1] {
        let storage = MemoryStorage::new();
        history(&storage);
        let storage = storage.crash(CrashPolicy::TearLast(kept as usize));
        let log = SegmentedLog::open(storage.clone(), small(), IDENTITY).unwrap();
        let frames = scan(&log.reader, log.replay_from, log.tail);
        // Padding is zeros, and so is what was there before: it may be missing.
        let whole = ends.iter().filter(|end| kept + padding >= **end).count();
        let surely = ends.iter().filter(|end| kept >= **end).count();
        assert!((1 + surely..=1 + whole).contains(&frames.len()), "{} frames of {kept} bytes", frames.len());
        assert_eq!(log.recovery.torn_at.is_some(), log.tail.offset() - 4096 - 72 < kept, "{kept}");

        // A shorter frame over the torn place: what is left of the write behind it must not come back.
        let mut log = log;
        log.framer.push(|record| record.extend_from_slice(b"new"));
        log.appender.append(&[log.framer.finish().unwrap()]).unwrap();
        let expected = scan(&log.reader, log.replay_from, log.reader.tail());
        drop(log);
        let log = SegmentedLog::open(storage.crash(CrashPolicy::DropAll), small(), IDENTITY).unwrap();
        assert_eq!(scan(&log.reader, log.replay_from, log.tail), expected);
        assert_eq!(expected.len(), frames.len() + 1);
    }
}

/// Two frames in separate writes without a sync between them; the first is lost, the second is not. A new frame of
/// just the length of the first then stands before the second, which would continue it but for its epoch.
#[test]
fn cut_off_frames_do_not_come_back_behind_new_ones() {
    let storage = MemoryStorage::new();
    let config = LogConfig { durability: Durability::Os, ..small() };
    let mut log = SegmentedLog::open(storage.clone(), config.clone(), IDENTITY).unwrap();
    let mut ends = Vec::new();
    for text in ["lost....", "survives"] {
        log.framer.push(|record| record.extend_from_slice(text.as_bytes()));
        ends.push(log.appender.append(&[log.framer.finish().unwrap()]).unwrap());
    }
    // Find the seed for which the medium kept the second write only.
    let crashed = (0..2000).map(|seed| storage.crash(CrashPolicy::Seeded(seed))).find(|crashed| {
        use tidegate_log::{Storage, StorageFile};
        let file = crashed.open("00000001.seg").unwrap();
        let mut bytes = vec![0; 128];
        file.read_at(&mut bytes, 4096).unwrap();
        bytes[..64] == [0; 64] && bytes[64..68] == *b"TGFR" && bytes[120..128] == *b"survives"
    });
    let crashed = crashed.expect("one of the seeds drops just the first write");
    let mut log = SegmentedLog::open(crashed.clone(), config.clone(), IDENTITY).unwrap();
    assert_eq!(log.tail.offset(), 4096, "the gap ends the log");
    log.framer.push(|record| record.extend_from_slice(b"replaces"));
    let end = log.appender.append(&[log.framer.finish().unwrap()]).unwrap();
    assert_eq!(end, ends[0], "the new frame ends where the old one would");
    drop(log);
    let log = SegmentedLog::open(crashed.restart_process(), config, IDENTITY).unwrap();
    assert_eq!(log.tail, end, "the old frame does not continue the new one");
}
