//! Goal: messages that were received too often end in the dead-letter queue, complete, and none is ever lost on the way.

use crate::support::fifo::{bodies, sequence_number, texts};
use crate::support::server::Setup;
use crate::support::sqs::{Client, errors::INVALID_VALUE, receive_count};
use serde_json::{Value, json};

const DLQ_ARN: &str = "arn:aws:sqs:us-east-1:000000000000:dead";

fn policy(count: &Value) -> String {
    json!({ "deadLetterTargetArn": DLQ_ARN, "maxReceiveCount": count }).to_string()
}

/// Receives with a timeout of nothing, so that the message is visible again at once.
fn receive_again(client: &mut Client, queue: &str) -> Vec<Value> {
    client.receive_with(queue, json!({ "VisibilityTimeout": 0, "MessageAttributeNames": ["All"] }))
}

#[test]
fn a_message_is_delivered_as_often_as_allowed_and_then_moves_complete() {
    let setup = Setup::new();
    let mut server = setup.start();
    // The count may be a number or a text.
    for (queue, count) in [("by-number", json!(3)), ("by-text", json!("3"))] {
        let client = &mut server.client();
        client.create("dead");
        client.create_with(queue, json!({ "RedrivePolicy": policy(&count) }));
        let sent = client.call(
            "SendMessage",
            json!({
                "QueueUrl": queue, "MessageBody": "grüße",
                "MessageAttributes": { "b": { "DataType": "Binary.png", "BinaryValue": "AP8Q" } },
                "MessageSystemAttributes": { "AWSTraceHeader": { "DataType": "String", "StringValue": "Root=1" } },
            }),
        );
        let mut sent_at = Value::Null;
        for expected in 1..=3 {
            let received = receive_again(client, queue);
            assert_eq!(receive_count(&received[0]), expected);
            sent_at = received[0]["Attributes"]["SentTimestamp"].clone();
        }
        assert_eq!((client.counts(queue), client.counts("dead")), ([1, 0, 0], [0, 0, 0]));
        assert_eq!(receive_again(client, queue), [] as [Value; 0]);
        assert_eq!((client.counts(queue), client.counts("dead")), ([0, 0, 0], [1, 0, 0]));

        server.kill();
        server = setup.start();
        let client = &mut server.client();
        let dead = receive_again(client, "dead").remove(0);
        assert_eq!(receive_count(&dead), 4, "the attempt that moved it does not count");
        assert_eq!(dead["MessageId"], sent["MessageId"]);
        assert_eq!(dead["Body"], "grüße");
        assert_eq!(dead["MD5OfMessageAttributes"], sent["MD5OfMessageAttributes"]);
        assert_eq!(dead["MessageAttributes"]["b"]["BinaryValue"], "AP8Q");
        assert_eq!(dead["Attributes"]["AWSTraceHeader"], "Root=1");
        assert_eq!(dead["Attributes"]["SentTimestamp"], sent_at);
        let source = format!("arn:aws:sqs:us-east-1:000000000000:{queue}");
        assert_eq!(dead["Attributes"]["DeadLetterQueueSourceArn"], source);
        let delete = json!({ "QueueUrl": "dead", "ReceiptHandle": dead["ReceiptHandle"] });
        client.call("DeleteMessage", delete);
        assert_eq!(client.counts("dead"), [0, 0, 0]);
    }
}

#[test]
fn a_dead_letter_names_its_source_in_query_answers_too() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("dead");
    client.create_with("q", json!({ "RedrivePolicy": policy(&json!(1)) }));
    client.send("q", "m");
    receive_again(client, "q");
    receive_again(client, "q");
    let all = [("QueueUrl", "dead"), ("AttributeName.1", "All")];
    let received = client.query_call("ReceiveMessage", &all);
    let source = ("DeadLetterQueueSourceArn".into(), "arn:aws:sqs:us-east-1:000000000000:q".into());
    assert!(received.map("Attribute", "Name", "Value").contains(&source), "{}", received.0);
    let sources = client.query_call("ListDeadLetterSourceQueues", &[("QueueUrl", "dead")]);
    let urls = sources.texts("QueueUrl");
    assert!(urls.len() == 1 && urls[0].ends_with("/000000000000/q"), "{urls:?}");
}

#[test]
fn a_missing_dead_letter_queue_eats_no_messages() {
    let server = Setup::new().without_cooldowns().start();
    let client = &mut server.client();
    client.create("dead");
    client.create_with("q", json!({ "RedrivePolicy": policy(&json!(1)) }));
    client.call("DeleteQueue", json!({ "QueueUrl": "dead" }));
    for body in ["a", "b", "c"] {
        client.send("q", body);
    }
    for _ in 0..5 {
        assert_eq!(receive_again(client, "q").len(), 3);
    }
    client.create("dead");
    assert_eq!(receive_again(client, "q"), [] as [Value; 0]);
    assert_eq!(client.counts("dead"), [3, 0, 0]);
}

#[test]
fn policies_that_cannot_work_are_refused_and_the_old_one_stays() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("dead");
    client.create_with("q", json!({ "RedrivePolicy": policy(&json!(5)) }));
    let elsewhere = |arn: &str| json!({ "deadLetterTargetArn": arn, "maxReceiveCount": 1 }).to_string();
    let refused = [
        elsewhere("arn:aws:sqs:us-east-1:000000000000:none"),
        elsewhere("arn:aws:sqs:eu-west-1:000000000000:dead"),
        elsewhere("arn:aws:sqs:us-east-1:111111111111:dead"),
        json!({ "deadLetterTargetArn": DLQ_ARN }).to_string(),
        policy(&json!(0)),
        policy(&json!(1001)),
        policy(&json!("abc")),
    ];
    for refused in refused {
        client.set_attributes("q", json!({ "RedrivePolicy": refused })).assert_error(INVALID_VALUE);
        assert_eq!(
            client.attributes("q")["RedrivePolicy"],
            format!("{{\"deadLetterTargetArn\":\"{DLQ_ARN}\",\"maxReceiveCount\":5}}")
        );
    }
}

/// A message that moves to the dead-letter queue makes way for those behind it, and is a new one there as far as order
/// and duplicates go.
#[test]
fn a_group_goes_on_behind_a_dead_letter() {
    let setup = Setup::new();
    let server = setup.start();
    let client = &mut server.client();
    client.create_fifo("dead.fifo", json!({}));
    let redrive = json!({ "deadLetterTargetArn": format!("{DLQ_ARN}.fifo"), "maxReceiveCount": 1 });
    client.create_fifo("f.fifo", json!({ "RedrivePolicy": redrive.to_string() }));
    // The id that the second message has is taken in the dead-letter queue.
    client.send_to("dead.fifo", "other", "m2", "was here before");
    let sent: Vec<_> = ["m1", "m2", "m3"].map(|body| client.send_to("f.fifo", "g", body, body)).into();

    for (expected, dead) in [("m1", 1), ("m2", 2), ("m3", 3)] {
        let one = client.receive_with("f.fifo", json!({ "MaxNumberOfMessages": 1, "VisibilityTimeout": 0 }));
        assert_eq!(bodies(&one), [expected], "the receive that moves one message goes on to the next");
        assert_eq!(receive_count(&one[0]), 1);
        assert_eq!(client.counts("dead.fifo"), [dead, 0, 0]);
    }
    assert_eq!(client.receive("f.fifo", 0), [] as [Value; 0]);
    assert_eq!((client.counts("f.fifo"), client.counts("dead.fifo")), ([0, 0, 0], [4, 0, 0]));
    server.kill();

    let server = setup.start();
    let client = &mut server.client();
    let dead = client.receive("dead.fifo", 0);
    assert_eq!(bodies(&dead), ["was here before", "m1", "m2", "m3"]);
    let dead = &dead[1..];
    assert_eq!(texts(dead, "MessageGroupId"), ["g"; 3]);
    assert_eq!(texts(dead, "DeadLetterQueueSourceArn"), ["arn:aws:sqs:us-east-1:000000000000:f.fifo"; 3]);
    assert_eq!(texts(dead, "MessageId"), texts(&sent, "MessageId"));
    assert_eq!(texts(dead, "MessageDeduplicationId"), texts(&sent, "MessageId"));
    let numbers: Vec<_> = sent.iter().chain(dead).map(sequence_number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "they are new in the dead-letter queue: {numbers:?}");
    for message in dead {
        assert_eq!(receive_count(message), 2, "the attempt that moved it does not count");
    }
    // The source remembers what it accepted.
    client.send_to("f.fifo", "g", "m1", "again");
    assert_eq!(client.counts("f.fifo"), [0, 0, 0]);
    client.delete_all("dead.fifo", dead);
    assert_eq!(client.counts("dead.fifo"), [0, 1, 0]);
}
