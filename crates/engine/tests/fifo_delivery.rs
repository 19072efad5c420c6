//! FIFO queues: receipts and their windows, delay, the in-flight quota, retention, purge.

mod util;

use tidegate_engine::{AttributeChange, Command, Config, Error, Receive};
use util::{Named, RESTARTS, TICK, TestEngine, bodies, hours, receive_of, secs};

const Q: &str = "q.fifo";

fn with_message() -> TestEngine {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped(Q, &[("g", "m")]);
    t
}

// Receipts.

#[test]
fn a_message_is_deleted_within_the_window_of_its_receipt_only() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = with_message();
        let got = t.receive_one(Q);
        t.wait(secs(30) - TICK);
        if let Some(restart) = restart {
            restart(&mut t);
        }
        t.change(Q, &got, secs(30)).expect("the last moment");
        t.wait(secs(30));
        assert_eq!(t.delete(Q, &got), Err(Error::ReceiptExpired), "not received again, and yet");
        assert_eq!(t.change(Q, &got, secs(30)), Err(Error::ReceiptExpired));
        assert_eq!(t.counts(Q), (1, 0, 0), "the message stays");
        let again = t.receive_one(Q);
        assert_eq!(t.delete(Q, &got), Err(Error::ReceiptExpired), "the older window is over");
        assert_eq!(t.change(Q, &got, secs(0)), Err(Error::ReceiptExpired));
        for _ in 0..3 {
            t.delete(Q, &again).expect("any number of times");
        }
        assert_eq!(t.change(Q, &again, secs(30)), Err(Error::NotAvailable));
        assert_eq!(t.counts(Q), (0, 0, 0));
    }
}

#[test]
fn a_receipt_of_timeout_zero_is_over_at_once() {
    let mut t = with_message();
    let got = t.receive_for(Q, secs(0)).remove(0);
    assert_eq!(t.delete(Q, &got), Err(Error::ReceiptExpired));
    let got = t.receive_one(Q);
    t.change(Q, &got, secs(0)).expect("in flight");
    assert_eq!(t.delete(Q, &got), Err(Error::ReceiptExpired));
    assert_eq!(t.counts(Q), (1, 0, 0));
}

#[test]
fn a_change_to_zero_ends_the_receipt_for_the_rest_of_its_batch() {
    let mut t = with_message();
    let receipt = t.receive_one(Q).receipt;
    let changes = [0, 60, 0].map(|timeout| (receipt, secs(timeout))).to_vec();
    let settled = t.settled(Command::ChangeVisibility { queue: Q.address(), changes });
    let expired = Err(Error::ReceiptExpired);
    assert_eq!(settled, Ok(vec![Ok(()), expired.clone(), expired]));
    assert_eq!(t.counts(Q), (1, 0, 0));
}

#[test]
fn receipts_belong_to_their_queue_and_to_the_twelve_hours() {
    let mut t = with_message();
    t.create_fifo("other.fifo", &[]);
    let got = t.receive_one(Q);
    assert_eq!(t.delete("other.fifo", &got), Err(Error::ReceiptOfOtherQueue));
    assert_eq!(t.change("other.fifo", &got, secs(1)), Err(Error::ReceiptOfOtherQueue));
    t.wait(secs(10));
    assert_eq!(t.change(Q, &got, hours(12)), Err(Error::VisibilityBeyondLimit));
    t.change(Q, &got, hours(12) - secs(10)).expect("exactly twelve hours");
    t.wait(hours(12) - secs(10) - TICK);
    assert_eq!(t.counts(Q), (0, 1, 0));
    t.wait(TICK);
    assert_eq!(t.counts(Q), (1, 0, 0));
}

#[test]
fn deleting_after_the_queue_was_purged_or_the_message_expired_is_no_error() {
    let mut t = with_message();
    let got = t.receive_one(Q);
    t.purge(Q).expect("purges");
    assert_eq!(t.counts(Q), (0, 0, 0));
    t.delete(Q, &got).expect("nothing is left to delete");
    assert_eq!(t.change(Q, &got, secs(1)), Err(Error::NotAvailable));
}

// Delay.

fn delay(seconds: u64) -> AttributeChange {
    AttributeChange::DelaySeconds(secs(seconds))
}

#[test]
fn the_queues_delay_hides_new_messages_and_blocks_those_behind_but_none_before() {
    let mut t = TestEngine::with_fifo_queue();
    t.set(Q, delay(2));
    t.send_grouped(Q, &[("g", "A")]);
    t.wait(secs(1));
    t.send_grouped(Q, &[("h", "H")]);
    t.wait(secs(1) - TICK);
    t.expect_nothing(Q);
    assert_eq!(t.counts(Q), (0, 0, 2));
    t.wait(TICK);
    t.send_grouped(Q, &[("g", "B")]);
    // Only what is in flight locks a group.
    let a = t.receive_one(Q);
    assert_eq!((a.body.as_str(), t.counts(Q)), ("A", (0, 1, 2)));
    t.wait(secs(2));
    assert_eq!(t.counts(Q), (2, 1, 0));
    t.expect(Q, &["H"]);
    t.delete(Q, &a).expect("deletes");
    t.expect(Q, &["B"]);
}

#[test]
fn a_change_of_the_delay_concerns_messages_that_wait() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = TestEngine::with_fifo_queue();
        t.set(Q, delay(900));
        t.send_grouped(Q, &[("g", "m1")]);
        t.wait(secs(10));
        t.send_grouped(Q, &[("g", "m2")]);
        let poll = t.poll(Q, secs(20));
        t.set(Q, delay(15));
        assert!(t.is_waiting(poll));
        t.cancel(poll);
        if let Some(restart) = restart {
            restart(&mut t);
        }
        t.wait(secs(5) - TICK);
        assert_eq!(t.counts(Q), (0, 0, 2));
        let poll = t.poll(Q, secs(20));
        t.wait(TICK);
        t.expect_answer(poll, &["m1"]);
        t.set(Q, delay(60));
        t.wait(secs(10));
        assert_eq!(t.counts(Q), (0, 1, 1), "longer for what is still delayed");
        let poll = t.poll(Q, secs(1));
        t.set(Q, delay(0));
        assert_eq!(t.counts(Q), (1, 1, 0));
        assert!(t.is_waiting(poll), "behind a message in flight");
    }
}

#[test]
fn the_end_of_a_delay_serves_who_waits() {
    let mut t = TestEngine::with_fifo_queue();
    t.set(Q, delay(5));
    t.send_grouped(Q, &[("g", "m1"), ("h", "m2")]);
    let poll = t.poll(Q, secs(20));
    t.wait(secs(5) - TICK);
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    assert!(bodies(&t.answer(poll).expect("no error")).contains(&"m1"));
}

#[test]
fn a_delayed_message_expires_and_lets_its_group_go_on() {
    let mut t = TestEngine::with_fifo_queue();
    t.set(Q, delay(900));
    t.set(Q, AttributeChange::MessageRetentionPeriod(secs(60)));
    t.send_grouped(Q, &[("g", "m1")]);
    t.wait(secs(30));
    t.send_grouped(Q, &[("g", "m2"), ("h", "m3")]);
    t.wait(secs(30));
    assert_eq!(t.counts(Q), (0, 0, 2));
    t.set(Q, delay(0));
    t.expect(Q, &["m2", "m3"]);
}

// The quota.

#[test]
fn at_the_quota_in_flight_receives_find_nothing_without_an_error() {
    let mut t = TestEngine::with_config(Config { fifo_in_flight_max: 2, ..Config::default() });
    t.create_fifo(Q, &[]);
    t.send_grouped(Q, &[("a", "a1"), ("b", "b1"), ("c", "c1"), ("c", "c2")]);
    let got = t.expect(Q, &["a1", "b1"]);
    assert_eq!(t.try_receive(receive_of(Q)), Ok(vec![]));
    let poll = t.poll(Q, secs(20));
    assert!(t.is_waiting(poll));
    t.delete(Q, &got[0]).expect("deletes");
    t.expect_answer(poll, &["c1"]);
    let attempt = Receive { attempt_id: Some("x".into()), ..receive_of(Q) };
    t.delete(Q, &got[1]).expect("deletes");
    assert_eq!(t.try_receive(attempt.clone()), Ok(vec![]), "room, but the group is locked");
    t.wait(secs(30));
    let first = t.try_receive(attempt.clone()).expect("receives");
    assert_eq!(bodies(&first), ["c1", "c2"]);
    assert_eq!(t.try_receive(attempt), Ok(first), "a repetition takes no more room");
}

// Retention.

#[test]
fn messages_expire_in_every_state() {
    let mut t = TestEngine::with_fifo_queue();
    t.set(Q, AttributeChange::MessageRetentionPeriod(secs(100)));
    t.send_grouped(Q, &[("a", "in flight"), ("b", "returned"), ("c", "untouched")]);
    let got = t.try_receive(Receive { max: 2, visibility_timeout: Some(secs(600)), ..receive_of(Q) });
    let got = got.expect("receives");
    t.change(Q, &got[1], secs(0)).expect("in flight");
    t.set(Q, delay(900));
    t.send_grouped(Q, &[("d", "delayed")]);
    assert_eq!(t.counts(Q), (2, 1, 1));
    t.wait(secs(100) - TICK);
    assert_eq!(t.counts(Q), (2, 1, 1));
    t.wait(TICK);
    assert_eq!(t.counts(Q), (0, 0, 0));
    t.wait(secs(600));
    t.delete(Q, &got[0]).expect("deleting it is no error");
    t.expect_nothing(Q);
}

#[test]
fn a_shorter_retention_period_concerns_messages_that_are_there() {
    let mut t = with_message();
    t.wait(secs(70));
    t.send_grouped(Q, &[("g", "younger")]);
    t.set(Q, AttributeChange::MessageRetentionPeriod(secs(60)));
    assert_eq!(t.counts(Q), (1, 0, 0));
    t.expect(Q, &["younger"]);
}

// Purge.

#[test]
fn a_purge_takes_messages_in_every_state_and_unlocks_their_groups() {
    for restart in RESTARTS {
        let mut t = TestEngine::with_fifo_queue();
        t.send_grouped(Q, &[("a", "a1"), ("a", "a2"), ("b", "b1")]);
        t.try_receive(Receive { max: 1, ..receive_of(Q) }).expect("receives");
        t.set(Q, delay(60));
        t.send_grouped(Q, &[("c", "c1")]);
        t.set(Q, delay(60));
        let poll = t.poll(Q, secs(20));
        assert!(!t.is_waiting(poll), "b1 is there");
        t.purge(Q).expect("purges");
        assert_eq!(t.counts(Q), (0, 0, 0));
        assert_eq!(t.purge(Q), Err(Error::PurgeInProgress));
        restart(&mut t);
        t.set(Q, delay(0));
        t.send_grouped(Q, &[("a", "a3"), ("c", "c2")]);
        t.expect(Q, &["a3", "c2"]);
    }
}
