//! Order of receives: best effort on a standard queue, and here always by age.

mod util;

use tidegate_engine::{AttributeChange, Receive};
use util::*;

#[test]
fn messages_come_in_the_order_they_were_sent() {
    let mut t = TestEngine::with_queue();
    t.thorough = false;
    // Deep enough for several sealed chunks of the backlog.
    let mut next_sent = 0;
    let mut next_received = 0;
    let mut send = |t: &mut TestEngine, batches: usize| {
        for _ in 0..batches {
            let bodies: Vec<_> = (next_sent..next_sent + 10).map(|n| n.to_string()).collect();
            t.send_all("q", &bodies.iter().map(String::as_str).collect::<Vec<_>>());
            next_sent += 10;
        }
    };
    send(&mut t, 90);
    for max in [1, 10, 7, 3].into_iter().cycle().take(200) {
        let got = t.try_receive(Receive { max, ..receive_of("q") }).expect("receives");
        for message in &got {
            assert_eq!(message.body, next_received.to_string());
            next_received += 1;
            t.delete("q", message).expect("deletes");
        }
        if next_received % 50 < 10 {
            send(&mut t, 2);
        }
        if next_received % 300 < 10 {
            t.restart_from_snapshot();
        }
    }
    t.check_followers();
    assert!(next_received > 900, "{next_received}");
}

#[test]
fn a_returned_message_comes_before_younger_ones() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["a", "b", "c", "d", "e"]);
    let got = t.try_receive(Receive { max: 3, ..receive_of("q") }).expect("receives");
    t.change("q", &got[1], secs(0)).expect("changes");
    t.expect("q", &["b", "d", "e"]);
}

#[test]
fn returned_messages_merge_by_age_whatever_the_order_of_their_return() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["a", "b", "c", "d", "e", "f"]);
    let got = t.try_receive(Receive { max: 5, ..receive_of("q") }).expect("receives");
    for n in [4, 0, 2] {
        t.change("q", &got[n], secs(0)).expect("changes");
        t.wait(secs(1));
    }
    assert_eq!(bodies(&t.receive_for("q", hours(1))), ["a", "c", "e", "f"]);
    t.wait(secs(30));
    t.expect("q", &["b", "d"]);
}

#[test]
fn messages_whose_delay_ended_take_their_place_by_age() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "1", secs(4));
    t.send("q", "2");
    t.send_delayed("q", "3", secs(2));
    t.send("q", "4");
    t.send_delayed("q", "5", secs(3));
    t.wait(secs(4));
    t.send("q", "6");
    t.expect("q", &["1", "2", "3", "4", "5", "6"]);
    t.wait(secs(30));
    t.expect("q", &["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn a_jump_over_many_deadlines_ends_as_meeting_each_of_them() {
    let build = || {
        let mut t = TestEngine::new();
        t.create_with("q", &[AttributeChange::MessageRetentionPeriod(secs(60))]);
        for n in 0..30_u64 {
            t.send_delayed("q", &n.to_string(), secs(n * 7 % 11));
            t.wait(millis(500));
            t.receive_for("q", secs(n % 5)).truncate(1);
        }
        t
    };
    for passed in [0, 1, 7, 30, 45, 50, 59, 61, 75] {
        let (mut punctual, mut late) = (build(), build());
        punctual.wait(secs(passed));
        late.jump(secs(passed));
        late.meet_deadlines();
        assert_eq!(punctual.counts("q"), late.counts("q"), "after {passed} s");
        for _ in 0..4 {
            assert_eq!(
                punctual.receive_for("q", hours(1)),
                late.receive_for("q", hours(1)),
                "after {passed} s"
            );
        }
    }
}
