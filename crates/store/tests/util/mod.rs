//! What the tests of this crate share: a server without threads on a machine without a disk, and a model of what
//! its clients were told.

#![allow(dead_code, reason = "every test file uses its own part of this")]

pub(crate) mod fixture;
pub(crate) mod machine;
pub(crate) mod model;

use bytes::Bytes;
use std::time::Duration;
use tidegate_engine::{
    AccountId, AttributeValue, Chunk, Command, Extent, Message, MessageAttribute, MessageId, QueueAddress,
    QueueName, Receive, Region, SendEntry, Tags, Timestamp,
};

/// For what nothing is put away of.
pub(crate) fn none_away(extent: &Extent) -> Vec<Chunk> {
    panic!("{extent:?} is away");
}

/// When every test begins: some day, at no round second.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_790_000_000_123);

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn address(name: &str) -> QueueAddress {
    QueueAddress {
        account: AccountId::parse("123456789012").expect("twelve digits"),
        region: Region::default(),
        name: QueueName::parse(name).expect("a queue name"),
    }
}

pub(crate) fn create(name: &str) -> Command {
    Command::CreateQueue { queue: address(name), attributes: Vec::new(), tags: Tags::new() }
}

/// A message whose every byte follows from `number`.
pub(crate) fn message(number: u64, body_bytes: usize) -> Message {
    let mut random = fastrand::Rng::with_seed(number);
    let mut id = [0; 16];
    random.fill(&mut id);
    let mut body = vec![0; body_bytes];
    random.fill(&mut body);
    let some = |yes: bool, text: &str| yes.then(|| format!("{text}-{number}").into_boxed_str());
    let attribute = |n: u8| MessageAttribute {
        name: format!("a{n}").into(),
        data_type: if n.is_multiple_of(2) { "String".into() } else { "Binary.x".into() },
        value: match n % 2 {
            0 => AttributeValue::Text(format!("value of {number}").into()),
            _ => AttributeValue::Binary(Bytes::copy_from_slice(&number.to_le_bytes())),
        },
    };
    Message {
        id: MessageId::from_random(id),
        body: body.into(),
        body_md5: id,
        attributes: (0..random.u8(0..8).saturating_sub(4)).map(attribute).collect(),
        trace_header: some(random.u8(0..4) == 0, "Root"),
        group_id: (random.u8(0..4) == 0).then(|| format!("group-{}", number % 5).into()),
        deduplication_id: None,
        sender: "123456789012".into(),
    }
}

pub(crate) fn send(name: &str, entries: Vec<SendEntry>) -> Command {
    Command::Send { queue: address(name), entries }
}

/// A short poll for up to ten messages.
pub(crate) fn receive(name: &str, visibility_timeout: Option<Duration>) -> Command {
    let queue = address(name);
    Command::Receive(Receive {
        queue,
        max: 10,
        visibility_timeout,
        wait: Some(Duration::ZERO),
        attempt_id: None,
    })
}
