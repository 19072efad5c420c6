//! Many worlds, one on each core at a time.

use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tidegate_sim::{Options, Tally, checker::Violation, run};

/// Failures after which a series ends: more say nothing new.
const FAILURES_MAX: usize = 20;

/// Runs all, or as many as fit into so many minutes; gives what was counted, and the seeds that failed.
pub(crate) fn run_all(seeds: Range<u64>, minutes: Option<u64>) -> (Tally, Vec<(u64, Violation)>) {
    let start = Instant::now();
    let time = minutes.map_or(Duration::MAX, |minutes| Duration::from_secs(60 * minutes));
    let next = AtomicU64::new(seeds.start);
    let results = Mutex::new((Tally::default(), Vec::new()));
    // A violation tells what a panic said.
    std::panic::set_hook(Box::new(|_| {}));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || start.elapsed() > time {
                        return;
                    }
                    let outcome = run(&Options::of(seed), false);
                    let mut results = results.lock().expect("nobody panics while counting");
                    results.0.add(&outcome.tally);
                    results.1.extend(outcome.violation.map(|violation| (seed, violation)));
                    show(&results.0, results.1.len(), start);
                    if results.1.len() >= FAILURES_MAX {
                        next.store(seeds.end, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    drop(std::panic::take_hook());
    let (tally, mut failures) = results.into_inner().expect("nobody panics while counting");
    let seconds = start.elapsed().as_secs_f64();
    let rate = tally.operations as f64 / seconds * 60.0;
    eprintln!("\r{:.1} s, {:.2} million operations a minute", seconds, rate / 1e6);
    failures.sort_by_key(|(seed, _)| *seed);
    (tally, failures)
}

fn show(tally: &Tally, failures: usize, start: Instant) {
    if tally.seeds.is_multiple_of(16) && io::stderr().is_terminal() {
        let rate = tally.operations as f64 / start.elapsed().as_secs_f64();
        let line = format!(
            "\r\x1b[K{} seeds, {failures} failed, {} operations, {rate:.0}/s",
            tally.seeds, tally.operations
        );
        drop(io::stderr().write_all(line.as_bytes()));
    }
}
