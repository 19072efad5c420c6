//! Kills the real server with SIGKILL at random moments under load, starts it again, and holds it to its word.
//!
//! Producers and consumers of a standard and a FIFO queue never stop; they meet broken connections and go on with the
//! next server. Ledgers note what was acknowledged. No acknowledged send may be lost, no acknowledged delete undone;
//! handles from before a crash still delete. On the standard queue receive counts never go back; on the FIFO queue
//! each group keeps its order and no duplicate is delivered. Five rounds, fifty with `TIDEGATE_LONG=1`.

#![allow(clippy::unwrap_used, reason = "all of it is test code")]

mod fifo;
mod standard;
#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};
use support::http::{Answer, Connection, request};
use support::server::{Server, Setup};
use support::sqs::JSON;
use support::{PATIENCE, is_long_run, wait_until};

/// Producers of the standard queue, and as many consumers.
const STANDARD_PAIRS: usize = 8;
/// The same for the FIFO queue.
const FIFO_PAIRS: usize = 4;
/// Long enough that a consumer that is alive always deletes in time, short enough to wait for at the end.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(10);

#[test]
fn what_was_acknowledged_survives_sigkill_under_load() {
    let setup = Setup::new();
    let server = setup.start();
    let timeout = VISIBILITY_TIMEOUT.as_secs().to_string();
    server.client().create_with(standard::QUEUE, json!({ "VisibilityTimeout": timeout }));
    server.client().create_fifo(fifo::QUEUE, json!({ "VisibilityTimeout": timeout }));
    let run = &Run::new(server.endpoint);
    let rounds = if is_long_run() { 50 } else { 5 };

    thread::scope(|scope| {
        let _end = EndWithScope(run);
        let mut producers = Vec::new();
        for number in 0..STANDARD_PAIRS {
            producers.push(scope.spawn(move || standard::produce(run, number)));
            scope.spawn(|| standard::consume(run));
        }
        for number in 0..FIFO_PAIRS {
            producers.push(scope.spawn(move || fifo::produce(run, number)));
            scope.spawn(move || fifo::consume(run, number));
        }
        let mut server = server;
        for round in 0..rounds {
            let settled = run.settled();
            thread::sleep(Duration::from_millis(rand::random_range(50..1_000)));
            server.kill();
            server = setup.start();
            *run.address.write().unwrap() = server.endpoint;
            wait_until(&format!("work goes on after round {round}"), || {
                let now = run.settled();
                now.0 > settled.0 && now.1 > settled.1
            });
        }
        run.producing.store(false, Ordering::Relaxed);
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        wait_for_the_rest(run, &server);
    });

    let (standard, fifo) = (run.standard.lock().unwrap(), run.fifo.lock().unwrap());
    println!("{rounds} rounds\n{}\n{}", standard.summary(), fifo.summary());
    standard.check(rounds);
    fifo.check(rounds);
}

/// Waits until everything is received and deleted, as long as that goes on.
fn wait_for_the_rest(run: &Run, server: &Server) {
    let (mut left, mut since) = (usize::MAX, Instant::now());
    loop {
        let counts = [standard::QUEUE, fifo::QUEUE].map(|queue| server.client().counts(queue));
        let undeleted = run.standard.lock().unwrap().undeleted() + run.fifo.lock().unwrap().undeleted();
        if counts == [[0, 0, 0]; 2] && undeleted == 0 {
            return;
        }
        run.settled();
        if undeleted < left {
            (left, since) = (undeleted, Instant::now());
        }
        assert!(
            since.elapsed() < PATIENCE,
            "{undeleted} messages are not deleted; the queues count {counts:?}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

/// What all threads share.
struct Run {
    address: RwLock<SocketAddr>,
    producing: AtomicBool,
    consuming: AtomicBool,
    standard: Mutex<standard::Ledger>,
    fifo: Mutex<fifo::Ledger>,
}

impl Run {
    fn new(address: SocketAddr) -> Self {
        Run {
            address: RwLock::new(address),
            producing: AtomicBool::new(true),
            consuming: AtomicBool::new(true),
            standard: Mutex::default(),
            fifo: Mutex::default(),
        }
    }

    /// Acknowledged deletes of the standard queue and of the FIFO queue.
    ///
    /// # Panics
    /// When a promise was broken: what was lost once would keep the clients busy for long.
    fn settled(&self) -> (usize, usize) {
        let broken = self.standard.lock().unwrap().violations.first().cloned();
        let broken = broken.or_else(|| self.fifo.lock().unwrap().violations.first().cloned());
        assert_eq!(broken, None);
        (self.standard.lock().unwrap().settled(), self.fifo.lock().unwrap().settled())
    }
}

/// Lets the threads end with the scope, also when it ends with a panic.
struct EndWithScope<'a>(&'a Run);

impl Drop for EndWithScope<'_> {
    fn drop(&mut self) {
        self.0.producing.store(false, Ordering::Relaxed);
        self.0.consuming.store(false, Ordering::Relaxed);
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

    /// The same, again and again until some server answers; `None` when the test is over.
    fn call_until_answered(&mut self, action: &str, body: &Value) -> Option<Answer> {
        while self.run.consuming.load(Ordering::Relaxed) {
            match self.call(action, body) {
                Ok(answer) => return Some(answer),
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
        None
    }
}
