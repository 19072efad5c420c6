//! Verifying a directory offline, byte by byte, for `tidegate check`.

use std::fmt;

use crate::{
    LogError, Position,
    codec::Key,
    frame::{FrameHeader, Records, verify_record},
    log::lock,
    names, posting,
    segment::{HEAD_BYTES, SEAL_OFFSET, Seal, SealMark},
    storage::{Storage, StorageFile},
    superblock::Superblock,
    survey::{Found, Inventory, measure, read_with_postings, survey},
    verdict::Body,
    walk::{Expected, Step, Walk},
};

/// What is in a data directory and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Epoch of the last owner; 0 for a directory without a log.
    pub epoch: u64,
    /// Segments with a name, prepared ones included.
    pub segment_count: u64,
    /// Intact frames.
    pub frame_count: u64,
    /// Intact records.
    pub record_count: u64,
    /// Bytes of intact frames.
    pub frame_bytes: u64,
    /// Intact posting files.
    pub posting_count: u64,
    /// Positions of the intact checkpoints, oldest first.
    pub checkpoints: Vec<Position>,
    /// End of the log, if that can be told.
    pub tail: Option<Position>,
    /// Everything noteworthy, one sentence each.
    pub findings: Vec<Finding>,
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Worth knowing; the next start deals with it and nothing acknowledged is lost.
    Note(String),
    /// Damage: something that was acknowledged may be lost, or the next start will fail.
    Damage(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(sentence) => write!(f, "note: {sentence}"),
            Self::Damage(sentence) => write!(f, "damage: {sentence}"),
        }
    }
}

impl CheckReport {
    /// Whether nothing is damaged.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(|finding| matches!(finding, Finding::Damage(_)))
    }

    fn note(&mut self, sentence: String) {
        self.findings.push(Finding::Note(sentence));
    }

    fn damage(&mut self, sentence: String) {
        self.findings.push(Finding::Damage(sentence));
    }
}

/// Verifies the superblock, every checkpoint, and every frame and record of every segment in `storage`. Changes
/// nothing, apart from taking the lock meanwhile. Reads everything once or twice.
///
/// # Errors
/// [`LogError::Locked`] while a server has the directory open; [`LogError::Version`] for another format;
/// [`LogError::Io`]. Damage is not an error but a finding.
pub fn check(storage: &impl Storage) -> Result<CheckReport, LogError> {
    let _lock = lock(storage)?;
    let mut report = CheckReport::default();
    let superblock = match Superblock::read(storage) {
        Ok(Some(superblock)) => superblock,
        Ok(None) => {
            report.damage(
                "There is no superblock: this is not a data directory, or its creation never finished."
                    .into(),
            );
            return Ok(report);
        }
        Err(error @ LogError::CorruptFile { .. }) => {
            report.damage(format!("{error}."));
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    report.epoch = superblock.epoch;
    if !superblock.is_whole {
        report
            .note("One of the two slots of the superblock is damaged; the next start writes it anew.".into());
    }
    let key = Key::new(&superblock.identity);
    let inventory = Inventory::take(storage)?;
    check_checkpoints(storage, &inventory, key, &mut report)?;
    check_postings(storage, &inventory, key, &mut report)?;
    check_segments(storage, &inventory, key, superblock.epoch_max(), &mut report)?;
    check_whole(storage, &inventory, key, superblock.epoch_max(), &mut report)?;
    Ok(report)
}

fn check_checkpoints(
    storage: &impl Storage,
    inventory: &Inventory,
    key: Key,
    report: &mut CheckReport,
) -> Result<(), LogError> {
    for position in &inventory.checkpoints {
        match read_with_postings(storage, inventory, *position, key)? {
            Ok(_) => report.checkpoints.push(*position),
            Err(what) => {
                report.damage(format!("Checkpoint `{}` is damaged: {what}.", names::checkpoint(*position)));
            }
        }
    }
    Ok(())
}

fn check_postings(
    storage: &impl Storage,
    inventory: &Inventory,
    key: Key,
    report: &mut CheckReport,
) -> Result<(), LogError> {
    for number in &inventory.postings {
        let name = names::posting(*number);
        let file = storage.open(&name).map_err(LogError::io("open a posting file"))?;
        match posting::verify(&file, *number, key).map_err(LogError::io("read a posting file"))? {
            Ok(_) => report.posting_count += 1,
            Err(what) => report.damage(format!("Posting file `{name}` is damaged: {what}.")),
        }
    }
    Ok(())
}

/// Checks each segment by itself, and that it continues the one before it.
fn check_segments<S: Storage>(
    storage: &S,
    inventory: &Inventory,
    key: Key,
    epoch: u64,
    report: &mut CheckReport,
) -> Result<(), LogError> {
    report.segment_count = inventory.segments.len() as u64;
    let mut previous: Option<Seal> = None;
    for number in &inventory.segments {
        let found = Found::open(storage, *number, key)?;
        let before = previous.take().filter(|seal| seal.segment + 1 == *number);
        let expected = Expected {
            epoch_min: before.map_or(0, |seal| seal.epoch),
            epoch_max: epoch,
            sequence: before.map(|seal| seal.next_sequence()),
        };
        match found.mark() {
            Ok(SealMark::Sealed(seal)) => {
                check_sealed(&found, &seal, key, expected, report)?;
                previous = Some(seal);
            }
            Ok(mark) => check_open(&found, mark, key, expected, report)?,
            Err(error @ LogError::Corrupt { .. }) => report.damage(format!("{error}.")),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn check_sealed<F: StorageFile>(
    found: &Found<F>,
    seal: &Seal,
    key: Key,
    expected: Expected,
    report: &mut CheckReport,
) -> Result<(), LogError> {
    let (number, before) = (found.number, report.record_count);
    if expected.sequence.is_some_and(|sequence| sequence != seal.first_sequence) {
        report.damage(format!("Segment {number} does not continue the records of the segment before it."));
    }
    let expected = Expected { sequence: Some(seal.first_sequence), ..expected };
    let mut walk = Walk::new(key, number, HEAD_BYTES, u64::from(seal.end), expected);
    loop {
        let offset = walk.offset();
        match walk.next(&found.file).map_err(LogError::io("read a segment"))? {
            Step::Frame(header, payload) => {
                count_frame(Position::new(number, offset), &header, &payload, key, report);
            }
            Step::Limit => break,
            Step::Fault(fault) => {
                report.damage(format!("Segment {number} is damaged at byte {offset}: {}.", fault.what()));
                return Ok(());
            }
        }
    }
    let counted = report.record_count - before;
    if counted != seal.record_count {
        let sealed = seal.record_count;
        report.damage(format!("Segment {number} holds {counted} records, but its seal says {sealed}."));
    }
    Ok(())
}

fn check_open<F: StorageFile>(
    found: &Found<F>,
    mark: SealMark,
    key: Key,
    expected: Expected,
    report: &mut CheckReport,
) -> Result<(), LogError> {
    let number = found.number;
    let tail = measure(found, key, expected)?;
    let mut walk = Walk::new(key, number, HEAD_BYTES, u64::from(tail.end), expected);
    while walk.offset() < tail.end {
        let at = Position::new(number, walk.offset());
        if let Step::Frame(header, payload) =
            walk.next(&found.file).map_err(LogError::io("read a segment"))?
        {
            count_frame(at, &header, &payload, key, report);
        }
    }
    let (end, what) = (tail.end, tail.fault.what());
    match tail.body {
        Body::Valid => {}
        Body::Torn => report.note(format!(
            "Segment {number} ends at byte {end} in a write that was interrupted; the next start cuts it off."
        )),
        Body::Corrupt => report.damage(format!("Segment {number} is damaged at byte {end}: {what}.")),
    }
    if mark == SealMark::Damaged {
        report.note(format!(
            "The seal of segment {number}, at byte {SEAL_OFFSET}, was interrupted or is damaged."
        ));
    }
    Ok(())
}

fn count_frame(at: Position, header: &FrameHeader, payload: &[u8], key: Key, report: &mut CheckReport) {
    report.frame_count += 1;
    report.frame_bytes += u64::from(header.frame_bytes());
    let mut counted = 0;
    for record in Records::new(payload, at) {
        match record {
            Ok(record) if verify_record(record.header, record.data, record.position, key) => counted += 1,
            Ok(record) => {
                report.damage(format!("The record at {} does not match its checksum.", record.position));
            }
            Err(fault) => report.damage(format!("The frame at {at} is malformed: {}.", fault.what())),
        }
    }
    report.record_count += u64::from(counted);
    if counted != header.record_count {
        let expected = header.record_count;
        report.damage(format!("The frame at {at} holds {counted} good records of {expected}."));
    }
}

/// What the next start would say to all of it together.
fn check_whole(
    storage: &impl Storage,
    inventory: &Inventory,
    key: Key,
    epoch: u64,
    report: &mut CheckReport,
) -> Result<(), LogError> {
    match survey(storage, inventory, key, epoch, 0) {
        Ok(survey) => {
            report.tail = Some(Position::new(survey.active.number, survey.tail.end));
            let unused = inventory.postings.iter().filter(|number| !survey.needs_posting(**number)).count();
            if unused > 0 {
                report.note(format!(
                    "The next start removes {unused} posting files that no checkpoint refers to."
                ));
            }
        }
        Err(error @ (LogError::Corrupt { .. } | LogError::CorruptFile { .. })) => {
            report.damage(format!("The next start will fail: {error}."));
        }
        Err(error) => return Err(error),
    }
    if !inventory.temporary.is_empty() {
        let names = inventory.temporary.join("`, `");
        report.note(format!("The next start removes what unfinished operations left: `{names}`."));
    }
    Ok(())
}
