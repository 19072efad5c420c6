//! What is on the disk.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Duration;
use tidegate_engine::{
    Command, Config, Message, MessageId, QueueAddress, QueueName, Receive, Reply, RequestId, SendEntry, Tags,
    Timestamp,
};
use tidegate_log::{
    CrashPolicy, LogConfig, MemoryStorage, Opened, Position, SegmentedLog, Storage, StorageFile,
};
use tidegate_store::{MemoryBudget, Recovered, audit, codec, recover};

const IDENTITY: [u8; 16] = *b"sixteen random b";
const QUEUE: &str = "orders";

/// A stored record: what decodes is written as something that decodes to the same, and always the same.
pub fn records(data: &[u8]) {
    let Ok((at, event)) = codec::decode(&Bytes::copy_from_slice(data)) else { return };
    let mut encoded = Vec::new();
    codec::encode(at, &event, &mut encoded);
    let again = codec::decode(&Bytes::copy_from_slice(&encoded)).expect("what was encoded decodes");
    assert_eq!(again, (at, event));
    let mut twice = Vec::new();
    codec::encode(again.0, &again.1, &mut twice);
    assert_eq!(encoded, twice);
}

fn config() -> LogConfig {
    LogConfig { segment_bytes: 8 << 10, recent_bytes: 0, ..LogConfig::default() }
}

fn scan<S: Storage>(log: &Opened<S>) -> Result<Vec<(Position, Bytes)>, tidegate_log::LogError> {
    let mut found = Vec::new();
    log.reader.scan(log.replay_from, log.tail, |position, record, _| {
        found.push((position, record));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Records of any lengths in frames of any lengths, and a power loss: what was appended is there, at its position and
/// in its order, and of what was not only a beginning.
pub fn frames(data: &[u8]) {
    let storage = MemoryStorage::new();
    let mut log = SegmentedLog::open(storage.clone(), config(), IDENTITY).expect("a fresh storage opens");
    let (mut framed, mut appended) = (Vec::new(), Vec::new());
    for (index, pair) in data.chunks_exact(2).take(200).enumerate() {
        let length = match pair[0] {
            0..128 => usize::from(pair[0]),
            long => (usize::from(long) - 127) * 40 + usize::from(pair[1]),
        };
        let record = vec![pair[1]; length];
        framed.push((log.framer.push(|out| out.extend_from_slice(&record)), record));
        if pair[1] % 3 == 0 || index % 20 == 19 {
            let frame = log.framer.finish().expect("it holds a record");
            if pair[1] % 24 == 0 {
                // The last frame is built, and never reaches the medium.
                break;
            }
            log.appender.append(&[frame]).expect("an append on a sound medium");
            appended.append(&mut framed);
            log.keeper.prepare_spare().expect("a next segment on a sound medium");
        }
    }
    for (position, record) in &appended {
        assert_eq!(log.reader.read(*position).expect("what was appended is read"), record);
    }
    let seed = data.iter().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let survivor = storage.crash(CrashPolicy::Seeded(seed));
    let log = SegmentedLog::open(survivor, config(), [0; 16]).expect("a log opens after a power loss");
    let found = scan(&log).expect("a log is read after a power loss");
    assert_eq!(found.len(), appended.len());
    for ((position, record), (expected, written)) in found.iter().zip(&appended) {
        assert_eq!((position, &record[..]), (expected, &written[..]));
    }
}

/// The files of a directory, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// A directory with sealed segments and a checkpoint, and all records that it ever had.
struct Sound {
    files: Files,
    records: Vec<(Position, Bytes)>,
}

/// Changes to a sound directory, or files from nothing: recovery refuses, or what it brings back is what was stored,
/// from where a checkpoint ends to some end, with nothing left out in between; and so it is found a second time.
///
/// Each change is a tag, a file, a place and a value, of one, one, two and one bytes.
pub fn directories(data: &[u8]) {
    static SOUND: OnceLock<Sound> = OnceLock::new();
    let sound = SOUND.get_or_init(sound);
    let mut files = if data.first() == Some(&0) { Files::new() } else { sound.files.clone() };
    for change in data.get(1..).unwrap_or_default().chunks_exact(5).take(40) {
        apply(change, &mut files, &sound.files);
    }
    let storage = MemoryStorage::new();
    for (name, content) in &files {
        let file = storage.create(name, 0).expect("memory is no full disk");
        file.write_all_at(content, 0).expect("memory is no full disk");
        file.sync_data().expect("memory does not fail");
    }
    storage.sync_dir().expect("memory does not fail");
    let Ok(log) = SegmentedLog::open(storage.restart_process(), config(), IDENTITY) else { return };
    if let Ok(found) = scan(&log) {
        let from = sound.records.partition_point(|(position, _)| *position < log.replay_from);
        assert!(found.len() <= sound.records.len() - from, "there are records that nobody wrote");
        assert!(found == sound.records[from..][..found.len()], "records are left out or changed");
    }
    drop(log);
    let Some(first) = totals(&storage) else { return };
    assert_eq!(totals(&storage), Some(first), "a second recovery finds something else");
}

/// Queues and messages that recovery brings back.
fn totals(storage: &MemoryStorage) -> Option<(usize, u64)> {
    let opened = SegmentedLog::open(storage.restart_process(), config(), IDENTITY).ok()?;
    let recovered = recover(opened, Config::default(), MemoryBudget::UNLIMITED).ok()?;
    audit(&recovered.shard, &recovered.reader).expect("what is counted is there");
    Some((recovered.report.queues, recovered.report.messages))
}

fn apply(change: &[u8], files: &mut Files, sound: &Files) {
    let pick =
        |files: &Files, number: u8| files.keys().nth(usize::from(number) % files.len().max(1)).cloned();
    let (number, value) = (change[1], change[4]);
    let at = usize::from(u16::from_le_bytes([change[2], change[3]]));
    if change[0] % 8 == 7 {
        // A file from nothing, or another one's content under its name.
        let Some(name) = pick(sound, number) else { return };
        let content =
            pick(sound, value).filter(|_| at % 2 == 0).map_or(vec![value; at], |other| sound[&other].clone());
        files.insert(name, content);
        return;
    }
    let Some(name) = pick(files, number) else { return };
    let content = files.get_mut(&name).expect("it was picked");
    match change[0] % 8 {
        0 => content.truncate(at),
        1 => content.resize(at.max(content.len()), value),
        2 => content.iter_mut().skip(at).take(usize::from(value)).for_each(|byte| *byte = 0),
        3 => {
            let from = content.get(at..).unwrap_or_default().to_vec();
            let to = usize::from(value) * 8;
            if let Some(part) = content.get_mut(to..) {
                part.iter_mut().zip(from).for_each(|(byte, other)| *byte = other);
            }
        }
        4 => drop(files.remove(&name)),
        5 => {
            let content = files.remove(&name).expect("it was picked");
            files.insert(format!("{name}.tmp"), content);
        }
        _ => {
            if let Some(byte) = content.get_mut(at) {
                *byte ^= value;
            }
        }
    }
}

/// One who asks the engine and stores what it says.
struct Owner {
    recovered: Recovered<MemoryStorage>,
    now: Timestamp,
    asked: u64,
}

impl Owner {
    fn ask(&mut self, command: Command) -> Reply {
        self.asked += 1;
        self.recovered.shard.handle(self.now, RequestId(self.asked), command);
        let commit = self.recovered.shard.take_commit().expect("every command is answered");
        if let Some(frame) = commit.frame {
            self.recovered.appender.append(&[frame]).expect("an append on a sound medium");
        }
        self.recovered.keeper.prepare_spare().expect("a next segment on a sound medium");
        let (_, outcome) = commit.replies.into_iter().next().expect("every command is answered");
        outcome.expect("the command is a good one")
    }

    fn send(&mut self) {
        let number = self.asked;
        let message = Message {
            id: MessageId::from_random([number as u8; 16]),
            body: vec![number as u8; (number * 7 % 300) as usize].into(),
            body_md5: [0; 16],
            attributes: Vec::new(),
            trace_header: None,
            group_id: None,
            deduplication_id: None,
            sender: "000000000000".into(),
        };
        let entries = vec![SendEntry { message, delay: None, content_based: false }];
        self.ask(Command::Send { queue: address(), entries });
    }

    fn receive_and_delete(&mut self) {
        let receive = Receive {
            queue: address(),
            max: 3,
            visibility_timeout: None,
            wait: Some(Duration::ZERO),
            attempt_id: None,
        };
        let Reply::Received(received) = self.ask(Command::Receive(receive)) else { panic!("a receive") };
        let receipts = received.iter().skip(1).map(|delivery| delivery.receipt).collect();
        self.ask(Command::Delete { queue: address(), receipts });
    }
}

fn address() -> QueueAddress {
    QueueAddress {
        account: Default::default(),
        region: Default::default(),
        name: QueueName::parse(QUEUE).expect("a name"),
    }
}

fn sound() -> Sound {
    let storage = MemoryStorage::new();
    let opened = SegmentedLog::open(storage.clone(), config(), IDENTITY).expect("a fresh storage opens");
    let recovered =
        recover(opened, Config::default(), MemoryBudget::UNLIMITED).expect("nothing is to be read");
    let now = Timestamp::from_millis(1_790_000_000_123);
    let mut owner = Owner { recovered, now, asked: 0 };
    owner.ask(Command::CreateQueue { queue: address(), attributes: Vec::new(), tags: Tags::new() });
    for turn in 0..60 {
        owner.send();
        if turn % 4 == 3 {
            owner.receive_and_delete();
        }
        if turn == 30 {
            let checkpoint = owner.recovered.shard.checkpoint(now);
            let Recovered { keeper, reader, .. } = &mut owner.recovered;
            let stored = checkpoint.store(keeper, reader).expect("a checkpoint on a sound medium");
            owner.recovered.shard.note_stored(stored);
        }
    }
    let tail = owner.recovered.reader.tail();
    let mut records = Vec::new();
    let visit = |position, record, _: &_| {
        records.push((position, record));
        ControlFlow::Continue(())
    };
    owner.recovered.reader.scan(Position::segment_start(1), tail, visit).expect("it is all there");
    assert!(records.last().is_some_and(|(position, _)| position.segment() >= 2), "there is a sealed segment");
    let files = storage.list().expect("memory does not fail").into_iter();
    let content = |name: &str| storage.read_file(name).expect("memory does not fail").expect("it is listed");
    Sound { files: files.map(|file| (file.name.clone(), content(&file.name))).collect(), records }
}
