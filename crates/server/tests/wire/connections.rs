//! Goal: many connections, and clients that do not read, take nothing away from those who behave.

use crate::bad_requests::survive;
use crate::support::http::{Connection, request};
use crate::support::server::{Server, Setup};
use crate::support::sqs::JSON;
use crate::support::wait_until;
use serde_json::json;

/// Connections that the server counts as open.
fn open(server: &Server) -> f64 {
    server.metric("tidegate_connections").unwrap()
}

#[test]
fn a_flood_of_idle_connections_leaves_others_served() {
    survive(|server| {
        let client = &mut server.client();
        client.create("served");
        let mut flood = Vec::new();
        for n in 0..500 {
            let mut connection = Connection::open(server.endpoint).unwrap();
            // A third says nothing, a third begins a head, a third a body.
            match n % 3 {
                0 => {}
                1 => connection.write(b"POST / HTTP/1.1\r\nHost: x\r\n").unwrap(),
                _ => connection
                    .write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
                    .unwrap(),
            }
            flood.push(connection);
            if n % 50 == 0 {
                client.send("served", "m");
                assert_eq!(client.receive("served", 0).len(), 1);
            }
        }
        wait_until("all connections are counted", || open(server) >= 501.0);
        for _ in 0..20 {
            server.client().send("served", "m");
        }
        drop(flood);
        wait_until("all of them are let go", || open(server) <= 2.0);
    });
}

#[test]
fn connections_over_the_limit_wait_and_get_their_turn() {
    let server = Setup::new().env("TIDEGATE_CONNECTIONS_MAX", "4").start();
    let held: Vec<_> = (0..4).map(|_| Connection::open(server.endpoint).unwrap()).collect();
    wait_until("all places are taken", || open(&server) == 4.0);
    let mut waiting = Connection::open(server.endpoint).unwrap();
    waiting.write(&request("GET", "/health", &[], b"")).unwrap();
    assert_eq!(server.page("/health").status, 200, "operators have places of their own");
    assert!(!waiting.is_closed());
    drop(held);
    assert_eq!(waiting.read().unwrap().status, 200);
}

/// The answers of a client that asks and asks and never reads fill its socket, and nothing else.
#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    survive(|server| {
        let client = &mut server.client();
        client.create_with("large", json!({ "VisibilityTimeout": "0" }));
        client.send("large", &"x".repeat(1_000_000));
        let body = json!({ "QueueUrl": "large" }).to_string();
        let headers = [("X-Amz-Target", "AmazonSQS.ReceiveMessage"), ("Content-Type", JSON)];
        let bytes = request("POST", "/", &headers, body.as_bytes()).repeat(100);
        let deaf: Vec<_> = (0..4)
            .map(|_| {
                let mut connection = Connection::open(server.endpoint).unwrap();
                connection.write(&bytes).unwrap();
                connection
            })
            .collect();
        for _ in 0..20 {
            client.send("q", "m");
            let received = client.receive("q", 0);
            for message in received.iter().filter(|message| message["Body"] == "m") {
                let handle = &message["ReceiptHandle"];
                client.call("DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": handle }));
            }
            for message in received.iter().filter(|message| message["Body"] != "m") {
                let handle = &message["ReceiptHandle"];
                let change = json!({ "QueueUrl": "q", "ReceiptHandle": handle, "VisibilityTimeout": 0 });
                client.call("ChangeMessageVisibility", change);
            }
        }
        drop(deaf);
        wait_until("all of them are let go", || open(server) <= 2.0);
    });
}

#[test]
fn opening_and_closing_many_connections_leaves_nothing_behind() {
    survive(|server| {
        for _ in 0..2_000 {
            drop(Connection::open(server.endpoint).unwrap());
        }
        for _ in 0..200 {
            assert_eq!(crate::support::http::get(server.endpoint, "/health").status, 200);
        }
        wait_until("all of them are let go", || open(server) <= 1.0);
    });
}
