//! Replay runs on several threads. Goal: events come to the engine in their order, each once; what cannot be read ends
//! the replay right there, whatever was read ahead. Method: logs of many times what is handed from thread to thread at
//! once. (Events out of order make the engine panic: its numbers must rise.)

mod util;

use tidegate_engine::{Config, Event, QueueId, StoredMessage};
use tidegate_log::{
    FrameInfo, LogConfig, LogError, MemoryStorage, Opened, SegmentedLog, Storage, StorageFile,
};
use tidegate_store::{MemoryBudget, Progress, RecoverError, codec, recover_watched};
use util::{START, address, message};

const MESSAGES: u64 = 30_000;
const MESSAGES_A_FRAME: u64 = 50;

fn open(storage: &MemoryStorage) -> Opened<MemoryStorage> {
    let config = LogConfig { segment_bytes: 1 << 20, ..LogConfig::default() };
    SegmentedLog::open(storage.clone(), config, [1; 16]).expect("opens")
}

/// A log of one queue and its messages, without a checkpoint; with a record that is none before the message `bad`.
fn log(bad: Option<u64>) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let mut log = open(&storage);
    let created = Event::QueueCreated {
        queue: QueueId(0),
        address: address("q"),
        attributes: Vec::new(),
        tags: Default::default(),
    };
    log.framer.push(|record| codec::encode(START, &created, record));
    for number in 0..MESSAGES {
        if bad == Some(number) {
            log.framer.push(|record| record.push(99));
        }
        let stored = StoredMessage {
            queue: QueueId(0),
            seq: tidegate_engine::MessageSeq(number),
            sent_at: START,
            message: message(number, 200),
        };
        log.framer.push(|record| {
            codec::encode(START, &Event::MessageSent { stored, visible_at: START }, record);
        });
        if (number + 1) % MESSAGES_A_FRAME == 0 {
            let frame = log.framer.finish().expect("it holds records");
            log.appender.append(&[frame]).expect("appends");
            log.keeper.prepare_spare().expect("prepares a spare segment");
        }
    }
    storage
}

fn frames(storage: &MemoryStorage) -> Vec<FrameInfo> {
    let log = open(storage);
    let frames = log.reader.frames(log.replay_from, log.tail);
    frames.map(|frame| *frame.expect("is whole").info()).collect()
}

#[test]
fn everything_is_applied_in_order() {
    let storage = log(None);
    let segments: std::collections::BTreeSet<_> =
        frames(&storage).iter().map(|frame| frame.start.segment()).collect();
    assert!(segments.len() > 5, "{segments:?}");
    let progress = Progress::default();
    let recovered = recover_watched(open(&storage), Config::default(), MemoryBudget::UNLIMITED, &progress)
        .expect("recovers");
    let report = recovered.report;
    assert_eq!((report.messages, report.records, report.queues), (MESSAGES, MESSAGES + 1, 1));
    let progressed = progress.look();
    assert_eq!((progressed.records, progressed.percent()), (MESSAGES + 1, 100));
    assert_eq!(progressed.bytes, progressed.bytes_total);
}

/// What a replay fails with, and how many records were applied before.
fn failed(storage: &MemoryStorage) -> (RecoverError, u64) {
    let progress = Progress::default();
    let error = recover_watched(open(storage), Config::default(), MemoryBudget::UNLIMITED, &progress)
        .err()
        .expect("refuses");
    (error, progress.look().records)
}

#[test]
fn a_damaged_frame_ends_the_replay_where_it_is() {
    let storage = log(None);
    let frames = frames(&storage);
    for index in [0, 1, 77, 200, 333] {
        let FrameInfo { start, first_sequence, .. } = frames[index];
        let file = storage.open(&format!("{:08x}.seg", start.segment())).expect("opens");
        // In its header, and in its payload.
        for at in [start.offset() + 20, start.offset() + 700] {
            let mut byte = [0];
            file.read_at(&mut byte, at.into()).expect("reads");
            file.write_all_at(&[!byte[0]], at.into()).expect("writes");
            let (error, applied) = failed(&storage);
            file.write_all_at(&byte, at.into()).expect("writes");
            match error {
                RecoverError::Log(LogError::Corrupt { segment, offset, .. }) => {
                    assert_eq!((segment, offset), (start.segment(), start.offset()));
                }
                other => panic!("frame {index}: {other:?}"),
            }
            assert_eq!(applied, first_sequence, "frame {index}: all before it were applied, and no other");
        }
    }
    assert!(
        recover_watched(open(&storage), Config::default(), MemoryBudget::UNLIMITED, &Progress::default())
            .is_ok()
    );
}

#[test]
fn an_undecodable_record_ends_the_replay_where_it_is() {
    for bad in [0, 1, 4_999, 5_000, MESSAGES - 1] {
        let (error, applied) = failed(&log(Some(bad)));
        assert!(matches!(error, RecoverError::Record { .. }), "{error:?}");
        assert_eq!(applied, bad + 1, "the queue, and the messages before it");
    }
}
