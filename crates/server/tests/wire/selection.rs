//! Goal: a receive returns the attributes that were asked for, and no others.

use crate::support::md5;
use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::ATTRIBUTE_NAME};
use serde_json::{Map, Value, json};

fn send(client: &mut Client) -> String {
    let url = client.create("q");
    let text = |value: &str| json!({ "DataType": "String", "StringValue": value });
    let attributes = json!({ "Help.Me": text("Me"), "Hello": text("There"), "General": text("Kenobi") });
    let body = json!({ "QueueUrl": url, "MessageBody": "m", "MessageAttributes": attributes });
    client.call("SendMessage", body);
    url
}

/// Receives the one message, which stays visible.
fn receive(client: &mut Client, url: &str, lists: &Value) -> Value {
    let mut body = json!({ "QueueUrl": url, "VisibilityTimeout": 0 });
    body.as_object_mut().unwrap().extend(lists.as_object().unwrap().clone());
    let answer = client.call("ReceiveMessage", body);
    answer["Messages"][0].clone()
}

fn keys(map: Option<&Value>) -> Vec<&str> {
    map.and_then(Value::as_object).map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default()
}

const GENERAL: md5::Attribute<'_> = ("General", "String", b"Kenobi", false);
const HELLO: md5::Attribute<'_> = ("Hello", "String", b"There", false);
const HELP: md5::Attribute<'_> = ("Help.Me", "String", b"Me", false);

#[test]
fn message_attributes_are_those_that_a_filter_names() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = send(client);
    for (filter, expected) in [
        (&[][..], &[][..]),
        (&["All"], &[GENERAL, HELLO, HELP]),
        (&["*"], &[GENERAL, HELLO, HELP]),
        (&[".*"], &[GENERAL, HELLO, HELP]),
        (&["Hel.*"], &[HELLO, HELP]),
        (&["Help"], &[]),
        (&["Help.Me"], &[HELP]),
        (&["Foo", "Hello"], &[HELLO]),
        (&["hello"], &[]),
        (&["AWS.", "..foo"], &[]),
        (&["Hello", "Hello", "Hel.*"], &[HELLO, HELP]),
    ] {
        let names: Vec<_> = expected.iter().map(|(name, ..)| *name).collect();
        let message = receive(client, &url, &json!({ "MessageAttributeNames": filter }));
        assert_eq!(keys(message.get("MessageAttributes")), names, "{filter:?}");
        assert!(message.get("Attributes").is_none(), "system attributes were not asked for: {message}");

        let parameters: Vec<_> =
            (1..).zip(filter).map(|(n, name)| (format!("MessageAttributeName.{n}"), *name)).collect();
        let mut form = vec![("QueueUrl", url.as_str()), ("VisibilityTimeout", "0")];
        form.extend(parameters.iter().map(|(name, value)| (name.as_str(), *value)));
        let answer = client.query_call("ReceiveMessage", &form);
        let mut found: Vec<_> = answer
            .elements("MessageAttribute")
            .iter()
            .map(|element| element.texts("Name").remove(0))
            .collect();
        found.sort();
        assert_eq!(found, names, "{filter:?}");

        if expected.is_empty() {
            assert!(message.get("MessageAttributes").is_none(), "{message}");
            assert!(message.get("MD5OfMessageAttributes").is_none(), "{message}");
            assert!(!answer.0.contains("MD5OfMessageAttributes"), "{}", answer.0);
        } else {
            assert_eq!(message["MD5OfMessageAttributes"], md5::of_attributes(expected), "{filter:?}");
            assert_eq!(answer.texts("MD5OfMessageAttributes"), [md5::of_attributes(expected)]);
        }
    }
}

const ALL: [&str; 4] =
    ["ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"];

#[test]
fn system_attributes_are_those_that_either_list_names() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = send(client);
    let mut receives = 0;
    for (old, new, expected) in [
        (&[][..], &[][..], &[][..]),
        (&["SenderId"], &[], &["SenderId"]),
        (&[], &["SenderId"], &["SenderId"]),
        (&["All"], &[], &ALL),
        (&[], &["All"], &ALL),
        (&["SenderId"], &["All"], &ALL),
        (&["All"], &["SenderId"], &ALL),
        (&["SenderId"], &["SentTimestamp"], &["SenderId", "SentTimestamp"]),
        // Known names that this message does not have.
        (&["SequenceNumber", "AWSTraceHeader"], &["MessageGroupId"], &[]),
    ] {
        let message =
            receive(client, &url, &json!({ "AttributeNames": old, "MessageSystemAttributeNames": new }));
        receives += 1;
        assert_eq!(keys(message.get("Attributes")), expected, "{old:?} {new:?}");
        assert!(expected.is_empty() == message.get("Attributes").is_none(), "no empty map: {message}");
        assert!(message.get("MessageAttributes").is_none(), "they were not asked for: {message}");
        check_values(message["Attributes"].as_object().unwrap_or(&Map::new()), receives);
    }
    for (name, expected) in [("All", &ALL[..]), ("SenderId", &["SenderId"])] {
        let form = [("QueueUrl", url.as_str()), ("AttributeName.1", name), ("VisibilityTimeout", "0")];
        let answer = client.query_call("ReceiveMessage", &form);
        let mut found: Vec<_> =
            answer.map("Attribute", "Name", "Value").into_iter().map(|(name, _)| name).collect();
        found.sort();
        assert_eq!(found, expected);
        assert!(!answer.0.contains("<MessageAttribute>"), "{}", answer.0);
    }
    let unknown = json!({ "QueueUrl": url, "MessageSystemAttributeNames": ["Foobar"] });
    let text = client.json("ReceiveMessage", &unknown).assert_error(ATTRIBUTE_NAME);
    assert_eq!(text, "Unknown Attribute Foobar.");
}

fn check_values(attributes: &Map<String, Value>, receives: u32) {
    let text = |name: &str| attributes.get(name).map(|value| value.as_str().expect("values are texts"));
    for name in ["SentTimestamp", "ApproximateFirstReceiveTimestamp"] {
        if let Some(time) = text(name) {
            assert!(
                time.len() == 13 && time.bytes().all(|b| b.is_ascii_digit()),
                "{name} {time}: milliseconds"
            );
        }
    }
    if let Some(count) = text("ApproximateReceiveCount") {
        assert_eq!(count, receives.to_string());
    }
    if let (Some(sent), Some(received)) = (text("SentTimestamp"), text("ApproximateFirstReceiveTimestamp")) {
        assert!(sent <= received, "{attributes:?}");
    }
    if let Some(sender) = text("SenderId") {
        assert_eq!(sender, "000000000000");
    }
}

#[test]
fn the_sender_is_the_account_of_the_credential() {
    let server = Setup::new().start();
    let authorization = "AWS4-HMAC-SHA256 Credential=123456789012/20250101/us-east-1/sqs/aws4_request, \
                         SignedHeaders=host, Signature=00";
    let client = &mut server.client().with_header("Authorization", authorization);
    let url = client.create("q");
    assert!(url.ends_with("/123456789012/q"), "{url}");
    client.send(&url, "m");
    assert_eq!(client.receive(&url, 0)[0]["Attributes"]["SenderId"], "123456789012");
    assert_eq!(server.client().call("ListQueues", json!({})), json!({}), "another account's");
}
