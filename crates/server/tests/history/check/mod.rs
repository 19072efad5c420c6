//! Whether a history is one that the server's promises allow.
//!
//! Every rule speaks only of what is certain: a request took effect somewhere between its two instants, one without
//! an answer perhaps not at all. Each returns what is broken, in words.

mod fifo;
mod index;
mod lifetime;
#[cfg(test)]
mod tests;

use super::record::{Act, Call, Outcome, Queue};
pub(crate) use index::Index;

/// How far a deadline may be off: the server counts whole milliseconds, and steers its clock by the system's.
pub(crate) const SLACK: u64 = 20;

/// Everything that is broken in a history after which all queues were found empty.
pub(crate) fn check(queues: &[Queue], calls: &[Call]) -> Vec<String> {
    let index = Index::new(queues, calls);
    let mut broken = Vec::new();
    lifetime::never_sent(&index, &mut broken);
    lifetime::lost(&index, &mut broken);
    lifetime::undeleted(&index, &mut broken);
    lifetime::unpurged(&index, &mut broken);
    lifetime::early(&index, &mut broken);
    lifetime::delayed(&index, &mut broken);
    lifetime::counts(&index, &mut broken);
    lifetime::dead_letters(&index, &mut broken);
    lifetime::refused_in_time(&index, &mut broken);
    fifo::duplicates(&index, &mut broken);
    fifo::order_in_receive(&index, &mut broken);
    fifo::order(&index, &mut broken);
    fifo::exclusive(&index, &mut broken);
    broken
}

/// Fails if anything is broken, and tells what happened to the messages of the first.
#[track_caller]
pub(crate) fn assert_allowed(queues: &[Queue], calls: &[Call]) {
    let broken = check(queues, calls);
    if let Some(first) = broken.first() {
        panic!(
            "{} promises broken: {:#?}\n{}",
            broken.len(),
            &broken[..broken.len().min(10)],
            story(first, calls)
        );
    }
}

/// The calls about the messages that a text names, in order.
fn story(text: &str, calls: &[Call]) -> String {
    let is_named = |body: &str| text.split([' ', ',']).any(|word| word == body);
    let received = calls.iter().filter_map(|call| match &call.act {
        Act::Receive { outcome: Outcome::Done(received), .. } => Some(received),
        _ => None,
    });
    let handles: Vec<_> =
        received.flatten().filter(|got| is_named(&got.body)).map(|got| &got.handle).collect();
    let mut about: Vec<_> = calls
        .iter()
        .filter(|call| match &call.act {
            Act::Send { entry, .. } => is_named(&entry.body),
            Act::Receive { outcome: Outcome::Done(received), .. } => {
                received.iter().any(|got| is_named(&got.body))
            }
            Act::Delete { handle, .. } | Act::Change { handle, .. } => handles.contains(&handle),
            _ => false,
        })
        .collect();
    about.sort_by_key(|call| call.start);
    about.iter().map(|call| format!("{call:?}\n")).collect()
}
