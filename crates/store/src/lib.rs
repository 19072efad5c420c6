//! The meeting of engine and log: events become records, records become state again after a restart.
//!
//! A [`Shard`] is one engine with one log. It handles commands and gathers their events in a frame; the caller
//! takes the frame and the replies as one [`Commit`], appends the frame, and lets the replies go once the append
//! has succeeded. That order is what makes an answer a promise:
//!
//! ```text
//!   handle ──▶ events ──▶ frame ──▶ append, fsync ──▶ replies leave
//! ```
//!
//! The crate knows no wire formats, no threads and no clock.

pub mod codec;
mod reclaim;
mod recover;
mod segments;
mod shard;
mod snapshot;

pub use reclaim::{Candidate, offer_messages};
pub use recover::{RecoverError, Recovered, RecoveryReport, recover};
pub use segments::{ReclaimPlan, SegmentUse, Segments};
pub use shard::{Checkpoint, Commit, Outcome, Shard};
