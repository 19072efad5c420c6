//! The whole of engine, store and log in a simulated world, driven by simulated clients, under simulated faults.
//!
//! One process, one seed: no real time, no files, no sockets, and no threads but those that recovery runs until it
//! returns. The same seed gives the same run, to the last byte of its timeline. A run ends when a promise is broken, or
//! when all faults have ceased and everything that was stored has been received and deleted.
//!
//! ```text
//!   clients ──▶ network ──▶ server: engine, store, log ──▶ disk
//!                              │ history
//!                              ▼
//!                           checkers
//! ```
//!
//! What may go wrong: [`faults`]. What must hold all the same: [`checker`].

pub mod checker;
mod clients;
pub mod content;
mod describe;
pub mod faults;
pub mod history;
mod machine;
mod options;
mod queues;
mod random;
mod shrink;
mod tally;
mod time;
mod watch;
mod world;

use checker::Violation;
pub use clients::Role;
pub use options::Options;
pub use shrink::shrink;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
pub use tally::Tally;
use world::World;

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was counted.
    pub tally: Tally,
    /// The promise that was broken, if one was.
    pub violation: Option<Violation>,
    /// Everything that happened, a line each; empty unless it was asked for.
    pub timeline: String,
}

/// Runs a world.
pub fn run(options: &Options, is_traced: bool) -> Outcome {
    let mut world = World::new(options, is_traced);
    let ran = catch_unwind(AssertUnwindSafe(|| world.run()));
    let violation = match ran {
        Ok(ran) => ran.err(),
        Err(panic) => Some(Violation { checker: "panic", what: message_of(&*panic) }),
    };
    let (mut tally, timeline) = world.into_watch().into_timeline();
    tally.seeds = 1;
    Outcome { tally, violation, timeline }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message").to_owned()
}
