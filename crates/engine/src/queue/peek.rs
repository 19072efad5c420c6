//! Looking at messages without changing anything about them.

use super::Touched;
use super::fifo::{Fifo, State};
use super::held::Held;
use super::standard::Standard;
use crate::{MessageSeq, QueueAttributes, Timestamp};

/// A stored message as an operator sees it; its content lies in the log at its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeked {
    /// What is known of it, whether it was received or not.
    pub touched: Touched,
    /// Whether it can be received.
    pub state: PeekedState,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeekedState {
    /// A receive finds it, on a FIFO queue when those before it in its group are done with.
    Visible,
    /// Received.
    InFlight {
        /// Hidden until then.
        visible_at: Timestamp,
    },
    /// Never visible yet.
    Delayed {
        /// Hidden until then.
        visible_at: Timestamp,
    },
}

impl Held {
    /// The messages after a number, in the order of their numbers, at most `max`.
    ///
    /// Ends early before messages that are away, if there are others before them. The caller brings them back first, so
    /// that this happens only while they cannot be read.
    pub(crate) fn peek(
        &self,
        after: Option<MessageSeq>,
        max: usize,
        attributes: &QueueAttributes,
    ) -> Vec<Peeked> {
        let from = after.map_or(MessageSeq(0), |after| MessageSeq(after.0.saturating_add(1)));
        match self {
            Held::Standard(standard) => standard.peek(from, max),
            Held::Fifo(fifo) => fifo.peek(from, max, attributes),
        }
    }
}

impl Standard {
    fn peek(&self, from: MessageSeq, max: usize) -> Vec<Peeked> {
        let untouched = self
            .backlog()
            .from(from)
            .take(max)
            .map(|stored| Peeked { touched: Touched::never_received(stored), state: PeekedState::Visible });
        let tenants = self.tenants();
        let grouped = tenants.members_from(from).take(max);
        // What is found nowhere here is in flight or delayed.
        let grouped = grouped.filter_map(|(seq, tenant)| tenants.visible(tenant).get(seq));
        let grouped = grouped.map(|touched| Peeked { touched, state: PeekedState::Visible });
        let returned = self.plain().returned().from(from).take(max);
        let returned =
            returned.map(|touched| Peeked { touched: touched.clone(), state: PeekedState::Visible });
        let in_flight = self.in_flight().from(from).take(max).map(|hidden| Peeked {
            touched: hidden.touched.clone(),
            state: PeekedState::InFlight { visible_at: hidden.visible_at },
        });
        let delayed = self.delayed().from(from).take(max).map(|(stored, visible_at)| Peeked {
            touched: Touched::never_received(stored),
            state: PeekedState::Delayed { visible_at },
        });
        let mut page: Vec<_> =
            untouched.chain(returned).chain(grouped).chain(in_flight).chain(delayed).collect();
        page.sort_unstable_by_key(|peeked| peeked.touched.stored.seq);
        page.truncate(max);
        // What follows messages that are away belongs on a later page: it would be taken for all that there is up to it.
        if let Some(away) = self.backlog().first_away(from) {
            let before = page.partition_point(|peeked| peeked.touched.stored.seq < away);
            page.truncate(if before > 0 { before } else { page.len() });
        }
        page
    }
}

impl Fifo {
    fn peek(&self, from: MessageSeq, max: usize, attributes: &QueueAttributes) -> Vec<Peeked> {
        let peeked = |(touched, state, visible_at): (Touched, State, Timestamp)| {
            let delayed_until = touched.stored.sent_at + attributes.delay;
            let state = match state {
                State::Visible => PeekedState::Visible,
                State::InFlight => PeekedState::InFlight { visible_at },
                State::Delayed => PeekedState::Delayed { visible_at: delayed_until },
            };
            Peeked { touched, state }
        };
        self.from(from).take(max).map(peeked).collect()
    }
}
