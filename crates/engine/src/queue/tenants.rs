//! Tenants of a standard queue: the messages that share a `MessageGroupId`, and which tenants are noisy.
//!
//! A tenant exists while it has messages, whatever their state. Its visible messages are kept apart from those of
//! others, so that choosing among tenants does not depend on how many messages each has. Noise is not a state: it
//! follows from the counts in flight, and at most nine tenants can have more than a tenth of a queue's.

use super::ordered::{Keyed, Ordered};
use super::pool::Pool;
use super::standard::Released;
use super::visible::Visible;
use super::{Stored, Touched};
use crate::{MessageSeq, limits};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The place of a tenant in memory. Nothing that can be observed depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TenantIndex(u32);

/// A message that has a tenant, whatever its state.
#[derive(Debug)]
struct Member {
    seq: MessageSeq,
    tenant: TenantIndex,
}

impl Keyed for Member {
    type Key = MessageSeq;

    fn key(&self) -> MessageSeq {
        self.seq
    }
}

#[derive(Debug)]
struct Tenant {
    key: Arc<str>,
    visible: Visible,
    /// The number under which it is listed in `by_first`.
    listed: Option<MessageSeq>,
    in_flight: usize,
    /// Messages in all states.
    len: usize,
}

/// Invariants: `by_first` holds the oldest visible message of every tenant that has one, `loaded` every tenant that has
/// enough messages in flight to be noisy, and `members` every message that has a tenant.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    slots: Pool<Tenant>,
    by_key: BTreeMap<Arc<str>, TenantIndex>,
    members: Ordered<Member>,
    by_first: BTreeMap<MessageSeq, TenantIndex>,
    loaded: BTreeSet<(usize, TenantIndex)>,
    /// Visible messages of all tenants.
    visible_count: usize,
}

impl Tenants {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn visible_count(&self) -> usize {
        self.visible_count
    }

    fn tenant(&self, index: TenantIndex) -> &Tenant {
        self.slots.get(index.0)
    }

    fn tenant_mut(&mut self, index: TenantIndex) -> &mut Tenant {
        self.slots.get_mut(index.0)
    }

    /// The tenant of a message, if it has one.
    pub(super) fn of(&self, seq: MessageSeq) -> Option<TenantIndex> {
        self.members.get(seq).map(|member| member.tenant)
    }

    pub(super) fn key(&self, index: TenantIndex) -> &Arc<str> {
        &self.tenant(index).key
    }

    /// The tenant's visible messages.
    pub(super) fn visible(&self, index: TenantIndex) -> &Visible {
        &self.tenant(index).visible
    }

    /// Takes in a message of a group, whatever its state, and its tenant if that is new.
    pub(super) fn join(&mut self, seq: MessageSeq, key: &str) {
        let index = match self.by_key.get(key) {
            Some(index) => *index,
            None => self.add(key.into()),
        };
        self.tenant_mut(index).len += 1;
        self.members.insert(Member { seq, tenant: index });
    }

    fn add(&mut self, key: Arc<str>) -> TenantIndex {
        let visible = Visible::default();
        let tenant = Tenant { key: key.clone(), visible, listed: None, in_flight: 0, len: 0 };
        let index = TenantIndex(self.slots.insert(tenant));
        self.by_key.insert(key, index);
        index
    }

    /// Forgets a message that left the queue, and its tenant with the last one.
    pub(super) fn leave(&mut self, seq: MessageSeq) {
        let Some(Member { tenant: index, .. }) = self.members.remove(seq) else { return };
        let tenant = self.tenant_mut(index);
        tenant.len -= 1;
        if tenant.len == 0 {
            assert!(tenant.listed.is_none() && tenant.in_flight == 0, "a tenant without messages is idle");
            let gone = self.slots.remove(index.0);
            self.by_key.remove(&gone.key);
        }
    }

    /// Changes which messages of a tenant are visible.
    pub(super) fn change<R>(&mut self, index: TenantIndex, change: impl FnOnce(&mut Visible) -> R) -> R {
        let tenant = self.slots.get_mut(index.0);
        let before = tenant.visible.len();
        let result = change(&mut tenant.visible);
        self.visible_count = self.visible_count + tenant.visible.len() - before;
        let first = tenant.visible.front().map(|stored| stored.seq);
        let listed = std::mem::replace(&mut tenant.listed, first);
        if listed != first {
            listed.map(|seq| self.by_first.remove(&seq));
            first.map(|seq| self.by_first.insert(seq, index));
        }
        result
    }

    /// Counts one more message of the tenant in flight.
    pub(super) fn hide(&mut self, index: TenantIndex) {
        let in_flight = self.tenant(index).in_flight;
        self.set_in_flight(index, in_flight + 1);
    }

    /// Counts one message of the tenant less in flight.
    pub(super) fn unhide(&mut self, index: TenantIndex) {
        let in_flight = self.tenant(index).in_flight;
        self.set_in_flight(index, in_flight - 1);
    }

    fn set_in_flight(&mut self, index: TenantIndex, count: usize) {
        let former = std::mem::replace(&mut self.tenant_mut(index).in_flight, count);
        if former >= limits::NOISY_IN_FLIGHT_MIN {
            self.loaded.remove(&(former, index));
        }
        if count >= limits::NOISY_IN_FLIGHT_MIN {
            self.loaded.insert((count, index));
        }
    }

    /// The noisy tenants of a queue that has `in_flight` messages in flight, in the order in which they are served.
    pub(super) fn noisy(&self, in_flight: usize) -> Vec<TenantIndex> {
        let has_share = |count: usize| count * 100 > in_flight * limits::NOISY_IN_FLIGHT_PERCENT;
        let noisy = self.loaded.iter().rev().take_while(|(count, _)| has_share(*count));
        let mut noisy: Vec<_> = noisy.copied().collect();
        noisy.sort_by_key(|(count, index)| (*count, self.key(*index)));
        noisy.into_iter().map(|(_, index)| index).collect()
    }

    /// Merges the oldest visible messages of all tenants but the `noisy` into `found`, which is in the order of numbers
    /// and keeps the first `max`.
    pub(super) fn merge_quiet(&mut self, noisy: &[TenantIndex], max: usize, found: &mut Vec<MessageSeq>) {
        for (first, index) in &self.by_first {
            // Tenants come in the order of their first messages: none of the others has an older one.
            if found.len() == max && found.last().is_none_or(|last| last < first) {
                return;
            }
            if !noisy.contains(index) {
                found.extend(self.slots.get_mut(index.0).visible.first(max));
                found.sort_unstable();
                found.truncate(max);
            }
        }
    }

    /// The oldest visible messages of a tenant, at most `max`.
    pub(super) fn first_of(&mut self, index: TenantIndex, max: usize) -> Vec<MessageSeq> {
        self.tenant_mut(index).visible.first(max)
    }

    /// The oldest visible message that has a tenant.
    pub(super) fn oldest(&self) -> Option<Stored> {
        let (_, index) = self.by_first.first_key_value()?;
        self.visible(*index).front()
    }

    /// Drops the visible messages for which `over` holds, which it does for the older ones.
    pub(super) fn expire(&mut self, over: impl Fn(&Stored) -> bool, released: &mut Vec<Released>) {
        while let Some(oldest) = self.oldest().filter(&over) {
            let index = self.of(oldest.seq).expect("it has a tenant");
            let expired = self.change(index, |visible| visible.take(oldest.seq));
            released.push(Released::of(&expired));
            self.leave(oldest.seq);
        }
    }

    /// Messages with that number or a higher one, in order, and their tenants.
    pub(super) fn members_from(&self, seq: MessageSeq) -> impl Iterator<Item = (MessageSeq, TenantIndex)> {
        self.members.from(seq).map(|member| (member.seq, member.tenant))
    }

    /// Visible messages that are not untouched.
    pub(super) fn returned(&self) -> impl Iterator<Item = &Touched> {
        self.slots.iter().flat_map(|tenant| tenant.visible.returned().iter())
    }

    /// Puts in the visible messages of a tenant that has none.
    pub(super) fn restore(&mut self, key: &Arc<str>, visible: Visible) {
        let untouched = visible.backlog().from(MessageSeq(0)).map(|stored| stored.seq);
        untouched
            .chain(visible.returned().iter().map(|touched| touched.stored.seq))
            .for_each(|seq| self.join(seq, key));
        let Some(index) = self.by_key.get(key).copied() else { return };
        self.change(index, |former| *former = visible);
    }

    /// Every tenant with its visible messages, in the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TenantIndex, &Arc<str>, &Visible)> {
        self.by_key.iter().map(|(key, index)| (*index, key, self.visible(*index)))
    }

    /// The visible messages of every tenant.
    pub(super) fn into_visible(self) -> impl Iterator<Item = Visible> {
        self.slots.into_values().map(|tenant| tenant.visible)
    }
}
