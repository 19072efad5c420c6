//! `ListDeadLetterSourceQueues`.

use super::listing::Listing;
use super::scope::Scope;
use super::{Accepted, Pending};
use crate::auth::Home;
use crate::fault::Fault;
use crate::wire::{Input, ListName};
use tidegate_engine::{Command, QueueAddress};

/// The small letter is the service's.
const QUEUE_URLS: ListName = ListName { json: "queueUrls", query: "QueueUrl" };

pub(super) fn decode(
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    // Sources are always of their dead-letter queue's account and region.
    let owner = Home { account: queue.account, region: queue.region.clone() };
    let question = format!("sources of {}", queue.name).into();
    let (listing, page) = Listing::read(input, scope, QUEUE_URLS, owner, question)?;
    let command = Command::ListSources { queue: queue.clone(), after: page.after, max: page.max };
    Ok(Accepted::new(command, Pending::Queues(listing)))
}
