//! Until when received messages stay hidden, by what requests may and answers must have made of it.

use super::ledger::Place;
use std::collections::BTreeMap;
use tidegate_engine::{QueueName, Receipt, RequestId, Timestamp};

/// A message that was received.
#[derive(Clone, Debug)]
pub(crate) struct Hiding {
    /// Until then, if nothing that is under way has changed it.
    until: Timestamp,
    /// What may have changed it, and to when.
    pending: Vec<(RequestId, Timestamp)>,
    /// The newest receive that is known, and its attempt id.
    pub(crate) receipt: Receipt,
    pub(crate) attempt: Option<Box<str>>,
}

impl Hiding {
    /// Before this instant nobody else receives it.
    pub(crate) fn earliest(&self) -> Timestamp {
        self.pending.iter().map(|(_, until)| *until).fold(self.until, Timestamp::min)
    }
}

/// All messages that were received, by their places.
#[derive(Debug, Default)]
pub(crate) struct Hidings(BTreeMap<Place, Hiding>);

impl Hidings {
    pub(crate) fn get(&self, place: &Place) -> Option<&Hiding> {
        self.0.get(place)
    }

    /// A request may hide it until then, instead of as long as it is hidden now.
    pub(crate) fn may_change(&mut self, request: RequestId, place: &Place, until: Timestamp) {
        if let Some(hiding) = self.0.get_mut(place) {
            hiding.pending.push((request, until));
        }
    }

    /// That request is answered; it has hidden it until then, or done nothing.
    pub(crate) fn settle(&mut self, request: RequestId, place: &Place, until: Option<Timestamp>) {
        if let Some(hiding) = self.0.get_mut(place) {
            hiding.pending.retain(|(other, _)| *other != request);
            hiding.until = until.unwrap_or(hiding.until);
        }
    }

    /// A receive may repeat the one before it that had the same attempt id.
    pub(crate) fn may_repeat(
        &mut self,
        request: RequestId,
        queue: &QueueName,
        attempt: &str,
        until: Timestamp,
    ) {
        for hiding in self.of_attempt(queue, attempt) {
            hiding.pending.push((request, until));
        }
    }

    /// That receive is answered.
    pub(crate) fn settle_repeat(&mut self, request: RequestId, queue: &QueueName, attempt: &str) {
        for hiding in self.of_attempt(queue, attempt) {
            hiding.pending.retain(|(other, _)| *other != request);
        }
    }

    fn of_attempt(&mut self, queue: &QueueName, attempt: &str) -> impl Iterator<Item = &mut Hiding> {
        let all = self.0.iter_mut().filter(move |((of, _), _)| of == queue);
        all.map(|(_, hiding)| hiding).filter(move |hiding| hiding.attempt.as_deref() == Some(attempt))
    }

    /// It was received.
    pub(crate) fn receive(
        &mut self,
        place: Place,
        receipt: Receipt,
        attempt: Option<Box<str>>,
        until: Timestamp,
    ) {
        let pending = self.0.remove(&place).map_or(Vec::new(), |hiding| hiding.pending);
        self.0.insert(place, Hiding { until, pending, receipt, attempt });
    }

    /// It was seen hidden until then; nothing is under way.
    pub(crate) fn see(&mut self, place: &Place, until: Timestamp) {
        if let Some(hiding) = self.0.get_mut(place) {
            hiding.until = until;
            hiding.pending.clear();
        }
    }

    pub(crate) fn retain(&mut self, is_there: impl Fn(&Place) -> bool) {
        self.0.retain(|place, _| is_there(place));
    }
}
