//! Message attributes as a policy sees them.

use crate::json::Node;
use crate::number::Number;
use crate::rule::{Leaf, Rule};
use std::collections::BTreeMap;

/// One attribute of a message.
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    /// Its name: what a policy's key is compared with.
    pub name: &'a str,
    /// `String`, `Number`, `Binary`, `String.Array`, or one of the first three with a label, as in `Number.int`.
    pub data_type: &'a str,
    /// The value, unless it is binary.
    pub text: Option<&'a str>,
}

/// The attributes of one message, read once for any number of policies.
///
/// * `String` is text: rules for numbers, booleans and null do not match it.
/// * `Number` is a number, and its text for the rules that compare text.
/// * `String.Array` is a JSON array, each of whose elements is a value of its own; a rule needs to match one of
///   them. An empty array counts as absent. Text that is no JSON array matches nothing, not even `exists`.
/// * `Binary`, and any other type, has no value: only `exists` sees it.
///
/// Values are compared as they are, not in JSON's escaped form.
#[derive(Debug, Default)]
pub struct Attributes<'a> {
    values: BTreeMap<&'a str, Values<'a>>,
}

#[derive(Debug)]
enum Values<'a> {
    One(Leaf<'a>),
    Many(Vec<Node<'a>>),
    /// There, but no rule sees a value.
    Opaque,
    Unreadable,
}

impl<'a> Attributes<'a> {
    /// Reads attributes. Of two with one name the last counts.
    pub fn new(attributes: impl IntoIterator<Item = Attribute<'a>>) -> Self {
        let values = attributes.into_iter().map(|attribute| (attribute.name, Values::of(&attribute)));
        Self { values: values.collect() }
    }

    /// Whether the attribute of that name satisfies one of the rules.
    pub(crate) fn satisfy(&self, name: &str, rules: &[Rule]) -> bool {
        let matches = |leaf: &Leaf<'_>| rules.iter().any(|rule| rule.matches(leaf));
        match self.values.get(name) {
            None => rules.iter().any(Rule::matches_absence),
            Some(Values::One(leaf)) => matches(leaf),
            Some(Values::Many(elements)) if elements.is_empty() => rules.iter().any(Rule::matches_absence),
            Some(Values::Many(elements)) => elements.iter().filter_map(Leaf::of).any(|leaf| matches(&leaf)),
            Some(Values::Opaque) => rules.contains(&Rule::Exists(true)),
            Some(Values::Unreadable) => false,
        }
    }
}

impl<'a> Values<'a> {
    fn of(attribute: &Attribute<'a>) -> Self {
        let Some(text) = attribute.text else { return Self::Opaque };
        if attribute.data_type == "String.Array" {
            return match serde_json::from_str(text) {
                Ok(Node::Array(elements)) => Self::Many(elements),
                _ => Self::Unreadable,
            };
        }
        match attribute.data_type.split('.').next() {
            Some("String") => Self::One(Leaf::Text(text)),
            Some("Number") => Self::One(match Number::parse(text) {
                Some(number) => Leaf::Numeral(text, number),
                None => Leaf::Text(text),
            }),
            _ => Self::Opaque,
        }
    }
}
