//! What is written down of a run: every request with the instants between which it may have taken effect.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds of the system's clock, which is the server's clock as well.
pub(crate) type Millis = u64;

pub(crate) fn now() -> Millis {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A queue of a run, as far as its promises depend on it.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: &'static str,
    pub(crate) is_fifo: bool,
    /// Its dead-letter queue, and after so many receives.
    pub(crate) dead_letters: Option<(&'static str, u32)>,
}

/// One request. An unanswered one took effect between the two instants or never: whoever serves next was started
/// after the second.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) start: Millis,
    pub(crate) end: Millis,
    pub(crate) act: Act,
}

/// What was asked, and what the answer said.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Send {
        queue: &'static str,
        entry: Entry,
        outcome: Outcome<Sent>,
    },
    /// `timeout` is in milliseconds.
    Receive {
        queue: &'static str,
        attempt: Option<String>,
        timeout: Millis,
        outcome: Outcome<Vec<Got>>,
    },
    Delete {
        handle: String,
        outcome: Outcome<()>,
    },
    Change {
        handle: String,
        timeout: Millis,
        outcome: Outcome<()>,
    },
    Purge {
        queue: &'static str,
        outcome: Outcome<()>,
    },
    /// Everything in this dead-letter queue goes back to where it came from, from now on.
    Move {
        queue: &'static str,
        outcome: Outcome<()>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome<T> {
    Done(T),
    /// The server said no: it has no effect.
    Refused(String),
    /// No answer, or one that promises nothing.
    Unknown,
}

/// A message of a send. Bodies are unique, but for repetitions with the same deduplication id, which is the body.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) body: String,
    pub(crate) group: Option<String>,
    /// In milliseconds.
    pub(crate) delay: Millis,
}

/// What a send was answered with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sent {
    pub(crate) id: String,
    /// On FIFO queues.
    pub(crate) sequence: Option<u128>,
}

/// A message of a receive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Got {
    pub(crate) body: String,
    pub(crate) id: String,
    pub(crate) handle: String,
    pub(crate) count: u32,
    pub(crate) group: Option<String>,
    pub(crate) sequence: Option<u128>,
}

impl<T> Outcome<T> {
    pub(crate) fn done(&self) -> Option<&T> {
        match self {
            Outcome::Done(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Outcome::Done(value) => Outcome::Done(change(value)),
            Outcome::Refused(text) => Outcome::Refused(text),
            Outcome::Unknown => Outcome::Unknown,
        }
    }

    /// Whether it may have had an effect.
    pub(crate) fn is_possible(&self) -> bool {
        !matches!(self, Outcome::Refused(_))
    }
}
