//! A shard on its threads: one owns engine and log, one keeps house.
//!
//! ```text
//!   tasks ── commands ──▶ inbox ──▶ owner: engine, then log and fsync
//!     ▲                              │ ▲ │
//!     │                 housekeeping │ │ │ relocations
//!     │                              ▼ │ │
//!     │                            keeper│
//!     └────────── answers, once durable ─┘
//! ```

mod answer;
mod clock;
mod commit;
mod inbox;
mod keeper;
mod owner;
mod policies;

pub(crate) use answer::{Answer, Gone};
pub(crate) use clock::system_time;
pub(crate) use owner::QueueReport;

use crate::metrics::LogMetrics;
use answer::{Callback, Caller};
use bytes::Bytes;
use commit::Committer;
use inbox::{Inbox, Refused};
use owner::{Input, Owner};
use policies::Policies;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use tidegate_engine::{Command, Delivery, Position, QueueAddress, RequestId, StoredMessage};
use tidegate_log::{ReadError, Reader, Storage};
use tidegate_policy::Policy;
use tidegate_store::Recovered;
use tidegate_store::codec::{self, DecodeError};
use tokio::sync::{mpsc, oneshot};

/// A running shard. Clones share it.
pub(crate) struct Shard<S: Storage> {
    inbox: Arc<Inbox<Input>>,
    reader: Reader<S>,
    next_request: Arc<AtomicU64>,
    policies: Arc<Policies>,
}

impl<S: Storage> Clone for Shard<S> {
    fn clone(&self) -> Self {
        Shard {
            inbox: self.inbox.clone(),
            reader: self.reader.clone(),
            next_request: self.next_request.clone(),
            policies: self.policies.clone(),
        }
    }
}

/// The threads of a shard; joined at the end.
pub(crate) struct Threads {
    owner: JoinHandle<()>,
    keeper: JoinHandle<()>,
}

/// Why a received message cannot be handed out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageUnreadable {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("the record at {0:?} holds no message")]
    Other(Position),
}

impl<S: Storage> Shard<S> {
    /// Starts the threads of a recovered shard, from within the runtime.
    pub(crate) fn start(recovered: Recovered<S>, metrics: &LogMetrics) -> (Self, Threads) {
        let Recovered { shard: core, appender, reader, keeper, .. } = recovered;
        let inbox = Arc::new(Inbox::new());
        let next_request = Arc::new(AtomicU64::new(0));
        let policies = Arc::new(Policies::default());
        let shard = Shard { inbox: inbox.clone(), reader, next_request, policies: policies.clone() };
        let (signal, keeper) = keeper::start(keeper, shard.clone(), metrics.clone());
        let (runtime, commits) = mpsc::unbounded_channel();
        tokio::spawn(commit::let_go(commits, inbox.clone()));
        let committer = Committer { appender, metrics: metrics.clone(), inbox: inbox.clone(), runtime };
        let owner = Owner::new(core, committer, signal, policies);
        let owner = spawn("owner", move || owner.run(&inbox));
        (shard, Threads { owner, keeper })
    }

    /// Puts a command to the engine and waits for its answer, which may take as long as a long poll.
    ///
    /// Dropped before the answer came, it takes the command back as far as that is possible: a receive stops
    /// waiting, and messages on their way to it become visible again.
    pub(crate) async fn call(&self, command: Command) -> Result<Answer, Gone> {
        let (caller, callback) = self.caller();
        self.push(Input::Command { request: caller.request(), command: Box::new(command), callback })?;
        caller.answer().await
    }

    /// The same from a thread that may block.
    pub(crate) fn call_blocking(&self, command: Command) -> Result<Answer, Gone> {
        let (caller, callback) = self.caller();
        self.push(Input::Command { request: caller.request(), command: Box::new(command), callback })?;
        caller.answer_blocking()
    }

    /// The policy of a queue, if it has one. A change is in force before its answer leaves.
    pub(crate) fn policy(&self, queue: &QueueAddress) -> Option<Arc<Policy>> {
        self.policies.find(queue)
    }

    fn caller(&self) -> (Caller, Callback) {
        let request = RequestId(self.next_request.fetch_add(1, Ordering::Relaxed));
        answer::pair(request, self.inbox.clone())
    }

    /// Reads the messages of a receive.
    ///
    /// Those whose record is gone are left out: they were deleted or moved since, and one that moved comes back when
    /// its visibility timeout ends. One that cannot be read is reported and left out too, so that it does not keep
    /// others from being received.
    ///
    /// # Errors
    /// When nothing is left because of messages that cannot be read.
    pub(crate) fn read(
        &self,
        deliveries: Vec<Delivery>,
    ) -> Result<(Vec<Delivery>, Vec<StoredMessage>), MessageUnreadable> {
        let mut found = Vec::with_capacity(deliveries.len());
        let mut messages = Vec::with_capacity(deliveries.len());
        let mut unreadable = None;
        let positions: Vec<_> = deliveries.iter().map(|delivery| delivery.position.0.into()).collect();
        let records = self.reader.read_all(&positions);
        for (delivery, record) in deliveries.into_iter().zip(records) {
            match message_of(delivery.position, record) {
                Ok(Some(message)) => {
                    messages.push(message);
                    found.push(delivery);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "a stored message cannot be read; run `tidegate check` on a copy of the data directory"
                    );
                    unreadable = Some(error);
                }
            }
        }
        match unreadable.filter(|_| found.is_empty()) {
            Some(error) => Err(error),
            None => Ok((found, messages)),
        }
    }

    /// Reads one message; `None` when its record is gone.
    ///
    /// # Errors
    /// When there is something else at that position, or it is damaged.
    pub(crate) fn read_one(&self, position: Position) -> Result<Option<StoredMessage>, MessageUnreadable> {
        message_of(position, self.reader.read(position.0.into()))
    }

    /// Counts and ages of all queues, and what the shard is busy with.
    pub(crate) async fn report(&self) -> Result<QueueReport, Gone> {
        self.ask(Input::Report).await
    }

    /// Answers every waiting receive with nothing, now and from now on.
    pub(crate) fn stop_waiting(&self) {
        let _ = self.push(Input::StopWaiting);
    }

    /// Ends the shard once everything put in before is done, and joins its threads.
    pub(crate) fn stop(&self, threads: Threads) {
        let _ = self.push(Input::Stop);
        self.inbox.close();
        for thread in [threads.owner, threads.keeper] {
            if thread.join().is_err() {
                tracing::error!("a shard thread ended with a panic");
            }
        }
    }

    async fn ask<T>(&self, input: impl FnOnce(oneshot::Sender<T>) -> Input) -> Result<T, Gone> {
        let (sender, receiver) = oneshot::channel();
        self.push(input(sender))?;
        receiver.await.map_err(|_| Gone::Stopped)
    }

    fn push(&self, input: Input) -> Result<(), Gone> {
        self.inbox.push(input).map_err(|refused| match refused {
            Refused::Full => Gone::Busy,
            Refused::Closed => Gone::Stopped,
        })
    }
}

/// The message in a record that was read; `None` when there was none any more.
fn message_of(
    position: Position,
    record: Result<Bytes, ReadError>,
) -> Result<Option<StoredMessage>, MessageUnreadable> {
    let record = match record {
        Err(ReadError::Missing { .. }) => return Ok(None),
        record => record?,
    };
    let message = codec::decode_message(&record)?;
    message.map(Some).ok_or(MessageUnreadable::Other(position))
}

/// Starts a named thread. If it panics the process ends: half a shard must not go on answering.
fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let run = move || {
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
            tracing::error!("a shard thread panicked; ending the process, restart it to recover");
            drop(panic);
            std::process::abort();
        }
    };
    std::thread::Builder::new().name(name.into()).spawn(run).expect("the system can start a thread")
}
