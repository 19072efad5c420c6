//! The bytes of an answer.

use hyper::StatusCode;
use std::cell::RefCell;
use std::io::Write;
use std::time::SystemTime;
use tidegate_protocol::Response;

/// Appends head and body of an answer; `last` tells the client that the connection ends with it.
pub(super) fn write(response: &Response, last: bool, out: &mut Vec<u8>) {
    out.reserve(HEAD_BYTES + response.body.len());
    match response.status {
        200 => out.extend_from_slice(b"HTTP/1.1 200 OK"),
        status => {
            let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
            // Writing to a vector does not fail.
            let _ = write!(out, "HTTP/1.1 {status} {}", reason.unwrap_or_default());
        }
    }
    out.extend_from_slice(b"\r\ncontent-type: ");
    out.extend_from_slice(response.content_type.as_bytes());
    out.extend_from_slice(b"\r\nx-amzn-requestid: ");
    out.extend_from_slice(&response.request_id);
    if let Some(error) = response.error_header {
        out.extend_from_slice(b"\r\nx-amzn-query-error: ");
        out.extend_from_slice(error.as_bytes());
    }
    if let Some(seconds) = response.retry_after {
        let _ = write!(out, "\r\nretry-after: {seconds}");
    }
    if last {
        out.extend_from_slice(b"\r\nconnection: close");
    }
    let _ = write!(out, "\r\ncontent-length: {}\r\ndate: ", response.body.len());
    with_date(|date| out.extend_from_slice(date.as_bytes()));
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(&response.body);
}

/// Enough for every head.
const HEAD_BYTES: usize = 320;

/// The date of now as answers carry it, put together once a second on each thread.
fn with_date<T>(show: impl FnOnce(&str) -> T) -> T {
    thread_local! {
        static DATE: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    DATE.with_borrow_mut(|(made_in, text)| {
        if *made_in != second || text.is_empty() {
            *text = httpdate::fmt_http_date(now);
            *made_in = second;
        }
        show(text)
    })
}
