//! Documents that say who may do what, and which messages are taken.

#[path = "../../crates/filter/tests/naive/mod.rs"]
#[allow(dead_code, unused_imports, reason = "its own tests use the rest")]
mod naive;

use serde_json::Value;
use tidegate_filter::{Attribute, Attributes, Body, FilterPolicy, FilterScope};
use tidegate_policy::{
    Context, Decision, EditError, Grant, Policy, Principal, Request, add_statement, remove_statement,
};

const ARN: &str = "arn:aws:sqs:us-east-1:000000000000:orders";
const GRANTED: Grant<'_> = Grant {
    label: "granted by the test",
    accounts: &["111122223333"],
    actions: &["SQS:SendMessage"],
    resource: ARN,
    policy_id: "id",
};

/// A policy document: what is granted is allowed unless the document denies it, and taking the grant back leaves a
/// document that decides as before.
pub fn policies(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(policy) = Policy::parse(text) else {
        assert!(add_statement(Some(text), &GRANTED).is_err(), "what is no policy is not edited");
        return;
    };
    let before = decisions(&policy);
    let with = match add_statement(Some(text), &GRANTED) {
        Ok(with) => with,
        Err(EditError::LabelExists | EditError::TooManyStatements { .. }) => return,
        // Only that the longer document passes a limit.
        Err(EditError::Policy(error)) if error.is_over_limit() || text.len() > 7_000 => return,
        Err(error) => panic!("a policy is edited: {error}"),
    };
    let granted = Policy::parse(&with).expect("an edited policy is a policy");
    let expected = if before[0] == Decision::Deny { Decision::Deny } else { Decision::Allow };
    assert_eq!(decisions(&granted)[0], expected, "{with}");
    let without = remove_statement(Some(&with), GRANTED.label).expect("what was added is removed");
    match without {
        Some(without) => {
            let again = Policy::parse(&without).expect("an edited policy is a policy");
            assert_eq!(decisions(&again), before, "{without}");
        }
        None => assert!(before.iter().all(|decision| *decision == Decision::NoMatch), "{with}"),
    }
}

/// What a policy says of some requests, the first of which is the one that the grant is about.
fn decisions(policy: &Policy) -> Vec<Decision> {
    let ada = Principal::Account { account: "111122223333", arn: "arn:aws:iam::111122223333:user/ada" };
    let service = Principal::Service("sns.amazonaws.com");
    let mut local = Context::new([127, 0, 0, 1].into(), 1_700_000_000);
    let mut remote = Context::new([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(), 1_900_000_000);
    remote.secure_transport = true;
    remote.user_agent = Some("agent/1");
    local.source_arn = Some(ARN);
    local.source_account = Some("000000000000");
    let mut decisions = Vec::new();
    for principal in [ada, Principal::Anonymous, service] {
        for action in ["sqs:SendMessage", "sqs:PurgeQueue"] {
            for context in [local, remote] {
                decisions.push(policy.evaluate(&Request { principal, action, resource: ARN, context }));
            }
        }
    }
    decisions
}

/// Operators whose naive reading is the whole of them.
const PLAIN: [&str; 3] = ["prefix", "suffix", "exists"];
/// The naive reading writes out every choice.
const NAIVE_BYTES_MAX: usize = 200;

/// A filter policy, an empty line, and a message's body: no panic, and where the naive reading knows all words, it
/// agrees.
pub fn filters(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (policy, body) = text.split_once("\n\n").unwrap_or((text, "{}"));
    for scope in [FilterScope::MessageAttributes, FilterScope::MessageBody] {
        let Ok(parsed) = FilterPolicy::parse(policy, scope) else { continue };
        for data_type in ["String", "Number", "String.Array", "Binary"] {
            let attribute = |name| Attribute { name, data_type, text: Some(body) };
            parsed.matches_attributes(&Attributes::new([attribute("a"), attribute("b")]));
        }
        let matches = parsed.matches_body(&Body::parse(body));
        if scope == FilterScope::MessageBody
            && text.len() <= NAIVE_BYTES_MAX
            && let (Ok(policy), Ok(body)) =
                (serde_json::from_str(policy), serde_json::from_str::<Value>(body))
            && is_plain(&policy)
            && body.as_object().is_some_and(|members| members.values().all(is_plain_body))
            && parsed_once(text)
        {
            assert_eq!(matches, naive::matches(&policy, &body), "{policy} on {body}");
        }
    }
}

/// Whether all rules are ones whose naive reading is the whole of them.
fn is_plain(policy: &Value) -> bool {
    let is_plain_rule = |rule: &Value| match rule {
        Value::Object(members) => members
            .iter()
            .all(|(name, value)| PLAIN.contains(&&**name) && (value.is_string() || value.is_boolean())),
        Value::Number(number) => number.is_i64() && number.as_i64().is_some_and(|n| n.abs() < 1_000_000),
        other => !other.is_array(),
    };
    match policy {
        Value::Object(members) => members.iter().all(|(name, value)| match value {
            Value::Array(items) if name == "$or" => items.iter().all(|item| item.is_object() && is_plain(item)),
            Value::Array(rules) => rules.iter().all(is_plain_rule),
            nested => !name.contains('.') && is_plain(nested),
        } && !name.contains('.')),
        _ => false,
    }
}

/// Whether the naive reading and the service's agree on what the values are.
fn is_plain_body(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_plain_body),
        Value::Object(members) => {
            members.iter().all(|(name, value)| !name.contains('.') && is_plain_body(value))
        }
        Value::Number(number) => number.as_i64().is_some_and(|n| n.abs() < 1_000_000),
        _ => true,
    }
}

/// Whether no name stands twice in an object: of such the naive reading never sees the first value.
fn parsed_once(text: &str) -> bool {
    let mut names: Vec<_> = text.split('"').skip(1).step_by(2).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    !text.contains('\\') && (names.len() == count || !text.contains(','))
}
