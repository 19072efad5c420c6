//! Random sequences of commands and of time, against a naive model: every reply and every count must agree.
//!
//! A failing sequence prints its seed and is cut down to the commands that it needs. `TIDEGATE_LONG=1` runs
//! many more; `TIDEGATE_SEED=<n>` runs one.

mod naive;
mod trial;
mod util;

use fastrand::Rng;
use naive::{Act, Answer, Handle, Heard, Move, Naive, View};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tidegate_engine::{
    AttributeChange, Command, Config, Error, Event, MessageId, MessageSeq, Position, QueueAddress, Receipt,
    Receive, RedrivePolicy, Reply, RequestId, SendEntry,
};
use trial::{Tally, Trial};
use util::*;

/// One step of a sequence. Numbers named `pick` choose among what is there when the step is taken, so that a
/// sequence keeps its meaning when other steps are left out.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Create {
        queue: u8,
        attributes: Vec<AttributeChange>,
        tag: Option<u8>,
    },
    DeleteQueue {
        queue: u8,
    },
    Set {
        queue: u8,
        attributes: Vec<AttributeChange>,
    },
    View {
        queue: u8,
    },
    Gauges,
    List {
        queue: u8,
        prefix: &'static str,
        after: Option<&'static str>,
        max: usize,
    },
    Tag {
        queue: u8,
        key: u8,
        value: u8,
    },
    Untag {
        queue: u8,
        key: u8,
    },
    Purge {
        queue: u8,
    },
    Send {
        queue: u8,
        /// Size, delay and tenant of each.
        entries: Vec<(usize, Option<Duration>, Option<u8>)>,
    },
    SendMany {
        queue: u8,
        batches: u8,
        tenant: Option<u8>,
    },
    ReceiveMany {
        queue: u8,
        receives: u8,
        timeout: Duration,
    },
    Receive {
        queue: u8,
        max: usize,
        timeout: Option<Duration>,
        wait: Option<Duration>,
    },
    Delete {
        queue: u8,
        picks: Vec<u16>,
    },
    Change {
        queue: u8,
        picks: Vec<(u16, Duration)>,
    },
    Return {
        picks: Vec<u16>,
    },
    Relocate {
        picks: Vec<u16>,
    },
    Cancel {
        pick: u16,
    },
    ReleaseWaiting,
    /// The clock moves; nobody looks after deadlines.
    Jump(Duration),
    /// The clock moves to so long before the engine's next deadline.
    JumpToDeadline {
        before: Duration,
    },
    /// The clock moves as in a punctual server.
    Wait(Duration),
    MeetDeadlines,
    RestartFromEvents,
    RestartFromSnapshot,
    Follow,
    Compare,
}

pub(crate) type Sequence = trial::Sequence<Step>;

fn queue(number: u8) -> QueueAddress {
    match number {
        0 => address(0, "us-east-1", "a"),
        1 => address(0, "us-east-1", "ab"),
        _ => address(0, "eu-west-1", "a"),
    }
}

// Sequences.

fn one_of<T: Clone>(rng: &mut Rng, choices: &[T]) -> T {
    rng.choice(choices).expect("choices").clone()
}

/// Now and then it names the queue it is set on, or none that ever was.
fn policy(rng: &mut Rng) -> RedrivePolicy {
    let dead_letter_target = match rng.u8(0..20) {
        0 => address(0, "us-east-1", "missing"),
        n => queue(n % 3),
    };
    RedrivePolicy { dead_letter_target, max_receive_count: one_of(rng, &[1, 1, 1, 2, 2, 3]) }
}

fn attributes(rng: &mut Rng) -> Vec<AttributeChange> {
    let count = one_of(rng, &[0, 1, 1, 1, 2, 3]);
    let attribute = |rng: &mut Rng| match rng.u8(0..7) {
        0 => AttributeChange::DelaySeconds(secs(one_of(rng, &[0, 0, 1, 2, 900]))),
        1 => AttributeChange::MaximumMessageSize(one_of(rng, &[1024, 1024, 1_048_576])),
        2 => AttributeChange::MessageRetentionPeriod(secs(one_of(rng, &[60, 60, 61, 120, 900, 345_600]))),
        3 => AttributeChange::ReceiveMessageWaitTimeSeconds(secs(one_of(rng, &[0, 0, 1, 20]))),
        4 => AttributeChange::RedrivePolicy(if rng.u8(0..3) > 0 { Some(policy(rng)) } else { None }),
        _ => AttributeChange::VisibilityTimeout(secs(one_of(rng, &[0, 1, 2, 5, 30, 43_200]))),
    };
    (0..count).map(|_| attribute(rng)).collect()
}

fn tenant(rng: &mut Rng) -> Option<u8> {
    one_of(rng, &[None, None, Some(0), Some(1), Some(2)])
}

/// Mostly the newest few, now and then anyone.
fn pick(rng: &mut Rng) -> u16 {
    if rng.u8(0..5) > 0 { rng.u16(0..4) } else { rng.u16(..) }
}

fn picks<T>(rng: &mut Rng, mut one: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    let count = one_of(rng, &[1, 1, 1, 1, 2, 3, 10]);
    (0..count).map(|_| one(rng)).collect()
}

fn jump(rng: &mut Rng) -> Duration {
    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;
    let short = [0, 1, 1, 500, 999, 1000, 1000, 1001, 2000, 2000, 5000, 10_000];
    let long =
        [20_000, 30_000, MINUTE - 1, MINUTE, MINUTE + 1, 15 * MINUTE, HOUR, 12 * HOUR, 24 * HOUR, 96 * HOUR];
    millis(if rng.u8(0..4) > 0 { one_of(rng, &short) } else { one_of(rng, &long) })
}

pub(crate) fn step(rng: &mut Rng, patient: bool, brief: bool) -> Step {
    let queue = one_of(rng, &[0, 0, 0, 0, 0, 1, 1, 2]);
    match rng.u8(0..100) {
        0..3 => {
            let tag = rng.bool().then(|| rng.u8(0..3));
            Step::Create { queue, attributes: attributes(rng), tag }
        }
        3..6 => Step::Set { queue, attributes: attributes(rng) },
        6..10 => Step::View { queue },
        10 => Step::Gauges,
        11 => Step::List {
            queue,
            prefix: one_of(rng, &["", "a", "ab", "b", "a."]),
            after: one_of(rng, &[None, None, Some("a"), Some("ab"), Some("z")]),
            max: rng.usize(1..4),
        },
        12 => Step::Tag { queue, key: rng.u8(0..3), value: rng.u8(..) },
        13 => Step::Untag { queue, key: rng.u8(0..3) },
        14 => Step::Purge { queue },
        15..32 => {
            let delays =
                [None, None, None, Some(0), Some(1), Some(2), Some(5), Some(60), Some(61), Some(900)];
            let entry = |rng: &mut Rng| {
                let size = one_of(rng, &[1, 1, 1, 1, 1, 1, 1024, 1025]);
                (size, one_of(rng, &delays).map(secs), tenant(rng))
            };
            Step::Send { queue, entries: picks(rng, entry) }
        }
        32..52 if brief => Step::Receive {
            queue,
            max: one_of(rng, &[1, 2, 10]),
            timeout: Some(secs(one_of(rng, &[0, 0, 1, 2]))),
            wait: Some(secs(one_of(rng, &[0, 0, 2, 20]))),
        },
        32..52 => {
            let timeouts = [None, None, None, Some(0), Some(1), Some(2), Some(5), Some(30), Some(43_200)];
            let waits: &[_] = if patient {
                &[None, Some(1), Some(2), Some(5), Some(20), Some(20)]
            } else {
                &[Some(0), Some(0), Some(0), None, Some(1), Some(5), Some(20)]
            };
            Step::Receive {
                queue,
                max: one_of(rng, &[1, 1, 2, 3, 10, 10]),
                timeout: one_of(rng, &timeouts).map(secs),
                wait: one_of(rng, waits).map(secs),
            }
        }
        52..60 => Step::Delete { queue, picks: picks(rng, pick) },
        60..67 => {
            let timeouts = [0, 0, 0, 1, 2, 10, 60, 43_199, 43_200];
            Step::Change { queue, picks: picks(rng, |rng| (pick(rng), secs(one_of(rng, &timeouts)))) }
        }
        67..69 => Step::Return { picks: picks(rng, pick) },
        69..73 => Step::Relocate { picks: picks(rng, pick) },
        73 => Step::Cancel { pick: pick(rng) },
        74 if rng.bool() => Step::ReleaseWaiting,
        74..79 => Step::Jump(jump(rng)),
        79..85 => Step::JumpToDeadline { before: one_of(rng, &[millis(0), millis(0), millis(1)]) },
        85..91 => Step::Wait(jump(rng)),
        91..94 => Step::MeetDeadlines,
        94 => Step::RestartFromEvents,
        95 => Step::RestartFromSnapshot,
        96 => Step::Follow,
        97..99 => Step::Compare,
        _ => Step::DeleteQueue { queue },
    }
}

fn sequence(seed: u64) -> Sequence {
    let mut rng = Rng::with_seed(seed);
    let in_flight_max = one_of(&mut rng, &[1, 2, 3, 5, 120_000, 120_000]);
    let cooldown = one_of(&mut rng, &[60, 60, 60, 0]);
    let patient = rng.u8(0..3) == 0;
    let length = one_of(&mut rng, &[10, 20, 40, 60]);
    let mut steps = vec![Step::Create { queue: 0, attributes: attributes(&mut rng), tag: None }];
    for queue in 1..3 {
        if rng.u8(0..4) > 0 {
            steps.push(Step::Create { queue, attributes: attributes(&mut rng), tag: None });
        }
    }
    // Messages that come back soon, and queues that take those that come back too often.
    let brief = rng.u8(0..3) == 0;
    for queue in if brief { 0..3 } else { 0..0 } {
        steps.push(Step::Create { queue, attributes: vec![], tag: None });
    }
    for queue in if brief { 0..3 } else { 0..0 } {
        let attributes = vec![AttributeChange::RedrivePolicy(Some(policy(&mut rng)))];
        steps.push(Step::Set { queue, attributes });
    }
    for _ in 0..length {
        steps.push(step(&mut rng, patient, brief));
    }
    if rng.u8(0..40) == 0 {
        // A backlog of several chunks.
        let at = rng.usize(1..steps.len());
        steps.insert(at, Step::SendMany { queue: 0, batches: rng.u8(20..60), tenant: None });
    }
    // Tenants with many messages, some of which are noisy soon.
    for _ in 0..one_of(&mut rng, &[0, 0, 0, 0, 2, 2, 6]) {
        let (send, receive) = (rng.usize(1..steps.len()), rng.usize(1..steps.len()));
        steps.insert(send, Step::SendMany { queue: 0, batches: rng.u8(3..6), tenant: tenant(&mut rng) });
        let timeout = secs(one_of(&mut rng, &[5, 30, 30, 43_200]));
        steps.insert(receive, Step::ReceiveMany { queue: 0, receives: rng.u8(3..8), timeout });
    }
    let config = Config { cooldown: secs(cooldown), in_flight_max, ..Config::default() };
    finished(config, steps)
}

/// A sequence of steps, without what the model cannot follow, and with a last look at everything.
pub(crate) fn finished(config: Config, mut steps: Vec<Step>) -> Sequence {
    if steps.iter().any(|step| matches!(step, Step::ReceiveMany { .. })) && sent_count(&steps) > 100 {
        // One receive moves about a hundred dead letters, and the model any number.
        steps.iter_mut().for_each(forget_policy);
    }
    steps.push(Step::Compare);
    Sequence { config, steps }
}

/// Messages that a sequence sends at most.
fn sent_count(steps: &[Step]) -> usize {
    let of_step = |step: &Step| match step {
        Step::Send { entries, .. } => entries.len(),
        Step::SendMany { batches, .. } => usize::from(*batches) * 10,
        _ => 0,
    };
    steps.iter().map(of_step).sum()
}

fn forget_policy(step: &mut Step) {
    if let Step::Create { attributes, .. } | Step::Set { attributes, .. } = step {
        attributes.retain(|change| !matches!(change, AttributeChange::RedrivePolicy(_)));
    }
}

// Running one.

struct Run {
    bench: TestEngine,
    naive: Naive,
    /// Every receipt ever handed out, in that order.
    receipts: Vec<(Receipt, Handle)>,
    /// Every record of a message, in the log's order.
    message_records: Vec<Position>,
    /// Where each message's newest record is.
    newest: HashMap<MessageId, Position>,
    /// Where it was before this step, if the step moved it: what was due is delivered before that.
    moved_from: HashMap<MessageId, Position>,
    read: usize,
    followed: usize,
    ids: HashMap<MessageSeq, MessageId>,
    /// Dead letters that the engine moved since the last comparison.
    moves: Vec<Move>,
    sent: u128,
}

pub(crate) fn run(sequence: &Sequence) -> Tally {
    // Whether runs of backlogs are put away decides nothing that the model could see.
    let mut bench = match sequence.steps.len() % 2 {
        0 => TestEngine::spilling(sequence.config),
        _ => TestEngine::with_config(sequence.config),
    };
    bench.thorough = false;
    let naive = Naive::new(bench.now, sequence.config.cooldown, sequence.config.in_flight_max);
    let mut run = Run {
        bench,
        naive,
        receipts: Vec::new(),
        message_records: Vec::new(),
        newest: HashMap::new(),
        moved_from: HashMap::new(),
        read: 0,
        followed: 0,
        ids: HashMap::new(),
        moves: Vec::new(),
        sent: 0,
    };
    for step in &sequence.steps {
        run.take(step);
        run.agree();
    }
    run.naive.tally
}

impl Run {
    fn ask(&mut self, command: Command) -> RequestId {
        let request = self.bench.ask(command);
        self.begin(Some(request));
        request
    }

    /// Tells the model what the engine did in the call that it is to repeat.
    fn begin(&mut self, request: Option<RequestId>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let answered_at = self.bench.log.answered_at.filter(|(answered, _)| Some(*answered) == request);
        let mut begun = false;
        for (at, record) in self.bench.log.records.iter().enumerate().skip(self.followed) {
            begun |= answered_at.is_some_and(|(_, count)| count <= at);
            let acts = if begun { &mut after } else { &mut before };
            match &record.event {
                Event::MessageSent { stored, .. } => {
                    self.ids.insert(stored.seq, stored.message.id);
                    begun = true;
                }
                Event::MessagesReceived { queue, .. } => acts.push(Act::Gave(queue.0)),
                Event::MessageDeadLettered { queue, seq, target, .. } => {
                    let moved = (self.ids[seq], queue.0, target.0);
                    self.moves.push(moved);
                    acts.push(Act::Moved(moved));
                }
                _ => begun = true,
            }
        }
        self.followed = self.bench.log.records.len();
        self.naive.begin(before, after);
    }

    fn take(&mut self, step: &Step) {
        self.naive.now = self.bench.now;
        match step {
            Step::Create { queue: number, attributes, tag } => {
                let tags = tag.map(|tag| tags(&[(&key(tag), "at creation")])).unwrap_or_default();
                let (queue, attributes) = (queue(*number), attributes.clone());
                let create = Command::CreateQueue {
                    queue: queue.clone(),
                    attributes: attributes.clone(),
                    tags: tags.clone(),
                };
                let request = self.ask(create);
                self.naive.create(request, queue, &attributes, tags);
            }
            Step::DeleteQueue { queue: number } => {
                let request = self.ask(Command::DeleteQueue { queue: queue(*number) });
                self.naive.delete_queue(request, &queue(*number));
            }
            Step::Set { queue: number, attributes } => {
                let attributes = attributes.clone();
                let set =
                    Command::SetQueueAttributes { queue: queue(*number), attributes: attributes.clone() };
                let request = self.ask(set);
                self.naive.set(request, &queue(*number), &attributes);
            }
            Step::View { queue: number } => {
                let request = self.ask(Command::ViewQueue { queue: queue(*number) });
                self.naive.view(request, &queue(*number));
            }
            Step::Gauges => {
                let gauges = self.bench.live.engine.gauges(self.bench.now);
                let plain = |g: tidegate_engine::QueueGauge| {
                    let counts = (g.counts.visible, g.counts.in_flight, g.counts.delayed);
                    (g.address, counts, g.noisy_tenants, g.oldest_age)
                };
                let gauges: Vec<_> = gauges.into_iter().map(plain).collect();
                assert_eq!(gauges, self.naive.gauges(), "gauges");
                self.bench.check();
            }
            Step::List { queue: number, prefix, after, max } => {
                let (place, after) = (queue(*number), after.map(name_of));
                let list = Command::ListQueues {
                    account: place.account,
                    region: place.region.clone(),
                    prefix: (*prefix).into(),
                    after: after.clone(),
                    max: *max,
                };
                let request = self.ask(list);
                self.naive.list(request, &place, prefix, after.as_ref(), *max);
            }
            Step::Tag { queue: number, key: name, value } => {
                let tags = tags(&[(&key(*name), &value.to_string())]);
                let request = self.ask(Command::TagQueue { queue: queue(*number), tags: tags.clone() });
                self.naive.tag(request, &queue(*number), tags);
            }
            Step::Untag { queue: number, key: name } => {
                let keys = vec![key(*name).into()];
                let request = self.ask(Command::UntagQueue { queue: queue(*number), keys: keys.clone() });
                self.naive.untag(request, &queue(*number), &keys);
            }
            Step::Purge { queue: number } => {
                let request = self.ask(Command::PurgeQueue { queue: queue(*number) });
                self.naive.purge(request, &queue(*number));
            }
            Step::Send { queue, entries } => self.send(*queue, entries),
            Step::SendMany { queue, batches, tenant } => {
                for _ in 0..*batches {
                    self.send(*queue, &[(1, None, *tenant); 10]);
                    self.agree();
                }
            }
            Step::Receive { queue, max, timeout, wait } => self.receive(*queue, *max, *timeout, *wait),
            Step::ReceiveMany { queue, receives, timeout } => {
                for _ in 0..*receives {
                    self.receive(*queue, 10, Some(*timeout), Some(Duration::ZERO));
                    self.agree();
                }
            }
            Step::Delete { queue: number, picks } => {
                let picked = self.pick_receipts(picks.iter().copied());
                let receipts = picked.iter().map(|(receipt, _)| *receipt).collect();
                let request = self.ask(Command::Delete { queue: queue(*number), receipts });
                let handles: Vec<_> = picked.iter().map(|(_, handle)| *handle).collect();
                self.naive.delete(request, &queue(*number), &handles);
            }
            Step::Change { queue: number, picks } => {
                let picked = self.pick_receipts(picks.iter().map(|(pick, _)| *pick));
                let timeouts = picks.iter().map(|(_, timeout)| *timeout);
                let (receipts, handles): (Vec<_>, Vec<_>) = picked.into_iter().unzip();
                let changes = receipts.into_iter().zip(timeouts.clone()).collect();
                let request = self.ask(Command::ChangeVisibility { queue: queue(*number), changes });
                let changes: Vec<_> = handles.into_iter().zip(timeouts).collect();
                self.naive.change(request, &queue(*number), &changes);
            }
            Step::Return { picks } => {
                let (receipts, handles): (Vec<_>, Vec<_>) =
                    self.pick_receipts(picks.iter().copied()).into_iter().unzip();
                let request = self.ask(Command::ReturnUndelivered { receipts });
                self.naive.return_undelivered(request, &handles);
            }
            Step::Relocate { picks } => self.relocate(picks),
            Step::Cancel { pick } => {
                let open: Vec<_> = self.bench.log.open.iter().copied().collect();
                if !open.is_empty() {
                    let request = open[usize::from(*pick) % open.len()];
                    self.bench.cancel(Poll(request));
                    self.naive.cancel(request);
                }
            }
            Step::ReleaseWaiting => {
                self.bench.release_waiting();
                self.naive.end_waits(true);
            }
            Step::Jump(duration) => self.bench.jump(*duration),
            Step::JumpToDeadline { before } => {
                if let Some(due) = self.bench.live.engine.poll_timeout() {
                    let ahead = due.since(self.bench.now).saturating_sub(*before);
                    self.bench.jump(ahead);
                }
            }
            Step::Wait(duration) => {
                let target = self.bench.now + *duration;
                while let Some(due) = self.bench.live.engine.poll_timeout().filter(|due| *due <= target) {
                    self.bench.now = self.bench.now.max(due);
                    self.meet_deadlines();
                    self.agree();
                }
                self.bench.now = target;
                self.meet_deadlines();
            }
            Step::MeetDeadlines => self.meet_deadlines(),
            Step::RestartFromEvents => {
                self.bench.restart_from_events();
                self.naive.end_waits(false);
            }
            Step::RestartFromSnapshot => {
                self.bench.restart_from_snapshot();
                self.naive.end_waits(false);
            }
            Step::Follow => self.bench.follow_from_here(),
            Step::Compare => self.bench.check_followers(),
        }
    }

    fn meet_deadlines(&mut self) {
        self.bench.meet_deadlines();
        self.begin(None);
        self.naive.now = self.bench.now;
        self.naive.time_passes();
    }

    fn receive(&mut self, number: u8, max: usize, timeout: Option<Duration>, wait: Option<Duration>) {
        let receive =
            Receive { queue: queue(number), max, visibility_timeout: timeout, wait, attempt_id: None };
        let request = self.ask(Command::Receive(receive));
        self.naive.receive(request, &queue(number), max, timeout, wait);
    }

    fn send(&mut self, number: u8, entries: &[(usize, Option<Duration>, Option<u8>)]) {
        static ZEROS: [u8; 1025] = [0; 1025];
        let mut sent = Vec::new();
        let mut plain = Vec::new();
        for (size, delay, tenant) in entries {
            self.sent += 1;
            let mut message = message(self.sent, &ZEROS[..*size]);
            message.group_id = tenant.map(|tenant| format!("tenant-{tenant}").into());
            plain.push((message.id, *size, *delay, *tenant));
            sent.push(SendEntry { message, delay: *delay, content_based: false });
        }
        let request = self.ask(Command::Send { queue: queue(number), entries: sent });
        self.naive.send(request, &queue(number), &plain);
    }

    fn pick_receipts(&self, picks: impl Iterator<Item = u16>) -> Vec<(Receipt, Handle)> {
        let count = self.receipts.len();
        picks.filter(|_| count > 0).map(|pick| self.receipts[count - 1 - usize::from(pick) % count]).collect()
    }

    fn relocate(&mut self, picks: &[u16]) {
        let count = self.message_records.len();
        let chosen = picks.iter().filter(|_| count > 0);
        let places: Vec<_> =
            chosen.map(|pick| self.message_records[count - 1 - usize::from(*pick) % count]).collect();
        let messages = self.bench.candidates(&places);
        let count = messages.len();
        let before = self.bench.log.records.len();
        let request = self.ask(Command::Relocate { messages: messages.clone() });
        let moved = |record: &Record| match &record.event {
            Event::MessageRelocated { stored } => Some((stored.message.id, stored.queue.0)),
            _ => None,
        };
        let moved: Vec<_> = self.bench.log.records[before..].iter().filter_map(moved).collect();
        self.naive.time_passes();
        let mut expected: Vec<(MessageId, u64)> = Vec::new();
        for (position, stored) in &messages {
            let id = stored.message.id;
            let here =
                self.newest.get(&id) == Some(position) && expected.iter().all(|(other, _)| *other != id);
            if here {
                expected.extend(self.naive.holder(id).map(|holder| (id, holder)));
            }
        }
        let what = if expected.len() == count { "relocated" } else { "stale candidates" };
        *self.naive.tally.entry(what).or_default() += 1;
        assert_eq!(moved, expected, "relocated messages, and the queues that hold them");
        self.naive.answers.insert(request, Answer::Done);
    }

    /// Compares all answers given since the last time.
    fn agree(&mut self) {
        self.moved_from.clear();
        for record in &self.bench.log.records[self.read..] {
            if let Some(stored) = record.stored() {
                let id = stored.message.id;
                let former = self.newest.insert(id, record.position);
                self.moved_from.extend(former.map(|former| (id, former)));
                self.message_records.push(record.position);
            }
        }
        self.read = self.bench.log.records.len();
        let replies = std::mem::take(&mut self.bench.log.replies);
        let answers: BTreeMap<_, _> =
            replies.into_iter().map(|(request, reply)| (request, self.plain(request, reply))).collect();
        assert_eq!(answers, std::mem::take(&mut self.naive.answers), "the engine's answers, and the model's");
        let (mut moves, mut expected) =
            (std::mem::take(&mut self.moves), std::mem::take(&mut self.naive.moves));
        moves.sort_unstable();
        expected.sort_unstable();
        assert_eq!(moves, expected, "the engine's dead letters, and the model's");
        self.naive.now = self.bench.now;
        if let Some(due) = self.naive.next_due() {
            let armed = self.bench.live.engine.poll_timeout();
            assert!(
                armed.is_some_and(|armed| armed <= due),
                "due at {due}, but the timer is set for {armed:?}"
            );
        }
    }

    fn plain(&mut self, request: RequestId, reply: Result<Reply, Error>) -> Answer {
        match reply {
            Err(error) => Answer::Refused(error),
            Ok(Reply::Done) => Answer::Done,
            Ok(Reply::Queues { names, more }) => {
                Answer::Names(names.iter().map(|name| name.as_str().to_owned()).collect(), more)
            }
            Ok(Reply::Queue(view)) => Answer::View(Box::new(View {
                attributes: view.attributes,
                tags: view.tags,
                created_at: view.created_at,
                modified_at: view.modified_at,
                counts: (view.counts.visible, view.counts.in_flight, view.counts.delayed),
            })),
            Ok(Reply::Sent(sent)) => {
                Answer::Sent(sent.into_iter().map(|sent| sent.map(|sent| sent.id)).collect())
            }
            Ok(Reply::Settled(settled)) => Answer::Settled(settled),
            Ok(Reply::Received(deliveries)) => {
                let mut heard = Vec::new();
                for got in self.bench.read(&deliveries) {
                    let places = [self.newest.get(&got.id), self.moved_from.get(&got.id)];
                    assert!(
                        places.contains(&Some(&got.position)),
                        "{request:?} names an old record of {}",
                        got.id
                    );
                    let handle =
                        Handle { queue: got.receipt.queue.0, id: got.id, receive: got.receive_count };
                    let known = self.receipts.iter().any(|(receipt, _)| *receipt == got.receipt);
                    assert!(!known, "every receive has a receipt of its own");
                    self.receipts.push((got.receipt, handle));
                    heard.push(Heard {
                        handle,
                        sent_at: got.sent_at,
                        first_received_at: got.first_received_at,
                        source: got.source,
                    });
                }
                Answer::Received(heard)
            }
            Ok(other) => panic!("the model asks for nothing of that kind: {other:?}"),
        }
    }
}

fn key(number: u8) -> String {
    format!("key-{number}")
}

// Many of them.

/// What the sequences of one run must reach, or their weights are wrong.
const REACHED: [&str; 49] = [
    "another attribute value",
    "chain",
    "change after the timeout",
    "change beyond twelve hours",
    "change by an old handle",
    "change in flight",
    "change of what is gone",
    "dead letter moved",
    "dead letter relocated",
    "dead-letter queue gone",
    "delete after the timeout",
    "delete by an old handle",
    "delete in flight",
    "delete of what is gone",
    "expired after a return",
    "expired delayed",
    "expired in flight",
    "expired visible",
    "handle of another queue",
    "kept by a queue that names itself",
    "message too long",
    "moved and delivered in one receive",
    "moved by a poll",
    "name at rest",
    "only noisy",
    "over the limit in flight",
    "passed back",
    "policy names no queue",
    "poll on a dead-letter queue served",
    "purge at rest",
    "purged while somebody waited",
    "queue missing",
    "quiet and noisy in one receive",
    "quiet before noisy",
    "received again",
    "received again from a noisy tenant",
    "relocated",
    "return of what is gone",
    "return",
    "served by a command",
    "served by a receive",
    "served by a return",
    "served by time",
    "several noisy in one receive",
    "stale candidates",
    "wait ended empty",
    "wait ended with its queue",
    "waits for room in flight",
    "waits",
];

#[test]
fn the_engine_agrees_with_the_naive_model() {
    Trial { sequence, run, reached: &REACHED, counts: (5_000, 1_000) }.check();
}
