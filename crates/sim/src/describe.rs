//! Facts as lines of a timeline.

use crate::content::{Tag, recognize};
use crate::history::{Content, Fact};
use std::fmt::Write;
use tidegate_engine::{Command, Receipt, Reply};

/// Describes a fact.
pub(crate) fn fact(fact: &Fact<'_>, line: &mut String) {
    let _ = match fact {
        Fact::Asked { now, request, command } => {
            write!(line, "[{}] → {} ", now.as_millis() % 100_000_000, request.0)
                .map(|()| describe(command, line))
        }
        Fact::Answered { now, request, outcome, contents, .. } => {
            let _ = write!(line, "[{}] ← {} ", now.as_millis() % 100_000_000, request.0);
            match outcome {
                Ok(reply) => {
                    answer(reply, contents, line);
                    Ok(())
                }
                Err(error) => write!(line, "refused: {error}"),
            }
        }
        Fact::Ended => write!(line, "the process ended"),
        Fact::Damaged(true) => write!(line, "the medium is damaged"),
        Fact::Damaged(false) => write!(line, "the medium is as it should be"),
        Fact::Looked(look) => {
            let count = |queue: &crate::history::LookedQueue| queue.messages.len();
            let counts: Vec<_> =
                look.queues.iter().map(|q| format!("{} {}", q.address.name, count(q))).collect();
            write!(line, "looked: {}", counts.join(", "))
        }
    };
}

fn describe(command: &Command, line: &mut String) {
    if let Some(queue) = command.queue() {
        let _ = write!(line, "{}: ", queue.name);
    }
    let _ = match command {
        Command::Send { entries, .. } => {
            let entry = |entry: &tidegate_engine::SendEntry| {
                let tag = recognize(&entry.message).unwrap_or(Tag(0)).0;
                let group = entry.message.group_id.as_deref().unwrap_or("-");
                let dedup = entry.message.deduplication_id.as_deref().unwrap_or("-");
                format!("m{tag}({group},{dedup},{:?})", entry.delay)
            };
            write!(line, "send {}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
        }
        Command::Delete { receipts, .. } => write!(line, "delete {}", receipts_of(receipts.iter())),
        Command::ChangeVisibility { changes, .. } => {
            let change = |(receipt, timeout): &(Receipt, std::time::Duration)| {
                format!("{}→{timeout:?}", receipts_of([receipt]))
            };
            write!(line, "hide {}", changes.iter().map(change).collect::<Vec<_>>().join(" "))
        }
        Command::ReturnUndelivered { receipts } => write!(line, "return {}", receipts_of(receipts.iter())),
        Command::Relocate { messages } => {
            let seqs: Vec<_> = messages.iter().map(|(_, stored)| stored.seq.0).collect();
            write!(line, "relocate {seqs:?}")
        }
        Command::Receive(receive) => write!(
            line,
            "receive {} hide {:?} wait {:?} {}",
            receive.max,
            receive.visibility_timeout,
            receive.wait,
            receive.attempt_id.as_deref().unwrap_or_default()
        ),
        other => write!(line, "{other:?}"),
    };
}

fn receipts_of<'a>(receipts: impl IntoIterator<Item = &'a Receipt>) -> String {
    let receipt = |receipt: &Receipt| format!("#{}/{}", receipt.seq.0, receipt.receive);
    receipts.into_iter().map(receipt).collect::<Vec<_>>().join(" ")
}

fn answer(reply: &Reply, contents: &[Content], line: &mut String) {
    let _ = match reply {
        Reply::Received(deliveries) if deliveries.is_empty() => write!(line, "nothing"),
        Reply::Received(deliveries) => {
            let delivery = |(delivery, content): (&tidegate_engine::Delivery, &Content)| {
                let content = match content {
                    Content::Whole(stored) => match recognize(&stored.message) {
                        Some(tag) => format!("m{}", tag.0),
                        None => "not what was sent".to_owned(),
                    },
                    other => format!("{other:?}"),
                };
                format!("{}={content}", receipts_of([&delivery.receipt]))
            };
            let deliveries = deliveries.iter().zip(contents).map(delivery);
            write!(line, "{}", deliveries.collect::<Vec<_>>().join(" "))
        }
        Reply::Sent(sent) => {
            let sequences: Vec<_> = sent
                .iter()
                .map(|sent| match sent {
                    Ok(sent) => sent.sequence.map_or("ok".to_owned(), |seq| format!("ok#{}", seq.0)),
                    Err(error) => error.to_string(),
                })
                .collect();
            write!(line, "{}", sequences.join(" "))
        }
        Reply::Settled(settled) => {
            let each =
                settled.iter().map(|one| one.as_ref().map_or_else(ToString::to_string, |()| "ok".to_owned()));
            write!(line, "{}", each.collect::<Vec<_>>().join(", "))
        }
        other => write!(line, "{other:?}"),
    };
}
