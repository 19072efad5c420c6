//! How a move task stands, as one byte. Values never change their meaning.

use super::DecodeError;
use tidegate_engine::{MoveTaskFailure, MoveTaskOutcome};

pub(crate) fn tag(outcome: Option<MoveTaskOutcome>) -> u8 {
    match outcome {
        None => 0,
        Some(MoveTaskOutcome::Completed) => 1,
        Some(MoveTaskOutcome::Cancelled) => 2,
        Some(MoveTaskOutcome::Failed(MoveTaskFailure::DestinationMissing)) => 3,
        Some(MoveTaskOutcome::Failed(MoveTaskFailure::SourceUnknown)) => 4,
        Some(MoveTaskOutcome::Failed(MoveTaskFailure::TimedOut)) => 5,
    }
}

/// How it ended; `None` while it runs.
pub(crate) fn outcome(tag: u8) -> Result<Option<MoveTaskOutcome>, DecodeError> {
    Ok(match tag {
        0 => None,
        1 => Some(MoveTaskOutcome::Completed),
        2 => Some(MoveTaskOutcome::Cancelled),
        3 => Some(MoveTaskOutcome::Failed(MoveTaskFailure::DestinationMissing)),
        4 => Some(MoveTaskOutcome::Failed(MoveTaskFailure::SourceUnknown)),
        5 => Some(MoveTaskOutcome::Failed(MoveTaskFailure::TimedOut)),
        tag => return Err(DecodeError::UnknownTag { what: "the state of a move task", tag: tag.into() }),
    })
}
