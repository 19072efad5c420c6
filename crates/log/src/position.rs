//! Where a record lies.

use std::fmt;

/// A place in the log: segment number in the upper 32 bits, byte offset in that segment's file in the lower 32.
///
/// Positions grow with every append, within and across segments, and are never given out twice for different
/// acknowledged data. The position of a *record* is that of its record header; the position of a *frame* (what
/// checkpoints and [`Reader::scan`](crate::Reader::scan) speak of) is that of its frame header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(u64);

impl Position {
    /// The place `offset` bytes into segment `segment`.
    #[must_use]
    pub const fn new(segment: u32, offset: u32) -> Self {
        Self((segment as u64) << 32 | offset as u64)
    }

    /// Before everything in `segment`. As the end of a scan it excludes that segment, as the start it means the
    /// segment's first frame.
    #[must_use]
    pub const fn segment_start(segment: u32) -> Self {
        Self::new(segment, 0)
    }

    /// Number of the segment. Segments are counted from 1.
    #[must_use]
    pub const fn segment(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Offset in bytes from the start of the segment's file.
    #[must_use]
    pub const fn offset(self) -> u32 {
        self.0 as u32
    }
}

impl From<u64> for Position {
    fn from(packed: u64) -> Self {
        Self(packed)
    }
}

impl From<Position> for u64 {
    fn from(position: Position) -> Self {
        position.0
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.segment(), self.offset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_and_orders() {
        let position = Position::new(7, 4_144);
        assert_eq!((position.segment(), position.offset()), (7, 4_144));
        assert_eq!(Position::from(u64::from(position)), position);
        assert_eq!(u64::from(position), 7 << 32 | 4_144);
        assert!(Position::new(7, u32::MAX) < Position::new(8, 0));
        assert_eq!(position.to_string(), "7:4144");
    }
}
