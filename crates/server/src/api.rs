//! The API listener's service: bytes to the protocol, commands to the shard, answers back.

use crate::forwarded;
use crate::http::body::{self, Unread};
use crate::http::{self, Peer};
use crate::shard::{Gone, Shard, system_time};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use std::sync::Arc;
use std::time::Duration;
use tidegate_engine::{AccountId, Command, Region, Reply, Timestamp};
use tidegate_log::Storage;
use tidegate_protocol::{
    Action, Call, Context, Credentials, Decoded, Fault, Headers, ReceiptKey, Refusal, RequestIdText,
    UrlSettings, decode,
};

/// What answering needs, shared by all connections.
pub(crate) struct Api<S: Storage> {
    pub(crate) shard: Shard<S>,
    pub(crate) receipt_key: ReceiptKey,
    pub(crate) settings: Arc<ApiSettings>,
}

/// How requests are read and answers made.
pub(crate) struct ApiSettings {
    /// The keys that may sign; `None` accepts every caller.
    pub(crate) credentials: Option<Credentials>,
    pub(crate) account: AccountId,
    pub(crate) region: Region,
    pub(crate) public_url: Option<String>,
    pub(crate) trust_forwarded: bool,
    /// Address for requests that name no host.
    pub(crate) fallback_host: String,
    pub(crate) body_bytes_max: usize,
    pub(crate) body_timeout: Duration,
}

impl ApiSettings {
    pub(crate) fn context<'a>(
        &'a self,
        now: Timestamp,
        request_id: RequestIdText,
        receipt_key: ReceiptKey,
        secure: bool,
        random: &'a mut dyn FnMut() -> [u8; 16],
    ) -> Context<'a> {
        Context {
            now,
            request_id,
            receipt_key,
            credentials: self.credentials.as_ref(),
            account: self.account,
            region: &self.region,
            urls: UrlSettings {
                public_url: self.public_url.as_deref(),
                trust_forwarded: self.trust_forwarded,
                scheme: http::scheme(secure),
                fallback_host: &self.fallback_host,
            },
            random,
        }
    }

    /// The body of a request.
    ///
    /// # Errors
    /// A fault of the caller's when it is too long or does not come.
    pub(crate) async fn collect(&self, headers: &HeaderMap, body: Incoming) -> Result<Bytes, Fault> {
        let limit = self.body_bytes_max;
        let malformed = |reason: &'static str| Fault::Malformed { reason: reason.into() };
        body::collect(headers, body, limit, self.body_timeout).await.map_err(|unread| match unread {
            Unread::TooLong => Fault::RequestTooLong { limit },
            Unread::Broken => malformed("The request body could not be read to its end"),
            Unread::Late => malformed("The request body did not arrive in time"),
        })
    }
}

/// An answer, and what of it goes to logs and metrics.
pub(crate) struct Answered {
    pub(crate) action: Option<Action>,
    pub(crate) response: tidegate_protocol::Response,
}

impl<S: Storage> Api<S> {
    /// Decodes a request, which may be refused at once.
    pub(crate) fn decode(
        &self,
        peer: Peer,
        request: &tidegate_protocol::Request<'_>,
        request_id: RequestIdText,
    ) -> Result<Decoded, Answered> {
        let now = system_time();
        let mut random = rand::random;
        let mut context = self.settings.context(now, request_id, self.receipt_key, peer.secure, &mut random);
        let decoded = decode(request, &mut context);
        match self.authorize(peer, request.headers, now, &decoded) {
            Ok(()) => Ok(decoded),
            Err(fault) => Err(Answered { action: decoded.action(), response: decoded.refuse(&fault) }),
        }
    }

    /// Answers a decoded request. Never fails: what cannot be done is an answer, too.
    pub(crate) async fn answer(&self, decoded: Decoded) -> Answered {
        match decoded {
            Decoded::Call(command, call) => self.call(command, call).await,
            Decoded::Refused(refusal) => self.refuse(refusal).await,
        }
    }

    /// Checks that the caller may do what a request asks for. While there are no credentials nobody is asked.
    fn authorize(
        &self,
        peer: Peer,
        headers: &dyn Headers,
        now: Timestamp,
        decoded: &Decoded,
    ) -> Result<(), Fault> {
        if self.settings.credentials.is_none() {
            return Ok(());
        }
        let client = if self.settings.trust_forwarded { forwarded::client(peer, headers) } else { peer };
        let context = tidegate_policy::Context {
            source_ip: client.address,
            secure_transport: client.secure,
            now_s: i64::try_from(now.as_secs()).unwrap_or(i64::MAX),
            user_agent: headers.get("user-agent"),
            source_arn: None,
            source_account: None,
        };
        decoded.accesses().try_for_each(|access| {
            let policy = access.queue.and_then(|queue| self.shard.policy(queue));
            access.authorize(policy.as_deref(), context)
        })
    }

    async fn call(&self, mut command: Command, mut call: Call) -> Answered {
        let action = Some(call.action);
        let outcome = loop {
            let outcome = match self.shard.call(command).await {
                Ok(outcome) => outcome,
                Err(gone) => return Answered { action, response: call.refuse(&fault_of(gone)) },
            };
            match call.next_command(&outcome) {
                Ok(Some(next)) => command = next,
                Ok(None) => break outcome,
                Err(fault) => return Answered { action, response: call.refuse(&fault) },
            }
        };
        let (outcome, messages) = match outcome {
            Ok(Reply::Received(deliveries)) if !deliveries.is_empty() => match self.shard.read(deliveries) {
                Ok((deliveries, messages)) => (Ok(Reply::Received(deliveries)), messages),
                // Reported where it was found.
                Err(_) => return Answered { action, response: call.refuse(&Fault::Internal) },
            },
            other => (other, Vec::new()),
        };
        Answered { action, response: call.encode(outcome, &messages) }
    }

    /// A refused request whose queue does not exist is refused for that.
    async fn refuse(&self, refusal: Refusal) -> Answered {
        let action = refusal.action;
        let Some(queue) = refusal.queue.clone() else {
            return Answered { action, response: refusal.encode(false) };
        };
        let response = match self.shard.call(Command::FindQueue { queue }).await {
            Ok(outcome) => refusal.encode(outcome.is_ok()),
            Err(gone) => refusal.refuse(&fault_of(gone)),
        };
        Answered { action, response }
    }
}

fn fault_of(gone: Gone) -> Fault {
    Fault::Unavailable {
        reason: match gone {
            Gone::Busy => "too many requests wait".into(),
            Gone::Stopped => "it is going down".into(),
        },
    }
}

/// A request as the protocol reads it.
pub(crate) fn to_protocol<'a>(
    parts: &'a Parts,
    headers: &'a HeaderLookup<'a>,
    body: &'a [u8],
) -> tidegate_protocol::Request<'a> {
    tidegate_protocol::Request {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query(),
        headers,
        body,
    }
}

/// Request headers as the protocol looks them up.
pub(crate) struct HeaderLookup<'a>(pub(crate) &'a HeaderMap);

impl Headers for HeaderLookup<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        // A request has some ten headers: comparing is cheaper than making a key of the name.
        let named = self.0.iter().find(|(known, _)| known.as_str() == name);
        named?.1.to_str().ok()
    }

    fn visit(&self, name: &str, see: &mut dyn FnMut(&[u8])) {
        self.0.get_all(name).iter().for_each(|value| see(value.as_bytes()));
    }
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const QUERY_ERROR: HeaderName = HeaderName::from_static("x-amzn-query-error");

pub(crate) fn to_http(response: tidegate_protocol::Response) -> Response<Full<Bytes>> {
    let mut http = Response::new(Full::new(Bytes::from(response.body)));
    *http.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = http.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(response.content_type));
    if let Ok(id) = HeaderValue::from_bytes(&response.request_id) {
        headers.insert(REQUEST_ID, id);
    }
    if let Some(error) = response.error_header {
        headers.insert(QUERY_ERROR, HeaderValue::from_static(error));
    }
    if let Some(seconds) = response.retry_after {
        headers.insert(RETRY_AFTER, u16::from(seconds).into());
    }
    http
}

/// A short answer in plain text.
pub(crate) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut http = Response::new(Full::new(text.into()));
    *http.status_mut() = status;
    http.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    http
}
