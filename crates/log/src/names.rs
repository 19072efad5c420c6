//! Names of the files in a log's directory.

use crate::Position;

/// The superblock.
pub(crate) const SUPERBLOCK: &str = "superblock";
/// Space that is given up so that a checkpoint can be written on a full disk.
pub(crate) const RESERVE: &str = "reserve";

/// A name of ours, understood. Hexadecimal digits, so that names sort as numbers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// `0000002a.seg`
    Segment(u32),
    /// `0000002a.free`: was segment 42, now space to be reused.
    Free(u32),
    /// `checkpoint-0000002a00001000`
    Checkpoint(Position),
    /// `0000002a.post`
    Posting(u32),
    /// `….tmp`: half of an unfinished replacement, or a segment being created.
    Temporary,
}

impl Name {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if name.ends_with(".tmp") {
            return Some(Self::Temporary);
        }
        if let Some(digits) = name.strip_prefix("checkpoint-") {
            return hex(digits, 16).map(|packed| Self::Checkpoint(Position::from(packed)));
        }
        let (digits, kind) = name.split_once('.')?;
        let number = hex(digits, 8)? as u32;
        match kind {
            "seg" => Some(Self::Segment(number)),
            "free" => Some(Self::Free(number)),
            "post" => Some(Self::Posting(number)),
            _ => None,
        }
    }
}

/// Exactly `digits` lower-case hexadecimal digits, so that every file has one name.
fn hex(text: &str, digits: usize) -> Option<u64> {
    let valid = text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if valid { u64::from_str_radix(text, 16).ok() } else { None }
}

pub(crate) fn segment(number: u32) -> String {
    format!("{number:08x}.seg")
}

pub(crate) fn free(number: u32) -> String {
    format!("{number:08x}.free")
}

pub(crate) fn posting(number: u32) -> String {
    format!("{number:08x}.post")
}

/// A segment that is being created and has no number to be found by yet.
pub(crate) fn unborn(number: u32) -> String {
    format!("{number:08x}.seg.tmp")
}

pub(crate) fn checkpoint(position: Position) -> String {
    format!("checkpoint-{:016x}", u64::from(position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let position = Position::new(42, 4_096);
        assert_eq!(Name::parse(&segment(42)), Some(Name::Segment(42)));
        assert_eq!(Name::parse(&free(42)), Some(Name::Free(42)));
        assert_eq!(Name::parse(&checkpoint(position)), Some(Name::Checkpoint(position)));
        assert_eq!(Name::parse(&posting(42)), Some(Name::Posting(42)));
        assert_eq!(Name::parse(&unborn(42)), Some(Name::Temporary));
        for foreign in
            ["superblock", "lock", "notes.seg", "2a.seg", "0000002A.seg", "checkpoint-1", "0000002a.sег"]
        {
            assert_eq!(Name::parse(foreign), None, "{foreign}");
        }
    }
}
