//! An engine, the records that it has not reported released, and what it has put away of its backlogs.

use super::{Log, Record};
use std::collections::{BTreeMap, HashSet};
use tidegate_engine::{
    BacklogSizes, Chunk, Command, Config, Engine, Extent, ExtentPlace, Messages, Orphan, Portion, Position,
    QueueId, RequestId, Snapshot, Timestamp,
};

/// Parts of backlogs so small that a few messages make many, all but the next ones of which can be put away.
pub(crate) const TINY: BacklogSizes = BacklogSizes { chunk_messages: 2, run_chunks: 2, read_ahead: 10 };

/// What was written out of backlogs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    extents: BTreeMap<ExtentPlace, Vec<Chunk>>,
    next: u32,
}

impl Shelf {
    pub(crate) fn read(&self, extent: &Extent) -> Vec<Chunk> {
        let chunks = self.extents[&extent.place].clone();
        assert!(extent.outlines(&chunks));
        chunks
    }

    pub(crate) fn remove(&mut self, place: ExtentPlace) {
        self.extents.remove(&place);
    }

    pub(crate) fn any(&self) -> Vec<Chunk> {
        self.extents.values().next().expect("something was written").clone()
    }

    pub(crate) fn write(&mut self, chunks: &[Chunk]) -> Extent {
        self.next += 1;
        let place = ExtentPlace { file: self.next, offset: 0, bytes: 0 };
        self.extents.insert(place, chunks.to_vec());
        Extent::of(chunks, place)
    }
}

/// An engine together with the records that it has not reported released, and what it has put away.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(crate) engine: Engine,
    owned: HashSet<Position>,
    pub(crate) shelf: Shelf,
    /// Whether everything that can be put away is, after every step.
    pub(super) spills: bool,
    /// Whether nothing that was put away can be read.
    pub(crate) is_unreadable: bool,
    /// How many runs came back.
    pub(crate) loads: usize,
}

impl Tracked {
    pub(super) fn new(config: Config) -> Self {
        Tracked::of(Engine::new(config), HashSet::new(), Shelf::default())
    }

    fn of(engine: Engine, owned: HashSet<Position>, shelf: Shelf) -> Self {
        Tracked { engine, owned, shelf, spills: false, is_unreadable: false, loads: 0 }
    }

    pub(super) fn spilling(self) -> Self {
        Tracked { spills: true, ..self }
    }

    pub(super) fn restored(config: Config, from: &Tracked) -> Self {
        let snapshot = from.engine.snapshot();
        let owned = positions(&snapshot, &from.shelf);
        Tracked::of(Engine::restore(config, snapshot), owned, from.shelf.clone())
    }

    /// Hands in a command as a driver does: with what it needs of what is away.
    pub(super) fn handle(&mut self, now: Timestamp, request: RequestId, command: Command, log: &mut Log) {
        self.bring(self.engine.dormant_for(&command));
        self.engine.handle(now, request, command, log);
        self.bring_wanted(now, log);
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp, log: &mut Log) {
        self.engine.handle_timeout(now, log);
        self.bring_wanted(now, log);
    }

    fn bring(&mut self, extents: Vec<(QueueId, Extent)>) {
        for (queue, extent) in extents.into_iter().filter(|_| !self.is_unreadable) {
            self.engine.supply(queue, &extent, self.shelf.read(&extent));
            self.loads += 1;
        }
    }

    fn bring_wanted(&mut self, now: Timestamp, log: &mut Log) {
        while let Some((queue, extent)) = self.engine.poll_wanted() {
            if self.is_unreadable {
                self.engine.handle_unreadable(now, queue, &extent, log);
                continue;
            }
            self.engine.handle_extent(now, queue, &extent, self.shelf.read(&extent), log);
            self.loads += 1;
        }
    }

    /// Writes out what a checkpoint would, and puts it away.
    pub(super) fn spill(&mut self) {
        if !self.spills {
            return;
        }
        for queue in self.engine.snapshot().queues {
            let Messages::Standard(messages) = queue.messages else { continue };
            for portion in messages.backlog {
                if let Portion::Lasting(chunks) = portion {
                    let extent = self.shelf.write(&chunks);
                    self.engine.note_written(queue.id, &chunks, extent);
                }
            }
        }
        self.engine.evict(0);
    }

    pub(super) fn note(&mut self, record: &Record) {
        if record.stored().is_some() {
            assert!(self.owned.insert(record.position), "the log hands out a position once");
        }
    }

    pub(super) fn follow(&mut self, record: &Record) {
        self.note(record);
        self.bring(self.engine.dormant_for_event(&record.event));
        self.engine.apply(record.at, &record.event, record.position);
        self.spill();
    }

    /// Every message record is live or was reported released, exactly once.
    pub(super) fn check_records(&mut self) {
        while let Some(position) = self.engine.poll_released() {
            self.release(position);
        }
        let held = positions(&self.engine.snapshot(), &self.shelf);
        assert_eq!(held, self.owned, "live records, and records not released");
        while let Some(orphan) = self.engine.poll_orphan() {
            let chunks = match orphan {
                Orphan::Chunks(chunks) => chunks,
                Orphan::Extent(extent) => self.shelf.read(&extent),
            };
            chunks.iter().flat_map(Chunk::iter).for_each(|stored| self.release(stored.position));
        }
        let held = positions(&self.engine.snapshot(), &self.shelf);
        assert_eq!(held, self.owned, "live records, and records not released");
    }

    fn release(&mut self, position: Position) {
        assert!(self.owned.remove(&position), "{position:?} is released twice or never held a message");
    }
}

pub(super) fn positions(snapshot: &Snapshot, shelf: &Shelf) -> HashSet<Position> {
    let mut all = HashSet::new();
    let visit = |position| assert!(all.insert(position), "{position:?} holds two messages");
    snapshot.for_each_position(|extent| shelf.read(extent), visit);
    all
}
