//! How long a received message stays hidden, and what its receipts can do meanwhile and afterwards.

mod util;

use tidegate_engine::{AttributeChange, Command, Error, Receive, Timestamp};
use util::*;

#[test]
fn a_received_message_is_hidden_until_its_timeout_ends() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    t.expect("q", &["a"]);
    assert_eq!(t.counts("q"), (0, 1, 0));
    t.wait(secs(30) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.expect("q", &["a"]);
}

#[test]
fn a_timeout_ends_also_when_nobody_watched_the_clock() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    t.expect("q", &["a"]);
    t.jump(secs(30) - TICK);
    t.expect_nothing("q");
    t.jump(TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.expect("q", &["a"]);
}

#[test]
fn receive_counts_rise_and_the_first_receive_time_stays() {
    let mut t = TestEngine::with_queue();
    let id = t.send("q", "a");
    let sent_at = t.now;
    t.wait(secs(3));
    let first_received_at = t.now;
    for receive in 1..=5 {
        let got = t.receive_one("q");
        assert_eq!((got.receive_count, got.receipt.receive), (receive, receive));
        assert_eq!((got.first_received_at, got.sent_at, got.id), (first_received_at, sent_at, id));
        t.wait(secs(30));
    }
}

#[test]
fn the_timeout_is_the_receives_own_else_the_queues_at_that_moment() {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::VisibilityTimeout(secs(5))]);
    t.send("q", "a");
    t.receive_for("q", secs(2));
    t.wait(secs(2));
    t.expect("q", &["a"]);
    t.set("q", AttributeChange::VisibilityTimeout(secs(50)));
    t.wait(secs(5));
    t.expect("q", &["a"]); // The change of the queue does not reach back to receives before it.
    t.wait(secs(50) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    t.expect("q", &["a"]);
}

#[test]
fn a_timeout_of_zero_on_receive_leaves_the_message_visible() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let first = t.receive_for("q", secs(0));
    assert_eq!(bodies(&first), ["a"]);
    assert_eq!(t.counts("q"), (1, 0, 0));
    let second = t.receive_for("q", secs(0));
    assert_eq!(second[0].receive_count, 2);
    assert_ne!(first[0].receipt, second[0].receipt);
    assert_eq!(t.delete("q", &second[0]), Ok(()));
    assert_eq!(t.counts("q"), (0, 0, 0));
}

#[test]
fn a_change_counts_from_the_call_whether_it_shortens_or_lengthens() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["short", "long"]);
    let got = t.receive_for("q", secs(60));
    t.wait(secs(15));
    assert_eq!(t.change("q", &got[0], secs(10)), Ok(()));
    assert_eq!(t.change("q", &got[1], secs(100)), Ok(()));
    t.wait(secs(10) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    t.expect("q", &["short"]); // 25 s after its receive, hidden for 30 s again.
    t.wait(secs(90) - TICK);
    t.expect("q", &["short"]);
    t.wait(TICK);
    t.expect("q", &["long"]);
}

#[test]
fn a_change_holds_for_this_receive_only() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    t.change("q", &got, secs(2)).expect("changes");
    t.wait(secs(2));
    t.expect("q", &["a"]);
    t.wait(secs(30) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    t.expect("q", &["a"]);
    assert_eq!(t.view("q").attributes.visibility_timeout, secs(30));
}

#[test]
fn a_change_to_zero_makes_the_message_visible_at_once() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    assert_eq!(t.change("q", &got, secs(0)), Ok(()));
    assert_eq!(t.counts("q"), (1, 0, 0));
    assert_eq!(t.receive_one("q").receive_count, 2);
}

#[test]
fn repeated_extension_keeps_a_message_hidden_past_its_timeout() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    for _ in 0..20 {
        t.wait(secs(20));
        assert_eq!(t.change("q", &got, secs(30)), Ok(()));
        t.expect_nothing("q");
    }
    t.wait(secs(30));
    assert_eq!(t.receive_one("q").receive_count, 2);
}

#[test]
fn a_receipt_deletes_after_its_timeout_while_nobody_received_again() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    t.wait(hours(1));
    assert_eq!(t.counts("q"), (1, 0, 0));
    assert_eq!(t.delete("q", &got), Ok(()));
    assert_eq!(t.counts("q"), (0, 0, 0));
    assert_eq!(t.delete("q", &got), Ok(()), "any number of times");
}

#[test]
fn a_receipt_hides_again_after_its_timeout_while_nobody_received_again() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    t.wait(secs(40));
    assert_eq!(t.change("q", &got, secs(10)), Ok(()));
    assert_eq!(t.counts("q"), (0, 1, 0));
    t.wait(secs(10) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    assert_eq!(t.receive_one("q").receive_count, 2);
}

#[test]
fn an_old_receipt_deletes_nothing_once_the_message_was_received_again() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let old = t.receive_one("q");
    t.wait(secs(30));
    let new = t.receive_one("q");
    assert_eq!(t.delete("q", &old), Ok(()));
    assert_eq!(t.counts("q"), (0, 1, 0));
    t.wait(secs(30));
    assert_eq!(t.delete("q", &old), Ok(()));
    assert_eq!(t.counts("q"), (1, 0, 0));
    assert_eq!(t.delete("q", &new), Ok(()));
    assert_eq!(t.counts("q"), (0, 0, 0));
}

#[test]
fn an_old_receipt_still_changes_visibility_after_the_message_was_received_again() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let old = t.receive_one("q");
    t.wait(secs(30));
    t.receive_one("q");
    assert_eq!(t.change("q", &old, secs(0)), Ok(()));
    assert_eq!(t.receive_one("q").receive_count, 3);
}

#[test]
fn a_change_after_the_delete_finds_no_message() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    t.delete("q", &got).expect("deletes");
    assert_eq!(t.change("q", &got, secs(5)), Err(Error::NotAvailable));
    assert_eq!(t.change("q", &got, secs(0)), Err(Error::NotAvailable));
}

#[test]
fn the_cap_of_twelve_hours_lies_exactly_at_its_edge() {
    let cap = hours(12);
    for passed in [millis(0), TICK, secs(5), secs(3600), cap - TICK, cap] {
        let mut t = TestEngine::with_queue();
        t.send("q", "a");
        let got = t.receive_for("q", cap).remove(0);
        t.wait(passed);
        let left = cap - passed;
        assert_eq!(t.change("q", &got, left + TICK), Err(Error::VisibilityBeyondLimit), "{passed:?}");
        assert_eq!(t.change("q", &got, left), Ok(()), "{passed:?}");
        assert_eq!(t.counts("q"), if left.is_zero() { (1, 0, 0) } else { (0, 1, 0) });
    }
}

#[test]
fn extending_does_not_restart_the_twelve_hours_and_receiving_again_does() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    t.wait(secs(20));
    t.change("q", &got, hours(11)).expect("changes");
    t.wait(hours(11) - secs(20));
    assert_eq!(t.change("q", &got, hours(1) + TICK), Err(Error::VisibilityBeyondLimit));
    assert_eq!(t.change("q", &got, hours(1)), Ok(()));
    t.wait(hours(1));
    let again = t.receive_one("q");
    assert_eq!(t.change("q", &again, hours(12)), Ok(()));
}

#[test]
fn a_refused_change_leaves_the_timeout_as_it_was() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    t.wait(secs(10));
    assert_eq!(t.change("q", &got, hours(12)), Err(Error::VisibilityBeyondLimit));
    t.wait(secs(20) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    t.expect("q", &["a"]);
}

#[test]
fn batches_answer_each_receipt_in_order() {
    let mut t = TestEngine::with_queue();
    t.create("other");
    t.send_all("q", &["a", "b", "c"]);
    t.send("other", "x");
    let got = t.receive("q");
    let foreign = t.receive_one("other");
    t.delete("q", &got[1]).expect("deletes");
    t.wait(secs(1));
    let change = |n: usize, timeout| (got[n].receipt, timeout);
    let changes =
        vec![change(0, secs(0)), change(1, secs(9)), (foreign.receipt, secs(9)), change(2, hours(12))];
    let settled = t.settled(Command::ChangeVisibility { queue: "q".address(), changes });
    let refused =
        [Err(Error::NotAvailable), Err(Error::ReceiptOfOtherQueue), Err(Error::VisibilityBeyondLimit)];
    let expected: Vec<_> = [Ok(())].into_iter().chain(refused).collect();
    assert_eq!(settled, Ok(expected));

    let receipts = vec![got[0].receipt, foreign.receipt, got[0].receipt, got[2].receipt];
    let settled = t.settled(Command::Delete { queue: "q".address(), receipts });
    assert_eq!(settled, Ok(vec![Ok(()), Err(Error::ReceiptOfOtherQueue), Ok(()), Ok(())]));
    assert_eq!((t.counts("q"), t.counts("other")), ((0, 0, 0), (0, 1, 0)));
}

#[test]
fn one_batch_may_change_a_message_twice() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    let changes = vec![(got.receipt, secs(0)), (got.receipt, secs(3))];
    let settled = t.settled(Command::ChangeVisibility { queue: "q".address(), changes });
    assert_eq!(settled, Ok(vec![Ok(()), Ok(())]));
    assert_eq!(t.counts("q"), (0, 1, 0));
    t.wait(secs(3));
    assert_eq!(t.counts("q"), (1, 0, 0));
}

#[test]
fn receipts_of_a_deleted_queue_are_not_those_of_its_successor() {
    let mut t = TestEngine::with_queue();
    t.send("q", "old");
    let old = t.receive_one("q");
    t.delete_queue("q").expect("deletes");
    assert_eq!(t.delete("q", &old), Err(Error::QueueMissing));
    assert_eq!(t.change("q", &old, secs(1)), Err(Error::QueueMissing));
    t.wait(secs(60));
    t.create("q");
    t.send("q", "new");
    assert_eq!(t.delete("q", &old), Err(Error::ReceiptOfOtherQueue));
    assert_eq!(t.change("q", &old, secs(1)), Err(Error::ReceiptOfOtherQueue));
    t.expect("q", &["new"]);
}

#[test]
fn every_timeout_keeps_its_own_end() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["a", "b", "c", "d", "e"]);
    for timeout in [50, 10, 40, 20, 30] {
        let receive = Receive { max: 1, visibility_timeout: Some(secs(timeout)), ..receive_of("q") };
        assert_eq!(t.try_receive(receive).map(|got| got.len()), Ok(1));
    }
    for visible in ["b", "d", "e", "c", "a"] {
        t.wait(secs(10) - TICK);
        t.expect_nothing("q");
        t.wait(TICK);
        assert_eq!(bodies(&t.receive_for("q", hours(12))), [visible]);
    }
}

#[test]
fn a_restart_forgets_no_timeout() {
    for restart in RESTARTS {
        let mut t = TestEngine::with_queue();
        t.send_all("q", &["a", "b"]);
        let got = t.receive("q");
        t.change("q", &got[1], secs(100)).expect("changes");
        restart(&mut t);
        t.wait(secs(30) - TICK);
        t.expect_nothing("q");
        let poll = t.poll("q", secs(20));
        t.wait(TICK);
        t.expect_answer(poll, &["a"]);
        assert_eq!(t.delete("q", &got[1]), Ok(()));
        assert_eq!(t.counts("q"), (0, 1, 0));
    }
}

#[test]
fn an_empty_engine_has_nothing_to_wait_for() {
    let mut t = TestEngine::with_queue();
    assert_eq!(t.live.engine.poll_timeout(), None::<Timestamp>);
    t.wait(hours(24));
    assert_eq!(t.log.records.len(), 1, "time alone writes nothing");
}
