//! A FIFO queue takes a deduplication id once in five minutes, and says so to whoever sends it again.

use super::ledger::Ledger;
use super::{Checker, Verdict};
use crate::content::{Tag, id, recognize};
use crate::history::Fact;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_engine::{Command, QueueName, Reply, RequestId, SendEntry, Sent, Timestamp, limits};

type Key = (QueueName, Box<str>);

/// No id is taken twice, and none is refused that was not taken.
#[derive(Default)]
pub(crate) struct Deduplication {
    /// The message that was taken with an id, and when.
    taken: BTreeMap<Key, (Tag, Timestamp)>,
    /// Ids of which it is not known what became of them.
    unknown: BTreeSet<Key>,
    /// Sends and purges of FIFO queues under way.
    under_way: BTreeMap<RequestId, (Timestamp, QueueName, Vec<Key>)>,
}

impl Checker for Deduplication {
    fn name(&self) -> &'static str {
        "deduplication"
    }

    fn observe(&mut self, _: &Ledger, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Asked { now, request, command } => self.ask(*now, *request, command),
            Fact::Answered { request, command, outcome, .. } => {
                let Some((at, ..)) = self.under_way.remove(request) else { return Ok(()) };
                match (command, outcome) {
                    (Command::Send { queue, entries }, Ok(Reply::Sent(sent))) => {
                        let mut each = entries.iter().zip(sent);
                        return each.try_for_each(|(entry, sent)| match sent {
                            Ok(sent) => self.take(at, &queue.name, entry, sent),
                            Err(_) => Ok(()),
                        });
                    }
                    (Command::PurgeQueue { queue }, Ok(_)) => {
                        self.taken.retain(|(of, _), _| *of != queue.name);
                        self.unknown.retain(|(of, _)| *of != queue.name);
                    }
                    _ => {}
                }
            }
            Fact::Ended => {
                for (_, (at, queue, keys)) in std::mem::take(&mut self.under_way) {
                    self.cut_off(at, &queue, keys);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Deduplication {
    fn ask(&mut self, now: Timestamp, request: RequestId, command: &Command) {
        let (queue, keys) = match command {
            Command::Send { queue, entries } => {
                let ids = entries.iter().filter_map(|entry| entry.message.deduplication_id.clone());
                (queue, ids.map(|id| (queue.name.clone(), id)).collect())
            }
            Command::PurgeQueue { queue } => (queue, Vec::new()),
            _ => return,
        };
        if queue.name.is_fifo() {
            self.under_way.insert(request, (now, queue.name.clone(), keys));
        }
    }

    /// A send that was not answered, or a purge, which has no keys.
    fn cut_off(&mut self, at: Timestamp, queue: &QueueName, keys: Vec<Key>) {
        let is_purge = keys.is_empty();
        let all = self.taken.keys().filter(|(of, _)| is_purge && of == queue).cloned();
        for key in all.chain(keys).collect::<Vec<_>>() {
            // One that was taken stays so, unless a purge may have ended that.
            if is_purge || self.original(at, &key).is_none() {
                self.taken.remove(&key);
                self.unknown.insert(key);
            }
        }
    }

    /// The message that has an id at an instant, if one is known.
    fn original(&self, at: Timestamp, key: &Key) -> Option<Tag> {
        let (tag, taken) = self.taken.get(key)?;
        (at < *taken + limits::DEDUPLICATION_INTERVAL).then_some(*tag)
    }

    fn take(&mut self, at: Timestamp, queue: &QueueName, entry: &SendEntry, sent: &Sent) -> Verdict {
        let (Some(dedup), Some(tag)) = (&entry.message.deduplication_id, recognize(&entry.message)) else {
            return Ok(());
        };
        let key = (queue.clone(), dedup.clone());
        let is_new = sent.id == id(tag);
        match self.original(at, &key) {
            Some(first) if is_new => {
                Err(format!("message {} of `{queue}` was stored though {} has its id", tag.0, first.0))
            }
            Some(first) if sent.id != id(first) => {
                Err(format!("message {} of `{queue}` was answered as one that is not its original", tag.0))
            }
            None if !is_new && !self.unknown.contains(&key) => {
                Err(format!("message {} of `{queue}` was dropped as a duplicate of none", tag.0))
            }
            _ => {
                if is_new {
                    self.unknown.remove(&key);
                    self.taken.insert(key, (tag, at));
                }
                Ok(())
            }
        }
    }
}
