//! Does one workload once, for a tool that looks on; without a name, lists what there is; with `--processor`, says which
//! instructions it finds.
#![expect(clippy::print_stdout, reason = "lists are for programs to read")]

use std::process::ExitCode;
use tidegate_workloads::{all, measured_work};

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        all().for_each(|workload| println!("{}\t{}", workload.operations, workload.name));
        return ExitCode::SUCCESS;
    };
    if name == "--processor" {
        println!("{}", processor());
        return ExitCode::SUCCESS;
    }
    let Some(workload) = all().find(|workload| workload.name == name) else {
        eprintln!("there is no workload {name}");
        return ExitCode::from(2);
    };
    let run = (workload.prepare)();
    drop(measured_work(run));
    ExitCode::SUCCESS
}

/// The kind of processor, and those extensions that libraries choose their ways by.
fn processor() -> String {
    let mut text = std::env::consts::ARCH.to_owned();
    #[cfg(target_arch = "x86_64")]
    for (name, is_there) in [
        ("sse4.2", std::arch::is_x86_feature_detected!("sse4.2")),
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
        ("bmi2", std::arch::is_x86_feature_detected!("bmi2")),
        ("sha", std::arch::is_x86_feature_detected!("sha")),
    ] {
        if is_there {
            text = format!("{text} {name}");
        }
    }
    text
}
