//! The engine's durable state as plain data; what a checkpoint keeps, beside the log, of everything before it.

use crate::engine::{Config, Engine, Moved};
use crate::queue::{Footprint, Held, Messages, MoveTask, MoveTasks, Queue, Run, Waiting};
use crate::{Chunk, Extent, Portion, Position, QueueAddress, QueueAttributes, QueueId, Tags, Timestamp};

/// Everything an engine needs to go on, without message bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The time of the newest event.
    pub at: Timestamp,
    /// The number of the next queue.
    pub next_queue: u64,
    /// The number of the next message.
    pub next_seq: u64,
    /// The queues in the order of their numbers.
    pub queues: Vec<QueueSnapshot>,
    /// Names that may not be used again yet, in the order they were deleted.
    pub deleted: Vec<(Timestamp, QueueAddress)>,
    /// Messages that are gone and whose records are still to be released.
    pub orphans: Vec<Portion>,
}

/// One queue of a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSnapshot {
    /// Its number.
    pub id: QueueId,
    /// Its address.
    pub address: QueueAddress,
    /// Its attributes.
    pub attributes: QueueAttributes,
    /// Its tags.
    pub tags: Tags,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its attributes last changed.
    pub modified_at: Timestamp,
    /// When it was last purged.
    pub purged_at: Option<Timestamp>,
    /// Its messages.
    pub messages: Messages,
    /// Its move tasks, oldest first; at most the last one runs.
    pub move_tasks: Vec<MoveTask>,
}

impl Engine {
    /// Copies the durable state. Untouched messages are shared, not copied: the cost is that of the messages
    /// in flight, returned and delayed, and a little for each run of the others.
    pub fn snapshot(&self) -> Snapshot {
        let queue = |queue: &Queue| QueueSnapshot {
            id: queue.id,
            address: queue.address.clone(),
            attributes: queue.attributes.clone(),
            tags: queue.tags.clone(),
            created_at: queue.created_at,
            modified_at: queue.modified_at,
            purged_at: queue.purged_at,
            messages: queue.messages.snapshot(),
            move_tasks: queue.move_tasks.all().to_vec(),
        };
        Snapshot {
            at: self.at,
            next_queue: self.next_queue,
            next_seq: self.next_seq,
            queues: self.queues.values().map(|boxed| queue(boxed)).collect(),
            deleted: self.deleted.iter().cloned().collect(),
            orphans: self.orphan_portions(),
        }
    }

    /// An engine that goes on from a snapshot.
    pub fn restore(config: Config, snapshot: Snapshot) -> Self {
        let mut engine = Engine::new(config);
        engine.at = snapshot.at;
        engine.next_queue = snapshot.next_queue;
        engine.next_seq = snapshot.next_seq;
        engine.deleted = snapshot.deleted.into();
        engine.orphans = snapshot.orphans.into_iter().map(Run::from).collect();
        for queue in snapshot.queues {
            engine.names.insert(queue.address.clone(), queue.id);
            if queue.attributes.policy.is_some() {
                engine.policies.insert(queue.address.clone());
            }
            let restored = Queue {
                id: queue.id,
                address: queue.address,
                attributes: queue.attributes,
                tags: queue.tags,
                created_at: queue.created_at,
                modified_at: queue.modified_at,
                purged_at: queue.purged_at,
                messages: Held::restore(queue.messages, &config),
                move_tasks: MoveTasks::restore(queue.move_tasks),
                waiting: Waiting::default(),
                hurried: Vec::new(),
                footprint: Footprint::default(),
                armed_at: None,
                moves_left: false,
            };
            for (sent_as, seq) in restored.messages.moved() {
                engine.moved.insert(Moved { sent_as, queue: restored.id, seq });
            }
            let id = restored.id;
            engine.queues.insert(id, Box::new(restored));
            engine.note_footprint(id);
        }
        engine
    }

    /// Starts the timers of all queues, after a restore or replay.
    pub fn arm_timers(&mut self) {
        for queue in self.queues.values_mut() {
            let due = queue.next_due();
            if let Some(armed) = std::mem::replace(&mut queue.armed_at, due) {
                self.timers.disarm_queue(armed, queue.id);
            }
            if let Some(due) = due {
                self.timers.arm_queue(due, queue.id);
            }
        }
        let running = self.queues.values().filter(|queue| queue.move_tasks.running().is_some());
        let running: Vec<_> = running.map(|queue| queue.id).collect();
        running.into_iter().for_each(|id| self.arm_move(Some(self.at), id));
    }
}

impl Snapshot {
    /// The place of every record that holds a message, or is still to be released. Of what is written out only `read`
    /// knows the chunks.
    pub fn for_each_position(
        &self,
        mut read: impl FnMut(&Extent) -> Vec<Chunk>,
        mut visit: impl FnMut(Position),
    ) {
        self.queues.iter().for_each(|queue| queue.messages.for_each_position(&mut read, &mut visit));
        self.orphans.iter().for_each(|portion| portion.for_each_position(&mut read, &mut visit));
    }
}
