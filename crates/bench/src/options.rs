//! The command line of `tidegate bench`.

use crate::error::BenchError;
use crate::limit::Limit;
use crate::mark::{BODY_BYTES_MAX, Mark};
use crate::{Trust, Verdict, run};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;
use std::time::Duration;

const ABOUT: &str = "Measure a server: messages a second and latencies, with everything received verified";

const LONG_ABOUT: &str = "\
Measure any server that speaks the JSON protocol of Amazon SQS: this one, another one, or the service itself.

Every message that is received is compared with what was sent: content, digests, that none is lost and none comes twice, \
and in FIFO queues the order and the lock of each group. Requests are signed when AWS_ACCESS_KEY_ID and \
AWS_SECRET_ACCESS_KEY are set. The queue is created if it is missing, and then deleted at the end.

A figure says something about the machine it was measured on; a ratio says more. --compare measures two endpoints in \
turns, and the limit servers show what the machine allows a server that has no queue at all.";

const EXAMPLES: &str = "\
Examples:
  tidegate bench mixed --connections 64
  tidegate bench drain --fill 1000000 --connections 16 --json
  tidegate bench pingpong --fifo --groups 1000 --rate 5000
  tidegate bench limit-fsync --file /var/tmp/limit &
  tidegate bench send --connections 64 --compare http://127.0.0.1:9391 --no-verify";

const EXIT_CODES: &str = "\
Exit codes: 0 all that was received is what was sent; 1 messages were lost, changed or out of order (or came twice from a \
FIFO queue), or it failed, and standard error says why; 2 wrong usage; 130 interrupted, after printing the result so far.";

/// The endpoint when none is named: our own default.
const ENDPOINT_DEFAULT: &str = "http://127.0.0.1:9324";
/// Groups when their number is not given.
const GROUPS_DEFAULT: &str = "100";
/// Time that is measured when neither it nor a number of messages is given; of each turn when two endpoints are compared.
const DURATION_DEFAULT: Duration = Duration::from_secs(10);
const TURN_DEFAULT: Duration = Duration::from_secs(3);

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench(Task);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Task {
    Load(Box<Load>),
    Limit(Limit),
}

/// What is done with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Send,
    Drain,
    Mixed,
    PingPong,
}

impl Mode {
    const ALL: [Mode; 4] = [Mode::Send, Mode::Drain, Mode::Mixed, Mode::PingPong];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Send => "send",
            Mode::Drain => "drain",
            Mode::Mixed => "mixed",
            Mode::PingPong => "pingpong",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Mode::Send => "Send messages",
            Mode::Drain => "Receive and delete messages until the queue is empty",
            Mode::Mixed => "Each connection sends messages, receives as many and deletes them",
            Mode::PingPong => "Producers and long-polling consumers at once: the time from send to receive",
        }
    }
}

/// A load, and on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) mode: Mode,
    pub(crate) endpoint: String,
    /// The other endpoint, and how often each has its turn.
    pub(crate) compared: Option<(String, u32)>,
    /// `None`: a new name.
    queue: Option<String>,
    pub(crate) queue_url: Option<String>,
    /// Message groups; `None` in a standard queue.
    pub(crate) groups: Option<u32>,
    pub(crate) connections: u32,
    /// Connections that receive, in mode `pingpong`.
    pub(crate) consumers: u32,
    /// Messages of a request, 1 to 10.
    pub(crate) batch: usize,
    /// Bytes of a body.
    pub(crate) size: usize,
    /// What is measured, after the warm-up.
    pub(crate) duration: Option<Duration>,
    /// Messages after which to end.
    pub(crate) count: Option<u64>,
    /// Messages that are sent before.
    pub(crate) fill: u64,
    pub(crate) warm_up: Duration,
    pub(crate) threads: u32,
    /// How long a receive waits, in seconds.
    pub(crate) wait_s: u32,
    /// Messages a second in all, sent whether or not earlier ones were answered.
    pub(crate) rate: Option<u32>,
    region: Option<String>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) verifies: bool,
    pub(crate) keeps: bool,
    pub(crate) json: bool,
}

impl Bench {
    /// The subcommand.
    pub fn command() -> Command {
        Command::new("bench")
            .about(ABOUT)
            .long_about(LONG_ABOUT)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .subcommands(Mode::ALL.map(load_command))
            .subcommands(Limit::commands())
            .after_help(EXAMPLES)
            .after_long_help(format!("{EXIT_CODES}\n\n{EXAMPLES}"))
    }

    /// Reads what [`Bench::command`] matched.
    pub fn from_matches(matches: &ArgMatches) -> Self {
        let (name, matches) = matches.subcommand().expect("a subcommand is required");
        Bench(match Mode::ALL.into_iter().find(|mode| mode.name() == name) {
            Some(mode) => Task::Load(Box::new(Load::from_matches(mode, matches))),
            None => Task::Limit(Limit::from_matches(name, matches)),
        })
    }

    /// Does it, and prints the result.
    ///
    /// # Errors
    /// When there is no result, not even an unsound one.
    pub fn run(&self, trust: Trust) -> Result<Verdict, BenchError> {
        match &self.0 {
            Task::Load(load) => {
                load.check()?;
                runtime(load.threads)?.block_on(run::run(load, trust))
            }
            Task::Limit(limit) => runtime(limit.threads)?.block_on(limit.serve()),
        }
    }
}

/// One thread is the caller's, without the cost of handing tasks about.
fn runtime(threads: u32) -> Result<tokio::runtime::Runtime, BenchError> {
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads as usize);
    }
    builder.enable_all().build().map_err(BenchError::Runtime)
}

fn load_command(mode: Mode) -> Command {
    let switch =
        |id: &'static str, about: &'static str| Arg::new(id).long(id).action(ArgAction::SetTrue).help(about);
    let text = |id: &'static str, name: &'static str, about: &'static str| {
        Arg::new(id).long(id).value_name(name).help(about)
    };
    let number = |id: &'static str, range: std::ops::RangeInclusive<i64>, about: &'static str| {
        Arg::new(id).long(id).value_name("N").value_parser(value_parser!(u32).range(range)).help(about)
    };
    let many = |id: &'static str, about: &'static str| {
        Arg::new(id)
            .long(id)
            .value_name("N")
            .value_parser(value_parser!(u64).range(1..=1_000_000_000_000))
            .help(about)
    };
    let time = |id: &'static str, about: &'static str| {
        Arg::new(id).long(id).value_name("TIME").value_parser(parse_time).help(about)
    };
    let mut command = Command::new(mode.name())
        .about(mode.about())
        .arg(text("endpoint", "URL", "The server").default_value(ENDPOINT_DEFAULT))
        .arg(text("queue", "NAME", "The queue, created if it is missing [default: a new one]"))
        .arg(text("queue-url", "URL", "The queue, which exists").conflicts_with("queue"))
        .arg(
            number("connections", 1..=10_000, "Connections, each with one request at a time")
                .short('c')
                .default_value("16"),
        )
        .arg(
            number("batch", 1..=10, "Messages of a request, 1 to 10").default_value(if mode == Mode::Drain {
                "10"
            } else {
                "1"
            }),
        )
        .arg(time("duration", "What to measure, as 10s or 2m [default: 10s, or 3s a turn with --compare]"))
        .arg(many("count", "Stop after so many messages"))
        .arg(switch("fifo", "Use a FIFO queue"))
        .arg(number("groups", 1..=0xff_ffff, "Message groups").requires("fifo").default_value(GROUPS_DEFAULT))
        .arg(
            Arg::new("size")
                .long("size")
                .value_name("BYTES")
                .value_parser(value_parser!(u32).range(Mark::BYTES as i64..=BODY_BYTES_MAX as i64))
                .help("Bytes of a message body, at least 53")
                .default_value("300"),
        );
    if mode == Mode::PingPong {
        command = command
            .arg(number("consumers", 1..=10_000, "Connections that receive [default: as many as send]"))
            .arg(number(
                "rate",
                1..=10_000_000,
                "Send so many messages a second, however long the answers take",
            ));
    } else {
        command = command.arg(many("fill", "Send so many messages before, which is not measured"));
    }
    if mode != Mode::Drain {
        command = command.arg(time("warm-up", "Time before what is measured").default_value("1s"));
    }
    if mode != Mode::Send {
        let wait = match mode {
            Mode::PingPong => "2",
            _ => "1",
        };
        command = command
            .arg(number("wait", 0..=20, "Seconds that a receive waits for messages").default_value(wait));
    }
    command
        .arg(
            text("compare", "URL", "Measure this endpoint, too, in turns, and print the ratio")
                .conflicts_with("queue-url"),
        )
        .arg(number("rounds", 1..=1_000, "Turns of each endpoint").requires("compare").default_value("5"))
        .arg(number("threads", 1..=256, "Threads of this program").default_value("1"))
        .arg(text("region", "NAME", "Region of signatures [default: us-east-1, variable: AWS_REGION]"))
        .arg(
            text(
                "ca",
                "FILE",
                "Certificates of the authorities to trust, in PEM form, instead of the system's",
            )
            .value_parser(value_parser!(PathBuf)),
        )
        .arg(switch("no-verify", "Look at no bodies and digests, and do not receive what is left at the end"))
        .arg(switch("keep", "Keep the queue that was created"))
        .arg(switch("json", "Print the result as one JSON object"))
        .after_long_help(EXIT_CODES)
}

impl Load {
    fn from_matches(mode: Mode, matches: &ArgMatches) -> Self {
        // Not every mode has every option.
        let text = |id: &str| matches.try_get_one::<String>(id).ok().flatten().cloned();
        let number = |id: &str| matches.try_get_one::<u32>(id).ok().flatten().copied();
        let many = |id: &str| matches.try_get_one::<u64>(id).ok().flatten().copied();
        let time = |id: &str| matches.try_get_one::<Duration>(id).ok().flatten().copied();
        let (compare, count, fill) = (text("compare"), many("count"), many("fill").unwrap_or_default());
        let turn = if compare.is_some() { TURN_DEFAULT } else { DURATION_DEFAULT };
        let is_endless = count.is_none() && mode != Mode::Drain;
        let connections = number("connections").unwrap_or(1);
        Load {
            mode,
            endpoint: text("endpoint").unwrap_or_default(),
            compared: compare.map(|url| (url, number("rounds").unwrap_or(1))),
            queue: text("queue"),
            queue_url: text("queue-url"),
            groups: matches.get_flag("fifo").then(|| number("groups").unwrap_or(1)),
            connections,
            consumers: number("consumers").unwrap_or(connections),
            batch: number("batch").unwrap_or(1) as usize,
            size: number("size").unwrap_or_default() as usize,
            duration: time("duration").or(is_endless.then_some(turn)),
            count,
            fill,
            warm_up: time("warm-up").filter(|_| count.is_none()).unwrap_or_default(),
            threads: number("threads").unwrap_or(1),
            wait_s: number("wait").unwrap_or_default(),
            rate: number("rate"),
            region: text("region"),
            ca: matches.get_one("ca").cloned(),
            verifies: !matches.get_flag("no-verify"),
            keeps: matches.get_flag("keep"),
            json: matches.get_flag("json"),
        }
    }

    /// Refuses options that do not go together.
    fn check(&self) -> Result<(), BenchError> {
        let sends = self.mode != Mode::Drain || self.fill > 0;
        if self.groups.is_some_and(|groups| sends && groups < self.connections) {
            return Err(BenchError::usage(
                "one connection sends to a group at a time, so there must be as many --groups as --connections",
            ));
        }
        if !sends && self.queue.is_none() && self.queue_url.is_none() {
            return Err(BenchError::usage(
                "a new queue is empty: name one with --queue, or send messages first with --fill",
            ));
        }
        Ok(())
    }

    /// The queue's name; `run` makes a new one.
    pub(crate) fn queue_name(&self, run: u32) -> String {
        let name = self.queue.clone().unwrap_or_else(|| format!("tidegate-bench-{run:08x}"));
        let suffix = if self.groups.is_some() && !name.ends_with(".fifo") { ".fifo" } else { "" };
        name + suffix
    }

    /// Whether a missing queue is created.
    pub(crate) fn creates_queue(&self) -> bool {
        self.mode != Mode::Drain || self.fill > 0
    }

    pub(crate) fn region(&self) -> String {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let given =
            self.region.clone().or_else(|| variable("AWS_REGION")).or_else(|| variable("AWS_DEFAULT_REGION"));
        given.unwrap_or_else(|| "us-east-1".to_owned())
    }
}

/// A time as `10s`, `500ms`, `2m` or `1h`; a number alone is seconds.
fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let refused = || format!("`{text}` is no time such as 10s, 500ms or 2m");
    let number: u32 = number.parse().map_err(|_| refused())?;
    match unit {
        "ms" => Ok(Duration::from_millis(number.into())),
        "" | "s" => Ok(Duration::from_secs(number.into())),
        "m" => Ok(Duration::from_secs(u64::from(number) * 60)),
        "h" => Ok(Duration::from_secs(u64::from(number) * 3_600)),
        _ => Err(refused()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Load, String> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        let matches = Bench::command().try_get_matches_from(words).map_err(|error| error.to_string())?;
        match Bench::from_matches(&matches).0 {
            Task::Load(load) => load.check().map(|()| *load).map_err(|error| error.to_string()),
            Task::Limit(_) => Err("a limit server".into()),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Bench::command().debug_assert();
    }

    #[test]
    fn defaults_depend_on_the_mode() {
        let send = parse("send").unwrap();
        assert_eq!((send.duration, send.warm_up), (Some(DURATION_DEFAULT), Duration::from_secs(1)));
        assert_eq!((send.batch, send.size, send.connections, send.groups), (1, 300, 16, None));
        assert!(send.verifies && !send.keeps && !send.json && send.compared.is_none());
        let drain = parse("drain --fill 5").unwrap();
        assert_eq!((drain.duration, drain.warm_up, drain.batch, drain.wait_s), (None, Duration::ZERO, 10, 1));
        let counted = parse("mixed --count 7").unwrap();
        assert_eq!((counted.duration, counted.warm_up, counted.count), (None, Duration::ZERO, Some(7)));
        let compared = parse("send --compare http://h --rounds 3").unwrap();
        assert_eq!(
            (compared.duration, compared.compared),
            (Some(TURN_DEFAULT), Some(("http://h".into(), 3)))
        );
        let poll = parse("pingpong -c 8 --fifo --rate 100").unwrap();
        assert_eq!((poll.consumers, poll.groups, poll.rate, poll.wait_s), (8, Some(100), Some(100), 2));
    }

    #[test]
    fn names_of_fifo_queues_end_as_they_must() {
        let name = |line: &str| parse(line).unwrap().queue_name(0xab);
        assert_eq!(name("send"), "tidegate-bench-000000ab");
        assert_eq!(name("send --fifo"), "tidegate-bench-000000ab.fifo");
        assert_eq!(name("send --queue q --fifo"), "q.fifo");
        assert_eq!(name("send --queue q.fifo --fifo"), "q.fifo");
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (line, reason) in [
            ("drain", "a new queue is empty"),
            ("send --fifo --groups 3 -c 4", "as many --groups as --connections"),
            ("send --groups 3", "--fifo"),
            ("send --batch 11", "11"),
            ("send --batch 0", "0"),
            ("send --size 52", "52"),
            ("send --size 1048577", "1048577"),
            ("send --wait 1", "--wait"),
            ("pingpong --fill 1", "--fill"),
            ("drain --rate 1", "--rate"),
            ("drain --fill 1 --wait 21", "21"),
            ("send --duration 10x", "`10x` is no time"),
            ("send --duration -1s", "-1"),
            ("send --rounds 3", "--compare"),
            ("send --queue q --queue-url u", "--queue-url"),
            ("send --compare http://h --queue-url u", "--queue-url"),
            ("flood", "flood"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }

    #[test]
    fn times_have_units() {
        let times = ["500ms", "10", "10s", "2m", "1h"].map(|text| parse_time(text).unwrap().as_millis());
        assert_eq!(times, [500, 10_000, 10_000, 120_000, 3_600_000]);
        for wrong in ["", "s", "1d", "1.5s", "9999999999s", "1 s"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
