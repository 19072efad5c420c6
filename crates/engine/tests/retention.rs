//! Messages end with their retention period, in whatever state they are.

mod util;

use tidegate_engine::{AttributeChange, Error};
use util::*;

const PERIOD: std::time::Duration = secs(60);

fn short_lived() -> TestEngine {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::MessageRetentionPeriod(PERIOD)]);
    t
}

#[test]
fn a_visible_message_goes_exactly_at_the_end_of_its_period() {
    let mut t = short_lived();
    t.send("q", "a");
    t.wait(PERIOD - TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.wait(TICK);
    assert_eq!(t.counts("q"), (0, 0, 0));
    t.expect_nothing("q");
    assert!(t.live_positions().is_empty());
}

#[test]
fn a_message_can_be_received_until_the_last_moment() {
    let mut t = short_lived();
    t.send("q", "a");
    t.jump(PERIOD - TICK);
    t.expect("q", &["a"]);
    t.jump(TICK);
    assert_eq!(t.counts("q"), (0, 0, 0));
}

#[test]
fn the_default_period_is_four_days() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    t.wait(hours(96) - TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.wait(TICK);
    assert_eq!(t.counts("q"), (0, 0, 0));
}

#[test]
fn a_message_in_flight_goes_too_and_its_receipt_deletes_without_error() {
    let mut t = short_lived();
    t.send("q", "a");
    let got = t.receive_for("q", secs(600)).remove(0);
    t.wait(PERIOD - TICK);
    assert_eq!(t.counts("q"), (0, 1, 0));
    t.wait(TICK);
    assert_eq!(t.counts("q"), (0, 0, 0));
    assert_eq!(t.delete("q", &got), Ok(()));
    assert_eq!(t.change("q", &got, secs(1)), Err(Error::NotAvailable));
    t.wait(secs(600));
    t.expect_nothing("q");
}

#[test]
fn receiving_again_and_again_does_not_lengthen_a_life() {
    let mut t = short_lived();
    t.send("q", "a");
    for _ in 0..6 {
        t.wait(secs(9));
        let got = t.receive_for("q", secs(1));
        assert_eq!(bodies(&got), ["a"]);
    }
    t.wait(secs(6) - TICK);
    assert_eq!(t.counts("q"), (1, 0, 0), "back after a timeout");
    t.wait(TICK);
    assert_eq!(t.counts("q"), (0, 0, 0));
}

#[test]
fn a_period_runs_from_the_send_not_from_the_end_of_the_delay() {
    let mut t = short_lived();
    t.send_delayed("q", "a", secs(40));
    t.wait(secs(40));
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.wait(secs(20) - TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.wait(TICK);
    assert_eq!(t.counts("q"), (0, 0, 0));
}

#[test]
fn only_the_old_ones_go() {
    let mut t = short_lived();
    for n in 0..6 {
        t.send("q", &n.to_string());
        t.wait(secs(10));
    }
    for left in (0..6).rev() {
        assert_eq!(t.counts("q"), (left, 0, 0));
        t.wait(secs(10));
    }
}

#[test]
fn a_lowered_period_is_for_existing_messages_too() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["a", "b"]);
    t.receive_for("q", hours(2));
    t.send("q", "c");
    t.wait(secs(30));
    t.send("q", "young");
    t.wait(secs(30));
    t.set("q", AttributeChange::MessageRetentionPeriod(PERIOD));
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.wait(secs(30) - TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.wait(TICK);
    assert_eq!(t.counts("q"), (0, 0, 0));
}

#[test]
fn a_lowered_period_is_met_by_the_timer_of_a_quiet_queue() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    t.set("q", AttributeChange::MessageRetentionPeriod(PERIOD));
    assert_eq!(t.live.engine.poll_timeout(), Some(START + PERIOD));
    t.wait(PERIOD);
    assert!(t.live_positions().is_empty(), "released without anybody asking");
}

#[test]
fn a_raised_period_keeps_what_is_still_there_and_brings_nothing_back() {
    let mut t = short_lived();
    t.send("q", "gone");
    t.wait(secs(1));
    t.send("q", "kept");
    t.jump(PERIOD - secs(1));
    t.set("q", AttributeChange::MessageRetentionPeriod(secs(3600)));
    t.wait(secs(3599) - PERIOD);
    t.expect("q", &["kept"]);
}

#[test]
fn the_oldest_age_of_the_gauges_is_that_of_the_oldest_message() {
    let mut t = short_lived();
    t.create("empty");
    t.send("q", "a");
    t.wait(secs(10));
    t.send("q", "b");
    t.receive_for("q", secs(5));
    let now = t.now;
    let gauges = t.live.engine.gauges(now);
    assert_eq!(gauges[0].oldest_age, None);
    assert_eq!((gauges[1].oldest_age, gauges[1].counts.in_flight), (Some(secs(10)), 2));
    t.wait(secs(50));
    let now = t.now;
    assert_eq!(t.live.engine.gauges(now)[1].oldest_age, Some(secs(50)));
}

#[test]
fn expired_messages_leave_room_in_flight_and_wake_who_waits() {
    let mut t = TestEngine::with_config(tidegate_engine::Config { in_flight_max: 1, ..Default::default() });
    t.create_with("q", &[AttributeChange::MessageRetentionPeriod(PERIOD)]);
    t.send("q", "a");
    t.wait(secs(50));
    t.send("q", "b");
    assert_eq!(bodies(&t.receive_for("q", hours(1))), ["a"]);
    let poll = t.poll("q", secs(20));
    t.wait(secs(10) - TICK);
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    t.expect_answer(poll, &["b"]);
}

#[test]
fn what_expired_during_a_restart_does_not_come_back() {
    for restart in RESTARTS {
        let mut t = short_lived();
        t.send_all("q", &["a", "b"]);
        t.receive_for("q", secs(59)).truncate(1);
        t.send("q", "c");
        t.jump(PERIOD);
        restart(&mut t);
        t.meet_deadlines();
        assert_eq!(t.counts("q"), (0, 0, 0));
        assert!(t.live_positions().is_empty());
    }
}

#[test]
fn a_delayed_message_goes_before_its_delay_ends() {
    let mut t = short_lived();
    t.send_delayed("q", "late", secs(900));
    t.send_delayed("q", "soon", secs(30));
    t.wait(PERIOD - TICK);
    assert_eq!(t.counts("q"), (1, 0, 1));
    t.wait(TICK);
    assert_eq!(t.counts("q"), (0, 0, 0));
    assert!(t.live_positions().is_empty(), "released at its time");
    t.wait(secs(900));
    t.expect_nothing("q");
}
