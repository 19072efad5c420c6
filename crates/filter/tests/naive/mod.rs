//! The naive reading of a body: choose one element of every array, in every possible way; flatten what remains to
//! dotted keys; the policy matches if one such choice satisfies every key. `exists: false` looks at all choices.

use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) type Flat = BTreeMap<String, Value>;

/// Every choice of one element of every array, flattened.
pub(crate) fn flatten(path: &str, value: &Value) -> Vec<Flat> {
    match value {
        // Of no elements, none is chosen: the rest of the body is as it is.
        Value::Array(elements) if elements.is_empty() => vec![Flat::new()],
        Value::Array(elements) => elements.iter().flat_map(|element| flatten(path, element)).collect(),
        Value::Object(members) => {
            let mut choices = vec![Flat::new()];
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let tails = flatten(&path, member);
                let merged =
                    |head: &Flat, tail: &Flat| head.clone().into_iter().chain(tail.clone()).collect();
                choices = choices
                    .iter()
                    .flat_map(|head| tails.iter().map(move |tail| merged(head, tail)))
                    .collect();
            }
            choices
        }
        leaf => vec![Flat::from([(path.to_owned(), leaf.clone())])],
    }
}

type Branch = Vec<(String, Vec<Value>)>;

/// The policy's branches, each with its keys and rules.
fn branches(path: &str, policy: &Value) -> Vec<Branch> {
    let mut found = vec![Vec::new()];
    for (name, value) in policy.as_object().expect("policies are objects") {
        let inner = match value {
            Value::Array(alternatives) if name == "$or" => {
                alternatives.iter().flat_map(|alternative| branches(path, alternative)).collect()
            }
            Value::Array(rules) => vec![vec![(joined(path, name), rules.clone())]],
            nested => branches(&joined(path, name), nested),
        };
        found = found
            .iter()
            .flat_map(|head: &Vec<_>| inner.iter().map(move |tail| [&head[..], &tail[..]].concat()))
            .collect();
    }
    found
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn naive_rule(rule: &Value, value: &Value) -> bool {
    let Some((operator, pattern)) = rule.as_object().and_then(|members| members.iter().next()) else {
        return rule == value;
    };
    let text = value.as_str();
    match &operator[..] {
        "prefix" => text.zip(pattern.as_str()).is_some_and(|(text, prefix)| text.starts_with(prefix)),
        "suffix" => text.zip(pattern.as_str()).is_some_and(|(text, suffix)| text.ends_with(suffix)),
        "anything-but" if pattern.is_object() => !naive_rule(pattern, value),
        "anything-but" => !pattern.as_array().is_some_and(|values| values.contains(value)),
        "numeric" => value.as_i64() > pattern[1].as_i64(),
        _ => pattern == true,
    }
}

pub(crate) fn matches(policy: &Value, body: &Value) -> bool {
    let choices = flatten("", body);
    branches("", policy).iter().any(|branch| {
        choices.iter().any(|choice| {
            branch.iter().all(|(path, rules)| {
                let absent = choices.iter().all(|choice| !choice.contains_key(path));
                let absence = absent && rules.contains(&json!({"exists": false}));
                let value = choice.get(path);
                absence || value.is_some_and(|value| rules.iter().any(|rule| naive_rule(rule, value)))
            })
        })
    })
}

/// Combinations as the service counts them, over the written-out branches: each a product, all of them summed.
pub(crate) fn combinations(policy: &Value) -> usize {
    let count = |(path, rules): &(String, Vec<Value>)| rules.len() * path.split('.').count();
    branches("", policy).iter().map(|branch| branch.iter().map(count).product::<usize>()).sum()
}
