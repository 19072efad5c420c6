//! No acknowledged delete is undone, and a send that turned out not to have happened stays that way.

use super::ledger::{Knowledge, Ledger, tag_of};
use super::{Checker, Verdict};
use crate::history::{Content, Fact};

/// Whatever is gone for certain is never seen again.
pub(crate) struct Removal;

impl Checker for Removal {
    fn name(&self) -> &'static str {
        "removal"
    }

    fn observe(&mut self, ledger: &Ledger, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Answered { contents, .. } => contents.iter().try_for_each(|content| check(ledger, content)),
            Fact::Looked(look) => {
                let messages = look.queues.iter().flat_map(|queue| &queue.messages);
                messages.map(|(_, content)| content).try_for_each(|content| check(ledger, content))
            }
            _ => Ok(()),
        }
    }
}

fn check(ledger: &Ledger, content: &Content) -> Verdict {
    let Content::Whole(stored) = content else { return Ok(()) };
    let Some(tag) = tag_of(stored) else { return Ok(()) };
    let Some(known) = ledger.get(tag) else {
        return Err(format!("message {} was never sent", tag.0));
    };
    if known.gone {
        return Err(format!("message {} of `{}` is back", tag.0, known.queue.name));
    }
    if known.stored == Knowledge::No {
        return Err(format!("message {} of `{}` was refused and is there", tag.0, known.queue.name));
    }
    Ok(())
}
