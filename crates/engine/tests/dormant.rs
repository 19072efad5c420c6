//! Runs of a deep backlog are put away and brought back, and nobody can tell.
//!
//! The models run with everything put away as well, and followers of the log in all other tests. Here is what is about
//! it: messages that are named while they are away, runs that cannot be read, and what becomes of them meanwhile.

mod util;

use std::time::Duration;
use tidegate_engine::{
    AttributeChange, Command, Config, Error, Extent, ExtentPlace, MessageSeq, Messages, Portion,
    QueueAddress, Receive, SendEntry,
};
use util::*;

/// An engine with the queue `q` of so many messages, nearly all of them away.
fn deep(count: usize) -> TestEngine {
    let mut t = TestEngine::spilling(Config { cooldown: Duration::ZERO, ..Config::default() });
    t.thorough = false;
    t.create("q");
    send(&mut t, "q", count);
    assert!(t.live.engine.footprint().written < 2_000, "{:?}", t.live.engine.footprint());
    t
}

fn send(t: &mut TestEngine, queue: &str, count: usize) {
    for n in 0..count {
        t.send(queue, &n.to_string());
    }
}

fn numbers(got: &[Got]) -> Vec<u64> {
    got.iter().map(|got| got.receipt.seq.0).collect()
}

fn long(queue: &str) -> Receive {
    Receive { visibility_timeout: Some(hours(10)), ..receive_of(queue) }
}

#[test]
fn everything_comes_out_in_order() {
    let mut t = deep(500);
    for batch in 0..50 {
        let got = t.try_receive(long("q")).expect("receives");
        assert_eq!(numbers(&got), (batch * 10..batch * 10 + 10).collect::<Vec<_>>());
        t.delete("q", &got[3]).expect("deletes");
    }
    t.expect_nothing("q");
    assert!(t.live.loads > 100, "{} runs of four messages came back", t.live.loads);
    t.check_followers();
}

#[test]
fn a_receive_waits_for_a_run_that_cannot_be_read_and_loses_nothing() {
    let mut t = deep(100);
    t.create("other");
    send(&mut t, "other", 1);
    t.live.is_unreadable = true;
    let mut got = 0;
    let waiting = loop {
        let poll = t.poll_with(long("q"));
        if t.is_waiting(poll) {
            break poll;
        }
        got += t.answer(poll).expect("receives").len();
    };
    assert_eq!(t.receive("other").len(), 1, "other queues go on");
    t.wait(secs(1));
    t.expect_answer(waiting, &[]);
    assert_eq!(t.view("q").counts.visible, 100 - got as u64);
    t.live.is_unreadable = false;
    // It is asked for again.
    let mut seen = Vec::new();
    while seen.len() < 100 - got {
        let next = numbers(&t.try_receive(long("q")).expect("receives"));
        assert!(!next.is_empty());
        seen.extend(next);
    }
    assert_eq!(seen, (got as u64..100).collect::<Vec<_>>());
    t.check_followers();
}

#[test]
fn a_noisy_tenant_does_not_overtake_messages_that_are_away() {
    let mut t = deep(0);
    let noisy = |t: &mut TestEngine, count: usize| {
        for n in 0..count {
            let mut message = message(1_000_000 + n as u128, "noisy");
            message.group_id = Some("noisy".into());
            let entries = vec![SendEntry { message, delay: None, content_based: false }];
            t.call(Command::Send { queue: "q".address(), entries }).expect("sends");
        }
    };
    noisy(&mut t, 60);
    (0..5).for_each(|_| drop(t.try_receive(long("q")).expect("receives")));
    send(&mut t, "q", 100);
    for batch in 0..10 {
        let got = t.try_receive(long("q")).expect("receives");
        assert_eq!(numbers(&got), (60 + batch * 10..70 + batch * 10).collect::<Vec<_>>());
    }
    assert_eq!(numbers(&t.receive("q")), (50..60).collect::<Vec<_>>());
}

/// The bench checks that every record is released once, whether its run was read for that or not.
#[test]
fn purge_and_deletion_release_the_records_of_what_is_away() {
    for delete in [false, true] {
        let mut t = deep(300);
        t.receive("q");
        if delete { t.delete_queue("q") } else { t.purge("q") }.expect("goes");
        assert_eq!(t.live_positions().len(), 0);
        assert_eq!(t.live.engine.footprint(), Default::default());
        t.check_followers();
    }
}

#[test]
fn what_is_away_expires_unread() {
    let mut t = deep(300);
    t.live.is_unreadable = true;
    t.wait(secs(345_600) + TICK);
    assert_eq!(t.view("q").counts.visible, 0);
    assert!(!t.live.engine.has_orphans(), "the bench released them");
    t.check_followers();
}

#[test]
fn messages_that_expired_while_their_run_could_not_be_read_do_not_come_back() {
    for restart in [None, Some(0), Some(1)] {
        let mut t = deep(0);
        send(&mut t, "q", 100);
        t.wait(secs(10));
        // The run of the next message is written with it.
        send(&mut t, "q", 101);
        while t.live.engine.poll_wanted().is_some() {}
        t.live.is_unreadable = true;
        t.set("q", AttributeChange::MessageRetentionPeriod(secs(60)));
        t.wait(secs(51));
        t.set("q", AttributeChange::MessageRetentionPeriod(secs(3_600)));
        if let Some(way) = restart {
            RESTARTS[way](&mut t);
        }
        t.live.is_unreadable = false;
        let mut seen = Vec::new();
        loop {
            let got = t.try_receive(long("q")).expect("receives");
            if got.is_empty() {
                break;
            }
            seen.extend(numbers(&got));
        }
        assert_eq!(seen, (100..201).collect::<Vec<_>>());
        t.check_followers();
    }
}

#[test]
fn a_peek_sees_what_is_away() {
    let mut t = deep(300);
    t.receive("q");
    let seen: Vec<_> = t.peek("q").into_iter().map(|(_, peeked)| peeked.touched.stored.seq.0).collect();
    assert_eq!(seen, (0..300).collect::<Vec<_>>());
    for max in [1, 7, 100] {
        let page = t.peek_page("q", Some(MessageSeq(101)), max);
        let page: Vec<_> = page.iter().map(|peeked| peeked.touched.stored.seq.0).collect();
        assert_eq!(page, (102..102 + max as u64).collect::<Vec<_>>());
    }
    t.live.is_unreadable = true;
    let page = t.peek_page("q", Some(MessageSeq(101)), 10);
    assert!(page.len() < 10, "it ends where something cannot be read");
}

#[test]
fn redrive_and_relocation_find_what_is_away() {
    let mut t = deep(300);
    t.create("target");
    let chosen: Vec<_> = [41, 42, 150, 297].map(MessageSeq).into();
    let moved = t.redrive("q", Some("target"), &chosen).expect("redrives");
    assert_eq!(moved, vec![Ok(()); 4]);
    assert_eq!(
        t.redrive("q", Some("target"), &chosen).expect("answers"),
        vec![Err(Error::MessageNotVisible); 4]
    );
    let positions = t.live_positions();
    assert_eq!(t.relocate(&positions), 300);
    assert_eq!(t.view("q").counts.visible, 296);
    let mut seen = Vec::new();
    while seen.len() < 296 {
        seen.extend(numbers(&t.try_receive(long("q")).expect("receives")));
    }
    let left: Vec<_> = (0..300).filter(|n| !chosen.contains(&MessageSeq(*n))).collect();
    assert_eq!(seen, left);
    t.check_followers();
}

#[test]
fn a_relocation_does_not_take_what_cannot_be_read_for_dead() {
    let mut t = deep(100);
    let positions = t.live_positions();
    t.live.is_unreadable = true;
    let moved = t.relocate(&positions);
    assert!(moved < 100, "what cannot be read stays where it is");
    assert_eq!(t.live_positions().len(), 100, "and is not released");
}

#[test]
fn a_run_that_changed_while_it_was_written_is_written_anew() {
    let mut t = TestEngine::with_config(Config { backlog_sizes: TINY, ..Config::default() });
    t.create("q");
    send(&mut t, "q", 60);
    let lasting = |t: &TestEngine| {
        let snapshot = t.live.engine.snapshot();
        let Messages::Standard(messages) = &snapshot.queues[0].messages else { panic!("a standard queue") };
        let lasting = messages.backlog.iter().filter_map(|portion| match portion {
            Portion::Lasting(chunks) => Some(chunks.clone()),
            _ => None,
        });
        (snapshot.queues[0].id, lasting.collect::<Vec<_>>())
    };
    let (queue, runs) = lasting(&t);
    assert!(runs.len() > 5);
    // Meanwhile the record of a message of the fourth run moves.
    let touched = runs[3][0].first();
    t.relocate(&[touched.position]);
    for run in &runs {
        let extent = t.live.shelf.write(run);
        t.live.engine.note_written(queue, run, extent);
    }
    let (_, left) = lasting(&t);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0][0].first().seq, touched.seq);
    t.live.engine.evict(0);
    assert_eq!(t.peek("q").len(), 60);
}

#[test]
fn a_run_is_read_where_it_was_copied_to() {
    let mut t = deep(100);
    let snapshot = t.live.engine.snapshot();
    let Messages::Standard(messages) = &snapshot.queues[0].messages else { panic!("a standard queue") };
    let mut copied = 0;
    for portion in &messages.backlog {
        let Portion::Written { extent, .. } = portion else { continue };
        let chunks = t.live.shelf.read(extent);
        let to = t.live.shelf.write(&chunks).place;
        t.live.engine.note_copied(snapshot.queues[0].id, extent, to);
        t.live.shelf.remove(extent.place);
        copied += 1;
    }
    assert!(copied > 10);
    assert_eq!(t.peek("q").len(), 100);
    let unknown =
        Extent { place: ExtentPlace::default(), ..Extent::of(&t.live.shelf.any(), ExtentPlace::default()) };
    t.live.engine.note_copied(snapshot.queues[0].id, &unknown, ExtentPlace { file: 9, offset: 9, bytes: 9 });
    while !t.try_receive(long("q")).expect("receives").is_empty() {}
    assert_eq!(t.view("q").counts.visible, 0);
}

/// One engine puts away all it can, the other nothing. They are told the same, and must say the same and log the same.
#[test]
fn whether_runs_are_away_decides_nothing() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let config = Config { cooldown: Duration::ZERO, in_flight_max: 400, ..Config::default() };
        let mut plain = TestEngine::with_config(config);
        let mut away = TestEngine::spilling(config);
        let queues = ["a", "b"];
        for t in [&mut plain, &mut away] {
            t.thorough = false;
            t.create("a");
            t.create_with("b", &[redrive_policy("a", 2)]);
        }
        for _ in 0..400 {
            let step = random.fork();
            let mut answers = Vec::new();
            for t in [&mut plain, &mut away] {
                answers.push(take(t, step.clone(), &queues));
            }
            assert_eq!(answers[0], answers[1], "seed {seed}");
        }
        let log = |t: &TestEngine| format!("{:?}", t.log.records);
        assert_eq!(log(&plain), log(&away), "seed {seed}");
        assert!(away.live.loads > 20, "seed {seed}: {} runs came back", away.live.loads);
        away.check_followers();
        assert_eq!(Essence::of(&plain.live, plain.now), Essence::of(&away.live, away.now), "seed {seed}");
    }
}

/// One random step; what there is to tell of it.
fn take(t: &mut TestEngine, mut random: fastrand::Rng, queues: &[&str; 2]) -> String {
    let queue: QueueAddress = queues[random.usize(0..2)].address();
    match random.u32(0..100) {
        0..30 => {
            let bodies = vec!["m"; random.usize(1..=10)];
            (0..random.usize(1..6)).for_each(|_| drop(t.send_all(&queue, &bodies)));
            String::new()
        }
        30..34 => format!("{:?}", t.send_delayed(&queue, "late", secs(random.u64(1..100)))),
        34..64 => {
            let wait = random.bool().then_some(secs(random.u64(0..20)));
            let timeout = Some(secs(random.u64(0..200)));
            let receive = Receive {
                max: random.usize(1..=10),
                wait,
                visibility_timeout: timeout,
                ..receive_of(&queue)
            };
            let poll = t.poll_with(receive);
            if t.is_waiting(poll) {
                return "waits".into();
            }
            let got = t.answer(poll);
            if let Ok(got) = &got {
                got.iter().filter(|_| random.bool()).for_each(|got| drop(t.delete(&queue, got)));
            }
            format!("{got:?}")
        }
        64..74 => {
            let after = random.bool().then(|| MessageSeq(random.u64(0..2_000)));
            format!("{:?}", t.peek_page(&queue, after, random.usize(1..60)))
        }
        74..80 => {
            let chosen: Vec<_> = (0..random.usize(1..8)).map(|_| MessageSeq(random.u64(0..2_000))).collect();
            format!("{:?}", t.redrive(&queue, Some(queues[random.usize(0..2)]), &chosen))
        }
        80..86 => {
            let mut positions = t.live_positions();
            random.shuffle(&mut positions);
            positions.truncate(20);
            t.relocate(&positions).to_string()
        }
        86..87 => format!("{:?}", t.purge(&queue)),
        87..90 => {
            let retention = secs([60, 200, 345_600][random.usize(0..3)]);
            format!("{:?}", t.try_set(&queue, &[AttributeChange::MessageRetentionPeriod(retention)]))
        }
        90..92 => format!("{:?}", t.view(&queue).counts),
        _ => {
            t.wait(Duration::from_millis(random.u64(0..20_000)));
            String::new()
        }
    }
}
