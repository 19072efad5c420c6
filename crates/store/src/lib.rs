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
//! The crate knows no wire formats and no clock, and no threads but those that [`recover()`] runs until it returns.

mod audit;
mod checkpoint;
pub mod codec;
mod extents;
mod memory;
mod progress;
mod reclaim;
mod recover;
mod replay;
mod segments;
mod shard;
mod snapshot;

pub use audit::{AuditError, audit};
pub use checkpoint::{Checkpoint, Stored};
pub use extents::{ExtentError, read_extent};
pub use memory::MemoryBudget;
pub use progress::{Progress, Progressed};
pub use reclaim::{Candidate, offer_messages};
pub use recover::{RecoverError, Recovered, RecoveryReport, recover, recover_watched};
pub use segments::{ReclaimPlan, SegmentUse, Segments};
pub use shard::{Commit, Outcome, Shard};
