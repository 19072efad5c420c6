//! Every kind of event, with every kind of field, through the codec and back.

use super::*;
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, AttributeValue, DeduplicationScope, Document, FifoThroughputLimit, Message,
    MessageAttribute, MessageId, MoveTaskFailure, MoveTaskOutcome, RedriveAllowPolicy, RedrivePolicy,
};

fn address(name: &str) -> QueueAddress {
    QueueAddress {
        account: AccountId::parse("123456789012").unwrap(),
        region: Region::default(),
        name: QueueName::parse(name).unwrap(),
    }
}

fn stored() -> StoredMessage {
    let attribute = |name: &str, data_type: &str, value| MessageAttribute {
        name: name.into(),
        data_type: data_type.into(),
        value,
    };
    StoredMessage {
        queue: QueueId(7),
        seq: MessageSeq(u64::MAX),
        sent_at: Timestamp::from_millis(1_800_000_000_123),
        message: Message {
            id: MessageId::from_random(*b"0123456789abcdef"),
            body: Bytes::from_static("grüße\r\n\0".as_bytes()),
            body_md5: *b"fedcba9876543210",
            attributes: vec![
                attribute("s", "String.custom", AttributeValue::Text("v".into())),
                attribute("b", "Binary.png", AttributeValue::Binary(Bytes::from_static(&[0, 0xff, 0x10]))),
            ],
            trace_header: Some("Root=1".into()),
            group_id: None,
            deduplication_id: Some("d".into()),
            sender: "000000000000".into(),
        },
    }
}

fn changes() -> Vec<AttributeChange> {
    let seconds = Duration::from_secs(900);
    let redrive = RedrivePolicy { dead_letter_target: address("dlq"), max_receive_count: 1000 };
    vec![
        AttributeChange::DelaySeconds(seconds),
        AttributeChange::MaximumMessageSize(1 << 20),
        AttributeChange::MessageRetentionPeriod(seconds),
        AttributeChange::ReceiveMessageWaitTimeSeconds(Duration::ZERO),
        AttributeChange::VisibilityTimeout(seconds),
        AttributeChange::Policy(Some(Document { text: "{ }".into(), canonical: "{}".into() })),
        AttributeChange::Policy(None),
        AttributeChange::RedrivePolicy(Some(redrive)),
        AttributeChange::RedrivePolicy(None),
        AttributeChange::RedriveAllowPolicy(Some(RedriveAllowPolicy::AllowAll)),
        AttributeChange::RedriveAllowPolicy(Some(RedriveAllowPolicy::DenyAll)),
        AttributeChange::RedriveAllowPolicy(Some(RedriveAllowPolicy::ByQueue(vec!["a".into(), "b".into()]))),
        AttributeChange::RedriveAllowPolicy(None),
        AttributeChange::KmsMasterKeyId(Some("alias/k".into())),
        AttributeChange::KmsMasterKeyId(None),
        AttributeChange::KmsDataKeyReusePeriodSeconds(seconds),
        AttributeChange::SqsManagedSseEnabled(false),
        AttributeChange::FifoQueue(true),
        AttributeChange::ContentBasedDeduplication(true),
        AttributeChange::DeduplicationScope(DeduplicationScope::MessageGroup),
        AttributeChange::FifoThroughputLimit(FifoThroughputLimit::PerMessageGroupId),
    ]
}

fn events() -> Vec<Event> {
    let queue = QueueId(300);
    let tags: Tags = [("a".into(), "1".into()), ("ä".into(), "".into())].into();
    let visible_at = Timestamp::from_millis(u64::MAX);
    let receipt = Receipt { queue, seq: MessageSeq(1), receive: u32::MAX };
    vec![
        Event::QueueCreated { queue, address: address("q"), attributes: changes(), tags: tags.clone() },
        Event::QueueDeleted { queue },
        Event::AttributesSet { queue, attributes: changes() },
        Event::QueueTagged { queue, tags },
        Event::QueueUntagged { queue, keys: vec!["a".into(), "".into()] },
        Event::QueuePurged { queue },
        Event::MessageSent { stored: stored(), visible_at },
        Event::MessagesReceived {
            queue,
            messages: (0..10).map(MessageSeq).collect(),
            visible_at,
            attempt_id: None,
        },
        Event::VisibilityChanged { receipt, visible_at },
        Event::MessageDeleted { queue, seq: MessageSeq(128) },
        Event::MessageRelocated { stored: stored() },
        Event::MessagesReceived {
            queue,
            messages: vec![MessageSeq(7)],
            visible_at,
            attempt_id: Some("attempt".into()),
        },
        Event::ReceiveRepeated { queue, messages: vec![MessageSeq(7), MessageSeq(1 << 40)], visible_at },
        Event::MessageDeadLettered {
            queue,
            seq: MessageSeq(128),
            target: QueueId(u64::MAX),
            target_seq: MessageSeq(129),
        },
        Event::MessageRedriven {
            queue,
            seq: MessageSeq(1),
            target: QueueId(2),
            target_seq: MessageSeq(u64::MAX),
            id: MessageId([0xfe; 16]),
            by_task: true,
        },
        Event::MoveTaskStarted {
            queue,
            id: MoveTaskId([9; 16]),
            destination: Some(address("home")),
            rate: Some(500),
            to_move: 1 << 33,
        },
        Event::MoveTaskStarted { queue, id: MoveTaskId([0; 16]), destination: None, rate: None, to_move: 0 },
        Event::MoveTaskEnded { queue, outcome: MoveTaskOutcome::Completed },
        Event::MoveTaskEnded { queue, outcome: MoveTaskOutcome::Failed(MoveTaskFailure::SourceUnknown) },
    ]
}

#[test]
fn every_event_survives() {
    let at = Timestamp::from_millis(1_800_000_000_000);
    for event in events() {
        let mut record = Vec::new();
        encode(at, &event, &mut record);
        assert_eq!(decode(&record.into()), Ok((at, event)));
    }
}

#[test]
fn cut_or_lengthened_records_are_refused() {
    for event in events() {
        let mut record = Vec::new();
        encode(Timestamp::ZERO, &event, &mut record);
        for len in 0..record.len() {
            assert!(decode(&Bytes::copy_from_slice(&record[..len])).is_err(), "{event:?} cut to {len}");
        }
        record.push(0);
        assert_eq!(decode(&record.into()), Err(DecodeError::Trailing { count: 1 }));
    }
}

#[test]
fn a_message_of_300_bytes_takes_at_most_80_more() {
    let mut stored = stored();
    stored.seq = MessageSeq(10_000_000);
    stored.message.body = Bytes::from(vec![b'x'; 300]);
    stored.message.attributes.clear();
    stored.message.trace_header = None;
    let mut record = Vec::new();
    encode(stored.sent_at, &Event::MessageSent { visible_at: stored.sent_at, stored }, &mut record);
    assert!(record.len() <= 380, "{} bytes", record.len());
}
