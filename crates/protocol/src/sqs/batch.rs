//! What the three batches have in common: the checks of a whole request, and results entry by entry.

use crate::fault::{Echo, Fault, Shape};
use crate::text::{echo, is_entry_id};
use crate::wire::{Dialect, Input, ListName, Output};
use tidegate_engine::{Command, Error, QueueAddress, limits};

/// One entry of a batch, its id checked.
pub(super) struct Entry<'a> {
    pub(super) id: Box<str>,
    /// Its place in the request, from 1.
    pub(super) number: usize,
    pub(super) input: Input<'a>,
}

/// Takes the entries after the checks of the whole request: present, at most ten, ids well formed, ids
/// distinct.
///
/// `name` is the entries' name in Query requests, which texts use too.
pub(super) fn entries<'a>(input: &mut Input<'a>, name: &'static str) -> Result<Vec<Entry<'a>>, Fault> {
    let inputs = match input.structures(ListName { json: "Entries", query: name })? {
        Some(inputs) if !inputs.is_empty() => inputs,
        None if input.dialect() == Dialect::Json => return Err(Fault::missing("Entries")),
        _ => return Err(Fault::EmptyBatch { entry: name }),
    };
    if inputs.len() > limits::BATCH_ENTRIES {
        return Err(Fault::TooManyEntries { sent: inputs.len() });
    }
    let mut entries: Vec<Entry<'a>> = Vec::with_capacity(inputs.len());
    for (number, mut input) in (1..).zip(inputs) {
        let id = input.text("Id")?.ok_or_else(|| Fault::missing(format!("{name}.{number}.Id")))?;
        if !is_entry_id(&id) {
            return Err(Fault::EntryId);
        }
        entries.push(Entry { id: id.into(), number, input });
    }
    let repeated =
        entries.iter().enumerate().find(|(i, e)| entries[..*i].iter().any(|other| other.id == e.id));
    match repeated {
        Some((_, entry)) => Err(Fault::EntryIdRepeated { id: echo(&entry.id) }),
        None => Ok(entries),
    }
}

/// What became of an entry at decoding: its part in the command and `T`, or a fault of its own.
#[derive(Debug)]
pub(super) struct Slot<T> {
    pub(super) id: Box<str>,
    pub(super) outcome: Result<T, Fault>,
}

/// Turns an entry's fault into that of the request when it concerns the whole: a value that cannot be read.
pub(super) fn per_entry<T>(outcome: Result<T, Fault>) -> Result<Result<T, Fault>, Fault> {
    match outcome {
        Err(fault) if fault.shape() == Shape::Serialization => Err(fault),
        other => Ok(other),
    }
}

/// Writes the results of a batch. `results` are the engine's, one for each good slot, in order.
pub(super) fn write<O: Output, T, R>(
    slots: &[Slot<T>],
    results: Vec<Result<R, Error>>,
    name: &'static str,
    out: &mut O,
    echo_of: impl Fn(&T) -> Echo,
    mut write_success: impl FnMut(&mut O, &T, R),
) {
    let mut results = results.into_iter();
    let mut successes = Vec::with_capacity(slots.len());
    let mut failures = Vec::new();
    for slot in slots {
        match &slot.outcome {
            Err(fault) => failures.push((&slot.id, fault.clone())),
            Ok(kept) => match results.next() {
                Some(Ok(result)) => successes.push((&slot.id, kept, result)),
                Some(Err(error)) => failures.push((&slot.id, Fault::of_engine(&error, &echo_of(kept)))),
                None => failures.push((&slot.id, Fault::Internal)),
            },
        }
    }
    out.structures(ListName { json: "Successful", query: name }, successes, |out, (id, kept, result)| {
        out.text("Id", id);
        write_success(out, kept, result);
    });
    let failed = ListName { json: "Failed", query: "BatchResultErrorEntry" };
    out.structures(failed, failures, |out, (id, fault)| {
        let row = fault.shape().row();
        out.text("Id", id);
        out.boolean("SenderFault", row.side == crate::Side::Sender);
        out.text("Code", row.code);
        out.text("Message", &fault.to_string());
    });
}

/// A batch that settles receipts: delete or change visibility.
#[derive(Debug)]
pub(super) struct Settled {
    /// Name of the results in XML.
    pub(super) name: &'static str,
    pub(super) slots: Vec<Slot<Echo>>,
}

impl Settled {
    pub(super) fn write<O: Output>(&self, results: Vec<Result<(), Error>>, out: &mut O) {
        write(&self.slots, results, self.name, out, Echo::clone, |_, _, ()| {});
    }
}

/// The command for the good entries of a batch. Without one there is still the queue to look for.
pub(super) fn command<T>(
    queue: &QueueAddress,
    good: Vec<T>,
    make: impl FnOnce(QueueAddress, Vec<T>) -> Command,
) -> Command {
    let queue = queue.clone();
    if good.is_empty() { Command::FindQueue { queue } } else { make(queue, good) }
}
