//! Goal: many connections, and clients that do not read, take nothing away from those who behave.

use crate::bad_requests::survive;
use crate::support::fifo::texts;
use crate::support::http::{Connection, request};
use crate::support::server::{Server, Setup};
use crate::support::sqs::JSON;
use crate::support::wait_until;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that the server counts as open.
fn open(server: &Server) -> f64 {
    server.metric("tidegate_connections").unwrap()
}

/// A flood, if the machine lets one process have so many connections.
const FLOOD: u64 = 10_000;

/// Lets this process have many open files; how many connections of a flood that is.
fn raise_descriptors() -> u64 {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    // The other tests of this process need some as well.
    maximum.unwrap_or(u64::MAX).saturating_sub(1_000).min(FLOOD)
}

/// Sends, receives and deletes messages, each of which is the right one; how long each took, in order of length.
fn serve_well(server: &Server) -> Vec<Duration> {
    let mut client = server.client();
    let one = |number: u32| {
        let start = Instant::now();
        let body = number.to_string();
        let id = client.send("served", &body);
        let received = client.receive("served", 1);
        assert_eq!(texts(&received, "Body"), [&*body]);
        assert_eq!(texts(&received, "MessageId"), [&*id]);
        client.delete_all("served", &received);
        start.elapsed()
    };
    let mut times: Vec<_> = (0..300).map(one).collect();
    times.sort_unstable();
    times
}

/// A third of the connections says nothing, a third sends a byte of a head now and then, a third one of a body.
/// Prints what that costs others.
#[test]
fn a_flood_of_slow_clients_leaves_others_served() {
    let count = raise_descriptors();
    let server = Setup::new().env("TIDEGATE_CONNECTIONS_MAX", "20000").start();
    server.client().create("served");
    let before = serve_well(&server);
    let mut flood: Vec<_> = (0..count).map(|_| Connection::open(server.endpoint).unwrap()).collect();
    let head: &[u8] = b"POST / HTTP/1.1\r\nX: ";
    let body: &[u8] = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
    for (connection, start) in flood.iter_mut().zip([b"", head, body].into_iter().cycle()) {
        connection.write(start).unwrap();
    }
    wait_until("all connections are counted", || open(&server) >= count as f64);
    let is_flooded = AtomicBool::new(true);
    let during = thread::scope(|scope| {
        scope.spawn(|| {
            while is_flooded.load(Ordering::Relaxed) {
                for slow in flood.iter_mut().skip(1).step_by(3) {
                    // The server may have lost its patience.
                    let _ = slow.write(b"x");
                }
                for slow in flood.iter_mut().skip(2).step_by(3) {
                    let _ = slow.write(b"x");
                }
                thread::sleep(Duration::from_secs(1));
            }
        });
        let during = catch_unwind(AssertUnwindSafe(|| serve_well(&server)));
        is_flooded.store(false, Ordering::Relaxed);
        during.unwrap_or_else(|panic| resume_unwind(panic))
    });
    for (name, times) in [("alone", before), ("in a flood", during)] {
        let (half, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!(
            "send, receive and delete {name} ({count} slow clients): {half:?} in half, {most:?} in 99 %"
        );
    }
    drop(flood);
    wait_until("all of them are let go", || open(&server) <= 2.0);
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
