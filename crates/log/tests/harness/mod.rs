//! A log on a simulated machine, next to a model of what it must still hold.
//!
//! The world lives several lives. In each, the log is opened and compared with the model, then random things are done
//! until a planned fault strikes; then the machine reboots, or only the process starts again.

#![allow(dead_code, reason = "each test file uses its part")]

use std::{collections::BTreeSet, ops::ControlFlow};

use tidegate_log::{
    Appender, CrashPolicy, Durability, Fault, Frame, Framer, Keeper, LogConfig, MemoryStorage, Opened,
    Position, Reader, RecordRef, SegmentedLog, Space, Trigger, check,
};

pub(crate) const IDENTITY: [u8; 16] = *b"some identity 16";

/// A frame as the model remembers it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ModelFrame {
    pub(crate) start: Position,
    pub(crate) end: Position,
    pub(crate) records: Vec<(Position, Vec<u8>)>,
}

impl std::fmt::Debug for ModelFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}..{} {} records]", self.start, self.end, self.records.len())
    }
}

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Power loss; unsynced changes are at the mercy of the policy.
    PowerLoss(CrashPolicy),
    /// The process died; the system lives.
    Killed,
}

pub(crate) struct World {
    pub(crate) storage: MemoryStorage,
    pub(crate) config: LogConfig,
    pub(crate) random: fastrand::Rng,
    /// Frames that were acknowledged, or seen by a recovery, in order.
    pub(crate) history: Vec<ModelFrame>,
    /// Frames that were given to an append that has not said Ok.
    pub(crate) in_flight: Vec<ModelFrame>,
    /// The newest checkpoint that was acknowledged or seen.
    pub(crate) checkpoint: Option<(Position, Vec<u8>)>,
    /// One whose writing has not said Ok.
    pub(crate) attempted_checkpoint: Option<(Position, Vec<u8>)>,
    /// Segments that may be gone.
    pub(crate) retired: BTreeSet<u32>,
    pub(crate) last_epoch: u64,
    pub(crate) last_end: End,
    /// Whether power was lost since the log was last looked at.
    pub(crate) lost_power: bool,
    /// What happened, for judging whether a test tests anything.
    pub(crate) counts: Counts,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) appends: u64,
    pub(crate) rolls: u64,
    pub(crate) recycled: u64,
    pub(crate) checkpoints: u64,
    pub(crate) in_flight_kept: u64,
    pub(crate) torn: u64,
}

/// One ownership of the log.
pub(crate) struct Life {
    pub(crate) framer: Framer<MemoryStorage>,
    pub(crate) appender: Appender<MemoryStorage>,
    pub(crate) reader: Reader<MemoryStorage>,
    pub(crate) keeper: Keeper<MemoryStorage>,
    pinned: Vec<(RecordRef<MemoryStorage>, Vec<u8>)>,
}

impl World {
    pub(crate) fn new(seed: u64, config: LogConfig) -> Self {
        Self {
            storage: MemoryStorage::new(),
            config,
            random: fastrand::Rng::with_seed(seed),
            history: Vec::new(),
            in_flight: Vec::new(),
            checkpoint: None,
            attempted_checkpoint: None,
            retired: BTreeSet::new(),
            last_epoch: 0,
            last_end: End::Killed,
            lost_power: false,
            counts: Counts::default(),
        }
    }

    /// Opens the log and checks it against the model. `None` when a planned fault struck.
    pub(crate) fn open(&mut self) -> Option<Life> {
        let opened = SegmentedLog::open(self.storage.clone(), self.config.clone(), IDENTITY);
        match opened {
            Ok(opened) => {
                self.verify(&opened);
                let Opened { framer, appender, reader, keeper, .. } = opened;
                Some(Life { framer, appender, reader, keeper, pinned: Vec::new() })
            }
            Err(tidegate_log::LogError::Io { .. }) => None,
            Err(error) => panic!("recovery after {:?} failed: {error}", self.last_end),
        }
    }

    /// Everything that must be there is there, bit for bit, and nothing else.
    fn verify(&mut self, opened: &Opened<MemoryStorage>) {
        assert!(opened.epoch > self.last_epoch, "epochs grow");
        self.last_epoch = opened.epoch;
        self.counts.torn += u64::from(opened.recovery.torn_at.is_some());
        self.verify_checkpoint(opened);
        let found = scan(&opened.reader, opened.replay_from, opened.tail);
        let covered = self.history.iter().take_while(|frame| frame.start < opened.replay_from).count();
        let mut whole = self.history.split_off(covered);
        let loses = std::mem::take(&mut self.lost_power) && self.config.durability == Durability::Os;
        let must = if loses { 0 } else { whole.len() };
        whole.append(&mut self.in_flight);
        assert!(found.len() >= must, "{} of {must} acknowledged frames are there", found.len());
        assert!(found.len() <= whole.len(), "nothing is there that was never appended");
        self.counts.in_flight_kept += (found.len() - must) as u64;
        assert_eq!(found, whole[..found.len()], "from {}", opened.replay_from);
        self.history.extend(found);
        assert_eq!(opened.tail, self.tail(), "the log ends where its last frame does");
        let records: usize = self.history.iter().map(|frame| frame.records.len()).sum();
        assert_eq!(opened.framer.next_sequence(), records as u64);
        for frame in &self.history {
            for (position, data) in &frame.records {
                match opened.reader.read(*position) {
                    Ok(read) => assert_eq!(read, data, "{position}"),
                    Err(error) => assert!(self.retired.contains(&position.segment()), "{error}"),
                }
            }
        }
    }

    fn verify_checkpoint(&mut self, opened: &Opened<MemoryStorage>) {
        let found = opened.checkpoint.as_ref().map(|found| (found.position, found.payload.to_vec()));
        if found.is_some() && found == self.attempted_checkpoint {
            self.checkpoint = found;
        } else {
            assert_eq!(found, self.checkpoint, "after {:?}", self.last_end);
        }
        self.attempted_checkpoint = None;
    }

    /// End of the last frame, or where it would have been cut off to: after a seal the next segment's start.
    fn tail(&self) -> Position {
        let first = Position::new(1, 4096);
        let end = self.history.last().map_or(first, |frame| frame.end);
        // A segment that was sealed without anything being written to the next one.
        let next = Position::new(end.segment() + 1, 4096);
        let sealed = scan_is_sealed(&self.storage, end.segment());
        if sealed { next } else { end }
    }

    /// The machine or the process starts again.
    pub(crate) fn end(&mut self, end: End) {
        self.last_end = end;
        self.lost_power |= matches!(end, End::PowerLoss(_));
        self.storage = match end {
            End::PowerLoss(policy) => self.storage.crash(policy),
            End::Killed => self.storage.restart_process(),
        };
        let report = check(&self.storage).unwrap();
        let creating = self.last_epoch == 0 && report.epoch == 0;
        assert!(report.is_sound() || creating, "after {end:?}: {:?}", report.findings);
    }

    /// One random life: until its end, which is returned.
    pub(crate) fn live(&mut self) -> End {
        let after = self.storage.operations() + self.random.u64(1..80);
        let end = match self.random.u8(0..10) {
            0 => End::Killed,
            1 => {
                self.storage.inject(Trigger::Operation(after), Fault::Error);
                End::Killed
            }
            2 => {
                self.storage.inject(Trigger::Operation(after), Fault::ShortWrite(self.random.usize(0..3000)));
                End::Killed
            }
            3 => End::PowerLoss(CrashPolicy::DropAll),
            4 => End::PowerLoss(CrashPolicy::KeepAll),
            5 => End::PowerLoss(CrashPolicy::TearLast(self.random.usize(0..600))),
            _ => End::PowerLoss(CrashPolicy::Seeded(self.random.u64(..))),
        };
        if matches!(end, End::PowerLoss(_)) {
            self.storage.inject(Trigger::Operation(after), Fault::PowerOff);
        }
        if let Some(mut life) = self.open() {
            for _ in 0..self.random.u32(1..60) {
                if self.step(&mut life).is_err() {
                    break;
                }
            }
        }
        end
    }

    /// One random act. An error is a fault that struck.
    pub(crate) fn step(&mut self, life: &mut Life) -> Result<(), Box<dyn std::error::Error>> {
        self.verify_pinned(life);
        match self.random.u8(0..12) {
            0..=5 => self.append(life),
            6 => Ok(life.keeper.prepare_spare().map(drop)?),
            7 => Ok(life.keeper.fill_spare().map(drop)?),
            8 => self.write_checkpoint(life),
            9 => self.retire(life),
            10 => {
                self.pin(life);
                Ok(())
            }
            _ => {
                life.pinned.clear();
                Ok(())
            }
        }
    }

    pub(crate) fn append(&mut self, life: &mut Life) -> Result<(), Box<dyn std::error::Error>> {
        if life.framer.space() == Space::Full {
            return Ok(life.keeper.prepare_spare().map(drop)?);
        }
        let mut frames = Vec::new();
        for _ in 0..self.random.usize(1..4) {
            frames.push(self.build(life));
            if self.random.bool() {
                break;
            }
        }
        self.submit(life, &frames)
    }

    fn build(&mut self, life: &mut Life) -> Frame {
        let mut records = Vec::new();
        for _ in 0..self.random.usize(1..5) {
            let length = *self.random.choice(&[0, 1, 7, 30, 300, 1500, 5000]).unwrap();
            let mut data = vec![0; length];
            self.random.fill(&mut data);
            let position = life.framer.push(|record| record.extend_from_slice(&data));
            records.push((position, data));
        }
        let frame = life.framer.finish().unwrap();
        self.counts.rolls += u64::from(frame.start().offset() == 4096);
        self.in_flight.push(ModelFrame { start: frame.start(), end: frame.end(), records });
        frame
    }

    pub(crate) fn submit(
        &mut self,
        life: &mut Life,
        frames: &[Frame],
    ) -> Result<(), Box<dyn std::error::Error>> {
        let end = life.appender.append(frames)?;
        self.counts.appends += 1;
        self.history.append(&mut self.in_flight);
        assert_eq!(end, self.history.last().unwrap().end);
        assert_eq!(life.reader.tail(), end);
        Ok(())
    }

    pub(crate) fn write_checkpoint(&mut self, life: &mut Life) -> Result<(), Box<dyn std::error::Error>> {
        let newest = self.checkpoint.as_ref().map_or(Position::default(), |checkpoint| checkpoint.0);
        let choice: Vec<Position> =
            self.history.iter().map(|frame| frame.end).rev().take(5).filter(|end| *end >= newest).collect();
        let Some(position) = self.random.choice(choice) else { return Ok(()) };
        let payload: Vec<u8> = (0..self.random.usize(0..2000)).map(|_| self.random.u8(..)).collect();
        self.attempted_checkpoint = Some((position, payload.clone()));
        life.keeper.write_checkpoint(position, &payload, &[])?;
        self.counts.checkpoints += 1;
        self.checkpoint = self.attempted_checkpoint.take();
        Ok(())
    }

    fn retire(&mut self, life: &mut Life) -> Result<(), Box<dyn std::error::Error>> {
        let bound = life.keeper.oldest_checkpoint().segment();
        let mut dead = life.keeper.sealed_segments();
        dead.retain(|segment| segment.number < bound);
        let Some(segment) = self.random.choice(&dead) else {
            return Ok(());
        };
        self.retired.insert(segment.number);
        self.counts.recycled += 1;
        Ok(life.keeper.retire(segment.number)?)
    }

    fn pin(&mut self, life: &mut Life) {
        let records = self.history.iter().rev().take(30).flat_map(|frame| &frame.records);
        if let Some((position, data)) = self.random.choice(records.collect::<Vec<_>>())
            && let Some(record) = life.reader.locate(*position)
        {
            life.pinned.push((record, data.clone()));
        }
    }

    fn verify_pinned(&mut self, life: &Life) {
        for (record, data) in &life.pinned {
            assert_eq!(record.read().unwrap(), data, "a pinned record stays");
        }
    }
}

/// All frames from `from` to `to`.
pub(crate) fn scan(reader: &Reader<MemoryStorage>, from: Position, to: Position) -> Vec<ModelFrame> {
    let mut frames: Vec<ModelFrame> = Vec::new();
    let stopped = reader
        .scan(from, to, |position, data, frame| {
            if frames.last().is_none_or(|last| last.start != frame.start) {
                frames.push(ModelFrame { start: frame.start, end: frame.end, records: Vec::new() });
            }
            frames.last_mut().unwrap().records.push((position, data.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap_or_else(|error| panic!("a scan from {from} to {to} failed: {error}"));
    assert!(stopped >= from);
    frames
}

/// Whether the seal's place of a segment is in use. Knows the format, so that the model can tell where appends go on.
fn scan_is_sealed(storage: &MemoryStorage, segment: u32) -> bool {
    use tidegate_log::{Storage, StorageFile};
    let Ok(file) = storage.open(&format!("{segment:08x}.seg")) else { return false };
    let mut magic = [0; 4];
    file.read_at(&mut magic, 2048).unwrap();
    magic == *b"TGSE"
}

/// Small segments, so that a short life sees many rolls.
pub(crate) fn small() -> LogConfig {
    // The medium is what these tests look at.
    LogConfig { segment_bytes: 16 << 10, recent_bytes: 0, ..LogConfig::default() }
}
