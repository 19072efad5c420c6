//! Goal: neither idle connections nor slow senders hold their place for ever, and a long poll is neither.

use crate::support::http::{Connection, request};
use crate::support::is_long_run;
use crate::support::server::Setup;
use crate::support::sqs::JSON;
use serde_json::json;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
/// The smallest idle timeout there is.
const IDLE: Duration = Duration::from_secs(25);

#[test]
fn idle_connections_and_slow_senders_are_closed_and_long_polls_are_not() {
    if !is_long_run() {
        return;
    }
    let server = Setup::new().env("TIDEGATE_IDLE_TIMEOUT", "25s").start();
    server.client().create("q");
    let start = Instant::now();
    let closed_after = |mut connection: Connection| {
        let _ = connection.read_to_end();
        start.elapsed()
    };
    std::thread::scope(|scope| {
        let unused = Connection::open(server.endpoint).unwrap();
        let mut used = Connection::open(server.endpoint).unwrap();
        used.write(&request("GET", "/health", &[], b"")).unwrap();
        assert_eq!(used.read().unwrap().status, 200);
        let mut half = Connection::open(server.endpoint).unwrap();
        half.write(b"POST / HTTP/1.1\r\nHost: x\r\n").unwrap();
        let unused = scope.spawn(move || closed_after(unused));
        let used = scope.spawn(move || closed_after(used));
        let half = scope.spawn(move || closed_after(half));
        // One byte of a header every second: every one of them is progress, and it is not enough.
        let slow = scope.spawn(|| {
            let mut slow = Connection::open(server.endpoint).unwrap();
            slow.write(b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ").unwrap();
            while slow.write(b"x").is_ok() && !slow.is_closed() && start.elapsed() < 4 * IDLE {
                std::thread::sleep(SECOND);
            }
            start.elapsed()
        });
        // A poll of 20 s, then another on the same connection: the time of an answer is not idle time.
        let poll = scope.spawn(|| {
            let body = json!({ "QueueUrl": "q", "WaitTimeSeconds": 20 }).to_string();
            let headers = [("X-Amz-Target", "AmazonSQS.ReceiveMessage"), ("Content-Type", JSON)];
            let bytes = request("POST", "/", &headers, body.as_bytes());
            let mut connection = Connection::open(server.endpoint).unwrap();
            for _ in 0..2 {
                connection.write(&bytes).unwrap();
                assert_eq!(connection.read().unwrap().status, 200);
            }
        });
        for (what, elapsed) in [("unused", unused), ("used", used), ("half a head", half), ("slow", slow)] {
            let elapsed = elapsed.join().unwrap();
            println!("{what}: closed after {elapsed:?}");
            assert!(elapsed < 2 * IDLE, "{what}: closed after {elapsed:?}");
            assert!(elapsed + SECOND > IDLE, "{what}: closed after {elapsed:?}");
        }
        poll.join().unwrap();
    });
}
