//! AWS JSON 1.0: the parser into [`Value`] and the writer of answers.

use super::{ListName, MapName, Members, Output, Value};
use crate::fault::Fault;
use crate::limits;
use crate::text::{Decimal, find_byte};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

/// Parses one JSON document; strings without escapes borrow from it.
///
/// # Errors
/// `Malformed` when it is no JSON, no UTF-8, or beyond the limits on depth, values and members.
pub(crate) fn parse_json(body: &[u8]) -> Result<Value<'_>, Fault> {
    let refused = |why: &dyn fmt::Display| {
        Fault::malformed(format!("The request body is not the JSON expected: {why}"))
    };
    // Once for the whole, which is faster than string by string.
    let text = std::str::from_utf8(body).map_err(|error| refused(&error))?;
    let budget = Cell::new(limits::VALUES);
    let mut parser = serde_json::Deserializer::from_str(text);
    let parsed = Node { budget: &budget, depth: 0 }.deserialize(&mut parser);
    let parsed = parsed.and_then(|value| parser.end().map(|()| value));
    parsed.map_err(|error| refused(&error))
}

/// The document with every lone surrogate escape (`\ud800`) replaced by `\uffff`; `None` without one.
///
/// A lone surrogate is no character and no UTF-8, so it cannot be parsed; U+FFFF is forbidden in the same
/// places, and lets such a message be refused for its contents, as the service does.
pub(crate) fn repair_surrogates(body: &[u8]) -> Option<Vec<u8>> {
    let mut repaired = body.to_vec();
    let mut found = false;
    let mut at = 0;
    while at + 1 < repaired.len() {
        if repaired[at] != b'\\' {
            at += 1;
            continue;
        }
        match surrogate(&repaired[at..]) {
            Some(0xD800..=0xDBFF)
                if matches!(surrogate(repaired.get(at + 6..).unwrap_or_default()), Some(0xDC00..)) =>
            {
                at += 12;
            }
            Some(_) => {
                repaired[at + 2..at + 6].copy_from_slice(b"ffff");
                found = true;
                at += 6;
            }
            None => at += 2,
        }
    }
    found.then_some(repaired)
}

/// The surrogate that an escape at the start of `text` stands for.
fn surrogate(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let code = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..=0xDFFF).contains(&code).then_some(code)
}

/// Reads one value, counting values and depth.
#[derive(Clone, Copy)]
struct Node<'b> {
    budget: &'b Cell<usize>,
    depth: usize,
}

impl Node<'_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == limits::DEPTH {
            return Err(E::custom("it is nested too deeply"));
        }
        Ok(Node { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        let left =
            self.budget.get().checked_sub(1).ok_or_else(|| D::Error::custom("it has too many values"))?;
        self.budget.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        #[expect(clippy::cast_precision_loss, reason = "so large a number is out of every range")]
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value<'de>, A::Error> {
        let inner = self.inner()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'de>, A::Error> {
        let inner = self.inner()?;
        let mut members: Members<'de> = Vec::new();
        while let Some(name) = entries.next_key_seed(Name)? {
            let value = entries.next_value_seed(inner)?;
            match members.iter().position(|(known, _)| *known == name) {
                Some(index) => members[index].1 = value,
                None if members.len() == limits::MEMBERS => {
                    return Err(A::Error::custom("an object has too many members"));
                }
                None => members.push((name, value)),
            }
        }
        Ok(Value::Map(members))
    }
}

/// Reads a member's name, borrowed when it has no escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

/// The body of an error answer.
pub(crate) fn json_error(fault: &Fault) -> Vec<u8> {
    let mut out = JsonOutput::new(256);
    out.text("__type", fault.shape().row().json_type);
    out.text("message", &fault.to_string());
    out.finish()
}

/// Writes one JSON object straight into bytes.
pub(crate) struct JsonOutput {
    out: Vec<u8>,
}

impl JsonOutput {
    pub(crate) fn new(capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        out.push(b'{');
        JsonOutput { out }
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    /// Starts a member or item: a comma unless it is the first.
    fn next(&mut self) {
        if !matches!(self.out.last(), Some(b'{' | b'[')) {
            self.out.push(b',');
        }
    }

    /// `"name":` for a name that needs no escapes.
    fn name(&mut self, name: &'static str) {
        self.next();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// A member that holds others: opened when there is a first one, left out when there is none.
    fn nested<T>(
        &mut self,
        name: &'static str,
        brackets: (u8, u8),
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        self.name(name);
        self.out.push(brackets.0);
        for item in items {
            self.next();
            write(self, item);
        }
        self.out.push(brackets.1);
    }
}

impl Output for JsonOutput {
    fn bytes(&mut self, name: &'static str, utf8: &[u8]) {
        self.name(name);
        write_string(&mut self.out, utf8);
    }

    fn plain(&mut self, name: &'static str, ascii: &[u8]) {
        self.name(name);
        self.out.push(b'"');
        self.out.extend_from_slice(ascii);
        self.out.push(b'"');
    }

    fn boolean(&mut self, name: &'static str, value: bool) {
        self.name(name);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn number(&mut self, name: &'static str, value: u64) {
        self.name(name);
        self.out.extend_from_slice(Decimal::new(value).as_str().as_bytes());
    }

    fn blob(&mut self, name: &'static str, raw: &[u8]) {
        self.text(name, &STANDARD.encode(raw));
    }

    fn texts<'t>(&mut self, name: ListName, values: impl IntoIterator<Item = &'t str>) {
        self.nested(name.json, (b'[', b']'), values, |out, value| {
            write_string(&mut out.out, value.as_bytes());
        });
    }

    fn structures<T>(
        &mut self,
        name: ListName,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.nested(name.json, (b'[', b']'), items, |out, item| {
            out.out.push(b'{');
            write(out, item);
            out.out.push(b'}');
        });
    }

    fn text_map<K: AsRef<str>, V: AsRef<str>>(
        &mut self,
        name: MapName,
        entries: impl IntoIterator<Item = (K, V)>,
    ) {
        self.nested(name.json, (b'{', b'}'), entries, |out, (key, value)| {
            write_string(&mut out.out, key.as_ref().as_bytes());
            out.out.push(b':');
            write_string(&mut out.out, value.as_ref().as_bytes());
        });
    }

    fn structure_map<'t, T>(
        &mut self,
        name: MapName,
        entries: impl IntoIterator<Item = (&'t str, T)>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.nested(name.json, (b'{', b'}'), entries, |out, (key, value)| {
            write_string(&mut out.out, key.as_bytes());
            out.out.extend_from_slice(b":{");
            write(out, value);
            out.out.push(b'}');
        });
    }
}

/// Appends a JSON string. Runs without escapes are copied whole.
pub(crate) fn write_string(out: &mut Vec<u8>, utf8: &[u8]) {
    out.push(b'"');
    let mut rest = utf8;
    while let Some(at) = find_byte(rest, |b| (b < 0x20) | (b == b'"') | (b == b'\\')) {
        out.extend_from_slice(&rest[..at]);
        write_escape(out, rest[at]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        other => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(other >> 4)]);
            out.push(HEX[usize::from(other & 15)]);
        }
    }
}
