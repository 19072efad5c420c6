use std::time::{Duration, Instant};

use aws_sdk_sqs::types::{
    MessageSystemAttributeName as SystemName, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
};
use tidegate_client_suite::{
    blob, counts, fresh_queue, md5_of_attributes, md5_of_body, receive_one, refused, send, text, with_server,
};

const TRACE: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

#[test]
fn send_receive_delete() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let sent = sqs.send_message().queue_url(&url).message_body("hello").send().await.unwrap();
        assert_eq!(sent.md5_of_message_body(), Some("5d41402abc4b2a76b9719d911017c592"));
        assert_eq!(sent.md5_of_message_attributes(), None);
        assert_eq!(sent.sequence_number(), None);

        let message = receive_one(&sqs, &url, 30).await;
        assert_eq!(message.message_id(), sent.message_id());
        assert_eq!(message.body(), Some("hello"));
        assert_eq!(message.message_attributes(), None);
        let system = message.attributes().unwrap();
        assert_eq!(system.len(), 4);
        assert_eq!(system[&SystemName::ApproximateReceiveCount], "1");
        assert_eq!(system[&SystemName::SentTimestamp].len(), 13, "in milliseconds");

        for _ in 0..2 {
            let handle = message.receipt_handle().unwrap();
            sqs.delete_message().queue_url(&url).receipt_handle(handle).send().await.unwrap();
        }
        assert_eq!(counts(&sqs, &url).await, [0, 0, 0]);
    });
}

#[test]
fn body_comes_back_unchanged() {
    with_server(|sqs, _| async move {
        let largest = "ä".repeat(512 * 1024);
        let bodies = [
            "größer, 漢字, עברית, 🌊, e\u{301}, \u{2028} and \u{fffd}",
            "cr\rlf\ncrlf\r\nend\r",
            "\"&quot;&quot;\r<a href='x'>&amp; ]]> <![CDATA[y]]> --></a>",
            " \r\n\t ",
            "\t \u{d7ff}\u{e000}\u{fffd}\u{10000}\u{10ffff}",
            &largest,
        ];
        let url = fresh_queue(&sqs).await;
        for body in bodies {
            let sent = sqs.send_message().queue_url(&url).message_body(body).send().await.unwrap();
            let message = receive_one(&sqs, &url, 600).await;
            assert!(message.body() == Some(body), "{:.40?}", message.body());
            assert_eq!(message.md5_of_body(), Some(md5_of_body(body).as_str()));
            assert_eq!(sent.md5_of_message_body(), message.md5_of_body());
        }
        let too_long = format!("{largest}x");
        let (_, code) = refused(sqs.send_message().queue_url(&url).message_body(too_long).send().await);
        assert_eq!(code, "InvalidParameterValue");
    });
}

#[test]
fn message_attributes_with_custom_types() {
    let attributes = [
        ("ts", text("Number.java.lang.Long", "1493147359900")),
        ("s", text("String.custom", "größe <&> 漢字 🌊")),
        ("b", blob("Binary.png", &[0x00, 0xff, 0x10])),
    ];
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let mut request = sqs.send_message().queue_url(&url).message_body("x");
        for (name, value) in &attributes {
            request = request.message_attributes(*name, value.clone());
        }
        let sent = request.send().await.unwrap();
        let digest = md5_of_attributes(attributes.iter().map(|(name, value)| (*name, value)));
        assert_eq!(sent.md5_of_message_attributes(), Some(digest.as_str()));

        let message = receive_one(&sqs, &url, 0).await;
        let expected = attributes.clone().map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(message.message_attributes(), Some(&expected));
        assert_eq!(message.md5_of_message_attributes(), Some(digest.as_str()));

        let part = sqs.receive_message().queue_url(&url).wait_time_seconds(5);
        let part =
            part.message_attribute_names("t.*").message_attribute_names("unknown").send().await.unwrap();
        let part = &part.messages()[0];
        assert_eq!(part.message_attributes().unwrap().len(), 1);
        let digest = md5_of_attributes([("ts", &attributes[0].1)]);
        assert_eq!(part.md5_of_message_attributes(), Some(digest.as_str()));
    });
}

#[test]
fn recorded_attribute_digest() {
    let attributes = [
        ("blob", blob("Binary", &[1, 2, 3])),
        ("color", text("String", "blue")),
        ("count", text("Number", "3")),
    ];
    let digest = md5_of_attributes(attributes.iter().map(|(name, value)| (*name, value)));
    assert_eq!(digest, "d838729972a4b70e2d2acd9d59ac847c");
}

#[test]
fn trace_header() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let trace =
            MessageSystemAttributeValue::builder().data_type("String").string_value(TRACE).build().unwrap();
        let request = sqs.send_message().queue_url(&url).message_body("x");
        let request =
            request.message_system_attributes(MessageSystemAttributeNameForSends::AwsTraceHeader, trace);
        let sent = request.send().await.unwrap();
        assert_eq!(sent.md5_of_message_system_attributes(), Some("5ae4d5d7636402d80f4eb6d213245a88"));
        let message = receive_one(&sqs, &url, 30).await;
        assert_eq!(message.attributes().unwrap()[&SystemName::AwsTraceHeader], TRACE);
    });
}

#[test]
fn long_poll_is_woken_by_a_send() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let started = Instant::now();
        let poll = tokio::spawn(sqs.receive_message().queue_url(&url).wait_time_seconds(20).send());
        tokio::time::sleep(Duration::from_secs(1)).await;
        send(&sqs, &url, "wake").await;
        let received = poll.await.unwrap().unwrap();
        assert_eq!(received.messages().len(), 1);
        assert_eq!(received.messages()[0].body(), Some("wake"));
        assert!(started.elapsed() < Duration::from_secs(15));
    });
}

#[test]
fn an_abandoned_long_poll_swallows_no_message() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let poll = sqs.receive_message().queue_url(&url).wait_time_seconds(20).send();
        tokio::time::timeout(Duration::from_millis(500), poll).await.unwrap_err();
        tokio::time::sleep(Duration::from_millis(500)).await;
        send(&sqs, &url, "for the living").await;
        let message = receive_one(&sqs, &url, 30).await;
        assert_eq!(message.attributes().unwrap()[&SystemName::ApproximateReceiveCount], "1");
    });
}

#[test]
fn visibility() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let change = |handle: &str, seconds: i32| {
            sqs.change_message_visibility()
                .queue_url(&url)
                .receipt_handle(handle)
                .visibility_timeout(seconds)
                .send()
        };
        send(&sqs, &url, "x").await;
        let first = receive_one(&sqs, &url, 30).await;
        assert_eq!(sqs.receive_message().queue_url(&url).send().await.unwrap().messages, None);
        assert_eq!(counts(&sqs, &url).await, [0, 1, 0]);

        change(first.receipt_handle().unwrap(), 0).await.unwrap();
        let second = receive_one(&sqs, &url, 2).await;
        assert_eq!(second.message_id(), first.message_id());
        assert_eq!(second.attributes().unwrap()[&SystemName::ApproximateReceiveCount], "2");

        let handle = second.receipt_handle().unwrap();
        change(handle, 60).await.unwrap();
        let hidden = sqs.receive_message().queue_url(&url).wait_time_seconds(3).send().await.unwrap();
        assert_eq!(hidden.messages, None);
        sqs.delete_message().queue_url(&url).receipt_handle(handle).send().await.unwrap();

        assert_eq!(refused(change(handle, 1).await).1, "InvalidParameterValue");
        assert!(refused(change("garbage", 1).await).0.is_receipt_handle_is_invalid());
    });
}

#[test]
fn delay_and_purge() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let later = |seconds: i32| {
            sqs.send_message().queue_url(&url).message_body("later").delay_seconds(seconds).send()
        };
        later(1).await.unwrap();
        assert_eq!(counts(&sqs, &url).await, [0, 0, 1]);
        assert_eq!(receive_one(&sqs, &url, 600).await.body(), Some("later"));
        later(600).await.unwrap();
        send(&sqs, &url, "now").await;
        assert_eq!(counts(&sqs, &url).await, [1, 1, 1]);

        sqs.purge_queue().queue_url(&url).send().await.unwrap();
        assert_eq!(counts(&sqs, &url).await, [0, 0, 0]);
        let (error, _) = refused(sqs.purge_queue().queue_url(&url).send().await);
        assert!(error.is_purge_queue_in_progress(), "{error:?}");
    });
}

#[test]
fn typed_errors() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let (error, _) = refused(sqs.delete_message().queue_url(&url).receipt_handle("garbage").send().await);
        assert!(error.is_receipt_handle_is_invalid(), "{error:?}");
        let (error, _) =
            refused(sqs.send_message().queue_url(&url).message_body("back\u{8}space").send().await);
        assert!(error.is_invalid_message_contents(), "{error:?}");
        let (_, code) =
            refused(sqs.receive_message().queue_url(&url).max_number_of_messages(11).send().await);
        assert_eq!(code, "InvalidParameterValue");
    });
}
