//! Goal: faults of the medium get the promised answers, and leave a directory that recovers.
//!
//! Method: plan the fault on the simulated storage, run into it, look at the answer; then recover without it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "all of it is test code")]

mod harness;

use harness::{End, IDENTITY, World, scan, small};
use tidegate_log::{
    AppendError, CrashPolicy, Fault, Frame, KeeperError, LogConfig, LogError, MemoryStorage, Opened,
    Position, ReadError, SegmentedLog, Space, Trigger,
};

fn open(storage: &MemoryStorage, config: LogConfig) -> Opened<MemoryStorage> {
    SegmentedLog::open(storage.clone(), config, IDENTITY).unwrap()
}

fn frame(log: &mut Opened<MemoryStorage>, bytes: usize) -> Frame {
    log.framer.push(|record| record.resize(record.len() + bytes, 0x5a));
    log.framer.finish().unwrap()
}

fn append(log: &mut Opened<MemoryStorage>, bytes: usize) -> Result<Position, AppendError> {
    let frame = frame(log, bytes);
    log.appender.append(&[frame])
}

#[test]
fn failed_write_or_fsync_poisons_for_good() {
    for fault in [Fault::Error, Fault::ShortWrite(60), Fault::ShortWrite(0)] {
        for later in 1..=2 {
            let storage = MemoryStorage::new();
            let mut log = open(&storage, small());
            let kept = append(&mut log, 100).unwrap();
            let start = log.framer.tail();
            storage.inject(Trigger::Operation(storage.operations() + later), fault);
            assert!(matches!(append(&mut log, 100), Err(AppendError::Unknown { .. })));
            let operations = storage.operations();
            assert!(matches!(append(&mut log, 100), Err(AppendError::Unknown { .. })));
            assert!(matches!(log.keeper.prepare_spare(), Err(KeeperError::Poisoned)));
            assert!(matches!(log.keeper.write_checkpoint(kept, b"", &[]), Err(KeeperError::Poisoned)));
            assert_eq!(storage.operations(), operations, "nothing is tried again");
            assert_eq!(log.reader.tail(), kept, "readers see only what was acknowledged");
            assert!(log.reader.locate(start).is_none());
            drop(log);
            let log = open(&storage.crash(CrashPolicy::DropAll), small());
            assert_eq!(log.tail, kept);
        }
    }
}

#[test]
fn every_failed_operation_leaves_a_directory_that_recovers() {
    let run = |world: &mut World| -> Result<(), Box<dyn std::error::Error>> {
        let Some(mut life) = world.open() else { return Err("open failed".into()) };
        for _ in 0..120 {
            world.step(&mut life)?;
        }
        Ok(())
    };
    let mut measured = World::new(3, small());
    run(&mut measured).unwrap();
    for operation in 1..=measured.storage.operations() {
        for fault in [Fault::Error, Fault::ShortWrite(operation as usize * 13 % 700)] {
            let mut world = World::new(3, small());
            world.storage.inject(Trigger::Operation(operation), fault);
            let _ = run(&mut world);
            world.end(End::Killed);
            run(&mut world).unwrap();
            world.end(End::PowerLoss(CrashPolicy::DropAll));
            assert!(world.open().is_some(), "operation {operation}");
        }
    }
}

#[test]
fn disk_that_fills_up_at_any_point_leaves_a_directory_that_recovers() {
    let run = |world: &mut World| {
        let Some(mut life) = world.open() else { return };
        for _ in 0..200 {
            if world.step(&mut life).is_err() {
                return;
            }
        }
    };
    let mut refused = 0;
    for capacity in (0..200_000).step_by(701) {
        let mut world = World::new(capacity, small());
        world.storage.limit_capacity(Some(capacity));
        run(&mut world);
        world.end(End::Killed);
        if world.last_epoch > 0 {
            assert!(world.open().is_some(), "a log opens on a full disk, here at {capacity}");
        }
        world.end(End::PowerLoss(CrashPolicy::Seeded(capacity)));
        refused += u64::from(world.open().is_none());
        world.storage.limit_capacity(None);
        run(&mut world);
        world.end(End::PowerLoss(CrashPolicy::DropAll));
        assert!(world.open().is_some());
    }
    println!("{refused} directories were too small to create a log in");
    assert!(refused > 0);
}

#[test]
fn full_disk_refuses_sends_and_leaves_room_for_deletes() {
    let config = small();
    let storage = MemoryStorage::new();
    let mut log = open(&storage, config.clone());
    assert_eq!(log.framer.space(), Space::Ample, "nobody has tried to make a spare segment yet");
    storage.limit_capacity(Some(storage.used_bytes()));
    assert!(!log.keeper.prepare_spare().unwrap());
    assert_eq!(log.framer.space(), Space::Low);

    let mut deletes = 0_u64;
    while log.framer.space() == Space::Low {
        assert!(log.framer.room_bytes() > 0);
        append(&mut log, 20).unwrap();
        deletes += 1;
    }
    assert_eq!(log.framer.space(), Space::Full);
    println!("{deletes} deletes, each in its own frame");
    let usable = config.file_bytes() - 4096 - u64::from(config.headroom_bytes() / 4);
    assert!(deletes * 80 >= usable, "all that was allocated can be used, but for the last room");

    storage.limit_capacity(None);
    assert!(log.keeper.prepare_spare().unwrap());
    assert_eq!(log.framer.space(), Space::Ample);
    append(&mut log, 20).unwrap();
    assert_eq!(log.reader.tail().segment(), 2);
}

#[test]
fn configured_bound_acts_like_a_full_disk_and_retiring_leads_out_of_it() {
    let config = LogConfig { max_bytes: Some(3 * small().file_bytes()), ..small() };
    let storage = MemoryStorage::new();
    let mut log = open(&storage, config);
    while log.keeper.prepare_spare().unwrap() {
        append(&mut log, 3_000).unwrap();
    }
    assert_eq!(log.framer.space(), Space::Low);
    assert!(log.keeper.bytes_on_disk().unwrap() <= 3 * small().file_bytes());
    let end = append(&mut log, 20).unwrap();
    log.keeper.write_checkpoint(end, b"", &[]).unwrap();
    let before = storage.used_bytes();
    log.keeper.retire(1).unwrap();
    assert!(log.keeper.prepare_spare().unwrap(), "the retired file is used again");
    assert_eq!(storage.used_bytes(), before, "without new space");
    assert_eq!(log.framer.space(), Space::Ample);
}

#[test]
fn checkpoint_on_a_full_disk_takes_the_older_ones_place_and_then_the_reserve() {
    let storage = MemoryStorage::new();
    let config = LogConfig { segment_bytes: 128 << 10, ..LogConfig::default() };
    let mut log = open(&storage, config.clone());
    log.keeper.prepare_spare().unwrap();
    let payload = vec![7; 3_000];
    let mut ends = Vec::new();
    for _ in 0..5 {
        ends.push(append(&mut log, 10).unwrap());
    }
    log.keeper.write_checkpoint(ends[0], &payload, &[]).unwrap();
    log.keeper.write_checkpoint(ends[1], &payload, &[]).unwrap();
    assert_eq!(log.keeper.oldest_checkpoint(), ends[0]);
    storage.limit_capacity(Some(storage.used_bytes()));
    log.keeper.write_checkpoint(ends[2], &payload, &[]).unwrap();
    assert_eq!(log.keeper.oldest_checkpoint(), ends[1], "the older one made room");
    log.keeper.write_checkpoint(ends[3], &vec![7; 4_500], &[]).unwrap();
    assert_eq!(log.keeper.oldest_checkpoint(), ends[2], "and so did the reserve of 2 KiB");
    assert!(matches!(
        log.keeper.write_checkpoint(ends[4], &vec![7; 9_000], &[]),
        Err(KeeperError::NoRoom { .. })
    ));
    drop(log);
    let log = open(&storage.crash(CrashPolicy::DropAll), config);
    assert_eq!(log.checkpoint.unwrap().position, ends[3], "the newest one that succeeded is there");
}

#[test]
fn newer_owner_fences_at_the_roll_and_at_an_error() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage, small());
    log.keeper.prepare_spare().unwrap();
    append(&mut log, 16_000).unwrap();
    // Someone got around the lock.
    let newer = open(&storage.restart_process(), small());
    let answer = append(&mut log, 10);
    assert!(matches!(answer, Err(AppendError::Fenced { epoch }) if epoch == newer.epoch), "{answer:?}");
    assert!(matches!(append(&mut log, 10), Err(AppendError::Unknown { .. })));

    let storage = MemoryStorage::new();
    let mut log = open(&storage, small());
    drop(open(&storage.restart_process(), small()));
    storage.inject(Trigger::Sync(storage_syncs(&storage)), Fault::Error);
    let answer = (0..10).map(|_| append(&mut log, 10)).find(Result::is_err);
    assert!(matches!(answer, Some(Err(AppendError::Fenced { epoch: 2 }))), "{answer:?}");
}

/// Number of a sync that is still to come: no more syncs than operations can have been.
fn storage_syncs(storage: &MemoryStorage) -> u64 {
    storage.operations() / 2
}

#[test]
fn log_without_spares_goes_on_in_its_segment() {
    let storage = MemoryStorage::new();
    let config = small();
    let mut log = open(&storage, config.clone());
    let mut last = Position::default();
    while log.framer.space() != Space::Full {
        last = append(&mut log, 2_000).unwrap();
    }
    assert_eq!(last.segment(), 1);
    assert!(u64::from(last.offset()) >= config.file_bytes() - u64::from(config.headroom_bytes() / 4));
    append(&mut log, 2_000).unwrap();
    drop(log);
    let mut log = open(&storage.crash(CrashPolicy::DropAll), config);
    assert_eq!(log.tail.segment(), 1);
    assert_eq!(log.framer.space(), Space::Full, "also after a restart");
    log.keeper.prepare_spare().unwrap();
    assert_eq!(append(&mut log, 10).unwrap().segment(), 2);
}

/// A segment that was allocated for another configuration offers what it has, and no more.
#[test]
fn segment_size_may_change_between_openings() {
    let larger = LogConfig { segment_bytes: 64 << 10, ..small() };
    for (before, after) in [(small(), larger.clone()), (larger, small())] {
        let storage = MemoryStorage::new();
        let mut log = open(&storage, before.clone());
        log.keeper.prepare_spare().unwrap();
        append(&mut log, 9_000).unwrap();
        drop(log);
        let mut log = open(&storage.restart_process(), after.clone());
        assert_eq!(log.framer.room_bytes(), before.file_bytes() - u64::from(log.tail.offset()));
        for _ in 0..30 {
            assert!(log.keeper.prepare_spare().unwrap());
            assert_eq!(log.framer.space(), Space::Ample);
            append(&mut log, 4_000).unwrap();
        }
        let smaller = before.segment_bytes.min(after.segment_bytes);
        let sealed = log.keeper.sealed_segments();
        assert!(sealed[0].end_bytes < smaller + 5_000, "{sealed:?}");
        assert!(sealed[1].end_bytes >= after.segment_bytes, "{sealed:?}");
        drop(log);
        let log = open(&storage.crash(CrashPolicy::DropAll), after);
        assert_eq!(scan(&log.reader, log.replay_from, log.tail).len(), 31);
    }
}

#[test]
fn scan_stops_where_it_is_told() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage, small());
    let mut ends = vec![log.tail];
    for _ in 0..12 {
        log.keeper.prepare_spare().unwrap();
        ends.push(append(&mut log, 3_000).unwrap());
    }
    let tail = *ends.last().unwrap();
    assert!(tail.segment() >= 3);
    let inside = Position::new(tail.segment(), tail.offset() - 100);
    assert_eq!(scan(&log.reader, log.replay_from, inside).len(), 12, "frames that begin before it");
    assert_eq!(scan(&log.reader, ends[5], ends[7]).len(), 2);
    assert_eq!(scan(&log.reader, ends[12], tail).len(), 0);
    let second: Vec<_> = scan(&log.reader, Position::segment_start(2), Position::segment_start(3));
    assert!(second.iter().all(|frame| frame.start.segment() == 2) && second.len() > 3);
    let mut seen = 0;
    let stopped = log.reader.scan(log.replay_from, tail, |_, _, _| {
        seen += 1;
        if seen == 5 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    });
    assert_eq!((stopped.unwrap(), seen), (ends[5], 5));
    let inside = Position::new(1, ends[0].offset() + 8);
    assert!(matches!(
        log.reader.scan(inside, tail, |_, _, _| std::ops::ControlFlow::Continue(())),
        Err(LogError::Corrupt { segment: 1, .. })
    ));
}

#[test]
fn many_frames_over_several_segments_go_out_in_one_append() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage, small());
    let mut frames = Vec::new();
    let mut positions = Vec::new();
    for index in 0..40_u32 {
        log.keeper.prepare_spare().unwrap();
        positions.push(log.framer.push(|record| record.resize(record.len() + 2_000, index as u8)));
        frames.push(log.framer.finish().unwrap());
    }
    let operations = storage.operations();
    let end = log.appender.append(&frames).unwrap();
    assert!(end.segment() >= 5);
    let rolls = u64::from(end.segment() - 1);
    // Each sealed segment: its frames, a sync, the seal, a sync. The last one: its frames and a sync.
    assert_eq!(storage.operations() - operations, rolls * 4 + 2);
    for (index, position) in positions.iter().enumerate() {
        assert_eq!(log.reader.read(*position).unwrap(), vec![index as u8; 2_000]);
    }
    drop(log);
    let log = open(&storage.crash(CrashPolicy::DropAll), small());
    assert_eq!(scan(&log.reader, log.replay_from, log.tail).len(), 40);
}

#[test]
fn segments_are_retired_only_when_sealed_covered_and_unpinned() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage, small());
    let mut first = Vec::new();
    for _ in 0..20 {
        log.keeper.prepare_spare().unwrap();
        let start = log.framer.push(|record| record.resize(record.len() + 3_000, 1));
        let frame = log.framer.finish().unwrap();
        log.appender.append(&[frame]).unwrap();
        first.push(start);
    }
    let end = log.reader.tail();
    let sealed = log.keeper.sealed_segments();
    assert_eq!(
        sealed.iter().map(|segment| segment.number).collect::<Vec<_>>(),
        (1..end.segment()).collect::<Vec<_>>()
    );
    assert!(matches!(log.keeper.retire(1), Err(KeeperError::Needed { .. })), "there is no checkpoint");
    let beyond = Position::new(end.segment(), end.offset() + 8);
    assert!(matches!(
        log.keeper.write_checkpoint(beyond, b"", &[]),
        Err(KeeperError::CheckpointRange { .. })
    ));
    log.keeper.write_checkpoint(end, b"", &[]).unwrap();
    assert!(matches!(
        log.keeper.write_checkpoint(first[3], b"", &[]),
        Err(KeeperError::CheckpointRange { .. })
    ));
    assert!(
        matches!(log.keeper.retire(end.segment()), Err(KeeperError::NotSealed { .. })),
        "it is being written"
    );
    assert!(matches!(log.keeper.retire(99), Err(KeeperError::NotSealed { .. })));

    let pinned = log.reader.locate(first[0]).unwrap();
    log.keeper.retire(1).unwrap();
    assert!(matches!(log.keeper.retire(1), Err(KeeperError::NotSealed { .. })), "only once");
    assert!(matches!(log.reader.read(first[0]), Err(ReadError::Missing { .. })), "nobody finds it any more");
    assert_eq!(log.keeper.pinned_count(), 1);
    for segment in 2..end.segment() {
        log.keeper.retire(segment).unwrap();
    }
    for _ in 0..20 {
        log.keeper.prepare_spare().unwrap();
        append(&mut log, 3_000).unwrap();
    }
    assert_eq!(pinned.read().unwrap(), vec![1; 3_000], "who has pinned it can still read it");
    drop(pinned);
    log.keeper.prepare_spare().unwrap();
    assert_eq!(log.keeper.pinned_count(), 0);
}

#[test]
fn volatile_storage_serves_as_a_log() {
    let storage = MemoryStorage::volatile();
    let config = LogConfig { durability: tidegate_log::Durability::Os, ..LogConfig::default() };
    let mut log = open(&storage, config);
    let position = log.framer.push(|record| record.extend_from_slice(b"hello"));
    let frame = log.framer.finish().unwrap();
    log.appender.append(&[frame]).unwrap();
    assert_eq!(log.reader.read(position).unwrap(), "hello");
    let elsewhere = Position::new(position.segment(), position.offset() + 1);
    assert!(matches!(log.reader.read(elsewhere), Err(ReadError::Damaged { .. })));
}

#[test]
fn settings_out_of_range_are_refused() {
    for segment_bytes in [0, 8_191, (1 << 30) + 1] {
        let config = LogConfig { segment_bytes, ..LogConfig::default() };
        let opened = SegmentedLog::open(MemoryStorage::new(), config, IDENTITY);
        assert!(matches!(opened, Err(LogError::SegmentBytes { .. })));
    }
}
