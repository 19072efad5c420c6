//! What the server counts and times, and its exposition in the Prometheus text format.

mod queues;

use crate::shard::QueueReport;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use queues::QueueSeries;
use std::sync::OnceLock;
use std::time::Duration;
use tidegate_log::Space;
use tidegate_protocol::Action;

/// All metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<ActionLabel, Histogram>,
    /// The series of successes by action, found once: a look into the families costs more than the counting.
    successes: [OnceLock<Success>; Action::ALL.len()],
    /// Connections to the API listener.
    pub(crate) connections: Gauge,
    /// Those of the log.
    pub(crate) log: LogMetrics,
}

/// What counts the successes of one action.
struct Success {
    requests: Counter,
    durations: Histogram,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    action: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ActionLabel {
    action: &'static str,
}

/// Metrics of a shard's log.
#[derive(Clone)]
pub(crate) struct LogMetrics {
    appends: Histogram,
    bytes: Counter,
    disk_bytes: Gauge,
}

impl LogMetrics {
    /// Counts one append with its fsync.
    pub(crate) fn appended(&self, bytes: usize, duration: Duration) {
        self.appends.observe(duration.as_secs_f64());
        self.bytes.inc_by(bytes as u64);
    }

    pub(crate) fn set_disk_bytes(&self, bytes: u64) {
        self.disk_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("tidegate");
        let requests = Family::<RequestLabels, Counter>::default();
        registry.register("requests", "Requests by action and error code", requests.clone());
        let durations = Family::<ActionLabel, Histogram>::new_with_constructor(|| {
            // 50 µs to 26 s: from an answer out of memory to a long poll.
            Histogram::new(exponential_buckets(0.000_05, 2.0, 20))
        });
        registry.register_with_unit(
            "request_duration",
            "Time from a complete request to its answer, waits of long polls included",
            Unit::Seconds,
            durations.clone(),
        );
        let connections = Gauge::default();
        registry.register("connections", "Open connections to the API listener", connections.clone());
        let log = LogMetrics {
            appends: Histogram::new(exponential_buckets(0.000_01, 2.0, 20)),
            bytes: Counter::default(),
            disk_bytes: Gauge::default(),
        };
        let appends = log.appends.clone();
        registry.register_with_unit(
            "log_append",
            "Time of one append to the log, its fsync included",
            Unit::Seconds,
            appends,
        );
        registry.register("log_appended_bytes", "Bytes appended to the log", log.bytes.clone());
        registry.register("log_disk_bytes", "Bytes of all files of the log", log.disk_bytes.clone());
        let successes = [const { OnceLock::new() }; Action::ALL.len()];
        Metrics { registry, requests, durations, successes, connections, log }
    }

    /// Counts one answered request; `code` is `None` for a success, `action` for a request without a known one.
    pub(crate) fn answered(&self, action: Option<Action>, code: Option<&'static str>, duration: Duration) {
        if let (Some(action), None) = (action, code) {
            let success = self.successes[action as usize].get_or_init(|| {
                let (requests, durations) = self.series(action.name(), "ok");
                Success { requests, durations }
            });
            success.requests.inc();
            success.durations.observe(duration.as_secs_f64());
            return;
        }
        let (requests, durations) = self.series(action.map_or("unknown", Action::name), code.unwrap_or("ok"));
        requests.inc();
        durations.observe(duration.as_secs_f64());
    }

    fn series(&self, action: &'static str, code: &'static str) -> (Counter, Histogram) {
        (
            self.requests.get_or_create_owned(&RequestLabels { action, code }),
            self.durations.get_or_create_owned(&ActionLabel { action }),
        )
    }

    /// Everything as text, with the queues of `report`.
    pub(crate) fn expose(&self, report: QueueReport) -> String {
        let mut text = String::new();
        let queues = queue_registry(report);
        let encoded = encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, &queues))
            .and_then(|()| encode_eof(&mut text));
        encoded.expect("writing to a string does not fail");
        text
    }
}

fn queue_registry(report: QueueReport) -> Registry {
    let mut registry = Registry::with_prefix("tidegate");
    let single = |value: usize| {
        let gauge = Gauge::<i64>::default();
        gauge.set(value as i64);
        gauge
    };
    registry.register("queues", "Queues of the server", single(report.queues.len()));
    let unlisted = report.queues.len().saturating_sub(queues::LISTED_MAX);
    registry.register("queues_unlisted", "Queues beyond those listed here", single(unlisted));
    registry.register("waiting_receives", "Long polls that wait", single(report.parked));
    let refused = usize::from(report.space != Space::Ample);
    registry.register("storage_full", "1 while sends are refused for lack of room", single(refused));
    if let Some(bytes) = resident_bytes() {
        let help = "Memory of the process that is in RAM";
        registry.register_with_unit("process_resident_memory", help, Unit::Bytes, single(bytes));
    }
    registry.register_collector(Box::new(QueueSeries(report.queues)));
    registry
}

/// Resident memory of this process; `None` where the system does not tell.
fn resident_bytes() -> Option<usize> {
    // "size resident shared …" in pages, which are 4 KiB on the systems that have this file by default.
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
