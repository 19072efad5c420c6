//! Goal: FIFO queues keep the order of each group and deliver nothing twice, across restarts too.

use crate::support::fifo::{bodies, sequence_number};
use crate::support::server::{Server, Setup};
use crate::support::sqs::{Client, errors::INVALID_VALUE};
use crate::support::wait_until;
use serde_json::{Value, json};
use std::thread;

const NOTHING: [Value; 0] = [];

/// Only messages in flight lock a group. The delay is changed instead of waited for: it applies to what is stored.
#[test]
fn a_delayed_message_does_not_hold_up_the_ones_before_it() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create_fifo("d.fifo", json!({ "ContentBasedDeduplication": "true", "DelaySeconds": "1" }));
    client.send_with("d.fifo", "g", "A", json!({}));
    wait_until("the delay of the first message ends", || client.counts("d.fifo") == [1, 0, 0]);
    client.set_attributes("d.fifo", json!({ "DelaySeconds": "900" }));
    client.send_with("d.fifo", "g", "B", json!({ "DelaySeconds": 0 }));
    assert_eq!(client.counts("d.fifo"), [1, 0, 1], "a FIFO message has the queue's delay");

    let first = client.receive("d.fifo", 0);
    assert_eq!(bodies(&first), ["A"]);
    client.delete_all("d.fifo", &first);
    assert_eq!(client.receive("d.fifo", 0), NOTHING);
    client.set_attributes("d.fifo", json!({ "DelaySeconds": "1" }));
    assert_eq!(bodies(&client.receive("d.fifo", 20)), ["B"]);
    let delayed =
        [("QueueUrl", "d.fifo"), ("MessageBody", "C"), ("MessageGroupId", "g"), ("DelaySeconds", "1")];
    client.query("SendMessage", &delayed).assert_error(INVALID_VALUE);
}

/// What makes a second send a duplicate: group and body of the first one and of the second, and whether the
/// deduplication id is the digest of the body.
struct Repeated {
    queue: &'static str,
    first: (&'static str, &'static str),
    second: (&'static str, &'static str),
    by_content: bool,
}

const REPEATED: [Repeated; 4] = [
    Repeated { queue: "f.fifo", first: ("1", "other body"), second: ("1", "body"), by_content: false },
    Repeated { queue: "content.fifo", first: ("1", "same"), second: ("1", "same"), by_content: true },
    Repeated { queue: "groups.fifo", first: ("1", "m"), second: ("2", "m"), by_content: false },
    Repeated { queue: "scoped.fifo", first: ("1", "m"), second: ("1", "n"), by_content: false },
];

impl Repeated {
    fn send(&self, client: &mut Client, (group, body): (&str, &str)) -> Value {
        let id = if self.by_content { json!({}) } else { json!({ "MessageDeduplicationId": "x" }) };
        client.send_with(self.queue, group, body, id)
    }

    /// Sends once more and expects the answer of the first one, and nothing to be delivered.
    fn assert_remembered(&self, client: &mut Client, first: &Value, when: &str) {
        let second = self.send(client, self.second);
        for name in ["MessageId", "SequenceNumber"] {
            assert_eq!(second[name], first[name], "{} {when}", self.queue);
        }
        assert_eq!(client.receive(self.queue, 0), NOTHING, "{} {when}", self.queue);
        assert_eq!(client.counts(self.queue), [0, 0, 0], "{} {when}", self.queue);
    }
}

#[test]
fn what_was_received_and_deleted_is_not_delivered_again_when_it_is_sent_again() {
    let setup = Setup::new();
    let mut server = setup.start();
    let client = &mut server.client();
    let mut sent = Vec::new();
    for case in &REPEATED {
        let mut attributes = json!({ "ContentBasedDeduplication": case.by_content.to_string() });
        if case.queue == "scoped.fifo" {
            attributes["DeduplicationScope"] = json!("messageGroup");
        }
        client.create_fifo(case.queue, attributes);
        sent.push(case.send(client, case.first));
        let received = client.receive(case.queue, 0);
        assert_eq!(bodies(&received), [case.first.1]);
        client.delete_all(case.queue, &received);
    }
    let check = |server: &Server, when: &str| {
        for (case, first) in REPEATED.iter().zip(&sent) {
            case.assert_remembered(&mut server.client(), first, when);
        }
    };
    // Restarts come between the delete and the first repetition.
    server.kill();
    server = setup.start();
    check(&server, "after a crash");
    // Duplicates change nothing, and without a change a stop stores no checkpoint.
    server.client().create("other");
    server.stop();
    server = setup.start();
    check(&server, "after a clean stop");
    server.kill();
    server = setup.start();
    check(&server, "after a crash of what was restored");

    let client = &mut server.client();
    for case in &REPEATED {
        client.send_to(case.queue, "1", "y", "new");
        assert_eq!(bodies(&client.receive(case.queue, 0)), ["new"]);
    }
    client.send_to("scoped.fifo", "2", "x", "another group");
    assert_eq!(bodies(&client.receive("scoped.fifo", 0)), ["another group"]);
}

#[test]
fn a_purge_clears_the_memory_for_duplicates() {
    let setup = Setup::new().without_cooldowns();
    let mut server = setup.start();
    let client = &mut server.client();
    client.create_fifo("f.fifo", json!({}));
    let first = client.send_to("f.fifo", "g", "x", "first");
    let received = client.receive("f.fifo", 0);
    client.call("PurgeQueue", json!({ "QueueUrl": "f.fifo" }));
    let second = client.send_to("f.fifo", "g", "x", "second");
    assert!(sequence_number(&second) > sequence_number(&first));
    assert_ne!(second["MessageId"], first["MessageId"]);
    assert_eq!(client.delete("f.fifo", &received[0]).status, 200, "it is gone");
    assert_eq!(bodies(&client.receive("f.fifo", 0)), ["second"], "the group is free");

    client.call("PurgeQueue", json!({ "QueueUrl": "f.fifo" }));
    server.kill();
    server = setup.start();
    let client = &mut server.client();
    assert!(sequence_number(&client.send_to("f.fifo", "g", "x", "third")) > sequence_number(&second));
    assert_eq!(bodies(&client.receive("f.fifo", 0)), ["third"]);
}

#[test]
fn sequence_numbers_keep_rising_whatever_happens_between() {
    let setup = Setup::new().without_cooldowns();
    let mut server = setup.start();
    server.client().create_fifo("f.fifo", json!({}));
    let mut newest = 0;
    let mut send = |server: &Server| {
        let client = &mut server.client();
        let id = newest.to_string();
        let entry = |entry: &str| {
            json!({ "Id": entry, "MessageBody": entry, "MessageGroupId": "g",
                    "MessageDeduplicationId": format!("{id}-{entry}") })
        };
        let batch = json!({ "QueueUrl": "f.fifo", "Entries": [entry("a"), entry("b"), entry("c")] });
        let sent = client.call("SendMessageBatch", batch)["Successful"].as_array().unwrap().clone();
        let numbers: Vec<_> = sent.iter().map(sequence_number).collect();
        assert!(newest < numbers[0] && numbers.is_sorted_by(|a, b| a < b), "{newest}, then {numbers:?}");
        newest = numbers[2];
        let received = client.receive("f.fifo", 0);
        assert_eq!(received.iter().map(sequence_number).collect::<Vec<_>>(), numbers);
        client.delete_all("f.fifo", &received);
    };
    send(&server);
    server.kill();
    server = setup.start();
    send(&server);
    server.stop();
    server = setup.start();
    // Nothing is left in the log or the checkpoint but that there were messages.
    server.client().call("PurgeQueue", json!({ "QueueUrl": "f.fifo" }));
    server.stop();
    server = setup.start();
    send(&server);
    server.client().call("DeleteQueue", json!({ "QueueUrl": "f.fifo" }));
    server.client().create_fifo("f.fifo", json!({}));
    server.kill();
    server = setup.start();
    send(&server);
}

/// A poll that waits behind a message in flight, and what it gets once `unlock` was called with that message.
#[track_caller]
fn check_wake(unlock: impl FnOnce(&mut Client, &Value), expected: &[&str]) {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create_fifo("f.fifo", json!({}));
    for body in ["m1", "m2"] {
        client.send_to("f.fifo", "g", body, body);
    }
    let first = client.receive_with("f.fifo", json!({ "MaxNumberOfMessages": 1 })).remove(0);
    thread::scope(|scope| {
        let poll = scope.spawn(|| server.client().receive("f.fifo", 20));
        server.wait_for_polls(1);
        // A new message does not unlock its group.
        client.send_to("f.fifo", "g", "m3", "m3");
        server.wait_for_polls(1);
        unlock(client, &first);
        // Nothing else becomes visible within the twenty seconds.
        assert_eq!(bodies(&poll.join().unwrap()), expected);
    });
}

#[test]
fn a_poll_wakes_when_a_delete_unlocks_its_group() {
    check_wake(|client, first| assert_eq!(client.delete("f.fifo", first).status, 200), &["m2", "m3"]);
}

#[test]
fn a_poll_wakes_when_the_message_before_is_given_up() {
    let all = ["m1", "m2", "m3"];
    check_wake(|client, first| assert_eq!(client.change_visibility("f.fifo", first, 0).status, 200), &all);
}

#[test]
fn a_poll_wakes_when_a_visibility_timeout_unlocks_its_group() {
    let all = ["m1", "m2", "m3"];
    check_wake(|client, first| assert_eq!(client.change_visibility("f.fifo", first, 1).status, 200), &all);
}

#[test]
fn attributes_of_fifo_queues_are_read_back() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create_with("f.fifo", json!({ "FifoQueue": "true" }));
    let fresh = client.attributes("f.fifo");
    let expected = [
        ("FifoQueue", "true"),
        ("ContentBasedDeduplication", "false"),
        ("DeduplicationScope", "queue"),
        ("FifoThroughputLimit", "perQueue"),
    ];
    for (name, value) in expected {
        assert_eq!(fresh[name], value);
    }
    assert_eq!(fresh.as_object().unwrap().len(), 16, "the twelve of a standard queue, and these: {fresh}");
    for (name, value) in [
        ("FifoQueue", "true"),
        ("ContentBasedDeduplication", "true"),
        ("DeduplicationScope", "messageGroup"),
        ("FifoThroughputLimit", "perMessageGroupId"),
        ("FifoThroughputLimit", "perQueue"),
        ("DeduplicationScope", "queue"),
        ("ContentBasedDeduplication", "false"),
    ] {
        let answer = client.set_attributes("f.fifo", json!({ name: value }));
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert_eq!(client.attributes("f.fifo")[name], value);
        let form = [("QueueUrl", "f.fifo"), ("AttributeName.1", name)];
        let found = client.query_call("GetQueueAttributes", &form).map("Attribute", "Name", "Value");
        assert_eq!(found, [(name.to_owned(), value.to_owned())]);
    }
}
