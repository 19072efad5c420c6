//! The attributes `RedrivePolicy` and `RedriveAllowPolicy`. Whether the dead-letter queue exists, is of the
//! same type and allows its source is the engine's to say.

use crate::auth::Home;
use crate::fault::Fault;
use crate::limits;
use crate::text::{decimal, echo, forbidden_character};
use crate::wire::{self, JsonOutput, ListName, Output, Value};
use std::borrow::Cow;
use tidegate_engine::{AccountId, QueueAddress, QueueName, RedriveAllowPolicy, RedrivePolicy, Region};

/// Reads the redrive policy of a queue that `owner` owns.
pub(super) fn parse(text: &str, owner: &Home) -> Result<RedrivePolicy, Fault> {
    let refuse = |reason: Cow<'static, str>| Fault::value("RedrivePolicy", text, reason);
    let (mut target, mut count) = (Value::Null, Value::Null);
    for (name, value) in members(text).ok_or(Fault::RedrivePolicyForm)? {
        match &*name {
            "deadLetterTargetArn" => target = value,
            "maxReceiveCount" => count = value,
            _ => {
                let reason =
                    "Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].";
                return Err(refuse(reason.into()));
            }
        }
    }
    let absent =
        |name| refuse(format!("Redrive policy does not contain mandatory attribute: {name}.").into());
    if count == Value::Null {
        return Err(absent("maxReceiveCount"));
    }
    if target == Value::Null {
        return Err(absent("deadLetterTargetArn"));
    }
    let max_receive_count = receive_count(&count).map_err(|shown| {
        let rule = "valid values are from 1 to 1000 both inclusive.";
        refuse(format!("Invalid value for maxReceiveCount: {}, {rule}", echo(&shown)).into())
    })?;
    let dead_letter_target = target_address(&target, owner).map_err(|reason| refuse(reason.into()))?;
    Ok(RedrivePolicy { dead_letter_target, max_receive_count })
}

/// The members of a JSON object in an attribute.
fn members(text: &str) -> Option<wire::Members<'_>> {
    if text.len() > limits::POLICY_ATTRIBUTE_BYTES {
        return None;
    }
    match wire::parse_json(text.as_bytes()) {
        Ok(Value::Map(members)) => Some(members),
        _ => None,
    }
}

/// A number, or one in decimal text; else how it reads.
fn receive_count(value: &Value<'_>) -> Result<u32, String> {
    let number = match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::Text(text) => decimal(text),
        _ => None,
    };
    let count = number.and_then(|number| u32::try_from(number).ok());
    count.filter(|count| limits::MAX_RECEIVE_COUNT.contains(count)).ok_or_else(|| match value {
        Value::Text(text) => text.to_string(),
        other => other.canonical(),
    })
}

fn target_address(target: &Value<'_>, owner: &Home) -> Result<QueueAddress, &'static str> {
    const NOT_A_QUEUE: &str = "Only SQS queues are valid resources for deadLetterTargetArn.";
    let Value::Text(arn) = target else { return Err(NOT_A_QUEUE) };
    let parts: Vec<_> = arn.splitn(6, ':').collect();
    let ["arn", _partition, "sqs", region, account, name] = parts[..] else { return Err(NOT_A_QUEUE) };
    let account = AccountId::parse(account).ok_or(NOT_A_QUEUE)?;
    if account != owner.account {
        return Err("Dead-letter target owner should be same as the source.");
    }
    // A queue of another region, or of an impossible name, is one that is not there.
    let region = Region::parse(region).filter(|region| *region == owner.region);
    let name = QueueName::parse(name);
    region
        .zip(name)
        .map(|(region, name)| QueueAddress { account, region, name })
        .ok_or("Dead letter target does not exist.")
}

/// The compact form in which a redrive policy is returned.
pub(super) fn text(policy: &RedrivePolicy) -> String {
    let arn = policy.dead_letter_target.arn();
    format!("{{\"deadLetterTargetArn\":\"{arn}\",\"maxReceiveCount\":{}}}", policy.max_receive_count)
}

/// Reads a redrive allow policy.
pub(super) fn parse_allow(text: &str) -> Result<RedriveAllowPolicy, Fault> {
    let refuse = |reason: &'static str| Err(Fault::value("RedriveAllowPolicy", text, reason));
    let (mut permission, mut sources) = (Value::Null, Value::Null);
    for (name, value) in members(text).ok_or(Fault::RedriveAllowPolicyForm)? {
        match &*name {
            "redrivePermission" => permission = value,
            "sourceQueueArns" => sources = value,
            _ => return Err(Fault::RedriveAllowPolicyForm),
        }
    }
    let sources = source_arns(sources)?;
    let Value::Text(permission) = permission else { return Err(Fault::RedriveAllowPolicyForm) };
    match (&*permission, sources.len()) {
        ("byQueue", 0) => refuse(
            "Amazon SQS can't create the redrive allow policy. When you specify the byQueue permission type, \
             you must also specify one or more sourceQueueArns values.",
        ),
        ("byQueue", count) if count > limits::SOURCE_QUEUES => refuse(
            "Amazon SQS can't create the redrive allow policy. \
             The maximum number of source queue ARNs you can specify is 10.",
        ),
        ("byQueue", _) => Ok(RedriveAllowPolicy::ByQueue(sources)),
        ("allowAll", 0) => Ok(RedriveAllowPolicy::AllowAll),
        ("denyAll", 0) => Ok(RedriveAllowPolicy::DenyAll),
        ("allowAll" | "denyAll", _) => refuse(
            "Amazon SQS can't create the redrive allow policy. \
             To specify one or more source queue ARNs, you must set redrivePermission to byQueue.",
        ),
        _ => Err(Fault::RedriveAllowPolicyForm),
    }
}

fn source_arns(value: Value<'_>) -> Result<Vec<Box<str>>, Fault> {
    let arn = |item| match item {
        Value::Text(text) if forbidden_character(&text).is_none() => Ok(text.into()),
        _ => Err(Fault::RedriveAllowPolicyForm),
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => items.into_iter().map(arn).collect(),
        _ => Err(Fault::RedriveAllowPolicyForm),
    }
}

/// The compact form in which a redrive allow policy is returned.
pub(super) fn allow_text(policy: &RedriveAllowPolicy) -> String {
    const SOURCES: ListName = ListName { json: "sourceQueueArns", query: "" };
    let (permission, sources): (_, &[_]) = match policy {
        RedriveAllowPolicy::AllowAll => ("allowAll", &[]),
        RedriveAllowPolicy::DenyAll => ("denyAll", &[]),
        RedriveAllowPolicy::ByQueue(sources) => ("byQueue", sources),
    };
    let mut out = JsonOutput::new(128);
    out.text("redrivePermission", permission);
    out.texts(SOURCES, sources.iter().map(|arn| &**arn));
    String::from_utf8(out.finish()).expect("only text was written")
}

#[cfg(test)]
mod tests;
