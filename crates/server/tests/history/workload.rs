//! The clients of a run: they use everything, do much of it late or not at all, and never repeat what has an effect.

use crate::client::{Address, Client};
use crate::record::{Call, Entry, Got, Outcome, Queue};
use crate::support::{server::Server, wait_until};
use rand::Rng;
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

const WORK: &str = "work";
const DEAD: &str = "dead";
const ORDERED: &str = "ordered.fifo";
const ORDERED_DEAD: &str = "dead.fifo";
const PURGED: &str = "purged";

/// The queues of a run.
pub(crate) const QUEUES: [Queue; 5] = [
    Queue { name: WORK, is_fifo: false, dead_letters: Some((DEAD, 4)) },
    Queue { name: DEAD, is_fifo: false, dead_letters: None },
    Queue { name: ORDERED, is_fifo: true, dead_letters: Some((ORDERED_DEAD, 5)) },
    Queue { name: ORDERED_DEAD, is_fifo: true, dead_letters: None },
    Queue { name: PURGED, is_fifo: false, dead_letters: None },
];

/// Where producers send, and how many of ten do.
const SENDS_TO: [&str; 10] = [WORK, WORK, WORK, WORK, ORDERED, ORDERED, ORDERED, ORDERED, PURGED, PURGED];
/// Where consumers look: the same, and at dead letters.
const RECEIVES_FROM: [&str; 10] =
    [WORK, WORK, WORK, ORDERED, ORDERED, ORDERED, PURGED, PURGED, DEAD, ORDERED_DEAD];
const PRODUCERS: usize = 4;
const CONSUMERS: usize = 8;
/// Groups of each producer.
const GROUPS: usize = 3;
/// Messages that are sent and not yet seen to be deleted, beyond which producers wait.
const BACKLOG_MAX: u64 = 300;
/// So short that timeouts end in every run.
const TIMEOUT_S: u64 = 2;

/// Creates the queues, dead-letter queues first.
pub(crate) fn create_queues(server: &Server) {
    for queue in QUEUES.iter().rev().filter(|queue| queue.dead_letters.is_none()).chain(&QUEUES) {
        let mut attributes = json!({});
        if queue.is_fifo {
            attributes["FifoQueue"] = json!("true");
        }
        if let Some((dead, max)) = queue.dead_letters {
            let arn = format!("arn:aws:sqs:us-east-1:000000000000:{dead}");
            let policy = json!({ "deadLetterTargetArn": arn, "maxReceiveCount": max });
            attributes["RedrivePolicy"] = json!(policy.to_string());
        }
        server.client().create_with(queue.name, attributes);
    }
}

/// What the clients share.
pub(crate) struct Run {
    pub(crate) address: Address,
    /// Makes bodies unique.
    pub(crate) name: String,
    producing: AtomicBool,
    consuming: AtomicBool,
    sent: AtomicU64,
    pub(crate) deleted: AtomicU64,
}

/// Threads that hand back what they wrote down.
pub(crate) struct Clients<'scope> {
    producers: Vec<ScopedJoinHandle<'scope, Vec<Call>>>,
    consumers: Vec<ScopedJoinHandle<'scope, Vec<Call>>>,
}

impl Run {
    pub(crate) fn new(name: String, server: &Server) -> Self {
        Run {
            address: Address::new(server.endpoint),
            name,
            producing: true.into(),
            consuming: true.into(),
            sent: 0.into(),
            deleted: 0.into(),
        }
    }

    pub(crate) fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Clients<'scope> {
        let mut producers: Vec<_> =
            (0..PRODUCERS).map(|number| scope.spawn(move || produce(self, number))).collect();
        producers.push(scope.spawn(|| operate(self)));
        let consumers = (0..CONSUMERS).map(|number| scope.spawn(move || consume(self, number))).collect();
        Clients { producers, consumers }
    }

    /// Sends clients to the next server, and waits until they get on with it.
    pub(crate) fn go_on_with(&self, server: &Server) {
        let deleted = self.deleted.load(Ordering::Relaxed);
        *self.address.write().unwrap() = server.endpoint;
        wait_until("work goes on", || self.deleted.load(Ordering::Relaxed) > deleted);
    }

    fn is_backlogged(&self) -> bool {
        self.sent.load(Ordering::Relaxed).saturating_sub(self.deleted.load(Ordering::Relaxed)) > BACKLOG_MAX
    }
}

impl Drop for Clients<'_> {
    /// Whatever happens, the scope must not wait for ever.
    fn drop(&mut self) {
        assert!(
            self.consumers.is_empty() || thread::panicking(),
            "clients are asked for what they wrote down"
        );
    }
}

impl Clients<'_> {
    /// Lets the producers end, waits until everything is consumed, and takes what all of them wrote down.
    pub(crate) fn finish(mut self, run: &Run, until_empty: impl FnOnce()) -> Vec<Call> {
        run.producing.store(false, Ordering::Relaxed);
        let mut calls = Vec::new();
        for producer in self.producers.drain(..) {
            calls.extend(producer.join().unwrap());
        }
        until_empty();
        run.consuming.store(false, Ordering::Relaxed);
        for consumer in self.consumers.drain(..) {
            calls.extend(consumer.join().unwrap());
        }
        calls
    }
}

/// Ends the threads when the test fails.
pub(crate) struct EndWithScope<'r>(pub(crate) &'r Run);

impl Drop for EndWithScope<'_> {
    fn drop(&mut self) {
        self.0.producing.store(false, Ordering::Relaxed);
        self.0.consuming.store(false, Ordering::Relaxed);
    }
}

fn produce(run: &Run, number: usize) -> Vec<Call> {
    let mut client = Client::new(&run.address);
    let mut next = 0;
    let mut recent: Vec<Vec<Entry>> = Vec::new();
    while run.producing.load(Ordering::Relaxed) {
        if run.is_backlogged() {
            thread::sleep(Duration::from_millis(5));
            continue;
        }
        let queue = one_of(&SENDS_TO);
        let count = if rand::random_range(0..5) == 0 { rand::random_range(2..=10) } else { 1 };
        let group = format!("{number}.{}", rand::random_range(0..GROUPS));
        let delay = if rand::random_range(0..8) == 0 { 1_000 } else { 0 };
        let is_ordered = queue == ORDERED;
        let entries: Vec<_> = (next..next + count)
            .map(|n| Entry {
                body: format!("{}-{number}-{n}", run.name),
                group: is_ordered.then(|| group.clone()),
                delay: if is_ordered { 0 } else { delay },
            })
            .collect();
        next += count;
        let is_answered = client.send(queue, &entries);
        run.sent.fetch_add(if is_answered { count } else { 0 }, Ordering::Relaxed);
        pause(is_answered);
        if is_ordered {
            recent.push(entries);
            if recent.len() > 20 {
                recent.remove(0);
            }
            // Whether it was answered or not, the same again is the same message.
            if !is_answered || rand::random_range(0..4) == 0 {
                let again = recent[rand::random_range(0..recent.len())].clone();
                pause(client.send(ORDERED, &again));
            }
        }
    }
    client.calls
}

/// Purges, and brings dead letters back.
fn operate(run: &Run) -> Vec<Call> {
    let mut client = Client::new(&run.address);
    while run.producing.load(Ordering::Relaxed) {
        match rand::random_range(0..20) {
            0..2 => {
                client.purge(PURGED);
                // How many are gone nobody says.
                run.sent.store(run.deleted.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            2..5 => client.move_back(DEAD),
            _ => {}
        }
        thread::sleep(Duration::from_millis(100));
    }
    client.calls
}

fn consume(run: &Run, number: usize) -> Vec<Call> {
    let mut client = Client::new(&run.address);
    let mut attempts = 0;
    let mut repeated = None;
    while run.consuming.load(Ordering::Relaxed) {
        let is_repetition = repeated.is_some();
        let queue = if is_repetition { ORDERED } else { one_of(&RECEIVES_FROM) };
        attempts += 1;
        let wants_attempt = queue == ORDERED && number.is_multiple_of(2);
        let fresh = || wants_attempt.then(|| format!("{}-{number}-{attempts}", run.name));
        let attempt = repeated.take().or_else(fresh);
        let outcome = client.receive(queue, TIMEOUT_S, attempt.clone());
        pause(outcome != Outcome::Unknown);
        match outcome {
            Outcome::Done(received) => settle(run, &mut client, queue, &received),
            Outcome::Unknown if !is_repetition => repeated = attempt,
            _ => {}
        }
    }
    client.calls
}

/// Deletes what was received, or does something else with it.
fn settle(run: &Run, client: &mut Client<'_>, queue: &'static str, received: &[Got]) {
    let is_draining = !run.producing.load(Ordering::Relaxed);
    if received.len() > 1 && (is_draining || rand::random_bool(0.3)) {
        let handles: Vec<_> = received.iter().map(|got| &*got.handle).collect();
        let deleted = client.delete_batch(queue, &handles);
        run.deleted.fetch_add(deleted, Ordering::Relaxed);
        return;
    }
    let mut random = rand::rng();
    for got in received {
        match if is_draining { 0 } else { random.random_range(0..20) } {
            // Abandoned, and received again by somebody after its timeout.
            17..19 => continue,
            19 => {
                client.change(queue, &got.handle, 0);
                continue;
            }
            14..17 => {
                client.change(queue, &got.handle, TIMEOUT_S + 1);
                thread::sleep(Duration::from_millis(random.random_range(0..100)));
            }
            13 => thread::sleep(Duration::from_millis(random.random_range(0..300))),
            _ => {}
        }
        let is_deleted = client.delete(queue, &got.handle) == Outcome::Done(());
        run.deleted.fetch_add(is_deleted.into(), Ordering::Relaxed);
    }
}

fn one_of(choices: &[&'static str; 10]) -> &'static str {
    choices[rand::random_range(0..choices.len())]
}

/// Waits a little for the next server.
fn pause(is_answered: bool) {
    if !is_answered {
        thread::sleep(Duration::from_millis(10));
    }
}
