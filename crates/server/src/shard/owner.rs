//! The thread that owns engine and log: takes what waits, handles it, commits it with one fsync, sleeps.

use super::answer::Callback;
use super::clock::Clock;
use super::commit::Committer;
use super::inbox::Inbox;
use super::keeper::Signal;
use super::policies::Policies;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Duration;
use tidegate_engine::{Command, Demand, QueueGauge, Receipt, RequestId};
use tidegate_log::{Space, Storage};
use tidegate_store::{Checkpoint, Segments, Shard, Stored};
use tokio::sync::oneshot;

/// Something put to the owner.
pub(crate) enum Input {
    /// A command of a client.
    Command { request: RequestId, command: Box<Command>, callback: Callback },
    /// The caller of a request went away.
    Cancel(RequestId),
    /// Messages that were received by a caller who went away.
    GiveBack(Vec<Receipt>),
    /// A question about all queues.
    Report(oneshot::Sender<QueueReport>),
    /// A question about the log's segments; with a checkpoint if one is due or wanted.
    Housekeeping { checkpoint: bool, answer: oneshot::Sender<Housekeeping> },
    /// What was written with a checkpoint.
    Stored(Stored),
    /// Segments whose files were given back.
    SegmentsRetired(Vec<u32>),
    /// From now on receives do not wait.
    StopWaiting,
    /// The last input.
    Stop,
}

/// What operators watch of a shard.
pub(crate) struct QueueReport {
    pub(crate) queues: Vec<QueueGauge>,
    pub(crate) parked: usize,
    pub(crate) space: Space,
}

/// What the keeper works by.
pub(crate) struct Housekeeping {
    pub(crate) segments: Segments,
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// Frame bytes after which a turn commits what it has: the best size of one write by measurement is 64–512 KiB.
const COMMIT_BYTES: usize = 256 << 10;
/// The id of requests that nobody waits for.
const NOBODY: RequestId = RequestId(u64::MAX);

pub(crate) struct Owner<S: Storage> {
    shard: Shard<S>,
    committer: Committer<S>,
    signal: Signal,
    policies: Arc<Policies>,
    clock: Clock,
    /// Who waits for the answers to which requests. The numbers are ours, so that no hash needs to be hard to guess.
    callers: FxHashMap<RequestId, Callback>,
    active_segment: u32,
    waiting_allowed: bool,
    stopping: bool,
}

impl<S: Storage> Owner<S> {
    pub(crate) fn new(
        shard: Shard<S>,
        committer: Committer<S>,
        signal: Signal,
        policies: Arc<Policies>,
    ) -> Self {
        let mut owner = Owner {
            clock: Clock::start(shard.at()),
            // Not a segment's number, so that the keeper is called for the first one too.
            active_segment: 0,
            shard,
            committer,
            signal,
            policies,
            callers: FxHashMap::default(),
            waiting_allowed: true,
            stopping: false,
        };
        owner.publish_policies();
        owner
    }

    pub(crate) fn run(mut self, inbox: &Inbox<Input>) {
        let mut inputs = Vec::new();
        while !self.stopping {
            self.call_keeper();
            let now = self.clock.now();
            let patience = self.shard.poll_timeout().map(|at| at.since(now));
            // Very short of room, what falls due waits; looking again now and then is enough.
            let stalled = !self.shard.admits(Demand::Changes);
            let patience = if stalled { Some(Duration::from_millis(100)) } else { patience };
            // Little by little, so that nobody waits long for it.
            let patience = if self.shard.is_releasing() { Some(Duration::ZERO) } else { patience };
            inbox.drain(&mut inputs, patience);
            for input in inputs.drain(..) {
                self.take(input);
                if self.shard.pending_bytes() >= COMMIT_BYTES {
                    self.commit();
                }
            }
            let now = self.clock.now();
            if self.shard.poll_timeout().is_some_and(|at| at <= now) {
                self.shard.handle_timeout(now);
            }
            self.shard.release_some(now);
            self.commit();
            self.report_errors();
        }
        self.end();
        // What came after the end is dropped, so that nobody waits for its answer.
        inbox.close();
        inputs.clear();
        inbox.drain(&mut inputs, Some(Duration::ZERO));
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Command { request, command, callback } => {
                self.callers.insert(request, callback);
                self.handle(request, without_wait(*command, self.waiting_allowed));
            }
            Input::Cancel(request) => {
                // An answer made in this very turn goes out first: it finds nobody and comes back.
                self.commit();
                self.shard.cancel(request);
                self.callers.remove(&request);
            }
            Input::GiveBack(receipts) => self.handle(NOBODY, Command::ReturnUndelivered { receipts }),
            Input::Report(answer) => {
                let now = self.clock.now();
                let report = QueueReport {
                    queues: self.shard.gauges(now),
                    parked: self.shard.parked_count(),
                    space: self.shard.space(),
                };
                let _ = answer.send(report);
            }
            Input::Housekeeping { checkpoint, answer } => self.housekeeping(checkpoint, answer),
            Input::Stored(stored) => self.shard.note_stored(stored),
            Input::SegmentsRetired(numbers) => {
                numbers.into_iter().for_each(|number| self.shard.forget_segment(number));
            }
            Input::StopWaiting => {
                self.waiting_allowed = false;
                self.shard.release_waiting();
            }
            Input::Stop => self.stopping = true,
        }
    }

    fn handle(&mut self, request: RequestId, command: Command) {
        let now = self.clock.now();
        self.shard.handle(now, request, command);
    }

    fn housekeeping(&mut self, wanted: bool, answer: oneshot::Sender<Housekeeping>) {
        self.commit();
        let due = wanted || self.shard.checkpoint_due();
        let now = self.clock.now();
        let housekeeping = Housekeeping {
            segments: self.shard.segments().clone(),
            checkpoint: due.then(|| self.shard.checkpoint(now)),
        };
        let _ = answer.send(housekeeping);
    }

    fn commit(&mut self) {
        let Some(commit) = self.shard.take_commit() else { return };
        // Before the answers leave: whoever was told of a change finds it in force.
        self.publish_policies();
        let mut answers = Vec::with_capacity(commit.replies.len());
        for (request, outcome) in commit.replies {
            if let Some(callback) = self.callers.remove(&request) {
                answers.push((callback, outcome));
            }
        }
        self.committer.commit(commit.frame, answers);
    }

    fn report_errors(&mut self) {
        while let Some(error) = self.shard.poll_error() {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "messages of a backlog cannot be brought back; receives of their queue wait. Run `tidegate check` on a copy \
                 of the data directory"
            );
        }
    }

    fn publish_policies(&mut self) {
        while let Some(update) = self.shard.poll_policy() {
            self.policies.publish(update);
        }
    }

    /// Calls the keeper when a segment was begun or a checkpoint is due.
    fn call_keeper(&mut self) {
        let active = self.shard.active_segment();
        if active != self.active_segment || self.shard.checkpoint_due() {
            self.active_segment = active;
            self.signal.call();
        }
    }

    fn end(mut self) {
        self.shard.release_waiting();
        self.commit();
        let now = self.clock.now();
        self.signal.end(self.shard.checkpoint_useful().then(|| self.shard.checkpoint(now)));
    }
}

/// The same command; a receive without its wait unless waiting is allowed.
fn without_wait(mut command: Command, waiting_allowed: bool) -> Command {
    if let Command::Receive(receive) = &mut command
        && !waiting_allowed
    {
        receive.wait = Some(Duration::ZERO);
    }
    command
}
