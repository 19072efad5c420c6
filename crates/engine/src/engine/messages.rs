//! Commands on messages: send, receive, delete, change visibility.

use super::{Engine, Journal};
use crate::queue::Parked;
use crate::{
    Delivery, Error, Event, Position, QueueAddress, QueueId, Receipt, Receive, Reply, RequestId, SendEntry,
    Sent, StoredMessage, Timestamp, limits,
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
        let sent = Sent { id: entry.message.id, sequence: None };
        let stored = StoredMessage { queue: id, seq: self.next_seq(), sent_at: now, message: entry.message };
        self.commit(now, &Event::MessageSent { stored, visible_at }, journal);
        Ok(sent)
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
        let deliveries = self.take_visible(now, id, receive.max, receive.visibility_timeout, journal);
        let queue = self.queue(id);
        let stalled = queue.messages.backlog().is_stalled();
        let mut wait = receive.wait.unwrap_or(queue.attributes.wait_time);
        if stalled {
            // There are messages; they only have to be brought back.
            wait = wait.max(limits::LOAD_TIME_MAX);
        }
        if !deliveries.is_empty() || wait.is_zero() {
            let full = queue.messages.in_flight_count() >= self.config.in_flight_max;
            if deliveries.is_empty() && full {
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
        let visibility_timeout = receive.visibility_timeout;
        let parked = Parked { request, max: receive.max, visibility_timeout, deadline };
        let place = self.queue(id).waiting.join(parked);
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
        max: usize,
        visibility_timeout: Option<Duration>,
        journal: &mut impl Journal,
    ) -> Vec<Delivery> {
        let in_flight_max = self.config.in_flight_max;
        let room = in_flight_max.saturating_sub(self.queue(id).messages.in_flight_count());
        let messages = self.next_deliverable(now, id, max.min(room), journal);
        let queue = self.queue(id);
        if messages.is_empty() {
            return Vec::new();
        }
        let visible_at = now + visibility_timeout.unwrap_or(queue.attributes.visibility_timeout);
        let event = Event::MessagesReceived { queue: id, messages, visible_at };
        self.commit(now, &event, journal);
        let Event::MessagesReceived { messages, .. } = event else { unreachable!("made above") };
        let messages_of = &self.queue(id).messages;
        let delivery = |seq| {
            let touched = messages_of.touched(seq).expect("just received");
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
            let Some(first) = self.queue(id).waiting.first().copied() else { return };
            let deliveries = self.take_visible(now, id, first.max, first.visibility_timeout, journal);
            if deliveries.is_empty() {
                return;
            }
            self.cancel(first.request);
            journal.reply(first.request, Ok(Reply::Received(deliveries)));
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

    /// A message that is gone, or was received again since, leaves nothing to delete and is no error.
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
        if self.is_newest_receive(receipt) {
            self.commit(now, &Event::MessageDeleted { queue: id, seq: receipt.seq }, journal);
        }
        Ok(())
    }

    fn is_newest_receive(&self, receipt: Receipt) -> bool {
        let queue = self.queues.get(&receipt.queue);
        let touched = queue.and_then(|queue| queue.messages.touched(receipt.seq));
        touched.is_some_and(|touched| touched.receive_count == receipt.receive)
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
        self.advance(now, id);
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
        let touched = self.queue(id).messages.touched(receipt.seq).ok_or(Error::NotAvailable)?;
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
                if self.is_newest_receive(receipt) {
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
        for (position, mut stored) in messages {
            if let Some(holder) = self.holder(now, &stored, position) {
                stored.queue = holder;
                self.commit(now, &Event::MessageRelocated { stored }, journal);
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
