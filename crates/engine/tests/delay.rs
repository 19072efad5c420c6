//! Messages that become visible some time after they were sent.

mod util;

use tidegate_engine::AttributeChange;
use util::*;

#[test]
fn a_delayed_message_is_counted_apart_and_hidden_until_its_delay_ends() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "a", secs(900));
    assert_eq!(t.counts("q"), (0, 0, 1));
    t.wait(secs(900) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.expect("q", &["a"]);
}

#[test]
fn a_delay_ends_also_when_nobody_watched_the_clock() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "a", secs(5));
    t.jump(secs(5) - TICK);
    assert_eq!(t.counts("q"), (0, 0, 1));
    t.jump(TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.expect("q", &["a"]);
}

#[test]
fn the_delay_is_the_messages_own_else_the_queues() {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::DelaySeconds(secs(10))]);
    t.send("q", "queue");
    t.send_delayed("q", "own", secs(4));
    t.send_delayed("q", "none", secs(0));
    assert_eq!(t.counts("q"), (1, 0, 2));
    t.expect("q", &["none"]);
    t.wait(secs(4) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    t.expect("q", &["own"]);
    t.wait(secs(6) - TICK);
    t.expect_nothing("q");
    t.wait(TICK);
    t.expect("q", &["queue"]);
}

#[test]
fn a_new_queue_delay_is_for_later_messages_only() {
    let mut t = TestEngine::with_queue();
    t.send("q", "before");
    t.set("q", AttributeChange::DelaySeconds(secs(10)));
    t.send("q", "during");
    t.set("q", AttributeChange::DelaySeconds(secs(0)));
    t.send("q", "after");
    t.expect("q", &["before", "after"]);
    t.wait(secs(10));
    t.expect("q", &["during"]);
}

#[test]
fn delays_of_one_batch_end_each_at_its_own_time() {
    let mut t = TestEngine::with_queue();
    let entries = [3, 1, 0, 2].map(|n| (n.to_string(), Some(secs(n)))).to_vec();
    t.try_send("q", entries).expect("sends");
    for n in ["0", "1", "2", "3"] {
        assert_eq!(bodies(&t.receive_for("q", hours(1))), [n]);
        t.wait(secs(1));
    }
}

#[test]
fn a_received_message_is_no_delayed_one_when_it_is_hidden_again() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "a", secs(2));
    t.wait(secs(2));
    let got = t.receive_one("q");
    assert_eq!((t.counts("q"), got.receive_count), ((0, 1, 0), 1));
    assert_eq!(got.first_received_at, t.now);
}

#[test]
fn a_purge_takes_delayed_messages_too() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "a", secs(2));
    t.purge("q").expect("purges");
    assert_eq!(t.counts("q"), (0, 0, 0));
    t.wait(secs(5));
    t.expect_nothing("q");
}

#[test]
fn a_restart_loses_no_delayed_message() {
    for restart in RESTARTS {
        let mut t = TestEngine::with_queue();
        t.send_delayed("q", "late", secs(20));
        t.send_delayed("q", "soon", secs(5));
        restart(&mut t);
        assert_eq!(t.counts("q"), (0, 0, 2));
        let poll = t.poll("q", secs(10));
        t.wait(secs(5));
        t.expect_answer(poll, &["soon"]);
        t.wait(secs(15));
        t.expect("q", &["late"]);
    }
}

#[test]
fn delays_that_ended_during_the_restart_show_afterwards() {
    let mut t = TestEngine::with_queue();
    t.send_delayed("q", "a", secs(5));
    t.jump(secs(60));
    t.restart_from_events();
    t.expect("q", &["a"]);
}
