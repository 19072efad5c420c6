//! `tidegate bench`: load for any server that speaks the JSON protocol of Amazon SQS, and what came of it.
//!
//! The server is a black box here: this crate knows its wire protocol and nothing else of ours. It makes requests with
//! as little work as it can, because on a small machine it shares the processors with what it measures.
//!
//! ```text
//! options.rs      the command line
//! endpoint.rs     where the server is;  connection.rs  one connection to it, HTTP/1.1
//! operation.rs    the operations;  request.rs  their bytes;  answer.rs  what comes back;  sign.rs  signatures
//! mark.rs         what stands in a message body
//! ledger.rs       which messages were sent and received, and what is wrong with that
//! meter.rs        counts, latencies, errors
//! worker.rs       one connection at work;  slice.rs  a measurement from its first message to its last
//! run.rs          one measurement, or two endpoints in turns
//! progress.rs     the line on the terminal;  report/  the result for people and for programs
//! limit.rs        servers without a queue, which show what the machine itself allows
//! ```

mod answer;
mod connection;
mod endpoint;
mod error;
mod ledger;
mod limit;
mod mark;
mod meter;
mod operation;
mod options;
mod progress;
mod queue;
mod report;
mod request;
mod run;
mod sign;
mod slice;
mod worker;

pub use error::BenchError;
pub use options::Bench;

use std::error::Error;
use std::path::Path;
use tokio_rustls::TlsConnector;

/// Makes what encrypts connections: trusting the authorities of a file, or else those of the system.
pub type Trust = fn(Option<&Path>) -> Result<TlsConnector, Box<dyn Error + Send + Sync>>;

/// What a measurement came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All that was received is what was sent.
    Sound,
    /// The person at the terminal interrupted it.
    Interrupted,
    /// Messages were lost, changed or out of order, or nothing could be done at all.
    Faulty,
}

impl Verdict {
    /// The exit code of the command.
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Sound => 0,
            Verdict::Faulty => 1,
            Verdict::Interrupted => 130,
        }
    }
}
