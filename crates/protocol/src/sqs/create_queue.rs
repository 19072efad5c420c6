//! `CreateQueue`.

use super::scope::Scope;
use super::{Accepted, Pending, attributes, tags};
use crate::fault::{Echo, Fault};
use crate::wire::Input;
use tidegate_engine::{AttributeChange, Command, FIFO_SUFFIX, QueueAddress, QueueName};

pub(super) fn decode(input: &mut Input<'_>, scope: &Scope<'_, '_>) -> Result<Accepted, Fault> {
    let name = match input.text("QueueName")? {
        None => return Err(Fault::NoQueueName),
        Some(name) if name.is_empty() => return Err(Fault::EmptyQueueName),
        Some(name) => name,
    };
    let sent = attributes::decode(input, &scope.caller.home)?;
    let name = check_name(&name, &sent.changes)?;
    let tags = tags::decode(input, tags::CREATE_TAGS)?;
    let queue =
        QueueAddress { account: scope.caller.home.account, region: scope.caller.home.region.clone(), name };
    let pending = Pending::QueueUrl(scope.url(&queue));
    let echo =
        Echo { queue: queue.name.as_str().into(), redrive_policy: sent.redrive_policy, ..Echo::default() };
    Ok(Accepted { command: Command::CreateQueue { queue, attributes: sent.changes, tags }, pending, echo })
}

/// A name ends in `.fifo` exactly when the queue is to be a FIFO queue.
fn check_name(name: &str, changes: &[AttributeChange]) -> Result<QueueName, Fault> {
    let fifo = changes.contains(&AttributeChange::FifoQueue(true));
    match QueueName::parse(name) {
        Some(name) if name.is_fifo() == fifo => Ok(name),
        _ if fifo => Err(Fault::FifoQueueName),
        _ => {
            debug_assert!(QueueName::parse(name).is_none() || name.ends_with(FIFO_SUFFIX));
            Err(Fault::QueueName)
        }
    }
}
