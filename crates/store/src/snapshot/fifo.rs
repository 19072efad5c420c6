//! The messages of FIFO queues in a checkpoint.

use super::{put_touched, take_touched};
use crate::codec::{DecodeError, Fields, Put, take_seq, take_timestamp};
use std::sync::Arc;
use tidegate_engine::{Attempt, FifoMessage, FifoMessages, FifoState, MessageId, Remembered, Turn};

const VISIBLE: u8 = 0;
const DELAYED: u8 = 1;
const IN_FLIGHT: u8 = 2;

pub(super) fn put(messages: &FifoMessages, out: &mut Vec<u8>) {
    out.put_number(messages.newest.0);
    out.put_number(messages.deliveries);
    out.put_number(messages.groups.len() as u64);
    for (key, served) in &messages.groups {
        out.put_text(key);
        out.put_number(served.after.0);
        out.put_number(served.delivery);
    }
    out.put_number(messages.messages.len() as u64);
    messages.messages.iter().for_each(|message| put_message(message, out));
    out.put_number(messages.remembered.len() as u64);
    messages.remembered.iter().for_each(|accepted| put_remembered(accepted, out));
    out.put_number(messages.attempts.len() as u64);
    messages.attempts.iter().for_each(|attempt| put_attempt(attempt, out));
}

pub(super) fn take(fields: &mut Fields) -> Result<FifoMessages, DecodeError> {
    let newest = take_seq(fields)?;
    let deliveries = fields.number()?;
    let groups = fields.list(|fields| {
        let key = take_text(fields)?;
        Ok((key, Turn { after: take_seq(fields)?, delivery: fields.number()? }))
    })?;
    let messages = fields.list(|fields| take_message(groups.len(), fields))?;
    let remembered = fields.list(take_remembered)?;
    let attempts = fields.list(take_attempt)?;
    Ok(FifoMessages { newest, deliveries, groups, messages, remembered, attempts })
}

fn put_message(message: &FifoMessage, out: &mut Vec<u8>) {
    put_touched(&message.touched, out);
    out.put_number(message.group as u64);
    match message.state {
        FifoState::Visible => out.push(VISIBLE),
        FifoState::Delayed => out.push(DELAYED),
        FifoState::InFlight { visible_at } => {
            out.push(IN_FLIGHT);
            out.put_number(visible_at.as_millis());
        }
    }
    out.put_optional_text(message.attempt.as_deref());
}

fn take_message(groups: usize, fields: &mut Fields) -> Result<FifoMessage, DecodeError> {
    let touched = take_touched(fields)?;
    let group = fields.number_as("message group")?;
    if group >= groups {
        return Err(DecodeError::OutOfRange { what: "message group" });
    }
    let state = match fields.byte()? {
        VISIBLE => FifoState::Visible,
        DELAYED => FifoState::Delayed,
        IN_FLIGHT => FifoState::InFlight { visible_at: take_timestamp(fields)? },
        tag => return Err(DecodeError::UnknownTag { what: "the state of a message", tag: tag.into() }),
    };
    let attempt = fields.optional_text()?.map(Arc::from);
    Ok(FifoMessage { touched, group, state, attempt })
}

fn put_remembered(accepted: &Remembered, out: &mut Vec<u8>) {
    out.extend_from_slice(&accepted.id_hash);
    out.extend_from_slice(&accepted.group_hash.to_le_bytes());
    out.put_number(accepted.sent_at.as_millis());
    out.extend_from_slice(&accepted.message_id.0);
    out.put_number(accepted.seq.0);
}

fn take_remembered(fields: &mut Fields) -> Result<Remembered, DecodeError> {
    Ok(Remembered {
        id_hash: fields.fixed()?,
        group_hash: u64::from_le_bytes(fields.fixed()?),
        sent_at: take_timestamp(fields)?,
        message_id: MessageId(fields.fixed()?),
        seq: take_seq(fields)?,
    })
}

fn put_attempt(attempt: &Attempt, out: &mut Vec<u8>) {
    out.put_text(&attempt.id);
    out.put_number(attempt.at.as_millis());
    out.put_number(attempt.received.len() as u64);
    for (seq, receive_count) in &attempt.received {
        out.put_number(seq.0);
        out.put_number((*receive_count).into());
    }
}

fn take_attempt(fields: &mut Fields) -> Result<Attempt, DecodeError> {
    Ok(Attempt {
        id: take_text(fields)?,
        at: take_timestamp(fields)?,
        received: fields.list(|fields| Ok((take_seq(fields)?, fields.number_as("receive count")?)))?,
    })
}

fn take_text(fields: &mut Fields) -> Result<Arc<str>, DecodeError> {
    fields.text().map(Arc::from)
}
