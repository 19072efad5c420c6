//! Events as log records and back.
//!
//! A record is a tag byte, the event's time and the event's fields; `docs/log-format.md` has the table. Tags
//! never change their meaning. To change an event: give it a new tag, keep decoding the old one, extend the
//! document and store a fixture written by the release before.

mod attributes;
mod message;
pub(crate) mod move_task;
mod wire;

pub(crate) use attributes::{put_changes, take_changes};
pub use wire::DecodeError;
pub(crate) use wire::{Fields, Put};

use bytes::Bytes;
use tidegate_engine::{
    AccountId, Event, MessageId, MessageSeq, MoveTaskId, QueueAddress, QueueId, QueueName, Receipt, Region,
    StoredMessage, Tags, Timestamp,
};

const QUEUE_CREATED: u8 = 1;
const QUEUE_DELETED: u8 = 2;
const ATTRIBUTES_SET: u8 = 3;
const QUEUE_TAGGED: u8 = 4;
const QUEUE_UNTAGGED: u8 = 5;
const QUEUE_PURGED: u8 = 6;
const MESSAGE_SENT: u8 = 16;
const MESSAGES_RECEIVED: u8 = 17;
const VISIBILITY_CHANGED: u8 = 18;
const MESSAGE_DELETED: u8 = 19;
const MESSAGE_RELOCATED: u8 = 20;
const MESSAGE_DEAD_LETTERED: u8 = 21;
const RECEIVE_REPEATED: u8 = 22;
const MESSAGE_REDRIVEN: u8 = 23;
const MOVE_TASK_STARTED: u8 = 32;
const MOVE_TASK_ENDED: u8 = 33;

/// Appends the record of an event that happened at `at`.
pub fn encode(at: Timestamp, event: &Event, record: &mut Vec<u8>) {
    let mut start = |tag: u8, queue: QueueId| {
        record.push(tag);
        record.put_number(at.as_millis());
        record.put_number(queue.0);
    };
    match event {
        Event::QueueCreated { queue, address, attributes, tags } => {
            start(QUEUE_CREATED, *queue);
            put_address(address, record);
            put_changes(attributes, record);
            put_tags(tags, record);
        }
        Event::QueueDeleted { queue } => start(QUEUE_DELETED, *queue),
        Event::AttributesSet { queue, attributes } => {
            start(ATTRIBUTES_SET, *queue);
            put_changes(attributes, record);
        }
        Event::QueueTagged { queue, tags } => {
            start(QUEUE_TAGGED, *queue);
            put_tags(tags, record);
        }
        Event::QueueUntagged { queue, keys } => {
            start(QUEUE_UNTAGGED, *queue);
            record.put_number(keys.len() as u64);
            keys.iter().for_each(|key| record.put_text(key));
        }
        Event::QueuePurged { queue } => start(QUEUE_PURGED, *queue),
        Event::MessageSent { stored, visible_at } => {
            start(MESSAGE_SENT, stored.queue);
            message::put(stored, record);
            record.put_number(visible_at.as_millis());
        }
        Event::MessagesReceived { queue, messages, visible_at, attempt_id } => {
            start(MESSAGES_RECEIVED, *queue);
            put_hidden(messages, *visible_at, record);
            record.put_optional_text(attempt_id.as_deref());
        }
        Event::ReceiveRepeated { queue, messages, visible_at } => {
            start(RECEIVE_REPEATED, *queue);
            put_hidden(messages, *visible_at, record);
        }
        Event::VisibilityChanged { receipt, visible_at } => {
            start(VISIBILITY_CHANGED, receipt.queue);
            record.put_number(receipt.seq.0);
            record.put_number(receipt.receive.into());
            record.put_number(visible_at.as_millis());
        }
        Event::MessageDeleted { queue, seq } => {
            start(MESSAGE_DELETED, *queue);
            record.put_number(seq.0);
        }
        Event::MessageDeadLettered { queue, seq, target, target_seq } => {
            start(MESSAGE_DEAD_LETTERED, *queue);
            record.put_number(seq.0);
            record.put_number(target.0);
            record.put_number(target_seq.0);
        }
        Event::MessageRedriven { queue, seq, target, target_seq, id, by_task } => {
            start(MESSAGE_REDRIVEN, *queue);
            record.put_number(seq.0);
            record.put_number(target.0);
            record.put_number(target_seq.0);
            record.extend_from_slice(&id.0);
            record.push((*by_task).into());
        }
        Event::MoveTaskStarted { queue, id, destination, rate, to_move } => {
            start(MOVE_TASK_STARTED, *queue);
            record.extend_from_slice(&id.0);
            put_optional_address(destination.as_ref(), record);
            record.put_number(rate.unwrap_or(0).into());
            record.put_number(*to_move);
        }
        Event::MoveTaskEnded { queue, outcome } => {
            start(MOVE_TASK_ENDED, *queue);
            record.push(move_task::tag(Some(*outcome)));
        }
        Event::MessageRelocated { stored } => {
            start(MESSAGE_RELOCATED, stored.queue);
            message::put(stored, record);
        }
    }
}

/// Reads a record: the event and when it happened.
///
/// # Errors
/// When the bytes are no record of this version.
pub fn decode(record: &Bytes) -> Result<(Timestamp, Event), DecodeError> {
    let mut fields = Fields::new(record);
    let tag = fields.byte()?;
    let at = take_timestamp(&mut fields)?;
    let queue = QueueId(fields.number()?);
    let event = match tag {
        QUEUE_CREATED => Event::QueueCreated {
            queue,
            address: take_address(&mut fields)?,
            attributes: take_changes(&mut fields)?,
            tags: take_tags(&mut fields)?,
        },
        QUEUE_DELETED => Event::QueueDeleted { queue },
        ATTRIBUTES_SET => Event::AttributesSet { queue, attributes: take_changes(&mut fields)? },
        QUEUE_TAGGED => Event::QueueTagged { queue, tags: take_tags(&mut fields)? },
        QUEUE_UNTAGGED => Event::QueueUntagged { queue, keys: fields.list(Fields::text)? },
        QUEUE_PURGED => Event::QueuePurged { queue },
        MESSAGE_SENT => Event::MessageSent {
            stored: message::take(queue, &mut fields)?,
            visible_at: take_timestamp(&mut fields)?,
        },
        MESSAGES_RECEIVED => {
            let (messages, visible_at) = take_hidden(&mut fields)?;
            Event::MessagesReceived { queue, messages, visible_at, attempt_id: fields.optional_text()? }
        }
        RECEIVE_REPEATED => {
            let (messages, visible_at) = take_hidden(&mut fields)?;
            Event::ReceiveRepeated { queue, messages, visible_at }
        }
        VISIBILITY_CHANGED => {
            let seq = take_seq(&mut fields)?;
            let receive = fields.number_as("receive count")?;
            let receipt = Receipt { queue, seq, receive };
            Event::VisibilityChanged { receipt, visible_at: take_timestamp(&mut fields)? }
        }
        MESSAGE_DELETED => Event::MessageDeleted { queue, seq: take_seq(&mut fields)? },
        MESSAGE_DEAD_LETTERED => Event::MessageDeadLettered {
            queue,
            seq: take_seq(&mut fields)?,
            target: QueueId(fields.number()?),
            target_seq: take_seq(&mut fields)?,
        },
        MESSAGE_REDRIVEN => Event::MessageRedriven {
            queue,
            seq: take_seq(&mut fields)?,
            target: QueueId(fields.number()?),
            target_seq: take_seq(&mut fields)?,
            id: MessageId(fields.fixed()?),
            by_task: fields.flag()?,
        },
        MOVE_TASK_STARTED => Event::MoveTaskStarted {
            queue,
            id: MoveTaskId(fields.fixed()?),
            destination: fields.optional(take_address)?,
            rate: Some(fields.number_as("rate")?).filter(|rate| *rate > 0),
            to_move: fields.number()?,
        },
        MOVE_TASK_ENDED => {
            let outcome = move_task::outcome(fields.byte()?)?;
            let outcome = outcome.ok_or(DecodeError::OutOfRange { what: "outcome of a move task" })?;
            Event::MoveTaskEnded { queue, outcome }
        }
        MESSAGE_RELOCATED => Event::MessageRelocated { stored: message::take(queue, &mut fields)? },
        tag => return Err(DecodeError::UnknownTag { what: "a record", tag: tag.into() }),
    };
    fields.end()?;
    Ok((at, event))
}

/// Reads the message that a record stores; `None` for a record that stores none.
///
/// # Errors
/// When the bytes are no record of this version.
pub fn decode_message(record: &Bytes) -> Result<Option<StoredMessage>, DecodeError> {
    Ok(match decode(record)?.1 {
        Event::MessageSent { stored, .. } | Event::MessageRelocated { stored } => Some(stored),
        _ => None,
    })
}

fn put_hidden(messages: &[MessageSeq], visible_at: Timestamp, record: &mut Vec<u8>) {
    record.put_number(visible_at.as_millis());
    record.put_number(messages.len() as u64);
    messages.iter().for_each(|seq| record.put_number(seq.0));
}

fn take_hidden(fields: &mut Fields) -> Result<(Vec<MessageSeq>, Timestamp), DecodeError> {
    let visible_at = take_timestamp(fields)?;
    Ok((fields.list(take_seq)?, visible_at))
}

pub(crate) fn take_timestamp(fields: &mut Fields) -> Result<Timestamp, DecodeError> {
    fields.number().map(Timestamp::from_millis)
}

pub(crate) fn take_seq(fields: &mut Fields) -> Result<MessageSeq, DecodeError> {
    fields.number().map(MessageSeq)
}

pub(crate) fn put_address(address: &QueueAddress, record: &mut Vec<u8>) {
    record.put_number(address.account.as_u64());
    record.put_text(address.region.as_str());
    record.put_text(address.name.as_str());
}

/// Read back by `fields.optional(take_address)`.
pub(crate) fn put_optional_address(address: Option<&QueueAddress>, record: &mut Vec<u8>) {
    record.push(address.is_some().into());
    address.iter().for_each(|address| put_address(address, record));
}

pub(crate) fn take_address(fields: &mut Fields) -> Result<QueueAddress, DecodeError> {
    let account = AccountId::from_u64(fields.number()?);
    let region = Region::parse(&fields.text()?);
    let name = QueueName::parse(&fields.text()?);
    match (account, region, name) {
        (Some(account), Some(region), Some(name)) => Ok(QueueAddress { account, region, name }),
        _ => Err(DecodeError::OutOfRange { what: "queue address" }),
    }
}

pub(crate) fn put_tags(tags: &Tags, record: &mut Vec<u8>) {
    record.put_number(tags.len() as u64);
    for (key, value) in tags {
        record.put_text(key);
        record.put_text(value);
    }
}

pub(crate) fn take_tags(fields: &mut Fields) -> Result<Tags, DecodeError> {
    Ok(fields.list(|fields| Ok((fields.text()?, fields.text()?)))?.into_iter().collect())
}

#[cfg(test)]
mod tests;
