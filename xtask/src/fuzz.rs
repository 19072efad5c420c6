//! Runs the fuzz targets, one after the other.

use crate::root;
use std::fs;
use std::process::Command;

const MINUTES: u64 = 10;

/// Runs every target for the minutes given; whether none found anything.
pub(crate) fn run(arguments: &[String]) -> bool {
    let minutes = match arguments {
        [] => Some(MINUTES),
        [minutes] => minutes.parse().ok(),
        _ => None,
    };
    let Some(minutes) = minutes else {
        println!("fuzz: the one argument is a number of minutes");
        return false;
    };
    let corpora = fs::read_dir(root().join("fuzz/corpus")).expect("there is a folder of corpora");
    let mut targets: Vec<_> =
        corpora.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    targets.sort();
    let failed: Vec<_> = targets.iter().filter(|target| !run_target(target, minutes)).collect();
    println!("fuzz: {} targets, {minutes} minutes each; failed: {failed:?}", targets.len());
    failed.is_empty()
}

/// Inputs that reach something new go to a folder beside the build, so that the corpus in the repository stays small.
fn run_target(target: &str, minutes: u64) -> bool {
    let found = root().join("fuzz/target/corpora").join(target);
    fs::create_dir_all(&found).expect("the build folder can be written");
    let limits = ["--", "-rss_limit_mb=512", "-max_len=4096", &format!("-max_total_time={}", minutes * 60)]
        .map(str::to_owned);
    let status = Command::new("cargo")
        .args(["fuzz", "run", target, "-s", "none", "--features", "libfuzzer"])
        .arg(found)
        .arg(format!("corpus/{target}"))
        .args(limits)
        .current_dir(root().join("fuzz"))
        .status();
    status.is_ok_and(|status| status.success())
}
