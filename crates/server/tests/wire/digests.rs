//! Goal: a client that verifies checksums accepts every answer. The expected digests are computed here.

use crate::support::md5;
use crate::support::server::Setup;
use crate::support::sqs::{Client, Xml, messages};
use serde_json::{Value, json};

#[test]
fn the_tests_own_md5_is_right() {
    assert_eq!(md5::hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(md5::hex(b"hello"), "5d41402abc4b2a76b9719d911017c592");
    assert_eq!(md5::hex(&[b'a'; 1024]), "c9a34cfc85d982698c6ac89f76071abd");
    assert_eq!(md5::of_attributes(&[("k", "String", b"x", false)]), "a45daa70926828a2f0a1db3418e6feb4");
    let three: [md5::Attribute<'_>; 3] = [
        ("count", "Number", b"3", false),
        ("blob", "Binary", &[1, 2, 3], true),
        ("color", "String", b"blue", false),
    ];
    assert_eq!(md5::of_attributes(&three), "d838729972a4b70e2d2acd9d59ac847c");
}

const BYTES: [u8; 3] = [0x00, 0xff, 0x10];
const BASE64: &str = "AP8Q";

fn sent() -> Value {
    json!({
        "ts": { "DataType": "Number.java.lang.Long", "StringValue": "1493147359900" },
        "s": { "DataType": "String.custom", "StringValue": "v" },
        "b": { "DataType": "Binary.png", "BinaryValue": BASE64 },
    })
}

fn digest() -> String {
    md5::of_attributes(&[
        ("ts", "Number.java.lang.Long", b"1493147359900", false),
        ("s", "String.custom", b"v", false),
        ("b", "Binary.png", &BYTES, true),
    ])
}

/// The same attributes as Query parameters, their names after `prefix`.
fn form(prefix: &str) -> Vec<(String, String)> {
    let attributes = [
        ("ts", "Number.java.lang.Long", "StringValue", "1493147359900"),
        ("s", "String.custom", "StringValue", "v"),
        ("b", "Binary.png", "BinaryValue", BASE64),
    ];
    let fields = (1..).zip(attributes).flat_map(|(n, (name, data_type, field, value))| {
        let parameter = |part: &str| format!("{prefix}MessageAttribute.{n}.{part}");
        [
            (parameter("Name"), name.to_owned()),
            (parameter("Value.DataType"), data_type.to_owned()),
            (parameter(&format!("Value.{field}")), value.to_owned()),
        ]
    });
    fields.collect()
}

#[test]
fn attributes_with_labelled_types_keep_type_bytes_and_digest_on_every_way() {
    let server = Setup::new().start();
    let client = &mut server.client();
    for way in [send_json, send_json_batch, send_query, send_query_batch] {
        let url = client.create(&format!("q{}", server.metric("tidegate_queues").unwrap()));
        assert_eq!(way(client, &url), digest());
        check_received_as_json(client, &url);
        check_received_as_xml(client, &url);
    }
}

fn send_json(client: &mut Client, url: &str) -> String {
    let body = json!({ "QueueUrl": url, "MessageBody": "m", "MessageAttributes": sent() });
    let answer = client.call("SendMessage", body);
    assert_eq!(answer["MD5OfMessageBody"], md5::hex(b"m"));
    answer["MD5OfMessageAttributes"].as_str().unwrap().to_owned()
}

fn send_json_batch(client: &mut Client, url: &str) -> String {
    let entry = json!({ "Id": "e", "MessageBody": "m", "MessageAttributes": sent() });
    let answer = client.call("SendMessageBatch", json!({ "QueueUrl": url, "Entries": [entry] }));
    assert_eq!(answer["Successful"][0]["MD5OfMessageBody"], md5::hex(b"m"));
    answer["Successful"][0]["MD5OfMessageAttributes"].as_str().unwrap().to_owned()
}

fn send_query(client: &mut Client, url: &str) -> String {
    let attributes = form("");
    let mut all = vec![("QueueUrl", url), ("MessageBody", "m")];
    all.extend(attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let answer = client.query_call("SendMessage", &all);
    assert_eq!(answer.texts("MD5OfMessageBody"), [md5::hex(b"m")]);
    answer.texts("MD5OfMessageAttributes").remove(0)
}

fn send_query_batch(client: &mut Client, url: &str) -> String {
    let attributes = form("SendMessageBatchRequestEntry.1.");
    let mut all = vec![
        ("QueueUrl", url),
        ("SendMessageBatchRequestEntry.1.Id", "e"),
        ("SendMessageBatchRequestEntry.1.MessageBody", "m"),
    ];
    all.extend(attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let answer = client.query_call("SendMessageBatch", &all);
    answer.texts("MD5OfMessageAttributes").remove(0)
}

fn check_received_as_json(client: &mut Client, url: &str) {
    let all = json!({ "MessageAttributeNames": ["All"], "VisibilityTimeout": 0 });
    let received = client.receive_with(url, all);
    let [message] = &received[..] else { panic!("one message: {received:?}") };
    assert_eq!(message["Body"], "m");
    assert_eq!(message["MD5OfBody"], md5::hex(b"m"));
    assert_eq!(message["MD5OfMessageAttributes"], digest());
    assert_eq!(message["MessageAttributes"], sent());
}

fn check_received_as_xml(client: &mut Client, url: &str) {
    let all = [("QueueUrl", url), ("MessageAttributeName.1", "All"), ("VisibilityTimeout", "0")];
    let answer = client.query_call("ReceiveMessage", &all);
    assert_eq!(answer.texts("MD5OfBody"), [md5::hex(b"m")]);
    assert_eq!(answer.texts("MD5OfMessageAttributes"), [digest()]);
    let mut found: Vec<_> = answer.elements("MessageAttribute").iter().map(read_attribute).collect();
    found.sort();
    let expected = [
        ["b", "Binary.png", BASE64],
        ["s", "String.custom", "v"],
        ["ts", "Number.java.lang.Long", "1493147359900"],
    ];
    assert_eq!(found, expected);
}

fn read_attribute(element: &Xml) -> [String; 3] {
    let value = ["StringValue", "BinaryValue"].map(|name| element.texts(name).concat()).concat();
    [element.texts("Name").remove(0), element.texts("DataType").remove(0), value]
}

#[test]
fn without_attributes_there_is_no_digest_of_them() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    let absent = |answer: &Value| answer.get("MD5OfMessageAttributes").is_none();
    let sent = client.call("SendMessage", json!({ "QueueUrl": url, "MessageBody": "m" }));
    assert!(absent(&sent), "{sent}");
    let empty = json!({ "QueueUrl": url, "MessageBody": "m", "MessageAttributes": {} });
    let sent = client.call("SendMessage", empty);
    assert!(absent(&sent), "{sent}");
    let batch = json!({ "QueueUrl": url, "Entries": [{ "Id": "e", "MessageBody": "m" }] });
    let sent = client.call("SendMessageBatch", batch);
    assert!(absent(&sent["Successful"][0]), "{sent}");
    let sent = client.query_call("SendMessage", &[("QueueUrl", &url), ("MessageBody", "m")]);
    assert!(!sent.0.contains("MD5OfMessageAttributes"), "{}", sent.0);

    let all = json!({ "MessageAttributeNames": ["All"], "VisibilityTimeout": 0 });
    let received = client.receive_with(&url, all);
    assert_eq!(received.len(), 4);
    assert!(received.iter().all(absent), "{received:?}");
    let all = [("QueueUrl", &*url), ("MessageAttributeName.1", "All"), ("MaxNumberOfMessages", "10")];
    let received = client.query_call("ReceiveMessage", &all);
    assert_eq!(received.elements("Message").len(), 4);
    assert!(!received.0.contains("MD5OfMessageAttributes"), "{}", received.0);
}

#[test]
fn the_trace_header_has_a_digest_of_its_own() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    let trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
    let sent = client.call(
        "SendMessage",
        json!({
            "QueueUrl": url, "MessageBody": "m", "MessageAttributes": sent(),
            "MessageSystemAttributes": { "AWSTraceHeader": { "DataType": "String", "StringValue": trace } },
        }),
    );
    assert_eq!(sent["MD5OfMessageAttributes"], digest(), "the trace header is no part of it");
    let expected = md5::of_attributes(&[("AWSTraceHeader", "String", trace.as_bytes(), false)]);
    assert_eq!(expected, "5ae4d5d7636402d80f4eb6d213245a88");
    assert_eq!(sent["MD5OfMessageSystemAttributes"], expected);
    let received = client.receive(&url, 0);
    assert_eq!(received[0]["Attributes"]["AWSTraceHeader"], trace);
}

/// Bodies that a careless encoder changes: white space, line ends, quotes, markup, all planes of Unicode.
#[test]
fn bodies_come_back_byte_for_byte_in_both_dialects() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let url = client.create("q");
    for body in [
        "\"&quot;&quot;\r",
        " \t\r\n leading and trailing \n ",
        "<a href=\"x\">&amp;</a> ]]> <![CDATA[",
        "ä€\u{1F30A}\u{FFFD}\u{E000}\u{10FFFF}\u{7f}\u{85}\u{2028}",
        "+%20=&;?#",
        "{\"a\":\"\\u0000\"}",
        "\\",
    ] {
        for is_query in [false, true] {
            let digest = if is_query {
                let sent = client.query_call("SendMessage", &[("QueueUrl", &url), ("MessageBody", body)]);
                sent.texts("MD5OfMessageBody").remove(0)
            } else {
                let sent = client.call("SendMessage", json!({ "QueueUrl": url, "MessageBody": body }));
                sent["MD5OfMessageBody"].as_str().unwrap().to_owned()
            };
            assert_eq!(digest, md5::hex(body.as_bytes()), "{body:?}");
            let request = json!({ "QueueUrl": url, "VisibilityTimeout": 0 });
            let received = messages(&client.call("ReceiveMessage", request));
            assert_eq!(received[0]["Body"], body);
            let received = client.query_call("ReceiveMessage", &[("QueueUrl", &url)]);
            assert_eq!(received.texts("Body"), [body]);
            let handle = received.texts("ReceiptHandle").remove(0);
            client.call("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
        }
    }
}
