//! Instructions per operation of every workload, counted by Valgrind and compared with the stored baseline.
//!
//! Counts repeat to a tenth of a percent, however busy the machine is, as long as the compiler, Valgrind and the instructions
//! that the processor offers are the same. Where they are not, the comparison is shown and decides nothing.

use crate::root;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toml::{Table, Value};

/// Where the baseline is, from the root of the repository.
const BASELINE: &str = "crates/workloads/baseline.toml";
/// Percent of the baseline that a count may reach. Noise is far below; what reaches it was done.
const PERCENT_MAX: u64 = 110;
/// Percent at which a gain is worth a new baseline, so that it cannot be lost again unnoticed.
const PERCENT_GAIN: u64 = 90;
/// What is counted: this function of the crate of workloads, and what it calls.
const COUNTED: &str = "--toggle-collect=*measured_work*";

const GET_VALGRIND: &str = "\
bench-counts: Valgrind is not installed, and counts need it (Linux only).
bench-counts: get it with `apt-get install valgrind`, `dnf install valgrind` or `pacman -S valgrind`.";

/// What was asked for on the command line.
#[derive(Default)]
struct Wish {
    /// Write the baseline.
    update: bool,
    /// Without Valgrind, say so and pass.
    optional: bool,
    /// Only workloads whose name contains this.
    filter: Option<String>,
}

impl Wish {
    fn parse(arguments: &[String]) -> Option<Self> {
        let mut wish = Wish::default();
        for argument in arguments {
            match argument.as_str() {
                "--update" => wish.update = true,
                "--optional" => wish.optional = true,
                option if option.starts_with('-') => return None,
                filter => wish.filter = Some(filter.to_owned()),
            }
        }
        Some(wish)
    }
}

/// What counts depend on besides the code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tools {
    rustc: String,
    valgrind: String,
    processor: String,
}

/// Instructions per operation by workload, and with what they were counted.
struct Baseline {
    tools: Tools,
    counts: BTreeMap<String, u64>,
}

/// Counts, compares and tells; whether nothing became dearer.
pub(crate) fn run(arguments: &[String]) -> bool {
    let Some(wish) = Wish::parse(arguments) else {
        eprintln!("usage: cargo xtask bench-counts [--update] [--optional] [part of a workload's name]");
        return false;
    };
    let Some(valgrind) = output("valgrind", &["--version"]) else {
        println!("{GET_VALGRIND}");
        if wish.optional {
            println!("bench-counts: SKIPPED: no instructions were counted");
        }
        return wish.optional;
    };
    let Some(program) = build() else { return false };
    let Some(listed) = output(&program, &[]) else { return false };
    let Some(counts) = count_all(&program, &listed, wish.filter.as_deref()) else { return false };
    let tools = Tools {
        rustc: output("rustc", &["--version"]).unwrap_or_default().trim().to_owned(),
        valgrind: valgrind.trim().to_owned(),
        processor: processor(&program),
    };
    let stored = Baseline::read();
    let passed = tell(&tools, &counts, stored.as_ref(), wish.filter.is_none());
    if !wish.update {
        return passed;
    }
    // With a filter the other workloads keep their counts, which must then be from the same tools.
    let kept = stored.filter(|stored| wish.filter.is_some() && stored.tools == tools);
    let mut all = kept.map_or_else(BTreeMap::new, |stored| stored.counts);
    all.extend(counts);
    Baseline { tools, counts: all }.write();
    println!("bench-counts: wrote {BASELINE}");
    true
}

/// The program that does the workloads, optimized as a release is, with the names of its functions.
fn build() -> Option<String> {
    let build = ["build", "--quiet", "--profile", "profiling", "--package", "tidegate-workloads"];
    let built = Command::new("cargo").args(build).current_dir(root()).status();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program = root().join(target).join("profiling/tidegate-workloads");
    built.is_ok_and(|status| status.success()).then(|| program.display().to_string())
}

/// What a program prints; `None` when it cannot be run or fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::inherit()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Counts the listed workloads: `operations`, a tab, and the name on each line.
fn count_all(program: &str, listed: &str, filter: Option<&str>) -> Option<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    for (operations, name) in listed.lines().filter_map(|line| line.split_once('\t')) {
        if filter.is_some_and(|filter| !name.contains(filter)) {
            continue;
        }
        let operations: u64 = operations.parse().expect("the program lists numbers");
        let Some(instructions) = count(program, name) else {
            println!("bench-counts: the workload `{name}` failed under Valgrind");
            return None;
        };
        counts.insert(name.to_owned(), (instructions + operations / 2) / operations);
    }
    Some(counts)
}

/// Instructions of one workload.
fn count(program: &str, name: &str) -> Option<u64> {
    let said = valgrind(&[COUNTED, program, name])?;
    let (_, rest) = said.split_once("Collected : ")?;
    rest.lines().next()?.trim().parse().ok().filter(|count| *count > 0)
}

/// What callgrind says of a run. The environment is empty, so that its size does not move the stack.
fn valgrind(arguments: &[&str]) -> Option<String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=/dev/null"])
        .args(arguments)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The kind of processor that Valgrind shows to the program, which takes other ways on others.
fn processor(program: &str) -> String {
    let shown = Command::new("valgrind").args(["--quiet", "--tool=none", program, "--processor"]).output();
    shown.map_or_else(|_| String::new(), |shown| String::from_utf8_lossy(&shown.stdout).trim().to_owned())
}

/// Prints the table; whether nothing became dearer that can be compared.
fn tell(tools: &Tools, counts: &BTreeMap<String, u64>, stored: Option<&Baseline>, is_whole: bool) -> bool {
    let none = BTreeMap::new();
    let baseline = stored.map_or(&none, |stored| &stored.counts);
    let mut complaints = Vec::new();
    println!("{:<46} {:>12} {:>12} {:>8}", "instructions per operation", "baseline", "now", "ratio");
    for (name, now) in counts {
        match baseline.get(name) {
            Some(before) => {
                let ratio = *now as f64 / *before as f64;
                println!("{name:<46} {before:>12} {now:>12} {ratio:>8.3}");
                if now * 100 > before * PERCENT_MAX {
                    complaints.push(format!("`{name}` takes {:.1} % more", ratio * 100.0 - 100.0));
                } else if now * 100 < before * PERCENT_GAIN {
                    println!("  a gain: keep it with `cargo xtask bench-counts --update`");
                }
            }
            None => {
                println!("{name:<46} {:>12} {now:>12}", "-");
                complaints.push(format!("`{name}` is not in the baseline"));
            }
        }
    }
    if is_whole {
        let gone = baseline.keys().filter(|name| !counts.contains_key(*name));
        complaints
            .extend(gone.map(|name| format!("`{name}` is in the baseline, but there is no such workload")));
    }
    for complaint in &complaints {
        println!("bench-counts: {complaint}");
    }
    let Some(stored) = stored.filter(|stored| stored.tools != *tools) else {
        return complaints.is_empty();
    };
    println!("bench-counts: NOT COMPARABLE, so this decides nothing: the baseline was counted with");
    println!("bench-counts:   {}", stored.tools.line());
    println!("bench-counts: and this with\nbench-counts:   {}", tools.line());
    true
}

impl Tools {
    fn line(&self) -> String {
        let Tools { rustc, valgrind, processor } = self;
        format!("{rustc}, {valgrind}, {processor}")
    }
}

impl Baseline {
    fn path() -> PathBuf {
        root().join(BASELINE)
    }

    /// The stored baseline; `None` when there is none.
    fn read() -> Option<Self> {
        let text = std::fs::read_to_string(Self::path()).ok()?;
        Some(Self::parse(&text).unwrap_or_else(|| panic!("{BASELINE} is not as `--update` writes it")))
    }

    fn parse(text: &str) -> Option<Self> {
        let table: Table = text.parse().ok()?;
        let tools = table.get("tools")?;
        let tool = |name| Some(tools.get(name)?.as_str()?.to_owned());
        let tools =
            Tools { rustc: tool("rustc")?, valgrind: tool("valgrind")?, processor: tool("processor")? };
        let count =
            |(name, value): (&String, &Value)| Some((name.clone(), value.as_integer()?.try_into().ok()?));
        let counts = table.get("counts")?.as_table()?.iter().map(count).collect::<Option<_>>()?;
        Some(Baseline { tools, counts })
    }

    fn text(&self) -> String {
        let Tools { rustc, valgrind, processor } = &self.tools;
        let mut text = format!(
            "# Instructions per operation. Written by `cargo xtask bench-counts --update`; see docs/benchmarks.md.\n\n\
             [tools]\nrustc = \"{rustc}\"\nvalgrind = \"{valgrind}\"\nprocessor = \"{processor}\"\n\n[counts]\n"
        );
        for (name, count) in &self.counts {
            let _ = writeln!(text, "\"{name}\" = {count}");
        }
        text
    }

    fn write(&self) {
        let path: &Path = &Self::path();
        std::fs::write(path, self.text()).expect("the baseline can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(rustc: &str) -> Tools {
        Tools { rustc: rustc.into(), valgrind: "valgrind-3".into(), processor: "x86_64 avx2".into() }
    }

    fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    /// Whether counts pass against a baseline of 1,000 for `a` and 20 for `b`.
    fn passes(rustc: &str, found: &[(&str, u64)], is_whole: bool) -> bool {
        let stored = Baseline { tools: tools("rustc 1"), counts: counts(&[("a", 1_000), ("b", 20)]) };
        tell(&tools(rustc), &counts(found), Some(&stored), is_whole)
    }

    #[test]
    fn what_takes_a_tenth_more_fails() {
        assert!(passes("rustc 1", &[("a", 1_000), ("b", 20)], true));
        assert!(passes("rustc 1", &[("a", 1_100), ("b", 1)], true), "the limit itself, and a gain");
        assert!(!passes("rustc 1", &[("a", 1_101), ("b", 20)], true));
        assert!(!passes("rustc 1", &[("a", 1_000), ("b", 23)], true));
    }

    #[test]
    fn baseline_and_workloads_are_the_same_set() {
        assert!(!passes("rustc 1", &[("a", 1_000)], true), "one is gone");
        assert!(passes("rustc 1", &[("a", 1_000)], false), "only this one was asked for");
        assert!(!passes("rustc 1", &[("a", 1_000), ("b", 20), ("c", 1)], true), "one is new");
        assert!(!tell(&tools("rustc 1"), &counts(&[("a", 1)]), None, true), "there is no baseline");
    }

    #[test]
    fn other_tools_decide_nothing() {
        assert!(passes("rustc 2", &[("a", 9_000)], true));
    }

    #[test]
    fn baseline_survives_its_file() {
        let stored =
            Baseline { tools: tools("rustc 1.95 (5980 2026)"), counts: counts(&[("x: y, 1,000", 7)]) };
        let read = Baseline::parse(&stored.text()).expect("it is as it was written");
        assert_eq!((read.tools, read.counts), (stored.tools, stored.counts));
        assert!(Baseline::parse("[tools]\nrustc = 1\n").is_none());
    }
}
