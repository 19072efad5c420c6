//! What every action may ask about the request around its parameters.

use crate::Context;
use crate::auth::Identity;
use crate::fault::Fault;
use crate::http::Request;
use crate::queue_url;
use crate::text;
use crate::wire::{Dialect, Input};
use tidegate_engine::{MessageId, QueueAddress, Receipt};

/// The request around an action.
pub(crate) struct Scope<'s, 'c> {
    pub(crate) request: &'s Request<'s>,
    pub(crate) context: &'s mut Context<'c>,
    /// The caller.
    pub(crate) caller: Identity,
}

impl<'s, 'c> Scope<'s, 'c> {
    /// The queue of an action: the `QueueUrl` parameter, else the request's path.
    pub(crate) fn queue(&self, input: &mut Input<'_>) -> Result<QueueAddress, Fault> {
        let url = input.text("QueueUrl")?.filter(|url| !url.is_empty());
        match url {
            Some(url) => queue_url::parse(&url, &self.caller.home).ok_or(Fault::QueueMissing),
            None => self.path_queue().ok_or_else(|| match input.dialect() {
                Dialect::Json => Fault::QueueMissing,
                Dialect::Query => Fault::Address { address: Box::default() },
            }),
        }
    }

    pub(crate) fn is_on_queue_path(&self) -> bool {
        self.path_queue().is_some()
    }

    fn path_queue(&self) -> Option<QueueAddress> {
        let host = self.request.headers.get("host").unwrap_or_default();
        queue_url::parse_path(self.request.path, host, &self.caller.home)
    }

    /// The base of the URLs in the answer.
    pub(crate) fn base_url(&self) -> String {
        queue_url::base(self.request, &self.context.urls)
    }

    /// The URL of a queue in the answer.
    pub(crate) fn url(&self, queue: &QueueAddress) -> String {
        queue_url::build(&self.base_url(), queue, self.context.region)
    }

    /// The receipt of a handle.
    pub(crate) fn receipt(&self, handle: &str) -> Result<Receipt, Fault> {
        let receipt = self.context.receipt_key.decode(handle);
        receipt.ok_or_else(|| Fault::ReceiptHandle { handle: text::echo(handle) })
    }

    /// An id for a new message.
    pub(crate) fn message_id(&mut self) -> MessageId {
        MessageId::from_random((self.context.random)())
    }
}
