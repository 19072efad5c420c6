//! Dead letters on FIFO queues: a message that was received too often leaves, and its group goes on.

mod util;

use std::collections::HashSet;
use tidegate_engine::{AttributeChange, Error, MessageSeq, Receive};
use util::*;

const Q: &str = "q.fifo";
const DLQ: &str = "dlq.fifo";

/// A queue whose messages may be received so often, and its dead-letter queue.
fn with_limit(limit: u32) -> TestEngine {
    let mut t = TestEngine::new();
    t.create_fifo(DLQ, &[]);
    t.create_fifo(Q, &[redrive_policy(DLQ, limit)]);
    t
}

#[test]
fn a_message_moves_on_the_receive_that_exceeds_the_limit_and_is_a_new_one_there() {
    for limit in [1, 3] {
        let mut t = with_limit(limit);
        t.send_grouped(Q, &[("g", "m")]);
        let mut got = Vec::new();
        for count in 1..=limit {
            got = t.receive_for(Q, secs(1));
            assert_eq!((bodies(&got), got[0].receive_count), (vec!["m"], count));
            // The end of the timeout alone moves nothing.
            t.wait(secs(60));
            assert_eq!((t.counts(Q), t.counts(DLQ)), ((1, 0, 0), (0, 0, 0)));
        }
        t.expect_nothing(Q);
        assert_eq!((t.counts(Q), t.counts(DLQ)), ((0, 0, 0), (1, 0, 0)));
        let moved_at = t.now;
        t.wait(secs(5));
        let dead = t.receive_one(DLQ);
        assert_eq!((dead.id, dead.receive_count), (got[0].id, limit + 1));
        assert_eq!(dead.sent_at, moved_at, "the send time is reset");
        assert_eq!(dead.first_received_at, got[0].first_received_at);
        assert!(dead.receipt.seq > got[0].receipt.seq, "a new number");
        assert_eq!(dead.source.as_ref(), Some(&Q.address()));
        t.delete(Q, &got[0]).expect("nothing is left to delete");
        assert_eq!(t.change(Q, &got[0], secs(5)), Err(Error::NotAvailable));
        assert_eq!(t.counts(DLQ), (0, 1, 0));
        t.delete(DLQ, &dead).expect("deletes");
        assert_eq!(t.counts(DLQ), (0, 0, 0));
    }
}

#[test]
fn the_group_goes_on_behind_what_moved_and_keeps_its_name_there() {
    let mut t = with_limit(1);
    t.send_grouped(Q, &[("g", "m1"), ("g", "m2"), ("h", "m3"), ("g", "m4")]);
    let got = t.try_receive(Receive { max: 2, ..receive_of(Q) }).expect("receives");
    assert_eq!(bodies(&got), ["m1", "m2"]);
    t.change(Q, &got[0], secs(0)).expect("in flight");
    // m1 goes, m2 is in flight and locks the group.
    t.expect(Q, &["m3"]);
    assert_eq!(t.contents(DLQ), ["m1"]);
    t.delete(Q, &got[1]).expect("deletes");
    let m4 = t.expect(Q, &["m4"]);
    t.change(Q, &m4[0], secs(0)).expect("in flight");
    t.expect_nothing(Q);
    let dead = t.try_receive(Receive { max: 1, ..receive_of(DLQ) }).expect("receives");
    assert_eq!(bodies(&dead), ["m1"]);
    t.expect_nothing(DLQ);
    t.delete(DLQ, &dead[0]).expect("deletes");
    t.expect(DLQ, &["m4"]);
}

#[test]
fn one_receive_moves_what_it_must_and_delivers_what_it_may() {
    let mut t = with_limit(1);
    t.send_grouped(Q, &[("g", "m1"), ("g", "m2"), ("h", "n1")]);
    t.receive_for(Q, secs(0));
    t.send_grouped(Q, &[("g", "m3"), ("h", "n2"), ("i", "o1")]);
    let got = t.receive(Q);
    let found: HashSet<_> = bodies(&got).into_iter().collect();
    assert_eq!(found, ["m3", "n2", "o1"].into());
    assert_eq!(t.contents(DLQ), ["m1", "m2", "n1"]);
}

#[test]
fn polls_on_both_queues_get_theirs() {
    let mut t = with_limit(1);
    t.send_grouped(Q, &[("g", "m1"), ("g", "m2")]);
    let got = t.try_receive(Receive { max: 1, visibility_timeout: Some(secs(5)), ..receive_of(Q) });
    assert_eq!(got.expect("receives").len(), 1);
    let polls = [t.poll(DLQ, secs(20)), t.poll(Q, secs(20))];
    t.wait(secs(5));
    t.expect_answer(polls[0], &["m1"]);
    t.expect_answer(polls[1], &["m2"]);
}

/// Groups come in the order in which their messages arrived, whatever they were before, and in the same one after a
/// restart.
#[test]
fn groups_of_dead_letters_are_served_in_the_order_of_arrival() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = with_limit(1);
        // So that places in memory are given up, and taken in another order than that of arrival.
        t.send_grouped(DLQ, &[("x", "x1"), ("y", "y1"), ("z", "z1")]);
        let passing = t.receive(DLQ);
        passing.iter().for_each(|got| t.delete(DLQ, got).expect("deletes"));
        t.send_grouped(Q, &[("a", "a1"), ("b", "b1"), ("c", "c1"), ("d", "d1")]);
        t.receive_for(Q, secs(0));
        t.expect_nothing(Q);
        let first = t.try_receive(Receive { max: 2, ..receive_of(DLQ) }).expect("receives");
        assert_eq!(bodies(&first), ["a1", "b1"]);
        first.iter().for_each(|got| t.delete(DLQ, got).expect("deletes"));
        t.send_grouped(Q, &[("e", "e1"), ("b", "b2")]);
        t.receive_for(Q, secs(0));
        t.expect_nothing(Q);
        if let Some(restart) = restart {
            restart(&mut t);
        }
        t.expect(DLQ, &["c1", "d1", "e1", "b2"]);
    }
}

#[test]
fn retention_counts_from_the_move() {
    let mut t = with_limit(1);
    t.set(Q, AttributeChange::MessageRetentionPeriod(secs(1_000)));
    t.set(DLQ, AttributeChange::MessageRetentionPeriod(secs(1_000)));
    t.send_grouped(Q, &[("g", "m")]);
    t.receive_for(Q, secs(900));
    t.wait(secs(900));
    t.expect_nothing(Q);
    t.wait(secs(1_000) - TICK);
    assert_eq!(t.counts(DLQ), (1, 0, 0));
    t.wait(TICK);
    assert_eq!(t.counts(DLQ), (0, 0, 0));
}

#[test]
fn deduplication_of_the_dead_letter_queue_drops_no_message() {
    let mut t = with_limit(1);
    let id = t.entry("g", "same", "in the dead-letter queue");
    t.try_send_entries(DLQ, vec![id]).expect("sends");
    let id = t.entry("g", "same", "in the source");
    t.try_send_entries(Q, vec![id]).expect("sends");
    t.receive_for(Q, secs(0));
    t.expect_nothing(Q);
    t.expect(DLQ, &["in the dead-letter queue", "in the source"]);
    // And its id stays remembered where it was sent.
    let id = t.entry("g", "same", "again");
    t.try_send_entries(Q, vec![id]).expect("sends");
    t.expect_nothing(Q);
}

#[test]
fn while_the_dead_letter_queue_is_missing_messages_stay_and_are_delivered() {
    let mut t = with_limit(1);
    t.send_grouped(Q, &[("g", "a"), ("g", "b"), ("h", "c")]);
    t.delete_queue(DLQ).expect("deletes");
    for count in 1..=5 {
        let got = t.receive_for(Q, secs(0));
        assert_eq!((bodies(&got), got[0].receive_count), (vec!["a", "b", "c"], count));
    }
    t.wait(secs(60));
    t.create_fifo(DLQ, &[]);
    t.expect_nothing(Q);
    assert_eq!(t.counts(DLQ), (3, 0, 0));
    assert_eq!(t.receive(DLQ)[0].receive_count, 6);
}

#[test]
fn chains_pass_on_and_name_the_last_source() {
    for restart in RESTARTS {
        let mut t = TestEngine::new();
        t.create_fifo("last.fifo", &[]);
        t.create_fifo("middle.fifo", &[redrive_policy("last.fifo", 2)]);
        t.create_fifo("first.fifo", &[redrive_policy("middle.fifo", 1)]);
        t.send_grouped("first.fifo", &[("g", "m")]);
        t.receive_for("first.fifo", secs(0));
        t.expect_nothing("first.fifo");
        restart(&mut t);
        let got = t.receive_for("middle.fifo", secs(0)).remove(0);
        assert_eq!((got.receive_count, got.source.clone()), (2, Some("first.fifo".address())));
        t.expect_nothing("middle.fifo");
        restart(&mut t);
        let dead = t.receive_one("last.fifo");
        assert_eq!((dead.receive_count, dead.source.clone()), (3, Some("middle.fifo".address())));
        assert_eq!(dead.id, got.id);
        t.delete("last.fifo", &dead).expect("deletes");
    }
}

#[test]
fn queues_that_name_each_other_lose_nothing_and_hide_nothing() {
    let mut t = TestEngine::new();
    t.create_fifo("a.fifo", &[]);
    t.create_fifo("b.fifo", &[redrive_policy("a.fifo", 1)]);
    t.set("a.fifo", redrive_policy("b.fifo", 1));
    t.send_grouped("a.fifo", &[("w", "worn")]);
    t.receive_for("a.fifo", secs(0));
    t.send_grouped("a.fifo", &[("g", "fresh")]);
    t.expect("a.fifo", &["fresh"]);
    let polls = [t.poll("a.fifo", secs(20)), t.poll("b.fifo", secs(20))];
    assert!(polls.into_iter().all(|poll| t.is_waiting(poll)), "neither delivers it");
    assert_eq!(t.counts("a.fifo").0 + t.counts("b.fifo").0, 1);
    t.set("a.fifo", AttributeChange::RedrivePolicy(None));
    t.set("b.fifo", AttributeChange::RedrivePolicy(None));
    let counts: u64 = ["a.fifo", "b.fifo"].into_iter().map(|queue| t.counts(queue).1).sum();
    assert_eq!(counts, 2, "a poll got it, and fresh is in flight");
}

#[test]
fn dead_letters_must_stay_among_queues_of_their_type() {
    let mut t = TestEngine::with_fifo_queue();
    t.create("plain");
    assert_eq!(t.try_set(Q, &[redrive_policy("plain", 1)]), Err(Error::DeadLetterType));
    assert_eq!(t.try_set("plain", &[redrive_policy(Q, 1)]), Err(Error::DeadLetterType));
    assert_eq!(t.try_set(Q, &[redrive_policy("none.fifo", 1)]), Err(Error::DeadLetterMissing));
}

/// Its record names the source, and its number there, until it is written anew.
#[test]
fn records_of_dead_letters_can_be_written_anew_wherever_they_went() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = TestEngine::new();
        t.create_fifo("last.fifo", &[]);
        t.create_fifo("middle.fifo", &[redrive_policy("last.fifo", 1)]);
        t.create_fifo("first.fifo", &[redrive_policy("middle.fifo", 1)]);
        let id = t.send_grouped("first.fifo", &[("g", "m"), ("g", "n")])[0].id;
        t.receive_for("first.fifo", secs(0));
        t.expect_nothing("first.fifo");
        for queue in ["middle.fifo", "last.fifo"] {
            if let Some(restart) = restart {
                restart(&mut t);
            }
            let old = t.live_positions();
            assert_eq!(t.relocate(&old), 2, "in {queue}");
            assert_eq!(t.relocate(&old), 0, "they are elsewhere now");
            let (_, peeked) = t.peek(queue).remove(0);
            let stored = t.log.record(peeked.touched.stored.position).stored().expect("a message").clone();
            assert_eq!(
                (stored.seq, stored.sent_at),
                (peeked.touched.stored.seq, peeked.touched.stored.sent_at)
            );
            assert_eq!(stored.message.id, id);
            assert_eq!(stored.message.group_id.as_deref(), Some("g"));
            assert_eq!(stored.message.deduplication_id.as_deref(), Some(&*id.to_string()));
            t.expect_nothing("middle.fifo");
        }
        let got = t.receive_for("last.fifo", secs(0));
        assert_eq!((bodies(&got), got[0].id), (vec!["m", "n"], id));
        assert_eq!(got[0].source, Some("middle.fifo".address()));
        let receipts: HashSet<MessageSeq> = got.iter().map(|got| got.receipt.seq).collect();
        assert_eq!(receipts.len(), 2);
    }
}
