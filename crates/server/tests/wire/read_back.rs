//! Goal: infrastructure tools read back at once exactly what they wrote.

use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::*};
use serde_json::{Value, json};

const POLICY: &str = "{ \"Statement\" : [ {\"Resource\":\"*\", \"Effect\":\"Allow\",\n  \"Action\":\"sqs:SendMessage\", \
                      \"Principal\":\"*\" } ],  \"Version\":\"2012-10-17\" }";

fn tags(client: &mut Client) -> Value {
    client.call("ListQueueTags", json!({ "QueueUrl": "q" }))
}

#[test]
fn what_was_set_is_read_at_once() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    client.create("dlq");
    let redrive = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq","maxReceiveCount":4}"#;
    let allow = r#"{"redrivePermission":"denyAll"}"#;
    for (name, values) in [
        ("DelaySeconds", &["1", "900", "0"][..]),
        ("ReceiveMessageWaitTimeSeconds", &["1", "20", "0"]),
        ("VisibilityTimeout", &["0", "43200", "30"]),
        ("MessageRetentionPeriod", &["60", "1209600", "345600"]),
        ("MaximumMessageSize", &["1024", "1048576", "262144"]),
        ("Policy", &[POLICY]),
        ("RedrivePolicy", &[redrive]),
        ("RedriveAllowPolicy", &[allow]),
        ("KmsMasterKeyId", &["testKeyId", "alias/aws/sqs"]),
        ("KmsDataKeyReusePeriodSeconds", &["60", "86400"]),
        ("SqsManagedSseEnabled", &["false", "true"]),
    ] {
        for value in values {
            let answer = client.set_attributes("q", json!({ name: value }));
            assert_eq!((answer.status, answer.body.len()), (200, 0), "{name}: {}", answer.text());
            assert_eq!(client.attributes("q")[name], *value);
            let form = [("QueueUrl", "q"), ("AttributeName.1", name)];
            let found = client.query_call("GetQueueAttributes", &form).map("Attribute", "Name", "Value");
            assert_eq!(found, [(name.to_owned(), (*value).to_owned())]);
        }
    }
}

#[test]
fn what_was_set_by_query_is_read_at_once() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.query_call(
        "CreateQueue",
        &[
            ("QueueName", "q"),
            ("Attribute.1.Name", "Policy"),
            ("Attribute.1.Value", POLICY),
            ("Attribute.2.Name", "DelaySeconds"),
            ("Attribute.2.Value", "7"),
        ],
    );
    client.query_call(
        "SetQueueAttributes",
        &[("QueueUrl", "q"), ("Attribute.Name", "VisibilityTimeout"), ("Attribute.Value", "8")],
    );
    let attributes = client.attributes("q");
    assert_eq!(attributes["Policy"], POLICY, "as sent, white space and order of keys included");
    assert_eq!(attributes["DelaySeconds"], "7");
    assert_eq!(attributes["VisibilityTimeout"], "8");
}

#[test]
fn attributes_that_were_never_set_are_absent() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    let attributes = client.attributes("q");
    let names: Vec<_> = attributes.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesDelayed",
        "ApproximateNumberOfMessagesNotVisible",
        "CreatedTimestamp",
        "DelaySeconds",
        "LastModifiedTimestamp",
        "MaximumMessageSize",
        "MessageRetentionPeriod",
        "QueueArn",
        "ReceiveMessageWaitTimeSeconds",
        "SqsManagedSseEnabled",
        "VisibilityTimeout",
    ];
    assert_eq!(names, expected);
    assert!(attributes.as_object().unwrap().values().all(Value::is_string), "{attributes}");

    let unset = json!({ "QueueUrl": "q", "AttributeNames": ["Policy", "RedrivePolicy"] });
    assert_eq!(client.call("GetQueueAttributes", unset), json!({}));
    assert_eq!(
        client.call("GetQueueAttributes", json!({ "QueueUrl": "q" })),
        json!({}),
        "nothing was asked for"
    );
    let form = [("QueueUrl", "q"), ("AttributeName.1", "Policy")];
    let answer = client.query_call("GetQueueAttributes", &form);
    assert!(answer.0.contains("<GetQueueAttributesResult/>"), "{}", answer.0);
}

#[test]
fn an_empty_text_removes_policies() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let arn = "arn:aws:sqs:us-east-1:000000000000:dlq";
    client.create("dlq");
    let redrive = json!({ "deadLetterTargetArn": arn, "maxReceiveCount": "4" }).to_string();
    let allow = json!({ "redrivePermission": "allowAll" }).to_string();
    client.create_with(
        "q",
        json!({ "Policy": POLICY, "RedrivePolicy": redrive, "RedriveAllowPolicy": allow, "KmsMasterKeyId": "k" }),
    );
    for name in ["Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId"] {
        assert!(client.attributes("q")[name].is_string(), "{name}");
        // Again when it is gone already: the answer is the same.
        for _ in 0..2 {
            assert_eq!(client.set_attributes("q", json!({ name: "" })).status, 200);
            assert!(client.attributes("q").get(name).is_none(), "{name}");
        }
    }
    client.set_attributes("q", json!({ "Policy": POLICY }));
    let form = [("QueueUrl", "q"), ("Attribute.1.Name", "Policy"), ("Attribute.1.Value", "")];
    client.query_call("SetQueueAttributes", &form);
    assert!(client.attributes("q").get("Policy").is_none());
}

#[test]
fn a_deleted_queue_is_missing_at_once() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    client.call("DeleteQueue", json!({ "QueueUrl": url }));
    let all = json!({ "QueueUrl": url, "AttributeNames": ["All"] });
    client.json("GetQueueAttributes", &all).assert_error(QUEUE_MISSING);
    client.json("GetQueueUrl", &json!({ "QueueName": "q" })).assert_error(QUEUE_MISSING);
    client.json("ListQueueTags", &json!({ "QueueUrl": url })).assert_error(QUEUE_MISSING);
    let form = [("QueueUrl", url.as_str()), ("AttributeName.1", "All")];
    client.query("GetQueueAttributes", &form).assert_error(QUEUE_MISSING);
    assert_eq!(client.call("ListQueues", json!({})), json!({}));
    client.json("DeleteQueue", &json!({ "QueueUrl": url })).assert_error(QUEUE_MISSING);
}

#[test]
fn tags_are_kept_from_creation_on_with_empty_values() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.call("CreateQueue", json!({ "QueueName": "q", "tags": { "a": "1", "b": "" } }));
    assert_eq!(tags(client), json!({ "Tags": { "a": "1", "b": "" } }));
    let query = |client: &mut Client| {
        let mut found = client.query_call("ListQueueTags", &[("QueueUrl", "q")]).map("Tag", "Key", "Value");
        found.sort();
        found
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(query(client), [pair("a", "1"), pair("b", "")]);

    let tag = json!({ "QueueUrl": "q", "Tags": { "a": "2", "A": "other", "ü": "日本" } });
    assert_eq!(client.json("TagQueue", &tag).body, b"");
    assert_eq!(tags(client), json!({ "Tags": { "A": "other", "a": "2", "b": "", "ü": "日本" } }));

    let untag = |keys: &[&str]| json!({ "QueueUrl": "q", "TagKeys": keys });
    client.call("UntagQueue", untag(&["missing", "B"]));
    assert_eq!(query(client).len(), 4, "unknown keys are passed over");
    client.call("UntagQueue", untag(&["A", "missing", "ü"]));
    assert_eq!(query(client), [pair("a", "2"), pair("b", "")]);
    client.query_call("UntagQueue", &[("QueueUrl", "q"), ("TagKey.1", "a"), ("TagKey.2", "gone")]);
    client.query_call("UntagQueue", &[("QueueUrl", "q"), ("TagKey.1", "b")]);
    assert_eq!(tags(client), json!({}));
    assert!(client.query_call("ListQueueTags", &[("QueueUrl", "q")]).0.contains("<ListQueueTagsResult/>"));
}

#[test]
fn tags_of_query_requests_are_the_same() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.query_call(
        "CreateQueue",
        &[
            ("QueueName", "q"),
            ("Tag.1.Key", "a"),
            ("Tag.1.Value", "1"),
            ("Tag.2.Key", "b"),
            ("Tag.2.Value", ""),
        ],
    );
    assert_eq!(tags(client), json!({ "Tags": { "a": "1", "b": "" } }));
    let tag = [("QueueUrl", "q"), ("Tag.1.Key", "a"), ("Tag.1.Value", "2")];
    client.query_call("TagQueue", &tag);
    let plural = [("QueueUrl", "q"), ("Tags.1.Key", "c d"), ("Tags.1.Value", "ä")];
    client.query_call("TagQueue", &plural);
    assert_eq!(tags(client), json!({ "Tags": { "a": "2", "b": "", "c d": "ä" } }));
}
