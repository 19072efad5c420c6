//! Engine and log together, as the owner thread runs them, and the records between them.

use crate::log::open;
use crate::sample::{NOW, address, create, message, receive, send};
use crate::{Run, Workload};
use bytes::Bytes;
use std::ops::ControlFlow;
use tidegate_engine::{
    Command, Config, Engine, Event, MessageSeq, QueueId, Receipt, Reply, RequestId, StoredMessage,
};
use tidegate_log::{Appender, Keeper, MemoryStorage, Reader};
use tidegate_store::{MemoryBudget, Shard, codec, recover};

pub(crate) const WORKLOADS: &[Workload] = &[
    Workload { name: "store: encode a message", operations: MESSAGES, prepare: encode },
    Workload { name: "store: decode a message", operations: MESSAGES, prepare: decode },
    Workload { name: "store: send", operations: MESSAGES, prepare: sends },
    Workload { name: "store: receive, read and delete", operations: MESSAGES, prepare: drain },
    Workload { name: "store: store a checkpoint of 4,000 messages", operations: 1, prepare: checkpoint },
    Workload { name: "store: replay a send", operations: MESSAGES, prepare: replay },
];

const MESSAGES: u64 = 4_000;
/// Messages that share a commit: many clients at once.
const MESSAGES_A_COMMIT: u64 = 32;

fn stored(number: u64) -> Event {
    let stored =
        StoredMessage { queue: QueueId(0), seq: MessageSeq(number), sent_at: NOW, message: message(number) };
    Event::MessageSent { stored, visible_at: NOW }
}

fn encode() -> Run {
    let events: Vec<_> = (0..MESSAGES).map(stored).collect();
    let mut buffer = Vec::with_capacity(4 << 20);
    Box::new(move || {
        events.iter().for_each(|event| codec::encode(NOW, event, &mut buffer));
        Box::new((buffer, events))
    })
}

fn decode() -> Run {
    let encoded = |number| {
        let mut buffer = Vec::new();
        codec::encode(NOW, &stored(number), &mut buffer);
        Bytes::from(buffer)
    };
    let records: Vec<_> = (0..MESSAGES).map(encoded).collect();
    Box::new(move || {
        let count = records.iter().filter(|record| codec::decode(record).is_ok()).count();
        assert_eq!(count as u64, MESSAGES);
        Box::new(records)
    })
}

/// A shard, and the roles of its log that a commit and a receive need.
struct Server {
    shard: Shard<MemoryStorage>,
    appender: Appender<MemoryStorage>,
    reader: Reader<MemoryStorage>,
    keeper: Keeper<MemoryStorage>,
}

impl Server {
    fn new() -> Self {
        let recovered =
            recover(open(), Config::default(), MemoryBudget::UNLIMITED).expect("there is nothing to recover");
        let (shard, appender) = (recovered.shard, recovered.appender);
        let mut server = Server { shard, appender, reader: recovered.reader, keeper: recovered.keeper };
        server.ask(create("q"));
        server.commit();
        server
    }

    fn filled() -> Self {
        let mut server = Server::new();
        server.send(commands());
        server
    }

    fn ask(&mut self, command: Command) {
        self.shard.handle(NOW, RequestId(1), command);
    }

    /// Appends what was gathered; the answers.
    fn commit(&mut self) -> Vec<Reply> {
        let Some(commit) = self.shard.take_commit() else { return Vec::new() };
        if let Some(frame) = commit.frame {
            self.appender.append(&[frame]).expect("memory does not fail");
        }
        commit.replies.into_iter().map(|(_, outcome)| outcome.expect("nothing is refused")).collect()
    }

    fn send(&mut self, commands: Vec<Command>) {
        for (command, number) in commands.into_iter().zip(1..) {
            self.ask(command);
            if number % MESSAGES_A_COMMIT == 0 || number == MESSAGES {
                self.commit();
            }
        }
    }

    /// Receives ten, reads their bodies and deletes them; how many there were.
    fn pass_ten(&mut self) -> u64 {
        self.ask(receive("q"));
        let Some(Reply::Received(deliveries)) = self.commit().pop() else { panic!("a receive is answered") };
        for delivery in &deliveries {
            let record = self.reader.read(delivery.position.0.into()).expect("is there");
            let message = codec::decode_message(&record).expect("decodes");
            assert!(message.is_some());
        }
        let receipts: Vec<Receipt> = deliveries.iter().map(|delivery| delivery.receipt).collect();
        let count = receipts.len() as u64;
        if count > 0 {
            self.ask(Command::Delete { queue: address("q"), receipts });
            self.commit();
        }
        count
    }
}

fn commands() -> Vec<Command> {
    (0..MESSAGES).map(|number| send("q", vec![message(number)])).collect()
}

fn sends() -> Run {
    let mut server = Server::new();
    let commands = commands();
    Box::new(move || {
        server.send(commands);
        Box::new(server)
    })
}

fn drain() -> Run {
    let mut server = Server::filled();
    Box::new(move || {
        let mut count = 0;
        while count < MESSAGES {
            count += server.pass_ten();
        }
        Box::new(server)
    })
}

fn checkpoint() -> Run {
    let mut server = Server::filled();
    Box::new(move || {
        let checkpoint = server.shard.checkpoint(NOW);
        let stored = checkpoint.store(&mut server.keeper, &server.reader).expect("memory does not fail");
        server.shard.note_stored(stored);
        Box::new(server)
    })
}

/// What a restart does with each record, on one thread.
fn replay() -> Run {
    let server = Server::filled();
    let mut engine = Engine::new(Config::default());
    Box::new(move || {
        let mut count = 0;
        let from = tidegate_log::Position::segment_start(1);
        let scanned = server.reader.scan(from, server.reader.tail(), |position, record, _| {
            let (at, event) = codec::decode(&record).expect("decodes");
            engine.apply(at, &event, tidegate_engine::Position(position.into()));
            count += 1;
            ControlFlow::Continue(())
        });
        scanned.expect("is whole");
        assert_eq!(count, MESSAGES + 1, "the queue, and its messages");
        Box::new((engine, server))
    })
}
