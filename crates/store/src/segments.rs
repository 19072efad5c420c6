//! How much of each log segment is still needed, and what to do about the rest.

use std::collections::BTreeMap;
use tidegate_log::Position;

/// Use of one segment by stored messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentUse {
    /// Message records written into it.
    pub messages: u64,
    /// Their bytes.
    pub message_bytes: u64,
    /// How many of them still hold a stored message.
    pub live: u64,
}

impl SegmentUse {
    /// Bytes of records that still hold a stored message; an estimate from the average.
    pub fn live_bytes(&self) -> u64 {
        self.message_bytes.saturating_mul(self.live).checked_div(self.messages).unwrap_or(0)
    }
}

/// The use of every segment that holds or held messages.
#[derive(Clone, Debug, Default)]
pub struct Segments(BTreeMap<u32, SegmentUse>);

/// A sealed segment with less than this share of live bytes is emptied: freeing a segment then costs at most so
/// much of a segment in writes.
const SPARSE_PERCENT: u64 = 30;

/// What is worth doing about old segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReclaimPlan {
    /// Segments without live messages: their files can be reused.
    pub dead: Vec<u32>,
    /// The segment with the least live bytes, if it is sparse: its messages are to be written anew.
    pub sparse: Option<u32>,
}

impl Segments {
    /// Every segment that is known, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, SegmentUse)> {
        self.0.iter().map(|(number, usage)| (*number, *usage))
    }

    pub(crate) fn add(&mut self, position: Position, bytes: u64) {
        let usage = self.0.entry(position.segment()).or_default();
        usage.messages += 1;
        usage.message_bytes += bytes;
        usage.live += 1;
    }

    pub(crate) fn release(&mut self, position: Position) {
        self.release_many(position.segment(), 1);
    }

    /// Releases so many messages of a segment.
    pub(crate) fn release_many(&mut self, segment: u32, count: u64) {
        let usage = self.0.get_mut(&segment).expect("a live message's segment is known");
        usage.live = usage.live.checked_sub(count).expect("a message is released once");
    }

    /// Forgets segments without live messages: they may be gone already.
    pub(crate) fn forget_dead(&mut self) {
        self.0.retain(|_, usage| usage.live > 0);
    }

    pub(crate) fn forget(&mut self, number: u32) {
        self.0.remove(&number);
    }

    /// Decides on the segments before `checkpoint`; later ones are needed for recovery. `present` lists the
    /// sealed segments with the bytes they take.
    ///
    /// The counts must be a copy that was taken between two frames, is not used before everything up to then is
    /// durable, and is not older than `checkpoint`: a segment is dead for good only once the deletes and moves that
    /// emptied it cannot be lost, and one of which the counts know nothing passes for dead.
    pub fn plan(&self, present: impl IntoIterator<Item = (u32, u64)>, checkpoint: Position) -> ReclaimPlan {
        let mut plan = ReclaimPlan::default();
        let mut fewest = u64::MAX;
        for (number, bytes) in present.into_iter().filter(|(number, _)| *number < checkpoint.segment()) {
            let usage = self.0.get(&number).copied().unwrap_or_default();
            if usage.live == 0 {
                plan.dead.push(number);
            } else if usage.live_bytes() * 100 < bytes * SPARSE_PERCENT && usage.live_bytes() < fewest {
                fewest = usage.live_bytes();
                plan.sparse = Some(number);
            }
        }
        plan
    }
}

impl FromIterator<(u32, SegmentUse)> for Segments {
    fn from_iter<I: IntoIterator<Item = (u32, SegmentUse)>>(uses: I) -> Self {
        Segments(uses.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_segments_before_the_checkpoint_are_reused_and_the_sparsest_is_emptied() {
        let usage = |messages, live| SegmentUse { messages, message_bytes: messages * 100, live };
        let segments: Segments =
            [(1, usage(10, 0)), (2, usage(10, 2)), (3, usage(10, 1)), (4, usage(10, 9)), (6, usage(10, 0))]
                .into_iter()
                .collect();
        let present = (1..=7).map(|number| (number, 1_000));
        let plan = segments.plan(present, Position::new(6, 0));
        assert_eq!(plan, ReclaimPlan { dead: vec![1, 5], sparse: Some(3) });
    }
}
