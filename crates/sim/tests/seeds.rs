//! Worlds that everybody runs: always the same ones, and some that nobody has seen before.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tidegate_sim::{Options, run, shrink};

const FIXED: u64 = 200;
const FRESH: u64 = 50;

/// A world short enough that many fit into a test.
fn short(seed: u64) -> Options {
    Options { span: Some(15_000), ..Options::of(seed) }
}

fn run_all(seeds: std::ops::Range<u64>) {
    let next = AtomicU64::new(seeds.start);
    let failed = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|it| *it < seeds.end)
                {
                    if let Some(violation) = run(&short(seed), false).violation {
                        failed.lock().expect("nobody panics with it").push((seed, violation));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics with it");
    if let Some((seed, violation)) = failed.first() {
        let smallest = shrink(&short(*seed), violation.checker);
        panic!("{violation}\nreplay: cargo run --release -p tidegate-sim -- {smallest}\nall: {failed:#?}");
    }
}

#[test]
fn the_same_worlds_as_always() {
    run_all(0..FIXED);
}

#[test]
fn worlds_that_nobody_has_seen() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let first = now & 0xffff_ffff_ffff;
    println!("fresh worlds from seed {first}");
    run_all(first..first + FRESH);
}

#[test]
fn the_same_seed_gives_the_same_timeline() {
    for seed in 0..12 {
        let (first, second) = (run(&short(seed), true), run(&short(seed), true));
        assert!(first.timeline.lines().count() > 50, "seed {seed} hardly does anything");
        assert_eq!(first, second, "seed {seed}");
    }
    assert_ne!(run(&short(1), true).timeline, run(&short(2), true).timeline);
}
