//! The promises, each kept by a checker of its own that follows the history.
//!
//! | checker | promise |
//! |---|---|
//! | `loss` | what was acknowledged is there until somebody may have removed it |
//! | `removal` | what was removed for certain never comes back |
//! | `visibility` | what is hidden is not delivered |
//! | `order` | messages of a group come in their order, and none while an earlier one is not done with |
//! | `deduplication` | a deduplication id is taken once in five minutes, and one that was not taken is |
//! | `receives` | receive counts go up by one with each receive |
//! | `dead_letters` | messages that were received too often become dead letters, and no others |
//! | `counts` | counts are equal to what there is |
//! | `integrity` | what is served is what was sent; damage is reported |
//! | `memory` | backlogs that can be put away do not stay in memory |

mod attributes;
mod counts;
mod dead_letters;
mod deduplication;
mod hiding;
mod integrity;
mod ledger;
mod loss;
mod memory;
mod order;
mod receives;
mod removal;
mod visibility;

use crate::history::Fact;
pub use ledger::Ledger;
use std::fmt;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Who noticed.
    pub checker: &'static str,
    /// What is wrong, for a person.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.checker, self.what)
    }
}

/// What a checker has to say to a fact: nothing, or what is wrong.
pub(crate) type Verdict = Result<(), String>;

/// Keeps one promise.
pub(crate) trait Checker {
    /// Short, for reports.
    fn name(&self) -> &'static str;

    /// Looks at a fact before the ledger takes it over.
    fn observe(&mut self, ledger: &Ledger, fact: &Fact<'_>) -> Verdict;
}

/// All checkers, and the ledger that they share.
pub struct Checkers {
    ledger: Ledger,
    checkers: Vec<Box<dyn Checker>>,
}

impl Default for Checkers {
    fn default() -> Self {
        let checkers: Vec<Box<dyn Checker>> = vec![
            Box::new(integrity::Integrity::default()),
            Box::new(loss::Loss),
            Box::new(removal::Removal),
            Box::new(visibility::Visibility),
            Box::new(order::Order),
            Box::new(deduplication::Deduplication::default()),
            Box::new(receives::Receives),
            Box::new(dead_letters::DeadLetters::default()),
            Box::new(counts::CountsAreTrue::default()),
            Box::new(memory::Memory),
        ];
        Checkers { ledger: Ledger::default(), checkers }
    }
}

impl Checkers {
    /// Follows a fact.
    ///
    /// # Errors
    /// The first promise that is broken.
    pub fn observe(&mut self, fact: &Fact<'_>) -> Result<(), Violation> {
        for checker in &mut self.checkers {
            let verdict = checker.observe(&self.ledger, fact);
            verdict.map_err(|what| Violation { checker: checker.name(), what })?;
        }
        self.ledger.observe(fact);
        Ok(())
    }

    /// Says how short the shortest retention period of all queues ever is.
    pub fn set_retention(&mut self, retention: std::time::Duration) {
        self.ledger.set_retention(retention);
    }

    /// What is known of each message.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}
