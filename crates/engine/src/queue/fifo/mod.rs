//! The messages of a FIFO queue: groups, each delivered in the order of its messages.
//!
//! A group is walked from its oldest message. While messages are visible they can be delivered; the first one that is
//! in flight or delayed ends the walk, and everything behind it waits. So the messages of a group that were received
//! before are always its first ones.
//!
//! Every message has a place in `entries`, by its number; the other parts name numbers only.

mod attempt;
mod deduplication;
mod group;

pub use attempt::Attempt;
pub use deduplication::Remembered;
pub use group::Turn;

use super::standard::Released;
use super::{Stored, Touched};
use crate::{Counts, DeduplicationScope, MessageId, MessageSeq, Position, QueueId, Timestamp};
use attempt::Attempts;
use deduplication::Deduplication;
use group::{GroupIndex, Groups};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Fifo {
    /// Every message, in the order they were accepted, which is also that of their send times.
    entries: BTreeMap<MessageSeq, Entry>,
    groups: Groups,
    /// The ends of visibility timeouts of everything in flight.
    deadlines: BTreeSet<(Timestamp, MessageSeq)>,
    /// What is delayed. All have the queue's delay, so the order of their ends is that of their numbers.
    delayed: VecDeque<MessageSeq>,
    /// The newest message that was accepted, deleted meanwhile or not.
    newest: MessageSeq,
    deduplication: Deduplication,
    attempts: Attempts,
}

#[derive(Debug)]
struct Entry {
    group: GroupIndex,
    state: State,
    data: Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Visible,
    Delayed,
    InFlight,
}

#[derive(Debug)]
enum Data {
    Untouched { position: Position, sent_at: Timestamp },
    Touched(Box<Kept>),
}

/// What is kept of a message that was received or moved here.
#[derive(Debug)]
struct Kept {
    touched: Touched,
    /// When its newest timeout ends or ended.
    visible_at: Timestamp,
    /// The attempt id of its newest receive.
    attempt: Option<Arc<str>>,
}

impl Entry {
    fn sent_at(&self) -> Timestamp {
        match &self.data {
            Data::Untouched { sent_at, .. } => *sent_at,
            Data::Touched(kept) => kept.touched.stored.sent_at,
        }
    }

    fn received(&self) -> Option<&Touched> {
        match &self.data {
            Data::Touched(kept) if kept.touched.receive_count > 0 => Some(&kept.touched),
            _ => None,
        }
    }

    /// Whether it was received since it came to this queue: a dead letter brings the count of its receives along.
    fn was_received_here(&self) -> bool {
        self.received().is_some_and(|touched| touched.received_at > Timestamp::ZERO)
    }

    /// What is known of the message, whether it was received or not.
    fn to_touched(&self, seq: MessageSeq) -> Touched {
        match &self.data {
            Data::Untouched { position, sent_at } => {
                Touched::never_received(Stored { seq, position: *position, sent_at: *sent_at })
            }
            Data::Touched(kept) => kept.touched.clone(),
        }
    }

    fn released(&self) -> Released {
        match &self.data {
            Data::Untouched { position, .. } => Released::Record(*position),
            Data::Touched(kept) => Released::of(&kept.touched),
        }
    }
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
    pub(crate) fn counts(&self) -> Counts {
        let (in_flight, delayed) = (self.deadlines.len() as u64, self.delayed.len() as u64);
        Counts { visible: self.entries.len() as u64 - in_flight - delayed, in_flight, delayed }
    }

    pub(crate) fn in_flight_count(&self) -> usize {
        self.deadlines.len()
    }

    /// Stores a message that was just accepted.
    pub(crate) fn add(&mut self, stored: Stored, group: &str, is_delayed: bool) {
        let Stored { seq, position, sent_at } = stored;
        let state = if is_delayed { State::Delayed } else { State::Visible };
        if is_delayed {
            self.delayed.push_back(seq);
        }
        self.insert(seq, group, state, Data::Untouched { position, sent_at });
    }

    /// Puts in a message of another queue, visible, as the newest one.
    pub(crate) fn put_moved(&mut self, touched: Touched, group: &str) {
        let (seq, visible_at) = (touched.stored.seq, touched.stored.sent_at);
        let kept = Kept { touched, visible_at, attempt: None };
        self.insert(seq, group, State::Visible, Data::Touched(Box::new(kept)));
    }

    fn insert(&mut self, seq: MessageSeq, group: &str, state: State, data: Data) {
        assert!(self.entries.is_empty() || self.newest < seq, "messages come in the order of their numbers");
        self.newest = seq;
        let group = self.groups.push(group, seq);
        self.entries.insert(seq, Entry { group, state, data });
        self.list(group);
    }

    /// Removes a message whatever its state.
    fn remove(&mut self, seq: MessageSeq) -> Option<Entry> {
        let entry = self.entries.remove(&seq)?;
        match (entry.state, &entry.data) {
            (State::InFlight, Data::Touched(kept)) => {
                let listed = self.deadlines.remove(&(kept.visible_at, seq));
                assert!(listed, "every message in flight has its deadline listed");
            }
            (State::Delayed, _) => {
                // Only the oldest message of a queue goes while it is delayed.
                let first = self.delayed.pop_front();
                assert_eq!(first, Some(seq), "the oldest delayed message is the first of the delayed");
            }
            _ => {}
        }
        if self.groups.remove(entry.group, seq) {
            self.list(entry.group);
        }
        Some(entry)
    }

    /// Lists a group as ready or not, after anything that concerns its first message.
    fn list(&mut self, index: GroupIndex) {
        let first = self.groups.get(index).messages().next().expect("a group has messages");
        let entry = &self.entries[&first];
        let turn = match entry.state {
            State::Delayed | State::InFlight => None,
            State::Visible if entry.was_received_here() => Some(self.groups.served(index)),
            State::Visible => Some(Turn { after: first, delivery: 0 }),
        };
        self.groups.list(index, turn);
    }

    /// The messages that can be delivered now, at most `max`: each group's from its first one on.
    pub(crate) fn next_visible(&self, max: usize) -> Vec<MessageSeq> {
        let is_visible = |seq: &MessageSeq| self.entries[seq].state == State::Visible;
        let of_group =
            |group: &'_ group::Group| group.messages().take_while(is_visible).take(max).collect::<Vec<_>>();
        self.groups.ready().flat_map(of_group).take(max).collect()
    }

    /// Moves a visible message into flight.
    ///
    /// # Panics
    /// If it is not visible: a receive names what `next_visible` gave, and replay repeats it.
    pub(crate) fn receive(&mut self, seq: MessageSeq, now: Timestamp, visible_at: Timestamp) {
        let entry = self.entries.get_mut(&seq).expect("a received message is here");
        assert_eq!(entry.state, State::Visible, "a received message was visible");
        let mut touched = entry.to_touched(seq);
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
        let entry = self.entries.get_mut(&seq).expect("only a message that is here is hidden");
        let Data::Touched(kept) = &mut entry.data else { panic!("only a touched message is hidden") };
        if entry.state == State::InFlight {
            self.deadlines.remove(&(kept.visible_at, seq));
        }
        kept.visible_at = visible_at;
        entry.state = State::InFlight;
        self.deadlines.insert((visible_at, seq));
        let group = entry.group;
        self.list(group);
    }

    fn void_attempt(&mut self, seq: MessageSeq) {
        if let Some(kept) = self.kept_mut(seq)
            && let Some(attempt) = kept.attempt.clone()
        {
            let receive_count = kept.touched.receive_count;
            self.attempts.void(&attempt, (seq, receive_count));
        }
    }

    /// Removes a message that its receiver is done with.
    pub(crate) fn delete(&mut self, seq: MessageSeq) -> Released {
        self.void_attempt(seq);
        self.remove(seq).expect("only a message that is here is deleted").released()
    }

    /// Takes out a visible message, to put it into another queue. Also returns its group.
    pub(crate) fn take(&mut self, seq: MessageSeq) -> (Touched, Arc<str>) {
        let entry = self.entries.get(&seq).expect("a moved message is here");
        assert_eq!(entry.state, State::Visible, "a moved message is visible");
        let group = self.groups.get(entry.group).key.clone();
        let entry = self.remove(seq).expect("seen above");
        (entry.to_touched(seq), group)
    }

    /// A message that was received at least once and is not deleted, in flight or visible again.
    pub(crate) fn received(&self, seq: MessageSeq) -> Option<&Touched> {
        self.entries.get(&seq)?.received()
    }

    pub(crate) fn is_visible(&self, seq: MessageSeq) -> bool {
        self.entries.get(&seq).is_some_and(|entry| entry.state == State::Visible)
    }

    pub(crate) fn is_in_flight(&self, seq: MessageSeq) -> bool {
        self.entries.get(&seq).is_some_and(|entry| entry.state == State::InFlight)
    }

    /// Whether a receive with an attempt id, which its client can repeat, took the message.
    pub(crate) fn is_repeatable(&self, seq: MessageSeq) -> bool {
        let entry = self.entries.get(&seq).map(|entry| &entry.data);
        let Some(Data::Touched(kept)) = entry else { return false };
        let attempt = kept.attempt.as_deref().and_then(|id| self.attempts.get(id));
        attempt.is_some_and(|attempt| attempt.received.contains(&(seq, kept.touched.receive_count)))
    }

    fn kept_mut(&mut self, seq: MessageSeq) -> Option<&mut Kept> {
        match &mut self.entries.get_mut(&seq)?.data {
            Data::Touched(kept) => Some(kept),
            Data::Untouched { .. } => None,
        }
    }

    /// What is known of a message, whatever its state.
    pub(crate) fn get(&self, seq: MessageSeq) -> Option<Touched> {
        self.entries.get(&seq).map(|entry| entry.to_touched(seq))
    }

    /// The messages from a number on, with their states and, where that is one, the end of the timeout.
    pub(super) fn from(&self, seq: MessageSeq) -> impl Iterator<Item = (Touched, State, Timestamp)> {
        self.entries.range(seq..).map(|(seq, entry)| {
            let visible_at = match &entry.data {
                Data::Touched(kept) => kept.visible_at,
                Data::Untouched { sent_at, .. } => *sent_at,
            };
            (entry.to_touched(*seq), entry.state, visible_at)
        })
    }

    /// The accepted message that one with this id and group would repeat.
    pub(crate) fn find_duplicate(
        &self,
        scope: DeduplicationScope,
        id: &str,
        group: &str,
    ) -> Option<&Remembered> {
        self.deduplication.find(scope, id, group)
    }

    /// Remembers what duplicates of a message that was just added are known by.
    pub(crate) fn remember_sent(&mut self, id: &str, stored: &Stored, message_id: MessageId) {
        let Stored { seq, sent_at, .. } = *stored;
        let group = self.groups.get(self.entries[&seq].group).key.clone();
        self.deduplication.remember(Remembered { id: id.into(), group, sent_at, message_id, seq });
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
            self.delayed.front().copied().filter(|seq| self.entries[seq].sent_at() + delay <= now)
        {
            self.delayed.pop_front();
            self.show(seq);
        }
        while let Some((_, seq)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.deadlines.pop_first();
            self.show(seq);
        }
        while let Some((seq, _)) =
            self.entries.first_key_value().filter(|(_, e)| e.sent_at() + retention <= now)
        {
            let seq = *seq;
            released.push(self.remove(seq).expect("the first one").released());
        }
        self.deduplication.forget_expired(now);
        self.attempts.forget_expired(now);
    }

    fn show(&mut self, seq: MessageSeq) {
        let entry = self.entries.get_mut(&seq).expect("what is delayed or in flight is here");
        entry.state = State::Visible;
        let group = entry.group;
        self.list(group);
    }

    /// When a delay, a visibility timeout, the oldest message's retention or a memory ends next.
    pub(crate) fn next_due(&self, retention: Duration, delay: Duration) -> Option<Timestamp> {
        let visibility = self.deadlines.first().map(|(at, _)| *at);
        let delayed = self.delayed.front().map(|seq| self.entries[seq].sent_at() + delay);
        let expiry = self.entries.values().next().map(|oldest| oldest.sent_at() + retention);
        let memory = [self.deduplication.next_end(), self.attempts.next_end()].into_iter().flatten();
        visibility.into_iter().chain(delayed).chain(expiry).chain(memory.map(tidy_up_at)).min()
    }

    /// When the oldest message that is not delayed was sent.
    pub(crate) fn oldest_sent_at(&self) -> Option<Timestamp> {
        let mut oldest = self.entries.values().filter(|entry| entry.state != State::Delayed);
        oldest.next().map(Entry::sent_at)
    }

    /// Notes that the message's record moved, and that the new one names `holder`, this queue, and this number.
    pub(crate) fn relocate(&mut self, seq: MessageSeq, position: Position, holder: QueueId) -> Released {
        let entry = self.entries.get_mut(&seq).expect("a relocated message is in its queue");
        match &mut entry.data {
            Data::Untouched { position: place, .. } => Released::Record(std::mem::replace(place, position)),
            Data::Touched(kept) => kept.touched.relocate(position, holder),
        }
    }

    /// What was moved here from other queues.
    pub(crate) fn moved(&self) -> impl Iterator<Item = &Touched> {
        self.entries.values().filter_map(|entry| match &entry.data {
            Data::Touched(kept) if kept.touched.origin.is_some() => Some(&kept.touched),
            _ => None,
        })
    }

    /// Drops every message and forgets every id: recorded of a purge.
    pub(crate) fn clear(&mut self, released: &mut Vec<Released>) {
        let newest = self.newest;
        let all = std::mem::take(self);
        self.newest = newest;
        released.extend(all.entries.values().map(Entry::released));
    }

    pub(crate) fn snapshot(&self) -> FifoMessages {
        let mut groups = Vec::new();
        let mut numbers = BTreeMap::new();
        let mut messages = Vec::with_capacity(self.entries.len());
        for (entry, (touched, state, visible_at)) in self.entries.values().zip(self.from(MessageSeq(0))) {
            let group = *numbers.entry(entry.group).or_insert_with(|| {
                let group = self.groups.get(entry.group);
                groups.push((group.key.clone(), self.groups.served(entry.group)));
                groups.len() - 1
            });
            let state = match state {
                State::Visible => FifoState::Visible,
                State::Delayed => FifoState::Delayed,
                State::InFlight => FifoState::InFlight { visible_at },
            };
            let attempt = match &entry.data {
                Data::Touched(kept) => kept.attempt.clone(),
                Data::Untouched { .. } => None,
            };
            messages.push(FifoMessage { touched, group, state, attempt });
        }
        FifoMessages {
            newest: self.newest,
            deliveries: self.groups.deliveries(),
            groups,
            messages,
            remembered: self.deduplication.to_vec(),
            attempts: self.attempts.iter().cloned().collect(),
        }
    }

    /// # Panics
    /// If the parts contradict each other: the decoder checked them.
    pub(crate) fn restore(from: FifoMessages) -> Self {
        let mut fifo = Fifo::default();
        for FifoMessage { touched, group, state, attempt } in from.messages {
            let seq = touched.stored.seq;
            let (group, _) = &from.groups[group];
            match state {
                FifoState::Delayed => fifo.add(touched.stored, group, true),
                _ if touched == Touched::never_received(touched.stored) => {
                    fifo.add(touched.stored, group, false);
                }
                _ => fifo.put_moved(touched, group),
            }
            if let Some(kept) = fifo.kept_mut(seq) {
                kept.attempt = attempt;
            }
            if let FifoState::InFlight { visible_at } = state {
                fifo.hide(seq, visible_at);
            }
        }
        fifo.newest = from.newest;
        fifo.groups.restore_deliveries(from.deliveries);
        for (key, served) in &from.groups {
            let index = fifo.groups.restore_served(key, *served);
            fifo.list(index);
        }
        from.remembered.into_iter().for_each(|accepted| fifo.deduplication.remember(accepted));
        from.attempts.into_iter().for_each(|attempt| fifo.attempts.remember(attempt));
        fifo
    }
}

/// When a memory that ends at `end` is given back: with those of the same ten seconds, not for each id alone.
fn tidy_up_at(end: Timestamp) -> Timestamp {
    Timestamp::from_millis(end.as_millis().next_multiple_of(10_000))
}

/// The messages of a FIFO queue as plain data; what a checkpoint keeps of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FifoMessages {
    /// The newest message that was accepted.
    pub newest: MessageSeq,
    /// How many messages were delivered.
    pub deliveries: u64,
    /// The groups that have messages, in the order of their first ones, and their turns when they were served last.
    pub groups: Vec<(Arc<str>, Turn)>,
    /// The messages in the order of their numbers.
    pub messages: Vec<FifoMessage>,
    /// What duplicates are known by, oldest first.
    pub remembered: Vec<Remembered>,
    /// The receives that have an attempt id, oldest first.
    pub attempts: Vec<Attempt>,
}

/// One message of a FIFO queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FifoMessage {
    /// What is known of it, whether it was received or not.
    pub touched: Touched,
    /// Its group, as an index.
    pub group: usize,
    /// Whether it can be received.
    pub state: FifoState,
    /// The attempt id of its newest receive.
    pub attempt: Option<Arc<str>>,
}

/// The state of a message of a FIFO queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FifoState {
    /// Visible, but perhaps behind others of its group.
    Visible,
    /// Hidden by the queue's delay.
    Delayed,
    /// Received.
    InFlight {
        /// Until then.
        visible_at: Timestamp,
    },
}
