//! Replacing a policy: only the one that was read, in one step.

mod util;

use tidegate_engine::{AttributeChange, Command, Demand, Document, Error};
use util::{Named, TestEngine};

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
