//! The real server on a disk that fails: reads, writes and fsyncs with an error, torn and short writes, no space. The
//! disk is the C library's calls, which `faults.c` stands in front of.
//!
//! A server may end by such a failure, or refuse what it cannot do. The next one, on a sound disk, must go on with
//! everything that was acknowledged: the clients' history is the judge.

use crate::support::server::{Server, Setup};
use crate::workload::{QUEUES, Run, create_queues};
use crate::{KILLS_IN_RUN, check, is_long_run, run};
use std::process::Command;
use std::time::{Duration, Instant};

/// What may happen to which operation.
const FAULTS: [(&str, &str); 8] = [
    ("sync", "EIO"),
    ("write", "EIO"),
    ("write", "TORN"),
    ("write", "SHORT"),
    ("write", "FULL"),
    ("allocate", "FULL"),
    ("allocate", "EIO"),
    ("read", "EIO"),
];
/// How long clients work on the failing disk.
const ON_BAD_DISK: Duration = Duration::from_millis(700);

#[test]
fn what_clients_saw_of_failing_disks_is_allowed() {
    // Among the first operations are those of recovery.
    let numbers: &[u64] =
        if is_long_run() { &[1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 50, 100, 300, 700] } else { &[1, 4] };
    let random = if is_long_run() { 6 } else { 1 };
    let mut setup = Setup::new().without_cooldowns().env("TIDEGATE_SEGMENT_BYTES", "64KiB");
    let mut server = setup.start();
    create_queues(&server);
    let directory = setup.data_dir();
    setup.set_env("FAULT_DIR", directory.to_str().unwrap());
    let library = compile(&setup);
    setup.set_env("LD_PRELOAD", &library);
    let mut faults: Vec<String> = Vec::new();
    for (operation, failure) in FAULTS {
        let drawn = (0..random).map(|_| rand::random_range(5..120));
        let numbers = numbers.iter().copied().chain(drawn);
        faults.extend(numbers.map(|number| format!("{operation} {number} {failure}")));
    }
    let (mut ended, mut refused) = (0, 0);
    for (number, faults) in faults.chunks(KILLS_IN_RUN as usize).enumerate() {
        let calls;
        (server, calls) = run(server, &format!("d{number}"), |mut server, run| {
            for fault in faults {
                server.kill();
                setup.set_env("FAULT", fault);
                match setup.try_start() {
                    Ok(failing) => ended += u32::from(work_on_bad_disk(failing, run)),
                    Err(_) => refused += 1,
                }
                setup.set_env("FAULT", "");
                server = setup.start();
                run.go_on_with(&server);
            }
            server
        });
        println!("{faults:?}");
        check::assert_allowed(&QUEUES, &calls);
    }
    println!("{} faults: {ended} ended the server, {refused} kept it from starting", faults.len());
    assert!(ended > 0 && refused > 0, "faults are met while serving and while starting");
}

/// Lets clients work; whether the server ended by itself.
fn work_on_bad_disk(mut server: Server, run: &Run) -> bool {
    *run.address.write().unwrap() = server.endpoint;
    let start = Instant::now();
    while start.elapsed() < ON_BAD_DISK {
        if server.has_ended() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    server.kill();
    false
}

fn compile(setup: &Setup) -> String {
    let library = setup.file("faults.so").to_str().unwrap().to_owned();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/history/faults.c");
    let arguments = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", &library, source, "-ldl"];
    let status = Command::new("cc").args(arguments).status().expect("there is a C compiler");
    assert!(status.success(), "faults.c compiles");
    library
}
