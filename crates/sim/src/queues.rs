//! The queues of every world.
//!
//! ```text
//!   jobs                 standard, delayed; messages never leave it for another queue
//!   orders ──▶ orders-dead          standard; messages go there after some receives, and come back by move tasks
//!   steps.fifo ──▶ steps-dead.fifo  the same, in order
//!   events.fifo          in order; messages never leave it for another queue
//! ```

use tidegate_engine::{AccountId, QueueAddress, QueueName, Region};

/// Queues between which messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Orders,
    Steps,
}

pub(crate) const JOBS: &str = "jobs";
pub(crate) const ORDERS: &str = "orders";
pub(crate) const ORDERS_DEAD: &str = "orders-dead";
pub(crate) const STEPS: &str = "steps.fifo";
pub(crate) const STEPS_DEAD: &str = "steps-dead.fifo";
pub(crate) const EVENTS: &str = "events.fifo";

/// Dead-letter queues first, because others name them when they are created.
pub(crate) const ALL: [&str; 6] = [ORDERS_DEAD, STEPS_DEAD, JOBS, ORDERS, STEPS, EVENTS];

pub(crate) fn address(name: &str) -> QueueAddress {
    QueueAddress {
        account: AccountId::parse("123456789012").expect("twelve digits"),
        region: Region::default(),
        name: QueueName::parse(name).expect("a queue name"),
    }
}

fn family(queue: &QueueName) -> Option<Family> {
    match queue.as_str() {
        ORDERS | ORDERS_DEAD => Some(Family::Orders),
        STEPS | STEPS_DEAD => Some(Family::Steps),
        _ => None,
    }
}

/// Whether messages of a queue never go to another one.
pub(crate) fn stays(queue: &QueueName) -> bool {
    family(queue).is_none()
}

/// Whether messages go from one queue to another, one way or the other.
pub(crate) fn is_connected(one: &QueueName, other: &QueueName) -> bool {
    family(one).is_some() && family(one) == family(other)
}

/// The dead-letter queue of a queue that may have one.
pub(crate) fn dead_letter_queue(name: &str) -> Option<&'static str> {
    match name {
        ORDERS => Some(ORDERS_DEAD),
        STEPS => Some(STEPS_DEAD),
        _ => None,
    }
}
