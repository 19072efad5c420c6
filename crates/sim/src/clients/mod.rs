//! Who does what.
//!
//! A client asks for one thing at a time, and goes on when it has an answer or has waited for one long enough. What it
//! knows is only what it was told.

mod consumer;
mod operator;
mod producer;

use crate::machine::Answer;
use consumer::Consumer;
use operator::{Duty, Operator};
use producer::Producer;
use tidegate_engine::Command;

/// A client of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sends to `jobs`.
    JobProducer,
    /// Receives from `jobs`.
    JobConsumer,
    /// The same, beside the first.
    OtherJobConsumer,
    /// Sends to `orders`.
    OrderProducer,
    /// Receives from `orders`.
    OrderConsumer,
    /// Receives from the dead-letter queue of `orders`.
    OrderUndertaker,
    /// Sends to `steps.fifo`.
    StepProducer,
    /// Receives from `steps.fifo`.
    StepConsumer,
    /// The same, beside the first.
    OtherStepConsumer,
    /// Receives from the dead-letter queue of `steps.fifo`.
    StepUndertaker,
    /// Sends to `events.fifo`.
    EventProducer,
    /// Receives from `events.fifo`.
    EventConsumer,
    /// Changes attributes of queues.
    Tuner,
    /// Purges queues.
    Purger,
    /// Moves dead letters back.
    Mover,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 15] = [
        Role::JobProducer,
        Role::JobConsumer,
        Role::OtherJobConsumer,
        Role::OrderProducer,
        Role::OrderConsumer,
        Role::OrderUndertaker,
        Role::StepProducer,
        Role::StepConsumer,
        Role::OtherStepConsumer,
        Role::StepUndertaker,
        Role::EventProducer,
        Role::EventConsumer,
        Role::Tuner,
        Role::Purger,
        Role::Mover,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::JobProducer => "job-producer",
            Role::JobConsumer => "job-consumer",
            Role::OtherJobConsumer => "other-job-consumer",
            Role::OrderProducer => "order-producer",
            Role::OrderConsumer => "order-consumer",
            Role::OrderUndertaker => "order-undertaker",
            Role::StepProducer => "step-producer",
            Role::StepConsumer => "step-consumer",
            Role::OtherStepConsumer => "other-step-consumer",
            Role::StepUndertaker => "step-undertaker",
            Role::EventProducer => "event-producer",
            Role::EventConsumer => "event-consumer",
            Role::Tuner => "tuner",
            Role::Purger => "purger",
            Role::Mover => "mover",
        }
    }
}

/// What a client learns.
pub(crate) enum News<'a> {
    /// The time that it wanted to pass has passed.
    Woke,
    /// The answer to what it asked last.
    Answered(&'a Answer),
    /// It waited long enough.
    NoAnswer,
}

/// What a client does next.
pub(crate) enum Next {
    Ask(Command),
    /// Nothing, for so many milliseconds.
    Rest(u64),
}

pub(crate) trait Client {
    fn go_on(&mut self, news: News<'_>) -> Next;

    /// It is another process now, which knows nothing of what the one before it did.
    fn forget(&mut self);
}

pub(crate) fn client(role: Role, seed: u64) -> Box<dyn Client> {
    use crate::queues::{EVENTS, JOBS, ORDERS, ORDERS_DEAD, STEPS, STEPS_DEAD};
    let random = crate::random::stream(seed, role.name());
    match role {
        Role::JobProducer => Box::new(Producer::new(random, JOBS)),
        Role::OrderProducer => Box::new(Producer::new(random, ORDERS)),
        Role::StepProducer => Box::new(Producer::new(random, STEPS)),
        Role::EventProducer => Box::new(Producer::new(random, EVENTS)),
        Role::JobConsumer | Role::OtherJobConsumer => Box::new(Consumer::new(random, JOBS)),
        Role::OrderConsumer => Box::new(Consumer::new(random, ORDERS)),
        Role::OrderUndertaker => Box::new(Consumer::new(random, ORDERS_DEAD)),
        Role::StepConsumer | Role::OtherStepConsumer => Box::new(Consumer::new(random, STEPS)),
        Role::StepUndertaker => Box::new(Consumer::new(random, STEPS_DEAD)),
        Role::EventConsumer => Box::new(Consumer::new(random, EVENTS)),
        Role::Tuner => Box::new(Operator::new(random, Duty::Attributes)),
        Role::Purger => Box::new(Operator::new(random, Duty::Purges)),
        Role::Mover => Box::new(Operator::new(random, Duty::MoveTasks)),
    }
}
