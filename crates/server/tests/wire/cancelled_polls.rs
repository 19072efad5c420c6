//! Goal: a client that goes away while it waits never takes a message with it.

use crate::support::http::{Connection, request};
use crate::support::server::{Server, Setup};
use crate::support::sqs::{Client, JSON, receive_count};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

const ROUNDS: usize = 50;

/// A connection on which a long poll was sent and waits.
fn park(server: &Server, url: &str) -> Connection {
    park_with(server, &json!({ "QueueUrl": url, "WaitTimeSeconds": 20 }))
}

fn park_with(server: &Server, receive: &Value) -> Connection {
    let body = receive.to_string();
    let headers = [("X-Amz-Target", "AmazonSQS.ReceiveMessage"), ("Content-Type", JSON)];
    let mut connection = Connection::open(server.endpoint).unwrap();
    connection.write(&request("POST", "/", &headers, body.as_bytes())).unwrap();
    server.wait_for_polls(1);
    connection
}

/// Receives the one message of the queue, which must come long before a visibility timeout ends, and deletes it.
fn take(client: &mut Client, url: &str) -> Value {
    // The queue's visibility timeout is ten minutes: what was swallowed does not come in twenty seconds.
    let received = client.receive(url, 20);
    let [message] = &received[..] else { panic!("the message was swallowed: {received:?}") };
    let handle = message["ReceiptHandle"].clone();
    client.call("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
    message.clone()
}

fn create(client: &mut Client) -> String {
    client.create_with("q", json!({ "VisibilityTimeout": "600" }))
}

#[test]
fn a_poll_whose_client_is_gone_takes_nothing() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = create(client);
    for round in 0..ROUNDS {
        drop(park(&server, &url));
        server.wait_for_polls(0);
        client.send(&url, &round.to_string());
        let message = take(client, &url);
        assert_eq!(message["Body"], round.to_string());
        assert_eq!(receive_count(&message), 1);
    }
    assert_eq!(client.counts(&url), [0, 0, 0]);
}

/// The close is on its way, and the server has not been given time to see it.
#[test]
fn a_poll_whose_client_is_just_leaving_gives_the_message_back() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = create(client);
    for round in 0..ROUNDS {
        drop(park(&server, &url));
        client.send(&url, &round.to_string());
        let message = take(client, &url);
        assert_eq!(message["Body"], round.to_string());
        assert!(receive_count(&message) <= 2, "{message}");
    }
    assert_eq!(client.counts(&url), [0, 0, 0]);
}

/// Close and send race. A client that stops sending can still read, and so tells whether it got the message: either
/// it did, or another client does.
#[test]
fn a_close_at_the_moment_of_the_send_loses_nothing() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = create(client);
    let (mut delivered, mut given_back) = (0, 0);
    for round in 0..ROUNDS {
        let mut leaving = park(&server, &url);
        let pause = Duration::from_micros(20 * round as u64);
        thread::scope(|scope| {
            let answer = scope.spawn(move || {
                thread::sleep(pause);
                leaving.close_write();
                leaving.read()
            });
            client.send(&url, &round.to_string());
            match answer.join().unwrap() {
                Ok(answer) if answer.json().get("Messages").is_some() => {
                    delivered += 1;
                    let handle = answer.json()["Messages"][0]["ReceiptHandle"].clone();
                    client.call("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
                }
                _ => {
                    given_back += 1;
                    assert!(receive_count(&take(client, &url)) <= 2);
                }
            }
        });
        assert_eq!(client.counts(&url), [0, 0, 0], "round {round}");
    }
    assert_eq!(delivered + given_back, ROUNDS);
}

#[test]
fn many_leaving_clients_leave_everything_to_the_one_that_stays() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = create(client);
    let body = json!({ "QueueUrl": url, "WaitTimeSeconds": 20, "MaxNumberOfMessages": 10 }).to_string();
    let headers = [("X-Amz-Target", "AmazonSQS.ReceiveMessage"), ("Content-Type", JSON)];
    let bytes = request("POST", "/", &headers, body.as_bytes());
    let leaving: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let mut connection = Connection::open(server.endpoint).unwrap();
            connection.write(&bytes).unwrap();
            connection
        })
        .collect();
    server.wait_for_polls(ROUNDS);
    drop(leaving);
    let sent: Vec<_> = (0..ROUNDS).map(|n| client.send(&url, &n.to_string())).collect();
    let mut received = Vec::new();
    while received.len() < sent.len() {
        let some = client.receive(&url, 20);
        assert!(!some.is_empty(), "{} of {} came", received.len(), sent.len());
        received.extend(some.iter().map(|message| message["MessageId"].as_str().unwrap().to_owned()));
    }
    received.sort();
    received.dedup();
    assert_eq!(received.len(), sent.len());
}

/// The same on a FIFO queue, where a message that went with a client would also block its group.
#[test]
fn a_leaving_client_leaves_no_group_locked() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create_fifo("f.fifo", json!({}));
    for round in 0..ROUNDS {
        drop(park(&server, &url));
        client.send_to(&url, "g", &round.to_string(), &round.to_string());
        let message = take(client, &url);
        assert_eq!(message["Body"], round.to_string());
        assert!(receive_count(&message) <= 2, "{message}");
    }
    assert_eq!(client.counts(&url), [0, 0, 0]);
}

/// Whether the lost poll took the message or not, the repeated receive gets it, and nobody else does.
#[test]
fn a_client_that_lost_its_answer_finds_its_messages_by_the_attempt_id() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create_fifo("f.fifo", json!({}));
    for round in 0..ROUNDS {
        let id = format!("attempt-{round}");
        let receive = json!({ "QueueUrl": url, "WaitTimeSeconds": 20, "ReceiveRequestAttemptId": id });
        drop(park_with(&server, &receive));
        client.send_to(&url, "g", &round.to_string(), &round.to_string());
        let received = client.receive_with(&url, receive);
        let [message] = &received[..] else { panic!("round {round}: {received:?}") };
        assert_eq!(message["Body"], round.to_string());
        assert_eq!(receive_count(message), 1, "a repetition is no further receive");
        assert_eq!(client.delete(&url, message).status, 200);
    }
    assert_eq!(client.counts(&url), [0, 0, 0]);
}

/// The client repeats its receive before anything came; then both polls wait, and one of them has nobody any more.
#[test]
fn a_poll_repeated_beside_the_lost_one_gets_the_message() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create_fifo("f.fifo", json!({}));
    let receive = json!({ "QueueUrl": url, "WaitTimeSeconds": 20, "ReceiveRequestAttemptId": "a" });
    // Its connection is open and nobody reads from it.
    let lost = park_with(&server, &receive);
    thread::scope(|scope| {
        let repeated = scope.spawn(|| server.client().receive_with(&url, receive.clone()));
        server.wait_for_polls(2);
        client.send_to(&url, "g", "m", "m");
        let received = repeated.join().unwrap();
        assert_eq!(received[0]["Body"], "m");
        assert_eq!(receive_count(&received[0]), 1);
        client.delete_all(&url, &received);
    });
    drop(lost);
    assert_eq!(client.counts(&url), [0, 0, 0]);
}
