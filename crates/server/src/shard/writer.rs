//! The thread that writes the log: takes all commits that wait, appends them with one fsync, lets their
//! answers go. What comes meanwhile is the next batch; nothing is ever delayed to make a batch larger.

use super::answer::{Answer, Callback};
use super::inbox::Inbox;
use super::keeper::Signal;
use super::owner::{Housekeeping, Input};
use super::spawn;
use crate::metrics::LogMetrics;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use tidegate_log::{Appender, Durability, Frame, Storage};
use tokio::sync::oneshot;

/// What happens once everything before it is durable.
pub(crate) enum Release {
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

/// Bytes that may wait for the writer. Beyond it the owner pauses: the log is the bottleneck, and what it has
/// not taken yet is memory.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// The owner's end.
pub(crate) struct Commits<S: Storage> {
    queue: Arc<Queue>,
    inbox: Arc<Inbox<Input>>,
    /// Where there is nothing to wait for, the owner itself writes.
    inline: Option<Writer<S>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    frames: Vec<Frame>,
    bytes: usize,
    releases: Vec<Release>,
    writing: bool,
    closed: bool,
}

impl Queue {
    /// No code panics while it holds the lock, so a poisoned state is a whole one.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        condition: impl Fn(&mut State) -> bool,
    ) -> MutexGuard<'a, State> {
        self.changed.wait_while(state, condition).unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn start<S: Storage>(
    appender: Appender<S>,
    durability: Durability,
    metrics: LogMetrics,
    inbox: Arc<Inbox<Input>>,
) -> (Commits<S>, JoinHandle<()>) {
    let queue = Arc::new(Queue::default());
    let writer = Writer { appender, metrics };
    match durability {
        Durability::Fsync => {
            let (taken, answers) = (queue.clone(), inbox.clone());
            let thread = spawn("writer", move || writer.run(&taken, &answers));
            (Commits { queue, inbox, inline: None }, thread)
        }
        // Handing a frame to another thread costs more than writing it to the page cache.
        Durability::Os => (Commits { queue, inbox, inline: Some(writer) }, spawn("writer", || {})),
    }
}

impl<S: Storage> Commits<S> {
    /// Hands on a frame and what may happen when it, and all before it, is durable.
    pub(crate) fn push(&mut self, frame: Option<Frame>, releases: Vec<Release>) {
        if let Some(writer) = &mut self.inline {
            writer.append(frame.as_slice());
            return releases.into_iter().for_each(|release| release.go(&self.inbox));
        }
        let state = self.queue.lock();
        let mut state = self.queue.wait_while(state, |state| state.bytes > WAITING_BYTES_MAX);
        let idle = !state.writing && state.frames.is_empty();
        if idle && frame.is_none() {
            // Everything these answers tell of is durable already.
            drop(state);
            return releases.into_iter().for_each(|release| release.go(&self.inbox));
        }
        state.bytes += frame.as_ref().map_or(0, |frame| frame.bytes().len());
        state.frames.extend(frame);
        state.releases.extend(releases);
        drop(state);
        self.queue.changed.notify_all();
    }

    /// Says that nothing more comes.
    pub(crate) fn close(&mut self) {
        self.queue.lock().closed = true;
        self.queue.changed.notify_all();
    }
}

struct Writer<S: Storage> {
    appender: Appender<S>,
    metrics: LogMetrics,
}

impl<S: Storage> Writer<S> {
    fn run(mut self, queue: &Queue, inbox: &Inbox<Input>) {
        loop {
            let nothing = |state: &mut State| state.frames.is_empty() && state.releases.is_empty();
            let mut state = queue.wait_while(queue.lock(), |state| nothing(state) && !state.closed);
            if nothing(&mut state) {
                return;
            }
            let frames = std::mem::take(&mut state.frames);
            let releases = std::mem::take(&mut state.releases);
            state.bytes = 0;
            state.writing = true;
            drop(state);
            queue.changed.notify_all();
            self.append(&frames);
            releases.into_iter().for_each(|release| release.go(inbox));
            queue.lock().writing = false;
        }
    }

    /// Appends frames. If that fails nobody knows what is on the medium: no answer may leave, and the process
    /// ends so that recovery finds out.
    fn append(&mut self, frames: &[Frame]) {
        if frames.is_empty() {
            return;
        }
        let bytes: usize = frames.iter().map(|frame| frame.bytes().len()).sum();
        let start = Instant::now();
        if let Err(error) = self.appender.append(frames) {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the log could not be written; ending the process, restart it to recover"
            );
            std::process::exit(crate::EXIT_LOG_FAILED);
        }
        self.metrics.appended(bytes, start.elapsed());
    }
}
