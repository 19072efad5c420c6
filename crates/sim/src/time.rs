//! Time as it passes in the simulated world, and the clocks that are read there.

use std::fmt;
use std::time::Duration;
use tidegate_engine::Timestamp;

/// Milliseconds since the world began. It never jumps; nobody in the world but its timers can read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    pub(crate) fn after(self, millis: u64) -> Moment {
        Moment(self.0 + millis)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>6}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// The day on which every world begins, at no round second.
const START: u64 = 1_790_000_000_123;

/// The system clock of the machine, which somebody sets now and then.
#[derive(Debug, Default)]
pub(crate) struct SystemClock {
    /// Milliseconds by which it is wrong.
    error: i64,
}

impl SystemClock {
    pub(crate) fn set(&mut self, by: i64) {
        self.error += by;
    }

    pub(crate) fn read(&self, moment: Moment) -> Timestamp {
        Timestamp::from_millis((START + moment.0).saturating_add_signed(self.error))
    }
}

/// The time that a server tells its engine: it follows the system clock forward, and goes on at its own pace while that
/// is behind. The same rule as that of the server's clock.
#[derive(Debug)]
pub(crate) struct ServerClock {
    last: Timestamp,
    read_at: Moment,
}

impl ServerClock {
    pub(crate) fn start(earliest: Timestamp, system: &SystemClock, moment: Moment) -> Self {
        ServerClock { last: earliest.max(system.read(moment)), read_at: moment }
    }

    pub(crate) fn now(&mut self, system: &SystemClock, moment: Moment) -> Timestamp {
        let paced = self.last + Duration::from_millis(moment.0 - self.read_at.0);
        self.last = paced.max(system.read(moment));
        self.read_at = moment;
        self.last
    }
}
