//! Queues as such: creation, attributes, tags, listing, deletion and purge with their cool-downs.

mod util;

use std::time::Duration;
use tidegate_engine::{
    AttributeChange, Command, Config, DeduplicationScope, Document, Error, FifoThroughputLimit,
    QueueAttributes, Receive, RedriveAllowPolicy, RedrivePolicy, Reply,
};
use util::*;

use AttributeChange::{
    DelaySeconds, KmsMasterKeyId, MaximumMessageSize, MessageRetentionPeriod, Policy,
    ReceiveMessageWaitTimeSeconds, SqsManagedSseEnabled, VisibilityTimeout,
};

fn exists_with_another(attribute: &'static str) -> Result<(), Error> {
    Err(Error::QueueExists { attribute })
}

#[test]
fn creation_is_idempotent_against_the_current_values() {
    let mut t = TestEngine::new();
    let wait = ReceiveMessageWaitTimeSeconds(secs(1));
    t.create_with("q", &[VisibilityTimeout(secs(1)), wait.clone()]);
    assert_eq!(t.try_create("q", &[]), Ok(()));
    assert_eq!(t.try_create("q", &[VisibilityTimeout(secs(1))]), Ok(()));
    assert_eq!(t.try_create("q", &[VisibilityTimeout(secs(2))]), exists_with_another("VisibilityTimeout"));
    t.set("q", VisibilityTimeout(secs(2)));
    assert_eq!(t.try_create("q", &[VisibilityTimeout(secs(1))]), exists_with_another("VisibilityTimeout"));
    assert_eq!(t.try_create("q", &[wait, VisibilityTimeout(secs(2))]), Ok(()));
    t.send_delayed("q", "a", secs(60));
    assert_eq!(t.try_create("q", &[]), Ok(()));
    assert_eq!(t.counts("q"), (0, 0, 1), "nothing happened to the queue");
}

#[test]
fn creation_compares_given_attributes_with_defaults_too() {
    let mut t = TestEngine::with_queue();
    let defaults = [
        DelaySeconds(Duration::ZERO),
        MaximumMessageSize(1_048_576),
        MessageRetentionPeriod(secs(345_600)),
        ReceiveMessageWaitTimeSeconds(Duration::ZERO),
        VisibilityTimeout(secs(30)),
        SqsManagedSseEnabled(true),
        KmsMasterKeyId(None),
        Policy(None),
    ];
    assert_eq!(t.try_create("q", &defaults), Ok(()));
    let others = [
        DelaySeconds(secs(1)),
        MaximumMessageSize(1024),
        MessageRetentionPeriod(secs(60)),
        ReceiveMessageWaitTimeSeconds(secs(1)),
        VisibilityTimeout(secs(0)),
        SqsManagedSseEnabled(false),
        KmsMasterKeyId(Some("key".into())),
        Policy(Some(Document { text: "{}".into(), canonical: "{}".into() })),
    ];
    for other in others {
        let name = other.name();
        assert_eq!(t.try_create("q", &[defaults[0].clone(), other]), exists_with_another(name));
    }
}

#[test]
fn the_first_differing_attribute_of_the_request_is_named() {
    let mut t = TestEngine::with_queue();
    let attributes = [VisibilityTimeout(secs(30)), MaximumMessageSize(2000), DelaySeconds(secs(9))];
    assert_eq!(t.try_create("q", &attributes), exists_with_another("MaximumMessageSize"));
}

#[test]
fn tags_play_no_part_in_idempotency_and_do_not_reach_an_existing_queue() {
    let mut t = TestEngine::new();
    let create = |pairs| Command::CreateQueue { queue: "q".address(), attributes: vec![], tags: tags(pairs) };
    t.call(create(&[("a", "1")])).expect("creates");
    t.call(create(&[("a", "2"), ("b", "")])).expect("confirms");
    assert_eq!(t.view("q").tags, tags(&[("a", "1")]));
}

#[test]
fn a_deleted_name_rests_exactly_sixty_seconds() {
    let mut t = TestEngine::with_queue();
    t.create("other");
    t.delete_queue("q").expect("deletes");
    assert_eq!(t.try_create("q", &[]), Err(Error::QueueDeletedRecently));
    t.wait(secs(60) - TICK);
    t.delete_queue("other").expect("deletes");
    assert_eq!(t.try_create("q", &[]), Err(Error::QueueDeletedRecently));
    t.wait(TICK);
    assert_eq!(t.try_create("q", &[]), Ok(()));
    assert_eq!(t.try_create("other", &[]), Err(Error::QueueDeletedRecently));
    t.wait(secs(60) - TICK);
    assert_eq!(t.try_create("other", &[]), Ok(()));
}

#[test]
fn the_last_of_several_deletions_of_a_name_counts() {
    let mut t = TestEngine::with_queue();
    t.delete_queue("q").expect("deletes");
    t.wait(secs(60));
    t.create("q");
    t.delete_queue("q").expect("deletes");
    t.wait(secs(60) - TICK);
    assert_eq!(t.try_create("q", &[]), Err(Error::QueueDeletedRecently));
    t.wait(TICK);
    assert_eq!(t.try_create("q", &[]), Ok(()));
}

#[test]
fn a_deleted_name_rests_in_its_own_account_and_region_only() {
    let mut t = TestEngine::with_queue();
    t.delete_queue("q").expect("deletes");
    t.create(&address(1, "us-east-1", "q"));
    t.create(&address(0, "eu-west-1", "q"));
    assert!(!t.exists("q"));
}

#[test]
fn cool_downs_outlive_a_restart_to_the_millisecond() {
    for restart in RESTARTS {
        let mut t = TestEngine::with_queue();
        t.create("purged");
        t.delete_queue("q").expect("deletes");
        t.purge("purged").expect("purges");
        restart(&mut t);
        t.wait(secs(60) - TICK);
        assert_eq!(t.try_create("q", &[]), Err(Error::QueueDeletedRecently));
        assert_eq!(t.purge("purged"), Err(Error::PurgeInProgress));
        t.wait(TICK);
        assert_eq!(t.try_create("q", &[]), Ok(()));
        assert_eq!(t.purge("purged"), Ok(()));
    }
}

#[test]
fn cool_downs_can_be_switched_off() {
    let mut t = TestEngine::with_config(Config { cooldown: Duration::ZERO, ..Config::default() });
    for _ in 0..3 {
        t.create("q");
        t.send("q", "a");
        assert_eq!((t.purge("q"), t.purge("q")), (Ok(()), Ok(())));
        t.delete_queue("q").expect("deletes");
    }
}

#[test]
fn a_purge_takes_every_message_and_what_comes_later_survives() {
    let mut t = TestEngine::with_queue();
    t.create("other");
    t.send("other", "untouched");
    t.send_all("q", &["a", "b"]);
    t.receive_for("q", secs(0));
    t.send("q", "c");
    let hidden = t.try_receive(Receive { max: 1, ..receive_of("q") }).expect("receives").remove(0);
    t.send_delayed("q", "d", secs(5));
    assert_eq!(t.counts("q"), (2, 1, 1));
    t.purge("q").expect("purges");
    assert_eq!((t.counts("q"), t.counts("other")), ((0, 0, 0), (1, 0, 0)));
    t.send("q", "later");
    assert_eq!(t.delete("q", &hidden), Ok(()));
    assert_eq!(t.change("q", &hidden, secs(1)), Err(Error::NotAvailable));
    t.wait(secs(60));
    t.expect("q", &["later"]);
}

#[test]
fn a_purge_rests_exactly_sixty_seconds() {
    let mut t = TestEngine::with_queue();
    t.create("other");
    t.purge("q").expect("purges");
    assert_eq!(t.purge("q"), Err(Error::PurgeInProgress));
    assert_eq!(t.purge("other"), Ok(()), "each queue for itself");
    t.wait(secs(60) - TICK);
    assert_eq!(t.purge("q"), Err(Error::PurgeInProgress));
    t.wait(TICK);
    assert_eq!(t.purge("q"), Ok(()));
    assert_eq!(t.purge("q"), Err(Error::PurgeInProgress), "counted from the newest purge");
}

#[test]
fn a_refused_purge_keeps_the_messages_and_does_not_prolong_the_rest() {
    let mut t = TestEngine::with_queue();
    t.purge("q").expect("purges");
    t.send("q", "a");
    t.wait(secs(59));
    assert_eq!(t.purge("q"), Err(Error::PurgeInProgress));
    assert_eq!(t.counts("q"), (1, 0, 0));
    t.wait(secs(1));
    assert_eq!(t.purge("q"), Ok(()));
}

#[test]
fn a_new_queue_of_an_old_name_starts_afresh() {
    let mut t = TestEngine::with_config(Config { cooldown: secs(60), ..Config::default() });
    t.create_with("q", &[VisibilityTimeout(secs(5)), DelaySeconds(secs(5))]);
    t.tag("q", &[("a", "1")]).expect("tags");
    t.send("q", "old");
    t.purge("q").expect("purges");
    t.delete_queue("q").expect("deletes");
    t.wait(secs(60));
    t.create("q");
    let view = t.view("q");
    assert_eq!((view.attributes, view.tags), (QueueAttributes::default(), tags(&[])));
    assert_eq!((view.created_at, view.modified_at, view.counts.visible), (t.now, t.now, 0));
    assert_eq!(t.purge("q"), Ok(()));
}

#[test]
fn every_command_on_a_missing_queue_is_refused() {
    let mut t = TestEngine::with_queue();
    t.send("q", "a");
    let got = t.receive_one("q");
    t.delete_queue("q").expect("deletes");
    let missing = Err(Error::QueueMissing);
    assert!(!t.exists("q"));
    assert_eq!(t.delete_queue("q"), missing);
    assert_eq!(t.purge("q"), missing);
    assert_eq!(t.try_set("q", &[DelaySeconds(secs(1))]), missing);
    assert_eq!(t.tag("q", &[("a", "1")]), missing);
    assert_eq!(t.untag("q", &["a"]), missing);
    assert_eq!(t.try_receive(receive_of("q")).map(drop), missing);
    assert_eq!(t.try_send("q", vec![("a".into(), None)]).map(drop), missing);
    assert_eq!(t.delete("q", &got), missing);
    assert_eq!(t.change("q", &got, secs(1)), missing);
    assert!(matches!(t.call(Command::ViewQueue { queue: "q".address() }), Err(Error::QueueMissing)));
    t.return_undelivered(&[got]);
}

#[test]
fn deleting_a_queue_releases_all_it_held() {
    let mut t = TestEngine::with_queue();
    let entries = |n: usize| (0..n).map(|_| ("x".to_owned(), None)).collect::<Vec<_>>();
    t.thorough = false;
    (0..60).for_each(|_| drop(t.try_send("q", entries(10)).expect("sends")));
    t.thorough = true;
    t.receive("q");
    t.receive_for("q", secs(0));
    t.send_delayed("q", "later", secs(9));
    t.delete_queue("q").expect("deletes");
    assert!(t.live_positions().is_empty());
    assert_eq!(t.live.engine.poll_timeout(), None);
}

#[test]
fn setting_attributes_changes_only_those_named() {
    let mut t = TestEngine::new();
    t.create_with("q", &[VisibilityTimeout(secs(5))]);
    let created_at = t.now;
    t.wait(secs(10));
    t.try_set("q", &[DelaySeconds(secs(7)), MaximumMessageSize(5000)]).expect("sets");
    let view = t.view("q");
    let expected = QueueAttributes {
        visibility_timeout: secs(5),
        delay: secs(7),
        maximum_message_size: 5000,
        ..QueueAttributes::default()
    };
    assert_eq!(view.attributes, expected);
    assert_eq!((view.created_at, view.modified_at), (created_at, t.now));
}

#[test]
fn tags_overwrite_and_unknown_keys_are_ignored() {
    let mut t = TestEngine::with_queue();
    let modified_at = t.view("q").modified_at;
    t.wait(secs(1));
    t.tag("q", &[("a", "1"), ("b", ""), ("A", "2")]).expect("tags");
    t.tag("q", &[("a", "3")]).expect("tags");
    t.untag("q", &["b", "nowhere"]).expect("untags");
    let view = t.view("q");
    assert_eq!(view.tags, tags(&[("A", "2"), ("a", "3")]));
    assert_eq!(view.modified_at, modified_at, "tags are no attributes");
}

#[test]
fn fifo_attributes_are_refused_on_standard_queues() {
    let mut t = TestEngine::with_queue();
    let fifo_only = [
        AttributeChange::FifoQueue(false),
        AttributeChange::ContentBasedDeduplication(false),
        AttributeChange::DeduplicationScope(DeduplicationScope::Queue),
        AttributeChange::FifoThroughputLimit(FifoThroughputLimit::PerQueue),
    ];
    for change in fifo_only {
        let refused = Err(Error::AttributeOfFifo { attribute: change.name() });
        let changes = [DelaySeconds(secs(1)), change];
        assert_eq!(t.try_create("new", &changes), refused);
        assert_eq!(t.try_create("q", &changes), refused);
        assert_eq!(t.try_set("q", &changes), refused);
    }
    assert!(!t.exists("new"));
    assert_eq!(t.view("q").attributes, QueueAttributes::default(), "all or none");
}

#[test]
fn encryption_is_of_one_kind_at_a_time() {
    let mut t = TestEngine::with_queue();
    let both = [KmsMasterKeyId(Some("key".into())), SqsManagedSseEnabled(true)];
    assert_eq!(t.try_set("q", &both), Err(Error::EncryptionConflict));
    assert_eq!(t.try_create("new", &both), Err(Error::EncryptionConflict));
    t.set("q", KmsMasterKeyId(Some("key".into())));
    assert!(!t.view("q").attributes.sqs_managed_sse);
    t.set("q", SqsManagedSseEnabled(true));
    assert_eq!(t.view("q").attributes, QueueAttributes::default());
}

#[test]
fn a_redrive_policy_needs_its_dead_letter_queue_and_that_queues_permission() {
    let mut t = TestEngine::with_queue();
    let redrive = |dlq: &str| {
        let policy = RedrivePolicy { dead_letter_target: dlq.address(), max_receive_count: 3 };
        [AttributeChange::RedrivePolicy(Some(policy))]
    };
    let allow = |policy| AttributeChange::RedriveAllowPolicy(Some(policy));
    assert_eq!(t.try_set("q", &redrive("dlq")), Err(Error::DeadLetterMissing));
    assert_eq!(t.try_create("new", &redrive("dlq")), Err(Error::DeadLetterMissing));
    t.create("dlq");
    assert_eq!(t.try_set("q", &redrive("dlq")), Ok(()));
    t.set("dlq", allow(RedriveAllowPolicy::DenyAll));
    assert_eq!(t.try_set("q", &redrive("dlq")), Err(Error::DeadLetterForbidden));
    t.set("dlq", allow(RedriveAllowPolicy::ByQueue(vec!["q".address().arn().into()])));
    assert_eq!(t.try_set("q", &redrive("dlq")), Ok(()));
    assert_eq!(t.try_create("new", &redrive("dlq")), Err(Error::DeadLetterForbidden));
    t.set("dlq", allow(RedriveAllowPolicy::AllowAll));
    assert_eq!(t.try_create("new", &redrive("dlq")), Ok(()));
    assert!(t.view("new").attributes.redrive_policy.is_some());
}

/// Names of one page and whether there are more.
fn list(
    t: &mut TestEngine,
    place: (u64, &str),
    prefix: &str,
    after: Option<&str>,
    max: usize,
) -> (Vec<String>, bool) {
    let of = address(place.0, place.1, "x");
    let (account, region, after) = (of.account, of.region, after.map(name_of));
    match t.call(Command::ListQueues { account, region, prefix: prefix.into(), after, max }) {
        Ok(Reply::Queues { names, more }) => {
            (names.iter().map(|name| name.as_str().to_owned()).collect(), more)
        }
        other => panic!("no list: {other:?}"),
    }
}

#[test]
fn listings_show_one_account_and_region_in_name_order() {
    let mut t = TestEngine::new();
    let places = [(0, "us-east-1"), (0, "eu-west-1"), (1, "us-east-1"), (0, "us-east-2"), (7, "ap-1")];
    for (n, (account, region)) in places.into_iter().enumerate() {
        for name in ["b", "a", "-", "Z", "_", "0"] {
            t.create(&address(account, region, &format!("{name}{n}")));
            t.create(&address(account, region, name));
        }
    }
    for (n, place) in places.into_iter().enumerate() {
        let names = |stem: &str| [stem.to_owned(), format!("{stem}{n}")];
        let expected: Vec<_> = ["-", "0", "Z", "_", "a", "b"].iter().flat_map(|stem| names(stem)).collect();
        assert_eq!(list(&mut t, place, "", None, 1000), (expected, false));
    }
    assert_eq!(list(&mut t, (1, "eu-west-1"), "", None, 1000), (vec![], false));
    assert_eq!(list(&mut t, (9, "us-east-1"), "", None, 1000), (vec![], false));
}

#[test]
fn listings_follow_a_case_sensitive_prefix() {
    let mut t = TestEngine::new();
    let here = (0, "us-east-1");
    for name in ["order", "orders", "orders-dlq", "order-", "Orders", "orderz", "p", "o"] {
        t.create(name);
    }
    t.create(&address(1, "us-east-1", "orders-of-another"));
    let mut names = |prefix: &str| list(&mut t, here, prefix, None, 1000).0;
    assert_eq!(names("orders"), ["orders", "orders-dlq"]);
    assert_eq!(names("order"), ["order", "order-", "orders", "orders-dlq", "orderz"]);
    assert_eq!(names("O"), ["Orders"]);
    assert_eq!(names("ordersx"), [""; 0]);
    assert_eq!(names("zz"), [""; 0]);
    // Prefixes that are no queue names themselves.
    assert_eq!(names("order."), [""; 0]);
    assert_eq!(names("ordér"), [""; 0]);
    assert_eq!(names(&"o".repeat(200)), [""; 0]);
}

#[test]
fn pages_join_without_gap_or_overlap() {
    let mut t = TestEngine::new();
    t.thorough = false;
    let here = (0, "us-east-1");
    let all: Vec<_> = (0..25).map(|n| format!("q-{n:02}")).collect();
    all.iter().rev().for_each(|name| t.create(name.as_str()));
    ["a", "q", "q-", "q-3x", "z"].into_iter().for_each(|name| t.create(name));
    for (prefix, expected) in [("q-0", &all[..10]), ("q-1", &all[10..20]), ("q-2", &all[20..])] {
        for max in [1, 2, 3, 5, 9, 10, 11, 1000] {
            let mut seen: Vec<String> = Vec::new();
            loop {
                let after = seen.last().cloned();
                let (names, more) = list(&mut t, here, prefix, after.as_deref(), max);
                assert!(names.len() <= max);
                seen.extend(names);
                assert_eq!(more, seen.len() < expected.len(), "prefix {prefix}, pages of {max}");
                if !more {
                    break;
                }
            }
            assert_eq!(seen, expected, "prefix {prefix}, pages of {max}");
        }
    }
}

#[test]
fn a_page_goes_on_although_its_last_queue_was_deleted() {
    let mut t = TestEngine::new();
    let here = (0, "us-east-1");
    ["a", "b", "c"].into_iter().for_each(|name| t.create(name));
    assert_eq!(list(&mut t, here, "", None, 2), (vec!["a".into(), "b".into()], true));
    t.delete_queue("b").expect("deletes");
    assert_eq!(list(&mut t, here, "", Some("b"), 2), (vec!["c".into()], false));
    assert_eq!(list(&mut t, here, "b", Some("a"), 2), (vec![], false));
    assert_eq!(list(&mut t, here, "c", Some("a"), 2), (vec!["c".into()], false));
    assert_eq!(list(&mut t, here, "a", Some("b"), 2), (vec![], false));
}

#[test]
fn queues_of_one_name_in_several_places_are_apart() {
    let mut t = TestEngine::new();
    let (here, there) = (address(0, "us-east-1", "q"), address(0, "eu-west-1", "q"));
    t.create(&here);
    t.create(&there);
    t.send(&here, "here");
    t.expect_nothing(&there);
    let got = t.receive_one(&here);
    assert_eq!(t.delete(&there, &got), Err(Error::ReceiptOfOtherQueue));
    t.delete_queue(&there).expect("deletes");
    assert_eq!(t.counts(&here), (0, 1, 0));
}
