//! The commands that ask a running server: `tidegate peek` and `tidegate redrive`.
//!
//! They speak the operators' API (`admin/api`) and know nothing else of the server, so they work on any machine that
//! reaches the operators' listener.

mod client;
mod error;
pub(crate) mod peek;
pub(crate) mod redrive;
mod text;

use crate::cli::sentence;
use clap::{Arg, ArgMatches, value_parser};
use error::OperatorError;
use std::future::Future;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Names the operators' listener when `--admin` does not.
pub(crate) const URL_VARIABLE: &str = "TIDEGATE_ADMIN_URL";
/// Hold the operators' token, or name its file. The server reads it from the same ones.
const TOKEN_VARIABLE: &str = "TIDEGATE_ADMIN_TOKEN";
const TOKEN_FILE_VARIABLE: &str = "TIDEGATE_ADMIN_TOKEN_FILE";

const URL_DEFAULT: &str = "http://127.0.0.1:9325";

/// Exit code when a part of what was asked for was not done.
const EXIT_PARTLY: u8 = 3;
/// Exit code when the person at the terminal interrupted it, as shells have it.
const EXIT_INTERRUPTED: u8 = 130;

/// What the help of each command says of exit codes.
const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 it failed, and standard error says why; 2 wrong usage; 3 some messages were skipped or not found \
(redrive); 130 interrupted.";

/// Where the server is, and how to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// URL of the operators' listener; `None` takes the variable's or the default.
    url: Option<String>,
    /// File with the authorities to trust instead of the system's.
    ca: Option<PathBuf>,
    /// File with the operators' token.
    token_file: Option<PathBuf>,
}

impl Access {
    fn args() -> [Arg; 3] {
        let path = |id: &'static str, about: &'static str| {
            Arg::new(id).long(id).value_name("FILE").value_parser(value_parser!(PathBuf)).help(about)
        };
        [
            Arg::new("admin").long("admin").value_name("URL").help(
                "The server's operators' listener [default: http://127.0.0.1:9325, variable: TIDEGATE_ADMIN_URL]",
            ),
            path("ca", "Certificates of the authorities to trust, in PEM form, instead of the system's"),
            path(
                "token-file",
                "File with the operators' token [variables: TIDEGATE_ADMIN_TOKEN_FILE, or TIDEGATE_ADMIN_TOKEN for \
                 the token itself]",
            ),
        ]
    }

    fn from_matches(matches: &ArgMatches) -> Self {
        Access {
            url: matches.get_one("admin").cloned(),
            ca: matches.get_one("ca").cloned(),
            token_file: matches.get_one("token-file").cloned(),
        }
    }
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Runs a command to its end, and tells on standard error why it failed.
fn run(command: impl Future<Output = Result<ExitCode, OperatorError>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = runtime.map_err(OperatorError::Runtime).and_then(|runtime| runtime.block_on(command));
    match ended {
        Ok(code) => code,
        // Whoever read this has seen enough.
        Err(OperatorError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("tidegate: {}", sentence(&error)));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line to standard error, which may be closed.
fn tell(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}
