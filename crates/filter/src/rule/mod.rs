//! One rule of a key, and what values it matches.

mod cidr;
mod parse;

pub(crate) use parse::is_reserved;

use crate::json::Node;
use crate::number::Number;
use cidr::Cidr;
use std::net::IpAddr;
use std::ops::{Bound, RangeBounds};

/// A rule. Every variant but `Exists(false)` needs a value to match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rule {
    Text(String),
    Number(Number),
    Bool(bool),
    Null,
    Prefix(String),
    Suffix(String),
    EqualsIgnoreCase(String),
    /// Any value that matches none of these.
    AnythingBut(Vec<Rule>),
    Numeric(Bound<Number>, Bound<Number>),
    Cidr(Cidr),
    Exists(bool),
}

/// One value of a message.
#[derive(Clone, Debug)]
pub(crate) enum Leaf<'a> {
    Null,
    Bool(bool),
    Text(&'a str),
    Number(Number),
    /// An attribute of type `Number`: rules for text see its text, rules for numbers its value.
    Numeral(&'a str, Number),
}

impl Rule {
    /// Whether a value that is there satisfies the rule.
    pub(crate) fn matches(&self, leaf: &Leaf<'_>) -> bool {
        match self {
            Self::Text(text) => leaf.text() == Some(text),
            Self::Number(number) => leaf.number() == Some(*number),
            Self::Bool(value) => matches!(leaf, Leaf::Bool(other) if other == value),
            Self::Null => matches!(leaf, Leaf::Null),
            Self::Prefix(prefix) => leaf.text().is_some_and(|text| text.starts_with(prefix)),
            Self::Suffix(suffix) => leaf.text().is_some_and(|text| text.ends_with(suffix)),
            Self::EqualsIgnoreCase(other) => leaf.text().is_some_and(|text| folded(text).eq(folded(other))),
            Self::AnythingBut(rules) => !rules.iter().any(|rule| rule.matches(leaf)),
            Self::Numeric(bottom, top) => leaf.number().is_some_and(|n| (*bottom, *top).contains(&n)),
            Self::Cidr(block) => {
                let address = leaf.text().and_then(|text| text.parse::<IpAddr>().ok());
                address.is_some_and(|address| block.contains(address))
            }
            Self::Exists(expected) => *expected,
        }
    }

    /// Whether the absence of a value satisfies the rule.
    pub(crate) fn matches_absence(&self) -> bool {
        *self == Self::Exists(false)
    }
}

/// Case folding, character by character: enough for equality, and nothing is copied.
fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

impl<'a> Leaf<'a> {
    /// The value, unless it is an array or an object.
    pub(crate) fn of(node: &'a Node<'_>) -> Option<Self> {
        match node {
            Node::Null => Some(Self::Null),
            Node::Bool(value) => Some(Self::Bool(*value)),
            Node::Text(text) => Some(Self::Text(text)),
            Node::Number(number) => Some(Self::Number(*number)),
            Node::Array(_) | Node::Object(_) => None,
        }
    }

    fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) | Self::Numeral(text, _) => Some(text),
            _ => None,
        }
    }

    fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) | Self::Numeral(_, number) => Some(*number),
            _ => None,
        }
    }
}
