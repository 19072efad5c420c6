//! Goal: queues declared in the configuration file are there at the first request, and follow the file.

use crate::support::server::Setup;
use serde_json::{Value, json};

#[test]
fn declared_queues_are_created_and_follow_the_file() {
    let setup = Setup::new().config(
        r#"
        [[queue]]
        name = "orders"
        attributes = { VisibilityTimeout = 45, DelaySeconds = 5, RedrivePolicy = { deadLetterTargetArn = "arn:aws:sqs:us-east-1:000000000000:failed", maxReceiveCount = 3 } }
        tags = { team = "shop", stage = "" }

        # Declared further down than the queue that names it.
        [[queue]]
        name = "failed"

        [[queue]]
        name = "elsewhere"
        region = "eu-west-1"
        account = "123456789012"
        "#,
    );
    let server = setup.start();
    let client = &mut server.client();
    let attributes = client.attributes("orders");
    assert_eq!((&attributes["VisibilityTimeout"], &attributes["DelaySeconds"]), (&json!("45"), &json!("5")));
    let redrive =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:failed","maxReceiveCount":3}"#;
    assert_eq!(attributes["RedrivePolicy"], redrive);
    let tags = client.call("ListQueueTags", json!({ "QueueUrl": "orders" }));
    assert_eq!(tags["Tags"], json!({ "team": "shop", "stage": "" }));
    let elsewhere = format!("http://{}/eu-west-1/123456789012/elsewhere", server.endpoint);
    let arn = client.attributes(&elsewhere)["QueueArn"].clone();
    assert_eq!(arn, "arn:aws:sqs:eu-west-1:123456789012:elsewhere");
    assert_eq!(server.metric("tidegate_queues"), Some(3.0));
    client.call("SendMessage", json!({ "QueueUrl": "orders", "MessageBody": "kept", "DelaySeconds": 0 }));
    // Not declared, so not touched.
    client.create("by-hand");
    server.stop();

    // What is declared is set again; what is no longer declared stays as it was.
    let setup = setup.config(
        r#"
        [[queue]]
        name = "orders"
        [queue.attributes]
        VisibilityTimeout = "50"
        Policy = { Version = "2012-10-17", Statement = [{ Effect = "Allow", Principal = "*", Action = "SQS:*", Resource = "*" }] }
        [queue.tags]
        team = "books"
        "#,
    );
    let server = setup.start();
    let client = &mut server.client();
    let attributes = client.attributes("orders");
    assert_eq!((&attributes["VisibilityTimeout"], &attributes["DelaySeconds"]), (&json!("50"), &json!("5")));
    assert_eq!(attributes["RedrivePolicy"], redrive);
    let policy: Value = serde_json::from_str(attributes["Policy"].as_str().unwrap()).unwrap();
    assert_eq!(policy["Statement"][0]["Effect"], "Allow");
    let tags = client.call("ListQueueTags", json!({ "QueueUrl": "orders" }));
    assert_eq!(tags["Tags"], json!({ "team": "books", "stage": "" }));
    assert_eq!(server.metric("tidegate_queues"), Some(4.0));
    let received = client.receive("orders", 0);
    assert_eq!(received[0]["Body"], "kept");
    server.kill();

    // The same file a third time, after a crash.
    let server = setup.start();
    assert_eq!(server.client().attributes("orders")["VisibilityTimeout"], "50");
    assert_eq!(server.client().counts("orders"), [0, 1, 0]);
}

#[test]
fn a_declaration_that_is_refused_refuses_the_start_and_names_its_place() {
    for (attributes, said) in [
        ("VisibilityTimeout = 43201", "Invalid value for the parameter VisibilityTimeout."),
        ("VisibilityTimeout = \"soon\"", "Invalid value for the parameter VisibilityTimeout."),
        ("Foobar = 1", "Unknown Attribute Foobar."),
        ("Policy = \"no json\"", "Invalid value for the parameter Policy."),
        (
            "RedrivePolicy = { deadLetterTargetArn = \"arn:aws:sqs:us-east-1:000000000000:no\", maxReceiveCount = 3 }",
            "Dead letter target does not exist.",
        ),
    ] {
        let file = format!(
            "[[queue]]\nname = \"fine\"\n\n[[queue]]\nname = \"bad\"\nattributes = {{ {attributes} }}\n"
        );
        let setup = Setup::new().config(&file);
        let (status, log) = setup.start_refused();
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains(said), "{said}: {log}");
        let place = format!("{}:5", setup.config_path().display());
        assert!(log.contains(&place) || log.contains("line 5"), "it names {place}: {log}");
        assert!(log.contains("bad"), "it names the queue: {log}");
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[test]
fn a_start_that_was_refused_leaves_the_data_usable() {
    let setup = Setup::new();
    let server = setup.start();
    server.client().create("q");
    server.client().send("q", "m");
    server.stop();
    let setup = setup.config("[[queue]]\nname = \"q\"\nattributes = { DelaySeconds = 901 }\n");
    let (status, log) = setup.start_refused();
    assert!(!status.success(), "{log}");
    let setup = setup.config("[[queue]]\nname = \"q\"\nattributes = { DelaySeconds = 900 }\n");
    let server = setup.start();
    assert_eq!(server.client().counts("q"), [1, 0, 0]);
    assert_eq!(server.client().attributes("q")["DelaySeconds"], "900");
}
