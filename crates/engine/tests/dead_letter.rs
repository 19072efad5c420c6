//! Messages that were received too often go to the dead-letter queue, on the receive that would exceed the limit.

mod util;

use tidegate_engine::{AttributeChange, Command, Counts, Error, QueueName, Receive, RedrivePolicy, Reply};
use util::*;

fn policy(target: &str, max_receive_count: u32) -> AttributeChange {
    AttributeChange::RedrivePolicy(Some(RedrivePolicy {
        dead_letter_target: target.address(),
        max_receive_count,
    }))
}

/// A queue `q` whose messages may be received so often, and its dead-letter queue.
fn with_limit(limit: u32) -> TestEngine {
    let mut t = TestEngine::new();
    t.create("dlq");
    t.create_with("q", &[policy("dlq", limit)]);
    t
}

#[test]
fn a_message_is_delivered_as_often_as_allowed_and_moves_on_the_next_receive() {
    for limit in [1, 3] {
        let mut t = with_limit(limit);
        let id = t.send("q", "m");
        let sent_at = t.now;
        for count in 1..=limit {
            let got = t.receive_for("q", secs(1));
            assert_eq!((bodies(&got), got[0].receive_count), (vec!["m"], count));
            t.wait(secs(1));
            // The end of the timeout alone moves nothing.
            t.wait(secs(60));
            assert_eq!(t.counts("q"), (1, 0, 0));
        }
        t.expect_nothing("q");
        assert_eq!((t.counts("q"), t.counts("dlq")), ((0, 0, 0), (1, 0, 0)));
        let dead = t.receive_one("dlq");
        assert_eq!((dead.id, dead.sent_at, dead.receive_count), (id, sent_at, limit + 1));
        assert_eq!(dead.source, Some("q".address()));
        t.delete("dlq", &dead).expect("deletes");
        assert_eq!(t.counts("dlq"), (0, 0, 0));
    }
}

#[test]
fn the_receive_that_moves_goes_on_to_what_it_may_deliver() {
    let mut t = with_limit(1);
    t.send_all("q", &["a", "b"]);
    t.receive_for("q", secs(0));
    t.send("q", "c");
    t.expect("q", &["c"]);
    assert_eq!(t.counts("dlq"), (2, 0, 0));
}

#[test]
fn a_hundred_dead_letters_before_a_live_message_take_one_receive() {
    let mut t = with_limit(1);
    for n in 0..90 {
        t.send("q", &n.to_string());
    }
    while !t.receive_for("q", secs(3_600)).is_empty() {}
    t.wait(secs(3_600));
    t.send("q", "live");
    t.expect("q", &["live"]);
    assert_eq!(t.counts("dlq"), (90, 0, 0));
}

#[test]
fn a_poll_gets_what_lies_behind_any_number_of_dead_letters() {
    let mut t = with_limit(1);
    for n in 0..350 {
        t.send("q", &n.to_string());
    }
    while !t.receive_for("q", secs(3_600)).is_empty() {}
    t.wait(secs(3_600));
    t.send("q", "live");
    let poll = t.poll("q", secs(20));
    t.wait(millis(10));
    t.expect_answer(poll, &["live"]);
    assert_eq!(t.counts("dlq"), (350, 0, 0));
}

#[test]
fn polls_that_wait_on_the_dead_letter_queue_get_it_at_once() {
    let mut t = with_limit(1);
    let poll = t.poll("dlq", secs(20));
    t.send("q", "m");
    t.receive_for("q", secs(0));
    t.expect_nothing("q");
    t.expect_answer(poll, &["m"]);
}

#[test]
fn a_poll_on_the_source_moves_what_comes_back_to_it() {
    let mut t = with_limit(1);
    t.send("q", "m");
    t.receive_for("q", secs(5));
    let poll = t.poll("q", secs(20));
    t.wait(secs(5));
    assert!(t.is_waiting(poll), "what came back was not for it");
    assert_eq!(t.counts("dlq"), (1, 0, 0));
}

#[test]
fn while_the_dead_letter_queue_is_missing_messages_stay_and_are_delivered() {
    let mut t = with_limit(1);
    t.send_all("q", &["a", "b", "c"]);
    t.delete_queue("dlq").expect("deletes");
    for count in 1..=5 {
        let got = t.receive_for("q", secs(0));
        assert_eq!((bodies(&got), got[0].receive_count), (vec!["a", "b", "c"], count));
    }
    t.wait(secs(60));
    t.create("dlq");
    t.expect_nothing("q");
    assert_eq!(t.counts("dlq"), (3, 0, 0));
}

#[test]
fn old_handles_of_a_dead_letter_have_no_effect() {
    let mut t = with_limit(1);
    t.send("q", "m");
    let old = t.receive_for("q", secs(1)).remove(0);
    t.wait(secs(1));
    t.expect_nothing("q");
    t.delete("q", &old).expect("nothing to delete is no error");
    assert_eq!(t.change("q", &old, secs(5)), Err(Error::NotAvailable));
    assert_eq!(t.delete("dlq", &old), Err(Error::ReceiptOfOtherQueue));
    assert_eq!(t.counts("dlq"), (1, 0, 0));
}

#[test]
fn retention_counts_from_the_original_send() {
    let mut t = with_limit(1);
    t.set("q", AttributeChange::MessageRetentionPeriod(secs(1_000)));
    t.set("dlq", AttributeChange::MessageRetentionPeriod(secs(2_000)));
    t.send("q", "m");
    t.receive_for("q", secs(900));
    t.wait(secs(900));
    t.expect_nothing("q");
    t.wait(secs(1_100) - TICK);
    assert_eq!(t.counts("dlq"), (1, 0, 0));
    t.wait(TICK);
    assert_eq!(t.counts("dlq"), (0, 0, 0));
}

#[test]
fn a_chain_of_dead_letter_queues_passes_on_and_names_the_last_source() {
    let mut t = TestEngine::new();
    t.create("last");
    t.create_with("middle", &[policy("last", 2)]);
    t.create_with("first", &[policy("middle", 1)]);
    t.send("first", "m");
    t.receive_for("first", secs(0));
    t.expect_nothing("first");
    let got = t.receive_for("middle", secs(0)).remove(0);
    assert_eq!((got.receive_count, got.source), (2, Some("first".address())));
    t.expect_nothing("middle");
    let dead = t.receive_one("last");
    assert_eq!((dead.receive_count, dead.source), (3, Some("middle".address())));
}

#[test]
fn a_queue_may_name_itself_and_two_may_name_each_other() {
    let mut t = TestEngine::with_queue();
    t.set("q", policy("q", 1));
    t.send("q", "m");
    for count in 1..=3 {
        let got = t.receive_for("q", secs(0));
        assert_eq!(got[0].receive_count, count, "a queue that names itself keeps its messages");
    }
    t.create("a");
    t.create_with("b", &[policy("a", 1)]);
    t.set("a", policy("b", 1));
    t.send("a", "m");
    t.receive_for("a", secs(0));
    let polls = [t.poll("a", secs(20)), t.poll("b", secs(20))];
    assert!(polls.into_iter().all(|poll| t.is_waiting(poll)), "neither delivers it");
    let count = |counts: (u64, u64, u64)| counts.0;
    assert_eq!(count(t.counts("a")) + count(t.counts("b")), 1, "and neither loses it");
}

#[test]
fn what_is_passed_back_hides_nothing_from_a_poll() {
    let mut t = TestEngine::new();
    t.create("a");
    t.create_with("b", &[policy("a", 1)]);
    t.set("a", policy("b", 2));
    let poll_of = |queue: &str, wait| Receive { max: 1, wait: Some(secs(wait)), ..receive_of(queue) };
    t.send_all("b", &["worn", "fresh"]);
    let receive_for_none = |queue| Receive { visibility_timeout: Some(secs(0)), ..poll_of(queue, 0) };
    // Both have been received too often for `b`, one of them too often for `a` as well.
    t.try_receive(receive_for_none("b")).expect("receives");
    t.try_receive(receive_for_none("b")).expect("receives, and moves the other");
    t.try_receive(receive_for_none("a")).expect("receives");
    let poll = t.poll_with(poll_of("a", 20));
    assert_eq!((t.counts("a"), t.counts("b")), ((0, 0, 0), (2, 0, 0)));
    t.expect_nothing("b");
    t.expect_answer(poll, &["fresh"]);
}

#[test]
fn a_poll_gets_what_no_dead_letter_queue_will_take_any_more() {
    let mut t = TestEngine::new();
    t.create("a");
    t.create_with("b", &[policy("a", 1)]);
    t.set("a", policy("b", 1));
    let polls = [t.poll("a", secs(20)), t.poll_with(Receive { wait: Some(secs(20)), ..receive_of("b") })];
    t.send("a", "m");
    let got = t.answer(polls[0]).expect("no error").remove(0);
    let poll = t.poll("a", secs(20));
    t.change("a", &got, secs(0)).expect("returns");
    assert_eq!((t.counts("a"), t.counts("b")), ((0, 0, 0), (1, 0, 0)));
    assert!(t.is_waiting(polls[1]), "it came from where it would go");
    t.delete_queue("a").expect("deletes");
    assert_eq!(t.answer(poll), Err(Error::QueueMissing));
    t.expect_answer(polls[1], &["m"]);
}

#[test]
fn a_dead_letter_moves_in_the_log_wherever_it_went() {
    let mut t = TestEngine::new();
    t.create("last");
    t.create_with("middle", &[policy("last", 2)]);
    t.create_with("first", &[policy("middle", 1)]);
    t.send("first", "m");
    t.receive_for("first", secs(0));
    t.expect_nothing("first");
    for queue in ["middle", "last"] {
        let old = t.live_positions();
        assert_eq!(t.relocate(&old), 1, "in {queue}");
        assert_eq!(t.relocate(&old), 0, "it is elsewhere now");
        let got = t.receive_for(queue, secs(0)).remove(0);
        assert_eq!(got.body, "m");
        t.expect_nothing("middle");
    }
}

#[test]
fn dead_letters_survive_restarts_with_all_that_is_known_of_them() {
    for restart in RESTARTS {
        let mut t = with_limit(1);
        t.send("q", "m");
        t.receive_for("q", secs(0));
        t.expect_nothing("q");
        let dead = t.receive_for("dlq", secs(0)).remove(0);
        restart(&mut t);
        let again = t.receive_for("dlq", secs(0)).remove(0);
        assert_eq!((again.source, again.receive_count), (dead.source, 3));
        let old = t.live_positions();
        assert_eq!(t.relocate(&old), 1, "found in the queue it is in");
    }
}

#[test]
fn sources_are_listed_by_name_in_pages() {
    let mut t = TestEngine::new();
    t.create("dlq");
    for name in ["c", "a", "b", "e"] {
        t.create_with(name, &[policy("dlq", 1)]);
    }
    t.create("d");
    let mut list = |after: Option<&str>, max| {
        let after = after.map(name_of);
        match t.call(Command::ListSources { queue: "dlq".address(), after, max }) {
            Ok(Reply::Queues { names, more }) => (names, more),
            other => panic!("{other:?}"),
        }
    };
    let names = |names: &[&str]| names.iter().map(|name| name_of(name)).collect::<Vec<QueueName>>();
    assert_eq!(list(None, 1_000), (names(&["a", "b", "c", "e"]), false));
    assert_eq!(list(None, 2), (names(&["a", "b"]), true));
    assert_eq!(list(Some("b"), 2), (names(&["c", "e"]), false));
    t.set("a", AttributeChange::RedrivePolicy(None));
    assert_eq!(t.view("dlq").counts, Counts::default());
    let missing = Command::ListSources { queue: "none".address(), after: None, max: 1 };
    assert_eq!(t.call(missing).err(), Some(Error::QueueMissing));
}
