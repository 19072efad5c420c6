//! Appending to the log, and what may happen only after it.

use super::answer::{Answer, Callback};
use super::inbox::Inbox;
use super::keeper::Signal;
use super::owner::{Housekeeping, Input};
use crate::metrics::LogMetrics;
use std::sync::Arc;
use std::time::Instant;
use tidegate_log::{Appender, Frame, Storage};
use tokio::sync::oneshot;

/// What happens once everything before it is durable.
pub(super) enum Release {
    /// A caller gets its answer.
    Answer(Callback, Answer),
    /// The keeper gets what it asked for.
    Housekeeping(oneshot::Sender<Housekeeping>, Box<Housekeeping>),
    /// The keeper gets its last work, without having asked.
    Last(Signal, Box<Housekeeping>),
}

impl Release {
    fn go(self, inbox: &Inbox<Input>) {
        match self {
            Release::Answer(callback, answer) => callback.send(answer, inbox),
            Release::Housekeeping(sender, housekeeping) => drop(sender.send(*housekeeping)),
            Release::Last(signal, housekeeping) => signal.end(*housekeeping),
        }
    }
}

/// Appends frames for the owner, on the owner's thread.
///
/// While it waits for the disk, commands gather in the inbox: they are the next batch, and nothing is ever delayed
/// to make a batch larger.
pub(super) struct Committer<S: Storage> {
    pub(super) appender: Appender<S>,
    pub(super) metrics: LogMetrics,
    pub(super) inbox: Arc<Inbox<Input>>,
}

impl<S: Storage> Committer<S> {
    /// Appends a frame, then lets go what waited for it.
    ///
    /// If the append fails nobody knows what is on the medium: no answer may leave, and the process ends so that
    /// recovery finds out.
    pub(super) fn commit(&mut self, frame: Option<Frame>, releases: Vec<Release>) {
        if let Some(frame) = frame {
            let bytes = frame.bytes().len();
            let start = Instant::now();
            if let Err(error) = self.appender.append(&[frame]) {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the log could not be written; ending the process, restart it to recover"
                );
                std::process::exit(crate::EXIT_LOG_FAILED);
            }
            self.metrics.appended(bytes, start.elapsed());
        }
        releases.into_iter().for_each(|release| release.go(&self.inbox));
    }
}
