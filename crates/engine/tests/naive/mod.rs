//! A naive message service of standard queues: plain vectors, looked through from end to end.
//!
//! It follows the description of the service and not the engine: a message is hidden while the clock is before
//! its `visible_at`; a hidden one that was never received is delayed, a hidden one that was received is in flight.
//!
//! The description leaves open which of several queues that are due at once comes first, and where a message is
//! while queues pass it on and nobody may have it. There the model follows what the engine did, if that was allowed.

use super::trial::Tally;
use super::util::{hours, secs};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
    pub(crate) source: Option<QueueAddress>,
}

/// A message, the queue it left as a dead letter and the one it went to.
pub(crate) type Move = (MessageId, u64, u64);

/// What was seen of the other side: a queue moved a message, or gave messages to somebody.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Act {
    Moved(Move),
    Gave(u64),
}

/// Which receive of which message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Handle {
    /// The how-manieth queue of all that were created.
    pub(crate) queue: u64,
    pub(crate) id: MessageId,
    pub(crate) receive: u32,
}

/// A message to be sent: id, size, delay, and the tenant it belongs to.
pub(crate) type Entry = (MessageId, usize, Option<Duration>, Option<u8>);

#[derive(Debug)]
struct Message {
    id: MessageId,
    tenant: Option<u8>,
    sent_at: Timestamp,
    visible_at: Timestamp,
    receives: u32,
    first_received_at: Timestamp,
    received_at: Timestamp,
    /// The queue it left last as a dead letter.
    source: Option<QueueAddress>,
    /// Moved in this call; no call moves it twice.
    moved: bool,
    /// Moved in an earlier call and not looked at since.
    lying: bool,
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

/// A queue, its messages visible, in flight and delayed, its noisy tenants, and the age of the oldest message that is not
/// delayed.
pub(crate) type Gauge = (QueueAddress, (u64, u64, u64), usize, Option<Duration>);

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
    /// What the other side did in this call, in its order.
    acts: VecDeque<Act>,
    /// And what it did once it had come to the command.
    later: VecDeque<Act>,
    pub(crate) moves: Vec<Move>,
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

    /// Noisy tenants and how many messages each has in flight.
    fn noisy(&self, now: Timestamp) -> BTreeMap<u8, usize> {
        let in_flight = || self.messages.iter().filter(|m| m.is_in_flight(now));
        let mut loads = BTreeMap::new();
        in_flight().filter_map(|m| m.tenant).for_each(|tenant| *loads.entry(tenant).or_default() += 1);
        loads.retain(|_, load| *load >= 30 && *load as f64 > 0.1 * in_flight().count() as f64);
        loads
    }

    /// The visible messages in the order in which receives take them.
    fn visible(&self, now: Timestamp) -> Vec<usize> {
        let noisy = self.noisy(now);
        let load =
            |at: &usize| self.messages[*at].tenant.and_then(|tenant| Some((*noisy.get(&tenant)?, tenant)));
        let mut visible: Vec<_> =
            (0..self.messages.len()).filter(|at| !self.messages[*at].is_hidden(now)).collect();
        visible.sort_by_key(load);
        visible
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
            acts: VecDeque::new(),
            later: VecDeque::new(),
            moves: Vec::new(),
        }
    }

    /// A call begins, in which the other side did this before it came to the command, and that after.
    pub(crate) fn begin(&mut self, before: Vec<Act>, after: Vec<Act>) {
        (self.acts, self.later) = (before.into(), after.into());
        for message in self.queues.iter_mut().flat_map(|queue| &mut queue.messages) {
            message.lying |= std::mem::take(&mut message.moved);
        }
    }

    /// Where the messages of a queue go that were received too often, and how often that is. Not to a queue that does
    /// not exist, and not back to the same.
    fn dead_letter_queue(&self, n: usize) -> Option<(usize, u32)> {
        let policy = self.queues[n].attributes.redrive_policy.as_ref()?;
        let target = self.queues.iter().position(|q| q.address == policy.dead_letter_target)?;
        (target != n).then_some((target, policy.max_receive_count))
    }

    /// What a receive of up to `max` messages would find: those to be moved, and those to be delivered.
    fn look(&self, n: usize, max: usize, lying_too: bool) -> (Vec<usize>, Vec<usize>) {
        let queue = &self.queues[n];
        let limit = self.dead_letter_queue(n).map(|(_, limit)| limit);
        let in_flight = queue.messages.iter().filter(|m| m.is_in_flight(self.now)).count();
        let room = self.in_flight_max.saturating_sub(in_flight).min(max);
        let (mut moving, mut giving) = (Vec::new(), Vec::new());
        for at in queue.visible(self.now) {
            let message = &queue.messages[at];
            if giving.len() == room {
                break;
            }
            if limit.is_none_or(|limit| message.receives < limit) {
                giving.push(at);
            } else if !message.moved && (lying_too || !message.lying) {
                moving.push(at);
            }
        }
        (moving, giving)
    }

    /// A receive, by a caller or for one that waits.
    fn take(&mut self, n: usize, max: usize, timeout: Option<Duration>, lying_too: bool) -> Vec<Heard> {
        let (moving, giving) = self.look(n, max, lying_too);
        let policy = self.queues[n].attributes.redrive_policy.clone();
        let now = self.now;
        self.note_noise(n, &giving);
        let queue = &mut self.queues[n];
        let timeout = timeout.unwrap_or(queue.attributes.visibility_timeout);
        let mut heard = Vec::new();
        for at in &giving {
            let message = &mut queue.messages[*at];
            message.receives += 1;
            message.visible_at = now + timeout;
            message.received_at = now;
            message.lying = false;
            if message.receives == 1 {
                message.first_received_at = now;
            }
            heard.push(Heard {
                handle: Handle { queue: queue.number, id: message.id, receive: message.receives },
                sent_at: message.sent_at,
                first_received_at: message.first_received_at,
                source: message.source.clone(),
            });
        }
        let beyond = |limit: u32| heard.iter().any(|heard| heard.handle.receive > limit);
        if let Some(policy) = policy.filter(|policy| beyond(policy.max_receive_count)) {
            let itself = policy.dead_letter_target == queue.address;
            self.note(if itself { "kept by a queue that names itself" } else { "dead-letter queue gone" });
        }
        if !moving.is_empty() && !giving.is_empty() {
            self.note("moved and delivered in one receive");
        }
        // From the end, so that places stay what they are.
        for at in moving.into_iter().collect::<BTreeSet<_>>().into_iter().rev() {
            self.bury(n, at);
        }
        heard
    }

    fn note_noise(&mut self, n: usize, giving: &[usize]) {
        let queue = &self.queues[n];
        let noisy = queue.noisy(self.now);
        let is_noisy = |at: &&usize| queue.messages[**at].tenant.is_some_and(|t| noisy.contains_key(&t));
        let from_noisy = giving.iter().filter(is_noisy).count();
        let tenants: BTreeSet<_> =
            giving.iter().filter(is_noisy).map(|at| queue.messages[*at].tenant).collect();
        let passed = giving.windows(2).any(|pair| pair[0] > pair[1])
            || from_noisy == 0 && {
                let last = giving.last().copied().unwrap_or_default();
                queue.visible(self.now).iter().filter(is_noisy).any(|at| *at < last)
            };
        let returned = giving.iter().filter(is_noisy).any(|at| queue.messages[*at].receives > 0);
        let seen = [
            (passed, "quiet before noisy"),
            (from_noisy > 0 && from_noisy == giving.len(), "only noisy"),
            (from_noisy > 0 && from_noisy < giving.len(), "quiet and noisy in one receive"),
            (tenants.len() > 1, "several noisy in one receive"),
            (returned, "received again from a noisy tenant"),
        ];
        seen.into_iter().filter(|(is_seen, _)| *is_seen).for_each(|(_, what)| self.note(what));
    }

    /// Moves a message to the dead-letter queue. All about it stays, but where it is and where it came from.
    fn bury(&mut self, n: usize, at: usize) {
        let (target, _) = self.dead_letter_queue(n).expect("it has one");
        let from = self.queues[n].address.clone();
        let mut message = self.queues[n].messages.remove(at);
        self.note("dead letter moved");
        match message.source.replace(from) {
            Some(before) if before == self.queues[target].address => self.note("passed back"),
            Some(_) => self.note("chain"),
            None => {}
        }
        message.moved = true;
        message.lying = false;
        self.moves.push((message.id, self.queues[n].number, self.queues[target].number));
        let messages = &mut self.queues[target].messages;
        let place = messages.partition_point(|m| m.id < message.id);
        messages.insert(place, message);
    }

    /// The next queue that has something for who waits on it.
    fn next_to_serve(&mut self, on: Option<u64>) -> Option<(usize, bool)> {
        let looks = |n: usize, lying_too| {
            let queue = &self.queues[n];
            let first = queue.waiting.first().filter(|_| on.is_none_or(|number| number == queue.number));
            first.map(|first| self.look(n, first.max, lying_too)).unwrap_or_default()
        };
        let did = |act: &Act| {
            let number = match act {
                Act::Moved((_, number, _)) | Act::Gave(number) => number,
            };
            let n = self.queues.iter().position(|q| q.number == *number)?;
            let (moving, giving) = looks(n, true);
            let as_told = match act {
                Act::Gave(_) => !giving.is_empty(),
                Act::Moved((id, _, target)) => {
                    let to = self.dead_letter_queue(n).map(|(to, _)| self.queues[to].number);
                    to == Some(*target) && moving.iter().any(|at| self.queues[n].messages[*at].id == *id)
                }
            };
            as_told.then_some(n)
        };
        let told = self.acts.iter().enumerate().find_map(|(at, act)| Some((at, did(act)?)));
        if let Some((at, n)) = told {
            self.acts.drain(..=at);
            return Some((n, true));
        }
        (0..self.queues.len()).find(|n| looks(*n, false) != Default::default()).map(|n| (n, false))
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
                Error::DeadLetterMissing => "policy names no queue",
                _ => "queue missing",
            };
            self.note(what);
        }
        assert!(self.answers.insert(request, answer).is_none(), "one answer each");
    }

    /// A redrive policy names the queue itself or one that exists.
    fn check(&self, queue: &QueueAddress, changes: &[AttributeChange]) -> Result<(), Error> {
        let is_there = |target: &QueueAddress| target == queue || self.find(target).is_ok();
        let named = changes.iter().filter_map(|change| match change {
            AttributeChange::RedrivePolicy(Some(policy)) => Some(&policy.dead_letter_target),
            _ => None,
        });
        if named.into_iter().all(is_there) { Ok(()) } else { Err(Error::DeadLetterMissing) }
    }

    fn find(&self, queue: &QueueAddress) -> Result<usize, Error> {
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

    /// Visible messages go to who waits for them, on one queue or on all, first come first served.
    fn serve(&mut self, cause: &'static str, on: Option<u64>) {
        self.expire();
        while let Some((n, lying_too)) = self.next_to_serve(on) {
            let first = &self.queues[n].waiting[0];
            let (request, max, timeout) = (first.request, first.max, first.timeout);
            let moves = self.moves.len();
            let heard = self.take(n, max, timeout, lying_too);
            if self.moves.len() > moves {
                self.note("moved by a poll");
            }
            if !heard.is_empty() {
                self.queues[n].waiting.remove(0);
                self.note(cause);
                if self.queues[n]
                    .messages
                    .iter()
                    .any(|m| m.moved && heard.iter().any(|h| h.handle.id == m.id))
                {
                    self.note("poll on a dead-letter queue served");
                }
                self.answer(request, Ok(Answer::Received(heard)));
            }
            self.expire();
        }
        for n in 0..self.queues.len() {
            let (visible, in_flight, _) = self.queues[n].counts(self.now);
            if !self.queues[n].waiting.is_empty() && visible > 0 && in_flight as usize >= self.in_flight_max {
                self.note("waits for room in flight");
            }
        }
    }

    pub(crate) fn time_passes(&mut self) {
        self.serve("served by time", None);
        let now = self.now;
        for n in 0..self.queues.len() {
            while let Some(at) = self.queues[n].waiting.iter().position(|w| w.deadline <= now) {
                let waiter = self.queues[n].waiting.remove(at);
                self.note("wait ended empty");
                self.answer(waiter.request, Ok(Answer::Received(vec![])));
            }
        }
        self.acts.append(&mut self.later);
    }

    /// A command that changes something: what is due comes before it, and who waits is served after it.
    fn act(&mut self, request: RequestId, act: impl FnOnce(&mut Self) -> Result<Answer, Error>) {
        self.time_passes();
        let answer = act(self);
        self.answer(request, answer);
        self.serve("served by a command", None);
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
            all.check(&address, attributes)?;
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
            all.check(address, changes)?;
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

    /// Sends messages.
    pub(crate) fn send(&mut self, request: RequestId, address: &QueueAddress, entries: &[Entry]) {
        self.act(request, |all| {
            let n = all.find(address)?;
            let now = all.now;
            let queue = &mut all.queues[n];
            let limit = queue.attributes.maximum_message_size;
            let mut sent = Vec::new();
            for (id, size, delay, tenant) in entries {
                if *size > limit as usize {
                    sent.push(Err(Error::MessageTooLong { limit }));
                    continue;
                }
                queue.messages.push(Message {
                    id: *id,
                    tenant: *tenant,
                    sent_at: now,
                    visible_at: now + delay.unwrap_or(queue.attributes.delay),
                    receives: 0,
                    first_received_at: Timestamp::ZERO,
                    received_at: Timestamp::ZERO,
                    source: None,
                    moved: false,
                    lying: false,
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
        let now = self.now;
        let wait = wait.unwrap_or(self.queues[n].attributes.wait_time);
        let heard = self.take(n, max, timeout, true);
        let (_, in_flight, _) = self.queues[n].counts(now);
        if heard.is_empty() && wait > Duration::ZERO {
            self.queues[n].waiting.push(Waiter { request, max, timeout, deadline: now + wait });
            self.note("waits");
        } else if heard.is_empty() && in_flight as usize >= self.in_flight_max {
            self.answer(request, Err(Error::OverLimit));
        } else {
            if heard.iter().any(|heard| heard.handle.receive > 1) {
                self.note("received again");
            }
            self.answer(request, Ok(Answer::Received(heard)));
        }
        self.serve("served by a receive", None);
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
                // Queues that dead letters go to have their turn when all are returned.
                all.serve("served by a return", Some(handle.queue));
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
            (queue.address.clone(), queue.counts(now), queue.noisy(now).len(), oldest.map(|at| now.since(at)))
        };
        let mut gauges: Vec<_> = self.queues.iter().map(gauge).collect();
        gauges.sort();
        gauges
    }

    /// The queue that holds the message.
    pub(crate) fn holder(&mut self, id: MessageId) -> Option<u64> {
        self.expire();
        let holder = self.queues.iter().find(|q| q.messages.iter().any(|m| m.id == id))?;
        let dead = holder.messages.iter().any(|m| m.id == id && m.source.is_some());
        let number = holder.number;
        if dead {
            self.note("dead letter relocated");
        }
        Some(number)
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
        AttributeChange::RedrivePolicy(value) => attributes.redrive_policy.clone_from(value),
        other => panic!("the model has no {}", other.name()),
    }
    assert!(attributes.delay <= secs(900), "in range");
}
