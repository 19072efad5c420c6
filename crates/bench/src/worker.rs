//! One connection at work, and what the connections of a measurement share.

use crate::answer::{self, Complaint};
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::ledger::Ledger;
use crate::mark::Mark;
use crate::meter::{Meter, Timed, unpoisoned};
use crate::operation::Operation;
use crate::request::{Outgoing, Requests};
use crate::sign::hex_digits;
use md5::{Digest, Md5};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Pause of a connection after an error, so that a server in trouble is not stormed.
const PAUSE: Duration = Duration::from_millis(20);

/// How far a measurement is. Stages only follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Send and receive.
    Run,
    /// Send no more; receive what is left.
    Finish,
    /// Do nothing more.
    Stop,
}

/// What the connections of one measurement share.
pub(crate) struct Shared {
    pub(crate) meter: Meter,
    /// `None`: nothing is verified.
    pub(crate) ledger: Option<Mutex<Ledger>>,
    pub(crate) stage: watch::Sender<Stage>,
    pub(crate) messages: Messages,
    /// Numbers given out.
    issued: AtomicU64,
    /// Numbers to give out.
    limit: AtomicU64,
    /// Receives so far.
    receives: AtomicU64,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    /// Tells the messages of this measurement from others'.
    pub(crate) run: u32,
    /// Bytes of a body.
    pub(crate) size: usize,
    /// Message groups; `None` in a standard queue.
    pub(crate) groups: Option<u32>,
    /// Connections that send. Each has groups of its own, so that a group has one order.
    pub(crate) senders: u32,
    /// Whether sent messages are received by the same measurement.
    pub(crate) come_back: bool,
    /// Whether the time from send to receive is of interest.
    pub(crate) is_timed: bool,
}

impl Shared {
    pub(crate) fn new(messages: Messages, verifies: bool, threads: usize) -> Self {
        let ledger = verifies.then(|| Mutex::new(Ledger::new(messages.run, messages.groups.is_some())));
        Shared {
            meter: Meter::new(threads),
            ledger,
            stage: watch::Sender::new(Stage::Run),
            messages,
            issued: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            receives: AtomicU64::new(0),
        }
    }

    /// Lets so many more messages be sent.
    pub(crate) fn allow(&self, messages: u64) {
        self.limit.store(self.issued().saturating_add(messages), Relaxed);
    }

    pub(crate) fn issued(&self) -> u64 {
        self.issued.load(Relaxed)
    }

    pub(crate) fn is_at(&self, stage: Stage) -> bool {
        *self.stage.borrow() == stage
    }

    /// Messages that were acknowledged and did not come yet; unknown when nothing is verified.
    pub(crate) fn missing(&self) -> Option<u64> {
        Some(unpoisoned(self.ledger.as_ref()?).missing())
    }

    /// Messages received so far that were none of those before: what grows as long as a queue is not empty.
    pub(crate) fn new_count(&self) -> u64 {
        let known = self.ledger.as_ref().map(|ledger| unpoisoned(ledger).findings()).unwrap_or_default();
        self.meter.counts().received.saturating_sub(known.wrong + known.duplicates)
    }

    /// Numbers of up to `count` messages; none when all were given out.
    fn issue(&self, count: usize) -> Range<u64> {
        let limit = self.limit.load(Relaxed);
        let next = |issued: u64| (issued < limit).then(|| limit.min(issued + count as u64));
        match self.issued.fetch_update(Relaxed, Relaxed, next) {
            Ok(first) => first..limit.min(first + count as u64),
            Err(_) => 0..0,
        }
    }
}

/// A connection and what it works with.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    connection: Connection,
    requests: Requests,
    /// Which connection of the measurement it is.
    index: usize,
    /// Messages sent so far; decides the next one's group.
    sent_count: u64,
    // Kept so that they need not be allocated for each request.
    outgoing: Vec<Outgoing>,
    body: Vec<u8>,
    spans: Vec<Range<usize>>,
    marks: Vec<Option<Mark>>,
}

impl Worker {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        endpoint: &Arc<Endpoint>,
        requests: &Requests,
        index: usize,
    ) -> Self {
        Worker {
            shared: shared.clone(),
            connection: Connection::new(endpoint.clone()),
            requests: requests.clone(),
            index,
            sent_count: 0,
            outgoing: Vec::with_capacity(10),
            body: Vec::new(),
            spans: Vec::with_capacity(10),
            marks: Vec::with_capacity(10),
        }
    }

    /// Which connection of the measurement it is.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Connects; a failure is counted, and the first request tries again.
    pub(crate) async fn open(&mut self) {
        if let Err(error) = self.connection.open().await {
            self.shared
                .meter
                .failed("connecting", &Complaint::new(format!("{:?}", error.kind()), error.to_string()));
        }
    }

    /// Sends up to `count` messages, at most ten; `None` when there are no more to send, else whether it was done.
    /// `due_ns` is when it should have happened, if that was before now.
    pub(crate) async fn send(&mut self, count: usize, due_ns: Option<u64>) -> Option<bool> {
        let numbers = self.shared.issue(count);
        if numbers.is_empty() {
            return None;
        }
        self.compose(numbers, due_ns.unwrap_or_else(now_ns));
        let operation = self.requests.send(&self.outgoing, &mut self.body, &mut self.spans);
        let start = Instant::now();
        if !self.call(operation).await {
            return Some(false);
        }
        let took = start.elapsed();
        match self.check_sent(operation) {
            Ok(acknowledged) => {
                let is_whole = acknowledged == self.outgoing.len();
                self.shared.meter.sent(acknowledged);
                self.shared.meter.took(self.index, Timed::Send, took);
                Some(is_whole)
            }
            Err(complaint) => {
                self.fail(operation, &complaint).await;
                Some(false)
            }
        }
    }

    fn compose(&mut self, numbers: Range<u64>, sent_ns: u64) {
        let Messages { run, size, groups, senders, .. } = self.shared.messages;
        self.outgoing.clear();
        for number in numbers {
            let (group, place) = match groups {
                Some(groups) => group_and_place(self.index as u32, senders, groups, self.sent_count),
                None => (0, 0),
            };
            self.sent_count += 1;
            let mark = Mark { run, number, sent_ns, group, place };
            self.outgoing.push(Outgoing { mark, size, is_fifo: groups.is_some() });
        }
    }

    /// How many messages the answer to a send acknowledges.
    fn check_sent(&self, operation: Operation) -> Result<usize, Complaint> {
        let answer = self.connection.body();
        if operation == Operation::SendMessage {
            let digest = answer::sent(answer)?;
            self.acknowledge(&[(0, digest)]);
            return Ok(1);
        }
        let entries = answer::batch(answer, self.outgoing.len())?;
        for complaint in &entries.failed {
            self.shared.meter.failed(operation.name(), complaint);
        }
        self.acknowledge(&entries.done);
        Ok(entries.done.len())
    }

    fn acknowledge(&self, entries: &[(usize, Cow<'_, str>)]) {
        let Some(ledger) = &self.shared.ledger else { return };
        let is_wrong = |(index, digest): &&(usize, Cow<'_, str>)| {
            !has_digest(&self.body[self.spans[*index].clone()], digest)
        };
        let wrong = entries.iter().filter(is_wrong).count();
        let mut ledger = unpoisoned(ledger);
        (0..wrong).for_each(|_| ledger.wrong());
        if self.shared.messages.come_back {
            entries.iter().for_each(|(index, _)| ledger.acknowledged(self.outgoing[*index].mark.number));
        }
    }

    /// Receives up to `max` messages, verifies and deletes them; how many came, or `None` after an error.
    pub(crate) async fn consume(&mut self, max: usize, wait_s: u32) -> Option<usize> {
        let operation = self.requests.receive(max, wait_s, &mut self.body);
        let start = Instant::now();
        if !self.call(operation).await {
            return None;
        }
        let took = start.elapsed();
        let receive = self.shared.receives.fetch_add(1, Relaxed);
        let (operation, count) = match self.check_received(receive) {
            Ok(checked) => checked,
            Err(complaint) => {
                self.fail(operation, &complaint).await;
                return None;
            }
        };
        self.shared.meter.received(count);
        if count > 0 {
            self.shared.meter.took(self.index, Timed::Receive, took);
            self.delete(operation, count, receive).await;
        }
        Some(count)
    }

    /// Verifies the messages that came, and makes the request that deletes them; how many came.
    fn check_received(&mut self, receive: u64) -> Result<(Operation, usize), Complaint> {
        let now = now_ns();
        let messages = answer::received(self.connection.body())?;
        self.marks.clear();
        if let Some(ledger) = &self.shared.ledger {
            let read = |message: &answer::Message<'_>| {
                let body = message.body.as_bytes();
                Mark::read_body(body).filter(|_| has_digest(body, &message.digest))
            };
            self.marks.extend(messages.iter().map(read));
            let issued = self.shared.issued();
            let mut ledger = unpoisoned(ledger);
            for mark in &self.marks {
                match mark {
                    Some(mark) => ledger.received(mark, receive, issued),
                    None => ledger.wrong(),
                }
            }
        }
        let Messages { run, is_timed, .. } = self.shared.messages;
        for mark in self.marks.iter().flatten().filter(|mark| is_timed && mark.run == run) {
            let latency = Duration::from_nanos(now.saturating_sub(mark.sent_ns));
            self.shared.meter.took(self.index, Timed::EndToEnd, latency);
        }
        let operation = self.requests.delete(messages.iter().map(|message| &*message.handle), &mut self.body);
        Ok((operation, messages.len()))
    }

    async fn delete(&mut self, operation: Operation, count: usize, receive: u64) {
        if let Some(ledger) = self.shared.ledger.as_ref().filter(|_| self.shared.messages.groups.is_some()) {
            // Answers to other connections that are here already were given before this delete, so they must hold no
            // message of these groups. Looking at them first is what shows a lock that is none.
            tokio::task::yield_now().await;
            let mut ledger = unpoisoned(ledger);
            self.marks.iter().flatten().for_each(|mark| ledger.released(mark.run, mark.group, receive));
        }
        let start = Instant::now();
        if !self.call(operation).await {
            return;
        }
        let took = start.elapsed();
        let deleted = match operation {
            Operation::DeleteMessageBatch => answer::batch(self.connection.body(), count),
            _ => Ok(answer::Entries { done: vec![(0, "".into())], failed: Vec::new() }),
        };
        match deleted {
            Ok(entries) => {
                for complaint in &entries.failed {
                    self.shared.meter.failed(operation.name(), complaint);
                }
                self.shared.meter.deleted(entries.done.len());
                self.shared.meter.took(self.index, Timed::Delete, took);
            }
            Err(complaint) => self.fail(operation, &complaint).await,
        }
    }

    /// Sends `self.body`; whether the answer is a success.
    async fn call(&mut self, operation: Operation) -> bool {
        let head = self.requests.head(operation, &self.body);
        let complaint = match self.connection.exchange(head, &self.body).await {
            Ok(200) => {
                self.shared.meter.succeeded();
                return true;
            }
            Ok(status) => answer::refusal(status, self.connection.body()),
            Err(error) => Complaint::new(format!("{:?}", error.kind()), error.to_string()),
        };
        self.fail(operation, &complaint).await;
        false
    }

    async fn fail(&self, operation: Operation, complaint: &Complaint) {
        self.shared.meter.failed(operation.name(), complaint);
        tokio::time::sleep(PAUSE).await;
    }
}

/// The group of a connection's next message, and its place there: a connection has the groups whose number leaves its own
/// when divided by the number of senders, and takes them in turns.
fn group_and_place(index: u32, senders: u32, groups: u32, sent_count: u64) -> (u32, u32) {
    let own = u64::from((groups - index).div_ceil(senders));
    let group = u64::from(index) + u64::from(senders) * (sent_count % own);
    (group as u32, (sent_count / own + 1) as u32)
}

/// Whether it is the MD5 of a body, in lower-case hexadecimal digits.
fn has_digest(body: &[u8], digest: &str) -> bool {
    let (pairs, rest) = digest.as_bytes().as_chunks::<2>();
    rest.is_empty()
        && pairs.len() == 16
        && Md5::digest(body).iter().zip(pairs).all(|(byte, pair)| hex_digits(*byte) == *pair)
}

/// Nanoseconds since 1970.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn each_group_has_one_sender_and_counts_its_messages() {
        for (senders, groups) in [(1, 1), (3, 3), (4, 10), (7, 100)] {
            let mut last = HashMap::new();
            for index in 0..senders {
                for sent_count in 0..500 {
                    let (group, place) = group_and_place(index, senders, groups, sent_count);
                    assert!(group < groups && group % senders == index);
                    let before = last.insert(group, place).unwrap_or_default();
                    assert_eq!(place, before + 1, "{senders} {groups} {group}");
                }
            }
            assert_eq!(last.len(), groups as usize);
        }
    }

    #[test]
    fn numbers_are_given_out_up_to_the_limit() {
        let messages =
            Messages { run: 1, size: 100, groups: None, senders: 1, come_back: false, is_timed: false };
        let shared = Shared::new(messages, false, 1);
        assert_eq!(shared.issue(3), 0..0);
        shared.allow(5);
        assert_eq!([shared.issue(3), shared.issue(3), shared.issue(3)], [0..3, 3..5, 0..0]);
        shared.allow(u64::MAX);
        assert_eq!((shared.issue(10), shared.issued()), (5..15, 15));
    }

    #[test]
    fn digests_are_compared_exactly() {
        assert!(has_digest(b"hello", "5d41402abc4b2a76b9719d911017c592"));
        for wrong in [
            "5D41402ABC4B2A76B9719D911017C592",
            "5d41402abc4b2a76b9719d911017c59",
            "",
            "5d41402abc4b2a76b9719d911017c593",
        ] {
            assert!(!has_digest(b"hello", wrong), "{wrong}");
        }
    }
}
