//! The command line.

use clap::{Arg, ArgAction, Command, value_parser};
use std::ops::Range;
use tidegate_sim::Options;

/// What is asked for.
pub(crate) enum Arguments {
    One { options: Options, is_traced: bool },
    Series { seeds: Range<u64>, minutes: Option<u64> },
}

impl Arguments {
    pub(crate) fn take() -> Self {
        let matches = command().get_matches();
        if let Some(seeds) = matches.get_one::<Range<u64>>("seeds") {
            let minutes = matches.get_one("minutes").copied();
            return Arguments::Series { seeds: seeds.clone(), minutes };
        }
        let mut options = Options::of(matches.get_one("seed").copied().unwrap_or(0));
        options.span = matches.get_one("span").copied();
        for name in matches.get_many::<String>("without").into_iter().flatten() {
            if let Err(unknown) = options.leave_out(name) {
                command().error(clap::error::ErrorKind::InvalidValue, unknown).exit();
            }
        }
        Arguments::One { options, is_traced: matches.get_flag("trace") }
    }
}

fn command() -> Command {
    let option = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help);
    Command::new("tidegate-sim")
        .about("Runs the engine, the store and the log in simulated worlds under simulated faults")
        .arg(
            option("seed", "Run this world; its timeline is printed if it fails")
                .value_parser(value_parser!(u64)),
        )
        .arg(
            option("trace", "Print the timeline in any case")
                .action(ArgAction::SetTrue)
                .conflicts_with("seeds"),
        )
        .arg(
            option("without", "Leave out kinds of faults and clients")
                .value_delimiter(',')
                .conflicts_with("seeds"),
        )
        .arg(
            option("span", "End of faults and clients, in milliseconds")
                .value_parser(value_parser!(u64))
                .conflicts_with("seeds"),
        )
        .arg(option("seeds", "Run all these worlds: FROM..TO").value_parser(seeds).conflicts_with("seed"))
        .arg(
            option("minutes", "End a series after so many minutes")
                .value_parser(value_parser!(u64))
                .requires("seeds"),
        )
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let wanted = || "a range of seeds is written FROM..TO".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(wanted)?;
    let number = |text: &str| text.parse().map_err(|_| wanted());
    Ok(number(from)?..number(to)?)
}
