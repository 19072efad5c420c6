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
    let body = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 }).to_string();
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
