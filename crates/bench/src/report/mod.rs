//! The result.

pub(crate) mod json;
pub(crate) mod table;

use crate::Verdict;
use crate::ledger::Findings;
use crate::meter::{Counts, Errors, Latencies, Timed, count_errors};
use crate::slice::Outcome;
use std::time::Duration;

/// What was measured of an endpoint, in one turn or several.
pub(crate) struct Side {
    pub(crate) endpoint: String,
    pub(crate) queue_url: String,
    /// Messages a second of each turn.
    pub(crate) rates: Vec<f64>,
    /// Latencies of each turn.
    turns: Vec<Latencies>,
    // The rest is of all turns together.
    pub(crate) messages: u64,
    pub(crate) took: Duration,
    pub(crate) counts: Counts,
    pub(crate) latencies: Latencies,
    pub(crate) cpu: Duration,
    pub(crate) errors: Errors,
    pub(crate) findings: Option<Findings>,
    pub(crate) is_settled: bool,
    pub(crate) was_interrupted: bool,
    is_fifo: bool,
}

impl Side {
    pub(crate) fn new(endpoint: &str, queue_url: &str, outcomes: Vec<Outcome>) -> Self {
        let mut side = Side {
            endpoint: endpoint.to_owned(),
            queue_url: queue_url.to_owned(),
            rates: Vec::new(),
            turns: Vec::new(),
            messages: 0,
            took: Duration::ZERO,
            counts: Counts::default(),
            latencies: Latencies::default(),
            cpu: Duration::ZERO,
            errors: Errors::new(),
            findings: None,
            is_settled: true,
            was_interrupted: false,
            is_fifo: queue_url.ends_with(".fifo"),
        };
        for outcome in outcomes {
            side.add(outcome);
        }
        side
    }

    fn add(&mut self, outcome: Outcome) {
        self.rates.push(per_second(outcome.messages, outcome.took));
        self.messages += outcome.messages;
        self.took += outcome.took;
        self.counts.add(outcome.counts);
        self.latencies.add(&outcome.latencies);
        self.cpu += outcome.cpu;
        for (code, error) in &outcome.errors {
            count_errors(&mut self.errors, code, error);
        }
        if let Some(findings) = &outcome.findings {
            self.findings.get_or_insert_default().add(findings);
        }
        self.is_settled &= outcome.is_settled;
        self.was_interrupted |= outcome.was_interrupted;
        self.turns.push(outcome.latencies);
    }

    /// Messages a second: of the turn in the middle.
    pub(crate) fn rate(&self) -> f64 {
        Spread::of(&self.rates).median
    }

    pub(crate) fn requests_per_second(&self) -> f64 {
        per_second(self.counts.requests, self.took)
    }

    pub(crate) fn cpu_us_per_message(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.messages.max(1) as f64
    }

    /// How much of a processor this program took.
    pub(crate) fn cores(&self) -> f64 {
        self.cpu.as_secs_f64() / self.took.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Messages that were lost; `None` if that is not known.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.findings.filter(|_| self.is_settled).map(|findings| findings.lost)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let findings = self.findings.unwrap_or_default();
        let broken =
            findings.wrong + findings.out_of_order + findings.overlapping + self.lost().unwrap_or_default();
        // A standard queue may deliver twice; a FIFO queue says that it does not.
        let twice = if self.is_fifo { findings.duplicates } else { 0 };
        if broken + twice > 0 || self.messages == 0 && !self.was_interrupted {
            Verdict::Faulty
        } else if self.was_interrupted {
            Verdict::Interrupted
        } else {
            Verdict::Sound
        }
    }
}

/// The endpoint against the other: each turn's figure divided by that of the other's turn next to it.
pub(crate) struct Comparison {
    pub(crate) rate: Spread,
    /// Of the latencies that both sides have: what took the time, and the quantile's name.
    pub(crate) latencies: Vec<(Timed, &'static str, Spread)>,
}

/// Quantiles of the tables, by name.
pub(crate) const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

impl Comparison {
    pub(crate) fn of(a: &Side, b: &Side) -> Self {
        let ratios: Vec<_> = a.rates.iter().zip(&b.rates).map(|(a, b)| a / b).collect();
        let mut latencies = Vec::new();
        for timed in Timed::ALL {
            for (name, quantile) in [QUANTILES[0], QUANTILES[2]] {
                let turns = a.turns.iter().zip(&b.turns).map(|(a, b)| (a.of(timed), b.of(timed)));
                let both = turns.filter(|(a, b)| !a.is_empty() && !b.is_empty());
                let ratios: Vec<_> = both
                    .map(|(a, b)| a.value_at_quantile(quantile) as f64 / b.value_at_quantile(quantile) as f64)
                    .collect();
                if !ratios.is_empty() {
                    latencies.push((timed, name, Spread::of(&ratios)));
                }
            }
        }
        Comparison { rate: Spread::of(&ratios), latencies }
    }
}

/// Several measurements of one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of no values, all are 0.
    fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Spread { median: 0.0, min: 0.0, max: 0.0 };
        };
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Spread { median, min: *min, max: *max }
    }
}

fn per_second(count: u64, took: Duration) -> f64 {
    if took.is_zero() { 0.0 } else { count as f64 / took.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(messages: u64, findings: Option<Findings>) -> Outcome {
        Outcome {
            messages,
            took: Duration::from_secs(2),
            counts: Counts { sent: messages, requests: messages, ..Counts::default() },
            latencies: Latencies::default(),
            cpu: Duration::from_millis(20),
            errors: Errors::new(),
            findings,
            is_settled: true,
            was_interrupted: false,
        }
    }

    fn verdict_of(url: &str, outcome: Outcome) -> Verdict {
        Side::new("http://h", url, vec![outcome]).verdict()
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        assert_eq!(Spread::of(&[3.0, 1.0, 10.0]), Spread { median: 3.0, min: 1.0, max: 10.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 8.0]), Spread { median: 3.0, min: 1.0, max: 8.0 });
    }

    #[test]
    fn turns_are_compared_pair_by_pair() {
        let side =
            |rates: [u64; 3]| Side::new("http://h", "q", rates.map(|rate| outcome(2 * rate, None)).into());
        let (a, b) = (side([100, 300, 90]), side([100, 100, 100]));
        assert_eq!((a.rate(), a.messages, a.took), (100.0, 980, Duration::from_secs(6)));
        assert_eq!(Comparison::of(&a, &b).rate, Spread { median: 1.0, min: 0.9, max: 3.0 });
    }

    #[test]
    fn what_must_not_be_makes_the_verdict() {
        let none = Findings::default();
        assert_eq!(verdict_of("q", outcome(1, Some(none))), Verdict::Sound);
        assert_eq!(verdict_of("q", outcome(0, Some(none))), Verdict::Faulty);
        for findings in [
            Findings { lost: 1, ..none },
            Findings { wrong: 1, ..none },
            Findings { out_of_order: 1, ..none },
            Findings { overlapping: 1, ..none },
        ] {
            assert_eq!(verdict_of("q", outcome(1, Some(findings))), Verdict::Faulty, "{findings:?}");
        }
        let twice = Some(Findings { duplicates: 1, foreign: 1, ..none });
        assert_eq!(verdict_of("q", outcome(1, twice)), Verdict::Sound);
        assert_eq!(verdict_of("q.fifo", outcome(1, twice)), Verdict::Faulty);
        let unknown = Outcome { is_settled: false, ..outcome(1, Some(Findings { lost: 1, ..none })) };
        assert_eq!(verdict_of("q", unknown), Verdict::Sound);
        let interrupted = Outcome { was_interrupted: true, ..outcome(0, Some(none)) };
        assert_eq!(verdict_of("q", interrupted), Verdict::Interrupted);
    }
}
