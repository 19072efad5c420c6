//! A message as its sender gave it, and the numbers by which the engine knows it once stored.

use crate::{QueueId, Timestamp};
use bytes::Bytes;
use std::fmt;

/// The public id of a message: a random UUID chosen by the caller of the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub [u8; 16]);

impl MessageId {
    /// Makes a version 4 UUID of sixteen random bytes.
    pub fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        MessageId(bytes)
    }

    /// The 36 ASCII characters of the hyphenated lower-case form.
    pub fn encode(&self) -> [u8; 36] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; 36];
        let mut at = 0;
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                at += 1;
            }
            text[at] = HEX[usize::from(byte >> 4)];
            text[at + 1] = HEX[usize::from(byte & 15)];
            at += 2;
        }
        text
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.encode()).expect("hex digits and hyphens are ASCII"))
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of a stored message: grows with every accepted send of a server, never reused.
///
/// It orders the messages of a queue and stays with a message when its record moves in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageSeq(pub u64);

/// Where a record lies in the log. Opaque to the engine: it keeps the number and hands it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// The value of a message attribute. Numbers are text: the service never changes their spelling.
#[derive(Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// A value of type `String` or `Number`.
    Text(Box<str>),
    /// A value of type `Binary`, raw bytes.
    Binary(Bytes),
}

impl AttributeValue {
    /// The value's bytes as they count in sizes and digests.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            AttributeValue::Text(text) => text.as_bytes(),
            AttributeValue::Binary(bytes) => bytes,
        }
    }
}

/// A message attribute: metadata beside the body, visible to receivers that ask for it.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageAttribute {
    /// Case-sensitive name, unique in its message.
    pub name: Box<str>,
    /// `String`, `Number` or `Binary`, with an optional label after a dot.
    pub data_type: Box<str>,
    /// The value; its variant agrees with `data_type`.
    pub value: AttributeValue,
}

/// A message to be stored. Its `Debug` form leaves body and attribute values out.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Public id.
    pub id: MessageId,
    /// The body, UTF-8, returned byte for byte.
    pub body: Bytes,
    /// MD5 digest of the body, which every receiver is told; computed once, by who makes the message.
    pub body_md5: [u8; 16],
    /// Message attributes in the order they were sent; at most ten.
    pub attributes: Vec<MessageAttribute>,
    /// `AWSTraceHeader` system attribute.
    pub trace_header: Option<Box<str>>,
    /// `MessageGroupId`: the group whose order the message keeps; on standard queues the tenant it belongs to.
    pub group_id: Option<Box<str>>,
    /// `MessageDeduplicationId` of a message for a FIFO queue, given or computed.
    pub deduplication_id: Option<Box<str>>,
    /// `SenderId` system attribute.
    pub sender: Box<str>,
}

impl Message {
    /// The size that counts against limits: body, and name, type and value of every attribute, in bytes.
    pub fn size(&self) -> usize {
        let attribute = |a: &MessageAttribute| a.name.len() + a.data_type.len() + a.value.as_bytes().len();
        self.body.len() + self.attributes.iter().map(attribute).sum::<usize>()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("id", &self.id).field("size", &self.size()).finish_non_exhaustive()
    }
}

/// A message with what the service added when it accepted it; what a log record of a send holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// The queue that holds it.
    pub queue: QueueId,
    /// Its number.
    pub seq: MessageSeq,
    /// When it was accepted.
    pub sent_at: Timestamp,
    /// The message itself.
    pub message: Message,
}

/// Proof of one receive: which message of which queue, and which of its receives.
///
/// On the wire it travels authenticated, so a receipt that reaches the engine was once handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// The queue it was received from.
    pub queue: QueueId,
    /// The message.
    pub seq: MessageSeq,
    /// The message's receive count at that receive; the newest receive has the highest.
    pub receive: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_ids_print_as_version_4_uuids() {
        let id = MessageId::from_random([0xff; 16]);
        assert_eq!(id.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let id = MessageId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(id.to_string(), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
