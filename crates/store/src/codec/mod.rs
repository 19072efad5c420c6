//! Events as log records and back.
//!
//! A record is a tag byte, the event's time and the event's fields; `docs/log-format.md` has the table. Tags
//! never change their meaning. To change an event: give it a new tag, keep decoding the old one, extend the
//! document and store a fixture written by the release before.

mod attributes;
mod message;
mod wire;

pub(crate) use attributes::{put_changes, take_changes};
pub use wire::DecodeError;
pub(crate) use wire::{Fields, Put};

use bytes::Bytes;
use tidegate_engine::{
    AccountId, Event, MessageSeq, QueueAddress, QueueId, QueueName, Receipt, Region, StoredMessage, Tags,
    Timestamp,
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
        Event::MessagesReceived { queue, messages, visible_at } => {
            start(MESSAGES_RECEIVED, *queue);
            record.put_number(visible_at.as_millis());
            record.put_number(messages.len() as u64);
            messages.iter().for_each(|seq| record.put_number(seq.0));
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
        Event::MessageDeadLettered { queue, seq, target } => {
            start(MESSAGE_DEAD_LETTERED, *queue);
            record.put_number(seq.0);
            record.put_number(target.0);
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
    let mut fields = Fields::new(record.clone());
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
        MESSAGES_RECEIVED => Event::MessagesReceived {
            queue,
            visible_at: take_timestamp(&mut fields)?,
            messages: fields.list(take_seq)?,
        },
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
        },
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
