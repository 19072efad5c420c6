//! Faults at their moments.

use super::life::Death;
use super::{Event, World};
use crate::checker::Violation;
use crate::faults::FaultKind;
use crate::machine::Server;
use crate::options::Options;
use crate::random::stream;
use crate::time::Moment;
use std::collections::BTreeMap;
use tidegate_log::{Damage, Fault, Storage, Trigger};

/// What a seed has in store.
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) end: Moment,
    pub(super) look_every: u64,
    strikes: Vec<(u64, FaultKind)>,
    /// For each kind its own chance, which says how it strikes.
    chances: BTreeMap<FaultKind, fastrand::Rng>,
    pub(super) dies_in_recovery: bool,
    pub(super) paused_until: Moment,
    is_slow: bool,
}

impl Plan {
    pub(super) fn new(options: &Options) -> Self {
        let mut random = stream(options.seed, "plan");
        let span = random.u64(5_000..60_000);
        let look_every = random.u64(2_000..10_000);
        let mut plan = Plan {
            seed: options.seed,
            end: Moment(options.span.unwrap_or(span)),
            look_every,
            strikes: Vec::new(),
            chances: BTreeMap::new(),
            dies_in_recovery: false,
            paused_until: Moment::default(),
            is_slow: false,
        };
        let kinds = FaultKind::ALL.into_iter().filter(|kind| !kind.is_of_network());
        for kind in kinds.filter(|kind| !options.without_faults.contains(kind)) {
            let mut random = stream(options.seed, kind.name());
            let count = if random.bool() { random.u32(1..5) } else { 0 };
            plan.strikes.extend((0..count).map(|_| (random.u64(0..span), kind)));
            plan.chances.insert(kind, random);
        }
        plan
    }

    pub(super) fn take_strikes(&mut self) -> Vec<(u64, FaultKind)> {
        std::mem::take(&mut self.strikes)
    }

    /// How long the disk takes for an append.
    pub(super) fn latency(&self, random: &mut fastrand::Rng) -> u64 {
        if self.is_slow { random.u64(50..800) } else { random.u64(0..4) }
    }

    pub(super) fn heal(&mut self) {
        self.is_slow = false;
        self.dies_in_recovery = false;
        self.paused_until = Moment::default();
    }
}

/// Longest jump of the clock: hours, seldom.
const JUMP_MAX: u64 = 6 * 3_600_000;

impl World {
    pub(super) fn strike(&mut self, kind: FaultKind) -> Result<(), Violation> {
        let mut random = self.plan.chances.remove(&kind).expect("it has its chance");
        if self.strike_with(kind, &mut random) {
            self.watch.note(|line| *line += &format!("fault: {kind}"));
            self.watch.tally.strike(kind);
        }
        self.plan.chances.insert(kind, random);
        Ok(())
    }

    /// Whether it could strike.
    fn strike_with(&mut self, kind: FaultKind, random: &mut fastrand::Rng) -> bool {
        let is_up = self.server.is_some();
        let soon = self.storage.operations() + random.u64(1..=12);
        match kind {
            FaultKind::PowerLoss if is_up && random.bool() => {
                let death = loop {
                    match self.chosen_death() {
                        Death::Process => {}
                        death => break death,
                    }
                };
                self.die(death);
            }
            FaultKind::PowerLoss if is_up => {
                self.storage.inject(Trigger::Operation(soon), Fault::PowerOff);
                self.power_off_at = Some(self.power_off_at.unwrap_or(soon).min(soon));
            }
            FaultKind::ProcessDeath if is_up => self.die(Death::Process),
            FaultKind::DeathInRecovery => self.plan.dies_in_recovery = true,
            FaultKind::FailedOperation if is_up => {
                self.storage.inject(Trigger::Operation(soon), Fault::Error);
            }
            FaultKind::ShortWrite if is_up => {
                let write = self.storage.writes() + random.u64(1..=6);
                self.storage.inject(Trigger::Write(write), Fault::ShortWrite(random.usize(0..600)));
            }
            FaultKind::FailedFsync if is_up => {
                let sync = self.storage.syncs() + random.u64(1..=6);
                self.storage.inject(Trigger::Sync(sync), Fault::Error);
            }
            kind if kind.is_damage() && is_up => return self.damage(kind, random),
            FaultKind::FullDisk => {
                let room = random.choice([0, 10 << 10, 60 << 10]).expect("one of three");
                self.storage.limit_capacity(Some(self.storage.used_bytes() + room));
                self.schedule(random.u64(500..20_000), Event::Relief(kind));
            }
            FaultKind::SlowDisk => {
                self.plan.is_slow = true;
                self.schedule(random.u64(500..10_000), Event::Relief(kind));
            }
            FaultKind::ClockForward => self.system.set(jump(random) as i64),
            FaultKind::ClockBack => self.system.set(-(jump(random) as i64)),
            FaultKind::Pause if is_up => {
                let until = self.moment.after(random.u64(100..30_000));
                self.plan.paused_until = until;
                self.busy_until = self.busy_until.max(until);
            }
            _ => return false,
        }
        true
    }

    /// Damages a place of a file that is not being written.
    fn damage(&mut self, kind: FaultKind, random: &mut fastrand::Rng) -> bool {
        let active = format!("{:08x}.seg", self.server.as_ref().map_or(0, Server::active_segment));
        let mut files = self.storage.list().expect("a list cannot fail");
        files.retain(|file| match file.name.rsplit_once('.') {
            Some((_, "seg")) => file.name < active,
            Some((_, kind)) => kind == "post",
            None => file.name.starts_with("checkpoint-"),
        });
        files.sort_by(|one, other| one.name.cmp(&other.name));
        let Some(file) = random.choice(files).filter(|file| file.bytes > 0) else { return false };
        let offset = random.u64(0..file.bytes);
        let damage = match kind {
            FaultKind::BitRot => Damage::Rot(1 << random.u32(0..8)),
            FaultKind::StrayWrite => {
                let mut bytes = vec![0; random.choice([16, 512, 4_096]).expect("one of three")];
                random.fill(&mut bytes);
                Damage::Stray(bytes)
            }
            _ => Damage::Unreadable(512),
        };
        self.storage.damage(&file.name, offset, damage);
        self.watch.note(|line| *line += &format!("damage at byte {offset} of {}", file.name));
        self.watch.set_damaged(true);
        true
    }

    pub(super) fn relieve(&mut self, kind: FaultKind) {
        match kind {
            FaultKind::FullDisk => self.storage.limit_capacity(None),
            FaultKind::SlowDisk => self.plan.is_slow = false,
            _ => {}
        }
    }
}

fn jump(random: &mut fastrand::Rng) -> u64 {
    match random.u32(0..8) {
        0 => random.u64(1..JUMP_MAX),
        1..4 => random.u64(1..100_000),
        _ => random.u64(1..5_000),
    }
}
