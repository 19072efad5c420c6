//! Goal: each kind of damage meets the answer that the recovery table gives it: kept, cut, or refused.
//!
//! Method: build a small log whose layout is known, change bytes on the medium, open it and replay it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "all of it is test code")]

mod harness;

use harness::{IDENTITY, scan, small};
use tidegate_log::{
    CrashPolicy, Fault, KeeperError, LogConfig, LogError, MemoryStorage, Opened, Position, ReadError,
    SegmentedLog, Storage, StorageFile, Trigger, check,
};

const HEAD: u64 = 4096;
const SEAL: u64 = 2048;
const FIRST: &str = "00000001.seg";
const SECOND: &str = "00000002.seg";

fn open(storage: &MemoryStorage) -> Result<Opened<MemoryStorage>, LogError> {
    SegmentedLog::open(storage.clone(), small(), IDENTITY)
}

/// Appends one frame with one record, in its own append, and returns its place.
fn append(log: &mut Opened<MemoryStorage>, bytes: usize) -> (Position, Position) {
    log.framer.push(|record| record.resize(record.len() + bytes, 0x5a));
    let frame = log.framer.finish().unwrap();
    let place = (frame.start(), frame.end());
    log.appender.append(&[frame]).unwrap();
    place
}

fn flip(storage: &MemoryStorage, name: &str, offset: u64) {
    let file = storage.open(name).unwrap();
    let mut byte = [0];
    assert_eq!(file.read_at(&mut byte, offset).unwrap(), 1);
    file.write_all_at(&[byte[0] ^ 0x04], offset).unwrap();
}

fn zero(storage: &MemoryStorage, name: &str, offset: u64, bytes: usize) {
    storage.open(name).unwrap().write_all_at(&vec![0; bytes], offset).unwrap();
}

/// A log with three frames in segment 1, which is sealed, and two in segment 2. Gives the frames' places.
fn two_segments() -> (MemoryStorage, Vec<(Position, Position)>) {
    let storage = MemoryStorage::new();
    let mut log = open(&storage).unwrap();
    log.keeper.prepare_spare().unwrap();
    let places = [6_000, 6_000, 1_000, 100, 100].map(|bytes| append(&mut log, bytes));
    assert_eq!(places[2].0.segment(), 1);
    assert_eq!(places[3].0, Position::new(2, HEAD as u32));
    (storage, places.to_vec())
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// So many frames were replayed.
    Frames(usize),
    Refused {
        segment: u32,
    },
}

/// Opens and replays.
fn recover(storage: &MemoryStorage) -> Outcome {
    let refused = |error| match error {
        LogError::Corrupt { segment, .. } => Outcome::Refused { segment },
        error => panic!("{error}"),
    };
    let log = match open(&storage.restart_process()) {
        Ok(log) => log,
        Err(error) => return refused(error),
    };
    let mut frames = 0;
    let scanned = log.reader.scan(log.replay_from, log.tail, |_, _, _| {
        frames += 1;
        std::ops::ControlFlow::Continue(())
    });
    scanned.map_or_else(refused, |_| Outcome::Frames(frames))
}

#[test]
fn table_holds_for_real_segments() {
    for seal in ["sealed", "open", "damaged"] {
        for place in ["before", "last"] {
            for body in ["valid", "torn", "corrupt"] {
                let (storage, places) = two_segments();
                let case = format!("{seal}, {place}, {body}");
                match seal {
                    "open" => zero(&storage, FIRST, SEAL, 64),
                    "damaged" => flip(&storage, FIRST, SEAL + 20),
                    _ => {}
                }
                if place == "last" {
                    zero(&storage, SECOND, HEAD, 4_000);
                }
                match body {
                    "torn" => flip(&storage, FIRST, u64::from(places[2].0.offset()) + 500),
                    "corrupt" => flip(&storage, FIRST, u64::from(places[1].0.offset()) + 500),
                    _ => {}
                }
                let expected = match (seal, place, body) {
                    ("sealed", "before", "valid") => Outcome::Frames(5),
                    (_, "last", "valid") => Outcome::Frames(3),
                    ("open" | "damaged", "last", "torn") => Outcome::Frames(2),
                    _ => Outcome::Refused { segment: 1 },
                };
                let report = check(&storage.restart_process()).unwrap();
                assert_eq!(
                    report.is_sound(),
                    matches!(expected, Outcome::Frames(_)),
                    "{case}: {:?}",
                    report.findings
                );
                assert_eq!(recover(&storage), expected, "{case}");
            }
        }
    }
}

#[test]
fn every_flipped_byte_of_a_sealed_segment_is_noticed() {
    let (storage, places) = two_segments();
    drop(storage);
    let header = 0..24;
    let seal = SEAL..SEAL + 40;
    // Not the padding after a frame, which holds nothing: 48 + 8 + 6,000 and 1,000 are multiples of 8.
    let frames = HEAD..u64::from(places[2].1.offset());
    for offset in header.chain(seal).chain(frames.step_by(7)) {
        let (storage, _) = two_segments();
        flip(&storage, FIRST, offset);
        let report = check(&storage.restart_process()).unwrap();
        assert!(!report.is_sound(), "byte {offset}");
        assert_eq!(recover(&storage), Outcome::Refused { segment: 1 }, "byte {offset}");
    }
}

#[test]
fn flipped_bit_below_durable_is_refused_and_above_is_cut() {
    for (frame, expected) in [(3, Outcome::Refused { segment: 2 }), (4, Outcome::Frames(4))] {
        for within in [0, 5, 20, 47, 48, 52, 60, 150] {
            let (storage, places) = two_segments();
            flip(&storage, SECOND, u64::from(places[frame].0.offset()) + within);
            assert_eq!(recover(&storage), expected, "frame {frame}, byte {within}");
        }
    }
}

#[test]
fn corruption_says_where_and_what() {
    let (storage, places) = two_segments();
    flip(&storage, SECOND, u64::from(places[3].0.offset()) + 60);
    let Err(error) = open(&storage.restart_process()) else { panic!("it must not open") };
    let text = error.to_string();
    assert!(text.starts_with("segment 2 is damaged at byte 4096: the payload of a frame"), "{text}");
    assert!(text.contains("Nothing was changed"), "{text}");
}

/// Twofold damage must not make a segment in use look like a spare one, which would be overwritten.
#[test]
fn lost_seal_and_damaged_first_frame_after_it_are_refused() {
    let (storage, places) = two_segments();
    zero(&storage, FIRST, SEAL, 64);
    flip(&storage, SECOND, u64::from(places[3].0.offset()) + 5);
    assert_eq!(recover(&storage), Outcome::Refused { segment: 1 });
}

#[test]
fn damaged_record_is_not_given_out() {
    for bytes in [10, 4_088, 4_089, 9_000] {
        let storage = MemoryStorage::new();
        let mut log = open(&storage).unwrap();
        let start = append(&mut log, bytes).0;
        append(&mut log, 10);
        let record = Position::new(1, start.offset() + 48);
        assert_eq!(log.reader.read(record).unwrap(), vec![0x5a; bytes]);
        for within in [0, 2, 3, 4, 8, 7 + bytes as u64] {
            let offset = u64::from(record.offset()) + within;
            flip(&storage, FIRST, offset);
            assert!(
                matches!(log.reader.read(record), Err(ReadError::Damaged { .. })),
                "{bytes}, byte {within}"
            );
            flip(&storage, FIRST, offset);
        }
        assert!(log.reader.read(record).is_ok());
    }
}

#[test]
fn missing_segment_is_refused_unless_a_checkpoint_covers_it() {
    let (storage, places) = two_segments();
    storage.remove(FIRST).unwrap();
    let opened = open(&storage.restart_process());
    assert!(matches!(opened, Err(LogError::Corrupt { segment: 1, .. })), "already when it is opened");

    let (storage, places_2) = two_segments();
    assert_eq!(places, places_2);
    let mut log = open(&storage.restart_process()).unwrap();
    log.keeper.write_checkpoint(places[3].0, b"", &[]).unwrap();
    drop(log);
    storage.remove(FIRST).unwrap();
    assert_eq!(recover(&storage), Outcome::Frames(2));

    let (storage, _) = two_segments();
    storage.remove(SECOND).unwrap();
    assert_eq!(recover(&storage), Outcome::Refused { segment: 2 });
}

#[test]
fn blank_last_segment_is_used() {
    let (storage, _) = two_segments();
    zero(&storage, SECOND, 0, 5_000);
    assert_eq!(recover(&storage), Outcome::Frames(3));
    let mut log = open(&storage.restart_process()).unwrap();
    assert_eq!(append(&mut log, 10).0, Position::new(2, HEAD as u32));
    drop(log);
    assert_eq!(recover(&storage), Outcome::Frames(4));

    // A segment whose file was created and never got a byte.
    let (storage, _) = two_segments();
    storage.create(SECOND, 0).unwrap();
    assert_eq!(recover(&storage), Outcome::Frames(3));

    // The same for a spare one: it is simply made again.
    let storage = MemoryStorage::new();
    let mut log = open(&storage).unwrap();
    append(&mut log, 10);
    log.keeper.prepare_spare().unwrap();
    drop(log);
    storage.create(SECOND, 0).unwrap();
    assert_eq!(recover(&storage), Outcome::Frames(1));
    let mut log = open(&storage.restart_process()).unwrap();
    assert!(log.keeper.prepare_spare().unwrap());
}

#[test]
fn damaged_checkpoint_falls_back_to_the_previous_one() {
    let (storage, places) = two_segments();
    let mut log = open(&storage.restart_process()).unwrap();
    log.keeper.write_checkpoint(places[0].1, b"older", &[]).unwrap();
    log.keeper.write_checkpoint(places[3].1, b"newer", &[]).unwrap();
    assert!(
        matches!(log.keeper.retire(1), Err(KeeperError::Needed { segment: 1, .. })),
        "the older one needs it"
    );
    drop(log);
    let newer = format!("checkpoint-{:016x}", u64::from(places[3].1));
    flip(&storage, &newer, 41);

    let mut log = open(&storage.restart_process()).unwrap();
    let checkpoint = log.checkpoint.clone().unwrap();
    assert_eq!((checkpoint.position, &checkpoint.payload[..]), (places[0].1, &b"older"[..]));
    assert_eq!(log.recovery.damaged_checkpoints, std::slice::from_ref(&newer));
    assert_eq!(scan(&log.reader, log.replay_from, log.tail).len(), 4);
    log.keeper.write_checkpoint(places[4].1, b"newest", &[]).unwrap();
    drop(log);
    assert!(storage.open(&newer).is_err(), "the damaged one is cleared away");

    // With both damaged, the whole log does, while it is whole.
    for position in [places[0].1, places[4].1] {
        flip(&storage, &format!("checkpoint-{:016x}", u64::from(position)), 41);
    }
    assert_eq!(recover(&storage), Outcome::Frames(5));
    storage.remove(FIRST).unwrap();
    assert_eq!(recover(&storage), Outcome::Refused { segment: 1 });
}

#[test]
fn checkpoint_beyond_the_log_is_refused() {
    let (storage, places) = two_segments();
    let mut log = open(&storage.restart_process()).unwrap();
    log.keeper.write_checkpoint(places[4].1, b"", &[]).unwrap();
    drop(log);
    flip(&storage, SECOND, u64::from(places[4].0.offset()) + 60);
    assert_eq!(recover(&storage), Outcome::Refused { segment: 2 });
}

#[test]
fn lost_superblock_is_not_taken_for_a_fresh_directory() {
    let (storage, _) = two_segments();
    storage.remove("superblock").unwrap();
    assert!(matches!(open(&storage.restart_process()), Err(LogError::CorruptFile { .. })));
    assert!(!check(&storage.restart_process()).unwrap().is_sound());
}

/// An epoch that is used twice would let frames that were cut off come back.
#[test]
fn epoch_lost_with_a_slot_of_the_superblock_is_not_used_again() {
    let (storage, _) = two_segments();
    let mut log = open(&storage.restart_process()).unwrap();
    append(&mut log, 10);
    assert_eq!(log.epoch, 2);
    drop(log);
    flip(&storage, "superblock", 33);
    let report = check(&storage.restart_process()).unwrap();
    assert!(
        report.is_sound() && report.findings[0].to_string().contains("superblock"),
        "{:?}",
        report.findings
    );
    let log = open(&storage.restart_process()).unwrap();
    assert_eq!((log.epoch, scan(&log.reader, log.replay_from, log.tail).len()), (4, 6));
    drop(log);
    assert_eq!(open(&storage.restart_process()).unwrap().epoch, 5);
    assert!(check(&storage.restart_process()).unwrap().findings.is_empty(), "and the slot is whole again");
}

#[test]
fn frames_newer_than_the_superblock_are_refused() {
    let (storage, _) = two_segments();
    let older = storage.read_file("superblock").unwrap().unwrap();
    for _ in 0..3 {
        append(&mut open(&storage.restart_process()).unwrap(), 10);
    }
    storage.replace_file("superblock", &[&older]).unwrap();
    assert!(!check(&storage.restart_process()).unwrap().is_sound());
    assert_eq!(recover(&storage), Outcome::Refused { segment: 2 });
}

#[test]
fn segment_of_another_installation_is_refused() {
    let (storage, _) = two_segments();
    let other = MemoryStorage::new();
    let mut log = SegmentedLog::open(other.clone(), small(), [9; 16]).unwrap();
    append(&mut log, 10);
    drop(log);
    let content = other.read_file(FIRST).unwrap().unwrap();
    storage.replace_file(FIRST, &[&content]).unwrap();
    let Err(error) = open(&storage.restart_process()) else { panic!("it must not open") };
    assert!(error.to_string().contains("another installation"), "{error}");
}

#[test]
fn second_owner_is_locked_out() {
    let (storage, _) = two_segments();
    let log = open(&storage).unwrap();
    assert!(matches!(open(&storage), Err(LogError::Locked)));
    assert!(matches!(check(&storage), Err(LogError::Locked)));
    drop(log);
    assert!(check(&storage).unwrap().is_sound());
    assert!(open(&storage).is_ok());
}

/// What a killed process had written is adopted, so it must be made durable before anything builds on it.
#[test]
fn adopted_writes_survive_a_later_power_loss() {
    let storage = MemoryStorage::new();
    let config = LogConfig { durability: tidegate_log::Durability::Os, ..small() };
    let mut log = SegmentedLog::open(storage.clone(), config, IDENTITY).unwrap();
    append(&mut log, 100);
    drop(log);
    let log = open(&storage.restart_process()).unwrap();
    assert_eq!(scan(&log.reader, log.replay_from, log.tail).len(), 1);
    drop(log);
    assert_eq!(recover(&storage.crash(CrashPolicy::DropAll)), Outcome::Frames(1));
}

/// The same for names: the spare segment that a killed process had just named, and never synced the name of.
#[test]
fn adopted_names_survive_a_later_power_loss() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage).unwrap();
    append(&mut log, 12_500);
    // Create, write, sync, rename, sync of the directory: the last one fails.
    storage.inject(Trigger::Operation(storage.operations() + 5), Fault::Error);
    log.keeper.prepare_spare().unwrap_err();
    drop(log);
    let storage = storage.restart_process();
    let mut log = open(&storage).unwrap();
    assert_eq!(append(&mut log, 10).0.segment(), 2);
    drop(log);
    assert_eq!(recover(&storage.crash(CrashPolicy::DropAll)), Outcome::Frames(2));
}

#[test]
fn check_counts() {
    let (storage, places) = two_segments();
    let mut log = open(&storage.restart_process()).unwrap();
    log.keeper.write_checkpoint(places[3].1, b"state", &[]).unwrap();
    log.keeper.prepare_spare().unwrap();
    drop(log);
    let report = check(&storage.restart_process()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!((report.epoch, report.segment_count, report.frame_count, report.record_count), (2, 3, 5, 5));
    assert_eq!((report.tail, report.checkpoints), (Some(places[4].1), vec![places[3].1]));
    let fresh = check(&MemoryStorage::new()).unwrap();
    assert!(fresh.findings[0].to_string().contains("not a data directory"));
}
