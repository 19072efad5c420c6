//! Visible messages that are chosen among by their numbers alone: those of one tenant, or those without a group.

use super::Touched;
use super::backlog::{Backlog, BacklogSizes};
use super::chunk::Stored;
use super::ordered::Ordered;
use super::run::Portion;
use super::standard::Released;
use crate::{MessageSeq, Position, QueueId, Timestamp};

/// Invariant: a message is in one of the two.
#[derive(Debug, Default)]
pub(super) struct Visible {
    /// Never received.
    backlog: Backlog,
    /// Not at the end of the backlog's order: back after a timeout, late after a delay, or moved here.
    returned: Ordered<Touched>,
}

impl Visible {
    pub(super) fn new(sizes: BacklogSizes) -> Self {
        Visible { backlog: Backlog::new(sizes), ..Visible::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.backlog.len() + self.returned.len()
    }

    /// Stores a message that was never received.
    pub(super) fn add(&mut self, stored: Stored) {
        // Late ends of delays come here too; only what keeps the backlog in order may join it.
        if self.backlog.last_seq().is_none_or(|last| last < stored.seq) {
            self.backlog.push(stored);
        } else {
            self.returned.insert(Touched::never_received(stored));
        }
    }

    /// Puts in a message that was in flight or in another queue.
    pub(super) fn put(&mut self, touched: Touched) {
        self.returned.insert(touched);
    }

    /// The oldest message.
    pub(super) fn front(&self) -> Option<Stored> {
        let returned = self.returned.first().map(|touched| touched.stored);
        returned.into_iter().chain(self.backlog.front()).min_by_key(|stored| stored.seq)
    }

    /// The oldest messages in the order of their numbers, at most `max`, as far as they are in memory.
    pub(super) fn first(&mut self, max: usize) -> Vec<MessageSeq> {
        let mut returned = self.returned.iter().map(|touched| touched.stored.seq).peekable();
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

    /// Takes out a message that `first` gave.
    ///
    /// # Panics
    /// If it is neither the next untouched one nor one of the others.
    pub(super) fn receive(&mut self, seq: MessageSeq) -> Touched {
        self.returned.remove(seq).unwrap_or_else(|| {
            let stored = self.backlog.pop().filter(|stored| stored.seq == seq);
            Touched::never_received(stored.expect("a received message was the next visible one"))
        })
    }

    /// Takes out any message.
    ///
    /// # Panics
    /// If it is not here.
    pub(super) fn take(&mut self, seq: MessageSeq) -> Touched {
        self.returned.remove(seq).unwrap_or_else(|| {
            let stored = self.backlog.remove(seq);
            Touched::never_received(stored.expect("a moved message was visible"))
        })
    }

    /// Takes out a message that was received before.
    pub(super) fn take_returned(&mut self, seq: MessageSeq) -> Option<Touched> {
        self.returned.remove(seq)
    }

    pub(super) fn contains(&self, seq: MessageSeq) -> bool {
        self.returned.contains(seq) || self.backlog.get(seq).is_some()
    }

    /// What is known of a message.
    pub(super) fn get(&self, seq: MessageSeq) -> Option<Touched> {
        let untouched = || self.backlog.get(seq).map(Touched::never_received);
        self.returned.get(seq).cloned().or_else(untouched)
    }

    /// Drops the messages that were sent at `until` or before; of the returned ones as many as are the oldest.
    pub(super) fn expire(&mut self, until: Timestamp, released: &mut Vec<Released>) {
        self.backlog.expire(until, released);
        while self.returned.first().is_some_and(|touched| touched.stored.sent_at <= until)
            && let Some(touched) = self.returned.pop_first()
        {
            released.push(Released::of(&touched));
        }
    }

    /// Notes that a message's record moved; see [`Touched::relocate`].
    ///
    /// # Panics
    /// If the message is not here.
    pub(super) fn relocate(&mut self, seq: MessageSeq, position: Position, holder: QueueId) -> Released {
        match self.returned.get_mut(seq) {
            Some(touched) => touched.relocate(position, holder),
            None => Released::Record(self.backlog.relocate(seq, position)),
        }
    }

    pub(super) fn returned(&self) -> &Ordered<Touched> {
        &self.returned
    }

    pub(super) fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    pub(super) fn backlog_mut(&mut self) -> &mut Backlog {
        &mut self.backlog
    }

    /// What is released when all messages go.
    pub(super) fn release(self, released: &mut Vec<Released>) {
        released.extend(self.returned.iter().map(Released::of));
        released.extend(self.backlog.into_runs().map(Released::Run));
    }

    pub(super) fn restore(sizes: BacklogSizes, backlog: Vec<Portion>, returned: Vec<Touched>) -> Self {
        let backlog = Backlog::from_portions(sizes, backlog);
        Visible { backlog, returned: returned.into_iter().collect() }
    }
}
