//! How fast a redrive goes.

use std::time::Duration;
use tokio::time::Instant;

/// Messages that are moved in one turn of the engine, so that others have theirs.
const TURN_MAX: u32 = 100;
/// Turns of a redrive with a rate in one second, so that messages come evenly.
const TURNS_A_SECOND: u32 = 10;

/// Counts what was moved against the time that passed.
pub(super) struct Pace {
    /// Messages a second; `None` goes as fast as the queue takes them.
    rate: Option<u32>,
    /// When the next turn may begin.
    next: Instant,
}

impl Pace {
    pub(super) fn new(rate: Option<u32>) -> Self {
        Pace { rate, next: Instant::now() }
    }

    /// Messages of the next turn.
    pub(super) fn turn(&self) -> usize {
        let turn = self.rate.map_or(TURN_MAX, |rate| rate.div_ceil(TURNS_A_SECOND).min(TURN_MAX));
        turn as usize
    }

    /// When the turn that moves so many may begin. Time that was not used is not made up for.
    pub(super) fn begin(&mut self, count: usize) -> Instant {
        let at = self.next.max(Instant::now());
        let cost =
            self.rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(count as f64 / f64::from(rate)));
        self.next = at + cost;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_small_and_as_many_as_the_rate_allows() {
        for (rate, turn) in [(None, 100), (Some(1), 1), (Some(10), 1), (Some(11), 2), (Some(500), 50)] {
            assert_eq!(Pace::new(rate).turn(), turn, "{rate:?}");
        }
        let mut pace = Pace::new(Some(500));
        let first = pace.begin(50);
        for turn in 1..10 {
            assert!(pace.begin(50) >= first + Duration::from_millis(100) * turn);
        }
        let mut pace = Pace::new(None);
        assert_eq!(pace.begin(100).max(pace.next), pace.next, "without a rate nothing waits");
    }
}
