//! Instants as the engine sees them: milliseconds handed in by the caller, never read from a clock.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// An instant in milliseconds since the Unix epoch.
///
/// The caller of the engine promises that the instants it passes never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch; earlier than any instant the engine meets.
    pub const ZERO: Timestamp = Timestamp(0);
    /// Later than any instant the engine meets.
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Timestamp(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// Time passed since `earlier`; zero when `earlier` lies ahead.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// So long before; `None` before the epoch.
    pub fn before(self, duration: Duration) -> Option<Timestamp> {
        self.0.checked_sub(u64::try_from(duration.as_millis()).ok()?).map(Timestamp)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A [`Timestamp`] in six bytes, for what there is a lot of: instants up to the year 10,889, later ones count as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortTimestamp([u16; 3]);

impl From<Timestamp> for ShortTimestamp {
    fn from(at: Timestamp) -> Self {
        let millis = at.as_millis().min((1 << 48) - 1);
        ShortTimestamp([0, 16, 32].map(|shift| (millis >> shift) as u16))
    }
}

impl From<ShortTimestamp> for Timestamp {
    fn from(ShortTimestamp([low, middle, high]): ShortTimestamp) -> Self {
        Timestamp(u64::from(low) | u64::from(middle) << 16 | u64::from(high) << 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_timestamps_are_exact_for_thousands_of_years() {
        let last = (1 << 48) - 1;
        for millis in [0, 1, 0xffff, 0x1_0000, 1_790_000_000_123, 0xffff_0000_ffff, last] {
            let at = Timestamp::from_millis(millis);
            assert_eq!(Timestamp::from(ShortTimestamp::from(at)), at);
        }
        assert_eq!(Timestamp::from(ShortTimestamp::from(Timestamp::MAX)).as_millis(), last);
    }
}
