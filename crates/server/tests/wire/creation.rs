//! Goal: programs that create their queues at every start can do so.

use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::*};
use serde_json::{Value, json};

#[track_caller]
fn accept(client: &mut Client, attributes: Value) {
    let url = client.create_with("q", attributes);
    assert!(url.ends_with("/000000000000/q"), "{url}");
}

#[track_caller]
fn refuse(client: &mut Client, attributes: Value, name: &str) {
    let text = client
        .json("CreateQueue", &json!({ "QueueName": "q", "Attributes": attributes }))
        .assert_error(QUEUE_EXISTS);
    let expected = "A queue already exists with the same name and a different value for attribute";
    assert_eq!(text, format!("{expected} {name}"));
}

#[test]
fn creation_compares_the_given_attributes_with_the_current_ones() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let vt = |seconds: &str| json!({ "VisibilityTimeout": seconds });
    accept(client, json!({ "VisibilityTimeout": "1", "ReceiveMessageWaitTimeSeconds": "1" }));
    accept(client, json!({}));
    accept(client, vt("1"));
    refuse(client, vt("2"), "VisibilityTimeout");
    refuse(client, json!({ "VisibilityTimeout": "1", "DelaySeconds": "5" }), "DelaySeconds");
    assert_eq!(client.set_attributes("q", vt("2")).status, 200);
    refuse(client, vt("1"), "VisibilityTimeout");
    accept(client, vt("2"));
    // Defaults count as values.
    accept(client, json!({ "DelaySeconds": "0", "MessageRetentionPeriod": "345600" }));

    // Counters and tags play no part.
    client.call("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "m", "DelaySeconds": 900 }));
    accept(client, json!({}));
    client.call("CreateQueue", json!({ "QueueName": "q", "tags": { "a": "1" } }));
    client.call("CreateQueue", json!({ "QueueName": "q", "tags": { "a": "2", "b": "" } }));
    accept(client, vt("2"));
    assert_eq!(client.counts("q"), [0, 0, 1]);

    let query = |seconds| {
        [("QueueName", "q"), ("Attribute.1.Name", "VisibilityTimeout"), ("Attribute.1.Value", seconds)]
    };
    assert_eq!(client.query("CreateQueue", &query("2")).status, 200);
    client.query("CreateQueue", &query("1")).assert_error(QUEUE_EXISTS);
}

#[test]
fn documents_are_compared_by_meaning() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("dlq");
    let statement = r#"{"Effect":"Allow","Principal":"*","Action":"SQS:*","Resource":"*"}"#;
    let policy = |effect: &str| {
        format!(r#"{{"Version":"2012-10-17","Statement":[{}]}}"#, statement.replace("Allow", effect))
    };
    let spaced = format!("{{ \"Statement\": [ {statement} ],\n \"Version\": \"2012-10-17\" }}");
    let arn = "arn:aws:sqs:us-east-1:000000000000:dlq";
    let redrive = |count: &str| format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":{count}}}"#);
    let turned = format!(r#"{{ "maxReceiveCount" : "3", "deadLetterTargetArn" : "{arn}" }}"#);
    accept(client, json!({ "Policy": policy("Allow"), "RedrivePolicy": redrive("3") }));
    accept(client, json!({ "Policy": spaced, "RedrivePolicy": turned }));
    refuse(client, json!({ "Policy": policy("Deny") }), "Policy");
    refuse(client, json!({ "RedrivePolicy": redrive("4") }), "RedrivePolicy");
}

#[test]
fn name_and_type_of_a_queue_must_agree() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let create = |client: &mut Client, name: &str, attributes: Value| {
        client.json("CreateQueue", &json!({ "QueueName": name, "Attributes": attributes }))
    };
    create(client, "x", json!({ "FifoQueue": "true" })).assert_error(INVALID_VALUE);
    create(client, "x.fifo", json!({})).assert_error(INVALID_VALUE);
    create(client, "x.fifo", json!({ "FifoQueue": "false" })).assert_error(INVALID_VALUE);
    let text = create(client, "x", json!({ "FifoQueue": "false" })).assert_error(ATTRIBUTE_NAME);
    assert_eq!(text, "Unknown Attribute FifoQueue.");
    for value in ["true", "false"] {
        let attributes = json!({ "ContentBasedDeduplication": value });
        let text = create(client, "x", attributes).assert_error(ATTRIBUTE_NAME);
        assert_eq!(text, "Unknown Attribute ContentBasedDeduplication.");
    }
    assert_eq!(client.call("ListQueues", json!({})), json!({}), "none was created");
}

#[test]
fn names_are_one_to_eighty_plain_characters() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let longest = "x".repeat(80);
    for name in ["a", "A-b_9", &longest] {
        client.create(name);
    }
    let longer = "x".repeat(81);
    for name in [&longer, "a/b", "a.b", "a b", "ä", ".fifo", "a\u{0}b", "../../etc", "<b>"] {
        client.json("CreateQueue", &json!({ "QueueName": name })).assert_error(INVALID_VALUE);
        client.query("CreateQueue", &[("QueueName", name)]).assert_error(INVALID_VALUE);
    }
    client.json("CreateQueue", &json!({ "QueueName": "" })).assert_error(INVALID_VALUE);
    assert_eq!(server.metric("tidegate_queues"), Some(3.0));
}
