//! Goal: everything that can be asked about queues is answered the same after a clean stop and after a crash.
//!
//! Method: queues with every attribute off its default, tags of all kinds, messages in every state and move tasks;
//! the answers of both dialects, as text, must not differ in a byte.

use crate::support::server::{Server, Setup};
use crate::support::sqs::Client;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The queues that are dumped. What a running task moves from and to changes by itself, and is looked at apart.
const DUMPED: [&str; 8] = ["plain", "full", "keyed", "dlq", "busy", "full.fifo", "busy.fifo", "dead.fifo"];

const POLICY: &str = concat!(
    "{ \"Version\" : \"2012-10-17\",\n\t\"Statement\":[{\"Sid\":\"ä€\\u00e4\", \"Effect\":\"Allow\", ",
    "\"Principal\":{\"AWS\":[\"111122223333\"]},  \"Resource\":\"*\",\"Action\":[\"SQS:SendMessage\"]}] }"
);

/// Messages that the running task has to move, one a second: more than any of these tests takes seconds.
const TO_MOVE: usize = 300;

fn arn(name: &str) -> String {
    format!("arn:aws:sqs:us-east-1:000000000000:{name}")
}

fn redrive(dlq: &str, count: u32) -> String {
    json!({ "deadLetterTargetArn": arn(dlq), "maxReceiveCount": count }).to_string()
}

fn furnish(client: &mut Client) {
    furnish_standard(client);
    furnish_fifo(client);
    furnish_ended_tasks(client);
    furnish_running_task(client);
}

fn furnish_standard(client: &mut Client) {
    client.create("plain");
    let allow = json!({ "redrivePermission": "byQueue", "sourceQueueArns": [arn("full"), arn("busy")] });
    client.create_with("dlq", json!({ "RedriveAllowPolicy": allow.to_string() }));
    client.call(
        "CreateQueue",
        json!({
            "QueueName": "full",
            "Attributes": {
                "DelaySeconds": "11",
                "MaximumMessageSize": "2048",
                "MessageRetentionPeriod": "1209599",
                "ReceiveMessageWaitTimeSeconds": "3",
                "VisibilityTimeout": "43199",
                "SqsManagedSseEnabled": "false",
                "Policy": POLICY,
                "RedrivePolicy": redrive("dlq", 7),
            },
            "tags": { "empty": "", "Größe": "日本 ü", "a/b:c=d+e-f@g_h.i": "x", "Empty": "other case" },
        }),
    );
    client.call(
        "AddPermission",
        json!({ "QueueUrl": "plain", "Label": "added", "AWSAccountIds": ["111122223333"], "Actions": ["*"] }),
    );
    let kms = json!({ "KmsMasterKeyId": "alias/ünïque", "KmsDataKeyReusePeriodSeconds": "86400" });
    client.create_with("keyed", kms);
    // An attribute that was set and removed again, and one that was changed after creation.
    client.create_with(
        "busy",
        json!({ "Policy": POLICY, "VisibilityTimeout": "5", "RedrivePolicy": redrive("dlq", 1) }),
    );
    let changes = json!({ "Policy": "", "VisibilityTimeout": "43200", "MessageRetentionPeriod": "86400" });
    assert_eq!(client.set_attributes("busy", changes).status, 200);
    client.call("TagQueue", json!({ "QueueUrl": "busy", "Tags": { "gone": "x", "later": "" } }));
    client.call("UntagQueue", json!({ "QueueUrl": "busy", "TagKeys": ["gone"] }));
    for _ in 0..3 {
        client.send("busy", "m");
    }
    client.call("SendMessage", json!({ "QueueUrl": "busy", "MessageBody": "late", "DelaySeconds": 900 }));
    client.call("ReceiveMessage", json!({ "QueueUrl": "busy" }));
}

fn furnish_fifo(client: &mut Client) {
    let deny = json!({ "redrivePermission": "denyAll" }).to_string();
    client.create_fifo("dead.fifo", json!({}));
    client.create_fifo(
        "full.fifo",
        json!({
            "ContentBasedDeduplication": "true",
            "DeduplicationScope": "messageGroup",
            "FifoThroughputLimit": "perMessageGroupId",
            "DelaySeconds": "12",
            "MaximumMessageSize": "4096",
            "MessageRetentionPeriod": "1209598",
            "ReceiveMessageWaitTimeSeconds": "4",
            "VisibilityTimeout": "43198",
            "SqsManagedSseEnabled": "false",
            "Policy": POLICY,
            "RedrivePolicy": redrive("dead.fifo", 1),
            "RedriveAllowPolicy": deny,
        }),
    );
    // Visible, in flight, delayed; and one that died.
    client.create_fifo("busy.fifo", json!({ "RedrivePolicy": redrive("dead.fifo", 1) }));
    for body in ["died", "in-flight", "visible", "visible-too"] {
        client.send_to("busy.fifo", "g", body, body);
    }
    client.receive_with("busy.fifo", json!({ "MaxNumberOfMessages": 1, "VisibilityTimeout": 0 }));
    client.receive_with("busy.fifo", json!({ "MaxNumberOfMessages": 1 }));
    assert_eq!(client.set_attributes("busy.fifo", json!({ "DelaySeconds": "900" })).status, 200);
    client.send_to("busy.fifo", "h", "delayed", "delayed");
    assert_eq!(client.counts("busy.fifo"), [2, 1, 1]);
    assert_eq!(client.counts("dead.fifo"), [1, 0, 0]);
}

fn start_task(client: &mut Client, source: &str, destination: &str, rate: Option<u32>) -> Value {
    let mut body = json!({ "SourceArn": arn(source), "DestinationArn": arn(destination) });
    if let Some(rate) = rate {
        body["MaxNumberOfMessagesPerSecond"] = json!(rate);
    }
    client.call("StartMessageMoveTask", body)
}

fn newest_task(client: &mut Client, source: &str) -> Value {
    client.call("ListMessageMoveTasks", json!({ "SourceArn": arn(source) }))["Results"][0].clone()
}

/// Tasks of the queue `dlq`: one that was completed, one that was cancelled, one that failed.
fn furnish_ended_tasks(client: &mut Client) {
    for name in ["archive", "deleted"] {
        client.create(name);
    }
    for body in ["1", "2", "3", "4", "5"] {
        client.send("dlq", body);
    }
    start_task(client, "dlq", "archive", Some(500));
    wait_until("a task is completed", || newest_task(client, "dlq")["Status"] == "COMPLETED");
    for body in ["1", "2", "3", "4", "5"] {
        client.send("dlq", body);
    }
    let handle = start_task(client, "dlq", "archive", Some(1));
    client.call("CancelMessageMoveTask", handle);
    start_task(client, "dlq", "deleted", Some(1));
    client.call("DeleteQueue", json!({ "QueueUrl": "deleted" }));
    wait_until("a task has failed", || newest_task(client, "dlq")["Status"] == "FAILED");
}

fn furnish_running_task(client: &mut Client) {
    client.create("slow");
    client.create("slow-source");
    let policy = json!({ "RedrivePolicy": redrive("slow", 3) });
    assert_eq!(client.set_attributes("slow-source", policy).status, 200);
    for _ in 0..TO_MOVE / 10 {
        let entry = |n: usize| json!({ "Id": n.to_string(), "MessageBody": "m" });
        let entries: Vec<_> = (0..10).map(entry).collect();
        client.call("SendMessageBatch", json!({ "QueueUrl": "slow", "Entries": entries }));
    }
    start_task(client, "slow", "archive", Some(1));
}

/// Every answer that tells of queues, as text. The callers' host is always the same, and request ids are left out.
fn dump(server: &Server) -> String {
    let client = &mut server.client().with_header("Host", "dump.test:9324");
    let mut text = String::new();
    let mut add = |action: &str, body: Value, form: &[(&str, &str)]| {
        let json = client.json(action, &body);
        let query = client.query(action, form);
        let id = query.header("x-amzn-requestid").unwrap().to_owned();
        text.push_str(&format!("{action} {body}\n{} {}\n", json.status, json.text()));
        text.push_str(&format!("{} {}\n", query.status, query.text().replace(&id, "")));
    };
    add("ListQueues", json!({}), &[]);
    for name in DUMPED {
        let queue = json!({ "QueueUrl": name });
        let form = [("QueueUrl", name)];
        add("GetQueueUrl", json!({ "QueueName": name }), &[("QueueName", name)]);
        add("ListQueueTags", queue.clone(), &form);
        add("ListDeadLetterSourceQueues", queue, &form);
        let all = json!({ "QueueUrl": name, "AttributeNames": ["All"] });
        add("GetQueueAttributes", all, &[("QueueUrl", name), ("AttributeName.1", "All")]);
        let source = arn(name);
        let tasks = json!({ "SourceArn": source, "MaxResults": 10 });
        add("ListMessageMoveTasks", tasks, &[("SourceArn", &source), ("MaxResults", "10")]);
    }
    text
}

/// The running task: what of it stays the same, and how many messages it has moved.
fn running_task(server: &Server) -> (Value, u64) {
    let mut task = newest_task(&mut server.client(), "slow");
    assert_eq!(task["Status"], "RUNNING", "{task}");
    let moved = task["ApproximateNumberOfMessagesMoved"].take().as_u64().unwrap();
    (task, moved)
}

/// Sets the second of a later start apart from that of the first, which attributes show.
fn wait_for_another_second() {
    let second = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let now = second();
    wait_until("the clock goes on", || second() > now + 1);
}

#[test]
fn everything_that_can_be_asked_of_a_queue_is_the_same_after_stop_and_crash() {
    let setup = Setup::new();
    let mut server = setup.start();
    furnish(&mut server.client());
    let before = dump(&server);
    for expected in [
        "\"DelaySeconds\":\"11\"",
        "\"VisibilityTimeout\":\"43199\"",
        "\"maxReceiveCount\\\":7",
        "alias/ünïque",
        "\"Größe\":\"日本 ü\"",
        "\"empty\":\"\"",
        "\"later\":\"\"",
        "\"ApproximateNumberOfMessages\":\"2\"",
        "\"ApproximateNumberOfMessagesNotVisible\":\"1\"",
        "\"ApproximateNumberOfMessagesDelayed\":\"1\"",
        "\"SqsManagedSseEnabled\":\"false\"",
        "redrivePermission\\\":\\\"byQueue",
        "redrivePermission\\\":\\\"denyAll",
        "\"DeduplicationScope\":\"messageGroup\"",
        "\"FifoThroughputLimit\":\"perMessageGroupId\"",
        "\"ContentBasedDeduplication\":\"true\"",
        "\\\"Sid\\\":\\\"added\\\"",
        "\"Status\":\"COMPLETED\"",
        "\"Status\":\"CANCELLED\"",
        "\"Status\":\"FAILED\"",
    ] {
        assert!(before.contains(expected), "the dump has {expected}: {before}");
    }
    assert!(!before.contains("InternalError"), "{before}");
    let (task, mut moved) = running_task(&server);
    wait_for_another_second();
    assert_eq!(dump(&server), before, "asking changes nothing");

    for (clean, when) in [
        (true, "after a clean stop"),
        (false, "after a crash"),
        (false, "after a crash without a change in between"),
        (true, "after a clean stop of what was restored"),
    ] {
        if clean {
            server.stop();
        } else {
            server.kill();
        }
        server = setup.start();
        assert_eq!(dump(&server), before, "{when}");
        let (same, more) = running_task(&server);
        assert_eq!(same, task, "{when}");
        assert!(more >= moved, "{when}: {more} of {moved}");
        moved = more;
    }
    wait_until("the task goes on", || running_task(&server).1 > moved);
}

/// The same for a log that was never checkpointed.
#[test]
fn everything_is_the_same_when_the_first_run_crashed() {
    let setup = Setup::new();
    let server = setup.start();
    furnish(&mut server.client());
    let before = dump(&server);
    let (task, _) = running_task(&server);
    wait_for_another_second();
    server.kill();
    let server = setup.start();
    assert_eq!(dump(&server), before);
    assert_eq!(running_task(&server).0, task);
}
