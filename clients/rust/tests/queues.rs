use std::collections::HashMap;

use aws_sdk_sqs::{Client, types::QueueAttributeName};
use tidegate_client_suite::{ACCOUNT, REGION, fresh_name, fresh_queue, refused, with_server};

fn name_of(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

#[test]
fn create_is_idempotent() {
    with_server(|sqs, endpoint| async move {
        let name = fresh_name();
        let create = |timeout: Option<&str>| {
            let timeout =
                timeout.map(|value| HashMap::from([(QueueAttributeName::VisibilityTimeout, value.into())]));
            sqs.create_queue().queue_name(&name).set_attributes(timeout).send()
        };
        let expected = format!("{endpoint}/{ACCOUNT}/{name}");
        for timeout in [Some("7"), None, Some("7")] {
            assert_eq!(create(timeout).await.unwrap().queue_url(), Some(expected.as_str()));
        }
        let found = sqs.get_queue_url().queue_name(&name).send().await.unwrap();
        assert_eq!(found.queue_url(), Some(expected.as_str()));

        let (error, code) = refused(create(Some("8")).await);
        assert!(error.is_queue_name_exists(), "{error:?}");
        assert_eq!(code, "QueueAlreadyExists");
    });
}

#[test]
fn list_by_prefix_and_pages() {
    with_server(|sqs, _| async move {
        let prefix = fresh_name();
        let mut urls = Vec::new();
        for i in 0..5 {
            let created = sqs.create_queue().queue_name(format!("{prefix}-{i}")).send().await.unwrap();
            urls.push(created.queue_url.unwrap());
        }
        let all = sqs.list_queues().queue_name_prefix(&prefix).send().await.unwrap();
        assert_eq!(all.queue_urls(), urls);
        assert_eq!(all.next_token(), None);

        let mut pages = sqs.list_queues().queue_name_prefix(&prefix).into_paginator().page_size(2).send();
        let mut listed = Vec::new();
        while let Some(page) = pages.next().await {
            listed.push(page.unwrap().queue_urls.unwrap());
        }
        assert_eq!(listed, [&urls[..2], &urls[2..4], &urls[4..]]);

        let none = sqs.list_queues().queue_name_prefix(format!("{prefix}-none")).send().await.unwrap();
        assert_eq!(none.queue_urls, None);
    });
}

#[test]
fn attributes() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let read =
            |name: &str| sqs.get_queue_attributes().queue_url(&url).attribute_names(name.into()).send();
        let set = |name: &str, value: &str| {
            sqs.set_queue_attributes().queue_url(&url).attributes(name.into(), value).send()
        };

        let mut fresh = read("All").await.unwrap().attributes.unwrap();
        assert!(fresh.remove(&QueueAttributeName::CreatedTimestamp).unwrap().len() == 10, "in seconds");
        fresh.remove(&QueueAttributeName::LastModifiedTimestamp).unwrap();
        let arn = format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{}", name_of(&url));
        let expected = [
            ("ApproximateNumberOfMessages", "0"),
            ("ApproximateNumberOfMessagesDelayed", "0"),
            ("ApproximateNumberOfMessagesNotVisible", "0"),
            ("DelaySeconds", "0"),
            ("MaximumMessageSize", "1048576"),
            ("MessageRetentionPeriod", "345600"),
            ("QueueArn", &arn),
            ("ReceiveMessageWaitTimeSeconds", "0"),
            ("SqsManagedSseEnabled", "true"),
            ("VisibilityTimeout", "30"),
        ];
        assert_eq!(fresh, expected.map(|(name, value)| (name.into(), value.into())).into());

        set("DelaySeconds", "3").await.unwrap();
        let changed = read("DelaySeconds").await.unwrap().attributes.unwrap();
        assert_eq!(changed, HashMap::from([(QueueAttributeName::DelaySeconds, "3".into())]));

        assert!(refused(read("Foobar").await).0.is_invalid_attribute_name());
        assert!(refused(set("Foobar", "1").await).0.is_invalid_attribute_name());
        assert!(refused(set("DelaySeconds", "901").await).0.is_invalid_attribute_value());
    });
}

#[test]
fn tags() {
    async fn read(sqs: &Client, url: &str) -> Option<HashMap<String, String>> {
        sqs.list_queue_tags().queue_url(url).send().await.unwrap().tags
    }
    fn map<const N: usize>(pairs: [(&str, &str); N]) -> HashMap<String, String> {
        pairs.map(|(key, value)| (key.into(), value.into())).into()
    }
    with_server(|sqs, _| async move {
        let create = sqs.create_queue().queue_name(fresh_name()).tags("team", "sea").tags("empty", "");
        let url = create.send().await.unwrap().queue_url.unwrap();
        assert_eq!(read(&sqs, &url).await, Some(map([("team", "sea"), ("empty", "")])));

        sqs.tag_queue().queue_url(&url).tags("team", "land").tags("Team", "größer").send().await.unwrap();
        sqs.untag_queue().queue_url(&url).tag_keys("empty").tag_keys("never-there").send().await.unwrap();
        assert_eq!(read(&sqs, &url).await, Some(map([("team", "land"), ("Team", "größer")])));

        sqs.untag_queue().queue_url(&url).tag_keys("team").tag_keys("Team").send().await.unwrap();
        assert_eq!(read(&sqs, &url).await, None);
    });
}

#[test]
fn deleted_and_missing_queues() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let name = name_of(&url);
        sqs.delete_queue().queue_url(&url).send().await.unwrap();

        let missing = "AWS.SimpleQueueService.NonExistentQueue";
        let (error, code) = refused(sqs.get_queue_url().queue_name(name).send().await);
        assert!(error.is_queue_does_not_exist() && code == missing, "{error:?}");
        let (error, code) = refused(sqs.send_message().queue_url(&url).message_body("x").send().await);
        assert!(error.is_queue_does_not_exist() && code == missing, "{error:?}");
        let (error, code) = refused(sqs.receive_message().queue_url(&url).send().await);
        assert!(error.is_queue_does_not_exist() && code == missing, "{error:?}");
        let (error, code) = refused(sqs.delete_queue().queue_url(&url).send().await);
        assert!(error.is_queue_does_not_exist() && code == missing, "{error:?}");

        let (error, _) = refused(sqs.create_queue().queue_name(name).send().await);
        assert!(error.is_queue_deleted_recently(), "{error:?}");
    });
}
