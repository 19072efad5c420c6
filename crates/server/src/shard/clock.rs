//! The time that the engine is told: milliseconds that never go back, whatever the system clock does.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tidegate_engine::Timestamp;

/// Follows the system clock forward. While that clock is behind (it was set back, or the newest event was
/// stored under a clock that ran ahead), time goes on at the pace of the monotonic clock.
pub(crate) struct Clock {
    last: Timestamp,
    read_at: Instant,
}

impl Clock {
    /// A clock that starts at the system's time, but not before `earliest`.
    pub(crate) fn start(earliest: Timestamp) -> Self {
        Clock { last: earliest.max(system_time()), read_at: Instant::now() }
    }

    pub(crate) fn now(&mut self) -> Timestamp {
        self.tick(system_time(), Instant::now())
    }

    fn tick(&mut self, system: Timestamp, monotonic: Instant) -> Timestamp {
        let passed = Duration::from_millis(monotonic.duration_since(self.read_at).as_millis() as u64);
        let paced = self.last + passed;
        self.last = paced.max(system);
        // Only whole milliseconds were used up, so that frequent reads do not slow time down.
        self.read_at += passed;
        self.last
    }
}

/// The system's time; the epoch itself on a machine whose clock stands before it.
pub(crate) fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_the_system_forward_and_never_back() {
        let start = Instant::now();
        let at = |millis| Timestamp::from_millis(millis);
        let later = |millis| start + Duration::from_millis(millis);
        let mut clock = Clock { last: at(1_000), read_at: start };
        assert_eq!(clock.tick(at(1_010), later(10)), at(1_010));
        assert_eq!(clock.tick(at(500), later(30)), at(1_030), "set back: the monotonic pace goes on");
        assert_eq!(clock.tick(at(9_000), later(31)), at(9_000), "set forward: followed");
        assert_eq!(clock.tick(at(8_000), later(31)), at(9_000));
    }

    #[test]
    fn reading_often_does_not_slow_time_down() {
        let start = Instant::now();
        let mut clock = Clock { last: Timestamp::from_millis(0), read_at: start };
        for step in 1..=10_000 {
            clock.tick(Timestamp::ZERO, start + Duration::from_micros(step * 100));
        }
        assert_eq!(clock.last, Timestamp::from_millis(1_000));
    }
}
