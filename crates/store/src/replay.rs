//! Reading the events of a log back, on several threads.
//!
//! ```text
//!             ┌─ frames ─▶ checker ─ events ─┐
//!   reader ───┼─ frames ─▶ checker ─ events ─┼──▶ the calling thread, which applies them
//!             └─ …                           ┘
//! ```
//!
//! The reader walks from frame header to frame header. Checking payloads and decoding records, which is the larger part
//! of the work, is dealt out to checkers in turn; the caller collects from them in the same turn, so that events stay
//! in order without numbers. All channels are bounded: whoever is ahead waits.

use crate::codec;
use crate::progress::Progress;
use crate::recover::RecoverError;
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope};
use tidegate_engine::{Event, Timestamp};
use tidegate_log::{Frames, Position, Reader, Storage, StoredFrame};

/// An event as a record holds it.
pub(crate) struct Record {
    pub(crate) position: Position,
    /// Of its encoding.
    pub(crate) bytes: usize,
    pub(crate) at: Timestamp,
    pub(crate) event: Event,
}

/// Frames that are handed on together, at least so many bytes: a channel's cost is shared by a thousand records.
/// Larger batches would keep more decoded events in memory, a few megabytes for each checker as it is.
const BATCH_BYTES: u32 = 128 << 10;
/// Batches that wait for a checker, and those that it has ready.
const BATCHES_MAX: usize = 2;
/// Two even on one core: the order of turns is then the same everywhere, and every test sees it.
const CHECKERS_MIN: usize = 2;
/// Checking and decoding a record takes about as long as applying it, so that more would only wait.
const CHECKERS_MAX: usize = 3;

/// Frames to be checked, and why there are no more, if that is an error.
#[derive(Default)]
struct Batch {
    frames: Vec<StoredFrame>,
    bytes: u32,
    error: Option<RecoverError>,
}

/// The events of a batch, and the error that ends the replay after them.
#[derive(Default)]
struct Checked {
    records: Vec<Record>,
    bytes: u32,
    error: Option<RecoverError>,
}

/// Hands every event between two positions to `apply`, in order.
///
/// # Errors
/// When a frame or a record cannot be read; everything before it was applied. Those of `apply`.
pub(crate) fn replay<S: Storage>(
    reader: &Reader<S>,
    from: Position,
    to: Position,
    progress: &Progress,
    mut apply: impl FnMut(Record) -> Result<(), RecoverError>,
) -> Result<(), RecoverError> {
    // One core applies; the thread that reads hardly computes.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let checkers = (cores - 1).clamp(CHECKERS_MIN, CHECKERS_MAX);
    std::thread::scope(|scope| {
        let (mut unchecked, mut checked) = (Vec::new(), Vec::new());
        for _ in 0..checkers {
            let (input, frames) = sync_channel(BATCHES_MAX);
            let (events, output) = sync_channel(BATCHES_MAX);
            start(scope, "checker", move || check_all(&frames, &events))?;
            unchecked.push(input);
            checked.push(output);
        }
        let frames = reader.frames(from, to);
        start(scope, "reader", move || deal_out(frames, &unchecked))?;
        for output in checked.iter().cycle() {
            // The reader ended, and this is whose turn it would have been.
            let Ok(Checked { records, bytes, error }) = output.recv() else { break };
            let count = records.len() as u64;
            records.into_iter().try_for_each(&mut apply)?;
            progress.add(bytes.into(), count);
            if let Some(error) = error {
                return Err(error);
            }
        }
        Ok(())
    })
}

/// Starts a named thread; a panic in it ends the replay with one.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    body: impl FnOnce() + Send + 'scope,
) -> Result<(), RecoverError> {
    let started = Builder::new().name(name.into()).spawn_scoped(scope, body);
    started.map(drop).map_err(|source: io::Error| RecoverError::Thread { source })
}

/// Reads frames and deals them out in turn, until there are no more or nobody wants them.
fn deal_out<S: Storage>(mut frames: Frames<S>, checkers: &[SyncSender<Batch>]) {
    for checker in checkers.iter().cycle() {
        let mut batch = Batch::default();
        while batch.bytes < BATCH_BYTES
            && let Some(frame) = frames.next()
        {
            match frame {
                Ok(frame) => {
                    batch.bytes += frame.bytes();
                    batch.frames.push(frame);
                }
                Err(error) => batch.error = Some(error.into()),
            }
        }
        let is_last = batch.bytes < BATCH_BYTES;
        if checker.send(batch).is_err() || is_last {
            return;
        }
    }
}

fn check_all(batches: &Receiver<Batch>, checked: &SyncSender<Checked>) {
    for batch in batches {
        if checked.send(check(batch)).is_err() {
            return;
        }
    }
}

/// Checks and decodes as much of a batch as can be.
fn check(batch: Batch) -> Checked {
    let mut checked = Checked { bytes: batch.bytes, error: batch.error, ..Checked::default() };
    for frame in batch.frames {
        checked.records.reserve(frame.info().record_count as usize);
        let mut undecodable = None;
        let visited = frame.visit(|position, record| match codec::decode(&record) {
            Ok((at, event)) => {
                checked.records.push(Record { position, bytes: record.len(), at, event });
                ControlFlow::Continue(())
            }
            Err(source) => {
                undecodable = Some(RecoverError::Record { position, source });
                ControlFlow::Break(())
            }
        });
        if let Some(error) = undecodable.or(visited.err().map(RecoverError::from)) {
            checked.error = Some(error);
            break;
        }
    }
    checked
}
