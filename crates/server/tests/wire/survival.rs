//! Goal: what was answered with 200 about messages holds after a crash.

use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::HANDLE, receive_count};
use crate::support::wait_until;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

#[test]
fn deleted_messages_stay_deleted_after_a_crash() {
    check_crash(Setup::new());
}

/// A crash of the process loses nothing in mode `os` either.
#[test]
fn deleted_messages_stay_deleted_after_a_crash_without_fsync() {
    check_crash(Setup::new().env("TIDEGATE_DURABILITY", "os"));
}

const SENT: usize = 1000;
const RECEIVED: usize = 600;
const DELETED: usize = 500;
const GIVEN_UP: usize = 50;
/// Of those in flight at the crash, half get a deadline that the test can wait for.
const DUE: Duration = Duration::from_secs(6);

fn check_crash(setup: Setup) {
    let server = setup.start();
    let client = &mut server.client();
    // Base URLs differ from run to run with the port; the bare name does not.
    client.create_with("q", json!({ "VisibilityTimeout": "60" }));
    send_all(client);
    let mut received = Vec::new();
    while received.len() < RECEIVED {
        received.extend(client.receive("q", 0));
    }
    let (deleted, rest) = received.split_at(DELETED);
    let (given_up, in_flight) = rest.split_at(GIVEN_UP);
    let (due, held) = in_flight.split_at(in_flight.len() / 2);
    settle(client, "DeleteMessageBatch", deleted, None);
    settle(client, "ChangeMessageVisibilityBatch", given_up, Some(Duration::ZERO));
    settle(client, "ChangeMessageVisibilityBatch", due, Some(DUE));
    let due_at = Instant::now() + DUE;
    server.kill();

    let server = setup.start();
    let client = &mut server.client();
    let visible = SENT - RECEIVED + GIVEN_UP;
    let counts = client.counts("q").map(|count| usize::try_from(count).unwrap());
    assert_eq!(counts.iter().sum::<usize>(), SENT - DELETED, "{counts:?}");
    if Instant::now() < due_at {
        assert_eq!(counts, [visible, RECEIVED - DELETED - GIVEN_UP, 0]);
    }
    // Handles from before the crash still delete.
    settle(client, "DeleteMessageBatch", held, None);

    let mut drained = BTreeSet::new();
    wait_until("everything that was not deleted comes back", || {
        for message in client.receive_with("q", json!({ "WaitTimeSeconds": 1, "VisibilityTimeout": 600 })) {
            assert!(drained.insert(id(&message)), "received twice: {message}");
        }
        drained.len() >= SENT - DELETED - held.len()
    });
    assert!(Instant::now() >= due_at, "those in flight kept their deadline");
    for message in deleted.iter().chain(held) {
        assert!(!drained.contains(&id(message)), "it was deleted: {message}");
    }
    let mut expected: BTreeSet<String> = given_up.iter().chain(due).map(id).collect();
    assert!(drained.is_superset(&expected));
    expected.extend(drained.iter().cloned());
    assert_eq!(expected.len(), SENT - DELETED - held.len());
    assert_eq!(client.counts("q"), [0, drained.len() as u64, 0]);
    server.stop();

    let server = setup.start();
    assert_eq!(server.client().counts("q"), [0, drained.len() as u64, 0], "a clean stop changes nothing");
}

fn id(message: &Value) -> String {
    message["MessageId"].as_str().unwrap().to_owned()
}

fn send_all(client: &mut Client) {
    for batch in 0..SENT / 10 {
        let entry = |n: usize| json!({ "Id": n.to_string(), "MessageBody": format!("{batch}-{n}") });
        let entries: Vec<_> = (0..10).map(entry).collect();
        let sent = client.call("SendMessageBatch", json!({ "QueueUrl": "q", "Entries": entries }));
        assert_eq!(sent["Successful"].as_array().unwrap().len(), 10, "{sent}");
    }
}

/// Deletes messages or changes their visibility, ten at a time, and expects all of it to succeed.
fn settle(client: &mut Client, action: &str, messages: &[Value], timeout: Option<Duration>) {
    for part in messages.chunks(10) {
        let entries: Vec<_> = (0..)
            .zip(part)
            .map(|(n, message): (usize, _)| {
                let mut entry = json!({ "Id": n.to_string(), "ReceiptHandle": message["ReceiptHandle"] });
                if let Some(timeout) = timeout {
                    entry["VisibilityTimeout"] = json!(timeout.as_secs());
                }
                entry
            })
            .collect();
        let answer = client.call(action, json!({ "QueueUrl": "q", "Entries": entries }));
        assert_eq!(answer["Successful"].as_array().unwrap().len(), part.len(), "{answer}");
        assert!(answer.get("Failed").is_none(), "{answer}");
    }
}

#[test]
fn messages_keep_their_content_order_and_count() {
    let setup = Setup::new();
    let server = setup.start();
    let client = &mut server.client();
    client.create_with("q", json!({ "VisibilityTimeout": "0" }));
    let attributes = json!({ "b": { "DataType": "Binary.x", "BinaryValue": "AP8Q" } });
    let bodies: Vec<String> = (0..10).map(|n| format!("{n} ä\r\n{}", "x".repeat(n * 1000))).collect();
    for body in &bodies {
        client.call(
            "SendMessage",
            json!({ "QueueUrl": "q", "MessageBody": body, "MessageAttributes": attributes }),
        );
    }
    let all = json!({ "MessageAttributeNames": ["All"] });
    let before = client.receive_with("q", all.clone());
    assert_eq!(before.len(), 10);
    server.kill();

    let server = setup.start();
    let client = &mut server.client();
    let after = client.receive_with("q", all);
    for (before, after) in before.iter().zip(&after) {
        for field in ["MessageId", "Body", "MD5OfBody", "MessageAttributes", "MD5OfMessageAttributes"] {
            assert_eq!(after[field], before[field]);
        }
        for name in ["SentTimestamp", "ApproximateFirstReceiveTimestamp", "SenderId"] {
            assert_eq!(after["Attributes"][name], before["Attributes"][name]);
        }
        assert_eq!((receive_count(before), receive_count(after)), (1, 2));
        assert_ne!(after["ReceiptHandle"], before["ReceiptHandle"]);
    }
    let found: BTreeSet<_> = after.iter().map(|message| message["Body"].as_str().unwrap()).collect();
    assert_eq!(found.len(), 10);
}

#[test]
fn a_handle_of_another_server_is_refused() {
    let (one, other) = (Setup::new().start(), Setup::new().start());
    let handle = [&one, &other].map(|server| {
        let client = &mut server.client();
        client.create("q");
        client.send("q", "m");
        client.receive("q", 0)[0]["ReceiptHandle"].clone()
    });
    let body = json!({ "QueueUrl": "q", "ReceiptHandle": handle[0] });
    other.client().json("DeleteMessage", &body).assert_error(HANDLE);
    assert_eq!(one.client().json("DeleteMessage", &body).status, 200);
}
