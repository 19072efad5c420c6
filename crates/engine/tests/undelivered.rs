//! Messages handed out in a reply that never reached its client.

mod util;

use tidegate_engine::Error;
use util::*;

#[test]
fn what_was_not_delivered_is_visible_again_at_once() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["a", "b"]);
    let got = t.receive("q");
    t.return_undelivered(&got);
    assert_eq!(t.counts("q"), (2, 0, 0));
    let again = t.expect("q", &["a", "b"]);
    assert_eq!(again[0].receive_count, 2, "the lost delivery counts as a receive");
}

#[test]
fn a_return_wakes_who_waits() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive("q");
    let poll = t.poll("q", secs(20));
    t.return_undelivered(&got);
    t.expect_answer(poll, &["a"]);
}

#[test]
fn a_return_does_not_reach_a_later_receive() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let lost = t.receive("q");
    t.wait(secs(30));
    t.receive_one("q");
    t.return_undelivered(&lost);
    assert_eq!(t.counts("q"), (0, 1, 0));
}

#[test]
fn a_return_of_what_is_gone_is_no_error() {
    let mut t = TestEngine::with_queue();
    t.create("other");
    t.send_all("q", &["a", "b"]);
    t.send("other", "c");
    let mut lost = t.receive("q");
    lost.extend(t.receive("other"));
    t.delete("q", &lost[0]).expect("deletes");
    t.delete_queue("other").expect("deletes");
    t.return_undelivered(&lost);
    assert_eq!(t.counts("q"), (1, 0, 0));
}

#[test]
fn a_return_after_the_timeout_changes_nothing() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let lost = t.receive("q");
    t.wait(secs(31));
    t.return_undelivered(&lost);
    assert_eq!(t.counts("q"), (1, 0, 0));
    assert_eq!(t.receive_one("q").receive_count, 2);
}

#[test]
fn a_returned_message_can_still_be_settled_by_the_lost_receipt() {
    // The client may have got the reply after all.
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["a", "b"]);
    let lost = t.receive("q");
    t.return_undelivered(&lost);
    assert_eq!(t.delete("q", &lost[0]), Ok(()));
    assert_eq!(t.change("q", &lost[1], secs(5)), Ok(()));
    assert_eq!(t.counts("q"), (0, 1, 0));
    t.purge("q").expect("purges");
    assert_eq!(t.change("q", &lost[1], secs(5)), Err(Error::NotAvailable));
}

#[test]
fn a_return_of_several_queues_reaches_each() {
    let mut t = TestEngine::with_queue();
    t.create("other");
    t.send("q", "a");
    t.send("other", "b");
    let mut lost = t.receive("q");
    lost.extend(t.receive("other"));
    t.return_undelivered(&lost);
    t.expect("q", &["a"]);
    t.expect("other", &["b"]);
}
