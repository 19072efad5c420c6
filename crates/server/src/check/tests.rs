//! Writes small data directories with the store itself, then breaks them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tidegate_engine::{
    AttributeChange, Command, Config, QueueAddress, QueueName, RequestId, Tags, Timestamp,
};
use tidegate_store::{MemoryBudget, recover};

use super::*;

/// A directory with one queue, and with the extra records, if any, behind it.
fn directory(extra: &[&[u8]]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let open = || SegmentedLog::open(DirStorage::open(dir.path()).unwrap(), small(), [7; 16]).unwrap();
    let mut recovered = recover(open(), Config::default(), MemoryBudget::UNLIMITED).unwrap();
    let queue = QueueAddress {
        account: Default::default(),
        region: Default::default(),
        name: QueueName::parse("orders").unwrap(),
    };
    let create =
        Command::CreateQueue { queue, attributes: Vec::<AttributeChange>::new(), tags: Tags::default() };
    recovered.shard.handle(Timestamp::from_millis(1), RequestId(1), create);
    let frame = recovered.shard.take_commit().unwrap().frame.unwrap();
    recovered.appender.append(&[frame]).unwrap();
    if !extra.is_empty() {
        drop(recovered);
        let mut opened = open();
        for record in extra {
            opened.framer.push(|bytes| bytes.extend_from_slice(record));
        }
        opened.appender.append(&[opened.framer.finish().unwrap()]).unwrap();
    }
    dir
}

fn small() -> LogConfig {
    LogConfig { segment_bytes: 64 << 10, ..LogConfig::default() }
}

/// Everything in the directory, to see that a check changes nothing.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

fn checked(dir: &Path) -> (Verdict, String) {
    let before = files(dir);
    let result = check(dir, Progress::hidden());
    assert_eq!(files(dir), before, "a check changes nothing");
    result
}

#[test]
fn a_sound_directory_is_told_with_what_is_in_it() {
    let dir = directory(&[]);
    let (verdict, text) = checked(dir.path());
    assert_eq!(verdict, Verdict::Sound, "{text}");
    assert!(text.contains("A start finds 1 queue and 0 messages.\n"), "{text}");
    assert!(text.ends_with(&format!("{} is sound.\n", dir.path().display())), "{text}");
}

#[test]
fn a_record_that_no_start_can_read_is_damage() {
    let dir = directory(&[&[0xff, 1, 1]]);
    let (verdict, text) = checked(dir.path());
    assert_eq!(verdict, Verdict::Damaged, "{text}");
    assert!(text.contains("damage: A start fails: the record at "), "{text}");
}

#[test]
fn a_damaged_superblock_is_damage() {
    let dir = directory(&[]);
    let path = dir.path().join("superblock");
    let mut bytes = fs::read(&path).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
    fs::write(&path, bytes).unwrap();
    let (verdict, text) = checked(dir.path());
    assert_eq!(verdict, Verdict::Damaged, "{text}");
    assert!(text.contains("damage: "), "{text}");
    assert!(text.contains("restore the directory from a copy"), "{text}");
}

#[test]
fn a_missing_superblock_is_damage() {
    let dir = directory(&[]);
    fs::remove_file(dir.path().join("superblock")).unwrap();
    assert_eq!(checked(dir.path()).0, Verdict::Damaged);
}

#[test]
fn what_is_no_data_directory_cannot_be_checked() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), "").unwrap();
    let (verdict, text) = checked(dir.path());
    assert_eq!(verdict, Verdict::Unknown);
    assert!(text.contains("it is not a data directory"), "{text}");
    let (verdict, text) = check(&dir.path().join("none"), Progress::hidden());
    assert_eq!(verdict, Verdict::Unknown);
    assert!(text.contains("No such file or directory"), "{text}");
}

#[test]
fn a_directory_in_use_cannot_be_checked() {
    let dir = directory(&[]);
    let storage = DirStorage::open(dir.path()).unwrap();
    let _lock = storage.lock().unwrap();
    let (verdict, text) = checked(dir.path());
    assert_eq!(verdict, Verdict::Unknown);
    assert!(text.contains("another process has this data directory open"), "{text}");
}
