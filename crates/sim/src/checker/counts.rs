//! What the server counts is what there is.

use super::ledger::Ledger;
use super::{Checker, Verdict};
use crate::history::{Fact, Look, LookedQueue};
use tidegate_engine::{Counts, PeekedState};

/// Counts are equal to the truth when nothing is under way.
#[derive(Default)]
pub(crate) struct CountsAreTrue {
    is_damaged: bool,
}

impl Checker for CountsAreTrue {
    fn name(&self) -> &'static str {
        "counts"
    }

    fn observe(&mut self, _: &Ledger, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Damaged(is_damaged) => self.is_damaged = *is_damaged,
            Fact::Looked(look) => return self.check(look),
            _ => {}
        }
        Ok(())
    }
}

impl CountsAreTrue {
    fn check(&self, look: &Look) -> Verdict {
        if look.parked > look.waiting {
            return Err(format!("{} receives wait, of {} callers", look.parked, look.waiting));
        }
        // What cannot be read does not show, and is counted all the same.
        for queue in look.queues.iter().filter(|_| !(self.is_damaged && look.is_partial())) {
            let (counted, found) = (queue.view.counts, count(queue));
            if counted != found {
                let name = &queue.address.name;
                return Err(format!("`{name}` has {found:?} and counts {counted:?}"));
            }
        }
        Ok(())
    }
}

fn count(queue: &LookedQueue) -> Counts {
    let mut counts = Counts::default();
    for (peeked, _) in &queue.messages {
        match peeked.state {
            PeekedState::Visible => counts.visible += 1,
            PeekedState::InFlight { .. } => counts.in_flight += 1,
            PeekedState::Delayed { .. } => counts.delayed += 1,
        }
    }
    counts
}
