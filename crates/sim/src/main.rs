//! `tidegate-sim`: runs simulated worlds and tells what came of them.
#![expect(clippy::print_stdout, reason = "a program that tells its results on standard output")]

mod arguments;
mod series;

use arguments::Arguments;
use std::process::ExitCode;
use tidegate_sim::{Options, run, shrink};

fn main() -> ExitCode {
    match Arguments::take() {
        Arguments::One { options, is_traced } => one(&options, is_traced),
        Arguments::Series { seeds, minutes } => series(seeds, minutes),
    }
}

fn one(options: &Options, is_traced: bool) -> ExitCode {
    let outcome = run(options, true);
    let has_failed = outcome.violation.is_some();
    if is_traced || has_failed {
        print!("{}", outcome.timeline);
    }
    print!("{}", outcome.tally);
    match outcome.violation {
        None => ExitCode::SUCCESS,
        Some(violation) => {
            println!("FAILED {violation}");
            println!("replay: tidegate-sim {options}");
            ExitCode::FAILURE
        }
    }
}

fn series(seeds: std::ops::Range<u64>, minutes: Option<u64>) -> ExitCode {
    let (tally, failures) = series::run_all(seeds, minutes);
    print!("{tally}");
    for (seed, violation) in &failures {
        println!("FAILED seed {seed}: {violation}");
    }
    // The smallest form of the first one says most.
    if let Some((seed, violation)) = failures.first() {
        let smallest = shrink(&Options::of(*seed), violation.checker);
        println!("replay: cargo run --release -p tidegate-sim -- {smallest}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
