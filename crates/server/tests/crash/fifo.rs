//! The clients of the FIFO queue, and what they hold the server to.
//!
//! A producer repeats each send until it is answered, and some of them afterwards, so that everything it numbers is
//! accepted exactly once. Half of the consumers repeat a receive whose answer was lost by its attempt id. A consumer
//! deletes in order and stops at a delete that came too late, so messages of a group are deleted in order, too.

use super::{Client, Run};
use crate::support::fifo::sequence_number;
use crate::support::sqs::messages;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const QUEUE: &str = "work.fifo";
/// Each producer has groups of its own, so that it knows their order.
const GROUPS_OF_PRODUCER: usize = 4;
/// Producers wait for the consumers beyond it.
const BACKLOG_MAX: usize = 2_000;
/// Acknowledged messages of a producer that it may send again.
const RECENT: usize = 200;
/// A duplicate is one for five minutes; the answer to the first send says when at the latest they began.
const SURELY_A_DUPLICATE: Duration = Duration::from_secs(240);

/// What was promised, by group.
#[derive(Default)]
pub(crate) struct Ledger {
    groups: BTreeMap<String, Group>,
    /// Duplicates that were answered as such.
    duplicates: usize,
    /// Deletes that were refused because the visibility timeout was over.
    refused: usize,
    pub(crate) violations: Vec<String>,
}

/// A group's messages are numbered from 0 on, in the order of their sends.
#[derive(Default)]
struct Group {
    /// So many messages were acknowledged.
    acknowledged: usize,
    /// So many messages, from the first one on, had a delete sent.
    delete_sent: usize,
    /// When deletes were acknowledged.
    deleted: HashMap<usize, Instant>,
}

impl Ledger {
    /// Acknowledged messages that no delete was acknowledged for.
    pub(crate) fn undeleted(&self) -> usize {
        // A consumer may have been faster than the answer to the send.
        self.groups.values().map(|group| group.acknowledged.saturating_sub(group.deleted.len())).sum()
    }

    /// How many deletes were acknowledged.
    pub(crate) fn settled(&self) -> usize {
        self.groups.values().map(|group| group.deleted.len()).sum()
    }

    fn acknowledged(&self) -> usize {
        self.groups.values().map(|group| group.acknowledged).sum()
    }

    pub(crate) fn summary(&self) -> String {
        format!(
            "FIFO: {} sends acknowledged, {} duplicates, {} deletes acknowledged, {} refused as late",
            self.acknowledged(),
            self.duplicates,
            self.settled(),
            self.refused
        )
    }

    /// Whether every promise was kept, and there were many.
    pub(crate) fn check(&self, rounds: usize) {
        assert_eq!(self.violations, Vec::<String>::new());
        for (name, group) in &self.groups {
            assert_eq!(group.deleted.len(), group.acknowledged, "{name}");
        }
        assert!(self.acknowledged() > rounds * 50 && self.duplicates > rounds, "the server was under load");
    }

    fn group(&mut self, name: &str) -> &mut Group {
        if !self.groups.contains_key(name) {
            self.groups.insert(name.to_owned(), Group::default());
        }
        self.groups.get_mut(name).unwrap()
    }

    /// Notes the messages of one receive that started at `start`.
    fn receive(&mut self, received: &[(String, usize)], start: Instant) {
        let mut next_in_receive = HashMap::new();
        for (name, number) in received {
            let group = self.group(name);
            let is_deleted = group.deleted.get(number).is_some_and(|deleted| *deleted < start);
            let in_order = match next_in_receive.insert(name, number + 1) {
                Some(next) => *number == next,
                None => *number <= group.delete_sent,
            };
            if is_deleted {
                self.violations.push(format!("{number} of {name} came after its delete was acknowledged"));
            } else if !in_order {
                self.violations.push(format!("{number} of {name} came out of order: {received:?}"));
            }
        }
    }

    fn send_delete(&mut self, name: &str, number: usize) {
        let group = self.group(name);
        group.delete_sent = group.delete_sent.max(number + 1);
    }
}

/// An acknowledged message that may be sent again.
struct Sent {
    entry: Value,
    answer: Value,
    at: Instant,
}

pub(crate) fn produce(run: &Run, number: usize) {
    let mut client = Client::new(run);
    let mut next = [0; GROUPS_OF_PRODUCER];
    let mut newest = [0; GROUPS_OF_PRODUCER];
    let mut recent = VecDeque::new();
    while run.producing.load(Ordering::Relaxed) {
        if run.fifo.lock().unwrap().undeleted() > BACKLOG_MAX {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let index = rand::random_range(0..GROUPS_OF_PRODUCER);
        let group = format!("{number}.{index}");
        let count = if rand::random_range(0..5) == 0 { 10 } else { 1 };
        let entries: Vec<_> = (next[index]..next[index] + count).map(|n| entry(&group, n)).collect();
        // Sent again and again with the same ids: only the first one that is accepted counts.
        let batch = json!({ "QueueUrl": QUEUE, "Entries": entries });
        let Some(answer) = client.call_until_answered("SendMessageBatch", &batch) else { return };
        let sent = answer.json()["Successful"].as_array().cloned().unwrap_or_default();
        assert_eq!(sent.len(), count, "{}", answer.text());
        next[index] += count;
        run.fifo.lock().unwrap().group(&group).acknowledged = next[index];
        for (entry, answer) in entries.into_iter().zip(sent) {
            let sequence = sequence_number(&answer);
            if sequence <= newest[index] {
                let violation = format!("{entry}: sequence number {sequence} after {}", newest[index]);
                run.fifo.lock().unwrap().violations.push(violation);
            }
            newest[index] = sequence;
            recent.push_front(Sent { entry, answer, at: Instant::now() });
        }
        recent.truncate(RECENT);
        if rand::random_range(0..4) == 0 {
            repeat(run, &mut client, &recent[rand::random_range(0..recent.len())]);
        }
    }
}

fn entry(group: &str, number: usize) -> Value {
    let body = format!("{group}/{number}");
    json!({ "Id": number.to_string(), "MessageBody": body, "MessageGroupId": group, "MessageDeduplicationId": body })
}

/// Sends an accepted message again, which may be deleted long since.
fn repeat(run: &Run, client: &mut Client<'_>, sent: &Sent) {
    let batch = json!({ "QueueUrl": QUEUE, "Entries": [sent.entry] });
    let Ok(answer) = client.call("SendMessageBatch", &batch) else { return };
    let answer = &answer.json()["Successful"][0];
    if sent.at.elapsed() > SURELY_A_DUPLICATE {
        return;
    }
    let mut ledger = run.fifo.lock().unwrap();
    ledger.duplicates += 1;
    if *answer != sent.answer {
        ledger.violations.push(format!("{} was repeated as {answer}", sent.answer));
    }
}

pub(crate) fn consume(run: &Run, number: usize) {
    let mut client = Client::new(run);
    let mut attempts = 0;
    while run.consuming.load(Ordering::Relaxed) {
        let mut receive = json!({ "QueueUrl": QUEUE, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1 });
        if number.is_multiple_of(2) {
            receive["ReceiveRequestAttemptId"] = json!(format!("{number}-{attempts}"));
        }
        let start = Instant::now();
        let Ok(answer) = client.call("ReceiveMessage", &receive) else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        attempts += 1;
        assert_eq!(answer.status, 200, "{}", answer.text());
        settle(run, &mut client, &messages(&answer.json()), start);
    }
}

/// Deletes in order what a receive that started at `start` got.
fn settle(run: &Run, client: &mut Client<'_>, received: &[Value], start: Instant) {
    let numbers: Vec<_> = received.iter().map(parse).collect();
    run.fifo.lock().unwrap().receive(&numbers, start);
    let mut lost = HashSet::new();
    for (message, (group, number)) in received.iter().zip(&numbers) {
        if lost.contains(group) {
            continue;
        }
        run.fifo.lock().unwrap().send_delete(group, *number);
        let delete = json!({ "QueueUrl": QUEUE, "ReceiptHandle": message["ReceiptHandle"] });
        let Some(answer) = client.call_until_answered("DeleteMessage", &delete) else { return };
        let mut ledger = run.fifo.lock().unwrap();
        if answer.status == 200 {
            ledger.group(group).deleted.entry(*number).or_insert_with(Instant::now);
        } else {
            assert!(answer.text().contains("The receipt handle has expired."), "{}", answer.text());
            ledger.refused += 1;
            lost.insert(group);
        }
    }
}

/// Group and number of a message.
fn parse(message: &Value) -> (String, usize) {
    let (group, number) = message["Body"].as_str().unwrap().split_once('/').unwrap();
    (group.to_owned(), number.parse().unwrap())
}
