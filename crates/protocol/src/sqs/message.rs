//! Messages as they are sent: first read as they are, so that their size is known, then checked.

use super::digest;
use super::scope::Scope;
use crate::fault::Fault;
use crate::limits;
use crate::text::{Decimal, echo, forbidden_character, is_group_id};
use crate::wire::{Input, ListName, MapName};
use bytes::Bytes;
use std::borrow::Cow;
use std::time::Duration;
use tidegate_engine::{
    AttributeValue, Message, MessageAttribute, MessageSeq, QueueAddress, SendEntry, limits as engine_limits,
};

/// Also the name of the map in answers.
pub(super) const MESSAGE_ATTRIBUTES: MapName = MapName {
    json: "MessageAttributes",
    query: &["MessageAttribute", "MessageAttributes"],
    key: "Name",
    value: "Value",
};
const SYSTEM_ATTRIBUTES: MapName = MapName {
    json: "MessageSystemAttributes",
    query: &["MessageSystemAttribute", "MessageSystemAttributes"],
    key: "Name",
    value: "Value",
};
const STRING_LIST: ListName = ListName { json: "StringListValues", query: "StringListValue" };
const BINARY_LIST: ListName = ListName { json: "BinaryListValues", query: "BinaryListValue" };

/// Where a message stands in its request; some texts differ.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// It is the request.
    Single,
    /// It is the entry of that number, from 1.
    Entry(usize),
}

/// The parameters of one message.
pub(super) struct RawMessage<'a> {
    body: Cow<'a, str>,
    delay: Option<i64>,
    attributes: Vec<RawAttribute<'a>>,
    system_attributes: Vec<RawAttribute<'a>>,
    group_id: Option<Cow<'a, str>>,
    deduplication_id: Option<Cow<'a, str>>,
}

struct RawAttribute<'a> {
    name: Cow<'a, str>,
    data_type: Cow<'a, str>,
    text: Option<Cow<'a, str>>,
    binary: Option<Vec<u8>>,
    is_list: bool,
}

impl<'a> RawMessage<'a> {
    /// # Errors
    /// `Malformed` only.
    pub(super) fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        Ok(RawMessage {
            body: input.text("MessageBody")?.unwrap_or_default(),
            delay: input.integer("DelaySeconds")?,
            attributes: read_attributes(input, MESSAGE_ATTRIBUTES)?,
            system_attributes: read_attributes(input, SYSTEM_ATTRIBUTES)?,
            group_id: input.text("MessageGroupId")?,
            deduplication_id: input.text("MessageDeduplicationId")?,
        })
    }

    pub(super) fn body(&self) -> &[u8] {
        self.body.as_bytes()
    }

    /// The size that counts against limits: body, and name, type and value of every attribute, in bytes.
    pub(super) fn size(&self) -> usize {
        let attribute = |a: &RawAttribute<'_>| {
            let value = a.text.as_ref().map_or(0, |text| text.len()) + a.binary.as_ref().map_or(0, Vec::len);
            a.name.len() + a.data_type.len() + value
        };
        self.body.len() + self.attributes.iter().map(attribute).sum::<usize>()
    }

    /// Checks that a message for a FIFO queue names its group.
    pub(super) fn check_group(&self, place: Place) -> Result<(), Fault> {
        match (&self.group_id, place) {
            (Some(_), _) => Ok(()),
            (None, Place::Single) => Err(Fault::missing("MessageGroupId")),
            (None, Place::Entry(_)) => Err(Fault::EntryWithoutGroup),
        }
    }

    /// Checks everything but the digest of the body that does not depend on the queue's state; its size does, and whether a
    /// deduplication id may be computed.
    pub(super) fn accept(
        self,
        body_md5: [u8; 16],
        place: Place,
        queue: &QueueAddress,
        scope: &mut Scope<'_, '_>,
    ) -> Result<SendEntry, Fault> {
        self.check_body(place)?;
        let is_fifo = queue.name.is_fifo();
        let delay = match self.delay {
            Some(seconds) if is_fifo => check_fifo_delay(seconds)?,
            other => other.map(check_delay).transpose()?,
        };
        let trace_header = check_system_attributes(&self.system_attributes)?;
        let group_id = self.group_id.map(|id| check_id("MessageGroupId", id)).transpose()?;
        let given_id = self.deduplication_id.map(|id| check_id("MessageDeduplicationId", id)).transpose()?;
        let content_based = is_fifo && given_id.is_none();
        let deduplication_id = match given_id {
            Some(id) if !is_fifo => return Err(not_for_standard(&id, place)),
            None if is_fifo => Some(digest::content_id(self.body.as_bytes())),
            given => given,
        };
        Ok(SendEntry {
            message: Message {
                id: scope.message_id(),
                attributes: check_attributes(self.attributes)?,
                body_md5,
                body: match self.body {
                    Cow::Borrowed(text) => Bytes::copy_from_slice(text.as_bytes()),
                    Cow::Owned(text) => Bytes::from(text.into_boxed_str().into_boxed_bytes()),
                },
                trace_header,
                group_id,
                deduplication_id,
                sender: scope.caller.sender_id(),
            },
            delay,
            content_based,
        })
    }

    fn check_body(&self, place: Place) -> Result<(), Fault> {
        if self.body.is_empty() {
            return Err(match place {
                Place::Single => Fault::missing("MessageBody"),
                Place::Entry(number) => {
                    Fault::missing(format!("SendMessageBatchRequestEntry.{number}.MessageBody"))
                }
            });
        }
        match forbidden_character(&self.body) {
            Some(c) => Err(Fault::BodyCharacter { character: c.into() }),
            None => Ok(()),
        }
    }
}

/// `SequenceNumber` of a message in a FIFO queue: 20 digits for every number, so that texts compare like
/// numbers.
pub(super) fn sequence_number(seq: MessageSeq) -> Decimal {
    const FIRST: u64 = 10_000_000_000_000_000_000;
    Decimal::new(FIRST.saturating_add(seq.0))
}

fn read_attributes<'a>(input: &mut Input<'a>, name: MapName) -> Result<Vec<RawAttribute<'a>>, Fault> {
    let read = |(name, mut value): (Cow<'a, str>, Input<'a>)| {
        Ok(RawAttribute {
            name,
            data_type: value.text("DataType")?.unwrap_or_default(),
            text: value.text("StringValue")?,
            binary: value.blob("BinaryValue")?,
            is_list: !value.texts(STRING_LIST)?.is_empty() || !value.texts(BINARY_LIST)?.is_empty(),
        })
    };
    let structures = input.structure_map(name)?;
    if structures.is_empty() { Ok(Vec::new()) } else { structures.into_iter().map(read).collect() }
}

fn check_delay(seconds: i64) -> Result<Duration, Fault> {
    let delay = u64::try_from(seconds).ok().map(Duration::from_secs);
    delay.filter(|delay| *delay <= engine_limits::DELAY_MAX).ok_or_else(|| {
        Fault::value("DelaySeconds", &seconds.to_string(), "DelaySeconds must be >= 0 and <= 900.")
    })
}

/// The delay of a message for a FIFO queue is always the queue's: 0 is accepted and means nothing.
fn check_fifo_delay(seconds: i64) -> Result<Option<Duration>, Fault> {
    if seconds == 0 { Ok(None) } else { Err(Fault::value("DelaySeconds", &seconds.to_string(), OTHER_TYPE)) }
}

const OTHER_TYPE: &str = "The request include parameter that is not valid for this queue type.";

/// Checks a message group id, deduplication id or receive attempt id.
pub(super) fn check_id(name: &'static str, id: Cow<'_, str>) -> Result<Box<str>, Fault> {
    if is_group_id(&id) {
        return Ok(id.into());
    }
    let rule = "can only include alphanumeric and punctuation characters. 1 to 128 in length.";
    Err(Fault::value(name, &id, format!("{name} {rule}")))
}

fn not_for_standard(id: &str, place: Place) -> Fault {
    match place {
        Place::Single => Fault::value("MessageDeduplicationId", id, OTHER_TYPE),
        Place::Entry(_) => Fault::EntryNotForQueueType,
    }
}

fn check_system_attributes(attributes: &[RawAttribute<'_>]) -> Result<Option<Box<str>>, Fault> {
    let mut trace_header = None;
    for attribute in attributes {
        if attribute.name != "AWSTraceHeader" {
            return Err(Fault::SystemAttributeName { name: echo(&attribute.name) });
        }
        let value = attribute.text.as_deref().filter(|value| {
            (1..=limits::TRACE_HEADER_BYTES).contains(&value.len()) && forbidden_character(value).is_none()
        });
        match value {
            Some(value) if attribute.data_type == "String" => trace_header = Some(value.into()),
            _ => return Err(Fault::SystemAttributeValue { name: echo(&attribute.name) }),
        }
    }
    Ok(trace_header)
}

fn check_attributes(attributes: Vec<RawAttribute<'_>>) -> Result<Vec<MessageAttribute>, Fault> {
    let (sent, limit) = (attributes.len(), limits::MESSAGE_ATTRIBUTES);
    if sent > limit {
        return Err(Fault::TooManyAttributes { sent, limit });
    }
    attributes.into_iter().map(check_attribute).collect()
}

fn check_attribute(attribute: RawAttribute<'_>) -> Result<MessageAttribute, Fault> {
    check_name(&attribute.name)?;
    let kind = check_type(&attribute)?;
    if attribute.is_list {
        return Err(Fault::ListValues);
    }
    let value = check_value(&attribute.name, kind, attribute.text, attribute.binary)?;
    Ok(MessageAttribute { name: attribute.name.into(), data_type: attribute.data_type.into(), value })
}

fn check_name(name: &str) -> Result<(), Fault> {
    if name.is_empty() {
        return Err(Fault::EmptyAttributeName);
    }
    if name.len() > limits::ATTRIBUTE_NAME_BYTES {
        return Err(Fault::AttributeNameTooLong);
    }
    let reserved =
        |prefix: &str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    if reserved("AWS.") || reserved("Amazon.") {
        return Err(Fault::ReservedAttributeName);
    }
    // Letters beyond ASCII are not documented, and accepted by the service all the same.
    let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if !plain || name.starts_with('.') || name.ends_with('.') {
        return Err(Fault::AttributeNameCharacters { name: echo(name) });
    }
    Ok(())
}

/// The type before its label. Only the prefix is checked, as the service does.
fn check_type(attribute: &RawAttribute<'_>) -> Result<&'static str, Fault> {
    let data_type = &*attribute.data_type;
    if data_type.len() > limits::ATTRIBUTE_NAME_BYTES {
        return Err(Fault::AttributeTypeTooLong);
    }
    let kind = ["String", "Number", "Binary"].into_iter().find(|kind| data_type.starts_with(kind));
    kind.filter(|_| forbidden_character(data_type).is_none())
        .ok_or_else(|| Fault::AttributeType { name: echo(&attribute.name) })
}

fn check_value(
    name: &str,
    kind: &'static str,
    text: Option<Cow<'_, str>>,
    binary: Option<Vec<u8>>,
) -> Result<AttributeValue, Fault> {
    if text.is_none() && binary.is_none() {
        return Err(Fault::AttributeWithoutValue { name: echo(name) });
    }
    let empty = || Fault::EmptyAttributeValue { name: echo(name), kind };
    if kind == "Binary" {
        return binary
            .filter(|bytes| !bytes.is_empty())
            .map(|bytes| AttributeValue::Binary(bytes.into()))
            .ok_or_else(empty);
    }
    let text = text.filter(|text| !text.is_empty()).ok_or_else(empty)?;
    if let Some(c) = forbidden_character(&text) {
        return Err(Fault::AttributeCharacter { attribute: echo(name), character: c.into() });
    }
    if kind == "Number" && !is_number(&text) {
        return Err(Fault::NotANumber { name: echo(name) });
    }
    Ok(AttributeValue::Text(text.into()))
}

/// A decimal number, with fraction and exponent if need be, of at most 38 significant digits and a magnitude
/// of 10^-128 to 10^126 (SQS developer guide, "Message attribute data types").
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let Some(exponent) = small_integer(exponent) else { return false };
    let Some(first) = digits().position(|b| b != b'0') else { return true };
    let last =
        digits().enumerate().filter(|(_, b)| *b != b'0').map(|(index, _)| index).last().unwrap_or(first);
    let place = |index: usize| i64::try_from(index).unwrap_or(i64::MAX);
    let magnitude =
        place(whole.len()).saturating_sub(place(first)).saturating_sub(1).saturating_add(exponent);
    last - first < 38 && (-128..=126).contains(&magnitude)
}

/// An integer of at most four digits.
fn small_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let fits = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
