//! Duplicates on FIFO queues: accepted with success, answered as the first one was, and never delivered.

mod util;

use std::time::Duration;
use tidegate_engine::{AttributeChange, DeduplicationScope, Error, FifoThroughputLimit, SendEntry, Sent};
use util::{RESTARTS, TICK, TestEngine, secs};

const Q: &str = "q.fifo";
/// The deduplication interval.
const INTERVAL: Duration = secs(300);

fn send(t: &mut TestEngine, group: &str, id: &str, body: &str) -> Sent {
    let entry = t.entry(group, id, body);
    t.try_send_entries(Q, vec![entry]).expect("the queue exists").remove(0).expect("accepted")
}

/// Receives and deletes everything that is visible.
#[track_caller]
fn consume(t: &mut TestEngine, expected: &[&str]) {
    let got = t.expect(Q, expected);
    got.iter().for_each(|got| t.delete(Q, got).expect("deletes"));
}

fn scope(scope: DeduplicationScope) -> AttributeChange {
    AttributeChange::DeduplicationScope(scope)
}

#[test]
fn a_duplicate_is_answered_with_the_first_ones_id_and_number_and_is_not_delivered() {
    let mut t = TestEngine::with_fifo_queue();
    let first = send(&mut t, "g", "x", "first");
    assert!(first.sequence.is_some());
    assert_eq!(send(&mut t, "g", "x", "another body"), first);
    assert_eq!(send(&mut t, "h", "x", "another group"), first);
    assert_ne!(send(&mut t, "g", "y", "first"), first, "only the id decides");
    assert_eq!(t.counts(Q), (2, 0, 0));
    consume(&mut t, &["first", "first"]);
}

#[test]
fn sequence_numbers_rise_and_standard_queues_have_none() {
    let mut t = TestEngine::with_fifo_queue();
    t.create("plain");
    let numbers: Vec<_> = ["a", "b", "a"]
        .iter()
        .enumerate()
        .map(|(n, group)| send(&mut t, group, &n.to_string(), "m").sequence.expect("has a number"))
        .collect();
    assert!(numbers.is_sorted_by(|one, two| one < two), "{numbers:?}");
    let entry = t.entry("tenant", "id", "m");
    let sent = t.try_send_entries("plain", vec![entry]).expect("sends").remove(0).expect("accepted");
    assert_eq!(sent.sequence, None);
}

#[test]
fn duplicates_within_one_batch_are_duplicates_of_the_first() {
    let mut t = TestEngine::with_fifo_queue();
    let entries = vec![t.entry("g", "x", "one"), t.entry("g", "y", "two"), t.entry("g", "x", "three")];
    let sent = t.try_send_entries(Q, entries).expect("sends");
    assert_eq!(sent[0], sent[2]);
    assert_ne!(sent[0], sent[1]);
    consume(&mut t, &["one", "two"]);
}

#[test]
fn an_id_is_remembered_for_five_minutes_from_its_first_send_and_outlives_the_message() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = TestEngine::with_fifo_queue();
        let first = send(&mut t, "g", "x", "m");
        consume(&mut t, &["m"]);
        if let Some(restart) = restart {
            restart(&mut t);
        }
        t.wait(INTERVAL / 2);
        // Does not prolong the interval.
        assert_eq!(send(&mut t, "g", "x", "again"), first);
        t.wait(INTERVAL / 2 - TICK);
        if let Some(restart) = restart {
            restart(&mut t);
        }
        assert_eq!(send(&mut t, "g", "x", "again"), first);
        t.expect_nothing(Q);
        t.wait(TICK);
        let next = send(&mut t, "g", "x", "new");
        assert_ne!(next, first);
        t.wait(INTERVAL - TICK);
        assert_eq!(send(&mut t, "g", "x", "again"), next, "the new one has an interval of its own");
        consume(&mut t, &["new"]);
        t.wait(TICK);
        assert_ne!(send(&mut t, "g", "x", "newest"), next);
    }
}

#[test]
fn nobody_has_to_look_for_an_id_to_be_forgotten() {
    let mut t = TestEngine::with_fifo_queue();
    let first = send(&mut t, "g", "x", "m");
    t.jump(INTERVAL);
    assert_ne!(send(&mut t, "g", "x", "m"), first);
}

#[test]
fn an_id_outlives_the_expiry_of_its_message_as_well() {
    let mut t = TestEngine::with_fifo_queue();
    t.set(Q, AttributeChange::MessageRetentionPeriod(secs(60)));
    let first = send(&mut t, "g", "x", "m");
    t.wait(secs(61));
    assert_eq!(t.counts(Q), (0, 0, 0));
    assert_eq!(send(&mut t, "g", "x", "m"), first);
    assert_eq!(t.counts(Q), (0, 0, 0));
}

#[test]
fn a_purge_clears_the_memory() {
    for restart in RESTARTS {
        let mut t = TestEngine::with_fifo_queue();
        let first = send(&mut t, "g", "x", "before");
        let number = first.sequence;
        t.purge(Q).expect("purges");
        restart(&mut t);
        let second = send(&mut t, "g", "x", "after");
        assert_ne!(second, first);
        assert!(second.sequence > number, "numbers go on rising");
        consume(&mut t, &["after"]);
    }
}

#[test]
fn a_queue_created_anew_under_the_name_knows_nothing() {
    let mut t = TestEngine::with_fifo_queue();
    let first = send(&mut t, "g", "x", "before");
    t.delete_queue(Q).expect("deletes");
    t.wait(secs(60));
    t.create_fifo(Q, &[]);
    assert_ne!(send(&mut t, "g", "x", "after"), first);
    consume(&mut t, &["after"]);
}

#[test]
fn with_scope_message_group_every_group_has_its_own_ids() {
    let mut t = TestEngine::new();
    t.create_fifo(Q, &[scope(DeduplicationScope::MessageGroup)]);
    let in_a = send(&mut t, "a", "x", "a1");
    let in_b = send(&mut t, "b", "x", "b1");
    assert_ne!(in_a, in_b);
    assert_eq!(send(&mut t, "a", "x", "a2"), in_a);
    assert_eq!(send(&mut t, "b", "x", "b2"), in_b);
    consume(&mut t, &["a1", "b1"]);
}

#[test]
fn the_scope_can_change_while_ids_are_remembered() {
    for restart in RESTARTS {
        let mut t = TestEngine::with_fifo_queue();
        let first = send(&mut t, "a", "x", "a1");
        t.set(Q, scope(DeduplicationScope::MessageGroup));
        t.wait(secs(100));
        let second = send(&mut t, "b", "x", "b1");
        assert_ne!(second, first);
        restart(&mut t);
        t.set(Q, scope(DeduplicationScope::Queue));
        assert_eq!(send(&mut t, "c", "x", "c1"), first, "a duplicate of the oldest");
        t.wait(secs(200));
        assert_eq!(send(&mut t, "c", "x", "c1"), second, "the oldest is forgotten, the next is not");
        t.set(Q, scope(DeduplicationScope::MessageGroup));
        assert_ne!(send(&mut t, "a", "x", "a2"), second);
        t.wait(secs(100));
        t.set(Q, scope(DeduplicationScope::Queue));
        consume(&mut t, &["a1", "a2", "b1"]);
    }
}

#[test]
fn per_group_throughput_needs_per_group_deduplication() {
    let mut t = TestEngine::with_fifo_queue();
    let per_group = AttributeChange::FifoThroughputLimit(FifoThroughputLimit::PerMessageGroupId);
    let refused = Err(Error::ThroughputLimitNeedsGroupScope);
    assert_eq!(t.try_set(Q, std::slice::from_ref(&per_group)), refused);
    t.try_set(Q, &[per_group.clone(), scope(DeduplicationScope::MessageGroup)]).expect("both together");
    assert_eq!(t.try_set(Q, &[scope(DeduplicationScope::Queue)]), refused);
    let fifo = t.view(Q).attributes.fifo.expect("a FIFO queue");
    assert_eq!(fifo.deduplication_scope, DeduplicationScope::MessageGroup);
}

#[test]
fn a_message_without_an_id_needs_content_based_deduplication_and_refuses_its_batch() {
    let mut t = TestEngine::with_fifo_queue();
    let by_content = |entry: SendEntry| SendEntry { content_based: true, ..entry };
    let with_id = t.entry("g", "x", "kept back");
    let digest = t.entry("g", "digest of the body", "m");
    let refused = t.try_send_entries(Q, vec![with_id, by_content(digest.clone())]);
    assert_eq!(refused, Err(Error::DeduplicationIdMissing));
    let mut none = t.entry("g", "", "m");
    none.message.deduplication_id = None;
    assert_eq!(t.try_send_entries(Q, vec![none]), Err(Error::DeduplicationIdMissing));
    assert_eq!(t.counts(Q), (0, 0, 0));
    t.set(Q, AttributeChange::ContentBasedDeduplication(true));
    let sent = t.try_send_entries(Q, vec![by_content(digest)]).expect("sends").remove(0).expect("accepted");
    // An id that is given and equals the computed one collides with it.
    assert_eq!(send(&mut t, "g", "digest of the body", "other"), sent);
    assert_ne!(send(&mut t, "g", "given", "m"), sent, "a given id wins over the digest");
}

#[test]
fn a_duplicate_unlocks_nothing_and_serves_nobody() {
    let mut t = TestEngine::with_fifo_queue();
    send(&mut t, "g", "x", "m");
    t.expect(Q, &["m"]);
    let poll = t.poll(Q, secs(5));
    send(&mut t, "g", "x", "m");
    assert!(t.is_waiting(poll));
    t.wait(secs(5));
    t.expect_answer(poll, &[]);
}

#[test]
fn what_was_refused_for_its_size_is_no_first_one() {
    let mut t = TestEngine::with_fifo_queue();
    t.set(Q, AttributeChange::MaximumMessageSize(1_024));
    let long = t.entry("g", "x", &"a".repeat(1_025));
    assert_eq!(t.try_send_entries(Q, vec![long]), Err(Error::MessageTooLong { limit: 1_024 }));
    send(&mut t, "g", "x", "short");
    consume(&mut t, &["short"]);
}
