//! Goal: move tasks bring dead letters home, at their pace, and lose nothing when something ends them.

use crate::support::fifo::{bodies, sequence_number, texts};
use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::*, messages, receive_count};
use crate::support::wait_until;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::thread;

fn arn(queue: &str) -> String {
    format!("arn:aws:sqs:us-east-1:000000000000:{queue}")
}

/// A source queue whose messages die after one receive.
fn create_source(client: &mut Client, queue: &str, dlq: &str) {
    let redrive = json!({ "deadLetterTargetArn": arn(dlq), "maxReceiveCount": 1 }).to_string();
    let attributes = json!({ "RedrivePolicy": redrive, "VisibilityTimeout": "600" });
    if queue.ends_with(".fifo") {
        client.create_fifo(queue, attributes);
    } else {
        client.create_with(queue, attributes);
    }
}

/// Receives everything once without a timeout, and so often again that all of it moves.
fn let_die(client: &mut Client, queue: &str) {
    for _ in 0..2 {
        client.receive_with(queue, json!({ "VisibilityTimeout": 0 }));
    }
    assert_eq!(client.counts(queue), [0, 0, 0]);
}

fn start(client: &mut Client, more: Value) -> String {
    let mut body = json!({ "SourceArn": arn("dlq") });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.call("StartMessageMoveTask", body)["TaskHandle"].as_str().unwrap().to_owned()
}

/// The tasks of the dead-letter queue, newest first.
fn tasks(client: &mut Client) -> Vec<Value> {
    let body = json!({ "SourceArn": arn("dlq"), "MaxResults": 10 });
    client.call("ListMessageMoveTasks", body)["Results"].as_array().cloned().unwrap_or_default()
}

/// Waits until the newest task has a status; the task.
fn wait_for(client: &mut Client, status: &str) -> Value {
    wait_until(&format!("the task is {status}"), || tasks(client)[0]["Status"] == status);
    tasks(client).remove(0)
}

fn moved(task: &Value) -> u64 {
    task["ApproximateNumberOfMessagesMoved"].as_u64().unwrap()
}

fn total(client: &mut Client, queue: &str) -> u64 {
    client.counts(queue).iter().sum()
}

/// Ten messages in a dead-letter queue that has a source.
fn furnish(client: &mut Client) {
    client.create("dlq");
    create_source(client, "q", "dlq");
    for number in 0..10 {
        client.send("q", &number.to_string());
    }
    let_die(client, "q");
    assert_eq!(client.counts("dlq"), [10, 0, 0]);
}

/// Everything in a queue, by a receive of each.
fn drain(client: &mut Client, queue: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let some = client.receive_with(queue, json!({ "VisibilityTimeout": 600 }));
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

#[track_caller]
fn assert_all_ten(found: &[Value]) {
    let distinct: BTreeSet<_> = bodies(found).into_iter().collect();
    assert_eq!((found.len(), distinct.len()), (10, 10), "{distinct:?}");
}

#[test]
fn without_a_destination_each_message_goes_home() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("dlq");
    let mut ids = HashSet::new();
    for round in 1..=2 {
        for queue in ["q1", "q2"] {
            create_source(client, queue, "dlq");
            for body in ["a", "b"] {
                ids.insert(client.send(queue, &format!("{queue}-{body}")));
            }
            let_die(client, queue);
        }
        if round == 1 {
            start(client, json!({}));
        } else {
            let started = client.query_call("StartMessageMoveTask", &[("SourceArn", &arn("dlq"))]);
            assert_eq!(started.texts("TaskHandle").len(), 1);
        }
        let task = wait_for(client, "COMPLETED");
        let mut names: Vec<_> = task.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let expected = [
            "ApproximateNumberOfMessagesMoved",
            "ApproximateNumberOfMessagesToMove",
            "SourceArn",
            "StartedTimestamp",
            "Status",
        ];
        assert_eq!(names, expected, "no handle, no destination, no rate");
        assert_eq!((moved(&task), &task["ApproximateNumberOfMessagesToMove"]), (4, &json!(4)));
        assert_eq!(task["SourceArn"], arn("dlq"));
        assert_eq!(tasks(client).len(), round);
        for queue in ["q1", "q2"] {
            let home = client.receive(queue, 0);
            assert_eq!(bodies(&home), [format!("{queue}-a"), format!("{queue}-b")]);
            for message in &home {
                assert_eq!(receive_count(message), 1, "it is a new message there");
                assert!(
                    ids.insert(message["MessageId"].as_str().unwrap().to_owned()),
                    "with an id of its own"
                );
                assert_eq!(message["Attributes"].get("DeadLetterQueueSourceArn"), None);
            }
            client.delete_all(queue, &home);
        }
        assert_eq!(client.counts("dlq"), [0, 0, 0]);
    }
    let listed =
        client.query_call("ListMessageMoveTasks", &[("SourceArn", &arn("dlq")), ("MaxResults", "10")]);
    assert_eq!(listed.texts("Status"), ["COMPLETED", "COMPLETED"]);
    assert_eq!(listed.texts("ApproximateNumberOfMessagesMoved"), ["4", "4"]);
    assert_eq!(
        client.query_call("ListMessageMoveTasks", &[("SourceArn", &arn("dlq"))]).texts("Status").len(),
        1
    );
}

#[test]
fn one_task_runs_at_a_time_and_can_be_cancelled() {
    let server = Setup::new().start();
    let client = &mut server.client();
    furnish(client);
    client.create("else");
    let handle = start(client, json!({ "MaxNumberOfMessagesPerSecond": 1, "DestinationArn": arn("else") }));
    let again = client.json("StartMessageMoveTask", &json!({ "SourceArn": arn("dlq") }));
    let text = "There is already a task running. Only one active task is allowed for a source queue arn at a given \
                time.";
    assert_eq!(again.assert_error(INVALID_VALUE), text);
    let again = client.query("StartMessageMoveTask", &[("SourceArn", &arn("dlq"))]);
    assert_eq!(again.assert_error(INVALID_VALUE), text);

    let running = tasks(client);
    assert_eq!(running.len(), 1);
    assert_eq!(running[0]["Status"], "RUNNING");
    assert_eq!(running[0]["TaskHandle"], handle);
    assert_eq!(running[0]["DestinationArn"], arn("else"));
    assert_eq!(running[0]["MaxNumberOfMessagesPerSecond"], 1);
    assert_eq!(running[0]["ApproximateNumberOfMessagesToMove"], 10);

    let cancelled = client.call("CancelMessageMoveTask", json!({ "TaskHandle": handle }));
    let count = moved(&cancelled);
    assert!(count < 10, "it had no time for all of them");
    let task = tasks(client).remove(0);
    assert_eq!((&task["Status"], moved(&task)), (&json!("CANCELLED"), count));
    assert_eq!(task.get("TaskHandle"), None);
    let text =
        client.json("CancelMessageMoveTask", &json!({ "TaskHandle": handle })).assert_error(RESOURCE_MISSING);
    assert_eq!(text, "Task does not exist.");
    client.query("CancelMessageMoveTask", &[("TaskHandle", &handle)]).assert_error(RESOURCE_MISSING);
    assert_eq!((client.counts("else"), client.counts("dlq")), ([count, 0, 0], [10 - count, 0, 0]));

    // The next one takes the rest.
    start(client, json!({ "DestinationArn": arn("else") }));
    assert_eq!(moved(&wait_for(client, "COMPLETED")), 10 - count);
    assert_all_ten(&drain(client, "else"));
    let statuses: Vec<_> = tasks(client).iter().map(|task| task["Status"].clone()).collect();
    assert_eq!(statuses, ["COMPLETED", "CANCELLED"], "newest first");
}

#[test]
fn tasks_that_cannot_work_are_refused() {
    let server = Setup::new().start();
    let client = &mut server.client();
    furnish(client);
    client.create_fifo("f.fifo", json!({}));
    let source = |queue: &str| json!({ "SourceArn": arn(queue) });
    let destination = |queue: &str| json!({ "SourceArn": arn("dlq"), "DestinationArn": arn(queue) });
    let rate = |rate: u32| json!({ "SourceArn": arn("dlq"), "MaxNumberOfMessagesPerSecond": rate });
    for (body, kind, text) in [
        (source("q"), INVALID_VALUE, "Source queue must be configured as a Dead Letter Queue."),
        (
            source("none"),
            RESOURCE_MISSING,
            "The resource that you specified for the SourceArn parameter doesn't exist.",
        ),
        (
            destination("none"),
            RESOURCE_MISSING,
            "The resource that you specified for the DestinationArn parameter doesn't exist.",
        ),
        (destination("dlq"), INVALID_VALUE, "Source queue arn and destination queue arn cannot be the same."),
        (
            destination("f.fifo"),
            INVALID_VALUE,
            "The source queue and destination queue must be of the same queue type.",
        ),
        (
            rate(501),
            INVALID_VALUE,
            "Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a number that's \
             between 1 and 500.",
        ),
    ] {
        assert_eq!(client.json("StartMessageMoveTask", &body).assert_error(kind), text);
        let fields = body.as_object().unwrap().iter();
        let texts: Vec<_> = fields
            .map(|(name, value)| (name.as_str(), value.as_str().map_or(value.to_string(), str::to_owned)))
            .collect();
        let form: Vec<_> = texts.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(client.query("StartMessageMoveTask", &form).assert_error(kind), text);
    }
    client.json("CancelMessageMoveTask", &json!({ "TaskHandle": "junk" })).assert_error(INVALID_VALUE);
    assert_eq!(tasks(client), Vec::<Value>::new());
    assert_eq!(client.counts("dlq"), [10, 0, 0]);
}

#[test]
fn a_task_fails_when_its_destination_is_deleted() {
    let server = Setup::new().start();
    let client = &mut server.client();
    furnish(client);
    client.create("else");
    start(client, json!({ "MaxNumberOfMessagesPerSecond": 1, "DestinationArn": arn("else") }));
    client.call("DeleteQueue", json!({ "QueueUrl": "else" }));
    let failed = wait_for(client, "FAILED");
    assert_eq!(failed["FailureReason"], "AWS.SimpleQueueService.NonExistentQueue");
    assert_eq!(failed.get("TaskHandle"), None);
    assert_eq!(client.counts("dlq"), [10 - moved(&failed), 0, 0], "the rest stays");
}

#[test]
fn a_task_fails_at_a_message_without_a_home() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("dlq");
    create_source(client, "q", "dlq");
    client.send("dlq", "sent directly");
    start(client, json!({}));
    assert_eq!(wait_for(client, "FAILED")["FailureReason"], "CouldNotDetermineMessageSource");
    assert_eq!(client.counts("dlq"), [1, 0, 0]);
}

#[test]
fn a_poll_that_waits_on_the_source_is_woken() {
    let server = Setup::new().start();
    let client = &mut server.client();
    furnish(client);
    thread::scope(|scope| {
        let poll = scope.spawn(|| server.client().receive("q", 20));
        server.wait_for_polls(1);
        start(client, json!({}));
        // Nothing else comes into the queue within the twenty seconds.
        assert!(!poll.join().unwrap().is_empty());
    });
}

#[test]
fn a_task_goes_on_after_a_restart_and_loses_nothing() {
    let setup = Setup::new();
    let mut server = setup.start();
    let client = &mut server.client();
    furnish(client);
    let handle = start(client, json!({ "MaxNumberOfMessagesPerSecond": 2 }));
    let mut least = 0;
    for clean in [false, true, false] {
        let client = &mut server.client();
        wait_until("it moves some", || {
            let task = tasks(client).remove(0);
            moved(&task) > least || task["Status"] == "COMPLETED"
        });
        least = moved(&tasks(client)[0]);
        if clean {
            server.stop();
        } else {
            server.kill();
        }
        server = setup.start();
        let client = &mut server.client();
        let task = tasks(client).remove(0);
        assert!(moved(&task) >= least, "{task}");
        assert_eq!(task["ApproximateNumberOfMessagesToMove"], 10);
        if task["Status"] == "RUNNING" {
            assert_eq!(task["TaskHandle"], handle);
            assert_eq!(task["MaxNumberOfMessagesPerSecond"], 2);
        }
        let everywhere = total(client, "q") + total(client, "dlq");
        // The counts of two queues are not of one instant: between them a message may go from one to the other.
        assert!((10 - 1..=10).contains(&everywhere), "{everywhere}");
    }
    let client = &mut server.client();
    assert_eq!(moved(&wait_for(client, "COMPLETED")), 10);
    assert_eq!(client.counts("dlq"), [0, 0, 0]);
    assert_all_ten(&drain(client, "q"));
}

#[test]
fn messages_of_fifo_queues_go_home_in_order() {
    let setup = Setup::new();
    let server = setup.start();
    let client = &mut server.client();
    client.create_fifo("dlq.fifo", json!({}));
    create_source(client, "q.fifo", "dlq.fifo");
    let sent: Vec<_> =
        ["1", "2", "3"].map(|body| client.send_to("q.fifo", "g", body, body)).into_iter().collect();
    let_die(client, "q.fifo");
    // A new message of the group comes before those that come home later.
    client.send_to("q.fifo", "g", "4", "4");
    client.call("StartMessageMoveTask", json!({ "SourceArn": arn("dlq.fifo") }));
    wait_until("they are home", || client.counts("q.fifo") == [4, 0, 0]);
    server.kill();

    let server = setup.start();
    let client = &mut server.client();
    let answer = client.call(
        "ReceiveMessage",
        json!({ "QueueUrl": "q.fifo", "MaxNumberOfMessages": 10, "AttributeNames": ["All"] }),
    );
    let home = messages(&answer);
    assert_eq!(bodies(&home), ["4", "1", "2", "3"]);
    assert_eq!(texts(&home, "MessageGroupId"), ["g"; 4]);
    assert_eq!(texts(&home[1..], "MessageDeduplicationId"), texts(&home[1..], "MessageId"));
    let numbers: Vec<_> = sent.iter().chain(&home).map(sequence_number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    client.delete_all("q.fifo", &home);
    assert_eq!((client.counts("q.fifo"), client.counts("dlq.fifo")), ([0, 0, 0], [0, 0, 0]));
}
