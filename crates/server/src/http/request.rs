//! Telling requests of the common form from others.

use std::str;
use tidegate_protocol::{Headers, Request};

/// Headers of a request; clients send about ten.
const HEADERS_MAX: usize = 32;
/// Bytes of its head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Bytes of its body. With longer ones the way that requests take no longer matters.
const BODY_BYTES_MAX: usize = 256 << 10;

/// What the bytes that were read so far are.
pub(super) enum Taken<R> {
    /// They begin with a whole request of so many bytes, which was put to the service.
    Whole { answering: R, bytes: usize },
    /// A part of a request; at least so many bytes are missing.
    Part { missing: usize },
    /// No request of the common form.
    Uncommon,
}

/// Puts the request at the beginning of `input` to `answer` if it is whole, and common: `POST`, a path without
/// anything special, HTTP/1.1, a length of the body, and no header that changes how it is read or what happens to
/// the connection.
pub(super) fn take<R>(input: &[u8], answer: impl FnOnce(&Request<'_>) -> R) -> Taken<R> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let head_bytes = match head.parse(input) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if input.len() < HEAD_BYTES_MAX => {
            return Taken::Part { missing: 1024 };
        }
        Ok(httparse::Status::Partial) | Err(_) => return Taken::Uncommon,
    };
    let (Some("POST"), Some(target), Some(1)) = (head.method, head.path, head.version) else {
        return Taken::Uncommon;
    };
    let (Some(body_bytes), true) = (body_length(head.headers), is_plain_target(target)) else {
        return Taken::Uncommon;
    };
    let Some(body) = input[head_bytes..].get(..body_bytes) else {
        return Taken::Part { missing: head_bytes + body_bytes - input.len() };
    };
    let (path, query) = match target.bytes().position(|b| b == b'?') {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    };
    let request = Request { method: "POST", path, query, headers: &Fields(head.headers), body };
    Taken::Whole { answering: answer(&request), bytes: head_bytes + body_bytes }
}

/// The length of the body; `None` when there is none, or a header speaks of anything but it.
fn body_length(headers: &[httparse::Header<'_>]) -> Option<usize> {
    let mut length = None;
    for header in headers {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        // Lengths tell most of them apart before any letters are compared.
        match header.name.len() {
            14 if is("content-length") => {
                if length.is_some() {
                    return None;
                }
                length = Some(decimal(header.value)?);
            }
            17 if is("transfer-encoding") => return None,
            10 if is("connection") && !header.value.eq_ignore_ascii_case(b"keep-alive") => return None,
            6 if is("expect") => return None,
            7 if is("upgrade") => return None,
            _ => {}
        }
    }
    length.filter(|length| *length <= BODY_BYTES_MAX)
}

/// A number of one to seven digits and nothing else.
fn decimal(text: &[u8]) -> Option<usize> {
    let fits = (1..=7).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    fits.then(|| text.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

/// Whether every reader of HTTP takes the target for a path, and perhaps a query, of these very characters.
fn is_plain_target(target: &str) -> bool {
    let is_plain = |b: u8| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'/' | b'-' | b'_' | b'.' | b'~' | b'%' | b'?' | b'=' | b'&' | b'+')
    };
    target.starts_with('/') && target.bytes().all(is_plain)
}

/// Headers as they stand in the request.
struct Fields<'h>(&'h [httparse::Header<'h>]);

impl Headers for Fields<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let first = self.0.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        // Without branches, so that vector instructions do it: credentials are long.
        let is_other = |b: u8| ((b < b' ') & (b != b'\t')) | (b > b'~');
        let has_other = first.value.iter().fold(false, |any, &b| any | is_other(b));
        if has_other { None } else { str::from_utf8(first.value).ok() }
    }

    fn visit(&self, name: &str, see: &mut dyn FnMut(&[u8])) {
        let named = self.0.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        named.for_each(|header| see(header.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request that `bytes` begin with, in words, and its length.
    fn read(bytes: &str) -> Result<(String, usize), &'static str> {
        let words = |request: &Request<'_>| {
            let Request { path, query, headers, body, .. } = request;
            let body = str::from_utf8(body).unwrap();
            format!("{path} {query:?} {:?} {body}", headers.get("x-amz-target"))
        };
        match take(bytes.as_bytes(), words) {
            Taken::Whole { answering, bytes } => Ok((answering, bytes)),
            Taken::Part { .. } => Err("part"),
            Taken::Uncommon => Err("uncommon"),
        }
    }

    #[test]
    fn whole_requests_of_the_common_form_are_taken() {
        let request = "POST /1/q?a=b HTTP/1.1\r\nHost: h\r\nX-Amz-Target: T\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(read(request), Ok(("/1/q Some(\"a=b\") Some(\"T\") {}".to_owned(), request.len())));
        let two = format!("{request}POST / HTTP/1.1\r\n");
        assert_eq!(read(&two).map(|read| read.1), Ok(request.len()), "and no more than one");
        for length in 0..request.len() {
            assert_eq!(read(&request[..length]), Err("part"), "{length}");
        }
        let kept = "POST / HTTP/1.1\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(read(kept), Ok(("/ None None ".to_owned(), kept.len())));
    }

    #[test]
    fn all_others_are_left_to_the_general_server() {
        let long = format!("Content-Length: {}", BODY_BYTES_MAX + 1);
        let many = format!("Content-Length: 0\r\n{}", "a: b\r\n".repeat(HEADERS_MAX).trim_end());
        for (line, headers) in [
            ("GET / HTTP/1.1", "Content-Length: 0"),
            ("POST / HTTP/1.0", "Content-Length: 0"),
            ("POST http://h/ HTTP/1.1", "Content-Length: 0"),
            ("POST * HTTP/1.1", "Content-Length: 0"),
            ("POST /<> HTTP/1.1", "Content-Length: 0"),
            ("POST / HTTP/1.1", "Host: h"),
            ("POST / HTTP/1.1", "Content-Length: 0\r\nContent-Length: 0"),
            ("POST / HTTP/1.1", "Content-Length: +1"),
            ("POST / HTTP/1.1", "Content-Length: 1, 1"),
            ("POST / HTTP/1.1", "Content-Length:"),
            ("POST / HTTP/1.1", "Content-Length: 99999999999999999999"),
            ("POST / HTTP/1.1", &long),
            ("POST / HTTP/1.1", &many),
            ("POST / HTTP/1.1", "Content-Length: 1\r\nTransfer-Encoding: chunked"),
            ("POST / HTTP/1.1", "Content-Length: 1\r\nExpect: 100-continue"),
            ("POST / HTTP/1.1", "Content-Length: 1\r\nConnection: close"),
            ("POST / HTTP/1.1", "Content-Length: 1\r\nConnection: upgrade\r\nUpgrade: h2c"),
            ("POST / HTTP/1.1", "Content-Length : 1"),
            ("POST / HTTP/1.1", "Content-Length: 1\r\n folded: 1"),
        ] {
            assert_eq!(
                read(&format!("{line}\r\n{headers}\r\n\r\n{{}}")),
                Err("uncommon"),
                "{line} {headers}"
            );
        }
        assert_eq!(read("\x16\x03\x01\x02\x00"), Err("uncommon"));
        assert_eq!(read(&format!("POST / HTTP/1.1\r\na: {}", "b".repeat(HEAD_BYTES_MAX))), Err("uncommon"));
    }
}
