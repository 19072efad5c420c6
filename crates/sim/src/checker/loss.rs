//! No acknowledged send is lost.

use super::ledger::{Ledger, tag_of};
use super::{Checker, Verdict};
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
        let Some(seen) = seen(look) else { return Ok(()) };
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

/// What is there; `None` if some of it cannot be read, and so nothing can be said of what seems to be missing.
fn seen(look: &Look) -> Option<BTreeSet<crate::content::Tag>> {
    let contents = look.queues.iter().flat_map(|queue| &queue.messages);
    let tag = |content: &Content| match content {
        Content::Whole(stored) => tag_of(stored),
        _ => None,
    };
    contents.map(|(_, content)| tag(content)).collect()
}
