//! Why there is no measurement, and what to do about it.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A failure. `Display` is a sentence for the person at the terminal.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Options that do not go together.
    #[error("{reason}")]
    Usage {
        /// What does not, and what to do.
        reason: String,
    },
    /// The command's threads cannot be started.
    #[error("the command's own threads cannot be started")]
    Runtime(#[source] io::Error),
    /// The result cannot be written.
    #[error("the result cannot be written")]
    Output(#[source] io::Error),
    /// Not the address of a server.
    #[error("`{url}` is no URL of a server; one looks like http://127.0.0.1:9324")]
    Url {
        /// What was given.
        url: String,
    },
    /// The host has no address.
    #[error("the host of {url} is not known")]
    Host {
        /// The endpoint.
        url: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Nothing accepts connections.
    #[error(
        "nothing answers at {url} ({reason}); is the server running? `tidegate` starts one at http://127.0.0.1:9324"
    )]
    Unreachable {
        /// The endpoint.
        url: String,
        /// What the system says.
        reason: String,
    },
    /// No authorities to trust.
    #[error("connections cannot be encrypted")]
    Trust(#[source] Box<dyn Error + Send + Sync>),
    /// TLS did not come about.
    #[error(
        "no encrypted connection to {url} comes about ({reason}); --ca names the file of a private authority"
    )]
    Handshake {
        /// The endpoint.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The connection broke, or what came is no HTTP.
    #[error("{operation} got no answer from {url}")]
    Broken {
        /// The endpoint.
        url: String,
        /// What was asked.
        operation: &'static str,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The service says no.
    #[error("{operation} was refused by {url} with status {status}: {text}{}", hint(text))]
    Refused {
        /// The endpoint.
        url: String,
        /// What was asked.
        operation: &'static str,
        /// HTTP status.
        status: u16,
        /// The service's code and text.
        text: String,
    },
    /// Not an answer of this protocol.
    #[error(
        "what answers at {url} does not speak the JSON protocol of SQS: {operation} was answered with {text}"
    )]
    Stranger {
        /// The endpoint.
        url: String,
        /// What was asked.
        operation: &'static str,
        /// The beginning of the answer.
        text: String,
    },
    /// A limit server cannot listen.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The file of a limit server cannot be used.
    #[error("the file {} cannot be used", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

impl BenchError {
    pub(crate) fn usage(reason: impl Into<String>) -> Self {
        BenchError::Usage { reason: reason.into() }
    }

    /// The exit code of the command: 2 for wrong usage, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, BenchError::Usage { .. }) { 2 } else { 1 }
    }
}

/// What to do about refusals that have one usual cause.
fn hint(text: &str) -> &'static str {
    let of_signature = ["Signature", "InvalidClientTokenId", "AccessDenied", "MissingAuthenticationToken"];
    if of_signature.iter().any(|code| text.contains(code)) {
        "; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY sign the requests, --region names their region"
    } else {
        ""
    }
}
