//! Goal: operators see every message of a queue as it is, and looking changes nothing, whatever happens meanwhile.

use crate::support::http::{Connection, request};
use crate::support::operators::{peek, peek_texts};
use crate::support::server::Setup;
use crate::support::sqs::{messages, receive_count};
use crate::support::wait_until;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::thread;

const HTML: &str = "<script>alert(1)</script>&amp;\"'\n\t€";

fn policy(dead_letter_queue: &str, count: u32) -> Value {
    let arn = format!("arn:aws:sqs:us-east-1:000000000000:{dead_letter_queue}");
    let policy = json!({ "deadLetterTargetArn": arn, "maxReceiveCount": count }).to_string();
    json!({ "RedrivePolicy": policy })
}

#[test]
fn looking_five_times_changes_nothing() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("dead");
    client.create_with("q", policy("dead", 2));
    let large = "ü".repeat(512 << 10);
    let dead = client.send("q", "dead");
    for _ in 0..3 {
        client.receive_with("q", json!({ "VisibilityTimeout": 0 }));
    }
    let in_flight = client.send("q", "in flight");
    client.receive_with("q", json!({ "VisibilityTimeout": 3_600 }));
    let html = client.call(
        "SendMessage",
        json!({
            "QueueUrl": "q", "MessageBody": HTML,
            "MessageAttributes": {
                "kind": { "DataType": "String", "StringValue": "<b>" },
                "raw": { "DataType": "Binary.png", "BinaryValue": "AP8Q" },
            },
            "MessageSystemAttributes": { "AWSTraceHeader": { "DataType": "String", "StringValue": "Root=1" } },
        }),
    );
    client.send("q", &large);
    client.call("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "later", "DelaySeconds": 900 }));

    let counts = |client: &mut crate::support::sqs::Client| (client.counts("q"), client.counts("dead"));
    assert_eq!(counts(client), ([2, 1, 1], [1, 0, 0]));
    let seen = (peek(&server, "q"), peek(&server, "dead"));
    for _ in 0..4 {
        assert_eq!((peek(&server, "q"), peek(&server, "dead")), seen);
    }
    assert_eq!(counts(client), ([2, 1, 1], [1, 0, 0]));

    let [hidden, page, long, delayed] = &seen.0[..] else { panic!("{:?}", seen.0) };
    assert_eq!(
        (&hidden["id"], &hidden["state"], &hidden["receive_count"]),
        (&json!(in_flight), &json!("in_flight"), &json!(1))
    );
    assert!(hidden["visible_at"].as_u64() > hidden["first_received_at"].as_u64());
    assert_eq!(
        (&page["id"], &page["body"], &page["state"]),
        (&html["MessageId"], &json!(HTML), &json!("visible"))
    );
    assert_eq!(
        (&page["receive_count"], &page["visible_at"], &page["first_received_at"]),
        (&json!(0), &Value::Null, &Value::Null)
    );
    let attributes = json!({ "kind": { "type": "String", "text": "<b>" }, "raw": { "type": "Binary.png", "base64": "AP8Q" } });
    assert_eq!((&page["attributes"], &page["trace_header"]), (&attributes, &json!("Root=1")));
    assert_eq!((&long["body"], &long["body_bytes"]), (&json!(large), &json!(1 << 20)));
    assert_eq!((&delayed["body"], &delayed["state"]), (&json!("later"), &json!("delayed")));
    assert_eq!(delayed["visible_at"].as_u64().unwrap() - delayed["sent_at"].as_u64().unwrap(), 900_000);
    let [letter] = &seen.1[..] else { panic!("{:?}", seen.1) };
    assert_eq!((&letter["id"], &letter["receive_count"]), (&json!(dead), &json!(2)));
    assert_eq!(letter["dead_letter_source"], "arn:aws:sqs:us-east-1:000000000000:q");

    let mut received = client.receive("q", 0);
    received.extend(client.receive("q", 0));
    assert_eq!(received.iter().map(receive_count).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(receive_count(&client.receive("dead", 0)[0]), 3);
}

#[test]
fn pages_are_bounded_in_messages_and_in_bytes() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("many");
    let sent: Vec<_> = (0..25).map(|n| client.send("many", &n.to_string())).collect();
    let (mut ids, mut lengths, mut after) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = server.page(&format!("/api/queues/many/messages?max=10{after}")).json();
        let messages = page["messages"].as_array().unwrap();
        lengths.push(messages.len());
        ids.extend(messages.iter().map(|message| message["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!((ids, lengths), (sent, vec![10, 10, 5]));

    client.create("large");
    (0..4).for_each(|_| drop(client.send("large", &"x".repeat(600 << 10))));
    let page = server.page("/api/queues/large/messages").json();
    assert_eq!(page["messages"].as_array().unwrap().len(), 2, "more than 1 MiB ends a page");
    assert!(page["next"].is_string());
    assert_eq!(peek(&server, "large").len(), 4);
    let page = server.page("/api/queues/large/messages?body_bytes=3").json();
    let bodies: Vec<_> =
        page["messages"].as_array().unwrap().iter().map(|message| &message["body"]).collect();
    assert_eq!(bodies, ["xxx"; 4]);
    assert_eq!(page["messages"][0]["body_bytes"], 600 << 10);
    // 25 of them are more than what is read for one page.
    (0..25).for_each(|_| drop(client.send("large", &"y".repeat(1_000 << 10))));
    let page = server.page("/api/queues/large/messages?body_bytes=0").json();
    assert!((10..25).contains(&page["messages"].as_array().unwrap().len()) && page["next"].is_string());
}

#[test]
fn fifo_messages_show_group_deduplication_id_and_number() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create_with("q.fifo", json!({ "FifoQueue": "true" }));
    let mut sent = Vec::new();
    for (group, body) in [("a", "1"), ("a", "2"), ("b", "3")] {
        let message = json!({
            "QueueUrl": "q.fifo", "MessageBody": body, "MessageGroupId": group, "MessageDeduplicationId": body,
        });
        sent.push(client.call("SendMessage", message)["SequenceNumber"].clone());
    }
    let seen = peek(&server, "q.fifo");
    let of = |name: &str| seen.iter().map(|message| message[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("group_id"), ["a", "a", "b"]);
    assert_eq!(of("deduplication_id"), ["1", "2", "3"]);
    assert_eq!(of("sequence_number"), sent);
    assert_eq!(of("state"), ["visible"; 3]);
}

/// On a small disk segments are emptied and reused again and again under the eyes of those who look; each body names its
/// message.
#[test]
fn what_is_seen_is_right_while_messages_come_and_go() {
    let server = Setup::new().env("TIDEGATE_SEGMENT_BYTES", "64KiB").env("TIDEGATE_DISK_MAX", "1MiB").start();
    let client = &mut server.client();
    client.create("q");
    let body = |n: u32| format!("{n}:{}", "z".repeat(8 << 10));
    // Some stay, so that their records are moved out of segments that are emptied.
    let kept: BTreeSet<_> = (0..5).map(|n| client.send("q", &body(n))).collect();
    for _ in 0..5 {
        client.receive_with("q", json!({ "MaxNumberOfMessages": 1, "VisibilityTimeout": 43_200 }));
    }
    thread::scope(|scope| {
        let traffic = scope.spawn(|| {
            let client = &mut server.client();
            for n in 0..600 {
                let attribute = json!({ "n": { "DataType": "Number", "StringValue": n.to_string() } });
                let message =
                    json!({ "QueueUrl": "q", "MessageBody": body(n), "MessageAttributes": attribute });
                // A full disk refuses sends, and for moments receives, until a segment is free again.
                wait_until("it is accepted", || client.json("SendMessage", &message).status == 200);
                if n % 3 == 2 {
                    let some = json!({ "QueueUrl": "q", "MaxNumberOfMessages": 10 });
                    let mut received = Vec::new();
                    wait_until("messages are handed out", || {
                        let answer = client.json("ReceiveMessage", &some);
                        received = if answer.status == 200 { messages(&answer.json()) } else { Vec::new() };
                        answer.status == 200
                    });
                    for message in received {
                        let handle = &message["ReceiptHandle"];
                        client.call("DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": handle }));
                    }
                }
            }
        });
        while !traffic.is_finished() {
            let seen = peek(&server, "q");
            let ids: BTreeSet<_> =
                seen.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect();
            assert_eq!(ids.len(), seen.len(), "nobody is seen twice");
            assert!(ids.is_superset(&kept), "those that stay are seen always");
            for message in &seen {
                assert_eq!(message["unreadable"], Value::Null);
                let number = message["attributes"]["n"]["text"].as_str();
                let body = message["body"].as_str().unwrap();
                assert!(number.is_none_or(|number| body.starts_with(&format!("{number}:"))), "{number:?}");
            }
        }
        traffic.join().unwrap();
    });
}

#[test]
fn queues_are_named_in_every_form_and_wrong_requests_are_refused() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("orders");
    client.send("orders", "m");
    let url = format!("http://{}/000000000000/orders", server.endpoint);
    for name in ["orders", "arn:aws:sqs:us-east-1:000000000000:orders", "000000000000/orders", &url] {
        assert_eq!(peek_texts(&server, name, "body"), ["m"], "{name}");
    }
    let answer = server.page("/api/queues/orders/messages");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    for (target, status, code) in [
        ("/api/", 404, "PathUnknown"),
        ("/api/queues/orders", 404, "PathUnknown"),
        ("/api/queues//messages", 404, "PathUnknown"),
        ("/api/queues/orders/messages/", 404, "PathUnknown"),
        ("/api/queues/orders/redrive", 405, "MethodRefused"),
        ("/api/queues/a%20b/messages", 400, "QueueUnreadable"),
        ("/api/queues/%FF/messages", 400, "QueueUnreadable"),
        ("/api/queues/orderz/messages", 404, "QueueMissing"),
        ("/api/queues/orders/messages?max=0", 400, "ValueRefused"),
        ("/api/queues/orders/messages?max=1001", 400, "ValueRefused"),
        ("/api/queues/orders/messages?max=+1", 400, "ValueRefused"),
        ("/api/queues/orders/messages?max=99999999999999999999", 400, "ValueRefused"),
        ("/api/queues/orders/messages?after=x", 400, "ValueRefused"),
        ("/api/queues/orders/messages?after=18446744073709551616", 400, "ValueRefused"),
        ("/api/queues/orders/messages?body_bytes=-1", 400, "ValueRefused"),
        ("/api/queues/orders/messages?limit=1", 400, "ParameterUnknown"),
    ] {
        let answer = server.page(target);
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)), "{target}");
    }
    let near = server.page("/api/queues/orderz/messages").json()["error"]["near"].clone();
    assert_eq!(near, json!(["orders"]));
    let beyond = server.page(&format!("/api/queues/orders/messages?after={}", u64::MAX)).json();
    assert_eq!((&beyond["messages"], &beyond["next"]), (&json!([]), &Value::Null));
    let mut connection = Connection::open(server.console).unwrap();
    let json = [("Content-Type", "application/json")];
    connection.write(&request("POST", "/api/queues/orders/messages", &json, b"{}")).unwrap();
    let answer = connection.read().unwrap();
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET")));
}
