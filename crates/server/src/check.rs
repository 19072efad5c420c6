//! `tidegate check`: whether a data directory is whole, and whether a server would start on it.
//!
//! The log verifies every checksum. Then the directory is recovered as a start would recover it, through the same code,
//! but with every write kept in memory: that also decodes each record and checkpoint and counts what is there. The
//! directory itself is only read, apart from the file that carries its lock.

mod overlay;
mod progress;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use tidegate_log::{CheckReport, DirStorage, LogConfig, LogError, SegmentedLog, Storage};
use tidegate_store::{AuditError, MemoryBudget, RecoverError, RecoveryReport};

use crate::cli::sentence;
use overlay::Overlay;
use progress::{Progress, Watched};

/// What a check comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing is wrong.
    Sound,
    /// Something that was acknowledged may be lost, or a server would not start.
    Damaged,
    /// Nothing can be said.
    Unknown,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        ExitCode::from(match verdict {
            Verdict::Sound => 0,
            Verdict::Damaged => 1,
            Verdict::Unknown => 2,
        })
    }
}

/// Checks the directory and tells the result on standard output, or on standard error why there is none.
pub(crate) fn run(dir: &Path) -> ExitCode {
    let (verdict, text) = check(dir, Progress::on_terminal());
    let told = match verdict {
        Verdict::Unknown => write!(io::stderr(), "tidegate: {text}"),
        Verdict::Sound | Verdict::Damaged => write!(io::stdout(), "{text}"),
    };
    // A reader that went away does not change the result.
    drop(told);
    verdict.into()
}

fn check(dir: &Path, progress: Progress) -> (Verdict, String) {
    let shown = dir.display();
    let unknown = |cause: String| (Verdict::Unknown, format!("{shown} cannot be checked: {cause}\n"));
    let storage = match DirStorage::open_existing(dir) {
        Ok(storage) => storage,
        Err(error) => return unknown(error.to_string()),
    };
    match storage.list() {
        Ok(files) if !files.iter().any(|file| is_of_a_log(&file.name)) => {
            return unknown("it is not a data directory, since it holds no file of a log".into());
        }
        Ok(files) => {
            let bytes = files.iter().filter(|file| is_of_a_log(&file.name)).map(|file| file.bytes);
            progress.expect(bytes.sum());
        }
        Err(error) => return unknown(error.to_string()),
    }
    let watched = Watched::new(storage, progress);
    let found = verify(&watched);
    watched.finish();
    match found {
        Ok((report, start)) => tell(&shown.to_string(), &report, start.as_ref()),
        Err(error) => unknown(sentence(&error)),
    }
}

/// What a start finds, and whether all of it can be read and is counted rightly; or why it fails.
type Start = Result<(RecoveryReport, Result<(), AuditError>), RecoverError>;

/// Memory for what a check brings back of backlogs.
const CHECK_MEMORY: u64 = 64 << 20;

fn verify<S: Storage + Clone>(storage: &S) -> Result<(CheckReport, Option<Start>), LogError> {
    let report = tidegate_log::check(storage)?;
    // A start on a damaged log fails with what the report says already.
    if !report.is_sound() {
        return Ok((report, None));
    }
    match rehearse(storage.clone()) {
        Err(RecoverError::Log(error @ (LogError::Io { .. } | LogError::Locked))) => Err(error),
        start => Ok((report, Some(start))),
    }
}

/// Whether the log wrote a file of this name and would miss it.
fn is_of_a_log(name: &str) -> bool {
    name == "superblock"
        || name.ends_with(".seg")
        || name.ends_with(".post")
        || name.starts_with("checkpoint-")
}

/// Recovers the directory as a start would, and forgets what that writes.
fn rehearse<S: Storage>(storage: S) -> Start {
    // The settings bound what is written later; recovery reads the same under any.
    let opened = SegmentedLog::open(Overlay::new(storage), LogConfig::default(), [0; 16])?;
    let config = tidegate_engine::Config::default();
    let recovered = tidegate_store::recover(opened, config, MemoryBudget::of(CHECK_MEMORY))?;
    let audit = tidegate_store::audit(&recovered.shard, &recovered.reader);
    Ok((recovered.report, audit))
}

fn tell(dir: &str, report: &CheckReport, start: Option<&Start>) -> (Verdict, String) {
    let mut lines: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    let mut verdict = if report.is_sound() { Verdict::Sound } else { Verdict::Damaged };
    let checkpoints = match report.checkpoints.len() {
        1 => "1 checkpoint is".to_owned(),
        count => format!("{count} checkpoints are"),
    };
    lines.push(format!(
        "The log, {}, holds {} in {} ({} bytes); {checkpoints} intact.",
        counted(report.segment_count, "segment"),
        counted(report.record_count, "record"),
        counted(report.frame_count, "frame"),
        report.frame_bytes,
    ));
    match start {
        Some(Ok((start, audit))) => {
            let (queues, messages) =
                (counted(start.queues as u64, "queue"), counted(start.messages, "message"));
            lines.push(format!("A start finds {queues} and {messages}."));
            if let Err(error) = audit {
                verdict = Verdict::Damaged;
                lines.push(format!("damage: {}.", sentence(error)));
            }
        }
        Some(Err(error)) => {
            verdict = Verdict::Damaged;
            lines.push(format!("damage: A start fails: {}.", sentence(error)));
        }
        None => {}
    }
    lines.push(match verdict {
        Verdict::Sound => format!("{dir} is sound."),
        _ => format!(
            "{dir} is damaged. Nothing was changed. Check the disk, and restore the directory from a copy."
        ),
    });
    (verdict, lines.join("\n") + "\n")
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests;
