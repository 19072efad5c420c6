//! What clients send, and what they get.

#[allow(dead_code, unused_imports, reason = "its own tests use the rest")]
#[path = "../../crates/protocol/tests/support/mod.rs"]
mod support;

use quick_xml::escape::unescape;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::{KEY, RawRequest, decode_raw, decode_signed};
use tidegate_engine::{
    Command, Delivery, Error, Message, MessageSeq, Position, QueueId, Receipt, Region, Reply, StoredMessage,
    Timestamp,
};
use tidegate_protocol::{Decoded, Response, parse_reference};

/// The text of a request as the golden files have it; `None` for what is none.
fn parse(data: &[u8]) -> Option<RawRequest> {
    let text = std::str::from_utf8(data).ok()?;
    let head = text.split_once("\n\n").map_or(text, |(head, _)| head);
    let mut lines = head.lines();
    let line = lines.next()?;
    let is_whole = line.split(' ').nth(1).is_some_and(|target| target.starts_with('/'));
    (is_whole && lines.all(|line| line.contains(": "))).then(|| RawRequest::parse(text))
}

/// A request to a server without credentials. Whatever becomes of it, the answer can be parsed.
pub fn requests(data: &[u8]) {
    let Some(request) = parse(data) else { return };
    match decode_raw(&request) {
        Decoded::Refused(refusal) => {
            let response = refusal.encode(true);
            assert!(response.status >= 400);
            check_form(&response);
        }
        Decoded::Call(_, call) => check_form(&call.encode(Err(Error::QueueMissing), &[])),
    }
    if let Decoded::Call(_, call) = decode_raw(&request) {
        // Of another kind than the command's for most: then it is a fault of the server's, and told as such.
        check_form(&call.encode(Ok(Reply::Done), &[]));
    }
}

fn check_form(response: &Response) {
    let text = std::str::from_utf8(&response.body).expect("an answer is UTF-8");
    if response.content_type == "text/xml" {
        assert!(elements(text).is_some(), "no XML: {text}");
    } else if !text.is_empty() {
        serde_json::from_str::<Value>(text).expect("an answer is JSON");
    }
}

/// The text of each element that has no others in it; `None` when it is not well formed.
fn elements(xml: &str) -> Option<BTreeMap<String, Vec<String>>> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut found = BTreeMap::<String, Vec<String>>::new();
    let (mut open, mut start) = (0, 0);
    loop {
        match reader.read_event().ok()? {
            Event::Start(_) => (open, start) = (open + 1, reader.buffer_position() as usize),
            Event::End(tag) => {
                open -= 1;
                let name = String::from_utf8(tag.name().as_ref().to_vec()).ok()?;
                let end = reader.buffer_position() as usize - name.len() - 3;
                if let Some(inside) = xml.get(start..end).filter(|inside| !inside.contains('<')) {
                    // As a parser reads line ends.
                    let read = inside.replace("\r\n", "\n").replace('\r', "\n");
                    found.entry(name).or_default().push(unescape(&read).ok()?.into_owned());
                }
            }
            Event::Eof => return (open == 0).then_some(found),
            _ => {}
        }
    }
}

/// A request to a server with a credential: of one that is accepted, no other body and no other path is.
pub fn signatures(data: &[u8]) {
    let Some(request) = parse(data) else { return };
    let Decoded::Call(command, _) = decode_signed(&request) else { return };
    let is_body_unsigned = request.headers.iter().any(|(_, value)| value == "UNSIGNED-PAYLOAD");
    let mut other = request.clone();
    other.body.push(b' ');
    assert!(is_body_unsigned || is_refused(&other), "the body is not signed: {command:?}");
    let mut other = request.clone();
    other.path.push('x');
    assert!(is_refused(&other), "the path is not signed: {command:?}");
    let mut other = request;
    other.query = Some(format!("{}&z=1", other.query.unwrap_or_default()));
    assert!(is_refused(&other), "the query is not signed: {command:?}");
}

fn is_refused(request: &RawRequest) -> bool {
    matches!(decode_signed(request), Decoded::Refused(_))
}

const QUEUE_URL: &str = "http://localhost:9324/000000000000/orders";

/// Body, attribute and group of a message, with zero bytes between: JSON and Query make the same of it, and both
/// answers to a receive give it back.
pub fn messages(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut fields = text.split('\0');
    let mut next = || fields.next().unwrap_or_default();
    let (body, name, data_type, value, group) = (next(), next(), next(), next(), next());
    let mut members = json!({ "QueueUrl": QUEUE_URL, "MessageBody": body });
    let mut form = vec![("Action", "SendMessage"), ("QueueUrl", QUEUE_URL), ("MessageBody", body)];
    if !group.is_empty() {
        members["MessageGroupId"] = json!(group);
        form.push(("MessageGroupId", group));
    }
    if !name.is_empty() {
        members["MessageAttributes"] = json!({ name: { "DataType": data_type, "StringValue": value } });
        form.push(("MessageAttribute.1.Name", name));
        form.push(("MessageAttribute.1.Value.DataType", data_type));
        form.push(("MessageAttribute.1.Value.StringValue", value));
    }
    let in_json = sent(&RawRequest::json("SendMessage", members.to_string()));
    let in_form = sent(&RawRequest::form(encode_form(&form)));
    assert_eq!(in_json, in_form);
    if let Ok(message) = in_json {
        assert_eq!(message.body, body.as_bytes());
        assert_eq!(message.attributes.len(), usize::from(!name.is_empty()));
        check_receive(&message);
    }
}

/// The message that a send makes, or the fault's code.
fn sent(request: &RawRequest) -> Result<Message, &'static str> {
    match decode_raw(request) {
        Decoded::Call(Command::Send { mut entries, .. }, _) => Ok(entries.remove(0).message),
        Decoded::Call(other, _) => panic!("a send became {other:?}"),
        Decoded::Refused(refusal) => Err(refusal.encode(true).code.expect("a refusal has a code")),
    }
}

fn encode_form(pairs: &[(&str, &str)]) -> String {
    let escape = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    pairs.iter().map(|(name, value)| format!("{name}={}&", escape(value))).collect()
}

/// Both dialects give a received message back as it was sent.
fn check_receive(message: &Message) {
    let answer = |request: RawRequest| {
        let Decoded::Call(_, call) = decode_raw(&request) else { panic!("a receive is accepted") };
        let receipt = Receipt { queue: QueueId(1), seq: MessageSeq(1), receive: 1 };
        let at = Timestamp::from_millis(1_700_000_000_000);
        let delivery = Delivery {
            receipt,
            position: Position(0),
            receive_count: 1,
            sent_at: at,
            first_received_at: at,
            origin: None,
        };
        let stored =
            StoredMessage { queue: receipt.queue, seq: receipt.seq, sent_at: at, message: message.clone() };
        let response = call.encode(Ok(Reply::Received(vec![delivery])), &[stored]);
        assert_eq!(response.status, 200);
        String::from_utf8(response.body).expect("an answer is UTF-8")
    };
    let body = std::str::from_utf8(&message.body).expect("a body is text");
    let wanted = json!({ "QueueUrl": QUEUE_URL, "MessageAttributeNames": ["All"] }).to_string();
    let in_json: Value =
        serde_json::from_str(&answer(RawRequest::json("ReceiveMessage", wanted))).expect("an answer is JSON");
    let received = &in_json["Messages"][0];
    assert_eq!(received["Body"], *body);
    let form = [("Action", "ReceiveMessage"), ("QueueUrl", QUEUE_URL), ("MessageAttributeName.1", "All")];
    let in_xml = elements(&answer(RawRequest::form(encode_form(&form)))).expect("an answer is XML");
    assert_eq!(in_xml["Body"], [body]);
    let values = received["MessageAttributes"].as_object().into_iter().flatten();
    let texts: Vec<_> = values.filter_map(|(_, value)| value["StringValue"].as_str()).collect();
    assert_eq!(texts.len(), message.attributes.len());
    assert_eq!(in_xml.get("StringValue").map_or(&[][..], Vec::as_slice), texts);
    assert_eq!(in_xml.get("MD5OfBody").map(|digests| json!(digests[0])), received.get("MD5OfBody").cloned());
}

/// What names a queue: the ARN of what is found names the same.
pub fn references(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let region = Region::default();
    let Some(queue) = parse_reference(text, Default::default(), &region) else { return };
    assert_eq!(parse_reference(&queue.arn(), Default::default(), &region).as_ref(), Some(&queue));
    let url = format!("https://a.example/{}/{}/{}", queue.region, queue.account, queue.name);
    // For its own region's callers: words that are no region of AWS's are leading path to all others.
    let found = parse_reference(&url, Default::default(), &queue.region);
    assert_eq!(found, Some(queue));
}

/// A receipt handle: what is accepted is what would be given out, and nothing else is.
pub fn receipts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(receipt) = KEY.decode(text) {
        assert_eq!(KEY.encode(&receipt), text);
    }
    let mut numbers =
        data.chunks(8).map(|chunk| chunk.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    let mut next = || numbers.next().unwrap_or_default();
    let receipt = Receipt { queue: QueueId(next()), seq: MessageSeq(next()), receive: next() as u32 };
    let handle = KEY.encode(&receipt);
    assert_eq!(KEY.decode(&handle), Some(receipt));
    // A bit changed anywhere, chosen by what is left of the bytes.
    let mut forged = handle.into_bytes();
    let at = next() as usize % forged.len();
    forged[at] = if forged[at] == b'x' { b'y' } else { b'x' };
    assert_eq!(KEY.decode(std::str::from_utf8(&forged).expect("ASCII")), None);
}
