//! Counts, latencies and errors of a measurement.

use crate::answer::Complaint;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Latencies that are told apart: from a microsecond to ten minutes, to a thousandth.
const LATENCY_US_MAX: u64 = 600_000_000;
/// Codes of errors that are counted apart. They come from the server, so they need a limit.
const CODES_MAX: usize = 32;
/// Where errors beyond that are counted.
const OTHER_CODE: &str = "other";

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    Send,
    /// A receive that brought messages; a long poll's wait is part of it.
    Receive,
    Delete,
    /// From before a send to after the receive that brought its message.
    EndToEnd,
}

impl Timed {
    pub(crate) const ALL: [Timed; 4] = [Timed::Send, Timed::Receive, Timed::Delete, Timed::EndToEnd];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Timed::Send => "send",
            Timed::Receive => "receive",
            Timed::Delete => "delete",
            Timed::EndToEnd => "end_to_end",
        }
    }
}

/// Latencies in microseconds, by what took them.
#[derive(Clone)]
pub(crate) struct Latencies([Histogram<u64>; 4]);

impl Default for Latencies {
    fn default() -> Self {
        let empty = || Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("these bounds are valid");
        Latencies([empty(), empty(), empty(), empty()])
    }
}

impl Latencies {
    pub(crate) fn of(&self, timed: Timed) -> &Histogram<u64> {
        &self.0[timed as usize]
    }

    pub(crate) fn add(&mut self, other: &Latencies) {
        for (all, some) in self.0.iter_mut().zip(&other.0) {
            all.add(some).expect("they have the same bounds");
        }
    }

    fn record(&mut self, timed: Timed, latency: Duration) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.0[timed as usize].saturating_record(us.max(1));
    }
}

/// How often something went wrong, and how it was told the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorCount {
    pub(crate) count: u64,
    pub(crate) first: String,
}

/// By code.
pub(crate) type Errors = BTreeMap<String, ErrorCount>;

/// Adds what is known of one code.
pub(crate) fn count_errors(errors: &mut Errors, code: &str, more: &ErrorCount) {
    let code = if errors.len() < CODES_MAX || errors.contains_key(code) { code } else { OTHER_CODE };
    let empty = || ErrorCount { count: 0, first: more.first.clone() };
    errors.entry(code.to_owned()).or_insert_with(empty).count += more.count;
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Messages whose send was acknowledged.
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) deleted: u64,
    /// Requests that were answered with success.
    pub(crate) requests: u64,
    /// Receives that brought nothing.
    pub(crate) empty_receives: u64,
}

impl Counts {
    #[must_use]
    pub(crate) fn since(self, before: Counts) -> Counts {
        Counts {
            sent: self.sent - before.sent,
            received: self.received - before.received,
            deleted: self.deleted - before.deleted,
            requests: self.requests - before.requests,
            empty_receives: self.empty_receives - before.empty_receives,
        }
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.sent += other.sent;
        self.received += other.received;
        self.deleted += other.deleted;
        self.requests += other.requests;
        self.empty_receives += other.empty_receives;
    }
}

/// Shared by the connections of a measurement.
pub(crate) struct Meter {
    began: Instant,
    measuring: AtomicBool,
    sent: AtomicU64,
    received: AtomicU64,
    deleted: AtomicU64,
    requests: AtomicU64,
    empty_receives: AtomicU64,
    error_count: AtomicU64,
    /// Nanoseconds after `began` at which the last send or delete was acknowledged.
    last_done: AtomicU64,
    /// One for each thread, so that they do not wait for each other.
    latencies: Vec<Mutex<Latencies>>,
    errors: Mutex<Errors>,
}

impl Meter {
    pub(crate) fn new(threads: usize) -> Self {
        Meter {
            began: Instant::now(),
            measuring: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            deleted: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            empty_receives: AtomicU64::new(0),
            error_count: AtomicU64::new(0),
            last_done: AtomicU64::new(0),
            latencies: (0..threads).map(|_| Mutex::default()).collect(),
            errors: Mutex::default(),
        }
    }

    /// Whether latencies count from now on.
    pub(crate) fn measure(&self, measuring: bool) {
        self.measuring.store(measuring, Relaxed);
    }

    pub(crate) fn is_measuring(&self) -> bool {
        self.measuring.load(Relaxed)
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            sent: self.sent.load(Relaxed),
            received: self.received.load(Relaxed),
            deleted: self.deleted.load(Relaxed),
            requests: self.requests.load(Relaxed),
            empty_receives: self.empty_receives.load(Relaxed),
        }
    }

    /// When the last send or delete was acknowledged.
    pub(crate) fn last_done(&self) -> Instant {
        self.began + Duration::from_nanos(self.last_done.load(Relaxed))
    }

    pub(crate) fn error_count(&self) -> u64 {
        self.error_count.load(Relaxed)
    }

    pub(crate) fn errors(&self) -> Errors {
        unpoisoned(&self.errors).clone()
    }

    /// All latencies so far.
    pub(crate) fn latencies(&self) -> Latencies {
        let mut all = Latencies::default();
        for some in &self.latencies {
            all.add(&unpoisoned(some));
        }
        all
    }

    pub(crate) fn succeeded(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    pub(crate) fn sent(&self, messages: usize) {
        self.sent.fetch_add(messages as u64, Relaxed);
        self.done();
    }

    pub(crate) fn deleted(&self, messages: usize) {
        self.deleted.fetch_add(messages as u64, Relaxed);
        self.done();
    }

    pub(crate) fn received(&self, messages: usize) {
        self.received.fetch_add(messages as u64, Relaxed);
        self.empty_receives.fetch_add(u64::from(messages == 0), Relaxed);
    }

    fn done(&self) {
        let since = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last_done.fetch_max(since, Relaxed);
    }

    /// Records how long something took, if that counts now. `connection` spreads the threads.
    pub(crate) fn took(&self, connection: usize, timed: Timed, latency: Duration) {
        if self.is_measuring() {
            unpoisoned(&self.latencies[connection % self.latencies.len()]).record(timed, latency);
        }
    }

    pub(crate) fn failed(&self, operation: &'static str, complaint: &Complaint) {
        self.error_count.fetch_add(1, Relaxed);
        let first = format!("{operation}: {}", complaint.text);
        count_errors(&mut unpoisoned(&self.errors), &complaint.code, &ErrorCount { count: 1, first });
    }
}

/// Counts stay usable when a thread panicked between two of them.
pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_code_in_a_bounded_number() {
        let meter = Meter::new(1);
        for index in 0..CODES_MAX + 10 {
            meter.failed("SendMessage", &Complaint::new(format!("Code{index:03}"), format!("text {index}")));
        }
        meter.failed("SendMessage", &Complaint::new("Code000", "again"));
        let errors = meter.errors();
        assert_eq!((errors.len(), meter.error_count()), (CODES_MAX + 1, CODES_MAX as u64 + 11));
        assert_eq!(errors["Code000"], ErrorCount { count: 2, first: "SendMessage: text 0".into() });
        assert_eq!(errors[OTHER_CODE].count, 10);
    }

    #[test]
    fn latencies_count_while_measuring() {
        let meter = Meter::new(2);
        meter.took(0, Timed::Send, Duration::from_millis(1));
        meter.measure(true);
        for connection in 0..4 {
            meter.took(connection, Timed::Send, Duration::from_millis(2));
        }
        meter.took(0, Timed::Delete, Duration::ZERO);
        meter.took(0, Timed::EndToEnd, Duration::from_secs(86_400));
        let all = meter.latencies();
        assert_eq!((all.of(Timed::Send).len(), all.of(Timed::Send).value_at_quantile(0.5)), (4, 2_000));
        assert_eq!((all.of(Timed::Receive).len(), all.of(Timed::Delete).max()), (0, 1));
        assert!(all.of(Timed::EndToEnd).max() >= LATENCY_US_MAX);
    }
}
