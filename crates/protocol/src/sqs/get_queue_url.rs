//! `GetQueueUrl`.

use super::scope::Scope;
use super::{Accepted, Pending};
use crate::fault::Fault;
use crate::wire::Input;
use tidegate_engine::{AccountId, Command, QueueAddress, QueueName};

pub(super) fn decode(input: &mut Input<'_>, scope: &Scope<'_, '_>) -> Result<Accepted, Fault> {
    let name = input.text("QueueName")?.filter(|name| !name.is_empty()).ok_or(Fault::NoQueueName)?;
    let owner = input.text("QueueOwnerAWSAccountId")?.filter(|owner| !owner.is_empty());
    // A name or an owner that cannot be is one that is not.
    let account = match owner {
        Some(owner) => AccountId::parse(&owner).ok_or(Fault::QueueMissing)?,
        None => scope.caller.home.account,
    };
    let name = QueueName::parse(&name).ok_or(Fault::QueueMissing)?;
    let queue = QueueAddress { account, region: scope.caller.home.region.clone(), name };
    let url = scope.url(&queue);
    Ok(Accepted::new(Command::FindQueue { queue }, Pending::QueueUrl(url)))
}
