//! Replies of the engine by name.

use md5::{Digest as _, Md5};
use std::sync::Arc;
use std::time::Duration;
use tidegate_engine::{
    AccountId, AttributeValue, Command, Counts, DeduplicationScope, Delivery, Document, Error,
    FifoAttributes, FifoThroughputLimit, Message, MessageAttribute, MessageId, MessageSeq, MoveTask,
    MoveTaskFailure, MoveTaskId, MoveTaskOutcome, Origin, Position, QueueAddress, QueueAttributes, QueueId,
    QueueName, QueueView, Receipt, RedriveAllowPolicy, RedrivePolicy, Region, Reply, SendEntry, Sent,
    StoredMessage,
};

type Outcome = (Result<Reply, Error>, Vec<StoredMessage>);

/// The outcome of `command` that `text` names.
pub(crate) fn outcome(text: &str, command: &Command) -> Outcome {
    let mut words = text.split(' ');
    let reply = match words.next().unwrap_or_default() {
        "done" => Reply::Done,
        "error" => return (Err(error(words.next().unwrap())), Vec::new()),
        "ok" => results(command, None),
        "duplicate" => duplicate(command),
        "entry" => {
            let number: usize = words.next().unwrap().parse().unwrap();
            results(command, Some((number - 1, error(words.next().unwrap()))))
        }
        "queues" => {
            let (more, names): (Vec<_>, Vec<_>) = words.partition(|word| *word == "more");
            let names = names.into_iter().map(|name| QueueName::parse(name).unwrap()).collect();
            Reply::Queues { names, more: !more.is_empty() }
        }
        "view" => Reply::Queue(Box::new(view(words.next().unwrap(), command))),
        "received" => return received(words.next().unwrap()),
        "tasks" => Reply::MoveTasks(words.map(move_task).collect()),
        "cancelled" => Reply::MoveTaskCancelled { moved: words.next().unwrap().parse().unwrap() },
        other => panic!("no outcome is called {other:?}"),
    };
    (Ok(reply), Vec::new())
}

/// A success for every entry, but for one.
fn results(command: &Command, failure: Option<(usize, Error)>) -> Reply {
    let failure_of =
        |index: usize| failure.as_ref().filter(|(at, _)| *at == index).map(|(_, error)| error.clone());
    let settled = |count: usize| {
        Reply::Settled((0..count).map(|index| failure_of(index).map_or(Ok(()), Err)).collect())
    };
    match command {
        Command::Send { queue, entries } => {
            let sent = |(index, entry): (usize, &SendEntry)| {
                let sequence = queue.name.is_fifo().then_some(MessageSeq(1 + index as u64));
                failure_of(index).map_or(Ok(Sent { id: entry.message.id, sequence }), Err)
            };
            Reply::Sent((0..).zip(entries).map(sent).collect())
        }
        Command::Delete { receipts, .. } => settled(receipts.len()),
        Command::ChangeVisibility { changes, .. } => settled(changes.len()),
        other => panic!("{other:?} has no entries"),
    }
}

/// Every message was sent before, as the ninth of its queue.
fn duplicate(command: &Command) -> Reply {
    let Command::Send { entries, .. } = command else { panic!("{command:?} sends nothing") };
    let original = Sent { id: MessageId::from_random([9; 16]), sequence: Some(MessageSeq(9)) };
    Reply::Sent(entries.iter().map(|_| Ok(original)).collect())
}

fn error(name: &str) -> Error {
    match name {
        "QueueMissing" => Error::QueueMissing,
        "QueueExists" => Error::QueueExists { attribute: "VisibilityTimeout" },
        "QueueDeletedRecently" => Error::QueueDeletedRecently,
        "PurgeInProgress" => Error::PurgeInProgress,
        "QueueTypeFixed" => Error::QueueTypeFixed,
        "ThroughputLimitNeedsGroupScope" => Error::ThroughputLimitNeedsGroupScope,
        "DeduplicationIdMissing" => Error::DeduplicationIdMissing,
        "ReceiptExpired" => Error::ReceiptExpired,
        "AttemptNotRetryable" => Error::AttemptNotRetryable,
        "EncryptionConflict" => Error::EncryptionConflict,
        "DeadLetterMissing" => Error::DeadLetterMissing,
        "DeadLetterType" => Error::DeadLetterType,
        "DeadLetterForbidden" => Error::DeadLetterForbidden,
        "PolicyChanged" => Error::PolicyChanged,
        "TooManyTags" => Error::TooManyTags { limit: 200 },
        "TooManyQueues" => Error::TooManyQueues { limit: 1_000_000 },
        "MessageTooLong" => Error::MessageTooLong { limit: 1_024 },
        "OverLimit" => Error::OverLimit,
        "TooManyWaiting" => Error::TooManyWaiting,
        "ReceiptOfOtherQueue" => Error::ReceiptOfOtherQueue,
        "NotAvailable" => Error::NotAvailable,
        "VisibilityBeyondLimit" => Error::VisibilityBeyondLimit,
        "StorageFull" => Error::StorageFull,
        "MoveSourceMissing" => Error::MoveSourceMissing,
        "MoveDestinationMissing" => Error::MoveDestinationMissing,
        "SourceNotDeadLetterQueue" => Error::SourceNotDeadLetterQueue,
        "MoveToItself" => Error::MoveToItself,
        "MoveTypesDiffer" => Error::MoveTypesDiffer,
        "MoveTaskRunning" => Error::MoveTaskRunning,
        "MoveTaskMissing" => Error::MoveTaskMissing,
        "TooManyMoveTasks" => Error::TooManyMoveTasks { limit: 100 },
        "AttributeOfFifo:FifoQueue" => Error::AttributeOfFifo { attribute: "FifoQueue" },
        "AttributeOfFifo:ContentBasedDeduplication" => {
            Error::AttributeOfFifo { attribute: "ContentBasedDeduplication" }
        }
        "AttributeOfFifo:DeduplicationScope" => Error::AttributeOfFifo { attribute: "DeduplicationScope" },
        "AttributeOfFifo:FifoThroughputLimit" => Error::AttributeOfFifo { attribute: "FifoThroughputLimit" },
        other => panic!("no error is called {other:?}"),
    }
}

fn view(kind: &str, command: &Command) -> QueueView {
    let Command::ViewQueue { queue } = command else { panic!("{command:?} views nothing") };
    let mut view = QueueView {
        address: queue.clone(),
        attributes: QueueAttributes::default(),
        tags: Default::default(),
        created_at: super::NOW,
        modified_at: super::NOW + Duration::from_millis(61_999),
        counts: Counts::default(),
        next_seq: MessageSeq(0),
    };
    match kind {
        "fresh" => {}
        "fifo" => view.attributes.fifo = Some(FifoAttributes::default()),
        "high-throughput" => {
            view.attributes.fifo = Some(FifoAttributes {
                content_based_deduplication: true,
                deduplication_scope: DeduplicationScope::MessageGroup,
                throughput_limit: FifoThroughputLimit::PerMessageGroupId,
            });
        }
        "tagged" => {
            view.tags.insert("a".into(), "1 & 2".into());
            view.tags.insert("b".into(), "".into());
        }
        "granted" => view.attributes.policy = Some(grants(1)),
        "granted-20" => view.attributes.policy = Some(grants(20)),
        "unreadable" => view.attributes.policy = Some(Document { text: "{}".into(), canonical: "{}".into() }),
        "full" => {
            view.counts = Counts { visible: 4, in_flight: 2, delayed: 1 };
            view.attributes.policy =
                Some(Document { text: "{ \"Version\": \"2012-10-17\" }".into(), canonical: "".into() });
            let dead_letter_target =
                QueueAddress { name: QueueName::parse("dlq").unwrap(), ..view.address.clone() };
            view.attributes.redrive_policy = Some(RedrivePolicy { dead_letter_target, max_receive_count: 5 });
            view.attributes.redrive_allow_policy = Some(RedriveAllowPolicy::DenyAll);
            view.attributes.kms_master_key_id = Some("testKeyId".into());
            view.attributes.sqs_managed_sse = false;
        }
        other => panic!("no view is called {other:?}"),
    }
    view
}

/// A policy of so many statements, labelled `label-0` and on.
fn grants(count: usize) -> Document {
    let statement = |i| format!(r#"{{"Sid":"label-{i}","Effect":"Allow","Principal":"*","Action":"SQS:*"}}"#);
    let statements: Vec<_> = (0..count).map(statement).collect();
    let text = format!(r#"{{ "Statement": [{}] }}"#, statements.join(", "));
    Document { canonical: text.as_str().into(), text: text.into() }
}

/// A task to return five messages to where they came from, of which it has moved two; one that has a
/// destination has a rate too.
fn move_task(kind: &str) -> MoveTask {
    let mut task = MoveTask {
        id: MoveTaskId(MessageId::from_random([5; 16]).0),
        destination: None,
        rate: None,
        started_at: super::NOW,
        to_move: 5,
        moved: 2,
        outcome: None,
    };
    task.outcome = match kind {
        "running" => None,
        "running-to" => {
            let name = QueueName::parse("archive").unwrap();
            task.destination =
                Some(QueueAddress { account: AccountId::default(), region: Region::default(), name });
            task.rate = Some(500);
            None
        }
        "completed" => Some(MoveTaskOutcome::Completed),
        "cancelled" => Some(MoveTaskOutcome::Cancelled),
        "destination-missing" => Some(MoveTaskOutcome::Failed(MoveTaskFailure::DestinationMissing)),
        "source-unknown" => Some(MoveTaskOutcome::Failed(MoveTaskFailure::SourceUnknown)),
        "timed-out" => Some(MoveTaskOutcome::Failed(MoveTaskFailure::TimedOut)),
        other => panic!("no move task is called {other:?}"),
    };
    task
}

fn received(kind: &str) -> Outcome {
    let (deliveries, messages): (Vec<_>, Vec<_>) = match kind {
        "none" => (Vec::new(), Vec::new()),
        "one" => [message(1, "hello")].into_iter().unzip(),
        "two" => [message(1, "hello"), message(2, "\"&quot;\"\r<b>\u{1F30A}\t\\")].into_iter().unzip(),
        "attributes" => {
            let (delivery, mut stored) = message(1, "hello");
            let text = |name: &str, data_type: &str, value: &str| MessageAttribute {
                name: name.into(),
                data_type: data_type.into(),
                value: AttributeValue::Text(value.into()),
            };
            stored.message.attributes = vec![
                text("Help.Me", "String", "Me"),
                text("Hello", "String", "There"),
                text("General", "String.custom", "Kenobi"),
                text("ts", "Number.java.lang.Long", "1493147359900"),
                MessageAttribute {
                    name: "b".into(),
                    data_type: "Binary.png".into(),
                    value: AttributeValue::Binary(vec![0, 0xff, 0x10].into()),
                },
            ];
            stored.message.trace_header = Some("Root=1-5759e988-bd862e3fe1be46a994272793".into());
            stored.message.group_id = Some("tenant-1".into());
            (vec![delivery], vec![stored])
        }
        "fifo" => [fifo_message(1, "hello"), fifo_message(2, "test")].into_iter().unzip(),
        "dead-letter" => [moved_message(None)].into_iter().unzip(),
        "redriven" => [moved_message(Some(MessageId::from_random([8; 16])))].into_iter().unzip(),
        other => panic!("nothing received is called {other:?}"),
    };
    (Ok(Reply::Received(deliveries)), messages)
}

fn message(number: u64, body: &str) -> (Delivery, StoredMessage) {
    let queue = QueueId(7);
    let seq = MessageSeq(number);
    let delivery = Delivery {
        origin: None,
        receipt: Receipt { queue, seq, receive: 1 },
        position: Position(number),
        receive_count: 1,
        sent_at: super::NOW,
        first_received_at: super::NOW + Duration::from_secs(5),
    };
    let message = Message {
        id: MessageId::from_random([u8::try_from(number).unwrap(); 16]),
        body: body.to_owned().into(),
        body_md5: Md5::digest(body).into(),
        attributes: Vec::new(),
        trace_header: None,
        group_id: None,
        deduplication_id: None,
        sender: AccountId::default().to_string().into(),
    };
    (delivery, StoredMessage { queue, seq, sent_at: super::NOW, message })
}

fn fifo_message(number: u64, body: &str) -> (Delivery, StoredMessage) {
    let (delivery, mut stored) = message(number, body);
    stored.message.group_id = Some("g1".into());
    stored.message.deduplication_id = Some(format!("d{number}").into());
    (delivery, stored)
}

/// A message that was sent to the queue `orders.fifo` and lies in another one: there as a dead letter, or,
/// with a new id, by a redrive. It has number 40 now and was received twice.
fn moved_message(id: Option<MessageId>) -> (Delivery, StoredMessage) {
    let (mut delivery, stored) = fifo_message(1, "hello");
    let name = QueueName::parse("orders.fifo").unwrap();
    let source = QueueAddress { account: AccountId::default(), region: Region::default(), name };
    let (sent_to, sent_as) = (delivery.receipt.queue, delivery.receipt.seq);
    let source = Some(source).filter(|_| id.is_none());
    delivery.origin = Some(Arc::new(Origin { sent_to, sent_as, source, id }));
    delivery.receipt = Receipt { queue: QueueId(8), seq: MessageSeq(40), receive: 2 };
    delivery.receive_count = 2;
    delivery.sent_at = super::NOW + Duration::from_secs(4);
    (delivery, stored)
}
