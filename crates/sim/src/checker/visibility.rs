//! Visibility is honoured: no second delivery before the deadline that the first one was told, unless somebody asked for
//! that, and none before a delay is over.

use super::ledger::{Ledger, Place, tag_of};
use super::{Checker, Verdict};
use crate::history::{Content, Fact};
use tidegate_engine::{Command, Delivery, Receive, Reply, Timestamp};

/// What is hidden is not delivered.
pub(crate) struct Visibility;

impl Checker for Visibility {
    fn name(&self) -> &'static str {
        "visibility"
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
        let mut each = deliveries.iter().zip(*contents);
        each.try_for_each(|(delivery, content)| check(ledger, *now, receive, delivery, content))
    }
}

fn check(
    ledger: &Ledger,
    now: Timestamp,
    receive: &Receive,
    delivery: &Delivery,
    content: &Content,
) -> Verdict {
    let seq = delivery.receipt.seq;
    let place = (receive.queue.name.clone(), seq);
    if ledger.is_repeated(receive, delivery) {
        return Ok(());
    }
    check_hidden(ledger, now, &place)?;
    let Content::Whole(stored) = content else { return Ok(()) };
    let Some((tag, known)) = tag_of(stored).and_then(|tag| Some((tag, ledger.get(tag)?))) else {
        return Ok(());
    };
    if now < known.visible_at {
        return Err(format!("message {} of `{}` was delivered before its delay was over", tag.0, place.0));
    }
    // A message that went to another queue must have been visible.
    known.place.as_ref().map_or(Ok(()), |place| check_hidden(ledger, now, place))
}

fn check_hidden(ledger: &Ledger, now: Timestamp, place: &Place) -> Verdict {
    match ledger.hiding(place).map(super::hiding::Hiding::earliest) {
        Some(earliest) if now < earliest => Err(format!(
            "message #{} of `{}` was delivered {} ms before it may be visible again",
            place.1.0,
            place.0.as_str(),
            earliest.since(now).as_millis()
        )),
        _ => Ok(()),
    }
}
