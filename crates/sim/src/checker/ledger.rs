//! What the history says about each message: whether it was stored, and whether it may be gone.

use super::attributes::{AllAttributes, Attributes};
use super::hiding::{Hiding, Hidings};
use crate::content::{Tag, recognize};
use crate::history::{Content, Fact, Look};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, Command, Delivery, MessageSeq, PeekedState, QueueAddress, QueueId, QueueName, Receipt,
    Receive, Reply, RequestId, StoredMessage, Timestamp,
};
use tidegate_store::Outcome;

/// Where a message is: its queue and its number there.
pub(crate) type Place = (QueueName, MessageSeq);

/// Whether something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knowledge {
    No,
    Perhaps,
    Yes,
}

/// What is known of a message.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The queue that it was sent to.
    pub(crate) queue: QueueAddress,
    pub(crate) stored: Knowledge,
    /// `Yes` is final: such a message must never be seen again.
    pub(crate) gone: bool,
    /// Requests that may have removed it. They are settled when they are answered, or by the next look.
    pub(crate) doubts: u32,
    /// Not before its retention may have ended; counted from the last time it may have been sent or moved.
    pub(crate) expires_at: Timestamp,
    /// When it may have been sent.
    pub(crate) sent_at: Timestamp,
    /// Its group.
    pub(crate) group: Option<Box<str>>,
    /// Nobody receives it before then.
    pub(crate) visible_at: Timestamp,
    /// Where it was seen last.
    pub(crate) place: Option<Place>,
}

impl Known {
    /// Whether it must be there at an instant that no clock has passed yet.
    pub(crate) fn is_certain(&self, latest: Timestamp) -> bool {
        self.stored == Knowledge::Yes && !self.gone && self.doubts == 0 && latest < self.expires_at
    }
}

/// What a request that is under way may remove.
#[derive(Debug, Default)]
struct Doubted {
    /// In the order of the receipts of a delete; of a purge all that may be in the queue.
    tags: Vec<Option<Tag>>,
}

/// What is known of every message.
#[derive(Debug, Default)]
pub struct Ledger {
    messages: BTreeMap<Tag, Known>,
    places: BTreeMap<Place, Tag>,
    /// Which queue a number in receipts stands for.
    names: BTreeMap<QueueId, QueueName>,
    /// Receives so far of what was received or looked at; `None` where a request that was cut off may have added one.
    receives: BTreeMap<Place, u32>,
    hidings: Hidings,
    attributes: AllAttributes,
    doubted: BTreeMap<RequestId, Doubted>,
    /// Receives with an attempt id that are under way.
    attempts: BTreeMap<RequestId, (QueueName, Box<str>)>,
    /// Those that were under way when a process ended: what they got may be had again by their id.
    cut_off: BTreeSet<(QueueName, Box<str>)>,
    /// Sends under way.
    sending: BTreeMap<RequestId, Vec<Tag>>,
    /// The latest instant that any fact has had. After a crash the server's clock may be behind it.
    latest: Timestamp,
    /// Whether receives may have been cut off since the last look.
    is_unsure: bool,
    /// The shortest retention period of all queues.
    retention: Option<Duration>,
}

impl Ledger {
    /// Says how short the shortest retention period of all queues ever is; four days if nobody says so.
    pub fn set_retention(&mut self, retention: Duration) {
        self.retention = Some(retention);
    }

    pub(crate) fn latest(&self) -> Timestamp {
        self.latest
    }

    pub(crate) fn messages(&self) -> impl Iterator<Item = (Tag, &Known)> {
        self.messages.iter().map(|(tag, known)| (*tag, known))
    }

    pub(crate) fn get(&self, tag: Tag) -> Option<&Known> {
        self.messages.get(&tag)
    }

    pub(crate) fn at(&self, place: &Place) -> Option<Tag> {
        self.places.get(place).copied()
    }

    /// The messages that were last known to be in a queue, in the order of their numbers.
    pub(crate) fn in_queue(&self, queue: &QueueName) -> impl Iterator<Item = (&Place, Tag, &Known)> {
        let (first, last) = ((queue.clone(), MessageSeq(0)), (queue.clone(), MessageSeq(u64::MAX)));
        self.places.range(first..=last).filter_map(|(place, tag)| {
            let known = self.messages.get(tag)?;
            (known.place.as_ref() == Some(place)).then_some((place, *tag, known))
        })
    }

    /// Whether receives may have happened of which nothing is known.
    pub(crate) fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// The place that a receipt is about; `None` if none of its queue was ever handed out.
    pub(crate) fn place(&self, receipt: Receipt) -> Option<Place> {
        Some((self.names.get(&receipt.queue)?.clone(), receipt.seq))
    }

    pub(crate) fn hiding(&self, place: &Place) -> Option<&Hiding> {
        self.hidings.get(place)
    }

    pub(crate) fn attributes(&self, queue: &QueueAddress) -> Option<&Attributes> {
        self.attributes.get(queue)
    }

    fn message(&self, receipt: Receipt) -> Option<Tag> {
        self.at(&self.place(receipt)?)
    }

    /// How often a message was received there, as far as that is known.
    pub(crate) fn receives(&self, place: &Place) -> Option<u32> {
        self.receives.get(place).copied()
    }

    /// Whether a receive gives once more what an earlier one with its attempt id got.
    pub(crate) fn is_repeated(&self, receive: &Receive, delivery: &Delivery) -> bool {
        let Some(attempt) = &receive.attempt_id else { return false };
        let place = (receive.queue.name.clone(), delivery.receipt.seq);
        let before = self.hidings.get(&place);
        let is_known =
            before.is_some_and(|it| it.receipt == delivery.receipt && it.attempt.as_ref() == Some(attempt));
        let may_be = self.cut_off.contains(&(place.0.clone(), attempt.clone()));
        is_known || (may_be && self.receives(&place) == Some(delivery.receive_count))
    }

    /// Whether a receipt is that of the newest receive for certain.
    pub(crate) fn is_newest(&self, receipt: Receipt) -> bool {
        let newest = self.place(receipt).and_then(|place| self.receives.get(&place));
        !self.is_unsure && newest == Some(&receipt.receive)
    }

    pub(crate) fn observe(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::Asked { now, request, command } => {
                self.latest = self.latest.max(*now);
                self.ask(*now, *request, command);
            }
            Fact::Answered { now, request, command, outcome, contents } => {
                self.latest = self.latest.max(*now);
                self.answer(*now, *request, command, outcome, contents);
            }
            Fact::Ended => {
                self.is_unsure = true;
                // What they may have done is settled by the next look.
                self.doubted.clear();
                self.sending.clear();
                self.cut_off.extend(std::mem::take(&mut self.attempts).into_values());
            }
            Fact::Looked(look) => self.look(look),
            Fact::Damaged(_) => {}
        }
    }

    fn ask(&mut self, now: Timestamp, request: RequestId, command: &Command) {
        self.attributes.ask(request, command);
        match command {
            Command::Send { queue, entries } => {
                let expires_at = now + self.retention();
                let delays = self.attributes(queue).map(|attributes| attributes.delay.all());
                let delay = delays.and_then(Iterator::min).copied().unwrap_or_default();
                let mut tags = Vec::with_capacity(entries.len());
                for entry in entries {
                    let Some(tag) = recognize(&entry.message) else { continue };
                    let known = Known {
                        queue: queue.clone(),
                        stored: Knowledge::Perhaps,
                        gone: false,
                        doubts: 0,
                        expires_at,
                        sent_at: now,
                        group: entry.message.group_id.clone(),
                        visible_at: now + entry.delay.unwrap_or(delay),
                        place: None,
                    };
                    self.messages.insert(tag, known);
                    tags.push(tag);
                }
                self.sending.insert(request, tags);
            }
            Command::Delete { receipts, .. } => {
                let tags = receipts.iter().map(|receipt| self.message(*receipt));
                self.doubt(request, tags.collect());
            }
            Command::SetQueueAttributes { queue, attributes } => {
                for change in attributes {
                    if let AttributeChange::DelaySeconds(delay) = change {
                        self.may_show(queue, *delay);
                    }
                }
            }
            Command::PurgeQueue { queue } => {
                let may_be_there = self.messages.iter().filter(|(_, known)| may_be_in(known, queue));
                let tags = may_be_there.map(|(tag, _)| Some(*tag)).collect();
                self.doubt(request, tags);
            }
            Command::Receive(receive) => {
                if let Some(attempt) = &receive.attempt_id {
                    let until = now + self.timeout(receive);
                    self.attempts.insert(request, (receive.queue.name.clone(), attempt.clone()));
                    self.hidings.may_repeat(request, &receive.queue.name, attempt, until);
                }
            }
            Command::ChangeVisibility { changes, .. } => {
                for (receipt, timeout) in changes {
                    self.may_hide(request, *receipt, now + *timeout);
                }
            }
            Command::ReturnUndelivered { receipts } => {
                receipts.iter().for_each(|receipt| self.may_hide(request, *receipt, now));
            }
            _ => {}
        }
    }

    /// A changed delay of a FIFO queue is that of the messages in it, too.
    fn may_show(&mut self, queue: &QueueAddress, delay: Duration) {
        for known in self.messages.values_mut().filter(|known| known.queue == *queue) {
            if queue.name.is_fifo() {
                known.visible_at = known.visible_at.min(known.sent_at + delay);
            }
        }
    }

    fn may_hide(&mut self, request: RequestId, receipt: Receipt, until: Timestamp) {
        if let Some(place) = self.place(receipt) {
            self.hidings.may_change(request, &place, until);
        }
    }

    fn settle(&mut self, request: RequestId, receipt: Receipt, until: Option<Timestamp>) {
        if let Some(place) = self.place(receipt) {
            self.hidings.settle(request, &place, until);
        }
    }

    /// How long what a receive gets is hidden at least.
    fn timeout(&self, receive: &Receive) -> Duration {
        let timeouts = self.attributes(&receive.queue).map(|attributes| attributes.visibility_timeout.all());
        let shortest = timeouts.and_then(Iterator::min).copied().unwrap_or_default();
        receive.visibility_timeout.unwrap_or(shortest)
    }

    fn doubt(&mut self, request: RequestId, tags: Vec<Option<Tag>>) {
        for tag in tags.iter().flatten() {
            if let Some(known) = self.messages.get_mut(tag) {
                known.doubts += 1;
            }
        }
        self.doubted.insert(request, Doubted { tags });
    }

    fn retention(&self) -> Duration {
        self.retention.unwrap_or(Duration::from_secs(345_600))
    }

    fn answer(
        &mut self,
        now: Timestamp,
        request: RequestId,
        command: &Command,
        outcome: &Outcome,
        contents: &[Content],
    ) {
        self.attributes.answer(request, command, outcome.is_ok());
        if let Command::Receive(Receive { queue, attempt_id: Some(attempt), .. }) = command {
            self.attempts.remove(&request);
            self.hidings.settle_repeat(request, &queue.name, attempt);
        }
        match (command, outcome) {
            (Command::Send { .. }, outcome) => self.note_sent(now, request, outcome),
            (Command::ChangeVisibility { changes, .. }, outcome) => {
                for (n, (receipt, timeout)) in changes.iter().enumerate() {
                    let is_done = matches!(outcome, Ok(Reply::Settled(settled)) if settled[n].is_ok());
                    self.settle(request, *receipt, is_done.then_some(now + *timeout));
                }
            }
            (Command::ReturnUndelivered { receipts }, outcome) => {
                for receipt in receipts {
                    self.settle(request, *receipt, outcome.is_ok().then_some(now));
                }
            }
            (Command::Receive(receive), Ok(Reply::Received(deliveries))) => {
                for (delivery, content) in deliveries.iter().zip(contents) {
                    let Receipt { queue, seq, .. } = delivery.receipt;
                    self.names.insert(queue, receive.queue.name.clone());
                    let place = (receive.queue.name.clone(), seq);
                    self.receives.insert(place.clone(), delivery.receive_count);
                    self.find(place.clone(), content);
                    let until = now + self.timeout(receive);
                    self.hidings.receive(place, delivery.receipt, receive.attempt_id.clone(), until);
                }
            }
            (Command::Delete { receipts, .. }, outcome) => self.note_deleted(now, request, receipts, outcome),
            (Command::PurgeQueue { queue }, outcome) => self.note_purged(request, queue, outcome.is_ok()),
            _ => {}
        }
    }

    fn note_sent(&mut self, now: Timestamp, request: RequestId, outcome: &Outcome) {
        let expires_at = now + self.retention();
        for (n, tag) in self.sending.remove(&request).unwrap_or_default().into_iter().enumerate() {
            let Some(known) = self.messages.get_mut(&tag) else { continue };
            let sent = match outcome {
                Ok(Reply::Sent(sent)) => sent[n].as_ref().ok().filter(|it| it.id == crate::content::id(tag)),
                _ => None,
            };
            known.stored = if sent.is_some() { Knowledge::Yes } else { Knowledge::No };
            known.expires_at = expires_at;
            if let Some(seq) = sent.and_then(|sent| sent.sequence) {
                let place = (known.queue.name.clone(), seq);
                known.place = Some(place.clone());
                self.places.insert(place, tag);
            }
        }
    }

    fn note_deleted(&mut self, now: Timestamp, request: RequestId, receipts: &[Receipt], outcome: &Outcome) {
        let Some(doubted) = self.doubted.remove(&request) else { return };
        for (n, (receipt, tag)) in receipts.iter().zip(doubted.tags).enumerate() {
            let (is_newest, place) = (self.is_newest(*receipt), self.place(*receipt));
            // What is visible may go to another queue, and then there is nothing left to delete.
            let is_here = place.as_ref().is_some_and(|place| self.is_certainly_at(now, place));
            let Some(known) = tag.and_then(|tag| self.messages.get_mut(&tag)) else { continue };
            let is_done = matches!(outcome, Ok(Reply::Settled(settled)) if settled[n].is_ok());
            if is_done && is_newest && is_here && known.place == place {
                known.gone = true;
            }
            // Otherwise only a look tells.
            if !is_done || known.gone {
                known.doubts -= 1;
            }
        }
    }

    /// Whether a message that was received cannot have left its queue since.
    fn is_certainly_at(&self, now: Timestamp, place: &Place) -> bool {
        let is_hidden = self.hidings.get(place).is_some_and(|hiding| now < hiding.earliest());
        is_hidden || crate::queues::stays(&place.0)
    }

    fn note_purged(&mut self, request: RequestId, queue: &QueueAddress, is_done: bool) {
        let Some(doubted) = self.doubted.remove(&request) else { return };
        for tag in doubted.tags.iter().flatten() {
            let Some(known) = self.messages.get_mut(tag) else { continue };
            if !is_done {
                known.doubts -= 1;
            } else if known.queue == *queue && crate::queues::stays(&queue.name) {
                known.gone = true;
            }
        }
    }

    /// Takes note of which message is at a place.
    fn find(&mut self, place: Place, content: &Content) -> Option<Tag> {
        let tag = match content {
            Content::Whole(stored) => tag_of(stored)?,
            _ => return self.at(&place),
        };
        self.places.insert(place.clone(), tag);
        let known = self.messages.get_mut(&tag)?;
        known.place = Some(place);
        known.stored = Knowledge::Yes;
        Some(tag)
    }

    fn look(&mut self, look: &Look) {
        self.latest = self.latest.max(look.now);
        let mut seen = BTreeSet::new();
        let mut is_whole = !look.is_partial();
        for queue in &look.queues {
            self.attributes.see(&queue.address, &queue.view.attributes);
            for (peeked, content) in &queue.messages {
                let stored = peeked.touched.stored;
                let Content::Whole(_) = content else {
                    is_whole = false;
                    continue;
                };
                let place = (queue.address.name.clone(), stored.seq);
                self.receives.insert(place.clone(), peeked.touched.receive_count);
                seen.extend(self.find(place.clone(), content));
                let until = match peeked.state {
                    PeekedState::Visible => Timestamp::ZERO,
                    PeekedState::InFlight { visible_at } | PeekedState::Delayed { visible_at } => visible_at,
                };
                self.hidings.see(&place, until);
            }
        }
        if !is_whole {
            return;
        }
        self.is_unsure = false;
        let latest = self.latest;
        for (tag, known) in &mut self.messages {
            if seen.contains(tag) {
                known.doubts = 0;
            } else if known.stored == Knowledge::Perhaps || (known.doubts > 0 && latest < known.expires_at) {
                known.gone = true;
            }
        }
        let is_there = |known: &Known| !known.gone && known.stored != Knowledge::No;
        self.places.retain(|_, tag| self.messages.get(tag).is_some_and(is_there));
        self.receives.retain(|place, _| self.places.contains_key(place));
        self.hidings.retain(|place| self.places.contains_key(place));
    }
}

/// Which message a record holds.
pub(crate) fn tag_of(stored: &StoredMessage) -> Option<Tag> {
    recognize(&stored.message)
}

/// Whether a message may be in a queue: it was sent to it, or to one from which messages come.
fn may_be_in(known: &Known, queue: &QueueAddress) -> bool {
    !known.gone
        && known.stored != Knowledge::No
        && (known.queue == *queue || crate::queues::is_connected(&known.queue.name, &queue.name))
}
