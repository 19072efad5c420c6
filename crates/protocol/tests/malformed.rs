//! Whatever a client sends gets a typed answer: a table of known malformations, and generated ones.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use proptest::prelude::*;
use support::{RawRequest, decode_raw, decode_signed};
use tidegate_engine::{Command, Error};
use tidegate_protocol::{Decoded, Response, limits};

const URL: &str = "http://localhost:9324/000000000000/orders";

/// Decodes and answers as if the queue existed and the engine refused everything.
fn answer(raw: &RawRequest) -> Response {
    match decode_raw(raw) {
        Decoded::Call(_, call) => call.encode(Err(Error::QueueMissing), &[]),
        Decoded::Refused(refusal) => refusal.encode(true),
    }
}

fn check(raw: &RawRequest, code: &str, what: &str) {
    let response = answer(raw);
    assert_eq!(response.code, Some(code), "{what}: {}", String::from_utf8_lossy(&response.body));
    assert!((400..500).contains(&response.status), "{what}");
    assert!(response.body.len() < 16_384, "{what}: an answer repeats only so much of its request");
}

#[test]
fn malformed_json_is_refused_with_its_type() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let attributes =
        |value: &str| format!(r#"{{"QueueUrl":"{URL}","MessageBody":"x","MessageAttributes":{value}}}"#);
    let body = |value: &str| format!(r#"{{"QueueUrl":"{URL}","MessageBody":{value}}}"#);
    for (body, code) in [
        ("{".to_owned(), "MalformedInput"),
        (r#"{"QueueUrl":"#.to_owned(), "MalformedInput"),
        (r#"{"QueueUrl":"x"} x"#.to_owned(), "MalformedInput"),
        ("[]".to_owned(), "MalformedInput"),
        ("null".to_owned(), "MalformedInput"),
        ("7".to_owned(), "MalformedInput"),
        (format!(r#"{{"x":{deep}}}"#), "MalformedInput"),
        (format!(r#"{{"x":[{}]}}"#, vec!["0"; 20_000].join(",")), "MalformedInput"),
        (body("{}"), "MalformedInput"),
        (body("[\"x\"]"), "MalformedInput"),
        (body("\"\\x\""), "MalformedInput"),
        (body("\"a\nb\""), "MalformedInput"),
        (body("\"\\ud800\""), "InvalidMessageContents"),
        (body("\"\u{FFFF}\""), "InvalidMessageContents"),
        (body("\"\\u0000\""), "InvalidMessageContents"),
        (body("\"\""), "MissingParameter"),
        (attributes("[]"), "MalformedInput"),
        (attributes(r#"{"a":"b"}"#), "MalformedInput"),
        (attributes(r#"{"a":{"DataType":[]}}"#), "MalformedInput"),
        (attributes(r#"{"a":{"DataType":"Binary","BinaryValue":"%"}}"#), "MalformedInput"),
        (attributes(r#"{"a":{}}"#), "InvalidParameterValue"),
        (attributes(r#"{"a":null}"#), "InvalidParameterValue"),
    ] {
        check(&RawRequest::json("SendMessage", body.as_bytes()), code, &body[..body.len().min(200)]);
    }
    check(&RawRequest::json("SendMessage", b"{\"QueueUrl\":\"\xff\"}"), "MalformedInput", "bad UTF-8");
    let long = vec![b' '; limits::REQUEST_BYTES + 1];
    check(&RawRequest::json("SendMessage", long), "RequestEntityTooLarge", "a long body");
}

#[test]
fn numbers_out_of_range_are_refused() {
    for number in
        ["-1", "11", "0", "9223372036854775807", "-9223372036854775808", "1e300", "18446744073709551615"]
    {
        let body = format!(r#"{{"QueueUrl":"{URL}","MaxNumberOfMessages":{number}}}"#);
        check(&RawRequest::json("ReceiveMessage", body), "InvalidParameterValue", number);
    }
    for number in ["1.5", "\"1\"", "true", "[]", "{}", "1e999"] {
        let body = format!(r#"{{"QueueUrl":"{URL}","MaxNumberOfMessages":{number}}}"#);
        check(&RawRequest::json("ReceiveMessage", body), "MalformedInput", number);
    }
}

#[test]
fn malformed_forms_are_refused_with_their_type() {
    let many = "&a=1".repeat(limits::PAIRS + 1);
    let wide: String = (0..=limits::MEMBERS).map(|i| format!("&Tag.{i}.Key=k")).collect();
    let deep = format!("&{}=1", vec!["a"; 100].join("."));
    for (rest, code) in [
        (&many, "MalformedInput"),
        (&wide, "MalformedInput"),
        (&deep, "MalformedInput"),
        (&"&MessageBody=%".to_owned(), "MalformedInput"),
        (&"&MessageBody=%4".to_owned(), "MalformedInput"),
        (&"&MessageBody=%zz".to_owned(), "MalformedInput"),
        (&"&MessageBody=%ff".to_owned(), "MalformedInput"),
        (&"&%ff=x".to_owned(), "MalformedInput"),
        (&"&MessageBody=x&DelaySeconds=1.5".to_owned(), "MalformedInput"),
        (&"&MessageBody=x&DelaySeconds=99999999999999999999".to_owned(), "MalformedInput"),
        (&"&MessageBody=%00".to_owned(), "InvalidMessageContents"),
        (&"&MessageBody=x&MessageAttribute.1.Name=a".to_owned(), "InvalidParameterValue"),
        (&"&MessageBody=x&MessageAttribute.1=a".to_owned(), "MalformedInput"),
        (&"&MessageBody=x&MessageAttribute=a".to_owned(), "MalformedInput"),
        (&"&=x&&&MessageBody".to_owned(), "MissingParameter"),
    ] {
        let form = format!("Action=SendMessage&QueueUrl={URL}{rest}");
        check(&RawRequest::form(form), code, &rest[..rest.len().min(100)]);
    }
    check(&RawRequest::form(b"Action=SendMessage&MessageBody=\xff".to_vec()), "MalformedInput", "bad UTF-8");
}

#[test]
fn forged_handles_are_refused() {
    let long = "A".repeat(100_000);
    for handle in ["AQAAAAAAAAAHAAAAAAAAAAEAAAAB5G7mUrtyEOeg8Yo8wEoADw", "A", "ä", "\\u0000", &long] {
        let body = format!(r#"{{"QueueUrl":"{URL}","ReceiptHandle":"{handle}"}}"#);
        check(
            &RawRequest::json("DeleteMessage", body),
            "ReceiptHandleIsInvalid",
            &handle[..handle.len().min(60)],
        );
    }
}

/// A size of exactly the batch limit passes, one byte more does not; attributes count, and bytes, not
/// characters.
#[test]
fn a_batch_may_be_one_mebibyte_in_all() {
    let batch = |first: usize, second: &str| {
        format!(
            r#"{{"QueueUrl":"{URL}","Entries":[{{"Id":"a","MessageBody":"{}"}},{second}]}}"#,
            "ä".repeat(first / 2)
        )
    };
    let second =
        r#"{"Id":"b","MessageBody":"x","MessageAttributes":{"k":{"DataType":"String","StringValue":"v"}}}"#;
    let size_of_second = 1 + 1 + 6 + 1;
    let first = 1_048_576 - size_of_second - 1;
    let fits = RawRequest::json("SendMessageBatch", batch(first, &second.replace("\"v\"", "\"vv\"")));
    match decode_raw(&fits) {
        Decoded::Call(Command::Send { entries, .. }, _) => {
            assert_eq!(entries.iter().map(|entry| entry.message.size()).sum::<usize>(), 1_048_576);
        }
        _ => panic!("exactly the limit passes"),
    }
    let over = RawRequest::json("SendMessageBatch", batch(first, &second.replace("\"v\"", "\"vvv\"")));
    let response = answer(&over);
    assert_eq!(response.code, Some("AWS.SimpleQueueService.BatchRequestTooLong"));
    let sentence = "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.";
    let text = String::from_utf8(response.body).unwrap();
    assert_eq!(
        text,
        format!(r#"{{"__type":"com.amazonaws.sqs#BatchRequestTooLong","message":"{sentence}"}}"#)
    );
    let entry = |n: usize, size: usize| {
        let name = format!("SendMessageBatchRequestEntry.{n}");
        format!("&{name}.Id={n}&{name}.MessageBody={}", "x".repeat(size))
    };
    let action = format!("Action=SendMessageBatch&QueueUrl={URL}");
    let form = |second| RawRequest::form(format!("{action}{}{}", entry(1, 524_288), entry(2, second)));
    assert!(matches!(decode_raw(&form(524_288)), Decoded::Call(Command::Send { .. }, _)));
    let text = String::from_utf8(answer(&form(524_289)).body).unwrap();
    assert!(text.contains("<Code>AWS.SimpleQueueService.BatchRequestTooLong</Code>"));
    assert!(text.contains(sentence));
}

#[test]
fn five_entries_of_a_thousand_bytes_are_no_concern_of_the_batch_limit() {
    let entry = |id: usize| format!(r#"{{"Id":"{id}","MessageBody":"{}"}}"#, "x".repeat(1_000));
    let entries: Vec<_> = (0..5).map(entry).collect();
    let body = format!(r#"{{"QueueUrl":"{URL}","Entries":[{}]}}"#, entries.join(","));
    assert!(matches!(
        decode_raw(&RawRequest::json("SendMessageBatch", body)),
        Decoded::Call(Command::Send { entries, .. }, _) if entries.len() == 5
    ));
}

/// Parts of requests that generated ones are made of.
fn request() -> impl Strategy<Value = RawRequest> {
    let actions = prop::sample::select(tidegate_protocol::Action::ALL);
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        json_value().prop_map(String::into_bytes),
        form().prop_map(String::into_bytes),
    ];
    (actions, any::<bool>(), "(/[a-z0-9%.]{0,12}){0,4}", prop::option::of(form()), body).prop_map(
        |(action, is_json, path, query, body)| {
            let mut raw =
                if is_json { RawRequest::json(action.name(), body) } else { RawRequest::form(body) };
            raw.path = path;
            raw.query = query;
            raw
        },
    )
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "QueueUrl",
        "QueueName",
        "MessageBody",
        "Attributes",
        "Attribute",
        "Entries",
        "Id",
        "ReceiptHandle",
        "VisibilityTimeout",
        "DelaySeconds",
        "MessageAttributes",
        "DataType",
        "StringValue",
        "BinaryValue",
        "RedrivePolicy",
        "Policy",
        "Tags",
        "tags",
        "TagKeys",
        "AttributeNames",
        "MaxNumberOfMessages",
        "NextToken",
        "MaxResults",
        "MessageGroupId",
        "MessageDeduplicationId",
        "ReceiveRequestAttemptId",
        "SourceArn",
        "TaskHandle",
        "Name",
        "Value",
        "1",
        "2",
        "Action",
        "SendMessageBatchRequestEntry",
    ])
}

fn json_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        "\"[^\"\\\\]{0,20}\"",
        Just(format!("\"{URL}\"")),
        Just(format!("\"{URL}.fifo\"")),
        Just("\"{\\\"a\\\":1}\"".to_owned()),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((name(), inner), 0..8).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

fn form() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        "[ -~]{0,12}",
        Just(URL.to_owned()),
        Just(format!("{URL}.fifo")),
        Just("SendMessageBatch".to_owned())
    ];
    let parameter = (prop::collection::vec(name(), 1..6), value)
        .prop_map(|(parts, value)| format!("{}={}", parts.join("."), value));
    prop::collection::vec(parameter, 0..10).prop_map(|parameters| parameters.join("&"))
}

/// Pieces of an `Authorization` header, and of what does not belong into one.
fn authorization() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "AWS4-HMAC-SHA256",
        "AWS4-",
        "AWS ",
        "Bearer ",
        " ",
        "\t",
        ",",
        ";",
        "/",
        "=",
        "%",
        "Credential=",
        "SignedHeaders=",
        "Signature=",
        "AKIDEXAMPLE/20231114/us-east-1/sqs/aws4_request",
        "AKIDEXAMPLE",
        "host;x-amz-date;x-amz-target",
        "content-type;host",
        "ee1fd662328a70e042e8dd8999067c7ba42ca81537ffadf10ab7d5d342e17d66",
        "ä",
    ]);
    let pieces = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
    prop_oneof![pieces, ".*", "AWS4-HMAC-SHA256 [ -~]*"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// No request that its sender did not sign gets past authentication, whatever it says of its signature.
    #[test]
    fn every_unsigned_request_gets_a_refusal(
        raw in request(),
        header in prop::option::of(authorization()),
        date in prop::option::of(prop_oneof![Just("20231114T221320Z".to_owned()), ".{0,20}"]),
        query in prop::option::of("(X-Amz-(Algorithm|Credential|Signature|SignedHeaders|Date|Expires)=[ -~]{0,60}&?){1,7}"),
    ) {
        let mut raw = raw;
        let named = |name: &str, value| (name.to_owned(), value);
        raw.headers.extend(header.map(|header| named("Authorization", header)));
        raw.headers.extend(date.map(|date| named("X-Amz-Date", date)));
        raw.query = query.or(raw.query);
        let Decoded::Refused(refusal) = decode_signed(&raw) else { panic!("accepted: {raw:?}") };
        prop_assert!(refusal.queue.is_none() && refusal.action.is_none());
        let response = refusal.encode(true);
        let codes = ["AccessDenied", "IncompleteSignature", "InvalidClientTokenId", "SignatureDoesNotMatch"];
        prop_assert!(response.code.is_some_and(|code| codes.contains(&code)), "{response:?}");
        prop_assert!(std::str::from_utf8(&response.body).is_ok());
    }

    #[test]
    fn every_request_gets_an_answer(raw in request()) {
        let response = answer(&raw);
        prop_assert!((400..500).contains(&response.status));
        prop_assert!(std::str::from_utf8(&response.body).is_ok());
    }

    #[test]
    fn a_valid_request_with_bytes_changed_gets_an_answer(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        is_json in any::<bool>(),
    ) {
        let json = format!(
            r#"{{"QueueUrl":"{URL}","Entries":[{{"Id":"a","MessageBody":"h\u00e4llo","DelaySeconds":5,"MessageAttributes":{{"k":{{"DataType":"Number","StringValue":"1.5"}}}}}}]}}"#
        );
        let form = format!("Action=SendMessageBatch&QueueUrl={URL}&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageBody=h%C3%A4");
        let mut raw =
            if is_json { RawRequest::json("SendMessageBatch", json) } else { RawRequest::form(form) };
        let length = raw.body.len();
        for (at, byte) in changes {
            raw.body[at.index(length)] = byte;
        }
        raw.body.truncate(cut.index(2 * length));
        let response = answer(&raw);
        prop_assert!((400..500).contains(&response.status));
    }

    #[test]
    fn no_handle_and_no_token_is_accepted_that_was_not_issued(text in "[A-Za-z0-9_-]{0,120}") {
        prop_assert_eq!(support::KEY.decode(&text), None);
        let body = format!(r#"{{"NextToken":"A{text}"}}"#);
        let response = answer(&RawRequest::json("ListQueues", body));
        prop_assert_eq!(response.code, Some("InvalidParameterValue"));
    }
}
