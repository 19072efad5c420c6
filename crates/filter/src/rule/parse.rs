//! Rules out of JSON. The checks follow the order of the document, as the service's do.

use super::{Cidr, Rule};
use crate::error::{FilterError, echo};
use crate::json::{Members, Node};
use crate::number::Number;
use std::ops::Bound;

/// Names that keep `$or` from being a choice when an alternative has a key of that name (the service's rule
/// engine: its operators, its comparisons, and what it reserves for the future).
const RESERVED: &[&str] = &[
    "exactly",
    "equals-ignore-case",
    "prefix",
    "suffix",
    "anything-but",
    "exists",
    "wildcard",
    "numeric",
    "cidr",
    "=",
    "<",
    "<=",
    ">",
    ">=",
    "regex",
    "not-wildcard",
    "not-equals-ignore-case",
    "date-after",
    "date-on-or-after",
    "date-before",
    "date-on-or-before",
    "in-date-range",
    "ip-address-in-range",
    "ip-address-not-in-range",
];

/// Whether `$or` with a key of this name in an alternative is an ordinary key.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

impl Rule {
    pub(crate) fn parse(node: &Node<'_>) -> Result<Self, FilterError> {
        match node {
            Node::Null => Ok(Self::Null),
            Node::Bool(value) => Ok(Self::Bool(*value)),
            Node::Number(number) => Ok(Self::Number(*number)),
            Node::Text(text) => Ok(Self::Text(text.to_string())),
            Node::Array(_) => Err(FilterError::RuleValue),
            Node::Object(members) => expression(members),
        }
    }
}

/// `{"operator": pattern}`.
fn expression(members: &Members<'_>) -> Result<Rule, FilterError> {
    let Some((name, pattern)) = members.first() else { return Err(FilterError::OperatorMissing) };
    let mut second = FilterError::OneOperator;
    let rule = match &**name {
        "prefix" => Rule::Prefix(text("prefix", pattern)?),
        "suffix" => Rule::Suffix(text("suffix", pattern)?),
        "equals-ignore-case" => Rule::EqualsIgnoreCase(text("equals-ignore-case", pattern)?),
        "cidr" => Rule::Cidr(Cidr::parse(&text("prefix", pattern)?)?),
        "exists" => match pattern {
            Node::Bool(expected) => Rule::Exists(*expected),
            _ => return Err(FilterError::ExistsValue),
        },
        "anything-but" => {
            if !matches!(pattern, Node::Object(_)) {
                second = FilterError::TooManyElements;
            }
            Rule::AnythingBut(excluded(pattern)?)
        }
        "numeric" => {
            second = FilterError::TooManyElements;
            let Node::Array(terms) = pattern else { return Err(FilterError::NumericValue) };
            let (bottom, top) = range(terms)?;
            Rule::Numeric(bottom, top)
        }
        other => return Err(FilterError::OperatorUnknown { operator: echo(other) }),
    };
    if members.len() > 1 { Err(second) } else { Ok(rule) }
}

fn text(operator: &'static str, pattern: &Node<'_>) -> Result<String, FilterError> {
    match pattern {
        Node::Text(text) => Ok(text.to_string()),
        _ => Err(FilterError::PatternNotText { operator }),
    }
}

/// What `anything-but` does not match. Strings and numbers may be mixed.
fn excluded(pattern: &Node<'_>) -> Result<Vec<Rule>, FilterError> {
    match pattern {
        Node::Text(_) | Node::Number(_) => Ok(vec![Rule::parse(pattern)?]),
        Node::Array(values) if values.is_empty() => Err(FilterError::EmptyArray),
        Node::Array(values) => values.iter().map(excluded_member).collect(),
        Node::Object(members) => excluded_prefix(members),
        Node::Null | Node::Bool(_) => Err(FilterError::AnythingButValue),
    }
}

fn excluded_member(value: &Node<'_>) -> Result<Rule, FilterError> {
    match value {
        Node::Text(_) | Node::Number(_) => Rule::parse(value),
        _ => Err(FilterError::AnythingButMember),
    }
}

fn excluded_prefix(members: &Members<'_>) -> Result<Vec<Rule>, FilterError> {
    match &members[..] {
        [] => Err(FilterError::AnythingButOperatorMissing),
        [(name, pattern), rest @ ..] if name == "prefix" => {
            let prefix = text("prefix", pattern)?;
            if prefix.is_empty() {
                return Err(FilterError::AnythingButPrefixEmpty);
            }
            if rest.is_empty() { Ok(vec![Rule::Prefix(prefix)]) } else { Err(FilterError::OneOperator) }
        }
        [(name, _), ..] => Err(FilterError::AnythingButOperator { operator: echo(name) }),
    }
}

/// One comparison, or a lower bound and an upper one.
fn range(terms: &[Node<'_>]) -> Result<(Bound<Number>, Bound<Number>), FilterError> {
    use Bound::{Excluded, Included, Unbounded};
    let operator = match terms.first() {
        Some(Node::Text(operator)) => &**operator,
        other => return Err(FilterError::NumericMember { found: shown(other) }),
    };
    let rest = terms.get(2..).unwrap_or_default();
    let single = |range| if rest.is_empty() { Ok(range) } else { Err(FilterError::TooManyElements) };
    let value = |operator| operand(terms.get(1), operator);
    match operator {
        "=" => value("equals").and_then(|value| single((Included(value), Included(value)))),
        "<" => value("<").and_then(|top| single((Unbounded, Excluded(top)))),
        "<=" => value("<=").and_then(|top| single((Unbounded, Included(top)))),
        ">" => value(">").and_then(|bottom| Ok((Excluded(bottom), upper_bound(rest, bottom)?))),
        ">=" => value(">=").and_then(|bottom| Ok((Included(bottom), upper_bound(rest, bottom)?))),
        other => Err(FilterError::NumericOperator { operator: echo(other) }),
    }
}

fn upper_bound(terms: &[Node<'_>], bottom: Number) -> Result<Bound<Number>, FilterError> {
    let operator = match terms.first() {
        None => return Ok(Bound::Unbounded),
        Some(Node::Text(operator)) => &**operator,
        other => return Err(FilterError::RangeMember { found: shown(other) }),
    };
    let top = match operator {
        "<" => operand(terms.get(1), "<")?,
        "<=" => operand(terms.get(1), "<=")?,
        other => return Err(FilterError::RangeOperator { operator: echo(other) }),
    };
    if terms.len() > 2 {
        return Err(FilterError::TooManyTerms);
    }
    if bottom >= top {
        return Err(FilterError::RangeEmpty);
    }
    Ok(if operator == "<" { Bound::Excluded(top) } else { Bound::Included(top) })
}

fn operand(term: Option<&Node<'_>>, operator: &'static str) -> Result<Number, FilterError> {
    match term {
        Some(Node::Number(number)) => Ok(*number),
        _ => Err(FilterError::NumericOperand { operator }),
    }
}

/// A term as the service shows it: where none is left, the array's end.
fn shown(term: Option<&Node<'_>>) -> String {
    term.map_or_else(|| "]".to_owned(), |term| echo(&term.to_string()))
}
