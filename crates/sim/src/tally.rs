//! Counting what came to pass.

use crate::faults::FaultKind;
use crate::machine::Seen;
use std::collections::BTreeMap;
use std::fmt;

/// What came to pass in one run or in many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub seeds: u64,
    /// Requests that went into a server.
    pub operations: u64,
    /// Processes that ended.
    pub lives: u64,
    /// Faults that struck.
    pub faults: BTreeMap<FaultKind, u64>,
    /// Damage of the medium that the server reported.
    pub reports: u64,
    /// What else is worth counting.
    pub seen: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Takes over the counts of another run.
    pub fn add(&mut self, other: &Tally) {
        self.seeds += other.seeds;
        self.operations += other.operations;
        self.lives += other.lives;
        self.reports += other.reports;
        other.faults.iter().for_each(|(kind, count)| *self.faults.entry(*kind).or_default() += count);
        other.seen.iter().for_each(|(what, count)| *self.seen.entry(what).or_default() += count);
    }

    pub(crate) fn strike(&mut self, kind: FaultKind) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub(crate) fn note_house(&mut self, seen: &Seen) {
        self.see("checkpoints", seen.checkpoints);
        self.see("bytes of posting files", seen.posting_bytes);
        self.see("segments given back", seen.retired);
        self.see("messages offered for relocation", seen.offered);
        self.see("failed housekeepings", seen.failed);
    }

    pub(crate) fn see(&mut self, what: &'static str, count: u64) {
        *self.seen.entry(what).or_default() += count;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12}  seeds", self.seeds)?;
        writeln!(f, "{:>12}  operations", self.operations)?;
        writeln!(f, "{:>12}  lives", self.lives)?;
        writeln!(f, "{:>12}  reports of damage", self.reports)?;
        for (what, count) in &self.seen {
            writeln!(f, "{count:>12}  {what}")?;
        }
        writeln!(f, "faults:")?;
        for kind in FaultKind::ALL {
            writeln!(f, "{:>12}  {}", self.faults.get(&kind).copied().unwrap_or(0), kind.name())?;
        }
        Ok(())
    }
}
