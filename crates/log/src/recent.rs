//! The newest frames, kept in memory: most records are read soon after they were written.

use std::{
    collections::VecDeque,
    sync::{PoisonError, RwLock},
};

use bytes::Bytes;

use crate::Position;

/// A row of whole frames, the oldest of which goes when there are too many bytes.
///
/// Everything in it was appended before, so that it never tells more than a medium that is read.
pub(crate) struct RecentFrames {
    bytes_max: usize,
    row: RwLock<Row>,
}

#[derive(Default)]
struct Row {
    /// In the order of their positions.
    frames: VecDeque<(Position, Bytes)>,
    /// Their lengths together.
    bytes: usize,
}

impl RecentFrames {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, row: RwLock::default() }
    }

    /// Takes in the newest frame.
    pub(crate) fn push(&self, start: Position, frame: Bytes) {
        if frame.len() > self.bytes_max {
            return;
        }
        // Nothing panics while it holds the lock. What goes is freed after it.
        let mut gone = Vec::new();
        let mut row = self.row.write().unwrap_or_else(PoisonError::into_inner);
        row.bytes += frame.len();
        row.frames.push_back((start, frame));
        while row.bytes > self.bytes_max
            && let Some((_, oldest)) = row.frames.pop_front()
        {
            row.bytes -= oldest.len();
            gone.push(oldest);
        }
        drop(row);
    }

    /// The bytes of a frame from `position` on, if its frame is here.
    pub(crate) fn find(&self, position: Position) -> Option<Bytes> {
        let row = self.row.read().unwrap_or_else(PoisonError::into_inner);
        let after = row.frames.partition_point(|(start, _)| *start <= position);
        let (start, frame) = row.frames.get(after.checked_sub(1)?)?;
        if start.segment() != position.segment() {
            return None;
        }
        let offset = (position.offset() - start.offset()) as usize;
        (offset < frame.len()).then(|| frame.slice(offset..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_by_any_position_in_them_until_newer_ones_take_their_place() {
        let recent = RecentFrames::new(100);
        let at = |offset| Position::new(1, offset);
        recent.push(at(4_096), Bytes::from(vec![1; 40]));
        recent.push(at(4_136), Bytes::from(vec![2; 40]));
        recent.push(Position::new(2, 4_096), Bytes::from(vec![3; 16]));
        assert_eq!(recent.find(at(4_095)), None);
        assert_eq!(recent.find(at(4_100)).unwrap()[..], [1; 36]);
        assert_eq!(recent.find(at(4_136)).unwrap()[..], [2; 40]);
        assert_eq!(recent.find(at(4_176)), None, "behind the last frame of its segment");
        assert_eq!(recent.find(Position::new(2, 4_111)).unwrap()[..], [3; 1]);
        assert_eq!(recent.find(Position::new(2, 4_112)), None);

        recent.push(Position::new(2, 4_112), Bytes::from(vec![4; 10]));
        assert_eq!(recent.find(at(4_100)), None, "over the bound");
        assert!(recent.find(at(4_136)).is_some());
        recent.push(Position::new(2, 4_122), Bytes::from(vec![5; 101]));
        assert_eq!(recent.find(Position::new(2, 4_122)), None, "never over the bound by itself");
        assert!(recent.find(at(4_136)).is_some());
        recent.push(Position::new(3, 4_096), Bytes::from(vec![6; 101]));
        assert_eq!(recent.find(Position::new(3, 4_096)), None, "the frame before it is in another segment");
    }
}
