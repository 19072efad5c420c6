//! Kills the real server with SIGKILL at random moments under load, starts it again, and holds it to its word.
//!
//! Eight producers and eight consumers never stop; they meet broken connections and go on with the next server. A
//! ledger notes what was acknowledged. No acknowledged send may be lost, no acknowledged delete undone; receive
//! counts never go back; handles from before a crash still delete. Five rounds, fifty with `TIDEGATE_LONG=1`.

#![allow(clippy::unwrap_used, reason = "all of it is test code")]

mod support;

use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};
use support::http::{Answer, Connection, request};
use support::server::{Server, Setup};
use support::sqs::{JSON, messages, receive_count};
use support::{PATIENCE, is_long_run, wait_until};

const PRODUCERS: usize = 8;
const CONSUMERS: usize = 8;
/// Long enough that a consumer that is alive always deletes in time, short enough to wait for at the end.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(10);
/// After so long a delete may have come too late, and the message may come again.
const SURELY_IN_TIME: Duration = Duration::from_secs(6);

/// Producers wait for the consumers beyond it.
const BACKLOG_MAX: usize = 5_000;

#[test]
fn acknowledged_sends_and_deletes_survive_sigkill_under_load() {
    let setup = Setup::new();
    let server = setup.start();
    let timeout = VISIBILITY_TIMEOUT.as_secs().to_string();
    server.client().create_with("work", json!({ "VisibilityTimeout": timeout }));
    let run = Run::new(server.endpoint);
    let rounds = if is_long_run() { 50 } else { 5 };

    thread::scope(|scope| {
        for number in 0..PRODUCERS {
            let run = &run;
            scope.spawn(move || produce(run, number));
        }
        for _ in 0..CONSUMERS {
            scope.spawn(|| consume(&run));
        }
        let mut server = server;
        for round in 0..rounds {
            let settled = run.ledger.lock().unwrap().deleted.len();
            thread::sleep(Duration::from_millis(rand::random_range(50..1_000)));
            server.kill();
            server = setup.start();
            *run.address.write().unwrap() = server.endpoint;
            wait_until(&format!("work goes on after round {round}"), || {
                run.ledger.lock().unwrap().deleted.len() > settled
            });
        }
        run.producing.store(false, Ordering::Relaxed);
        wait_for_the_rest(&run, &server);
        run.consuming.store(false, Ordering::Relaxed);
    });

    let ledger = run.ledger.into_inner().unwrap();
    println!(
        "{rounds} rounds: {} sends acknowledged, {} in doubt, {} deletes acknowledged, {} of them late",
        ledger.acknowledged.len(),
        ledger.doubtful.len(),
        ledger.deleted.len() + ledger.late.len(),
        ledger.late.len()
    );
    assert_eq!(ledger.violations, Vec::<String>::new());
    assert!(ledger.acknowledged.len() > rounds * 50, "the server was under load");
}

/// Waits until everything is received and deleted, as long as that goes on.
fn wait_for_the_rest(run: &Run, server: &Server) {
    let (mut left, mut since) = (usize::MAX, Instant::now());
    loop {
        let counts = server.client().counts("work");
        let undeleted = run.ledger.lock().unwrap().undeleted;
        if counts == [0, 0, 0] && undeleted == 0 {
            return;
        }
        if undeleted < left {
            (left, since) = (undeleted, Instant::now());
        }
        assert!(
            since.elapsed() < PATIENCE,
            "{undeleted} messages are not deleted; the queue counts {counts:?}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

/// What all threads share.
struct Run {
    address: RwLock<SocketAddr>,
    producing: AtomicBool,
    consuming: AtomicBool,
    ledger: Mutex<Ledger>,
}

/// What was promised, by message body, which is unique.
#[derive(Default)]
struct Ledger {
    acknowledged: HashMap<String, Instant>,
    /// Sent without an answer: may be there or not.
    doubtful: HashMap<String, Instant>,
    deleted: HashMap<String, Instant>,
    /// Deleted so late that the message may have been visible again: it may come once more, or not.
    late: HashSet<String>,
    /// Acknowledged messages that no delete was acknowledged for.
    undeleted: usize,
    received: HashMap<String, (u32, Instant)>,
    violations: Vec<String>,
}

impl Ledger {
    fn acknowledge(&mut self, body: String) {
        self.doubtful.remove(&body);
        // A consumer may have been faster than the answer to the send.
        self.undeleted += usize::from(!self.is_settled(&body));
        self.acknowledged.insert(body, Instant::now());
    }

    /// Notes a delete of a message received by a request that started at `start`.
    fn delete(&mut self, body: String, start: Instant) {
        let first = self.acknowledged.contains_key(&body) && !self.is_settled(&body);
        self.undeleted -= usize::from(first);
        if start.elapsed() < SURELY_IN_TIME {
            self.deleted.insert(body, Instant::now());
        } else {
            self.late.insert(body);
        }
    }

    fn is_settled(&self, body: &str) -> bool {
        self.deleted.contains_key(body) || self.late.contains(body)
    }

    /// Notes a message received by a request that started at `start`.
    fn receive(&mut self, body: &str, count: u32, start: Instant) {
        if !self.acknowledged.contains_key(body) && !self.doubtful.contains_key(body) {
            // The answer to its send may be on its way: it is noted as doubtful before it is sent.
            self.violations.push(format!("{body} was received and never sent"));
        }
        if self.deleted.get(body).is_some_and(|deleted| *deleted < start) {
            self.violations
                .push(format!("{body} was received (count {count}) after its delete was acknowledged"));
        }
        if let Some((before, seen)) = self.received.get(body)
            && *seen < start
            && count <= *before
        {
            self.violations.push(format!("the receive count of {body} went from {before} to {count}"));
        }
        self.received.insert(body.to_owned(), (count, Instant::now()));
    }
}

impl Run {
    fn new(address: SocketAddr) -> Self {
        Run {
            address: RwLock::new(address),
            producing: AtomicBool::new(true),
            consuming: AtomicBool::new(true),
            ledger: Mutex::default(),
        }
    }
}

/// A connection to whichever server runs now.
struct Client<'a> {
    run: &'a Run,
    connection: Option<Connection>,
}

impl<'a> Client<'a> {
    fn new(run: &'a Run) -> Self {
        Client { run, connection: None }
    }

    fn call(&mut self, action: &str, body: &Value) -> io::Result<Answer> {
        let target = format!("AmazonSQS.{action}");
        let headers = [("X-Amz-Target", target.as_str()), ("Content-Type", JSON)];
        let bytes = request("POST", "/", &headers, body.to_string().as_bytes());
        let mut connection = match self.connection.take() {
            Some(open) => open,
            None => Connection::open(*self.run.address.read().unwrap())?,
        };
        connection.write(&bytes)?;
        let answer = connection.read()?;
        self.connection = Some(connection);
        Ok(answer)
    }

    /// The same, again and again until some server answers.
    fn call_until_answered(&mut self, action: &str, body: &Value) -> Answer {
        loop {
            match self.call(action, body) {
                Ok(answer) => return answer,
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

fn produce(run: &Run, number: usize) {
    let mut client = Client::new(run);
    let mut next = 0;
    while run.producing.load(Ordering::Relaxed) {
        if run.ledger.lock().unwrap().undeleted > BACKLOG_MAX {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let count = if next % 5 == 0 { 10 } else { 1 };
        let bodies: Vec<_> = (next..next + count).map(|n| format!("{number}-{n}")).collect();
        next += count;
        let now = Instant::now();
        run.ledger.lock().unwrap().doubtful.extend(bodies.iter().map(|body| (body.clone(), now)));
        let entry = |(id, body): (usize, &String)| json!({ "Id": id.to_string(), "MessageBody": body });
        let answer = match &bodies[..] {
            [body] => client.call("SendMessage", &json!({ "QueueUrl": "work", "MessageBody": body })),
            _ => {
                let entries: Vec<_> = bodies.iter().enumerate().map(entry).collect();
                client.call("SendMessageBatch", &json!({ "QueueUrl": "work", "Entries": entries }))
            }
        };
        let Ok(answer) = answer else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        assert_eq!(answer.status, 200, "{}", answer.text());
        let mut ledger = run.ledger.lock().unwrap();
        for body in bodies {
            ledger.acknowledge(body);
        }
    }
}

fn consume(run: &Run) {
    let mut client = Client::new(run);
    while run.consuming.load(Ordering::Relaxed) {
        let start = Instant::now();
        let receive = json!({
            "QueueUrl": "work", "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1,
            "MessageSystemAttributeNames": ["ApproximateReceiveCount"],
        });
        let Ok(answer) = client.call("ReceiveMessage", &receive) else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        assert_eq!(answer.status, 200, "{}", answer.text());
        let received = messages(&answer.json());
        for message in &received {
            let body = message["Body"].as_str().unwrap();
            run.ledger.lock().unwrap().receive(body, receive_count(message), start);
        }
        // A server that dies meanwhile is asked again after its restart, with the same handles.
        for message in received {
            let delete = json!({ "QueueUrl": "work", "ReceiptHandle": message["ReceiptHandle"] });
            let answer = client.call_until_answered("DeleteMessage", &delete);
            assert_eq!(answer.status, 200, "{}", answer.text());
            let body = message["Body"].as_str().unwrap().to_owned();
            run.ledger.lock().unwrap().delete(body, start);
        }
    }
}
