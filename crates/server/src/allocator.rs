//! The allocator, and the way of free memory back to the system.

use std::thread;
use std::time::Duration;

/// Messages are allocated on the threads that decode and freed on the one that owns the queues; the system's allocator
/// takes locks for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often free memory is looked for. A round that finds none takes microseconds.
const INTERVAL: Duration = Duration::from_secs(5);

/// Has the process take no more memory than it uses, for as long as it runs.
pub(crate) fn keep_small() {
    #[cfg(target_os = "linux")]
    avoid_huge_pages();
    give_back_from_now_on();
}

/// The kernel joins small pages to huge ones where it can, and thereby fills again what was given back between others:
/// after a drain that left 70 MB the process had 160 a minute later. What they bring in rate was below the noise.
#[cfg(target_os = "linux")]
fn avoid_huge_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        let error = &error as &dyn std::error::Error;
        tracing::debug!(error, "huge pages stay on: memory that is given back may fill again");
    }
}

/// Gives memory back that has been free for a second.
///
/// The allocator does that by itself, but only when more becomes free: a server that falls silent after a drain would keep
/// what the drained messages took. It has a thread of its own, since giving back a lot takes milliseconds.
fn give_back_from_now_on() {
    let round = || {
        loop {
            thread::sleep(INTERVAL);
            collect();
        }
    };
    if let Err(error) = thread::Builder::new().name("allocator".into()).spawn(round) {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "free memory goes back to the system late: there is no thread for it");
    }
}

#[expect(unsafe_code, reason = "no crate offers it as a safe function")]
fn collect() {
    // SAFETY: it takes no pointers and may be called at any time on any thread.
    unsafe { libmimalloc_sys::mi_collect(false) }
}
