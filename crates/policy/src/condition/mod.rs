//! The conditions of a statement.

mod date;
mod key;
mod network;
mod operator;

use crate::error::PolicyError;
use crate::json::Json;
use crate::limits;
use crate::request::Request;
use crate::statement::{Effect, Variables};
use key::Key;
use operator::{Operator, Quantifier, Test};

/// One key under one operator, with the values that it is compared with.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    key: Key,
    operator: Operator,
    test: Test,
}

impl Condition {
    /// Whether the condition holds for a request.
    pub(crate) fn holds(&self, request: &Request<'_>, effect: Effect) -> bool {
        match (&self.test, self.key.value(request)) {
            (Test::Absent(values), value) => values.contains(&value.is_none()),
            (test, Some(value)) => test.matches(&value) != self.operator.negated,
            (_, None) => self.holds_without_value(effect),
        }
    }

    /// Whether it holds for a request that has no value for the key.
    ///
    /// The rules are IAM's but for keys that no request has a value for here. On the original service such a
    /// key may well have one: that an *Allow* asks for it to be different proves nothing.
    fn holds_without_value(&self, effect: Effect) -> bool {
        if self.operator.if_exists {
            return true;
        }
        if self.key == Key::Unknown && effect == Effect::Allow {
            return false;
        }
        match self.operator.quantifier {
            Quantifier::Single => self.operator.negated,
            Quantifier::ForAny => false,
            Quantifier::ForAll => true,
        }
    }

    /// Whether the condition can never hold.
    fn is_vain(&self, effect: Effect) -> bool {
        match &self.test {
            _ if self.key != Key::Unknown => false,
            Test::Absent(values) => !values.contains(&true),
            _ => !self.holds_without_value(effect),
        }
    }
}

/// Reads `{operator: {key: value or list}}`.
///
/// A *Deny* under a condition that can never hold is refused: its author believes to be protected. Under
/// *Allow* the same is harmless, and templates that name such keys go on working.
pub(crate) fn parse(
    json: &Json,
    effect: Effect,
    variables: Variables,
) -> Result<Vec<Condition>, PolicyError> {
    const FORM: PolicyError = PolicyError::Form {
        name: "Condition",
        expected: "an object of operators with an object of keys each",
    };
    let Json::Object(operators) = json else { return Err(FORM) };
    let mut conditions = Vec::new();
    for (operator, keys) in operators {
        let Json::Object(keys) = keys else { return Err(FORM) };
        for (key, values) in keys {
            let condition = parse_one(operator, key, values, variables)?;
            if effect == Effect::Deny && condition.is_vain(effect) {
                return Err(PolicyError::NeverDenies { key: key.as_str().into() });
            }
            conditions.push(condition);
        }
    }
    if conditions.len() > limits::CONDITIONS {
        return Err(PolicyError::TooManyConditions { found: conditions.len(), limit: limits::CONDITIONS });
    }
    Ok(conditions)
}

fn parse_one(name: &str, key: &str, values: &Json, variables: Variables) -> Result<Condition, PolicyError> {
    let operator = Operator::parse(name).ok_or_else(|| PolicyError::Operator { operator: name.into() })?;
    let parsed_key = Key::parse(key).ok_or_else(|| PolicyError::Key { key: key.into() })?;
    if !parsed_key.takes(operator.family) {
        return Err(PolicyError::OperatorOfKey { operator: name.into(), key: key.into() });
    }
    let mut texts = Vec::new();
    for value in values.elements() {
        let (Json::Text(text) | Json::Scalar(text)) = value else {
            return Err(PolicyError::Form {
                name: "The value of a condition",
                expected: "a text or a list of texts",
            });
        };
        variables.check(text)?;
        texts.push(&**text);
    }
    if texts.is_empty() {
        return Err(PolicyError::Form {
            name: "The value of a condition",
            expected: "a text or a list of texts",
        });
    }
    let test = Test::parse(operator.family, &texts)
        .map_err(|value| PolicyError::Value { operator: name.into(), value: value.into() })?;
    Ok(Condition { key: parsed_key, operator, test })
}
