//! `ListQueues`.

use super::scope::Scope;
use super::{Accepted, Pending};
use crate::auth::Identity;
use crate::fault::Fault;
use crate::queue_url;
use crate::receipt::ReceiptKey;
use crate::wire::{Input, ListName, Output};
use tidegate_engine::{Command, QueueAddress, QueueName, Region, limits};

const QUEUE_URLS: ListName = ListName { json: "QueueUrls", query: "QueueUrl" };

/// What the answer needs.
#[derive(Debug)]
pub(super) struct Listing {
    base_url: String,
    owner: Identity,
    default_region: Region,
    prefix: Box<str>,
    key: ReceiptKey,
    /// Only a caller that asks for pages gets a token.
    paged: bool,
}

pub(super) fn decode(input: &mut Input<'_>, scope: &Scope<'_, '_>) -> Result<Accepted, Fault> {
    let prefix: Box<str> = input.text("QueueNamePrefix")?.unwrap_or_default().into();
    let max = input.integer("MaxResults")?;
    let token = input.text("NextToken")?.filter(|token| !token.is_empty());
    let key = scope.context.receipt_key;
    let page = match max {
        None => limits::LIST_MAX,
        Some(max) => {
            let max = usize::try_from(max).ok().filter(|max| (1..=limits::LIST_MAX).contains(max));
            max.ok_or(Fault::MaxResults)?
        }
    };
    let owner = scope.caller.clone();
    let after = token.map(|token| key.decode_page(&token, &owner, &prefix).ok_or(Fault::NextToken));
    let command = Command::ListQueues {
        account: owner.account,
        region: owner.region.clone(),
        prefix: prefix.clone(),
        after: after.transpose()?,
        max: page,
    };
    let default_region = scope.context.region.clone();
    let listing =
        Listing { base_url: scope.base_url(), owner, default_region, prefix, key, paged: max.is_some() };
    Ok(Accepted::new(command, Pending::Queues(listing)))
}

impl Listing {
    pub(super) fn write<O: Output>(&self, names: Vec<QueueName>, more: bool, out: &mut O) {
        let Identity { account, region } = &self.owner;
        let address = |name| QueueAddress { account: *account, region: region.clone(), name };
        let queues: Vec<_> = names.into_iter().map(address).collect();
        let urls: Vec<_> = queues
            .iter()
            .map(|queue| queue_url::build(&self.base_url, queue, &self.default_region))
            .collect();
        out.texts(QUEUE_URLS, urls.iter().map(String::as_str));
        if let Some(last) = queues.last().filter(|_| more && self.paged) {
            out.text("NextToken", &self.key.encode_page(last, &self.prefix));
        }
    }
}
