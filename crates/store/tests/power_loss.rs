//! Nothing acknowledged is lost, whenever and however the power goes.
//!
//! Each seed is a server's life: clients send, receive, delete and so on at random, while the driver appends
//! commits, stores checkpoints, prepares and retires segments and relocates messages in any order that the rules
//! allow. Then the machine dies: between two steps, or at a chosen write, sync or rename of any of them. Unsynced
//! writes are lost, kept, cut at some byte or reduced to some sectors. What comes back must be the state after
//! everything that was acknowledged and a prefix of what was on its way, every command wholly or not at all, with
//! every message's record as it was sent. Then life goes on with the same clients and their receipts.
//!
//! `TIDEGATE_SEED=17` runs one seed, `TIDEGATE_LONG=1` many more of them.

mod util;

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use tidegate_engine::{
    AccountId, AttributeChange, Command, Demand, Document, QueueAddress, Receipt, Receive, RedrivePolicy,
    Region, Tags, Timestamp,
};
use tidegate_log::{CrashPolicy, Fault, MemoryStorage, Space, Trigger};
use tidegate_store::Candidate;
use util::machine::{Machine, Spill, config};
use util::{address, millis, secs};

const QUEUES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The dead-letter queue.
const DEAD: &str = "b";

#[test]
fn what_was_acknowledged_survives_every_loss_of_power() {
    if let Ok(seed) = std::env::var("TIDEGATE_SEED") {
        return drop(Life::new(seed.parse().expect("a number")).run());
    }
    let mut seen = Seen::default();
    let count = if std::env::var_os("TIDEGATE_LONG").is_some() { 20_000 } else { 800 };
    for seed in 0..count {
        match catch_unwind(AssertUnwindSafe(|| Life::new(seed).run())) {
            Ok(of_seed) => seen.add(&of_seed),
            Err(panic) => {
                eprintln!("seed {seed} failed; replay it with:");
                eprintln!("TIDEGATE_SEED={seed} cargo test -p tidegate-store --test power_loss");
                resume_unwind(panic);
            }
        }
    }
    println!("{seen:?}");
    seen.expect_everything(count);
}

/// How often what the test is about came to pass.
#[derive(Debug, Default)]
struct Seen(BTreeMap<&'static str, u64>);

impl Seen {
    /// What must come to pass in one of ten lives at least, or the test has lost its teeth.
    const EXPECTED: [&str; 14] = [
        "all attempted commits survived",
        "checkpoint stored",
        "dead letter moved",
        "dead letter recovered",
        "died in an append",
        "message relocated",
        "no attempted commit survived",
        "process died",
        "recovered from a checkpoint",
        "recycled file",
        "refused for lack of a spare",
        "segment retired",
        "some attempted commits survived",
        "torn write",
    ];

    fn note(&mut self, what: &'static str, count: usize) {
        *self.0.entry(what).or_default() += count as u64;
    }

    fn add(&mut self, other: &Seen) {
        other.0.iter().for_each(|(what, count)| *self.0.entry(what).or_default() += count);
    }

    fn expect_everything(&self, lives: u64) {
        for what in Seen::EXPECTED {
            let count = self.0.get(what).copied().unwrap_or(0);
            assert!(count * 10 >= lives, "{what}: {count} times in {lives} lives, see {self:?}");
        }
    }
}

/// How a machine ends.
#[derive(Debug)]
enum End {
    PowerLoss(CrashPolicy),
    ProcessDeath,
}

struct Life {
    random: fastrand::Rng,
    machine: Machine,
    /// Candidates for a relocation, perhaps deleted meanwhile.
    offers: VecDeque<Vec<Candidate>>,
    /// Whether a planned fault will switch the machine off.
    doomed: bool,
    seen: Seen,
}

/// The machine died while the first so many pending commits were being appended.
struct Died(usize);

impl Life {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut machine = Machine::new(segment_bytes(&mut random));
        if random.u32(0..3) == 0 {
            machine.spill = Spill::NONE;
        }
        machine.apart = random.u32(0..3) == 0;
        Life { random, machine, offers: VecDeque::new(), doomed: false, seen: Seen::default() }
    }

    fn run(mut self) -> Seen {
        for _ in 0..self.random.usize(3..7) {
            let steps = self.random.usize(10..250);
            let died = (0..steps).find_map(|_| self.step().err());
            self.die(died.unwrap_or(Died(0)));
        }
        self.outlive_everything();
        self.seen.note("dead letter moved", self.machine.moved);
        self.seen
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.u32(0..100) < percent
    }

    fn step(&mut self) -> Result<(), Died> {
        if self.random.u32(0..150) == 0 {
            self.plan_a_fault();
        }
        match self.random.u32(0..100) {
            0..47 => self.ask(),
            47..55 => self.machine.take(),
            55..68 => return self.append(),
            68..73 => return self.consume(),
            73..80 => self.let_time_pass(),
            80..87 => return self.prepare_spare(),
            87..91 => {
                let checkpoint = self.chance(70);
                self.machine.begin_housekeeping(checkpoint);
            }
            91..95 => return self.store_checkpoint(),
            _ => return self.reclaim(),
        }
        Ok(())
    }

    fn plan_a_fault(&mut self) {
        let storage = &self.machine.storage;
        let trigger = Trigger::Operation(storage.operations() + self.random.u64(1..=12));
        let fault = match self.random.u32(0..4) {
            0 => Fault::Error,
            1 => Fault::ShortWrite(cut(&mut self.random)),
            _ => Fault::PowerOff,
        };
        self.doomed |= fault == Fault::PowerOff;
        storage.inject(trigger, fault);
    }

    fn append(&mut self) -> Result<(), Died> {
        self.machine.take();
        let pending = self.machine.pending.len();
        let count = if self.chance(70) { pending } else { self.random.usize(0..=pending) };
        self.machine.append(count).map_err(|_| Died(count))
    }

    fn append_all(&mut self) -> Result<(), Died> {
        self.machine.take();
        let count = self.machine.pending.len();
        self.machine.append(count).map_err(|_| Died(count))
    }

    /// A client that receives and deletes all it can get from a queue.
    fn consume(&mut self) -> Result<(), Died> {
        let queue = QUEUES[self.random.usize(0..QUEUES.len())];
        for _ in 0..4 {
            self.machine.ask(util::receive(queue, None));
            let known = self.machine.tickets.len();
            self.append_all()?;
            let received = self.machine.tickets.drain(known..);
            let receipts: Vec<_> = received
                .filter(|ticket| ticket.queue == address(queue))
                .map(|ticket| ticket.receipt)
                .collect();
            for receipts in receipts.chunks(10) {
                self.machine.ask(Command::Delete { queue: address(queue), receipts: receipts.to_vec() });
            }
        }
        Ok(())
    }

    /// A failed act of maintenance is no end by itself, unless the machine is off.
    fn survive<T, E>(&self, result: Result<T, E>) -> Result<Option<T>, Died> {
        match result {
            Err(_) if self.doomed => Err(Died(0)),
            result => Ok(result.ok()),
        }
    }

    fn prepare_spare(&mut self) -> Result<(), Died> {
        let free = self.machine.file_count(".free");
        let prepared = self.machine.keeper.prepare_spare();
        self.seen.note("recycled file", free.saturating_sub(self.machine.file_count(".free")));
        self.survive(prepared).map(drop)
    }

    fn store_checkpoint(&mut self) -> Result<(), Died> {
        let there = self.machine.housekeeping.checkpoint.is_some();
        let stored = self.machine.store_checkpoint();
        self.seen.note("checkpoint stored", usize::from(there && stored.is_ok()));
        self.survive(stored).map(drop)
    }

    fn reclaim(&mut self) -> Result<(), Died> {
        let sealed = self.machine.keeper.sealed_segments().len();
        let reclaimed = self.machine.reclaim();
        self.seen.note("segment retired", sealed - self.machine.keeper.sealed_segments().len());
        let batches = self.survive(reclaimed)?;
        self.offers.extend(batches.into_iter().flatten());
        Ok(())
    }

    /// Often exactly to the end of some message's time in hiding, or just before.
    fn let_time_pass(&mut self) {
        let now = self.machine.now;
        let duration = match self.random.u32(0..20) {
            0..8 => millis(self.random.u64(0..50)),
            8..11 => millis(self.random.u64(0..20_000)),
            11 => secs(self.random.u64(50..70)),
            12 if self.chance(20) => secs(self.random.u64(0..50_000)),
            _ => {
                let queues = self.machine.live.queues.values();
                let ends = queues.flat_map(|queue| queue.messages.values()).map(|held| held.hidden_until);
                let ends: Vec<_> = ends.filter(|at| *at > now + secs(0)).collect();
                let end = self.random.choice(ends).unwrap_or(now);
                end.since(now).saturating_sub(millis(self.random.u64(0..2)))
            }
        };
        self.machine.wait(duration);
        for _ in 0..self.random.u32(0..3) {
            self.machine.shard.release_some(self.machine.now);
        }
    }

    fn die(&mut self, Died(attempted): Died) {
        let end = match self.random.u32(0..10) {
            0 | 1 => End::PowerLoss(CrashPolicy::DropAll),
            2 => End::PowerLoss(CrashPolicy::KeepAll),
            3..6 => End::PowerLoss(CrashPolicy::TearLast(cut(&mut self.random))),
            6 if !self.doomed => End::ProcessDeath,
            _ => End::PowerLoss(CrashPolicy::Seeded(self.random.u64(..))),
        };
        let mut storage = match end {
            End::PowerLoss(policy) => self.machine.storage.crash(policy),
            End::ProcessDeath => {
                self.seen.note("process died", 1);
                self.machine.storage.restart_process()
            }
        };
        if self.chance(30) {
            self.machine.config = config(segment_bytes(&mut self.random));
        }
        if self.chance(25) {
            storage = self.die_in_recovery(storage);
        }
        // A fault that was planned for a process that died may strike its successor: then there is another one.
        let (config, now) = (self.machine.config.clone(), self.machine.now);
        let found = (0..4).find_map(|_| Machine::open(storage.restart_process(), config.clone(), now).ok());
        let survived = match found {
            Some(found) => self.machine.take_over(found, attempted),
            None => self.machine.come_back(storage, attempted),
        };
        self.note_end(attempted, survived);
        self.doomed = false;
        self.offers.clear();
        for name in QUEUES {
            self.machine.ask(Command::ViewQueue { queue: address(name) });
        }
        if self.chance(10) {
            self.machine.take();
            self.die(Died(0));
        }
    }

    fn note_end(&mut self, attempted: usize, survived: usize) {
        let Machine { report, mended, .. } = &self.machine;
        self.seen.note("recovered from a checkpoint", usize::from(report.from_checkpoint));
        self.seen.note("torn write", usize::from(mended.torn_at.is_some()));
        self.seen.note("dead letter recovered", self.machine.dead_letters().count());
        if attempted > 0 {
            self.seen.note("died in an append", 1);
            let what = match survived {
                0 => "no attempted commit survived",
                all if all == attempted => "all attempted commits survived",
                _ => "some attempted commits survived",
            };
            self.seen.note(what, 1);
        }
    }

    /// The power fails again during recovery, or right after it.
    fn die_in_recovery(&mut self, storage: MemoryStorage) -> MemoryStorage {
        let trigger = Trigger::Operation(storage.operations() + self.random.u64(1..=8));
        storage.inject(trigger, Fault::PowerOff);
        drop(Machine::open(storage.clone(), self.machine.config.clone(), self.machine.now));
        storage.crash(CrashPolicy::Seeded(self.random.u64(..)))
    }

    /// Whatever is still stored comes out in the end, with all its bytes.
    fn outlive_everything(&mut self) {
        self.machine.keeper.prepare_spare().expect("prepares a spare segment");
        self.machine.lose_power(CrashPolicy::KeepAll); // And with it faults that are planned and did not strike.
        for name in QUEUES {
            while self.machine.live.queues.get(&address(name)).is_some_and(|queue| !queue.messages.is_empty())
            {
                self.machine.drain(name);
                let hidden = self.machine.live.queues[&address(name)].messages.values();
                let next = hidden.map(|held| held.hidden_until).min().unwrap_or(Timestamp::ZERO);
                self.machine.wait(next.since(self.machine.now));
            }
        }
        self.machine.check();
    }

    // What clients ask for.

    fn ask(&mut self) {
        let command = self.command();
        let dead: Vec<_> = match &command {
            Command::Relocate { .. } => self.machine.dead_letters().collect(),
            _ => Vec::new(),
        };
        let dead_offered = match &command {
            Command::Relocate { messages } => {
                messages.iter().filter(|(_, m)| dead.contains(&m.seq.0)).count()
            }
            _ => 0,
        };
        let relocates = matches!(command, Command::Relocate { .. });
        let refused = command.demand() == Demand::Stores && self.machine.shard.space() != Space::Ample;
        self.seen.note("refused for lack of a spare", usize::from(refused));
        let before = self.machine.shard.pending_bytes();
        self.machine.ask(command);
        let written = self.machine.shard.pending_bytes() > before;
        self.seen.note("message relocated", usize::from(relocates && written));
        self.seen.note("dead letter offered for relocation", dead_offered);
    }

    fn queue(&mut self) -> QueueAddress {
        address(QUEUES[self.random.usize(0..QUEUES.len())])
    }

    fn command(&mut self) -> Command {
        let queue = self.queue();
        if !self.machine.live.queues.contains_key(&queue) && self.chance(70) {
            return self.create(queue);
        }
        match self.random.u32(0..100) {
            0..34 => self.send(queue),
            34..60 => self.receive(queue),
            60..74 => self.delete(),
            74..80 => self.change_visibility(),
            80..82 => Command::ReturnUndelivered { receipts: self.tickets().1 },
            82 => Command::PurgeQueue { queue },
            83 if self.chance(40) => Command::DeleteQueue { queue },
            83 | 84 => self.create(queue),
            85..88 => Command::SetQueueAttributes { attributes: self.changes(), queue },
            88 | 89 => Command::TagQueue { tags: self.tags(), queue },
            90 => Command::UntagQueue { keys: self.tags().into_keys().collect(), queue },
            91 | 92 => Command::ViewQueue { queue },
            93 => Command::FindQueue { queue },
            94 => Command::ListQueues {
                account: AccountId::parse("123456789012").expect("twelve digits"),
                region: Region::default(),
                prefix: "".into(),
                after: None,
                max: self.random.usize(1..9),
            },
            _ => match self.offers.pop_front() {
                Some(messages) => Command::Relocate { messages },
                None => self.receive(queue),
            },
        }
    }

    fn create(&mut self, queue: QueueAddress) -> Command {
        let attributes = if self.chance(50) { self.changes() } else { Vec::new() };
        Command::CreateQueue { queue, attributes, tags: self.tags() }
    }

    fn send(&mut self, queue: QueueAddress) -> Command {
        let count = if self.chance(60) { 1 } else { self.random.usize(1..=10) };
        let entries = (0..count).map(|_| {
            let delay = match self.random.u32(0..10) {
                0..6 => None,
                6 | 7 => Some(Duration::ZERO),
                8 => Some(secs(self.random.u64(1..10))),
                _ => Some(secs(self.random.u64(1..=900))),
            };
            let bytes = match self.random.u32(0..100) {
                0 => self.random.usize(0..20_000),
                1..10 => self.random.usize(0..3_000),
                _ => self.random.usize(0..200),
            };
            self.machine.entry(bytes, delay)
        });
        Command::Send { queue, entries: entries.collect() }
    }

    fn receive(&mut self, queue: QueueAddress) -> Command {
        let visibility_timeout = match self.random.u32(0..10) {
            0..4 => None,
            4 => Some(Duration::ZERO),
            5..9 => Some(secs(self.random.u64(1..60))),
            _ => Some(secs(self.random.u64(1..=43_200))),
        };
        let wait = match self.random.u32(0..10) {
            0..7 => Some(Duration::ZERO),
            7 => None,
            _ => Some(secs(self.random.u64(1..=20))),
        };
        Command::Receive(Receive {
            queue,
            max: self.random.usize(1..=10),
            visibility_timeout,
            wait,
            attempt_id: None,
        })
    }

    /// Receipts of one queue, mostly of late receives; some stay with their client and are used again.
    fn tickets(&mut self) -> (QueueAddress, Vec<Receipt>) {
        let mut receipts = Vec::new();
        let last = self.machine.tickets.last().map(|ticket| ticket.queue.clone());
        let queue = last.filter(|_| self.chance(80)).unwrap_or_else(|| self.queue());
        for _ in 0..self.random.usize(1..=10) {
            let len = self.machine.tickets.len();
            if len == 0 {
                break;
            }
            let at = if self.chance(60) { len - 1 } else { self.random.usize(0..len) };
            // A receipt of another queue is refused, and that is worth a try now and then.
            if self.machine.tickets[at].queue != queue && !self.chance(10) {
                continue;
            }
            receipts.push(self.machine.tickets[at].receipt);
            if self.chance(70) {
                self.machine.tickets.remove(at);
            }
        }
        (queue, receipts)
    }

    fn delete(&mut self) -> Command {
        let (queue, receipts) = self.tickets();
        Command::Delete { queue, receipts }
    }

    fn change_visibility(&mut self) -> Command {
        let (queue, receipts) = self.tickets();
        let change = |receipt| {
            let timeout = match self.random.u32(0..10) {
                0..3 => 0,
                3..9 => self.random.u64(1..100),
                _ => self.random.u64(1..=43_200),
            };
            (receipt, secs(timeout))
        };
        Command::ChangeVisibility { queue, changes: receipts.into_iter().map(change).collect() }
    }

    fn tags(&mut self) -> Tags {
        let keys = ["k", "cost", "ä", "team"];
        let count = self.random.usize(0..3);
        let tag = |_| {
            let key = keys[self.random.usize(0..keys.len())];
            (key.into(), self.random.u32(0..10).to_string().into())
        };
        (0..count).map(tag).collect()
    }

    fn changes(&mut self) -> Vec<AttributeChange> {
        let count = self.random.usize(1..3);
        (0..count).map(|_| self.change()).collect()
    }

    fn change(&mut self) -> AttributeChange {
        let apart = self.machine.apart;
        let random = &mut self.random;
        match random.u32(0..11) {
            0 => AttributeChange::DelaySeconds(secs(random.u64(0..4))),
            1 => AttributeChange::MaximumMessageSize(random.u32(1_024..1_048_576)),
            2 => AttributeChange::MessageRetentionPeriod(secs(60)),
            3 => AttributeChange::MessageRetentionPeriod(secs(random.u64(60..1_209_600))),
            4 => AttributeChange::ReceiveMessageWaitTimeSeconds(secs(random.u64(0..3))),
            5 => AttributeChange::VisibilityTimeout(secs(random.u64(0..60))),
            6 => {
                let text = format!("{{ \"n\": {} }}", random.u32(0..3));
                let canonical = text.replace(' ', "").into();
                AttributeChange::Policy(Some(Document { text: text.into(), canonical }))
            }
            7 => AttributeChange::Policy(None),
            8 => {
                // One queue takes the dead letters of all, so that none comes back to where it was.
                let dead = Some(address(DEAD)).filter(|dead| self.machine.live.queues.contains_key(dead));
                let policy = dead.filter(|_| self.machine.shard.pending_bytes() == 0);
                AttributeChange::RedrivePolicy(policy.map(|dead_letter_target| RedrivePolicy {
                    dead_letter_target,
                    // Without commits of their own no message may move: see `Machine::apart`.
                    max_receive_count: if apart { random.u32(1..=3) } else { 1_000 },
                }))
            }
            9 => AttributeChange::KmsMasterKeyId(random.bool().then(|| "alias/key".into())),
            _ => AttributeChange::SqsManagedSseEnabled(false),
        }
    }
}

fn segment_bytes(random: &mut fastrand::Rng) -> u32 {
    const SIZES: [u32; 5] = [8 << 10, 9 << 10, 12 << 10, 16 << 10, 32 << 10];
    SIZES[random.usize(0..SIZES.len())]
}

/// Bytes that are left of an interrupted write: around every boundary of what is written, or anywhere.
fn cut(random: &mut fastrand::Rng) -> usize {
    const BOUNDARIES: [usize; 14] = [0, 1, 4, 8, 40, 47, 48, 49, 56, 64, 511, 512, 513, 4_096];
    match random.u32(0..3) {
        0 => BOUNDARIES[random.usize(0..BOUNDARIES.len())],
        1 => random.usize(0..200),
        _ => random.usize(0..5_000),
    }
}
