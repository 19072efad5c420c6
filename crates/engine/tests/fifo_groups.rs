//! Message groups: order within a group, and the lock that messages in flight are to their group.

mod util;

use tidegate_engine::{Error, Receive};
use util::{TestEngine, bodies, receive_of, secs};

const Q: &str = "q.fifo";

/// A queue with four messages of one group; `m1` to `m3` are received.
fn with_three_received() -> (TestEngine, Vec<util::Got>) {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped(Q, &[("g", "m1"), ("g", "m2"), ("g", "m3"), ("g", "m4")]);
    let got = t.try_receive(Receive { max: 3, ..receive_of(Q) }).expect("receives");
    assert_eq!(bodies(&got), ["m1", "m2", "m3"]);
    (t, got)
}

#[test]
fn one_receive_fills_up_from_a_group_and_then_from_the_next() {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped(Q, &[("g1", "g1-m1"), ("g2", "g2-m1"), ("g1", "g1-m2"), ("g1", "g1-m3")]);
    t.expect(Q, &["g1-m1", "g1-m2", "g1-m3", "g2-m1"]);
}

#[test]
fn a_group_with_messages_in_flight_is_locked() {
    let (mut t, got) = with_three_received();
    t.expect_nothing(Q);
    t.send_grouped(Q, &[("g", "m5")]);
    t.expect_nothing(Q);
    t.delete(Q, &got[0]).expect("deletes");
    t.delete(Q, &got[2]).expect("deletes");
    t.expect_nothing(Q);
    t.delete(Q, &got[1]).expect("deletes");
    t.expect(Q, &["m4", "m5"]);
}

#[test]
fn what_is_visible_again_before_a_message_in_flight_is_delivered_up_to_that() {
    for (extended, expected) in [(0, &[][..]), (1, &["m1"]), (2, &["m1", "m2"])] {
        let (mut t, got) = with_three_received();
        t.change(Q, &got[extended], secs(600)).expect("in flight");
        t.wait(secs(31));
        t.expect(Q, expected);
    }
    let (mut t, got) = with_three_received();
    t.change(Q, &got[0], secs(0)).expect("in flight");
    t.expect(Q, &["m1"]);
    t.wait(secs(31));
    t.expect(Q, &["m1", "m2", "m3", "m4"]);
}

#[test]
fn a_receipt_ends_with_its_visibility_timeout() {
    let (mut t, got) = with_three_received();
    t.change(Q, &got[1], secs(60)).expect("in flight");
    t.wait(secs(31));
    assert_eq!(t.delete(Q, &got[0]), Err(Error::ReceiptExpired));
    assert_eq!(t.change(Q, &got[0], secs(9)), Err(Error::ReceiptExpired));
    t.delete(Q, &got[1]).expect("extended past now");
    t.delete(Q, &got[1]).expect("deleting again is no error");
    let again = t.expect(Q, &["m1", "m3", "m4"]);
    assert_eq!(t.delete(Q, &got[0]), Err(Error::ReceiptExpired));
    t.delete(Q, &again[0]).expect("its newest receive");
    assert_eq!(t.delete(Q, &got[0]), Ok(()), "nothing is left to delete");
}

#[test]
fn groups_that_were_served_come_last() {
    let mut t = TestEngine::with_fifo_queue();
    let all = [("g1", "g1-m1"), ("g1", "g1-m2"), ("g2", "g2-m1"), ("g2", "g2-m2"), ("g3", "g3-m1")];
    t.send_grouped(Q, &all);
    let max_3 = Receive { max: 3, visibility_timeout: Some(secs(0)), ..receive_of(Q) };
    assert_eq!(bodies(&t.try_receive(max_3.clone()).expect("receives")), ["g1-m1", "g1-m2", "g2-m1"]);
    let got = t.try_receive(Receive { max: 10, ..max_3 }).expect("receives");
    assert_eq!(bodies(&got), ["g3-m1", "g1-m1", "g1-m2", "g2-m1", "g2-m2"]);
}
