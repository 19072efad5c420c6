//! Backlogs that can be put away do not stay in memory.

use super::ledger::Ledger;
use super::{Checker, Verdict};
use crate::history::Fact;

/// Memory is bounded.
pub(crate) struct Memory;

/// Bytes of written out backlogs in memory when the setting allows none: what is about to be received.
const BYTES_MAX: usize = 16 << 10;

impl Checker for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn observe(&mut self, _: &Ledger, fact: &Fact<'_>) -> Verdict {
        let Fact::Looked(look) = fact else { return Ok(()) };
        match look.memory_bytes.filter(|bytes| *bytes > BYTES_MAX) {
            Some(bytes) => Err(format!("{bytes} bytes of backlogs in memory could be put away")),
            None => Ok(()),
        }
    }
}
