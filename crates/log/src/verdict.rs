//! The recovery table: what is done with a segment, by what is found of it.

use crate::segment::SealMark;

/// What stands where the frames should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Good frames up to a place where nothing was written, or where the seal says that they end.
    Valid,
    /// Good frames, then something else, and nothing that shows that this place had ever been durable.
    Torn,
    /// A bad frame where a good one was known to be durable.
    Corrupt,
}

/// What stands where the seal should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Sealed,
    Open,
    Damaged,
}

impl From<SealMark> for Mark {
    fn from(mark: SealMark) -> Self {
        match mark {
            SealMark::Sealed(_) => Self::Sealed,
            SealMark::Open => Self::Open,
            SealMark::Damaged => Self::Damaged,
        }
    }
}

/// Where the segment stands among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A later segment holds frames, or this one is sealed and the next one is there to take them.
    Before,
    /// No later segment was ever written to.
    Last,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Use all of it.
    Keep,
    /// Use it up to the last good frame; the next append overwrites the rest.
    Cut,
    /// Report it and change nothing.
    Refuse,
}

/// Decides. See `docs/log-format.md` for the reasons, row by row.
pub(crate) fn judge(body: Body, mark: Mark, place: Place) -> Verdict {
    match (mark, place, body) {
        // A seal is written only after the frames are durable.
        (Mark::Sealed, _, Body::Valid) => Verdict::Keep,
        (Mark::Sealed, _, Body::Torn | Body::Corrupt) => Verdict::Refuse,
        // A later segment is written to only after the seal is durable.
        (Mark::Open | Mark::Damaged, Place::Before, _) => Verdict::Refuse,
        // The one place where a write can have been interrupted. A damaged seal here is an interrupted sealing.
        (Mark::Open | Mark::Damaged, Place::Last, Body::Valid) => Verdict::Keep,
        (Mark::Open | Mark::Damaged, Place::Last, Body::Torn) => Verdict::Cut,
        (Mark::Open | Mark::Damaged, Place::Last, Body::Corrupt) => Verdict::Refuse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row per combination, so that none is decided by accident.
    const TABLE: [(Mark, Place, Body, Verdict); 18] = {
        use Body::{Corrupt, Torn, Valid};
        use Mark::{Damaged, Open, Sealed};
        use Place::{Before, Last};
        use Verdict::{Cut, Keep, Refuse};
        [
            (Sealed, Before, Valid, Keep),
            (Sealed, Before, Torn, Refuse),
            (Sealed, Before, Corrupt, Refuse),
            (Sealed, Last, Valid, Keep),
            (Sealed, Last, Torn, Refuse),
            (Sealed, Last, Corrupt, Refuse),
            (Open, Before, Valid, Refuse),
            (Open, Before, Torn, Refuse),
            (Open, Before, Corrupt, Refuse),
            (Open, Last, Valid, Keep),
            (Open, Last, Torn, Cut),
            (Open, Last, Corrupt, Refuse),
            (Damaged, Before, Valid, Refuse),
            (Damaged, Before, Torn, Refuse),
            (Damaged, Before, Corrupt, Refuse),
            (Damaged, Last, Valid, Keep),
            (Damaged, Last, Torn, Cut),
            (Damaged, Last, Corrupt, Refuse),
        ]
    };

    #[test]
    fn follows_the_table() {
        for (mark, place, body, verdict) in TABLE {
            assert_eq!(judge(body, mark, place), verdict, "{mark:?}, {place:?}, {body:?}");
        }
    }

    #[test]
    fn table_is_total() {
        for mark in [Mark::Sealed, Mark::Open, Mark::Damaged] {
            for place in [Place::Before, Place::Last] {
                for body in [Body::Valid, Body::Torn, Body::Corrupt] {
                    let rows = TABLE.iter().filter(|row| (row.0, row.1, row.2) == (mark, place, body));
                    assert_eq!(rows.count(), 1, "{mark:?}, {place:?}, {body:?}");
                }
            }
        }
    }
}
