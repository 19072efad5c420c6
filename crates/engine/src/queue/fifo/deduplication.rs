//! The deduplication ids of the last five minutes.

use crate::queue::ordered::Ordered;
use crate::queue::row::Row;
use crate::{MessageId, MessageSeq, Timestamp, limits};

/// An accepted message whose repetition is a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The hash of its `MessageDeduplicationId`, under the key of [`Config`](crate::Config).
    pub id_hash: [u8; 16],
    /// The hash of its group's name, likewise.
    pub group_hash: u64,
    /// When it was accepted; duplicates do not prolong the interval.
    pub sent_at: Timestamp,
    /// What the answer to a duplicate repeats.
    pub message_id: MessageId,
    /// The same, as the sequence number.
    pub seq: MessageSeq,
}

/// Parts of both hashes, and the place in the row of what they stand for.
///
/// Who looks for an id in any group finds all its entries side by side, who looks in one group only those of that group.
type IndexEntry = ((u32, u32), u32);

/// Ids outlive their messages: what was received and deleted still has duplicates.
#[derive(Debug, Default)]
pub(super) struct Deduplication {
    /// In the order in which they are forgotten.
    row: Row<Remembered>,
    index: Ordered<IndexEntry>,
}

impl Remembered {
    fn index_entry(&self, number: u32) -> IndexEntry {
        ((short(&self.id_hash), self.group_hash as u32), number)
    }
}

fn short(id_hash: &[u8; 16]) -> u32 {
    let [a, b, c, d, ..] = *id_hash;
    u32::from_le_bytes([a, b, c, d])
}

impl Deduplication {
    /// The message that one with this id would repeat: the first one that was accepted of those with the id, in any group
    /// or in its own.
    pub(super) fn find(&self, id_hash: &[u8; 16], group_hash: Option<u64>) -> Option<&Remembered> {
        let id = short(id_hash);
        let from = ((id, group_hash.unwrap_or(0) as u32), 0);
        let is_near = |((other, group), _): &&IndexEntry| {
            *other == id && group_hash.is_none_or(|hash| hash as u32 == *group)
        };
        // Nearly always there is nothing near, and a single look tells.
        self.index.first_from(from).filter(is_near)?;
        let near = self.index.from(from).take_while(is_near);
        let near = near.map(|(_, number)| self.row.get(*number).expect("the index lists what there is"));
        let same = near.filter(|known| {
            known.id_hash == *id_hash && group_hash.is_none_or(|group| group == known.group_hash)
        });
        same.min_by_key(|known| known.seq)
    }

    pub(super) fn remember(&mut self, accepted: Remembered) {
        let number = self.row.push(accepted);
        self.index.insert(accepted.index_entry(number));
    }

    pub(super) fn forget_expired(&mut self, now: Timestamp) {
        while self.next_end().is_some_and(|end| end <= now)
            && let Some((number, forgotten)) = self.row.pop_first()
        {
            let listed = self.index.remove(forgotten.index_entry(number));
            assert!(listed.is_some(), "the index lists what there is");
        }
    }

    /// When the next id is forgotten.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.row.first().map(|known| known.sent_at + limits::DEDUPLICATION_INTERVAL)
    }

    /// Everything remembered, oldest first.
    pub(super) fn to_vec(&self) -> Vec<Remembered> {
        self.row.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes of which the index tells nothing apart but the first bytes of the id.
    fn accepted(seq: u64, id: u8, group: u64) -> Remembered {
        let mut id_hash = [7; 16];
        id_hash[15] = id;
        Remembered {
            id_hash,
            group_hash: group << 32 | 9,
            sent_at: Timestamp::from_millis(seq),
            message_id: MessageId([id; 16]),
            seq: MessageSeq(seq),
        }
    }

    #[test]
    fn hashes_that_share_their_place_in_the_index_are_told_apart() {
        let mut memory = Deduplication::default();
        // Three ids, in four groups one after the other.
        (0..12).for_each(|n| memory.remember(accepted(n, n as u8 % 3, n / 3)));
        let find = |memory: &Deduplication, id, group: Option<u64>| {
            let sought = accepted(0, id, group.unwrap_or(0));
            memory.find(&sought.id_hash, group.map(|_| sought.group_hash)).map(|known| known.seq.0)
        };
        for id in 0..3 {
            assert_eq!(find(&memory, id, None), Some(u64::from(id)), "the oldest");
            (0..4).for_each(|g| assert_eq!(find(&memory, id, Some(g)), Some(u64::from(id) + 3 * g)));
            assert_eq!(find(&memory, id, Some(4)), None);
        }
        assert_eq!(find(&memory, 3, None), None);
        memory.forget_expired(Timestamp::from_millis(3) + limits::DEDUPLICATION_INTERVAL);
        assert_eq!([0, 1, 2].map(|id| find(&memory, id, None)), [Some(6), Some(4), Some(5)]);
        assert_eq!([0, 1].map(|id| find(&memory, id, Some(1))), [None, Some(4)]);
    }
}
