//! Histories written by hand, as a server would make them that keeps its promises or breaks one.

use std::collections::BTreeMap;
use std::time::Duration;
use tidegate_engine::{
    AccountId, AttributeChange, Command, Counts, Delivery, Message, MessageSeq, Peeked, PeekedState,
    Position, QueueAddress, QueueAttributes, QueueId, QueueName, QueueView, Receipt, Receive, Region, Reply,
    RequestId, SendEntry, Sent, Stored, StoredMessage, Tags, Timestamp, Touched,
};
use tidegate_sim::checker::Checkers;
use tidegate_sim::content::{Tag, body, digest, id};
use tidegate_sim::history::{Content, Fact, Look, LookedQueue};

const QUEUES: [&str; 6] = ["orders-dead", "steps-dead.fifo", "jobs", "orders", "steps.fifo", "events.fifo"];
const START: u64 = 1_790_000_000_000;

pub(crate) fn address(name: &str) -> QueueAddress {
    QueueAddress {
        account: AccountId::parse("123456789012").expect("twelve digits"),
        region: Region::default(),
        name: QueueName::parse(name).expect("a queue name"),
    }
}

/// Some instant that no test reaches.
pub(crate) fn h_end() -> Timestamp {
    Timestamp::from_millis(START) + Duration::from_secs(3_600)
}

/// What has been seen so far.
pub(crate) struct History {
    checkers: Checkers,
    now: Timestamp,
    requests: u64,
    messages: BTreeMap<MessageSeq, (StoredMessage, u32)>,
    attributes: BTreeMap<QueueName, QueueAttributes>,
    broken: Option<&'static str>,
}

impl History {
    /// Six queues with a visibility timeout of 30 s, and nothing in them.
    pub(crate) fn new() -> Self {
        let mut history = History {
            checkers: Checkers::default(),
            now: Timestamp::from_millis(START),
            requests: 0,
            messages: BTreeMap::new(),
            attributes: BTreeMap::new(),
            broken: None,
        };
        for name in QUEUES {
            let queue = address(name);
            let mut attributes = Vec::new();
            attributes.extend(queue.name.is_fifo().then_some(AttributeChange::FifoQueue(true)));
            history.attributes.insert(queue.name.clone(), QueueAttributes::from_changes(&attributes));
            history.ask(Command::CreateQueue { queue, attributes, tags: Tags::new() });
        }
        history
    }

    /// Whose promise was broken first.
    pub(crate) fn broken(&self) -> Option<&'static str> {
        self.broken
    }

    fn observe(&mut self, fact: &Fact<'_>) {
        let verdict = self.checkers.observe(fact);
        self.broken = self.broken.or(verdict.err().map(|violation| violation.checker));
    }

    fn answer(&mut self, command: &Command, reply: Reply, contents: &[Content]) {
        self.requests += 1;
        let (now, request) = (self.now, RequestId(self.requests));
        self.observe(&Fact::Asked { now, request, command });
        self.observe(&Fact::Answered { now, request, command, outcome: &Ok(reply), contents });
    }

    /// Something that is simply done.
    pub(crate) fn ask(&mut self, command: Command) {
        self.answer(&command, Reply::Done, &[]);
    }

    pub(crate) fn set(&mut self, name: &str, attribute: AttributeChange) {
        let queue = address(name);
        let known = self.attributes.get_mut(&queue.name).expect("a queue of ours");
        match &attribute {
            AttributeChange::RedrivePolicy(policy) => known.redrive_policy = policy.clone(),
            AttributeChange::DelaySeconds(delay) => known.delay = *delay,
            other => panic!("no test changes {other:?}"),
        }
        self.ask(Command::SetQueueAttributes { queue, attributes: vec![attribute] });
    }

    pub(crate) fn wait(&mut self, secs: u64) {
        self.now = self.now + Duration::from_secs(secs);
    }

    pub(crate) fn end(&mut self) {
        self.observe(&Fact::Ended);
    }

    pub(crate) fn damage(&mut self) {
        self.observe(&Fact::Damaged(true));
    }

    /// A message that is stored, in group `g` of a FIFO queue.
    pub(crate) fn send(&mut self, name: &str, dedup: &str) -> MessageSeq {
        self.send_answered(name, dedup, None)
    }

    pub(crate) fn send_as_duplicate_of(&mut self, first: MessageSeq, name: &str, dedup: &str) {
        self.send_answered(name, dedup, Some(first));
    }

    fn send_answered(&mut self, name: &str, dedup: &str, first: Option<MessageSeq>) -> MessageSeq {
        let (queue, seq) = (address(name), MessageSeq(self.messages.len() as u64 + 1));
        let (tag, is_fifo) = (Tag(seq.0), queue.name.is_fifo());
        let message = Message {
            id: id(tag),
            body: body(tag, 20),
            body_md5: digest(tag),
            attributes: Vec::new(),
            trace_header: None,
            group_id: is_fifo.then(|| "g".into()),
            deduplication_id: is_fifo.then(|| dedup.into()),
            sender: "123456789012".into(),
        };
        let entry = SendEntry { message: message.clone(), delay: None, content_based: false };
        let shown = first.unwrap_or(seq);
        let sent = Sent { id: id(Tag(shown.0)), sequence: is_fifo.then_some(shown) };
        self.answer(&Command::Send { queue, entries: vec![entry] }, Reply::Sent(vec![Ok(sent)]), &[]);
        self.messages.insert(seq, (StoredMessage { queue: QueueId(1), seq, sent_at: self.now, message }, 0));
        seq
    }

    /// Messages with their receive counts.
    pub(crate) fn receive(&mut self, name: &str, messages: &[(MessageSeq, u32)]) -> Vec<Receipt> {
        let content = |(seq, _): &(MessageSeq, u32)| Content::Whole(self.messages[seq].0.clone());
        let contents = messages.iter().map(content).collect();
        self.receive_with(name, messages, contents)
    }

    /// A message with a body that is not its own.
    pub(crate) fn receive_altered(&mut self, name: &str, seq: MessageSeq) {
        let mut stored = self.messages[&seq].0.clone();
        let mut body = stored.message.body.to_vec();
        body[12] ^= 1;
        stored.message.body = body.into();
        self.receive_with(name, &[(seq, 1)], vec![Content::Whole(stored)]);
    }

    pub(crate) fn receive_unreadable(&mut self, name: &str, seq: MessageSeq) {
        self.receive_with(name, &[(seq, 1)], vec![Content::Unreadable]);
    }

    fn receive_with(
        &mut self,
        name: &str,
        messages: &[(MessageSeq, u32)],
        contents: Vec<Content>,
    ) -> Vec<Receipt> {
        let receive = Receive {
            queue: address(name),
            max: 10,
            visibility_timeout: None,
            wait: Some(Duration::ZERO),
            attempt_id: None,
        };
        let queue_number = QUEUES.iter().position(|queue| *queue == name).expect("a queue of ours") as u64;
        let delivery = |(seq, count): &(MessageSeq, u32)| Delivery {
            receipt: Receipt { queue: QueueId(queue_number), seq: *seq, receive: *count },
            position: Position(0),
            receive_count: *count,
            sent_at: self.now,
            first_received_at: self.now,
            origin: None,
        };
        let deliveries: Vec<_> = messages.iter().map(delivery).collect();
        for (seq, count) in messages {
            self.messages.get_mut(seq).expect("a message of ours").1 = *count;
        }
        let receipts = deliveries.iter().map(|delivery| delivery.receipt).collect();
        self.answer(&Command::Receive(receive), Reply::Received(deliveries), &contents);
        receipts
    }

    pub(crate) fn delete(&mut self, name: &str, receipts: &[Receipt]) {
        let command = Command::Delete { queue: address(name), receipts: receipts.to_vec() };
        self.answer(&command, Reply::Settled(vec![Ok(()); receipts.len()]), &[]);
    }

    /// A look that shows these messages, all visible.
    pub(crate) fn look(&mut self, queues: &[(&str, &[MessageSeq])]) {
        self.look_with(queues, |_| {});
    }

    pub(crate) fn look_with(&mut self, queues: &[(&str, &[MessageSeq])], change: impl FnOnce(&mut Look)) {
        let mut look = Look { now: self.now, ..Look::default() };
        look.queues = queues.iter().map(|(name, messages)| self.looked(name, messages)).collect();
        change(&mut look);
        self.observe(&Fact::Looked(&look));
    }

    fn looked(&self, name: &str, messages: &[MessageSeq]) -> LookedQueue {
        let address = address(name);
        let show = |seq: &MessageSeq| {
            let (message, receive_count) = &self.messages[seq];
            let stored = Stored { seq: *seq, position: Position(0), sent_at: message.sent_at };
            let touched = Touched { stored, receive_count: *receive_count, ..Touched::default() };
            (Peeked { touched, state: PeekedState::Visible }, Content::Whole(message.clone()))
        };
        let view = QueueView {
            address: address.clone(),
            attributes: self.attributes[&address.name].clone(),
            tags: Tags::new(),
            created_at: self.now,
            modified_at: self.now,
            counts: Counts { visible: messages.len() as u64, ..Counts::default() },
            next_seq: MessageSeq(0),
        };
        let messages = messages.iter().map(show).collect();
        LookedQueue { address, view, messages, tasks: Vec::new() }
    }
}
