//! Fair queues: messages of a standard queue that have a group belong to a tenant, and no tenant's load delays others.

mod util;

use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, Command, Messages, MoveTaskId, Peeked, Receive, RedrivePolicy, Reply, SendEntry,
};
use util::*;

/// A message of a tenant, or of none if its name is empty. The bodies of these tests begin with the tenant's name.
fn entry(tenant: &str, body: &str, number: u128, delay: Option<Duration>) -> SendEntry {
    let mut message = message(number, body.to_owned());
    message.group_id = (!tenant.is_empty()).then(|| tenant.into());
    SendEntry { message, delay, content_based: false }
}

/// Sends one message of each tenant, named after it.
fn send(t: &mut TestEngine, queue: &str, tenants: &[&str]) {
    tenants.iter().for_each(|tenant| send_with(t, queue, tenant, None));
}

fn send_with(t: &mut TestEngine, queue: &str, tenant: &str, delay: Option<Duration>) {
    let number = t.log.records.len() as u128;
    let sent =
        t.try_send_entries(queue, vec![entry(tenant, tenant, number, delay)]).expect("the queue exists");
    assert!(sent[0].is_ok());
}

/// Sends so many messages of one tenant.
fn send_many(t: &mut TestEngine, queue: &str, tenant: &str, count: usize) {
    for first in (0..count).step_by(10) {
        let number = |n: usize| (t.log.records.len() * 1000 + n) as u128;
        let entries: Vec<_> =
            (first..count.min(first + 10)).map(|n| entry(tenant, tenant, number(n), None)).collect();
        t.try_send_entries(queue, entries).expect("the queue exists");
    }
}

/// Receives messages until so many were received.
fn receive_many(t: &mut TestEngine, queue: &str, count: usize, timeout: Duration) -> Vec<Got> {
    let mut got = Vec::new();
    while got.len() < count {
        let max = (count - got.len()).min(10);
        let receive = Receive { max, visibility_timeout: Some(timeout), ..receive_of(queue) };
        let more = t.try_receive(receive).expect("receives");
        assert!(!more.is_empty(), "only {} of {count} were visible", got.len());
        got.extend(more);
    }
    got
}

/// A queue whose tenant `noisy` has so many messages in flight, for an hour, and a hundred more that are visible.
fn with_noisy(in_flight: usize) -> (TestEngine, Vec<Got>) {
    let mut t = TestEngine::with_queue();
    t.thorough = false;
    send_many(&mut t, "q", "noisy", in_flight + 100);
    let got = receive_many(&mut t, "q", in_flight, hours(1));
    t.thorough = true;
    t.check();
    (t, got)
}

fn noisy_count(t: &mut TestEngine, queue: &str) -> usize {
    let now = t.now;
    let gauges = t.live.engine.gauges(now);
    gauges.into_iter().find(|gauge| gauge.address == queue.address()).expect("the queue").noisy_tenants
}

fn receive_max(t: &mut TestEngine, max: usize) -> Vec<Got> {
    t.try_receive(Receive { max, visibility_timeout: Some(hours(1)), ..receive_of("q") }).expect("receives")
}

fn policy(target: &str, max_receive_count: u32) -> AttributeChange {
    let dead_letter_target = target.address();
    AttributeChange::RedrivePolicy(Some(RedrivePolicy { dead_letter_target, max_receive_count }))
}

fn peek(t: &mut TestEngine, queue: &str) -> Vec<Peeked> {
    match t.call(Command::Peek { queue: queue.address(), after: None, max: 1000 }) {
        Ok(Reply::Peeked(peeked)) => peeked,
        other => panic!("no page: {other:?}"),
    }
}

#[test]
fn tenants_without_load_get_their_messages_in_the_order_they_were_sent() {
    let mut t = TestEngine::with_queue();
    send(&mut t, "q", &["b", "a", "", "b", "c", "", "a"]);
    t.expect("q", &["b", "a", "", "b", "c", "", "a"]);
    // Nothing locks a tenant whose messages are in flight.
    send(&mut t, "q", &["a", "a"]);
    t.expect("q", &["a", "a"]);
}

#[test]
fn a_quiet_tenant_is_served_before_a_noisy_one_however_deep_its_backlog() {
    let (mut t, _) = with_noisy(30);
    t.thorough = false;
    send_many(&mut t, "q", "noisy", 2000);
    assert_eq!(noisy_count(&mut t, "q"), 1);
    send(&mut t, "q", &["quiet", "other", "quiet"]);
    for restart in RESTARTS {
        restart(&mut t);
        let got = receive_max(&mut t, 2);
        assert_eq!(bodies(&got), ["quiet", "other"]);
        t.return_undelivered(&got);
    }
    // What quiet tenants leave is for the noisy one: nothing is held back for nobody.
    t.expect(
        "q",
        &["quiet", "other", "quiet", "noisy", "noisy", "noisy", "noisy", "noisy", "noisy", "noisy"],
    );
}

#[test]
fn messages_without_a_group_are_quiet_however_many_are_in_flight() {
    let (mut t, _) = with_noisy(30);
    t.thorough = false;
    send_many(&mut t, "q", "", 40);
    assert!(receive_many(&mut t, "q", 35, hours(1)).iter().all(|got| got.body.is_empty()));
    t.thorough = true;
    send(&mut t, "q", &["quiet"]);
    t.expect("q", &["", "", "", "", "", "quiet", "noisy", "noisy", "noisy", "noisy"]);
}

#[test]
fn a_tenant_is_noisy_from_thirty_messages_in_flight() {
    let (mut t, _) = with_noisy(29);
    assert_eq!(noisy_count(&mut t, "q"), 0);
    send(&mut t, "q", &["quiet"]);
    assert_eq!(bodies(&receive_max(&mut t, 1)), ["noisy"]);
    assert_eq!(noisy_count(&mut t, "q"), 1);
    assert_eq!(bodies(&receive_max(&mut t, 1)), ["quiet"]);
}

#[test]
fn a_tenant_is_noisy_above_a_tenth_of_what_is_in_flight() {
    let (mut t, _) = with_noisy(30);
    t.thorough = false;
    send_many(&mut t, "q", "", 280);
    receive_many(&mut t, "q", 269, hours(1));
    assert_eq!(noisy_count(&mut t, "q"), 1, "30 of 299");
    receive_many(&mut t, "q", 1, hours(1));
    assert_eq!(noisy_count(&mut t, "q"), 0, "30 of 300");
    assert_eq!(bodies(&receive_max(&mut t, 1)), ["noisy"], "the oldest message");
    assert_eq!(noisy_count(&mut t, "q"), 1, "31 of 301");
    assert_eq!(bodies(&receive_max(&mut t, 1)), [""]);
}

#[test]
fn of_two_noisy_tenants_the_one_with_fewer_in_flight_goes_first() {
    let (mut t, _) = with_noisy(35);
    t.thorough = false;
    send_many(&mut t, "q", "loud", 50);
    assert!(receive_many(&mut t, "q", 30, hours(1)).iter().all(|got| got.body == "loud"));
    t.thorough = true;
    assert_eq!(noisy_count(&mut t, "q"), 2);
    assert_eq!(bodies(&receive_max(&mut t, 3)), ["loud"; 3], "30 and 35 in flight");
    assert_eq!(bodies(&receive_max(&mut t, 2)), ["loud"; 2], "33 and 35 in flight");
    assert_eq!(bodies(&receive_max(&mut t, 1)), ["loud"], "35 each: by name");
    assert_eq!(bodies(&receive_max(&mut t, 4)), ["noisy"; 4], "36 and 35 in flight");
    // One receive takes all it can from the first of them.
    assert_eq!(bodies(&receive_max(&mut t, 10)), ["loud"; 10]);
    assert_eq!(bodies(&receive_max(&mut t, 10)), ["noisy"; 10]);
    assert_eq!(bodies(&receive_max(&mut t, 10)), [["loud"; 4].as_slice(), &["noisy"; 6]].concat());
}

#[test]
fn noise_ends_when_messages_are_deleted_or_visible_again() {
    for delete in [true, false] {
        let (mut t, got) = with_noisy(30);
        send(&mut t, "q", &["quiet"]);
        assert_eq!(noisy_count(&mut t, "q"), 1);
        if delete {
            t.delete("q", &got[7]).expect("deletes");
        } else {
            t.change("q", &got[7], secs(0)).expect("in flight");
        }
        assert_eq!(noisy_count(&mut t, "q"), 0);
        assert_eq!(bodies(&receive_max(&mut t, 1)), ["noisy"], "older than the quiet one");
    }
    let (mut t, _) = with_noisy(40);
    t.wait(hours(1));
    assert_eq!((noisy_count(&mut t, "q"), t.counts("q")), (0, (140, 0, 0)));
}

#[test]
fn returned_messages_of_a_noisy_tenant_wait_like_its_others() {
    let (mut t, got) = with_noisy(31);
    send(&mut t, "q", &["quiet", "quiet"]);
    t.return_undelivered(&got[..1]);
    assert_eq!(noisy_count(&mut t, "q"), 1);
    let quiet = receive_max(&mut t, 1);
    assert_eq!(bodies(&quiet), ["quiet"]);
    // And those of a quiet one do not.
    t.return_undelivered(&quiet);
    assert_eq!(bodies(&receive_max(&mut t, 2)), ["quiet", "quiet"]);
    let again = receive_max(&mut t, 1);
    assert_eq!((again[0].receipt.seq, again[0].receive_count), (got[0].receipt.seq, 2));
}

#[test]
fn a_poll_is_served_by_whoever_has_messages() {
    let (mut t, _) = with_noisy(30);
    t.thorough = false;
    receive_many(&mut t, "q", 100, hours(1));
    let poll = t.poll("q", secs(20));
    send(&mut t, "q", &["noisy"]);
    t.expect_answer(poll, &["noisy"]);
}

#[test]
fn a_tenant_survives_a_delay_and_a_restart() {
    for restart in RESTARTS {
        let (mut t, _) = with_noisy(30);
        send_with(&mut t, "q", "noisy", Some(secs(5)));
        send_with(&mut t, "q", "quiet", Some(secs(5)));
        // A later message makes the end of the delay a late one.
        send(&mut t, "q", &["quiet"]);
        restart(&mut t);
        assert_eq!((t.counts("q"), noisy_count(&mut t, "q")), ((101, 30, 2), 1));
        assert_eq!(bodies(&receive_max(&mut t, 2)), ["quiet", "noisy"]);
        t.wait(secs(5));
        assert_eq!(bodies(&receive_max(&mut t, 1)), ["quiet"]);
        assert_eq!(t.counts("q"), (100, 33, 0));
    }
}

#[test]
fn retention_ends_for_tenants_in_every_state() {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::MessageRetentionPeriod(secs(60))]);
    send(&mut t, "q", &["a", "b", "a", "b", "a"]);
    send_with(&mut t, "q", "c", Some(secs(900)));
    let got = receive_max(&mut t, 2);
    t.return_undelivered(&got[..1]);
    t.wait(secs(30));
    send(&mut t, "q", &["b"]);
    assert_eq!(t.counts("q"), (5, 1, 1));
    t.wait(secs(30) - TICK);
    assert_eq!(t.counts("q"), (5, 1, 1));
    t.wait(TICK);
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.expect("q", &["b"]);
    t.wait(secs(30));
    assert_eq!(t.counts("q"), (0, 0, 0));
    // The tenants are gone with their messages, and can come back.
    send(&mut t, "q", &["c", "a"]);
    t.expect("q", &["c", "a"]);
}

#[test]
fn a_purge_takes_tenants_and_their_noise() {
    let (mut t, _) = with_noisy(40);
    send_with(&mut t, "q", "quiet", Some(secs(5)));
    t.purge("q").expect("purges");
    assert_eq!((t.counts("q"), noisy_count(&mut t, "q")), ((0, 0, 0), 0));
    send(&mut t, "q", &["noisy", "quiet"]);
    t.expect("q", &["noisy", "quiet"]);
}

#[test]
fn deleting_the_last_message_ends_a_tenant() {
    let mut t = TestEngine::with_queue();
    for round in 0..3 {
        send(&mut t, "q", &["a", "b"]);
        let got = t.expect("q", &["a", "b"]);
        for one in got.iter().skip(round % 2).chain(got.iter().take(round % 2)) {
            t.delete("q", one).expect("deletes");
        }
        let snapshot = t.live.engine.snapshot();
        let Messages::Standard(messages) = &snapshot.queues[0].messages else { panic!("a standard queue") };
        assert_eq!(messages.tenants, []);
    }
}

#[test]
fn dead_letters_and_redriven_messages_stay_their_tenants() {
    for restart in RESTARTS {
        let mut t = TestEngine::new();
        t.create("dlq");
        t.create_with("q", &[policy("dlq", 1)]);
        t.thorough = false;
        send_many(&mut t, "q", "noisy", 50);
        send(&mut t, "q", &["quiet", ""]);
        receive_many(&mut t, "q", 52, secs(1));
        t.wait(secs(1));
        t.expect_nothing("q");
        assert_eq!((t.counts("q"), t.counts("dlq")), ((0, 0, 0), (52, 0, 0)));
        restart(&mut t);
        t.thorough = true;
        let got = receive_many(&mut t, "dlq", 32, hours(1));
        assert_eq!(noisy_count(&mut t, "dlq"), 1);
        assert_eq!(bodies(&got[30..]), ["quiet", ""], "after thirty of the noisy one");
        // Back to where they came from, the quiet ones first, though they come last.
        t.return_undelivered(&got[30..]);
        let id = MoveTaskId([7; 16]);
        let source = "dlq".address();
        t.done(Command::StartMoveTask { source, destination: None, rate: None, id }).expect("starts");
        t.wait(secs(1));
        assert_eq!((t.counts("dlq"), t.counts("q")), ((0, 30, 0), (22, 0, 0)));
        let first = receive_many(&mut t, "q", 3, hours(1));
        assert_eq!(bodies(&first), ["quiet", "", "noisy"]);
        restart(&mut t);
        t.set("q", policy("dlq", 9));
        send_many(&mut t, "q", "noisy", 20);
        receive_many(&mut t, "q", 29, hours(1));
        assert_eq!(noisy_count(&mut t, "q"), 1);
    }
}

#[test]
fn chosen_messages_are_redriven_from_the_midst_of_a_tenant() {
    let mut t = TestEngine::new();
    ["dlq", "q"].into_iter().for_each(|queue| t.create(queue));
    t.thorough = false;
    send_many(&mut t, "dlq", "a", 700);
    send_many(&mut t, "dlq", "b", 3);
    t.thorough = true;
    t.check();
    let all = peek(&mut t, "dlq");
    let numbers: Vec<_> = all.iter().map(|peeked| peeked.touched.stored.seq).collect();
    assert!(numbers.is_sorted() && numbers.len() == 703);
    let chosen = [0, 1, 300, 600, 699, 701].map(|at: usize| numbers[at]);
    let redrive = Command::Redrive {
        queue: "dlq".address(),
        destination: Some("q".address()),
        messages: chosen.to_vec(),
        id: MoveTaskId([1; 16]),
    };
    assert_eq!(t.settled(redrive).expect("redrives"), vec![Ok(()); 6]);
    assert_eq!((t.counts("dlq"), t.counts("q")), ((697, 0, 0), (6, 0, 0)));
    t.expect("q", &["a", "a", "a", "a", "a", "b"]);
}

#[test]
fn records_of_tenants_messages_move_in_every_state() {
    let (mut t, got) = with_noisy(31);
    t.return_undelivered(&got[..1]);
    send_with(&mut t, "q", "noisy", Some(secs(900)));
    let all = t.live_positions();
    assert_eq!(t.relocate(&all), 132);
    assert_eq!(t.counts("q"), (101, 30, 1));
    assert_eq!(noisy_count(&mut t, "q"), 1);
    for restart in RESTARTS {
        restart(&mut t);
        assert_eq!(t.counts("q"), (101, 30, 1));
    }
    t.thorough = false;
    assert_eq!(receive_many(&mut t, "q", 101, secs(5)).len(), 101);
}

/// A noisy tenant's message is received only when no quiet one is visible, and quiet ones come in the order of their
/// numbers. What is visible and who is noisy is read off snapshots and the log here.
#[test]
fn no_quiet_message_is_ever_passed_over_for_a_noisy_one() {
    let mut noisy_receives = 0;
    for seed in 0..25 {
        let rng = &mut Rng::with_seed(seed);
        let mut t = TestEngine::with_queue();
        t.thorough = false;
        let mut held = Vec::new();
        for _ in 0..150 {
            let tenant = ["", "a", "a", "a", "b", "b", "c"][rng.usize(0..7)];
            match rng.u8(0..8) {
                0 | 1 => send_many(&mut t, "q", tenant, rng.usize(1..25)),
                2 => send_with(&mut t, "q", tenant, Some(secs(rng.u64(1..5)))),
                3 if !held.is_empty() => {
                    let got: Got = held.swap_remove(rng.usize(0..held.len()));
                    t.delete("q", &got).expect("deletes");
                }
                4 if !held.is_empty() => t.return_undelivered(&held[rng.usize(0..held.len())..][..1]),
                5 => t.wait(secs(rng.u64(0..3))),
                _ => {
                    let (quiet, noisy) = visible(&t);
                    let timeout = secs(rng.u64(1..60));
                    let max = rng.usize(1..=10);
                    let receive = Receive { max, visibility_timeout: Some(timeout), ..receive_of("q") };
                    let got = t.try_receive(receive).expect("receives");
                    let numbers: Vec<_> = got.iter().map(|got| got.receipt.seq.0).collect();
                    let quiet_count = numbers.len().min(quiet.len());
                    let expected: Vec<_> = quiet.iter().copied().take(max).collect();
                    assert_eq!(numbers[..quiet_count], expected, "seed {seed}");
                    assert!(numbers[quiet_count..].iter().all(|seq| noisy.contains(seq)), "seed {seed}");
                    assert_eq!(numbers.len(), max.min(quiet.len() + noisy.len()), "nothing is held back");
                    noisy_receives += usize::from(!noisy.is_empty() && !quiet.is_empty());
                    held.extend(got);
                }
            }
        }
        t.follow_from_here();
        t.check_followers();
    }
    assert!(noisy_receives > 100, "quiet and noisy ones compete {noisy_receives} times");
}

/// The numbers of the visible messages of quiet tenants, and of noisy ones.
fn visible(t: &TestEngine) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let mut tenant_of = BTreeMap::new();
    for stored in t.log.records.iter().filter_map(Record::stored) {
        tenant_of.insert(stored.seq.0, stored.message.group_id.clone());
    }
    let snapshot = t.live.engine.snapshot();
    let Messages::Standard(messages) = &snapshot.queues[0].messages else { panic!("a standard queue") };
    let in_flight: BTreeSet<_> = messages.in_flight.iter().map(|(touched, _)| touched.stored.seq.0).collect();
    let delayed: BTreeSet<_> = messages.delayed.iter().map(|(stored, _)| stored.seq.0).collect();
    let mut all = BTreeSet::new();
    snapshot.for_each_position(
        |extent| t.live.shelf.read(extent),
        |position| {
            all.insert(t.log.record(position).stored().expect("a message").seq.0);
        },
    );
    let load = |tenant: &Option<Box<str>>| in_flight.iter().filter(|seq| tenant_of[seq] == *tenant).count();
    let is_noisy = |seq: &u64| {
        let tenant = &tenant_of[seq];
        tenant.is_some() && load(tenant) >= 30 && load(tenant) * 10 > in_flight.len()
    };
    let hidden = |seq: &u64| in_flight.contains(seq) || delayed.contains(seq);
    let (noisy, quiet) = all.into_iter().filter(|seq| !hidden(seq)).partition(is_noisy);
    (quiet, noisy)
}
