//! The messages of a standard queue and the states they pass through.
//!
//! Invariant: a message is in exactly one of `backlog`, `returned`, `in_flight` and `delayed`.

use super::Touched;
use super::backlog::Backlog;
use super::chunk::{Chunk, Stored};
use super::delayed::Delayed;
use super::in_flight::{Hidden, InFlight};
use crate::{Counts, MessageSeq, Position, QueueId, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// Records that hold no message any more.
#[derive(Clone, Debug)]
pub(crate) enum Released {
    Record(Position),
    /// The record of a message that was moved, and the number it has there.
    Moved(Position, MessageSeq),
    Chunk(Chunk),
}

impl Released {
    pub(super) fn of(touched: &Touched) -> Self {
        let position = touched.stored.position;
        match &touched.origin {
            Some(origin) => Released::Moved(position, origin.sent_as),
            None => Released::Record(position),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Standard {
    /// Visible, never received.
    backlog: Backlog,
    /// Visible, but not at the end of the backlog's order: back after a timeout, or late after a delay.
    returned: BTreeMap<MessageSeq, Touched>,
    in_flight: InFlight,
    delayed: Delayed,
}

impl Standard {
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            visible: self.visible_count() as u64,
            in_flight: self.in_flight.len() as u64,
            delayed: self.delayed.len() as u64,
        }
    }

    pub(crate) fn visible_count(&self) -> usize {
        self.backlog.len() + self.returned.len()
    }

    pub(crate) fn in_flight_count(&self) -> usize {
        self.in_flight.len()
    }

    /// Stores a message that is visible now.
    pub(crate) fn add(&mut self, stored: Stored) {
        // Late ends of delays come here too; only what keeps the backlog in order may join it.
        if self.backlog.last_seq().is_none_or(|last| last < stored.seq) {
            self.backlog.push(stored);
        } else {
            self.returned.insert(stored.seq, Touched::never_received(stored));
        }
    }

    /// Stores a message that becomes visible later.
    pub(crate) fn add_delayed(&mut self, stored: Stored, visible_at: Timestamp) {
        self.delayed.insert(stored, visible_at);
    }

    /// The visible messages in the order of their numbers, at most `max`.
    pub(crate) fn next_visible(&mut self, max: usize) -> Vec<MessageSeq> {
        let mut returned = self.returned.keys().copied().peekable();
        let mut untouched = self.backlog.first(max).map(|stored| stored.seq).peekable();
        let mut found = Vec::with_capacity(max);
        while found.len() < max {
            let next = match (returned.peek(), untouched.peek()) {
                (Some(r), Some(u)) if r < u => returned.next(),
                (Some(_), None) => returned.next(),
                _ => untouched.next(),
            };
            match next {
                Some(seq) => found.push(seq),
                None => break,
            }
        }
        found
    }

    /// Moves a visible message into flight.
    ///
    /// # Panics
    /// If it is not visible: a receive names what `next_visible` gave, and replay repeats it.
    pub(crate) fn receive(&mut self, seq: MessageSeq, now: Timestamp, visible_at: Timestamp) {
        let mut touched = self.returned.remove(&seq).unwrap_or_else(|| {
            let stored = self.backlog.pop().filter(|stored| stored.seq == seq);
            Touched::never_received(stored.expect("a received message was the next visible one"))
        });
        touched.receive_count += 1;
        touched.received_at = now;
        if touched.receive_count == 1 {
            touched.first_received_at = now;
        }
        self.in_flight.insert(Hidden { touched, visible_at });
    }

    /// A message that was received at least once and is not deleted, in flight or visible again.
    pub(crate) fn received(&self, seq: MessageSeq) -> Option<&Touched> {
        let in_flight = self.in_flight.get(seq).map(|hidden| &hidden.touched);
        in_flight.or_else(|| self.returned.get(&seq)).filter(|touched| touched.receive_count > 0)
    }

    /// Takes a visible message, to put it into another queue.
    ///
    /// # Panics
    /// If it is not here.
    pub(crate) fn take(&mut self, seq: MessageSeq) -> Touched {
        self.returned.remove(&seq).unwrap_or_else(|| {
            let stored = self.backlog.remove(seq);
            Touched::never_received(stored.expect("a moved message was visible"))
        })
    }

    /// Puts in a message of another queue, visible.
    pub(crate) fn put_moved(&mut self, touched: Touched) {
        let former = self.returned.insert(touched.stored.seq, touched);
        assert!(former.is_none(), "a message is in one queue");
    }

    /// What was moved here from other queues.
    pub(crate) fn moved(&self) -> impl Iterator<Item = &Touched> {
        let in_flight = self.in_flight.iter().map(|hidden| &hidden.touched);
        in_flight.chain(self.returned.values()).filter(|touched| touched.origin.is_some())
    }

    pub(crate) fn is_visible(&self, seq: MessageSeq) -> bool {
        self.returned.contains_key(&seq) || self.backlog.get(seq).is_some()
    }

    /// What is known of a message, whatever its state.
    pub(crate) fn get(&self, seq: MessageSeq) -> Option<Touched> {
        let in_flight = self.in_flight.get(seq).map(|hidden| &hidden.touched);
        let touched = in_flight.or_else(|| self.returned.get(&seq)).cloned();
        touched.or_else(|| {
            let stored = self.delayed.get(seq).copied().or_else(|| self.backlog.get(seq));
            stored.map(Touched::never_received)
        })
    }

    /// Hides a touched message until `visible_at`, whether it is in flight or visible.
    pub(crate) fn change_visibility(&mut self, seq: MessageSeq, visible_at: Timestamp) {
        let touched = self.remove_touched(seq).expect("only a touched message's visibility changes");
        self.in_flight.insert(Hidden { touched, visible_at });
    }

    /// Removes a touched message.
    pub(crate) fn delete(&mut self, seq: MessageSeq) -> Released {
        Released::of(&self.remove_touched(seq).expect("only a touched message is deleted"))
    }

    fn remove_touched(&mut self, seq: MessageSeq) -> Option<Touched> {
        let in_flight = self.in_flight.remove(seq).map(|hidden| hidden.touched);
        in_flight.or_else(|| self.returned.remove(&seq))
    }

    /// Ends delays, visibility timeouts and retention periods that are over at `now`.
    ///
    /// Passing through instants between has the same result, so replay need not meet the same ones.
    pub(crate) fn advance(&mut self, now: Timestamp, retention: Duration, released: &mut Vec<Released>) {
        while let Some(stored) = self.delayed.pop_due(now) {
            self.add(stored);
        }
        while let Some(touched) = self.in_flight.pop_due(now) {
            self.returned.insert(touched.stored.seq, touched);
        }
        self.expire(now, retention, released);
    }

    fn expire(&mut self, now: Timestamp, retention: Duration, released: &mut Vec<Released>) {
        let over = |stored: &Stored| stored.sent_at + retention <= now;
        // A chunk that is away expires when it comes back.
        while self.backlog.front().as_ref().is_some_and(over)
            && let Some(stored) = self.backlog.pop()
        {
            released.push(Released::Record(stored.position));
        }
        while let Some(entry) = self.returned.first_entry().filter(|entry| over(&entry.get().stored)) {
            released.push(Released::of(&entry.remove()));
        }
        while let Some(oldest) = self.in_flight.oldest().map(|hidden| hidden.touched.stored).filter(over) {
            let expired = self.in_flight.remove(oldest.seq).expect("the oldest one");
            released.push(Released::of(&expired.touched));
        }
        // A delay may last longer than the shortest retention period.
        while let Some(oldest) = self.delayed.oldest().filter(over) {
            self.delayed.remove(oldest.seq);
            released.push(Released::Record(oldest.position));
        }
    }

    /// When a delay, a visibility timeout or the oldest message's retention ends next. A chunk that is away ends nothing.
    pub(crate) fn next_due(&self, retention: Duration) -> Option<Timestamp> {
        let delay = self.delayed.next_end();
        let visibility = self.in_flight.next_deadline();
        let delayed = self.delayed.oldest().map(|stored| stored.sent_at);
        let backlog =
            self.backlog.front().filter(|_| !self.backlog.is_stalled()).map(|stored| stored.sent_at);
        let expiry =
            backlog.into_iter().chain(self.oldest_touched()).chain(delayed).min().map(|at| at + retention);
        delay.into_iter().chain(visibility).chain(expiry).min()
    }

    /// When the oldest message that is not delayed was sent.
    pub(crate) fn oldest_sent_at(&self) -> Option<Timestamp> {
        self.backlog.front().map(|stored| stored.sent_at).into_iter().chain(self.oldest_touched()).min()
    }

    /// When the oldest message in flight or visible again was sent.
    fn oldest_touched(&self) -> Option<Timestamp> {
        let returned = self.returned.values().next().map(|touched| touched.stored.sent_at);
        let in_flight = self.in_flight.oldest().map(|hidden| hidden.touched.stored.sent_at);
        returned.into_iter().chain(in_flight).min()
    }

    /// Notes that the message's record moved, and that the new one names `holder`, this queue, and this number.
    pub(crate) fn relocate(&mut self, seq: MessageSeq, position: Position, holder: QueueId) -> Released {
        let touched = self.in_flight.touched_mut(seq).or_else(|| self.returned.get_mut(&seq));
        if let Some(touched) = touched {
            let old = Released::of(touched);
            touched.relocate(position, holder);
            return old;
        }
        Released::Record(match self.delayed.get_mut(seq) {
            Some(stored) => std::mem::replace(&mut stored.position, position),
            None => self.backlog.relocate(seq, position),
        })
    }

    pub(super) fn returned(&self) -> &BTreeMap<MessageSeq, Touched> {
        &self.returned
    }

    pub(super) fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    pub(super) fn delayed(&self) -> &Delayed {
        &self.delayed
    }

    pub(crate) fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    pub(crate) fn backlog_mut(&mut self) -> &mut Backlog {
        &mut self.backlog
    }

    /// Drops every message. Chunks that are away are the caller's affair.
    pub(crate) fn clear(&mut self, released: &mut Vec<Released>) {
        let all = std::mem::take(self);
        let in_flight = all.in_flight.iter().map(|hidden| &hidden.touched);
        let touched = in_flight.chain(all.returned.values()).map(Released::of);
        let delayed = all.delayed.iter().map(|(stored, _)| Released::Record(stored.position));
        released.extend(touched.chain(delayed));
        released.extend(all.backlog.to_chunks().into_iter().map(Released::Chunk));
    }

    pub(crate) fn snapshot(&self) -> StandardMessages {
        assert!(self.backlog.is_resident(), "a snapshot holds every chunk");
        StandardMessages {
            backlog: self.backlog.to_chunks(),
            returned: self.returned.values().cloned().collect(),
            in_flight: self
                .in_flight
                .iter()
                .map(|hidden| (hidden.touched.clone(), hidden.visible_at))
                .collect(),
            delayed: self.delayed.iter().collect(),
        }
    }

    pub(crate) fn restore(messages: StandardMessages) -> Self {
        let mut restored =
            Standard { backlog: Backlog::from_chunks(messages.backlog), ..Standard::default() };
        restored.returned.extend(messages.returned.into_iter().map(|touched| (touched.stored.seq, touched)));
        for (touched, visible_at) in messages.in_flight {
            restored.in_flight.insert(Hidden { touched, visible_at });
        }
        messages.delayed.into_iter().for_each(|(stored, at)| restored.add_delayed(stored, at));
        restored
    }
}

/// The messages of a standard queue as plain data; what a checkpoint keeps of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandardMessages {
    /// Visible, never received, in the order of their numbers.
    pub backlog: Vec<Chunk>,
    /// Visible again, or late after a delay.
    pub returned: Vec<Touched>,
    /// In flight, with the end of their timeout.
    pub in_flight: Vec<(Touched, Timestamp)>,
    /// Delayed, with the end of their delay.
    pub delayed: Vec<(Stored, Timestamp)>,
}

impl StandardMessages {
    /// The place of every message's record, in no particular order.
    pub fn for_each_position(&self, mut visit: impl FnMut(Position)) {
        self.backlog.iter().flat_map(Chunk::iter).for_each(|stored| visit(stored.position));
        self.returned.iter().for_each(|touched| visit(touched.stored.position));
        self.in_flight.iter().for_each(|(touched, _)| visit(touched.stored.position));
        self.delayed.iter().for_each(|(stored, _)| visit(stored.position));
    }
}
