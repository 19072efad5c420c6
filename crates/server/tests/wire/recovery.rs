//! Goal: a server that brings its state back is there for probes at once, tells everybody else to come again, and serves
//! only when all of it is there. Method: a log long enough that it takes a while; what must hold holds at every moment,
//! however fast the machine is.

use crate::support::http::{Connection, request};
use crate::support::server::{Setup, wait_for};
use crate::support::sqs::{Client, JSON};
use crate::support::{PATIENCE, wait_until};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Child;
use tidegate_engine::{
    Event, Message, MessageId, MessageSeq, QueueAddress, QueueId, QueueName, Region, StoredMessage, Timestamp,
};
use tidegate_log::{DirStorage, LogConfig, SegmentedLog};
use tidegate_store::codec;

const MESSAGES: u64 = 200_000;

/// Writes the log of a server that died with one queue, `q`, full of messages.
fn write_log(dir: &Path) {
    let storage = DirStorage::open(dir).unwrap();
    let config = LogConfig { segment_bytes: 16 << 20, ..LogConfig::default() };
    let mut log = SegmentedLog::open(storage, config, [7; 16]).unwrap();
    let at = Timestamp::from_millis(
        std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis().try_into().unwrap(),
    );
    let address = QueueAddress {
        account: Default::default(),
        region: Region::default(),
        name: QueueName::parse("q").unwrap(),
    };
    let queue = QueueId(0);
    let created = Event::QueueCreated { queue, address, attributes: Vec::new(), tags: Default::default() };
    log.framer.push(|record| codec::encode(at, &created, record));
    for number in 0..MESSAGES {
        let message = Message {
            id: MessageId::from_random([number as u8; 16]),
            body: "hello".into(),
            body_md5: [0; 16],
            attributes: Vec::new(),
            trace_header: None,
            group_id: None,
            deduplication_id: None,
            sender: "test".into(),
        };
        let stored = StoredMessage { queue, seq: MessageSeq(number), sent_at: at, message };
        log.framer.push(|record| codec::encode(at, &Event::MessageSent { stored, visible_at: at }, record));
        if number % 1_000 == 999 {
            log.appender.append(&[log.framer.finish().unwrap()]).unwrap();
            log.keeper.prepare_spare().unwrap();
        }
    }
}

/// A port that is free now.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A server that is killed at the end.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_that_recovers_says_so_and_serves_when_all_is_there() {
    let (endpoint, console) = (free(), free());
    let setup =
        Setup::new().arg("--listen").arg(&endpoint.to_string()).arg("--admin").arg(&console.to_string());
    write_log(&setup.data_dir());
    let _server = Process(setup.spawn());
    // The operators' socket is bound last.
    let mut connection = None;
    wait_until("it listens", || {
        connection = Connection::open(console).ok();
        connection.is_some()
    });
    let mut probe = connection.unwrap();
    let mut api = Connection::open(endpoint).unwrap();
    let headers = [("X-Amz-Target", "AmazonSQS.GetQueueUrl"), ("Content-Type", JSON)];
    let query = request("POST", "/", &headers, b"{\"QueueName\":\"q\"}");
    let mut percents = Vec::new();
    loop {
        probe.write(&request("GET", "/health", &[], b"")).unwrap();
        assert_eq!(probe.read().unwrap().status, 200);
        api.write(&query).unwrap();
        let answer = api.read().unwrap();
        probe.write(&request("GET", "/ready", &[], b"")).unwrap();
        let ready = probe.read().unwrap();
        match ready.status {
            200 => break,
            status => assert_eq!(status, 503),
        }
        assert_eq!(ready.header("retry-after"), Some("1"));
        let text = ready.text();
        let percent = text.strip_prefix("recovering: ").and_then(|rest| rest.split_once(" % (")).unwrap().0;
        percents.push(percent.parse::<u32>().unwrap());
        if answer.status == 503 {
            assert!(answer.text().contains("it is recovering, "), "{}", answer.text());
        } else {
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    }
    assert!(percents.is_sorted() && percents.iter().all(|percent| *percent <= 100), "{percents:?}");
    assert_eq!(Client::new(endpoint).counts("q"), [MESSAGES, 0, 0]);
}

#[test]
fn a_stop_does_not_wait_for_the_state() {
    let console = free();
    let setup = Setup::new().arg("--admin").arg(&console.to_string());
    write_log(&setup.data_dir());
    let mut server = Process(setup.spawn());
    wait_until("it answers", || {
        let Ok(mut connection) = Connection::open(console) else { return false };
        connection.write(&request("GET", "/health", &[], b"")).unwrap();
        connection.read().unwrap().status == 200
    });
    let status = std::process::Command::new("kill").args(["-TERM", &server.0.id().to_string()]).status();
    assert!(status.unwrap().success());
    let ended = wait_for(&mut server.0, PATIENCE).expect("it ends");
    assert_eq!(ended.code(), Some(0));
    drop(server);
    let server = setup.start();
    assert_eq!(server.client().counts("q"), [MESSAGES, 0, 0]);
}

#[test]
fn a_port_that_is_taken_is_found_before_anything_is_touched() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    for flag in ["--listen", "--admin"] {
        let setup = Setup::new().arg(flag).arg(&taken.local_addr().unwrap().to_string());
        let (status, said) = setup.start_refused();
        assert_eq!(status.code(), Some(1));
        assert!(said.contains("is another server running there?") && said.contains(flag), "{said}");
        assert!(!setup.data_dir().exists());
    }
}
