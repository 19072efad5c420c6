//! The log.
//!
//! Lines go to standard error; standard output carries nothing but the banner, so that a program can read it. A message
//! is a fixed phrase and its values are fields. The levels: `error`, an operator must act; `warn`, degraded but handled;
//! `info`, the life of the server; `debug`, each request; `trace`, each message. Bodies, receipt handles and credentials
//! are never logged, at no level: there is no filter for them here, so whoever emits an event leaves them out.

use std::io::{self, IsTerminal};

use tracing::Level;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;

/// Starts the log, once for the process. Events before this call are lost; a second call changes nothing.
pub(crate) fn start(format: LogFormat, level: Level) {
    let terminal = io::stderr().is_terminal();
    let lines =
        tracing_subscriber::fmt().with_max_level(LevelFilter::from_level(level)).with_writer(io::stderr);
    let started = match resolve(format, terminal) {
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).finish().try_init(),
        _ => lines.with_ansi(terminal && std::env::var_os("NO_COLOR").is_none()).finish().try_init(),
    };
    // It fails only when a log runs already, as in tests; that one goes on.
    drop(started);
}

/// What `auto` means: text where a person reads, JSON where a program does.
fn resolve(format: LogFormat, terminal: bool) -> LogFormat {
    match format {
        LogFormat::Auto if terminal => LogFormat::Human,
        LogFormat::Auto => LogFormat::Json,
        given => given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_text_on_a_terminal_only() {
        assert_eq!(resolve(LogFormat::Auto, true), LogFormat::Human);
        assert_eq!(resolve(LogFormat::Auto, false), LogFormat::Json);
        assert_eq!(resolve(LogFormat::Human, false), LogFormat::Human);
        assert_eq!(resolve(LogFormat::Json, true), LogFormat::Json);
    }
}
