//! `ListQueues`.

use super::listing::Listing;
use super::scope::Scope;
use super::{Accepted, Pending};
use crate::fault::Fault;
use crate::wire::{Input, ListName};
use tidegate_engine::Command;

const QUEUE_URLS: ListName = ListName { json: "QueueUrls", query: "QueueUrl" };

pub(super) fn decode(input: &mut Input<'_>, scope: &Scope<'_, '_>) -> Result<Accepted, Fault> {
    let prefix: Box<str> = input.text("QueueNamePrefix")?.unwrap_or_default().into();
    let owner = scope.caller.home.clone();
    let (account, region) = (owner.account, owner.region.clone());
    let (listing, page) = Listing::read(input, scope, QUEUE_URLS, owner, prefix.clone())?;
    let command = Command::ListQueues { account, region, prefix, after: page.after, max: page.max };
    Ok(Accepted::new(command, Pending::Queues(listing)))
}
