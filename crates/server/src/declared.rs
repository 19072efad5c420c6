//! Queues declared in the configuration: created, or brought to their declared attributes, at start.
//!
//! Declarations become the requests that a client would send, so that they mean the same and are checked the same.

use crate::config::{DeclaredQueue, Origin};
use crate::shard::Shard;
use serde_json::{Map, Value, json};
use thiserror::Error;
use tidegate_log::Storage;
use tidegate_protocol::{Context, Decoded, Headers, ReceiptKey, Request, Response, UrlSettings, decode};

/// Why a declaration cannot be carried out.
#[derive(Debug, Error)]
pub(crate) enum DeclarationError {
    #[error("{origin}: the declared queue {queue} was refused: {message}")]
    Refused { origin: Origin, queue: String, message: String },
    #[error("the server stopped while it created declared queues")]
    Stopped,
}

/// Creates missing queues first and sets attributes after, so that a redrive policy may name a queue that is
/// declared further down.
pub(crate) async fn create<S: Storage>(
    shard: &Shard<S>,
    queues: &[DeclaredQueue],
) -> Result<(), DeclarationError> {
    for queue in queues {
        let mut body = json!({ "QueueName": queue.name.as_str() });
        if queue.name.is_fifo() {
            body["Attributes"] = json!({ "FifoQueue": "true" });
        }
        request(shard, queue, "CreateQueue", &body).await?;
    }
    for queue in queues {
        let url = format!("{}/{}", queue.account, queue.name);
        let attributes = object(&queue.attributes, |name| name != "FifoQueue");
        if !attributes.is_empty() {
            let body = json!({ "QueueUrl": url, "Attributes": attributes });
            request(shard, queue, "SetQueueAttributes", &body).await?;
        }
        if !queue.tags.is_empty() {
            let body = json!({ "QueueUrl": url, "Tags": object(&queue.tags, |_| true) });
            request(shard, queue, "TagQueue", &body).await?;
        }
    }
    Ok(())
}

fn object(pairs: &[(String, String)], wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
    let wanted = pairs.iter().filter(|(name, _)| wanted(name));
    wanted.map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
}

async fn request<S: Storage>(
    shard: &Shard<S>,
    queue: &DeclaredQueue,
    action: &str,
    body: &Value,
) -> Result<(), DeclarationError> {
    let response = match decode_for(queue, action, &body.to_string()) {
        Decoded::Call(command, call) => {
            let outcome = shard.call(command).await.map_err(|_| DeclarationError::Stopped)?;
            call.encode(outcome, &[])
        }
        Decoded::Refused(refusal) => refusal.encode(true),
    };
    if response.status == 200 {
        return Ok(());
    }
    let message = message_of(&response);
    Err(DeclarationError::Refused { origin: queue.origin.clone(), queue: queue.name.to_string(), message })
}

fn decode_for(queue: &DeclaredQueue, action: &str, body: &str) -> Decoded {
    let target = format!("AmazonSQS.{action}");
    let headers: &[(&str, &str)] = &[("x-amz-target", &target)];
    let headers: &dyn Headers = &headers;
    let request = Request { method: "POST", path: "/", query: None, headers, body: body.as_bytes() };
    let mut context = Context {
        now: crate::shard::system_time(),
        request_id: [b'0'; 36],
        // These requests carry no receipt handles.
        receipt_key: ReceiptKey([0; 16]),
        // The file speaks for the operator, who needs no signature.
        credentials: None,
        account: queue.account,
        region: &queue.region,
        urls: UrlSettings {
            public_url: None,
            trust_forwarded: false,
            scheme: "http",
            fallback_host: "localhost",
        },
        random: &mut rand::random,
    };
    decode(&request, &mut context)
}

/// The text of an error response.
fn message_of(response: &Response) -> String {
    let body = serde_json::from_slice::<Value>(&response.body).unwrap_or_default();
    body["message"].as_str().unwrap_or("it gave no reason").to_owned()
}
