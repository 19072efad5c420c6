//! The bytes of requests: AWS JSON 1.0, the protocol of all current SDKs.

use crate::endpoint::Endpoint;
use crate::mark::Mark;
use crate::operation::Operation;
use crate::sign::{Credential, Signed, Signer};
use serde_json::json;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// Makes the requests of one connection.
#[derive(Clone)]
pub(crate) struct Requests {
    /// By operation: the head up to the signature.
    heads: Arc<[Vec<u8>]>,
    endpoint: Arc<Endpoint>,
    signer: Option<Signer>,
    /// Where a signed head is put together.
    signed: Vec<u8>,
    /// As a JSON string, with its quotes.
    queue_url: Arc<str>,
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) mark: Mark,
    /// Bytes of the body.
    pub(crate) size: usize,
    pub(crate) is_fifo: bool,
}

impl Requests {
    /// Requests that name no queue.
    pub(crate) fn new(endpoint: Arc<Endpoint>, credential: Option<Credential>, region: &str) -> Self {
        let placeholder = if credential.is_some() { String::new() } else { unsigned(region) };
        let heads = Operation::ALL.map(|operation| {
            format!(
                "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: tidegate-bench/{}\r\nContent-Type: {CONTENT_TYPE}\r\n\
                 X-Amz-Target: {}\r\n{placeholder}",
                endpoint.path,
                endpoint.host,
                env!("CARGO_PKG_VERSION"),
                target(operation),
            )
            .into_bytes()
        });
        let signer = credential.map(|credential| Signer::new(credential, region));
        Requests { heads: heads.into(), endpoint, signer, signed: Vec::new(), queue_url: "\"\"".into() }
    }

    /// The same for a queue.
    #[must_use]
    pub(crate) fn for_queue(&self, url: &str) -> Self {
        Requests { queue_url: json!(url).to_string().into(), ..self.clone() }
    }

    /// The head of a request, up to the value of `Content-Length`.
    pub(crate) fn head(&mut self, operation: Operation, body: &[u8]) -> &[u8] {
        let Requests { heads, endpoint, signer, signed, .. } = self;
        signed.clear();
        signed.extend_from_slice(&heads[operation as usize]);
        if let Some(signer) = signer {
            let request = Signed {
                path: &endpoint.path,
                host: &endpoint.host,
                content_type: CONTENT_TYPE,
                target: &target(operation),
                body,
            };
            signer.sign(&request, signed);
        }
        signed.extend_from_slice(b"Content-Length: ");
        signed
    }

    pub(crate) fn queue_url(&self, name: &str, out: &mut Vec<u8>) {
        replace(out, &json!({ "QueueName": name }));
    }

    /// `visibility_s`: what a message that was received and not deleted stays hidden for.
    pub(crate) fn create_queue(&self, name: &str, is_fifo: bool, visibility_s: u32, out: &mut Vec<u8>) {
        let mut attributes = json!({ "VisibilityTimeout": visibility_s.to_string() });
        if is_fifo {
            attributes["FifoQueue"] = "true".into();
        }
        replace(out, &json!({ "QueueName": name, "Attributes": attributes }));
    }

    pub(crate) fn delete_queue(&self, out: &mut Vec<u8>) {
        self.begin(out);
        out.push(b'}');
    }

    /// One message by itself, several as a batch. `bodies` becomes where in `out` each body is.
    pub(crate) fn send(
        &self,
        messages: &[Outgoing],
        out: &mut Vec<u8>,
        bodies: &mut Vec<Range<usize>>,
    ) -> Operation {
        self.begin(out);
        bodies.clear();
        if let [message] = messages {
            out.push(b',');
            write_message(message, out, bodies);
            out.push(b'}');
            return Operation::SendMessage;
        }
        out.extend_from_slice(b",\"Entries\":[");
        for (index, message) in messages.iter().enumerate() {
            write_entry_start(index, out);
            write_message(message, out, bodies);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
        Operation::SendMessageBatch
    }

    pub(crate) fn receive(&self, max: usize, wait_s: u32, out: &mut Vec<u8>) -> Operation {
        self.begin(out);
        format(out, format_args!(",\"MaxNumberOfMessages\":{max},\"WaitTimeSeconds\":{wait_s}}}"));
        Operation::ReceiveMessage
    }

    /// One message by itself, several as a batch.
    pub(crate) fn delete<'a>(
        &self,
        handles: impl ExactSizeIterator<Item = &'a str>,
        out: &mut Vec<u8>,
    ) -> Operation {
        self.begin(out);
        let is_batch = handles.len() != 1;
        out.extend_from_slice(if is_batch { b",\"Entries\":[" } else { b"," });
        for (index, handle) in handles.enumerate() {
            if is_batch {
                write_entry_start(index, out);
            }
            out.extend_from_slice(b"\"ReceiptHandle\":");
            // Writing to memory does not fail, and a string can be written as JSON.
            let _ = serde_json::to_writer(&mut *out, handle);
            if is_batch {
                out.push(b'}');
            }
        }
        out.extend_from_slice(if is_batch { b"]}" } else { b"}" });
        if is_batch { Operation::DeleteMessageBatch } else { Operation::DeleteMessage }
    }

    fn begin(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(b"{\"QueueUrl\":");
        out.extend_from_slice(self.queue_url.as_bytes());
    }
}

fn target(operation: Operation) -> String {
    format!("AmazonSQS.{}", operation.name())
}

/// The header of a signed request without a right signature, for servers that do not look at it: requests are as long as
/// those of an SDK, and cost no signing here.
fn unsigned(region: &str) -> String {
    format!(
        "X-Amz-Date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=tidegate-bench/20260101/{region}/sqs/\
         aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={}\r\n",
        "0123456789abcdef".repeat(4)
    )
}

fn write_entry_start(index: usize, out: &mut Vec<u8>) {
    let comma = if index == 0 { "" } else { "," };
    format(out, format_args!("{comma}{{\"Id\":\"{index}\","));
}

/// The members of a message, without what stands around them. No character of a body needs escaping.
fn write_message(message: &Outgoing, out: &mut Vec<u8>, bodies: &mut Vec<Range<usize>>) {
    let Outgoing { mark, size, is_fifo } = message;
    out.extend_from_slice(b"\"MessageBody\":\"");
    let start = out.len();
    mark.write_body(*size, out);
    bodies.push(start..out.len());
    out.push(b'"');
    if *is_fifo {
        let Mark { run, number, group, .. } = mark;
        let (id, group) = (format_args!("{run:08x}-{number}"), format_args!("g{group}"));
        format(out, format_args!(",\"MessageGroupId\":\"{group}\",\"MessageDeduplicationId\":\"{id}\""));
    }
}

fn replace(out: &mut Vec<u8>, value: &serde_json::Value) {
    out.clear();
    format(out, format_args!("{value}"));
}

fn format(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = out.write_fmt(text);
}
