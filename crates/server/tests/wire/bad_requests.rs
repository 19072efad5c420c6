//! Goal: whatever a well-framed request says, the answer is a typed error that tells what is wrong, and the server is
//! as well as before.

use crate::support::http::Answer;
use crate::support::server::{Server, Setup};
use crate::support::sqs::{Client, FORM, JSON, errors::*};
use serde_json::{Value, json};

/// Growth of the process that bad input may cause. Buffers that the allocator keeps are most of it.
const GROWTH_MAX: u64 = 64 << 20;

/// Runs `abuse` against a server with a queue `q`, which must afterwards serve as before and be no larger.
pub(crate) fn survive(abuse: impl FnOnce(&Server)) {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    client.send("q", "before");
    let at_rest = server.resident_bytes();
    abuse(&server);

    let client = &mut server.client();
    client.create("control");
    client.send("control", "after");
    assert_eq!(client.receive("control", 0)[0]["Body"], "after");
    assert_eq!(client.counts("q"), [1, 0, 0], "nothing of it was stored");
    assert_eq!(server.page("/ready").status, 200);
    let grown = server.resident_bytes().saturating_sub(at_rest);
    assert!(grown < GROWTH_MAX, "the process grew by {grown} bytes");
    server.stop();
}

#[track_caller]
fn refuse(client: &mut Client, action: &str, body: impl AsRef<[u8]>, kind: &str) -> String {
    client.json_text(action, body.as_ref()).assert_error(kind)
}

#[test]
fn bodies_that_are_no_json_object_are_malformed() {
    survive(|server| {
        let client = &mut server.client();
        let whole = r#"{"QueueUrl":"q","MessageBody":"é\ud83c\udf0a","MessageAttributes":{"a":{"DataType":"String","StringValue":"x"}}}"#;
        for end in 1..whole.len() {
            refuse(client, "SendMessage", &whole.as_bytes()[..end], MALFORMED);
        }
        for body in [
            &b"[]"[..],
            b"7",
            b"\"x\"",
            b"null",
            b"true",
            b"x",
            b"{} {}",
            b"{\"a\":}",
            b"{'a':1}",
            b"{\"a\":01}",
            b"{\"a\":+1}",
            b"{\"a\":NaN}",
            b"{\"a\":1,}",
            b"\xef\xbb\xbf{}",
            b"{\"QueueUrl\":\"q\",\"MessageBody\":\"\xff\"}",
            b"{\"QueueUrl\":\"q\",\"MessageBody\":\"\xed\xa0\x80\"}",
            b"{\"QueueUrl\":\"q\",\"MessageBody\":\"a\nb\"}",
            b"{\"QueueUrl\":\"q\",\"MessageBody\":\"\\x\"}",
            b"<SendMessage><MessageBody>x</MessageBody></SendMessage>",
            b"QueueUrl=q&MessageBody=x",
            b"\0\0\0\0",
        ] {
            refuse(client, "SendMessage", body, MALFORMED);
        }
        refuse(client, "SendMessage", "[".repeat(1_000_000), MALFORMED);
        refuse(
            client,
            "SendMessage",
            format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100)),
            MALFORMED,
        );
        refuse(client, "SendMessage", "{\"a\":".repeat(100_000), MALFORMED);
        refuse(client, "SendMessage", format!("{{\"a\":[{}1]}}", "1,".repeat(500_000)), MALFORMED);
        let members: String = (0..100_000).map(|n| format!("\"{n}\":0,")).collect();
        refuse(client, "SendMessage", format!("{{{members}\"a\":0}}"), MALFORMED);
    });
}

#[test]
fn values_of_the_wrong_type_are_malformed() {
    survive(|server| {
        let client = &mut server.client();
        for (action, body) in [
            ("SendMessage", json!({ "QueueUrl": {}, "MessageBody": "x" })),
            ("SendMessage", json!({ "QueueUrl": ["q"], "MessageBody": "x" })),
            ("SendMessage", json!({ "QueueUrl": "q", "MessageBody": {} })),
            ("SendMessage", json!({ "QueueUrl": "q", "MessageBody": ["x"] })),
            ("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "x", "DelaySeconds": "1" })),
            ("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "x", "DelaySeconds": 1.5 })),
            ("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "x", "DelaySeconds": true })),
            ("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "x", "DelaySeconds": {} })),
            ("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "x", "MessageAttributes": [] })),
            (
                "SendMessage",
                json!({ "QueueUrl": "q", "MessageBody": "x", "MessageAttributes": { "a": "x" } }),
            ),
            (
                "SendMessage",
                json!({
                    "QueueUrl": "q", "MessageBody": "x",
                    "MessageAttributes": { "a": { "DataType": "Binary", "BinaryValue": "no base64!" } },
                }),
            ),
            ("SendMessageBatch", json!({ "QueueUrl": "q", "Entries": {} })),
            ("SendMessageBatch", json!({ "QueueUrl": "q", "Entries": ["x"] })),
            ("SendMessageBatch", json!({ "QueueUrl": "q", "Entries": [{ "Id": {}, "MessageBody": "x" }] })),
            ("ReceiveMessage", json!({ "QueueUrl": "q", "MaxNumberOfMessages": "1" })),
            ("ReceiveMessage", json!({ "QueueUrl": "q", "WaitTimeSeconds": [] })),
            ("ReceiveMessage", json!({ "QueueUrl": "q", "MessageAttributeNames": "All" })),
            ("ReceiveMessage", json!({ "QueueUrl": "q", "AttributeNames": { "All": 1 } })),
            ("ReceiveMessage", json!({ "QueueUrl": "q", "AttributeNames": [[]] })),
            ("CreateQueue", json!({ "QueueName": "x", "Attributes": "none" })),
            ("CreateQueue", json!({ "QueueName": "x", "Attributes": { "Policy": {} } })),
            ("CreateQueue", json!({ "QueueName": "x", "tags": [] })),
            ("TagQueue", json!({ "QueueUrl": "q", "Tags": { "a": [] } })),
            ("ListQueues", json!({ "MaxResults": "1" })),
            ("DeleteMessage", json!({ "QueueUrl": "q", "ReceiptHandle": {} })),
        ] {
            let text = refuse(client, action, body.to_string(), MALFORMED);
            assert!(!text.is_empty(), "{action} {body}");
        }
        // A null is an absent parameter.
        refuse(client, "SendMessage", r#"{"QueueUrl":"q","MessageBody":null}"#, MISSING);
        refuse(client, "SendMessage", r#"{"QueueUrl":null,"MessageBody":"x"}"#, QUEUE_MISSING);
    });
}

#[test]
fn forms_that_cannot_be_decoded_are_malformed() {
    survive(|server| {
        let client = &mut server.client();
        let mut post = |body: &[u8]| client.exchange("POST", "/", &[("Content-Type", FORM)], body);
        let whole = "Action=SendMessage&QueueUrl=q&MessageBody=";
        for value in [&b"%"[..], b"%4", b"%zz", b"%ff", b"%ed%a0%80", b"\xff", b"a%c3", b"%-1", b"%+1"] {
            post(&[whole.as_bytes(), value].concat()).assert_error(MALFORMED);
        }
        // Cut short it lacks what was cut off; whatever remains is answered as what it is.
        for end in 1.."Action=SendMessage&QueueUrl=q&MessageBody".len() {
            let answer = post(&whole.as_bytes()[..end]);
            assert!((400..500).contains(&answer.status), "{}: {}", &whole[..end], answer.text());
        }
        for body in [
            format!("Action=SendMessage&QueueUrl=q&{}", "x=1&".repeat(20_000)),
            format!("Action=SendMessage&QueueUrl=q&{}=1", "a.".repeat(1_000)),
            format!(
                "Action=SendMessage&QueueUrl=q&{}",
                (0..5_000).map(|n| format!("n{n}=1&")).collect::<String>()
            ),
        ] {
            post(body.as_bytes()).assert_error(MALFORMED);
        }
        for (name, value) in [("DelaySeconds", "x"), ("DelaySeconds", "1.5"), ("DelaySeconds", "1e2")] {
            let body = format!("Action=SendMessage&QueueUrl=q&MessageBody=x&{name}={value}");
            post(body.as_bytes()).assert_error(MALFORMED);
        }
        let answer = client.exchange("GET", "/?Action=SendMessage&QueueUrl=q&MessageBody=%zz", &[], b"");
        answer.assert_error(MALFORMED);
    });
}

#[test]
fn characters_that_no_message_may_hold_are_refused() {
    survive(|server| {
        let client = &mut server.client();
        for (escape, code) in [
            ("\\u0000", "0"),
            ("\\u0008", "8"),
            ("\\u001f", "1F"),
            ("\\ufffe", "FFFE"),
            ("\\uffff", "FFFF"),
            ("\\ud800", "FFFF"),
        ] {
            let body = format!(r#"{{"QueueUrl":"q","MessageBody":"a{escape}b"}}"#);
            let text = refuse(client, "SendMessage", body, CONTENTS);
            assert!(text.starts_with(&format!("Invalid binary character '#x{code}' was found")), "{text}");
            let attribute = format!(
                r#"{{"QueueUrl":"q","MessageBody":"x","MessageAttributes":{{"a":{{"DataType":"String","StringValue":"{escape}"}}}}}}"#
            );
            refuse(client, "SendMessage", attribute, INVALID_VALUE);
            for field in ["Sid", "Foo"] {
                let policy =
                    format!(r#"{{"QueueUrl":"q","Attributes":{{"Policy":"{{\"{field}\":\"{escape}\"}}"}}}}"#);
                refuse(client, "SetQueueAttributes", policy, ATTRIBUTE_VALUE);
            }
        }
        client.query("SendMessage", &[("QueueUrl", "q"), ("MessageBody", "\u{0}")]).assert_error(CONTENTS);
        // What a client sent comes back in texts, and must not break them.
        let name = "<a>&\"\u{0}\r\n";
        let text = client.query("GetQueueAttributes", &[("QueueUrl", "q"), ("AttributeName.1", name)]);
        text.assert_error(ATTRIBUTE_NAME);
        let attribute = json!({ "QueueUrl": "q", "AttributeNames": [name] });
        client.json("GetQueueAttributes", &attribute).assert_error(ATTRIBUTE_NAME);
        for name in ["a b", "!", ".a", "a.", "AWS.x", "amazon.x", "", &"x".repeat(257)] {
            let attributes = json!({ name: { "DataType": "String", "StringValue": "x" } });
            let body = json!({ "QueueUrl": "q", "MessageBody": "x", "MessageAttributes": attributes });
            client.json("SendMessage", &body).assert_error(INVALID_VALUE);
        }
        let many: serde_json::Map<String, Value> =
            (0..11).map(|n| (format!("a{n}"), json!({ "DataType": "String", "StringValue": "x" }))).collect();
        let body = json!({ "QueueUrl": "q", "MessageBody": "x", "MessageAttributes": many });
        client.json("SendMessage", &body).assert_error(INVALID_VALUE);
    });
}

#[test]
fn handles_that_this_queue_did_not_give_are_refused() {
    survive(|server| {
        let client = &mut server.client();
        client.create("other");
        client.send("other", "m");
        let foreign = client.receive("other", 0)[0]["ReceiptHandle"].as_str().unwrap().to_owned();
        let mut handles = vec![
            foreign.clone(),
            "garbage".to_owned(),
            "x".repeat(1_024),
            "x".repeat(100_000),
            "AQEBwJnKyrHigUMZj6reyNurz+==".to_owned(),
            "ä\u{1F30A}".to_owned(),
            "a\0b".to_owned(),
            " ".to_owned(),
            format!("{foreign}A"),
            foreign[1..].to_owned(),
            format!("{foreign}="),
        ];
        for at in 0..foreign.len() {
            let mut forged = foreign.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            handles.push(String::from_utf8(forged).unwrap());
        }
        for handle in &handles {
            client
                .json("DeleteMessage", &json!({ "QueueUrl": "q", "ReceiptHandle": handle }))
                .assert_error(HANDLE);
            let change = json!({ "QueueUrl": "q", "ReceiptHandle": handle, "VisibilityTimeout": 0 });
            client.json("ChangeMessageVisibility", &change).assert_error(HANDLE);
            let form = [("QueueUrl", "q"), ("ReceiptHandle", handle)];
            client.query("DeleteMessage", &form).assert_error(HANDLE);
            let entries = json!([{ "Id": "e", "ReceiptHandle": handle, "VisibilityTimeout": 0 }]);
            for action in ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"] {
                let answer = client.call(action, json!({ "QueueUrl": "q", "Entries": entries }));
                assert_eq!(answer["Failed"][0]["Code"], "ReceiptHandleIsInvalid", "{answer}");
                assert_eq!(answer["Failed"][0]["SenderFault"], true);
                assert!(answer.get("Successful").is_none(), "{answer}");
            }
        }
        // Nobody's message was touched, and the handle is still good where it belongs.
        assert_eq!(client.counts("other"), [0, 1, 0]);
        client.call("DeleteMessage", json!({ "QueueUrl": "other", "ReceiptHandle": foreign }));
        client.json("DeleteMessage", &json!({ "QueueUrl": "q", "ReceiptHandle": "" })).assert_error(MISSING);
    });
}

#[test]
fn numbers_out_of_range_are_refused_by_value() {
    survive(|server| {
        let client = &mut server.client();
        client.create("other");
        client.send("other", "m");
        let handle = client.receive("other", 0)[0]["ReceiptHandle"].clone();
        let queue = |name: &str, value: &str| format!(r#"{{"QueueUrl":"q","{name}":{value}}}"#);
        let send = |value: &str| format!(r#"{{"QueueUrl":"q","MessageBody":"x","DelaySeconds":{value}}}"#);
        let change = |value: &str| {
            format!(r#"{{"QueueUrl":"other","ReceiptHandle":{handle},"VisibilityTimeout":{value}}}"#)
        };
        for value in ["-1", "-2147483649", "9223372036854775807", "9223372036854775808", "1e300", "-1e300"] {
            for name in ["MaxNumberOfMessages", "WaitTimeSeconds", "VisibilityTimeout"] {
                refuse(client, "ReceiveMessage", queue(name, value), INVALID_VALUE);
            }
            refuse(client, "SendMessage", send(value), INVALID_VALUE);
            refuse(client, "ChangeMessageVisibility", change(value), INVALID_VALUE);
            refuse(client, "ListQueues", queue("MaxResults", value), INVALID_VALUE);
        }
        for (name, value) in [
            ("MaxNumberOfMessages", "0"),
            ("MaxNumberOfMessages", "11"),
            ("WaitTimeSeconds", "21"),
            ("VisibilityTimeout", "43201"),
        ] {
            refuse(client, "ReceiveMessage", queue(name, value), INVALID_VALUE);
        }
        refuse(client, "SendMessage", send("901"), INVALID_VALUE);
        refuse(client, "ChangeMessageVisibility", change("43201"), INVALID_VALUE);
        refuse(client, "ListQueues", queue("MaxResults", "1001"), INVALID_VALUE);
        refuse(client, "ReceiveMessage", queue("WaitTimeSeconds", "1e999"), MALFORMED);
        for value in ["", " 6", "6 ", "+6", "-45", "544.43", "901", "true", "٣", "99999999999999999999"] {
            let answer = client.set_attributes("q", json!({ "DelaySeconds": value }));
            assert_eq!(
                answer.assert_error(ATTRIBUTE_VALUE),
                "Invalid value for the parameter DelaySeconds.",
                "{value}"
            );
        }
        assert_eq!(client.attributes("q")["DelaySeconds"], "0");
        client
            .json("ListQueues", &json!({ "NextToken": "garbage", "MaxResults": 1 }))
            .assert_error(INVALID_VALUE);
    });
}

/// The service's JSON parser takes the last of several equal keys, and so does every common one.
#[test]
fn of_equal_keys_the_last_counts() {
    survive(|server| {
        let client = &mut server.client();
        client.create("other");
        let body = r#"{"QueueUrl":"q","MessageBody":"a","MessageBody":"b","QueueUrl":"other"}"#;
        assert_eq!(client.json_text("SendMessage", body.as_bytes()).status, 200);
        assert_eq!(client.receive("other", 0)[0]["Body"], "b");
        let form =
            b"Action=ListQueues&QueueUrl=q&QueueUrl=other&MessageBody=c&MessageBody=d&Action=SendMessage";
        let answer = client.exchange("POST", "/", &[("Content-Type", FORM)], form);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(client.receive("other", 0)[0]["Body"], "d");
        let twice = r#"{"QueueUrl":"other","MessageBody":"e","MessageAttributes":{"a":{"DataType":"String","StringValue":"1"},"a":{"DataType":"String","StringValue":"2"}}}"#;
        assert_eq!(client.json_text("SendMessage", twice.as_bytes()).status, 200);
        let received = client.receive_with("other", json!({ "MessageAttributeNames": ["All"] }));
        assert_eq!(received[0]["MessageAttributes"]["a"]["StringValue"], "2");
    });
}

#[test]
fn strange_targets_and_headers_are_answered() {
    survive(|server| {
        let client = &mut server.client();
        let json = ("Content-Type", JSON);
        for target in [
            "AmazonSQS.SendMessage\u{ff}",
            "AmazonSQS.sendmessage",
            "AmazonSQS.SendMessage ",
            "AmazonSQS..",
            "AmazonSQS",
        ] {
            let answer = client.exchange("POST", "/", &[("X-Amz-Target", target.trim()), json], b"{}");
            assert!((400..500).contains(&answer.status), "{target}: {answer:?}");
        }
        let long = format!("AmazonSQS.{}", "x".repeat(10_000));
        client.exchange("POST", "/", &[("X-Amz-Target", &long), json], b"{}").assert_error(UNKNOWN_ACTION);
        for authorization in [
            "",
            "x",
            "AWS4-HMAC-SHA256",
            "AWS4-HMAC-SHA256 Credential=",
            "AWS4-HMAC-SHA256 Credential=////,",
            "\u{ff}",
        ] {
            let headers = [("X-Amz-Target", "AmazonSQS.ListQueues"), json, ("Authorization", authorization)];
            assert_eq!(client.exchange("POST", "/", &headers, b"{}").status, 200, "{authorization}");
        }
        for path in [
            "//",
            "/../..",
            "/%00",
            "/%ff/%2e%2e",
            "/000000000000/",
            "/x/y/z",
            "/;",
            &format!("/{}", "a".repeat(20_000)),
        ] {
            let answer = client.exchange("GET", path, &[], b"");
            assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
            let answer = client.json_at(path, "SendMessage", br#"{"MessageBody":"x"}"#);
            answer.assert_error(QUEUE_MISSING);
        }
        for action in ["CreateQueue", "ListQueues"] {
            let target = format!("/000000000000/q?Action={action}&QueueName=x");
            let text = client.exchange("GET", &target, &[], b"").assert_error(UNKNOWN_ACTION);
            assert_eq!(text, format!("The action {action} is not valid for this endpoint."));
        }
    });
}

/// The limit on bodies is eight mebibytes.
const BODY_MAX: usize = 8 << 20;

#[test]
fn bodies_over_the_limit_are_refused_with_413_in_both_dialects() {
    survive(|server| {
        let check = |answer: Answer| {
            let text = answer.assert_error(TOO_LARGE);
            assert!(text.contains("8388608 bytes"), "{text}");
        };
        let body = vec![b' '; BODY_MAX + 1];
        for _ in 0..3 {
            check(server.client().json_text("SendMessage", &body));
            check(server.client().exchange("POST", "/", &[("Content-Type", FORM)], &body));
        }
        // Just at the limit it is read, and is no JSON.
        refuse(&mut server.client(), "SendMessage", &body[1..], MALFORMED);
    });
}
