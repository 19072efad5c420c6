//! The operators' listener: health, readiness, metrics, a page that shows the queues, and the operators' API.

mod api;
mod guard;

use crate::api::plain;
use crate::door::RETRY_AFTER_S;
use crate::http::Peer;
use crate::metrics::Metrics;
use crate::shard::{QueueReport, Shard};
use bytes::Bytes;
use http_body_util::channel::Channel;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use tidegate_log::{Space, Storage};
use tidegate_store::Progress;

pub(crate) use api::QueueApi;
pub(crate) use guard::Guard;

/// An answer's body: there at once, or told bit by bit.
pub(crate) type AdminBody = Either<Full<Bytes>, Channel<Bytes>>;

/// The operators' listener from its first moment on.
pub(crate) struct Admin<S: Storage> {
    /// What every request has to pass.
    guard: Guard,
    /// What there is to see, once the state is brought back.
    pages: OnceLock<Pages<S>>,
    progress: Arc<Progress>,
}

/// What operators see of a running server.
pub(crate) struct Pages<S: Storage> {
    pub(crate) shard: Shard<S>,
    pub(crate) metrics: Arc<Metrics>,
    /// Where the API listens, for the page.
    pub(crate) endpoint: String,
    /// Answers what is below `/api/`.
    pub(crate) api: QueueApi<S>,
}

impl<S: Storage> Admin<S> {
    pub(crate) fn new(guard: Guard, progress: Arc<Progress>) -> Self {
        Admin { guard, pages: OnceLock::new(), progress }
    }

    /// From now on there is something to see. To be called once.
    pub(crate) fn open(&self, pages: Pages<S>) {
        let opened = self.pages.set(pages);
        assert!(opened.is_ok(), "a state is brought back once");
    }

    pub(crate) async fn answer(
        self: Arc<Self>,
        peer: Peer,
        request: Request<Incoming>,
    ) -> Response<AdminBody> {
        if let Err(refusal) = self.guard.admit(&request) {
            tracing::debug!(peer = %peer.address, ?refusal, "refused a request to the operators' listener");
            return refusal.into_response().map(Either::Left);
        }
        let is_api = request.uri().path().starts_with(api::PREFIX);
        match self.pages.get() {
            Some(pages) if is_api => pages.api.answer(request).await,
            Some(pages) => pages.visit(&request).await.map(Either::Left),
            None => self.turn_away(&request, is_api).map(Either::Left),
        }
    }

    /// Tells how far recovery is.
    fn turn_away(&self, request: &Request<Incoming>, is_api: bool) -> Response<Full<Bytes>> {
        let progressed = self.progress.look();
        if request.uri().path() == "/health" && reads(request) {
            return healthy();
        }
        let mut http = match is_api {
            true => api::recovering(progressed),
            false => plain(StatusCode::SERVICE_UNAVAILABLE, format!("recovering: {progressed}\n")),
        };
        http.headers_mut().insert(RETRY_AFTER, u16::from(RETRY_AFTER_S).into());
        http
    }
}

impl<S: Storage> Pages<S> {
    /// Answers what a browser, a probe or a scraper asks for.
    async fn visit(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if !reads(request) {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here\n");
        }
        match request.uri().path() {
            "/health" => healthy(),
            path @ ("/ready" | "/metrics" | "/") => match self.shard.report().await {
                Ok(report) => self.describe(path, report),
                Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "the server is going down\n"),
            },
            _ => plain(
                StatusCode::NOT_FOUND,
                "there is /health, /ready, /metrics, /api/queues/QUEUE/messages and the page at /\n",
            ),
        }
    }

    fn describe(&self, path: &str, report: QueueReport) -> Response<Full<Bytes>> {
        match path {
            "/ready" => match report.space {
                Space::Ample => plain(StatusCode::OK, "ready\n"),
                Space::Low | Space::Full => plain(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "no room for new messages: delete messages or make room on the disk\n",
                ),
            },
            "/metrics" => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                typed(kind, self.metrics.expose(report))
            }
            _ => typed("text/html; charset=utf-8", self.page(&report)),
        }
    }

    fn page(&self, report: &QueueReport) -> String {
        let mut rows = String::new();
        for gauge in report.queues.iter().take(ROWS_MAX) {
            let age = gauge.oldest_age.map_or("–".to_owned(), |age| readable_age(age.as_secs()));
            let (address, counts) = (&gauge.address, gauge.counts);
            // Names have no characters that HTML treats specially; their type sees to that.
            let _ = writeln!(
                rows,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td>\
                 <td class=n>{age}</td></tr>",
                address.name,
                address.account,
                address.region,
                counts.visible,
                counts.in_flight,
                counts.delayed,
            );
        }
        let note = match (report.queues.len(), report.space) {
            (_, Space::Low | Space::Full) => {
                "<p class=bad>No room for new messages: sends are refused until messages are deleted or the disk \
                 has room.</p>"
                    .to_owned()
            }
            (0, _) => "<p>No queues yet. Create one with any SQS client and it appears here.</p>".to_owned(),
            (count, _) if count > ROWS_MAX => format!("<p>The first {ROWS_MAX} of {count} queues.</p>"),
            _ => String::new(),
        };
        PAGE.replace("{endpoint}", &self.endpoint)
            .replace("{version}", env!("CARGO_PKG_VERSION"))
            .replace("{waiting}", &report.parked.to_string())
            .replace("{note}", &note)
            .replace("{rows}", &rows)
    }
}

fn reads<B>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

fn healthy() -> Response<Full<Bytes>> {
    plain(StatusCode::OK, "ok\n")
}

/// Queues that the page shows; more would not be read.
const ROWS_MAX: usize = 1_000;

const PAGE: &str = include_str!("page.html");

fn typed(kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut http = Response::new(Full::new(Bytes::from(body)));
    http.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    http
}

fn readable_age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::readable_age;

    #[test]
    fn ages_are_given_in_the_unit_that_reads_best() {
        let ages = [0, 119, 120, 7_199, 7_200, 172_800].map(readable_age);
        assert_eq!(ages, ["0 s", "119 s", "2 min", "119 min", "2 h", "2 days"]);
    }
}
