//! The work whose speed is guarded: plain functions on the public interfaces of the engine, the store, the log and the
//! protocol, without sockets, threads or a clock.
//!
//! Two benchmarks run the same functions. `cargo xtask bench-counts` counts instructions under Valgrind and compares them
//! with `baseline.toml`; `cargo bench -p tidegate-workloads` takes times, which say more and repeat less. See
//! `docs/benchmarks.md`.

mod engine;
mod log;
mod protocol;
mod sample;
mod store;

/// One kind of work.
pub struct Workload {
    /// What is done, as `area: operation`.
    pub name: &'static str,
    /// How often one run does it.
    pub operations: u64,
    /// Prepares a run. Preparing is not measured; a run is made once.
    pub prepare: fn() -> Run,
}

/// Work that is ready to be done.
pub type Run = Box<dyn FnOnce() -> Outcome>;

/// What the work came to. It is dropped after the measurement, and keeps the compiler from leaving the work out.
pub type Outcome = Box<dyn std::any::Any>;

/// All workloads, by area.
pub fn all() -> impl Iterator<Item = &'static Workload> {
    [engine::WORKLOADS, store::WORKLOADS, log::WORKLOADS, protocol::WORKLOADS].into_iter().flatten()
}

/// Does the work. What happens in here and in what it calls is what is counted, so it stays a function of its own.
#[inline(never)]
pub fn measured_work(run: Run) -> Outcome {
    run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_workload_does_its_work() {
        let mut names = BTreeSet::new();
        for workload in all() {
            assert!(names.insert(workload.name), "{} is there twice", workload.name);
            // Each checks its own outcome while it works.
            drop(measured_work((workload.prepare)()));
        }
        assert!(names.len() >= 20);
    }
}
