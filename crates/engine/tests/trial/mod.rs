//! Random sequences of steps against a model: many are run, and one that fails is cut down to the steps that it needs.

use fastrand::Rng;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tidegate_engine::Config;

/// How often each thing worth its name happened.
pub(crate) type Tally = BTreeMap<&'static str, u64>;

#[derive(Clone, Debug)]
pub(crate) struct Sequence<Step> {
    pub(crate) config: Config,
    pub(crate) steps: Vec<Step>,
}

pub(crate) struct Trial<Step> {
    /// The sequence of a seed.
    pub(crate) sequence: fn(u64) -> Sequence<Step>,
    /// Panics where engine and model disagree.
    pub(crate) run: fn(&Sequence<Step>) -> Tally,
    /// What the fixed sequences must reach, or their weights are wrong.
    pub(crate) reached: &'static [&'static str],
    /// How many sequences have fixed seeds, and how many fresh ones.
    pub(crate) counts: (u64, u64),
}

/// The counts with `TIDEGATE_LONG=1`.
const LONG: (u64, u64) = (20_000, 100_000);

impl<Step: Clone + Debug> Trial<Step> {
    /// Runs them all, or the one that `TIDEGATE_SEED` names.
    pub(crate) fn check(&self) {
        let mut tally = Tally::new();
        if let Some(seed) = setting("TIDEGATE_SEED") {
            return self.check_seed(seed, &mut tally);
        }
        let long = setting("TIDEGATE_LONG").is_some_and(|long| long > 0);
        let (fixed, fresh) = if long { LONG } else { self.counts };
        (0..fixed).for_each(|seed| self.check_seed(seed, &mut tally));
        let missed: Vec<_> = self.reached.iter().filter(|what| !tally.contains_key(**what)).collect();
        assert!(missed.is_empty(), "the fixed sequences never reach {missed:?}, only {tally:#?}");
        let mut seeds = Rng::new();
        (0..fresh).for_each(|_| self.check_seed(seeds.u64(..), &mut tally));
    }

    fn check_seed(&self, seed: u64, tally: &mut Tally) {
        let sequence = (self.sequence)(seed);
        match catch_unwind(AssertUnwindSafe(|| (self.run)(&sequence))) {
            Ok(more) => more.into_iter().for_each(|(what, count)| *tally.entry(what).or_default() += count),
            Err(_) => {
                let loud = std::panic::take_hook();
                std::panic::set_hook(Box::new(|_| {}));
                let least = self.minimized(sequence);
                let failure = self.fails(&least).expect("still fails");
                std::panic::set_hook(loud);
                panic!("seed {seed} fails, at the least with {least:#?}\n{failure}");
            }
        }
    }

    fn fails(&self, sequence: &Sequence<Step>) -> Option<String> {
        let failure = catch_unwind(AssertUnwindSafe(|| (self.run)(sequence))).err()?;
        let text = failure.downcast_ref::<String>().cloned();
        Some(
            text.or_else(|| failure.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_default(),
        )
    }

    /// Leaves out ever smaller runs of steps as long as the sequence still fails.
    fn minimized(&self, mut sequence: Sequence<Step>) -> Sequence<Step> {
        let mut width = sequence.steps.len().div_ceil(2);
        loop {
            let mut at = 0;
            let mut shorter_found = false;
            while at < sequence.steps.len() {
                let mut shorter = sequence.clone();
                shorter.steps.drain(at..(at + width).min(shorter.steps.len()));
                if self.fails(&shorter).is_some() {
                    sequence = shorter;
                    shorter_found = true;
                } else {
                    at += width;
                }
            }
            if width == 1 && !shorter_found {
                return sequence;
            }
            width = width.div_ceil(2).max(1);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "tests are told by their caller how long to run")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}
