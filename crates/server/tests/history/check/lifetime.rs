//! What holds of every message: it is stored, delivered to one at a time, deleted once, or dies.

use super::index::{Delivery, Index, Message};
use std::collections::HashMap;

/// Nobody gets what nobody sent, or what the server refused.
pub(crate) fn never_sent(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        let Some(first) = message.deliveries.first() else { continue };
        let is_sent = message.sends.iter().any(|s| s.outcome.is_possible() && s.at.start <= first.at.end);
        if !is_sent {
            broken.push(format!("never sent: {body} was received at {:?}", first.at));
        }
    }
}

/// In the end all queues are empty, so that what was acknowledged and that nobody asked to delete is lost.
pub(crate) fn lost(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        let Some(send) = message.sends.iter().find(|send| send.outcome.done().is_some()) else { continue };
        let is_purged = index.is_purged_perhaps(send.queue, send.at.start, u64::MAX);
        if !is_purged && !message.is_deleted_perhaps(u64::MAX) {
            broken.push(format!("lost: {body}, acknowledged at {:?}", send.at));
        }
    }
}

/// What was deleted stays so. A delete counts if its message could not be with anyone else then.
pub(crate) fn undeleted(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        for of in &message.deliveries {
            for (delete, outcome) in &of.deletes {
                let is_fifo = index.queues[of.queue].is_fifo;
                if outcome.done().is_none() || !is_fifo && of.hidden_until(*delete) <= delete.end {
                    continue;
                }
                let later = message.deliveries.iter().find(|delivery| delete.is_before(delivery.at));
                // After five minutes the same deduplication id makes another message.
                if let Some(later) = later.filter(|later| later.got.id == of.got.id || !is_fifo) {
                    broken.push(format!(
                        "delete undone: {body}, deleted at {delete:?}, came at {:?}",
                        later.at
                    ));
                }
            }
        }
    }
}

/// Nothing that was sent before a purge comes after it.
pub(crate) fn unpurged(index: &Index<'_>, broken: &mut Vec<String>) {
    for (purge, queue, _) in index.purges.iter().filter(|(_, _, is_certain)| *is_certain) {
        for (body, message) in &index.messages {
            let is_older = message.sends.iter().all(|send| send.queue == *queue && send.at.is_before(*purge));
            let later = message.deliveries.iter().find(|d| d.queue == *queue && purge.is_before(d.at));
            if let Some(later) = later.filter(|_| is_older && !message.sends.is_empty()) {
                broken.push(format!("purge undone: {body}, purged at {purge:?}, came at {:?}", later.at));
            }
        }
    }
}

/// Nobody gets a message while another one has it.
pub(crate) fn early(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        for (number, first) in message.deliveries.iter().enumerate() {
            for second in &message.deliveries[number + 1..] {
                let is_repetition = first.attempt.is_some() && first.attempt == second.attempt;
                let is_other = first.got.id != second.got.id && index.queues[first.queue].is_fifo;
                let until = first.hidden_until(second.at);
                if first.at.is_before(second.at) && second.at.end < until && !is_repetition && !is_other {
                    let (first, second) = (first.at, second.at);
                    broken.push(format!(
                        "early: {body} came at {first:?}, hidden until {until}, and at {second:?}"
                    ));
                }
            }
        }
    }
}

/// Nobody gets a message before its delay is over.
pub(crate) fn delayed(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        let Some(first) = message.deliveries.iter().map(|delivery| delivery.at).min_by_key(|at| at.end)
        else {
            continue;
        };
        let visible_at = message.sends.iter().map(|send| send.at.start + send.entry.delay).min();
        if visible_at.is_some_and(|visible_at| first.end + super::SLACK < visible_at) {
            broken.push(format!("too soon: {body}, delayed until {visible_at:?}, came at {first:?}"));
        }
    }
}

/// Each receive of a message from one queue counts one more.
pub(crate) fn counts(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        let mut stays = HashMap::<_, Vec<&Delivery<'_>>>::new();
        for delivery in &message.deliveries {
            stays.entry((delivery.queue, &delivery.got.id)).or_default().push(delivery);
        }
        for stay in stays.values() {
            for (number, first) in stay.iter().enumerate() {
                for second in &stay[number + 1..] {
                    let is_repetition = first.attempt.is_some() && first.attempt == second.attempt;
                    let falls = first.at.is_before(second.at) && first.got.count > second.got.count;
                    if falls || first.got.count == second.got.count && !is_repetition {
                        let (a, b) = (first.got.count, second.got.count);
                        broken.push(format!("counts: {body} was received as {a} and then as {b}"));
                    }
                }
            }
        }
    }
}

/// A message dies when it was received as often as its queue allows, and not before; and then it stays dead until
/// somebody moves it.
pub(crate) fn dead_letters(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        let Some(send) = message.sends.first() else { continue };
        let Some((dead, max)) = index.queues[send.queue].dead_letters else { continue };
        if let Some(over) = message.deliveries.iter().find(|d| d.queue == send.queue && d.got.count > max) {
            broken.push(format!("undead: {body} was received {} times of {max}", over.got.count));
        }
        let Some(died) = message.deliveries.iter().find(|delivery| delivery.queue == dead) else { continue };
        if !index.is_dead_perhaps(message, died.at.end) {
            broken.push(format!("dead too soon: {body} came as a dead letter at {:?}", died.at));
        }
        revived(index, message, died, body, broken);
    }
}

fn revived(
    index: &Index<'_>,
    message: &Message<'_>,
    died: &Delivery<'_>,
    body: &str,
    broken: &mut Vec<String>,
) {
    let back = message.deliveries.iter().find(|d| d.queue != died.queue && died.at.is_before(d.at));
    let Some(back) = back.filter(|back| back.got.id == died.got.id || !index.queues[back.queue].is_fifo)
    else {
        return;
    };
    if !index.moves.iter().any(|(at, queue)| *queue == died.queue && at.start <= back.at.end) {
        broken.push(format!("revived: {body} was a dead letter at {:?} and came at {:?}", died.at, back.at));
    }
}

/// While it certainly has a message, a receiver may delete it and change its timeout.
pub(crate) fn refused_in_time(index: &Index<'_>, broken: &mut Vec<String>) {
    for (body, message) in &index.messages {
        for of in &message.deliveries {
            for (delete, outcome) in &of.deletes {
                let is_excused = of.deletes.iter().any(|(other, o)| other < delete && o.is_possible())
                    || index.is_purged_perhaps(of.queue, of.at.start, delete.end);
                let in_time = delete.end < of.hidden_until(*delete);
                if !outcome.is_possible() && in_time && !is_excused {
                    broken.push(format!("refused in time: {body}, delete at {delete:?}: {outcome:?}"));
                }
            }
        }
    }
}
