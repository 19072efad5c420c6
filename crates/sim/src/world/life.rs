//! The lives of the server: how it starts, what wakes it, how it ends.

use super::{Event, World};
use crate::checker::Violation;
use crate::faults::FaultKind;
use crate::history::Fact;
use crate::machine::{Caller, End, Input, Server, Settings};
use crate::queues;
use std::error::Error;
use std::time::Duration;
use tidegate_engine::{AttributeChange, Command, RedrivePolicy, Tags};
use tidegate_log::{CrashPolicy, Fault, Trigger};

pub(super) fn settings(random: &mut fastrand::Rng) -> Settings {
    Settings {
        segment_bytes: random.choice([8 << 10, 16 << 10, 64 << 10]).expect("one of three"),
        recent_bytes: random.choice([0, 0, 4 << 10]).expect("one of three"),
        puts_away: random.u32(0..4) > 0,
        checkpoint_records: random.choice([30, 200, 1_000]).expect("one of three"),
    }
}

/// How the process ended.
#[derive(Debug)]
pub(super) enum Death {
    Power(CrashPolicy),
    Process,
}

/// What a server says about a start that fails.
fn sentence(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", sentence(source)),
        None => error.to_string(),
    }
}

impl World {
    /// The first start, and the queues.
    pub(super) fn begin(&mut self) -> Result<(), Violation> {
        self.restart()?;
        let mut random = crate::random::stream(self.plan.seed, "queues");
        // In one run out of four messages do not last.
        let retention =
            if random.u32(0..4) == 0 { Duration::from_secs(60) } else { Duration::from_secs(345_600) };
        self.watch.checkers.set_retention(retention);
        let server = self.server.as_mut().expect("it has just started");
        for name in queues::ALL {
            let mut attributes = vec![
                AttributeChange::VisibilityTimeout(Duration::from_secs(random.u64(1..=20))),
                AttributeChange::MessageRetentionPeriod(retention),
                AttributeChange::ReceiveMessageWaitTimeSeconds(Duration::from_secs(random.u64(0..=5))),
            ];
            if name == queues::JOBS || name == queues::EVENTS {
                attributes.push(AttributeChange::DelaySeconds(Duration::from_secs(random.u64(0..=2))));
            }
            if queues::address(name).name.is_fifo() {
                attributes.push(AttributeChange::FifoQueue(true));
            }
            if let Some(dead) = queues::dead_letter_queue(name) {
                attributes.push(AttributeChange::RedrivePolicy(Some(RedrivePolicy {
                    dead_letter_target: queues::address(dead),
                    max_receive_count: random.u32(1..=4),
                })));
            }
            let command =
                Command::CreateQueue { queue: queues::address(name), attributes, tags: Tags::new() };
            server.push(Input::Command { caller: Caller::Nobody, command: Box::new(command) });
        }
        self.turn()?;
        for client in 0..self.seats.len() {
            self.schedule(client as u64, Event::Wake { client, attempt: 0 });
        }
        for (millis, kind) in self.plan.take_strikes() {
            self.schedule(millis, Event::Strike(kind));
        }
        self.schedule(self.plan.look_every, Event::Look);
        Ok(())
    }

    /// Has the owner wake as soon as it can.
    pub(super) fn wake_owner(&mut self) {
        let at = self.busy_until.max(self.moment);
        if self.turn_at.is_none_or(|turn| at < turn) {
            self.turn_at = Some(at);
            self.schedule(at.0 - self.moment.0, Event::Turn);
        }
    }

    /// The owner's thread: one turn.
    pub(super) fn turn(&mut self) -> Result<(), Violation> {
        self.turn_at = None;
        let Some(server) = &mut self.server else { return Ok(()) };
        let now = server.now(&self.system, self.moment);
        let latency = self.plan.latency(&mut self.nature);
        match server.turn(now, &mut self.watch) {
            Ok(answers) => {
                self.busy_until = self.busy_until.max(self.moment.after(latency));
                self.release(answers, latency);
            }
            Err(End::Broken(violation)) => return Err(violation),
            Err(End::Append(error)) => {
                self.watch
                    .note(|line| *line += &format!("the log could not be written: {}", sentence(&error)));
                let death = self.chosen_death();
                self.die(death);
            }
        }
        self.sleep();
        Ok(())
    }

    /// The owner sleeps until something is due, and the keeper too.
    fn sleep(&mut self) {
        let Some(server) = &mut self.server else { return };
        let now = server.now(&self.system, self.moment);
        let patience = if server.has_input() { Some(0) } else { server.patience(now) };
        let house = server.house.patience();
        if let Some(patience) = patience {
            let at = self.moment.after(patience).max(self.busy_until);
            if self.turn_at.is_none_or(|turn| at < turn) {
                self.turn_at = Some(at);
                self.schedule(at.0 - self.moment.0, Event::Turn);
            }
        }
        if let Some(patience) = house {
            let at = self.moment.after(patience);
            if self.house_at.is_none_or(|house| at < house) {
                self.house_at = Some(at);
                self.schedule(patience, Event::House);
            }
        }
    }

    /// The keeper's thread: one step.
    pub(super) fn keep_house(&mut self) -> Result<(), Violation> {
        self.house_at = None;
        if self.moment < self.plan.paused_until {
            self.house_at = Some(self.plan.paused_until);
            self.schedule(self.plan.paused_until.0 - self.moment.0, Event::House);
            return Ok(());
        }
        let Some(server) = &mut self.server else { return Ok(()) };
        if server.house.patience().is_some()
            && let Some(input) = server.house.step()
        {
            server.push(input);
            self.wake_owner();
        }
        if self.is_off() {
            let death = self.chosen_death();
            self.die(death);
        }
        self.sleep();
        Ok(())
    }

    fn is_off(&self) -> bool {
        self.power_off_at.is_some_and(|operation| self.storage.operations() >= operation)
    }

    /// What a death in the middle of an operation comes to.
    pub(super) fn chosen_death(&mut self) -> Death {
        let nature = &mut self.nature;
        match nature.u32(0..10) {
            0 | 1 => Death::Power(CrashPolicy::DropAll),
            2 => Death::Power(CrashPolicy::KeepAll),
            3 | 4 => Death::Power(CrashPolicy::TearLast(nature.usize(0..600))),
            5 if !self.is_off() => Death::Process,
            _ => Death::Power(CrashPolicy::Seeded(self.nature.u64(..))),
        }
    }

    pub(super) fn die(&mut self, death: Death) {
        let Some(server) = self.server.take() else { return };
        self.watch.note(|line| *line += &format!("the end: {death:?}"));
        self.watch.tally.note_house(&server.house.seen);
        drop(server);
        // No promise is broken by an end.
        let _ = self.watch.observe(&Fact::Ended);
        self.storage = match death {
            Death::Power(policy) => self.storage.crash(policy),
            Death::Process => self.storage.restart_process(),
        };
        (self.power_off_at, self.turn_at, self.house_at) = (None, None, None);
        for client in 0..self.seats.len() {
            let attempt = self.seats[client].attempt;
            if self.seats[client].waits {
                let millis = self.nature.u64(1..100);
                self.schedule(millis, Event::GiveUp { client, attempt });
            }
        }
        let millis = self.nature.u64(1..3_000);
        self.schedule(millis, Event::Restart);
    }

    /// Restores the files from a copy, which nobody does under a server.
    pub(super) fn mend(&mut self) {
        self.storage.mend();
        self.watch.set_damaged(false);
    }

    /// Starts the server, in which the power may fail again.
    pub(super) fn restart(&mut self) -> Result<(), Violation> {
        if self.server.is_some() {
            return Ok(());
        }
        if self.nature.u32(0..4) == 0 {
            self.settings = settings(&mut self.nature);
        }
        if std::mem::take(&mut self.plan.dies_in_recovery) {
            self.watch.tally.strike(FaultKind::DeathInRecovery);
            let operation = self.storage.operations() + self.nature.u64(1..=8);
            self.storage.inject(Trigger::Operation(operation), Fault::PowerOff);
            drop(Server::start(self.storage.clone(), self.settings, &self.system, self.moment));
            self.storage = self.storage.crash(CrashPolicy::Seeded(self.nature.u64(..)));
            self.watch.note(|line| *line += "the power failed in recovery");
        }
        let mut started = Server::start(self.storage.clone(), self.settings, &self.system, self.moment);
        if let Err(error) = &started
            && self.watch.is_damaged
        {
            self.watch.note_unreadable(&**error)?;
            self.watch.tally.see("starts refused for damage", 1);
            self.mend();
            started = Server::start(self.storage.clone(), self.settings, &self.system, self.moment);
        }
        let server = started.map_err(|error| Violation { checker: "recovery", what: sentence(&*error) })?;
        self.watch.note(|line| *line += &format!("started with {:?}", self.settings));
        let torn = u64::from(server.recovery.torn_at.is_some());
        self.watch.tally.see("torn writes cut off", torn);
        self.watch.tally.see("recoveries from a checkpoint", u64::from(server.from_checkpoint));
        self.server = Some(server);
        self.busy_until = self.moment;
        self.look()?;
        self.wake_owner();
        Ok(())
    }
}
