//! Condition operators: what they compare, and how.

use super::date;
use super::key::Value;
use super::network::Network;
use crate::pattern::Pattern;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A condition operator, `[ForAnyValue:|ForAllValues:]<name>[IfExists]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operator {
    pub(crate) family: Family,
    /// Whether it holds when none of its values matches.
    pub(crate) negated: bool,
    /// Whether it holds when the request has no value for the key.
    pub(crate) if_exists: bool,
    pub(crate) quantifier: Quantifier,
}

/// How an operator treats keys of several values. The keys here have one at most, so that only its absence
/// makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Single,
    ForAny,
    ForAll,
}

/// What a group of operators compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Text(TextForm),
    Arn,
    Truth,
    Address,
    Number(Comparison),
    Date(Comparison),
    Absent,
}

/// How texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextForm {
    Exact,
    /// Whatever the case of ASCII letters.
    AnyCase,
    Wildcards,
}

/// How numbers are compared: the request's to the policy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    /// Reads an operator's name; `None` if it is not supported.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (quantifier, name) = match name.split_once(':') {
            None => (Quantifier::Single, name),
            Some(("ForAnyValue", name)) => (Quantifier::ForAny, name),
            Some(("ForAllValues", name)) => (Quantifier::ForAll, name),
            Some(_) => return None,
        };
        let (name, if_exists) = match name.strip_suffix("IfExists") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (family, negated) = plain(name)?;
        // Null asks for the key's absence itself.
        if family == Family::Absent && (if_exists || quantifier != Quantifier::Single) {
            return None;
        }
        Some(Operator { family, negated, if_exists, quantifier })
    }
}

/// Family and sense of an operator without prefix and suffix.
fn plain(name: &str) -> Option<(Family, bool)> {
    let text = Family::Text;
    Some(match name {
        "StringEquals" => (text(TextForm::Exact), false),
        "StringNotEquals" => (text(TextForm::Exact), true),
        "StringEqualsIgnoreCase" => (text(TextForm::AnyCase), false),
        "StringNotEqualsIgnoreCase" => (text(TextForm::AnyCase), true),
        "StringLike" => (text(TextForm::Wildcards), false),
        "StringNotLike" => (text(TextForm::Wildcards), true),
        // The documentation has it that these two take wildcards alike.
        "ArnEquals" | "ArnLike" => (Family::Arn, false),
        "ArnNotEquals" | "ArnNotLike" => (Family::Arn, true),
        "Bool" => (Family::Truth, false),
        "IpAddress" => (Family::Address, false),
        "NotIpAddress" => (Family::Address, true),
        "Null" => (Family::Absent, false),
        _ => {
            let (family, comparison) = match name.strip_prefix("Numeric") {
                Some(comparison) => (Family::Number as fn(Comparison) -> Family, comparison),
                None => (Family::Date as fn(Comparison) -> Family, name.strip_prefix("Date")?),
            };
            let (comparison, negated) = match comparison {
                "Equals" => (Comparison::Equal, false),
                "NotEquals" => (Comparison::Equal, true),
                "LessThan" => (Comparison::Less, false),
                "LessThanEquals" => (Comparison::LessOrEqual, false),
                "GreaterThan" => (Comparison::Greater, false),
                "GreaterThanEquals" => (Comparison::GreaterOrEqual, false),
                _ => return None,
            };
            (family(comparison), negated)
        }
    })
}

/// An operator's values, ready to be compared: one of them must match.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Texts(TextForm, Vec<Pattern>),
    Arns(Vec<ArnPattern>),
    Truths(Vec<bool>),
    Addresses(Vec<Network>),
    Numbers(Comparison, Vec<f64>),
    Dates(Comparison, Vec<i64>),
    /// For each value whether the key must be absent.
    Absent(Vec<bool>),
}

impl Test {
    /// Reads the values; the error is the one that is no value for the family.
    pub(crate) fn parse<'a>(family: Family, values: &[&'a str]) -> Result<Self, &'a str> {
        Ok(match family {
            Family::Text(form) => Test::Texts(form, values.iter().map(|value| Pattern::new(value)).collect()),
            Family::Arn => Test::Arns(each(values, ArnPattern::parse)?),
            Family::Truth => Test::Truths(each(values, truth)?),
            Family::Address => Test::Addresses(each(values, Network::parse)?),
            Family::Number(comparison) => Test::Numbers(comparison, each(values, number)?),
            Family::Date(comparison) => Test::Dates(comparison, each(values, date::parse)?),
            Family::Absent => Test::Absent(each(values, truth)?),
        })
    }

    /// Whether one of the values matches the request's.
    pub(crate) fn matches(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Test::Texts(form, values), value) => {
                let text = text_of(value);
                values.iter().any(|pattern| form.fits(pattern, &text))
            }
            (Test::Arns(values), Value::Text(arn)) => values.iter().any(|pattern| pattern.matches(arn)),
            (Test::Truths(values), Value::Truth(truth)) => values.contains(truth),
            (Test::Addresses(values), Value::Address(address)) => {
                values.iter().any(|network| network.contains(*address))
            }
            (Test::Numbers(comparison, values), Value::Time(time)) => {
                values.iter().any(|value| comparison.accepts((*time as f64).partial_cmp(value)))
            }
            (Test::Dates(comparison, values), Value::Time(time)) => {
                values.iter().any(|value| comparison.accepts(Some(time.cmp(value))))
            }
            // `Key::takes` leaves no other pair.
            _ => false,
        }
    }
}

fn each<'a, T>(values: &[&'a str], parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, &'a str> {
    values.iter().map(|value| parse(value).ok_or(*value)).collect()
}

fn truth(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn text_of<'a>(value: &Value<'a>) -> Cow<'a, str> {
    match value {
        Value::Text(text) => Cow::Borrowed(text),
        Value::Truth(truth) => truth.to_string().into(),
        Value::Address(address) => address.to_string().into(),
        Value::Time(time) => time.to_string().into(),
    }
}

impl TextForm {
    fn fits(self, pattern: &Pattern, text: &str) -> bool {
        match self {
            TextForm::Exact => pattern.as_str() == text,
            TextForm::AnyCase => pattern.as_str().eq_ignore_ascii_case(text),
            TextForm::Wildcards => pattern.matches(text),
        }
    }
}

impl Comparison {
    fn accepts(self, ordering: Option<Ordering>) -> bool {
        let Some(ordering) = ordering else { return false };
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// An ARN with wildcards in any of its six parts; a wildcard does not reach over a colon.
#[derive(Clone, Debug)]
pub(crate) struct ArnPattern(Box<[Pattern]>);

const ARN_PARTS: usize = 6;

impl ArnPattern {
    /// `None` unless it is `*` or has six parts.
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(ArnPattern(vec![Pattern::new("*"); ARN_PARTS].into()));
        }
        let parts: Vec<_> = text.splitn(ARN_PARTS, ':').map(Pattern::new).collect();
        (parts.len() == ARN_PARTS).then(|| ArnPattern(parts.into()))
    }

    fn matches(&self, arn: &str) -> bool {
        let mut parts = arn.splitn(ARN_PARTS, ':');
        self.0.iter().all(|pattern| parts.next().is_some_and(|part| pattern.matches(part)))
    }
}
