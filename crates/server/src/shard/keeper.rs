//! The thread that keeps house: prepares segments, stores checkpoints, gives dead segments back, empties
//! sparse ones. It sleeps unless the owner calls, or room is short.

use super::owner::{Housekeeping, Input};
use super::{Shard, spawn};
use crate::metrics::LogMetrics;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tidegate_engine::Command;
use tidegate_log::{Keeper, KeeperError, Storage};
use tidegate_store::{Checkpoint, Segments, offer_messages};
use tokio::sync::oneshot;

/// Calls the keeper.
#[derive(Clone, Default)]
pub(crate) struct Signal(Arc<Call>);

#[derive(Default)]
struct Call {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    called: bool,
    /// Set when the shard has ended: a last checkpoint, if one is useful.
    last: Option<Option<Checkpoint>>,
}

impl Signal {
    /// There is something to do.
    pub(crate) fn call(&self) {
        self.lock().called = true;
        self.0.changed.notify_one();
    }

    /// The shard has ended; this is the last work.
    pub(crate) fn end(&self, last: Option<Checkpoint>) {
        self.lock().last = Some(last);
        self.0.changed.notify_one();
    }

    /// Waits for a call, at most so long.
    fn wait(&self, patience: Option<Duration>) -> Wake {
        let idle = |state: &mut State| !state.called && state.last.is_none();
        let state = self.lock();
        let mut state = match patience {
            None => self.0.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner),
            Some(patience) => {
                let waited = self.0.changed.wait_timeout_while(state, patience, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        match (state.last.take(), std::mem::take(&mut state.called)) {
            (Some(last), _) => Wake::Last(last),
            (None, true) => Wake::Called,
            (None, false) => Wake::Unasked,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the keeper woke.
enum Wake {
    Called,
    /// Its patience is over.
    Unasked,
    /// For the last time.
    Last(Option<Checkpoint>),
}

pub(super) fn start<S: Storage>(
    keeper: Keeper<S>,
    shard: Shard<S>,
    metrics: LogMetrics,
) -> (Signal, JoinHandle<()>) {
    let signal = Signal::default();
    let calls = signal.clone();
    let house = House { keeper, shard, metrics };
    (signal, spawn("keeper", move || house.run(&calls)))
}

/// Pause between two parts of filling a spare segment, so that the disk is left to appends: at most 25 MB/s.
const FILL_PACE: Duration = Duration::from_millis(10);
/// How soon to look again while room is short or something failed.
const RETRY: Duration = Duration::from_secs(1);

struct House<S: Storage> {
    keeper: Keeper<S>,
    shard: Shard<S>,
    metrics: LogMetrics,
}

impl<S: Storage> House<S> {
    fn run(mut self, signal: &Signal) {
        let (mut patience, mut filling) = (None, false);
        loop {
            let wake = signal.wait(if filling { Some(FILL_PACE) } else { patience });
            let kept = match wake {
                Wake::Last(last) => {
                    if let Some(Err(error)) = last.map(|checkpoint| self.store(checkpoint)) {
                        report(&error);
                    }
                    return;
                }
                Wake::Unasked if filling => Ok(true),
                Wake::Unasked | Wake::Called => self.keep(),
            };
            let filled = kept.and_then(|room| Ok((room, self.keeper.fill_spare()?)));
            (patience, filling) = match filled {
                Ok((room, more)) => ((!room).then_some(RETRY), more),
                Err(error) => {
                    report(&error);
                    (Some(RETRY), false)
                }
            };
        }
    }

    /// Does what there is to do; whether there is room for what comes next.
    fn keep(&mut self) -> Result<bool, KeeperError> {
        let room = self.keeper.prepare_spare()?;
        // Short of room, a checkpoint lets the segments before it go.
        let Some(found) = self.ask(!room) else { return Ok(true) };
        if let Some(checkpoint) = found.checkpoint {
            self.store(checkpoint)?;
            // By the counts of this very checkpoint: what is dead by it stays dead after any restart.
            self.reclaim(&found.segments)?;
        }
        let mut room = self.keeper.prepare_spare()?;
        if !room && self.keeper.give_up_fallback()? {
            self.reclaim(&found.segments)?;
            room = self.keeper.prepare_spare()?;
        }
        self.metrics.set_disk_bytes(self.keeper.bytes_on_disk()?);
        Ok(room)
    }

    fn ask(&self, checkpoint: bool) -> Option<Housekeeping> {
        let (answer, receiver) = oneshot::channel();
        self.shard.push(Input::Housekeeping { checkpoint, answer }).ok()?;
        receiver.blocking_recv().ok()
    }

    fn store(&mut self, checkpoint: Checkpoint) -> Result<(), KeeperError> {
        let position = checkpoint.position;
        let stored = checkpoint.store(&mut self.keeper, &self.shard.reader)?;
        tracing::debug!(
            %position,
            bytes = stored.checkpoint_bytes,
            posting_bytes = stored.posting_bytes,
            "stored a checkpoint"
        );
        // An owner that is too busy to hear of it keeps in memory what it could put away, and has it written again.
        let _ = self.shard.push(Input::Stored(stored));
        Ok(())
    }

    /// Gives dead segments back and empties the sparsest.
    fn reclaim(&mut self, segments: &Segments) -> Result<(), KeeperError> {
        let sealed = self.keeper.sealed_segments();
        let present = sealed.iter().map(|segment| (segment.number, u64::from(segment.end_bytes)));
        let plan = segments.plan(present, self.keeper.oldest_checkpoint());
        for number in &plan.dead {
            self.keeper.retire(*number)?;
        }
        if !plan.dead.is_empty() {
            tracing::debug!(segments = plan.dead.len(), "gave dead segments back");
            let _ = self.shard.push(Input::SegmentsRetired(plan.dead));
        }
        if let Some(sparse) = plan.sparse {
            self.empty(sparse);
        }
        Ok(())
    }

    /// Has the messages that live in a sparse segment stored anew; it is dead afterwards.
    fn empty(&mut self, segment: u32) {
        let House { keeper, shard, .. } = self;
        let offered = offer_messages(&shard.reader, segment, |messages| {
            let moved = shard.call_blocking(Command::Relocate { messages });
            // The next segment may be due long before this one is read through.
            match (moved, keeper.prepare_spare()) {
                (Ok(Ok(_)), Ok(true)) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        match offered {
            Ok(()) => tracing::debug!(segment, "emptied a sparse segment"),
            Err(error) => tracing::error!(
                segment,
                error = &error as &dyn std::error::Error,
                "a segment cannot be read; run `tidegate check` on a copy of the data directory"
            ),
        }
    }
}

fn report(error: &KeeperError) {
    tracing::warn!(error = error as &dyn std::error::Error, "housekeeping failed and is tried again");
}
