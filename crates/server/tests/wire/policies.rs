//! Goal: a queue is open to exactly those whom its owner lets in, from the answer to the change on and after a crash.

use crate::support::http::Answer;
use crate::support::server::{Server, Setup};
use crate::support::sign::Signer;
use crate::support::sqs::{Client, errors::*};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[[credentials]]
access_key = "OWNER"
secret_key = "owners-secret"
account = "111122223333"
user = "owner"

[[credentials]]
access_key = "CLERK"
secret_key = "clerks-secret"
account = "111122223333"
user = "clerk"
actions = ["sqs:SendMessage", "sqs:GetQueue*"]
resources = ["arn:aws:sqs:*:111122223333:orders*"]

[[credentials]]
access_key = "PARTNER"
secret_key = "partners-secret"
account = "444455556666"
user = "partner"
"#;

const QUEUE: &str = "http://localhost/111122223333/orders";
const ARN: &str = "arn:aws:sqs:us-east-1:111122223333:orders";
const NO_POLICY: &str = "because no resource-based policy allows";
const NO_GRANT: &str = "because no identity-based policy allows";
const EXPLICIT: &str = "with an explicit deny in a resource-based policy";

fn setup() -> Setup {
    Setup::new().config(CONFIG).without_cooldowns()
}

fn owner(server: &Server) -> Client {
    server.client().signed_by(&Signer::new("OWNER", "owners-secret"))
}

fn clerk(server: &Server) -> Client {
    server.client().signed_by(&Signer::new("CLERK", "clerks-secret"))
}

fn partner(server: &Server) -> Client {
    server.client().signed_by(&Signer::new("PARTNER", "partners-secret"))
}

/// A statement about everybody and everything, with elements added.
fn statement(effect: &str, action: &str, condition: Value) -> Value {
    json!({ "Effect": effect, "Principal": "*", "Action": action, "Resource": ARN, "Condition": condition })
}

fn set_policy(owner: &mut Client, statements: &[Value]) {
    let policy = json!({ "Version": "2012-10-17", "Statement": statements }).to_string();
    let answer = owner.set_attributes(QUEUE, json!({ "Policy": policy }));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn send(client: &mut Client) -> Answer {
    client.json("SendMessage", &json!({ "QueueUrl": QUEUE, "MessageBody": "m" }))
}

#[track_caller]
fn assert_allowed(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[track_caller]
fn assert_denied(answer: &Answer, reason: &str) {
    let text = answer.assert_error(ACCESS_DENIED);
    assert!(text.starts_with("User: arn:aws:iam::") && text.contains(reason), "{text}");
}

#[test]
fn without_a_policy_another_accounts_queue_is_as_if_it_were_not_there() {
    let server = setup().start();
    owner(&server).create("orders");
    let client = &mut partner(&server);
    let own = client.create("own");
    let entry = |more: Value| {
        let mut entry = json!({ "Id": "a" });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "Entries": [entry] })
    };
    let (accounts, actions) = (["444455556666"], ["*"]);
    for (action, parameters) in [
        ("DeleteQueue", json!({})),
        ("PurgeQueue", json!({})),
        ("GetQueueAttributes", json!({ "AttributeNames": ["All"] })),
        ("SetQueueAttributes", json!({ "Attributes": { "Policy": "" } })),
        ("SendMessage", json!({ "MessageBody": "x" })),
        ("SendMessageBatch", entry(json!({ "MessageBody": "x" }))),
        ("ReceiveMessage", json!({})),
        ("DeleteMessage", json!({ "ReceiptHandle": "garbage" })),
        ("DeleteMessageBatch", entry(json!({ "ReceiptHandle": "garbage" }))),
        ("ChangeMessageVisibility", json!({ "ReceiptHandle": "garbage", "VisibilityTimeout": 1 })),
        ("TagQueue", json!({ "Tags": { "a": "b" } })),
        ("UntagQueue", json!({ "TagKeys": ["a"] })),
        ("ListQueueTags", json!({})),
        ("ListDeadLetterSourceQueues", json!({})),
        ("AddPermission", json!({ "Label": "me", "AWSAccountIds": accounts, "Actions": actions })),
        ("RemovePermission", json!({ "Label": "me" })),
        // What is wrong beside does not tell either.
        ("SendMessage", json!({})),
        ("SetQueueAttributes", json!({ "Attributes": { "Foobar": "1" } })),
    ] {
        let mut ask = |name: &str| {
            let mut body = parameters.clone();
            body["QueueUrl"] = json!(QUEUE.replace("orders", name));
            let answer = client.json(action, &body);
            assert_denied(&answer, NO_POLICY);
            answer.json()["message"].as_str().unwrap().replace(name, "NAME")
        };
        assert_eq!(ask("orders"), ask("nothing"), "{action}");
    }
    let mut find = |name: &str| {
        let answer = client
            .json("GetQueueUrl", &json!({ "QueueName": name, "QueueOwnerAWSAccountId": "111122223333" }));
        answer.assert_error(ACCESS_DENIED).replace(name, "NAME")
    };
    assert_eq!(find("orders"), find("nothing"));
    let form = [("QueueUrl", QUEUE), ("MessageBody", "x")];
    assert_denied(&client.query("SendMessage", &form), NO_POLICY);
    assert_eq!(client.call("ListQueues", json!({}))["QueueUrls"], json!([own]));
    assert_eq!(owner(&server).counts(QUEUE), [0; 3]);
}

#[test]
fn a_permission_opens_what_it_names_until_it_is_removed() {
    let server = setup().start();
    let (owner, partner) = (&mut owner(&server), &mut partner(&server));
    owner.create("orders");
    let add = |label: &str, action: &str| {
        let (accounts, actions) = (["444455556666"], [action]);
        json!({ "QueueUrl": QUEUE, "Label": label, "AWSAccountIds": accounts, "Actions": actions })
    };
    owner.call("AddPermission", add("send", "SendMessage"));
    assert_allowed(&send(partner));
    let batch = json!({ "QueueUrl": QUEUE, "Entries": [{ "Id": "a", "MessageBody": "m" }] });
    assert_allowed(&partner.json("SendMessageBatch", &batch));
    let receive = json!({ "QueueUrl": QUEUE });
    assert_denied(&partner.json("ReceiveMessage", &receive), NO_POLICY);
    assert_denied(&partner.json("GetQueueAttributes", &receive), NO_POLICY);

    owner.call("AddPermission", add("all", "*"));
    assert_eq!(partner.receive(QUEUE, 0).len(), 2);
    let by_owner = json!({ "QueueName": "orders", "QueueOwnerAWSAccountId": "111122223333" });
    let url = partner.call("GetQueueUrl", by_owner)["QueueUrl"].as_str().unwrap().to_owned();
    assert!(url.ends_with("/111122223333/orders"), "{url}");
    assert_denied(&partner.json("DeleteQueue", &receive), NO_POLICY);
    assert_denied(&partner.set_attributes(QUEUE, json!({ "Policy": "" })), NO_POLICY);

    owner.call("RemovePermission", json!({ "QueueUrl": QUEUE, "Label": "all" }));
    assert_denied(&partner.json("ReceiveMessage", &receive), NO_POLICY);
    assert_allowed(&send(partner));
    // From each answer on, every time.
    for _ in 0..20 {
        owner.call("RemovePermission", json!({ "QueueUrl": QUEUE, "Label": "send" }));
        assert_denied(&send(partner), NO_POLICY);
        owner.call("AddPermission", add("send", "SendMessage"));
        assert_allowed(&send(partner));
    }
}

#[test]
fn deny_beats_allow_for_the_owner_too() {
    let server = setup().start();
    let (owner, partner) = (&mut owner(&server), &mut partner(&server));
    owner.create("orders");
    let allow = statement("Allow", "sqs:*", json!({}));
    let deny = statement("Deny", "sqs:SendMessage", json!({}));
    for statements in [[allow.clone(), deny.clone()], [deny, allow.clone()]] {
        set_policy(owner, &statements);
        assert_denied(&send(partner), EXPLICIT);
        assert_denied(&send(owner), EXPLICIT);
        assert!(partner.receive(QUEUE, 0).is_empty());
    }
    set_policy(owner, &[allow]);
    assert_allowed(&send(partner));
    assert_allowed(&send(owner));
}

#[test]
fn conditions_are_those_of_the_request() {
    let server = setup().start();
    let (owner, partner) = (&mut owner(&server), &mut partner(&server));
    owner.create("orders");
    for (condition, holds) in [
        (json!({ "IpAddress": { "aws:SourceIp": "127.0.0.0/8" } }), true),
        (json!({ "IpAddress": { "aws:SourceIp": ["203.0.113.0/24", "::/0"] } }), false),
        (json!({ "NotIpAddress": { "aws:SourceIp": "127.0.0.1" } }), false),
        (json!({ "Bool": { "aws:SecureTransport": "false" } }), true),
        (json!({ "Bool": { "aws:SecureTransport": "true" } }), false),
        (json!({ "DateLessThan": { "aws:CurrentTime": "2020-01-01T00:00:00Z" } }), false),
        (json!({ "DateGreaterThan": { "aws:CurrentTime": "2020-01-01T00:00:00Z" } }), true),
        (json!({ "NumericLessThan": { "aws:EpochTime": 1_600_000_000 } }), false),
        (json!({ "StringEquals": { "aws:PrincipalAccount": "444455556666" } }), true),
        (json!({ "ArnLike": { "aws:PrincipalArn": "arn:aws:iam::*:user/own*" } }), false),
        (json!({ "Null": { "aws:UserAgent": "true", "aws:SourceArn": "true" } }), true),
        (json!({ "StringEquals": { "aws:PrincipalOrgID": "o-1" } }), false),
    ] {
        set_policy(owner, &[statement("Allow", "sqs:SendMessage", condition.clone())]);
        let answer = send(partner);
        if holds {
            assert_allowed(&answer);
        } else {
            assert_denied(&answer, NO_POLICY);
        }
        assert_allowed(&send(owner));
    }
    set_policy(
        owner,
        &[
            statement("Allow", "sqs:SendMessage", json!({})),
            statement("Deny", "sqs:SendMessage", json!({ "StringLike": { "aws:UserAgent": "*bot*" } })),
        ],
    );
    assert_allowed(&send(partner));
    let robot = server.client().with_header("User-Agent", "some-bot/1.0");
    assert_denied(&send(&mut robot.signed_by(&Signer::new("PARTNER", "partners-secret"))), EXPLICIT);
}

#[test]
fn addresses_behind_a_proxy_count_only_if_it_is_trusted() {
    for (trusted, reason) in [("true", None), ("false", Some(NO_POLICY))] {
        let server = setup().env("TIDEGATE_TRUST_FORWARDED", trusted).start();
        let owner = &mut owner(&server);
        owner.create("orders");
        let condition = json!({
            "IpAddress": { "aws:SourceIp": "203.0.113.0/24" },
            "Bool": { "aws:SecureTransport": "true" },
        });
        set_policy(owner, &[statement("Allow", "sqs:SendMessage", condition)]);
        let from = |addresses: &str| {
            let client = server
                .client()
                .with_header("X-Forwarded-For", addresses)
                .with_header("X-Forwarded-Proto", "https");
            send(&mut client.signed_by(&Signer::new("PARTNER", "partners-secret")))
        };
        let answer = from("198.51.100.1, 203.0.113.7");
        reason.map_or_else(|| assert_allowed(&answer), |reason| assert_denied(&answer, reason));
        assert_denied(&from("203.0.113.7, 198.51.100.1"), NO_POLICY);
    }
}

#[test]
fn lists_of_a_credential_restrict_it_and_a_policy_may_add_to_them() {
    let server = setup().start();
    let (owner, clerk) = (&mut owner(&server), &mut clerk(&server));
    owner.create("orders");
    owner.create("bills");
    assert_allowed(&send(clerk));
    let receive = json!({ "QueueUrl": QUEUE });
    assert_denied(&clerk.json("ReceiveMessage", &receive), NO_GRANT);
    assert_denied(&clerk.json("ListQueues", &json!({})), NO_GRANT);
    assert_denied(&clerk.json("CreateQueue", &json!({ "QueueName": "orders-2" })), NO_GRANT);
    let elsewhere = json!({ "QueueUrl": QUEUE.replace("orders", "bills"), "MessageBody": "m" });
    assert_denied(&clerk.json("SendMessage", &elsewhere), NO_GRANT);
    set_policy(owner, &[statement("Allow", "sqs:ReceiveMessage", json!({}))]);
    assert_eq!(clerk.receive(QUEUE, 0).len(), 1);
}

#[test]
fn a_move_task_needs_the_right_to_send_where_it_goes() {
    let server = setup().start();
    let (owner, partner) = (&mut owner(&server), &mut partner(&server));
    owner.create("orders-dlq");
    let policy = json!({ "deadLetterTargetArn": format!("{ARN}-dlq"), "maxReceiveCount": 1 }).to_string();
    owner.create_with("orders", json!({ "RedrivePolicy": policy }));
    let (task, closed) =
        (json!({ "SourceArn": format!("{ARN}-dlq"), "DestinationArn": ARN }), "sqs:SendMessage");
    set_policy(owner, &[statement("Allow", "sqs:*", json!({})), statement("Deny", closed, json!({}))]);
    assert_denied(&owner.json("StartMessageMoveTask", &task), EXPLICIT);
    set_policy(owner, &[statement("Allow", "sqs:*", json!({}))]);
    assert_denied(&partner.json("StartMessageMoveTask", &task), NO_POLICY);
    owner.call("StartMessageMoveTask", task);
}

#[test]
fn a_queue_of_the_same_name_does_not_inherit_the_policy() {
    let server = setup().start();
    let (owner, partner) = (&mut owner(&server), &mut partner(&server));
    let policy = json!({ "Statement": statement("Allow", "sqs:SendMessage", json!({})) }).to_string();
    owner.create_with("orders", json!({ "Policy": policy }));
    assert_allowed(&send(partner));
    owner.call("DeleteQueue", json!({ "QueueUrl": QUEUE }));
    assert_denied(&send(partner), NO_POLICY);
    owner.create("orders");
    assert_denied(&send(partner), NO_POLICY);
    owner.create("orders");
    set_policy(owner, &[statement("Allow", "sqs:SendMessage", json!({}))]);
    assert_allowed(&send(partner));
}

#[test]
fn policies_are_in_force_after_a_crash_and_after_a_stop() {
    let setup = setup();
    let server = setup.start();
    let client = &mut owner(&server);
    client.create("orders");
    client.create("bills");
    let bills = QUEUE.replace("orders", "bills");
    let allow = json!({ "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage" });
    let policy = json!({ "Statement": allow }).to_string();
    assert_allowed(&client.set_attributes(&bills, json!({ "Policy": policy })));
    assert_allowed(&client.set_attributes(&bills, json!({ "Policy": "" })));
    set_policy(
        client,
        &[statement("Allow", "sqs:*", json!({})), statement("Deny", "sqs:PurgeQueue", json!({}))],
    );
    let check = |server: &Server| {
        let partner = &mut partner(server);
        assert_allowed(&send(partner));
        assert_denied(&partner.json("PurgeQueue", &json!({ "QueueUrl": QUEUE })), EXPLICIT);
        let elsewhere = json!({ "QueueUrl": bills, "MessageBody": "m" });
        assert_denied(&partner.json("SendMessage", &elsewhere), NO_POLICY);
    };
    check(&server);
    server.kill();
    let server = setup.start();
    check(&server);
    server.stop();
    check(&setup.start());
}

#[test]
fn a_receipt_handle_opens_no_other_queue() {
    let server = setup().start();
    let (owner, partner) = (&mut owner(&server), &mut partner(&server));
    owner.create("orders");
    owner.create("open");
    let open = QUEUE.replace("orders", "open");
    let policy =
        json!({ "Statement": { "Effect": "Allow", "Principal": "*", "Action": "sqs:*" } }).to_string();
    assert_allowed(&owner.set_attributes(&open, json!({ "Policy": policy })));
    assert_allowed(&send(owner));
    let handle = owner.receive(QUEUE, 0)[0]["ReceiptHandle"].clone();
    let delete = |queue: &str| json!({ "QueueUrl": queue, "ReceiptHandle": handle });
    partner.json("DeleteMessage", &delete(&open)).assert_error(HANDLE);
    assert_denied(&partner.json("DeleteMessage", &delete(QUEUE)), NO_POLICY);
    assert_eq!(owner.counts(QUEUE), [0, 1, 0], "the message is still there");
    owner.call("DeleteMessage", delete(QUEUE));
}

#[test]
fn without_credentials_policies_are_kept_and_not_enforced() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let policy = json!({ "Statement": { "Effect": "Deny", "Principal": "*", "Action": "*" } }).to_string();
    client.create_with("q", json!({ "Policy": policy }));
    client.send("q", "m");
    assert_eq!(client.attributes("q")["Policy"], policy);
}
