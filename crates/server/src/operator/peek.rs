//! `tidegate peek`: what is in a queue, without changing anything about it.

use super::client::Client;
use super::error::OperatorError;
use super::text::{count, is_coloured, span, visible};
use super::{Access, EXIT_CODES, run, tell};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::Value;
use std::io::{self, Write};
use std::process::ExitCode;

const ABOUT: &str = "Look at the messages of a queue without changing anything about them";

const LONG_ABOUT: &str = "\
Look at the messages of a queue without changing anything about them: they stay as visible, in flight or delayed as they \
are, and no receive is counted.

A line for each message, oldest first: its state, with the time until it becomes visible if it is hidden; the time since \
it was sent; how often it was received; its id; its group; the beginning of its body, with control characters made \
visible. --json prints all there is to know of a message, one JSON object a line.";

const EXAMPLES: &str = "\
Examples:
  tidegate peek orders-dead
  tidegate peek orders-dead --all --json | jq -r .body
  tidegate peek arn:aws:sqs:eu-west-1:000000000000:orders --admin https://queues.example.com:9325";

/// Bytes of a body that a line shows unless told.
const LINE_BYTES: usize = 60;
/// Messages that are asked for at once.
const PAGE: u64 = 200;

/// What is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peek {
    access: Access,
    queue: String,
    /// `None` shows all.
    max: Option<u64>,
    after: Option<String>,
    json: bool,
    body_bytes: Option<usize>,
}

impl Peek {
    pub(crate) fn command() -> Command {
        Command::new("peek")
            .about(ABOUT)
            .long_about(LONG_ABOUT)
            .arg(Arg::new("queue").value_name("QUEUE").required(true).help("The queue: its name, URL or ARN"))
            .arg(
                Arg::new("max")
                    .long("max")
                    .value_name("N")
                    .value_parser(value_parser!(u64).range(1..))
                    .default_value("20")
                    .help("Show at most so many messages"),
            )
            .arg(
                Arg::new("all")
                    .long("all")
                    .action(ArgAction::SetTrue)
                    .conflicts_with("max")
                    .help("Show all messages"),
            )
            .arg(
                Arg::new("after")
                    .long("after")
                    .value_name("TOKEN")
                    .help("Go on after the message with this token, which the page before named"),
            )
            .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("One JSON object a line"))
            .arg(
                Arg::new("body-bytes")
                    .long("body-bytes")
                    .value_name("N")
                    .value_parser(value_parser!(usize))
                    .help("Bytes of each body to show [default: 60; all with --json]"),
            )
            .args(Access::args())
            .after_help(EXAMPLES)
            .after_long_help(format!("{EXIT_CODES}\n\n{EXAMPLES}"))
    }

    pub(crate) fn from_matches(matches: &ArgMatches) -> Self {
        Peek {
            access: Access::from_matches(matches),
            queue: matches.get_one::<String>("queue").cloned().unwrap_or_default(),
            max: matches.get_one("max").copied().filter(|_| !matches.get_flag("all")),
            after: matches.get_one("after").cloned(),
            json: matches.get_flag("json"),
            body_bytes: matches.get_one("body-bytes").copied(),
        }
    }

    pub(crate) fn run(&self) -> ExitCode {
        run(self.show())
    }

    async fn show(&self) -> Result<ExitCode, OperatorError> {
        let client = Client::new(&self.access)?;
        let body_bytes = self.body_bytes.or((!self.json).then_some(LINE_BYTES));
        let (mut shown, mut after) = (0, self.after.clone());
        let mut table = None;
        loop {
            let max = self.max.map_or(PAGE, |max| PAGE.min(max - shown));
            let mut resource = format!("messages?max={max}");
            if let Some(bytes) = body_bytes {
                resource.push_str(&format!("&body_bytes={bytes}"));
            }
            if let Some(after) = &after {
                resource.push_str(&format!("&after={}", digits(after)));
            }
            let page = client.get(&self.queue, &resource).await?;
            let messages = page["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
            self.print(&page, messages, &mut table)?;
            shown += messages.len() as u64;
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() || self.max.is_some_and(|max| shown >= max) {
                break;
            }
        }
        match (after, shown) {
            (Some(token), _) => {
                tell(&format!("{} shown; more with --after {token}, or --all", count(shown, "message")));
            }
            (None, 0) if self.after.is_some() => tell("no more messages"),
            (None, 0) => tell("the queue is empty"),
            (None, _) => tell(&format!("{} shown, no more", count(shown, "message"))),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, page: &Value, messages: &[Value], table: &mut Option<Table>) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.json {
            messages.iter().try_for_each(|message| writeln!(out, "{message}"))?;
        } else if !messages.is_empty() {
            if table.is_none() {
                let made = Table::for_messages(messages);
                writeln!(out, "{}", made.head())?;
                *table = Some(made);
            }
            let now = page["now"].as_u64().unwrap_or_default();
            let row = |message| table.as_ref().map_or_else(String::new, |table| table.row(message, now));
            messages.iter().try_for_each(|message| writeln!(out, "{}", row(message)))?;
        }
        out.flush()
    }
}

/// A token as a query carries it: what is none is refused by the server, which says so.
fn digits(token: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric();
    token.chars().map(|c| if plain(&c) { c } else { '_' }).collect()
}

/// Columns; their widths are those of the first page.
struct Table {
    /// Width of the column of groups; `None` leaves it out.
    group: Option<usize>,
    coloured: bool,
}

const GROUP_WIDTH_MAX: usize = 24;

impl Table {
    fn for_messages(messages: &[Value]) -> Self {
        let groups = messages.iter().filter_map(|message| message["group_id"].as_str());
        let width = groups.map(|group| visible(group).chars().count().clamp(5, GROUP_WIDTH_MAX)).max();
        Table { group: width, coloured: is_coloured() }
    }

    fn head(&self) -> String {
        let line = self.line("STATE", "AGE", "RECEIVES", "ID", "GROUP", "BODY");
        if self.coloured { format!("\x1b[1m{line}\x1b[0m") } else { line }
    }

    fn row(&self, message: &Value, now: u64) -> String {
        let instant = |name: &str| message[name].as_u64().unwrap_or_default();
        let hidden = span(instant("visible_at").saturating_sub(now));
        let (state, colour) = match message["state"].as_str().unwrap_or_default() {
            "in_flight" => (format!("in flight {hidden}"), 33),
            "delayed" => (format!("delayed {hidden}"), 34),
            state => (state.to_owned(), 32),
        };
        let age = span(now.saturating_sub(instant("sent_at")));
        let receives = message["receive_count"].as_u64().unwrap_or_default().to_string();
        let text = |name: &str| message[name].as_str().unwrap_or_default();
        let body = if message["unreadable"] == true {
            "(cannot be read; the server's log says why)".to_owned()
        } else {
            let cut = message["body_bytes"].as_u64().is_some_and(|bytes| bytes > text("body").len() as u64);
            format!("{}{}", visible(text("body")), if cut { "…" } else { "" })
        };
        let line = self.line(&state, &age, &receives, text("id"), &visible(text("group_id")), &body);
        if !self.coloured {
            return line;
        }
        let (state, rest) = line.split_at(state.len());
        format!("\x1b[{colour}m{state}\x1b[0m{rest}")
    }

    fn line(&self, state: &str, age: &str, receives: &str, id: &str, group: &str, body: &str) -> String {
        let group = self.group.map_or_else(String::new, |width| {
            let short: String = group.chars().take(width).collect();
            format!("{short:<width$}  ")
        });
        format!("{state:<15}  {age:>4}  {receives:>8}  {id:<36}  {group}{body}").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_says_what_state_a_message_is_in_and_acts_on_no_terminal() {
        let messages = [
            json!({ "state": "visible", "sent_at": 1_000, "receive_count": 0, "id": "i", "body": "a\u{1b}[2J", "body_bytes": 5 }),
            json!({ "state": "in_flight", "visible_at": 39_000, "sent_at": 0, "receive_count": 12, "id": "j",
                    "group_id": "g\n1", "body": "<b>", "body_bytes": 900 }),
            json!({ "state": "visible", "sent_at": 0, "receive_count": 0, "unreadable": true }),
        ];
        let table = Table { group: Some(5), coloured: false };
        let rows = messages.each_ref().map(|message| table.row(message, 9_000));
        let id = |id: &str| format!("{id:<36}");
        assert_eq!(rows[0], format!("visible            8s         0  {}         a\\u{{1b}}[2J", id("i")));
        assert_eq!(rows[1], format!("in flight 30s      9s        12  {}  g\\n1   <b>…", id("j")));
        assert!(rows[2].ends_with("(cannot be read; the server's log says why)"), "{}", rows[2]);
        let coloured = Table { group: None, coloured: true };
        assert!(coloured.row(&messages[1], 9_000).starts_with("\x1b[33min flight 30s\x1b[0m  "));
    }
}
