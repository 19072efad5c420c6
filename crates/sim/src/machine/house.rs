//! The thread that keeps house, a step at a time: prepares segments, stores checkpoints, gives dead segments back, empties
//! sparse ones.

use super::server::{Caller, Housekeeping, Input};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use tidegate_engine::Command;
use tidegate_log::{Keeper, KeeperError, MemoryStorage, Reader};
use tidegate_store::{Candidate, RecoverError, Segments, offer_messages};

pub(crate) struct House {
    keeper: Keeper<MemoryStorage>,
    reader: Reader<MemoryStorage>,
    work: Work,
    called: bool,
    /// How soon to look again without being called, in milliseconds.
    patience: Option<u64>,
    pub(crate) seen: Seen,
    /// What it could not read last.
    pub(crate) report: Option<RecoverError>,
}

/// What it did so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) checkpoints: u64,
    pub(crate) posting_bytes: u64,
    pub(crate) retired: u64,
    pub(crate) offered: u64,
    pub(crate) failed: u64,
}

/// What is to be done next.
enum Work {
    Nothing,
    Fill,
    /// The owner was asked for the state of things.
    Wait,
    Store(Housekeeping),
    Reclaim(Segments, Then),
    Offer(VecDeque<Vec<Candidate>>, Segments, Then),
    /// The owner was asked to store messages anew.
    WaitForOffer(VecDeque<Vec<Candidate>>, Segments, Then),
    End(Segments, Then),
}

/// What follows on reclaiming.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// If room is short, a checkpoint is given up and segments are reclaimed once more.
    GiveUpCheckpoint,
    Rest,
}

const FILL_PACE: u64 = 10;
const RETRY: u64 = 1_000;
/// Time between two steps; others have their turns meanwhile.
const STEP: u64 = 1;

impl House {
    pub(super) fn new(keeper: Keeper<MemoryStorage>, reader: Reader<MemoryStorage>) -> Self {
        let seen = Seen::default();
        House { keeper, reader, work: Work::Nothing, called: false, patience: None, seen, report: None }
    }

    pub(super) fn call(&mut self) {
        self.called = true;
    }

    pub(super) fn hand_over(&mut self, housekeeping: Housekeeping) {
        self.work = Work::Store(housekeeping);
    }

    /// Takes the answer to an offer.
    pub(crate) fn answer(&mut self, is_done: bool) {
        let Work::WaitForOffer(batches, segments, then) = std::mem::replace(&mut self.work, Work::Nothing)
        else {
            unreachable!("it waits for one answer at a time")
        };
        self.work = if is_done { Work::Offer(batches, segments, then) } else { Work::End(segments, then) };
    }

    /// Milliseconds until the next step is due; `None` while it waits for others.
    pub(crate) fn patience(&self) -> Option<u64> {
        match self.work {
            Work::Wait | Work::WaitForOffer(..) => None,
            Work::Nothing if self.called => Some(STEP),
            Work::Nothing => self.patience,
            Work::Fill if !self.called => Some(FILL_PACE),
            _ => Some(STEP),
        }
    }

    /// Does the next step; returns what it has for the owner.
    pub(crate) fn step(&mut self) -> Option<Input> {
        let work = std::mem::replace(&mut self.work, Work::Nothing);
        self.patience = None;
        match self.go_on(work) {
            Ok((next, input)) => {
                self.work = next;
                input
            }
            Err(_) => {
                self.seen.failed += 1;
                self.patience = Some(RETRY);
                None
            }
        }
    }

    fn go_on(&mut self, work: Work) -> Result<(Work, Option<Input>), KeeperError> {
        let is_called = std::mem::take(&mut self.called);
        let next = match work {
            Work::Fill if !is_called => {
                if self.keeper.fill_spare()? {
                    Work::Fill
                } else {
                    Work::Nothing
                }
            }
            Work::Nothing | Work::Fill => {
                let room = self.keeper.prepare_spare()?;
                // Short of room, a checkpoint lets the segments before it go.
                return Ok((Work::Wait, Some(Input::Housekeeping { checkpoint: !room })));
            }
            Work::Store(Housekeeping { segments, checkpoint: None }) => {
                self.called |= is_called;
                Work::End(segments, Then::GiveUpCheckpoint)
            }
            Work::Store(Housekeeping { segments, checkpoint: Some(checkpoint) }) => {
                self.called |= is_called;
                let stored = checkpoint.store(&mut self.keeper, &self.reader)?;
                self.seen.checkpoints += 1;
                self.seen.posting_bytes += stored.posting_bytes;
                let next = Work::Reclaim(segments, Then::GiveUpCheckpoint);
                return Ok((next, Some(Input::Stored(stored))));
            }
            Work::Reclaim(segments, then) => {
                self.called |= is_called;
                return self.reclaim(segments, then);
            }
            Work::Offer(mut batches, segments, then) => {
                self.called |= is_called;
                // The next segment may be due long before this one is read through.
                let has_room = self.keeper.prepare_spare()?;
                let Some(messages) = batches.pop_front().filter(|_| has_room) else {
                    return Ok((Work::End(segments, then), None));
                };
                self.seen.offered += messages.len() as u64;
                let command = Box::new(Command::Relocate { messages });
                let offer = Input::Command { caller: Caller::House, command };
                return Ok((Work::WaitForOffer(batches, segments, then), Some(offer)));
            }
            Work::End(segments, then) => {
                self.called |= is_called;
                let room = self.keeper.prepare_spare()?;
                if !room && then == Then::GiveUpCheckpoint && self.keeper.give_up_fallback()? {
                    return Ok((Work::Reclaim(segments, Then::Rest), None));
                }
                self.patience = (!room).then_some(RETRY);
                if self.keeper.fill_spare()? { Work::Fill } else { Work::Nothing }
            }
            Work::Wait | Work::WaitForOffer(..) => unreachable!("no step is due while it waits"),
        };
        Ok((next, None))
    }

    /// Gives dead segments back, and reads the sparsest.
    fn reclaim(&mut self, segments: Segments, then: Then) -> Result<(Work, Option<Input>), KeeperError> {
        let sealed = self.keeper.sealed_segments();
        let present = sealed.iter().map(|segment| (segment.number, u64::from(segment.end_bytes)));
        let plan = segments.plan(present, self.keeper.oldest_checkpoint());
        for number in &plan.dead {
            self.keeper.retire(*number)?;
        }
        self.seen.retired += plan.dead.len() as u64;
        let retired = (!plan.dead.is_empty()).then_some(Input::SegmentsRetired(plan.dead));
        let Some(sparse) = plan.sparse else { return Ok((Work::End(segments, then), retired)) };
        let mut batches = VecDeque::new();
        let offered = offer_messages(&self.reader, sparse, |batch| {
            batches.push_back(batch);
            ControlFlow::Continue(())
        });
        self.report = offered.err().or(self.report.take());
        Ok((Work::Offer(batches, segments, then), retired))
    }
}
