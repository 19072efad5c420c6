//! `ChangeMessageVisibility` and `ChangeMessageVisibilityBatch`.

use super::batch::{self, Settled, Slot};
use super::scope::Scope;
use super::{Accepted, Pending};
use crate::fault::{Echo, Fault};
use crate::text::echo;
use crate::wire::Input;
use std::time::Duration;
use tidegate_engine::{Command, QueueAddress, Receipt, limits};

pub(super) fn decode(
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    let handle = input.required("ReceiptHandle")?;
    let timeout = input.integer("VisibilityTimeout")?.ok_or_else(|| Fault::missing("VisibilityTimeout"))?;
    let timeout = check_timeout(timeout, "Must be between 0 and 43200.")?;
    let changes = vec![(scope.receipt(&handle)?, timeout)];
    let echo = Echo { handle: echo(&handle), visibility_timeout: timeout.as_secs(), ..Echo::default() };
    Ok(Accepted { echo, ..Accepted::silent(Command::ChangeVisibility { queue: queue.clone(), changes }) })
}

pub(super) fn decode_batch(
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    let mut changes = Vec::new();
    let mut slots = Vec::new();
    for mut entry in batch::entries(input, ENTRY)? {
        let outcome = batch::per_entry(decode_entry(&mut entry, scope))?.map(|(receipt, timeout, echo)| {
            changes.push((receipt, timeout));
            echo
        });
        slots.push(Slot { id: entry.id, outcome });
    }
    let command =
        batch::command(queue, changes, |queue, changes| Command::ChangeVisibility { queue, changes });
    let name = "ChangeMessageVisibilityBatchResultEntry";
    Ok(Accepted::new(command, Pending::SettledBatch(Settled { name, slots })))
}

const ENTRY: &str = "ChangeMessageVisibilityBatchRequestEntry";

fn decode_entry(
    entry: &mut batch::Entry<'_>,
    scope: &Scope<'_, '_>,
) -> Result<(Receipt, Duration, Echo), Fault> {
    let absent = |name: &str| Fault::missing(format!("{ENTRY}.{}.{name}", entry.number));
    let handle = entry.input.text("ReceiptHandle")?.unwrap_or_default();
    let timeout = entry.input.integer("VisibilityTimeout")?;
    if handle.is_empty() {
        return Err(absent("ReceiptHandle"));
    }
    let timeout = timeout.ok_or_else(|| absent("VisibilityTimeout"))?;
    let timeout = check_timeout(timeout, "VisibilityTimeout must be an integer between 0 and 43200.")?;
    let receipt = scope.receipt(&handle)?;
    let echo = Echo {
        handle: echo(&handle),
        visibility_timeout: timeout.as_secs(),
        in_batch: true,
        ..Echo::default()
    };
    Ok((receipt, timeout, echo))
}

fn check_timeout(seconds: i64, reason: &'static str) -> Result<Duration, Fault> {
    let timeout = u64::try_from(seconds).ok().map(Duration::from_secs);
    timeout
        .filter(|timeout| *timeout <= limits::VISIBILITY_TIMEOUT_MAX)
        .ok_or_else(|| Fault::value("VisibilityTimeout", &seconds.to_string(), reason))
}
