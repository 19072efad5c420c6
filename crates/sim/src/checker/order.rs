//! Messages of a group are delivered in their order, and none while an earlier one is not done with.

use super::ledger::{Ledger, Place, tag_of};
use super::{Checker, Verdict};
use crate::history::{Content, Fact};
use crate::queues::{STEPS, stays};
use std::collections::BTreeSet;
use tidegate_engine::{Command, QueueName, Reply, Timestamp};

/// Whatever is before a message in its group is delivered before it, and gone or in the same answer.
pub(crate) struct Order;

impl Checker for Order {
    fn name(&self) -> &'static str {
        "order"
    }

    fn observe(&mut self, ledger: &Ledger, fact: &Fact<'_>) -> Verdict {
        let Fact::Answered {
            now,
            command: Command::Receive(receive),
            outcome: Ok(Reply::Received(deliveries)),
            contents,
            ..
        } = fact
        else {
            return Ok(());
        };
        if !receive.queue.name.is_fifo() {
            return Ok(());
        }
        let queue = &receive.queue.name;
        let mut delivered = BTreeSet::new();
        for (delivery, content) in deliveries.iter().zip(*contents) {
            let place = (queue.clone(), delivery.receipt.seq);
            check(ledger, *now, &place, content, &delivered)?;
            delivered.insert(place);
        }
        Ok(())
    }
}

fn check(
    ledger: &Ledger,
    now: Timestamp,
    place: &Place,
    content: &Content,
    delivered: &BTreeSet<Place>,
) -> Verdict {
    let Content::Whole(stored) = content else { return Ok(()) };
    let group = &stored.message.group_id;
    let latest = ledger.latest().max(now);
    let earlier = ledger.in_queue(&place.0).take_while(|(other, ..)| *other < place);
    for (other, tag, known) in earlier {
        let is_before = known.group == *group && known.is_certain(latest) && Some(tag) != tag_of(stored);
        if is_before && !delivered.contains(other) && must_be_there(ledger, now, &place.0, other) {
            return Err(format!(
                "message #{} of `{}` was delivered while #{} is before it in group {}",
                place.1.0,
                place.0.as_str(),
                other.1.0,
                group.as_deref().unwrap_or_default()
            ));
        }
    }
    Ok(())
}

/// Whether a message cannot have gone to another queue since it was seen last.
fn must_be_there(ledger: &Ledger, now: Timestamp, queue: &QueueName, place: &Place) -> bool {
    let is_hidden = ledger.hiding(place).is_some_and(|hiding| now < hiding.earliest());
    let was_never_received = ledger.receives(place).unwrap_or(0) == 0 && !ledger.is_unsure();
    stays(queue) || is_hidden || (queue.as_str() == STEPS && was_never_received)
}
