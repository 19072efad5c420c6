//! Chunks of deep backlogs that are put away while nobody needs them.
//!
//! The engine does no I/O. Whoever drives it may take chunks out of memory with [`Engine::evict`] and keep them
//! where it likes; it learns from [`Engine::poll_wanted`] which ones are needed again, and hands them back with
//! [`Engine::handle_chunk`]. A receive that comes to a chunk that is away waits for it like a long poll. Whether a
//! chunk is in memory decides nothing else: events, and so replay, are the same. Only messages without a group go:
//! those of tenants and of FIFO queues stay in memory.

use super::{Engine, Journal};
use crate::queue::{Backlog, Chunk, Released};
use crate::{MessageSeq, QueueId, Timestamp};

/// Names a chunk: its queue and its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId {
    /// The queue.
    pub queue: QueueId,
    /// The chunk's first message.
    pub first: MessageSeq,
}

impl Engine {
    /// Chunks that may be put away, in the order of their queues and messages.
    pub fn evictable(&self) -> impl Iterator<Item = ChunkId> {
        let chunks = |(id, queue): (&QueueId, &crate::queue::Queue)| {
            let queue_id = *id;
            let firsts: Vec<_> = queue.messages.backlog().into_iter().flat_map(Backlog::evictable).collect();
            firsts.into_iter().map(move |first| ChunkId { queue: queue_id, first })
        };
        self.queues.iter().map(|(id, queue)| (id, &**queue)).flat_map(chunks)
    }

    /// Takes a chunk out of memory. The caller keeps it until the engine asks for it; the engine forgets it with
    /// its process, so that a recovered engine has every chunk in memory. `None` when the chunk may not go.
    pub fn evict(&mut self, id: ChunkId) -> Option<Chunk> {
        self.queues.get_mut(&id.queue)?.messages.backlog_mut()?.evict(id.first)
    }

    /// The next chunk that is needed; each is named once.
    pub fn poll_wanted(&mut self) -> Option<ChunkId> {
        self.wanted.pop_front()
    }

    /// Takes back a chunk that was asked for, and serves the receives that waited for it.
    ///
    /// # Panics
    /// When `chunk` is not one that is away: a chunk must come back as it went.
    pub fn handle_chunk(&mut self, now: Timestamp, id: ChunkId, chunk: Chunk, journal: &mut impl Journal) {
        if self.orphans.remove(&id) {
            return self.released.push(Released::Chunk(chunk));
        }
        let queue = self.queues.get_mut(&id.queue).expect("a chunk of a queue that is gone is an orphan");
        let supplied = queue.messages.backlog_mut().map(|backlog| backlog.supply(chunk));
        assert!(matches!(supplied, Some(Ok(()))), "a chunk comes back once, as it went");
        self.settle(now, id.queue, journal);
    }

    /// Wants the chunks of a queue whose messages are about to go, if they are away: their records must be released.
    pub(super) fn orphan_dormant(&mut self, queue: QueueId) {
        let backlog = self.queue(queue).messages.backlog_mut();
        let wanted: Vec<_> = backlog.into_iter().flat_map(Backlog::want_all).collect();
        for (first, newly) in wanted {
            let id = ChunkId { queue, first };
            self.orphans.insert(id);
            self.wanted.extend(newly.then_some(id));
        }
    }
}
