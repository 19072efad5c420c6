//! The random sequences that FIFO queues are tested with.

use super::naive_fifo::Asked;
use super::util::{address, millis, redrive_policy, secs};
use fastrand::Rng;
use std::time::Duration;
use tidegate_engine::{AttributeChange, Config, DeduplicationScope, QueueAddress};

/// Group and deduplication id of a message; `None` is an id of its own.
pub(crate) type Entry = (u8, Option<u8>);

/// One step of a sequence. Numbers named `pick` choose among what is there when the step is taken, so that a
/// sequence keeps its meaning when other steps are left out.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Create {
        queue: u8,
        attributes: Vec<AttributeChange>,
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
    Purge {
        queue: u8,
    },
    Send {
        queue: u8,
        entries: Vec<Entry>,
    },
    Receive {
        queue: u8,
        asked: Asked,
        wait: Duration,
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
    StartTask {
        source: u8,
        destination: Option<u8>,
        rate: Option<u32>,
    },
    CancelTask {
        source: u8,
        pick: u16,
    },
    Redrive {
        queue: u8,
        destination: Option<u8>,
        picks: Vec<u16>,
    },
    CancelPoll {
        pick: u16,
    },
    /// The clock moves; nobody looks after deadlines.
    Jump(Duration),
    /// The clock moves to so long before the engine's next deadline.
    JumpToDeadline {
        before: Duration,
    },
    /// The clock moves as in a punctual server.
    Wait(Duration),
    RestartFromEvents,
    RestartFromSnapshot,
    Follow,
    Compare,
}

pub(crate) type Sequence = super::trial::Sequence<Step>;

pub(crate) fn queue(number: u8) -> QueueAddress {
    let name = match number {
        0 => "a.fifo",
        1 => "b.fifo",
        _ => "c.fifo",
    };
    address(0, "us-east-1", name)
}

fn one_of<T: Clone>(rng: &mut Rng, choices: &[T]) -> T {
    rng.choice(choices).expect("choices").clone()
}

fn policy(rng: &mut Rng) -> AttributeChange {
    let target = one_of(rng, &[0, 1, 1, 1, 2, 2]);
    redrive_policy(&queue(target), one_of(rng, &[1, 1, 1, 2, 2, 3]))
}

fn attributes(rng: &mut Rng) -> Vec<AttributeChange> {
    let count = one_of(rng, &[0, 1, 1, 2]);
    let attribute = |rng: &mut Rng| match rng.u8(0..8) {
        0 => AttributeChange::DelaySeconds(secs(one_of(rng, &[0, 0, 0, 1, 5, 900]))),
        1 => AttributeChange::MessageRetentionPeriod(secs(one_of(rng, &[60, 61, 345_600, 345_600, 345_600]))),
        2 => AttributeChange::DeduplicationScope(DeduplicationScope::Queue),
        3 => AttributeChange::DeduplicationScope(DeduplicationScope::MessageGroup),
        4 if rng.bool() => AttributeChange::RedrivePolicy(None),
        4 | 5 => policy(rng),
        _ => AttributeChange::VisibilityTimeout(secs(one_of(rng, &[0, 1, 2, 5, 30, 43_200]))),
    };
    (0..count).map(|_| attribute(rng)).collect()
}

/// Mostly the newest few, now and then anyone.
fn pick(rng: &mut Rng) -> u16 {
    if rng.u8(0..5) > 0 { rng.u16(0..4) } else { rng.u16(..) }
}

fn picks<T>(rng: &mut Rng, mut one: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    let count = one_of(rng, &[1, 1, 1, 2, 3, 10]);
    (0..count).map(|_| one(rng)).collect()
}

fn jump(rng: &mut Rng) -> Duration {
    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;
    let short = [0, 1, 1, 500, 999, 1000, 1000, 1001, 2000, 2000, 5000, 10_000];
    let long = [30_000, MINUTE, 5 * MINUTE - 1, 5 * MINUTE, 12 * HOUR, 36 * HOUR, 96 * HOUR];
    millis(if rng.u8(0..5) > 0 { one_of(rng, &short) } else { one_of(rng, &long) })
}

/// A queue and, for messages that are to be moved, where to.
fn way(rng: &mut Rng) -> (u8, Option<u8>) {
    (one_of(rng, &[0, 1, 1, 2]), one_of(rng, &[None, None, None, Some(0), Some(1), Some(2)]))
}

fn receive(rng: &mut Rng, queue: u8) -> Step {
    let attempt = one_of(rng, &[None, None, None, Some("x"), Some("y")]);
    let timeouts = [None, None, Some(0), Some(0), Some(1), Some(2), Some(5), Some(30), Some(43_200)];
    let asked = Asked {
        max: one_of(rng, &[1, 1, 2, 3, 10, 10]),
        timeout: one_of(rng, &timeouts).map(secs),
        attempt: attempt.map(str::to_owned),
    };
    Step::Receive { queue, asked, wait: secs(one_of(rng, &[0, 0, 0, 1, 5, 20])) }
}

/// In the place of a queue's number: the one that the first of the receipts is of.
pub(crate) const OF_RECEIPT: u8 = 9;

/// A step of a life in which dead letters come and go.
fn moving_step(rng: &mut Rng) -> Step {
    let queue = one_of(rng, &[0, 0, 0, 1]);
    match rng.u8(0..10) {
        0..2 => Step::Send { queue: 0, entries: picks(rng, |rng| (rng.u8(0..3), None)) },
        2..6 => {
            let timeout = Some(secs(one_of(rng, &[0, 0, 0, 1])));
            let asked = Asked { max: one_of(rng, &[1, 3, 10]), timeout, attempt: None };
            Step::Receive { queue, asked, wait: secs(one_of(rng, &[0, 0, 20])) }
        }
        6..8 => {
            let (destination, rate) =
                (one_of(rng, &[None, None, Some(0), Some(2)]), one_of(rng, &[None, Some(1)]));
            Step::StartTask { source: 1, destination, rate }
        }
        8 => Step::CancelTask { source: 1, pick: 0 },
        _ if rng.u8(0..3) > 0 => Step::Wait(secs(rng.u64(0..3))),
        _ => Step::DeleteQueue { queue: one_of(rng, &[0, 2, 2]) },
    }
}

pub(crate) fn step(rng: &mut Rng) -> Step {
    let queue = one_of(rng, &[0, 0, 0, 0, 1, 1, 2]);
    let of_receipt = if rng.u8(0..8) > 0 { OF_RECEIPT } else { queue };
    match rng.u8(0..100) {
        0 => Step::Create { queue, attributes: attributes(rng) },
        1..4 => Step::Set { queue, attributes: attributes(rng) },
        4 => Step::View { queue },
        5 => Step::Purge { queue },
        6..22 => {
            let ids = [None, None, None, Some(0), Some(1), Some(2)];
            Step::Send { queue, entries: picks(rng, |rng| (rng.u8(0..3), one_of(rng, &ids))) }
        }
        22..46 => receive(rng, queue),
        46..54 => Step::Delete { queue: of_receipt, picks: picks(rng, pick) },
        54..60 => {
            let timeouts = [0, 0, 0, 1, 2, 10, 60, 43_199, 43_200];
            Step::Change {
                queue: of_receipt,
                picks: picks(rng, |rng| (pick(rng), secs(one_of(rng, &timeouts)))),
            }
        }
        60 => Step::Return { picks: picks(rng, pick) },
        61..65 => Step::Relocate { picks: picks(rng, pick) },
        65..68 => {
            let (source, destination) = way(rng);
            let rate = one_of(rng, &[None, None, Some(1), Some(1), Some(3), Some(500)]);
            Step::StartTask { source, destination, rate }
        }
        68 => Step::CancelTask { source: way(rng).0, pick: pick(rng) },
        69..71 => {
            let (queue, destination) = way(rng);
            Step::Redrive { queue, destination, picks: picks(rng, pick) }
        }
        71 => Step::CancelPoll { pick: pick(rng) },
        72..76 => Step::Jump(jump(rng)),
        76..83 => Step::JumpToDeadline { before: one_of(rng, &[millis(0), millis(0), millis(1)]) },
        83..91 => Step::Wait(jump(rng)),
        91..93 => Step::RestartFromEvents,
        93..95 => Step::RestartFromSnapshot,
        95 => Step::Follow,
        96..99 => Step::Compare,
        _ => Step::DeleteQueue { queue },
    }
}

pub(crate) fn sequence(seed: u64) -> Sequence {
    let mut rng = Rng::with_seed(seed);
    let fifo_in_flight_max = one_of(&mut rng, &[1, 2, 5, 120_000, 120_000, 120_000]);
    let cooldown = one_of(&mut rng, &[60, 0]);
    let length = one_of(&mut rng, &[10, 20, 40, 60]);
    let mut steps: Vec<_> = (0..3).map(|queue| Step::Create { queue, attributes: vec![] }).collect();
    for queue in 0..3 {
        if rng.bool() {
            steps.push(Step::Set { queue, attributes: attributes(&mut rng) });
        }
    }
    if rng.u8(0..3) > 0 {
        steps.push(Step::Set { queue: 0, attributes: vec![policy(&mut rng)] });
    }
    let moving = rng.u8(0..3) == 0;
    if moving {
        steps.push(Step::Set { queue: 0, attributes: vec![redrive_policy(&queue(1), 1)] });
    }
    for _ in 0..length {
        steps.push(if moving && rng.bool() { moving_step(&mut rng) } else { step(&mut rng) });
    }
    steps.push(Step::Compare);
    Sequence { config: Config { cooldown: secs(cooldown), fifo_in_flight_max, ..Config::default() }, steps }
}
