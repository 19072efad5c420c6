//! Appending to the log, and the answers that may leave only after it.

use super::answer::{Answer, Callback};
use super::inbox::Inbox;
use super::owner::Input;
use crate::metrics::LogMetrics;
use std::sync::Arc;
use std::time::Instant;
use tidegate_log::{Appender, Frame, Storage};
use tokio::sync::mpsc;

/// Appends frames for the owner, on the owner's thread.
///
/// While it waits for the disk, commands gather in the inbox: they are the next batch, and nothing is ever delayed
/// to make a batch larger.
pub(super) struct Committer<S: Storage> {
    pub(super) appender: Appender<S>,
    pub(super) metrics: LogMetrics,
    pub(super) inbox: Arc<Inbox<Input>>,
    pub(super) runtime: mpsc::UnboundedSender<Answers>,
}

/// The answers of one commit, with whom they are for.
pub(super) type Answers = Vec<(Callback, Answer)>;

/// Answers that the owner lets go itself. More are handed to a task, which costs the owner one wake-up of the runtime
/// instead of one for each.
const DIRECT_MAX: usize = 2;

/// Lets answers go from within the runtime: there, waking a task is putting it into a queue of the same thread.
pub(super) async fn let_go(mut commits: mpsc::UnboundedReceiver<Answers>, inbox: Arc<Inbox<Input>>) {
    while let Some(answers) = commits.recv().await {
        answers.into_iter().for_each(|(callback, answer)| callback.send(answer, &inbox));
    }
}

impl<S: Storage> Committer<S> {
    /// Appends a frame, then lets go the answers that waited for it. When it returns the frame is durable.
    ///
    /// If the append fails nobody knows what is on the medium: no answer may leave, and the process ends so that
    /// recovery finds out.
    pub(super) fn commit(&mut self, frame: Option<Frame>, answers: Answers) {
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
        let answers = if answers.len() <= DIRECT_MAX {
            answers
        } else {
            // Given back when the runtime is gone, with everybody who waited.
            self.runtime.send(answers).err().map_or(Vec::new(), |unsent| unsent.0)
        };
        answers.into_iter().for_each(|(callback, answer)| callback.send(answer, &self.inbox));
    }
}
