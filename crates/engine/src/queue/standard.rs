//! The messages of a standard queue and the states they pass through.
//!
//! Invariant: a message is in exactly one of `plain`, its tenant's visible messages, `in_flight` and `delayed`.

use super::Touched;
use super::backlog::{Backlog, BacklogSizes};
use super::chunk::{Chunk, Stored};
use super::delayed::Delayed;
use super::in_flight::{Hidden, InFlight};
use super::run::{Extent, Portion, Run};
use super::tenants::Tenants;
use super::visible::Visible;
use crate::{Counts, MessageSeq, Position, QueueId, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Records that hold no message any more.
#[derive(Clone, Debug)]
pub(crate) enum Released {
    Record(Position),
    /// The record of a message that was moved, and the number it has there.
    Moved(Position, MessageSeq),
    Run(Run),
}

impl Released {
    pub(super) fn of(touched: &Touched) -> Self {
        let position = touched.stored.position;
        match &touched.origin {
            Some(origin) => Released::Moved(position, origin.sent_as),
            None => Released::Record(position),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Standard {
    /// Visible, without a group.
    plain: Visible,
    /// What belongs to a group; visible messages are there, of those in flight or delayed only whose they are.
    tenants: Tenants,
    in_flight: InFlight,
    delayed: Delayed,
}

impl Standard {
    pub(crate) fn new(sizes: BacklogSizes) -> Self {
        Standard { plain: Visible::new(sizes), ..Standard::default() }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            visible: (self.plain.len() + self.tenants.visible_count()) as u64,
            in_flight: self.in_flight.len() as u64,
            delayed: self.delayed.len() as u64,
        }
    }

    pub(crate) fn in_flight_count(&self) -> usize {
        self.in_flight.len()
    }

    /// How many tenants are noisy now.
    pub(crate) fn noisy_tenant_count(&self) -> usize {
        self.tenants.noisy(self.in_flight.len()).len()
    }

    /// Stores a message that is visible now.
    pub(crate) fn add(&mut self, stored: Stored, group: Option<&str>) {
        self.join(stored.seq, group);
        self.show(stored);
    }

    /// Stores a message that becomes visible later.
    pub(crate) fn add_delayed(&mut self, stored: Stored, visible_at: Timestamp, group: Option<&str>) {
        self.join(stored.seq, group);
        self.delayed.insert(stored, visible_at);
    }

    fn join(&mut self, seq: MessageSeq, group: Option<&str>) {
        if let Some(group) = group {
            self.tenants.join(seq, group);
        }
    }

    fn show(&mut self, stored: Stored) {
        self.change_visible(stored.seq, |visible| visible.add(stored));
    }

    /// The visible messages among which that one is, or is to be.
    fn visible(&self, seq: MessageSeq) -> &Visible {
        self.tenants.of(seq).map_or(&self.plain, |tenant| self.tenants.visible(tenant))
    }

    fn change_visible<R>(&mut self, seq: MessageSeq, change: impl FnOnce(&mut Visible) -> R) -> R {
        match self.tenants.of(seq) {
            None => change(&mut self.plain),
            Some(tenant) => self.tenants.change(tenant, change),
        }
    }

    /// The messages that receives should get next, at most `max`: those of quiet tenants in the order of their numbers,
    /// then those of noisy ones, the tenant with the fewest in flight first.
    ///
    /// Who is noisy is decided once for all of them.
    pub(crate) fn next_visible(&mut self, max: usize) -> Vec<MessageSeq> {
        let mut found = self.plain.first(max);
        if self.tenants.is_empty() {
            return found;
        }
        let noisy = self.tenants.noisy(self.in_flight.len());
        self.tenants.merge_quiet(&noisy, max, &mut found);
        // Quiet messages whose chunk is away are visible, too, and have to be brought back first.
        let noisy = if self.plain.backlog().next_is_away() { Vec::new() } else { noisy };
        for tenant in noisy {
            found.extend(self.tenants.first_of(tenant, max - found.len()));
        }
        found
    }

    /// Moves a visible message into flight.
    ///
    /// # Panics
    /// If it is not visible: a receive names what `next_visible` gave, and replay repeats it.
    pub(crate) fn receive(&mut self, seq: MessageSeq, now: Timestamp, visible_at: Timestamp) {
        let mut touched = self.change_visible(seq, |visible| visible.receive(seq));
        touched.receive_count += 1;
        touched.received_at = now;
        if touched.receive_count == 1 {
            touched.first_received_at = now;
        }
        self.hide(touched, visible_at);
    }

    fn hide(&mut self, touched: Touched, visible_at: Timestamp) {
        if let Some(tenant) = self.tenants.of(touched.stored.seq) {
            self.tenants.hide(tenant);
        }
        self.in_flight.insert(Hidden { touched, visible_at });
    }

    fn unhide(&mut self, seq: MessageSeq) -> Option<Touched> {
        let hidden = self.in_flight.remove(seq)?;
        if let Some(tenant) = self.tenants.of(seq) {
            self.tenants.unhide(tenant);
        }
        Some(hidden.touched)
    }

    /// A message that was received at least once and is not deleted, in flight or visible again.
    pub(crate) fn received(&self, seq: MessageSeq) -> Option<&Touched> {
        let in_flight = self.in_flight.get(seq).map(|hidden| &hidden.touched);
        let touched = in_flight.or_else(|| self.visible(seq).returned().get(seq));
        touched.filter(|touched| touched.receive_count > 0)
    }

    /// Takes a visible message and its group, to put it into another queue.
    ///
    /// # Panics
    /// If it is not here.
    pub(crate) fn take(&mut self, seq: MessageSeq) -> (Touched, Option<Arc<str>>) {
        let touched = self.change_visible(seq, |visible| visible.take(seq));
        let group = self.tenants.of(seq).map(|tenant| self.tenants.key(tenant).clone());
        self.tenants.leave(seq);
        (touched, group)
    }

    /// Puts in a message of another queue, visible.
    pub(crate) fn put_moved(&mut self, touched: Touched, group: Option<&str>) {
        let seq = touched.stored.seq;
        self.join(seq, group);
        self.change_visible(seq, |visible| visible.put(touched));
    }

    /// What was moved here from other queues.
    pub(crate) fn moved(&self) -> impl Iterator<Item = &Touched> {
        let in_flight = self.in_flight.iter().map(|hidden| &hidden.touched);
        let returned = self.plain.returned().iter().chain(self.tenants.returned());
        in_flight.chain(returned).filter(|touched| touched.origin.is_some())
    }

    pub(crate) fn is_visible(&self, seq: MessageSeq) -> bool {
        self.visible(seq).contains(seq)
    }

    /// What is known of a message, whatever its state.
    pub(crate) fn get(&self, seq: MessageSeq) -> Option<Touched> {
        let in_flight = self.in_flight.get(seq).map(|hidden| hidden.touched.clone());
        let delayed = || self.delayed.get(seq).copied().map(Touched::never_received);
        in_flight.or_else(|| self.visible(seq).get(seq)).or_else(delayed)
    }

    /// Hides a touched message until `visible_at`, whether it is in flight or visible.
    pub(crate) fn change_visibility(&mut self, seq: MessageSeq, visible_at: Timestamp) {
        let touched = self.take_touched(seq).expect("only a touched message's visibility changes");
        self.hide(touched, visible_at);
    }

    /// Removes a touched message.
    pub(crate) fn delete(&mut self, seq: MessageSeq) -> Released {
        let deleted = self.take_touched(seq).expect("only a touched message is deleted");
        self.tenants.leave(seq);
        Released::of(&deleted)
    }

    fn take_touched(&mut self, seq: MessageSeq) -> Option<Touched> {
        let in_flight = self.unhide(seq);
        in_flight.or_else(|| self.change_visible(seq, |visible| visible.take_returned(seq)))
    }

    /// Ends delays, visibility timeouts and retention periods that are over at `now`.
    ///
    /// Passing through instants between has the same result, so replay need not meet the same ones.
    pub(crate) fn advance(&mut self, now: Timestamp, retention: Duration, released: &mut Vec<Released>) {
        while let Some(stored) = self.delayed.pop_due(now) {
            self.show(stored);
        }
        while let Some(seq) = self.in_flight.first_due(now) {
            let touched = self.unhide(seq).expect("it is in flight");
            self.change_visible(seq, |visible| visible.put(touched));
        }
        self.expire(now, retention, released);
    }

    fn expire(&mut self, now: Timestamp, retention: Duration, released: &mut Vec<Released>) {
        let Some(until) = now.before(retention) else { return };
        let over = |stored: &Stored| stored.sent_at <= until;
        self.plain.expire(until, released);
        if !self.tenants.is_empty() {
            self.tenants.expire(over, released);
        }
        while let Some(oldest) = self.in_flight.oldest().map(|hidden| hidden.touched.stored).filter(over) {
            let expired = self.unhide(oldest.seq).expect("the oldest one");
            self.tenants.leave(oldest.seq);
            released.push(Released::of(&expired));
        }
        // A delay may last longer than the shortest retention period.
        while let Some(oldest) = self.delayed.oldest().filter(over) {
            self.delayed.remove(oldest.seq);
            self.tenants.leave(oldest.seq);
            released.push(Released::Record(oldest.position));
        }
    }

    /// When a delay, a visibility timeout or the oldest message's retention ends next.
    pub(crate) fn next_due(&self, retention: Duration) -> Option<Timestamp> {
        let delay = self.delayed.next_end();
        let visibility = self.in_flight.next_deadline();
        let delayed = self.delayed.oldest().map(|stored| stored.sent_at);
        let untouched = self.plain.backlog().next_to_expire();
        let sent_at = untouched.into_iter().chain(self.oldest_other()).chain(delayed).min();
        let expiry = sent_at.map(|at| at + retention);
        delay.into_iter().chain(visibility).chain(expiry).min()
    }

    /// When the oldest message that is not delayed was sent.
    pub(crate) fn oldest_sent_at(&self) -> Option<Timestamp> {
        let untouched = self.plain.backlog().front().map(|stored| stored.sent_at);
        untouched.into_iter().chain(self.oldest_other()).min()
    }

    /// When the oldest message was sent of those that are neither delayed nor untouched and without a group.
    fn oldest_other(&self) -> Option<Timestamp> {
        let returned = self.plain.returned().first().map(|touched| touched.stored);
        let in_flight = self.in_flight.oldest().map(|hidden| hidden.touched.stored);
        let others = returned.into_iter().chain(self.tenants.oldest()).chain(in_flight);
        others.map(|stored| stored.sent_at).min()
    }

    /// Notes that the message's record moved, and that the new one names `holder`, this queue, and this number.
    pub(crate) fn relocate(&mut self, seq: MessageSeq, position: Position, holder: QueueId) -> Released {
        if let Some(touched) = self.in_flight.touched_mut(seq) {
            return touched.relocate(position, holder);
        }
        if let Some(stored) = self.delayed.get_mut(seq) {
            return Released::Record(std::mem::replace(&mut stored.position, position));
        }
        self.change_visible(seq, |visible| visible.relocate(seq, position, holder))
    }

    pub(super) fn plain(&self) -> &Visible {
        &self.plain
    }

    pub(super) fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    pub(super) fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    pub(super) fn delayed(&self) -> &Delayed {
        &self.delayed
    }

    /// The untouched messages without a group.
    pub(crate) fn backlog(&self) -> &Backlog {
        self.plain.backlog()
    }

    pub(crate) fn backlog_mut(&mut self) -> &mut Backlog {
        self.plain.backlog_mut()
    }

    /// Drops every message.
    pub(crate) fn clear(&mut self, released: &mut Vec<Released>) {
        let all = std::mem::replace(self, Standard::new(self.backlog().sizes()));
        released.extend(all.in_flight.iter().map(|hidden| Released::of(&hidden.touched)));
        released.extend(all.delayed.iter().map(|(stored, _)| Released::Record(stored.position)));
        all.plain.release(released);
        all.tenants.into_visible().for_each(|visible| visible.release(released));
    }

    pub(crate) fn snapshot(&self) -> StandardMessages {
        StandardMessages {
            backlog: self.plain.backlog().portions(),
            returned: self.plain.returned().iter().cloned().collect(),
            in_flight: self
                .in_flight
                .iter()
                .map(|hidden| (hidden.touched.clone(), hidden.visible_at))
                .collect(),
            delayed: self.delayed.iter().collect(),
            tenants: self.snapshot_tenants(),
        }
    }

    fn snapshot_tenants(&self) -> Vec<TenantMessages> {
        let tenant = |(_, key, visible): (_, &Arc<str>, &Visible)| TenantMessages {
            key: key.clone(),
            backlog: visible.backlog().to_chunks(),
            returned: visible.returned().iter().cloned().collect(),
            hidden: Vec::new(),
        };
        let mut tenants: Vec<_> = self.tenants.iter().map(tenant).collect();
        let in_flight = self.in_flight.iter().map(|hidden| hidden.touched.stored.seq);
        let hidden = in_flight.chain(self.delayed.iter().map(|(stored, _)| stored.seq));
        let places: BTreeMap<_, _> = self.tenants.iter().map(|(index, ..)| index).zip(0..).collect();
        for (seq, tenant) in hidden.filter_map(|seq| Some((seq, self.tenants.of(seq)?))) {
            let place: usize = places[&tenant];
            tenants[place].hidden.push(seq);
        }
        tenants
    }

    pub(crate) fn restore(messages: StandardMessages, sizes: BacklogSizes) -> Self {
        let StandardMessages { backlog, returned, in_flight, delayed, tenants } = messages;
        let plain = Visible::restore(sizes, backlog, returned);
        let mut restored = Standard { plain, ..Standard::default() };
        for tenant in tenants {
            let TenantMessages { key, backlog, returned, hidden } = tenant;
            hidden.into_iter().for_each(|seq| restored.tenants.join(seq, &key));
            let backlog = vec![Portion::Passing(backlog)];
            restored.tenants.restore(&key, Visible::restore(BacklogSizes::default(), backlog, returned));
        }
        in_flight.into_iter().for_each(|(touched, visible_at)| restored.hide(touched, visible_at));
        delayed.into_iter().for_each(|(stored, visible_at)| restored.delayed.insert(stored, visible_at));
        restored
    }
}

/// The messages of a standard queue as plain data; what a checkpoint keeps of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandardMessages {
    /// Visible, never received, without a group, in the order of their numbers.
    pub backlog: Vec<Portion>,
    /// Visible again, or late after a delay, without a group.
    pub returned: Vec<Touched>,
    /// In flight, with the end of their timeout.
    pub in_flight: Vec<(Touched, Timestamp)>,
    /// Delayed, with the end of their delay.
    pub delayed: Vec<(Stored, Timestamp)>,
    /// What belongs to groups, in the order of their keys.
    pub tenants: Vec<TenantMessages>,
}

/// The messages of one tenant of a standard queue as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantMessages {
    /// Its `MessageGroupId`.
    pub key: Arc<str>,
    /// Visible, never received, in the order of their numbers.
    pub backlog: Vec<Chunk>,
    /// Visible again, or late after a delay.
    pub returned: Vec<Touched>,
    /// The numbers of those in flight, then of those delayed.
    pub hidden: Vec<MessageSeq>,
}

impl StandardMessages {
    /// The place of every message's record, in no particular order. Of what is written out only `read` knows the chunks.
    pub fn for_each_position(
        &self,
        read: &mut impl FnMut(&Extent) -> Vec<Chunk>,
        mut visit: impl FnMut(Position),
    ) {
        self.backlog.iter().for_each(|portion| portion.for_each_position(read, &mut visit));
        let tenants = || self.tenants.iter();
        let chunks = tenants().flat_map(|tenant| &tenant.backlog);
        chunks.flat_map(Chunk::iter).for_each(|stored| visit(stored.position));
        let returned = self.returned.iter().chain(tenants().flat_map(|tenant| &tenant.returned));
        returned.for_each(|touched| visit(touched.stored.position));
        self.in_flight.iter().for_each(|(touched, _)| visit(touched.stored.position));
        self.delayed.iter().for_each(|(stored, _)| visit(stored.position));
    }
}
