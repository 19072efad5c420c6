//! The policies in force, for the threads that check requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use tidegate_engine::{PolicyUpdate, QueueAddress};
use tidegate_policy::Policy;

/// The parsed policy of every queue that has one. The owner writes, request tasks read.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    /// Whether there is any: servers without policies pay for one load a request.
    any: AtomicBool,
    /// Read for each request and written when a policy changes; never held across an await.
    by_queue: RwLock<HashMap<QueueAddress, Arc<Policy>>>,
}

impl Policies {
    /// The policy of a queue, if it has one.
    pub(crate) fn find(&self, queue: &QueueAddress) -> Option<Arc<Policy>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        self.by_queue.read().unwrap_or_else(PoisonError::into_inner).get(queue).cloned()
    }

    /// Puts a change into force. Costs the parsing of one document.
    pub(super) fn publish(&self, PolicyUpdate { queue, policy }: PolicyUpdate) {
        let policy = policy.map(|text| parse(&queue, &text));
        let mut by_queue = self.by_queue.write().unwrap_or_else(PoisonError::into_inner);
        match policy {
            Some(policy) => by_queue.insert(queue, policy),
            None => by_queue.remove(&queue),
        };
        self.any.store(!by_queue.is_empty(), Ordering::Release);
    }
}

fn parse(queue: &QueueAddress, text: &str) -> Arc<Policy> {
    match Policy::parse(text) {
        Ok(policy) => Arc::new(policy),
        Err(error) => {
            tracing::error!(
                queue = queue.arn(),
                error = &error as &dyn std::error::Error,
                "a stored policy cannot be enforced; until it is set anew the queue is closed to everything else"
            );
            CLOSED.clone()
        }
    }
}

/// What stands in for a policy that was stored by a version which did not check it: nothing of it may be ignored, so
/// that everything is denied but what the owner needs to mend it.
static CLOSED: LazyLock<Arc<Policy>> = LazyLock::new(|| {
    let text = r#"{"Statement":{"Effect":"Deny","Principal":"*","NotAction":[
        "sqs:GetQueueUrl","sqs:GetQueueAttributes","sqs:SetQueueAttributes","sqs:DeleteQueue"]}}"#;
    Arc::new(Policy::parse(text).expect("it is a policy"))
});

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_engine::{AccountId, QueueName, Region};
    use tidegate_policy::{Context, Decision, Principal, Request};

    fn queue(name: &str) -> QueueAddress {
        let name = QueueName::parse(name).unwrap();
        QueueAddress { account: AccountId::default(), region: Region::default(), name }
    }

    fn decide(policies: &Policies, name: &str, action: &str) -> Option<Decision> {
        let queue = queue(name);
        let arn = queue.arn();
        let request = Request {
            principal: Principal::Anonymous,
            action,
            resource: &arn,
            context: Context::new([127, 0, 0, 1].into(), 0),
        };
        policies.find(&queue).map(|policy| policy.evaluate(&request))
    }

    fn publish(policies: &Policies, name: &str, policy: Option<&str>) {
        policies.publish(PolicyUpdate { queue: queue(name), policy: policy.map(Into::into) });
    }

    #[test]
    fn what_was_published_last_is_in_force() {
        let policies = Policies::default();
        assert_eq!(decide(&policies, "q", "sqs:SendMessage"), None);
        publish(&policies, "q", Some(r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"*"}}"#));
        assert_eq!(decide(&policies, "q", "sqs:SendMessage"), Some(Decision::Allow));
        assert_eq!(decide(&policies, "other", "sqs:SendMessage"), None);
        publish(&policies, "q", Some(r#"{"Statement":{"Effect":"Deny","Principal":"*","Action":"*"}}"#));
        assert_eq!(decide(&policies, "q", "sqs:SendMessage"), Some(Decision::Deny));
        publish(&policies, "q", None);
        publish(&policies, "q", None);
        assert_eq!(decide(&policies, "q", "sqs:SendMessage"), None);
    }

    #[test]
    fn a_policy_that_cannot_be_read_closes_its_queue() {
        let policies = Policies::default();
        publish(&policies, "q", Some(r#"{"Statement":[{"Effect":"Allow"}]}"#));
        assert_eq!(decide(&policies, "q", "sqs:SendMessage"), Some(Decision::Deny));
        assert_eq!(decide(&policies, "q", "sqs:SetQueueAttributes"), Some(Decision::NoMatch));
    }
}
