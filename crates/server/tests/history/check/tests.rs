//! Small histories that the server must not produce, one for each rule, beside ones that it may.

use super::check;
use crate::record::{Act, Call, Entry, Got, Outcome, Outcome::Done, Queue, Sent};

const QUEUES: [Queue; 4] = [
    Queue { name: "work", is_fifo: false, dead_letters: Some(("dead", 2)) },
    Queue { name: "dead", is_fifo: false, dead_letters: None },
    Queue { name: "f.fifo", is_fifo: true, dead_letters: Some(("d.fifo", 3)) },
    Queue { name: "d.fifo", is_fifo: true, dead_letters: None },
];

fn call(start: u64, act: Act) -> Call {
    Call { start, end: start + 10, act }
}

/// A send to `work`, or with a group and a number to `f.fifo`.
fn send(start: u64, body: &str, ordered: Option<(&str, u128)>) -> Call {
    let sent = Sent { id: body.into(), sequence: ordered.map(|(_, sequence)| sequence) };
    sent_as(start, body, ordered.map(|(group, _)| group), Done(sent))
}

fn sent_as(start: u64, body: &str, group: Option<&str>, outcome: Outcome<Sent>) -> Call {
    let queue = if group.is_some() { "f.fifo" } else { "work" };
    let entry = Entry { body: body.into(), group: group.map(str::to_owned), delay: 0 };
    call(start, Act::Send { queue, entry, outcome })
}

/// A message received with the handle `<body>/<count>`.
fn got(body: &str, count: u32, ordered: Option<(&str, u128)>) -> Got {
    Got {
        body: body.into(),
        id: body.into(),
        handle: format!("{body}/{count}"),
        count,
        group: ordered.map(|(group, _)| group.to_owned()),
        sequence: ordered.map(|(_, sequence)| sequence),
    }
}

/// A receive with a timeout of a second.
fn receive(start: u64, queue: &'static str, messages: Vec<Got>) -> Call {
    call(start, Act::Receive { queue, attempt: None, timeout: 1_000, outcome: Done(messages) })
}

fn unanswered_receive(start: u64, queue: &'static str) -> Call {
    call(start, Act::Receive { queue, attempt: None, timeout: 1_000, outcome: Outcome::Unknown })
}

fn delete(start: u64, handle: &str, outcome: Outcome<()>) -> Call {
    call(start, Act::Delete { handle: handle.into(), outcome })
}

fn change(start: u64, handle: &str, timeout: u64, outcome: Outcome<()>) -> Call {
    call(start, Act::Change { handle: handle.into(), timeout, outcome })
}

#[track_caller]
fn assert_allowed(calls: &[Call]) {
    assert_eq!(check(&QUEUES, calls), Vec::<String>::new());
}

/// Exactly this rule is broken.
#[track_caller]
fn assert_broken(rule: &str, calls: &[Call]) {
    let broken = check(&QUEUES, calls);
    assert!(!broken.is_empty() && broken.iter().all(|text| text.starts_with(rule)), "{rule}: {broken:?}");
}

#[test]
fn a_message_is_sent_before_it_is_received() {
    let consumed = [receive(100, "work", vec![got("m", 1, None)]), delete(200, "m/1", Done(()))];
    assert_broken("never sent", &consumed);
    let refused = sent_as(0, "m", None, Outcome::Refused("no".into()));
    assert_broken("never sent", &[&[refused][..], &consumed].concat());
    let unanswered = sent_as(0, "m", None, Outcome::Unknown);
    assert_allowed(&[&[unanswered][..], &consumed].concat());
}

#[test]
fn what_was_acknowledged_is_not_lost() {
    assert_broken("lost", &[send(0, "m", None)]);
    assert_broken("lost", &[send(0, "m", None), receive(100, "work", vec![got("m", 1, None)])]);
    assert_allowed(&[sent_as(0, "m", None, Outcome::Unknown)]);
    let received = [send(0, "m", None), receive(100, "work", vec![got("m", 1, None)])];
    assert_allowed(&[&received[..], &[delete(200, "m/1", Outcome::Unknown)]].concat());
    assert_broken(
        "lost",
        &[&received[..], &[delete(2_000, "m/1", Outcome::Refused("late".into()))]].concat(),
    );
    let purge = |outcome| call(50, Act::Purge { queue: "work", outcome });
    assert_allowed(&[send(0, "m", None), purge(Outcome::Unknown)]);
    assert_broken("lost", &[send(0, "m", None), purge(Outcome::Refused("no".into()))]);
}

#[test]
fn what_was_deleted_or_purged_stays_so() {
    let received = [send(0, "m", None), receive(100, "work", vec![got("m", 1, None)])];
    let again = [receive(5_000, "work", vec![got("m", 2, None)]), delete(5_100, "m/2", Done(()))];
    let with = |delete| [&received[..], &[delete], &again].concat();
    assert_broken("delete undone", &with(delete(200, "m/1", Done(()))));
    assert_allowed(&with(delete(200, "m/1", Outcome::Unknown)));
    assert_allowed(&with(delete(2_000, "m/1", Done(()))));
    let purge = |outcome| call(3_000, Act::Purge { queue: "work", outcome });
    assert_broken("purge undone", &with(purge(Done(()))));
    assert_allowed(&with(purge(Outcome::Unknown)));
}

#[test]
fn nobody_gets_what_another_one_has() {
    let received = [send(0, "m", None), receive(100, "work", vec![got("m", 1, None)])];
    let again =
        |start| [receive(start, "work", vec![got("m", 2, None)]), delete(start + 50, "m/2", Done(()))];
    let then = |change: Vec<Call>, start| [&received[..], &change, &again(start)].concat();
    assert_broken("early", &then(vec![], 900));
    assert_allowed(&then(vec![], 1_100));
    assert_broken("early", &then(vec![change(500, "m/1", 2_000, Done(()))], 2_000));
    assert_allowed(&then(vec![change(500, "m/1", 2_000, Outcome::Unknown)], 2_000));
    assert_broken("early", &then(vec![change(500, "m/1", 0, Outcome::Refused("no".into()))], 900));
    assert_allowed(&then(vec![change(500, "m/1", 0, Outcome::Unknown)], 900));
}

#[test]
fn nobody_gets_what_is_delayed() {
    let entry = Entry { body: "m".into(), group: None, delay: 1_000 };
    let outcome = Done(Sent { id: "m".into(), sequence: None });
    let send = call(0, Act::Send { queue: "work", entry, outcome });
    let consumed =
        |start| [receive(start, "work", vec![got("m", 1, None)]), delete(start + 50, "m/1", Done(()))];
    assert_broken("too soon", &[&[send.clone()][..], &consumed(900)].concat());
    assert_allowed(&[&[send][..], &consumed(1_000)].concat());
}

#[test]
fn receives_are_counted() {
    let twice = |first, second| {
        let start = [send(0, "m", None), receive(100, "work", vec![got("m", first, None)])];
        let end = [receive(2_000, "work", vec![got("m", second, None)]), delete(2_100, "m/2", Done(()))];
        [&start[..], &end, &[delete(2_200, "m/1", Done(()))]].concat()
    };
    assert_broken("counts", &twice(2, 1));
    assert_broken("counts", &twice(1, 1));
    assert_allowed(&twice(1, 2));
}

#[test]
fn messages_die_when_they_must_and_stay_dead() {
    let sent = send(0, "m", None);
    let alive = |start, count| receive(start, "work", vec![got("m", count, None)]);
    let dead = [receive(6_000, "dead", vec![got("m", 3, None)]), delete(6_100, "m/3", Done(()))];
    assert_allowed(&[&[sent.clone(), alive(100, 1), alive(2_000, 2)][..], &dead].concat());
    assert_broken("dead too soon", &[&[sent.clone(), alive(100, 1)][..], &dead].concat());
    assert_allowed(&[&[sent.clone(), alive(100, 1), unanswered_receive(2_000, "work")][..], &dead].concat());
    let undead = [alive(100, 1), alive(2_000, 2), alive(4_000, 3), delete(4_100, "m/3", Done(()))];
    assert_broken("undead", &[&[sent.clone()][..], &undead].concat());
    let back = [receive(9_000, "work", vec![got("m", 1, None)]), delete(9_100, "m/1", Done(()))];
    let died = [sent, alive(100, 1), alive(2_000, 2), receive(6_000, "dead", vec![got("m", 3, None)])];
    let revived = check(&QUEUES, &[&died[..], &back].concat());
    assert!(revived.iter().any(|text| text.starts_with("revived")), "{revived:?}");
    let moved = call(8_000, Act::Move { queue: "dead", outcome: Outcome::Unknown });
    let moved = check(&QUEUES, &[&died[..], &[moved], &back].concat());
    assert!(!moved.iter().any(|text| text.starts_with("revived")), "{moved:?}");
}

#[test]
fn a_receiver_may_delete_what_it_has() {
    let received = [send(0, "m", None), receive(100, "work", vec![got("m", 1, None)])];
    let refused = |start| delete(start, "m/1", Outcome::Refused("expired".into()));
    let later = [receive(5_000, "work", vec![got("m", 2, None)]), delete(5_050, "m/2", Done(()))];
    assert_broken("refused in time", &[&received[..], &[refused(500)], &later].concat());
    assert_allowed(&[&received[..], &[refused(2_000)], &later].concat());
}

#[test]
fn a_deduplication_id_is_one_message() {
    let first = send(0, "m", Some(("g", 1)));
    let consumed = [receive(100, "f.fifo", vec![got("m", 1, Some(("g", 1)))]), delete(200, "m/1", Done(()))];
    assert_allowed(&[&[first.clone(), send(50, "m", Some(("g", 1)))][..], &consumed].concat());
    assert_broken("duplicate", &[&[first.clone(), send(50, "m", Some(("g", 2)))][..], &consumed].concat());
    assert_allowed(&[&[first, send(400_000, "m", Some(("g", 2)))][..], &consumed].concat());
}

#[test]
fn groups_keep_their_order() {
    let sends = [send(0, "a", Some(("g", 1))), send(20, "b", Some(("g", 2)))];
    let (a, b) = (|count| got("a", count, Some(("g", 1))), || got("b", 1, Some(("g", 2))));
    let ends = [delete(3_000, "b/1", Done(())), delete(3_000, "a/1", Outcome::Unknown)];
    let then = |receives: Vec<Call>| [&sends[..], &receives, &ends].concat();
    assert_allowed(&then(vec![receive(2_500, "f.fifo", vec![a(1), b()])]));
    assert_broken("order", &then(vec![receive(2_500, "f.fifo", vec![b(), a(1)])]));
    assert_broken(
        "order",
        &then(vec![receive(100, "f.fifo", vec![a(1)]), receive(2_500, "f.fifo", vec![b()])]),
    );
    // It may have died: two receives were not answered.
    let unanswered = [500, 1_800].map(|start| unanswered_receive(start, "f.fifo")).to_vec();
    let died =
        [vec![receive(100, "f.fifo", vec![a(1)])], unanswered, vec![receive(2_500, "f.fifo", vec![b()])]];
    assert_allowed(&then(died.concat()));
}

#[test]
fn groups_have_one_receiver_at_a_time() {
    let sends = [send(0, "a", Some(("g", 1))), send(20, "b", Some(("g", 2)))];
    let receives = |start| {
        let first = receive(100, "f.fifo", vec![got("a", 1, Some(("g", 1)))]);
        [first, receive(start, "f.fifo", vec![got("b", 1, Some(("g", 2)))])]
    };
    let ends = [delete(1_400, "b/1", Done(()))];
    let with = |start, act: Call| [&sends[..], &receives(start), &[act], &ends].concat();
    assert_allowed(&with(900, delete(500, "a/1", Outcome::Unknown)));
    // The delete comes after: the group was locked, and its order broken.
    let broken = check(&QUEUES, &with(900, delete(950, "a/1", Done(()))));
    assert!(broken.iter().any(|text| text.starts_with("locked")), "{broken:?}");
    let later = check(&QUEUES, &with(1_200, delete(1_300, "a/1", Done(()))));
    assert!(!later.iter().any(|text| text.starts_with("locked")), "{later:?}");
    // Of two that were received, the first is given back, and comes again while the second is still away.
    let (a, b) = (|count| got("a", count, Some(("g", 1))), got("b", 1, Some(("g", 2))));
    let both = receive(100, "f.fifo", vec![a(1), b]);
    let back =
        [change(300, "a/1", 0, Done(())), receive(500, "f.fifo", vec![a(2)]), delete(600, "a/2", Done(()))];
    assert_allowed(&[&sends[..], &[both], &back, &[delete(800, "b/1", Done(()))]].concat());
}
