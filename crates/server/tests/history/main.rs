//! The real server, killed with SIGKILL again and again under all kinds of work, and what its clients saw of it.
//!
//! Clients write down every request with its answer and the instants before and after it. When a run is over and all
//! queues are empty, `check` decides whether the server kept its word. Runs go on, one after the other, on the same data.
//! Five kills; with `TIDEGATE_LONG=1` a hundred, or as many as `TIDEGATE_KILLS` says.

#![allow(clippy::unwrap_used, reason = "all of it is test code")]

mod check;
mod client;
#[cfg(target_os = "linux")]
mod disk_faults;
mod record;
#[path = "../support/mod.rs"]
mod support;
mod workload;

use record::Call;
use std::thread;
use std::time::{Duration, Instant};
use support::server::{Server, Setup};
use support::{PATIENCE, is_long_run};
use workload::{EndWithScope, QUEUES, Run, create_queues};

/// Kills in one run: what is written down of it is looked through in seconds.
const KILLS_IN_RUN: u32 = 10;

#[test]
fn what_clients_saw_is_allowed() {
    let kills = match std::env::var("TIDEGATE_KILLS") {
        Ok(kills) => kills.parse().expect("TIDEGATE_KILLS is a number"),
        Err(_) if is_long_run() => 100,
        Err(_) => 5,
    };
    let setup = Setup::new().without_cooldowns().env("TIDEGATE_SEGMENT_BYTES", "256KiB");
    let mut server = setup.start();
    create_queues(&server);
    let mut done = 0;
    while done < kills {
        let count = KILLS_IN_RUN.min(kills - done);
        let calls;
        (server, calls) = run(server, &format!("r{done}"), |mut server, run| {
            for _ in 0..count {
                thread::sleep(Duration::from_millis(rand::random_range(20..800)));
                server.kill();
                server = setup.start();
                run.go_on_with(&server);
            }
            server
        });
        done += count;
        println!("{done} kills, {} requests in the last run", calls.len());
        assert!(calls.len() > 50 * count as usize, "the server was under load");
        check::assert_allowed(&QUEUES, &calls);
    }
}

/// Lets clients work while something happens to their server, and then until everything is consumed.
fn run(server: Server, name: &str, happen: impl FnOnce(Server, &Run) -> Server) -> (Server, Vec<Call>) {
    let run = &Run::new(name.to_owned(), &server);
    thread::scope(|scope| {
        let _end = EndWithScope(run);
        let clients = run.start(scope);
        let server = happen(server, run);
        let calls = clients.finish(run, || wait_until_empty(&server));
        (server, calls)
    })
}

/// Waits until nothing is in any queue, as long as it becomes less.
fn wait_until_empty(server: &Server) {
    let mut client = server.client();
    let (mut least, mut since) = (u64::MAX, Instant::now());
    loop {
        let counts = QUEUES.each_ref().map(|queue| client.counts(queue.name));
        let left = counts.iter().flatten().sum();
        if left == 0 {
            return;
        }
        if left < least {
            (least, since) = (left, Instant::now());
        }
        assert!(since.elapsed() < PATIENCE, "the queues are not emptied: {counts:?}");
        thread::sleep(Duration::from_millis(50));
    }
}
