//! The receives that wait on one queue, in the order they came: the first to wait is the first served.

use crate::{Receive, RequestId, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// A long poll that found nothing yet.
#[derive(Clone, Debug)]
pub(crate) struct Parked {
    pub(crate) request: RequestId,
    pub(crate) wanted: Wanted,
    pub(crate) deadline: Timestamp,
}

/// What a receive asks of its queue.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) max: usize,
    pub(crate) visibility_timeout: Option<Duration>,
    pub(crate) attempt_id: Option<Box<str>>,
}

impl Wanted {
    pub(crate) fn of(receive: &Receive) -> Self {
        let Receive { max, visibility_timeout, attempt_id, .. } = receive;
        Wanted { max: *max, visibility_timeout: *visibility_timeout, attempt_id: attempt_id.clone() }
    }
}

/// A place in a queue's row of waiting receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(u64);

#[derive(Debug, Default)]
pub(crate) struct Waiting {
    row: BTreeMap<Place, Parked>,
    next: u64,
}

impl Waiting {
    pub(crate) fn join(&mut self, parked: Parked) -> Place {
        let place = Place(self.next);
        self.next += 1;
        self.row.insert(place, parked);
        place
    }

    pub(crate) fn first(&self) -> Option<&Parked> {
        self.row.values().next()
    }

    pub(crate) fn leave(&mut self, place: Place) -> Option<Parked> {
        self.row.remove(&place)
    }

    pub(crate) fn pop_first(&mut self) -> Option<Parked> {
        self.row.pop_first().map(|(_, parked)| parked)
    }
}
