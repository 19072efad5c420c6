//! Golden files: requests as bytes, the command each becomes, and the response as bytes for a named reply.
//!
//! A file in `tests/golden/` holds cases of one action. Each case is
//!
//! ```text
//! == title
//! -- request
//! POST / HTTP/1.1
//! Host: localhost:9324
//!
//! body
//! -- engine: outcome, or several joined by "then"; "policy NAME then" in front checks the request by one
//! -- command
//! what the engine was asked (written by the test)
//! -- response
//! what the client gets (written by the test)
//! ```
//!
//! The cases of `authentication.txt` meet a server with a credential, all others one without.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tidegate-protocol --test golden` rewrites command and response; read the
//! diff.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use support::outcome::outcome;
use support::{RawRequest, decode_raw, decode_signed};
use tidegate_engine::Command;
use tidegate_policy::{Context as PolicyContext, Policy};
use tidegate_protocol::{Call, Decoded, Fault, Response};

#[test]
fn requests_and_responses_are_the_recorded_ones() {
    let update = is_update();
    let mut stale = Vec::new();
    let files = golden_files();
    assert!(files.len() >= 10, "the golden files are found");
    for path in files {
        let recorded = read(&path);
        let is_signed = path.ends_with("authentication.txt") || path.ends_with("authorization.txt");
        let decode = if is_signed { decode_signed } else { decode_raw };
        let cases = format!("\n{recorded}");
        let actual: String = cases.split("\n== ").skip(1).map(|case| replay(case, decode)).collect();
        if actual == recorded {
            continue;
        }
        if update {
            write(&path, &actual);
        } else {
            stale.push(format!("{}:\n{}", path.display(), first_difference(&recorded, &actual)));
        }
    }
    assert!(stale.is_empty(), "golden files differ (UPDATE_GOLDEN=1 rewrites them):\n{}", stale.join("\n"));
}

/// Runs one case and writes it anew.
fn replay(case: &str, decode: fn(&RawRequest) -> Decoded) -> String {
    let (title, rest) = case.split_once('\n').expect("a case has a title");
    let rest = rest.strip_prefix("-- request\n").unwrap_or_else(|| panic!("no request in {title}"));
    let (request, rest) = rest.split_once("\n-- engine:").unwrap_or_else(|| panic!("no engine in {title}"));
    let engine = rest.lines().next().unwrap_or_default().trim();
    let decoded = decode(&RawRequest::parse(request));
    let (command, response) = match authorize(engine, &decoded) {
        Err(fault) => ("none".to_owned(), decoded.refuse(&fault)),
        Ok(engine) => answer(engine, decoded),
    };
    let response = show(&response);
    format!(
        "== {title}\n-- request\n{request}\n-- engine: {engine}\n-- command\n{command}\n-- response\n{response}\n\n"
    )
}

/// Checks the request by a policy, if the outcome begins with the name of one; returns the rest.
fn authorize<'a>(engine: &'a str, decoded: &Decoded) -> Result<&'a str, Fault> {
    let Some((name, rest)) = engine.strip_prefix("policy ").and_then(|text| text.split_once(" then ")) else {
        return Ok(engine);
    };
    let effect = match name {
        "none" => None,
        "allows" => Some("Allow"),
        "denies" => Some("Deny"),
        other => panic!("no policy is called {other:?}"),
    };
    let policy = effect.map(|effect| {
        let text = format!(r#"{{"Statement":{{"Effect":"{effect}","Principal":"*","Action":"*"}}}}"#);
        Policy::parse(&text).unwrap()
    });
    let context = PolicyContext::new([127, 0, 0, 1].into(), 0);
    decoded.accesses().try_for_each(|access| access.authorize(policy.as_ref(), context)).map(|()| rest)
}

/// Answers a decoded request; what was asked of the engine, and the response.
fn answer(engine: &str, decoded: Decoded) -> (String, Response) {
    match decoded {
        Decoded::Call(command, call) => converse(engine, command, call),
        Decoded::Refused(refusal) => {
            let queue = refusal.queue.as_ref().map(tidegate_engine::QueueAddress::arn);
            let text = match queue {
                Some(arn) => format!("refused, if {arn} exists"),
                None => "refused".to_owned(),
            };
            (text, refusal.encode(engine != "missing"))
        }
    }
}

/// Plays the engine, which answers each command with the next of the outcomes named; writes down the commands.
fn converse(engine: &str, mut command: Command, mut call: Call) -> (String, Response) {
    let mut text = show_command(&command);
    for name in engine.split(" then ") {
        let (outcome, messages) = outcome(name, &command);
        match call.next_command(&outcome) {
            Ok(Some(next)) => command = next,
            Ok(None) => return (text, call.encode(outcome, &messages)),
            Err(fault) => return (text, call.refuse(&fault)),
        }
        write!(text, "\n{}", show_command(&command)).unwrap();
    }
    panic!("the engine is asked once more: {command:?}");
}

/// The command; of messages for FIFO queues also the ids, which their debug form keeps to itself.
fn show_command(command: &Command) -> String {
    let mut text = format!("{command:?}");
    let Command::Send { entries, .. } = command else { return text };
    for entry in entries {
        if let Some(id) = &entry.message.deduplication_id {
            let group = entry.message.group_id.as_deref().unwrap_or_default();
            write!(text, "\n  group {group}, deduplication id {id}").unwrap();
        }
    }
    text
}

fn show(response: &Response) -> String {
    let Response { status, content_type, error_header, retry_after: _, request_id, body, code } = response;
    let request_id = std::str::from_utf8(request_id).unwrap();
    let body = std::str::from_utf8(body).expect("every response is UTF-8");
    let error = error_header.map(|header| format!("x-amzn-query-error: {header}\n")).unwrap_or_default();
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    format!("{status}{code}\nContent-Type: {content_type}\nx-amzn-RequestId: {request_id}\n{error}\n{body}")
}

fn first_difference(recorded: &str, actual: &str) -> String {
    let differing = recorded.lines().zip(actual.lines()).find(|(a, b)| a != b);
    differing.map_or("  one is longer".to_owned(), |(a, b)| format!("  - {a}\n  + {b}"))
}

#[expect(clippy::disallowed_methods, reason = "golden files are files")]
fn golden_files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[expect(clippy::disallowed_methods, reason = "golden files are files")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "golden files are files")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
fn is_update() -> bool {
    std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1")
}
