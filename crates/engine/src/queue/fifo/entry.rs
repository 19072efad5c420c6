//! What is kept of one message of a FIFO queue.

use super::group::GroupIndex;
use crate::queue::ordered::Keyed;
use crate::queue::standard::Released;
use crate::queue::{Stored, Touched};
use crate::time::ShortTimestamp;
use crate::{MessageSeq, Position, Timestamp};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) seq: MessageSeq,
    /// The message before it in its group, and the one after.
    pub(super) before: Link,
    pub(super) after: Link,
    pub(super) data: Data,
    pub(super) group: GroupIndex,
    pub(super) state: State,
}

const _: () = assert!(size_of::<Entry>() <= 48);

impl Keyed for Entry {
    type Key = MessageSeq;

    fn key(&self) -> MessageSeq {
        self.seq
    }
}

/// Where a neighbour is, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(MessageSeq);

impl Link {
    pub(super) const NONE: Link = Link(MessageSeq(u64::MAX));

    pub(super) fn to(seq: MessageSeq) -> Self {
        assert!(seq.0 < u64::MAX, "so many messages are never sent");
        Link(seq)
    }

    pub(super) fn get(self) -> Option<MessageSeq> {
        (self != Link::NONE).then_some(self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) enum State {
    Visible,
    Delayed,
    InFlight,
}

#[derive(Debug)]
pub(super) enum Data {
    Untouched { sent_at: ShortTimestamp, position: Position },
    Touched(Box<Kept>),
}

/// What is kept of a message that was received or moved here.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) touched: Touched,
    /// When its newest timeout ends or ended.
    pub(super) visible_at: Timestamp,
    /// The attempt id of its newest receive.
    pub(super) attempt: Option<Arc<str>>,
}

impl Entry {
    pub(super) fn sent_at(&self) -> Timestamp {
        match &self.data {
            Data::Untouched { sent_at, .. } => (*sent_at).into(),
            Data::Touched(kept) => kept.touched.stored.sent_at,
        }
    }

    pub(super) fn kept(&self) -> Option<&Kept> {
        match &self.data {
            Data::Touched(kept) => Some(kept),
            Data::Untouched { .. } => None,
        }
    }

    pub(super) fn kept_mut(&mut self) -> Option<&mut Kept> {
        match &mut self.data {
            Data::Touched(kept) => Some(kept),
            Data::Untouched { .. } => None,
        }
    }

    pub(super) fn received(&self) -> Option<&Touched> {
        self.kept().map(|kept| &kept.touched).filter(|touched| touched.receive_count > 0)
    }

    /// Whether it was received since it came to this queue: a dead letter brings the count of its receives along.
    pub(super) fn was_received_here(&self) -> bool {
        self.received().is_some_and(|touched| touched.received_at > Timestamp::ZERO)
    }

    /// What is known of the message, whether it was received or not.
    pub(super) fn to_touched(&self) -> Touched {
        match &self.data {
            Data::Untouched { sent_at, position } => {
                let (position, sent_at) = (*position, (*sent_at).into());
                Touched::never_received(Stored { seq: self.seq, position, sent_at })
            }
            Data::Touched(kept) => kept.touched.clone(),
        }
    }

    /// The end of its timeout, if it is in flight.
    pub(super) fn visible_at(&self) -> Timestamp {
        self.kept().map_or_else(|| self.sent_at(), |kept| kept.visible_at)
    }

    pub(super) fn released(&self) -> Released {
        match &self.data {
            Data::Untouched { position, .. } => Released::Record(*position),
            Data::Touched(kept) => Released::of(&kept.touched),
        }
    }
}
