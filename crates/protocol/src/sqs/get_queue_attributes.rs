//! `GetQueueAttributes`.

use super::attributes::Wanted;
use super::{Accepted, Pending};
use crate::fault::Fault;
use crate::wire::{Input, ListName};
use tidegate_engine::{Command, QueueAddress};

const ATTRIBUTE_NAMES: ListName = ListName { json: "AttributeNames", query: "AttributeName" };

pub(super) fn decode(input: &mut Input<'_>, queue: &QueueAddress) -> Result<Accepted, Fault> {
    let wanted = Wanted::parse(&input.texts(ATTRIBUTE_NAMES)?)?;
    Ok(Accepted::new(Command::ViewQueue { queue: queue.clone() }, Pending::Attributes(wanted)))
}
