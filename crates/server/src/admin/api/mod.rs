//! The operators' API: JSON over the operators' listener, for the command line and the console.
//!
//! | request | does |
//! |---|---|
//! | `GET /api/queues/QUEUE/messages` | one page of messages, looked at without changing anything about them |
//! | `POST /api/queues/QUEUE/redrive` | moves chosen messages to another queue, and tells how far it is |
//!
//! `QUEUE` is a name, an ARN, or a percent-encoded URL. Every refusal is a JSON object with a code and a sentence.

mod content;
mod error;
mod message;
mod peek;
mod redrive;

use super::AdminBody;
use crate::http::body::{self, Unread};
use crate::shard::{Gone, Shard};
use bytes::Bytes;
use error::ApiError;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use std::time::Duration;
use tidegate_engine::{AccountId, Command, Error, MessageSeq, QueueAddress, Region, Reply};
use tidegate_log::Storage;
use tidegate_protocol::parse_reference;
use tidegate_store::Progressed;
use tokio::sync::watch;

/// What every path of the API begins with.
pub(super) const PREFIX: &str = "/api/";

/// Bytes of a request's body: ours; the longest filter and the most ids fit twice.
const BODY_BYTES_MAX: usize = 768 << 10;
/// Time in which the body of a request must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Queues that a refusal names as nearest to one that is not there.
const NEAR_MAX: usize = 3;

/// Answers the API's requests.
pub(crate) struct QueueApi<S: Storage> {
    pub(crate) shard: Shard<S>,
    /// The account of queues that are named by their name alone.
    pub(crate) account: AccountId,
    /// The region of queues that are named without one.
    pub(crate) region: Region,
    /// Turns true when the server stops.
    pub(crate) stopped: watch::Receiver<bool>,
}

impl<S: Storage> Clone for QueueApi<S> {
    fn clone(&self) -> Self {
        let Self { shard, account, region, stopped } = self;
        QueueApi { shard: shard.clone(), account: *account, region: region.clone(), stopped: stopped.clone() }
    }
}

impl<S: Storage> QueueApi<S> {
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<AdminBody> {
        self.route(request).await.unwrap_or_else(|error| error.into_response().map(Either::Left))
    }

    async fn route(&self, request: Request<Incoming>) -> Result<Response<AdminBody>, ApiError> {
        let (parts, body) = request.into_parts();
        let (queue, resource) = split(parts.uri.path()).ok_or(ApiError::PathUnknown)?;
        let queue = decoded(queue).ok_or_else(|| ApiError::QueueUnreadable { text: shortened(queue) })?;
        let queue = queue.as_str();
        match (resource, &parts.method) {
            ("messages", &Method::GET | &Method::HEAD) => {
                let parameters = peek::Parameters::parse(parts.uri.query().unwrap_or_default())?;
                let (queue, _) = self.find(queue).await?;
                Ok(json(StatusCode::OK, &self.page(queue, parameters).await?).map(Either::Left))
            }
            ("messages", _) => Err(ApiError::MethodRefused { allowed: "GET" }),
            ("redrive", &Method::POST) => {
                let request = redrive::Request::parse(&collect(&parts.headers, body).await?)?;
                let (queue, end) = self.find(queue).await?;
                Ok(self.redrive(queue, end, request).await?.map(Either::Right))
            }
            ("redrive", _) => Err(ApiError::MethodRefused { allowed: "POST" }),
            _ => Err(ApiError::PathUnknown),
        }
    }

    /// The queue that a text names, and a number above those of all its messages.
    async fn find(&self, text: &str) -> Result<(QueueAddress, MessageSeq), ApiError> {
        let queue = parse_reference(text, self.account, &self.region)
            .ok_or_else(|| ApiError::QueueUnreadable { text: shortened(text) })?;
        match self.command(Command::ViewQueue { queue }).await {
            Ok(Reply::Queue(view)) => Ok((view.address, view.next_seq)),
            Ok(other) => unreachable!("a view is answered by one, not by {other:?}"),
            Err(ApiError::Refused(Error::QueueMissing)) => Err(self.missing(text).await),
            Err(error) => Err(error),
        }
    }

    /// The refusal of a queue that does not exist, with those that may have been meant.
    async fn missing(&self, text: &str) -> ApiError {
        let queue = text.to_owned();
        let Ok(report) = self.shard.report().await else { return ApiError::Stopping };
        let name = text.rsplit(['/', ':']).next().unwrap_or_default().to_lowercase();
        let likeness = |other: &str| strsim::jaro_winkler(&name, &other.to_lowercase());
        let addresses = report.queues.iter().map(|gauge| &gauge.address);
        let scored = addresses.map(|address| (likeness(address.name.as_str()), address));
        let mut near: Vec<_> = scored.filter(|(score, _)| *score > 0.8).collect();
        near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let shown = |address: &QueueAddress| match (address.account, &address.region) {
            here if here == (self.account, &self.region) => address.name.to_string(),
            _ => address.arn(),
        };
        let near = near.into_iter().take(NEAR_MAX).map(|(_, address)| shown(address)).collect();
        ApiError::QueueMissing { queue, near }
    }

    async fn command(&self, command: Command) -> Result<Reply, ApiError> {
        let answer = self.shard.call(command).await.map_err(|gone| match gone {
            Gone::Busy => ApiError::Busy,
            Gone::Stopped => ApiError::Stopping,
        })?;
        answer.map_err(ApiError::Refused)
    }
}

/// The refusal of every request while the state is brought back.
pub(super) fn recovering(progressed: Progressed) -> Response<Full<Bytes>> {
    ApiError::Recovering { progressed }.into_response()
}

/// The queue and the resource that a path names, the queue still as it is written there.
fn split(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(PREFIX)?.strip_prefix("queues/")?;
    let (queue, resource) = rest.split_once('/')?;
    (!queue.is_empty()).then_some((queue, resource))
}

/// What a refusal repeats of a text.
fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Undoes percent-encoding; `None` when no text comes of it.
fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

async fn collect(headers: &HeaderMap, body: Incoming) -> Result<Bytes, ApiError> {
    body::collect(headers, body, BODY_BYTES_MAX, BODY_TIMEOUT).await.map_err(|unread| match unread {
        Unread::TooLong => ApiError::BodyTooLong { limit: BODY_BYTES_MAX },
        Unread::Broken | Unread::Late => ApiError::BodyLost,
    })
}

const NO_SNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// An answer in JSON.
fn json(status: StatusCode, value: &impl serde::Serialize) -> Response<Full<Bytes>> {
    let body = serde_json::to_vec(value).expect("plain values with text as keys are always JSON");
    let mut http = Response::new(Full::new(Bytes::from(body)));
    *http.status_mut() = status;
    describe(&mut http, "application/json");
    http
}

/// Says what an answer is: data of this moment, in which a browser must not look for anything else.
fn describe<B>(http: &mut Response<B>, kind: &'static str) {
    let headers = http.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(NO_SNIFF, HeaderValue::from_static("nosniff"));
}
