//! What holds of FIFO queues: one message for one deduplication id, and groups in order, with one receiver at a time.

use super::index::{Index, Message, Span};
use std::collections::{BTreeMap, BTreeSet};

/// For so long a repeated send is no new message.
const DEDUPLICATION: u64 = 300_000;

/// Sends with one deduplication id within five minutes are one message.
pub(crate) fn duplicates(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        let Some(first) = message.sends.iter().map(|send| send.at.start).min() else { continue };
        let last = message.sends.iter().map(|send| send.at.end).max().unwrap_or(first);
        let is_fifo = message.sends.iter().all(|send| index.queues[send.queue].is_fifo);
        if !is_fifo || last - first >= DEDUPLICATION {
            continue;
        }
        let answers: BTreeSet<_> = message.sends.iter().filter_map(|send| send.outcome.done()).collect();
        let delivered: BTreeSet<_> = message.deliveries.iter().map(|delivery| &delivery.got.id).collect();
        let answered: BTreeSet<_> = answers.iter().map(|sent| &sent.id).collect();
        if answers.len() > 1 || delivered.union(&answered).count() > 1 {
            broken.push(format!("duplicate: {body} is {answers:?} and came as {delivered:?}"));
        }
    }
}

/// The messages of each group in each queue that they were sent to, by their number there.
fn groups<'i, 'h>(
    index: &'i Index<'h>,
) -> BTreeMap<(&'static str, &'i str), Vec<(&'i str, &'i Message<'h>)>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for (body, message) in &index.messages {
        if let (Some(send), Some(group)) = (message.sends.first(), message.group())
            && index.queues[send.queue].is_fifo
        {
            groups.entry((send.queue, group)).or_default().push((*body, message));
        }
    }
    for messages in groups.values_mut() {
        messages.sort_by_key(|(_, message)| message.sequence());
    }
    groups
}

/// One receive gives the messages of a group in their order.
pub(crate) fn order_in_receive(index: &Index<'_>, broken: &mut Vec<String>) {
    for ((queue, group), messages) in groups(index) {
        let mut calls = BTreeMap::<usize, Vec<_>>::new();
        for delivery in messages.iter().flat_map(|(_, message)| &message.deliveries) {
            if delivery.queue == queue {
                calls.entry(delivery.call).or_default().push((delivery.place, delivery.got.sequence));
            }
        }
        for (call, mut messages) in calls {
            messages.sort_unstable();
            if !messages.is_sorted_by(|(_, first), (_, second)| first < second) {
                broken.push(format!("order: receive {call} gave {messages:?} of {group}"));
            }
        }
    }
}

/// A message comes only when all before it in its group are deleted, dead, purged, or in the same receive.
pub(crate) fn order(index: &Index<'_>, broken: &mut Vec<String>) {
    for ((queue, group), messages) in groups(index) {
        for (number, (body, message)) in messages.iter().enumerate() {
            for delivery in message.deliveries.iter().filter(|delivery| delivery.queue == queue) {
                let at = delivery.at;
                let before = messages[..number].iter().rev().find(|(_, before)| {
                    before.sequence().is_some()
                        && !before.deliveries.iter().any(|other| other.call == delivery.call)
                        && is_certainly_there(index, before, at)
                });
                if let Some((before, _)) = before {
                    broken.push(format!("order: {body} of {group} came at {at:?} before {before}"));
                }
            }
        }
    }
}

fn is_certainly_there(index: &Index<'_>, message: &Message<'_>, at: Span) -> bool {
    let send = &message.sends[0];
    !message.is_deleted_perhaps(at.end)
        && !index.is_dead_perhaps(message, at.end)
        && !index.is_purged_perhaps(send.queue, send.at.start, at.end)
}

/// While a message of a group is with a receiver, nobody else gets a later one of that group. An earlier one that is
/// visible again may be delivered.
pub(crate) fn exclusive(index: &Index<'_>, broken: &mut Vec<String>) {
    for ((queue, group), messages) in groups(index) {
        let mut deliveries: Vec<_> = messages
            .iter()
            .flat_map(|(body, message)| message.deliveries.iter().map(move |delivery| (*body, delivery)))
            .filter(|(_, delivery)| delivery.queue == queue)
            .collect();
        deliveries.sort_by_key(|(_, delivery)| delivery.at);
        for (number, (body, holds)) in deliveries.iter().enumerate() {
            let longest = holds.changes.iter().map(|(at, timeout, _)| at.start + timeout);
            let longest = longest.max().unwrap_or(0).max(holds.at.start + holds.timeout);
            for (other, second) in &deliveries[number + 1..] {
                if second.at.start > longest {
                    break;
                }
                let is_later = holds.got.sequence < second.got.sequence && holds.call != second.call;
                let is_repetition = holds.attempt.is_some() && holds.attempt == second.attempt;
                let is_free = holds.is_deleted_perhaps(second.at.end)
                    || second.at.end >= holds.hidden_until(second.at)
                    || index.is_purged_perhaps(queue, holds.at.start, second.at.end);
                if holds.at.is_before(second.at) && is_later && !is_repetition && !is_free {
                    let (first, second) = (holds.at, second.at);
                    broken
                        .push(format!("locked: {other} of {group} came at {second:?}, {body} at {first:?}"));
                }
            }
        }
    }
}
