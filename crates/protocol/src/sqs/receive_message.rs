//! `ReceiveMessage`.

use super::digest::{self, Md5Hex};
use super::message::{MESSAGE_ATTRIBUTES, check_id, sequence_number};
use super::scope::Scope;
use super::{Accepted, Pending};
use crate::fault::{Echo, Fault};
use crate::receipt::ReceiptKey;
use crate::text::{Decimal, echo};
use crate::wire::{Input, ListName, MapName, Output};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;
use tidegate_engine::{
    AttributeValue, Command, Delivery, MessageAttribute, QueueAddress, Receive, StoredMessage, limits,
};

const MESSAGES: ListName = ListName { json: "Messages", query: "Message" };
const ATTRIBUTES: MapName =
    MapName { json: "Attributes", query: &["Attribute"], key: "Name", value: "Value" };
/// The old name of the next; in Query both travel under it.
const ATTRIBUTE_NAMES: ListName = ListName { json: "AttributeNames", query: "AttributeName" };
const SYSTEM_ATTRIBUTE_NAMES: ListName =
    ListName { json: "MessageSystemAttributeNames", query: "MessageSystemAttributeName" };
const MESSAGE_ATTRIBUTE_NAMES: ListName =
    ListName { json: "MessageAttributeNames", query: "MessageAttributeName" };

pub(super) fn decode(
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    let max = in_range(input, "MaxNumberOfMessages", 1..=10, "Must be between 1 and 10, if provided.")?;
    let visibility_timeout =
        in_range(input, "VisibilityTimeout", 0..=43_200, "Must be >= 0 and <= 43200, if provided.")?;
    let wait = in_range(input, "WaitTimeSeconds", 0..=20, "Must be >= 0 and <= 20, if provided.")?;
    let mut system = SystemAttributes::default();
    system.add(&input.texts(ATTRIBUTE_NAMES)?)?;
    system.add(&input.texts(SYSTEM_ATTRIBUTE_NAMES)?)?;
    let attributes = Filter::new(input.texts(MESSAGE_ATTRIBUTE_NAMES)?);
    let is_fifo = queue.name.is_fifo();
    if !is_fifo {
        system.drop_fifo();
    }
    // Standard queues cannot repeat a receive and ignore its id, whatever it is.
    let attempt_id = input.text("ReceiveRequestAttemptId")?.filter(|_| is_fifo);
    let attempt_id = attempt_id.map(|id| check_id("ReceiveRequestAttemptId", id)).transpose()?;
    let echo = Echo { handle: attempt_id.clone().unwrap_or_default(), ..Echo::default() };
    let command = Command::Receive(Receive {
        queue: queue.clone(),
        max: max.map_or(1, |max| usize::try_from(max).expect("the range above is small")),
        visibility_timeout: visibility_timeout.map(Duration::from_secs),
        wait: wait.map(Duration::from_secs),
        attempt_id,
    });
    let selection = Selection { key: scope.context.receipt_key, system, attributes };
    Ok(Accepted { command, pending: Pending::Received(selection), echo })
}

const _: () = assert!(limits::BATCH_ENTRIES == 10);
const _: () = assert!(limits::VISIBILITY_TIMEOUT_MAX.as_secs() == 43_200);
const _: () = assert!(limits::WAIT_TIME_MAX.as_secs() == 20);

fn in_range(
    input: &mut Input<'_>,
    name: &'static str,
    range: RangeInclusive<u64>,
    reason: &'static str,
) -> Result<Option<u64>, Fault> {
    let Some(number) = input.integer(name)? else { return Ok(None) };
    let fits = u64::try_from(number).ok().filter(|number| range.contains(number));
    fits.map(Some).ok_or_else(|| Fault::value(name, &number.to_string(), reason))
}

/// What a receive asks to be told of each message.
#[derive(Debug)]
pub(super) struct Selection {
    key: ReceiptKey,
    system: SystemAttributes,
    attributes: Filter,
}

impl Selection {
    pub(super) fn write<O: Output>(&self, deliveries: &[Delivery], messages: &[StoredMessage], out: &mut O) {
        out.structures(MESSAGES, deliveries.iter().zip(messages), |out, (delivery, stored)| {
            self.write_message(delivery, stored, out);
        });
    }

    fn write_message<O: Output>(&self, delivery: &Delivery, stored: &StoredMessage, out: &mut O) {
        let message = &stored.message;
        out.plain("MessageId", &delivery.message_id(stored).encode());
        out.plain("ReceiptHandle", self.key.encode(&delivery.receipt).as_bytes());
        out.plain("MD5OfBody", Md5Hex::encode(&message.body_md5).as_bytes());
        out.bytes("Body", &message.body);
        out.text_map(ATTRIBUTES, self.system.values(delivery, stored));
        let selected =
            || message.attributes.iter().filter(|attribute| self.attributes.selects(&attribute.name));
        if let Some(digest) = digest::of_attributes(selected()) {
            out.plain("MD5OfMessageAttributes", digest.as_bytes());
        }
        let named = selected().map(|attribute| (&*attribute.name, attribute));
        out.structure_map(MESSAGE_ATTRIBUTES, named, write_attribute);
    }
}

fn write_attribute<O: Output>(out: &mut O, attribute: &MessageAttribute) {
    match &attribute.value {
        AttributeValue::Text(text) => out.text("StringValue", text),
        AttributeValue::Binary(bytes) => out.blob("BinaryValue", bytes),
    }
    out.text("DataType", &attribute.data_type);
}

/// The system attributes, in the order in which answers have them.
const SYSTEM_NAMES: [&str; 9] = [
    "SenderId",
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    "SentTimestamp",
    "AWSTraceHeader",
    "MessageGroupId",
    "MessageDeduplicationId",
    "SequenceNumber",
    "DeadLetterQueueSourceArn",
];

/// The system attributes asked for, as bits of their index in [`SYSTEM_NAMES`].
#[derive(Clone, Copy, Debug, Default)]
struct SystemAttributes(u16);

impl SystemAttributes {
    fn add(&mut self, names: &[Cow<'_, str>]) -> Result<(), Fault> {
        for name in names {
            self.0 |= match SYSTEM_NAMES.iter().position(|known| known == name) {
                Some(index) => 1 << index,
                None if name == "All" => u16::MAX,
                None => return Err(Fault::UnknownAttribute { name: echo(name) }),
            };
        }
        Ok(())
    }

    /// Forgets what only messages in FIFO queues have.
    fn drop_fifo(&mut self) {
        for (index, name) in SYSTEM_NAMES.iter().enumerate() {
            if matches!(*name, "MessageDeduplicationId" | "SequenceNumber") {
                self.0 &= !(1 << index);
            }
        }
    }

    /// Those asked for that the message has.
    fn values<'m>(
        self,
        delivery: &'m Delivery,
        stored: &'m StoredMessage,
    ) -> impl Iterator<Item = (&'static str, SystemValue<'m>)> {
        let wanted =
            SYSTEM_NAMES.into_iter().enumerate().filter(move |(index, _)| self.0 & (1 << index) != 0);
        wanted.filter_map(move |(_, name)| Some((name, system_value(name, delivery, stored)?)))
    }
}

fn system_value<'m>(name: &str, delivery: &Delivery, stored: &'m StoredMessage) -> Option<SystemValue<'m>> {
    let number = |number| Some(SystemValue::Number(Decimal::new(number)));
    let message = &stored.message;
    match name {
        "SenderId" => Some(SystemValue::Text(&message.sender)),
        "ApproximateFirstReceiveTimestamp" => number(delivery.first_received_at.as_millis()),
        "ApproximateReceiveCount" => number(u64::from(delivery.receive_count)),
        "SentTimestamp" => number(delivery.sent_at.as_millis()),
        "AWSTraceHeader" => message.trace_header.as_deref().map(SystemValue::Text),
        "DeadLetterQueueSourceArn" => {
            delivery.dead_letter_source().map(|source| SystemValue::Owned(source.arn()))
        }
        "MessageGroupId" => message.group_id.as_deref().map(SystemValue::Text),
        // A moved message has its public id instead of the one it was sent with, which may be taken here.
        "MessageDeduplicationId" if delivery.origin.is_some() => {
            let id = delivery.message_id(stored).encode().to_vec();
            Some(SystemValue::Owned(String::from_utf8(id).expect("ids are ASCII")))
        }
        "MessageDeduplicationId" => message.deduplication_id.as_deref().map(SystemValue::Text),
        "SequenceNumber" => Some(SystemValue::Number(sequence_number(delivery.receipt.seq))),
        _ => None,
    }
}

/// A system attribute's text.
enum SystemValue<'m> {
    Text(&'m str),
    Owned(String),
    Number(Decimal),
}

impl AsRef<str> for SystemValue<'_> {
    fn as_ref(&self) -> &str {
        match self {
            SystemValue::Text(text) => text,
            SystemValue::Owned(text) => text,
            SystemValue::Number(number) => number.as_str(),
        }
    }
}

/// Which message attributes a receive asks for.
#[derive(Debug, PartialEq, Eq)]
enum Filter {
    All,
    Named(Vec<Pattern>),
}

#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    Exact(Box<str>),
    /// `text.*`: names that start with the text; the dot is not part of it.
    Prefix(Box<str>),
}

impl Filter {
    fn new(names: Vec<Cow<'_, str>>) -> Self {
        if names.iter().any(|name| matches!(&**name, "All" | "*" | ".*")) {
            return Filter::All;
        }
        Filter::Named(
            names
                .into_iter()
                .map(|name| match name.strip_suffix(".*") {
                    Some(prefix) => Pattern::Prefix(prefix.into()),
                    None => Pattern::Exact(name.into()),
                })
                .collect(),
        )
    }

    fn selects(&self, name: &str) -> bool {
        match self {
            Filter::All => true,
            Filter::Named(patterns) => patterns.iter().any(|pattern| match pattern {
                Pattern::Exact(exact) => &**exact == name,
                Pattern::Prefix(prefix) => name.starts_with(&**prefix),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_select_exactly_what_was_asked_for() {
        let all = ["Help.Me", "Hello", "General"];
        for (filter, selected) in [
            (&[][..], &[][..]),
            (&["All"], &all),
            (&["*"], &all),
            (&[".*"], &all),
            (&["Hel.*"], &["Help.Me", "Hello"]),
            (&["Help.*"], &["Help.Me"]),
            (&["Help"], &[]),
            (&["hello"], &[]),
            (&["Foo", "Hello"], &["Hello"]),
            (&["AWS.", "..foo"], &[]),
            (&["Foo", "All"], &all),
        ] {
            let parsed = Filter::new(filter.iter().map(|name| Cow::Borrowed(*name)).collect());
            let found: Vec<_> = all.into_iter().filter(|name| parsed.selects(name)).collect();
            assert_eq!(found, selected, "{filter:?}");
        }
    }

    #[test]
    fn system_attribute_names_unite_and_unknown_ones_are_refused() {
        let mut wanted = SystemAttributes::default();
        wanted.add(&["SenderId".into()]).unwrap();
        assert_eq!(wanted.0, 1);
        wanted.add(&["All".into()]).unwrap();
        assert_eq!(wanted.0, u16::MAX);
        assert_eq!(wanted.add(&["Foobar".into()]).unwrap_err().to_string(), "Unknown Attribute Foobar.");
    }
}
