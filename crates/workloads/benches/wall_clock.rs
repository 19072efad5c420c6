//! Times of every workload; an argument takes those whose name contains it.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use tidegate_workloads::{all, measured_work};

fn wall_clock(criterion: &mut Criterion) {
    for workload in all() {
        let mut group = criterion.benchmark_group(workload.name);
        group.throughput(Throughput::Elements(workload.operations));
        group.bench_function("run", |bencher| {
            bencher.iter_batched(workload.prepare, measured_work, BatchSize::PerIteration);
        });
        group.finish();
    }
}

criterion_group!(benches, wall_clock);
criterion_main!(benches);
