//! Requests from text, and a fixed context to decode them in.

#![allow(dead_code, reason = "each test binary uses its part")]

pub(crate) mod outcome;

use tidegate_engine::{AccountId, Region, Timestamp};
use tidegate_protocol::{
    Context, Credential, Credentials, Decoded, Grant, ReceiptKey, Request, SecretKey, UrlSettings, User,
    decode,
};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
pub(crate) const REQUEST_ID: [u8; 36] = *b"7c1b8a3e-92d4-4e57-8f10-2b6d0a9e4c77";
pub(crate) const KEY: ReceiptKey = ReceiptKey(*b"a key for tests.");

/// An HTTP request in parts.
#[derive(Clone, Debug)]
pub(crate) struct RawRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl RawRequest {
    /// Parses a request line, headers, an empty line and a body.
    pub(crate) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let mut line = lines.next().unwrap().split(' ');
        let (method, target) = (line.next().unwrap(), line.next().unwrap());
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        let header =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.into(), value.into())).unwrap();
        RawRequest {
            method: method.into(),
            path: path.into(),
            query,
            headers: lines.map(header).collect(),
            body: body.as_bytes().to_vec(),
        }
    }

    /// A JSON request.
    pub(crate) fn json(action: &str, body: impl Into<Vec<u8>>) -> Self {
        let header = |name: &str, value: String| (name.to_owned(), value);
        RawRequest {
            method: "POST".into(),
            path: "/".into(),
            query: None,
            headers: vec![
                header("Host", "localhost:9324".into()),
                header("X-Amz-Target", format!("AmazonSQS.{action}")),
                header("Content-Type", "application/x-amz-json-1.0".into()),
            ],
            body: body.into(),
        }
    }

    /// A form posted in the Query protocol.
    pub(crate) fn form(body: impl Into<Vec<u8>>) -> Self {
        RawRequest {
            method: "POST".into(),
            path: "/".into(),
            query: None,
            headers: vec![("Content-Type".into(), "application/x-www-form-urlencoded".into())],
            body: body.into(),
        }
    }
}

/// Decodes in a fixed context without credentials: message ids count up from 1.
pub(crate) fn decode_raw(raw: &RawRequest) -> Decoded {
    decode_with(raw, None)
}

/// Decodes in the same context on a server that wants signatures of [`credentials`].
pub(crate) fn decode_signed(raw: &RawRequest) -> Decoded {
    decode_with(raw, Some(&credentials()))
}

/// One credential, with the key and the secret of AWS's examples.
pub(crate) fn credentials() -> Credentials {
    let user = User {
        account: AccountId::parse("123456789012").unwrap(),
        name: "shop".into(),
        access_key: "AKIDEXAMPLE".into(),
        grant: Grant::default(),
    };
    let secret = SecretKey::parse("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY").unwrap();
    Credentials::new([Credential::new(user, secret)])
}

fn decode_with(raw: &RawRequest, credentials: Option<&Credentials>) -> Decoded {
    let headers: Vec<_> = raw.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let request = Request {
        method: &raw.method,
        path: &raw.path,
        query: raw.query.as_deref(),
        headers: &&headers[..],
        body: &raw.body,
    };
    let mut last_id = 0;
    let mut random = || {
        last_id += 1;
        [last_id; 16]
    };
    let mut context = Context {
        now: NOW,
        request_id: REQUEST_ID,
        receipt_key: KEY,
        credentials,
        account: Default::default(),
        region: &Region::default(),
        urls: UrlSettings {
            public_url: None,
            trust_forwarded: false,
            scheme: "http",
            fallback_host: "localhost:9324",
        },
        random: &mut random,
    };
    decode(&request, &mut context)
}
