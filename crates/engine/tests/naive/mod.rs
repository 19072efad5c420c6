//! A naive message service of standard queues: plain vectors, looked through from end to end.
//!
//! It follows the description of the service and not the engine: a message is hidden while the clock is before
//! its `visible_at`; a hidden one that was never received is delayed, a hidden one that was received is in flight.

use crate::util::{hours, secs};
use std::collections::BTreeMap;
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, Error, MessageId, QueueAddress, QueueAttributes, QueueName, RequestId, Tags, Timestamp,
};

/// What a caller is told, in a form that both sides can be brought to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Refused(Error),
    Done,
    Names(Vec<String>, bool),
    View(Box<View>),
    Sent(Vec<Result<MessageId, Error>>),
    Received(Vec<Heard>),
    Settled(Vec<Result<(), Error>>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) attributes: QueueAttributes,
    pub(crate) tags: Tags,
    pub(crate) created_at: Timestamp,
    pub(crate) modified_at: Timestamp,
    /// Visible, in flight, delayed.
    pub(crate) counts: (u64, u64, u64),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) handle: Handle,
    pub(crate) sent_at: Timestamp,
    pub(crate) first_received_at: Timestamp,
}

/// Which receive of which message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Handle {
    /// The how-manieth queue of all that were created.
    pub(crate) queue: u64,
    pub(crate) id: MessageId,
    pub(crate) receive: u32,
}

#[derive(Debug)]
struct Message {
    id: MessageId,
    sent_at: Timestamp,
    visible_at: Timestamp,
    receives: u32,
    first_received_at: Timestamp,
    received_at: Timestamp,
}

#[derive(Debug)]
struct Waiter {
    request: RequestId,
    max: usize,
    timeout: Option<Duration>,
    deadline: Timestamp,
}

#[derive(Debug)]
struct Queue {
    number: u64,
    address: QueueAddress,
    attributes: QueueAttributes,
    tags: Tags,
    created_at: Timestamp,
    modified_at: Timestamp,
    purged_at: Option<Timestamp>,
    /// In the order they were sent.
    messages: Vec<Message>,
    waiting: Vec<Waiter>,
}

/// A queue, its messages visible, in flight and delayed, and the age of the oldest that is not delayed.
pub(crate) type Gauge = (QueueAddress, (u64, u64, u64), Option<Duration>);

/// How often each interesting thing happened.
pub(crate) type Tally = BTreeMap<&'static str, u64>;

#[derive(Debug)]
pub(crate) struct Naive {
    cooldown: Duration,
    in_flight_max: usize,
    pub(crate) now: Timestamp,
    created: u64,
    queues: Vec<Queue>,
    deleted: Vec<(Timestamp, QueueAddress)>,
    pub(crate) answers: BTreeMap<RequestId, Answer>,
    pub(crate) tally: Tally,
}

impl Message {
    fn is_hidden(&self, now: Timestamp) -> bool {
        now < self.visible_at
    }

    fn is_delayed(&self, now: Timestamp) -> bool {
        self.is_hidden(now) && self.receives == 0
    }

    fn is_in_flight(&self, now: Timestamp) -> bool {
        self.is_hidden(now) && self.receives > 0
    }
}

impl Queue {
    fn counts(&self, now: Timestamp) -> (u64, u64, u64) {
        let count = |is: &dyn Fn(&Message) -> bool| self.messages.iter().filter(|m| is(m)).count() as u64;
        (count(&|m| !m.is_hidden(now)), count(&|m| m.is_in_flight(now)), count(&|m| m.is_delayed(now)))
    }

    fn take(&mut self, now: Timestamp, max: usize, timeout: Option<Duration>, limit: usize) -> Vec<Heard> {
        let timeout = timeout.unwrap_or(self.attributes.visibility_timeout);
        let in_flight = self.messages.iter().filter(|m| m.is_in_flight(now)).count();
        let room = limit.saturating_sub(in_flight).min(max);
        let mut heard = Vec::new();
        for message in self.messages.iter_mut().filter(|m| !m.is_hidden(now)).take(room) {
            message.receives += 1;
            message.visible_at = now + timeout;
            message.received_at = now;
            if message.receives == 1 {
                message.first_received_at = now;
            }
            heard.push(Heard {
                handle: Handle { queue: self.number, id: message.id, receive: message.receives },
                sent_at: message.sent_at,
                first_received_at: message.first_received_at,
            });
        }
        heard
    }
}

impl Naive {
    pub(crate) fn new(now: Timestamp, cooldown: Duration, in_flight_max: usize) -> Self {
        Naive {
            cooldown,
            in_flight_max,
            now,
            created: 0,
            queues: Vec::new(),
            deleted: Vec::new(),
            answers: BTreeMap::new(),
            tally: Tally::new(),
        }
    }

    fn note(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    fn answer(&mut self, request: RequestId, answer: Result<Answer, Error>) {
        let answer = answer.unwrap_or_else(Answer::Refused);
        if let Answer::Refused(error) = &answer {
            let what = match error {
                Error::QueueExists { .. } => "another attribute value",
                Error::QueueDeletedRecently => "name at rest",
                Error::PurgeInProgress => "purge at rest",
                Error::OverLimit => "over the limit in flight",
                _ => "queue missing",
            };
            self.note(what);
        }
        assert!(self.answers.insert(request, answer).is_none(), "one answer each");
    }

    fn find(&mut self, queue: &QueueAddress) -> Result<usize, Error> {
        self.queues.iter().position(|q| q.address == *queue).ok_or(Error::QueueMissing)
    }

    /// Ends what is over: retention periods in every state.
    fn expire(&mut self) {
        let now = self.now;
        for n in 0..self.queues.len() {
            let queue = &mut self.queues[n];
            let over = |m: &Message| m.sent_at + queue.attributes.retention_period <= now;
            let state = |m: &Message| match (m.is_hidden(now), m.receives > 0) {
                (false, false) => "expired visible",
                (false, true) => "expired after a return",
                (true, false) => "expired delayed",
                (true, true) => "expired in flight",
            };
            let gone: Vec<_> = queue.messages.iter().filter(|m| over(m)).map(state).collect();
            queue.messages.retain(|m| !over(m));
            gone.into_iter().for_each(|what| self.note(what));
        }
    }

    /// Visible messages go to who waits for them, first come first served.
    fn serve(&mut self, cause: &'static str) {
        self.expire();
        for n in 0..self.queues.len() {
            while let Some(first) = self.queues[n].waiting.first() {
                let (request, max, timeout) = (first.request, first.max, first.timeout);
                let heard = self.queues[n].take(self.now, max, timeout, self.in_flight_max);
                if heard.is_empty() {
                    let (visible, ..) = self.queues[n].counts(self.now);
                    if visible > 0 {
                        self.note("waits for room in flight");
                    }
                    break;
                }
                self.queues[n].waiting.remove(0);
                self.note(cause);
                self.answer(request, Ok(Answer::Received(heard)));
            }
        }
    }

    pub(crate) fn time_passes(&mut self) {
        self.serve("served by time");
        let now = self.now;
        for n in 0..self.queues.len() {
            while let Some(at) = self.queues[n].waiting.iter().position(|w| w.deadline <= now) {
                let waiter = self.queues[n].waiting.remove(at);
                self.note("wait ended empty");
                self.answer(waiter.request, Ok(Answer::Received(vec![])));
            }
        }
    }

    /// A command that changes something: what is due comes before it, and who waits is served after it.
    fn act(&mut self, request: RequestId, act: impl FnOnce(&mut Self) -> Result<Answer, Error>) {
        self.time_passes();
        let answer = act(self);
        self.answer(request, answer);
        self.serve("served by a command");
    }

    pub(crate) fn create(
        &mut self,
        request: RequestId,
        address: QueueAddress,
        attributes: &[AttributeChange],
        tags: Tags,
    ) {
        self.act(request, |all| {
            let now = all.now;
            if let Ok(n) = all.find(&address) {
                let current = &all.queues[n].attributes;
                for change in attributes {
                    let mut changed = current.clone();
                    set(&mut changed, change);
                    if changed != *current {
                        return Err(Error::QueueExists { attribute: change.name() });
                    }
                }
                return Ok(Answer::Done);
            }
            if all.deleted.iter().any(|(at, name)| *name == address && now < *at + all.cooldown) {
                return Err(Error::QueueDeletedRecently);
            }
            let mut queue = Queue {
                number: all.created,
                address,
                attributes: QueueAttributes::default(),
                tags,
                created_at: now,
                modified_at: now,
                purged_at: None,
                messages: Vec::new(),
                waiting: Vec::new(),
            };
            attributes.iter().for_each(|change| set(&mut queue.attributes, change));
            all.created += 1;
            all.queues.push(queue);
            Ok(Answer::Done)
        });
    }

    pub(crate) fn delete_queue(&mut self, request: RequestId, address: &QueueAddress) {
        self.act(request, |all| {
            let n = all.find(address)?;
            let queue = all.queues.remove(n);
            for waiter in queue.waiting {
                all.note("wait ended with its queue");
                all.answer(waiter.request, Err(Error::QueueMissing));
            }
            all.deleted.push((all.now, queue.address));
            Ok(Answer::Done)
        });
    }

    pub(crate) fn set(&mut self, request: RequestId, address: &QueueAddress, changes: &[AttributeChange]) {
        self.act(request, |all| {
            let n = all.find(address)?;
            let queue = &mut all.queues[n];
            changes.iter().for_each(|change| set(&mut queue.attributes, change));
            queue.modified_at = all.now;
            Ok(Answer::Done)
        });
    }

    pub(crate) fn tag(&mut self, request: RequestId, address: &QueueAddress, tags: Tags) {
        self.act(request, |all| {
            let n = all.find(address)?;
            tags.into_iter().for_each(|(key, value)| drop(all.queues[n].tags.insert(key, value)));
            Ok(Answer::Done)
        });
    }

    pub(crate) fn untag(&mut self, request: RequestId, address: &QueueAddress, keys: &[Box<str>]) {
        self.act(request, |all| {
            let n = all.find(address)?;
            all.queues[n].tags.retain(|key, _| !keys.contains(key));
            Ok(Answer::Done)
        });
    }

    pub(crate) fn purge(&mut self, request: RequestId, address: &QueueAddress) {
        self.act(request, |all| {
            let n = all.find(address)?;
            let queue = &mut all.queues[n];
            if queue.purged_at.is_some_and(|at| all.now < at + all.cooldown) {
                return Err(Error::PurgeInProgress);
            }
            queue.purged_at = Some(all.now);
            queue.messages.clear();
            if !queue.waiting.is_empty() {
                all.note("purged while somebody waited");
            }
            Ok(Answer::Done)
        });
    }

    pub(crate) fn view(&mut self, request: RequestId, address: &QueueAddress) {
        self.expire();
        let view = self.find(address).map(|n| {
            let queue = &self.queues[n];
            Answer::View(Box::new(View {
                attributes: queue.attributes.clone(),
                tags: queue.tags.clone(),
                created_at: queue.created_at,
                modified_at: queue.modified_at,
                counts: queue.counts(self.now),
            }))
        });
        self.answer(request, view);
    }

    pub(crate) fn list(
        &mut self,
        request: RequestId,
        place: &QueueAddress,
        prefix: &str,
        after: Option<&QueueName>,
        max: usize,
    ) {
        let here = |q: &&Queue| (q.address.account, &q.address.region) == (place.account, &place.region);
        let names = self.queues.iter().filter(here).map(|q| q.address.name.as_str().to_owned());
        let wanted =
            |name: &String| name.starts_with(prefix) && after.is_none_or(|a| a.as_str() < name.as_str());
        let mut names: Vec<_> = names.filter(wanted).collect();
        names.sort();
        let more = names.len() > max;
        names.truncate(max);
        self.answer(request, Ok(Answer::Names(names, more)));
    }

    /// Sends messages given by id, size and delay.
    pub(crate) fn send(
        &mut self,
        request: RequestId,
        address: &QueueAddress,
        entries: &[(MessageId, usize, Option<Duration>)],
    ) {
        self.act(request, |all| {
            let n = all.find(address)?;
            let now = all.now;
            let queue = &mut all.queues[n];
            let limit = queue.attributes.maximum_message_size;
            let mut sent = Vec::new();
            for (id, size, delay) in entries {
                if *size > limit as usize {
                    sent.push(Err(Error::MessageTooLong { limit }));
                    continue;
                }
                queue.messages.push(Message {
                    id: *id,
                    sent_at: now,
                    visible_at: now + delay.unwrap_or(queue.attributes.delay),
                    receives: 0,
                    first_received_at: Timestamp::ZERO,
                    received_at: Timestamp::ZERO,
                });
                sent.push(Ok(*id));
            }
            if sent.iter().any(Result::is_err) {
                all.note("message too long");
            }
            Ok(Answer::Sent(sent))
        });
    }

    pub(crate) fn receive(
        &mut self,
        request: RequestId,
        address: &QueueAddress,
        max: usize,
        timeout: Option<Duration>,
        wait: Option<Duration>,
    ) {
        self.time_passes();
        let n = match self.find(address) {
            Ok(n) => n,
            Err(error) => return self.answer(request, Err(error)),
        };
        let (now, limit) = (self.now, self.in_flight_max);
        let queue = &mut self.queues[n];
        let wait = wait.unwrap_or(queue.attributes.wait_time);
        let heard = queue.take(now, max, timeout, limit);
        let (_, in_flight, _) = queue.counts(now);
        if heard.is_empty() && wait > Duration::ZERO {
            queue.waiting.push(Waiter { request, max, timeout, deadline: now + wait });
            self.note("waits");
            return;
        }
        if heard.is_empty() && in_flight as usize >= limit {
            return self.answer(request, Err(Error::OverLimit));
        }
        if heard.iter().any(|heard| heard.handle.receive > 1) {
            self.note("received again");
        }
        self.answer(request, Ok(Answer::Received(heard)));
    }

    pub(crate) fn delete(&mut self, request: RequestId, address: &QueueAddress, handles: &[Handle]) {
        self.act(request, |all| {
            let n = all.find(address)?;
            let mut settled = Vec::new();
            for handle in handles {
                let queue = &mut all.queues[n];
                if handle.queue != queue.number {
                    settled.push(Err(Error::ReceiptOfOtherQueue));
                    all.note("handle of another queue");
                    continue;
                }
                settled.push(Ok(()));
                let what = match queue.messages.iter().position(|m| m.id == handle.id) {
                    None => "delete of what is gone",
                    Some(at) if queue.messages[at].receives != handle.receive => "delete by an old handle",
                    Some(at) if queue.messages.remove(at).is_hidden(all.now) => "delete in flight",
                    Some(_) => "delete after the timeout",
                };
                all.note(what);
            }
            Ok(Answer::Settled(settled))
        });
    }

    pub(crate) fn change(
        &mut self,
        request: RequestId,
        address: &QueueAddress,
        changes: &[(Handle, Duration)],
    ) {
        self.act(request, |all| {
            let n = all.find(address)?;
            let settled =
                changes.iter().map(|(handle, timeout)| all.change_one(n, handle, *timeout)).collect();
            Ok(Answer::Settled(settled))
        });
    }

    fn change_one(&mut self, n: usize, handle: &Handle, timeout: Duration) -> Result<(), Error> {
        let now = self.now;
        let queue = &mut self.queues[n];
        if handle.queue != queue.number {
            return Err(Error::ReceiptOfOtherQueue);
        }
        let Some(message) = queue.messages.iter_mut().find(|m| m.id == handle.id) else {
            self.note("change of what is gone");
            return Err(Error::NotAvailable);
        };
        if now.since(message.received_at) + timeout > hours(12) {
            self.note("change beyond twelve hours");
            return Err(Error::VisibilityBeyondLimit);
        }
        let what = match (message.is_hidden(now), message.receives == handle.receive) {
            (_, false) => "change by an old handle",
            (true, true) => "change in flight",
            (false, true) => "change after the timeout",
        };
        message.visible_at = now + timeout;
        self.note(what);
        Ok(())
    }

    pub(crate) fn return_undelivered(&mut self, request: RequestId, handles: &[Handle]) {
        self.act(request, |all| {
            for handle in handles {
                let now = all.now;
                let queue = all.queues.iter_mut().find(|q| q.number == handle.queue);
                let message = queue.and_then(|q| q.messages.iter_mut().find(|m| m.id == handle.id));
                let what = match message.filter(|m| m.receives == handle.receive) {
                    None => "return of what is gone",
                    Some(message) => {
                        message.visible_at = now;
                        "return"
                    }
                };
                all.note(what);
                all.serve("served by a return");
            }
            Ok(Answer::Done)
        });
    }

    pub(crate) fn cancel(&mut self, request: RequestId) {
        for queue in &mut self.queues {
            queue.waiting.retain(|waiter| waiter.request != request);
        }
    }

    /// Ends every wait; with an empty answer, or with none when the server died.
    pub(crate) fn end_waits(&mut self, answered: bool) {
        for n in 0..self.queues.len() {
            for waiter in std::mem::take(&mut self.queues[n].waiting) {
                if answered {
                    self.answer(waiter.request, Ok(Answer::Received(vec![])));
                }
            }
        }
    }

    /// In address order.
    pub(crate) fn gauges(&mut self) -> Vec<Gauge> {
        self.expire();
        let now = self.now;
        let gauge = |queue: &Queue| {
            let oldest = queue.messages.iter().filter(|m| !m.is_delayed(now)).map(|m| m.sent_at).min();
            (queue.address.clone(), queue.counts(now), oldest.map(|at| now.since(at)))
        };
        let mut gauges: Vec<_> = self.queues.iter().map(gauge).collect();
        gauges.sort();
        gauges
    }

    /// Whether the message is there.
    pub(crate) fn is_relocatable(&mut self, queue: u64, id: MessageId) -> bool {
        self.expire();
        let queue = self.queues.iter().find(|q| q.number == queue);
        queue.is_some_and(|q| q.messages.iter().any(|m| m.id == id))
    }

    /// The next instant at which something happens by itself.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let of_queue = |queue: &Queue| {
            let hidden = queue.messages.iter().map(|m| m.visible_at).filter(|at| *at > self.now).min();
            let expiry = queue.messages.iter().map(|m| m.sent_at + queue.attributes.retention_period).min();
            let wait = queue.waiting.iter().map(|waiter| waiter.deadline).min();
            [hidden, expiry, wait].into_iter().flatten().min()
        };
        self.queues.iter().filter_map(of_queue).min()
    }
}

fn set(attributes: &mut QueueAttributes, change: &AttributeChange) {
    match change {
        AttributeChange::DelaySeconds(value) => attributes.delay = *value,
        AttributeChange::MaximumMessageSize(value) => attributes.maximum_message_size = *value,
        AttributeChange::MessageRetentionPeriod(value) => attributes.retention_period = *value,
        AttributeChange::ReceiveMessageWaitTimeSeconds(value) => attributes.wait_time = *value,
        AttributeChange::VisibilityTimeout(value) => attributes.visibility_timeout = *value,
        other => panic!("the model has no {}", other.name()),
    }
    assert!(attributes.delay <= secs(900), "in range");
}
