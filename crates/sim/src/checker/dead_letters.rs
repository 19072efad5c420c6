//! A message is delivered as often as its queue's redrive policy allows, and becomes a dead letter only after that.

use super::ledger::{Ledger, tag_of};
use super::{Checker, Verdict};
use crate::history::{Content, Fact};
use crate::queues::{ALL, address, dead_letter_queue};
use std::collections::BTreeMap;
use tidegate_engine::{Command, QueueAddress, QueueName, Reply};

/// Dead letters are those that were received too often, and no others.
#[derive(Default)]
pub(crate) struct DeadLetters {
    /// The lowest limit that a queue may ever have had.
    lowest: BTreeMap<QueueName, u32>,
}

impl Checker for DeadLetters {
    fn name(&self) -> &'static str {
        "dead-letters"
    }

    fn observe(&mut self, ledger: &Ledger, fact: &Fact<'_>) -> Verdict {
        self.note_limits(ledger);
        match fact {
            Fact::Answered {
                command: Command::Receive(receive),
                outcome: Ok(Reply::Received(deliveries)),
                contents,
                ..
            } => {
                let highest = limits(ledger, &receive.queue).map(|limits| limits.into_iter().max());
                for (delivery, content) in deliveries.iter().zip(*contents) {
                    if highest.flatten().is_some_and(|limit| delivery.receive_count > limit) {
                        let (seq, count) = (delivery.receipt.seq.0, delivery.receive_count);
                        return Err(format!(
                            "message #{seq} of `{}` was delivered for the {count}th time",
                            receive.queue.name
                        ));
                    }
                    self.check_moved(ledger, &receive.queue.name, content)?;
                }
                Ok(())
            }
            Fact::Looked(look) => look.queues.iter().try_for_each(|queue| {
                let mut contents = queue.messages.iter().map(|(_, content)| content);
                contents.try_for_each(|content| self.check_moved(ledger, &queue.address.name, content))
            }),
            _ => Ok(()),
        }
    }
}

impl DeadLetters {
    fn note_limits(&mut self, ledger: &Ledger) {
        for name in ALL.into_iter().filter(|name| dead_letter_queue(name).is_some()) {
            let queue = address(name);
            let Some(attributes) = ledger.attributes(&queue) else { continue };
            let policies = attributes.redrive_policy.all().flatten();
            if let Some(limit) = policies.map(|policy| policy.max_receive_count).min() {
                let lowest = self.lowest.entry(queue.name).or_insert(limit);
                *lowest = limit.min(*lowest);
            }
        }
    }

    /// A message that has come to a dead-letter queue was received as often as it may be.
    fn check_moved(&self, ledger: &Ledger, queue: &QueueName, content: &Content) -> Verdict {
        let Content::Whole(stored) = content else { return Ok(()) };
        let Some((tag, known)) = tag_of(stored).and_then(|tag| Some((tag, ledger.get(tag)?))) else {
            return Ok(());
        };
        let before = known.place.as_ref().map_or(&known.queue.name, |place| &place.0);
        if dead_letter_queue(before.as_str()) != Some(queue.as_str()) || ledger.is_unsure() {
            return Ok(());
        }
        let count = known.place.as_ref().and_then(|place| ledger.receives(place)).unwrap_or(0);
        match self.lowest.get(before) {
            Some(lowest) if count >= *lowest => Ok(()),
            _ => Err(format!("message {} of `{before}` is a dead letter after {count} receives", tag.0)),
        }
    }
}

/// The limits that a queue may have; `None` if it may have none.
fn limits(ledger: &Ledger, queue: &QueueAddress) -> Option<Vec<u32>> {
    let policies = ledger.attributes(queue)?.redrive_policy.all();
    policies.map(|policy| policy.as_ref().map(|policy| policy.max_receive_count)).collect()
}
