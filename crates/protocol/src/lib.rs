//! The wire protocols of Tidegate: bytes to commands of the engine, and its replies to bytes.
//!
//! Pure functions. This crate reads no clock, opens no socket or file, starts no thread and makes no random
//! number: what it needs of these is in the [`Context`].
//!
//! [`decode`] turns a [`Request`] into a [`Decoded`]: an engine command with the [`Call`] that will encode
//! the engine's reply, or a [`Refusal`] that is an answer already.
//!
//! ```
//! use tidegate_engine::{Command, Error, Timestamp};
//! use tidegate_protocol::{Context, Decoded, Headers, ReceiptKey, Request, UrlSettings, decode};
//!
//! let headers = [("X-Amz-Target", "AmazonSQS.PurgeQueue")];
//! let headers: &[(&str, &str)] = &headers;
//! let body = br#"{"QueueUrl":"http://localhost:9324/000000000000/orders"}"#;
//! let request = Request { method: "POST", path: "/", query: None, headers: &headers, body };
//! let mut context = Context {
//!     now: Timestamp::from_millis(1_700_000_000_000),
//!     request_id: *b"7c1b8a3e-92d4-4e57-8f10-2b6d0a9e4c77",
//!     receipt_key: ReceiptKey([7; 16]),
//!     credentials: None,
//!     account: Default::default(),
//!     region: &Default::default(),
//!     urls: UrlSettings {
//!         public_url: None,
//!         trust_forwarded: false,
//!         scheme: "http",
//!         fallback_host: "localhost:9324",
//!     },
//!     random: &mut || [0; 16],
//! };
//! let Decoded::Call(command, call) = decode(&request, &mut context) else { panic!("it is well formed") };
//! assert!(matches!(command, Command::PurgeQueue { .. }));
//! let response = call.encode(Err(Error::QueueMissing), &[]);
//! assert_eq!(response.status, 400);
//! assert_eq!(response.error_header, Some("AWS.SimpleQueueService.NonExistentQueue;Sender"));
//! ```

mod auth;
mod fault;
mod http;
pub mod limits;
mod queue_url;
mod receipt;
mod sqs;
mod text;
mod wire;

pub use auth::{
    Access, ActionPattern, Credential, Credentials, Grant, Home, Identity, Principal, ResourcePattern,
    SecretKey, User, is_access_key, is_user_name,
};
pub use fault::{Denial, Fault, Row, Shape, Side};
pub use http::{Headers, Request, RequestIdText, Response};
pub use queue_url::{UrlSettings, parse_reference};
pub use receipt::ReceiptKey;
pub use sqs::{Action, Call, Decoded, Refusal, decode, refuse, refuse_verified, sequence_number};

use tidegate_engine::{AccountId, Region, Timestamp};

/// What decoding needs of its surroundings.
pub struct Context<'a> {
    /// The time of the request: what a signature's age is measured by.
    pub now: Timestamp,
    /// The request's id, a UUID.
    pub request_id: RequestIdText,
    /// Makes and checks receipt handles.
    pub receipt_key: ReceiptKey,
    /// The keys that may sign; every request must then be signed by one. `None` accepts every caller.
    pub credentials: Option<&'a Credentials>,
    /// The account of callers whose credential names none.
    pub account: AccountId,
    /// The region of callers whose credential names none; queues of it have no region in their URL.
    pub region: &'a Region,
    /// How queue URLs are built.
    pub urls: UrlSettings<'a>,
    /// Random bytes for message ids; called once for each message.
    pub random: &'a mut dyn FnMut() -> [u8; 16],
}
