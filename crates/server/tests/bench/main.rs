//! Goal: `tidegate bench` measures what it says, and sees every way in which a server can break its word.
//!
//! Results are looked at, times are not.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "all of it is test code")]

#[path = "../support/mod.rs"]
mod support;

mod fake;

use fake::{Fake, Fault};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use support::operators::{Said, command};
use support::server::{CERTIFICATE, Server, Setup};
use support::tls::self_signed;
use support::wait_until;

/// Without what the person who runs the tests has set.
fn bench(arguments: &[&str]) -> std::process::Command {
    let mut command = command(&[&["bench"], arguments].concat());
    for name in [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
    ] {
        command.env_remove(name);
    }
    command
}

fn said(arguments: &[&str]) -> Said {
    bench(arguments).output().unwrap().into()
}

fn url(server: &Server) -> String {
    format!("http://{}", server.endpoint)
}

/// Exit code and JSON result of a measurement of `endpoint`.
fn result(endpoint: &str, line: &str) -> (Option<i32>, Value) {
    let words: Vec<_> = line.split_whitespace().chain(["--endpoint", endpoint, "--json"]).collect();
    let said = said(&words);
    let parsed = serde_json::from_str(&said.out);
    (said.code, parsed.unwrap_or_else(|_| panic!("{line}: {said:?}")))
}

/// The result of a measurement that finds nothing wrong.
fn sound(server: &Server, line: &str) -> Value {
    let (code, result) = result(&url(server), line);
    assert_eq!((code, &result["verdict"]), (Some(0), &"sound".into()), "{line}: {result}");
    for found in ["lost", "duplicates", "wrong", "out_of_order", "overlapping", "foreign"] {
        assert_eq!(result["verified"][found], 0, "{line}: {found}: {result}");
    }
    assert_eq!(result["errors"], Value::Array(Vec::new()), "{line}");
    result
}

fn number(result: &Value, name: &str) -> u64 {
    result[name].as_u64().unwrap_or_else(|| panic!("{name}: {result}"))
}

#[test]
fn each_mode_passes_messages_and_finds_nothing_wrong() {
    let server = Setup::new().start();
    let sent = sound(&server, "send --count 500 --connections 4 --size 100");
    assert_eq!(
        (number(&sent, "messages"), number(&sent, "sent"), number(&sent, "requests")),
        (500, 500, 500)
    );
    assert_eq!(sent["latency_us"]["send"]["count"], 500);
    assert_eq!(sent["latency_us"]["receive"], Value::Null);
    let batches = sound(&server, "send --count 505 --connections 1 --batch 10");
    assert_eq!((number(&batches, "messages"), number(&batches, "requests")), (505, 51));

    let drained = sound(&server, "drain --fill 2000 --connections 8");
    assert_eq!((number(&drained, "messages"), number(&drained, "received")), (2_000, 2_000));
    for mixed in
        ["mixed --count 400 --connections 4", "mixed --count 400 --connections 4 --batch 10 --threads 2"]
    {
        let mixed = sound(&server, mixed);
        assert_eq!(number(&mixed, "sent"), 400);
        assert!(number(&mixed, "deleted") > 0 && mixed["latency_us"]["delete"]["p999"].is_u64(), "{mixed}");
    }
    let deep = sound(&server, "mixed --count 200 --fill 300 --connections 4");
    assert_eq!(number(&deep, "sent"), 200, "what was there before is not measured");
    let passed = sound(&server, "pingpong --count 300 --connections 3 --consumers 2");
    assert_eq!(number(&passed, "sent"), 300);
    assert!(passed["latency_us"]["end_to_end"]["count"].as_u64().unwrap() > 0, "{passed}");
    let paced = sound(&server, "pingpong --duration 500ms --warm-up 100ms --connections 2 --rate 100");
    assert!((10..100).contains(&number(&paced, "messages")), "50 are due: {paced}");
    let queues = server.client().call("ListQueues", serde_json::json!({}));
    assert_eq!(queues["QueueUrls"].as_array().map_or(0, Vec::len), 0, "all queues are deleted: {queues}");
}

#[test]
fn each_mode_keeps_the_order_of_message_groups() {
    let server = Setup::new().start();
    for line in [
        "send --count 300 --fifo --groups 4 --connections 4",
        "drain --fill 1000 --fifo --groups 7 --connections 4",
        "mixed --count 300 --fifo --groups 10 --connections 4",
        "mixed --count 300 --fifo --groups 10 --connections 4 --batch 10",
        "pingpong --count 300 --fifo --groups 3 --connections 3 --consumers 5",
    ] {
        let result = sound(&server, line);
        assert!(result["queue_url"].as_str().unwrap().ends_with(".fifo"), "{result}");
    }
}

#[test]
fn a_kept_queue_is_drained_by_another_run() {
    let server = Setup::new().start();
    let kept = sound(&server, "send --count 120 --connections 2 --queue kept --keep");
    let (code, drained) = result(&url(&server), "drain --queue kept");
    assert_eq!((code, number(&drained, "messages")), (Some(0), 120), "{drained}");
    assert_eq!((&drained["verified"]["foreign"], &drained["verified"]["wrong"]), (&120.into(), &0.into()));
    let by_url = kept["queue_url"].as_str().unwrap();
    let (code, again) = result(&url(&server), &format!("send --count 5 --queue-url {by_url}"));
    assert_eq!((code, number(&again, "messages")), (Some(0), 5));
    assert_eq!(server.client().counts("kept")[0], 5, "a queue that was there is not deleted");
}

#[test]
fn broken_promises_are_seen() {
    for (fault, line, found, verdict) in [
        (Fault::None, "drain --fill 100 -c 2", "lost", "sound"),
        (Fault::None, "pingpong --count 100 -c 2", "lost", "sound"),
        (Fault::Lose, "drain --fill 100 -c 2", "lost", "faulty"),
        (Fault::Lose, "pingpong --count 100 -c 2", "lost", "faulty"),
        (Fault::Lose, "mixed --count 100 -c 2", "lost", "faulty"),
        (Fault::Change, "drain --fill 100 -c 2", "wrong", "faulty"),
        (Fault::ChangeWithDigest, "drain --fill 100 -c 2", "wrong", "faulty"),
        (Fault::WrongDigest, "send --count 100 -c 2", "wrong", "faulty"),
        (Fault::Twice, "drain --fill 100 -c 2", "duplicates", "sound"),
        (Fault::Twice, "drain --fill 100 -c 2 --fifo", "duplicates", "faulty"),
        (Fault::Backwards, "drain --fill 100 -c 1 --fifo --groups 3", "out_of_order", "faulty"),
        (Fault::Unlocked, "drain --fill 400 -c 8 --batch 1 --fifo --groups 8", "overlapping", "faulty"),
    ] {
        let fake = Fake::start(fault);
        let (code, result) = result(&fake.url(), line);
        assert_eq!(result["verdict"], verdict, "{fault:?} {line}: {result}");
        assert_eq!(code, Some(i32::from(verdict == "faulty")), "{fault:?} {line}");
        let count = result["verified"][found].as_u64().unwrap();
        if matches!(fault, Fault::Unlocked) {
            assert!(count > 0, "{line}: {result}");
        } else if matches!(fault, Fault::Backwards) {
            assert_eq!(count, 97, "all but the first of each group: {result}");
        } else if !matches!(fault, Fault::None) {
            assert_eq!(count, 10, "{fault:?} {line}: every tenth: {result}");
        }
    }
}

#[test]
fn errors_are_counted_by_code_and_are_no_loss() {
    let fake = Fake::start(Fault::Refuse);
    let (code, result) = result(&fake.url(), "send --count 100 -c 2");
    assert_eq!((code, number(&result, "messages")), (Some(0), 90), "{result}");
    let error = &result["errors"][0];
    assert_eq!((&error["code"], &error["count"]), (&"ServiceUnavailable".into(), &10.into()));
    assert_eq!(error["first"], "SendMessage: Come back later.");
    let shown = said(&["send", "--count", "100", "--endpoint", &fake.url()]);
    assert!(
        shown.out.contains("10 times ServiceUnavailable, the first: SendMessage: Come back later."),
        "{shown:?}"
    );
}

#[test]
fn answers_in_chunks_and_in_pieces_are_read() {
    for fault in [Fault::Chunks, Fault::Closing] {
        let fake = Fake::start(fault);
        let (code, result) = result(&fake.url(), "drain --fill 50 -c 2");
        assert_eq!((code, number(&result, "messages")), (Some(0), 50), "{fault:?}: {result}");
        assert_eq!(result["errors"], Value::Array(Vec::new()), "{fault:?}");
    }
}

#[test]
fn two_endpoints_are_measured_in_turns() {
    let (a, b) = (Setup::new().start(), Setup::new().start());
    let line = format!("mixed --count 60 -c 2 --rounds 3 --compare {}", url(&b));
    let (code, compared) = result(&url(&a), &line);
    assert_eq!(code, Some(0), "{compared}");
    for (side, server) in [("endpoint", &a), ("compare", &b)] {
        let side = &compared[side];
        assert_eq!((&side["endpoint"], &side["verdict"]), (&url(server).into(), &"sound".into()));
        assert_eq!(
            (side["messages_per_s_by_round"].as_array().unwrap().len(), number(side, "sent")),
            (3, 180)
        );
    }
    let ratio = &compared["ratio"]["messages_per_s"];
    let [median, min, max] = ["median", "min", "max"].map(|name| ratio[name].as_f64().unwrap());
    assert!(0.0 < min && min <= median && median <= max, "{ratio}");
    assert!(compared["ratio"]["latency_us"]["delete"]["p99"]["median"].is_f64(), "{compared}");
    let words: Vec<_> = line.split_whitespace().collect();
    let shown = bench(&words).args(["--endpoint", &url(&a)]).output().map(Said::from).unwrap();
    assert!(shown.code == Some(0) && shown.out.contains("A / B") && shown.err.is_empty(), "{shown:?}");
}

/// A limit server, and its address.
struct LimitServer(Child, String);

impl LimitServer {
    fn start(arguments: &[&str]) -> Self {
        let mut child =
            bench(arguments).args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().last().unwrap_or_default().to_owned();
        LimitServer(child, url)
    }
}

impl Drop for LimitServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn limit_servers_answer_every_mode_and_keep_nothing() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("limit");
    let limits = [
        LimitServer::start(&["limit-http"]),
        LimitServer::start(&["limit-fsync", "--file", file.to_str().unwrap()]),
    ];
    for LimitServer(_, url) in &limits {
        for line in ["send --count 40 -c 2", "mixed --count 40 --batch 10 -c 2", "drain --fill 40 -c 2"] {
            let (code, result) = result(url, &format!("{line} --no-verify"));
            assert_eq!((code, &result["errors"]), (Some(0), &Value::Array(Vec::new())), "{line}: {result}");
            assert!(number(&result, "messages") >= 40 && result["verified"].is_null(), "{line}: {result}");
        }
        let (code, unsound) = result(url, "drain --fill 40 -c 1 --count 40");
        assert_eq!(
            (code, &unsound["verdict"]),
            (Some(1), &"faulty".into()),
            "what they answer was never sent"
        );
    }
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.len() == 512 << 20 && bytes.starts_with(b"{\"QueueUrl\""), "bodies are in the file");
}

#[test]
fn an_interrupt_prints_the_result_so_far() {
    let server = Setup::new().start();
    let running = bench(&["mixed", "-c", "2", "--duration", "1h", "--endpoint", &url(&server), "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("messages pass", || server.page("/metrics").text().contains("DeleteMessage"));
    let killed =
        std::process::Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let said = Said::from(running.wait_with_output().unwrap());
    let result: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!((said.code, &result["verdict"]), (Some(130), &"interrupted".into()), "{result}");
    assert_eq!(result["verified"]["lost"], Value::Null, "what was on its way is not known: {result}");
    let queues = server.client().call("ListQueues", serde_json::json!({}));
    assert_eq!(queues["QueueUrls"].as_array().map_or(0, Vec::len), 0, "{queues}");
}

const CREDENTIALS: &str = "[[credentials]]\naccess_key = \"AKIDBENCH\"\nsecret_key = \"a+secret/of=bench\"\n";

#[test]
fn requests_are_signed_with_the_credential_of_the_environment() {
    let server = Setup::new().config(CREDENTIALS).start();
    let arguments =
        ["drain", "--fill", "50", "-c", "2", "--region", "eu-west-1", "--json", "--endpoint", &url(&server)];
    let with = |key: &str, secret: &str| {
        let mut command = bench(&arguments);
        Said::from(
            command.env("AWS_ACCESS_KEY_ID", key).env("AWS_SECRET_ACCESS_KEY", secret).output().unwrap(),
        )
    };
    let signed = with("AKIDBENCH", "a+secret/of=bench");
    assert_eq!((signed.code, signed.err.as_str()), (Some(0), ""));
    assert!(signed.out.contains("eu-west-1"), "the region is that of the queue: {}", signed.out);
    let wrong = with("AKIDBENCH", "another");
    assert!(wrong.code == Some(1) && wrong.err.contains("InvalidSignatureException"), "{wrong:?}");
    let unsigned = said(&arguments);
    assert_eq!((unsigned.code, unsigned.out.as_str()), (Some(1), ""));
    assert!(
        unsigned.err.contains("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY sign the requests"),
        "{unsigned:?}"
    );
}

#[test]
fn encrypted_endpoints_are_measured_with_their_authority() {
    let setup = Setup::new().tls(&self_signed());
    let server = setup.start();
    let endpoint = format!("https://{}", server.endpoint);
    let ca = setup.file(CERTIFICATE);
    let (code, _) = result(&endpoint, &format!("drain --fill 50 -c 2 --ca {}", ca.to_str().unwrap()));
    assert_eq!(code, Some(0));
    let unknown = said(&["send", "--count", "1", "--endpoint", &endpoint]);
    assert!(unknown.code == Some(1) && unknown.err.contains("--ca names the file"), "{unknown:?}");
}

#[test]
fn errors_say_what_to_do() {
    let server = Setup::new().start();
    let gone =
        format!("http://{}", std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let console = format!("http://{}", server.console);
    for (line, endpoint, code, expected) in [
        ("send", &*gone, 1, "is the server running? `tidegate` starts one"),
        ("send", "http://no-such-host.invalid", 1, "the host of http://no-such-host.invalid is not known"),
        ("send", "localhost:9324", 1, "`localhost:9324` is no URL of a server"),
        ("send", &console, 1, "does not speak the JSON protocol of SQS"),
        ("drain --queue missing", &url(&server), 1, "QueueDoesNotExist: The specified queue does not exist."),
        ("send --queue a*b", &url(&server), 1, "CreateQueue was refused"),
        ("drain", &url(&server), 2, "a new queue is empty"),
        (
            "send --count 1 --compare http://127.0.0.1:1",
            &url(&server),
            1,
            "nothing answers at http://127.0.0.1:1",
        ),
        ("send --ca /no/such/file", "https://127.0.0.1:1", 1, "the file /no/such/file cannot be read"),
        ("limit-fsync --file /no/such/file", "", 1, "the file /no/such/file cannot be used"),
        ("limit-http --listen 127.0.0.1:99999", "", 1, "cannot listen on 127.0.0.1:99999"),
    ] {
        let mut words: Vec<_> = line.split_whitespace().collect();
        if !endpoint.is_empty() {
            words.extend(["--endpoint", endpoint]);
        }
        let said = said(&words);
        assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{line}: {said:?}");
        assert!(said.err.starts_with("tidegate: ") && said.err.contains(expected), "{line}: {}", said.err);
    }
    let queues = server.client().call("ListQueues", serde_json::json!({}));
    assert_eq!(queues["QueueUrls"].as_array().map_or(0, Vec::len), 0, "nothing is left behind: {queues}");
}

#[test]
fn help_tells_modes_exit_codes_and_examples() {
    let help = said(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    for part in ["pingpong", "limit-fsync", "Exit codes: 0", "tidegate bench mixed", "AWS_ACCESS_KEY_ID"] {
        assert!(help.out.contains(part), "{part}: {}", help.out);
    }
    let mode = said(&["mixed", "--help"]);
    assert!(
        mode.code == Some(0) && mode.out.contains("--fill") && mode.out.contains("Exit codes: 0"),
        "{mode:?}"
    );
    assert_eq!(said(&[]).code, Some(2));
}
