//! Goal: at any moment the messages of a group that are in flight belong to one receive, whatever arrives meanwhile,
//! so that many consumers process each group in order and everything once.
//!
//! Method: a ledger notes who holds which group. A receive is noted after its answer and given up before its last
//! delete is sent, so an honest server can never be seen at fault.

use crate::support::server::{Server, Setup};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

const GROUPS: usize = 10;
const CONSUMERS: usize = 20;
const SENT_BEFORE: usize = 200;
const SENT_MEANWHILE: usize = 50;
const ALL: usize = SENT_BEFORE + SENT_MEANWHILE;
/// Messages of one receive.
const MAX: usize = 3;

fn group_of(number: usize) -> String {
    format!("g{}", number % GROUPS)
}

/// Sends messages with these numbers as bodies, which rise in each group.
fn send(server: &Server, numbers: std::ops::Range<usize>) {
    let client = &mut server.client();
    for batch in numbers.collect::<Vec<_>>().chunks(10) {
        let entry = |number: &usize| {
            let text = number.to_string();
            json!({ "Id": text, "MessageBody": text, "MessageGroupId": group_of(*number),
                    "MessageDeduplicationId": text })
        };
        let entries: Vec<_> = batch.iter().map(entry).collect();
        let sent = client.call("SendMessageBatch", json!({ "QueueUrl": "f.fifo", "Entries": entries }));
        assert_eq!(sent["Successful"].as_array().unwrap().len(), batch.len());
    }
}

fn receive(server: &Server, wait: usize) -> Vec<Value> {
    server.client().receive_with("f.fifo", json!({ "MaxNumberOfMessages": MAX, "WaitTimeSeconds": wait }))
}

/// One receive of every consumer at the same time.
fn receive_at_once(server: &Server) -> Vec<Vec<Value>> {
    let barrier = Barrier::new(CONSUMERS);
    let one = || {
        barrier.wait();
        receive(server, 0)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..CONSUMERS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[derive(Default)]
struct Ledger {
    /// The consumer that has messages of a group in flight.
    holders: HashMap<String, usize>,
    /// Of each group, in the order of processing.
    processed: HashMap<String, Vec<usize>>,
    count: usize,
    violations: Vec<String>,
}

impl Ledger {
    fn hold(&mut self, consumer: usize, groups: &HashSet<String>) {
        for group in groups {
            if let Some(other) = self.holders.insert(group.clone(), consumer) {
                self.violations.push(format!("{consumer} received of {group}, which {other} holds"));
            }
        }
    }
}

fn number(message: &Value) -> usize {
    message["Body"].as_str().unwrap().parse().unwrap()
}

fn group(message: &Value) -> String {
    message["Attributes"]["MessageGroupId"].as_str().unwrap().to_owned()
}

/// Deletes what was received, in order and with pauses.
fn process(server: &Server, ledger: &Mutex<Ledger>, consumer: usize, messages: &[Value]) {
    ledger.lock().unwrap().hold(consumer, &messages.iter().map(group).collect());
    let client = &mut server.client();
    for (index, message) in messages.iter().enumerate() {
        thread::sleep(Duration::from_millis(rand::random_range(0..50)));
        let group_name = group(message);
        {
            let mut ledger = ledger.lock().unwrap();
            ledger.processed.entry(group_name.clone()).or_default().push(number(message));
            if messages[index + 1..].iter().all(|later| group(later) != group_name) {
                let holder = ledger.holders.remove(&group_name);
                assert_eq!(holder, Some(consumer));
            }
        }
        client.delete_all("f.fifo", std::slice::from_ref(message));
        ledger.lock().unwrap().count += 1;
    }
}

#[test]
fn a_group_in_flight_belongs_to_one_receive() {
    let server = Setup::new().start();
    server.client().create_fifo("f.fifo", json!({}));
    send(&server, 0..SENT_BEFORE);

    let first = receive_at_once(&server);
    let holders: Vec<_> = first.iter().filter(|received| !received.is_empty()).collect();
    assert_eq!(holders.len(), GROUPS, "each group was received once");
    let mut groups = HashSet::new();
    for received in holders {
        let first = number(&received[0]);
        let expected: Vec<_> = (0..MAX).map(|step| first + step * GROUPS).collect();
        assert_eq!(received.iter().map(number).collect::<Vec<_>>(), expected, "the first ones of one group");
        assert!(groups.insert(group(&received[0])), "two receives share a group");
    }
    send(&server, SENT_BEFORE..ALL);
    assert!(receive_at_once(&server).iter().all(Vec::is_empty), "new messages unlock nothing");
    let visible = (ALL - GROUPS * MAX) as u64;
    assert_eq!(server.client().counts("f.fifo"), [visible, (GROUPS * MAX) as u64, 0]);

    let ledger = Mutex::new(Ledger::default());
    thread::scope(|scope| {
        for (consumer, mut received) in first.into_iter().enumerate() {
            let (server, ledger) = (&server, &ledger);
            scope.spawn(move || {
                loop {
                    process(server, ledger, consumer, &received);
                    if ledger.lock().unwrap().count >= ALL {
                        return;
                    }
                    received = receive(server, 1);
                }
            });
        }
    });
    let ledger = ledger.into_inner().unwrap();
    assert_eq!(ledger.violations, Vec::<String>::new());
    for index in 0..GROUPS {
        let expected: Vec<_> = (index..ALL).step_by(GROUPS).collect();
        assert_eq!(ledger.processed[&group_of(index)], expected, "in the order of sending, each once");
    }
    assert_eq!(server.client().counts("f.fifo"), [0, 0, 0]);
}
