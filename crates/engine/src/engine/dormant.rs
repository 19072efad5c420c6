//! Runs of deep backlogs that are put away while nobody needs them.
//!
//! The engine does no I/O. Whoever drives it may write out runs of a snapshot and say where they are
//! ([`Engine::note_written`]), put away what is written out ([`Engine::evict`]), and read it back: what receives are
//! about to reach is named by [`Engine::poll_wanted`] and handed back with [`Engine::handle_extent`]; what commands and
//! events name by number is told beforehand by [`Engine::dormant_for`] and [`Engine::dormant_for_event`] and handed in
//! with [`Engine::supply`].
//!
//! Whether a run is away decides nothing else: events, and so replay, are the same. While a run cannot be brought back,
//! receives that come to it wait as in a long poll, and other commands do as if its messages were not visible. Only
//! messages without a group go: those of tenants and of FIFO queues stay in memory.

use super::{Engine, Journal};
use crate::queue::{Backlog, Evicted, ExtentPlace, Footprint, Queue, Run};
use crate::{
    Chunk, Command, Event, Extent, MessageSeq, Portion, Position, QueueId, StoredMessage, Timestamp,
};
use std::collections::{BTreeSet, VecDeque};

/// What is not durable state of the runs that are written out.
#[derive(Debug, Default)]
pub(super) struct Dormant {
    /// To be brought back.
    wanted: VecDeque<(QueueId, Extent)>,
    /// Runs in the order in which they came to be written out or back into memory, as far as they still are.
    resident: VecDeque<(QueueId, MessageSeq)>,
    /// Length at which that order is rid of what is gone.
    stale_len_max: usize,
    /// Sum over all queues.
    footprint: Footprint,
}

impl Dormant {
    /// Asks for what receives on a queue are about to reach.
    pub(super) fn read_ahead(&mut self, queue: &mut Queue) {
        let Some(backlog) = queue.messages.backlog_mut() else { return };
        self.wanted.extend(backlog.poll_wanted().map(|extent| (queue.id, extent)));
        self.note_footprint(queue);
    }

    fn note_footprint(&mut self, queue: &mut Queue) {
        let now = queue.messages.backlog().map_or_else(Footprint::default, Backlog::footprint);
        if now != queue.footprint {
            self.footprint -= std::mem::replace(&mut queue.footprint, now);
            self.footprint += now;
        }
    }
}

/// Messages that are gone and whose records are still to be released.
#[derive(Clone, Debug)]
pub enum Orphan {
    /// They are in memory.
    Chunks(Vec<Chunk>),
    /// They have to be read.
    Extent(Extent),
}

/// Entries of the order of runs beyond which those of runs that are gone are looked for, beside as many as there are.
const STALE_MAX: usize = 4_096;

impl Engine {
    /// Bytes of memory that the chunks of backlogs take. Lags behind a command by what this one itself changes.
    pub fn footprint(&self) -> Footprint {
        self.dormant.footprint
    }

    /// Notes that the chunks of a [`Portion`] were written out. Nothing happens if they changed or went meanwhile.
    pub fn note_written(&mut self, queue: QueueId, chunks: &[Chunk], extent: Extent) {
        let Some(backlog) = self.backlog_mut(queue) else { return };
        if backlog.note_written(chunks, extent) {
            self.note_resident(queue, extent.first.seq);
        }
    }

    /// Notes that what is written at a place was copied to another one, which is read from now on.
    pub fn note_copied(&mut self, queue: QueueId, from: &Extent, to: ExtentPlace) {
        if let Some(backlog) = self.backlog_mut(queue) {
            backlog.note_copied(from, to);
        }
        let asked_for = self.dormant.wanted.iter_mut().filter(|asked| **asked == (queue, *from));
        asked_for.for_each(|(_, extent)| extent.place = to);
    }

    /// Puts away runs that are written out, those first that are longest in memory, until they take at most
    /// `bytes_max`. Those that receives are about to reach stay.
    pub fn evict(&mut self, bytes_max: usize) {
        for _ in 0..self.dormant.resident.len() {
            if self.dormant.footprint.written <= bytes_max {
                return;
            }
            let Some((queue, first)) = self.dormant.resident.pop_front() else { return };
            match self.backlog_mut(queue).map(|backlog| backlog.evict(first)) {
                Some(Evicted::Needed) => self.dormant.resident.push_back((queue, first)),
                Some(Evicted::Away | Evicted::Gone) => self.note_footprint(queue),
                None => {}
            }
        }
    }

    /// The next run that receives are about to reach and that is away; each is named once.
    pub fn poll_wanted(&mut self) -> Option<(QueueId, Extent)> {
        self.dormant.wanted.pop_front()
    }

    /// Takes back a run, and serves the receives that waited for it. Nothing happens if it is not away any more.
    pub fn handle_extent(
        &mut self,
        now: Timestamp,
        queue: QueueId,
        extent: &Extent,
        chunks: Vec<Chunk>,
        journal: &mut impl Journal,
    ) {
        self.supply(queue, extent, chunks);
        if self.queues.contains_key(&queue) {
            self.settle(now, queue, journal);
            self.settle_targets(now, journal);
        }
    }

    /// Takes note that a run that was asked for cannot be read: receives do without it, until they come to it and ask for
    /// it again.
    pub fn handle_unreadable(
        &mut self,
        now: Timestamp,
        queue: QueueId,
        extent: &Extent,
        journal: &mut impl Journal,
    ) {
        let Some(backlog) = self.backlog_mut(queue) else { return };
        backlog.note_unreadable(extent);
        self.settle(now, queue, journal);
        self.settle_targets(now, journal);
    }

    /// Takes back a run before a command or an event that needs it. Nothing happens if it is not away any more.
    pub fn supply(&mut self, queue: QueueId, extent: &Extent, chunks: Vec<Chunk>) {
        let Some(queue_of) = self.queues.get_mut(&queue) else { return };
        let Some(backlog) = queue_of.messages.backlog_mut() else { return };
        if backlog.supply(extent, chunks, &mut self.released) {
            self.note_resident(queue, extent.first.seq);
        }
    }

    /// The runs that are away and that a command needs. To be supplied before it is handled.
    pub fn dormant_for(&self, command: &Command) -> Vec<(QueueId, Extent)> {
        match command {
            Command::Peek { queue, after, max } => {
                let Some(id) = self.names.get(queue) else { return Vec::new() };
                let from = after.map_or(MessageSeq(0), |after| MessageSeq(after.0.saturating_add(1)));
                let extents = self.backlog(*id).map(|backlog| backlog.away_from(from, *max));
                extents.into_iter().flatten().map(|extent| (*id, extent)).collect()
            }
            Command::Redrive { queue, messages, .. } => {
                let Some(id) = self.names.get(queue) else { return Vec::new() };
                self.dormant_with(messages.iter().map(|seq| (*id, *seq)))
            }
            Command::Relocate { messages } => {
                let place = |(_, stored): &(Position, StoredMessage)| {
                    let sent = (stored.queue, stored.seq);
                    self.moved.get(stored.seq).map_or(sent, |moved| (moved.queue, moved.seq))
                };
                self.dormant_with(messages.iter().map(place))
            }
            _ => Vec::new(),
        }
    }

    /// The runs that are away and that an event is about. To be supplied before it is applied.
    pub fn dormant_for_event(&self, event: &Event) -> Vec<(QueueId, Extent)> {
        match event {
            Event::MessagesReceived { queue, messages, .. } => {
                self.dormant_with(messages.iter().map(|seq| (*queue, *seq)))
            }
            Event::MessageRedriven { queue, seq, .. } => self.dormant_with([(*queue, *seq)]),
            Event::MessageRelocated { stored } => self.dormant_with([(stored.queue, stored.seq)]),
            _ => Vec::new(),
        }
    }

    fn dormant_with(
        &self,
        messages: impl IntoIterator<Item = (QueueId, MessageSeq)>,
    ) -> Vec<(QueueId, Extent)> {
        let mut known = BTreeSet::new();
        let away = messages.into_iter().filter_map(|(queue, seq)| {
            let extent = self.backlog(queue)?.away_with(seq)?;
            known.insert((queue, extent.first.seq)).then_some((queue, extent))
        });
        away.collect()
    }

    /// Whether messages are gone whose records are still to be released.
    pub fn has_orphans(&self) -> bool {
        !self.orphans.is_empty()
    }

    /// Takes a run of messages that are gone. They are part of snapshots until then, so that all their records are
    /// released in the end.
    pub fn poll_orphan(&mut self) -> Option<Orphan> {
        Some(match self.orphans.pop_front()? {
            Run::Loose(chunks) => Orphan::Chunks(chunks.into()),
            Run::Written(written) => match written.chunks {
                Some(chunks) => Orphan::Chunks(chunks.into()),
                None => Orphan::Extent(written.extent),
            },
        })
    }

    /// Takes back an orphan that could not be read. It waits for the next start.
    pub fn keep_orphan(&mut self, extent: Extent) {
        self.unreadable_orphans.push(extent);
    }

    /// The orphans as plain data.
    pub(crate) fn orphan_portions(&self) -> Vec<Portion> {
        let waiting = self.released.iter().filter_map(|released| match released {
            crate::queue::Released::Run(run) => Some(run),
            _ => None,
        });
        let portion = |run: &Run| match run {
            Run::Loose(chunks) => Portion::Passing(chunks.iter().cloned().collect()),
            Run::Written(written) => Portion::Written { extent: written.extent, expired_to: Timestamp::ZERO },
        };
        let unreadable = self.unreadable_orphans.iter();
        let unreadable =
            unreadable.map(|extent| Portion::Written { extent: *extent, expired_to: Timestamp::ZERO });
        self.orphans.iter().chain(waiting).map(portion).chain(unreadable).collect()
    }

    fn backlog(&self, queue: QueueId) -> Option<&Backlog> {
        self.queues.get(&queue)?.messages.backlog()
    }

    fn backlog_mut(&mut self, queue: QueueId) -> Option<&mut Backlog> {
        self.queues.get_mut(&queue)?.messages.backlog_mut()
    }

    fn note_resident(&mut self, queue: QueueId, first: MessageSeq) {
        self.note_footprint(queue);
        self.dormant.resident.push_back((queue, first));
        if self.dormant.resident.len() > self.dormant.stale_len_max {
            self.forget_stale();
        }
    }

    /// Forgets the runs that went by themselves, so that the order of those in memory does not outgrow them.
    fn forget_stale(&mut self) {
        let mut resident = std::mem::take(&mut self.dormant.resident);
        resident
            .retain(|(queue, first)| self.backlog(*queue).is_some_and(|backlog| backlog.is_resident(*first)));
        self.dormant.stale_len_max = 2 * resident.len() + STALE_MAX;
        self.dormant.resident = resident;
    }

    /// Counts anew what the chunks of a queue take.
    pub(crate) fn note_footprint(&mut self, queue: QueueId) {
        if let Some(queue) = self.queues.get_mut(&queue) {
            self.dormant.note_footprint(queue);
        }
    }

    /// Asks for what receives on a queue are about to reach.
    pub(super) fn read_ahead(&mut self, queue: QueueId) {
        if let Some(queue) = self.queues.get_mut(&queue) {
            self.dormant.read_ahead(queue);
        }
    }

    /// Forgets a queue that is about to go.
    pub(super) fn forget_footprint(&mut self, queue: QueueId) {
        if let Some(queue) = self.queues.get(&queue) {
            self.dormant.footprint -= queue.footprint;
        }
    }
}
