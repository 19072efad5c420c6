//! Every limit of the engine in one place, with its source, and how the limits relate.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Characters of a queue name (SQS developer guide, "Queue and message identifiers").
pub const QUEUE_NAME_LENGTH: RangeInclusive<usize> = 1..=80;
/// Characters of a region name: ours; the longest region in use has 14.
pub const REGION_LENGTH: RangeInclusive<usize> = 1..=32;
/// Messages of one receive, and entries of one batch (SQS quotas).
pub const BATCH_ENTRIES: usize = 10;
/// Visibility timeout, also the longest time one receive may keep a message hidden (SQS quotas: 12 hours).
pub const VISIBILITY_TIMEOUT_MAX: Duration = Duration::from_secs(43_200);
/// Longest delay of a message (SQS quotas: 15 minutes).
pub const DELAY_MAX: Duration = Duration::from_secs(900);
/// Longest wait of a receive (SQS quotas).
pub const WAIT_TIME_MAX: Duration = Duration::from_secs(20);
/// Range of the retention period (SQS quotas: 1 minute to 14 days).
pub const RETENTION: RangeInclusive<u64> = 60..=1_209_600;
/// Range of a queue's `MaximumMessageSize` in bytes.
pub const MAXIMUM_MESSAGE_SIZE: RangeInclusive<u32> = 1_024..=1_048_576;
/// Bytes of all messages of one batch together, whatever the queue's own limit.
pub const BATCH_BYTES: usize = 1_048_576;
/// Messages of one standard queue in flight (SQS quotas: about 120,000).
pub const IN_FLIGHT_MAX: usize = 120_000;
/// A tenant of a standard queue is noisy while it has at least so many of its own messages in flight, and more than
/// the following share of the queue's (SQS developer guide, "Amazon SQS fair queues").
pub const NOISY_IN_FLIGHT_MIN: usize = 30;
/// Percent of a queue's messages in flight that a tenant must exceed to be noisy (the same).
pub const NOISY_IN_FLIGHT_PERCENT: usize = 10;
/// Messages of one FIFO queue in flight (SQS quotas: 120,000; 20,000 in older documents). Receives of a queue that has
/// reached it find nothing, without an error.
pub const FIFO_IN_FLIGHT_MAX: usize = 120_000;
/// How long a deduplication id is remembered after the message that had it first (SQS developer guide, "Exactly-once
/// processing").
pub const DEDUPLICATION_INTERVAL: Duration = Duration::from_secs(300);
/// How long a receive can be repeated by its attempt id (SQS API reference, `ReceiveMessage`).
pub const ATTEMPT_INTERVAL: Duration = Duration::from_secs(300);
/// Move tasks of a queue that are remembered (SQS API reference, `ListMessageMoveTasks`).
pub const MOVE_TASKS_KEPT: usize = 10;
/// Move tasks of one account that run at the same time (SQS API reference, `StartMessageMoveTask`).
pub const MOVE_TASKS_MAX: usize = 100;
/// How long a move task runs at most (the same).
pub const MOVE_TASK_TIME_MAX: Duration = Duration::from_secs(36 * 3_600);
/// Messages of one page of a peek, and of one redrive by number: ours, bounds a turn.
pub const PEEK_MAX: usize = 1_000;
/// Time between two purges of a queue, and before a deleted name may be used again.
pub const COOLDOWN: Duration = Duration::from_secs(60);
/// Queues of one server: ours, bounds the memory of names and attributes (about 1 KiB each).
pub const QUEUES_MAX: usize = 1_000_000;
/// Parked receives of one server: ours, a few hundred bytes each.
pub const PARKED_MAX: usize = 200_000;
/// How long a receive waits for messages that have to be brought back into memory, whatever wait it asked for.
pub const LOAD_TIME_MAX: Duration = Duration::from_secs(1);
/// Queues of one listing page.
pub const LIST_MAX: usize = 1_000;
/// Tags of one queue (SQS: more than 50 is advised against; ours refuses far above that).
pub const TAGS_MAX: usize = 200;

const _: () = assert!(*MAXIMUM_MESSAGE_SIZE.end() as usize <= BATCH_BYTES);
const _: () = assert!(DELAY_MAX.as_secs() < VISIBILITY_TIMEOUT_MAX.as_secs());
