//! Goal: a long poll answers when there is a message, when its wait ends, or when its queue does; not earlier and
//! not later.
//!
//! Method: bounds are wide. "At once" is told from "at the end of the wait" by a wait that is much longer.

use crate::support::http::{Connection, request};
use crate::support::is_long_run;
use crate::support::server::{Server, Setup};
use crate::support::sqs::{JSON, errors::*, messages, receive_count};
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// A receive on a connection of its own: the messages, and how long it took.
fn poll(server: &Server, url: &str, wait: Option<u32>) -> (Vec<Value>, Duration) {
    let mut body =
        json!({ "QueueUrl": url, "MaxNumberOfMessages": 10, "MessageSystemAttributeNames": ["All"] });
    if let Some(wait) = wait {
        body["WaitTimeSeconds"] = json!(wait);
    }
    let client = &mut server.client();
    let start = Instant::now();
    let received = messages(&client.call("ReceiveMessage", body));
    (received, start.elapsed())
}

#[track_caller]
fn assert_between(elapsed: Duration, least: Duration, most: Duration) {
    // The server counts in whole milliseconds.
    assert!(elapsed + Duration::from_millis(2) >= least, "{elapsed:?} is under {least:?}");
    assert!(elapsed < most, "{elapsed:?} is over {most:?}");
}

#[test]
fn a_poll_wakes_when_a_delay_ends() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| poll(&server, &url, Some(15)));
        server.wait_for_polls(1);
        let sent = Instant::now();
        client.call("SendMessage", json!({ "QueueUrl": url, "MessageBody": "m", "DelaySeconds": 2 }));
        let (received, _) = waiting.join().unwrap();
        assert_eq!(received[0]["Body"], "m");
        assert_eq!(receive_count(&received[0]), 1);
        assert_between(sent.elapsed(), 2 * SECOND, 10 * SECOND);
    });
}

#[test]
fn a_poll_wakes_when_an_owner_gives_a_message_up() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    client.send(&url, "m");
    let handle = client.receive(&url, 0)[0]["ReceiptHandle"].clone();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| poll(&server, &url, Some(15)));
        server.wait_for_polls(1);
        let given_up = Instant::now();
        let change = json!({ "QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 0 });
        client.call("ChangeMessageVisibility", change);
        let (received, _) = waiting.join().unwrap();
        assert_eq!(receive_count(&received[0]), 2);
        assert_between(given_up.elapsed(), Duration::ZERO, 8 * SECOND);
    });
}

#[test]
fn a_poll_wakes_when_a_visibility_timeout_ends() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    client.send(&url, "m");
    let received = Instant::now();
    assert_eq!(client.receive_with(&url, json!({ "VisibilityTimeout": 2 })).len(), 1);
    let (again, _) = poll(&server, &url, Some(15));
    assert_eq!(receive_count(&again[0]), 2);
    assert_between(received.elapsed(), 2 * SECOND, 10 * SECOND);
}

#[test]
fn a_poll_does_not_overstay_its_wait_for_a_message_in_flight() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    client.send(&url, "m");
    assert_eq!(client.receive_with(&url, json!({ "VisibilityTimeout": 30 })).len(), 1);
    let (received, elapsed) = poll(&server, &url, Some(1));
    assert_eq!(received, Vec::<Value>::new());
    assert_between(elapsed, SECOND, 8 * SECOND);
}

#[test]
fn of_several_polls_one_gets_the_message_and_the_first_goes_first() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    thread::scope(|scope| {
        let first = scope.spawn(|| poll(&server, &url, Some(15)));
        server.wait_for_polls(1);
        let others = [(); 2].map(|()| scope.spawn(|| poll(&server, &url, Some(5))));
        server.wait_for_polls(3);
        client.send(&url, "m");
        assert_eq!(first.join().unwrap().0.len(), 1);
        for other in others {
            assert_eq!(other.join().unwrap().0.len(), 0);
        }
    });
    assert_eq!(client.counts(&url), [0, 1, 0]);
}

#[test]
fn a_poll_ends_with_its_queue_and_gets_nothing_of_the_next_one() {
    let server = Setup::new().without_cooldowns().start();
    let client = &mut server.client();
    let url = client.create("q");
    let body = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 });
    let form = [("QueueUrl", url.as_str()), ("WaitTimeSeconds", "20")];
    thread::scope(|scope| {
        let json = scope.spawn(|| server.client().json("ReceiveMessage", &body));
        let query = scope.spawn(|| server.client().query("ReceiveMessage", &form));
        server.wait_for_polls(2);
        let deleted = Instant::now();
        client.call("DeleteQueue", json!({ "QueueUrl": url }));
        assert_eq!(client.create("q"), url);
        client.send(&url, "fresh");
        json.join().unwrap().assert_error(QUEUE_MISSING);
        query.join().unwrap().assert_error(QUEUE_MISSING);
        assert_between(deleted.elapsed(), Duration::ZERO, 10 * SECOND);
    });
    let (received, _) = poll(&server, &url, Some(2));
    assert_eq!(received[0]["Body"], "fresh");
    assert_eq!(receive_count(&received[0]), 1);
}

#[test]
fn a_purge_leaves_polls_alive() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| poll(&server, &url, Some(20)));
        server.wait_for_polls(1);
        client.call("PurgeQueue", json!({ "QueueUrl": url }));
        assert_eq!(server.metric("tidegate_waiting_receives"), Some(1.0));
        client.send(&url, "fresh");
        let (received, elapsed) = waiting.join().unwrap();
        assert_eq!(received[0]["Body"], "fresh");
        assert_eq!(receive_count(&received[0]), 1);
        assert_between(elapsed, Duration::ZERO, 15 * SECOND);
    });
}

#[test]
fn the_wait_of_the_request_wins_over_that_of_the_queue() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create_with("q", json!({ "ReceiveMessageWaitTimeSeconds": "2" }));
    let (received, elapsed) = poll(&server, &url, None);
    assert_eq!(received.len(), 0);
    assert_between(elapsed, 2 * SECOND, 10 * SECOND);

    let patient = client.create_with("patient", json!({ "ReceiveMessageWaitTimeSeconds": "20" }));
    let (received, elapsed) = poll(&server, &patient, Some(0));
    assert_eq!(received.len(), 0);
    assert_between(elapsed, Duration::ZERO, 10 * SECOND);
    let (_, elapsed) = poll(&server, &patient, Some(1));
    assert_between(elapsed, SECOND, 10 * SECOND);
}

#[test]
fn a_wait_out_of_range_is_refused_in_both_dialects() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    for wait in ["21", "-1", "2147483648", "99999999999999999999"] {
        let body = format!(r#"{{"QueueUrl":"{url}","WaitTimeSeconds":{wait}}}"#);
        let text = client.json_text("ReceiveMessage", body.as_bytes()).assert_error(INVALID_VALUE);
        assert!(text.contains("WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20"), "{text}");
    }
    for wait in ["21", "-1"] {
        let form = [("QueueUrl", url.as_str()), ("WaitTimeSeconds", wait)];
        let text = client.query("ReceiveMessage", &form).assert_error(INVALID_VALUE);
        let expected = format!(
            "Value {wait} for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."
        );
        assert_eq!(text, expected);
    }
}

#[test]
fn a_poll_never_waits_to_fill_its_batch() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    client.send(&url, "a");
    client.send(&url, "b");
    let (received, elapsed) = poll(&server, &url, Some(20));
    assert_eq!(received.len(), 2);
    assert_between(elapsed, Duration::ZERO, 10 * SECOND);
}

#[test]
fn a_hundred_polls_end_cleanly_and_their_connections_go_on() {
    a_hundred_polls(2);
}

#[test]
fn a_hundred_polls_of_the_longest_wait_end_cleanly_and_their_connections_go_on() {
    if is_long_run() {
        a_hundred_polls(20);
    }
}

/// A hundred connections poll an empty queue, each twice; all of them before the first answer is read.
fn a_hundred_polls(wait: u32) {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    let body = json!({ "QueueUrl": url, "WaitTimeSeconds": wait }).to_string();
    let headers = [("X-Amz-Target", "AmazonSQS.ReceiveMessage"), ("Content-Type", JSON)];
    let bytes = request("POST", "/", &headers, body.as_bytes());
    let mut connections: Vec<_> = (0..100).map(|_| Connection::open(server.endpoint).unwrap()).collect();
    for _ in 0..2 {
        let start = Instant::now();
        connections.iter_mut().for_each(|connection| connection.write(&bytes).unwrap());
        for connection in &mut connections {
            let answer = connection.read().unwrap();
            assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
            assert!(answer.keeps_alive(), "{answer:?}");
            assert_between(start.elapsed(), wait * SECOND, (wait + 15) * SECOND);
        }
    }
    let form = [("QueueUrl", url.as_str()), ("WaitTimeSeconds", "1")];
    let empty = client.query_call("ReceiveMessage", &form);
    assert!(empty.0.contains("<ReceiveMessageResult/>"), "{}", empty.0);
}
