//! The operators' view of messages, and the redrive of those they choose.

mod util;

use tidegate_engine::{AttributeChange, Command, Error, MessageSeq, PeekedState, Receive, Reply};
use util::*;

// Peek.

fn states(t: &mut TestEngine, queue: &str) -> Vec<(String, u32, PeekedState)> {
    t.peek(queue)
        .into_iter()
        .map(|(body, peeked)| (body, peeked.touched.receive_count, peeked.state))
        .collect()
}

#[test]
fn a_peek_shows_messages_of_all_states_and_changes_nothing() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["untouched", "in flight", "returned"]);
    t.send_delayed("q", "delayed", secs(60));
    let got = t.try_receive(Receive { max: 3, ..receive_of("q") }).expect("receives");
    t.change("q", &got[0], secs(0)).expect("changes");
    t.change("q", &got[2], secs(0)).expect("changes");
    t.send("q", "last");
    let poll = t.poll("q", secs(20));
    t.expect_answer(poll, &["untouched", "returned", "last"]);
    t.wait(secs(30));
    t.send("q", "newest");
    let hidden = t.receive_for("q", secs(100));
    t.change("q", &hidden[0], secs(0)).expect("changes");
    let before = Essence::of(&t.live, t.now);
    let records = t.log.records.len();
    let in_flight = PeekedState::InFlight { visible_at: t.now + secs(100) };
    let delayed = PeekedState::Delayed { visible_at: t.now + secs(30) };
    let expected = [
        ("untouched", 3, PeekedState::Visible),
        ("in flight", 2, in_flight),
        ("returned", 3, in_flight),
        ("delayed", 0, delayed),
        ("last", 2, in_flight),
        ("newest", 1, in_flight),
    ];
    for _ in 0..5 {
        let found = states(&mut t, "q");
        let found: Vec<_> =
            found.iter().map(|(body, count, state)| (body.as_str(), *count, *state)).collect();
        assert_eq!(found, expected);
    }
    assert_eq!(Essence::of(&t.live, t.now), before);
    assert_eq!(t.log.records.len(), records, "nothing is written");
    t.expect("q", &["untouched"]);
}

#[test]
fn a_peek_of_a_fifo_queue_shows_what_waits_behind_a_locked_group_as_visible() {
    let mut t = TestEngine::with_fifo_queue();
    t.send_grouped("q.fifo", &[("g", "m1"), ("g", "m2"), ("h", "n1")]);
    t.try_receive(Receive { max: 1, ..receive_of("q.fifo") }).expect("receives");
    t.set("q.fifo", AttributeChange::DelaySeconds(secs(60)));
    t.wait(secs(10));
    t.send_grouped("q.fifo", &[("g", "m3")]);
    let before = Essence::of(&t.live, t.now);
    let in_flight = PeekedState::InFlight { visible_at: t.now + secs(20) };
    let delayed = PeekedState::Delayed { visible_at: t.now + secs(60) };
    let found = states(&mut t, "q.fifo");
    let found: Vec<_> = found.iter().map(|(body, count, state)| (body.as_str(), *count, *state)).collect();
    let visible = PeekedState::Visible;
    assert_eq!(found, [("m1", 1, in_flight), ("m2", 0, visible), ("n1", 0, visible), ("m3", 0, delayed)]);
    assert_eq!(Essence::of(&t.live, t.now), before);
}

#[test]
fn pages_of_a_peek_follow_one_another_without_gaps_or_repetitions() {
    for queue in ["q", "q.fifo"] {
        let mut t = TestEngine::with_queue();
        t.thorough = false;
        t.create_fifo("q.fifo", &[]);
        for n in 0..700 {
            if queue == "q" {
                t.send(queue, &n.to_string());
            } else {
                t.send_grouped(queue, &[(&(n % 7).to_string(), &n.to_string())]);
            }
        }
        for timeout in [0, 600, 0, 600] {
            t.receive_for(queue, secs(timeout));
        }
        let all: Vec<MessageSeq> =
            t.peek(queue).iter().map(|(_, peeked)| peeked.touched.stored.seq).collect();
        assert_eq!(all.len(), 700);
        for max in [1, 7, 256, 699, 700] {
            let (mut after, mut seen) = (None, Vec::new());
            loop {
                let page = t.peek_page(queue, after, max);
                assert!(page.len() <= max);
                let Some(last) = page.last() else { break };
                after = Some(last.touched.stored.seq);
                seen.extend(page.iter().map(|peeked| peeked.touched.stored.seq));
            }
            assert_eq!(seen, all, "in pages of {max}");
        }
        assert_eq!(t.peek_page(queue, None, 0), []);
        assert_eq!(t.peek_page(queue, None, usize::MAX).len(), 700, "the engine bounds a page");
    }
}

#[test]
fn peeking_at_a_queue_that_is_missing_is_refused() {
    let mut t = TestEngine::new();
    let peek = Command::Peek { queue: "none".address(), after: None, max: 1 };
    assert_eq!(t.call(peek).err(), Some(Error::QueueMissing));
}

// Redrive.

/// A dead-letter queue with five dead letters of one source, `a` to `e`.
fn with_dead_letters(suffix: &str) -> (TestEngine, String, String) {
    let mut t = TestEngine::new();
    let (dlq, source) = (format!("dlq{suffix}"), format!("source{suffix}"));
    let all = ["a", "b", "c", "d", "e"];
    if suffix.is_empty() {
        t.create(&*dlq);
        t.create_with(&*source, &[redrive_policy(&*dlq, 1)]);
        t.send_all(&*source, &all);
    } else {
        t.create_fifo(&*dlq, &[]);
        t.create_fifo(&*source, &[redrive_policy(&*dlq, 1)]);
        t.send_grouped(&*source, &all.map(|body| ("g", body)));
    }
    t.receive_for(&*source, secs(0));
    t.expect_nothing(&*source);
    (t, dlq, source)
}

#[test]
fn chosen_messages_go_home_from_the_middle_and_the_rest_stays_in_order() {
    for restart in RESTARTS {
        for suffix in ["", ".fifo"] {
            let (mut t, dlq, source) = with_dead_letters(suffix);
            let dead = t.receive_for(&*dlq, secs(0)).remove(1);
            let chosen = [t.seq_of(&*dlq, "d"), t.seq_of(&*dlq, "b")];
            t.wait(secs(5));
            let poll = t.poll(&*source, secs(20));
            assert_eq!(t.redrive(&*dlq, None, &chosen), Ok(vec![Ok(()), Ok(())]));
            assert_eq!(t.contents(&*dlq), ["a", "c", "e"]);
            let got = t.answer(poll).expect("no error");
            assert_eq!((bodies(&got), got[0].receive_count, &got[0].source), (vec!["d", "b"], 1, &None));
            assert_eq!(got[0].sent_at, t.now);
            assert_ne!(got[1].id, dead.id);
            assert_ne!(got[0].id, got[1].id);
            restart(&mut t);
            assert_eq!(bodies(&t.receive(&*dlq)), ["a", "c", "e"]);
            let again = t.redrive(&*dlq, None, &chosen[..1]);
            assert_eq!(again, Ok(vec![Err(Error::MessageNotVisible)]), "it is there no more");
        }
    }
}

#[test]
fn only_visible_messages_are_redriven_and_each_has_its_own_answer() {
    for suffix in ["", ".fifo"] {
        let (mut t, dlq, source) = with_dead_letters(suffix);
        let locked = t.try_receive(Receive { max: 1, ..receive_of(&*dlq) }).expect("receives").remove(0);
        t.set(&*dlq, AttributeChange::DelaySeconds(secs(60)));
        if suffix.is_empty() {
            t.send(&*dlq, "delayed");
        } else {
            t.send_grouped(&*dlq, &[("g", "delayed")]);
        }
        let chosen: Vec<_> = ["a", "b", "delayed"].iter().map(|body| t.seq_of(&*dlq, body)).collect();
        let unknown = MessageSeq(1 << 40);
        let chosen = [chosen[0], unknown, chosen[1], chosen[2], chosen[1]];
        let not_visible = Err(Error::MessageNotVisible);
        let expected =
            vec![not_visible.clone(), not_visible.clone(), Ok(()), not_visible.clone(), not_visible];
        assert_eq!(t.redrive(&*dlq, None, &chosen), Ok(expected));
        assert_eq!(t.contents(&*source), ["b"], "also one behind a message in flight");
        t.delete(&*dlq, &locked).expect("deletes");
        t.expect(&*dlq, &["c", "d", "e"]);
    }
}

#[test]
fn a_redrive_needs_a_destination_that_is_there() {
    let (mut t, dlq, source) = with_dead_letters("");
    t.create_fifo("other.fifo", &[]);
    t.create("other");
    t.send(&*dlq, "stray");
    let chosen = [t.seq_of(&*dlq, "a"), t.seq_of(&*dlq, "stray")];
    assert_eq!(t.redrive("none", None, &chosen), Err(Error::QueueMissing));
    assert_eq!(t.redrive(&*dlq, Some("none"), &chosen), Err(Error::MoveDestinationMissing));
    assert_eq!(t.redrive(&*dlq, Some(&dlq), &chosen), Err(Error::MoveToItself));
    assert_eq!(t.redrive(&*dlq, Some("other.fifo"), &chosen), Err(Error::MoveTypesDiffer));
    t.delete_queue(&*source).expect("deletes");
    let expected = vec![Err(Error::MoveDestinationMissing), Err(Error::MoveSourceUnknown)];
    assert_eq!(t.redrive(&*dlq, None, &chosen), Ok(expected));
    assert_eq!(t.counts(&*dlq), (6, 0, 0), "nothing moved");
    assert_eq!(t.redrive(&*dlq, Some("other"), &chosen), Ok(vec![Ok(()), Ok(())]));
    assert_eq!(t.contents("other"), ["a", "stray"]);
}

#[test]
fn a_redrive_beside_a_task_takes_messages_from_it() {
    for suffix in ["", ".fifo"] {
        let (mut t, dlq, source) = with_dead_letters(suffix);
        t.try_start_move(&*dlq, None, Some(1)).expect("starts");
        let chosen = [t.seq_of(&*dlq, "e"), t.seq_of(&*dlq, "d")];
        t.redrive(&*dlq, None, &chosen).expect("redrives");
        t.wait(secs(10));
        let task = t.move_tasks(&*dlq).remove(0);
        assert_eq!((task.moved, task.to_move), (3, 5));
        assert!(task.outcome.is_some());
        assert_eq!(t.contents(&*source), ["a", "e", "d", "b", "c"]);
    }
}

#[test]
fn one_message_leaves_a_sealed_chunk_and_the_rest_stays() {
    for restart in RESTARTS.into_iter().map(Some).chain([None]) {
        let mut t = TestEngine::with_queue();
        t.thorough = false;
        t.create("to");
        for n in 0..120 {
            let batch: Vec<_> = (n * 10..n * 10 + 10).map(|n| n.to_string()).collect();
            t.send_all("q", &batch.iter().map(String::as_str).collect::<Vec<_>>());
        }
        // From the first chunk, a sealed one, the ends of one, and the newest, which is sealed as yet.
        let chosen: Vec<_> =
            [0, 1, 300, 511, 512, 700, 1_199].map(|n| t.seq_of("q", &n.to_string())).to_vec();
        let settled = t.redrive("q", Some("to"), &chosen).expect("redrives");
        assert!(settled.iter().all(Result::is_ok), "{settled:?}");
        t.check_followers();
        if let Some(restart) = restart {
            restart(&mut t);
        }
        assert_eq!(t.contents("to"), ["0", "1", "300", "511", "512", "700", "1199"]);
        assert_eq!(t.counts("q"), (1_193, 0, 0));
        let settled = t.redrive("q", Some("to"), &chosen).expect("answers");
        assert!(settled.iter().all(|settled| *settled == Err(Error::MessageNotVisible)));
        let mut seen = Vec::new();
        loop {
            let got = t.receive_for("q", hours(1));
            if got.is_empty() {
                break;
            }
            seen.extend(got.into_iter().map(|got| got.body.parse::<u32>().expect("a number")));
        }
        let left: Vec<_> = (0..1_200).filter(|n| ![0, 1, 300, 511, 512, 700, 1_199].contains(n)).collect();
        assert_eq!(seen, left);
    }
}

#[test]
fn a_redrive_of_nothing_does_nothing() {
    let (mut t, dlq, _) = with_dead_letters(".fifo");
    let records = t.log.records.len();
    assert_eq!(t.redrive(&*dlq, None, &[]), Ok(vec![]));
    assert_eq!(t.log.records.len(), records);
    assert!(matches!(t.call(Command::FindQueue { queue: (&*dlq).address() }), Ok(Reply::Done)));
}
