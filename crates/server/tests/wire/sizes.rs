//! Goal: the size limits of messages and batches, to the byte, and at the right level of error.

use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::*};
use serde_json::{Value, json};

const MIB: usize = 1_048_576;

fn send(client: &mut Client, url: &str, body: &str, attributes: Value) -> crate::support::http::Answer {
    client.json(
        "SendMessage",
        &json!({ "QueueUrl": url, "MessageBody": body, "MessageAttributes": attributes }),
    )
}

#[test]
fn a_message_may_have_a_mebibyte_with_its_attributes() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    assert_eq!(client.attributes(&url)["MaximumMessageSize"], "1048576");
    let text = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.";

    assert_eq!(send(client, &url, &"x".repeat(MIB), json!({})).status, 200);
    let refused = send(client, &url, &"x".repeat(MIB + 1), json!({}));
    assert_eq!(refused.assert_error(INVALID_VALUE), text);

    let body = "y".repeat(MIB + 1);
    let form = |length: usize| [("QueueUrl", url.as_str()), ("MessageBody", &body[..length])];
    assert_eq!(client.query("SendMessage", &form(MIB)).status, 200);
    assert_eq!(client.query("SendMessage", &form(MIB + 1)).assert_error(INVALID_VALUE), text);

    // "a", "String" and "v" are eight bytes.
    let attribute = json!({ "a": { "DataType": "String", "StringValue": "v" } });
    assert_eq!(send(client, &url, &"x".repeat(MIB - 8), attribute.clone()).status, 200);
    let refused = send(client, &url, &"x".repeat(MIB - 7), attribute);
    assert_eq!(refused.assert_error(INVALID_VALUE), text);
    // The label counts, and of binary values the bytes rather than their base64.
    let labelled = json!({ "abc": { "DataType": "Binary.gif", "BinaryValue": "AP8Q" } });
    assert_eq!(send(client, &url, &"x".repeat(MIB - 16), labelled.clone()).status, 200);
    send(client, &url, &"x".repeat(MIB - 15), labelled).assert_error(INVALID_VALUE);

    // Characters of two to four bytes count as such.
    for character in ["ä", "€", "\u{1F30A}"] {
        let width = character.len();
        let full = character.repeat(MIB / width) + &"x".repeat(MIB % width);
        assert_eq!(send(client, &url, &full, json!({})).status, 200, "{character}");
        send(client, &url, &(full + "x"), json!({})).assert_error(INVALID_VALUE);
    }
    // The trace header is not counted.
    let trace = json!({ "AWSTraceHeader": { "DataType": "String", "StringValue": "Root=1" } });
    let full = json!({ "QueueUrl": url, "MessageBody": "x".repeat(MIB), "MessageSystemAttributes": trace });
    assert_eq!(client.json("SendMessage", &full).status, 200);

    let received = client.receive(&url, 0);
    let longest = received.iter().filter(|message| message["Body"].as_str().unwrap().len() == MIB).count();
    assert!(longest >= 2, "full bodies come back whole");
}

#[test]
fn an_attribute_that_pushes_a_body_over_the_limit_fails_it() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    let body = "x".repeat(MIB - 6);
    assert_eq!(send(client, &url, &body, json!({})).status, 200);
    let attribute = json!({ "a": { "DataType": "String", "StringValue": "v" } });
    send(client, &url, &body, attribute).assert_error(INVALID_VALUE);
}

fn entry(id: &str, body: usize) -> Value {
    json!({ "Id": id, "MessageBody": "x".repeat(body) })
}

#[test]
fn a_batch_may_have_a_mebibyte_whatever_the_limit_of_the_queue() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    let attributed = |body: usize| {
        let mut entry = entry("b", body);
        entry["MessageAttributes"] = json!({ "a": { "DataType": "String", "StringValue": "v" } });
        entry
    };
    let half = MIB / 2;
    for (second, sent) in [
        (entry("b", half), None),
        (entry("b", half + 1), Some(MIB + 1)),
        (attributed(half - 8), None),
        (attributed(half - 7), Some(MIB + 1)),
    ] {
        let answer = client
            .json("SendMessageBatch", &json!({ "QueueUrl": url, "Entries": [entry("a", half), second] }));
        match sent {
            None => assert_eq!(answer.json()["Successful"].as_array().unwrap().len(), 2),
            Some(sent) => assert_eq!(
                answer.assert_error(BATCH_TOO_LONG),
                format!("Batch requests cannot be longer than 1048576 bytes. You have sent {sent} bytes.")
            ),
        }
    }
    assert_eq!(client.counts(&url), [4, 0, 0]);

    let small = client.create_with("small", json!({ "MaximumMessageSize": "1024" }));
    let five: Vec<_> = ["a", "b", "c", "d", "e"].map(|id| entry(id, 1000)).into();
    let answer = client.call("SendMessageBatch", json!({ "QueueUrl": small, "Entries": five }));
    assert_eq!(answer["Successful"].as_array().unwrap().len(), 5);
    assert!(answer.get("Failed").is_none(), "{answer}");
}

#[test]
fn an_entry_over_the_limit_of_the_queue_fails_alone() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create_with("q", json!({ "MaximumMessageSize": "1024" }));
    let answer = client.json(
        "SendMessageBatch",
        &json!({ "QueueUrl": url, "Entries": [entry("long", 2000), entry("short", 10), entry("just", 1024)] }),
    );
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    let ids: Vec<_> =
        answer["Successful"].as_array().unwrap().iter().map(|entry| entry["Id"].clone()).collect();
    assert_eq!(ids, ["short", "just"]);
    let message =
        "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.";
    let failed = json!([
        { "Id": "long", "SenderFault": true, "Code": "InvalidParameterValue", "Message": message },
    ]);
    assert_eq!(answer["Failed"], failed);

    let long = "x".repeat(2000);
    let answer = client.query_call(
        "SendMessageBatch",
        &[
            ("QueueUrl", &url),
            ("SendMessageBatchRequestEntry.1.Id", "long"),
            ("SendMessageBatchRequestEntry.1.MessageBody", &long),
            ("SendMessageBatchRequestEntry.2.Id", "short"),
            ("SendMessageBatchRequestEntry.2.MessageBody", "x"),
        ],
    );
    let failed = &answer.elements("BatchResultErrorEntry")[0];
    assert_eq!(failed.texts("Id"), ["long"]);
    assert_eq!(failed.texts("Code"), ["InvalidParameterValue"]);
    assert_eq!(failed.texts("SenderFault"), ["true"]);
    assert_eq!(failed.texts("Message"), [message]);
    assert_eq!(answer.elements("SendMessageBatchResultEntry")[0].texts("Id"), ["short"]);

    let text = send(client, &url, &long, json!({})).assert_error(INVALID_VALUE);
    assert_eq!(text, "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.");
    assert_eq!(client.counts(&url), [3, 0, 0]);
}
