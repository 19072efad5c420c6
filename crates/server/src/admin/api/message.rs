//! A message as the operators' API shows it. Instants are milliseconds since 1970.

use super::content::Seen;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::collections::BTreeMap;
use tidegate_engine::{AttributeValue, MessageAttribute, PeekedState, QueueAddress};
use tidegate_protocol::sequence_number;

/// One message.
#[derive(Debug, Serialize)]
pub(super) struct MessageView {
    /// The page that follows this message is asked for with it.
    token: String,
    /// Public id; absent when the message cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    state: &'static str,
    /// When a message that is hidden becomes visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    visible_at: Option<u64>,
    sent_at: u64,
    receive_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_received_at: Option<u64>,
    /// ARN of the queue that it left as a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_letter_source: Option<String>,
    #[serde(flatten)]
    content: Content,
}

/// What the message's record holds.
#[derive(Debug, Default, Serialize)]
struct Content {
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deduplication_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_header: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, AttributeView>,
    /// The text, or its beginning; absent when the message cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Size of the whole body.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bytes: Option<usize>,
    /// Whether the message's record is damaged.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unreadable: bool,
}

/// A message attribute; one of the values is there.
#[derive(Debug, Serialize)]
struct AttributeView {
    #[serde(rename = "type")]
    data_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl AttributeView {
    fn of(attribute: &MessageAttribute) -> Self {
        let (text, base64) = match &attribute.value {
            AttributeValue::Text(text) => (Some(text.to_string()), None),
            AttributeValue::Binary(bytes) => (None, Some(STANDARD.encode(bytes))),
        };
        AttributeView { data_type: attribute.data_type.to_string(), text, base64 }
    }
}

impl MessageView {
    /// Shows a message of `queue` with at most so many bytes of its body.
    pub(super) fn new(queue: &QueueAddress, seen: &Seen, body_bytes_max: usize) -> Self {
        let touched = &seen.peeked.touched;
        let (state, visible_at) = match seen.peeked.state {
            PeekedState::Visible => ("visible", None),
            PeekedState::InFlight { visible_at } => ("in_flight", Some(visible_at.as_millis())),
            PeekedState::Delayed { visible_at } => ("delayed", Some(visible_at.as_millis())),
        };
        let source = touched.origin.as_ref().and_then(|origin| origin.source.as_ref());
        MessageView {
            token: touched.stored.seq.0.to_string(),
            id: seen.id().map(|id| id.to_string()),
            state,
            visible_at,
            sent_at: touched.stored.sent_at.as_millis(),
            receive_count: touched.receive_count,
            first_received_at: (touched.receive_count > 0).then(|| touched.first_received_at.as_millis()),
            dead_letter_source: source.map(QueueAddress::arn),
            content: Content::new(queue, seen, body_bytes_max),
        }
    }

    /// Bytes that the message adds to an answer, escapes aside.
    pub(super) fn size(&self) -> usize {
        let value = |attribute: &AttributeView| {
            attribute.text.as_ref().or(attribute.base64.as_ref()).map_or(0, String::len)
        };
        let attributes = self.content.attributes.iter();
        let attributes = attributes.map(|(name, attribute)| name.len() + value(attribute));
        self.content.body.as_ref().map_or(0, String::len) + attributes.sum::<usize>()
    }
}

impl Content {
    fn new(queue: &QueueAddress, seen: &Seen, body_bytes_max: usize) -> Self {
        let Some(stored) = &seen.content else { return Content { unreadable: true, ..Content::default() } };
        let message = &stored.message;
        let touched = &seen.peeked.touched;
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let is_fifo = queue.name.is_fifo();
        // As receives have it: a moved message has its public id instead of the one it was sent with.
        let deduplication_id = match &touched.origin {
            Some(_) => seen.id().map(|id| id.to_string()),
            None => text(&message.deduplication_id),
        };
        let body = String::from_utf8_lossy(&message.body);
        Content {
            sender: Some(message.sender.to_string()),
            group_id: text(&message.group_id),
            deduplication_id: deduplication_id.filter(|_| is_fifo),
            sequence_number: is_fifo.then(|| sequence_number(touched.stored.seq)),
            trace_header: text(&message.trace_header),
            attributes: message
                .attributes
                .iter()
                .map(|a| (a.name.to_string(), AttributeView::of(a)))
                .collect(),
            body: Some(beginning(&body, body_bytes_max).to_owned()),
            body_bytes: Some(message.body.len()),
            unreadable: false,
        }
    }
}

/// At most so many bytes of a text, whole characters only.
fn beginning(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::beginning;

    #[test]
    fn a_text_is_cut_between_characters() {
        let cut = [0, 1, 2, 3, 4, 5, 9].map(|bytes| beginning("aßb€", bytes));
        assert_eq!(cut, ["", "a", "a", "aß", "aßb", "aßb", "aßb€"]);
    }
}
