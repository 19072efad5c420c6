//! `POST /api/queues/QUEUE/redrive`: moves chosen visible messages to another queue.
//!
//! The answer is a stream of JSON objects, one a line: how far the redrive is, and at the end what came of it. It runs
//! as long as its caller listens: when the connection ends it stops, and what it has not moved is where it was. Of the
//! messages that arrive while it runs it moves none, so that one which fails again at once is not moved for ever.

mod pace;
mod selection;
mod walk;

use super::error::{ApiError, Fault};
use super::{QueueApi, describe};
use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use hyper::Response;
use pace::Pace;
use selection::{Selection, parse_ids};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use tidegate_engine::{Command, Error, MessageSeq, MoveTaskId, QueueAddress};
use tidegate_filter::{FilterPolicy, FilterScope};
use tidegate_log::Storage;
use walk::{Halt, Walk};

/// Messages a second that can be asked for: the range of the service's move tasks.
const RATE: std::ops::RangeInclusive<u32> = 1..=500;

/// What is to be moved, and where.
pub(super) struct Request {
    /// As the caller names it; `None` returns each message to the queue it came from.
    destination: Option<String>,
    selection: Selection,
    dry_run: bool,
    rate: Option<u32>,
    /// Ends when it has chosen so many.
    max: u64,
}

/// The request's body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    destination: Option<String>,
    /// A filter policy, as an object or as its text.
    filter: Option<Value>,
    filter_scope: Option<Scope>,
    ids: Option<Vec<String>>,
    #[serde(default)]
    dry_run: bool,
    max_per_second: Option<u32>,
    max: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
enum Scope {
    MessageAttributes,
    MessageBody,
}

impl Request {
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let form: Form = serde_json::from_slice(body)
            .map_err(|error| ApiError::BodyMalformed { reason: error.to_string() })?;
        if form.max_per_second.is_some_and(|rate| !RATE.contains(&rate)) {
            return Err(ApiError::ValueRefused { name: "max_per_second", allowed: "a number from 1 to 500" });
        }
        if form.max == Some(0) {
            return Err(ApiError::ValueRefused { name: "max", allowed: "at least 1" });
        }
        let scope = match form.filter_scope {
            Some(Scope::MessageBody) => FilterScope::MessageBody,
            Some(Scope::MessageAttributes) | None => FilterScope::MessageAttributes,
        };
        let filter = form.filter.map(|filter| match filter {
            Value::String(text) => FilterPolicy::parse(&text, scope),
            other => FilterPolicy::parse(&other.to_string(), scope),
        });
        let filter = filter.transpose().map_err(ApiError::Filter)?;
        let ids = form.ids.map(parse_ids).transpose()?;
        Ok(Request {
            destination: form.destination,
            selection: Selection { filter, ids },
            dry_run: form.dry_run,
            rate: form.max_per_second,
            max: form.max.unwrap_or(u64::MAX),
        })
    }
}

/// How far a redrive is.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Progress {
    /// Visible messages that were looked at.
    examined: u64,
    /// Those that were wanted.
    matched: u64,
    moved: u64,
    /// Those that were wanted, or could not be read, and stayed.
    skipped: u64,
}

/// The last line.
#[derive(Debug, Serialize)]
struct Conclusion {
    /// Whether it came to its end.
    done: bool,
    dry_run: bool,
    #[serde(flatten)]
    progress: Progress,
    /// How many were skipped, by the reason.
    reasons: BTreeMap<&'static str, u64>,
    /// Ids asked for that no message has.
    not_found: Vec<String>,
    /// Of a dry run: the first messages that would be moved.
    first_ids: Vec<String>,
    /// Why it came to no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
}

impl<S: Storage> QueueApi<S> {
    /// Begins a redrive of messages whose numbers are below `end`; the answer follows it.
    pub(super) async fn redrive(
        &self,
        queue: QueueAddress,
        end: MessageSeq,
        request: Request,
    ) -> Result<Response<Channel<Bytes>>, ApiError> {
        let destination = match &request.destination {
            Some(text) => Some(self.find(text).await?.0),
            None => None,
        };
        // The engine checks the destination first, even with nothing to move.
        let id = MoveTaskId(rand::random());
        let nothing = Command::Redrive {
            queue: queue.clone(),
            destination: destination.clone(),
            messages: Vec::new(),
            id,
        };
        self.command(nothing).await?;

        let (lines, body) = Channel::new(1);
        let walk = Walk {
            api: self.clone(),
            queue,
            destination,
            end,
            selection: request.selection,
            dry_run: request.dry_run,
            max: request.max,
            pace: Pace::new(request.rate),
            progress: Progress::default(),
            reasons: BTreeMap::new(),
            first_ids: Vec::new(),
        };
        // A task of its own: the caller's end does not tear it from a command that is under way.
        tokio::spawn(run(walk, Lines(lines)));
        let mut http = Response::new(body);
        describe(&mut http, "application/x-ndjson");
        Ok(http)
    }
}

async fn run<S: Storage>(mut walk: Walk<S>, mut lines: Lines) {
    let halt = walk.go(&mut lines).await.err();
    let Progress { examined, moved, .. } = walk.progress;
    tracing::info!(
        queue = walk.queue.arn(),
        destination = walk.destination.as_ref().map(QueueAddress::arn),
        examined,
        moved,
        dry_run = walk.dry_run,
        completed = halt.is_none(),
        "redrive ended"
    );
    let error = match halt {
        None => None,
        Some(Halt::Refused(error)) => Some(error.fault()),
        Some(Halt::Disconnected) => return,
    };
    let conclusion = Conclusion {
        done: error.is_none(),
        dry_run: walk.dry_run,
        progress: walk.progress,
        reasons: walk.reasons,
        not_found: walk.selection.ids.into_iter().flatten().collect(),
        first_ids: walk.first_ids,
        error,
    };
    // A caller that has gone meanwhile asked for no answer.
    let _ = lines.send(&conclusion).await;
}

/// The answer, line by line.
struct Lines(Sender<Bytes>);

impl Lines {
    /// Waits until there is room for the line, so that a redrive is never far ahead of what its caller knows.
    async fn send(&mut self, line: &impl Serialize) -> Result<(), Halt> {
        let mut text = serde_json::to_vec(line).expect("plain values with text as keys are always JSON");
        text.push(b'\n');
        self.0.send_data(text.into()).await.map_err(|_| Halt::Disconnected)
    }
}

/// Why a message was not moved, as answers have it.
fn reason(error: &Error) -> &'static str {
    match error {
        Error::MessageNotVisible => NOT_VISIBLE,
        Error::MoveSourceUnknown => NO_SOURCE,
        Error::MoveDestinationMissing => "source_missing",
        Error::MoveToItself => "source_is_queue",
        _ => "refused",
    }
}

/// The message was received or deleted meanwhile, or is delayed.
const NOT_VISIBLE: &str = "not_visible";
/// The message was sent to the queue directly, and no destination was given.
const NO_SOURCE: &str = "no_source";
/// The message's record is damaged.
const UNREADABLE: &str = "unreadable";
