//! Calls on FIFO queues, and what is to be read out of their messages.

use super::http::Answer;
use super::sqs::Client;
use serde_json::{Value, json};

impl Client {
    /// Creates a FIFO queue with a visibility timeout that no test lives to see the end of; its URL.
    pub fn create_fifo(&mut self, name: &str, attributes: Value) -> String {
        let mut all = json!({ "FifoQueue": "true", "VisibilityTimeout": "600" });
        all.as_object_mut().unwrap().extend(attributes.as_object().unwrap().clone());
        self.create_with(name, all)
    }

    /// Sends a message to a group; the whole answer.
    pub fn send_to(&mut self, queue: &str, group: &str, deduplication_id: &str, body: &str) -> Value {
        let id = json!({ "MessageDeduplicationId": deduplication_id });
        self.send_with(queue, group, body, id)
    }

    /// Sends a message to a group with further parameters; the whole answer.
    pub fn send_with(&mut self, queue: &str, group: &str, body: &str, more: Value) -> Value {
        let mut message = json!({ "QueueUrl": queue, "MessageBody": body, "MessageGroupId": group });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.call("SendMessage", message)
    }

    /// Deletes a received message, if the server lets it.
    pub fn delete(&mut self, queue: &str, message: &Value) -> Answer {
        let body = json!({ "QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"] });
        self.json("DeleteMessage", &body)
    }

    /// Deletes received messages one after the other.
    #[track_caller]
    pub fn delete_all(&mut self, queue: &str, messages: &[Value]) {
        for message in messages {
            let answer = self.delete(queue, message);
            assert_eq!(answer.status, 200, "{message}: {}", answer.text());
        }
    }

    /// Changes the visibility timeout of a received message, if the server lets it.
    pub fn change_visibility(&mut self, queue: &str, message: &Value, seconds: u32) -> Answer {
        let handle = &message["ReceiptHandle"];
        let body = json!({ "QueueUrl": queue, "ReceiptHandle": handle, "VisibilityTimeout": seconds });
        self.json("ChangeMessageVisibility", &body)
    }
}

/// One text of each message: a field, or a system attribute.
pub fn texts<'m>(messages: &'m [Value], name: &str) -> Vec<&'m str> {
    let text = |message: &'m Value| {
        message.get(name).unwrap_or(&message["Attributes"][name]).as_str().unwrap_or_default()
    };
    messages.iter().map(text).collect()
}

/// The bodies of messages.
pub fn bodies(messages: &[Value]) -> Vec<&str> {
    texts(messages, "Body")
}

/// The sequence number in the answer to a send, of a received message, or of a batch's entry.
pub fn sequence_number(of: &Value) -> u128 {
    let text = of.get("SequenceNumber").unwrap_or(&of["Attributes"]["SequenceNumber"]);
    let text = text.as_str().unwrap_or_else(|| panic!("no sequence number: {of}"));
    assert_eq!(text.len(), 20, "{text}");
    text.parse().unwrap()
}
