//! AWS Query: percent-encoded pairs with flattened names, read into the tree that JSON is read into.

use super::{Members, Value};
use crate::fault::Fault;
use crate::limits;
use std::borrow::Cow;

/// One parameter, decoded.
pub(crate) type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Decodes the parameters of a query string or form body.
///
/// # Errors
/// `Malformed` on a bad percent escape, bad UTF-8, or too many parameters.
pub(crate) fn pairs(encoded: &[u8]) -> Result<Vec<Pair<'_>>, Fault> {
    let mut decoded = Vec::new();
    for part in encoded.split(|&b| b == b'&').filter(|part| !part.is_empty()) {
        if decoded.len() == limits::PAIRS {
            return Err(Fault::malformed("The request has too many parameters"));
        }
        let at = part.iter().position(|&b| b == b'=').unwrap_or(part.len());
        let value = part.get(at + 1..).unwrap_or_default();
        decoded.push((decode(&part[..at])?, decode(value)?));
    }
    Ok(decoded)
}

/// Decodes one name or value; borrowed when there is nothing to decode.
fn decode(encoded: &[u8]) -> Result<Cow<'_, str>, Fault> {
    let not_text = || Fault::malformed("A parameter is not UTF-8 text");
    if !encoded.iter().any(|&b| b == b'%' || b == b'+') {
        return std::str::from_utf8(encoded).map(Cow::Borrowed).map_err(|_| not_text());
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = tail.get(..2).and_then(|digits| Some((hex(digits[0])?, hex(digits[1])?)));
                let (high, low) =
                    digits.ok_or_else(|| Fault::malformed("A parameter has a bad percent escape"))?;
                bytes.push(high << 4 | low);
                rest = &tail[2..];
            }
            plain => bytes.push(*plain),
        }
    }
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| not_text())
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Makes a tree of parameters: `Tag.1.Key=a` becomes `Tag` → `1` → `Key`. Of a repeated name the last counts.
///
/// A name that has both a value and parts keeps the value under an empty part.
///
/// # Errors
/// `Malformed` beyond the limits on depth and members.
pub(crate) fn parse_query(pairs: Vec<Pair<'_>>) -> Result<Members<'_>, Fault> {
    let mut root = Vec::new();
    for (name, value) in pairs {
        insert(&mut root, name, value)?;
    }
    Ok(root)
}

fn insert<'a>(root: &mut Members<'a>, name: Cow<'a, str>, value: Cow<'a, str>) -> Result<(), Fault> {
    let mut level = root;
    let mut parts = Parts { name, at: Some(0) };
    for _ in 0..limits::DEPTH {
        let Some(part) = parts.next() else { return Ok(()) };
        let is_last = parts.at.is_none();
        let index = find_or_add(level, part)?;
        let slot = &mut level[index].1;
        if is_last {
            match slot {
                Value::Map(members) => {
                    let own = find_or_add(members, Cow::Borrowed(""))?;
                    members[own].1 = Value::Text(value);
                }
                other => *other = Value::Text(value),
            }
            return Ok(());
        }
        if !matches!(slot, Value::Map(_)) {
            let own = std::mem::take(slot);
            let known = if own == Value::Null { Vec::new() } else { vec![(Cow::Borrowed(""), own)] };
            *slot = Value::Map(known);
        }
        let Value::Map(members) = slot else { unreachable!("the slot was made a map above") };
        level = members;
    }
    Err(Fault::malformed("A parameter name has too many parts"))
}

fn find_or_add<'a>(level: &mut Members<'a>, name: Cow<'a, str>) -> Result<usize, Fault> {
    // Clients send the parts of a structure together, so the newest member is the likeliest.
    let found = level.iter().rposition(|(known, _)| *known == name);
    if let Some(index) = found {
        return Ok(index);
    }
    if level.len() == limits::MEMBERS {
        return Err(Fault::malformed("The request has too many parameters of one kind"));
    }
    level.push((name, Value::Null));
    Ok(level.len() - 1)
}

/// The parts of a dotted name, borrowing from the request when the name does.
struct Parts<'a> {
    name: Cow<'a, str>,
    at: Option<usize>,
}

impl<'a> Parts<'a> {
    fn next(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at?;
        let end = self.name[start..].find('.').map(|length| start + length);
        self.at = end.map(|dot| dot + 1);
        Some(match &self.name {
            Cow::Borrowed(name) => Cow::Borrowed(&name[start..end.unwrap_or(name.len())]),
            Cow::Owned(name) => Cow::Owned(name[start..end.unwrap_or(name.len())].to_owned()),
        })
    }
}
