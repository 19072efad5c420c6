//! Commands on messages: send, receive, delete, change visibility.

use super::{Engine, Journal};
use crate::queue::{Backlog, Parked, Repetition, Wanted};
use crate::{
    Delivery, Error, Event, FifoAttributes, MessageSeq, Position, QueueAddress, QueueId, Receipt, Receive,
    Reply, RequestId, SendEntry, Sent, StoredMessage, Timestamp, limits,
};
use std::time::Duration;

impl Engine {
    pub(super) fn send(
        &mut self,
        now: Timestamp,
        request: RequestId,
        queue: &QueueAddress,
        entries: Vec<SendEntry>,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        assert!(entries.len() <= limits::BATCH_ENTRIES, "the protocol bounds batches");
        let id = self.find(queue)?;
        if let Some(fifo) = self.queue(id).attributes.fifo {
            self.check_fifo(id, fifo, &entries)?;
            // Forgets the ids whose interval is over.
            self.advance(now, id);
        }
        let sent = entries.into_iter().map(|entry| self.send_one(now, id, entry, journal)).collect();
        journal.reply(request, Ok(Reply::Sent(sent)));
        self.settle(now, id, journal);
        Ok(())
    }

    fn send_one(
        &mut self,
        now: Timestamp,
        id: QueueId,
        entry: SendEntry,
        journal: &mut impl Journal,
    ) -> Result<Sent, Error> {
        let attributes = &self.queue(id).attributes;
        let limit = attributes.maximum_message_size;
        if entry.message.size() > limit as usize {
            return Err(Error::MessageTooLong { limit });
        }
        let visible_at = now + entry.delay.unwrap_or(attributes.delay);
        if let Some(first) = self.find_duplicate(id, &entry) {
            return Ok(first);
        }
        let seq = self.next_seq();
        let sequence = self.queue(id).messages.fifo().map(|_| seq);
        let sent = Sent { id: entry.message.id, sequence };
        let stored = StoredMessage { queue: id, seq, sent_at: now, message: entry.message };
        self.commit(now, &Event::MessageSent { stored, visible_at }, journal);
        Ok(sent)
    }

    /// Messages for a FIFO queue are accepted together or not at all, since each is to come after the ones before it.
    /// They need deduplication ids; a digest of the body is one only where the queue says so.
    fn check_fifo(&mut self, id: QueueId, fifo: FifoAttributes, entries: &[SendEntry]) -> Result<(), Error> {
        let limit = self.queue(id).attributes.maximum_message_size;
        let lacks_id = |entry: &SendEntry| {
            entry.message.deduplication_id.is_none()
                || (entry.content_based && !fifo.content_based_deduplication)
        };
        if entries.iter().any(lacks_id) {
            return Err(Error::DeduplicationIdMissing);
        }
        let is_too_long = |entry: &SendEntry| entry.message.size() > limit as usize;
        if entries.iter().any(is_too_long) { Err(Error::MessageTooLong { limit }) } else { Ok(()) }
    }

    /// What the sender of a duplicate is told.
    fn find_duplicate(&mut self, id: QueueId, entry: &SendEntry) -> Option<Sent> {
        let queue = self.queue(id);
        let scope = queue.attributes.fifo?.deduplication_scope;
        let deduplication_id = entry.message.deduplication_id.as_deref()?;
        let group = entry.message.group_id.as_deref().unwrap_or_default();
        let first = queue.messages.fifo()?.find_duplicate(scope, deduplication_id, group)?;
        Some(Sent { id: first.message_id, sequence: Some(first.seq) })
    }

    pub(super) fn receive(
        &mut self,
        now: Timestamp,
        request: RequestId,
        receive: &Receive,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        assert!((1..=limits::BATCH_ENTRIES).contains(&receive.max), "the protocol bounds receives");
        let id = self.find(&receive.queue)?;
        self.advance(now, id);
        let wanted = Wanted::of(receive);
        let in_flight_max = self.in_flight_max(id);
        let queue = self.queue(id);
        let has_room = queue.messages.in_flight_count() < in_flight_max;
        let is_wanting = has_room && queue.messages.is_wanting();
        let deliveries = if is_wanting { Vec::new() } else { self.take_visible(now, id, &wanted, journal)? };
        let queue = self.queue(id);
        let stalled = is_wanting || (has_room && queue.messages.is_stalled());
        let mut wait = receive.wait.unwrap_or(queue.attributes.wait_time);
        let is_hurried = stalled && wait.is_zero();
        if stalled {
            // There are messages; they only have to be brought back, with another try if the last one failed.
            queue.messages.backlog_mut().into_iter().for_each(Backlog::want_again);
            wait = wait.max(limits::LOAD_TIME_MAX);
        }
        if !deliveries.is_empty() || wait.is_zero() {
            let full = queue.messages.in_flight_count() >= in_flight_max;
            if deliveries.is_empty() && full && queue.messages.fifo().is_none() {
                return Err(Error::OverLimit);
            }
            journal.reply(request, Ok(Reply::Received(deliveries)));
            self.settle(now, id, journal);
            return Ok(());
        }
        if self.parked.len() >= limits::PARKED_MAX {
            return Err(Error::TooManyWaiting);
        }
        let deadline = now + wait;
        let parked = Parked { request, wanted, deadline };
        let queue = self.queue(id);
        let place = queue.waiting.join(parked);
        queue.hurried.extend(is_hurried.then_some(request));
        self.parked.insert(request, (id, place));
        self.timers.arm_parked(deadline, request);
        if stalled || self.queue(id).moves_left {
            self.settle(now, id, journal);
        }
        Ok(())
    }

    /// Receives what is visible now, at most `max` messages and what the in-flight quota leaves.
    fn take_visible(
        &mut self,
        now: Timestamp,
        id: QueueId,
        wanted: &Wanted,
        journal: &mut impl Journal,
    ) -> Result<Vec<Delivery>, Error> {
        let queue = self.queue(id);
        let visible_at = now + wanted.visibility_timeout.unwrap_or(queue.attributes.visibility_timeout);
        let attempt_id = wanted.attempt_id.clone().filter(|_| queue.messages.fifo().is_some());
        match attempt_id.as_deref().map(|attempt| queue.messages.fifo_mut().repetition(attempt)) {
            Some(Repetition::Void) => return Err(Error::AttemptNotRetryable),
            Some(Repetition::Same(messages)) => {
                let event = Event::ReceiveRepeated { queue: id, messages, visible_at };
                self.commit(now, &event, journal);
                let Event::ReceiveRepeated { messages, .. } = event else { unreachable!("made above") };
                return Ok(self.deliveries(id, messages));
            }
            Some(Repetition::Fresh) | None => {}
        }
        let room = self.in_flight_max(id).saturating_sub(self.queue(id).messages.in_flight_count());
        let messages = self.next_deliverable(now, id, wanted.max.min(room), journal);
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let event = Event::MessagesReceived { queue: id, messages, visible_at, attempt_id };
        self.commit(now, &event, journal);
        let Event::MessagesReceived { messages, .. } = event else { unreachable!("made above") };
        Ok(self.deliveries(id, messages))
    }

    fn in_flight_max(&mut self, id: QueueId) -> usize {
        match self.queue(id).messages.fifo() {
            None => self.config.in_flight_max,
            Some(_) => self.config.fifo_in_flight_max,
        }
    }

    /// What the receiver of messages is told, right after their receive.
    fn deliveries(&mut self, id: QueueId, messages: Vec<MessageSeq>) -> Vec<Delivery> {
        let held = &self.queue(id).messages;
        let delivery = |seq| {
            let touched = held.received(seq).expect("just received");
            Delivery {
                receipt: Receipt { queue: id, seq, receive: touched.receive_count },
                position: touched.stored.position,
                receive_count: touched.receive_count,
                sent_at: touched.stored.sent_at,
                first_received_at: touched.first_received_at,
                origin: touched.origin.clone(),
            }
        };
        messages.into_iter().map(delivery).collect()
    }

    /// Gives visible messages to the receives that wait, first come first served.
    pub(super) fn serve_waiting(&mut self, now: Timestamp, id: QueueId, journal: &mut impl Journal) {
        loop {
            self.advance(now, id);
            if self.queue(id).messages.is_wanting() {
                return;
            }
            let Some(first) = self.queue(id).waiting.first().cloned() else { return };
            let taken = self.take_visible(now, id, &first.wanted, journal);
            if taken.as_ref().is_ok_and(Vec::is_empty) {
                return;
            }
            self.cancel(first.request);
            journal.reply(first.request, taken.map(Reply::Received));
        }
    }

    /// Answers the receives that only waited for what was away and now find that there is nothing for them.
    pub(super) fn answer_hurried(&mut self, id: QueueId, journal: &mut impl Journal) {
        let in_flight_max = self.config.in_flight_max;
        let Some(queue) = self.queues.get_mut(&id).filter(|queue| !queue.hurried.is_empty()) else { return };
        if queue.messages.is_wanting() || queue.messages.is_stalled() {
            return;
        }
        let is_full = queue.messages.in_flight_count() >= in_flight_max;
        for request in std::mem::take(&mut queue.hurried) {
            self.cancel(request);
            let nothing = Ok(Reply::Received(Vec::new()));
            journal.reply(request, if is_full { Err(Error::OverLimit) } else { nothing });
        }
    }

    pub(super) fn delete(
        &mut self,
        now: Timestamp,
        request: RequestId,
        queue: &QueueAddress,
        receipts: &[Receipt],
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        assert!(receipts.len() <= limits::BATCH_ENTRIES, "the protocol bounds batches");
        let id = self.find(queue)?;
        self.advance(now, id);
        let settled = receipts.iter().map(|receipt| self.delete_one(now, id, *receipt, journal)).collect();
        journal.reply(request, Ok(Reply::Settled(settled)));
        self.settle(now, id, journal);
        Ok(())
    }

    /// A message that is gone, or was received again since, leaves nothing to delete and is no error. On a FIFO queue a
    /// receipt ends with its visibility timeout (both recorded).
    fn delete_one(
        &mut self,
        now: Timestamp,
        id: QueueId,
        receipt: Receipt,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        if receipt.queue != id {
            return Err(Error::ReceiptOfOtherQueue);
        }
        self.check_window(receipt)?;
        if self.is_newest_receive(receipt) {
            self.commit(now, &Event::MessageDeleted { queue: id, seq: receipt.seq }, journal);
        }
        Ok(())
    }

    fn is_newest_receive(&self, receipt: Receipt) -> bool {
        let queue = self.queues.get(&receipt.queue);
        let touched = queue.and_then(|queue| queue.messages.received(receipt.seq));
        touched.is_some_and(|touched| touched.receive_count == receipt.receive)
    }

    /// Refuses the receipt of a message of a FIFO queue that is not in flight from that receive.
    fn check_window(&mut self, receipt: Receipt) -> Result<(), Error> {
        let Some(fifo) = self.queue(receipt.queue).messages.fifo() else { return Ok(()) };
        let Some(touched) = fifo.received(receipt.seq) else { return Ok(()) };
        let in_window = touched.receive_count == receipt.receive && fifo.is_in_flight(receipt.seq);
        if in_window { Ok(()) } else { Err(Error::ReceiptExpired) }
    }

    pub(super) fn change_visibility(
        &mut self,
        now: Timestamp,
        request: RequestId,
        queue: &QueueAddress,
        changes: &[(Receipt, Duration)],
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        assert!(changes.len() <= limits::BATCH_ENTRIES, "the protocol bounds batches");
        let id = self.find(queue)?;
        let change = |(receipt, timeout): &(Receipt, Duration)| {
            self.change_visibility_of_one(now, id, *receipt, *timeout, journal)
        };
        let settled = changes.iter().map(change).collect();
        journal.reply(request, Ok(Reply::Settled(settled)));
        self.settle(now, id, journal);
        Ok(())
    }

    /// Recorded: a receipt older than the message's newest receive is accepted too, and so is one whose
    /// timeout has ended while nobody received the message again.
    fn change_visibility_of_one(
        &mut self,
        now: Timestamp,
        id: QueueId,
        receipt: Receipt,
        timeout: Duration,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        if receipt.queue != id {
            return Err(Error::ReceiptOfOtherQueue);
        }
        // Each time: the change before it may have ended the receipt's window.
        self.advance(now, id);
        self.check_window(receipt)?;
        let touched = self.queue(id).messages.received(receipt.seq).ok_or(Error::NotAvailable)?;
        if now.since(touched.received_at) + timeout > limits::VISIBILITY_TIMEOUT_MAX {
            return Err(Error::VisibilityBeyondLimit);
        }
        let visible_at = now + timeout;
        self.commit(now, &Event::VisibilityChanged { receipt, visible_at }, journal);
        Ok(())
    }

    pub(super) fn return_undelivered(
        &mut self,
        now: Timestamp,
        request: RequestId,
        receipts: &[Receipt],
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        for &receipt in receipts {
            if self.queues.contains_key(&receipt.queue) {
                self.advance(now, receipt.queue);
                // A client that gave an attempt id will ask again, and must find its messages as they were.
                let fifo = self.queue(receipt.queue).messages.fifo();
                let is_repeatable = fifo.is_some_and(|fifo| fifo.is_repeatable(receipt.seq));
                let in_window = self.check_window(receipt).is_ok();
                if self.is_newest_receive(receipt) && in_window && !is_repeatable {
                    self.commit(now, &Event::VisibilityChanged { receipt, visible_at: now }, journal);
                }
                self.settle(now, receipt.queue, journal);
            }
        }
        journal.reply(request, Ok(Reply::Done));
        Ok(())
    }

    pub(super) fn relocate(
        &mut self,
        now: Timestamp,
        request: RequestId,
        messages: Vec<(Position, StoredMessage)>,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        for (position, stored) in messages {
            if let Some(stored) = self.brought_up_to_date(now, stored, position) {
                let queue = stored.queue;
                self.commit(now, &Event::MessageRelocated { stored }, journal);
                self.note_footprint(queue);
            }
        }
        journal.reply(request, Ok(Reply::Done));
        Ok(())
    }

    pub(super) fn advance(&mut self, now: Timestamp, id: QueueId) {
        let queue = self.queues.get_mut(&id).expect("the caller found the queue");
        queue.advance(now, &mut self.released);
    }
}
