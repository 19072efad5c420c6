//! The command line.
//!
//! Flags of settings come from the table of settings, so their help says the same as the manual; their values are
//! parsed there too, together with those of the file and the environment.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::config::{self, Flag, Flags, SETTINGS};
use crate::operator::peek::Peek;
use crate::operator::redrive::Redrive;
use tidegate_bench::Bench;

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// Serve until told to stop.
    Serve(Flags),
    /// Verify a data directory.
    Check {
        /// The directory.
        dir: PathBuf,
    },
    /// Show messages of a running server.
    Peek(Peek),
    /// Move messages of a running server.
    Redrive(Redrive),
    /// Measure a server.
    Bench(Bench),
}

/// Reads the command line of this process. Ends the process itself for `--help`, `--version` and wrong usage.
pub(crate) fn parse() -> Invocation {
    parse_from(std::env::args_os()).unwrap_or_else(|error| error.exit())
}

fn parse_from(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    Ok(match matches.subcommand() {
        Some(("check", check)) => {
            Invocation::Check { dir: check.get_one::<PathBuf>("dir").cloned().unwrap_or_default() }
        }
        Some(("peek", peek)) => Invocation::Peek(Peek::from_matches(peek)),
        Some(("redrive", redrive)) => Invocation::Redrive(Redrive::from_matches(redrive)),
        Some(("bench", bench)) => Invocation::Bench(Bench::from_matches(bench)),
        Some((_, serve)) => Invocation::Serve(flags(serve)),
        None => Invocation::Serve(flags(&matches)),
    })
}

/// An error and its causes as one sentence for a person.
pub(crate) fn sentence(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

const ABOUT: &str = "A durable message service that speaks the protocol of Amazon SQS.";

const LONG_ABOUT: &str = "\
A durable message service that speaks the protocol of Amazon SQS.

Without a subcommand it serves on 127.0.0.1:9324, with its data in ./tidegate-data. Point any SQS client at it by \
changing the client's endpoint.";

const EXAMPLES: &str = "\
Example:
  tidegate
  aws --endpoint-url http://127.0.0.1:9324 sqs create-queue --queue-name orders";

const SERVE_LONG_ABOUT: &str = "\
Serve until SIGTERM or SIGINT.

Settings come from the file named by --config, then from environment variables, then from flags, each overriding the \
former. Every setting has a key in the file and a variable; those that differ between servers have a flag as well.";

const SERVE_EXAMPLES: &str = "\
Example:
  tidegate serve --data-dir /var/lib/tidegate --config /etc/tidegate.toml";

const CHECK_LONG_ABOUT: &str = "\
Verify a data directory: read all of it and compare every checksum. Nothing is changed, and no server may have the \
directory open.

The exit code is 0 when the directory is sound, 1 when it is damaged, and 2 when it cannot be checked.";

const CHECK_EXAMPLES: &str = "\
Example:
  tidegate check /var/lib/tidegate";

fn command() -> Command {
    let serve = Command::new("serve")
        .about("Serve until told to stop (also without a subcommand)")
        .long_about(SERVE_LONG_ABOUT)
        .args(serve_args())
        .after_help(SERVE_EXAMPLES)
        .after_long_help(format!(
            "Settings without a flag, by their key in the file. The variable of `account` is TIDEGATE_ACCOUNT, and so \
             on:\n\n{}\n{SERVE_EXAMPLES}",
            config::settings_help()
        ));
    let check = Command::new("check")
        .about("Verify a data directory")
        .long_about(CHECK_LONG_ABOUT)
        .arg(
            Arg::new("dir")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The data directory"),
        )
        .after_help(CHECK_EXAMPLES);
    Command::new("tidegate")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .args(serve_args())
        .args_conflicts_with_subcommands(true)
        .subcommand(serve)
        .subcommand(check)
        .subcommand(Peek::command())
        .subcommand(Redrive::command())
        .subcommand(Bench::command())
        .disable_help_subcommand(true)
        .after_help(EXAMPLES)
}

fn serve_args() -> Vec<Arg> {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Configuration file, in TOML [variable: TIDEGATE_CONFIG]");
    let settings = SETTINGS.iter().filter_map(|setting| {
        let arg = Arg::new(setting.key).long(setting.flag_name());
        let variable = setting.variable();
        let arg = match setting.flag {
            Flag::None => return None,
            Flag::Switch => arg.action(ArgAction::SetTrue),
            Flag::Value(name) => arg.value_name(name),
        };
        let default = match setting.flag {
            Flag::Value(_) => format!("default: {}, ", setting.default),
            _ => String::new(),
        };
        let short = format!("{} [{default}variable: {variable}]", setting.summary());
        let cost = if setting.cost.is_empty() { String::new() } else { format!(" {}", setting.cost) };
        let (about, allowed) = (setting.about.trim(), setting.allowed());
        let long = format!("{about}{cost}\n\nMust be {allowed}. [{default}variable: {variable}]");
        Some(arg.help(short).long_help(long))
    });
    std::iter::once(config).chain(settings).collect()
}

fn flags(matches: &ArgMatches) -> Flags {
    let value = |key, flag| match flag {
        Flag::None => None,
        Flag::Switch => matches.get_flag(key).then(|| "true".to_owned()),
        Flag::Value(_) => matches.get_one::<String>(key).cloned(),
    };
    let values = SETTINGS.iter().filter_map(|setting| Some((setting.key, value(setting.key, setting.flag)?)));
    Flags { config: matches.get_one::<PathBuf>("config").cloned(), values: values.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Invocation, clap::Error> {
        parse_from(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn serving_needs_no_subcommand() {
        assert_eq!(parse("tidegate").unwrap(), Invocation::Serve(Flags::default()));
        assert_eq!(parse("tidegate serve").unwrap(), Invocation::Serve(Flags::default()));
        let flags = Flags {
            config: Some("a.toml".into()),
            values: vec![("listen", "[::1]:1".into()), ("allow_anonymous", "true".into())],
        };
        for line in [
            "tidegate --config a.toml --listen [::1]:1 --allow-anonymous",
            "tidegate serve --allow-anonymous --config a.toml --listen [::1]:1",
        ] {
            assert_eq!(parse(line).unwrap(), Invocation::Serve(flags.clone()), "{line}");
        }
    }

    #[test]
    fn check_takes_one_directory() {
        assert_eq!(parse("tidegate check data").unwrap(), Invocation::Check { dir: "data".into() });
        assert!(parse("tidegate check").is_err());
        assert!(parse("tidegate check a b").is_err());
    }

    #[test]
    fn unknown_flags_and_subcommands_are_refused() {
        for line in
            ["tidegate serv", "tidegate --liste x", "tidegate --region eu", "tidegate --listen a check b"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
