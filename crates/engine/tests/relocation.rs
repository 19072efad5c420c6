//! Records of surviving messages are written anew, so that old log segments can be reused.

mod util;

use tidegate_engine::{AttributeChange, Command, Position};
use util::*;

/// A queue with messages in every state; the tested message, `m`, is in the one named by the function.
fn visible() -> TestEngine {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["before", "m", "after"]);
    t
}

fn in_flight() -> TestEngine {
    let mut t = visible();
    t.receive_for("q", secs(10));
    t.send("q", "visible");
    t
}

fn returned() -> TestEngine {
    let mut t = visible();
    t.receive_for("q", secs(10));
    t.wait(secs(10));
    t
}

fn late_after_a_delay() -> TestEngine {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "m", secs(10));
    t.send("q", "after");
    t.wait(secs(10));
    t
}

fn position_of(t: &TestEngine, body: &str) -> Position {
    let is_body = |position: &Position| {
        let stored = t.log.record(*position).stored().expect("a message record");
        stored.message.body == body.as_bytes()
    };
    t.live_positions().into_iter().find(is_body).expect("the message is live")
}

#[test]
fn a_message_moves_in_every_state_and_is_otherwise_the_same() {
    type Build = fn() -> TestEngine;
    let states: [(&str, Build); 4] = [
        ("visible", visible),
        ("in flight", in_flight),
        ("returned", returned),
        ("late after a delay", late_after_a_delay),
    ];
    for (state, build) in states {
        let (mut stayed, mut moved) = (build(), build());
        let old = position_of(&moved, "m");
        let counts = moved.counts("q");
        assert_eq!(moved.relocate(&[old]), 1, "{state}");
        let new = position_of(&moved, "m");
        assert_ne!(old, new, "{state}");
        assert!(!moved.live_positions().contains(&old), "{state}: the old record is released");
        assert_eq!(moved.counts("q"), counts, "{state}");
        // It is received as if nothing had happened, from its new place.
        for t in [&mut stayed, &mut moved] {
            t.wait(secs(10));
        }
        let (expected, mut got) = (stayed.receive("q"), moved.receive("q"));
        let found = got.iter_mut().find(|got| got.body == "m").expect("m is received");
        assert_eq!(found.position, new, "{state}");
        found.position = old;
        assert_eq!(got, expected, "{state}");
    }
}

#[test]
fn a_record_moves_again_and_again() {
    let mut t = visible();
    for _ in 0..5 {
        let all = t.live_positions();
        assert_eq!(t.relocate(&all), 3);
        assert!(t.live_positions().iter().all(|position| !all.contains(position)));
    }
    t.expect("q", &["before", "m", "after"]);
}

#[test]
fn a_delayed_message_moves_and_keeps_its_delay() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "m", secs(10));
    let old = position_of(&t, "m");
    assert_eq!(t.relocate(&[old]), 1);
    let new = position_of(&t, "m");
    assert_ne!(old, new);
    t.expect("q", &[]);
    // The delay may end with the relocation itself as the first to notice.
    t.jump(secs(10));
    assert_eq!(t.relocate(&[new]), 1);
    t.expect("q", &["m"]);
}

#[test]
fn stale_candidates_are_skipped() {
    let mut t = in_flight();
    let old = t.live_positions();
    let m = position_of(&t, "m");
    let candidates = t.candidates(&old);
    assert_eq!(t.relocate(&[m]), 1);
    // `m` has moved since the candidates were read; one of the others was deleted.
    t.wait(secs(10));
    let got = t.receive("q");
    t.delete("q", &got[0]).expect("deletes");
    let before = t.log.records.len();
    t.call(Command::Relocate { messages: candidates.clone() }).expect("relocates");
    assert_eq!(t.log.records.len() - before, 2, "`after` and `visible`");
    t.purge("q").expect("purges");
    assert_eq!(t.relocate(&old), 0);
    t.delete_queue("q").expect("deletes");
    let reply = t.call(Command::Relocate { messages: candidates });
    assert!(reply.is_ok(), "candidates of a queue that is gone are no error: {reply:?}");
}

#[test]
fn one_candidate_twice_moves_once() {
    let mut t = visible();
    let m = position_of(&t, "m");
    assert_eq!(t.relocate(&[m, m]), 1);
}

#[test]
fn an_expired_message_does_not_move() {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::MessageRetentionPeriod(secs(60))]);
    t.send("q", "m");
    let m = position_of(&t, "m");
    t.jump(secs(60) - TICK);
    assert_eq!(t.relocate(&[m]), 1);
    let m = position_of(&t, "m");
    t.jump(TICK);
    assert_eq!(t.relocate(&[m]), 0, "the period runs from the send, not from the move");
}

#[test]
fn receipts_outlive_the_move() {
    let mut t = visible();
    let got = t.receive("q");
    let all = t.live_positions();
    t.relocate(&all);
    assert_eq!(t.change("q", &got[0], secs(50)), Ok(()));
    assert_eq!(t.delete("q", &got[1]), Ok(()));
    assert_eq!(t.counts("q"), (0, 2, 0));
    t.restart_from_events();
    assert_eq!(t.delete("q", &got[0]), Ok(()));
    assert_eq!(t.counts("q"), (0, 1, 0));
}

#[test]
fn candidates_in_a_deep_backlog_move_wherever_they_are() {
    let mut t = TestEngine::with_queue();
    t.thorough = false;
    for batch in 0..80 {
        let bodies: Vec<_> = (0..10).map(|n| (batch * 10 + n).to_string()).collect();
        t.send_all("q", &bodies.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let all = t.live_positions();
    let some: Vec<_> = all.iter().copied().filter(|at| at.0 % 5 == 0).collect();
    assert_eq!(t.relocate(&some), some.len());
    t.restart_from_snapshot();
    assert_eq!(t.relocate(&all), all.len() - some.len());
    t.thorough = true;
    t.check();
    t.thorough = false;
    for batch in 0..80 {
        let expected: Vec<_> = (0..10).map(|n| (batch * 10 + n).to_string()).collect();
        assert_eq!(bodies(&t.receive("q")), expected);
    }
}

#[test]
fn a_relocation_that_finds_a_delay_over_leaves_the_polls_to_the_timer() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "m", secs(2));
    let poll = t.poll("q", secs(20));
    let m = position_of(&t, "m");
    t.jump(secs(2));
    t.relocate(&[m]);
    t.meet_deadlines();
    t.expect_answer(poll, &["m"]);
}
