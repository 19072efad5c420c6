//! Limits of state: messages in flight, sizes, tags.

mod util;

use tidegate_engine::{
    AttributeChange, AttributeValue, Command, Config, Error, MessageAttribute, Receive, Reply, SendEntry,
    limits,
};
use util::*;

fn with_room_for(in_flight_max: usize) -> TestEngine {
    let mut t = TestEngine::with_config(Config { in_flight_max, ..Config::default() });
    t.create("q");
    t
}

#[test]
fn a_receive_takes_no_more_than_the_room_in_flight() {
    let mut t = with_room_for(3);
    t.send_all("q", &["a", "b", "c", "d", "e"]);
    assert_eq!(bodies(&t.receive("q")), ["a", "b", "c"]);
    assert_eq!(t.counts("q"), (2, 3, 0));
}

#[test]
fn a_short_poll_at_the_limit_is_refused() {
    let mut t = with_room_for(2);
    t.send_all("q", &["a", "b", "c"]);
    let got = t.receive("q");
    assert_eq!(t.try_receive(receive_of("q")), Err(Error::OverLimit));
    t.delete("q", &got[0]).expect("deletes");
    assert_eq!(bodies(&t.receive("q")), ["c"]);
    assert_eq!(t.try_receive(receive_of("q")), Err(Error::OverLimit), "also with nothing visible");
    t.wait(secs(30));
    assert_eq!(bodies(&t.receive("q")), ["b", "c"]);
}

#[test]
fn a_long_poll_at_the_limit_waits_in_silence() {
    let mut t = with_room_for(1);
    t.send_all("q", &["a", "b"]);
    t.receive_for("q", secs(60));
    let poll = t.poll("q", secs(20));
    t.wait(secs(20) - TICK);
    assert!(t.is_waiting(poll));
    t.wait(TICK);
    t.expect_answer(poll, &[]);
}

#[test]
fn room_in_flight_wakes_a_long_poll_however_it_came() {
    type Act = fn(&mut TestEngine, &Got);
    let acts: [(&str, Act, &str); 4] = [
        ("delete", |t, got| t.delete("q", got).expect("deletes"), "b"),
        ("terminate", |t, got| t.change("q", got, secs(0)).expect("changes"), "a"),
        ("timeout", |t, _| t.wait(secs(15)), "a"),
        ("return", |t, got| t.return_undelivered(std::slice::from_ref(got)), "a"),
    ];
    for (what, act, woken_by) in acts {
        let mut t = with_room_for(1);
        t.send_all("q", &["a", "b"]);
        let got = t.receive_for("q", secs(15)).remove(0);
        let poll = t.poll("q", secs(20));
        assert!(t.is_waiting(poll), "{what}");
        act(&mut t, &got);
        t.expect_answer(poll, &[woken_by]);
    }
}

#[test]
fn room_for_one_wakes_one_poll() {
    let mut t = with_room_for(2);
    t.send_all("q", &["a", "b", "c", "d"]);
    let got = t.receive("q");
    let polls = [(); 2].map(|()| t.poll("q", secs(20)));
    t.delete("q", &got[0]).expect("deletes");
    t.expect_answer(polls[0], &["c"]);
    assert!(t.is_waiting(polls[1]));
    t.delete("q", &got[1]).expect("deletes");
    t.expect_answer(polls[1], &["d"]);
}

#[test]
fn a_purge_makes_room_in_flight() {
    let mut t = with_room_for(1);
    t.send_all("q", &["a", "b"]);
    t.receive("q");
    t.purge("q").expect("purges");
    t.send("q", "c");
    t.expect("q", &["c"]);
}

#[test]
fn each_queue_has_its_own_quota() {
    let mut t = with_room_for(1);
    t.create("other");
    t.send("q", "a");
    t.send("other", "b");
    t.expect("q", &["a"]);
    t.expect("other", &["b"]);
}

#[test]
fn a_message_that_is_not_hidden_takes_no_room() {
    let mut t = with_room_for(1);
    t.send_all("q", &["a", "b"]);
    for _ in 0..3 {
        assert_eq!(bodies(&t.receive_for("q", secs(0))), ["a"]);
    }
    assert_eq!(t.counts("q"), (2, 0, 0));
}

#[test]
fn a_message_of_exactly_the_limit_passes() {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::MaximumMessageSize(1024)]);
    let sizes = [1024, 1025, 1, 1023];
    let entries = sizes.map(|size| ("x".repeat(size), None)).to_vec();
    let sent = t.try_send("q", entries).expect("the queue exists");
    let accepted: Vec<_> = sent.iter().map(|sent| sent.as_ref().err()).collect();
    assert_eq!(accepted, [None, Some(&Error::MessageTooLong { limit: 1024 }), None, None]);
    assert_eq!(t.counts("q"), (3, 0, 0), "only the long one failed");
}

#[test]
fn one_message_that_is_too_long_fails_all_that_are_sent_to_a_fifo_queue_with_it() {
    let mut t = TestEngine::with_fifo_queue();
    t.set("q.fifo", AttributeChange::MaximumMessageSize(1024));
    let mut send = |sizes: [usize; 2]| {
        let [first, second] = sizes.map(|size| "x".repeat(size));
        let entries = vec![t.entry("g", "first", &first), t.entry("g", "second", &second)];
        (t.try_send_entries("q.fifo", entries).map(|sent| sent.len()), t.counts("q.fifo").0)
    };
    assert_eq!(send([1, 1025]), (Err(Error::MessageTooLong { limit: 1024 }), 0));
    assert_eq!(send([1, 1024]), (Ok(2), 2), "the first one was not remembered either");
}

#[test]
fn attributes_count_with_name_type_and_value() {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::MaximumMessageSize(1024)]);
    let attributes = vec![
        MessageAttribute {
            name: "name".into(),
            data_type: "Number.customtype".into(),
            value: AttributeValue::Text("12".into()),
        },
        MessageAttribute {
            name: "b".into(),
            data_type: "Binary".into(),
            value: AttributeValue::Binary(vec![0; 3].into()),
        },
    ];
    let overhead = 4 + 17 + 2 + 1 + 6 + 3;
    for (size, fits) in [(1024 - overhead, true), (1025 - overhead, false)] {
        let mut message = message(9, vec![b'x'; size]);
        message.attributes.clone_from(&attributes);
        // What the service adds does not count.
        message.trace_header = Some("Root=1".into());
        message.group_id = Some("tenant".into());
        let entries = vec![SendEntry { message, delay: None, content_based: false }];
        let reply = t.call(Command::Send { queue: "q".address(), entries }).expect("the queue exists");
        let Reply::Sent(sent) = reply else { panic!("{reply:?}") };
        assert_eq!(sent[0].is_ok(), fits);
    }
}

#[test]
fn the_default_limit_is_a_mebibyte_and_may_change_any_time() {
    let mut t = TestEngine::with_queue();
    let send =
        |t: &mut TestEngine, size| t.try_send("q", vec![("x".repeat(size), None)]).expect("sends").remove(0);
    assert!(send(&mut t, 1_048_576).is_ok());
    assert_eq!(send(&mut t, 1_048_577), Err(Error::MessageTooLong { limit: 1_048_576 }));
    t.set("q", AttributeChange::MaximumMessageSize(2000));
    assert_eq!(send(&mut t, 2001), Err(Error::MessageTooLong { limit: 2000 }));
    assert_eq!(t.receive("q").len(), 1, "what is stored stays");
}

#[test]
fn a_refused_message_wakes_nobody_and_writes_nothing() {
    let mut t = TestEngine::new();
    t.create_with("q", &[AttributeChange::MaximumMessageSize(1024)]);
    let poll = t.poll("q", secs(20));
    let records = t.log.records.len();
    t.try_send("q", vec![("x".repeat(1025), None)]).expect("the queue exists");
    assert!(t.is_waiting(poll));
    assert_eq!(t.log.records.len(), records);
}

#[test]
fn a_queue_has_at_most_the_permitted_tags() {
    let mut t = TestEngine::with_queue();
    let too_many = Err(Error::TooManyTags { limit: limits::TAGS_MAX });
    let keys: Vec<_> = (0..=limits::TAGS_MAX).map(|n| n.to_string()).collect();
    let pairs: Vec<_> = keys.iter().map(|key| (key.as_str(), "v")).collect();
    assert_eq!(t.tag("q", &pairs), too_many);
    assert_eq!(t.tag("q", &pairs[1..]), Ok(()));
    assert_eq!(t.tag("q", &pairs[..1]), too_many);
    assert_eq!(t.tag("q", &pairs[1..]), Ok(()), "overwriting adds none");
    t.untag("q", &["1"]).expect("untags");
    assert_eq!(t.tag("q", &pairs[..1]), Ok(()));
    let create = |queue: &str, pairs| Command::CreateQueue {
        queue: queue.address(),
        attributes: vec![],
        tags: tags(pairs),
    };
    assert!(matches!(t.call(create("new", &pairs)), Err(Error::TooManyTags { .. })));
    assert!(t.call(create("new", &pairs[1..])).is_ok());
}

#[test]
fn a_batch_takes_at_most_what_was_asked() {
    let mut t = TestEngine::with_queue();
    t.send_all("q", &["a", "b", "c"]);
    let got = t.try_receive(Receive { max: 2, ..receive_of("q") }).expect("receives");
    assert_eq!(bodies(&got), ["a", "b"]);
    let got = t.try_receive(Receive { max: 2, ..receive_of("q") }).expect("receives");
    assert_eq!(bodies(&got), ["c"]);
}
