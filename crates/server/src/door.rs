//! The API listener's service from its first moment on: the API once the state is brought back, and until then the answer
//! that it is being brought back.

use crate::api::{Api, ApiSettings, HeaderLookup, plain, to_http, to_protocol};
use crate::http::Peer;
use crate::metrics::Metrics;
use crate::shard::system_time;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tidegate_engine::MessageId;
use tidegate_log::Storage;
use tidegate_protocol::{Fault, ReceiptKey, refuse, refuse_verified};
use tidegate_store::Progress;

/// Leads to the API, which may not be there yet.
pub(crate) struct Door<S: Storage> {
    api: OnceLock<Api<S>>,
    settings: Arc<ApiSettings>,
    metrics: Arc<Metrics>,
    progress: Arc<Progress>,
}

impl<S: Storage> Door<S> {
    /// A closed door.
    pub(crate) fn new(settings: Arc<ApiSettings>, metrics: Arc<Metrics>, progress: Arc<Progress>) -> Self {
        Door { api: OnceLock::new(), settings, metrics, progress }
    }

    /// From now on requests are answered by the API. To be called once.
    pub(crate) fn open(&self, api: Api<S>) {
        let opened = self.api.set(api);
        assert!(opened.is_ok(), "a state is brought back once");
    }

    /// Answers one request. Never fails: what cannot be done is an answer, too.
    pub(crate) async fn answer(
        self: Arc<Self>,
        peer: Peer,
        request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        if request.method() == Method::GET && request.uri().path() == "/health" {
            return plain(StatusCode::OK, "ok\n");
        }
        match self.api.get() {
            Some(api) => api.answer(peer, request).await,
            None => self.turn_away(peer, request).await,
        }
    }

    /// Tells a caller to come again; one who does not prove who it is learns not even that.
    async fn turn_away(&self, peer: Peer, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let request_id = MessageId::from_random(rand::random()).encode();
        let body = self.settings.collect(body).await;
        let start = Instant::now();
        let headers = HeaderLookup(&parts.headers);
        let request = to_protocol(&parts, &headers, body.as_deref().unwrap_or_default());
        let response = match &body {
            Err(fault) => refuse(&request, request_id, fault),
            Ok(_) => {
                let fault = Fault::Unavailable {
                    reason: format!("it is recovering, {}", self.progress.look()).into(),
                };
                let mut random = rand::random;
                // Signatures are all that is looked at, so the key of receipts is of no use yet.
                let no_key = ReceiptKey([0; 16]);
                let context =
                    self.settings.context(system_time(), request_id, no_key, peer.secure, &mut random);
                refuse_verified(&request, &context, &fault)
            }
        };
        self.metrics.answered(None, response.code, start.elapsed());
        let mut http = to_http(response);
        if http.status() == StatusCode::SERVICE_UNAVAILABLE {
            http.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_RECOVERY);
        }
        http
    }
}

/// When to ask again while the state is brought back, in seconds.
pub(crate) const RETRY_AFTER_RECOVERY: HeaderValue = HeaderValue::from_static("1");

#[cfg(test)]
mod tests;
