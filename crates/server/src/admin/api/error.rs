//! Why a request to the operators' API is refused.

use super::json;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use thiserror::Error;
use tidegate_engine::Error as EngineError;
use tidegate_filter::FilterError;
use tidegate_store::Progressed;

/// A refusal; nothing was changed.
#[derive(Debug, Error)]
pub(super) enum ApiError {
    /// Nothing is at that path.
    #[error("there is /api/queues/QUEUE/messages and /api/queues/QUEUE/redrive")]
    PathUnknown,
    /// The path takes other methods.
    #[error("only {allowed} is served at this path")]
    MethodRefused {
        /// The one it takes.
        allowed: &'static str,
    },
    /// A text names no queue, whatever queues there are.
    #[error("`{text}` is neither name, URL nor ARN of a queue")]
    QueueUnreadable {
        /// The text.
        text: String,
    },
    /// The queue does not exist.
    #[error("there is no queue `{queue}`")]
    QueueMissing {
        /// As it was named.
        queue: String,
        /// Those that may have been meant.
        near: Vec<String>,
    },
    /// A parameter of the query, or a member of the body, is out of range.
    #[error("`{name}` must be {allowed}")]
    ValueRefused {
        /// Its name.
        name: &'static str,
        /// What is accepted, as a noun phrase.
        allowed: &'static str,
    },
    /// The query has a parameter that nobody reads.
    #[error("there is no parameter `{name}`; there are `after`, `max` and `body_bytes`")]
    ParameterUnknown {
        /// Its name.
        name: String,
    },
    /// The body is too long.
    #[error("the request's body is longer than {limit} bytes")]
    BodyTooLong {
        /// The limit.
        limit: usize,
    },
    /// The body did not come to its end in time.
    #[error("the request's body did not arrive")]
    BodyLost,
    /// The body is no JSON object of the expected form.
    #[error("the request's body cannot be read: {reason}")]
    BodyMalformed {
        /// What the parser says.
        reason: String,
    },
    /// The filter policy is none.
    #[error("the filter cannot be used: {0}")]
    Filter(FilterError),
    /// The engine refuses.
    #[error(transparent)]
    Refused(EngineError),
    /// Too much waits already.
    #[error("too many requests wait; try again")]
    Busy,
    /// The state is still being brought back.
    #[error("the server is recovering, {progressed}; try again")]
    Recovering {
        /// How far it is.
        progressed: Progressed,
    },
    /// The server ends.
    #[error("the server is going down")]
    Stopping,
}

/// A refusal as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Fault {
    /// A word for programs.
    code: &'static str,
    /// A sentence for people.
    message: String,
    /// Queues that may have been meant.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    near: Vec<String>,
}

#[derive(Serialize)]
struct Envelope {
    error: Fault,
}

impl ApiError {
    fn row(&self) -> (StatusCode, &'static str) {
        match self {
            ApiError::PathUnknown => (StatusCode::NOT_FOUND, "PathUnknown"),
            ApiError::MethodRefused { .. } => (StatusCode::METHOD_NOT_ALLOWED, "MethodRefused"),
            ApiError::QueueUnreadable { .. } => (StatusCode::BAD_REQUEST, "QueueUnreadable"),
            ApiError::QueueMissing { .. } | ApiError::Refused(EngineError::QueueMissing) => {
                (StatusCode::NOT_FOUND, "QueueMissing")
            }
            ApiError::ValueRefused { .. } => (StatusCode::BAD_REQUEST, "ValueRefused"),
            ApiError::ParameterUnknown { .. } => (StatusCode::BAD_REQUEST, "ParameterUnknown"),
            ApiError::BodyTooLong { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "BodyTooLong"),
            ApiError::BodyLost => (StatusCode::REQUEST_TIMEOUT, "BodyLost"),
            ApiError::BodyMalformed { .. } => (StatusCode::BAD_REQUEST, "BodyMalformed"),
            ApiError::Filter(_) => (StatusCode::BAD_REQUEST, "FilterRefused"),
            ApiError::Refused(EngineError::MoveDestinationMissing) => {
                (StatusCode::NOT_FOUND, "DestinationMissing")
            }
            ApiError::Refused(EngineError::StorageFull) => (StatusCode::SERVICE_UNAVAILABLE, "StorageFull"),
            ApiError::Refused(_) => (StatusCode::BAD_REQUEST, "Refused"),
            ApiError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "Busy"),
            ApiError::Recovering { .. } => (StatusCode::SERVICE_UNAVAILABLE, "Recovering"),
            ApiError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "Stopping"),
        }
    }

    /// The refusal as it stands in an answer.
    pub(super) fn fault(&self) -> Fault {
        let near = match self {
            ApiError::QueueMissing { near, .. } => near.clone(),
            _ => Vec::new(),
        };
        Fault { code: self.row().1, message: self.to_string(), near }
    }

    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut http = json(self.row().0, &Envelope { error: self.fault() });
        if let ApiError::MethodRefused { allowed } = self {
            http.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        }
        http
    }
}
