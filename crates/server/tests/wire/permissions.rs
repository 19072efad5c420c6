//! Goal: tools that grant and withdraw permissions find their statements in the policy, each exactly once.

use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::*};
use serde_json::{Value, json};

fn add(label: &str) -> Value {
    let (accounts, actions) = (["111122223333"], ["ReceiveMessage"]);
    json!({ "QueueUrl": "q", "Label": label, "AWSAccountIds": accounts, "Actions": actions })
}

fn remove(label: &str) -> Value {
    json!({ "QueueUrl": "q", "Label": label })
}

fn labels(client: &mut Client) -> Vec<String> {
    let attributes = client.attributes("q");
    let Some(policy) = attributes["Policy"].as_str() else { return Vec::new() };
    let policy: Value = serde_json::from_str(policy).unwrap();
    let statements = policy["Statement"].as_array().unwrap();
    let label = |statement: &Value| statement["Sid"].as_str().unwrap().to_owned();
    let mut labels: Vec<_> = statements.iter().map(label).collect();
    labels.sort();
    labels
}

#[test]
fn permissions_come_and_go_with_their_labels() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    client.call("AddPermission", add("auditors"));
    let expected = concat!(
        r#"{"Version":"2008-10-17","Id":"arn:aws:sqs:us-east-1:000000000000:q/SQSDefaultPolicy","Statement":["#,
        r#"{"Sid":"auditors","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"#,
        r#""Action":"SQS:ReceiveMessage","Resource":"arn:aws:sqs:us-east-1:000000000000:q"}]}"#
    );
    assert_eq!(client.attributes("q")["Policy"], expected);
    let form = [
        ("QueueUrl", "q"),
        ("Label", "senders"),
        ("AWSAccountId.1", "444455556666"),
        ("ActionName.1", "SendMessage"),
    ];
    client.query_call("AddPermission", &form);
    assert_eq!(labels(client), ["auditors", "senders"]);

    let text = client.json("AddPermission", &add("senders")).assert_error(INVALID_VALUE);
    assert_eq!(text, "Value senders for parameter Label is invalid. Reason: Already exists.");
    let text = client.json("RemovePermission", &remove("x")).assert_error(INVALID_VALUE);
    assert_eq!(text, "Value x for parameter Label is invalid. Reason: can't find label on existing policy.");

    client.call("RemovePermission", remove("auditors"));
    assert_eq!(labels(client), ["senders"]);
    client.query_call("RemovePermission", &[("QueueUrl", "q"), ("Label", "senders")]);
    assert!(client.attributes("q").get("Policy").is_none(), "the last one takes the policy along");
    let text = client.json("RemovePermission", &remove("senders")).assert_error(INVALID_VALUE);
    assert_eq!(text, "Value senders for parameter Label is invalid. Reason: can't find label.");
}

#[test]
fn a_policy_that_was_set_keeps_its_statements() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let own = r#"{ "Sid":"own", "Effect":"Deny", "Principal":"*", "Action":"SQS:PurgeQueue" }"#;
    client.create_with("q", json!({ "Policy": format!("{{ \"Statement\": {own} }}") }));
    client.call("AddPermission", add("auditors"));
    assert_eq!(labels(client), ["auditors", "own"]);
    assert!(client.attributes("q")["Policy"].as_str().unwrap().contains(own));
}

#[test]
fn of_permissions_added_at_the_same_time_none_is_lost() {
    const CLIENTS: usize = 4;
    const EACH: usize = 5;
    let server = Setup::new().start();
    server.client().create("q");
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = server.client();
            scope.spawn(move || {
                for i in 0..EACH {
                    client.call("AddPermission", add(&format!("label-{number}-{i}")));
                }
            });
        }
    });
    let client = &mut server.client();
    let expected: Vec<_> =
        (0..CLIENTS).flat_map(|n| (0..EACH).map(move |i| format!("label-{n}-{i}"))).collect();
    assert_eq!(labels(client), expected);
    let text = client.json("AddPermission", &add("one-more")).assert_error(OVER_LIMIT);
    assert_eq!(text, "21 Statements were found, maximum allowed is 20.");
}
