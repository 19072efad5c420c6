//! Commands on queues as such: creation, attributes, tags, listing, purge, deletion.

use super::{Engine, Journal};
use crate::queue::Queue;
use crate::{
    AttributeChange, Command, DeduplicationScope, Document, Error, Event, FifoAttributes,
    FifoThroughputLimit, QueueAddress, QueueAttributes, QueueId, QueueName, RedriveAllowPolicy,
    RedrivePolicy, Reply, Tags, Timestamp, limits,
};

impl Engine {
    pub(super) fn administer(
        &mut self,
        now: Timestamp,
        command: Command,
        journal: &mut impl Journal,
    ) -> Result<Reply, Error> {
        match command {
            Command::CreateQueue { queue, attributes, tags } => {
                self.create_queue(now, queue, attributes, tags, journal)?;
            }
            Command::DeleteQueue { queue } => self.delete_queue(now, &queue, journal)?,
            Command::FindQueue { queue } => drop(self.find(&queue)?),
            Command::ListQueues { account, region, prefix, after, max } => {
                let from = QueueAddress { account, region, name: QueueName::lowest() };
                return Ok(self.list_queues(from, &prefix, after, max));
            }
            Command::ListSources { queue, after, max } => {
                self.find(&queue)?;
                return Ok(self.list_sources(&queue, after, max));
            }
            Command::ViewQueue { queue } => {
                let id = self.find(&queue)?;
                self.advance(now, id);
                let next_seq = self.next_seq();
                return Ok(Reply::Queue(Box::new(self.queue(id).view(next_seq))));
            }
            Command::Peek { queue, after, max } => {
                let id = self.find(&queue)?;
                self.advance(now, id);
                let queue = self.queue(id);
                return Ok(Reply::Peeked(queue.messages.peek(
                    after,
                    max.min(limits::PEEK_MAX),
                    &queue.attributes,
                )));
            }
            Command::ListMoveTasks { source, max } => return self.list_move_tasks(&source, max),
            Command::SetQueueAttributes { queue, attributes } => {
                let id = self.find(&queue)?;
                let current = &self.queues[&id].attributes;
                check_attributes(current, &attributes)?;
                self.check_policies(&queue, &attributes)?;
                self.commit(now, &Event::AttributesSet { queue: id, attributes }, journal);
                self.settle(now, id, journal);
            }
            Command::ReplacePolicy { queue, expected, policy } => {
                self.replace_policy(now, &queue, expected.as_deref(), policy, journal)?;
            }
            Command::TagQueue { queue, tags } => self.tag_queue(now, &queue, tags, journal)?,
            Command::UntagQueue { queue, keys } => {
                let queue = self.find(&queue)?;
                self.commit(now, &Event::QueueUntagged { queue, keys }, journal);
            }
            Command::PurgeQueue { queue } => self.purge_queue(now, &queue, journal)?,
            Command::Send { .. }
            | Command::Receive(_)
            | Command::Delete { .. }
            | Command::ChangeVisibility { .. }
            | Command::ReturnUndelivered { .. }
            | Command::StartMoveTask { .. }
            | Command::CancelMoveTask { .. }
            | Command::Redrive { .. }
            | Command::Relocate { .. } => unreachable!("commands on messages are handled apart"),
        }
        Ok(Reply::Done)
    }

    fn create_queue(
        &mut self,
        now: Timestamp,
        address: QueueAddress,
        attributes: Vec<AttributeChange>,
        tags: Tags,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        let fifo = address.name.is_fifo();
        assert_eq!(fifo, attributes.contains(&AttributeChange::FifoQueue(true)), "the protocol checks names");
        let types_own = if fifo { QueueAttributes::fifo() } else { QueueAttributes::default() };
        check_attributes(&types_own, &attributes)?;
        if let Some(id) = self.names.get(&address) {
            let current = &self.queues[id].attributes;
            return match attributes.iter().find(|change| current.differs(change)) {
                Some(change) => Err(Error::QueueExists { attribute: change.name() }),
                None => Ok(()),
            };
        }
        self.check_policies(&address, &attributes)?;
        let resting = |at: Timestamp| now < at + self.config.cooldown;
        if self.deleted.iter().any(|(at, deleted)| *deleted == address && resting(*at)) {
            return Err(Error::QueueDeletedRecently);
        }
        if self.queues.len() >= limits::QUEUES_MAX {
            return Err(Error::TooManyQueues { limit: limits::QUEUES_MAX });
        }
        if tags.len() > limits::TAGS_MAX {
            return Err(Error::TooManyTags { limit: limits::TAGS_MAX });
        }
        let queue = QueueId(self.next_queue);
        self.commit(now, &Event::QueueCreated { queue, address, attributes, tags }, journal);
        Ok(())
    }

    /// Readers edit a policy's text outside of the engine, and this makes it one step: of two that read the same
    /// text, the second is refused and reads again.
    fn replace_policy(
        &mut self,
        now: Timestamp,
        address: &QueueAddress,
        expected: Option<&str>,
        policy: Option<Document>,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        let queue = self.find(address)?;
        let current = self.queue(queue).attributes.policy.as_ref();
        if current.map(|policy| &*policy.text) != expected {
            return Err(Error::PolicyChanged);
        }
        let attributes = vec![AttributeChange::Policy(policy)];
        self.commit(now, &Event::AttributesSet { queue, attributes }, journal);
        self.settle(now, queue, journal);
        Ok(())
    }

    /// Checks the queues that policies name.
    fn check_policies(&self, queue: &QueueAddress, changes: &[AttributeChange]) -> Result<(), Error> {
        changes.iter().try_for_each(|change| match change {
            AttributeChange::RedrivePolicy(Some(policy)) => self.check_redrive(queue, policy),
            _ => Ok(()),
        })
    }

    fn check_redrive(&self, source: &QueueAddress, policy: &RedrivePolicy) -> Result<(), Error> {
        let target = &policy.dead_letter_target;
        if target == source {
            return Ok(());
        }
        let id = self.names.get(target).ok_or(Error::DeadLetterMissing)?;
        if target.name.is_fifo() != source.name.is_fifo() {
            return Err(Error::DeadLetterType);
        }
        let allowed = match &self.queues[id].attributes.redrive_allow_policy {
            None | Some(RedriveAllowPolicy::AllowAll) => true,
            Some(RedriveAllowPolicy::DenyAll) => false,
            Some(RedriveAllowPolicy::ByQueue(arns)) => arns.iter().any(|arn| **arn == *source.arn()),
        };
        allowed.then_some(()).ok_or(Error::DeadLetterForbidden)
    }

    fn delete_queue(
        &mut self,
        now: Timestamp,
        address: &QueueAddress,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        let id = self.find(address)?;
        // Whoever waits must not be served by a queue created anew under the same name.
        while let Some(parked) = self.queue(id).waiting.pop_first() {
            self.parked.remove(&parked.request);
            self.timers.disarm_parked(parked.deadline, parked.request);
            journal.reply(parked.request, Err(Error::QueueMissing));
        }
        if let Some(armed) = self.queue(id).armed_at.take() {
            self.timers.disarm_queue(armed, id);
        }
        self.arm_move(None, id);
        self.commit(now, &Event::QueueDeleted { queue: id }, journal);
        // Receives that wait on its sources may have now what was kept from them as dead letters.
        let names_it = |queue: &&Queue| {
            let policy = queue.attributes.redrive_policy.as_ref();
            policy.is_some_and(|policy| policy.dead_letter_target == *address)
        };
        let sources = self.queues.values().map(|queue| &**queue).filter(names_it).map(|queue| queue.id);
        self.unsettled.extend(sources);
        Ok(())
    }

    /// Lists names of `from`'s account and region.
    fn list_queues(
        &self,
        mut from: QueueAddress,
        prefix: &str,
        after: Option<QueueName>,
        max: usize,
    ) -> Reply {
        let start = after.clone().into_iter().chain(QueueName::parse(prefix)).chain([from.name]);
        from.name = start.max().expect("one");
        let beyond = |name: &QueueName| name.as_str() > prefix && !name.as_str().starts_with(prefix);
        let names = self.names_from(from).map(|(name, _)| name).take_while(|name| !beyond(name));
        page(names.filter(|name| name.as_str().starts_with(prefix)), after.as_ref(), max)
    }

    /// The names of `from`'s account and region from its own name on, in order.
    pub(super) fn names_from(&self, from: QueueAddress) -> impl Iterator<Item = (&QueueName, &QueueId)> {
        let (account, region) = (from.account, from.region.clone());
        let in_scope = move |address: &QueueAddress| address.account == account && address.region == region;
        let scoped = self.names.range(from..).take_while(move |(address, _)| in_scope(address));
        scoped.map(|(address, id)| (&address.name, id))
    }

    fn tag_queue(
        &mut self,
        now: Timestamp,
        address: &QueueAddress,
        tags: Tags,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        let id = self.find(address)?;
        let present = &self.queue(id).tags;
        let added = tags.keys().filter(|key| !present.contains_key(*key)).count();
        if present.len() + added > limits::TAGS_MAX {
            return Err(Error::TooManyTags { limit: limits::TAGS_MAX });
        }
        self.commit(now, &Event::QueueTagged { queue: id, tags }, journal);
        Ok(())
    }

    fn purge_queue(
        &mut self,
        now: Timestamp,
        address: &QueueAddress,
        journal: &mut impl Journal,
    ) -> Result<(), Error> {
        let id = self.find(address)?;
        let cooldown = self.config.cooldown;
        if self.queue(id).purged_at.is_some_and(|at| now < at + cooldown) {
            return Err(Error::PurgeInProgress);
        }
        self.commit(now, &Event::QueuePurged { queue: id }, journal);
        // A purge frees room in flight, nothing else: waiting receives stay and take what is sent next.
        self.settle(now, id, journal);
        Ok(())
    }
}

/// Checks what values show together and with the current ones: whether the queue's type has them, and whether they
/// exclude each other.
fn check_attributes(current: &QueueAttributes, changes: &[AttributeChange]) -> Result<(), Error> {
    if current.fifo.is_none()
        && let Some(change) = changes.iter().find(|change| change.is_fifo_only())
    {
        return Err(Error::AttributeOfFifo { attribute: change.name() });
    }
    if changes.contains(&AttributeChange::FifoQueue(false)) {
        return Err(Error::QueueTypeFixed);
    }
    let kms = changes.iter().any(|change| matches!(change, AttributeChange::KmsMasterKeyId(Some(_))));
    let managed = changes.contains(&AttributeChange::SqsManagedSseEnabled(true));
    if kms && managed {
        return Err(Error::EncryptionConflict);
    }
    let mut changed = current.clone();
    changes.iter().for_each(|change| changed.apply(change));
    let is_inconsistent = |fifo: FifoAttributes| {
        fifo.throughput_limit == FifoThroughputLimit::PerMessageGroupId
            && fifo.deduplication_scope != DeduplicationScope::MessageGroup
    };
    if changed.fifo.is_some_and(is_inconsistent) {
        return Err(Error::ThroughputLimitNeedsGroupScope);
    }
    Ok(())
}

/// The first `max` of the names that come after `after`.
pub(super) fn page<'a>(
    names: impl Iterator<Item = &'a QueueName>,
    after: Option<&QueueName>,
    max: usize,
) -> Reply {
    let mut rest = names.filter(|name| after.is_none_or(|after| *name > after));
    let names = rest.by_ref().take(max).cloned().collect();
    Reply::Queues { names, more: rest.next().is_some() }
}
