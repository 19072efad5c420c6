//! The API listener's service from its first moment on: the API once the state is brought back, and until then the answer
//! that it is being brought back.

use crate::api::{Answered, Api, ApiSettings, HeaderLookup, plain, to_http, to_protocol};
use crate::http::{Common, Connections, General, Peer};
use crate::metrics::Metrics;
use crate::shard::system_time;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tidegate_engine::MessageId;
use tidegate_log::Storage;
use tidegate_protocol::{Action, Fault, ReceiptKey, RequestIdText, refuse, refuse_verified};
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

    /// How the connections of the listener are served.
    pub(crate) fn connections(self: &Arc<Self>) -> impl Connections + use<S> {
        let (direct, general) = (self.clone(), self.clone());
        Common {
            direct: move |peer, request: &tidegate_protocol::Request<'_>| direct.answer(peer, request),
            general: General(move |peer, request| general.clone().answer_general(peer, request)),
        }
    }

    /// Answers one request. Never fails: what cannot be done is an answer, too.
    ///
    /// It is decoded at once, so that a long poll does not hold its bytes.
    fn answer(
        self: &Arc<Self>,
        peer: Peer,
        request: &tidegate_protocol::Request<'_>,
    ) -> impl Future<Output = tidegate_protocol::Response> + Send + use<S> {
        let request_id = MessageId::from_random(rand::random()).encode();
        let start = Instant::now();
        let decoded = match self.api.get() {
            Some(api) => api.decode(peer, request, request_id),
            None => Err(Answered { action: None, response: self.turn_away(peer, request, request_id) }),
        };
        let door = self.clone();
        async move {
            let answered = match (decoded, door.api.get()) {
                (Ok(decoded), Some(api)) => api.answer(decoded).await,
                (Ok(_), None) => unreachable!("a door is never closed again"),
                (Err(answered), _) => answered,
            };
            door.note(peer, request_id, start, answered)
        }
    }

    /// Answers a request that came through hyper.
    async fn answer_general(
        self: Arc<Self>,
        peer: Peer,
        request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        if request.method() == Method::GET && request.uri().path() == "/health" {
            return plain(StatusCode::OK, "ok\n");
        }
        let (parts, body) = request.into_parts();
        let body = self.settings.collect(&parts.headers, body).await;
        let answering = {
            let (parts, body) = (parts, body);
            let headers = HeaderLookup(&parts.headers);
            let request = to_protocol(&parts, &headers, body.as_deref().unwrap_or_default());
            match &body {
                Ok(_) => Ok(self.answer(peer, &request)),
                Err(fault) => Err(self.refuse_unread(peer, &request, fault)),
            }
        };
        to_http(match answering {
            Ok(answering) => answering.await,
            Err(refused) => refused,
        })
    }

    /// Refuses a request whose body did not come.
    fn refuse_unread(
        &self,
        peer: Peer,
        request: &tidegate_protocol::Request<'_>,
        fault: &Fault,
    ) -> tidegate_protocol::Response {
        let request_id = MessageId::from_random(rand::random()).encode();
        let answered = Answered { action: None, response: refuse(request, request_id, fault) };
        self.note(peer, request_id, Instant::now(), answered)
    }

    /// Tells a caller to come again; one who does not prove who it is learns not even that.
    fn turn_away(
        &self,
        peer: Peer,
        request: &tidegate_protocol::Request<'_>,
        request_id: RequestIdText,
    ) -> tidegate_protocol::Response {
        let fault =
            Fault::Unavailable { reason: format!("it is recovering, {}", self.progress.look()).into() };
        let mut random = rand::random;
        // Signatures are all that is looked at, so the key of receipts is of no use yet.
        let no_key = ReceiptKey([0; 16]);
        let context = self.settings.context(system_time(), request_id, no_key, peer.secure, &mut random);
        let response = refuse_verified(request, &context, &fault);
        let retry_after = (response.status == 503).then_some(RETRY_AFTER_S);
        tidegate_protocol::Response { retry_after, ..response }
    }

    /// Counts and logs an answer that is about to leave.
    fn note(
        &self,
        peer: Peer,
        request_id: RequestIdText,
        start: Instant,
        answered: Answered,
    ) -> tidegate_protocol::Response {
        let Answered { action, response } = answered;
        let latency = start.elapsed();
        self.metrics.answered(action, response.code, latency);
        tracing::debug!(
            action = action.map_or("unknown", Action::name),
            peer = %peer.address,
            status = response.status,
            code = response.code,
            latency_us = latency.as_micros() as u64,
            request_id = std::str::from_utf8(&request_id).unwrap_or_default(),
            "answered"
        );
        response
    }
}

/// When to ask again while the state is brought back, in seconds.
pub(crate) const RETRY_AFTER_S: u8 = 1;

#[cfg(test)]
mod tests;
