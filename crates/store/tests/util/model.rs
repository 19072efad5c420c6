//! A naive model of a server: what its clients were told, and so what must be true after a restart.
//!
//! It is fed commands and the answers to them, checks every answer, and never looks into the engine. A recovered
//! engine's snapshot, with every message's record read back from the log, becomes a model as well; recovery is
//! right when the two are equal.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, Chunk, Command, Counts, Delivery, Error, Extent, MessageSeq, Messages, Portion,
    Position, QueueAddress, QueueAttributes, QueueId, QueueView, Receipt, Receive, Reply, Snapshot,
    StandardMessages, Stored, StoredMessage, Tags, Timestamp, Touched, limits,
};
use tidegate_store::Outcome;

/// A command that was handed in.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) command: Command,
    /// Whether the log had no room for what the command demands.
    pub(crate) refused: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) queues: BTreeMap<QueueAddress, Queue>,
    deleted: BTreeMap<QueueAddress, Timestamp>,
    next_queue: u64,
    next_seq: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queue {
    pub(crate) id: QueueId,
    pub(crate) attributes: QueueAttributes,
    pub(crate) tags: Tags,
    pub(crate) created_at: Timestamp,
    pub(crate) modified_at: Timestamp,
    pub(crate) purged_at: Option<Timestamp>,
    /// By message number.
    pub(crate) messages: BTreeMap<u64, Held>,
}

/// One message that a queue holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    pub(crate) stored: Rc<StoredMessage>,
    /// Zero once it is visible.
    pub(crate) hidden_until: Timestamp,
    pub(crate) receive_count: u32,
    pub(crate) first_received_at: Timestamp,
    pub(crate) received_at: Timestamp,
    /// The queue that a dead letter left.
    pub(crate) source: Option<QueueAddress>,
}

impl Held {
    fn is_hidden(&self, now: Timestamp) -> bool {
        self.hidden_until > now
    }

    fn is_expired(&self, now: Timestamp, retention: Duration) -> bool {
        self.stored.sent_at + retention <= now
    }
}

impl Queue {
    fn advance(&mut self, now: Timestamp) {
        let retention = self.attributes.retention_period;
        self.messages.retain(|_, held| !held.is_expired(now, retention));
        for held in self.messages.values_mut().filter(|held| !held.is_hidden(now)) {
            held.hidden_until = Timestamp::ZERO;
        }
    }

    pub(crate) fn counts(&self, now: Timestamp) -> Counts {
        let mut counts = Counts::default();
        for held in self.messages.values() {
            match (held.is_hidden(now), held.receive_count) {
                (false, _) => counts.visible += 1,
                (true, 0) => counts.delayed += 1,
                (true, _) => counts.in_flight += 1,
            }
        }
        counts
    }

    fn newest_receive(&mut self, receipt: Receipt) -> Option<&mut Held> {
        let held = self.messages.get_mut(&receipt.seq.0)?;
        (held.receive_count > 0 && held.receive_count == receipt.receive).then_some(held)
    }

    fn send(&mut self, now: Timestamp, stored: StoredMessage, delay: Option<Duration>) {
        let visible_at = now + delay.unwrap_or(self.attributes.delay);
        let held = Held {
            hidden_until: if visible_at > now { visible_at } else { Timestamp::ZERO },
            receive_count: 0,
            first_received_at: Timestamp::ZERO,
            received_at: Timestamp::ZERO,
            source: None,
            stored: Rc::new(stored),
        };
        self.messages.insert(held.stored.seq.0, held);
    }

    /// `limit`: how often its messages may be received before they go to its dead-letter queue.
    fn receive(&mut self, now: Timestamp, receive: &Receive, deliveries: &[Delivery], limit: u32) {
        let visible = self.counts(now).visible as usize;
        let most = visible.min(receive.max);
        // Who waits is served with the first message that becomes visible, also when the same command makes more of
        // them visible.
        let least = if receive.wait == Some(Duration::ZERO) { most } else { most.min(1) };
        assert!((least..=most).contains(&deliveries.len()), "{least} to {most}, not {}", deliveries.len());
        let hidden_until = now + receive.visibility_timeout.unwrap_or(self.attributes.visibility_timeout);
        for delivery in deliveries {
            let seq = delivery.receipt.seq.0;
            let held = self.messages.get_mut(&seq).unwrap_or_else(|| panic!("message {seq} does not exist"));
            assert!(!held.is_hidden(now), "message {seq} is hidden until {}", held.hidden_until);
            held.receive_count += 1;
            held.received_at = now;
            if held.receive_count == 1 {
                held.first_received_at = now;
            }
            held.hidden_until = hidden_until;
            let receipt = Receipt { queue: self.id, seq: held.stored.seq, receive: held.receive_count };
            assert_eq!(delivery.receipt, receipt);
            let counters = (held.receive_count, held.first_received_at);
            assert_eq!((delivery.receive_count, delivery.first_received_at), counters);
            assert_eq!(delivery.dead_letter_source(), held.source.as_ref());
            assert!(held.receive_count <= limit, "message {seq} is a dead letter");
        }
    }

    fn delete(&mut self, receipt: Receipt) -> Result<(), Error> {
        if receipt.queue != self.id {
            return Err(Error::ReceiptOfOtherQueue);
        }
        if self.newest_receive(receipt).is_some() {
            self.messages.remove(&receipt.seq.0);
        }
        Ok(())
    }

    fn change_visibility(
        &mut self,
        now: Timestamp,
        receipt: Receipt,
        timeout: Duration,
    ) -> Result<(), Error> {
        if receipt.queue != self.id {
            return Err(Error::ReceiptOfOtherQueue);
        }
        let held = self.messages.get_mut(&receipt.seq.0).filter(|held| held.receive_count > 0);
        let held = held.ok_or(Error::NotAvailable)?;
        if now.since(held.received_at) + timeout > limits::VISIBILITY_TIMEOUT_MAX {
            return Err(Error::VisibilityBeyondLimit);
        }
        held.hidden_until = now + timeout;
        Ok(())
    }

    fn check_view(&self, now: Timestamp, address: &QueueAddress, view: &QueueView) {
        assert_eq!(&view.address, address);
        assert_eq!(view.attributes, self.attributes);
        assert_eq!(view.tags, self.tags);
        assert_eq!((view.created_at, view.modified_at), (self.created_at, self.modified_at));
        assert_eq!(view.counts, self.counts(now));
    }
}

fn with_changes(attributes: &QueueAttributes, changes: &[AttributeChange]) -> QueueAttributes {
    QueueAttributes::from_changes(&[&attributes.changes()[..], changes].concat())
}

impl Model {
    /// Takes over a command that was answered at `now`, and checks the answer.
    pub(crate) fn apply(&mut self, now: Timestamp, asked: &Asked, outcome: &Outcome) {
        if asked.refused {
            assert!(matches!(outcome, Err(Error::StorageFull)), "refused, not {outcome:?}");
            return;
        }
        self.advance(now);
        match &asked.command {
            Command::CreateQueue { queue, attributes, tags } => {
                expect_done(self.create(now, queue, attributes, tags), outcome);
            }
            Command::DeleteQueue { queue } => {
                let Some(_) = self.queues.remove(queue) else { return expect_missing(outcome) };
                self.deleted.insert(queue.clone(), now);
                expect_done(Ok(()), outcome);
            }
            Command::ListQueues { prefix, after, max, .. } => {
                self.check_list(prefix, after.is_some(), *max, outcome);
            }
            Command::ReturnUndelivered { receipts } => {
                for receipt in receipts {
                    let of_receipt = self.queues.values_mut().find(|queue| queue.id == receipt.queue);
                    if let Some(held) = of_receipt.and_then(|queue| queue.newest_receive(*receipt)) {
                        held.hidden_until = now;
                    }
                }
                expect_done(Ok(()), outcome);
            }
            Command::Relocate { .. } => expect_done(Ok(()), outcome),
            Command::Send { queue: address, entries } => {
                let next_seq = &mut self.next_seq;
                let Some(queue) = self.queues.get_mut(address) else { return expect_missing(outcome) };
                let Ok(Reply::Sent(sent)) = outcome else { panic!("not sent: {outcome:?}") };
                assert_eq!(sent.len(), entries.len());
                for (entry, sent) in entries.iter().zip(sent) {
                    let limit = queue.attributes.maximum_message_size;
                    if entry.message.size() > limit as usize {
                        assert_eq!(*sent, Err(Error::MessageTooLong { limit }));
                        continue;
                    }
                    assert_eq!(sent.as_ref().map(|sent| sent.id), Ok(entry.message.id));
                    let seq = MessageSeq(*next_seq);
                    *next_seq += 1;
                    let message = entry.message.clone();
                    queue.send(
                        now,
                        StoredMessage { queue: queue.id, seq, sent_at: now, message },
                        entry.delay,
                    );
                }
            }
            command => self.apply_to_queue(now, command, outcome),
        }
    }

    fn apply_to_queue(&mut self, now: Timestamp, command: &Command, outcome: &Outcome) {
        let (Command::FindQueue { queue: address }
        | Command::ViewQueue { queue: address }
        | Command::SetQueueAttributes { queue: address, .. }
        | Command::TagQueue { queue: address, .. }
        | Command::UntagQueue { queue: address, .. }
        | Command::PurgeQueue { queue: address }
        | Command::Receive(Receive { queue: address, .. })
        | Command::Delete { queue: address, .. }
        | Command::ChangeVisibility { queue: address, .. }) = command
        else {
            unreachable!("{command:?} was dealt with before")
        };
        if let (Command::Receive(receive), Err(Error::QueueMissing)) = (command, outcome)
            && receive.wait != Some(Duration::ZERO)
        {
            return; // It waited when its queue was deleted; that command's own answer comes after this one.
        }
        let limit = self.dead_letter_queue(address).map_or(u32::MAX, |(_, limit)| limit);
        let Some(queue) = self.queues.get_mut(address) else { return expect_missing(outcome) };
        match (command, outcome) {
            (Command::FindQueue { .. }, _) => expect_done(Ok(()), outcome),
            (Command::ViewQueue { .. }, Ok(Reply::Queue(view))) => queue.check_view(now, address, view),
            (Command::SetQueueAttributes { attributes, .. }, _) => {
                queue.attributes = with_changes(&queue.attributes, attributes);
                queue.modified_at = now;
                expect_done(Ok(()), outcome);
            }
            (Command::TagQueue { tags, .. }, _) => {
                queue.tags.extend(tags.clone());
                expect_done(Ok(()), outcome);
            }
            (Command::UntagQueue { keys, .. }, _) => {
                queue.tags.retain(|key, _| !keys.contains(key));
                expect_done(Ok(()), outcome);
            }
            (Command::PurgeQueue { .. }, _) => {
                if queue.purged_at.is_some_and(|at| now < at + limits::COOLDOWN) {
                    return expect_done(Err(Error::PurgeInProgress), outcome);
                }
                queue.messages.clear();
                queue.purged_at = Some(now);
                expect_done(Ok(()), outcome);
            }
            (Command::Receive(receive), Ok(Reply::Received(deliveries))) => {
                queue.receive(now, receive, deliveries, limit);
            }
            (Command::Delete { receipts, .. }, Ok(Reply::Settled(settled))) => {
                let expected: Vec<_> = receipts.iter().map(|receipt| queue.delete(*receipt)).collect();
                assert_eq!(settled, &expected);
            }
            (Command::ChangeVisibility { changes, .. }, Ok(Reply::Settled(settled))) => {
                let change = |(receipt, timeout): &_| queue.change_visibility(now, *receipt, *timeout);
                let expected: Vec<_> = changes.iter().map(change).collect();
                assert_eq!(settled, &expected);
            }
            _ => panic!("{command:?} was answered with {outcome:?}"),
        }
    }

    fn create(
        &mut self,
        now: Timestamp,
        address: &QueueAddress,
        attributes: &[AttributeChange],
        tags: &Tags,
    ) -> Result<(), Error> {
        if let Some(queue) = self.queues.get(address) {
            let differs = |change: &&AttributeChange| {
                with_changes(&queue.attributes, std::slice::from_ref(*change)) != queue.attributes
            };
            return match attributes.iter().find(differs) {
                Some(change) => Err(Error::QueueExists { attribute: change.name() }),
                None => Ok(()),
            };
        }
        if self.deleted.get(address).is_some_and(|at| now < *at + limits::COOLDOWN) {
            return Err(Error::QueueDeletedRecently);
        }
        let queue = Queue {
            id: QueueId(self.next_queue),
            attributes: QueueAttributes::from_changes(attributes),
            tags: tags.clone(),
            created_at: now,
            modified_at: now,
            purged_at: None,
            messages: BTreeMap::new(),
        };
        self.next_queue += 1;
        self.queues.insert(address.clone(), queue);
        Ok(())
    }

    fn check_list(&self, prefix: &str, later_page: bool, max: usize, outcome: &Outcome) {
        assert!(prefix.is_empty() && !later_page, "the model lists everything");
        let Ok(Reply::Queues { names, more }) = outcome else { panic!("no list: {outcome:?}") };
        let expected: Vec<_> = self.queues.keys().map(|address| &address.name).take(max).collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), expected);
        assert_eq!(*more, self.queues.len() > max);
    }

    /// Where messages of a queue go that were received so often; nowhere if that is the queue itself or is missing.
    fn dead_letter_queue(&self, address: &QueueAddress) -> Option<(QueueAddress, u32)> {
        let policy = self.queues.get(address)?.attributes.redrive_policy.as_ref()?;
        let target = &policy.dead_letter_target;
        (target != address && self.queues.contains_key(target))
            .then(|| (target.clone(), policy.max_receive_count))
    }

    /// Takes over that a message was moved to a dead-letter queue, and checks that it had to be.
    pub(crate) fn bury(&mut self, now: Timestamp, from: QueueId, seq: MessageSeq, to: QueueId) {
        self.advance(now);
        let named =
            |id| self.queues.iter().find(|(_, queue)| queue.id == id).map(|(address, _)| address.clone());
        let source = named(from).expect("the source exists");
        let (target, limit) = self.dead_letter_queue(&source).expect("it has a dead-letter queue");
        assert_eq!(named(to).as_ref(), Some(&target), "the dead-letter queue that its policy names");
        let held = self.queues.get_mut(&source).and_then(|queue| queue.messages.remove(&seq.0));
        let mut held = held.unwrap_or_else(|| panic!("message {seq:?} does not exist"));
        assert!(
            !held.is_hidden(now) && held.receive_count >= limit,
            "{held:?} may be received from {source:?}"
        );
        Rc::make_mut(&mut held.stored).queue = to;
        held.source = Some(source);
        self.queues.get_mut(&target).expect("it exists").messages.insert(seq.0, held);
        self.advance(now);
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, now: Timestamp) {
        self.queues.values_mut().for_each(|queue| queue.advance(now));
        self.deleted.retain(|_, at| now < *at + limits::COOLDOWN);
    }

    /// The model of what a snapshot says, whose time is `now`. `read` reads the message at a place of the log.
    pub(crate) fn of(
        snapshot: &Snapshot,
        now: Timestamp,
        read: impl Fn(Position) -> StoredMessage,
        read_extent: impl Fn(&Extent) -> Vec<Chunk>,
    ) -> Self {
        let mut model = Model {
            deleted: snapshot.deleted.iter().map(|(at, address)| (address.clone(), *at)).collect(),
            next_queue: snapshot.next_queue,
            next_seq: snapshot.next_seq,
            ..Model::default()
        };
        for queue in &snapshot.queues {
            let Messages::Standard(messages) = &queue.messages else { panic!("only standard queues here") };
            let messages = held_messages(queue.id, messages, &read, &read_extent);
            let modelled = Queue {
                id: queue.id,
                attributes: queue.attributes.clone(),
                tags: queue.tags.clone(),
                created_at: queue.created_at,
                modified_at: queue.modified_at,
                purged_at: queue.purged_at,
                messages,
            };
            model.queues.insert(queue.address.clone(), modelled);
        }
        model.advance(now);
        model
    }

    /// What differs between two models, for a person; `None` when nothing does.
    pub(crate) fn difference(&self, other: &Model) -> Option<String> {
        if self == other {
            return None;
        }
        if (self.next_queue, self.next_seq, &self.deleted)
            != (other.next_queue, other.next_seq, &other.deleted)
        {
            let numbers =
                |model: &Model| format!("{} {} {:?}", model.next_queue, model.next_seq, model.deleted);
            return Some(format!("numbers: {} / {}", numbers(self), numbers(other)));
        }
        let addresses: BTreeSet<_> = self.queues.keys().chain(other.queues.keys()).collect();
        for address in addresses {
            let (Some(one), Some(two)) = (self.queues.get(address), other.queues.get(address)) else {
                return Some(format!("{} exists in one of them", address.name));
            };
            if one == two {
                continue;
            }
            let keys: BTreeSet<_> = one.messages.keys().chain(two.messages.keys()).collect();
            let message = keys.into_iter().find(|key| one.messages.get(key) != two.messages.get(key));
            return Some(match message {
                Some(key) => {
                    let (one, two) = (one.messages.get(key), two.messages.get(key));
                    format!("message {key} of {}: {one:?} / {two:?}", address.name)
                }
                None => format!("queue {}: {one:?} / {two:?}", address.name),
            });
        }
        unreachable!("models that are not equal differ somewhere")
    }
}

fn held_messages(
    id: QueueId,
    messages: &StandardMessages,
    read: &impl Fn(Position) -> StoredMessage,
    read_extent: &impl Fn(&Extent) -> Vec<Chunk>,
) -> BTreeMap<u64, Held> {
    let mut all = BTreeMap::new();
    let mut hold = |mut stored: StoredMessage, touched: Touched, hidden_until: Timestamp| {
        let sent_to = touched.origin.as_ref().map_or(id, |origin| origin.sent_to);
        assert_eq!(stored.queue, sent_to, "a record of another queue");
        stored.queue = id;
        let held = Held {
            stored: Rc::new(stored),
            hidden_until,
            receive_count: touched.receive_count,
            first_received_at: touched.first_received_at,
            received_at: touched.received_at,
            source: touched.origin.as_ref().and_then(|origin| origin.source.clone()),
        };
        let former = all.insert(held.stored.seq.0, held);
        assert!(former.is_none(), "a message is in one place");
    };
    let look_up = |at: Stored| {
        let stored = read(at.position);
        assert_eq!((stored.seq, stored.sent_at), (at.seq, at.sent_at), "the index names the record");
        stored
    };
    let hidden = |seq: MessageSeq| {
        let tenant = messages.tenants.iter().find(|tenant| tenant.hidden.contains(&seq));
        tenant.map(|tenant| &*tenant.key)
    };
    for (touched, visible_at) in &messages.in_flight {
        let stored = look_up(touched.stored);
        assert_eq!(stored.message.group_id.as_deref(), hidden(touched.stored.seq));
        hold(stored, touched.clone(), *visible_at);
    }
    for (stored, visible_at) in &messages.delayed {
        assert_eq!(look_up(*stored).message.group_id.as_deref(), hidden(stored.seq));
        hold(look_up(*stored), Touched::default(), *visible_at);
    }
    let mut untouched = Vec::new();
    for portion in &messages.backlog {
        match portion {
            Portion::Passing(chunks) | Portion::Lasting(chunks) => {
                untouched.extend(chunks.iter().flat_map(Chunk::iter));
            }
            Portion::Written { extent, expired_to } => {
                let chunks = read_extent(extent);
                let stored = chunks.iter().flat_map(Chunk::iter);
                untouched.extend(stored.filter(|stored| stored.sent_at > *expired_to));
            }
        }
    }
    let of_tenants = messages.tenants.iter().map(|tenant| {
        let untouched = tenant.backlog.iter().flat_map(Chunk::iter).collect();
        (Some(&*tenant.key), untouched, &tenant.returned)
    });
    for (group, untouched, returned) in of_tenants.chain([(None, untouched, &messages.returned)]) {
        for touched in returned {
            let stored = look_up(touched.stored);
            assert_eq!(stored.message.group_id.as_deref(), group);
            hold(stored, touched.clone(), Timestamp::ZERO);
        }
        for at in untouched {
            let stored = look_up(at);
            assert_eq!(stored.message.group_id.as_deref(), group);
            hold(stored, Touched::default(), Timestamp::ZERO);
        }
    }
    all
}

fn expect_done(expected: Result<(), Error>, outcome: &Outcome) {
    match (expected, outcome) {
        (Ok(()), Ok(Reply::Done)) => {}
        (Err(expected), Err(error)) => assert_eq!(error, &expected),
        (expected, _) => panic!("{expected:?} was to be expected, not {outcome:?}"),
    }
}

fn expect_missing(outcome: &Outcome) {
    expect_done(Err(Error::QueueMissing), outcome);
}
