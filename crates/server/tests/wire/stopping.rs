//! Goal: a stop is clean and short. Whoever waits is answered, whoever is being served is served, and the process
//! ends with 0.

use crate::support::http::{Connection, request};
use crate::support::server::Setup;
use crate::support::sqs::JSON;
use crate::support::wait_until;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long a stop may take.
const STOP: Duration = Duration::from_secs(5);

#[test]
fn a_stop_answers_all_polls_and_ends_with_zero() {
    // A stop that needed the grace period would take longer than is allowed.
    let mut server = Setup::new().env("TIDEGATE_SHUTDOWN_GRACE", "5s").start();
    server.client().create("q");
    let body = json!({ "QueueUrl": "q", "WaitTimeSeconds": 20 }).to_string();
    let headers = [("X-Amz-Target", "AmazonSQS.ReceiveMessage"), ("Content-Type", JSON)];
    let bytes = request("POST", "/", &headers, body.as_bytes());
    let mut connections: Vec<_> = (0..50).map(|_| Connection::open(server.endpoint).unwrap()).collect();
    connections.iter_mut().for_each(|connection| connection.write(&bytes).unwrap());
    // Idle connections, used and unused, do not hold the stop up.
    let mut used = Connection::open(server.endpoint).unwrap();
    used.write(&request("GET", "/health", &[], b"")).unwrap();
    assert_eq!(used.read().unwrap().status, 200);
    let mut unused = Connection::open(server.endpoint).unwrap();
    server.wait_for_polls(50);

    let start = Instant::now();
    server.terminate();
    for connection in &mut connections {
        let answer = connection.read().unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
        assert_eq!(connection.read_to_end().unwrap(), 0, "the connection is closed after its answer");
    }
    assert_eq!(used.read_to_end().unwrap_or(0), 0);
    assert_eq!(unused.read_to_end().unwrap_or(0), 0);
    let status = server.wait(STOP);
    assert_eq!(status.code(), Some(0), "{}", server.log());
    assert!(start.elapsed() < STOP, "it took {:?}", start.elapsed());
    assert!(Connection::open(server.endpoint).is_err(), "nobody listens any more");
}

#[test]
fn a_stop_lets_a_request_in_progress_finish() {
    let setup = Setup::new();
    let mut server = setup.start();
    server.client().create("q");
    let body = json!({ "QueueUrl": "q", "MessageBody": "x".repeat(100_000) }).to_string();
    let headers =
        [("X-Amz-Target", "AmazonSQS.SendMessage"), ("Content-Type", JSON), ("Expect", "100-continue")];
    let bytes = request("POST", "/", &headers, body.as_bytes());
    let half = bytes.len() / 2;
    let mut connection = Connection::open(server.endpoint).unwrap();
    connection.write(&bytes[..half]).unwrap();
    // The interim answer tells that the server has read the head.
    assert_eq!(connection.read_any().unwrap().status, 100);
    server.terminate();
    wait_until("the listener is closed", || Connection::open(server.endpoint).is_err());
    connection.write(&bytes[half..]).unwrap();
    let answer = connection.read().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(server.wait(STOP).code(), Some(0), "{}", server.log());

    let server = setup.start();
    assert_eq!(server.client().counts("q"), [1, 0, 0], "what was answered is there");
}

#[test]
fn a_request_that_does_not_end_does_not_hold_the_stop_up_for_ever() {
    let mut server = Setup::new().env("TIDEGATE_SHUTDOWN_GRACE", "1s").start();
    let mut connection = Connection::open(server.endpoint).unwrap();
    let headers =
        [("X-Amz-Target", "AmazonSQS.ListQueues"), ("Content-Length", "100"), ("Expect", "100-continue")];
    connection.write(&request("POST", "/", &headers, b"{")).unwrap();
    assert_eq!(connection.read_any().unwrap().status, 100);
    server.terminate();
    assert_eq!(server.wait(2 * STOP).code(), Some(0), "{}", server.log());
    assert!(connection.read().is_err());
}

#[test]
fn a_stop_under_load_loses_nothing_that_was_answered() {
    let setup = Setup::new();
    let mut server = setup.start();
    server.client().create("q");
    let endpoint = server.endpoint;
    let senders: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let body = json!({ "QueueUrl": "q", "MessageBody": "m" }).to_string();
                let headers = [("X-Amz-Target", "AmazonSQS.SendMessage"), ("Content-Type", JSON)];
                let bytes = request("POST", "/", &headers, body.as_bytes());
                let mut answered = 0;
                let Ok(mut connection) = Connection::open(endpoint) else { return answered };
                while connection.write(&bytes).is_ok() {
                    match connection.read() {
                        Ok(answer) if answer.status == 200 => answered += 1,
                        Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
                        Err(_) => break,
                    }
                }
                answered
            })
        })
        .collect();
    wait_until("messages come in", || {
        let labels = "account=\"000000000000\",region=\"us-east-1\",queue=\"q\",state=\"visible\"";
        server.metric(&format!("tidegate_messages{{{labels}}}")).is_some_and(|count| count > 50.0)
    });
    server.terminate();
    assert_eq!(server.wait(2 * STOP).code(), Some(0), "{}", server.log());
    let answered: u64 = senders.into_iter().map(|sender| sender.join().unwrap()).sum();

    let server = setup.start();
    let [visible, ..] = server.client().counts("q");
    // A message may have been stored whose answer the end of its connection overtook.
    assert!(visible >= answered && visible <= answered + 8, "{visible} stored, {answered} answered");
}
