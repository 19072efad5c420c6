//! The part of a record that holds a message.

use super::{DecodeError, Fields, Put, take_seq, take_timestamp};
use tidegate_engine::{AttributeValue, Message, MessageAttribute, MessageId, QueueId, StoredMessage};

const TEXT: u8 = 1;
const BINARY: u8 = 2;

pub(super) fn put(stored: &StoredMessage, record: &mut Vec<u8>) {
    let message = &stored.message;
    record.put_number(stored.seq.0);
    record.put_number(stored.sent_at.as_millis());
    record.extend_from_slice(&message.id.0);
    record.extend_from_slice(&message.body_md5);
    record.put_text(&message.sender);
    record.put_optional_text(message.trace_header.as_deref());
    record.put_optional_text(message.group_id.as_deref());
    record.put_optional_text(message.deduplication_id.as_deref());
    record.put_number(message.attributes.len() as u64);
    for attribute in &message.attributes {
        record.put_text(&attribute.name);
        record.put_text(&attribute.data_type);
        record.push(match attribute.value {
            AttributeValue::Text(_) => TEXT,
            AttributeValue::Binary(_) => BINARY,
        });
        record.put_bytes(attribute.value.as_bytes());
    }
    record.put_bytes(&message.body);
}

pub(super) fn take(queue: QueueId, fields: &mut Fields) -> Result<StoredMessage, DecodeError> {
    let seq = take_seq(fields)?;
    let sent_at = take_timestamp(fields)?;
    let id = MessageId(fields.fixed()?);
    let body_md5 = fields.fixed()?;
    let sender = fields.text()?;
    let trace_header = fields.optional_text()?;
    let group_id = fields.optional_text()?;
    let deduplication_id = fields.optional_text()?;
    let attributes = fields.list(take_attribute)?;
    let body = fields.bytes()?;
    let message =
        Message { id, body, body_md5, attributes, trace_header, group_id, deduplication_id, sender };
    Ok(StoredMessage { queue, seq, sent_at, message })
}

fn take_attribute(fields: &mut Fields) -> Result<MessageAttribute, DecodeError> {
    let name = fields.text()?;
    let data_type = fields.text()?;
    let value = match fields.byte()? {
        TEXT => AttributeValue::Text(fields.text()?),
        BINARY => AttributeValue::Binary(fields.bytes()?),
        tag => return Err(DecodeError::UnknownTag { what: "a message attribute", tag: tag.into() }),
    };
    Ok(MessageAttribute { name, data_type, value })
}
