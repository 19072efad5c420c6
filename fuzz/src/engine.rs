//! The engine against the naive models that its own tests use.
//!
//! Two bytes choose the circumstances, and each further pair is one step, so that taking bytes out takes steps out.

#[allow(dead_code, unused_imports, reason = "its own tests use the rest")]
#[path = "../../crates/engine/tests/fifo_model.rs"]
mod fifo_model;
#[allow(dead_code, unused_imports, reason = "its own tests use the rest")]
#[path = "../../crates/engine/tests/model.rs"]
mod model;

use fastrand::Rng;
use std::time::Duration;
use tidegate_engine::Config;

/// The models look through everything they hold at each step.
const STEPS_MAX: usize = 80;

/// Commands to standard queues: every answer and every count is the model's.
pub fn standard_queues(data: &[u8]) {
    let (mut chance, steps) = circumstances(data);
    let config = Config {
        cooldown: cooldown(&mut chance),
        in_flight_max: *chance.choice(&[1, 2, 3, 5, 120_000, 120_000]).expect("choices"),
        ..Config::default()
    };
    let (patient, brief) = (chance.bool(), chance.bool());
    let steps = steps.map(|mut chance| model::step(&mut chance, patient, brief)).collect();
    model::run(&model::finished(config, steps));
}

/// Commands to FIFO queues: every answer and every count is the model's.
pub fn fifo_queues(data: &[u8]) {
    use fifo_model::fifo_sequence::{Sequence, Step, step};
    let (mut chance, steps) = circumstances(data);
    let config = Config {
        cooldown: cooldown(&mut chance),
        fifo_in_flight_max: *chance.choice(&[1, 2, 5, 120_000, 120_000]).expect("choices"),
        ..Config::default()
    };
    let queues = (0..3).map(|queue| Step::Create { queue, attributes: Vec::new() });
    let steps = queues.chain(steps.map(|mut chance| step(&mut chance))).chain([Step::Compare]).collect();
    fifo_model::run(&Sequence { config, steps });
}

fn cooldown(chance: &mut Rng) -> Duration {
    Duration::from_secs(if chance.bool() { 60 } else { 0 })
}

fn circumstances(data: &[u8]) -> (Rng, impl Iterator<Item = Rng>) {
    let mut pairs =
        data.chunks_exact(2).map(|pair| Rng::with_seed(u64::from(pair[0]) << 8 | u64::from(pair[1])));
    (pairs.next().unwrap_or_else(|| Rng::with_seed(0)), pairs.take(STEPS_MAX))
}
