//! The steps of continuous integration, each a command that can be run by hand as well.

use crate::root;
use std::process::Command;
use std::time::Instant;

/// A name and a command line; the words in front of the program set environment variables.
pub(crate) type Step = (&'static str, &'static str);

const FORMAT: Step = ("format", "cargo fmt --all --check");
const LINTS: Step = ("lints", "cargo clippy --workspace --all-targets --quiet -- -D warnings");
const TIDY: Step = ("tidy", "cargo xtask tidy");

/// What is worth running after every change.
pub(crate) const QUICK: &[Step] = &[
    FORMAT,
    LINTS,
    TIDY,
    (
        "tests",
        "cargo test -p tidegate-engine -p tidegate-log -p tidegate-store -p tidegate-protocol -p tidegate-policy",
    ),
];

/// Everything. The cheap steps come first; the runners' summaries close the output.
pub(crate) const ALL: &[Step] = &[
    FORMAT,
    LINTS,
    TIDY,
    (
        "documentation",
        "RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --document-private-items --quiet",
    ),
    ("tests", "cargo test --workspace"),
    ("fuzz corpora", "cargo test --quiet --locked --manifest-path fuzz/Cargo.toml"),
    ("instruction counts", "cargo xtask bench-counts --optional"),
    ("release build", "cargo build --release --package tidegate"),
    ("real clients", "clients/run"),
];

/// Runs steps until one fails; whether all passed.
pub(crate) fn run(steps: &[Step]) -> bool {
    let mut passed = 0;
    for (name, line) in steps {
        println!("== {name}: {line}");
        let start = Instant::now();
        let done = command(line).status().is_ok_and(|status| status.success());
        println!("== {name}: {} in {:.0?}", if done { "passed" } else { "FAILED" }, start.elapsed());
        if !done {
            println!("ci: {passed} passed, 1 failed");
            return false;
        }
        passed += 1;
    }
    println!("ci: {passed} passed, 0 failed");
    true
}

fn command(line: &str) -> Command {
    let mut words = line.split_ascii_whitespace().peekable();
    let mut variables = Vec::new();
    while let Some(variable) = words.next_if(|word| word.contains('=')) {
        variables.extend(variable.split_once('='));
    }
    let program = words.next().expect("every step has a program");
    let program = if program.contains('/') { root().join(program) } else { program.into() };
    let mut command = Command::new(program);
    command.args(words).envs(variables).current_dir(root());
    command
}
