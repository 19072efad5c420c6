//! What is served is what was sent, to the byte; what cannot be served so is reported, and only where the medium is damaged.

use super::ledger::{Ledger, tag_of};
use super::{Checker, Verdict};
use crate::history::{Content, Fact};

/// Nothing is served that nobody sent.
#[derive(Default)]
pub(crate) struct Integrity {
    is_damaged: bool,
}

impl Checker for Integrity {
    fn name(&self) -> &'static str {
        "integrity"
    }

    fn observe(&mut self, _: &Ledger, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Damaged(is_damaged) => {
                self.is_damaged = *is_damaged;
                Ok(())
            }
            Fact::Answered { contents, .. } => contents.iter().try_for_each(|content| self.check(content)),
            Fact::Looked(look) => {
                let messages = look.queues.iter().flat_map(|queue| &queue.messages);
                messages.map(|(_, content)| content).try_for_each(|content| self.check(content))
            }
            _ => Ok(()),
        }
    }
}

impl Integrity {
    fn check(&self, content: &Content) -> Verdict {
        match content {
            Content::Whole(stored) if tag_of(stored).is_none() => {
                Err(format!("message #{} is not what anybody sent", stored.seq.0))
            }
            Content::Missing => Err("a message that is there has no record".into()),
            Content::Unreadable if !self.is_damaged => {
                Err("a message cannot be read, and nothing is damaged".into())
            }
            _ => Ok(()),
        }
    }
}
