use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
    SendMessageBatchRequestEntry,
};
use tidegate_client_suite::{
    blob, counts, fresh_queue, md5_of_attributes, receive_all, refused, with_server,
};

fn entries<S: ToString>(ids: impl IntoIterator<Item = S>) -> Option<Vec<SendMessageBatchRequestEntry>> {
    let entry = |id: S| {
        let id = id.to_string();
        SendMessageBatchRequestEntry::builder().message_body(format!("body of {id}")).id(id).build().unwrap()
    };
    Some(ids.into_iter().map(entry).collect())
}

#[track_caller]
fn assert_one_failure(failed: &[BatchResultErrorEntry], id: &str, code: &str) {
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].id(), failed[0].code(), failed[0].sender_fault()), (id, code, true));
}

#[test]
fn one_bad_entry_does_not_stop_the_others() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let picture = blob("Binary.png", &[0x00, 0xff, 0x10]);
        let mut batch = entries(0..10).unwrap();
        batch[3].message_attributes = Some([("b".to_owned(), picture.clone())].into());
        batch[6].message_body = "back\u{8}space".into();
        let answer = sqs.send_message_batch().queue_url(&url).set_entries(Some(batch)).send().await.unwrap();
        assert_eq!(answer.successful().len(), 9);
        assert_one_failure(answer.failed(), "6", "InvalidMessageContents");
        for sent in answer.successful() {
            let digest = (sent.id() == "3").then(|| md5_of_attributes([("b", &picture)]));
            assert_eq!(sent.md5_of_message_attributes(), digest.as_deref());
        }

        let messages = receive_all(&sqs, &url, 9).await;
        let mut bodies: Vec<_> = messages.iter().map(|message| message.body().unwrap()).collect();
        bodies.sort_unstable();
        let expected: Vec<_> = (0..10).filter(|i| *i != 6).map(|i| format!("body of {i}")).collect();
        assert_eq!(bodies, expected);
    });
}

#[test]
fn visibility_and_delete_batches_with_one_garbage_handle_each() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let sent = sqs.send_message_batch().queue_url(&url).set_entries(entries(0..10)).send().await.unwrap();
        assert_eq!((sent.successful().len(), sent.failed().len()), (10, 0));

        let mut change = sqs.change_message_visibility_batch().queue_url(&url);
        let mut delete = sqs.delete_message_batch().queue_url(&url);
        for (i, message) in receive_all(&sqs, &url, 10).await.iter().enumerate() {
            let handle = if i == 4 { "garbage" } else { message.receipt_handle().unwrap() };
            let entry =
                ChangeMessageVisibilityBatchRequestEntry::builder().id(i.to_string()).receipt_handle(handle);
            change = change.entries(entry.visibility_timeout(600).build().unwrap());
            let entry = DeleteMessageBatchRequestEntry::builder().id(i.to_string()).receipt_handle(handle);
            delete = delete.entries(entry.build().unwrap());
        }
        let changed = change.send().await.unwrap();
        assert_eq!(changed.successful().len(), 9);
        assert_one_failure(changed.failed(), "4", "ReceiptHandleIsInvalid");
        let deleted = delete.send().await.unwrap();
        assert_eq!(deleted.successful().len(), 9);
        assert_one_failure(deleted.failed(), "4", "ReceiptHandleIsInvalid");
        assert_eq!(counts(&sqs, &url).await, [0, 1, 0]);
    });
}

#[test]
fn typed_batch_errors() {
    with_server(|sqs, _| async move {
        let url = fresh_queue(&sqs).await;
        let send = |batch| sqs.send_message_batch().queue_url(&url).set_entries(batch).send();
        assert!(refused(send(Some(vec![])).await).0.is_empty_batch_request());
        assert!(refused(send(entries(0..11)).await).0.is_too_many_entries_in_batch_request());
        assert!(refused(send(entries(["a", "b", "a"])).await).0.is_batch_entry_ids_not_distinct());
        assert!(refused(send(entries(["no spaces"])).await).0.is_invalid_batch_entry_id());
        assert_eq!(counts(&sqs, &url).await, [0, 0, 0]);
    });
}
