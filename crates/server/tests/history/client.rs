//! A client that writes down what it does.

use crate::record::{Act, Call, Entry, Got, Outcome, Sent, now};
use crate::support::fifo::sequence_number;
use crate::support::http::{Answer, Connection, request};
use crate::support::sqs::{JSON, messages, receive_count};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::RwLock;

/// Where the server is that runs now.
pub(crate) type Address = RwLock<SocketAddr>;

pub(crate) struct Client<'a> {
    address: &'a Address,
    connection: Option<Connection>,
    pub(crate) calls: Vec<Call>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(address: &'a Address) -> Self {
        Client { address, connection: None, calls: Vec::new() }
    }

    /// Sends up to ten messages; whether there was an answer.
    pub(crate) fn send(&mut self, queue: &'static str, entries: &[Entry]) -> bool {
        let start = now();
        let batch: Vec<_> = entries.iter().enumerate().map(|(id, entry)| of_entry(id, entry)).collect();
        let answer = self.call("SendMessageBatch", &json!({ "QueueUrl": queue, "Entries": batch }));
        let whole = outcome(answer, |answer| answer);
        for (id, entry) in entries.iter().enumerate() {
            let outcome = of_batch(&whole, id).map(of_sent);
            self.note(start, Act::Send { queue, entry: entry.clone(), outcome });
        }
        whole != Outcome::Unknown
    }

    /// Receives up to ten messages, which stay hidden for `seconds`.
    pub(crate) fn receive(
        &mut self,
        queue: &'static str,
        seconds: u64,
        attempt: Option<String>,
    ) -> Outcome<Vec<Got>> {
        let start = now();
        let mut body = json!({
            "QueueUrl": queue, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1, "VisibilityTimeout": seconds,
            "MessageSystemAttributeNames": ["All"],
        });
        if let Some(attempt) = &attempt {
            body["ReceiveRequestAttemptId"] = json!(attempt);
        }
        let answer = self.call("ReceiveMessage", &body);
        let outcome = outcome(answer, |answer| messages(&answer).iter().map(of_received).collect());
        let act = Act::Receive { queue, attempt, timeout: seconds * 1_000, outcome: outcome.clone() };
        self.note(start, act);
        outcome
    }

    pub(crate) fn delete(&mut self, queue: &'static str, handle: &str) -> Outcome<()> {
        let start = now();
        let answer = self.call("DeleteMessage", &json!({ "QueueUrl": queue, "ReceiptHandle": handle }));
        let outcome = outcome(answer, drop);
        self.note(start, Act::Delete { handle: handle.to_owned(), outcome: outcome.clone() });
        outcome
    }

    /// Deletes several with one request; how many certainly.
    pub(crate) fn delete_batch(&mut self, queue: &'static str, handles: &[&str]) -> u64 {
        let start = now();
        let entry = |(id, handle): (usize, &&str)| json!({ "Id": id.to_string(), "ReceiptHandle": handle });
        let entries: Vec<_> = handles.iter().enumerate().map(entry).collect();
        let answer = self.call("DeleteMessageBatch", &json!({ "QueueUrl": queue, "Entries": entries }));
        let whole = outcome(answer, |answer| answer);
        let mut deleted = 0;
        for (id, handle) in handles.iter().enumerate() {
            let outcome = of_batch(&whole, id).map(drop);
            deleted += u64::from(outcome == Outcome::Done(()));
            self.note(start, Act::Delete { handle: (*handle).to_owned(), outcome });
        }
        deleted
    }

    pub(crate) fn change(&mut self, queue: &'static str, handle: &str, seconds: u64) -> Outcome<()> {
        let start = now();
        let body = json!({ "QueueUrl": queue, "ReceiptHandle": handle, "VisibilityTimeout": seconds });
        let outcome = outcome(self.call("ChangeMessageVisibility", &body), drop);
        let (handle, timeout) = (handle.to_owned(), seconds * 1_000);
        self.note(start, Act::Change { handle, timeout, outcome: outcome.clone() });
        outcome
    }

    pub(crate) fn purge(&mut self, queue: &'static str) {
        let start = now();
        let outcome = outcome(self.call("PurgeQueue", &json!({ "QueueUrl": queue })), drop);
        self.note(start, Act::Purge { queue, outcome });
    }

    pub(crate) fn move_back(&mut self, queue: &'static str) {
        let start = now();
        let source = format!("arn:aws:sqs:us-east-1:000000000000:{queue}");
        let outcome = outcome(self.call("StartMessageMoveTask", &json!({ "SourceArn": source })), drop);
        self.note(start, Act::Move { queue, outcome });
    }

    fn note(&mut self, start: u64, act: Act) {
        self.calls.push(Call { start, end: now(), act });
    }

    fn call(&mut self, action: &str, body: &Value) -> io::Result<Answer> {
        let target = format!("AmazonSQS.{action}");
        let headers = [("X-Amz-Target", target.as_str()), ("Content-Type", JSON)];
        let bytes = request("POST", "/", &headers, body.to_string().as_bytes());
        let mut connection = match self.connection.take() {
            Some(open) => open,
            None => Connection::open(*self.address.read().unwrap())?,
        };
        connection.write(&bytes)?;
        let answer = connection.read()?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

/// What is known after an answer, or after none. One that blames the server promises nothing.
fn outcome<T>(answer: io::Result<Answer>, read: impl FnOnce(Value) -> T) -> Outcome<T> {
    match answer {
        Ok(answer) if answer.status == 200 => Outcome::Done(read(answer.json())),
        Ok(answer) if answer.status < 500 => Outcome::Refused(answer.text()),
        Ok(_) | Err(_) => Outcome::Unknown,
    }
}

/// The outcome of one entry of a batch.
fn of_batch(whole: &Outcome<Value>, id: usize) -> Outcome<&Value> {
    let name = id.to_string();
    let is_entry = |entry: &&Value| entry["Id"] == *name;
    match whole {
        Outcome::Done(answer) => {
            let done = answer["Successful"].as_array().into_iter().flatten().find(is_entry);
            done.map_or_else(|| Outcome::Refused(answer["Failed"].to_string()), Outcome::Done)
        }
        Outcome::Refused(text) => Outcome::Refused(text.clone()),
        Outcome::Unknown => Outcome::Unknown,
    }
}

fn of_entry(id: usize, entry: &Entry) -> Value {
    let mut value = json!({ "Id": id.to_string(), "MessageBody": entry.body });
    match &entry.group {
        Some(group) => {
            value["MessageGroupId"] = json!(group);
            value["MessageDeduplicationId"] = json!(entry.body);
        }
        None => value["DelaySeconds"] = json!(entry.delay / 1_000),
    }
    value
}

fn of_sent(answer: &Value) -> Sent {
    let sequence = answer.get("SequenceNumber").map(|_| sequence_number(answer));
    Sent { id: answer["MessageId"].as_str().unwrap().to_owned(), sequence }
}

fn of_received(message: &Value) -> Got {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let attributes = &message["Attributes"];
    Got {
        body: text(&message["Body"]),
        id: text(&message["MessageId"]),
        handle: text(&message["ReceiptHandle"]),
        count: receive_count(message),
        group: attributes["MessageGroupId"].as_str().map(str::to_owned),
        sequence: attributes.get("SequenceNumber").map(|_| sequence_number(message)),
    }
}
