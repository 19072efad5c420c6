//! How much memory a shard may take for what it can also read back.

/// A bound on what is kept in memory although it is on the disk as well, and the shares of those who keep it.
///
/// | kept | share |
/// |---|---|
/// | written out runs of backlogs, some four bytes a message | a quarter, at most 256 MiB |
/// | the newest frames of the log, which receivers mostly ask for | a quarter, at most 8 MiB |
///
/// What cannot be shed is not bounded by it: messages in flight, delayed or returned, those of tenants and of FIFO
/// queues, queues themselves, connections, and of each backlog the next few thousand messages and the newest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBudget {
    bytes: u64,
}

/// Least memory that runs of backlogs get before those that were changed are written out anew: a checkpoint for less
/// would cost more than it frees.
const CHANGED_BYTES_MIN: usize = 16 << 20;

/// More would save next to nothing: reading a run back costs little, and it serves thousands of receives.
const BACKLOG_BYTES_MAX: usize = 256 << 20;
/// Frames that are kept at most: some hundredths of a second of the highest rate, after which few ask for them.
const RECENT_BYTES_MAX: usize = 8 << 20;

impl MemoryBudget {
    /// A budget of so many bytes; with 0 nothing is kept that need not be.
    pub const fn of(bytes: u64) -> Self {
        MemoryBudget { bytes }
    }

    /// As much as is of use.
    pub const UNLIMITED: MemoryBudget = MemoryBudget::of(u64::MAX);

    /// Bytes for runs of backlogs that are written out.
    pub(crate) fn backlog_bytes(self) -> usize {
        usize::try_from(self.bytes / 4).unwrap_or(usize::MAX).min(BACKLOG_BYTES_MAX)
    }

    /// Bytes for the newest frames of the log.
    pub fn recent_bytes(self) -> usize {
        usize::try_from(self.bytes / 4).unwrap_or(usize::MAX).min(RECENT_BYTES_MAX)
    }

    /// Bytes by which runs that are not written out may grow before a checkpoint is due that writes them.
    pub(crate) fn changed_bytes(self) -> usize {
        (self.backlog_bytes() / 2).max(CHANGED_BYTES_MIN)
    }
}
