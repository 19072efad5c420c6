//! Receives that wait: what wakes them, whom a message goes to, and how they end.

mod util;

use std::time::Duration;
use tidegate_engine::{AttributeChange, Command, Config, Error, Receive, Reply};
use util::*;

#[test]
fn a_send_wakes_a_poll_at_once() {
    let mut t = TestEngine::with_queue();
    let poll = t.poll("q", secs(20));
    t.wait(secs(7));
    assert!(t.is_waiting(poll));
    t.send("q", "a");
    t.expect_answer(poll, &["a"]);
    assert_eq!(t.counts("q"), (0, 1, 0));
}

#[test]
fn the_end_of_a_delay_wakes_a_poll() {
    let mut t = TestEngine::with_queue();
    let poll = t.poll("q", secs(10));
    t.send_delayed("q", "a", secs(2));
    t.wait(secs(2) - TICK);
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    t.expect_answer(poll, &["a"]);
}

#[test]
fn the_end_of_a_visibility_timeout_wakes_a_poll() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    t.receive_for("q", secs(2));
    let poll = t.poll("q", secs(10));
    t.wait(secs(2) - TICK);
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    t.expect_answer(poll, &["a"]);
}

#[test]
fn a_shortened_visibility_timeout_wakes_a_poll_at_its_new_end() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_for("q", secs(60)).remove(0);
    let poll = t.poll("q", secs(20));
    t.wait(secs(1));
    t.change("q", &got, secs(3)).expect("changes");
    t.wait(secs(3) - TICK);
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    t.expect_answer(poll, &["a"]);
}

#[test]
fn a_terminated_visibility_timeout_wakes_a_poll_at_once() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    let poll = t.poll("q", secs(10));
    t.wait(secs(1));
    t.change("q", &got, secs(0)).expect("changes");
    t.expect_answer(poll, &["a"]);
    assert_eq!(t.answer(poll).expect("received")[0].receive_count, 2);
}

#[test]
fn a_poll_that_finds_nothing_ends_empty_at_its_deadline() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    t.receive_one("q");
    let poll = t.poll("q", secs(1));
    assert_eq!(t.live.engine.poll_timeout(), Some(t.now + secs(1)));
    t.wait(secs(1) - TICK);
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    t.expect_answer(poll, &[]);
}

#[test]
fn a_message_that_comes_at_the_very_deadline_is_received() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "a", secs(5));
    let poll = t.poll("q", secs(5));
    t.wait(secs(5));
    t.expect_answer(poll, &["a"]);
}

#[test]
fn the_first_to_wait_is_the_first_served() {
    let mut t = TestEngine::with_queue();
    // Deadlines in another order than arrivals.
    let waits = [20, 5, 12, 7];
    let polls = waits.map(|wait| t.poll_with(Receive { max: 1, wait: Some(secs(wait)), ..receive_of("q") }));
    for (n, poll) in polls.into_iter().enumerate() {
        let body = n.to_string();
        t.send("q", &body);
        t.expect_answer(poll, &[&body]);
        assert!(polls[n + 1..].iter().all(|later| t.is_waiting(*later)));
    }
}

#[test]
fn one_message_goes_to_exactly_one_of_three_polls() {
    let mut t = TestEngine::with_queue();
    let polls = [(); 3].map(|()| t.poll("q", secs(20)));
    t.send("q", "a");
    t.expect_answer(polls[0], &["a"]);
    t.wait(secs(20));
    t.expect_answer(polls[1], &[]);
    t.expect_answer(polls[2], &[]);
    assert_eq!(t.counts("q"), (0, 1, 0));
}

#[test]
fn a_batch_is_shared_by_the_polls_in_their_order_and_sizes() {
    let mut t = TestEngine::with_queue();
    let polls = [2, 1, 10].map(|max| t.poll_with(Receive { max, wait: Some(secs(20)), ..receive_of("q") }));
    t.send_all("q", &["a", "b", "c", "d", "e"]);
    t.expect_answer(polls[0], &["a", "b"]);
    t.expect_answer(polls[1], &["c"]);
    t.expect_answer(polls[2], &["d", "e"]);
}

#[test]
fn a_poll_never_waits_to_fill_its_batch() {
    let mut t = TestEngine::with_queue();
    t.send("q", "alone");
    let poll = t.poll("q", secs(20));
    t.expect_answer(poll, &["alone"]);
    t.send_all("q", &["a", "b"]);
    let poll = t.poll("q", secs(20));
    t.expect_answer(poll, &["a", "b"]);
    let poll = t.poll("q", secs(20));
    t.send("q", "c");
    t.expect_answer(poll, &["c"]);
}

#[test]
fn the_wait_is_the_requests_own_else_the_queues() {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::ReceiveMessageWaitTimeSeconds(secs(2))]);
    let unset = Receive { wait: None, ..receive_of("q") };
    let poll = t.poll_with(unset.clone());
    t.wait(secs(2) - TICK);
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    t.expect_answer(poll, &[]);

    assert_eq!(t.try_receive(Receive { wait: Some(Duration::ZERO), ..unset.clone() }), Ok(vec![]));

    let longer = t.poll_with(Receive { wait: Some(secs(9)), ..unset.clone() });
    t.wait(secs(9) - TICK);
    assert!(t.is_waiting(longer));
    t.wait(TICK);
    t.expect_answer(longer, &[]);

    t.set("q", AttributeChange::ReceiveMessageWaitTimeSeconds(secs(0)));
    assert_eq!(t.try_receive(unset), Ok(vec![]));
}

#[test]
fn a_cancelled_poll_swallows_no_message() {
    let mut t = TestEngine::with_queue();
    let gone = t.poll("q", secs(20));
    let stays = t.poll("q", secs(20));
    t.cancel(gone);
    t.send("q", "a");
    t.expect_answer(stays, &["a"]);
    t.cancel(gone); // Twice is no mistake, nor is cancelling what was answered.
    t.live.engine.cancel(stays.0);
    t.wait(secs(20));

    let last = t.poll("q", secs(20));
    t.cancel(last);
    t.send("q", "b");
    assert_eq!(t.counts("q"), (1, 1, 0));
    assert_eq!((t.live.engine.parked_count(), t.log.open.len()), (0, 0));
}

/// Tests that re-create queues run without the cool-down.
fn without_cooldown() -> TestEngine {
    let mut t = TestEngine::with_config(Config { cooldown: Duration::ZERO, ..Config::default() });
    t.create("q");
    t
}

#[test]
fn deleting_the_queue_ends_its_polls_and_a_new_queue_does_not_serve_them() {
    let mut t = without_cooldown();
    t.create("other");
    let polls = [(); 2].map(|()| t.poll("q", secs(20)));
    let elsewhere = t.poll("other", secs(20));
    t.delete_queue("q").expect("deletes");
    for poll in polls {
        assert_eq!(t.answer(poll), Err(Error::QueueMissing));
    }
    assert!(t.is_waiting(elsewhere));
    t.create("q");
    t.send("q", "fresh");
    let got = t.receive_one("q");
    assert_eq!((got.body.as_str(), got.receive_count), ("fresh", 1));
    t.wait(secs(20));
    t.expect_answer(elsewhere, &[]);
}

#[test]
fn polls_of_a_deleted_queue_leave_no_deadline_behind() {
    let mut t = without_cooldown();
    t.poll("q", secs(20));
    t.delete_queue("q").expect("deletes");
    assert_eq!(t.live.engine.poll_timeout(), None);
}

#[test]
fn a_purge_leaves_polls_alive() {
    let mut t = TestEngine::with_queue();
    t.send("q", "old");
    t.receive_one("q");
    t.send_delayed("q", "late", secs(3));
    let poll = t.poll("q", secs(20));
    t.purge("q").expect("purges");
    t.wait(secs(10));
    assert!(t.is_waiting(poll));
    t.send("q", "next");
    t.expect_answer(poll, &["next"]);
}

#[test]
fn a_poll_takes_the_queues_visibility_timeout_or_its_own() {
    let mut t = TestEngine::with_queue();
    let own = Receive { max: 1, visibility_timeout: Some(secs(3)), wait: Some(secs(20)), ..receive_of("q") };
    let own = t.poll_with(own);
    let queues = t.poll("q", secs(20));
    t.wait(secs(5));
    t.send_all("q", &["a", "b"]);
    t.expect_answer(own, &["a"]);
    t.expect_answer(queues, &["b"]);
    t.wait(secs(3));
    assert_eq!(bodies(&t.receive_for("q", hours(1))), ["a"]);
    t.wait(secs(27) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    t.expect("q", &["b"]);
}

#[test]
fn polls_with_a_timeout_of_zero_may_all_get_the_message() {
    let mut t = TestEngine::with_queue();
    let receive = Receive { visibility_timeout: Some(secs(0)), wait: Some(secs(20)), ..receive_of("q") };
    let polls = [(); 3].map(|()| t.poll_with(receive.clone()));
    t.send("q", "a");
    for (n, poll) in polls.into_iter().enumerate() {
        t.expect_answer(poll, &["a"]);
        assert_eq!(t.answer(poll).expect("received")[0].receive_count as usize, n + 1);
    }
    assert_eq!(t.counts("q"), (1, 0, 0));
}

#[test]
fn a_receive_that_comes_late_does_not_overtake_one_that_waits() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "a", secs(2));
    let waiting = t.poll("q", secs(20));
    // The message is due, and a new receive arrives before anybody looked after deadlines.
    t.jump(secs(2));
    t.expect_nothing("q");
    t.expect_answer(waiting, &["a"]);
}

#[test]
fn a_send_after_the_deadline_does_not_go_to_the_poll_that_ended() {
    let mut t = TestEngine::with_queue();
    let ended = t.poll("q", secs(2));
    t.jump(secs(3));
    t.send("q", "a");
    t.expect_answer(ended, &[]);
    assert_eq!(t.counts("q"), (1, 0, 0));
}

#[test]
fn a_new_poll_serves_nobody_elses_queue() {
    let mut t = TestEngine::with_queue();
    t.create("other");
    let poll = t.poll("other", secs(20));
    t.send("q", "a");
    assert!(t.is_waiting(poll));
    t.expect("q", &["a"]);
}

#[test]
fn a_shutdown_ends_every_wait_with_an_empty_answer() {
    let mut t = TestEngine::with_queue();
    t.create("other");
    let polls = [t.poll("q", secs(20)), t.poll("other", secs(3)), t.poll("q", secs(1))];
    t.release_waiting();
    polls.iter().for_each(|poll| t.expect_answer(*poll, &[]));
    assert_eq!((t.live.engine.parked_count(), t.live.engine.poll_timeout()), (0, None));
    t.send("q", "a");
    assert_eq!(t.counts("q"), (1, 0, 0));
}

#[test]
fn a_poll_on_a_missing_queue_is_refused() {
    let mut t = TestEngine::new();
    let receive = Receive { wait: Some(secs(20)), ..receive_of("q") };
    assert_eq!(t.try_receive(receive), Err(Error::QueueMissing));
}

#[test]
fn a_send_is_answered_before_the_polls_that_it_wakes() {
    // A sender that is also the receiver sees its own send first.
    let mut t = TestEngine::with_queue();
    let poll = t.poll("q", secs(20));
    let send = Command::Send {
        queue: "q".address(),
        entries: vec![tidegate_engine::SendEntry {
            message: message(77, "a"),
            delay: None,
            content_based: false,
        }],
    };
    assert!(matches!(t.call(send), Ok(Reply::Sent(_))));
    t.expect_answer(poll, &["a"]);
}
