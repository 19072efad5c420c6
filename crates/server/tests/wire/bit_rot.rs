//! Goal: a byte that changed on the disk is noticed; what it belongs to is never served, and keeps nothing else back.
//!
//! Method: a byte inside the body of one message is flipped while the server is down. In the segment that is written
//! last, recovery reads it; in one before the checkpoint, only a receive does.

use crate::support::server::Setup;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;

const MESSAGES: usize = 200;

fn body(number: usize) -> String {
    format!("message-{number:04}-{}", "x".repeat(1_000))
}

/// A stopped server with messages in several segments.
fn stopped() -> Setup {
    let setup = Setup::new().env("TIDEGATE_SEGMENT_BYTES", "64KiB");
    let server = setup.start();
    let client = &mut server.client();
    client.create("q");
    for number in 0..MESSAGES {
        client.send("q", &body(number));
    }
    server.stop();
    setup
}

/// Flips one bit inside the body of a message, in whichever file it is.
fn damage(setup: &Setup, number: usize) {
    let marker = body(number).into_bytes();
    for entry in fs::read_dir(setup.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(marker.len()).position(|window| window == marker) {
            bytes[at + 500] ^= 1;
            fs::write(&path, bytes).unwrap();
            return;
        }
    }
    panic!("the message is in some file");
}

#[test]
fn a_damaged_message_is_not_served_and_keeps_no_other_back() {
    let setup = stopped();
    damage(&setup, 3);
    let server = setup.start();
    let client = &mut server.client();
    let mut received = BTreeSet::new();
    loop {
        let answer = client.json(
            "ReceiveMessage",
            &json!({ "QueueUrl": "q", "MaxNumberOfMessages": 10, "VisibilityTimeout": 600 }),
        );
        assert_eq!(answer.status, 200, "{}", answer.text());
        let messages = crate::support::sqs::messages(&answer.json());
        if messages.is_empty() {
            break;
        }
        received.extend(messages.iter().map(|message| message["Body"].as_str().unwrap().to_owned()));
    }
    let expected: BTreeSet<_> = (0..MESSAGES).filter(|number| *number != 3).map(body).collect();
    assert!(received == expected, "{} messages", received.len());
    assert!(server.log().contains("a stored message cannot be read"), "{}", server.log());
}

#[test]
fn a_server_does_not_start_on_a_damaged_tail() {
    let setup = stopped();
    damage(&setup, MESSAGES - 10);
    let (status, said) = setup.start_refused();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("is damaged at byte") && said.contains("Nothing was changed"), "{said}");
}
