//! The policies in force, for those who check requests before they get here.

use super::{Engine, QueueId};
use crate::{AttributeChange, QueueAddress};

/// The policy of a queue that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyUpdate {
    /// The queue, which may be gone.
    pub queue: QueueAddress,
    /// Text of its policy; `None` if it has none.
    pub policy: Option<Box<str>>,
}

impl Engine {
    /// Takes the policy of one queue that changed since it was last taken here. After a restart that is every
    /// policy there is, so that whoever takes them all knows those in force.
    pub fn poll_policy(&mut self) -> Option<PolicyUpdate> {
        let queue = self.policies.pop_first()?;
        let id = self.names.get(&queue);
        let policy = id.and_then(|id| self.queues[id].attributes.policy.as_ref());
        Some(PolicyUpdate { policy: policy.map(|policy| policy.text.clone()), queue })
    }

    /// Notes that `changes` of a queue may concern its policy.
    pub(super) fn note_policy(&mut self, queue: QueueId, changes: &[AttributeChange]) {
        if changes.iter().any(|change| matches!(change, AttributeChange::Policy(_))) {
            self.policies.insert(self.queues[&queue].address.clone());
        }
    }
}
