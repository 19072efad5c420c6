//! Replacing a policy: only the one that was read, in one step. And which policies are in force.

mod util;

use tidegate_engine::{AttributeChange, Command, Config, Demand, Document, Engine, Error};
use util::{Named, RESTARTS, TestEngine};

fn document(text: &str) -> Document {
    Document { text: text.into(), canonical: text.into() }
}

fn replace(engine: &mut TestEngine, expected: Option<&str>, policy: Option<&str>) -> Result<(), Error> {
    let expected = expected.map(Into::into);
    engine.done(Command::ReplacePolicy { queue: "q".address(), expected, policy: policy.map(document) })
}

#[test]
fn a_policy_is_replaced_if_it_is_the_one_that_was_read() {
    let mut engine = TestEngine::new();
    assert_eq!(replace(&mut engine, None, Some("a")), Err(Error::QueueMissing));
    engine.create("q");
    assert_eq!(replace(&mut engine, Some("a"), Some("b")), Err(Error::PolicyChanged));
    assert_eq!(replace(&mut engine, None, Some("a")), Ok(()));
    assert_eq!(engine.view("q").attributes.policy, Some(document("a")));
    assert_eq!(replace(&mut engine, None, Some("b")), Err(Error::PolicyChanged), "as a second first one");
    assert_eq!(replace(&mut engine, Some("a "), Some("b")), Err(Error::PolicyChanged), "texts count");
    assert_eq!(engine.view("q").attributes.policy, Some(document("a")));
    engine.set("q", AttributeChange::Policy(Some(document("set"))));
    assert_eq!(replace(&mut engine, Some("a"), None), Err(Error::PolicyChanged));
    assert_eq!(replace(&mut engine, Some("set"), None), Ok(()));
    assert_eq!(engine.view("q").attributes.policy, None);
    assert_eq!(replace(&mut engine, Some("set"), None), Err(Error::PolicyChanged));
}

#[test]
fn removing_a_policy_is_possible_when_room_is_short() {
    let demand = |policy: Option<Document>| {
        Command::ReplacePolicy { queue: "q".address(), expected: None, policy }.demand()
    };
    assert_eq!(demand(Some(document("a"))), Demand::Stores);
    assert_eq!(demand(None), Demand::Changes);
}

/// Takes the policies that changed.
fn updates(engine: &mut Engine) -> Vec<(String, Option<String>)> {
    std::iter::from_fn(|| engine.poll_policy())
        .map(|update| (update.queue.name.to_string(), update.policy.map(Into::into)))
        .collect()
}

fn update(name: &str, policy: Option<&str>) -> (String, Option<String>) {
    (name.into(), policy.map(Into::into))
}

#[test]
fn every_change_of_a_policy_is_told_and_nothing_else() {
    let mut engine =
        TestEngine::with_config(Config { cooldown: std::time::Duration::ZERO, ..Config::default() });
    let policy = |text: &str| AttributeChange::Policy(Some(document(text)));
    engine.create("plain");
    engine.set("plain", AttributeChange::DelaySeconds(std::time::Duration::from_secs(1)));
    engine.delete_queue("plain").unwrap();
    assert_eq!(updates(&mut engine.live.engine), []);
    engine.create_with("q", &[policy("a")]);
    assert_eq!(updates(&mut engine.live.engine), [update("q", Some("a"))]);
    assert_eq!(updates(&mut engine.live.engine), [], "each is taken once");
    engine.set("q", policy("b"));
    engine.set("q", policy("c"));
    assert_eq!(updates(&mut engine.live.engine), [update("q", Some("c"))], "only the last counts");
    assert_eq!(replace(&mut engine, Some("c"), Some("d")), Ok(()));
    assert_eq!(updates(&mut engine.live.engine), [update("q", Some("d"))]);
    assert_eq!(replace(&mut engine, Some("c"), Some("e")), Err(Error::PolicyChanged));
    assert_eq!(updates(&mut engine.live.engine), []);
    engine.set("q", AttributeChange::Policy(None));
    assert_eq!(updates(&mut engine.live.engine), [update("q", None)]);
    engine.set("q", policy("f"));
    engine.delete_queue("q").unwrap();
    engine.create("q");
    assert_eq!(updates(&mut engine.live.engine), [update("q", None)], "a namesake does not inherit it");
}

#[test]
fn after_a_restart_every_policy_is_told() {
    for restart in RESTARTS {
        let mut engine = TestEngine::new();
        engine.create_with("a", &[AttributeChange::Policy(Some(document("p")))]);
        engine.create("b");
        engine.create_with("c", &[AttributeChange::Policy(Some(document("q")))]);
        updates(&mut engine.live.engine);
        restart(&mut engine);
        let expected = [update("a", Some("p")), update("c", Some("q"))];
        assert_eq!(updates(&mut engine.live.engine), expected);
    }
}
