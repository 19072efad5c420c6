//! A history by message.

use super::SLACK;
use crate::record::{Act, Call, Entry, Got, Millis, Outcome, Queue, Sent};
use std::collections::{BTreeMap, HashMap};

/// When something happened, at the earliest and at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: Millis,
    pub(crate) end: Millis,
}

impl Span {
    fn of(call: &Call) -> Self {
        Span { start: call.start, end: call.end }
    }

    pub(crate) fn is_before(self, other: Span) -> bool {
        self.end < other.start
    }
}

pub(crate) struct Send<'h> {
    pub(crate) at: Span,
    pub(crate) queue: &'static str,
    pub(crate) entry: &'h Entry,
    pub(crate) outcome: &'h Outcome<Sent>,
}

pub(crate) struct Delivery<'h> {
    pub(crate) at: Span,
    /// Which call it was of.
    pub(crate) call: usize,
    /// The how-manieth of that call.
    pub(crate) place: usize,
    pub(crate) queue: &'static str,
    pub(crate) attempt: Option<&'h str>,
    pub(crate) timeout: Millis,
    pub(crate) got: &'h Got,
    /// Changes of its visibility timeout that may have had an effect, by their start.
    pub(crate) changes: Vec<(Span, Millis, &'h Outcome<()>)>,
    pub(crate) deletes: Vec<(Span, &'h Outcome<()>)>,
}

impl Delivery<'_> {
    /// Before this instant the message was certainly not visible again, as far as timeouts go, when seen at `at`.
    pub(crate) fn hidden_until(&self, at: Span) -> Millis {
        let mut until = self.at.start + self.timeout;
        for (span, timeout, outcome) in &self.changes {
            if span.start > at.end {
                break;
            }
            let changed = span.start + timeout;
            let is_certain = outcome.done().is_some() && span.is_before(at);
            until = if is_certain { changed } else { until.min(changed) };
        }
        until.saturating_sub(SLACK)
    }

    /// Whether a delete may have taken effect by then.
    pub(crate) fn is_deleted_perhaps(&self, by: Millis) -> bool {
        self.deletes.iter().any(|(span, outcome)| outcome.is_possible() && span.start <= by)
    }
}

/// All that is known of one body.
#[derive(Default)]
pub(crate) struct Message<'h> {
    pub(crate) sends: Vec<Send<'h>>,
    /// By their start.
    pub(crate) deliveries: Vec<Delivery<'h>>,
}

impl Message<'_> {
    /// Whether somebody may have deleted it by then.
    pub(crate) fn is_deleted_perhaps(&self, by: Millis) -> bool {
        self.deliveries.iter().any(|delivery| delivery.is_deleted_perhaps(by))
    }

    pub(crate) fn group(&self) -> Option<&str> {
        self.sends.first()?.entry.group.as_deref()
    }

    /// Its number in its first queue.
    pub(crate) fn sequence(&self) -> Option<u128> {
        let queue = self.sends.first()?.queue;
        let of_send = |send: &Send| send.outcome.done()?.sequence;
        let in_queue = self.deliveries.iter().filter(|delivery| delivery.queue == queue);
        self.sends.iter().find_map(of_send).or_else(|| in_queue.filter_map(|d| d.got.sequence).next())
    }
}

pub(crate) struct Index<'h> {
    pub(crate) queues: BTreeMap<&'static str, &'h Queue>,
    pub(crate) messages: BTreeMap<&'h str, Message<'h>>,
    /// Purges that may have had an effect, and whether they certainly had.
    pub(crate) purges: Vec<(Span, &'static str, bool)>,
    /// Starts of moves that may have had an effect.
    pub(crate) moves: Vec<(Span, &'static str)>,
    /// Receives whose answer is unknown.
    unanswered: Vec<(Span, &'static str)>,
}

impl<'h> Index<'h> {
    pub(crate) fn new(queues: &'h [Queue], calls: &'h [Call]) -> Self {
        let queues = queues.iter().map(|queue| (queue.name, queue)).collect();
        let (messages, purges, moves, unanswered) = Default::default();
        let mut index = Index { queues, messages, purges, moves, unanswered };
        let mut order: Vec<_> = calls.iter().enumerate().collect();
        order.sort_by_key(|(_, call)| call.start);
        let mut by_handle = HashMap::<&str, Vec<&Call>>::new();
        for (number, call) in order {
            index.add(number, call, &mut by_handle);
        }
        for delivery in index.messages.values_mut().flat_map(|message| &mut message.deliveries) {
            for call in by_handle.get(&*delivery.got.handle).into_iter().flatten() {
                match &call.act {
                    Act::Delete { outcome, .. } => delivery.deletes.push((Span::of(call), outcome)),
                    Act::Change { timeout, outcome, .. } if outcome.is_possible() => {
                        delivery.changes.push((Span::of(call), *timeout, outcome));
                    }
                    _ => {}
                }
            }
        }
        index
    }

    fn add(&mut self, number: usize, call: &'h Call, by_handle: &mut HashMap<&'h str, Vec<&'h Call>>) {
        let at = Span::of(call);
        match &call.act {
            Act::Send { queue, entry, outcome } => {
                self.messages.entry(&entry.body).or_default().sends.push(Send { at, queue, entry, outcome });
            }
            Act::Receive { queue, attempt, timeout, outcome: Outcome::Done(received) } => {
                for (place, got) in received.iter().enumerate() {
                    let delivery = Delivery {
                        at,
                        call: number,
                        place,
                        queue,
                        attempt: attempt.as_deref(),
                        timeout: *timeout,
                        got,
                        changes: Vec::new(),
                        deletes: Vec::new(),
                    };
                    self.messages.entry(&got.body).or_default().deliveries.push(delivery);
                }
            }
            Act::Receive { queue, .. } => self.unanswered.push((at, queue)),
            Act::Delete { handle, .. } | Act::Change { handle, .. } => {
                by_handle.entry(handle).or_default().push(call);
            }
            Act::Purge { queue, outcome } if outcome.is_possible() => {
                self.purges.push((at, queue, outcome.done().is_some()));
            }
            Act::Move { queue, outcome } if outcome.is_possible() => self.moves.push((at, queue)),
            Act::Purge { .. } | Act::Move { .. } => {}
        }
    }

    /// Whether a message that was in this queue after `from` may be purged by then.
    pub(crate) fn is_purged_perhaps(&self, queue: &str, from: Millis, by: Millis) -> bool {
        self.purges.iter().any(|(span, purged, _)| *purged == queue && span.end >= from && span.start <= by)
    }

    /// How often a message may have been received from a queue by then, without anybody having got the answer.
    pub(crate) fn unanswered_receives(&self, queue: &str, from: Millis, by: Millis) -> u32 {
        let count = self
            .unanswered
            .iter()
            .filter(|(span, of)| *of == queue && span.end >= from && span.start <= by)
            .count();
        u32::try_from(count).unwrap()
    }

    /// Whether a message may have died by then: received so often that the next receive moves it.
    pub(crate) fn is_dead_perhaps(&self, message: &Message<'_>, by: Millis) -> bool {
        let Some(send) = message.sends.first() else { return false };
        let Some((_, max)) = self.queues[send.queue].dead_letters else { return false };
        let seen = message.deliveries.iter().filter(|d| d.queue == send.queue && d.at.start <= by);
        let seen = seen.map(|delivery| delivery.got.count).max().unwrap_or(0);
        seen + self.unanswered_receives(send.queue, send.at.start, by) >= max
    }
}
