//! Pages of queue URLs: their parameters and their answers.

use super::scope::Scope;
use crate::auth::Home;
use crate::fault::Fault;
use crate::queue_url;
use crate::receipt::ReceiptKey;
use crate::wire::{Input, ListName, Output};
use tidegate_engine::{QueueAddress, QueueName, Region, limits};

/// What the answer needs.
#[derive(Debug)]
pub(super) struct Listing {
    list: ListName,
    base_url: String,
    owner: Home,
    default_region: Region,
    /// What was asked for; a page token is good for the same question only.
    question: Box<str>,
    key: ReceiptKey,
    /// Only a caller that asks for pages gets a token.
    paged: bool,
}

/// Which page is asked for.
pub(super) struct Page {
    pub(super) after: Option<QueueName>,
    pub(super) max: usize,
}

impl Listing {
    /// Reads the parameters of a page of `list`, whose queues are `owner`'s.
    pub(super) fn read(
        input: &mut Input<'_>,
        scope: &Scope<'_, '_>,
        list: ListName,
        owner: Home,
        question: Box<str>,
    ) -> Result<(Listing, Page), Fault> {
        let max = input.integer("MaxResults")?;
        let token = input.text("NextToken")?.filter(|token| !token.is_empty());
        let key = scope.context.receipt_key;
        let page = match max {
            None => limits::LIST_MAX,
            Some(max) => {
                let max = usize::try_from(max).ok().filter(|max| (1..=limits::LIST_MAX).contains(max));
                max.ok_or(Fault::MaxResults { most: limits::LIST_MAX })?
            }
        };
        let after = token.map(|token| key.decode_page(&token, &owner, &question).ok_or(Fault::NextToken));
        let after = after.transpose()?;
        let default_region = scope.context.region.clone();
        let base_url = scope.base_url();
        let listing = Listing { list, base_url, owner, default_region, question, key, paged: max.is_some() };
        Ok((listing, Page { after, max: page }))
    }

    pub(super) fn write<O: Output>(&self, names: Vec<QueueName>, more: bool, out: &mut O) {
        let Home { account, region } = &self.owner;
        let address = |name| QueueAddress { account: *account, region: region.clone(), name };
        let queues: Vec<_> = names.into_iter().map(address).collect();
        let urls: Vec<_> = queues
            .iter()
            .map(|queue| queue_url::build(&self.base_url, queue, &self.default_region))
            .collect();
        out.texts(self.list, urls.iter().map(String::as_str));
        if let Some(last) = queues.last().filter(|_| more && self.paged) {
            out.text("NextToken", &self.key.encode_page(last, &self.question));
        }
    }
}
