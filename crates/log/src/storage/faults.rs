//! Faults that a [`MemoryStorage`](super::MemoryStorage) can be told to have.

use std::io;

/// When a fault strikes. Counting starts at 1, from the creation of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// At the n-th operation that changes anything: create, write, sync, rename, remove, sync of the directory.
    Operation(u64),
    /// At the n-th write.
    Write(u64),
    /// At the n-th sync of a file.
    Sync(u64),
}

/// What happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// That one operation fails with an input/output error and does nothing.
    Error,
    /// That one write puts only so many bytes down, and fails. Other operations just fail.
    ShortWrite(usize),
    /// From that operation on, nothing has any effect and everything fails: the machine is off.
    PowerOff,
}

/// A kind of operation, for counting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Write,
    Sync,
    Directory,
}

/// What the storage should do with an operation.
pub(super) enum Answer {
    Go,
    Short(usize),
}

/// The fault plan and its counters.
#[derive(Default)]
pub(super) struct Faults {
    planned: Vec<(Trigger, Fault)>,
    operations: u64,
    writes: u64,
    syncs: u64,
    powered_off: bool,
}

impl Faults {
    pub(super) fn plan(&mut self, trigger: Trigger, fault: Fault) {
        self.planned.push((trigger, fault));
    }

    pub(super) fn clear(&mut self) {
        self.planned.clear();
        self.powered_off = false;
    }

    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    pub(super) fn syncs(&self) -> u64 {
        self.syncs
    }

    /// Counts one operation of `kind`, and says how it should go.
    pub(super) fn admit(&mut self, kind: Kind) -> io::Result<Answer> {
        self.operations += 1;
        self.writes += u64::from(kind == Kind::Write);
        self.syncs += u64::from(kind == Kind::Sync);
        let due = |trigger: &Trigger| match *trigger {
            Trigger::Operation(n) => n == self.operations,
            Trigger::Write(n) => kind == Kind::Write && n == self.writes,
            Trigger::Sync(n) => kind == Kind::Sync && n == self.syncs,
        };
        let fault = self.planned.iter().find(|(trigger, _)| due(trigger)).map(|(_, fault)| *fault);
        self.powered_off |= fault == Some(Fault::PowerOff);
        match fault {
            _ if self.powered_off => Err(io::Error::other("the power is off")),
            None => Ok(Answer::Go),
            Some(Fault::ShortWrite(bytes)) if kind == Kind::Write => Ok(Answer::Short(bytes)),
            Some(_) => Err(io::Error::other("injected fault")),
        }
    }
}
