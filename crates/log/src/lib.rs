//! An append-only, segmented log of checksummed byte records.
//!
//! The log knows nothing of queues or messages. It has no clock, starts no threads, is not async, and reaches files
//! only through the [`Storage`] trait: a directory ([`DirStorage`]) or a simulated machine that can lose power
//! ([`MemoryStorage`]). The format on disk, and the argument for why it survives what it survives, are in
//! `docs/log-format.md`.
//!
//! [`SegmentedLog::open`] recovers the log and gives out four roles, each for another thread:
//!
//! * [`Framer`] gathers records into frames and knows their positions before anything is written;
//! * [`Appender`] writes frames, many with one fsync, and answers: done, fenced, or unknown;
//! * [`Reader`] reads a record by position, or all of them in order;
//! * [`Keeper`] prepares and recycles segments and stores checkpoints, with the posting files that they refer to.
//!
//! ```
//! use std::ops::ControlFlow;
//! use tidegate_log::{LogConfig, MemoryStorage, SegmentedLog};
//!
//! let storage = MemoryStorage::new();
//! let mut log = SegmentedLog::open(storage.clone(), LogConfig::default(), *b"sixteen random b")?;
//! let position = log.framer.push(|record| record.extend_from_slice(b"hello"));
//! let frame = log.framer.finish().expect("it holds a record");
//! let end = log.appender.append(&[frame])?; // on the medium now
//! assert_eq!(log.reader.read(position)?, "hello");
//! log.keeper.write_checkpoint(log.replay_from, b"nothing seen yet", &[])?;
//! drop(log);
//!
//! let log = SegmentedLog::open(storage, LogConfig::default(), [0; 16])?;
//! let mut replayed = Vec::new();
//! log.reader.scan(log.replay_from, log.tail, |_position, record, _frame| {
//!     replayed.push(record.to_vec());
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!((log.epoch, log.tail, replayed), (2, end, vec![b"hello".to_vec()]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod appender;
mod check;
mod checkpoint;
mod codec;
mod config;
mod error;
mod frame;
mod framer;
mod keeper;
mod log;
mod names;
mod position;
mod posting;
mod reader;
mod recent;
mod scan;
mod segment;
mod shared;
mod storage;
mod superblock;
mod survey;
mod verdict;
mod walk;

pub use appender::Appender;
pub use check::{CheckReport, Finding, check};
pub use checkpoint::Checkpoint;
pub use config::{Durability, LogConfig};
pub use error::{AppendError, BlockError, KeeperError, LogError, ReadError};
pub use frame::MAX_FRAME_BYTES;
pub use framer::{Frame, Framer, Space};
pub use keeper::{Keeper, SealedSegment};
pub use log::{Opened, Recovery, SegmentedLog};
pub use position::Position;
pub use posting::BlockRef;
pub use reader::{Reader, RecordRef};
pub use scan::{FrameInfo, Frames, StoredFrame};
pub use storage::{
    CrashPolicy, Damage, DirFile, DirLock, DirStorage, Fault, FileEntry, MemoryFile, MemoryLock,
    MemoryStorage, Storage, StorageFile, Trigger,
};
