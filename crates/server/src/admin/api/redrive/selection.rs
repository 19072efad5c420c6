//! Which messages a redrive takes.

use crate::admin::api::error::ApiError;
use std::collections::BTreeSet;
use tidegate_engine::{AttributeValue, Message, MessageAttribute};
use tidegate_filter::{Attribute, Attributes, Body, FilterPolicy, FilterScope};

/// Ids of one redrive: ours, bounds a request.
const IDS_MAX: usize = 1_000;

/// All conditions that are there have to hold; without any, every message is wanted.
pub(super) struct Selection {
    pub(super) filter: Option<FilterPolicy>,
    /// The ids asked for that were not found yet.
    pub(super) ids: Option<BTreeSet<String>>,
}

/// Checks ids, which are UUIDs.
pub(super) fn parse_ids(ids: Vec<String>) -> Result<BTreeSet<String>, ApiError> {
    let is_uuid = |id: &String| {
        let hyphen = |at| matches!(at, 8 | 13 | 18 | 23);
        let fits = |(at, byte): (usize, u8)| if hyphen(at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
        id.len() == 36 && id.bytes().enumerate().all(fits)
    };
    if !(1..=IDS_MAX).contains(&ids.len()) || !ids.iter().all(is_uuid) {
        return Err(ApiError::ValueRefused { name: "ids", allowed: "a list of 1 to 1000 message ids" });
    }
    Ok(ids.iter().map(|id| id.to_ascii_lowercase()).collect())
}

impl Selection {
    /// Whether it can only be decided by what a message holds.
    pub(super) fn needs_content(&self) -> bool {
        self.filter.is_some() || self.ids.is_some()
    }

    /// Whether everything that was asked for by its id was found.
    pub(super) fn is_exhausted(&self) -> bool {
        self.ids.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// Whether a message is wanted; from then on its id counts as found.
    pub(super) fn takes(&mut self, id: &str, message: &Message) -> bool {
        if self.ids.as_mut().is_some_and(|ids| !ids.remove(id)) {
            return false;
        }
        self.filter.as_ref().is_none_or(|filter| passes(filter, message))
    }
}

fn passes(filter: &FilterPolicy, message: &Message) -> bool {
    match filter.scope() {
        FilterScope::MessageAttributes => {
            filter.matches_attributes(&Attributes::new(message.attributes.iter().map(seen)))
        }
        FilterScope::MessageBody => {
            std::str::from_utf8(&message.body).is_ok_and(|body| filter.matches_body(&Body::parse(body)))
        }
    }
}

fn seen(attribute: &MessageAttribute) -> Attribute<'_> {
    let text = match &attribute.value {
        AttributeValue::Text(text) => Some(&**text),
        AttributeValue::Binary(_) => None,
    };
    Attribute { name: &attribute.name, data_type: &attribute.data_type, text }
}
