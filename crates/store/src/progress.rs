//! How far a recovery is.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a recovery is; other threads may look at it meanwhile.
#[derive(Debug, Default)]
pub struct Progress {
    bytes_total: AtomicU64,
    bytes: AtomicU64,
    records: AtomicU64,
}

/// The state of a [`Progress`] at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progressed {
    /// Bytes that there are to take over: the checkpoint, and the log after it. 0 until the directory is surveyed.
    pub bytes_total: u64,
    /// Bytes taken over.
    pub bytes: u64,
    /// Records of the log taken over.
    pub records: u64,
}

impl Progress {
    /// How far it is now.
    pub fn look(&self) -> Progressed {
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        // The part before the whole: it must not be seen to exceed it.
        let (records, bytes) = (load(&self.records), load(&self.bytes));
        Progressed { bytes_total: load(&self.bytes_total).max(bytes), bytes, records }
    }

    pub(crate) fn expect(&self, bytes: u64) {
        self.bytes_total.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64, records: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
    }
}

impl Progressed {
    /// Whole percent, 0 while the whole is not known.
    pub fn percent(&self) -> u64 {
        (u128::from(self.bytes) * 100).checked_div(self.bytes_total.into()).unwrap_or(0) as u64
    }
}

impl fmt::Display for Progressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes >> 20;
        let (percent, bytes, total) = (self.percent(), mib(self.bytes), mib(self.bytes_total));
        write!(f, "{percent} % ({bytes} of {total} MiB, {} records)", self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_is_whole_and_never_beyond_a_hundred() {
        let progress = Progress::default();
        assert_eq!(progress.look().percent(), 0, "nothing is known yet");
        progress.expect(300);
        progress.add(100, 3);
        assert_eq!(progress.look(), Progressed { bytes_total: 300, bytes: 100, records: 3 });
        assert_eq!(progress.look().percent(), 33);
        progress.add(400, 1);
        assert_eq!(progress.look().percent(), 100);
        let huge = Progressed { bytes_total: u64::MAX, bytes: u64::MAX / 2, records: 0 };
        assert_eq!(huge.percent(), 49);
        let half = Progressed { bytes_total: 7 << 20, bytes: (7 << 20) / 2, records: 12 };
        assert_eq!(half.to_string(), "50 % (3 of 7 MiB, 12 records)");
    }
}
