//! `AddPermission`.

use super::permission::{self, Change, Edit};
use super::{Accepted, Action};
use crate::fault::Fault;
use crate::wire::{Input, ListName};
use std::borrow::Cow;
use tidegate_engine::{AccountId, QueueAddress};
use tidegate_policy::limits;

const ACCOUNTS: ListName = ListName { json: "AWSAccountIds", query: "AWSAccountId" };
const ACTIONS: ListName = ListName { json: "Actions", query: "ActionName" };

/// The actions that can be granted. A batch goes by its base action.
const GRANTABLE: [&str; 9] = [
    "*",
    "ChangeMessageVisibility",
    "DeleteMessage",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
];

pub(super) fn decode(input: &mut Input<'_>, queue: &QueueAddress) -> Result<Accepted, Fault> {
    let label = permission::label(input)?;
    // The names in these texts are the service's, not those of the parameters.
    let accounts = input.texts(ACCOUNTS)?;
    if accounts.is_empty() {
        return Err(Fault::missing("PrincipalId"));
    }
    let actions = input.texts(ACTIONS)?;
    if actions.is_empty() {
        return Err(Fault::missing("ActionName"));
    }
    permission::check_label(&label)?;
    check_accounts(&accounts)?;
    if actions.len() > limits::ACTIONS {
        return Err(Fault::TooManyActions { found: actions.len(), limit: limits::ACTIONS });
    }
    let actions = actions.iter().map(|action| granted(action)).collect::<Result<_, _>>()?;
    let accounts = accounts.into_iter().map(Into::into).collect();
    Ok(Accepted::edit(Edit::new(queue, label, Change::Add { accounts, actions })))
}

fn check_accounts(accounts: &[Cow<'_, str>]) -> Result<(), Fault> {
    if accounts.iter().all(|account| AccountId::parse(account).is_some()) {
        return Ok(());
    }
    let list = format!("[{}]", accounts.join(", "));
    Err(Fault::value("PrincipalId", &list, "Unable to verify."))
}

/// The action as the policy names it.
fn granted(action: &str) -> Result<Box<str>, Fault> {
    let named = format!("SQS:{action}");
    let refuse = |reason: &'static str| Err(Fault::value("ActionName", &named, reason));
    if GRANTABLE.contains(&action) {
        return Ok(named.into());
    }
    match Action::parse(action) {
        Some(action) if action.base() == action => {
            refuse("Only the queue owner is allowed to invoke this action.")
        }
        _ => refuse("Please refer to the appropriate WSDL for a list of valid actions."),
    }
}
