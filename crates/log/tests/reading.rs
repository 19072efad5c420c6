//! Records are read back one by one and several at once, from memory and from the medium.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "all of it is test code")]

use tidegate_log::{LogConfig, MemoryStorage, Position, ReadError, SegmentedLog};

/// Lengths of records, small ones beside one another and some that no single read covers.
const LENGTHS: [usize; 12] = [0, 10, 300, 5_000, 20, 70_000, 1, 4_088, 4_089, 300, 300, 9];

fn check(recent_bytes: usize) {
    let config = LogConfig { segment_bytes: 64 << 10, recent_bytes, ..LogConfig::default() };
    let mut log = SegmentedLog::open(MemoryStorage::new(), config, [1; 16]).unwrap();
    let mut written: Vec<(Position, Vec<u8>)> = Vec::new();
    for round in 0..4_u8 {
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let data = vec![round * 16 + number as u8; length];
            written.push((log.framer.push(|bytes| bytes.extend_from_slice(&data)), data));
            if number % 5 == 4 {
                log.appender.append(&[log.framer.finish().unwrap()]).unwrap();
                log.keeper.prepare_spare().unwrap();
            }
        }
    }
    log.appender.append(&[log.framer.finish().unwrap()]).unwrap();
    // In order, with gaps, and in reverse.
    for (skip, step) in [(0, 1), (1, 2), (3, 7)] {
        let mut chosen: Vec<_> = written.iter().skip(skip).step_by(step).collect();
        for _ in 0..2 {
            let positions: Vec<_> = chosen.iter().map(|(position, _)| *position).collect();
            let read = log.reader.read_all(&positions);
            assert_eq!(read.len(), chosen.len());
            for (record, (position, data)) in read.into_iter().zip(&chosen) {
                assert_eq!(record.unwrap(), data, "{position}");
                assert_eq!(log.reader.read(*position).unwrap(), data, "{position}");
            }
            chosen.reverse();
        }
    }
    let (first, beyond) = (written[0].0, log.reader.tail());
    let [found, missing]: [_; 2] = log.reader.read_all(&[first, beyond]).try_into().unwrap();
    assert!(found.is_ok());
    assert!(matches!(missing, Err(ReadError::Missing { position }) if position == beyond));
    let inside = Position::new(written[2].0.segment(), written[2].0.offset() + 1);
    assert!(matches!(log.reader.read(inside), Err(ReadError::Damaged { .. })), "no record begins there");
}

#[test]
fn records_are_read_from_the_medium() {
    check(0);
}

#[test]
fn records_are_read_from_memory() {
    check(1 << 20);
}

#[test]
fn records_are_read_from_both() {
    check(8 << 10);
}
