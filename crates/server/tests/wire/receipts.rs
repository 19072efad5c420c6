//! Goal: what a receipt handle is good for after its visibility timeout, which differs between the types of queues.
//!
//! Method: a second message whose timeout ends at the same time tells when the time has come.

use crate::support::fifo::bodies;
use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::*, receive_count};
use crate::support::wait_until;
use serde_json::{Value, json};

/// Both types of queues, with what a send needs.
const QUEUES: [&str; 2] = ["standard", "f.fifo"];

fn create(client: &mut Client, queue: &str) {
    if queue.ends_with(".fifo") {
        client.create_fifo(queue, json!({}));
    } else {
        client.create_with(queue, json!({ "VisibilityTimeout": "600" }));
    }
}

/// Sends a message of a group of its own.
fn send(client: &mut Client, queue: &str, body: &str) {
    if queue.ends_with(".fifo") {
        client.send_to(queue, body, body, body);
    } else {
        client.send(queue, body);
    }
}

/// A message whose handle's visibility timeout of a second is over.
fn receive_and_let_go(client: &mut Client, queue: &str) -> Value {
    let received = client.receive_with(queue, json!({ "VisibilityTimeout": 1 }));
    let [message] = &received[..] else { panic!("{received:?}") };
    wait_until("the visibility timeout ends", || client.counts(queue) == [1, 0, 0]);
    message.clone()
}

#[track_caller]
fn assert_expired(client: &mut Client, action: &str, message: &Value) {
    let handle = message["ReceiptHandle"].as_str().unwrap();
    let text = format!(
        "Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
    );
    let mut body = json!({ "QueueUrl": "f.fifo", "ReceiptHandle": handle });
    let mut form = vec![("QueueUrl", "f.fifo"), ("ReceiptHandle", handle)];
    if action == "ChangeMessageVisibility" {
        body["VisibilityTimeout"] = json!(10);
        form.push(("VisibilityTimeout", "10"));
    }
    assert_eq!(client.json(action, &body).assert_error(INVALID_VALUE), text);
    assert_eq!(client.query(action, &form).assert_error(INVALID_VALUE), text);
}

#[test]
fn a_late_delete_on_a_standard_queue_deletes() {
    let server = Setup::new().start();
    let client = &mut server.client();
    create(client, "standard");
    send(client, "standard", "m");
    let late = receive_and_let_go(client, "standard");
    assert_eq!(client.change_visibility("standard", &late, 600).status, 200);
    assert_eq!(client.counts("standard"), [0, 1, 0], "a late change hides it again");
    assert_eq!(client.change_visibility("standard", &late, 0).status, 200);
    assert_eq!(client.counts("standard"), [1, 0, 0]);
    assert_eq!(client.delete("standard", &late).status, 200);
    assert_eq!(client.counts("standard"), [0, 0, 0]);
}

#[test]
fn a_late_delete_on_a_fifo_queue_is_refused_and_the_message_stays() {
    let setup = Setup::new();
    let server = setup.start();
    let client = &mut server.client();
    create(client, "f.fifo");
    send(client, "f.fifo", "m");
    let late = receive_and_let_go(client, "f.fifo");
    assert_expired(client, "DeleteMessage", &late);
    assert_expired(client, "ChangeMessageVisibility", &late);
    assert_eq!(client.counts("f.fifo"), [1, 0, 0]);
    server.kill();

    let server = setup.start();
    let client = &mut server.client();
    assert_expired(client, "DeleteMessage", &late);
    let again = client.receive("f.fifo", 0);
    assert_eq!(receive_count(&again[0]), 2);
    // It is in flight, but not by that handle.
    assert_expired(client, "DeleteMessage", &late);
    assert_expired(client, "ChangeMessageVisibility", &late);
    let entry = |id: &str, message: &Value| json!({ "Id": id, "ReceiptHandle": message["ReceiptHandle"] });
    let entries = [entry("late", &late), entry("newest", &again[0])];
    let deleted = client.call("DeleteMessageBatch", json!({ "QueueUrl": "f.fifo", "Entries": entries }));
    assert_eq!(deleted["Successful"][0]["Id"], "newest");
    assert_eq!(deleted["Failed"][0]["Id"], "late");
    assert_eq!(deleted["Failed"][0]["Code"], "InvalidParameterValue");
    assert_eq!(client.counts("f.fifo"), [0, 0, 0]);
    assert_eq!(client.delete("f.fifo", &late).status, 200, "what is gone is no error");
}

#[test]
fn a_delete_on_a_fifo_queue_is_in_time_as_long_as_the_visibility_was_extended() {
    let server = Setup::new().start();
    let client = &mut server.client();
    create(client, "f.fifo");
    send(client, "f.fifo", "extended");
    send(client, "f.fifo", "clock");
    let received = client.receive_with("f.fifo", json!({ "VisibilityTimeout": 2 }));
    assert_eq!(bodies(&received), ["extended", "clock"]);
    let answer = client.change_visibility("f.fifo", &received[0], 600);
    assert_eq!(answer.status, 200, "{}", answer.text());
    wait_until("the timeout of the other one ends", || client.counts("f.fifo") == [1, 1, 0]);
    assert_eq!(client.delete("f.fifo", &received[0]).status, 200);
    assert_expired(client, "DeleteMessage", &received[1]);
    assert_eq!(client.counts("f.fifo"), [1, 0, 0]);
}

#[test]
fn deletes_can_be_repeated_and_changes_of_what_is_gone_are_refused() {
    let server = Setup::new().start();
    let client = &mut server.client();
    for queue in QUEUES {
        create(client, queue);
        send(client, queue, "m");
        let message = client.receive(queue, 0).remove(0);
        for _ in 0..3 {
            assert_eq!(client.delete(queue, &message).status, 200);
        }
        let text = client.change_visibility(queue, &message, 10).assert_error(INVALID_VALUE);
        assert!(text.ends_with("not available for visibility timeout change."), "{text}");
        for junk in ["junk", "AAAA"] {
            let junk = json!({ "ReceiptHandle": junk });
            client.delete(queue, &junk).assert_error(HANDLE);
            client.change_visibility(queue, &junk, 10).assert_error(HANDLE);
        }
    }
}
