//! Goal: a receive from a FIFO queue whose answer was lost can be repeated by its attempt id.

use crate::support::fifo::{bodies, texts};
use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::INVALID_VALUE, receive_count};
use crate::support::wait_until;
use serde_json::{Value, json};

fn attempt(id: &str) -> Value {
    json!({ "ReceiveRequestAttemptId": id })
}

fn create(client: &mut Client) {
    client.create_fifo("f.fifo", json!({}));
    for (group, body) in [("g", "g1"), ("g", "g2"), ("h", "h1")] {
        client.send_to("f.fifo", group, body, body);
    }
}

#[track_caller]
fn assert_void(client: &mut Client, id: &str) {
    let text = format!(
        "Value {id} for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is not \
         valid anymore since the receive call is not retryable."
    );
    let body = json!({ "QueueUrl": "f.fifo", "ReceiveRequestAttemptId": id });
    assert_eq!(client.json("ReceiveMessage", &body).assert_error(INVALID_VALUE), text);
    let form = [("QueueUrl", "f.fifo"), ("ReceiveRequestAttemptId", id)];
    assert_eq!(client.query("ReceiveMessage", &form).assert_error(INVALID_VALUE), text);
}

#[test]
fn a_repeated_receive_gets_the_same_messages_by_the_same_handles_also_after_a_crash() {
    let setup = Setup::new();
    let mut server = setup.start();
    let client = &mut server.client();
    create(client);
    let first = client.receive_with("f.fifo", attempt("a"));
    assert_eq!(bodies(&first), ["g1", "g2", "h1"]);
    for stop in [None, Some(false), Some(true), Some(false)] {
        match stop {
            None => {}
            Some(true) => {
                server.stop();
                server = setup.start();
            }
            Some(false) => {
                server.kill();
                server = setup.start();
            }
        }
        let client = &mut server.client();
        let again = client.receive_with("f.fifo", attempt("a"));
        assert_eq!(again, first, "bodies, handles, counts, times");
        let fewer = client.query_call(
            "ReceiveMessage",
            &[("QueueUrl", "f.fifo"), ("MaxNumberOfMessages", "1"), ("ReceiveRequestAttemptId", "a")],
        );
        assert_eq!(fewer.texts("ReceiptHandle"), texts(&first, "ReceiptHandle"));
        assert_eq!(client.receive_with("f.fifo", attempt("b")).len(), 0, "others get nothing");
    }
    let client = &mut server.client();
    client.delete_all("f.fifo", &first);
    assert_eq!(client.counts("f.fifo"), [0, 0, 0]);
}

#[test]
fn a_receive_whose_messages_were_settled_cannot_be_repeated_also_after_a_crash() {
    let setup = Setup::new();
    let mut server = setup.start();
    let client = &mut server.client();
    create(client);
    let one = |id: &str| json!({ "ReceiveRequestAttemptId": id, "MaxNumberOfMessages": 2 });
    let of_g = client.receive_with("f.fifo", one("a"));
    assert_eq!(bodies(&of_g), ["g1", "g2"]);
    let of_h = client.receive_with("f.fifo", one("b"));
    assert_eq!(bodies(&of_h), ["h1"]);
    assert_eq!(client.delete("f.fifo", &of_g[0]).status, 200);
    assert_eq!(client.change_visibility("f.fifo", &of_h[0], 500).status, 200);
    for stop in [None, Some(false), Some(true)] {
        match stop {
            None => {}
            Some(true) => {
                server.stop();
                server = setup.start();
            }
            Some(false) => {
                server.kill();
                server = setup.start();
            }
        }
        let client = &mut server.client();
        assert_void(client, "a");
        assert_void(client, "b");
        // Without a change a clean stop stores no checkpoint.
        client.create("other");
    }
    let client = &mut server.client();
    // The handles are as good as before, and the refused repetition took nothing.
    client.delete_all("f.fifo", &[of_g[1].clone(), of_h[0].clone()]);
    client.send_to("f.fifo", "g", "g3", "g3");
    assert_void(client, "a");
    assert_eq!(bodies(&client.receive_with("f.fifo", attempt("c"))), ["g3"]);
}

#[test]
fn a_repetition_starts_the_visibility_timeout_anew() {
    let server = Setup::new().start();
    let client = &mut server.client();
    create(client);
    let part = |id: &str, timeout: u32| json!({ "ReceiveRequestAttemptId": id, "MaxNumberOfMessages": 2, "VisibilityTimeout": timeout });
    let first = client.receive_with("f.fifo", part("a", 2));
    assert_eq!(bodies(&client.receive_with("f.fifo", part("clock", 2))), ["h1"]);
    assert_eq!(client.receive_with("f.fifo", part("a", 600)), first);
    wait_until("the timeout of the other group ends", || client.counts("f.fifo") == [1, 2, 0]);
    client.delete_all("f.fifo", &first);
}

#[test]
fn after_the_visibility_timeout_a_repetition_is_a_receive_like_any_other() {
    let server = Setup::new().start();
    let client = &mut server.client();
    create(client);
    let mut body = attempt("a");
    body["VisibilityTimeout"] = json!(1);
    let first = client.receive_with("f.fifo", body);
    wait_until("the visibility timeout ends", || client.counts("f.fifo") == [3, 0, 0]);
    client.send_to("f.fifo", "h", "h2", "h2");
    let again = client.receive_with("f.fifo", attempt("a"));
    let mut found = bodies(&again);
    found.sort_unstable();
    assert_eq!(found, ["g1", "g2", "h1", "h2"]);
    for message in &again {
        assert_eq!(receive_count(message), if message["Body"] == "h2" { 1 } else { 2 });
        assert!(!texts(&first, "ReceiptHandle").contains(&message["ReceiptHandle"].as_str().unwrap()));
    }
    assert_eq!(client.receive_with("f.fifo", attempt("a")), again, "it can be repeated in turn");
}

#[test]
fn standard_queues_ignore_attempt_ids() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create_with("q", json!({ "VisibilityTimeout": "600" }));
    client.send("q", "m");
    assert_eq!(client.receive_with("q", attempt("a")).len(), 1);
    assert_eq!(client.receive_with("q", attempt("a")).len(), 0);
    assert_eq!(client.receive_with("q", attempt("not an id, but who cares")).len(), 0);
}
