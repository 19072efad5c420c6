//! Appending to the log, and the answers that may leave only after it.

use super::answer::{Answer, Callback};
use super::inbox::Inbox;
use super::owner::Input;
use crate::metrics::LogMetrics;
use std::sync::Arc;
use std::time::Instant;
use tidegate_log::{Appender, Frame, Storage};

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
    /// Appends a frame, then lets go the answers that waited for it. When it returns the frame is durable.
    ///
    /// If the append fails nobody knows what is on the medium: no answer may leave, and the process ends so that
    /// recovery finds out.
    pub(super) fn commit(&mut self, frame: Option<Frame>, answers: Vec<(Callback, Answer)>) {
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
        answers.into_iter().for_each(|(callback, answer)| callback.send(answer, &self.inbox));
    }
}
