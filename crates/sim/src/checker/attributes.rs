//! The attributes of queues, as far as answers have told of them.

use std::collections::BTreeMap;
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, Command, QueueAddress, QueueAttributes, QueueName, RedrivePolicy, RequestId,
};

/// A value, and what it may have become by requests that were not answered.
#[derive(Clone, Debug)]
pub(crate) struct Possible<T> {
    known: T,
    pending: BTreeMap<RequestId, T>,
}

impl<T> Possible<T> {
    pub(crate) fn of(known: T) -> Self {
        Possible { known, pending: BTreeMap::new() }
    }

    /// Every value that it may have.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.known).chain(self.pending.values())
    }

    fn settle(&mut self, request: RequestId, is_done: bool) {
        if let Some(value) = self.pending.remove(&request)
            && is_done
        {
            self.known = value;
        }
    }
}

/// The attributes that somebody changes.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    pub(crate) visibility_timeout: Possible<Duration>,
    pub(crate) delay: Possible<Duration>,
    pub(crate) redrive_policy: Possible<Option<RedrivePolicy>>,
}

impl Attributes {
    fn of(attributes: &QueueAttributes) -> Self {
        Attributes {
            visibility_timeout: Possible::of(attributes.visibility_timeout),
            delay: Possible::of(attributes.delay),
            redrive_policy: Possible::of(attributes.redrive_policy.clone()),
        }
    }

    fn may_change(&mut self, request: RequestId, change: &AttributeChange) {
        match change.clone() {
            AttributeChange::VisibilityTimeout(value) => {
                self.visibility_timeout.pending.insert(request, value);
            }
            AttributeChange::DelaySeconds(value) => drop(self.delay.pending.insert(request, value)),
            AttributeChange::RedrivePolicy(value) => drop(self.redrive_policy.pending.insert(request, value)),
            _ => {}
        }
    }

    fn settle(&mut self, request: RequestId, is_done: bool) {
        self.visibility_timeout.settle(request, is_done);
        self.delay.settle(request, is_done);
        self.redrive_policy.settle(request, is_done);
    }
}

/// The attributes of all queues.
#[derive(Debug, Default)]
pub(crate) struct AllAttributes(BTreeMap<QueueName, Attributes>);

impl AllAttributes {
    pub(crate) fn get(&self, queue: &QueueAddress) -> Option<&Attributes> {
        self.0.get(&queue.name)
    }

    pub(crate) fn ask(&mut self, request: RequestId, command: &Command) {
        match command {
            Command::CreateQueue { queue, attributes, .. } => {
                let attributes = QueueAttributes::from_changes(attributes);
                self.0.entry(queue.name.clone()).or_insert_with(|| Attributes::of(&attributes));
            }
            Command::SetQueueAttributes { queue, attributes } => {
                if let Some(known) = self.0.get_mut(&queue.name) {
                    attributes.iter().for_each(|change| known.may_change(request, change));
                }
            }
            _ => {}
        }
    }

    pub(crate) fn answer(&mut self, request: RequestId, command: &Command, is_done: bool) {
        if let Command::SetQueueAttributes { queue, .. } = command
            && let Some(known) = self.0.get_mut(&queue.name)
        {
            known.settle(request, is_done);
        }
    }

    pub(crate) fn see(&mut self, queue: &QueueAddress, attributes: &QueueAttributes) {
        self.0.insert(queue.name.clone(), Attributes::of(attributes));
    }
}
