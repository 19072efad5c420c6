//! Goal: a posting file is there as long as something refers to it, whatever happens in between, and no longer.

#![allow(clippy::unwrap_used, reason = "all of it is test code")]

use std::collections::BTreeSet;
use tidegate_log::{
    BlockError, BlockRef, CrashPolicy, Fault, KeeperError, LogConfig, MemoryStorage, Opened, Position,
    SegmentedLog, Storage, StorageFile, Trigger, check,
};

fn open(storage: &MemoryStorage) -> Opened<MemoryStorage> {
    let config = LogConfig { segment_bytes: 128 << 10, ..LogConfig::default() };
    SegmentedLog::open(storage.clone(), config, *b"sixteen random b").unwrap()
}

fn append(log: &mut Opened<MemoryStorage>) -> Position {
    log.framer.push(|record| record.push(7));
    let frame = log.framer.finish().unwrap();
    log.appender.append(&[frame]).unwrap()
}

/// Writes a posting file and a checkpoint that refers to it and to `others`; the place of its block.
fn checkpoint(log: &mut Opened<MemoryStorage>, others: &[u32]) -> BlockRef {
    let position = append(log);
    let place = log.keeper.write_postings(&[b"some block".to_vec()]).unwrap()[0];
    log.keeper.write_checkpoint(position, b"", &[others, &[place.file]].concat()).unwrap();
    log.keeper.set_postings_in_use([others, &[place.file]].concat().into_iter().collect());
    place
}

fn files(storage: &MemoryStorage) -> BTreeSet<String> {
    let files = storage.list().unwrap().into_iter().map(|file| file.name);
    files.filter(|name| name.ends_with(".post")).collect()
}

fn flip(storage: &MemoryStorage, name: &str, offset: u64) {
    let file = storage.open(name).unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

#[test]
fn blocks_are_read_back_after_a_crash() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage);
    let place = checkpoint(&mut log, &[]);
    assert_eq!(log.reader.read_block(place).unwrap(), "some block");
    drop(log);
    let log = open(&storage.crash(CrashPolicy::DropAll));
    assert_eq!(log.checkpoint.unwrap().postings, [place.file]);
    assert_eq!(log.reader.read_block(place).unwrap(), "some block");
    let missing = log.reader.read_block(BlockRef { file: 77, ..place });
    assert!(matches!(missing, Err(BlockError::Missing { file: 77 })));
}

#[test]
fn a_file_goes_when_no_checkpoint_that_is_kept_refers_to_it_and_nobody_reads_it() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage);
    let first = checkpoint(&mut log, &[]);
    checkpoint(&mut log, &[]);
    assert_eq!(files(&storage).len(), 2, "the older checkpoint refers to the first");
    let third = append(&mut log);
    log.keeper.set_postings_in_use([first.file].into());
    log.keeper.write_checkpoint(third, b"", &[]).unwrap();
    assert_eq!(files(&storage).len(), 2, "the first is in use");
    assert!(log.reader.read_block(first).is_ok());
    log.keeper.set_postings_in_use(BTreeSet::new());
    assert_eq!(files(&storage).len(), 1);
    assert!(matches!(log.reader.read_block(first), Err(BlockError::Missing { .. })));
    assert!(log.keeper.give_up_fallback().unwrap());
    assert_eq!(files(&storage).len(), 0);
}

#[test]
fn what_a_crash_left_before_its_checkpoint_is_removed() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage);
    let kept = checkpoint(&mut log, &[]);
    log.keeper.write_postings(&[b"too late".to_vec()]).unwrap();
    assert_eq!(files(&storage).len(), 2);
    let storage = storage.crash(CrashPolicy::KeepAll);
    assert!(check(&storage).unwrap().is_sound(), "it is no damage");
    drop(log);
    let log = open(&storage);
    assert_eq!(files(&storage).len(), 1);
    assert!(log.reader.read_block(kept).is_ok());
}

#[test]
fn a_failed_checkpoint_takes_its_posting_files_with_it() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage);
    checkpoint(&mut log, &[]);
    let position = append(&mut log);
    let place = log.keeper.write_postings(&[vec![1; 50]]).unwrap()[0];
    storage.inject(Trigger::Operation(storage.operations() + 1), Fault::Error);
    assert!(log.keeper.write_checkpoint(position, b"", &[place.file]).is_err());
    assert_eq!(files(&storage).len(), 1);
    // On a full disk the older checkpoint and the reserve are given up for it, and then it is refused.
    storage.limit_capacity(Some(storage.used_bytes()));
    let refused = log.keeper.write_postings(&[vec![1; 9_000]]);
    assert!(matches!(refused, Err(KeeperError::NoRoom { .. })));
    assert_eq!(files(&storage).len(), 1, "the newest checkpoint refers to it");
    storage.limit_capacity(None);
    checkpoint(&mut log, &[]);
}

#[test]
fn a_checkpoint_without_its_posting_file_is_passed_over() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage);
    let older = checkpoint(&mut log, &[]);
    let newer = checkpoint(&mut log, &[older.file]);
    drop(log);
    let storage = storage.crash(CrashPolicy::DropAll);
    storage.remove(&format!("{:08x}.post", newer.file)).unwrap();
    let found = check(&storage).unwrap();
    assert!(!found.is_sound(), "{found:?}");
    let log = open(&storage);
    assert_eq!(log.recovery.damaged_checkpoints.len(), 1);
    assert_eq!(log.checkpoint.unwrap().postings, [older.file]);
    assert!(log.reader.read_block(older).is_ok());
}

#[test]
fn a_damaged_block_is_reported_and_found_by_a_check() {
    let storage = MemoryStorage::new();
    let mut log = open(&storage);
    let place = checkpoint(&mut log, &[]);
    let report = check(&storage.crash(CrashPolicy::DropAll)).unwrap();
    assert!(report.is_sound());
    assert_eq!(report.posting_count, 1);
    flip(&storage, &format!("{:08x}.post", place.file), u64::from(place.offset) + 9);
    assert!(matches!(log.reader.read_block(place), Err(BlockError::Damaged { .. })));
    let report = check(&storage.crash(CrashPolicy::KeepAll)).unwrap();
    assert!(!report.is_sound());
    append(&mut log);
}
