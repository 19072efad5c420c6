//! From an opened log to a running shard: the newest checkpoint, then everything after it.

use crate::codec::{self, DecodeError};
use crate::segments::Segments;
use crate::shard::Shard;
use crate::snapshot::{self, Contents};
use bytes::Bytes;
use std::ops::ControlFlow;
use thiserror::Error;
use tidegate_engine::{Config, Engine, Event};
use tidegate_log::{Appender, FrameInfo, Keeper, LogError, Opened, Position, Reader, Recovery, Storage};

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
}

/// Brings back the state of an opened log.
///
/// # Errors
/// When acknowledged data cannot be read; nothing is cut off or skipped to go on.
pub fn recover<S: Storage>(opened: Opened<S>, config: Config) -> Result<Recovered<S>, RecoverError> {
    let mut report = RecoveryReport { epoch: opened.epoch, ..RecoveryReport::default() };
    let mut contents = Contents::default();
    if let Some(checkpoint) = opened.checkpoint {
        let position = checkpoint.position;
        let undecodable = |source| RecoverError::Checkpoint { position, source };
        contents = snapshot::decode(checkpoint.payload).map_err(undecodable)?;
        report.from_checkpoint = true;
    }
    let mut replay = Replay {
        engine: Engine::restore(config, contents.snapshot),
        segments: contents.segments,
        failed: None,
    };
    opened.reader.scan(
        opened.replay_from,
        opened.tail,
        |position: Position, record: &[u8], _: &FrameInfo| {
            report.records += 1;
            report.bytes += record.len() as u64;
            replay.apply(position, &Bytes::copy_from_slice(record))
        },
    )?;
    if let Some(error) = replay.failed {
        return Err(error);
    }
    let Replay { mut engine, mut segments, .. } = replay;
    engine.arm_timers();
    while engine.poll_released().is_some() {}
    // What replay released is not counted one by one: the live records are what the state still points to.
    segments.forget_live();
    let state = engine.snapshot();
    state.for_each_position(|position| {
        segments.recount(position.0.into());
        report.messages += 1;
    });
    segments.forget_dead();
    report.queues = state.queues.len();
    Ok(Recovered {
        shard: Shard::new(engine, opened.framer, segments),
        appender: opened.appender,
        reader: opened.reader,
        keeper: opened.keeper,
        identity: opened.identity,
        report,
        log: opened.recovery,
    })
}

struct Replay {
    engine: Engine,
    segments: Segments,
    failed: Option<RecoverError>,
}

impl Replay {
    /// Takes over one record; a record that cannot be read ends the replay.
    fn apply(&mut self, position: Position, record: &Bytes) -> ControlFlow<()> {
        match codec::decode(record) {
            Ok((at, event)) => {
                if matches!(event, Event::MessageSent { .. } | Event::MessageRelocated { .. }) {
                    self.segments.add(position, record.len() as u64);
                }
                self.engine.apply(at, &event, tidegate_engine::Position(position.into()));
                // Positions released meanwhile are recounted at the end; they must not pile up.
                while self.engine.poll_released().is_some() {}
                ControlFlow::Continue(())
            }
            Err(source) => {
                self.failed = Some(RecoverError::Record { position, source });
                ControlFlow::Break(())
            }
        }
    }
}
