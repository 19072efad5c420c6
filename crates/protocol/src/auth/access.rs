//! Whether a caller may do what a request asks for.
//!
//! ```text
//!                       the caller's own queue                  another account's queue
//! its policy denies     refused                                 refused
//! its policy allows     allowed                                 allowed if the credential's lists allow it
//! neither, or no policy allowed if the credential's lists do    refused
//! ```
//!
//! Some actions never work across accounts. A server without credentials asks nobody.

use super::{Identity, Principal, User};
use crate::fault::{Denial, Fault};
use crate::sqs::Action;
use tidegate_engine::QueueAddress;
use tidegate_policy::{self as policy, Context, Decision, Policy};

/// What a request is about to do.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Who asks.
    pub caller: &'a Identity,
    /// What for.
    pub action: Action,
    /// The queue that it is done to; `None` for the queues of the caller's account as such.
    pub queue: Option<&'a QueueAddress>,
}

impl Access<'_> {
    /// Decides by the credential of the caller and the policy of the queue. Free for callers without restrictions on
    /// their own queues without policy.
    ///
    /// # Errors
    /// `AccessDenied`; it is the same whether the queue exists or not.
    pub fn authorize(&self, policy: Option<&Policy>, context: Context<'_>) -> Result<(), Fault> {
        let Principal::User(user) = &self.caller.principal else { return Ok(()) };
        let is_own = self.queue.is_none_or(|queue| queue.account == user.account);
        if is_own && policy.is_none() && user.grant.is_everything() {
            return Ok(());
        }
        let name = format!("sqs:{}", self.action.base().name());
        let resource = self.resource();
        let decision = policy.map_or(Decision::NoMatch, |policy| {
            policy.evaluate(&policy::Request {
                principal: policy::Principal::Account {
                    account: &user.account.to_string(),
                    arn: &user.arn(),
                },
                action: &name,
                resource: &resource,
                context,
            })
        });
        let is_granted = user.grant.allows(&name, &resource);
        match self.denial(user, decision, is_granted) {
            None => Ok(()),
            Some(denial) => {
                // The service writes the action in small letters here.
                let action = name.to_ascii_lowercase().into();
                Err(Fault::AccessDenied {
                    user: user.arn().into(),
                    action,
                    resource: resource.into(),
                    denial,
                })
            }
        }
    }

    fn denial(&self, user: &User, decision: Decision, is_granted: bool) -> Option<Denial> {
        let is_own = self.queue.is_none_or(|queue| queue.account == user.account);
        match decision {
            Decision::Deny => Some(Denial::ByPolicy),
            _ if !is_own && self.action.is_owners() => Some(Denial::PolicySilent),
            Decision::Allow if is_own || is_granted => None,
            Decision::NoMatch if is_own && is_granted => None,
            Decision::NoMatch if is_granted => Some(Denial::PolicySilent),
            Decision::Allow | Decision::NoMatch => Some(Denial::NotGranted),
        }
    }

    /// ARN of the queue; of all queues at once, which has no name, when it is about none.
    fn resource(&self) -> String {
        match self.queue {
            Some(queue) => queue.arn(),
            None => format!("arn:aws:sqs:{}:{}:", self.caller.home.region, self.caller.home.account),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{ActionPattern, Grant, Home, ResourcePattern};
    use std::sync::Arc;
    use tidegate_engine::{AccountId, QueueName, Region};

    const OWNER: &str = "111122223333";
    const OTHER: &str = "444455556666";

    fn queue() -> QueueAddress {
        let name = QueueName::parse("orders").unwrap();
        QueueAddress { account: AccountId::parse(OWNER).unwrap(), region: Region::default(), name }
    }

    fn user(account: &str, grant: Grant) -> Identity {
        let account = AccountId::parse(account).unwrap();
        let user = User { account, name: "ada".into(), access_key: "key".into(), grant };
        Identity {
            home: Home { account, region: Region::default() },
            principal: Principal::User(Arc::new(user)),
        }
    }

    fn everything() -> Grant {
        Grant::default()
    }

    /// A credential for other things only.
    fn nothing_here() -> Grant {
        Grant { actions: Some([ActionPattern::parse("sqs:ReceiveMessage").unwrap()].into()), resources: None }
    }

    fn policy(effects: &[&str]) -> Option<Policy> {
        let statement = |effect: &&str| {
            format!(
                r#"{{"Effect":"{effect}","Principal":"*","Action":["sqs:SendMessage","sqs:DeleteQueue"]}}"#
            )
        };
        let statements: Vec<_> = effects.iter().map(statement).collect();
        let text = format!(r#"{{"Statement":[{}]}}"#, statements.join(","));
        (!effects.is_empty()).then(|| Policy::parse(&text).unwrap())
    }

    fn authorize(
        caller: &Identity,
        action: Action,
        queue: Option<&QueueAddress>,
        policy: Option<&Policy>,
    ) -> Option<String> {
        let context = Context::new([127, 0, 0, 1].into(), 0);
        let access = Access { caller, action, queue };
        access.authorize(policy, context).err().map(|fault| fault.to_string())
    }

    #[test]
    fn credential_and_policy_decide_together() {
        let denied = Some("with an explicit deny in a resource-based policy");
        let silent = Some("because no resource-based policy allows the sqs:sendmessage action");
        let not_granted = Some("because no identity-based policy allows the sqs:sendmessage action");
        for (account, grant, effects, expected) in [
            (OWNER, everything(), &[][..], None),
            (OWNER, everything(), &["Allow"], None),
            (OWNER, everything(), &["Deny"], denied),
            (OWNER, everything(), &["Allow", "Deny"], denied),
            (OWNER, nothing_here(), &[], not_granted),
            (OWNER, nothing_here(), &["Allow"], None),
            (OWNER, nothing_here(), &["Deny"], denied),
            (OTHER, everything(), &[], silent),
            (OTHER, everything(), &["Allow"], None),
            (OTHER, everything(), &["Deny"], denied),
            (OTHER, everything(), &["Allow", "Deny"], denied),
            (OTHER, nothing_here(), &[], not_granted),
            (OTHER, nothing_here(), &["Allow"], not_granted),
            (OTHER, nothing_here(), &["Deny"], denied),
        ] {
            for action in [Action::SendMessage, Action::SendMessageBatch] {
                let caller = user(account, grant.clone());
                let answer = authorize(&caller, action, Some(&queue()), policy(effects).as_ref());
                let expected = expected.map(|end| {
                    format!(
                        "User: arn:aws:iam::{account}:user/ada is not authorized to perform: sqs:sendmessage on \
                         resource: arn:aws:sqs:us-east-1:111122223333:orders {end}"
                    )
                });
                assert_eq!(answer, expected, "{account} {grant:?} {effects:?}");
            }
        }
    }

    #[test]
    fn owners_actions_never_work_across_accounts() {
        let allow =
            Policy::parse(r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"*"}}"#).unwrap();
        let caller = user(OTHER, everything());
        let refused: Vec<_> = Action::ALL
            .iter()
            .filter(|action| authorize(&caller, **action, Some(&queue()), Some(&allow)).is_some())
            .map(|action| action.name())
            .collect();
        assert_eq!(
            refused,
            [
                "AddPermission",
                "CancelMessageMoveTask",
                "CreateQueue",
                "DeleteQueue",
                "ListMessageMoveTasks",
                "ListQueueTags",
                "ListQueues",
                "RemovePermission",
                "SetQueueAttributes",
                "StartMessageMoveTask",
                "TagQueue",
                "UntagQueue",
            ]
        );
    }

    #[test]
    fn a_credential_for_some_queues_does_not_list_all() {
        let resources = |pattern: &str| Grant {
            actions: None,
            resources: Some([ResourcePattern::parse(pattern).unwrap()].into()),
        };
        let list =
            |pattern: &str| authorize(&user(OWNER, resources(pattern)), Action::ListQueues, None, None);
        assert_eq!(list("arn:aws:sqs:*:111122223333:*"), None);
        assert_eq!(list("*"), None);
        assert!(list("arn:aws:sqs:*:111122223333:orders").is_some());
        let send = |pattern: &str| {
            authorize(&user(OWNER, resources(pattern)), Action::SendMessage, Some(&queue()), None)
        };
        assert_eq!(send("arn:aws:sqs:*:*:ord*"), None);
        assert!(send("arn:aws:sqs:*:*:bills").is_some());
    }

    #[test]
    fn a_server_without_credentials_asks_nobody() {
        let home = Home { account: AccountId::parse(OTHER).unwrap(), region: Region::default() };
        let caller = Identity { home, principal: Principal::Anonymous };
        let denied = policy(&["Deny"]);
        assert_eq!(authorize(&caller, Action::DeleteQueue, Some(&queue()), denied.as_ref()), None);
    }
}
