//! The service's errors, row by row, each with the golden case that shows it.
//!
//! The tables are written down from what is known of the service, not from our own: a shape, a status or a
//! text that changes in `fault.rs` shows here even when golden files are rewritten. A row names a file of
//! `tests/golden/` and a case in it, which has to exist in each of the row's dialects and to answer with
//! status, headers, code and text of the row.
//!
//! Not in the tables, because they cannot happen here: the KMS errors (no key is ever used),
//! `MessageNotInflight` (nobody has seen it), `InvalidIdFormat` (deprecated), `InvalidSecurity`.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod authentication;
mod messages;
mod move_tasks;
mod permissions;
mod queues;
mod redrive;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Code, type in JSON, status.
type Shape = (&'static str, &'static str, u16);

const SHAPES: &[Shape] = &[
    ("AWS.SimpleQueueService.NonExistentQueue", "com.amazonaws.sqs#QueueDoesNotExist", 400),
    ("QueueAlreadyExists", "com.amazonaws.sqs#QueueNameExists", 400),
    ("AWS.SimpleQueueService.QueueDeletedRecently", "com.amazonaws.sqs#QueueDeletedRecently", 400),
    ("AWS.SimpleQueueService.PurgeQueueInProgress", "com.amazonaws.sqs#PurgeQueueInProgress", 403),
    ("ReceiptHandleIsInvalid", "com.amazonaws.sqs#ReceiptHandleIsInvalid", 404),
    ("InvalidMessageContents", "com.amazonaws.sqs#InvalidMessageContents", 400),
    ("InvalidAttributeName", "com.amazonaws.sqs#InvalidAttributeName", 400),
    ("InvalidAttributeValue", "com.amazonaws.sqs#InvalidAttributeValue", 400),
    ("AWS.SimpleQueueService.EmptyBatchRequest", "com.amazonaws.sqs#EmptyBatchRequest", 400),
    (
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
        "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
        400,
    ),
    ("AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "com.amazonaws.sqs#BatchEntryIdsNotDistinct", 400),
    ("AWS.SimpleQueueService.InvalidBatchEntryId", "com.amazonaws.sqs#InvalidBatchEntryId", 400),
    ("AWS.SimpleQueueService.UnsupportedOperation", "com.amazonaws.sqs#UnsupportedOperation", 400),
    ("OverLimit", "com.amazonaws.sqs#OverLimit", 403),
    ("ResourceNotFoundException", "com.amazonaws.sqs#ResourceNotFoundException", 404),
    ("RequestThrottled", "com.amazonaws.sqs#RequestThrottled", 403),
    ("InvalidAddress", "com.amazonaws.sqs#InvalidAddress", 404),
    ("InvalidParameterValue", "com.amazon.coral.service#InvalidParameterValueException", 400),
    ("MissingParameter", "com.amazon.coral.service#MissingRequiredParameterException", 400),
    ("InvalidAction", "com.amazon.coral.service#UnknownOperationException", 400),
    ("MalformedInput", "com.amazon.coral.service#SerializationException", 400),
    ("AccessDenied", "com.amazon.coral.service#AccessDeniedException", 403),
    ("InvalidClientTokenId", "com.amazon.coral.service#UnrecognizedClientException", 403),
    ("SignatureDoesNotMatch", "com.amazon.coral.service#InvalidSignatureException", 403),
    ("IncompleteSignature", "com.amazon.coral.service#IncompleteSignatureException", 400),
    ("InternalFailure", "com.amazon.coral.service#InternalFailure", 500),
];

const MISSING_QUEUE: &str = "AWS.SimpleQueueService.NonExistentQueue";
const VALUE: &str = "InvalidParameterValue";
const MISSING: &str = "MissingParameter";
const NAME: &str = "InvalidAttributeName";
const ATTRIBUTE: &str = "InvalidAttributeValue";
const CONTENTS: &str = "InvalidMessageContents";
const HANDLE: &str = "ReceiptHandleIsInvalid";
const EMPTY_BATCH: &str = "AWS.SimpleQueueService.EmptyBatchRequest";

const BOTH: &[&str] = &["json", "query"];
const JSON: &[&str] = &["json"];
const QUERY: &[&str] = &["query"];

/// File, case, dialects, code, text. A text that begins with `…` is the end of one.
type Row = (&'static str, &'static str, &'static [&'static str], &'static str, &'static str);

/// Requests that are unknown or malformed.
const MALFORMED: &[Row] = &[
    (
        "unknown",
        "an unknown action",
        BOTH,
        "InvalidAction",
        "The action FooBar is not valid for this endpoint.",
    ),
    ("unknown", "another service's target", JSON, "InvalidAction", "… is not valid for this endpoint."),
    ("unknown", "no target", JSON, "InvalidAction", "… is not valid for this endpoint."),
    ("unknown", "no json", JSON, "MalformedInput", "…"),
    ("unknown", "an array", JSON, "MalformedInput", "…"),
    ("unknown", "a text", JSON, "MalformedInput", "…"),
    (
        "unknown",
        "a structure for a text",
        JSON,
        "MalformedInput",
        "Start of structure or map found where not expected.",
    ),
    ("unknown", "a list for a text", JSON, "MalformedInput", "Start of list found where not expected"),
    (
        "unknown",
        "a text for a number",
        BOTH,
        "MalformedInput",
        "STRING_VALUE can not be converted to an Integer",
    ),
    ("send_message", "a null body", JSON, MISSING, "The request must contain the parameter MessageBody."),
    (
        "create_queue",
        "not on a queue path",
        QUERY,
        "InvalidAction",
        "The action CreateQueue is not valid for this endpoint.",
    ),
    (
        "list_queues",
        "not on a queue path",
        QUERY,
        "InvalidAction",
        "The action ListQueues is not valid for this endpoint.",
    ),
    (
        "send_message",
        "a reply of another kind",
        BOTH,
        "InternalFailure",
        "The request could not be processed because of an internal failure.",
    ),
];

const REQUESTS: &[&[Row]] = &[
    MALFORMED,
    authentication::SIGNATURES,
    queues::QUEUES,
    messages::SENDS,
    messages::BATCHES,
    messages::RECEIVES,
    permissions::PERMISSIONS,
    permissions::POLICY,
    permissions::AUTHORIZATION,
    redrive::POLICY,
    redrive::ALLOW_POLICY,
    move_tasks::MOVE_TASKS,
];

#[test]
fn every_error_of_the_service_has_its_golden_case() {
    let golden = Golden::read();
    let mut faults = Vec::new();
    for row in REQUESTS.iter().copied().flatten() {
        let (_, json_type, status) = SHAPES.iter().find(|shape| shape.0 == row.3).unwrap();
        golden.check(row, &mut faults, |dialect, answer| {
            let side = if *status < 500 { "Sender" } else { "Receiver" };
            expect(answer.status == format!("{status} ({})", row.3), "status")?;
            expect(answer.has_header("x-amzn-RequestId", ""), "request id")?;
            if dialect == "query" {
                expect(answer.has_header("Content-Type", "text/xml"), "content type")?;
                expect(answer.element("Type") == Some(side.into()), "type")?;
                expect(answer.element("Code") == Some(row.3.into()), "code")?;
                expect(answer.body.contains("<Detail/></Error><RequestId>"), "detail")?;
                return expect(is_text(&answer.element("Message").unwrap_or_default(), row.4), "text");
            }
            let body: Value = serde_json::from_str(answer.body).unwrap();
            expect(answer.has_header("Content-Type", "application/x-amz-json-1.0"), "content type")?;
            expect(answer.has_header("x-amzn-query-error", &format!("{};{side}", row.3)), "error header")?;
            expect(body["__type"] == *json_type, "type")?;
            expect(is_text(body["message"].as_str().unwrap_or_default(), row.4), "text")
        });
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_error_of_a_batch_entry_has_its_golden_case() {
    let golden = Golden::read();
    let mut faults = Vec::new();
    for row in messages::ENTRIES {
        golden.check(row, &mut faults, |dialect, answer| {
            expect(answer.status == "200", "status")?;
            expect(!answer.head.contains("x-amzn-query-error"), "no error header")?;
            let failed = if dialect == "json" { answer.json_failures() } else { answer.xml_failures() };
            expect(failed.iter().any(|(code, text)| code == row.3 && is_text(text, row.4)), "failed entry")
        });
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_shape_is_in_a_row() {
    let shown: BTreeSet<_> = REQUESTS.iter().copied().flatten().map(|row| row.3).collect();
    let listed: BTreeSet<_> = SHAPES.iter().map(|shape| shape.0).collect();
    assert_eq!(shown, listed);
}

/// A request that names nothing gets a bare element, whatever it accepts.
#[test]
fn a_request_without_an_action_gets_a_bare_element() {
    let golden = Golden::read();
    for case in ["no action (get)", "no action, wants json (get)"] {
        let answer = golden.answer("unknown", case).unwrap();
        assert_eq!(answer.status, "404 (InvalidAction)");
        assert_eq!(answer.body, "<UnknownOperationException/>");
    }
}

fn expect(holds: bool, what: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(what) }
}

fn is_text(text: &str, expected: &str) -> bool {
    expected.strip_prefix('…').map_or(text == expected, |end| text.ends_with(end))
}

/// The golden files by name.
struct Golden(BTreeMap<String, String>);

impl Golden {
    #[expect(clippy::disallowed_methods, reason = "golden files are files")]
    fn read() -> Self {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let file = |path: std::path::PathBuf| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap())
        };
        Golden(std::fs::read_dir(directory).unwrap().map(|entry| file(entry.unwrap().path())).collect())
    }

    /// Checks the answers of a row's case in all its dialects.
    fn check(
        &self,
        row: &Row,
        faults: &mut Vec<String>,
        check: impl Fn(&str, &Answer<'_>) -> Result<(), &'static str>,
    ) {
        let (file, case, dialects, ..) = row;
        for dialect in *dialects {
            let answer = self.answer(file, &format!("{case} ({dialect})"));
            let checked = answer.ok_or("no such case").and_then(|answer| check(dialect, &answer));
            faults.extend(checked.err().map(|what| format!("{file}: {case} ({dialect}): {what}")));
        }
    }

    fn answer(&self, file: &str, title: &str) -> Option<Answer<'_>> {
        let title = format!("== {title}");
        let mut cases = self.0.get(file)?.split_inclusive("\n\n== ");
        let case = cases.find(|case| case.starts_with(&title[3..]) || case.starts_with(&title))?;
        let (_, response) = case.split_once("\n-- response\n")?;
        let (head, body) = response.trim_end_matches("== ").split_once("\n\n")?;
        Some(Answer { status: head.lines().next()?, head, body: body.trim_end() })
    }
}

/// An answer in a golden file.
struct Answer<'a> {
    status: &'a str,
    head: &'a str,
    body: &'a str,
}

impl Answer<'_> {
    fn has_header(&self, name: &str, value: &str) -> bool {
        let header =
            |line: &str| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).map(str::to_owned);
        self.head.lines().filter_map(header).any(|found| value.is_empty() || found == value)
    }

    fn element(&self, name: &str) -> Option<String> {
        element(self.body, name)
    }

    fn json_failures(&self) -> Vec<(String, String)> {
        let body: Value = serde_json::from_str(self.body).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let failed = body["Failed"].as_array().cloned().unwrap_or_default();
        failed.iter().map(|entry| (text(&entry["Code"]), text(&entry["Message"]))).collect()
    }

    fn xml_failures(&self) -> Vec<(String, String)> {
        let entries = self.body.split("<BatchResultErrorEntry>").skip(1);
        entries.map(|entry| (element(entry, "Code").unwrap(), element(entry, "Message").unwrap())).collect()
    }
}

/// The text of the first element of that name.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let text = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
        .into_iter()
        .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain));
    Some(text)
}
