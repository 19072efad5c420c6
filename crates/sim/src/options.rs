//! What a run is made of: its seed, and what of it is left out.

use crate::clients::Role;
use crate::faults::FaultKind;
use std::collections::BTreeSet;
use std::fmt;

/// What decides a run, wholly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Everything is drawn from it.
    pub seed: u64,
    /// Kinds of faults that do not strike.
    pub without_faults: BTreeSet<FaultKind>,
    /// Clients that do nothing.
    pub without_clients: BTreeSet<Role>,
    /// The moment, in milliseconds, from which on there are no faults and everything is received; `None` leaves it to the
    /// seed.
    pub span: Option<u64>,
}

impl Options {
    /// A whole run.
    pub fn of(seed: u64) -> Self {
        Options { seed, ..Options::default() }
    }

    /// Leaves out a kind of fault or a client, by its name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn leave_out(&mut self, name: &str) -> Result<(), String> {
        let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name);
        let role = Role::ALL.into_iter().find(|role| role.name() == name);
        if kind.is_none() && role.is_none() {
            return Err(format!("`{name}` is neither a kind of fault nor a client"));
        }
        self.without_faults.extend(kind);
        self.without_clients.extend(role);
        Ok(())
    }
}

impl fmt::Display for Options {
    /// As arguments of the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--seed {}", self.seed)?;
        let faults = self.without_faults.iter().map(|kind| kind.name());
        let clients = self.without_clients.iter().map(|role| role.name());
        let without: Vec<_> = faults.chain(clients).collect();
        if !without.is_empty() {
            write!(f, " --without {}", without.join(","))?;
        }
        match self.span {
            Some(span) => write!(f, " --span {span}"),
            None => Ok(()),
        }
    }
}
