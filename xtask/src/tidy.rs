//! Rules that no compiler checks: which crate may use which, and how long a file may be.

use crate::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each crate may use of ours, and what it must not use of others'.
struct Boundary {
    folder: &'static str,
    ours: &'static [&'static str],
    /// Crates that bring what the boundary keeps out: async, serialization, sockets, chance.
    banned: &'static [&'static str],
}

const PURE: &[&str] = &["tokio", "hyper", "serde", "serde_json", "rand", "fastrand", "rustix", "socket2"];

const BOUNDARIES: &[Boundary] = &[
    Boundary { folder: "crates/engine", ours: &[], banned: PURE },
    Boundary {
        folder: "crates/log",
        ours: &[],
        banned: &["tokio", "hyper", "serde", "serde_json", "rand", "fastrand", "socket2"],
    },
    Boundary {
        folder: "crates/policy",
        ours: &[],
        banned: &["tokio", "hyper", "rand", "fastrand", "rustix", "socket2"],
    },
    Boundary {
        folder: "crates/filter",
        ours: &[],
        banned: &["tokio", "hyper", "rand", "fastrand", "rustix", "socket2"],
    },
    Boundary { folder: "crates/store", ours: &["tidegate-engine", "tidegate-log"], banned: PURE },
    Boundary {
        folder: "crates/protocol",
        ours: &["tidegate-engine", "tidegate-policy"],
        banned: &["tokio", "hyper", "rand", "fastrand", "rustix", "socket2"],
    },
    // It treats servers as black boxes, ours as well.
    Boundary { folder: "crates/bench", ours: &[], banned: &[] },
    Boundary {
        folder: "crates/server",
        ours: &[
            "tidegate-bench",
            "tidegate-engine",
            "tidegate-log",
            "tidegate-store",
            "tidegate-protocol",
            "tidegate-policy",
            "tidegate-filter",
        ],
        banned: &[],
    },
    Boundary {
        folder: "crates/workloads",
        ours: &["tidegate-engine", "tidegate-log", "tidegate-store", "tidegate-protocol"],
        banned: &["tokio", "hyper", "serde", "serde_json", "rand", "fastrand", "rustix", "socket2"],
    },
    // No real time, files or sockets: whatever it needs of them it simulates.
    Boundary {
        folder: "crates/sim",
        ours: &["tidegate-engine", "tidegate-log", "tidegate-store"],
        banned: &["tokio", "hyper", "serde", "serde_json", "rand", "rustix", "socket2"],
    },
    Boundary { folder: "xtask", ours: &[], banned: &[] },
];

/// Lines of a source file: more than that has two concepts in it.
const LINES_MAX: usize = 1_000;

pub(crate) fn run() -> bool {
    let mut faults = Vec::new();
    check_boundaries(&mut faults);
    let lengths = check_sources(&mut faults);
    for fault in &faults {
        println!("tidy: {fault}");
    }
    let (median, longest) = (lengths[lengths.len() / 2], lengths[lengths.len() - 1]);
    println!("tidy: {} source files, median {median} lines, longest {longest}", lengths.len());
    faults.is_empty()
}

fn check_boundaries(faults: &mut Vec<String>) {
    let known: BTreeSet<_> = BOUNDARIES.iter().map(|boundary| root().join(boundary.folder)).collect();
    for entry in fs::read_dir(root().join("crates")).expect("there is a folder of crates").flatten() {
        if !known.contains(&entry.path()) {
            faults.push(format!("{} has no boundary in xtask/src/tidy.rs", entry.path().display()));
        }
    }
    for boundary in BOUNDARIES {
        let manifest = root().join(boundary.folder).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("every crate has a manifest");
        let table: toml::Table = text.parse().expect("cargo accepted the manifest");
        let dependencies = table.get("dependencies").and_then(toml::Value::as_table);
        for name in dependencies.into_iter().flat_map(toml::Table::keys).map(String::as_str) {
            let foreign = name.starts_with("tidegate-") && !boundary.ours.contains(&name);
            if foreign || boundary.banned.contains(&name) {
                faults.push(format!("{} must not use {name}", boundary.folder));
            }
        }
    }
}

/// Checks every Rust file; returns their lengths in rising order.
fn check_sources(faults: &mut Vec<String>) -> Vec<usize> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "fuzz", "clients/rust"] {
        collect(&root().join(folder), &mut files);
    }
    let mut lengths = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file is text");
        let name = file.strip_prefix(root()).unwrap_or(&file).display();
        lengths.push(text.lines().count());
        if text.lines().count() > LINES_MAX {
            faults.push(format!("{name} is longer than {LINES_MAX} lines; split it by concept"));
        }
        // Put together here so that this file does not find itself.
        for unfinished in [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[", "ignore")] {
            if text.contains(unfinished) {
                faults.push(format!("{name} contains {unfinished}"));
            }
        }
    }
    lengths.sort_unstable();
    lengths
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
