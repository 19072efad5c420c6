//! Goal: exactly the chosen messages move, whole and in order, and none is lost whatever ends the redrive.

use crate::support::http::{Connection, request};
use crate::support::operators::{begin_redrive, peek, peek_texts, redrive, redrive_answer};
use crate::support::server::{Server, Setup};
use crate::support::sqs::Client;
use crate::support::{PATIENCE, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A queue whose messages are dead after one receive.
fn create(client: &mut Client, queue: &str, dead: &str) {
    let fifo = if queue.ends_with(".fifo") { json!({ "FifoQueue": "true" }) } else { json!({}) };
    client.create_with(dead, fifo.clone());
    let arn = format!("arn:aws:sqs:us-east-1:000000000000:{dead}");
    let mut attributes = fifo;
    attributes["RedrivePolicy"] =
        json!({ "deadLetterTargetArn": arn, "maxReceiveCount": 1 }).to_string().into();
    client.create_with(queue, attributes);
}

/// Receives until everything visible is a dead letter.
fn let_die(client: &mut Client, queue: &str) {
    while client.counts(queue) != [0, 0, 0] {
        client.receive_with(queue, json!({ "VisibilityTimeout": 0 }));
    }
}

/// Dead letters 0, 1, 2, … with an attribute `kind` that is even or odd, and JSON bodies; their ids.
fn dead_letters(client: &mut Client, count: u32) -> Vec<String> {
    create(client, "q", "dead");
    let send = |n| {
        let kind = if n % 2 == 0 { "even" } else { "odd" };
        let message = json!({
            "QueueUrl": "q", "MessageBody": json!({ "n": n }).to_string(),
            "MessageAttributes": { "kind": { "DataType": "String", "StringValue": kind } },
        });
        client.call("SendMessage", message)["MessageId"].as_str().unwrap().to_owned()
    };
    let ids = (0..count).map(send).collect();
    let_die(client, "q");
    ids
}

fn bodies(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("{{\"n\":{n}}}")).collect()
}

fn counts_of(result: &Value) -> [u64; 4] {
    ["examined", "matched", "moved", "skipped"].map(|name| result[name].as_u64().unwrap())
}

#[test]
fn messages_are_chosen_by_attribute_body_and_id() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let ids = dead_letters(client, 250);
    client.send("dead", "no JSON");

    let even = json!({ "filter": { "kind": ["even"] }, "dry_run": true });
    let result = redrive(&server, "dead", &even);
    assert_eq!((counts_of(&result), &result["done"]), ([251, 125, 0, 0], &json!(true)));
    let first: Vec<_> = ids.iter().step_by(2).take(10).collect();
    assert_eq!(result["first_ids"], json!(first));
    assert_eq!(
        (client.counts("q"), client.counts("dead")),
        ([0, 0, 0], [251, 0, 0]),
        "a dry run moves nothing"
    );

    // The policy's text does as well as the policy.
    let result = redrive(&server, "dead", &json!({ "filter": "{\"kind\":[\"even\"]}" }));
    assert_eq!(counts_of(&result), [251, 125, 125, 0]);
    assert_eq!(peek_texts(&server, "q", "body"), bodies((0..250).step_by(2)));
    let moved = peek(&server, "q");
    assert!(
        moved.iter().all(|message| message["receive_count"] == 0 && message["dead_letter_source"].is_null())
    );
    assert_eq!(moved[0]["attributes"]["kind"]["text"], "even");
    assert_ne!(moved[0]["id"], ids[0], "a redriven message is a new one");

    client.create("elsewhere");
    let small = json!({
        "filter": { "n": [{ "numeric": ["<", 20] }] }, "filter_scope": "MessageBody", "destination": "elsewhere", "max": 4,
    });
    assert_eq!(counts_of(&redrive(&server, "dead", &small))[1..], [4, 4, 0]);
    assert_eq!(peek_texts(&server, "elsewhere", "body"), bodies([1, 3, 5, 7]));

    let unknown = "00000000-0000-4000-8000-000000000000";
    let chosen = json!({ "ids": [ids[249], ids[101].to_uppercase(), unknown] });
    let result = redrive(&server, "dead", &chosen);
    assert_eq!((&counts_of(&result)[1..], &result["not_found"]), (&[2, 2, 0][..], &json!([unknown])));
    assert_eq!(peek_texts(&server, "q", "body")[125..], bodies([101, 249]));
    assert_eq!(client.counts("dead"), [251 - 125 - 4 - 2, 0, 0]);

    // The one that was sent there directly came from nowhere.
    let result = redrive(&server, "dead", &json!({}));
    assert_eq!((counts_of(&result), &result["reasons"]), ([120, 120, 119, 1], &json!({ "no_source": 1 })));
    let result = redrive(&server, "dead", &json!({ "destination": "q" }));
    assert_eq!(counts_of(&result), [1, 1, 1, 0]);
    assert_eq!((client.counts("dead"), client.counts("q")), ([0, 0, 0], [247, 0, 0]));
}

#[test]
fn hidden_messages_stay_and_are_reported_when_asked_for() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let ids = dead_letters(client, 3);
    client.receive_with("dead", json!({ "MaxNumberOfMessages": 1, "VisibilityTimeout": 3_600 }));
    let result = redrive(&server, "dead", &json!({ "ids": [ids[0]] }));
    assert_eq!((counts_of(&result), &result["reasons"]), ([0, 1, 0, 1], &json!({ "not_visible": 1 })));
    assert_eq!(result["not_found"], json!([]));
    assert_eq!(counts_of(&redrive(&server, "dead", &json!({}))), [2, 2, 2, 0]);
    assert_eq!(client.counts("dead"), [0, 1, 0]);
}

#[test]
fn fifo_messages_keep_their_order() {
    let server = Setup::new().start();
    let client = &mut server.client();
    create(client, "q.fifo", "dead.fifo");
    for n in 0..150 {
        let message = json!({
            "QueueUrl": "q.fifo", "MessageBody": n.to_string(), "MessageGroupId": format!("g{}", n % 3),
            "MessageDeduplicationId": n.to_string(),
            "MessageAttributes": { "n": { "DataType": "Number", "StringValue": n.to_string() } },
        });
        client.call("SendMessage", message);
    }
    let_die(client, "q.fifo");
    let before = peek_texts(&server, "dead.fifo", "body");
    let result = redrive(&server, "dead.fifo", &json!({ "filter": { "n": [{ "numeric": [">=", 30] }] } }));
    assert_eq!(counts_of(&result), [150, 120, 120, 0]);
    let is_small = |body: &String| body.parse::<u32>().unwrap() < 30;
    let (stayed, went): (Vec<_>, Vec<_>) = before.into_iter().partition(is_small);
    assert_eq!(peek_texts(&server, "q.fifo", "body"), went);
    assert_eq!(peek_texts(&server, "dead.fifo", "body"), stayed);
    let group = |message: &Value| message["group_id"].as_str().unwrap().to_owned();
    for message in peek(&server, "q.fifo") {
        let n: u32 = message["body"].as_str().unwrap().parse().unwrap();
        assert_eq!(group(&message), format!("g{}", n % 3));
    }
}

#[test]
fn a_redrive_that_cannot_work_is_refused_and_moves_nothing() {
    let server = Setup::new().without_cooldowns().start();
    let client = &mut server.client();
    dead_letters(client, 2);
    client.create_with("other.fifo", json!({ "FifoQueue": "true" }));
    let ids = vec!["00000000-0000-4000-8000-000000000000"; 1_001];
    for (queue, body, status, code) in [
        ("none", json!({}), 404, "QueueMissing"),
        ("dead", json!({ "destination": "none" }), 404, "QueueMissing"),
        ("dead", json!({ "destination": "a b" }), 400, "QueueUnreadable"),
        ("dead", json!({ "destination": "dead" }), 400, "Refused"),
        ("dead", json!({ "destination": "other.fifo" }), 400, "Refused"),
        ("dead", json!({ "filter": "{" }), 400, "FilterRefused"),
        ("dead", json!({ "filter": [] }), 400, "FilterRefused"),
        ("dead", json!({ "filter": { "a": { "b": [1] } } }), 400, "FilterRefused"),
        ("dead", json!({ "filter": "x".repeat(300 << 10) }), 400, "FilterRefused"),
        ("dead", json!({ "filter": "x".repeat(800 << 10) }), 413, "BodyTooLong"),
        ("dead", json!({ "filter_scope": "body" }), 400, "BodyMalformed"),
        ("dead", json!({ "ids": [] }), 400, "ValueRefused"),
        ("dead", json!({ "ids": ["x"] }), 400, "ValueRefused"),
        ("dead", json!({ "ids": ids }), 400, "ValueRefused"),
        ("dead", json!({ "ids": "x" }), 400, "BodyMalformed"),
        ("dead", json!({ "max_per_second": 0 }), 400, "ValueRefused"),
        ("dead", json!({ "max_per_second": 501 }), 400, "ValueRefused"),
        ("dead", json!({ "max_per_second": -1 }), 400, "BodyMalformed"),
        ("dead", json!({ "max": 0 }), 400, "ValueRefused"),
        ("dead", json!({ "filters": {} }), 400, "BodyMalformed"),
        ("dead", json!([]), 400, "BodyMalformed"),
    ] {
        let answer = redrive_answer(&server, queue, &body);
        let shown: String = body.to_string().chars().take(80).collect();
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (status, &json!(code)),
            "{queue} {shown}"
        );
    }
    let text = redrive_answer(&server, "dead", &json!({ "filter": { "a": [] } })).json();
    assert_eq!(text["error"]["message"], "the filter cannot be used: Empty arrays are not allowed");
    let mut connection = Connection::open(server.console).unwrap();
    connection.write(&request("POST", "/api/queues/dead/redrive", &[], b"{}")).unwrap();
    assert_eq!(connection.read().unwrap().status, 415, "a form of another site cannot say that it is JSON");
    assert_eq!(client.counts("dead"), [2, 0, 0]);

    client.call("DeleteQueue", json!({ "QueueUrl": "q" }));
    let result = redrive(&server, "dead", &json!({}));
    assert_eq!((counts_of(&result), &result["reasons"]), ([2, 2, 0, 2], &json!({ "source_missing": 2 })));
    assert_eq!(client.counts("dead"), [2, 0, 0]);
}

/// A consumer that fails at once sends everything back while the redrive runs: it must not go round for ever.
#[test]
fn messages_that_come_back_meanwhile_are_not_moved_again() {
    let server = Setup::new().start();
    let client = &mut server.client();
    dead_letters(client, 60);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let client = &mut server.client();
            while !done.load(Ordering::Relaxed) {
                client.receive_with("q", json!({ "VisibilityTimeout": 0 }));
            }
        });
        let result = redrive(&server, "dead", &json!({ "max_per_second": 100 }));
        done.store(true, Ordering::Relaxed);
        assert_eq!(counts_of(&result), [60, 60, 60, 0]);
    });
    let_die(client, "q");
    assert_eq!(client.counts("dead"), [60, 0, 0]);
}

/// Begins a redrive of 300 messages that takes its time, and waits until some have moved.
fn begin_slowly(server: &Server) -> Connection {
    let client = &mut server.client();
    dead_letters(client, 300);
    let connection = begin_redrive(server, "dead", &json!({ "max_per_second": 20 }));
    wait_until("some have moved", || client.counts("q")[0] > 3);
    connection
}

/// Every message is in one of the two queues, once.
fn assert_complete(server: &Server) {
    let mut all = peek_texts(server, "q", "body");
    all.extend(peek_texts(server, "dead", "body"));
    assert_eq!(all.len(), 300);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), bodies(0..300).into_iter().collect());
}

#[test]
fn a_caller_that_goes_away_ends_the_redrive() {
    let server = Setup::new().start();
    drop(begin_slowly(&server));
    wait_until("it ended", || server.log().contains("redrive ended"));
    let counts = server.client().counts("dead");
    assert!(counts[0] > 0, "{counts:?}");
    assert_complete(&server);
}

#[test]
fn a_server_that_stops_says_so_and_one_that_is_killed_loses_nothing() {
    let setup = Setup::new();
    let mut server = setup.start();
    let mut connection = begin_slowly(&server);
    server.terminate();
    let answer = connection.read().unwrap().text();
    let last: Value = serde_json::from_str(answer.lines().last().unwrap()).unwrap();
    assert_eq!((&last["done"], &last["error"]["code"]), (&json!(false), &json!("Stopping")));
    assert!(server.wait(PATIENCE).success());

    let server = setup.start();
    assert_complete(&server);
    let before = server.client().counts("q")[0];
    assert_eq!(last["moved"], before);
    let _connection = begin_redrive(&server, "dead", &json!({ "max_per_second": 20 }));
    wait_until("more have moved", || server.client().counts("q")[0] > before + 3);
    server.kill();
    let server = setup.start();
    assert_complete(&server);
}
