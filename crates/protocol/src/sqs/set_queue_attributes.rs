//! `SetQueueAttributes`.

use super::{Accepted, attributes};
use crate::auth::Home;
use crate::fault::{Echo, Fault};
use crate::wire::Input;
use tidegate_engine::{Command, QueueAddress};

pub(super) fn decode(input: &mut Input<'_>, queue: &QueueAddress) -> Result<Accepted, Fault> {
    let owner = Home { account: queue.account, region: queue.region.clone() };
    let sent = attributes::decode(input, &owner)?;
    if sent.changes.is_empty() {
        return Err(Fault::missing("Attribute.Name"));
    }
    let command = Command::SetQueueAttributes { queue: queue.clone(), attributes: sent.changes };
    let echo = Echo { redrive_policy: sent.redrive_policy, ..Echo::default() };
    Ok(Accepted { echo, ..Accepted::silent(command) })
}
