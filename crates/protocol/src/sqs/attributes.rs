//! Queue attributes: names and texts on the wire, checked values inside.

use super::{policy, redrive};
use crate::auth::Home;
use crate::fault::Fault;
use crate::limits;
use crate::text::{decimal, echo, forbidden_character};
use crate::wire::{Input, MapName, Output};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, DeduplicationScope, FifoThroughputLimit, KMS_REUSE_PERIOD_DEFAULT, QueueView,
    limits as engine_limits,
};

const ATTRIBUTES: MapName =
    MapName { json: "Attributes", query: &["Attribute"], key: "Name", value: "Value" };

/// The attributes of a create or set.
pub(super) struct Sent {
    /// In the client's order.
    pub(super) changes: Vec<AttributeChange>,
    /// `RedrivePolicy` as sent, for error texts.
    pub(super) redrive_policy: Box<str>,
}

/// Reads the attributes given for a queue of `owner`.
pub(super) fn decode(input: &mut Input<'_>, owner: &Home) -> Result<Sent, Fault> {
    let mut sent = Sent { changes: Vec::new(), redrive_policy: Box::default() };
    for (name, value) in input.text_map(ATTRIBUTES)? {
        if name == "RedrivePolicy" {
            sent.redrive_policy = echo(&value);
        }
        sent.changes.push(change(&name, &value, owner)?);
    }
    Ok(sent)
}

fn change(name: &str, value: &str, owner: &Home) -> Result<AttributeChange, Fault> {
    let max_seconds = |max: Duration| 0..=max.as_secs();
    let seconds = |name, range: RangeInclusive<u64>| integer(name, value, &range).map(Duration::from_secs);
    Ok(match name {
        "DelaySeconds" => {
            AttributeChange::DelaySeconds(seconds("DelaySeconds", max_seconds(engine_limits::DELAY_MAX))?)
        }
        "MaximumMessageSize" => {
            let (least, most) = engine_limits::MAXIMUM_MESSAGE_SIZE.into_inner();
            let size = integer("MaximumMessageSize", value, &(u64::from(least)..=u64::from(most)))?;
            AttributeChange::MaximumMessageSize(u32::try_from(size).expect("the range above is of u32"))
        }
        "MessageRetentionPeriod" => AttributeChange::MessageRetentionPeriod(seconds(
            "MessageRetentionPeriod",
            engine_limits::RETENTION,
        )?),
        "ReceiveMessageWaitTimeSeconds" => AttributeChange::ReceiveMessageWaitTimeSeconds(seconds(
            "ReceiveMessageWaitTimeSeconds",
            max_seconds(engine_limits::WAIT_TIME_MAX),
        )?),
        "VisibilityTimeout" => AttributeChange::VisibilityTimeout(seconds(
            "VisibilityTimeout",
            max_seconds(engine_limits::VISIBILITY_TIMEOUT_MAX),
        )?),
        "Policy" => AttributeChange::Policy(unless_empty(value, policy::parse)?),
        "RedrivePolicy" => {
            AttributeChange::RedrivePolicy(unless_empty(value, |value| redrive::parse(value, owner))?)
        }
        "RedriveAllowPolicy" => {
            AttributeChange::RedriveAllowPolicy(unless_empty(value, redrive::parse_allow)?)
        }
        "KmsMasterKeyId" => AttributeChange::KmsMasterKeyId(unless_empty(value, kms_key)?),
        "KmsDataKeyReusePeriodSeconds" => AttributeChange::KmsDataKeyReusePeriodSeconds(seconds(
            "KmsDataKeyReusePeriodSeconds",
            limits::KMS_REUSE_PERIOD,
        )?),
        "SqsManagedSseEnabled" => {
            AttributeChange::SqsManagedSseEnabled(boolean("SqsManagedSseEnabled", value)?)
        }
        "FifoQueue" => AttributeChange::FifoQueue(boolean("FifoQueue", value)?),
        "ContentBasedDeduplication" => {
            AttributeChange::ContentBasedDeduplication(boolean("ContentBasedDeduplication", value)?)
        }
        "DeduplicationScope" => AttributeChange::DeduplicationScope(match value {
            "queue" => DeduplicationScope::Queue,
            "messageGroup" => DeduplicationScope::MessageGroup,
            _ => return Err(Fault::AttributeValue { attribute: "DeduplicationScope" }),
        }),
        "FifoThroughputLimit" => AttributeChange::FifoThroughputLimit(match value {
            "perQueue" => FifoThroughputLimit::PerQueue,
            "perMessageGroupId" => FifoThroughputLimit::PerMessageGroupId,
            _ => return Err(Fault::AttributeValue { attribute: "FifoThroughputLimit" }),
        }),
        // Read-only attributes are as unknown to a set as those that do not exist.
        other => return Err(Fault::UnknownAttribute { name: echo(other) }),
    })
}

/// An empty text removes the attribute.
fn unless_empty<T>(value: &str, parse: impl FnOnce(&str) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
    if value.is_empty() { Ok(None) } else { parse(value).map(Some) }
}

fn integer(attribute: &'static str, value: &str, range: &RangeInclusive<u64>) -> Result<u64, Fault> {
    decimal(value).filter(|number| range.contains(number)).ok_or(Fault::AttributeValue { attribute })
}

fn boolean(attribute: &'static str, value: &str) -> Result<bool, Fault> {
    if value.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if value.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(Fault::AttributeValue { attribute })
    }
}

fn kms_key(value: &str) -> Result<Box<str>, Fault> {
    if value.len() > limits::KMS_KEY_BYTES || forbidden_character(value).is_some() {
        return Err(Fault::AttributeValue { attribute: "KmsMasterKeyId" });
    }
    Ok(value.into())
}

/// Every name that can be asked for, in the order in which answers have them.
const NAMES: [&str; 21] = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "ContentBasedDeduplication",
    "CreatedTimestamp",
    "DeduplicationScope",
    "DelaySeconds",
    "FifoQueue",
    "FifoThroughputLimit",
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "LastModifiedTimestamp",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "Policy",
    "QueueArn",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "SqsManagedSseEnabled",
    "VisibilityTimeout",
];

/// The names that a client asked for, as bits of their index in [`NAMES`].
#[derive(Debug, Default)]
pub(super) struct Wanted(u32);

impl Wanted {
    pub(super) fn parse(names: &[Cow<'_, str>]) -> Result<Self, Fault> {
        let mut wanted = Wanted::default();
        for name in names {
            wanted.0 |= match NAMES.iter().position(|known| known == name) {
                Some(index) => 1 << index,
                None if name == "All" => u32::MAX,
                None => return Err(Fault::UnknownAttribute { name: echo(name) }),
            };
        }
        Ok(wanted)
    }

    /// Writes those that are set.
    pub(super) fn write<O: Output>(&self, view: &QueueView, out: &mut O) {
        let wanted = NAMES.iter().enumerate().filter(|(index, _)| self.0 & (1 << index) != 0);
        out.text_map(ATTRIBUTES, wanted.filter_map(|(_, name)| Some((*name, value(name, view)?))));
    }
}

/// An attribute's text; `None` while it is unset, or when only FIFO queues have it and this is none.
fn value(name: &str, view: &QueueView) -> Option<String> {
    let attributes = &view.attributes;
    let seconds = |duration: Duration| Some(duration.as_secs().to_string());
    match name {
        "ApproximateNumberOfMessages" => Some(view.counts.visible.to_string()),
        "ApproximateNumberOfMessagesDelayed" => Some(view.counts.delayed.to_string()),
        "ApproximateNumberOfMessagesNotVisible" => Some(view.counts.in_flight.to_string()),
        "ContentBasedDeduplication" => Some(attributes.fifo?.content_based_deduplication.to_string()),
        "CreatedTimestamp" => Some(view.created_at.as_secs().to_string()),
        "DeduplicationScope" => Some(scope_text(attributes.fifo?.deduplication_scope).to_owned()),
        "DelaySeconds" => seconds(attributes.delay),
        "FifoQueue" => attributes.fifo.map(|_| true.to_string()),
        "FifoThroughputLimit" => Some(throughput_limit_text(attributes.fifo?.throughput_limit).to_owned()),
        "KmsDataKeyReusePeriodSeconds" => {
            attributes.kms_master_key_id.as_ref()?;
            seconds(attributes.kms_data_key_reuse_period.unwrap_or(KMS_REUSE_PERIOD_DEFAULT))
        }
        "KmsMasterKeyId" => attributes.kms_master_key_id.as_deref().map(str::to_owned),
        "LastModifiedTimestamp" => Some(view.modified_at.as_secs().to_string()),
        "MaximumMessageSize" => Some(attributes.maximum_message_size.to_string()),
        "MessageRetentionPeriod" => seconds(attributes.retention_period),
        "Policy" => attributes.policy.as_ref().map(|policy| policy.text.to_string()),
        "QueueArn" => Some(view.address.arn()),
        "ReceiveMessageWaitTimeSeconds" => seconds(attributes.wait_time),
        "RedriveAllowPolicy" => attributes.redrive_allow_policy.as_ref().map(redrive::allow_text),
        "RedrivePolicy" => attributes.redrive_policy.as_ref().map(redrive::text),
        "SqsManagedSseEnabled" => Some(attributes.sqs_managed_sse.to_string()),
        "VisibilityTimeout" => seconds(attributes.visibility_timeout),
        _ => None,
    }
}

fn scope_text(scope: DeduplicationScope) -> &'static str {
    match scope {
        DeduplicationScope::Queue => "queue",
        DeduplicationScope::MessageGroup => "messageGroup",
    }
}

fn throughput_limit_text(limit: FifoThroughputLimit) -> &'static str {
    match limit {
        FifoThroughputLimit::PerQueue => "perQueue",
        FifoThroughputLimit::PerMessageGroupId => "perMessageGroupId",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_engine::{AccountId, Region};

    fn set(name: &str, value: &str) -> Result<AttributeChange, Fault> {
        change(name, value, &Home { account: AccountId::default(), region: Region::default() })
    }

    #[test]
    fn integers_are_strict_and_in_range() {
        for (name, least, most) in [
            ("DelaySeconds", 0, 900),
            ("MaximumMessageSize", 1_024, 1_048_576),
            ("MessageRetentionPeriod", 60, 1_209_600),
            ("ReceiveMessageWaitTimeSeconds", 0, 20),
            ("VisibilityTimeout", 0, 43_200),
            ("KmsDataKeyReusePeriodSeconds", 60, 86_400),
        ] {
            for good in [least, most] {
                assert_eq!(set(name, &good.to_string()).unwrap().name(), name);
            }
            let over = (most + 1).to_string();
            let under = (least - 1).to_string();
            for bad in [" 6", "", "544.43", "-45", "true", "1e2", "99999999999999999999", &over, &under] {
                assert_eq!(
                    set(name, bad).unwrap_err().to_string(),
                    format!("Invalid value for the parameter {name}."),
                    "{bad:?}"
                );
            }
        }
    }

    #[test]
    fn booleans_are_accepted_in_any_case() {
        assert_eq!(set("SqsManagedSseEnabled", "True"), Ok(AttributeChange::SqsManagedSseEnabled(true)));
        assert_eq!(set("SqsManagedSseEnabled", "FALSE"), Ok(AttributeChange::SqsManagedSseEnabled(false)));
        assert!(set("SqsManagedSseEnabled", "yes").is_err());
    }

    #[test]
    fn an_empty_text_removes_an_attribute() {
        assert_eq!(set("Policy", ""), Ok(AttributeChange::Policy(None)));
        assert_eq!(set("RedrivePolicy", ""), Ok(AttributeChange::RedrivePolicy(None)));
        assert_eq!(set("RedriveAllowPolicy", ""), Ok(AttributeChange::RedriveAllowPolicy(None)));
        assert_eq!(set("KmsMasterKeyId", ""), Ok(AttributeChange::KmsMasterKeyId(None)));
    }

    #[test]
    fn unknown_and_read_only_names_are_refused() {
        for name in ["Foobar", "QueueArn", "CreatedTimestamp", "ApproximateNumberOfMessages", "All", "policy"]
        {
            assert_eq!(set(name, "1").unwrap_err().to_string(), format!("Unknown Attribute {name}."));
        }
        assert!(Wanted::parse(&["Foobar".into()]).is_err());
        assert!(NAMES.is_sorted());
    }
}
