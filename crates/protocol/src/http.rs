//! Requests and responses as this crate sees them: borrowed parts in, owned bytes out.

use crate::fault::Fault;
use crate::wire::{self, Dialect};

/// Looks up request headers; names are compared without regard to case.
pub trait Headers {
    /// The first value of a header, if it is text.
    fn get(&self, name: &str) -> Option<&str>;

    /// Shows every value of a header, in their order, as bytes.
    fn visit(&self, name: &str, see: &mut dyn FnMut(&[u8]));
}

/// A plain list of headers.
impl Headers for &[(&str, &str)] {
    fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    fn visit(&self, name: &str, see: &mut dyn FnMut(&[u8])) {
        let named = self.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.for_each(|(_, value)| see(value.as_bytes()));
    }
}

/// One HTTP request, its body complete.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The path, percent-encoded, beginning with a slash.
    pub path: &'a str,
    /// What follows the question mark, percent-encoded.
    pub query: Option<&'a str>,
    /// The headers.
    pub headers: &'a dyn Headers,
    /// The body.
    pub body: &'a [u8],
}

/// The 36 characters of a request's id, a UUID.
pub type RequestIdText = [u8; 36];

/// One HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Header `Content-Type`.
    pub content_type: &'static str,
    /// Header `x-amzn-query-error`, on errors in JSON.
    pub error_header: Option<&'static str>,
    /// Header `Retry-After`, in seconds. Nothing here sets it; the server does while it is starting.
    pub retry_after: Option<u8>,
    /// Header `x-amzn-RequestId`.
    pub request_id: RequestIdText,
    /// The body.
    pub body: Vec<u8>,
    /// The error's code for logs and metrics; one of a fixed set. `None` on success.
    pub code: Option<&'static str>,
}

const JSON: &str = "application/x-amz-json-1.0";
const XML: &str = "text/xml";

impl Response {
    pub(crate) fn success(dialect: Dialect, request_id: RequestIdText, body: Vec<u8>) -> Self {
        let content_type = match dialect {
            Dialect::Json => JSON,
            Dialect::Query => XML,
        };
        Response {
            status: 200,
            content_type,
            error_header: None,
            retry_after: None,
            request_id,
            body,
            code: None,
        }
    }

    pub(crate) fn fault(dialect: Dialect, request_id: RequestIdText, fault: &Fault) -> Self {
        let row = fault.shape().row();
        let code = Some(row.code);
        if *fault == Fault::NoAction {
            let body = b"<UnknownOperationException/>".to_vec();
            return Response {
                status: 404,
                content_type: XML,
                error_header: None,
                retry_after: None,
                request_id,
                body,
                code,
            };
        }
        let (content_type, error_header, body) = match dialect {
            Dialect::Json => (JSON, Some(row.header), wire::json_error(fault)),
            Dialect::Query => (XML, None, wire::xml_error(fault, request_id)),
        };
        Response { status: row.status, content_type, error_header, retry_after: None, request_id, body, code }
    }
}
