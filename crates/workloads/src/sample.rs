//! Messages, queues and times that are the same in every run.

use tidegate_engine::{
    AccountId, AttributeChange, Command, Message, MessageId, QueueAddress, QueueName, Receive, Region,
    SendEntry, Tags, Timestamp,
};

/// When everything happens: some day.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
/// Bytes of a body: a usual message.
pub(crate) const BODY_BYTES: usize = 300;

pub(crate) fn address(name: &str) -> QueueAddress {
    QueueAddress {
        account: AccountId::default(),
        region: Region::default(),
        name: QueueName::parse(name).expect("a queue name"),
    }
}

/// Creates a standard queue, or a FIFO queue if that is how it is named.
pub(crate) fn create(name: &str) -> Command {
    let queue = address(name);
    let fifo = queue.name.is_fifo().then_some(AttributeChange::FifoQueue(true));
    Command::CreateQueue { queue, attributes: fifo.into_iter().collect(), tags: Tags::new() }
}

/// The message of this number: a body of [`BODY_BYTES`], no attributes.
pub(crate) fn message(number: u64) -> Message {
    let mut id = [0; 16];
    // Spread as random ones are.
    id[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    id[8..].copy_from_slice(&number.wrapping_mul(0xd1b5_4a32_d192_ed03).to_le_bytes());
    Message {
        id: MessageId::from_random(id),
        body: body().into(),
        body_md5: [5; 16],
        attributes: Vec::new(),
        trace_header: None,
        group_id: None,
        deduplication_id: None,
        sender: "AIDAEXAMPLE".into(),
    }
}

/// Text of [`BODY_BYTES`] in which JSON and URLs have something to escape now and then.
pub(crate) fn body() -> String {
    "{\"order\": 4711, \"customer\": {\"country\": \"FR\"}} ".chars().cycle().take(BODY_BYTES).collect()
}

/// The same message in one of `groups` groups, with a deduplication id of its own.
pub(crate) fn grouped(number: u64, groups: u64) -> Message {
    Message {
        group_id: Some(format!("customer-{}", number % groups).into()),
        deduplication_id: Some(format!("deduplication-{number}").into()),
        ..message(number)
    }
}

pub(crate) fn send(name: &str, messages: Vec<Message>) -> Command {
    let entry = |message| SendEntry { message, delay: None, content_based: false };
    Command::Send { queue: address(name), entries: messages.into_iter().map(entry).collect() }
}

/// A receive of up to ten messages that does not wait.
pub(crate) fn receive(name: &str) -> Command {
    Command::Receive(Receive {
        queue: address(name),
        max: 10,
        visibility_timeout: None,
        wait: None,
        attempt_id: None,
    })
}
