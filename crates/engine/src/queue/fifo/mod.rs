//! The messages of a FIFO queue: groups, each delivered in the order of its messages.
//!
//! A group is walked from its oldest message. While messages are visible they can be delivered; the first one that is
//! in flight or delayed ends the walk, and everything behind it waits. So the messages of a group that were received
//! before are always its first ones.
//!
//! Every message has a place in `entries`, by its number; the other parts name numbers only.

mod attempt;
mod deduplication;
mod entry;
mod group;
mod hash;
mod snapshot;

pub use attempt::Attempt;
pub use deduplication::Remembered;
pub(super) use entry::State;
pub use group::Turn;
pub(crate) use hash::HashKey;
pub use snapshot::{FifoMessage, FifoMessages, FifoState};

use super::ordered::Ordered;
use super::row::Row;
use super::standard::Released;
use super::{Stored, Touched};
use crate::{Counts, DeduplicationScope, Message, MessageSeq, Position, QueueId, Timestamp};
use attempt::Attempts;
use deduplication::Deduplication;
use entry::{Data, Entry, Kept, Link};
use group::{GroupIndex, Groups, Listed};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Fifo {
    hash_key: HashKey,
    /// Every message, in the order they were accepted, which is also that of their send times.
    entries: Ordered<Entry>,
    groups: Groups,
    /// The ends of visibility timeouts of everything in flight.
    deadlines: Ordered<(Timestamp, MessageSeq)>,
    /// What is delayed. All have the queue's delay, so the order of their ends is that of their numbers.
    delayed: Row<MessageSeq>,
    /// The newest message that was accepted, deleted meanwhile or not.
    newest: MessageSeq,
    deduplication: Deduplication,
    attempts: Attempts,
}

/// What a repeated receive comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// Nothing to repeat: it is a receive like any other.
    Fresh,
    /// The same messages again.
    Same(Vec<MessageSeq>),
    /// Some of its messages were deleted or changed.
    Void,
}

impl Fifo {
    pub(crate) fn new(hash_key: HashKey) -> Self {
        Fifo { hash_key, ..Fifo::default() }
    }

    pub(crate) fn counts(&self) -> Counts {
        let (in_flight, delayed) = (self.deadlines.len() as u64, self.delayed.len() as u64);
        Counts { visible: self.entries.len() as u64 - in_flight - delayed, in_flight, delayed }
    }

    pub(crate) fn in_flight_count(&self) -> usize {
        self.deadlines.len()
    }

    /// Stores a message that was just accepted, and remembers what duplicates of it are known by.
    pub(crate) fn accept(&mut self, stored: Stored, message: &Message, is_delayed: bool) {
        let name = message.group_id.as_deref().unwrap_or_default();
        let group_hash = self.hash_key.of_group(name);
        let group = self.groups.find_or_add(name, group_hash);
        self.add(stored, group, is_delayed);
        if let Some(id) = &message.deduplication_id {
            let Stored { seq, sent_at, .. } = stored;
            let (id_hash, message_id) = (self.hash_key.of_id(id), message.id);
            self.deduplication.remember(Remembered { id_hash, group_hash, sent_at, message_id, seq });
        }
    }

    fn add(&mut self, stored: Stored, group: GroupIndex, is_delayed: bool) {
        let Stored { seq, position, sent_at } = stored;
        let state = if is_delayed { State::Delayed } else { State::Visible };
        if is_delayed {
            self.delayed.push(seq);
        }
        self.insert(seq, group, state, Data::Untouched { sent_at: sent_at.into(), position });
    }

    /// Puts in a message of another queue, visible, as the newest one.
    pub(crate) fn put_moved(&mut self, touched: Touched, group: &str) {
        let group = self.groups.find_or_add(group, self.hash_key.of_group(group));
        self.put(touched, group);
    }

    fn put(&mut self, touched: Touched, group: GroupIndex) {
        let (seq, visible_at) = (touched.stored.seq, touched.stored.sent_at);
        let kept = Kept { touched, visible_at, attempt: None };
        self.insert(seq, group, State::Visible, Data::Touched(Box::new(kept)));
    }

    fn insert(&mut self, seq: MessageSeq, group: GroupIndex, state: State, data: Data) {
        assert!(self.entries.len() == 0 || self.newest < seq, "messages come in the order of their numbers");
        self.newest = seq;
        let before = self.groups.push(group, seq);
        self.link(before).into_iter().for_each(|last| last.after = Link::to(seq));
        self.entries.insert(Entry { seq, before, after: Link::NONE, data, group, state });
        if before == Link::NONE {
            self.list(group);
        }
    }

    /// Removes a message whatever its state.
    fn remove(&mut self, seq: MessageSeq) -> Option<Entry> {
        let entry = self.entries.remove(seq)?;
        match (entry.state, &entry.data) {
            (State::InFlight, Data::Touched(kept)) => {
                let listed = self.deadlines.remove((kept.visible_at, seq));
                assert!(listed.is_some(), "every message in flight has its deadline listed");
            }
            (State::Delayed, _) => {
                // Only the oldest message of a queue goes while it is delayed.
                let first = self.delayed.pop_first().map(|(_, first)| first);
                assert_eq!(first, Some(seq), "the oldest delayed message is the first of the delayed");
            }
            _ => {}
        }
        self.link(entry.before).into_iter().for_each(|before| before.after = entry.after);
        self.link(entry.after).into_iter().for_each(|after| after.before = entry.before);
        if self.groups.remove(&entry) && entry.before == Link::NONE {
            self.list(entry.group);
        }
        Some(entry)
    }

    /// A neighbour in a group.
    fn link(&mut self, link: Link) -> Option<&mut Entry> {
        Some(self.entries.get_mut(link.get()?).expect("neighbours are here"))
    }

    /// A message that is here.
    fn entry(&self, seq: MessageSeq) -> &Entry {
        self.entries.get(seq).expect("what is listed is here")
    }

    /// Lists a group as ready or not, after anything that concerns its first message.
    fn list(&mut self, index: GroupIndex) {
        let first = self.entry(self.groups.first(index));
        let listed = match first.state {
            State::Delayed | State::InFlight => Listed::Not,
            State::Visible if first.was_received_here() => Listed::ByServed,
            State::Visible => Listed::ByFirst,
        };
        self.groups.list(index, listed);
    }

    /// The messages that can be delivered now, at most `max`: each group's from its first one on.
    pub(crate) fn next_visible(&self, max: usize) -> Vec<MessageSeq> {
        let of_group = |group: GroupIndex| {
            let first = self.entry(self.groups.first(group));
            let row =
                std::iter::successors(Some(first), |entry| entry.after.get().map(|seq| self.entry(seq)));
            row.take_while(|entry| entry.state == State::Visible).map(|entry| entry.seq)
        };
        self.groups.ready().flat_map(of_group).take(max).collect()
    }

    /// Moves a visible message into flight.
    ///
    /// # Panics
    /// If it is not visible: a receive names what `next_visible` gave, and replay repeats it.
    pub(crate) fn receive(&mut self, seq: MessageSeq, now: Timestamp, visible_at: Timestamp) {
        let entry = self.entries.get_mut(seq).expect("a received message is here");
        assert_eq!(entry.state, State::Visible, "a received message was visible");
        let mut touched = entry.to_touched();
        touched.receive_count += 1;
        touched.received_at = now;
        if touched.receive_count == 1 {
            touched.first_received_at = now;
        }
        entry.state = State::InFlight;
        entry.data = Data::Touched(Box::new(Kept { touched, visible_at, attempt: None }));
        self.deadlines.insert((visible_at, seq));
        let group = entry.group;
        self.groups.serve(group, self.newest);
        self.list(group);
    }

    /// Remembers what a receive with an attempt id got.
    pub(crate) fn remember_attempt(&mut self, id: Arc<str>, at: Timestamp, messages: &[MessageSeq]) {
        let mut received = Vec::with_capacity(messages.len());
        for seq in messages {
            let kept = self.kept_mut(*seq).expect("just received");
            kept.attempt = Some(id.clone());
            received.push((*seq, kept.touched.receive_count));
        }
        self.attempts.remember(Attempt { id, at, received });
    }

    /// What a receive with that attempt id comes to.
    pub(crate) fn repetition(&self, attempt: &str) -> Repetition {
        let Some(attempt) = self.attempts.get(attempt) else { return Repetition::Fresh };
        if attempt.received.is_empty() {
            return Repetition::Void;
        }
        let as_it_was = |(seq, count): &(MessageSeq, u32)| {
            self.is_in_flight(*seq)
                && self.received(*seq).is_some_and(|touched| touched.receive_count == *count)
        };
        if !attempt.received.iter().all(as_it_was) {
            return Repetition::Fresh;
        }
        Repetition::Same(attempt.received.iter().map(|(seq, _)| *seq).collect())
    }

    /// Hides messages in flight anew, because their receive was repeated.
    pub(crate) fn repeat(&mut self, messages: &[MessageSeq], visible_at: Timestamp) {
        messages.iter().for_each(|seq| self.hide(*seq, visible_at));
    }

    /// Hides a touched message until `visible_at`, as its receiver asked.
    pub(crate) fn change_visibility(&mut self, seq: MessageSeq, visible_at: Timestamp) {
        self.void_attempt(seq);
        self.hide(seq, visible_at);
    }

    fn hide(&mut self, seq: MessageSeq, visible_at: Timestamp) {
        let entry = self.entries.get_mut(seq).expect("only a message that is here is hidden");
        let was_in_flight = entry.state == State::InFlight;
        entry.state = State::InFlight;
        let group = entry.group;
        let kept = entry.kept_mut().expect("only a touched message is hidden");
        if was_in_flight {
            self.deadlines.remove((kept.visible_at, seq));
        }
        kept.visible_at = visible_at;
        self.deadlines.insert((visible_at, seq));
        self.list(group);
    }

    fn void_attempt(&mut self, seq: MessageSeq) {
        if let Some(kept) = self.entries.get(seq).and_then(Entry::kept) {
            self.attempts.void_of(kept);
        }
    }

    /// Removes a message that its receiver is done with.
    pub(crate) fn delete(&mut self, seq: MessageSeq) -> Released {
        let entry = self.remove(seq).expect("only a message that is here is deleted");
        if let Some(kept) = entry.kept() {
            self.attempts.void_of(kept);
        }
        entry.released()
    }

    /// Takes out a visible message, to put it into another queue. Also returns its group.
    pub(crate) fn take(&mut self, seq: MessageSeq) -> (Touched, Arc<str>) {
        let entry = self.entries.get(seq).expect("a moved message is here");
        assert_eq!(entry.state, State::Visible, "a moved message is visible");
        let group = self.groups.get(entry.group).key.clone();
        let entry = self.remove(seq).expect("seen above");
        (entry.to_touched(), group)
    }

    /// A message that was received at least once and is not deleted, in flight or visible again.
    pub(crate) fn received(&self, seq: MessageSeq) -> Option<&Touched> {
        self.entries.get(seq)?.received()
    }

    pub(crate) fn is_visible(&self, seq: MessageSeq) -> bool {
        self.entries.get(seq).is_some_and(|entry| entry.state == State::Visible)
    }

    pub(crate) fn is_in_flight(&self, seq: MessageSeq) -> bool {
        self.entries.get(seq).is_some_and(|entry| entry.state == State::InFlight)
    }

    /// Whether a receive with an attempt id, which its client can repeat, took the message.
    pub(crate) fn is_repeatable(&self, seq: MessageSeq) -> bool {
        let Some(kept) = self.entries.get(seq).and_then(Entry::kept) else { return false };
        let attempt = kept.attempt.as_deref().and_then(|id| self.attempts.get(id));
        attempt.is_some_and(|attempt| attempt.received.contains(&(seq, kept.touched.receive_count)))
    }

    fn kept_mut(&mut self, seq: MessageSeq) -> Option<&mut Kept> {
        self.entries.get_mut(seq)?.kept_mut()
    }

    /// What is known of a message, whatever its state.
    pub(crate) fn get(&self, seq: MessageSeq) -> Option<Touched> {
        self.entries.get(seq).map(Entry::to_touched)
    }

    /// The messages from a number on, with their states and, where that is one, the end of the timeout.
    pub(super) fn from(&self, seq: MessageSeq) -> impl Iterator<Item = (Touched, State, Timestamp)> {
        self.entries.from(seq).map(|entry| (entry.to_touched(), entry.state, entry.visible_at()))
    }

    /// The accepted message that one with this id and group would repeat.
    pub(crate) fn find_duplicate(
        &self,
        scope: DeduplicationScope,
        id: &str,
        group: &str,
    ) -> Option<&Remembered> {
        let group_hash = match scope {
            DeduplicationScope::Queue => None,
            DeduplicationScope::MessageGroup => Some(self.hash_key.of_group(group)),
        };
        self.deduplication.find(&self.hash_key.of_id(id), group_hash)
    }

    /// Ends delays, visibility timeouts, retention periods and memories that are over at `now`.
    ///
    /// Passing through instants between has the same result, so replay need not meet the same ones.
    pub(crate) fn advance(
        &mut self,
        now: Timestamp,
        retention: Duration,
        delay: Duration,
        released: &mut Vec<Released>,
    ) {
        while let Some(seq) =
            self.delayed.first().copied().filter(|seq| self.entry(*seq).sent_at() + delay <= now)
        {
            self.delayed.pop_first();
            self.show(seq);
        }
        while let Some((_, seq)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.deadlines.pop_first();
            self.show(seq);
        }
        let expired = |entry: &&Entry| entry.sent_at() + retention <= now;
        while let Some(seq) = self.entries.first().filter(expired).map(|entry| entry.seq) {
            released.push(self.remove(seq).expect("the first one").released());
        }
        self.deduplication.forget_expired(now);
        self.attempts.forget_expired(now);
    }

    fn show(&mut self, seq: MessageSeq) {
        let entry = self.entries.get_mut(seq).expect("what is delayed or in flight is here");
        entry.state = State::Visible;
        let group = entry.group;
        self.list(group);
    }

    /// When a delay, a visibility timeout, the oldest message's retention or a memory ends next.
    pub(crate) fn next_due(&self, retention: Duration, delay: Duration) -> Option<Timestamp> {
        let visibility = self.deadlines.first().map(|(at, _)| *at);
        let delayed = self.delayed.first().map(|seq| self.entry(*seq).sent_at() + delay);
        let expiry = self.entries.first().map(|oldest| oldest.sent_at() + retention);
        let memory = [self.deduplication.next_end(), self.attempts.next_end()].into_iter().flatten();
        visibility.into_iter().chain(delayed).chain(expiry).chain(memory.map(tidy_up_at)).min()
    }

    /// When the oldest message that is not delayed was sent.
    pub(crate) fn oldest_sent_at(&self) -> Option<Timestamp> {
        let mut oldest = self.entries.iter().filter(|entry| entry.state != State::Delayed);
        oldest.next().map(Entry::sent_at)
    }

    /// Notes that the message's record moved, and that the new one names `holder`, this queue, and this number.
    pub(crate) fn relocate(&mut self, seq: MessageSeq, position: Position, holder: QueueId) -> Released {
        let entry = self.entries.get_mut(seq).expect("a relocated message is in its queue");
        match &mut entry.data {
            Data::Untouched { position: place, .. } => Released::Record(std::mem::replace(place, position)),
            Data::Touched(kept) => kept.touched.relocate(position, holder),
        }
    }

    /// What was moved here from other queues.
    pub(crate) fn moved(&self) -> impl Iterator<Item = &Touched> {
        let kept = self.entries.iter().filter_map(Entry::kept);
        kept.map(|kept| &kept.touched).filter(|touched| touched.origin.is_some())
    }

    /// Drops every message and forgets every id: recorded of a purge.
    pub(crate) fn clear(&mut self, released: &mut Vec<Released>) {
        let empty = Fifo { hash_key: self.hash_key, newest: self.newest, ..Fifo::default() };
        let all = std::mem::replace(self, empty);
        released.extend(all.entries.iter().map(Entry::released));
    }
}

/// When a memory that ends at `end` is given back: with those of the same ten seconds, not for each id alone.
fn tidy_up_at(end: Timestamp) -> Timestamp {
    Timestamp::from_millis(end.as_millis().next_multiple_of(10_000))
}
