//! Queue attributes in records. Tags never change their meaning.

use super::{DecodeError, Fields, Put, put_address, take_address};
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, DeduplicationScope, Document, FifoThroughputLimit, RedriveAllowPolicy, RedrivePolicy,
};

const DELAY: u8 = 1;
const MAXIMUM_MESSAGE_SIZE: u8 = 2;
const RETENTION_PERIOD: u8 = 3;
const WAIT_TIME: u8 = 4;
const VISIBILITY_TIMEOUT: u8 = 5;
const POLICY: u8 = 6;
const REDRIVE_POLICY: u8 = 7;
const REDRIVE_ALLOW_POLICY: u8 = 8;
const KMS_MASTER_KEY_ID: u8 = 9;
const KMS_DATA_KEY_REUSE_PERIOD: u8 = 10;
const SQS_MANAGED_SSE: u8 = 11;
const FIFO_QUEUE: u8 = 12;
const CONTENT_BASED_DEDUPLICATION: u8 = 13;
const DEDUPLICATION_SCOPE: u8 = 14;
const FIFO_THROUGHPUT_LIMIT: u8 = 15;

const ALLOW_ALL: u8 = 0;
const DENY_ALL: u8 = 1;
const BY_QUEUE: u8 = 2;

pub(crate) fn put_changes(changes: &[AttributeChange], record: &mut Vec<u8>) {
    record.put_number(changes.len() as u64);
    changes.iter().for_each(|change| put_change(change, record));
}

pub(crate) fn take_changes(fields: &mut Fields) -> Result<Vec<AttributeChange>, DecodeError> {
    fields.list(take_change)
}

fn put_change(change: &AttributeChange, record: &mut Vec<u8>) {
    let mut number = |tag, value: u64| {
        record.push(tag);
        record.put_number(value);
    };
    match change {
        AttributeChange::DelaySeconds(value) => number(DELAY, value.as_secs()),
        AttributeChange::MaximumMessageSize(value) => number(MAXIMUM_MESSAGE_SIZE, (*value).into()),
        AttributeChange::MessageRetentionPeriod(value) => number(RETENTION_PERIOD, value.as_secs()),
        AttributeChange::ReceiveMessageWaitTimeSeconds(value) => number(WAIT_TIME, value.as_secs()),
        AttributeChange::VisibilityTimeout(value) => number(VISIBILITY_TIMEOUT, value.as_secs()),
        AttributeChange::KmsDataKeyReusePeriodSeconds(value) => {
            number(KMS_DATA_KEY_REUSE_PERIOD, value.as_secs());
        }
        AttributeChange::SqsManagedSseEnabled(value) => number(SQS_MANAGED_SSE, (*value).into()),
        AttributeChange::FifoQueue(value) => number(FIFO_QUEUE, (*value).into()),
        AttributeChange::ContentBasedDeduplication(value) => {
            number(CONTENT_BASED_DEDUPLICATION, (*value).into());
        }
        AttributeChange::DeduplicationScope(value) => number(
            DEDUPLICATION_SCOPE,
            match value {
                DeduplicationScope::Queue => 0,
                DeduplicationScope::MessageGroup => 1,
            },
        ),
        AttributeChange::FifoThroughputLimit(value) => number(
            FIFO_THROUGHPUT_LIMIT,
            match value {
                FifoThroughputLimit::PerQueue => 0,
                FifoThroughputLimit::PerMessageGroupId => 1,
            },
        ),
        AttributeChange::KmsMasterKeyId(value) => {
            record.push(KMS_MASTER_KEY_ID);
            record.put_optional_text(value.as_deref());
        }
        AttributeChange::Policy(policy) => {
            number(POLICY, policy.is_some().into());
            if let Some(policy) = policy {
                record.put_text(&policy.text);
                record.put_text(&policy.canonical);
            }
        }
        AttributeChange::RedrivePolicy(policy) => {
            number(REDRIVE_POLICY, policy.is_some().into());
            if let Some(policy) = policy {
                put_address(&policy.dead_letter_target, record);
                record.put_number(policy.max_receive_count.into());
            }
        }
        AttributeChange::RedriveAllowPolicy(policy) => {
            number(REDRIVE_ALLOW_POLICY, policy.is_some().into());
            if let Some(policy) = policy {
                put_redrive_allow(policy, record);
            }
        }
    }
}

fn put_redrive_allow(policy: &RedriveAllowPolicy, record: &mut Vec<u8>) {
    match policy {
        RedriveAllowPolicy::AllowAll => record.push(ALLOW_ALL),
        RedriveAllowPolicy::DenyAll => record.push(DENY_ALL),
        RedriveAllowPolicy::ByQueue(arns) => {
            record.push(BY_QUEUE);
            record.put_number(arns.len() as u64);
            arns.iter().for_each(|arn| record.put_text(arn));
        }
    }
}

fn take_change(fields: &mut Fields) -> Result<AttributeChange, DecodeError> {
    Ok(match fields.byte()? {
        DELAY => AttributeChange::DelaySeconds(take_seconds(fields)?),
        MAXIMUM_MESSAGE_SIZE => AttributeChange::MaximumMessageSize(fields.number_as("message size")?),
        RETENTION_PERIOD => AttributeChange::MessageRetentionPeriod(take_seconds(fields)?),
        WAIT_TIME => AttributeChange::ReceiveMessageWaitTimeSeconds(take_seconds(fields)?),
        VISIBILITY_TIMEOUT => AttributeChange::VisibilityTimeout(take_seconds(fields)?),
        POLICY => AttributeChange::Policy(
            fields.optional(|f| Ok(Document { text: f.text()?, canonical: f.text()? }))?,
        ),
        REDRIVE_POLICY => AttributeChange::RedrivePolicy(fields.optional(take_redrive)?),
        REDRIVE_ALLOW_POLICY => AttributeChange::RedriveAllowPolicy(fields.optional(take_redrive_allow)?),
        KMS_MASTER_KEY_ID => AttributeChange::KmsMasterKeyId(fields.optional_text()?),
        KMS_DATA_KEY_REUSE_PERIOD => AttributeChange::KmsDataKeyReusePeriodSeconds(take_seconds(fields)?),
        SQS_MANAGED_SSE => AttributeChange::SqsManagedSseEnabled(fields.flag()?),
        FIFO_QUEUE => AttributeChange::FifoQueue(fields.flag()?),
        CONTENT_BASED_DEDUPLICATION => AttributeChange::ContentBasedDeduplication(fields.flag()?),
        DEDUPLICATION_SCOPE => AttributeChange::DeduplicationScope(match fields.flag()? {
            false => DeduplicationScope::Queue,
            true => DeduplicationScope::MessageGroup,
        }),
        FIFO_THROUGHPUT_LIMIT => AttributeChange::FifoThroughputLimit(match fields.flag()? {
            false => FifoThroughputLimit::PerQueue,
            true => FifoThroughputLimit::PerMessageGroupId,
        }),
        tag => return Err(DecodeError::UnknownTag { what: "a queue attribute", tag: tag.into() }),
    })
}

fn take_seconds(fields: &mut Fields) -> Result<Duration, DecodeError> {
    fields.number().map(Duration::from_secs)
}

fn take_redrive(fields: &mut Fields) -> Result<RedrivePolicy, DecodeError> {
    let dead_letter_target = take_address(fields)?;
    Ok(RedrivePolicy { dead_letter_target, max_receive_count: fields.number_as("receive count")? })
}

fn take_redrive_allow(fields: &mut Fields) -> Result<RedriveAllowPolicy, DecodeError> {
    Ok(match fields.byte()? {
        ALLOW_ALL => RedriveAllowPolicy::AllowAll,
        DENY_ALL => RedriveAllowPolicy::DenyAll,
        BY_QUEUE => RedriveAllowPolicy::ByQueue(fields.list(Fields::text)?),
        tag => return Err(DecodeError::UnknownTag { what: "a redrive allow policy", tag: tag.into() }),
    })
}
