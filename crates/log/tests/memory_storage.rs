//! Goal: the simulated machine forgets exactly what a real one may forget. The other tests are worth what it is.

#![allow(clippy::unwrap_used, reason = "all of it is test code")]

use std::io::ErrorKind;

use tidegate_log::{CrashPolicy, Damage, Fault, MemoryStorage, Storage, StorageFile, Trigger};

fn content(storage: &MemoryStorage, name: &str) -> Option<Vec<u8>> {
    storage.read_file(name).unwrap()
}

#[test]
fn unsynced_writes_are_lost_or_torn_and_synced_ones_are_not() {
    let storage = MemoryStorage::new();
    let file = storage.create("a", 8).unwrap();
    storage.sync_dir().unwrap();
    file.write_all_at(b"synced", 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(b"first", 1).unwrap();
    file.write_all_at(b"LAST", 6).unwrap();
    let after = |policy| content(&storage.crash(policy), "a").unwrap();
    assert_eq!(content(&storage, "a").unwrap(), b"sfirstLAST");
    assert_eq!(after(CrashPolicy::DropAll), b"synced\0\0");
    assert_eq!(after(CrashPolicy::KeepAll), b"sfirstLAST");
    assert_eq!(after(CrashPolicy::TearLast(3)), b"sfirstLAS\0");
    let outcomes: std::collections::BTreeSet<_> =
        (0..500).map(|seed| after(CrashPolicy::Seeded(seed))).collect();
    assert!(outcomes.len() > 15, "kept, dropped and torn in many combinations: {}", outcomes.len());
    assert!(outcomes.iter().all(|bytes| bytes[0] == b's'), "what was synced stays");
    assert_eq!(after(CrashPolicy::Seeded(7)), after(CrashPolicy::Seeded(7)), "a seed decides everything");
}

#[test]
fn unsynced_names_may_be_lost() {
    let storage = MemoryStorage::new();
    storage.create("kept", 1).unwrap();
    storage.create("old", 1).unwrap();
    storage.sync_dir().unwrap();
    storage.create("new", 1).unwrap().sync_data().unwrap();
    storage.rename("old", "renamed").unwrap();
    storage.remove("kept").unwrap();
    let names = |storage: MemoryStorage| -> Vec<String> {
        storage.list().unwrap().into_iter().map(|entry| entry.name).collect()
    };
    assert_eq!(names(storage.clone()), ["new", "renamed"]);
    assert_eq!(
        names(storage.crash(CrashPolicy::DropAll)),
        ["kept", "old"],
        "syncing a file does not sync its name"
    );
    assert_eq!(names(storage.crash(CrashPolicy::KeepAll)), ["new", "renamed"]);
    let outcomes: std::collections::BTreeSet<_> =
        (0..200).map(|seed| names(storage.crash(CrashPolicy::Seeded(seed)))).collect();
    assert_eq!(outcomes.len(), 8, "each of the three changes may be lost");
    storage.sync_dir().unwrap();
    assert_eq!(names(storage.crash(CrashPolicy::DropAll)), ["new", "renamed"]);
}

#[test]
fn faults_strike_when_planned() {
    let storage = MemoryStorage::new();
    storage.inject(Trigger::Write(2), Fault::ShortWrite(2));
    storage.inject(Trigger::Sync(1), Fault::Error);
    storage.inject(Trigger::Operation(6), Fault::PowerOff);
    let file = storage.create("a", 0).unwrap();
    file.write_all_at(b"one", 0).unwrap();
    file.write_all_at(b"two", 0).unwrap_err();
    assert_eq!(content(&storage, "a").unwrap(), b"twe");
    file.sync_data().unwrap_err();
    file.sync_data().unwrap();
    file.write_all_at(b"off", 0).unwrap_err();
    storage.sync_dir().unwrap_err();
    assert_eq!((storage.operations(), content(&storage, "a").unwrap()), (7, b"twe".to_vec()));
    assert_eq!((storage.writes(), storage.syncs()), (3, 2));
}

#[test]
fn capacity_bounds_allocation_and_growth() {
    let storage = MemoryStorage::volatile();
    storage.limit_capacity(Some(100));
    let file = storage.create("a", 60).unwrap();
    assert_eq!(storage.create("b", 50).map(drop).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(content(&storage, "b"), None, "nothing is left of it");
    file.write_all_at(&[1; 60], 0).unwrap();
    file.write_all_at(&[1; 40], 60).unwrap();
    assert_eq!(file.write_all_at(&[1], 100).unwrap_err().kind(), ErrorKind::StorageFull);
    storage.limit_capacity(Some(10));
    file.write_all_at(&[2; 60], 0).unwrap(); // What has its room keeps it.
    storage.limit_capacity(Some(100));
    storage.remove("a").unwrap();
    assert_eq!(storage.used_bytes(), 0);
    storage.create("b", 100).unwrap();
}

#[test]
fn damage_stays_until_it_is_written_over_or_mended() {
    let storage = MemoryStorage::new();
    let file = storage.create("a", 0).unwrap();
    file.write_all_at(b"0123456789", 0).unwrap();
    file.sync_data().unwrap();
    storage.sync_dir().unwrap();
    storage.damage("a", 1, Damage::Rot(0b11));
    storage.damage("a", 4, Damage::Stray(b"xyz".to_vec()));
    storage.damage("a", 10, Damage::Rot(1)); // There is nothing.
    assert_eq!(content(&storage, "a").unwrap(), b"0223xyz789");
    assert_eq!(content(&storage.crash(CrashPolicy::DropAll), "a").unwrap(), b"0223xyz789");
    file.write_all_at(b"45", 4).unwrap();
    assert_eq!(content(&storage, "a").unwrap(), b"022345z789");

    storage.damage("a", 8, Damage::Unreadable(1));
    storage.read_file("a").unwrap_err();
    let mut buf = [0; 8];
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), 8, "beside it");
    file.write_all_at(b"8", 8).unwrap();
    assert_eq!(content(&storage, "a").unwrap(), b"022345z789");
    storage.damage("a", 8, Damage::Unreadable(1));
    storage.mend();
    assert_eq!(content(&storage, "a").unwrap(), b"0123456789");
}
