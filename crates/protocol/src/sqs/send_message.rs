//! `SendMessage` and `SendMessageBatch`.

use super::batch::{self, Slot};
use super::digest::{self, Md5Hex};
use super::message::{Place, RawMessage, sequence_number};
use super::scope::Scope;
use super::{Accepted, Pending};
use crate::fault::{Echo, Fault};
use crate::limits as own_limits;
use crate::text::forbidden_character;
use crate::wire::{Input, Output};
use tidegate_engine::{Command, Error, QueueAddress, SendEntry, Sent, limits};

pub(super) fn decode(
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &mut Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    let raw = RawMessage::read(input)?;
    if queue.name.is_fifo() {
        raw.check_group(Place::Single)?;
    }
    let md5 = digest::of_body(raw.body());
    let mut entry = raw.accept(md5, Place::Single, queue, scope)?;
    let digests = Digests::of(&entry);
    if entry.message.trace_header.is_none() {
        // The header is no parameter of the client's: it is in no digest.
        entry.message.trace_header = trace_header(scope).map(Into::into);
    }
    let command = Command::Send { queue: queue.clone(), entries: vec![entry] };
    Ok(Accepted::new(command, Pending::Sent(digests)))
}

/// The request header that sets `AWSTraceHeader` on a single send; ignored when it cannot be stored.
fn trace_header<'s>(scope: &Scope<'s, '_>) -> Option<&'s str> {
    let header = scope.request.headers.get("x-amzn-trace-id")?;
    let fits = (1..=own_limits::TRACE_HEADER_BYTES).contains(&header.len());
    (fits && forbidden_character(header).is_none()).then_some(header)
}

pub(super) fn decode_batch(
    input: &mut Input<'_>,
    queue: &QueueAddress,
    scope: &mut Scope<'_, '_>,
) -> Result<Accepted, Fault> {
    let entries = batch::entries(input, "SendMessageBatchRequestEntry")?;
    let mut raws = Vec::with_capacity(entries.len());
    for mut entry in entries {
        raws.push((entry.id, entry.number, RawMessage::read(&mut entry.input)?));
    }
    let sent = raws.iter().map(|(_, _, raw)| raw.size()).sum();
    if sent > limits::BATCH_BYTES {
        return Err(Fault::BatchTooLong { limit: limits::BATCH_BYTES, sent });
    }
    let is_fifo = queue.name.is_fifo();
    if is_fifo {
        raws.iter().try_for_each(|(_, number, raw)| raw.check_group(Place::Entry(*number)))?;
    }
    let bodies: Vec<_> = raws.iter().map(|(_, _, raw)| raw.body()).collect();
    let md5s = digest::of_bodies(&bodies);
    let mut entries = Vec::with_capacity(raws.len());
    let mut slots = Vec::with_capacity(raws.len());
    for ((id, number, raw), md5) in raws.into_iter().zip(md5s) {
        let outcome = raw.accept(md5, Place::Entry(number), queue, scope).map(|entry| {
            let digests = Digests::of(&entry);
            entries.push(entry);
            digests
        });
        // The entries for a FIFO queue are a sequence: without one of them the others are not accepted.
        let outcome = if is_fifo { Ok(outcome?) } else { outcome };
        slots.push(Slot { id, outcome });
    }
    let command = batch::command(queue, entries, |queue, entries| Command::Send { queue, entries });
    let echo = Echo { in_batch: true, ..Echo::default() };
    Ok(Accepted { command, pending: Pending::SentBatch(Batch { slots }), echo })
}

/// The digests of one message as it was sent.
#[derive(Debug)]
pub(super) struct Digests {
    body: Md5Hex,
    attributes: Option<Md5Hex>,
    system: Option<Md5Hex>,
}

impl Digests {
    fn of(entry: &SendEntry) -> Self {
        let message = &entry.message;
        Digests {
            body: Md5Hex::encode(&message.body_md5),
            attributes: digest::of_attributes(&message.attributes),
            system: message.trace_header.as_deref().map(digest::of_trace_header),
        }
    }

    pub(super) fn write<O: Output>(&self, sent: Sent, out: &mut O) {
        out.plain("MessageId", &sent.id.encode());
        out.plain("MD5OfMessageBody", self.body.as_bytes());
        if let Some(digest) = &self.attributes {
            out.plain("MD5OfMessageAttributes", digest.as_bytes());
        }
        if let Some(digest) = &self.system {
            out.plain("MD5OfMessageSystemAttributes", digest.as_bytes());
        }
        if let Some(seq) = sent.sequence {
            out.text("SequenceNumber", sequence_number(seq).as_str());
        }
    }
}

/// A batch of sends.
#[derive(Debug)]
pub(super) struct Batch {
    slots: Vec<Slot<Digests>>,
}

impl Batch {
    pub(super) fn write<O: Output>(&self, results: Vec<Result<Sent, Error>>, out: &mut O) {
        let echo = |_: &Digests| Echo { in_batch: true, ..Echo::default() };
        batch::write(&self.slots, results, "SendMessageBatchResultEntry", out, echo, |out, digests, sent| {
            digests.write(sent, out);
        });
    }
}
