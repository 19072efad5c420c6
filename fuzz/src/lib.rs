//! What is held against arbitrary bytes: every decoder, recovery, and the engine.
//!
//! A target is a function of bytes that panics when something does not hold. `cargo fuzz` looks for bytes that make
//! one panic; `cargo test` hands it the bytes in `corpus/`.

mod access;
mod engine;
mod request;
mod storage;

pub use access::{filters, policies};
pub use engine::{fifo_queues, standard_queues};
pub use request::{messages, receipts, references, requests, signatures};
pub use storage::{directories, frames, records};

/// A target.
pub type Target = fn(&[u8]);

/// Every target, by the name of its corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("directories", directories),
    ("fifo_queues", fifo_queues),
    ("filters", filters),
    ("frames", frames),
    ("messages", messages),
    ("policies", policies),
    ("receipts", receipts),
    ("records", records),
    ("references", references),
    ("requests", requests),
    ("signatures", signatures),
    ("standard_queues", standard_queues),
];
