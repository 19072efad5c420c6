//! The canonical request of Signature Version 4 (IAM user guide, "Create a signed AWS API request", step 1):
//!
//! ```text
//! <method>\n
//! <path, dot segments and repeated slashes removed, percent-encoded as it was received>\n
//! <parameters, decoded and encoded anew, sorted by name and value>\n
//! <signed header>:<its values, each trimmed, white space collapsed, joined by commas>\n    (for each)
//! \n
//! <names of the signed headers, separated by semicolons>\n
//! <SHA-256 of the body in hex, or UNSIGNED-PAYLOAD>
//! ```
//!
//! The path of a request is encoded once more than it is in the URL: `%20` becomes `%2520`. That is the rule of every
//! service but S3, and what SDKs do for SQS.

use super::claim::{Claim, Form, incomplete};
use crate::fault::Fault;
use crate::http::Request;
use crate::limits;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode, utf8_percent_encode};
use std::borrow::Cow;

/// What stands for itself in a canonical parameter: letters, digits, `-`, `_`, `.` and `~`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The same in a path, whose slashes stay.
const ENCODED_IN_PATH: &AsciiSet = &ENCODED.remove(b'/');

/// Writes the canonical request. `host` is what the client called the server, when a proxy changed it.
///
/// # Errors
/// A signed header that the request does not have, or too many of them, or of parameters.
pub(super) fn canonical_request(
    request: &Request<'_>,
    claim: &Claim<'_>,
    host: Option<&str>,
    payload: &str,
) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(1_024);
    out.extend_from_slice(request.method.as_bytes());
    out.push(b'\n');
    write_path(request.path, &mut out);
    out.push(b'\n');
    write_query(request.query.unwrap_or_default(), claim.form, &mut out)?;
    out.push(b'\n');
    if claim.signed_headers.split(';').count() > limits::SIGNED_HEADERS {
        return Err(incomplete("The request has too many signed headers."));
    }
    for name in claim.signed_headers.split(';') {
        out.extend_from_slice(name.as_bytes());
        let start = out.len();
        match host.filter(|_| name == "host") {
            Some(host) => write_value(host.as_bytes(), b':', &mut out),
            None => request.headers.visit(name, &mut |value| {
                let separator = if out.len() == start { b':' } else { b',' };
                write_value(value, separator, &mut out);
            }),
        }
        if out.len() == start {
            return Err(incomplete(format!(
                "'{}' is named as a SignedHeader, but it does not exist in the HTTP request.",
                crate::text::echo(name)
            )));
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    out.extend_from_slice(claim.signed_headers.as_bytes());
    out.push(b'\n');
    out.extend_from_slice(payload.as_bytes());
    Ok(out)
}

fn write_path(path: &str, out: &mut Vec<u8>) {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    let start = out.len();
    for segment in &kept {
        out.push(b'/');
        for part in utf8_percent_encode(segment, ENCODED_IN_PATH) {
            out.extend_from_slice(part.as_bytes());
        }
    }
    if path.ends_with('/') || out.len() == start {
        out.push(b'/');
    }
}

fn write_query(query: &str, form: Form, out: &mut Vec<u8>) -> Result<(), Fault> {
    if query.is_empty() {
        return Ok(());
    }
    let is_signature = |name: &str| form != Form::Header && name == "X-Amz-Signature";
    let mut params = Vec::new();
    for (name, value) in raw_params(query) {
        if params.len() == limits::PAIRS {
            return Err(incomplete("The request has too many parameters."));
        }
        let name = percent_encode(&decoded(name), ENCODED).to_string();
        if !is_signature(&name) {
            params.push((name, percent_encode(&decoded(value), ENCODED).to_string()));
        }
    }
    params.sort_unstable();
    for (index, (name, value)) in params.iter().enumerate() {
        if index > 0 {
            out.push(b'&');
        }
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(value.as_bytes());
    }
    Ok(())
}

/// Names and values as they stand in a URL.
fn raw_params(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Names and values of a URL, decoded. Escapes that are none stay as they are, and bytes that are no text are
/// replaced: whoever sends them is refused for that once it is known who it is.
pub(super) fn decoded_params(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    raw_params(query).map(|(name, value)| (decoded_text(name), decoded_text(value)))
}

fn decoded_text(encoded: &str) -> Cow<'_, str> {
    match decoded(encoded) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
    }
}

/// Decodes as parameters are: a plus is a space.
fn decoded(encoded: &str) -> Cow<'_, [u8]> {
    if encoded.contains('+') {
        let spaced = encoded.replace('+', " ");
        return Cow::Owned(percent_decode(spaced.as_bytes()).collect());
    }
    percent_decode(encoded.as_bytes()).into()
}

fn write_value(value: &[u8], separator: u8, out: &mut Vec<u8>) {
    out.push(separator);
    let mut is_first = true;
    for word in value.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty()) {
        if !is_first {
            out.push(b' ');
        }
        is_first = false;
        out.extend_from_slice(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> String {
        let mut out = Vec::new();
        write_path(path, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn query(query: &str) -> String {
        let mut out = Vec::new();
        write_query(query, Form::PreSigned { life: super::super::claim::SKEW }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// As botocore 1.44 makes them.
    #[test]
    fn paths_are_made_canonical() {
        for (sent, canonical) in [
            ("/", "/"),
            ("", "/"),
            ("//", "/"),
            ("/123456789012/orders.fifo", "/123456789012/orders.fifo"),
            ("/a/", "/a/"),
            ("//a/./b/../c%20d/~x/", "/a/c%2520d/~x/"),
            ("/../..", "/"),
            ("/a b/ä*", "/a%20b/%C3%A4%2A"),
        ] {
            assert_eq!(path(sent), canonical, "{sent}");
        }
    }

    #[test]
    fn parameters_are_made_canonical() {
        for (sent, canonical) in [
            ("", ""),
            ("b=2&a=1", "a=1&b=2"),
            ("a=2&a=1&A=3&a-=0", "A=3&a=1&a=2&a-=0"),
            ("flag&x=&y==z", "flag=&x=&y=%3Dz"),
            ("q=a+b%20c%2B&%c3%bc=%2f", "%C3%BC=%2F&q=a%20b%20c%2B"),
            ("q=~-_.*", "q=~-_.%2A"),
            ("X-Amz-Signature=00&X-Amz-Date=1", "X-Amz-Date=1"),
            ("%zz=%", "%25zz=%25"),
            ("&&a=1&&", "a=1"),
            ("x=%ff", "x=%FF"),
        ] {
            assert_eq!(query(sent), canonical, "{sent}");
        }
    }
}
