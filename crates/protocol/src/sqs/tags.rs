//! `TagQueue`, `UntagQueue` and `ListQueueTags`, and the tags of `CreateQueue`.

use super::{Accepted, Pending};
use crate::fault::{Echo, Fault};
use crate::limits;
use crate::wire::{Input, ListName, MapName};
use tidegate_engine::{Command, QueueAddress, Tags};

pub(super) const TAGS: MapName =
    MapName { json: "Tags", query: &["Tag", "Tags"], key: "Key", value: "Value" };
/// The same for `CreateQueue`, where the service's name begins in lower case.
pub(super) const CREATE_TAGS: MapName = MapName { json: "tags", ..TAGS };
const TAG_KEYS: ListName = ListName { json: "TagKeys", query: "TagKey" };

pub(super) fn decode_tag(input: &mut Input<'_>, queue: &QueueAddress) -> Result<Accepted, Fault> {
    let tags = decode(input, TAGS)?;
    if tags.is_empty() {
        return Err(Fault::missing("Tags"));
    }
    let echo = Echo { queue: queue.name.as_str().into(), ..Echo::default() };
    Ok(Accepted { echo, ..Accepted::silent(Command::TagQueue { queue: queue.clone(), tags }) })
}

pub(super) fn decode_untag(input: &mut Input<'_>, queue: &QueueAddress) -> Result<Accepted, Fault> {
    let keys: Vec<Box<str>> = input.texts(TAG_KEYS)?.into_iter().map(Into::into).collect();
    if keys.is_empty() {
        return Err(Fault::missing("TagKeys"));
    }
    Ok(Accepted::silent(Command::UntagQueue { queue: queue.clone(), keys }))
}

pub(super) fn decode_list(queue: &QueueAddress) -> Accepted {
    Accepted::new(Command::ViewQueue { queue: queue.clone() }, Pending::Tags)
}

/// The tags of a request; empty when absent.
pub(super) fn decode(input: &mut Input<'_>, name: MapName) -> Result<Tags, Fault> {
    let tags = input.text_map(name)?;
    tags.into_iter()
        .map(|(key, value)| {
            check(&key, &value)?;
            Ok((key.into(), value.into()))
        })
        .collect()
}

/// The documented rules: letters, digits, white space and `_ . : / = + - @`; no prefix `aws:`.
fn check(key: &str, value: &str) -> Result<(), Fault> {
    let refuse = |reason| Err(Fault::Tag { reason });
    let plain = |text: &str| {
        text.chars().all(|c| c.is_alphanumeric() || c == ' ' || c == '\t' || "_.:/=+-@".contains(c))
    };
    if !limits::TAG_KEY_LENGTH.contains(&key.chars().count()) {
        return refuse("Tag keys must be between 1 and 128 characters in length.");
    }
    if value.chars().count() > limits::TAG_VALUE_LENGTH {
        return refuse("Tag values must be between 0 and 256 characters in length.");
    }
    if key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("aws:")) {
        return refuse("Tag keys must not begin with 'aws:'. This prefix is reserved.");
    }
    if !plain(key) || !plain(value) {
        return refuse("Tags can only include letters, digits, white space and any of _ . : / = + - @");
    }
    Ok(())
}
