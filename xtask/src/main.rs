//! Project chores: `cargo xtask ci` runs everything that continuous integration runs.
#![expect(clippy::print_stdout, reason = "a chore reports to the person who started it")]

mod bench_counts;
mod ci;
mod fuzz;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <chore>

  ci     everything: format, lints, tidiness, documentation, all tests, real clients (minutes)
  quick  format, lints, tidiness and the tests of the engine, the log, the store and the protocol (seconds)
  bench-counts [--update] [NAME]
         instructions per operation, under Valgrind, against the stored baseline (a minute); see docs/benchmarks.md
  fuzz [MINUTES]
         every fuzz target for so long, 10 minutes by default; needs cargo-fuzz, see fuzz/README.md
  tidy   the rules that no compiler checks: which crate may use which, length of files

The environment variable TIDEGATE_LONG=1 makes the randomized tests run much longer.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("ci") => ci::run(ci::ALL),
        Some("quick") => ci::run(ci::QUICK),
        Some("bench-counts") => bench_counts::run(&arguments[1..]),
        Some("fuzz") => fuzz::run(&arguments[1..]),
        Some("tidy") => tidy::run(),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository").to_owned()
}
