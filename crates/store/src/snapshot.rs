//! The engine's snapshot as the payload of a checkpoint, and back.

mod fifo;

use crate::codec::{
    DecodeError, Fields, Put, move_task, put_address, put_changes, put_optional_address, put_tags,
    take_address, take_changes, take_seq, take_tags, take_timestamp,
};
use crate::segments::{SegmentUse, Segments};
use bytes::Bytes;
use std::sync::Arc;
use tidegate_engine::{
    Chunk, Extent, ExtentPlace, MessageId, Messages, MoveTask, MoveTaskId, Origin, Portion, Position,
    QueueAttributes, QueueId, QueueSnapshot, Snapshot, StandardMessages, Stored, TenantMessages, Timestamp,
    Touched,
};

/// Layout of the payload; any change of it gets the next number.
const VERSION: u8 = 1;

/// What a checkpoint holds: the engine's durable state and the use of the log's segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub(crate) snapshot: Snapshot,
    pub(crate) segments: Segments,
}

pub(crate) fn encode(contents: &Contents) -> Vec<u8> {
    let snapshot = &contents.snapshot;
    let mut out = vec![VERSION];
    out.put_number(snapshot.at.as_millis());
    out.put_number(snapshot.next_queue);
    out.put_number(snapshot.next_seq);
    out.put_number(snapshot.queues.len() as u64);
    snapshot.queues.iter().for_each(|queue| put_queue(queue, &mut out));
    out.put_number(snapshot.deleted.len() as u64);
    for (at, address) in &snapshot.deleted {
        out.put_number(at.as_millis());
        put_address(address, &mut out);
    }
    put_portions(&snapshot.orphans, &mut out);
    out.put_number(contents.segments.iter().count() as u64);
    for (number, usage) in contents.segments.iter() {
        out.put_number(number.into());
        out.put_number(usage.messages);
        out.put_number(usage.message_bytes);
        out.put_number(usage.live);
    }
    out
}

pub(crate) fn decode(payload: Bytes) -> Result<Contents, DecodeError> {
    let mut fields = Fields::new(&payload);
    match fields.byte()? {
        VERSION => {}
        tag => return Err(DecodeError::UnknownTag { what: "a checkpoint's layout", tag: tag.into() }),
    }
    let snapshot = Snapshot {
        at: take_timestamp(&mut fields)?,
        next_queue: fields.number()?,
        next_seq: fields.number()?,
        queues: fields.list(take_queue)?,
        deleted: fields.list(|fields| Ok((take_timestamp(fields)?, take_address(fields)?)))?,
        orphans: fields.list(take_portion)?,
    };
    let segments = fields.list(|fields| {
        let number = fields.number_as("segment number")?;
        let (messages, message_bytes, live) = (fields.number()?, fields.number()?, fields.number()?);
        Ok((number, SegmentUse { messages, message_bytes, live }))
    })?;
    fields.end()?;
    Ok(Contents { snapshot, segments: segments.into_iter().collect() })
}

fn put_queue(queue: &QueueSnapshot, out: &mut Vec<u8>) {
    out.put_number(queue.id.0);
    put_address(&queue.address, out);
    put_changes(&queue.attributes.changes(), out);
    put_tags(&queue.tags, out);
    out.put_number(queue.created_at.as_millis());
    out.put_number(queue.modified_at.as_millis());
    out.put_number(queue.purged_at.unwrap_or(Timestamp::ZERO).as_millis());
    match &queue.messages {
        Messages::Standard(messages) => put_standard(messages, out),
        Messages::Fifo(messages) => fifo::put(messages, out),
    }
    out.put_number(queue.move_tasks.len() as u64);
    queue.move_tasks.iter().for_each(|task| put_move_task(task, out));
}

fn put_standard(messages: &StandardMessages, out: &mut Vec<u8>) {
    put_portions(&messages.backlog, out);
    put_list(&messages.returned, put_touched, out);
    out.put_number(messages.in_flight.len() as u64);
    for (touched, visible_at) in &messages.in_flight {
        put_touched(touched, out);
        out.put_number(visible_at.as_millis());
    }
    out.put_number(messages.delayed.len() as u64);
    for (stored, visible_at) in &messages.delayed {
        put_stored(stored, out);
        out.put_number(visible_at.as_millis());
    }
    out.put_number(messages.tenants.len() as u64);
    for tenant in &messages.tenants {
        out.put_text(&tenant.key);
        put_list(&tenant.backlog, put_chunk, out);
        put_list(&tenant.returned, put_touched, out);
        out.put_number(tenant.hidden.len() as u64);
        tenant.hidden.iter().for_each(|seq| out.put_number(seq.0));
    }
}

fn put_list<T>(list: &[T], put: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.put_number(list.len() as u64);
    list.iter().for_each(|entry| put(entry, out));
}

fn put_portions(portions: &[Portion], out: &mut Vec<u8>) {
    put_list(portions, put_portion, out);
}

/// How the tag of a portion reads.
const CHUNKS: u8 = 0;
const EXTENT: u8 = 1;

fn put_portion(portion: &Portion, out: &mut Vec<u8>) {
    match portion {
        Portion::Passing(chunks) | Portion::Lasting(chunks) => {
            out.push(CHUNKS);
            put_list(chunks, put_chunk, out);
        }
        Portion::Written { extent, expired_to } => {
            out.push(EXTENT);
            put_stored(&extent.first, out);
            out.put_number(extent.last_seq.0);
            out.put_number(extent.last_sent_at.as_millis());
            out.put_number(extent.len.into());
            out.put_number(extent.place.file.into());
            out.put_number(extent.place.offset.into());
            out.put_number(extent.place.bytes.into());
            out.put_number(expired_to.as_millis());
        }
    }
}

fn take_portion(fields: &mut Fields) -> Result<Portion, DecodeError> {
    match fields.byte()? {
        CHUNKS => Ok(Portion::Passing(fields.list(take_chunk)?)),
        EXTENT => Ok(Portion::Written {
            extent: Extent {
                first: take_stored(fields)?,
                last_seq: take_seq(fields)?,
                last_sent_at: take_timestamp(fields)?,
                len: fields.number_as("length of an extent")?,
                place: ExtentPlace {
                    file: fields.number_as("posting file")?,
                    offset: fields.number_as("offset of an extent")?,
                    bytes: fields.number_as("bytes of an extent")?,
                },
            },
            expired_to: take_timestamp(fields)?,
        }),
        tag => Err(DecodeError::UnknownTag { what: "a part of a backlog", tag: tag.into() }),
    }
}

pub(crate) fn put_chunk(chunk: &Chunk, out: &mut Vec<u8>) {
    put_stored(&chunk.first(), out);
    out.put_number(chunk.len() as u64);
    out.put_bytes(chunk.steps());
}

fn take_queue(fields: &mut Fields) -> Result<QueueSnapshot, DecodeError> {
    let id = QueueId(fields.number()?);
    let address = take_address(fields)?;
    let attributes = QueueAttributes::from_changes(&take_changes(fields)?);
    Ok(QueueSnapshot {
        id,
        address,
        tags: take_tags(fields)?,
        created_at: take_timestamp(fields)?,
        modified_at: take_timestamp(fields)?,
        purged_at: Some(take_timestamp(fields)?).filter(|at| *at > Timestamp::ZERO),
        messages: match attributes.fifo {
            None => Messages::Standard(take_standard(fields)?),
            Some(_) => Messages::Fifo(fifo::take(fields)?),
        },
        move_tasks: fields.list(take_move_task)?,
        attributes,
    })
}

fn take_standard(fields: &mut Fields) -> Result<StandardMessages, DecodeError> {
    Ok(StandardMessages {
        backlog: fields.list(take_portion)?,
        returned: fields.list(take_touched)?,
        in_flight: fields.list(|fields| Ok((take_touched(fields)?, take_timestamp(fields)?)))?,
        delayed: fields.list(|fields| Ok((take_stored(fields)?, take_timestamp(fields)?)))?,
        tenants: fields.list(take_tenant)?,
    })
}

fn take_tenant(fields: &mut Fields) -> Result<TenantMessages, DecodeError> {
    Ok(TenantMessages {
        key: fields.text()?.into(),
        backlog: fields.list(take_chunk)?,
        returned: fields.list(take_touched)?,
        hidden: fields.list(take_seq)?,
    })
}

fn put_move_task(task: &MoveTask, out: &mut Vec<u8>) {
    out.extend_from_slice(&task.id.0);
    put_optional_address(task.destination.as_ref(), out);
    out.put_number(task.rate.unwrap_or(0).into());
    out.put_number(task.started_at.as_millis());
    out.put_number(task.to_move);
    out.put_number(task.moved);
    out.push(move_task::tag(task.outcome));
}

fn take_move_task(fields: &mut Fields) -> Result<MoveTask, DecodeError> {
    Ok(MoveTask {
        id: MoveTaskId(fields.fixed()?),
        destination: fields.optional(take_address)?,
        rate: Some(fields.number_as("rate")?).filter(|rate| *rate > 0),
        started_at: take_timestamp(fields)?,
        to_move: fields.number()?,
        moved: fields.number()?,
        outcome: move_task::outcome(fields.byte()?)?,
    })
}

pub(crate) fn take_chunk(fields: &mut Fields) -> Result<Chunk, DecodeError> {
    let first = take_stored(fields)?;
    let len = fields.number_as("chunk length")?;
    let malformed = |_| DecodeError::OutOfRange { what: "chunk of messages" };
    Chunk::from_parts(first, len, &fields.bytes()?).map_err(malformed)
}

fn put_stored(stored: &Stored, out: &mut Vec<u8>) {
    out.put_number(stored.seq.0);
    out.put_number(stored.position.0);
    out.put_number(stored.sent_at.as_millis());
}

fn take_stored(fields: &mut Fields) -> Result<Stored, DecodeError> {
    let seq = take_seq(fields)?;
    let position = Position(fields.number()?);
    Ok(Stored { seq, position, sent_at: take_timestamp(fields)? })
}

fn put_touched(touched: &Touched, out: &mut Vec<u8>) {
    put_stored(&touched.stored, out);
    out.put_number(touched.receive_count.into());
    out.put_number(touched.first_received_at.as_millis());
    out.put_number(touched.received_at.as_millis());
    out.push(u8::from(touched.origin.is_some()));
    if let Some(origin) = &touched.origin {
        out.put_number(origin.sent_to.0);
        out.put_number(origin.sent_as.0);
        put_optional_address(origin.source.as_ref(), out);
        out.push(u8::from(origin.id.is_some()));
        origin.id.iter().for_each(|id| out.extend_from_slice(&id.0));
    }
}

fn take_touched(fields: &mut Fields) -> Result<Touched, DecodeError> {
    Ok(Touched {
        stored: take_stored(fields)?,
        receive_count: fields.number_as("receive count")?,
        first_received_at: take_timestamp(fields)?,
        received_at: take_timestamp(fields)?,
        origin: fields.optional(|fields| {
            Ok(Arc::new(Origin {
                sent_to: QueueId(fields.number()?),
                sent_as: take_seq(fields)?,
                source: fields.optional(take_address)?,
                id: fields.optional(|fields| fields.fixed().map(MessageId))?,
            }))
        })?,
    })
}
