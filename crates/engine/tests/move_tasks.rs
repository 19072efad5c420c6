//! Move tasks: messages leave a dead-letter queue at a pace, and are new ones where they come to.

mod util;

use tidegate_engine::{
    AttributeChange, Error, MoveTaskFailure, MoveTaskId, MoveTaskOutcome, Receive, limits,
};
use util::*;

const COMPLETED: Option<MoveTaskOutcome> = Some(MoveTaskOutcome::Completed);
const CANCELLED: Option<MoveTaskOutcome> = Some(MoveTaskOutcome::Cancelled);

fn failed(why: MoveTaskFailure) -> Option<MoveTaskOutcome> {
    Some(MoveTaskOutcome::Failed(why))
}

/// A dead-letter queue and two sources, of one type.
struct Names {
    dlq: &'static str,
    one: &'static str,
    two: &'static str,
    other: &'static str,
}

const BOTH: [Names; 2] = [
    Names { dlq: "dlq", one: "one", two: "two", other: "other" },
    Names { dlq: "dlq.fifo", one: "one.fifo", two: "two.fifo", other: "other.fifo" },
];

fn create(t: &mut TestEngine, name: &str, attributes: &[AttributeChange]) {
    if name.ends_with(".fifo") { t.create_fifo(name, attributes) } else { t.create_with(name, attributes) }
}

fn send(t: &mut TestEngine, name: &str, bodies: &[&str]) {
    if name.ends_with(".fifo") {
        let grouped: Vec<_> = bodies.iter().map(|body| ("g", *body)).collect();
        t.send_grouped(name, &grouped);
    } else {
        t.send_all(name, bodies);
    }
}

/// Messages that are in the dead-letter queue by way of their sources.
fn with_dead_letters(names: &Names, of_one: &[&str], of_two: &[&str]) -> TestEngine {
    let mut t = TestEngine::new();
    create(&mut t, names.dlq, &[]);
    for (name, bodies) in [(names.one, of_one), (names.two, of_two)] {
        create(&mut t, name, &[redrive_policy(names.dlq, 1)]);
        for batch in bodies.chunks(10) {
            send(&mut t, name, batch);
            t.receive_for(name, secs(0));
            t.expect_nothing(name);
        }
    }
    assert_eq!(t.counts(names.dlq).0 as usize, of_one.len() + of_two.len());
    t
}

#[test]
fn without_a_destination_every_message_goes_home_as_a_new_one() {
    for names in &BOTH {
        let mut t = with_dead_letters(names, &["a", "b"], &["c", "d"]);
        let old: Vec<_> = t.peek(names.dlq).into_iter().map(|(_, peeked)| peeked.touched.stored).collect();
        t.wait(secs(10));
        let polls = [t.poll(names.one, secs(20)), t.poll(names.two, secs(20))];
        let id = t.start_move(names.dlq, None);
        t.wait(secs(1));
        let task = t.move_tasks(names.dlq).remove(0);
        assert_eq!((task.id, task.destination, task.rate), (id, None, None));
        assert_eq!((task.moved, task.to_move, task.outcome), (4, 4, COMPLETED));
        assert_eq!(t.counts(names.dlq), (0, 0, 0));
        let mut got = Vec::new();
        for (poll, name, expected) in [(polls[0], names.one, ["a", "b"]), (polls[1], names.two, ["c", "d"])] {
            let mut of_queue = t.answer(poll).expect("no error");
            if of_queue.len() < 2 {
                assert_eq!(bodies(&of_queue), expected[..1]);
                of_queue.iter().for_each(|got| t.delete(name, got).expect("deletes"));
                of_queue.extend(t.receive(name));
            }
            assert_eq!(bodies(&of_queue), expected);
            got.extend(of_queue);
        }
        for (got, old) in got.iter().zip(old) {
            assert_eq!((got.receive_count, &got.source), (1, &None), "its receives count anew");
            assert!(got.sent_at > old.sent_at && got.receipt.seq > old.seq);
        }
    }
}

#[test]
fn a_redriven_message_has_another_id_everywhere_and_after_its_record_moved() {
    for restart in RESTARTS {
        for names in &BOTH {
            let mut t = with_dead_letters(names, &["a"], &[]);
            let dead = t.receive_for(names.dlq, secs(0)).remove(0);
            t.start_move(names.dlq, None);
            restart(&mut t);
            let got = t.receive_for(names.one, secs(0)).remove(0);
            assert_ne!(got.id, dead.id);
            let old = t.live_positions();
            assert_eq!(t.relocate(&old), 1);
            assert_eq!(t.relocate(&old), 0);
            restart(&mut t);
            // Once too often: it is a dead letter again, still under its newer id.
            t.expect_nothing(names.one);
            let again = t.receive_for(names.dlq, secs(0)).remove(0);
            assert_eq!((again.id, again.source), (got.id, Some(names.one.address())));
            let old = t.live_positions();
            assert_eq!(t.relocate(&old), 1);
            assert_eq!(t.receive_one(names.dlq).id, got.id);
        }
    }
}

#[test]
fn a_redriven_message_has_its_full_retention_again() {
    let mut t = with_dead_letters(&BOTH[0], &["a"], &[]);
    t.set("one", AttributeChange::MessageRetentionPeriod(secs(100)));
    t.wait(secs(1_000));
    t.start_move("dlq", None);
    t.wait(secs(100) - TICK);
    assert_eq!(t.counts("one"), (1, 0, 0));
    t.wait(TICK);
    assert_eq!(t.counts("one"), (0, 0, 0));
}

#[test]
fn a_given_destination_takes_all_in_the_order_of_arrival() {
    for names in &BOTH {
        let mut t = with_dead_letters(names, &["a", "b"], &["c"]);
        create(&mut t, names.other, &[]);
        send(&mut t, names.other, &["there before"]);
        // One that never was a dead letter goes along.
        send(&mut t, names.dlq, &["d"]);
        t.start_move(names.dlq, Some(names.other));
        assert_eq!(t.newest_move(names.dlq), (4, 4, COMPLETED));
        assert_eq!(t.move_tasks(names.dlq)[0].destination, Some(names.other.address()));
        assert_eq!(t.contents(names.other), ["there before", "a", "b", "c", "d"]);
    }
}

#[test]
fn a_rate_spreads_the_messages_and_the_first_goes_at_once() {
    for names in &BOTH {
        let mut t = with_dead_letters(names, &["a", "b", "c", "d"], &[]);
        t.try_start_move(names.dlq, None, Some(1)).expect("starts");
        for moved in 1..=3 {
            assert_eq!(t.newest_move(names.dlq), (moved, 4, None));
            assert_eq!(t.counts(names.one).0, moved);
            t.wait(secs(1) - TICK);
            assert_eq!(t.newest_move(names.dlq), (moved, 4, None));
            t.wait(TICK);
        }
        assert_eq!(t.newest_move(names.dlq), (4, 4, COMPLETED));
        assert_eq!(t.contents(names.one), ["a", "b", "c", "d"]);
    }
}

#[test]
fn without_a_rate_turns_are_bounded_so_that_others_have_theirs() {
    let all: Vec<_> = (0..250).map(|n| n.to_string()).collect();
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let mut t = with_dead_letters(&BOTH[0], &all, &[]);
    t.thorough = false;
    t.start_move("dlq", None);
    let (moved, to_move, outcome) = t.newest_move("dlq");
    assert!((1..=100).contains(&moved), "{moved}");
    assert_eq!((to_move, outcome), (250, None));
    t.wait(millis(10));
    assert_eq!(t.newest_move("dlq"), (250, 250, COMPLETED));
    assert_eq!(t.contents("one"), all);
}

#[test]
fn what_comes_after_the_start_stays() {
    let mut t = with_dead_letters(&BOTH[0], &["a", "b"], &[]);
    t.try_start_move("dlq", Some("two"), Some(1)).expect("starts");
    t.send_all("dlq", &["later"]);
    t.wait(secs(10));
    assert_eq!(t.newest_move("dlq"), (2, 2, COMPLETED));
    assert_eq!(t.contents("dlq"), ["later"]);
    assert_eq!(t.contents("two"), ["a", "b"]);
}

#[test]
fn a_task_ends_when_nothing_is_left_to_move() {
    for names in &BOTH {
        let mut t = with_dead_letters(names, &["a", "b", "c"], &[]);
        t.try_start_move(names.dlq, None, Some(1)).expect("starts");
        let got = t.receive_for(names.dlq, secs(600));
        assert_eq!(bodies(&got), ["b", "c"]);
        t.wait(secs(1));
        assert_eq!(t.newest_move(names.dlq), (1, 3, COMPLETED));
        assert_eq!(t.counts(names.dlq), (0, 2, 0), "messages in flight stay with their consumer");
        t.start_move(names.dlq, None);
        assert_eq!(t.newest_move(names.dlq), (0, 0, COMPLETED));
    }
}

#[test]
fn a_message_that_came_from_nowhere_fails_a_task_without_destination() {
    for names in &BOTH {
        let mut t = with_dead_letters(names, &["a"], &[]);
        send(&mut t, names.dlq, &["stray"]);
        send(&mut t, names.dlq, &["behind"]);
        t.start_move(names.dlq, None);
        assert_eq!(t.newest_move(names.dlq), (1, 3, failed(MoveTaskFailure::SourceUnknown)));
        assert_eq!(t.contents(names.dlq), ["stray", "behind"]);
        assert_eq!(t.contents(names.one), ["a"]);
    }
}

#[test]
fn a_destination_deleted_meanwhile_fails_the_task() {
    for names in &BOTH {
        for to_other in [true, false] {
            let mut t = with_dead_letters(names, &["a", "b", "c"], &["d"]);
            create(&mut t, names.other, &[]);
            let (destination, goes) =
                if to_other { (Some(names.other), names.other) } else { (None, names.one) };
            t.try_start_move(names.dlq, destination, Some(1)).expect("starts");
            t.delete_queue(goes).expect("deletes");
            t.wait(secs(1));
            assert_eq!(t.newest_move(names.dlq), (1, 4, failed(MoveTaskFailure::DestinationMissing)));
            assert_eq!(t.contents(names.dlq), ["b", "c", "d"], "the rest stays");
            t.wait(secs(60));
            assert_eq!(t.counts(names.dlq), (3, 0, 0));
        }
    }
}

#[test]
fn cancelling_ends_a_task_and_tells_how_far_it_came() {
    for names in &BOTH {
        let mut t = with_dead_letters(names, &["a", "b", "c", "d"], &[]);
        let id = t.try_start_move(names.dlq, None, Some(2)).expect("starts");
        t.wait(secs(1));
        assert_eq!(t.try_cancel_move(names.dlq, MoveTaskId([9; 16])), Err(Error::MoveTaskMissing));
        assert_eq!(t.try_cancel_move("none", id), Err(Error::MoveSourceMissing));
        assert_eq!(t.try_cancel_move(names.dlq, id), Ok(3));
        assert_eq!(t.newest_move(names.dlq), (3, 4, CANCELLED));
        assert_eq!(t.try_cancel_move(names.dlq, id), Err(Error::MoveTaskMissing), "it runs no more");
        t.wait(secs(60));
        assert_eq!((t.counts(names.dlq).0, t.counts(names.one).0), (1, 3));
        t.start_move(names.dlq, None);
        assert_eq!(t.newest_move(names.dlq), (1, 1, COMPLETED));
    }
}

#[test]
fn tasks_that_cannot_be_are_refused() {
    for names in &BOTH {
        let mut t = with_dead_letters(names, &["a", "b"], &[]);
        let mut start = |source: &str, destination| t.try_start_move(source, destination, Some(1)).err();
        assert_eq!(start("none", None), Some(Error::MoveSourceMissing));
        assert_eq!(start(names.dlq, Some("none")), Some(Error::MoveDestinationMissing));
        assert_eq!(start(names.dlq, Some(names.dlq)), Some(Error::MoveToItself));
        assert_eq!(start(names.one, None), Some(Error::SourceNotDeadLetterQueue));
        assert_eq!(start(names.dlq, None), None);
        assert_eq!(start(names.dlq, Some(names.two)), Some(Error::MoveTaskRunning));
        assert_eq!(t.move_tasks(names.dlq).len(), 1);
        let list = tidegate_engine::Command::ListMoveTasks { source: "none".address(), max: 1 };
        assert_eq!(t.call(list).err(), Some(Error::MoveSourceMissing));
    }
    let mut t = with_dead_letters(&BOTH[0], &["a"], &[]);
    t.create_fifo("other.fifo", &[]);
    assert_eq!(t.try_start_move("dlq", Some("other.fifo"), None), Err(Error::MoveTypesDiffer));
}

#[test]
fn ten_tasks_of_a_queue_are_remembered_newest_first() {
    for restart in RESTARTS {
        let mut t = with_dead_letters(&BOTH[0], &[], &[]);
        let ids: Vec<_> = (0..12)
            .map(|_| {
                t.wait(secs(1));
                t.start_move("dlq", None)
            })
            .collect();
        restart(&mut t);
        let listed: Vec<_> = t.move_tasks("dlq").iter().map(|task| task.id).collect();
        let newest: Vec<_> = ids.into_iter().rev().take(10).collect();
        assert_eq!(listed, newest);
        let started: Vec<_> = t.move_tasks("dlq").iter().map(|task| task.started_at).collect();
        assert!(started.is_sorted_by(|one, two| one > two));
    }
}

#[test]
fn an_account_has_a_hundred_running_tasks_at_most() {
    let mut t = TestEngine::new();
    t.thorough = false;
    let names: Vec<_> = (0..=limits::MOVE_TASKS_MAX).map(|n| format!("dlq-{n}")).collect();
    for name in &names {
        t.create(name.as_str());
        t.create_with(format!("of-{name}").as_str(), &[redrive_policy(name.as_str(), 1)]);
        t.send_all(name.as_str(), &["a", "b"]);
    }
    t.create("to");
    let mut ids = Vec::new();
    for name in &names[..limits::MOVE_TASKS_MAX] {
        ids.push(t.try_start_move(name.as_str(), Some("to"), Some(1)).expect("starts"));
    }
    let last = names[limits::MOVE_TASKS_MAX].as_str();
    let refused = Err(Error::TooManyMoveTasks { limit: 100 });
    assert_eq!(t.try_start_move(last, Some("to"), Some(1)), refused);
    // Another account has a hundred of its own.
    let elsewhere = address(7, "us-east-1", "dlq");
    t.create(&elsewhere);
    t.create_with(&address(7, "us-east-1", "source"), &[redrive_policy(&elsewhere, 1)]);
    t.try_start_move(&elsewhere, None, None).expect("starts");
    t.try_cancel_move(names[0].as_str(), ids[0]).expect("cancels");
    t.try_start_move(last, Some("to"), Some(1)).expect("there is room again");
}

#[test]
fn a_task_runs_for_thirty_six_hours_at_most() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = with_dead_letters(&BOTH[0], &["a", "b", "c"], &[]);
        t.try_start_move("dlq", None, Some(1)).expect("starts");
        if let Some(restart) = restart {
            restart(&mut t);
        }
        t.jump(limits::MOVE_TASK_TIME_MAX);
        t.meet_deadlines();
        assert_eq!(t.newest_move("dlq"), (1, 3, failed(MoveTaskFailure::TimedOut)));
        assert_eq!(t.contents("dlq"), ["b", "c"]);
    }
}

#[test]
fn a_restart_resumes_a_task_where_it_was_and_makes_up_for_nothing() {
    for restart in RESTARTS {
        for names in &BOTH {
            let mut t = with_dead_letters(names, &["a", "b", "c", "d", "e"], &[]);
            t.try_start_move(names.dlq, None, Some(1)).expect("starts");
            t.wait(secs(1));
            let before = t.move_tasks(names.dlq);
            restart(&mut t);
            assert_eq!(t.move_tasks(names.dlq), before);
            // The server was away for long; that is no reason to hurry.
            t.jump(secs(3_600));
            t.meet_deadlines();
            assert_eq!(t.newest_move(names.dlq), (3, 5, None));
            t.wait(secs(1) - TICK);
            assert_eq!(t.newest_move(names.dlq), (3, 5, None));
            t.wait(TICK);
            assert_eq!(t.newest_move(names.dlq), (4, 5, None));
            t.wait(secs(1));
            assert_eq!(t.newest_move(names.dlq), (5, 5, COMPLETED));
            assert_eq!(t.contents(names.one), ["a", "b", "c", "d", "e"]);
        }
    }
}

#[test]
fn deleting_the_source_queue_ends_its_task_with_it() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        for names in &BOTH {
            let mut t = with_dead_letters(names, &["a", "b"], &[]);
            let id = t.try_start_move(names.dlq, None, Some(1)).expect("starts");
            t.delete_queue(names.dlq).expect("deletes");
            if let Some(restart) = restart {
                restart(&mut t);
            }
            t.wait(secs(60));
            assert_eq!(t.contents(names.one), ["a"]);
            assert_eq!(t.try_cancel_move(names.dlq, id), Err(Error::MoveSourceMissing));
            create(&mut t, names.dlq, &[]);
            assert_eq!(t.move_tasks(names.dlq), []);
            t.wait(secs(60));
        }
    }
}

#[test]
fn a_purge_or_expiry_leaves_a_task_nothing_to_do() {
    for by_purge in [true, false] {
        let mut t = with_dead_letters(&BOTH[1], &["a", "b", "c"], &[]);
        t.try_start_move("dlq.fifo", None, Some(1)).expect("starts");
        if by_purge {
            t.purge("dlq.fifo").expect("purges");
        } else {
            t.jump(secs(345_600));
            t.set("dlq.fifo", AttributeChange::MessageRetentionPeriod(secs(60)));
            t.meet_deadlines();
        }
        t.wait(secs(1));
        let (_, to_move, outcome) = t.newest_move("dlq.fifo");
        assert_eq!(to_move, 3);
        assert!(outcome.is_some());
    }
}

#[test]
fn groups_keep_their_order_and_their_locks_on_the_way_back() {
    let names = &BOTH[1];
    let mut t = with_dead_letters(names, &["a", "b"], &[]);
    t.send_grouped(names.one, &[("g", "new"), ("h", "other group")]);
    let got = t.try_receive(Receive { max: 1, ..receive_of(names.one) }).expect("receives");
    assert_eq!(bodies(&got), ["new"]);
    t.start_move(names.dlq, None);
    t.expect(names.one, &["other group"]);
    assert_eq!(t.contents(names.one), ["new", "other group", "a", "b"], "they come behind what is there");
    t.delete(names.one, &got[0]).expect("deletes");
    t.expect(names.one, &["a", "b"]);
}

#[test]
fn what_a_task_leaves_behind_is_served_to_who_waits() {
    let names = &BOTH[1];
    let mut t = with_dead_letters(names, &["a", "b"], &[]);
    let a = t.try_receive(Receive { max: 1, ..receive_of(names.dlq) }).expect("receives").remove(0);
    let poll = t.poll(names.dlq, secs(20));
    t.start_move(names.dlq, None);
    assert_eq!(t.newest_move(names.dlq), (0, 1, COMPLETED), "its group is locked");
    assert!(t.is_waiting(poll));
    t.delete(names.dlq, &a).expect("deletes");
    t.expect_answer(poll, &["b"]);
}
