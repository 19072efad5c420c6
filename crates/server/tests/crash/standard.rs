//! The clients of the standard queue, and what they hold the server to.

use super::{Client, Run};
use crate::support::sqs::{messages, receive_count};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const QUEUE: &str = "work";
/// After so long a delete may have come too late, and the message may come again.
const SURELY_IN_TIME: Duration = Duration::from_secs(6);
/// Producers wait for the consumers beyond it.
const BACKLOG_MAX: usize = 5_000;

const _: () = assert!(SURELY_IN_TIME.as_secs() < super::VISIBILITY_TIMEOUT.as_secs());

/// What was promised, by message body, which is unique.
#[derive(Default)]
pub(crate) struct Ledger {
    acknowledged: HashMap<String, Instant>,
    /// Sent without an answer: may be there or not.
    doubtful: HashMap<String, Instant>,
    deleted: HashMap<String, Instant>,
    /// Deleted so late that the message may have been visible again: it may come once more, or not.
    late: HashSet<String>,
    /// Acknowledged messages that no delete was acknowledged for.
    undeleted: usize,
    received: HashMap<String, (u32, Instant)>,
    pub(crate) violations: Vec<String>,
}

impl Ledger {
    pub(crate) fn undeleted(&self) -> usize {
        self.undeleted
    }

    /// How many deletes were acknowledged in time.
    pub(crate) fn settled(&self) -> usize {
        self.deleted.len()
    }

    pub(crate) fn summary(&self) -> String {
        format!(
            "standard: {} sends acknowledged, {} in doubt, {} deletes acknowledged, {} of them late",
            self.acknowledged.len(),
            self.doubtful.len(),
            self.deleted.len() + self.late.len(),
            self.late.len()
        )
    }

    /// Whether every promise was kept, and there were many.
    pub(crate) fn check(&self, rounds: usize) {
        assert_eq!(self.violations, Vec::<String>::new());
        assert!(self.acknowledged.len() > rounds * 50, "the server was under load");
    }

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

pub(crate) fn produce(run: &Run, number: usize) {
    let mut client = Client::new(run);
    let mut next = 0;
    while run.producing.load(Ordering::Relaxed) {
        if run.standard.lock().unwrap().undeleted > BACKLOG_MAX {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let count = if next % 5 == 0 { 10 } else { 1 };
        let bodies: Vec<_> = (next..next + count).map(|n| format!("{number}-{n}")).collect();
        next += count;
        let now = Instant::now();
        run.standard.lock().unwrap().doubtful.extend(bodies.iter().map(|body| (body.clone(), now)));
        let entry = |(id, body): (usize, &String)| json!({ "Id": id.to_string(), "MessageBody": body });
        let answer = match &bodies[..] {
            [body] => client.call("SendMessage", &json!({ "QueueUrl": QUEUE, "MessageBody": body })),
            _ => {
                let entries: Vec<_> = bodies.iter().enumerate().map(entry).collect();
                client.call("SendMessageBatch", &json!({ "QueueUrl": QUEUE, "Entries": entries }))
            }
        };
        let Ok(answer) = answer else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        assert_eq!(answer.status, 200, "{}", answer.text());
        let mut ledger = run.standard.lock().unwrap();
        for body in bodies {
            ledger.acknowledge(body);
        }
    }
}

pub(crate) fn consume(run: &Run) {
    let mut client = Client::new(run);
    while run.consuming.load(Ordering::Relaxed) {
        let start = Instant::now();
        let receive = json!({
            "QueueUrl": QUEUE, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1,
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
            run.standard.lock().unwrap().receive(body, receive_count(message), start);
        }
        // A server that dies meanwhile is asked again after its restart, with the same handles.
        for message in received {
            let delete = json!({ "QueueUrl": QUEUE, "ReceiptHandle": message["ReceiptHandle"] });
            let Some(answer) = client.call_until_answered("DeleteMessage", &delete) else { return };
            assert_eq!(answer.status, 200, "{}", answer.text());
            let body = message["Body"].as_str().unwrap().to_owned();
            run.standard.lock().unwrap().delete(body, start);
        }
    }
}
