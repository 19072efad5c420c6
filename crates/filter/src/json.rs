//! JSON of policies and messages: borrowed from the text, members in the order of the document, because the first
//! fault of a policy decides the error.

use crate::number::Number;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A JSON value. The parser refuses more than 127 levels, which bounds every recursion over one.
#[derive(Debug)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    Array(Vec<Node<'a>>),
    Object(Members<'a>),
}

/// Members in document order. Names are unique: of two members with one name the last counts.
pub(crate) type Members<'a> = Vec<(Cow<'a, str>, Node<'a>)>;

impl<'de> Deserialize<'de> for Node<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node<'de>, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node<'de>, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node<'de>, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node<'de>, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node<'de>, E> {
        Number::from_float(value).map(Node::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node<'de>, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            elements.push(element);
        }
        elements.shrink_to_fit();
        Ok(Node::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        drop_repeated(&mut members);
        members.shrink_to_fit();
        Ok(Node::Object(members))
    }
}

fn drop_repeated(members: &mut Members<'_>) {
    if members.len() < 2 {
        return;
    }
    let names = members.iter().enumerate().map(|(place, (name, _))| (&**name, place));
    let last: BTreeMap<&str, usize> = names.collect();
    if last.len() < members.len() {
        let kept: BTreeSet<usize> = last.into_values().collect();
        let mut place = 0..;
        members.retain(|_| place.next().is_some_and(|place| kept.contains(&place)));
    }
}

/// A member's name, borrowed from the text where that is possible.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Node::deserialize(deserializer)? {
            Node::Text(name) => Ok(Self(name)),
            _ => Err(D::Error::custom("a member's name must be a string")),
        }
    }
}

impl fmt::Display for Node<'_> {
    /// As the service shows a token: of a nested value only its first character.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Array(_) => f.write_str("["),
            Self::Object(_) => f.write_str("{"),
        }
    }
}
