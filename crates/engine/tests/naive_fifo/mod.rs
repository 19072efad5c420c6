//! A naive service of FIFO queues: plain lists, walked from end to end.
//!
//! It follows the description of the service and not the engine. Each group is walked from its oldest message; messages
//! are taken while they are visible, and the first one that is in flight or delayed ends the walk.
//!
//! The description leaves open which of several things that are due at once comes first. So the model does not guess:
//! it is told one event after the other, refuses any that may not happen at that moment, works out what it must have
//! come to, and says in the end whether anything is missing.

mod moves;

use super::trial::Tally;
use super::util::{Got, millis, secs};
use std::collections::HashMap;
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, DeduplicationScope, Error, MessageId, MessageSeq, MoveTask, Position, QueueAddress,
    QueueAttributes, Receipt, RequestId, Sent, Timestamp,
};

/// How long deduplication ids and receives with an attempt id are remembered.
const MEMORY: Duration = secs(300);

#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) seq: MessageSeq,
    pub(crate) id: MessageId,
    pub(crate) group: String,
    pub(crate) deduplication_id: String,
    pub(crate) position: Position,
    pub(crate) sent_at: Timestamp,
    pub(crate) hidden: Hidden,
    pub(crate) receives: u32,
    pub(crate) first_received_at: Timestamp,
    received_at: Option<Timestamp>,
    pub(crate) source: Option<QueueAddress>,
    /// Moved as a dead letter in this call.
    moved: bool,
    /// Moved as a dead letter, and not received in a later call yet.
    lying: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hidden {
    No,
    Delayed,
    InFlight { until: Timestamp },
}

#[derive(Debug)]
struct Known {
    id: String,
    group: String,
    at: Timestamp,
    sent: Sent,
}

#[derive(Debug)]
struct Attempt {
    id: String,
    at: Timestamp,
    received: Vec<(MessageSeq, u32)>,
    void: bool,
}

/// What a receive asks for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) max: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) attempt: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) request: RequestId,
    pub(crate) asked: Asked,
    pub(crate) deadline: Timestamp,
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) number: u64,
    pub(crate) address: QueueAddress,
    pub(crate) attributes: QueueAttributes,
    pub(crate) purged_at: Option<Timestamp>,
    /// In the order they came.
    pub(crate) messages: Vec<Message>,
    newest: MessageSeq,
    delivered: u64,
    /// When each group was served last: the newest message then, and which delivery that was.
    served: HashMap<String, (MessageSeq, u64)>,
    /// The newest message of each group that was ever delivered.
    reached: HashMap<String, MessageSeq>,
    known: Vec<Known>,
    attempts: Vec<Attempt>,
    pub(crate) waiting: Vec<Waiter>,
    pub(crate) tasks: Vec<MoveTask>,
    /// From when the running task's pace counts, and what it had moved then.
    pace: Option<(Timestamp, u64)>,
}

#[derive(Debug)]
pub(crate) struct Naive {
    pub(crate) now: Timestamp,
    pub(crate) cooldown: Duration,
    pub(crate) in_flight_max: usize,
    pub(crate) queues: Vec<Queue>,
    pub(crate) deleted: Vec<(Timestamp, QueueAddress)>,
    next_seq: MessageSeq,
    pub(crate) created: u64,
    ids: std::collections::HashSet<MessageId>,
    pub(crate) tally: Tally,
}

/// What a repeated receive comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum Repetition {
    Fresh,
    Same(Vec<MessageSeq>),
    Void,
}

impl Queue {
    pub(crate) fn new(number: u64, address: QueueAddress, attributes: &[AttributeChange]) -> Self {
        Queue {
            number,
            address,
            attributes: QueueAttributes::from_changes(attributes),
            purged_at: None,
            messages: Vec::new(),
            newest: MessageSeq(0),
            delivered: 0,
            served: HashMap::new(),
            reached: HashMap::new(),
            known: Vec::new(),
            attempts: Vec::new(),
            waiting: Vec::new(),
            tasks: Vec::new(),
            pace: None,
        }
    }

    pub(crate) fn find(&self, seq: MessageSeq) -> Option<&Message> {
        self.messages.iter().find(|message| message.seq == seq)
    }

    fn find_mut(&mut self, seq: MessageSeq) -> &mut Message {
        self.messages.iter_mut().find(|message| message.seq == seq).expect("it is here")
    }

    /// Visible, in flight, delayed.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let count = |is: fn(&Hidden) -> bool| self.messages.iter().filter(|m| is(&m.hidden)).count() as u64;
        (
            count(|hidden| *hidden == Hidden::No),
            count(|hidden| matches!(hidden, Hidden::InFlight { .. })),
            count(|hidden| *hidden == Hidden::Delayed),
        )
    }

    /// All that could be delivered, in its order.
    pub(crate) fn walk(&self) -> Vec<MessageSeq> {
        let mut groups: Vec<((MessageSeq, u64), Vec<MessageSeq>)> = Vec::new();
        let mut seen = Vec::new();
        for first in &self.messages {
            if seen.contains(&&first.group) {
                continue;
            }
            seen.push(&first.group);
            let of_group = self.messages.iter().filter(|message| message.group == first.group);
            let visible = of_group.take_while(|message| message.hidden == Hidden::No);
            let turn = match first.received_at {
                None => (first.seq, 0),
                Some(_) => self.served[&first.group],
            };
            groups.push((turn, visible.map(|message| message.seq).collect()));
        }
        groups.sort_by_key(|(turn, _)| *turn);
        groups.into_iter().flat_map(|(_, messages)| messages).collect()
    }

    pub(crate) fn repetition(&self, id: &str) -> Repetition {
        let Some(attempt) = self.attempts.iter().rfind(|attempt| attempt.id == id) else {
            return Repetition::Fresh;
        };
        if attempt.void {
            return Repetition::Void;
        }
        let as_it_was = |(seq, count): &(MessageSeq, u32)| {
            let message = self.find(*seq);
            message.is_some_and(|m| matches!(m.hidden, Hidden::InFlight { .. }) && m.receives == *count)
        };
        if !attempt.received.iter().all(as_it_was) {
            return Repetition::Fresh;
        }
        Repetition::Same(attempt.received.iter().map(|(seq, _)| *seq).collect())
    }

    /// A message was deleted or its visibility changed.
    fn touch(&mut self, seq: MessageSeq) {
        let now = (seq, self.find(seq).expect("it is here").receives);
        self.attempts.iter_mut().filter(|a| a.received.contains(&now)).for_each(|a| a.void = true);
    }

    /// The accepted message that one with this id would repeat.
    pub(crate) fn duplicate_of(&self, id: &str, group: &str) -> Option<Sent> {
        let scope = self.attributes.fifo.expect("a FIFO queue").deduplication_scope;
        let is_same =
            |known: &&Known| known.id == id && (scope == DeduplicationScope::Queue || known.group == group);
        self.known.iter().find(is_same).map(|known| known.sent)
    }

    /// What a receipt is good for: `Ok(true)` for a message in flight from that receive, `Ok(false)` for none.
    pub(crate) fn window(&self, receipt: Receipt) -> Result<bool, Error> {
        if receipt.queue.0 != self.number {
            return Err(Error::ReceiptOfOtherQueue);
        }
        match self.find(receipt.seq).filter(|message| message.receives > 0) {
            None => Ok(false),
            Some(m) if matches!(m.hidden, Hidden::InFlight { .. }) && m.receives == receipt.receive => {
                Ok(true)
            }
            Some(_) => Err(Error::ReceiptExpired),
        }
    }

    pub(crate) fn change(&mut self, seq: MessageSeq, until: Timestamp) {
        self.touch(seq);
        self.find_mut(seq).hidden = Hidden::InFlight { until };
    }

    pub(crate) fn received_at(&self, seq: MessageSeq) -> Timestamp {
        self.find(seq).and_then(|message| message.received_at).expect("received here")
    }

    pub(crate) fn delete(&mut self, seq: MessageSeq) {
        self.touch(seq);
        self.messages.retain(|message| message.seq != seq);
    }

    pub(crate) fn purge(&mut self, now: Timestamp) {
        self.messages.clear();
        self.known.clear();
        self.attempts.clear();
        self.purged_at = Some(now);
    }

    /// Whether a client that asks again with its attempt id would get the message.
    pub(crate) fn is_repeatable(&self, receipt: Receipt) -> bool {
        let received = (receipt.seq, receipt.receive);
        self.attempts.iter().any(|attempt| !attempt.void && attempt.received.contains(&received))
    }
}

impl Naive {
    pub(crate) fn new(now: Timestamp, cooldown: Duration, in_flight_max: usize) -> Self {
        Naive {
            now,
            cooldown,
            in_flight_max,
            queues: Vec::new(),
            deleted: Vec::new(),
            next_seq: MessageSeq(0),
            created: 0,
            ids: std::collections::HashSet::new(),
            tally: Tally::new(),
        }
    }

    pub(crate) fn note(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    pub(crate) fn named(&self, address: &QueueAddress) -> Option<usize> {
        self.queues.iter().position(|queue| queue.address == *address)
    }

    pub(crate) fn numbered(&self, number: u64) -> usize {
        self.queues.iter().position(|queue| queue.number == number).expect("the queue exists")
    }

    /// A call begins at `now`.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.now = now;
        self.advance();
        self.queues
            .iter_mut()
            .flat_map(|queue| &mut queue.messages)
            .for_each(|message| message.moved = false);
    }

    /// Ends what is over.
    pub(crate) fn advance(&mut self) {
        let now = self.now;
        for queue in &mut self.queues {
            let (delay, retention) = (queue.attributes.delay, queue.attributes.retention_period);
            for message in &mut queue.messages {
                let over = match message.hidden {
                    Hidden::No => false,
                    Hidden::Delayed => message.sent_at + delay <= now,
                    Hidden::InFlight { until } => until <= now,
                };
                if over {
                    message.hidden = Hidden::No;
                }
            }
            queue.messages.retain(|message| message.sent_at + retention > now);
            queue.known.retain(|known| known.at + MEMORY > now);
            queue.attempts.retain(|attempt| attempt.at + MEMORY > now);
        }
    }

    /// A number that no message had before.
    fn take_seq(&mut self, seq: MessageSeq) {
        assert!(seq >= self.next_seq, "{seq:?} is not new");
        self.next_seq = MessageSeq(seq.0 + 1);
    }

    fn take_id(&mut self, id: MessageId) {
        assert!(self.ids.insert(id), "{id} is not new");
    }

    /// A message that is no duplicate was sent.
    pub(crate) fn send(
        &mut self,
        n: usize,
        (seq, position): (MessageSeq, Position),
        id: MessageId,
        group: &str,
        deduplication_id: &str,
    ) -> Sent {
        assert_eq!(self.queues[n].duplicate_of(deduplication_id, group), None, "no duplicate is stored");
        self.take_seq(seq);
        self.take_id(id);
        let now = self.now;
        let queue = &mut self.queues[n];
        let delayed = queue.attributes.delay > Duration::ZERO;
        let sent = Sent { id, sequence: Some(seq) };
        let (group, deduplication_id) = (group.to_owned(), deduplication_id.to_owned());
        queue.known.push(Known { id: deduplication_id.clone(), group: group.clone(), at: now, sent });
        queue.newest = seq;
        queue.messages.push(Message {
            seq,
            id,
            group,
            deduplication_id,
            position,
            sent_at: now,
            hidden: if delayed { Hidden::Delayed } else { Hidden::No },
            receives: 0,
            first_received_at: Timestamp::ZERO,
            received_at: None,
            source: None,
            moved: false,
            lying: false,
        });
        sent
    }

    pub(crate) fn room(&self, n: usize) -> usize {
        self.in_flight_max.saturating_sub(self.queues[n].counts().1 as usize)
    }

    /// What a receive would deliver now. Those to be moved first have been moved, or it is wrong.
    pub(crate) fn deliverable(&self, n: usize, max: usize) -> Vec<MessageSeq> {
        let queue = &self.queues[n];
        let limit = self.dead_letter_queue(n).map(|(_, limit)| limit);
        let mut messages = Vec::new();
        for seq in queue.walk() {
            if messages.len() == max.min(self.room(n)) {
                break;
            }
            let message = queue.find(seq).expect("walked over");
            match limit.is_some_and(|limit| message.receives >= limit) {
                false => messages.push(seq),
                true if message.moved => {}
                true => panic!("{seq:?} was received {} times and has to move first", message.receives),
            }
        }
        messages
    }

    /// Whether a receive would find or move anything. For one that waits, a dead letter that has come and may not stay is
    /// nothing: no call moves a message twice, so it lies there until somebody looks.
    pub(crate) fn has_something(&self, n: usize, waits: bool) -> bool {
        let limit = self.dead_letter_queue(n).map(|(_, limit)| limit);
        let counts = |seq: &MessageSeq| {
            let message = self.queues[n].find(*seq).expect("walked over");
            !(message.moved || (waits && message.lying)) || limit.is_none_or(|limit| message.receives < limit)
        };
        self.room(n) > 0 && self.queues[n].walk().iter().any(counts)
    }

    /// Messages were received.
    pub(crate) fn receive(&mut self, n: usize, messages: &[MessageSeq], asked: &Asked, until: Timestamp) {
        if let Some(id) = &asked.attempt {
            assert_eq!(
                self.queues[n].repetition(id),
                Repetition::Fresh,
                "what could be repeated is repeated"
            );
        }
        let now = self.now;
        let timeout = asked.timeout.unwrap_or(self.queues[n].attributes.visibility_timeout);
        assert_eq!(until, now + timeout);
        assert_eq!(messages, self.deliverable(n, asked.max), "messages that the walk finds");
        assert!(!messages.is_empty());
        let mut noted = Vec::new();
        let queue = &mut self.queues[n];
        for (at, seq) in messages.iter().enumerate() {
            let message = queue.find(*seq).expect("it is here").clone();
            let of_group = queue.messages.iter().filter(|other| other.group == message.group);
            let hidden: Vec<_> =
                of_group.filter(|m| m.hidden != Hidden::No && !messages[..at].contains(&m.seq)).collect();
            assert!(hidden.iter().all(|other| other.seq > *seq), "nothing before it is hidden");
            if message.received_at.is_none() {
                let in_flight = hidden.iter().any(|other| matches!(other.hidden, Hidden::InFlight { .. }));
                assert!(!in_flight, "a group is in flight of one receive");
                let former = queue.reached.insert(message.group.clone(), *seq);
                assert!(former < Some(*seq), "a group is delivered in the order it was sent");
            } else {
                noted.push("received again");
            }
            noted.extend((!hidden.is_empty()).then_some("received before one that is hidden"));
            queue.delivered += 1;
            queue.served.insert(message.group, (queue.newest, queue.delivered));
            let message = queue.find_mut(*seq);
            message.receives += 1;
            message.lying &= message.moved;
            message.received_at = Some(now);
            message.hidden = Hidden::InFlight { until };
            if message.receives == 1 {
                message.first_received_at = now;
            }
        }
        if let Some(id) = &asked.attempt {
            let received = messages.iter().map(|seq| (*seq, queue.find(*seq).expect("here").receives));
            let received = received.collect();
            queue.attempts.push(Attempt { id: id.clone(), at: now, received, void: false });
        }
        noted.into_iter().for_each(|what| self.note(what));
        self.note("received");
    }

    /// A receive was repeated.
    pub(crate) fn repeat(&mut self, n: usize, messages: &[MessageSeq], asked: &Asked, until: Timestamp) {
        let id = asked.attempt.as_ref().expect("only a receive with an attempt id is repeated");
        let queue = &mut self.queues[n];
        assert_eq!(queue.repetition(id), Repetition::Same(messages.to_vec()));
        assert_eq!(until, self.now + asked.timeout.unwrap_or(queue.attributes.visibility_timeout));
        messages.iter().for_each(|seq| queue.find_mut(*seq).hidden = Hidden::InFlight { until });
        self.note("repeated");
    }

    /// What a client must have been told of messages it received.
    pub(crate) fn check_told(&self, n: usize, messages: &[MessageSeq], got: &[Got]) {
        let queue = &self.queues[n];
        assert_eq!(messages.len(), got.len());
        for (seq, got) in messages.iter().zip(got) {
            let message = queue.find(*seq).expect("it is here");
            assert_eq!((got.receipt.queue.0, got.receipt.seq), (queue.number, *seq));
            assert_eq!(got.receipt.receive, message.receives);
            assert_eq!(
                (got.id, got.sent_at, got.receive_count, got.first_received_at, got.position, &got.source),
                (
                    message.id,
                    message.sent_at,
                    message.receives,
                    message.first_received_at,
                    message.position,
                    &message.source
                )
            );
        }
    }

    pub(crate) fn end_waits(&mut self) {
        for queue in &mut self.queues {
            queue.waiting.clear();
        }
    }

    /// Nothing that had to happen by now is missing.
    pub(crate) fn check_complete(&mut self) {
        for n in 0..self.queues.len() {
            let queue = &self.queues[n];
            let Some(first) = queue.waiting.first() else { continue };
            assert!(queue.waiting.iter().all(|waiter| waiter.deadline > self.now), "a wait is over");
            let repeats = |id: &String| queue.repetition(id) != Repetition::Fresh;
            // It became the first when one before it left, and gets its answer when something happens on the queue.
            if first.asked.attempt.as_ref().is_some_and(repeats) {
                continue;
            }
            assert!(
                !self.has_something(n, true),
                "there is something for who waits on {}",
                queue.address.name
            );
        }
    }

    /// The next instant at which something happens by itself.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let of_queue = |queue: &Queue| {
            let hidden = queue.messages.iter().filter_map(|message| match message.hidden {
                Hidden::No => None,
                Hidden::Delayed => Some(message.sent_at + queue.attributes.delay),
                Hidden::InFlight { until } => Some(until),
            });
            let expiry = queue.messages.iter().map(|m| m.sent_at + queue.attributes.retention_period);
            let waits = queue.waiting.iter().map(|waiter| waiter.deadline);
            hidden.chain(expiry).chain(waits).chain(self.next_step(queue)).min()
        };
        self.queues.iter().filter_map(of_queue).min()
    }

    /// When the running task may go on, if it may.
    fn next_step(&self, queue: &Queue) -> Option<Timestamp> {
        let task = queue.tasks.last().filter(|task| task.outcome.is_none())?;
        let (Some(rate), Some((from, before))) = (task.rate, queue.pace) else {
            return Some(self.now + millis(1));
        };
        let wait = ((task.moved - before) * 1_000).div_ceil(u64::from(rate));
        Some((from + millis(wait)).max(self.now + millis(1)))
    }
}
