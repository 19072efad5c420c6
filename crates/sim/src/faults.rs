//! The fault model.
//!
//! What may go wrong in a world, and what may not. Every run draws from its seed which of these kinds it has, how often
//! and when. All of them may come at the same time.
//!
//! **The machine.** The power may fail at any moment and at any operation on the disk, those of recovery included. What was
//! not synced is then lost, kept, cut at some byte or reduced to some of its 512-byte sectors, each write by itself, and
//! of changes to the directory any subset may be left. The process alone may die as well; then all that was written is
//! there. The process may be paused for a while, its timers and its keeper with it. The system clock may be set forward
//! and back, by milliseconds or by hours.
//!
//! **The disk.** An operation may fail, a write may put down only its first bytes, an fsync may fail. The disk may be full for a
//! while, and slow for a while. What was written may rot, be written over by a write that was meant for elsewhere, or become
//! unreadable, in one place or in several: in every file but the segment that is written now and the superblock. Such damage stays until the
//! place is written anew. It must never be served as something that was sent. A start that meets it may refuse, and says so.
//!
//! Not among these: a disk that reports a write or an fsync as done and forgets it, and damage to the end of the segment that is
//! written now. A frame that is lost there is one that was never written, to whoever looks.
//!
//! **The network.** A request may be lost, or arrive twice, the second time much later. An answer may be lost. A caller may go
//! away while its receive waits. Requests of different clients arrive in any order.
//!
//! What is done about it is what an operator does: a process that ended is started again. When a start refuses for damage, and in the
//! end, the files are restored from a sound copy.

use std::fmt;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// The power fails.
    PowerLoss,
    /// The process is killed.
    ProcessDeath,
    /// The power fails during recovery.
    DeathInRecovery,
    /// An operation on the disk fails.
    FailedOperation,
    /// A write fails after its first bytes.
    ShortWrite,
    /// An fsync fails.
    FailedFsync,
    /// There is no room on the disk for a while.
    FullDisk,
    /// Writing takes long for a while.
    SlowDisk,
    /// A bit of what was written turns over.
    BitRot,
    /// A write lands where it was not meant to.
    StrayWrite,
    /// A place cannot be read any more.
    ReadError,
    /// The system clock is set forward.
    ClockForward,
    /// The system clock is set back.
    ClockBack,
    /// The process does nothing for a while.
    Pause,
    /// A request does not arrive.
    LostRequest,
    /// A request arrives twice.
    DuplicatedRequest,
    /// An answer does not arrive.
    LostAnswer,
    /// A caller goes away while its receive waits.
    VanishedCaller,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [FaultKind; 18] = [
        FaultKind::PowerLoss,
        FaultKind::ProcessDeath,
        FaultKind::DeathInRecovery,
        FaultKind::FailedOperation,
        FaultKind::ShortWrite,
        FaultKind::FailedFsync,
        FaultKind::FullDisk,
        FaultKind::SlowDisk,
        FaultKind::BitRot,
        FaultKind::StrayWrite,
        FaultKind::ReadError,
        FaultKind::ClockForward,
        FaultKind::ClockBack,
        FaultKind::Pause,
        FaultKind::LostRequest,
        FaultKind::DuplicatedRequest,
        FaultKind::LostAnswer,
        FaultKind::VanishedCaller,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::PowerLoss => "power-loss",
            FaultKind::ProcessDeath => "process-death",
            FaultKind::DeathInRecovery => "death-in-recovery",
            FaultKind::FailedOperation => "failed-operation",
            FaultKind::ShortWrite => "short-write",
            FaultKind::FailedFsync => "failed-fsync",
            FaultKind::FullDisk => "full-disk",
            FaultKind::SlowDisk => "slow-disk",
            FaultKind::BitRot => "bit-rot",
            FaultKind::StrayWrite => "stray-write",
            FaultKind::ReadError => "read-error",
            FaultKind::ClockForward => "clock-forward",
            FaultKind::ClockBack => "clock-back",
            FaultKind::Pause => "pause",
            FaultKind::LostRequest => "lost-request",
            FaultKind::DuplicatedRequest => "duplicated-request",
            FaultKind::LostAnswer => "lost-answer",
            FaultKind::VanishedCaller => "vanished-caller",
        }
    }

    /// Whether it damages what was written.
    pub(crate) fn is_damage(self) -> bool {
        matches!(self, FaultKind::BitRot | FaultKind::StrayWrite | FaultKind::ReadError)
    }

    /// Whether it befalls a request or an answer, rather than coming at a moment.
    pub(crate) fn is_of_network(self) -> bool {
        matches!(
            self,
            FaultKind::LostRequest
                | FaultKind::DuplicatedRequest
                | FaultKind::LostAnswer
                | FaultKind::VanishedCaller
        )
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
