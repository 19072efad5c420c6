//! Message groups: order within a group, and the lock that messages in flight are to their group.

mod util;

use tidegate_engine::{Error, Receive};
use util::{RESTARTS, TICK, TestEngine, bodies, receive_of, secs};

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

#[test]
fn the_rest_of_a_group_follows_once_all_before_it_is_deleted() {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped(Q, &[("g", "m1"), ("g", "m2"), ("g", "m3")]);
    let got = t.try_receive(Receive { max: 2, ..receive_of(Q) }).expect("receives");
    t.delete(Q, &got[0]).expect("deletes");
    t.send_grouped(Q, &[("g", "m4")]);
    t.expect_nothing(Q);
    // Only what was received is not visible; what waits behind it is.
    assert_eq!(t.counts(Q), (2, 1, 0));
    t.delete(Q, &got[1]).expect("deletes");
    let got = t.expect(Q, &["m3", "m4"]);
    got.iter().for_each(|got| t.delete(Q, got).expect("deletes"));
    t.send_grouped(Q, &[("g", "m5")]);
    t.expect(Q, &["m5"]);
}

#[test]
fn all_of_a_group_comes_back_in_order_when_all_timeouts_ran_out() {
    let (mut t, _) = with_three_received();
    t.wait(secs(30));
    let got = t.expect(Q, &["m1", "m2", "m3", "m4"]);
    let counts: Vec<_> = got.iter().map(|got| got.receive_count).collect();
    assert_eq!(counts, [2, 2, 2, 1]);
}

#[test]
fn a_timeout_of_zero_locks_nothing() {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped(Q, &[("g", "m1"), ("g", "m2")]);
    for count in 1..=3 {
        let got = t.receive_for(Q, secs(0));
        assert_eq!((bodies(&got), got[1].receive_count), (vec!["m1", "m2"], count));
    }
    assert_eq!(t.counts(Q), (2, 0, 0));
}

#[test]
fn a_locked_group_keeps_no_other_from_being_served() {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped(Q, &[("a", "a1"), ("a", "a2"), ("b", "b1"), ("c", "c1")]);
    let first = t.try_receive(Receive { max: 1, ..receive_of(Q) }).expect("receives");
    assert_eq!(bodies(&first), ["a1"]);
    t.expect(Q, &["b1", "c1"]);
    assert_eq!(t.counts(Q), (1, 3, 0));
}

#[test]
fn a_group_goes_on_behind_what_expired() {
    let mut t = TestEngine::with_fifo_queue();
    t.set(Q, tidegate_engine::AttributeChange::MessageRetentionPeriod(secs(60)));
    t.send_grouped(Q, &[("g", "m1")]);
    t.wait(secs(10));
    t.send_grouped(Q, &[("g", "m2")]);
    let got = t.try_receive(Receive { max: 1, visibility_timeout: Some(secs(600)), ..receive_of(Q) });
    let m1 = got.expect("receives").remove(0);
    let poll = t.poll(Q, secs(20));
    t.wait(secs(20));
    t.expect_answer(poll, &[]);
    t.wait(secs(30) - TICK);
    let poll = t.poll(Q, secs(1));
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    t.expect_answer(poll, &["m2"]);
    t.delete(Q, &m1).expect("what expired leaves nothing to delete");
    assert_eq!(t.change(Q, &m1, secs(5)), Err(Error::NotAvailable));
}

#[test]
fn groups_are_drained_in_the_order_of_their_first_messages() {
    let mut t = TestEngine::with_fifo_queue();
    let sent = [
        ("g1", "g1-m1"),
        ("g1", "g1-m2"),
        ("g2", "g2-m1"),
        ("g2", "g2-m2"),
        ("g1", "g1-m3"),
        ("g1", "g1-m4"),
        ("g3", "g3-m1"),
    ];
    t.send_grouped(Q, &sent);
    let got = t.try_receive(Receive { max: 2, ..receive_of(Q) }).expect("receives");
    assert_eq!(bodies(&got), ["g1-m1", "g1-m2"]);
    got.iter().for_each(|got| t.delete(Q, got).expect("deletes"));
    t.expect(Q, &["g2-m1", "g2-m2", "g1-m3", "g1-m4", "g3-m1"]);
}

#[test]
fn a_group_that_comes_back_waits_for_those_that_were_there_but_not_for_later_ones() {
    for restart in RESTARTS {
        let mut t = TestEngine::with_fifo_queue();
        t.send_grouped(Q, &[("a", "a1"), ("b", "b1"), ("c", "c1")]);
        let got = t.try_receive(Receive { max: 2, visibility_timeout: Some(secs(0)), ..receive_of(Q) });
        assert_eq!(bodies(&got.expect("receives")), ["a1", "b1"]);
        t.send_grouped(Q, &[("d", "d1")]);
        restart(&mut t);
        t.expect(Q, &["c1", "a1", "b1", "d1"]);
    }
}

#[test]
fn waiting_receives_are_served_in_turn_as_groups_come_free() {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped(Q, &[("a", "a1"), ("a", "a2"), ("b", "b1")]);
    let got = t.try_receive(Receive { max: 1, ..receive_of(Q) }).expect("receives").remove(0);
    let b1 = t.receive_one(Q);
    let polls = [t.poll(Q, secs(20)), t.poll(Q, secs(20))];
    t.send_grouped(Q, &[("a", "a3"), ("b", "b2")]);
    assert!(polls.iter().all(|poll| t.is_waiting(*poll)), "sends unlock no group");
    t.delete(Q, &got).expect("deletes");
    t.expect_answer(polls[0], &["a2", "a3"]);
    assert!(t.is_waiting(polls[1]));
    t.change(Q, &b1, secs(0)).expect("in flight");
    t.expect_answer(polls[1], &["b1", "b2"]);
}

/// Many consumers, ten groups, sends in between: whatever is in flight of a group came from one receive, and every
/// message comes once, in order.
#[test]
fn pollers_never_share_a_group() {
    let mut t = TestEngine::with_fifo_queue();
    t.thorough = false;
    let mut random = fastrand::Rng::with_seed(7);
    let groups: Vec<_> = (0..10).map(|n| format!("g{n}")).collect();
    let (mut sent, mut done) = ([0; 10], [0; 10]);
    let mut held: Vec<Vec<(usize, util::Got)>> = Vec::new();
    while done.iter().sum::<i32>() < 250 {
        if sent.iter().sum::<i32>() < 250 {
            let group = random.usize(0..10);
            t.send_grouped(Q, &[(&groups[group], &format!("{group} {}", sent[group]))]);
            sent[group] += 1;
        }
        if held.len() < 20 {
            let got = t.try_receive(Receive { max: 3, ..receive_of(Q) }).expect("receives");
            let group =
                |got: &util::Got| got.body.split_once(' ').expect("two parts").0.parse().expect("a number");
            let got: Vec<_> = got.into_iter().map(|got| (group(&got), got)).collect();
            for (group, _) in &got {
                let elsewhere = held.iter().flatten().any(|(other, _)| other == group);
                assert!(!elsewhere, "group {group} is in flight of another receive");
            }
            if !got.is_empty() {
                held.push(got);
            }
        }
        for _ in 0..random.usize(0..4) {
            if held.is_empty() {
                break;
            }
            let consumer = random.usize(0..held.len());
            let (group, got) = held[consumer].remove(0);
            assert_eq!(got.body, format!("{group} {}", done[group]), "processed in the order of sends");
            done[group] += 1;
            t.delete(Q, &got).expect("deletes");
            held.retain(|held| !held.is_empty());
        }
    }
    assert_eq!(t.counts(Q), (0, 0, 0));
}
