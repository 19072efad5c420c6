//! What end-to-end tests share: the real binary on a directory of its own, a small HTTP client that can also
//! misbehave, SQS calls in both dialects, and checksums computed apart from the server's.

#![allow(dead_code, reason = "no test binary uses all of it")]
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "all of it is test code")]

pub mod fifo;
pub mod http;
pub mod md5;
pub mod operators;
pub mod server;
pub mod sign;
pub mod sqs;
pub mod tls;

use std::time::{Duration, Instant};

/// How long a condition may take that comes true at once on an idle machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `condition` holds.
///
/// # Panics
/// When it does not within [`PATIENCE`].
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "it did not come true in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the tests run that take tens of seconds because a wait on the wire does.
pub fn is_long_run() -> bool {
    std::env::var("TIDEGATE_LONG").is_ok_and(|value| value == "1")
}
