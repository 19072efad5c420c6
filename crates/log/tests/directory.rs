//! Goal: the log works on a real directory. Method: a temporary one, with a few of everything.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "all of it is test code")]

use std::ops::ControlFlow;

use tidegate_log::{
    DirStorage, LogConfig, LogError, Opened, Position, SegmentedLog, Storage, StorageFile, check,
};

fn open(storage: &DirStorage) -> Result<Opened<DirStorage>, LogError> {
    let config = LogConfig { segment_bytes: 64 << 10, ..LogConfig::default() };
    SegmentedLog::open(storage.clone(), config, [5; 16])
}

#[test]
fn records_survive_reopening_rolling_and_recycling() {
    let temporary = tempfile::tempdir().unwrap();
    let storage = DirStorage::open(temporary.path().join("a/b")).unwrap();
    let mut records: Vec<(Position, Vec<u8>)> = Vec::new();
    for life in 1..=3_u8 {
        let mut log = open(&storage).unwrap();
        assert_eq!(log.epoch, u64::from(life));
        assert!(matches!(open(&storage), Err(LogError::Locked)));
        for index in 0..60_usize {
            assert!(log.keeper.prepare_spare().unwrap());
            let data = vec![life; index * 100];
            let position = log.framer.push(|record| record.extend_from_slice(&data));
            records.push((position, data));
            let frame = log.framer.finish().unwrap();
            log.appender.append(&[frame]).unwrap();
        }
        for (position, data) in &records {
            assert_eq!(log.reader.read(*position).unwrap(), data);
        }
        let dead = log.checkpoint.as_ref().map(|checkpoint| checkpoint.position.segment());
        log.keeper.write_checkpoint(log.reader.tail(), &[life; 10_000], &[]).unwrap();
        for segment in log.keeper.sealed_segments().iter().map(|segment| segment.number) {
            if dead.is_some_and(|dead| segment < dead) {
                log.keeper.retire(segment).unwrap();
                records.retain(|(position, _)| position.segment() != segment);
            }
        }
    }
    let log = open(&storage).unwrap();
    assert_eq!(log.checkpoint.as_ref().unwrap().payload, vec![3; 10_000]);
    let from = records[0].0.segment();
    let mut scanned = Vec::new();
    log.reader
        .scan(Position::segment_start(from), log.tail, |position, data, _| {
            scanned.push((position, data.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(scanned, records);
    drop(log);
    let report = check(&storage).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);

    let file = storage.open(&format!("{from:08x}.seg")).unwrap();
    file.write_all_at(&[0xff; 3], 5_000).unwrap();
    let report = check(&storage).unwrap();
    println!("{:?}", report.findings);
    assert!(!report.is_sound());
}

#[test]
fn storage_keeps_its_promises() {
    let temporary = tempfile::tempdir().unwrap();
    let storage = DirStorage::open(temporary.path()).unwrap();
    let file = storage.create("a", 10_000).unwrap();
    assert_eq!(file.len().unwrap(), 10_000);
    let mut bytes = [1; 20];
    assert_eq!(file.read_at(&mut bytes, 9_990).unwrap(), 10, "a read ends with the file");
    assert_eq!(bytes[..10], [0; 10]);
    file.write_all_at(b"beyond", 12_000).unwrap();
    assert_eq!(file.len().unwrap(), 12_006);
    file.sync_data().unwrap();
    storage.rename("a", "b").unwrap();
    assert!(storage.open("a").is_err());
    assert_eq!(storage.read_file("a").unwrap(), None);
    storage.replace_file("b", &[b"one", b"", b"two"]).unwrap();
    assert_eq!(storage.read_file("b").unwrap().unwrap(), b"onetwo");
    storage.remove("b").unwrap();
    storage.sync_dir().unwrap();
    assert!(storage.list().unwrap().is_empty());
    assert!(DirStorage::open_existing(temporary.path().join("none")).is_err());
}
