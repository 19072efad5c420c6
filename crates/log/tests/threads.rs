//! Goal: the four roles work at the same time on different threads. Method: an owner that frames and hands over, a
//! writer, readers of what the writer reports, and a keeper that prepares, checkpoints and retires meanwhile.

#![allow(clippy::unwrap_used, reason = "all of it is test code")]

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use tidegate_log::{Frame, LogConfig, MemoryStorage, Position, ReadError, SegmentedLog, Space};

const FRAMES: u32 = 4_000;

fn record(number: u32) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + number as usize % 400)
}

#[test]
fn four_roles_on_four_threads() {
    let config = LogConfig { segment_bytes: 64 << 10, ..LogConfig::default() };
    let log = SegmentedLog::open(MemoryStorage::new(), config, [1; 16]).unwrap();
    let (mut framer, mut appender, reader, mut keeper) = (log.framer, log.appender, log.reader, log.keeper);
    let (to_writer, frames) = mpsc::sync_channel::<(u32, Position, Frame)>(64);
    let (to_reader, written) = mpsc::channel::<(u32, Position)>();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..FRAMES {
                while framer.space() == Space::Full {
                    thread::yield_now();
                }
                let position = framer.push(|bytes| bytes.extend(record(number)));
                to_writer.send((number, position, framer.finish().unwrap())).unwrap();
            }
        });
        scope.spawn(move || {
            while let Ok(first) = frames.recv() {
                let batch: Vec<_> = std::iter::once(first).chain(frames.try_iter()).collect();
                let (places, frames): (Vec<_>, Vec<_>) =
                    batch.into_iter().map(|(number, position, frame)| ((number, position), frame)).unzip();
                appender.append(&frames).unwrap();
                for place in places {
                    to_reader.send(place).unwrap();
                }
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                assert!(keeper.prepare_spare().unwrap());
                let end = reader.tail();
                if end.segment() > keeper.oldest_checkpoint().segment() + 8 {
                    keeper.write_checkpoint(end, b"", &[]).unwrap();
                    for segment in keeper.sealed_segments() {
                        if segment.number < keeper.oldest_checkpoint().segment() {
                            keeper.retire(segment.number).unwrap();
                        }
                    }
                }
                thread::yield_now();
            }
        });
        let (mut read, mut retired) = (0, 0);
        for (number, position) in written {
            match reader.read(position) {
                Ok(data) => {
                    assert_eq!(data, record(number));
                    read += 1;
                }
                Err(ReadError::Missing { .. }) => retired += 1,
                Err(error) => panic!("{error}"),
            }
        }
        done.store(true, Ordering::Release);
        assert_eq!(read + retired, FRAMES);
        assert!(read > FRAMES / 4, "{read} of {FRAMES} were read before their segment was retired");
    });
}
