//! From an opened log to a running shard: the newest checkpoint, then everything after it.

use crate::codec::DecodeError;
use crate::extents::{ExtentError, read_extent};
use crate::memory::MemoryBudget;
use crate::progress::Progress;
use crate::replay::{Record, replay};
use crate::shard::Shard;
use crate::snapshot::{self, Contents};
use std::io;
use thiserror::Error;
use tidegate_engine::{Config, Engine, Event};
use tidegate_log::{Appender, Keeper, LogError, Opened, Position, Reader, Recovery, Storage};

/// A shard that is ready to run, with the parts of its log that other threads use.
pub struct Recovered<S: Storage> {
    /// The engine and the framing side of the log.
    pub shard: Shard<S>,
    /// Writes frames.
    pub appender: Appender<S>,
    /// Reads records.
    pub reader: Reader<S>,
    /// Looks after segments and checkpoints.
    pub keeper: Keeper<S>,
    /// The directory's own random key.
    pub identity: [u8; 16],
    /// What recovery found.
    pub report: RecoveryReport,
    /// What the log had to mend.
    pub log: Recovery,
}

/// What recovery found and did.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryReport {
    /// How often the directory was opened, this time included.
    pub epoch: u64,
    /// Whether there was a checkpoint to start from.
    pub from_checkpoint: bool,
    /// Records replayed after it.
    pub records: u64,
    /// Bytes replayed after it.
    pub bytes: u64,
    /// Queues there are.
    pub queues: usize,
    /// Messages there are.
    pub messages: u64,
}

/// Why a directory's state cannot be brought back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The log is damaged or cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A checkpoint's payload does not decode.
    #[error("the checkpoint at {position} cannot be read")]
    Checkpoint {
        /// Where replay would have gone on.
        position: Position,
        /// Why.
        #[source]
        source: DecodeError,
    },
    /// A record does not decode.
    #[error("the record at {position} cannot be read")]
    Record {
        /// Where it is.
        position: Position,
        /// Why.
        #[source]
        source: DecodeError,
    },
    /// Messages that a record is about cannot be brought back.
    #[error(
        "messages that the record at {position} is about cannot be brought back. Nothing was changed. Check the disk, \
         run `tidegate check` for the whole picture, and restore the directory from a copy"
    )]
    Extent {
        /// Where the record is.
        position: Position,
        /// Why.
        #[source]
        source: ExtentError,
    },
    /// The system does not start the threads that read.
    #[error("the threads that read the log cannot be started")]
    Thread {
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Brings back the state of an opened log.
///
/// # Errors
/// Those of [`recover_watched`].
pub fn recover<S: Storage>(
    opened: Opened<S>,
    config: Config,
    memory: MemoryBudget,
) -> Result<Recovered<S>, RecoverError> {
    recover_watched(opened, config, memory, &Progress::default())
}

/// The same, and tells `progress` how far it is. Runs threads of its own, all of which have ended when it returns.
///
/// # Errors
/// When acknowledged data cannot be read; nothing is cut off or skipped to go on.
pub fn recover_watched<S: Storage>(
    opened: Opened<S>,
    config: Config,
    memory: MemoryBudget,
    progress: &Progress,
) -> Result<Recovered<S>, RecoverError> {
    let mut report = RecoveryReport { epoch: opened.epoch, ..RecoveryReport::default() };
    let payload_bytes = opened.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.payload.len() as u64);
    progress.expect(payload_bytes + opened.reader.bytes_after(opened.replay_from));
    let mut contents = Contents::default();
    if let Some(checkpoint) = opened.checkpoint {
        let position = checkpoint.position;
        let undecodable = |source| RecoverError::Checkpoint { position, source };
        contents = snapshot::decode(checkpoint.payload).map_err(undecodable)?;
        report.from_checkpoint = true;
    }
    let config = Config { hash_key: opened.identity, ..config };
    let mut engine = Engine::restore(config, contents.snapshot);
    let mut segments = contents.segments;
    progress.add(payload_bytes, 0);
    replay(&opened.reader, opened.replay_from, opened.tail, progress, |record| {
        let Record { position, bytes, at, event } = record;
        report.records += 1;
        report.bytes += bytes as u64;
        for (queue, extent) in engine.dormant_for_event(&event) {
            let failed = |source| RecoverError::Extent { position, source };
            engine.supply(queue, &extent, read_extent(&opened.reader, &extent).map_err(failed)?);
        }
        if matches!(event, Event::MessageSent { .. } | Event::MessageRelocated { .. }) {
            segments.add(position, bytes as u64);
        }
        engine.apply(at, &event, tidegate_engine::Position(position.into()));
        while let Some(released) = engine.poll_released() {
            segments.release(released.0.into());
        }
        engine.evict(memory.backlog_bytes());
        Ok(())
    })?;
    engine.arm_timers();
    segments.forget_dead();
    (report.queues, report.messages) = engine.totals();
    Ok(Recovered {
        shard: Shard::new(engine, opened.framer, opened.reader.clone(), segments, memory),
        appender: opened.appender,
        reader: opened.reader,
        keeper: opened.keeper,
        identity: opened.identity,
        report,
        log: opened.recovery,
    })
}
