//! Chunks of a deep backlog are put away and brought back; nobody can tell but by waiting a little.
//!
//! The first tests drive one engine by hand. The last one runs two engines side by side through random commands, one of
//! which has its chunks put away at random and brought back late, and compares what they give and what they log.

mod util;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tidegate_engine::{
    Chunk, ChunkId, Command, Config, Delivery, Engine, Error, Event, Journal, MessageSeq, Position,
    QueueAddress, Receive, Reply, RequestId, SendEntry, Timestamp,
};
use util::*;

/// An engine whose chunks are kept outside, with the sides of its journal.
struct Driven {
    engine: Engine,
    journal: Log,
    away: BTreeMap<ChunkId, Chunk>,
    now: Timestamp,
    next_request: u64,
}

#[derive(Default)]
struct Log {
    events: Vec<(Timestamp, Event)>,
    replies: BTreeMap<RequestId, Result<Reply, Error>>,
    live: BTreeSet<Position>,
}

impl Journal for Log {
    fn append(&mut self, at: Timestamp, event: &Event) -> Position {
        self.events.push((at, event.clone()));
        let position = Position(self.events.len() as u64 * 500);
        if matches!(event, Event::MessageSent { .. }) {
            self.live.insert(position);
        }
        position
    }

    fn reply(&mut self, request: RequestId, reply: Result<Reply, Error>) {
        assert!(self.replies.insert(request, reply).is_none(), "answered once");
    }
}

impl Driven {
    fn new() -> Self {
        let mut driven = Driven {
            engine: Engine::new(Config { cooldown: Duration::ZERO, ..Config::default() }),
            journal: Log::default(),
            away: BTreeMap::new(),
            now: START,
            next_request: 0,
        };
        driven.ask(Command::CreateQueue { queue: queue(), attributes: vec![], tags: Default::default() });
        driven
    }

    fn ask(&mut self, command: Command) -> RequestId {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        self.engine.handle(self.now, request, command, &mut self.journal);
        self.account();
        request
    }

    fn send(&mut self, count: usize) {
        self.send_of(None, count);
    }

    fn send_of(&mut self, tenant: Option<&str>, count: usize) {
        for _ in 0..count {
            let mut message = message(self.next_request.into(), "m");
            message.group_id = tenant.map(Into::into);
            let entries = vec![SendEntry { message, delay: None, content_based: false }];
            self.ask(Command::Send { queue: queue(), entries });
        }
    }

    fn receive(&mut self, max: usize, wait: u64) -> RequestId {
        let visibility_timeout = Some(secs(40_000));
        let receive =
            Receive { queue: queue(), max, visibility_timeout, wait: Some(secs(wait)), attempt_id: None };
        self.ask(Command::Receive(receive))
    }

    fn received(&self, request: RequestId) -> Option<Vec<MessageSeq>> {
        match self.journal.replies.get(&request)? {
            Ok(Reply::Received(deliveries)) => Some(deliveries.iter().map(seq).collect()),
            other => panic!("{other:?}"),
        }
    }

    fn evict_all(&mut self) -> usize {
        let ids: Vec<_> = self.engine.evictable().collect();
        for id in &ids {
            self.away.insert(*id, self.engine.evict(*id).expect("it may go"));
        }
        ids.len()
    }

    fn bring_back(&mut self) -> usize {
        let mut count = 0;
        while let Some(id) = self.engine.poll_wanted() {
            let chunk = self.away.remove(&id).expect("wanted once, while it is away");
            self.engine.handle_chunk(self.now, id, chunk, &mut self.journal);
            count += 1;
        }
        self.account();
        count
    }

    fn account(&mut self) {
        while let Some(position) = self.engine.poll_released() {
            assert!(self.journal.live.remove(&position), "released once");
        }
    }

    fn wait(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.engine.handle_timeout(self.now, &mut self.journal);
        self.account();
    }

    fn visible(&mut self) -> u64 {
        let now = self.now;
        self.engine.gauges(now)[0].counts.visible
    }
}

fn queue() -> QueueAddress {
    address(1, "us-east-1", "q")
}

fn seq(delivery: &Delivery) -> MessageSeq {
    delivery.receipt.seq
}

#[test]
fn a_receive_waits_for_a_chunk_that_is_away_even_without_a_wait_of_its_own() {
    let mut d = Driven::new();
    d.send(2_000);
    assert!(d.evict_all() >= 5);
    assert_eq!(d.visible(), 2_000);
    let mut expected = 0;
    while d.engine.poll_wanted().is_none() {
        let request = d.receive(10, 0);
        let got = d.received(request).expect("what is in memory is given at once");
        assert_eq!(got, (expected..expected + got.len() as u64).map(MessageSeq).collect::<Vec<_>>());
        expected += got.len() as u64;
    }
    go_on_with_a_late_chunk(d, expected);
}

#[test]
fn a_noisy_tenant_does_not_overtake_messages_whose_chunk_is_away() {
    let mut d = Driven::new();
    d.send_of(Some("noisy"), 210);
    for _ in 0..20 {
        d.receive(10, 0);
    }
    d.send(1_200);
    assert!(d.evict_all() >= 2, "all but those of the tenant");
    let mut expected = 210;
    while expected < 1_410 {
        let rest = usize::try_from(1_410 - expected).expect("fits");
        let request = d.receive(rest.min(10), 0);
        if d.received(request).is_none() {
            assert!(d.bring_back() > 0);
        }
        let got = d.received(request).expect("served at once, or when the chunk came back");
        assert_eq!(got, (expected..expected + got.len() as u64).map(MessageSeq).collect::<Vec<_>>());
        expected += got.len() as u64;
    }
    let request = d.receive(10, 0);
    assert_eq!(d.received(request), Some((200..210).map(MessageSeq).collect()));
}

/// Goes on after the first chunk was asked for, and never brought it back.
fn go_on_with_a_late_chunk(mut d: Driven, mut expected: u64) {
    // The caller took the first request for a chunk; it is answered late.
    let first = *d.away.keys().next().expect("something is away");
    let parked = loop {
        let request = d.receive(10, 0);
        match d.received(request) {
            Some(got) => expected += got.len() as u64,
            None => break request,
        }
    };
    let chunk = d.away.remove(&first).expect("it is away");
    d.engine.handle_chunk(d.now, first, chunk, &mut d.journal);
    let got = d.received(parked).expect("served when the chunk came back");
    assert_eq!(got.first(), Some(&MessageSeq(expected)));
    expected += got.len() as u64;
    while expected < 2_000 {
        d.bring_back();
        let request = d.receive(10, 0);
        let got = d.received(request).expect("read-ahead keeps receives from waiting");
        assert_eq!(got.first(), Some(&MessageSeq(expected)));
        expected += got.len() as u64;
    }
    assert!(d.away.is_empty());
}

#[test]
fn a_chunk_that_never_comes_ends_the_receive_empty_and_loses_nothing() {
    let mut d = Driven::new();
    d.send(1_500);
    d.evict_all();
    let parked = loop {
        let request = d.receive(10, 0);
        if d.received(request).is_none() {
            break request;
        }
    };
    d.wait(secs(1));
    assert_eq!(d.received(parked), Some(vec![]));
    let left = d.visible();
    d.bring_back();
    let request = d.receive(10, 0);
    assert_eq!(d.received(request).map(|got| got.len()), Some(10));
    assert_eq!(d.visible(), left - 10);
}

#[test]
fn purge_and_deletion_release_the_records_of_chunks_that_are_away() {
    for delete in [false, true] {
        let mut d = Driven::new();
        d.send(1_500);
        d.evict_all();
        // One of them is on its way back already.
        while d.engine.poll_wanted().is_none() {
            d.receive(10, 0);
        }
        let on_its_way = *d.away.keys().next().expect("something is away");
        let queue = queue();
        let gone = if delete { Command::DeleteQueue { queue } } else { Command::PurgeQueue { queue } };
        d.ask(gone);
        let chunk = d.away.remove(&on_its_way).expect("it is away");
        d.engine.handle_chunk(d.now, on_its_way, chunk, &mut d.journal);
        d.bring_back();
        assert!(d.away.is_empty());
        assert_eq!(d.journal.live.len(), 0, "every record is released");
    }
}

#[test]
fn messages_of_chunks_that_are_away_expire_when_they_come_back() {
    let mut d = Driven::new();
    d.send(1_500);
    d.evict_all();
    d.wait(secs(345_600));
    let parked = d.receive(10, 0);
    for _ in 0..20 {
        d.bring_back();
    }
    assert_eq!((d.visible(), d.journal.live.len(), d.away.len()), (0, 0, 0));
    d.wait(secs(1));
    assert_eq!(d.received(parked), Some(vec![]));
}

#[test]
fn a_page_of_a_peek_ends_before_a_chunk_that_is_away() {
    let mut d = Driven::new();
    d.send(2_000);
    let evictable: Vec<_> = d.engine.evictable().collect();
    let away = d.engine.evict(evictable[0]).expect("it may go");
    d.away.insert(evictable[0], away.clone());
    // One is apart from the others, and behind that chunk.
    let late = SendEntry { message: message(9_999, "late"), delay: Some(secs(1)), content_based: false };
    d.ask(Command::Send { queue: queue(), entries: vec![late] });
    d.send(1);
    d.wait(secs(1));
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let request = d.ask(Command::Peek { queue: queue(), after, max: 1_000 });
        let Ok(Reply::Peeked(page)) = &d.journal.replies[&request] else { panic!("not peeked") };
        let Some(last) = page.last() else { break };
        after = Some(last.touched.stored.seq);
        pages.push(page.iter().map(|peeked| peeked.touched.stored.seq).collect::<Vec<_>>());
    }
    let before: Vec<_> = (0..away.first().seq.0).map(MessageSeq).collect();
    assert_eq!(pages[0], before);
    assert_eq!(pages[1..].concat(), [MessageSeq(2_000), MessageSeq(2_001)]);
}

#[test]
fn whether_chunks_are_away_decides_nothing() {
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut plain, mut away) = (Driven::new(), Driven::new());
        for _ in 0..300 {
            let (count, max, choice) = (random.usize(1..80), random.usize(1..=10), random.u32(0..10));
            let pause = Duration::from_millis(random.u64(0..3_000));
            for d in [&mut plain, &mut away] {
                match choice {
                    0..4 => d.send(count),
                    4..9 => {
                        d.bring_back();
                        let request = d.receive(max, 0);
                        // Whatever it waits for comes at once here, so that both engines meet the same instants.
                        d.bring_back();
                        assert!(d.received(request).is_some(), "seed {seed}");
                    }
                    _ => d.wait(pause),
                }
            }
            if random.u32(0..5) == 0 {
                away.evict_all();
            }
        }
        assert_eq!(plain.visible(), away.visible(), "seed {seed}");
        let sum = |d: &Driven| {
            let received = |(_, event): &(Timestamp, Event)| match event {
                Event::MessagesReceived { messages, .. } => messages.clone(),
                _ => Vec::new(),
            };
            d.journal.events.iter().flat_map(received).collect::<Vec<_>>()
        };
        let (plain, away) = (sum(&plain), sum(&away));
        let shorter = plain.len().min(away.len());
        assert_eq!(plain[..shorter], away[..shorter], "seed {seed}: the same messages in the same order");
    }
}
