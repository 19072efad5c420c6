//! SQS calls in both dialects, and what is to be read out of their answers.

use super::http::{Answer, Connection, request};
use super::sign::Signer;
use rustls::ClientConfig;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;

pub const JSON: &str = "application/x-amz-json-1.0";
pub const FORM: &str = "application/x-www-form-urlencoded";

/// A client on one keep-alive connection, which is opened when it is needed and again when the server closed it.
pub struct Client {
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
    connection: Option<Connection>,
    headers: Vec<(String, String)>,
    signer: Option<Signer>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Client { address, tls: None, connection: None, headers: Vec::new(), signer: None }
    }

    pub fn encrypted(address: SocketAddr, config: Arc<ClientConfig>) -> Self {
        Client { tls: Some(config), ..Self::new(address) }
    }

    fn open(&self) -> Connection {
        match &self.tls {
            None => Connection::open(self.address).unwrap(),
            Some(config) => Connection::open_tls(self.address, config.clone()).unwrap(),
        }
    }

    /// The same with a header on every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with a signature on every request.
    #[must_use]
    pub fn signed_by(mut self, signer: &Signer) -> Self {
        self.signer = Some(signer.clone());
        self
    }

    /// Sends one request and reads its answer.
    pub fn exchange(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut all: Vec<_> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        all.extend_from_slice(headers);
        let signature = self.signer.as_ref().map(|signer| signer.headers(method, target, &all, body));
        all.extend(signature.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str())));
        let bytes = request(method, target, &all, body);
        let mut connection = match self.connection.take() {
            Some(open) if !open.is_closed() => open,
            _ => self.open(),
        };
        // A server that has read enough answers before it has everything.
        let _ = connection.write(&bytes);
        let answer = connection.read().unwrap();
        self.connection = answer.keeps_alive().then_some(connection);
        answer
    }

    /// A JSON call.
    pub fn json(&mut self, action: &str, body: &Value) -> Answer {
        self.json_text(action, body.to_string().as_bytes())
    }

    /// A JSON call whose body may be anything.
    pub fn json_text(&mut self, action: &str, body: &[u8]) -> Answer {
        self.json_at("/", action, body)
    }

    /// A JSON call to a path.
    pub fn json_at(&mut self, path: &str, action: &str, body: &[u8]) -> Answer {
        let target = format!("AmazonSQS.{action}");
        self.exchange("POST", path, &[("X-Amz-Target", &target), ("Content-Type", JSON)], body)
    }

    /// A Query call.
    pub fn query(&mut self, action: &str, parameters: &[(&str, &str)]) -> Answer {
        let mut form = format!("Action={action}&Version=2012-11-05");
        for (name, value) in parameters {
            form.push_str(&format!("&{}={}", escape(name), escape(value)));
        }
        self.exchange("POST", "/", &[("Content-Type", FORM)], form.as_bytes())
    }

    /// A JSON call that succeeds.
    pub fn call(&mut self, action: &str, body: Value) -> Value {
        let answer = self.json(action, &body);
        assert_eq!(answer.status, 200, "{action} {body}: {}", answer.text());
        answer.json()
    }

    /// A Query call that succeeds.
    pub fn query_call(&mut self, action: &str, parameters: &[(&str, &str)]) -> Xml {
        let answer = self.query(action, parameters);
        assert_eq!(answer.status, 200, "{action} {parameters:?}: {}", answer.text());
        answer.xml()
    }

    /// Creates a queue with defaults; its URL.
    pub fn create(&mut self, name: &str) -> String {
        self.create_with(name, json!({}))
    }

    /// Creates a queue; its URL.
    pub fn create_with(&mut self, name: &str, attributes: Value) -> String {
        let made = self.call("CreateQueue", json!({ "QueueName": name, "Attributes": attributes }));
        made["QueueUrl"].as_str().unwrap().to_owned()
    }

    /// Sends a message; its id.
    pub fn send(&mut self, queue: &str, body: &str) -> String {
        let sent = self.call("SendMessage", json!({ "QueueUrl": queue, "MessageBody": body }));
        sent["MessageId"].as_str().unwrap().to_owned()
    }

    /// Receives up to ten messages with their system attributes.
    pub fn receive(&mut self, queue: &str, wait: u32) -> Vec<Value> {
        self.receive_with(queue, json!({ "WaitTimeSeconds": wait }))
    }

    /// Receives up to ten messages with their system attributes and further parameters.
    pub fn receive_with(&mut self, queue: &str, more: Value) -> Vec<Value> {
        let mut body = json!({
            "QueueUrl": queue, "MaxNumberOfMessages": 10, "MessageSystemAttributeNames": ["All"],
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        messages(&self.call("ReceiveMessage", body))
    }

    /// The attributes of a queue.
    pub fn attributes(&mut self, queue: &str) -> Value {
        let all = json!({ "QueueUrl": queue, "AttributeNames": ["All"] });
        self.call("GetQueueAttributes", all)["Attributes"].clone()
    }

    /// Visible, in flight, delayed.
    pub fn counts(&mut self, queue: &str) -> [u64; 3] {
        let attributes = self.attributes(queue);
        ["", "NotVisible", "Delayed"].map(|state| {
            let count = attributes[format!("ApproximateNumberOfMessages{state}")].as_str();
            count.unwrap().parse().unwrap()
        })
    }

    pub fn set_attributes(&mut self, queue: &str, attributes: Value) -> Answer {
        self.json("SetQueueAttributes", &json!({ "QueueUrl": queue, "Attributes": attributes }))
    }
}

/// The messages of a receive's answer.
pub fn messages(answer: &Value) -> Vec<Value> {
    answer["Messages"].as_array().cloned().unwrap_or_default()
}

/// How often a message was received.
pub fn receive_count(message: &Value) -> u32 {
    message["Attributes"]["ApproximateReceiveCount"].as_str().unwrap().parse().unwrap()
}

impl Answer {
    /// The body as JSON; `null` when it is empty.
    pub fn json(&self) -> Value {
        if self.body.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub fn xml(&self) -> Xml {
        Xml(self.text())
    }

    /// Checks that this is an error of a kind, in whichever dialect it is; its text.
    ///
    /// `kind` is the status, the shape with its namespace's last part, and the code: `400
    /// sqs#QueueDoesNotExist AWS.SimpleQueueService.NonExistentQueue`.
    #[track_caller]
    pub fn assert_error(&self, kind: &str) -> String {
        let [status, shape, code] = kind.split(' ').collect::<Vec<_>>()[..] else { panic!("{kind}") };
        let side = if status.starts_with('5') { "Receiver" } else { "Sender" };
        assert_eq!(self.status.to_string(), status, "{self:?}, body {}", self.text());
        let id = self.header("x-amzn-requestid").expect("every answer has a request id");
        assert_eq!(id.len(), 36, "a UUID: {id}");
        if self.header("content-type") == Some(JSON) {
            let namespace = if shape.starts_with("sqs#") { "com.amazonaws." } else { "com.amazon." };
            let (space, name) = shape.split_once('#').unwrap();
            let space = if space == "sqs" { "sqs" } else { "coral.service" };
            assert_eq!(self.json()["__type"], format!("{namespace}{space}#{name}"), "{}", self.text());
            assert_eq!(
                self.header("x-amzn-query-error"),
                Some(&*format!("{code};{side}")),
                "{}",
                self.text()
            );
            return self.json()["message"].as_str().expect("an error has a text").to_owned();
        }
        assert_eq!(self.header("content-type"), Some("text/xml"), "{}", self.text());
        let xml = self.xml();
        assert!(
            xml.0.contains("<ErrorResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">"),
            "{}",
            xml.0
        );
        assert_eq!(xml.texts("Type"), [side]);
        assert_eq!(xml.texts("Code"), [code], "{}", xml.0);
        assert_eq!(xml.texts("RequestId"), [id]);
        xml.texts("Message").remove(0)
    }
}

/// The kinds of error that several tests name.
pub mod errors {
    pub const QUEUE_MISSING: &str = "400 sqs#QueueDoesNotExist AWS.SimpleQueueService.NonExistentQueue";
    pub const QUEUE_EXISTS: &str = "400 sqs#QueueNameExists QueueAlreadyExists";
    pub const QUEUE_DELETED_RECENTLY: &str =
        "400 sqs#QueueDeletedRecently AWS.SimpleQueueService.QueueDeletedRecently";
    pub const PURGE_IN_PROGRESS: &str =
        "403 sqs#PurgeQueueInProgress AWS.SimpleQueueService.PurgeQueueInProgress";
    pub const INVALID_VALUE: &str = "400 coral#InvalidParameterValueException InvalidParameterValue";
    pub const MISSING: &str = "400 coral#MissingRequiredParameterException MissingParameter";
    pub const UNKNOWN_ACTION: &str = "400 coral#UnknownOperationException InvalidAction";
    pub const MALFORMED: &str = "400 coral#SerializationException MalformedInput";
    pub const ATTRIBUTE_NAME: &str = "400 sqs#InvalidAttributeName InvalidAttributeName";
    pub const ATTRIBUTE_VALUE: &str = "400 sqs#InvalidAttributeValue InvalidAttributeValue";
    pub const CONTENTS: &str = "400 sqs#InvalidMessageContents InvalidMessageContents";
    pub const HANDLE: &str = "404 sqs#ReceiptHandleIsInvalid ReceiptHandleIsInvalid";
    pub const EMPTY_BATCH: &str = "400 sqs#EmptyBatchRequest AWS.SimpleQueueService.EmptyBatchRequest";
    pub const TOO_MANY_ENTRIES: &str =
        "400 sqs#TooManyEntriesInBatchRequest AWS.SimpleQueueService.TooManyEntriesInBatchRequest";
    pub const ENTRY_IDS: &str =
        "400 sqs#BatchEntryIdsNotDistinct AWS.SimpleQueueService.BatchEntryIdsNotDistinct";
    pub const ENTRY_ID: &str = "400 sqs#InvalidBatchEntryId AWS.SimpleQueueService.InvalidBatchEntryId";
    pub const BATCH_TOO_LONG: &str = "400 sqs#BatchRequestTooLong AWS.SimpleQueueService.BatchRequestTooLong";
    pub const UNSUPPORTED: &str = "400 sqs#UnsupportedOperation AWS.SimpleQueueService.UnsupportedOperation";
    pub const ACCESS_DENIED: &str = "403 coral#AccessDeniedException AccessDenied";
    pub const RESOURCE_MISSING: &str = "404 sqs#ResourceNotFoundException ResourceNotFoundException";
    pub const OVER_LIMIT: &str = "403 sqs#OverLimit OverLimit";
    pub const TOO_LARGE: &str = "413 coral#RequestEntityTooLargeException RequestEntityTooLarge";
}

/// An XML answer. The answers have neither attributes, comments nor CDATA but for the root's namespace, so that
/// elements can be found by their tags.
#[derive(Clone, Debug)]
pub struct Xml(pub String);

impl Xml {
    /// The content of every element of a name, outermost ones only, with its markup.
    pub fn elements(&self, name: &str) -> Vec<Xml> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let mut found = Vec::new();
        let mut rest = self.0.as_str();
        while let Some(start) = rest.find(&open) {
            let content = &rest[start + open.len()..];
            let end = content.find(&close).unwrap_or_else(|| panic!("{name} is not closed: {}", self.0));
            found.push(Xml(content[..end].to_owned()));
            rest = &content[end + close.len()..];
        }
        found
    }

    /// The text of every element of a name.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.elements(name).iter().map(Xml::text).collect()
    }

    /// The content as text, line ends and references read as a parser reads them.
    pub fn text(&self) -> String {
        let text = self.0.replace("\r\n", "\n").replace('\r', "\n").replace("&#xD;", "\r");
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    }

    /// A flattened map: pairs of the texts of `key` and `value` in every element of a name.
    pub fn map(&self, name: &str, key: &str, value: &str) -> Vec<(String, String)> {
        let pair = |element: &Xml| (element.texts(key).remove(0), element.texts(value).remove(0));
        self.elements(name).iter().map(pair).collect()
    }
}

/// Percent-encodes what a form cannot carry as it is.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(byte.into()),
            b' ' => escaped.push('+'),
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    escaped
}
