//! Receives with an attempt id: a repetition gives the same messages with the same receipts, and hides them anew.

mod util;

use std::time::Duration;
use tidegate_engine::{Error, Receive};
use util::{Got, RESTARTS, TICK, TestEngine, bodies, millis, receive_of, secs};

const Q: &str = "q.fifo";

fn attempt(id: &str, timeout: Duration) -> Receive {
    Receive { attempt_id: Some(id.into()), visibility_timeout: Some(timeout), ..receive_of(Q) }
}

fn receive(t: &mut TestEngine, id: &str, timeout: Duration) -> Result<Vec<Got>, Error> {
    t.try_receive(attempt(id, timeout))
}

/// A queue with three messages of two groups.
fn with_messages() -> TestEngine {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped(Q, &[("a", "a1"), ("a", "a2"), ("b", "b1")]);
    t
}

#[test]
fn a_repetition_gives_the_same_messages_receipts_and_counts_and_hides_them_anew() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = with_messages();
        let first = receive(&mut t, "x", secs(30)).expect("receives");
        assert_eq!(bodies(&first), ["a1", "a2", "b1"]);
        t.wait(secs(20));
        if let Some(restart) = restart {
            restart(&mut t);
        }
        assert_eq!(receive(&mut t, "x", secs(30)).as_ref(), Ok(&first));
        t.wait(secs(20));
        assert_eq!(t.counts(Q), (0, 3, 0), "the timeouts count from the repetition");
        if let Some(restart) = restart {
            restart(&mut t);
        }
        assert_eq!(receive(&mut t, "x", secs(5)).as_ref(), Ok(&first), "shorter ones as well");
        t.wait(secs(5));
        assert_eq!(t.counts(Q), (3, 0, 0));
    }
}

#[test]
fn a_repetition_takes_neither_newer_messages_nor_fewer_than_it_had() {
    let mut t = with_messages();
    let first = receive(&mut t, "x", secs(30)).expect("receives");
    t.send_grouped(Q, &[("c", "c1")]);
    let again = t.try_receive(Receive { max: 1, ..attempt("x", secs(30)) }).expect("receives");
    assert_eq!(again, first);
    let other = receive(&mut t, "y", secs(30)).expect("receives");
    assert_eq!(bodies(&other), ["c1"], "another id is another receive");
}

#[test]
fn receipts_of_a_repeated_receive_work_until_the_new_end() {
    let mut t = with_messages();
    let first = receive(&mut t, "x", secs(10)).expect("receives");
    t.wait(secs(9));
    receive(&mut t, "x", secs(10)).expect("repeats");
    t.wait(secs(10) - TICK);
    t.delete(Q, &first[0]).expect("in flight");
    t.wait(TICK);
    assert_eq!(t.delete(Q, &first[1]), Err(Error::ReceiptExpired));
}

#[test]
fn a_delete_or_a_change_of_any_of_its_messages_voids_a_receive() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        for by_delete in [true, false] {
            let mut t = with_messages();
            let first = receive(&mut t, "x", secs(600)).expect("receives");
            if by_delete {
                t.delete(Q, &first[1]).expect("in flight");
            } else {
                t.change(Q, &first[1], secs(700)).expect("in flight");
            }
            t.send_grouped(Q, &[("c", "c1")]);
            if let Some(restart) = restart {
                restart(&mut t);
            }
            // No fresh receive in its place, not even after the timeouts.
            assert_eq!(receive(&mut t, "x", secs(30)), Err(Error::AttemptNotRetryable));
            t.wait(secs(300) - TICK);
            assert_eq!(receive(&mut t, "x", secs(30)), Err(Error::AttemptNotRetryable));
            t.wait(TICK);
            assert_eq!(bodies(&receive(&mut t, "x", secs(30)).expect("forgotten")), ["c1"]);
        }
    }
}

#[test]
fn after_the_timeouts_the_same_id_makes_a_fresh_receive_that_can_be_repeated_in_turn() {
    let mut t = with_messages();
    let first = receive(&mut t, "x", secs(5)).expect("receives");
    t.wait(secs(5));
    let second = receive(&mut t, "x", secs(5)).expect("receives");
    assert_eq!(bodies(&second), bodies(&first));
    assert_eq!(second[0].receive_count, 2);
    assert_ne!(second[0].receipt, first[0].receipt);
    assert_eq!(receive(&mut t, "x", secs(5)), Ok(second));
    assert_eq!(t.delete(Q, &first[0]), Err(Error::ReceiptExpired));
}

#[test]
fn what_another_consumer_received_meanwhile_is_not_repeated() {
    let mut t = with_messages();
    receive(&mut t, "x", secs(5)).expect("receives");
    t.wait(secs(5));
    let other = receive(&mut t, "y", secs(60)).expect("receives");
    assert_eq!(other.len(), 3);
    assert_eq!(receive(&mut t, "x", secs(5)), Ok(vec![]));
    t.delete(Q, &other[0]).expect("in flight");
    assert_eq!(receive(&mut t, "x", secs(5)), Ok(vec![]), "a delete by the other voids the other's only");
    assert_eq!(receive(&mut t, "y", secs(5)), Err(Error::AttemptNotRetryable));
}

#[test]
fn a_receive_older_than_five_minutes_is_not_repeated() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = with_messages();
        let first = receive(&mut t, "x", secs(3_600)).expect("receives");
        t.wait(secs(200));
        // Counts from the first one.
        assert_eq!(receive(&mut t, "x", secs(3_600)).as_ref(), Ok(&first));
        t.wait(secs(100) - TICK);
        assert_eq!(receive(&mut t, "x", secs(3_600)).as_ref(), Ok(&first));
        if let Some(restart) = restart {
            restart(&mut t);
        }
        t.wait(TICK);
        assert_eq!(
            receive(&mut t, "x", secs(3_600)),
            Ok(vec![]),
            "a fresh receive, and the groups are locked"
        );
        t.delete(Q, &first[0]).expect("still in flight");
    }
}

#[test]
fn an_empty_receive_binds_its_id_to_nothing() {
    let mut t = TestEngine::with_fifo_queue();
    assert_eq!(receive(&mut t, "x", secs(30)), Ok(vec![]));
    t.send_grouped(Q, &[("a", "a1")]);
    assert_eq!(bodies(&receive(&mut t, "x", secs(30)).expect("receives")), ["a1"]);
}

#[test]
fn a_receive_with_timeout_zero_has_nothing_in_flight_to_repeat() {
    let mut t = with_messages();
    for count in 1..=3 {
        let got = receive(&mut t, "x", secs(0)).expect("receives");
        assert_eq!((got.len(), got[0].receive_count), (3, count));
    }
    t.wait(secs(300));
    assert_eq!(receive(&mut t, "x", secs(0)).expect("receives")[0].receive_count, 4);
}

#[test]
fn a_purge_forgets_attempts() {
    let mut t = with_messages();
    let first = receive(&mut t, "x", secs(60)).expect("receives");
    t.delete(Q, &first[0]).expect("in flight");
    t.purge(Q).expect("purges");
    t.send_grouped(Q, &[("a", "new")]);
    assert_eq!(bodies(&receive(&mut t, "x", secs(60)).expect("receives")), ["new"]);
}

#[test]
fn waiting_receives_can_be_repeated_and_repeat() {
    for restart in RESTARTS {
        let mut t = TestEngine::with_fifo_queue();
        let waiting = Receive { wait: Some(secs(20)), ..attempt("x", secs(30)) };
        // The client gave up on the first one and asks again.
        let polls = [t.poll_with(waiting.clone()), t.poll_with(waiting.clone())];
        t.wait(secs(3));
        t.send_grouped(Q, &[("a", "a1")]);
        t.expect_answer(polls[0], &["a1"]);
        assert_eq!(t.answer(polls[1]), t.answer(polls[0]));
        let got = t.answer(polls[0]).expect("no error");
        restart(&mut t);
        t.wait(secs(20));
        assert_eq!(t.try_receive(waiting.clone()), Ok(got), "answered at once, without a wait");
        t.wait(secs(30) - TICK);
        assert_eq!(t.counts(Q), (0, 1, 0));
        t.wait(TICK);
        assert_eq!(t.counts(Q), (1, 0, 0));
    }
}

#[test]
fn an_answer_that_was_not_delivered_stays_for_its_repetition() {
    let mut t = with_messages();
    let first = receive(&mut t, "x", secs(30)).expect("receives");
    t.return_undelivered(&first);
    assert_eq!(t.counts(Q), (0, 3, 0), "the client will ask again");
    assert_eq!(receive(&mut t, "x", secs(30)), Ok(first.clone()));
    t.wait(secs(30));
    // Without an attempt id nobody could ask for it again.
    let plain = t.receive(Q);
    t.return_undelivered(&plain);
    assert_eq!(t.counts(Q), (3, 0, 0));
    t.return_undelivered(&first);
    assert_eq!(t.counts(Q), (3, 0, 0), "old receipts return nothing");
}

#[test]
fn an_answer_that_was_not_delivered_returns_when_nobody_can_ask_for_it_again() {
    let mut t = with_messages();
    let first = receive(&mut t, "x", secs(3_600)).expect("receives");
    t.delete(Q, &first[0]).expect("in flight");
    t.return_undelivered(&first);
    assert_eq!(t.counts(Q), (2, 0, 0), "a void receive cannot be repeated");
    let second = receive(&mut t, "y", secs(3_600)).expect("receives");
    t.wait(secs(300));
    t.return_undelivered(&second);
    assert_eq!(t.counts(Q), (2, 0, 0), "neither can an old one");
}

#[test]
fn standard_queues_ignore_attempt_ids() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["a", "b"]);
    let with_id = Receive { max: 1, attempt_id: Some("x".into()), ..receive_of("q") };
    assert_eq!(bodies(&t.try_receive(with_id.clone()).expect("receives")), ["a"]);
    let b = t.try_receive(with_id.clone()).expect("receives");
    assert_eq!(bodies(&b), ["b"]);
    t.delete("q", &b[0]).expect("deletes");
    t.wait(millis(5));
    assert_eq!(t.try_receive(with_id), Ok(vec![]));
}
