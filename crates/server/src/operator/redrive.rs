//! `tidegate redrive`: moves chosen messages out of a queue, usually a dead-letter queue.

use super::client::{Client, Lines};
use super::error::OperatorError;
use super::text::count;
use super::{Access, EXIT_CODES, EXIT_INTERRUPTED, EXIT_PARTLY, run, tell};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::{Map, Value, json};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const ABOUT: &str = "Move messages out of a dead-letter queue: all, by a filter, or by their ids";

const LONG_ABOUT: &str = "\
Move messages out of a queue, usually a dead-letter queue: all that are visible, those that a filter matches, or those \
with given ids. Without --to each returns to the queue it came from. A moved message is a new one there: it has another \
id, no receives, and its retention period begins anew.

A filter is a filter policy as Amazon SNS has them, on message attributes or on JSON bodies. Messages that arrive \
meanwhile are left alone. Interrupted, the command stops the redrive; what was not moved is where it was.";

const EXAMPLES: &str = "\
Examples:
  tidegate redrive orders-dead --dry-run
  tidegate redrive orders-dead --filter '{\"error\": [\"timeout\"]}'
  tidegate redrive orders-dead --filter-scope body --filter '{\"total\": [{\"numeric\": [\">\", 100]}]}' --to orders-retry
  tidegate redrive orders-dead --id 3a1e8a6b-… --id 77b0c1d2-…";

/// Time between two changes of the line that says how far it is.
const STEP: Duration = Duration::from_millis(100);

/// What is to be moved, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redrive {
    access: Access,
    queue: String,
    to: Option<String>,
    filter: Option<String>,
    scope: &'static str,
    ids: Vec<String>,
    dry_run: bool,
    rate: Option<u32>,
    max: Option<u64>,
    json: bool,
}

impl Redrive {
    pub(crate) fn command() -> Command {
        let value = |id: &'static str, name: &'static str, about: &'static str| {
            Arg::new(id).long(id).value_name(name).help(about)
        };
        let switch = |id: &'static str, about: &'static str| {
            Arg::new(id).long(id).action(ArgAction::SetTrue).help(about)
        };
        Command::new("redrive")
            .about(ABOUT)
            .long_about(LONG_ABOUT)
            .arg(
                Arg::new("queue")
                    .value_name("QUEUE")
                    .required(true)
                    .help("The queue to move messages out of: its name, URL or ARN"),
            )
            .arg(value("to", "QUEUE", "Where to [default: the queue that each message came from]"))
            .arg(value(
                "filter",
                "JSON",
                "Move messages that this filter policy matches; @FILE reads it from a file",
            ))
            .arg(
                value("filter-scope", "SCOPE", "What the filter looks at")
                    .value_parser(["attributes", "body"])
                    .default_value("attributes")
                    .requires("filter"),
            )
            .arg(
                value("id", "ID", "Move the message with this id; may be repeated").action(ArgAction::Append),
            )
            .arg(
                value("max-per-second", "N", "Move at most so many messages a second, 1 to 500")
                    .value_parser(value_parser!(u32).range(1..=500)),
            )
            .arg(value("max", "N", "Stop after so many messages").value_parser(value_parser!(u64).range(1..)))
            .arg(switch("dry-run", "Count what would be moved, and move nothing"))
            .arg(switch("json", "Print what the server tells, one JSON object a line, the result last"))
            .args(Access::args())
            .after_help(EXAMPLES)
            .after_long_help(format!("{EXIT_CODES}\n\n{EXAMPLES}"))
    }

    pub(crate) fn from_matches(matches: &ArgMatches) -> Self {
        let is_body = matches.get_one::<String>("filter-scope").is_some_and(|scope| scope == "body");
        Redrive {
            access: Access::from_matches(matches),
            queue: matches.get_one::<String>("queue").cloned().unwrap_or_default(),
            to: matches.get_one("to").cloned(),
            filter: matches.get_one("filter").cloned(),
            scope: if is_body { "MessageBody" } else { "MessageAttributes" },
            ids: matches.get_many("id").into_iter().flatten().cloned().collect(),
            dry_run: matches.get_flag("dry-run"),
            rate: matches.get_one("max-per-second").copied(),
            max: matches.get_one("max").copied(),
            json: matches.get_flag("json"),
        }
    }

    pub(crate) fn run(&self) -> ExitCode {
        run(self.redrive())
    }

    async fn redrive(&self) -> Result<ExitCode, OperatorError> {
        let client = Client::new(&self.access)?;
        let mut lines = client.post(&self.queue, "redrive", &self.request()?).await?;
        let mut progress = Progress::new(!self.json);
        tokio::select! {
            ended = self.follow(&mut lines, &mut progress) => {
                progress.clear();
                let result = ended.inspect_err(|_| tell(&progress.so_far()))?;
                self.conclude(&result)
            }
            _ = tokio::signal::ctrl_c() => {
                progress.clear();
                tell(&format!("interrupted: {}", progress.so_far()));
                Ok(EXIT_INTERRUPTED.into())
            }
        }
    }

    fn request(&self) -> Result<Value, OperatorError> {
        let mut request = Map::new();
        let mut set = |name: &str, value: Value| drop(request.insert(name.to_owned(), value));
        if let Some(to) = &self.to {
            set("destination", json!(to));
        }
        if let Some(filter) = &self.filter {
            let text = match filter.strip_prefix('@') {
                None => filter.clone(),
                Some(path) => std::fs::read_to_string(path)
                    .map_err(|source| OperatorError::File { path: path.into(), source })?,
            };
            set("filter", json!(text));
            set("filter_scope", json!(self.scope));
        }
        if !self.ids.is_empty() {
            set("ids", json!(self.ids));
        }
        if let Some(rate) = self.rate {
            set("max_per_second", json!(rate));
        }
        if let Some(max) = self.max {
            set("max", json!(max));
        }
        set("dry_run", json!(self.dry_run));
        Ok(request.into())
    }

    /// Shows how far it is until the last line comes.
    async fn follow(&self, lines: &mut Lines<'_>, progress: &mut Progress) -> Result<Value, OperatorError> {
        loop {
            let line = lines.next().await?;
            if self.json {
                let mut out = io::stdout().lock();
                writeln!(out, "{line}")?;
                out.flush()?;
            }
            progress.show(&line);
            if line["done"].is_boolean() {
                return Ok(line);
            }
        }
    }

    /// Tells the result.
    fn conclude(&self, result: &Value) -> Result<ExitCode, OperatorError> {
        if !self.json {
            let mut out = io::stdout().lock();
            out.write_all(self.summary(result).as_bytes())?;
            out.flush()?;
        }
        if let Some(message) = result["error"]["message"].as_str() {
            return Err(OperatorError::Refused { message: message.to_owned(), near: Vec::new() });
        }
        let not_found = result["not_found"].as_array().is_some_and(|ids| !ids.is_empty());
        let partly = not_found || number(result, "skipped") > 0;
        Ok(if partly { EXIT_PARTLY.into() } else { ExitCode::SUCCESS })
    }

    fn summary(&self, result: &Value) -> String {
        let [examined, matched, moved, skipped] =
            ["examined", "matched", "moved", "skipped"].map(|name| number(result, name));
        let place = match &self.to {
            Some(to) => format!("to {to}"),
            None => "back to the queues they came from".to_owned(),
        };
        let mut text = if self.dry_run {
            let unreadable = number(&result["reasons"], "unreadable");
            let movable = matched - (skipped - unreadable).min(matched);
            format!("{} would move {place}; nothing was moved (dry run)\n", count(movable, "message"))
        } else {
            format!("{} moved {place}\n", count(moved, "message"))
        };
        text.push_str(&format!(
            "{} examined, {matched} matched, {skipped} skipped\n",
            count(examined, "message")
        ));
        for (reason, skipped) in result["reasons"].as_object().into_iter().flatten() {
            text.push_str(&format!("{skipped} skipped: {}\n", explanation(reason)));
        }
        let ids = |name: &str| {
            let ids = result[name].as_array().into_iter().flatten();
            ids.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        for id in ids("not_found") {
            text.push_str(&format!("not found: {id}\n"));
        }
        let first = ids("first_ids");
        if !first.is_empty() {
            text.push_str(&format!("the first of them:\n  {}\n", first.join("\n  ")));
        }
        text
    }
}

/// What a reason of the server's means, and what to do about it.
fn explanation(reason: &str) -> &str {
    match reason {
        "not_visible" => "received, deleted or still delayed when their turn came",
        "no_source" => "sent to this queue directly, so they came from no other; name one with --to",
        "source_missing" => "the queue they came from does not exist any more; name another with --to",
        "source_is_queue" => "they came from this very queue; name another with --to",
        "unreadable" => "their stored form is damaged; the server's log says more",
        other => other,
    }
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

/// The line on a terminal that says how far a redrive is.
struct Progress {
    is_shown: bool,
    shown_at: Option<Instant>,
    last: Value,
}

impl Progress {
    fn new(wanted: bool) -> Self {
        Progress { is_shown: wanted && io::stderr().is_terminal(), shown_at: None, last: Value::Null }
    }

    fn show(&mut self, line: &Value) {
        self.last = line.clone();
        if self.is_shown && self.shown_at.is_none_or(|at| at.elapsed() >= STEP) {
            self.shown_at = Some(Instant::now());
            let [examined, matched, moved] =
                ["examined", "matched", "moved"].map(|name| number(&self.last, name));
            let mut err = io::stderr();
            drop(write!(err, "\r\x1b[Kexamined {examined}, matched {matched}, moved {moved}"));
            drop(err.flush());
        }
    }

    fn clear(&self) {
        if self.shown_at.is_some() {
            drop(write!(io::stderr(), "\r\x1b[K"));
        }
    }

    /// What is known when the end is not.
    fn so_far(&self) -> String {
        let moved = count(number(&self.last, "moved"), "message");
        format!("at least {moved} moved so far; the others are where they were")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Redrive {
        let matches = Redrive::command().try_get_matches_from(line.split(' ')).unwrap();
        Redrive::from_matches(&matches)
    }

    #[test]
    fn flags_become_the_request() {
        let plain = parse("redrive q");
        assert_eq!(plain.request().unwrap(), json!({ "dry_run": false }));
        let all = parse(
            "redrive q --to r --filter {} --filter-scope body --id a --id b --dry-run --max-per-second 5 --max 7",
        );
        let expected = json!({
            "destination": "r", "filter": "{}", "filter_scope": "MessageBody", "ids": ["a", "b"], "dry_run": true,
            "max_per_second": 5, "max": 7,
        });
        assert_eq!(all.request().unwrap(), expected);
        for refused in ["redrive", "redrive q --max-per-second 501", "redrive q --filter-scope x --filter {}"]
        {
            assert!(Redrive::command().try_get_matches_from(refused.split(' ')).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_summary_says_what_was_left_and_why() {
        let result = json!({
            "done": true, "examined": 5, "matched": 4, "moved": 1, "skipped": 3, "reasons": { "no_source": 3 },
            "not_found": ["x"], "first_ids": [],
        });
        assert_eq!(
            parse("redrive q").summary(&result),
            "1 message moved back to the queues they came from\n5 messages examined, 4 matched, 3 skipped\n\
             3 skipped: sent to this queue directly, so they came from no other; name one with --to\nnot found: x\n"
        );
        assert!(
            parse("redrive q --dry-run --to r").summary(&result).starts_with("1 message would move to r;")
        );
    }
}
