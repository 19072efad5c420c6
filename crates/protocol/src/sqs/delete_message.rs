//! `DeleteMessage` and `DeleteMessageBatch`.

use super::batch::{self, Settled, Slot};
use super::scope::Scope;
use super::{Accepted, Pending};
use crate::fault::{Echo, Fault};
use crate::text::echo;
use crate::wire::Input;
use tidegate_engine::{Command, QueueAddress};

pub(super) fn decode(
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    let handle = input.required("ReceiptHandle")?;
    let receipts = vec![scope.receipt(&handle)?];
    let echo = Echo { handle: echo(&handle), ..Echo::default() };
    Ok(Accepted { echo, ..Accepted::silent(Command::Delete { queue: queue.clone(), receipts }) })
}

pub(super) fn decode_batch(
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    let name = "DeleteMessageBatchRequestEntry";
    let mut receipts = Vec::new();
    let mut slots = Vec::new();
    for mut entry in batch::entries(input, name)? {
        let handle = entry.input.text("ReceiptHandle")?.unwrap_or_default();
        let receipt = match &*handle {
            "" => Err(Fault::missing(format!("{name}.{}.ReceiptHandle", entry.number))),
            handle => scope.receipt(handle),
        };
        let echo = Echo { handle: echo(&handle), in_batch: true, ..Echo::default() };
        let outcome = receipt.map(|receipt| receipts.push(receipt)).map(|()| echo);
        slots.push(Slot { id: entry.id, outcome });
    }
    let command = batch::command(queue, receipts, |queue, receipts| Command::Delete { queue, receipts });
    let name = "DeleteMessageBatchResultEntry";
    Ok(Accepted::new(command, Pending::SettledBatch(Settled { name, slots })))
}
