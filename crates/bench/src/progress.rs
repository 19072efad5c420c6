//! The line on the terminal that says how it goes.

use crate::meter::{Meter, Timed};
use crate::options::Mode;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two changes of the line.
const STEP: Duration = Duration::from_millis(500);

/// A line on standard error, if that is a terminal.
pub(crate) struct Progress {
    is_visible: bool,
    /// What stands at its beginning.
    label: String,
    /// When the line was last changed, and the messages until then.
    last: (Instant, u64),
}

/// What there is to say.
pub(crate) struct Sight<'a> {
    /// What is being done.
    pub(crate) doing: &'a str,
    pub(crate) mode: Mode,
    /// Messages so far.
    pub(crate) messages: u64,
    pub(crate) left: Option<Duration>,
}

impl Progress {
    pub(crate) fn on_terminal() -> Self {
        Progress { is_visible: io::stderr().is_terminal(), label: String::new(), last: (Instant::now(), 0) }
    }

    /// Says at the beginning of the line which of several measurements it is.
    pub(crate) fn label(&mut self, label: String) {
        self.label = label;
        self.restart();
    }

    /// The messages are counted from 0 again.
    pub(crate) fn restart(&mut self) {
        self.last = (Instant::now(), 0);
    }

    /// Changes the line, if it is time to.
    pub(crate) fn show(&mut self, meter: &Meter, sight: &Sight<'_>) {
        let (since, before) = self.last;
        let elapsed = since.elapsed();
        if !self.is_visible || elapsed < STEP {
            return;
        }
        self.last = (Instant::now(), sight.messages);
        let rate = sight.messages.saturating_sub(before) as f64 / elapsed.as_secs_f64();
        // The rest of a longer line before it is erased.
        let line = format!("\r{}{}\x1b[K", self.label, line(rate, meter, sight));
        drop(io::stderr().write_all(line.as_bytes()));
    }

    pub(crate) fn clear(&self) {
        if self.is_visible {
            drop(io::stderr().write_all(b"\r\x1b[K"));
        }
    }
}

fn line(rate: f64, meter: &Meter, sight: &Sight<'_>) -> String {
    let timed = match sight.mode {
        Mode::Send | Mode::Mixed => Timed::Send,
        Mode::Drain => Timed::Receive,
        Mode::PingPong => Timed::EndToEnd,
    };
    let latencies = meter.latencies();
    let p99_ms = latencies.of(timed).value_at_quantile(0.99) as f64 / 1_000.0;
    let mut text = format!("{}: {rate:.0} messages/s", sight.doing);
    if meter.is_measuring() {
        text += &format!(", p99 {p99_ms:.1} ms");
    }
    text += &format!(", {} errors", meter.error_count());
    if let Some(left) = sight.left {
        text += &format!(", {} s left", left.as_secs_f64().ceil());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_rate_latency_errors_and_time_left() {
        let meter = Meter::new(1);
        let mut sight = Sight { doing: "warming up", mode: Mode::Send, messages: 0, left: None };
        assert_eq!(line(1_234.4, &meter, &sight), "warming up: 1234 messages/s, 0 errors");
        meter.measure(true);
        meter.took(0, Timed::Send, Duration::from_micros(2_500));
        sight = Sight { doing: "sending", left: Some(Duration::from_millis(7_100)), ..sight };
        assert_eq!(line(10.0, &meter, &sight), "sending: 10 messages/s, p99 2.5 ms, 0 errors, 8 s left");
    }
}
