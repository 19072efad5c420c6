//! Why a command that asks a server fails, and what to do about it.

use crate::tls::TrustError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A failure. `Display` is a sentence for the person at the terminal.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(super) enum OperatorError {
    #[error("the command's own threads cannot be started")]
    Runtime(#[source] io::Error),
    #[error("the result cannot be written")]
    Output(#[from] io::Error),
    #[error("`{url}` is no URL of a server; one looks like http://127.0.0.1:9325")]
    Url { url: String },
    #[error("the file {} cannot be read", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the operators' token in {origin} has characters that no token has, or none")]
    Token { origin: String },
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(
        "nothing answers at {url} ({reason}); is the server running? `tidegate serve` starts one here, and --admin or \
         TIDEGATE_ADMIN_URL names another's operators' address"
    )]
    Unreachable { url: String, reason: String },
    #[error(
        "no encrypted connection to {url} comes about ({reason}); --ca names the file of a private authority, and a \
         server without TLS is asked with http://"
    )]
    Handshake { url: String, reason: String },
    #[error("the server at {url} does not answer in time")]
    Silent { url: String },
    #[error(
        "the connection to {url} broke before the answer; a server that speaks TLS is asked with https://"
    )]
    Broken {
        url: String,
        #[source]
        source: hyper::Error,
    },
    #[error("the server at {url} went away before it was done")]
    CutOff { url: String },
    #[error(
        "what answers at {url} is not the operators' listener of a Tidegate server (status {status}); that one is on \
         port 9325 unless the setting `admin` says otherwise"
    )]
    Stranger { url: String, status: u16 },
    #[error(
        "the server asks for the operators' token: set TIDEGATE_ADMIN_TOKEN, or name its file with --token-file"
    )]
    TokenMissing,
    #[error("the server does not accept the operators' token from {origin}")]
    TokenWrong { origin: String },
    #[error("{message}{}", suggestion(near))]
    Refused { message: String, near: Vec<String> },
}

fn suggestion(near: &[String]) -> String {
    let quoted: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn near_names_make_a_question() {
        let asked = [&[][..], &["a"], &["a", "b", "c"]]
            .map(|names| suggestion(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()));
        assert_eq!(asked, ["", "; did you mean `a`?", "; did you mean `a`, `b` or `c`?"]);
    }
}
