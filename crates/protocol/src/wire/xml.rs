//! The XML of AWS Query answers.

use super::{ListName, MapName, Output};
use crate::fault::{Fault, Side};
use crate::http::RequestIdText;
use crate::text::{Decimal, find_byte};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const HEAD: &[u8] = b"<?xml version=\"1.0\"?>\n";
const NAMESPACE: &[u8] = b" xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">";

/// The body of an error answer.
pub(crate) fn xml_error(fault: &Fault, request_id: RequestIdText) -> Vec<u8> {
    let row = fault.shape().row();
    let mut out = XmlOutput::new(512, "Error");
    out.element("Error", |out| {
        out.text("Type", if row.side == Side::Sender { "Sender" } else { "Receiver" });
        out.text("Code", row.code);
        out.text("Message", &fault.query_text());
        out.out.extend_from_slice(b"<Detail/>");
    });
    out.bytes("RequestId", &request_id);
    out.out.extend_from_slice(b"</ErrorResponse>");
    out.out
}

/// Writes one answer straight into bytes.
pub(crate) struct XmlOutput {
    out: Vec<u8>,
    action: &'static str,
    /// Where the content of the result element begins; operations without outputs have no such element.
    result_at: Option<usize>,
}

impl XmlOutput {
    /// Begins the answer to `action`.
    pub(crate) fn new(capacity: usize, action: &'static str) -> Self {
        let mut out = XmlOutput { out: Vec::with_capacity(capacity), action, result_at: None };
        out.out.extend_from_slice(HEAD);
        out.tag(b"<", action, b"Response");
        out.out.extend_from_slice(NAMESPACE);
        out
    }

    /// Begins the result element; what is written next goes into it.
    pub(crate) fn begin_result(&mut self) {
        self.tag(b"<", self.action, b"Result>");
        self.result_at = Some(self.out.len());
    }

    pub(crate) fn finish(mut self, request_id: RequestIdText) -> Vec<u8> {
        match self.result_at {
            // An empty result stays, as an empty element.
            Some(start) if start == self.out.len() => {
                self.out.truncate(start - 1);
                self.out.extend_from_slice(b"/>");
            }
            Some(_) => self.tag(b"</", self.action, b"Result>"),
            None => {}
        }
        self.element("ResponseMetadata", |out| out.bytes("RequestId", &request_id));
        self.tag(b"</", self.action, b"Response>");
        self.out
    }

    fn tag(&mut self, open: &[u8], name: &str, close: &[u8]) {
        self.out.extend_from_slice(open);
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(close);
    }

    fn element(&mut self, name: &'static str, write: impl FnOnce(&mut Self)) {
        self.tag(b"<", name, b">");
        write(self);
        self.tag(b"</", name, b">");
    }
}

impl Output for XmlOutput {
    fn bytes(&mut self, name: &'static str, utf8: &[u8]) {
        self.element(name, |out| write_text(&mut out.out, utf8));
    }

    fn plain(&mut self, name: &'static str, ascii: &[u8]) {
        self.element(name, |out| out.out.extend_from_slice(ascii));
    }

    fn boolean(&mut self, name: &'static str, value: bool) {
        self.text(name, if value { "true" } else { "false" });
    }

    fn number(&mut self, name: &'static str, value: u64) {
        self.text(name, Decimal::new(value).as_str());
    }

    fn blob(&mut self, name: &'static str, raw: &[u8]) {
        self.text(name, &STANDARD.encode(raw));
    }

    fn texts<'t>(&mut self, name: ListName, values: impl IntoIterator<Item = &'t str>) {
        for value in values {
            self.text(name.query, value);
        }
    }

    fn structures<T>(
        &mut self,
        name: ListName,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        for item in items {
            self.element(name.query, |out| write(out, item));
        }
    }

    fn text_map<K: AsRef<str>, V: AsRef<str>>(
        &mut self,
        name: MapName,
        entries: impl IntoIterator<Item = (K, V)>,
    ) {
        for (key, value) in entries {
            self.element(name.query[0], |out| {
                out.text(name.key, key.as_ref());
                out.text(name.value, value.as_ref());
            });
        }
    }

    fn structure_map<'t, T>(
        &mut self,
        name: MapName,
        entries: impl IntoIterator<Item = (&'t str, T)>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        for (key, value) in entries {
            self.element(name.query[0], |out| {
                out.text(name.key, key);
                out.element(name.value, |out| write(out, value));
            });
        }
    }
}

/// Appends character data. A carriage return is written as a reference, since parsers turn a plain one into a
/// line feed and the client's digest of the body would differ.
pub(crate) fn write_text(out: &mut Vec<u8>, utf8: &[u8]) {
    let mut rest = utf8;
    while let Some(at) = find_byte(rest, needs_escape) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'&' => b"&amp;",
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'"' => b"&quot;",
            b'\r' => b"&#xD;",
            // No control character can be written in XML 1.0; none is let in.
            _ => "\u{FFFD}".as_bytes(),
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn needs_escape(byte: u8) -> bool {
    (byte == b'&')
        | (byte == b'<')
        | (byte == b'>')
        | (byte == b'"')
        | ((byte < 0x20) & (byte != b'\n') & (byte != b'\t'))
}
