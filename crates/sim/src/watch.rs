//! Whoever watches a run: hands every fact to the checkers, keeps the timeline, counts.

use crate::checker::{Checkers, Violation};
use crate::describe;
use crate::history::Fact;
use crate::tally::Tally;
use crate::time::Moment;
use std::fmt::Write;
use tidegate_engine::RequestId;

/// Watches one run.
pub(crate) struct Watch {
    pub(crate) checkers: Checkers,
    pub(crate) tally: Tally,
    /// When it is, for the timeline.
    pub(crate) moment: Moment,
    next_request: u64,
    /// `None` unless somebody wants to read it.
    timeline: Option<String>,
    /// Whether something is wrong with the medium that the server may report.
    pub(crate) is_damaged: bool,
}

impl Watch {
    pub(crate) fn new(is_traced: bool) -> Self {
        Watch {
            checkers: Checkers::default(),
            tally: Tally::default(),
            moment: Moment::default(),
            next_request: 0,
            timeline: is_traced.then(String::new),
            is_damaged: false,
        }
    }

    pub(crate) fn next_request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    pub(crate) fn observe(&mut self, fact: &Fact<'_>) -> Result<(), Violation> {
        match fact {
            Fact::Asked { .. } => self.tally.operations += 1,
            Fact::Ended => self.tally.lives += 1,
            _ => {}
        }
        self.note(|line| describe::fact(fact, line));
        self.checkers.observe(fact)
    }

    /// Puts a line into the timeline, if there is one.
    pub(crate) fn note(&mut self, line: impl FnOnce(&mut String)) {
        if let Some(timeline) = &mut self.timeline {
            let _ = write!(timeline, "{} ", self.moment);
            line(timeline);
            timeline.push('\n');
        }
    }

    pub(crate) fn set_damaged(&mut self, is_damaged: bool) {
        self.is_damaged = is_damaged;
        // It breaks no promise by itself.
        let _ = self.observe(&Fact::Damaged(is_damaged));
    }

    /// The server reported that it could not read something.
    pub(crate) fn note_unreadable(&mut self, error: &dyn std::error::Error) -> Result<(), Violation> {
        self.note(|line| *line += &format!("  server reports: {error}"));
        if self.is_damaged {
            self.tally.reports += 1;
            return Ok(());
        }
        Err(Violation {
            checker: "integrity",
            what: format!("reported although nothing is damaged: {error}"),
        })
    }

    pub(crate) fn into_timeline(self) -> (Tally, String) {
        (self.tally, self.timeline.unwrap_or_default())
    }
}
