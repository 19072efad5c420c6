//! Goal: an SDK finds its typed exception in every error, in both dialects.

use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::*};
use serde_json::{Value, json};

#[test]
fn a_missing_queue_is_named_as_such_in_both_dialects() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = format!("http://{}/000000000000/nope", server.endpoint);

    let answer = client.json("GetQueueUrl", &json!({ "QueueName": "nope" }));
    assert_eq!(answer.assert_error(QUEUE_MISSING), "The specified queue does not exist.");
    let answer = client.query("GetQueueUrl", &[("QueueName", "nope")]);
    let text = answer.assert_error(QUEUE_MISSING);
    assert_eq!(text, "The specified queue does not exist for this wsdl version.");
    assert!(answer.text().contains("<Detail/>"), "{}", answer.text());

    let entry = |more: Value| {
        let mut entry = json!({ "Id": "a" });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "Entries": [entry] })
    };
    for (action, parameters) in [
        ("DeleteQueue", json!({})),
        ("PurgeQueue", json!({})),
        ("GetQueueAttributes", json!({ "AttributeNames": ["All"] })),
        ("SetQueueAttributes", json!({ "Attributes": { "VisibilityTimeout": "1" } })),
        ("SendMessage", json!({ "MessageBody": "x" })),
        ("SendMessageBatch", entry(json!({ "MessageBody": "x" }))),
        ("ReceiveMessage", json!({ "WaitTimeSeconds": 20 })),
        ("TagQueue", json!({ "Tags": { "a": "b" } })),
        ("UntagQueue", json!({ "TagKeys": ["a"] })),
        ("ListQueueTags", json!({})),
        // What is wrong beside the queue does not hide that it is missing.
        ("SendMessage", json!({})),
        ("SetQueueAttributes", json!({ "Attributes": { "Foobar": "1" } })),
        ("DeleteMessage", json!({ "ReceiptHandle": "garbage" })),
        ("ChangeMessageVisibility", json!({ "ReceiptHandle": "garbage", "VisibilityTimeout": 1 })),
        ("DeleteMessageBatch", entry(json!({ "ReceiptHandle": "garbage" }))),
        (
            "ChangeMessageVisibilityBatch",
            entry(json!({ "ReceiptHandle": "garbage", "VisibilityTimeout": 1 })),
        ),
    ] {
        let mut body = parameters.clone();
        body["QueueUrl"] = json!(url);
        let answer = client.json(action, &body);
        assert_eq!(
            answer.assert_error(QUEUE_MISSING),
            "The specified queue does not exist.",
            "{action} {body}"
        );
    }
    for (action, parameters) in [
        ("DeleteQueue", &[][..]),
        ("SendMessage", &[("MessageBody", "x")]),
        ("ReceiveMessage", &[]),
        ("DeleteMessage", &[("ReceiptHandle", "garbage")]),
    ] {
        let mut all = vec![("QueueUrl", url.as_str())];
        all.extend_from_slice(parameters);
        client.query(action, &all).assert_error(QUEUE_MISSING);
    }
}

#[test]
fn creating_a_queue_with_another_value_is_refused_in_both_dialects() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create_with("q", json!({ "VisibilityTimeout": "30" }));
    let text =
        "A queue already exists with the same name and a different value for attribute VisibilityTimeout";

    let other = json!({ "QueueName": "q", "Attributes": { "VisibilityTimeout": "31" } });
    assert_eq!(client.json("CreateQueue", &other).assert_error(QUEUE_EXISTS), text);
    let other = [("QueueName", "q"), ("Attribute.1.Name", "VisibilityTimeout"), ("Attribute.1.Value", "31")];
    assert_eq!(client.query("CreateQueue", &other).assert_error(QUEUE_EXISTS), text);
}

#[test]
fn every_answer_has_a_request_id_of_its_own() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let json = client.json("ListQueues", &json!({}));
        let query = client.query("ListQueues", &[]);
        let refused = client.json("GetQueueUrl", &json!({ "QueueName": "nope" }));
        assert_eq!((json.status, query.status, refused.status), (200, 200, 400));
        assert_eq!(query.xml().texts("RequestId"), [query.header("x-amzn-requestid").unwrap()]);
        for answer in [json, query, refused] {
            ids.insert(answer.header("x-amzn-requestid").unwrap().to_owned());
        }
    }
    assert_eq!(ids.len(), 9);
}

/// Each kind of error once, as JSON and as Query parameters.
#[test]
fn every_kind_of_error_is_typed_in_both_dialects() {
    let server = Setup::new().env("TIDEGATE_IN_FLIGHT_MAX", "1").start();
    let client = &mut server.client();
    let url = client.create("q");
    let gone = client.create("gone");
    client.call("DeleteQueue", json!({ "QueueUrl": gone }));
    client.call("PurgeQueue", json!({ "QueueUrl": url }));
    client.send(&url, "one");
    client.send(&url, "two");
    assert_eq!(client.receive(&url, 0).len(), 1, "the quota of messages in flight is one");

    let mut check = |kind: &str, action: &str, body: Value, form: &[(&str, &str)]| {
        check_both(client, &url, kind, action, body, form);
    };
    check(QUEUE_DELETED_RECENTLY, "CreateQueue", json!({ "QueueName": "gone" }), &[("QueueName", "gone")]);
    check(PURGE_IN_PROGRESS, "PurgeQueue", json!({}), &[]);
    check(OVER_LIMIT, "ReceiveMessage", json!({}), &[]);
    check(INVALID_VALUE, "CreateQueue", json!({ "QueueName": "a.b" }), &[("QueueName", "a.b")]);
    check(INVALID_VALUE, "CreateQueue", json!({}), &[]);
    check(INVALID_VALUE, "GetQueueUrl", json!({}), &[]);
    check(MISSING, "SendMessage", json!({}), &[]);
    check(MISSING, "DeleteMessage", json!({}), &[]);
    let names = json!({ "AttributeNames": ["Foobar"] });
    check(ATTRIBUTE_NAME, "GetQueueAttributes", names, &[("AttributeName.1", "Foobar")]);
    let attributes = json!({ "Attributes": { "DelaySeconds": "901" } });
    let form = [("Attribute.1.Name", "DelaySeconds"), ("Attribute.1.Value", "901")];
    check(ATTRIBUTE_VALUE, "SetQueueAttributes", attributes, &form);
    let contents = json!({ "MessageBody": "a\u{8}b" });
    check(CONTENTS, "SendMessage", contents, &[("MessageBody", "a\u{8}b")]);
    let handle = json!({ "ReceiptHandle": "garbage" });
    check(HANDLE, "DeleteMessage", handle, &[("ReceiptHandle", "garbage")]);
    let handle = json!({ "ReceiptHandle": "garbage", "VisibilityTimeout": 1 });
    let form = [("ReceiptHandle", "garbage"), ("VisibilityTimeout", "1")];
    check(HANDLE, "ChangeMessageVisibility", handle, &form);
    let list = json!({
        "MessageBody": "x",
        "MessageAttributes": { "a": { "DataType": "String", "StringListValues": ["x"] } },
    });
    let form = [
        ("MessageBody", "x"),
        ("MessageAttribute.1.Name", "a"),
        ("MessageAttribute.1.Value.DataType", "String"),
        ("MessageAttribute.1.Value.StringListValue.1", "x"),
    ];
    check(UNSUPPORTED, "SendMessage", list, &form);
    check(UNKNOWN_ACTION, "FooBar", json!({}), &[]);
}

#[test]
fn whole_batches_are_refused_with_typed_errors_in_both_dialects() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    let half = "x".repeat(600_000);
    let ids: Vec<String> = (0..11).map(|n| n.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (kind, ids, body) in [
        (EMPTY_BATCH, &[][..], "x"),
        (TOO_MANY_ENTRIES, &ids, "x"),
        (ENTRY_IDS, &["a", "a"], "x"),
        (ENTRY_ID, &["a b"], "x"),
        (BATCH_TOO_LONG, &["a", "b"], &half),
    ] {
        let entries: Vec<_> = ids.iter().map(|id| json!({ "Id": id, "MessageBody": body })).collect();
        let names: Vec<_> = (1..)
            .zip(ids)
            .flat_map(|(n, id)| {
                let name = |part: &str| format!("SendMessageBatchRequestEntry.{n}.{part}");
                [(name("Id"), *id), (name("MessageBody"), body)]
            })
            .collect();
        let form: Vec<_> = names.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        check_both(client, &url, kind, "SendMessageBatch", json!({ "Entries": entries }), &form);
    }
    assert_eq!(client.counts(&url), [0, 0, 0], "none of them sent anything");
}

/// Sends a request in both dialects and expects errors of one kind, with one text but for a missing queue.
#[track_caller]
fn check_both(
    client: &mut Client,
    url: &str,
    kind: &str,
    action: &str,
    mut body: Value,
    form: &[(&str, &str)],
) {
    body["QueueUrl"] = json!(url);
    let text = client.json(action, &body).assert_error(kind);
    let mut all = vec![("QueueUrl", url)];
    all.extend_from_slice(form);
    assert_eq!(client.query(action, &all).assert_error(kind), text, "{action}");
}

#[test]
fn what_names_no_action_is_not_found() {
    let server = Setup::new().start();
    let client = &mut server.client();
    for (method, headers, body) in [
        ("GET", &[][..], &b""[..]),
        ("GET", &[("Accept", "application/json")], b""),
        ("POST", &[], b"<a/>"),
        ("POST", &[("Content-Type", "application/x-www-form-urlencoded")], b"QueueName=x"),
        ("PUT", &[], b"x"),
    ] {
        let answer = client.exchange(method, "/", headers, body);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (404, "<UnknownOperationException/>"),
            "{method}"
        );
    }
    for target in ["SQS.ListQueues", "AmazonSQS.", "AmazonSQSListQueues", "DynamoDB_20120810.ListTables"] {
        let headers = [("X-Amz-Target", target), ("Content-Type", "application/x-amz-json-1.0")];
        client.exchange("POST", "/", &headers, b"{}").assert_error(UNKNOWN_ACTION);
    }
}
