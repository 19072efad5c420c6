//! A bench for the engine: a hand-moved clock, a log in memory, and checks that run after every step.
//!
//! What is checked: every request is answered once; every record that was appended for a message is either the
//! place of a live message or was reported released once; the next deadline is never late; and engines that only
//! follow the log, from its start or from a snapshot taken on the way, agree with the live one in everything that
//! can be observed.

#![allow(dead_code, reason = "every test file uses its own part of the bench")]

mod tracked;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tidegate_engine::{
    AccountId, AttributeChange, Chunk, Command, Config, Delivery, Engine, Error, Event, FifoState, Journal,
    Message, MessageId, MessageSeq, Messages, MoveTask, MoveTaskId, MoveTaskOutcome, Peeked, Portion,
    Position, QueueAddress, QueueAttributes, QueueName, QueueView, Receipt, Receive, RedrivePolicy, Region,
    Reply, RequestId, SendEntry, Sent, Stored, StoredMessage, Tags, Timestamp,
};

use tracked::positions;
pub(crate) use tracked::{TINY, Tracked};

/// When every test begins: some day, at no round second.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_790_000_000_123);

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) const fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

/// One millisecond, the engine's smallest step of time.
pub(crate) const TICK: Duration = millis(1);

/// Whatever names a queue: its text, in account 0 and the default region, or a full address.
pub(crate) trait Named {
    fn address(&self) -> QueueAddress;
}

impl Named for &str {
    fn address(&self) -> QueueAddress {
        address(0, "us-east-1", self)
    }
}

impl Named for &QueueAddress {
    fn address(&self) -> QueueAddress {
        (*self).clone()
    }
}

pub(crate) fn address(account: u64, region: &str, name: &str) -> QueueAddress {
    QueueAddress {
        account: AccountId::from_u64(account).expect("an account below 10^12"),
        region: Region::parse(region).expect("a region"),
        name: name_of(name),
    }
}

pub(crate) fn name_of(name: &str) -> QueueName {
    QueueName::parse(name).expect("a queue name")
}

pub(crate) fn message(number: u128, body: impl Into<bytes::Bytes>) -> Message {
    Message {
        id: MessageId(number.to_be_bytes()),
        body: body.into(),
        body_md5: [0; 16],
        attributes: Vec::new(),
        trace_header: None,
        group_id: None,
        deduplication_id: None,
        sender: "000000000000".into(),
    }
}

pub(crate) fn tags(pairs: &[(&str, &str)]) -> Tags {
    pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

/// A redrive policy that names a dead-letter queue.
pub(crate) fn redrive_policy(target: impl Named, max_receive_count: u32) -> AttributeChange {
    let dead_letter_target = target.address();
    AttributeChange::RedrivePolicy(Some(RedrivePolicy { dead_letter_target, max_receive_count }))
}

/// A short poll for up to ten messages, to be changed as a test needs it.
pub(crate) fn receive_of(queue: impl Named) -> Receive {
    Receive {
        queue: queue.address(),
        max: 10,
        visibility_timeout: None,
        wait: Some(Duration::ZERO),
        attempt_id: None,
    }
}

/// A received message with what its record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) body: String,
    pub(crate) id: MessageId,
    pub(crate) sent_at: Timestamp,
    pub(crate) receipt: Receipt,
    pub(crate) position: Position,
    pub(crate) receive_count: u32,
    pub(crate) first_received_at: Timestamp,
    /// The queue that a dead letter left last.
    pub(crate) source: Option<QueueAddress>,
}

pub(crate) fn bodies(got: &[Got]) -> Vec<&str> {
    got.iter().map(|message| message.body.as_str()).collect()
}

/// A record of the log in memory.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) at: Timestamp,
    pub(crate) position: Position,
    pub(crate) event: Event,
}

impl Record {
    /// The message whose content this record holds.
    pub(crate) fn stored(&self) -> Option<&StoredMessage> {
        match &self.event {
            Event::MessageSent { stored, .. } | Event::MessageRelocated { stored } => Some(stored),
            _ => None,
        }
    }
}

/// A log in memory; every record is taken to be durable at once.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) records: Vec<Record>,
    pub(crate) open: BTreeSet<RequestId>,
    pub(crate) replies: BTreeMap<RequestId, Result<Reply, Error>>,
    /// How many records there were when the newest request was answered, if it was.
    pub(crate) answered_at: Option<(RequestId, usize)>,
}

const FIRST_POSITION: u64 = 4096;
const RECORD_BYTES: u64 = 72;

impl Log {
    pub(crate) fn record(&self, position: Position) -> &Record {
        &self.records[usize::try_from((position.0 - FIRST_POSITION) / RECORD_BYTES).expect("fits")]
    }
}

impl Journal for Log {
    fn append(&mut self, at: Timestamp, event: &Event) -> Position {
        let position = Position(FIRST_POSITION + RECORD_BYTES * self.records.len() as u64);
        self.records.push(Record { at, position, event: event.clone() });
        position
    }

    fn reply(&mut self, request: RequestId, reply: Result<Reply, Error>) {
        assert!(
            self.open.remove(&request),
            "{request:?} is answered although it is not under way: {reply:?}"
        );
        self.replies.insert(request, reply);
        if self.answered_at.is_none_or(|(newest, _)| newest < request) {
            self.answered_at = Some((request, self.records.len()));
        }
    }
}

/// All that can be observed of an engine at an instant, but its waiting receives.
#[derive(Debug, PartialEq)]
pub(crate) struct Essence {
    numbers: (Timestamp, u64, u64),
    deleted: Vec<(Timestamp, QueueAddress)>,
    views: Vec<String>,
    gauges: String,
    untouched: Vec<Position>,
    rest: Vec<Messages>,
    receivable: Vec<Delivery>,
}

impl Essence {
    /// Looks at a copy, so that looking does not let time pass in the engine itself.
    pub(crate) fn of(tracked: &Tracked, now: Timestamp) -> Self {
        let Tracked { engine, shelf, .. } = tracked;
        let config =
            Config { in_flight_max: usize::MAX, fifo_in_flight_max: usize::MAX, ..Config::default() };
        let mut copy = Engine::restore(config, engine.snapshot());
        for queue in engine.snapshot().queues {
            let Messages::Standard(messages) = queue.messages else { continue };
            for portion in messages.backlog {
                if let Portion::Written { extent, .. } = portion {
                    copy.supply(queue.id, &extent, shelf.read(&extent));
                }
            }
        }
        let gauges = format!("{:?}", copy.gauges(now));
        let snapshot = copy.snapshot();
        let mut untouched = Vec::new();
        let mut rest = Vec::new();
        for queue in &snapshot.queues {
            rest.push(match &queue.messages {
                // How a backlog is cut into chunks depends on its history, and is nobody's affair.
                Messages::Standard(messages) => {
                    let mut rest = messages.clone();
                    let plain = std::mem::take(&mut rest.backlog);
                    let of_tenants = rest.tenants.iter_mut().map(|tenant| &mut tenant.backlog);
                    let of_tenants = of_tenants.map(|backlog| Portion::Passing(std::mem::take(backlog)));
                    for portion in plain.into_iter().chain(of_tenants) {
                        portion.for_each_position(&mut |extent| shelf.read(extent), |position| {
                            untouched.push(position);
                        });
                    }
                    Messages::Standard(rest)
                }
                fifo @ Messages::Fifo(_) => fifo.clone(),
            });
        }
        let mut views = Vec::new();
        let mut receivable = Vec::new();
        for queue in &snapshot.queues {
            let view = ask(&mut copy, now, Command::ViewQueue { queue: queue.address.clone() });
            views.push(format!("{:?} {view:?} purged {:?}", queue.id, queue.purged_at));
            let receive = Receive { visibility_timeout: Some(hours(12)), ..receive_of(&queue.address) };
            while let Ok(Reply::Received(more)) = ask(&mut copy, now, Command::Receive(receive.clone()))
                && !more.is_empty()
            {
                receivable.extend(more);
            }
        }
        let numbers = (snapshot.at, snapshot.next_queue, snapshot.next_seq);
        Essence { numbers, deleted: snapshot.deleted, views, gauges, untouched, rest, receivable }
    }
}

fn ask(engine: &mut Engine, now: Timestamp, command: Command) -> Result<Reply, Error> {
    let mut log = Log::default();
    log.open.insert(RequestId(0));
    engine.handle(now, RequestId(0), command, &mut log);
    log.replies.remove(&RequestId(0)).expect("answered at once")
}

/// A receive that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Poll(pub(crate) RequestId);

/// Both ways to come back after the end of a server.
pub(crate) const RESTARTS: [fn(&mut TestEngine); 2] =
    [TestEngine::restart_from_events, TestEngine::restart_from_snapshot];

/// The live engine and those that follow its log.
#[derive(Debug)]
pub(crate) struct TestEngine {
    pub(crate) live: Tracked,
    /// The first follows from the start of the log, the others from snapshots taken on the way.
    followers: Vec<Tracked>,
    followed: usize,
    pub(crate) log: Log,
    pub(crate) now: Timestamp,
    pub(crate) config: Config,
    /// Whether to compare with the followers after every step.
    pub(crate) thorough: bool,
    steps: u32,
    next_request: u64,
    next_message: u128,
}

impl TestEngine {
    pub(crate) fn new() -> Self {
        TestEngine::with_config(Config::default())
    }

    pub(crate) fn with_config(config: Config) -> Self {
        TestEngine {
            live: Tracked::new(config),
            followers: vec![Tracked::new(Config { backlog_sizes: TINY, ..config }).spilling()],
            followed: 0,
            log: Log::default(),
            now: START,
            config,
            thorough: true,
            steps: 0,
            next_request: 0,
            next_message: 0,
        }
    }

    /// An engine that puts away all it can, after every step.
    pub(crate) fn spilling(config: Config) -> Self {
        let mut engine = TestEngine::with_config(Config { backlog_sizes: TINY, ..config });
        engine.live.spills = true;
        engine
    }

    /// An engine with one FIFO queue, `q.fifo`, of default attributes.
    pub(crate) fn with_fifo_queue() -> Self {
        let mut engine = TestEngine::new();
        engine.create_with("q.fifo", &[AttributeChange::FifoQueue(true)]);
        engine
    }

    pub(crate) fn create_fifo(&mut self, queue: impl Named, attributes: &[AttributeChange]) {
        self.create_with(queue, &[&[AttributeChange::FifoQueue(true)], attributes].concat());
    }

    /// An engine with one queue, `q`, of default attributes.
    pub(crate) fn with_queue() -> Self {
        let mut engine = TestEngine::new();
        engine.create("q");
        engine
    }

    // Asking.

    /// Hands in a command; it may stay unanswered if it is a receive that waits.
    pub(crate) fn ask(&mut self, command: Command) -> RequestId {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        self.log.open.insert(request);
        self.live.handle(self.now, request, command, &mut self.log);
        self.check();
        request
    }

    /// Hands in a command that must be answered at once.
    pub(crate) fn call(&mut self, command: Command) -> Result<Reply, Error> {
        let request = self.ask(command);
        self.log.replies.remove(&request).expect("answered at once")
    }

    pub(crate) fn done(&mut self, command: Command) -> Result<(), Error> {
        match self.call(command)? {
            Reply::Done => Ok(()),
            other => panic!("no Done: {other:?}"),
        }
    }

    // Queues.

    pub(crate) fn create(&mut self, queue: impl Named) {
        self.try_create(queue, &[]).expect("creates the queue");
    }

    pub(crate) fn create_with(&mut self, queue: impl Named, attributes: &[AttributeChange]) {
        self.try_create(queue, attributes).expect("creates the queue");
    }

    pub(crate) fn try_create(
        &mut self,
        queue: impl Named,
        attributes: &[AttributeChange],
    ) -> Result<(), Error> {
        let attributes = attributes.to_vec();
        self.done(Command::CreateQueue { queue: queue.address(), attributes, tags: Tags::new() })
    }

    pub(crate) fn delete_queue(&mut self, queue: impl Named) -> Result<(), Error> {
        self.done(Command::DeleteQueue { queue: queue.address() })
    }

    pub(crate) fn set(&mut self, queue: impl Named, attribute: AttributeChange) {
        self.try_set(queue, &[attribute]).expect("sets the attribute");
    }

    pub(crate) fn try_set(&mut self, queue: impl Named, attributes: &[AttributeChange]) -> Result<(), Error> {
        let attributes = attributes.to_vec();
        self.done(Command::SetQueueAttributes { queue: queue.address(), attributes })
    }

    pub(crate) fn purge(&mut self, queue: impl Named) -> Result<(), Error> {
        self.done(Command::PurgeQueue { queue: queue.address() })
    }

    pub(crate) fn tag(&mut self, queue: impl Named, pairs: &[(&str, &str)]) -> Result<(), Error> {
        self.done(Command::TagQueue { queue: queue.address(), tags: tags(pairs) })
    }

    pub(crate) fn untag(&mut self, queue: impl Named, keys: &[&str]) -> Result<(), Error> {
        let keys = keys.iter().map(|key| (*key).into()).collect();
        self.done(Command::UntagQueue { queue: queue.address(), keys })
    }

    pub(crate) fn exists(&mut self, queue: impl Named) -> bool {
        self.done(Command::FindQueue { queue: queue.address() }).is_ok()
    }

    pub(crate) fn view(&mut self, queue: impl Named) -> QueueView {
        match self.call(Command::ViewQueue { queue: queue.address() }) {
            Ok(Reply::Queue(view)) => *view,
            other => panic!("no view: {other:?}"),
        }
    }

    /// Messages visible, in flight and delayed.
    pub(crate) fn counts(&mut self, queue: impl Named) -> (u64, u64, u64) {
        let counts = self.view(queue).counts;
        (counts.visible, counts.in_flight, counts.delayed)
    }

    // Messages.

    pub(crate) fn try_send(
        &mut self,
        queue: impl Named,
        entries: Vec<(String, Option<Duration>)>,
    ) -> Result<Vec<Result<MessageId, Error>>, Error> {
        let entry = |(body, delay): (String, Option<Duration>)| {
            self.next_message += 1;
            SendEntry { message: message(self.next_message, body), delay, content_based: false }
        };
        let entries = entries.into_iter().map(entry).collect();
        match self.call(Command::Send { queue: queue.address(), entries })? {
            Reply::Sent(sent) => Ok(sent.into_iter().map(|sent| sent.map(|sent| sent.id)).collect()),
            other => panic!("not sent: {other:?}"),
        }
    }

    /// Sends one message with the queue's own delay.
    pub(crate) fn send(&mut self, queue: impl Named, body: &str) -> MessageId {
        self.send_all(queue, &[body])[0]
    }

    /// Sends one batch.
    pub(crate) fn send_all(&mut self, queue: impl Named, bodies: &[&str]) -> Vec<MessageId> {
        let entries = bodies.iter().map(|body| ((*body).to_owned(), None)).collect();
        let sent = self.try_send(queue, entries).expect("the queue exists");
        sent.into_iter().map(|sent| sent.expect("accepted")).collect()
    }

    pub(crate) fn send_delayed(&mut self, queue: impl Named, body: &str, delay: Duration) -> MessageId {
        let sent = self.try_send(queue, vec![(body.to_owned(), Some(delay))]).expect("the queue exists");
        sent.into_iter().next().expect("one entry").expect("accepted")
    }

    /// Sends messages, each `(group, body)`, to a FIFO queue in one batch, with deduplication ids of their own.
    pub(crate) fn send_grouped(&mut self, queue: impl Named, messages: &[(&str, &str)]) -> Vec<Sent> {
        let entry = |(group, body): &(&str, &str)| {
            let number = self.next_message + 1;
            self.entry(group, &format!("id {number}"), body)
        };
        let entries = messages.iter().map(entry).collect();
        let sent = self.try_send_entries(queue, entries).expect("the queue exists");
        sent.into_iter().map(|sent| sent.expect("accepted")).collect()
    }

    /// A message for a FIFO queue.
    pub(crate) fn entry(&mut self, group: &str, deduplication_id: &str, body: &str) -> SendEntry {
        self.next_message += 1;
        let mut message = message(self.next_message, body.to_owned());
        message.group_id = Some(group.into());
        message.deduplication_id = Some(deduplication_id.into());
        SendEntry { message, delay: None, content_based: false }
    }

    pub(crate) fn try_send_entries(
        &mut self,
        queue: impl Named,
        entries: Vec<SendEntry>,
    ) -> Result<Vec<Result<Sent, Error>>, Error> {
        match self.call(Command::Send { queue: queue.address(), entries })? {
            Reply::Sent(sent) => Ok(sent),
            other => panic!("not sent: {other:?}"),
        }
    }

    pub(crate) fn try_receive(&mut self, receive: Receive) -> Result<Vec<Got>, Error> {
        match self.call(Command::Receive(receive))? {
            Reply::Received(deliveries) => Ok(self.read(&deliveries)),
            other => panic!("not received: {other:?}"),
        }
    }

    /// A short poll for up to ten messages.
    pub(crate) fn receive(&mut self, queue: impl Named) -> Vec<Got> {
        self.try_receive(receive_of(queue)).expect("receives")
    }

    /// A short poll for up to ten messages, hiding them for `timeout`.
    pub(crate) fn receive_for(&mut self, queue: impl Named, timeout: Duration) -> Vec<Got> {
        let receive = Receive { visibility_timeout: Some(timeout), ..receive_of(queue) };
        self.try_receive(receive).expect("receives")
    }

    /// A short poll that must find exactly the one message.
    pub(crate) fn receive_one(&mut self, queue: impl Named) -> Got {
        let mut got = self.receive(queue);
        assert_eq!(got.len(), 1, "one message is there: {got:?}");
        got.remove(0)
    }

    #[track_caller]
    pub(crate) fn expect_nothing(&mut self, queue: impl Named) {
        let got = self.receive(queue);
        assert_eq!(bodies(&got), [""; 0], "nothing is visible");
    }

    #[track_caller]
    pub(crate) fn expect(&mut self, queue: impl Named, expected: &[&str]) -> Vec<Got> {
        let got = self.receive(queue);
        assert_eq!(bodies(&got), expected);
        got
    }

    /// What the deliveries' records say.
    pub(crate) fn read(&self, deliveries: &[Delivery]) -> Vec<Got> {
        let read = |delivery: &Delivery| {
            let stored =
                self.log.record(delivery.position).stored().expect("a delivery names a message record");
            if delivery.origin.is_none() {
                assert_eq!((stored.queue, stored.seq), (delivery.receipt.queue, delivery.receipt.seq));
                assert_eq!(stored.sent_at, delivery.sent_at);
            }
            Got {
                body: String::from_utf8(stored.message.body.to_vec()).expect("UTF-8"),
                id: delivery.message_id(stored),
                sent_at: delivery.sent_at,
                receipt: delivery.receipt,
                position: delivery.position,
                receive_count: delivery.receive_count,
                first_received_at: delivery.first_received_at,
                source: delivery.dead_letter_source().cloned(),
            }
        };
        deliveries.iter().map(read).collect()
    }

    pub(crate) fn settled(&mut self, command: Command) -> Result<Vec<Result<(), Error>>, Error> {
        match self.call(command)? {
            Reply::Settled(settled) => Ok(settled),
            other => panic!("not settled: {other:?}"),
        }
    }

    pub(crate) fn delete(&mut self, queue: impl Named, got: &Got) -> Result<(), Error> {
        let delete = Command::Delete { queue: queue.address(), receipts: vec![got.receipt] };
        self.settled(delete)?.remove(0)
    }

    pub(crate) fn change(&mut self, queue: impl Named, got: &Got, timeout: Duration) -> Result<(), Error> {
        let changes = vec![(got.receipt, timeout)];
        self.settled(Command::ChangeVisibility { queue: queue.address(), changes })?.remove(0)
    }

    pub(crate) fn return_undelivered(&mut self, got: &[Got]) {
        let receipts = got.iter().map(|message| message.receipt).collect();
        self.done(Command::ReturnUndelivered { receipts }).expect("returns");
    }

    /// Candidates as a reader of the log finds them at `positions`.
    pub(crate) fn candidates(&self, positions: &[Position]) -> Vec<(Position, StoredMessage)> {
        let candidate = |at: &Position| (*at, self.log.record(*at).stored().expect("a message").clone());
        positions.iter().map(candidate).collect()
    }

    /// Relocates what the log holds at `positions`; returns how many records were written anew.
    pub(crate) fn relocate(&mut self, positions: &[Position]) -> usize {
        let before = self.log.records.len();
        let messages = self.candidates(positions);
        self.done(Command::Relocate { messages }).expect("relocates");
        self.log.records.len() - before
    }

    /// Where the live messages' records are.
    pub(crate) fn live_positions(&self) -> Vec<Position> {
        let mut all: Vec<_> = positions(&self.live.engine.snapshot(), &self.live.shelf).into_iter().collect();
        all.sort_unstable();
        all
    }

    // Moves.

    pub(crate) fn start_move(&mut self, source: impl Named, destination: Option<&str>) -> MoveTaskId {
        self.try_start_move(source, destination, None).expect("starts")
    }

    /// Starts a move task with an id of its own.
    pub(crate) fn try_start_move(
        &mut self,
        source: impl Named,
        destination: Option<&str>,
        rate: Option<u32>,
    ) -> Result<MoveTaskId, Error> {
        self.next_message += 1;
        let id = MoveTaskId(self.next_message.to_be_bytes());
        let (source, destination) = (source.address(), destination.map(|name| name.address()));
        self.done(Command::StartMoveTask { source, destination, rate, id }).map(|()| id)
    }

    pub(crate) fn try_cancel_move(&mut self, source: impl Named, id: MoveTaskId) -> Result<u64, Error> {
        match self.call(Command::CancelMoveTask { source: source.address(), id })? {
            Reply::MoveTaskCancelled { moved } => Ok(moved),
            other => panic!("not cancelled: {other:?}"),
        }
    }

    /// The move tasks of a queue, newest first.
    pub(crate) fn move_tasks(&mut self, source: impl Named) -> Vec<MoveTask> {
        match self.call(Command::ListMoveTasks { source: source.address(), max: 10 }) {
            Ok(Reply::MoveTasks(tasks)) => tasks,
            other => panic!("no tasks: {other:?}"),
        }
    }

    /// The newest move task of a queue: messages moved, messages to move, and how it ended.
    pub(crate) fn newest_move(&mut self, source: impl Named) -> (u64, u64, Option<MoveTaskOutcome>) {
        let task = self.move_tasks(source).remove(0);
        (task.moved, task.to_move, task.outcome)
    }

    pub(crate) fn peek_page(
        &mut self,
        queue: impl Named,
        after: Option<MessageSeq>,
        max: usize,
    ) -> Vec<Peeked> {
        match self.call(Command::Peek { queue: queue.address(), after, max }) {
            Ok(Reply::Peeked(peeked)) => peeked,
            other => panic!("not peeked: {other:?}"),
        }
    }

    /// Everything in a queue, with bodies.
    pub(crate) fn peek(&mut self, queue: impl Named) -> Vec<(String, Peeked)> {
        let (queue, mut peeked) = (queue.address(), Vec::<Peeked>::new());
        loop {
            let after = peeked.last().map(|last| last.touched.stored.seq);
            let page = self.peek_page(&queue, after, 1_000);
            if page.is_empty() {
                break;
            }
            peeked.extend(page);
        }
        let body = |at: Position| self.log.record(at).stored().expect("a message").message.body.to_vec();
        let read = |peeked: Peeked| {
            (String::from_utf8(body(peeked.touched.stored.position)).expect("UTF-8"), peeked)
        };
        peeked.into_iter().map(read).collect()
    }

    /// The bodies of everything in a queue, in the order of numbers.
    pub(crate) fn contents(&mut self, queue: impl Named) -> Vec<String> {
        self.peek(queue).into_iter().map(|(body, _)| body).collect()
    }

    /// The number of the message with that body.
    pub(crate) fn seq_of(&mut self, queue: impl Named, body: &str) -> MessageSeq {
        let found = self.peek(queue).into_iter().find(|(found, _)| found == body);
        found.expect("it is there").1.touched.stored.seq
    }

    pub(crate) fn redrive(
        &mut self,
        queue: impl Named,
        destination: Option<&str>,
        messages: &[MessageSeq],
    ) -> Result<Vec<Result<(), Error>>, Error> {
        self.next_message += 1;
        let id = MoveTaskId(self.next_message.to_be_bytes());
        let (queue, destination) = (queue.address(), destination.map(|name| name.address()));
        self.settled(Command::Redrive { queue, destination, messages: messages.to_vec(), id })
    }

    // Long polls.

    /// A receive of up to ten messages that waits.
    pub(crate) fn poll(&mut self, queue: impl Named, wait: Duration) -> Poll {
        self.poll_with(Receive { wait: Some(wait), ..receive_of(queue) })
    }

    pub(crate) fn poll_with(&mut self, receive: Receive) -> Poll {
        Poll(self.ask(Command::Receive(receive)))
    }

    pub(crate) fn is_waiting(&self, poll: Poll) -> bool {
        self.log.open.contains(&poll.0)
    }

    /// The answer to a poll that has one.
    #[track_caller]
    pub(crate) fn answer(&self, poll: Poll) -> Result<Vec<Got>, Error> {
        match self.log.replies.get(&poll.0).expect("the poll has an answer").clone()? {
            Reply::Received(deliveries) => Ok(self.read(&deliveries)),
            other => panic!("not received: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn expect_answer(&self, poll: Poll, expected: &[&str]) {
        assert_eq!(bodies(&self.answer(poll).expect("no error")), expected);
    }

    /// The caller of a poll goes away.
    pub(crate) fn cancel(&mut self, poll: Poll) {
        self.log.open.remove(&poll.0);
        self.live.engine.cancel(poll.0);
        self.check();
    }

    pub(crate) fn release_waiting(&mut self) {
        self.live.engine.release_waiting(&mut self.log);
        self.check();
    }

    // Time.

    /// Lets time pass as in a punctual server: every deadline on the way is met at its instant.
    pub(crate) fn wait(&mut self, duration: Duration) {
        self.wait_until(self.now + duration);
    }

    pub(crate) fn wait_until(&mut self, target: Timestamp) {
        assert!(self.now <= target, "time does not go back");
        while let Some(due) = self.live.engine.poll_timeout().filter(|due| *due <= target) {
            self.now = self.now.max(due);
            self.meet_deadlines();
        }
        self.now = target;
        self.meet_deadlines();
    }

    /// Moves the clock while nobody looks after deadlines.
    pub(crate) fn jump(&mut self, duration: Duration) {
        self.now = self.now + duration;
    }

    pub(crate) fn meet_deadlines(&mut self) {
        self.live.handle_timeout(self.now, &mut self.log);
        self.check();
        let next = self.live.engine.poll_timeout();
        assert!(next.is_none_or(|due| due > self.now), "nothing is due any more, or a server would spin");
    }

    // Restarts. Waiting receives do not survive them.

    pub(crate) fn restart_from_events(&mut self) {
        let mut fresh = Tracked::new(self.config);
        self.log.records.iter().for_each(|record| fresh.follow(record));
        self.restart(fresh);
    }

    pub(crate) fn restart_from_snapshot(&mut self) {
        self.restart(Tracked::restored(self.config, &self.live));
    }

    fn restart(&mut self, mut with: Tracked) {
        with.spills = self.live.spills;
        with.loads += self.live.loads;
        with.engine.arm_timers();
        self.live = with;
        self.log.open.clear();
        self.check();
    }

    /// Has another engine follow, from a snapshot of now.
    pub(crate) fn follow_from_here(&mut self) {
        let follower = Tracked::restored(self.config, &self.live);
        self.followers.push(if self.followers.len().is_multiple_of(2) {
            follower.spilling()
        } else {
            follower
        });
    }

    // Checks.

    pub(crate) fn check(&mut self) {
        for record in &self.log.records[self.followed..] {
            self.live.note(record);
            self.followers.iter_mut().for_each(|follower| follower.follow(record));
        }
        self.followed = self.log.records.len();
        self.live.check_records();
        self.live.spill();
        assert_eq!(self.live.engine.parked_count(), self.log.open.len(), "who is not answered waits");
        self.check_deadline();
        self.steps += 1;
        if self.thorough {
            self.check_followers();
            if [2, 5, 10, 20, 40].contains(&self.steps) {
                self.follow_from_here();
            }
        }
    }

    /// The timer may be early, never late.
    fn check_deadline(&self) {
        let next = self.live.engine.poll_timeout();
        for queue in self.live.engine.snapshot().queues {
            let due = due(&queue.messages, &queue.attributes);
            if let Some(due) = due {
                assert!(
                    next.is_some_and(|next| next <= due),
                    "due at {due}, but the timer is set for {next:?}"
                );
            }
        }
    }

    pub(crate) fn check_followers(&mut self) {
        let live = Essence::of(&self.live, self.now);
        for follower in &mut self.followers {
            follower.check_records();
            assert_eq!(Essence::of(follower, self.now), live, "a follower, and the live engine");
        }
    }
}

/// When something next happens to messages by itself.
fn due(messages: &Messages, attributes: &QueueAttributes) -> Option<Timestamp> {
    let expiry = |stored: Stored| stored.sent_at + attributes.retention_period;
    match messages {
        Messages::Standard(messages) => {
            let tenants = &messages.tenants;
            let returned = messages.returned.iter().chain(tenants.iter().flat_map(|tenant| &tenant.returned));
            let touched = messages.in_flight.iter().map(|(touched, _)| touched).chain(returned);
            let plain = messages.backlog.iter().map(|portion| match portion {
                Portion::Passing(chunks) | Portion::Lasting(chunks) => chunks[0].first(),
                Portion::Written { extent, expired_to } if extent.first.sent_at <= *expired_to => {
                    Stored { sent_at: extent.last_sent_at, ..extent.first }
                }
                Portion::Written { extent, .. } => extent.first,
            });
            let of_tenants = tenants.iter().flat_map(|tenant| &tenant.backlog);
            let untouched = plain.chain(of_tenants.map(Chunk::first));
            let delayed = messages.delayed.iter().map(|(stored, _)| *stored);
            let expiries = touched.map(|t| t.stored).chain(untouched).chain(delayed).map(expiry);
            let hidden = messages.in_flight.iter().map(|(_, at)| *at);
            hidden.chain(messages.delayed.iter().map(|(_, at)| *at)).chain(expiries).min()
        }
        Messages::Fifo(messages) => {
            let ends = messages.messages.iter().flat_map(|message| {
                let stored = message.touched.stored;
                let hidden_until = match message.state {
                    FifoState::Visible => None,
                    FifoState::Delayed => Some(stored.sent_at + attributes.delay),
                    FifoState::InFlight { visible_at } => Some(visible_at),
                };
                [Some(expiry(stored)), hidden_until]
            });
            ends.flatten().min()
        }
    }
}
