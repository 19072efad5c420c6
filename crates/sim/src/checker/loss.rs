//! No acknowledged send is lost.

use super::ledger::{Ledger, tag_of};
use super::{Checker, Verdict};
use crate::content::Tag;
use crate::history::{Content, Fact, Look};
use std::collections::BTreeSet;

/// Whatever was acknowledged, and nobody may have removed, is there whenever one looks.
pub(crate) struct Loss;

impl Checker for Loss {
    fn name(&self) -> &'static str {
        "loss"
    }

    fn observe(&mut self, ledger: &Ledger, fact: &Fact<'_>) -> Verdict {
        let Fact::Looked(look) = fact else { return Ok(()) };
        let Some(seen) = seen(ledger, look) else { return Ok(()) };
        let latest = ledger.latest().max(look.now);
        let lost = ledger.messages().find(|(tag, known)| known.is_certain(latest) && !seen.contains(tag));
        match lost {
            None => Ok(()),
            Some((tag, known)) => {
                Err(format!("message {} of `{}` was acknowledged and is not there", tag.0, known.queue.name))
            }
        }
    }
}

/// What is there; `None` if some of it cannot be told, and so nothing can be said of what seems to be missing.
fn seen(ledger: &Ledger, look: &Look) -> Option<BTreeSet<Tag>> {
    if look.is_partial() {
        return None;
    }
    let mut seen = BTreeSet::new();
    for queue in &look.queues {
        for (peeked, content) in &queue.messages {
            seen.insert(match content {
                Content::Whole(stored) => tag_of(stored)?,
                _ => ledger.at(&(queue.address.name.clone(), peeked.touched.stored.seq))?,
            });
        }
    }
    Some(seen)
}
