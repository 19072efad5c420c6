//! Each checker is shown a history in which its promise is broken, and says so.

mod history;

use history::*;
use std::time::Duration;
use tidegate_engine::{AttributeChange, Command, PeekedState, RedrivePolicy};

#[test]
fn a_history_without_fault_breaks_no_promise() {
    let mut h = History::new();
    let [a, b] = [h.send("jobs", "a"), h.send("jobs", "b")];
    h.look(&[("jobs", &[a, b])]);
    let got = h.receive("jobs", &[(a, 1)]);
    h.delete("jobs", &got);
    h.look(&[("jobs", &[b])]);
    h.wait(60);
    h.receive("jobs", &[(b, 1)]);
    assert_eq!(h.broken(), None);
}

#[test]
fn loss_of_what_was_acknowledged_is_noticed() {
    let mut h = History::new();
    let [a, b] = [h.send("jobs", "a"), h.send("jobs", "b")];
    h.end();
    h.look(&[("jobs", &[a])]);
    assert_eq!(h.broken(), Some("loss"), "{b:?}");
}

#[test]
fn the_return_of_what_was_deleted_is_noticed() {
    let mut h = History::new();
    let a = h.send("jobs", "a");
    let got = h.receive("jobs", &[(a, 1)]);
    h.delete("jobs", &got);
    h.end();
    h.look(&[("jobs", &[a])]);
    assert_eq!(h.broken(), Some("removal"));
}

#[test]
fn a_second_delivery_before_the_deadline_is_noticed() {
    let mut h = History::new();
    let a = h.send("jobs", "a");
    h.receive("jobs", &[(a, 1)]);
    h.wait(29);
    h.receive("jobs", &[(a, 2)]);
    assert_eq!(h.broken(), Some("visibility"));
}

#[test]
fn a_delivery_before_the_end_of_the_delay_is_noticed() {
    let mut h = History::new();
    h.set("jobs", AttributeChange::DelaySeconds(Duration::from_secs(5)));
    let a = h.send("jobs", "a");
    h.wait(4);
    h.receive("jobs", &[(a, 1)]);
    assert_eq!(h.broken(), Some("visibility"));
}

#[test]
fn a_message_before_its_turn_is_noticed() {
    let mut h = History::new();
    let [a, b] = [h.send("events.fifo", "a"), h.send("events.fifo", "b")];
    h.receive("events.fifo", &[(b, 1)]);
    assert_eq!(h.broken(), Some("order"), "{a:?}");
}

#[test]
fn a_message_of_a_group_that_is_in_use_is_noticed() {
    let mut h = History::new();
    let [a, b] = [h.send("events.fifo", "a"), h.send("events.fifo", "b")];
    h.receive("events.fifo", &[(a, 1)]);
    h.receive("events.fifo", &[(b, 1)]);
    assert_eq!(h.broken(), Some("order"));
}

#[test]
fn an_id_that_is_taken_twice_is_noticed() {
    let mut h = History::new();
    h.send("events.fifo", "a");
    h.wait(299);
    h.send("events.fifo", "a");
    assert_eq!(h.broken(), Some("deduplication"));
}

#[test]
fn an_id_may_be_taken_again_after_five_minutes() {
    let mut h = History::new();
    h.send("events.fifo", "a");
    h.wait(300);
    h.send("events.fifo", "a");
    assert_eq!(h.broken(), None);
}

#[test]
fn a_message_dropped_as_a_duplicate_of_none_is_noticed() {
    let mut h = History::new();
    let a = h.send("events.fifo", "a");
    h.send_as_duplicate_of(a, "events.fifo", "b");
    assert_eq!(h.broken(), Some("deduplication"));
}

#[test]
fn a_receive_count_that_does_not_rise_is_noticed() {
    let mut h = History::new();
    let a = h.send("jobs", "a");
    h.receive("jobs", &[(a, 1)]);
    h.wait(60);
    h.receive("jobs", &[(a, 1)]);
    assert_eq!(h.broken(), Some("receives"));
}

#[test]
fn a_delivery_beyond_the_limit_is_noticed() {
    let mut h = History::with_limit(1);
    let a = h.send("orders", "a");
    h.receive("orders", &[(a, 1)]);
    h.wait(60);
    h.receive("orders", &[(a, 2)]);
    assert_eq!(h.broken(), Some("dead-letters"));
}

#[test]
fn a_dead_letter_before_its_time_is_noticed() {
    let mut h = History::with_limit(2);
    let a = h.send("orders", "a");
    h.receive("orders", &[(a, 1)]);
    h.wait(60);
    h.look(&[("orders", &[]), ("orders-dead", &[a])]);
    assert_eq!(h.broken(), Some("dead-letters"));
}

#[test]
fn a_wrong_count_is_noticed() {
    let mut h = History::new();
    let a = h.send("jobs", "a");
    h.look_with(&[("jobs", &[a])], |look| look.queues[0].view.counts.visible = 0);
    assert_eq!(h.broken(), Some("counts"));
    let mut h = History::new();
    let a = h.send("jobs", "a");
    h.look_with(&[("jobs", &[a])], |look| {
        look.queues[0].messages[0].0.state = PeekedState::Delayed { visible_at: h_end() };
    });
    assert_eq!(h.broken(), Some("counts"));
}

#[test]
fn what_nobody_sent_is_noticed() {
    let mut h = History::new();
    let a = h.send("jobs", "a");
    h.receive_altered("jobs", a);
    assert_eq!(h.broken(), Some("integrity"));
}

#[test]
fn an_unreadable_message_is_noticed_unless_the_medium_is_damaged() {
    let mut h = History::new();
    let a = h.send("jobs", "a");
    h.damage();
    h.receive_unreadable("jobs", a);
    assert_eq!(h.broken(), None);
    let mut h = History::new();
    let a = h.send("jobs", "a");
    h.receive_unreadable("jobs", a);
    assert_eq!(h.broken(), Some("integrity"));
}

#[test]
fn memory_that_could_be_free_is_noticed() {
    let mut h = History::new();
    h.look_with(&[], |look| look.memory_bytes = Some(1 << 20));
    assert_eq!(h.broken(), Some("memory"));
}

#[test]
fn a_purge_is_no_loss_and_ends_what_is_remembered() {
    let mut h = History::new();
    h.send("events.fifo", "a");
    h.ask(Command::PurgeQueue { queue: address("events.fifo") });
    h.look(&[("events.fifo", &[])]);
    h.send("events.fifo", "a");
    assert_eq!(h.broken(), None);
}

impl History {
    /// A history in which `orders` has a limit of receives.
    fn with_limit(limit: u32) -> Self {
        let mut h = History::new();
        h.set(
            "orders",
            AttributeChange::RedrivePolicy(Some(RedrivePolicy {
                dead_letter_target: address("orders-dead"),
                max_receive_count: limit,
            })),
        );
        h
    }
}
