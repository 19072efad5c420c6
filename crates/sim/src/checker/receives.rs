//! The receive count of a message goes up by one with every receive, and never back.

use super::ledger::Ledger;
use super::{Checker, Verdict};
use crate::history::Fact;
use crate::queues::stays;
use tidegate_engine::{Command, Delivery, Receive, Reply};

/// Receive counts tell the truth.
pub(crate) struct Receives;

impl Checker for Receives {
    fn name(&self) -> &'static str {
        "receives"
    }

    fn observe(&mut self, ledger: &Ledger, fact: &Fact<'_>) -> Verdict {
        let Fact::Answered { command: Command::Receive(receive), outcome: Ok(Reply::Received(all)), .. } =
            fact
        else {
            return Ok(());
        };
        all.iter().try_for_each(|delivery| check(ledger, receive, delivery))
    }
}

fn check(ledger: &Ledger, receive: &Receive, delivery: &Delivery) -> Verdict {
    let count = delivery.receive_count;
    let queue = &receive.queue.name;
    let before = ledger.receives(&(queue.clone(), delivery.receipt.seq));
    let is_right = match before {
        Some(before) if ledger.is_repeated(receive, delivery) => count == before,
        Some(before) if ledger.is_unsure() => count > before,
        Some(before) => count == before + 1,
        // What comes from another queue may bring its count along.
        None => count == 1 || ledger.is_unsure() || !stays(queue),
    };
    if is_right {
        return Ok(());
    }
    let seq = delivery.receipt.seq.0;
    Err(format!("receive {count} of message #{seq} of `{queue}` came after {} others", before.unwrap_or(0)))
}
