//! The log alone: framing, appending to files in memory, reading back.

use crate::sample::BODY_BYTES;
use crate::{Run, Workload};
use tidegate_log::{Durability, LogConfig, MemoryStorage, Opened, Position, SegmentedLog};

pub(crate) const WORKLOADS: &[Workload] = &[
    Workload { name: "log: frame and append", operations: RECORDS, prepare: append },
    Workload { name: "log: read by position", operations: RECORDS, prepare: read },
    Workload { name: "log: scan", operations: RECORDS, prepare: scan },
];

const RECORDS: u64 = 4_000;
const RECORDS_A_FRAME: u64 = 64;

pub(crate) fn open() -> Opened<MemoryStorage> {
    let config = LogConfig { durability: Durability::Os, ..LogConfig::default() };
    let log = SegmentedLog::open(MemoryStorage::volatile(), config, *b"sixteen random b");
    log.expect("memory does not fail")
}

fn fill(log: &mut Opened<MemoryStorage>) -> Vec<Position> {
    let record = [0x5a; BODY_BYTES + 50];
    let mut positions = Vec::with_capacity(RECORDS as usize);
    for number in 1..=RECORDS {
        positions.push(log.framer.push(|buffer| buffer.extend_from_slice(&record)));
        if number % RECORDS_A_FRAME == 0 || number == RECORDS {
            let frame = log.framer.finish().expect("it holds records");
            log.appender.append(&[frame]).expect("memory does not fail");
        }
    }
    positions
}

fn append() -> Run {
    let mut log = open();
    Box::new(move || Box::new((fill(&mut log), log)))
}

fn read() -> Run {
    let mut log = open();
    let positions = fill(&mut log);
    Box::new(move || {
        let bytes: usize =
            positions.iter().map(|position| log.reader.read(*position).expect("is there").len()).sum();
        assert_eq!(bytes as u64, RECORDS * (BODY_BYTES as u64 + 50));
        Box::new(log)
    })
}

fn scan() -> Run {
    let mut log = open();
    fill(&mut log);
    Box::new(move || {
        let mut count = 0;
        let scanned = log.reader.scan(log.replay_from, log.reader.tail(), |_, _, _| {
            count += 1;
            std::ops::ControlFlow::Continue(())
        });
        scanned.expect("is whole");
        assert_eq!(count, RECORDS);
        Box::new(log)
    })
}
