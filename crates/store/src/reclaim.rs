//! Emptying a sparse segment: its messages are offered to the engine, which stores anew those that still live.

use crate::codec;
use crate::recover::RecoverError;
use std::ops::ControlFlow;
use tidegate_engine::StoredMessage;
use tidegate_log::{Position, Reader, Storage};

/// Messages offered at once, and their bytes: what the owner thread copies in one turn.
const BATCH_MESSAGES: usize = 64;
const BATCH_BYTES: usize = 256 << 10;

/// A message read from an old segment, with where it was.
pub type Candidate = (tidegate_engine::Position, StoredMessage);

/// Reads all messages of a sealed segment, living or not, and hands them out in batches for
/// [`Command::Relocate`](tidegate_engine::Command::Relocate); `offer` may end it early.
///
/// # Errors
/// When a record cannot be read.
pub fn offer_messages<S: Storage>(
    reader: &Reader<S>,
    segment: u32,
    mut offer: impl FnMut(Vec<Candidate>) -> ControlFlow<()>,
) -> Result<(), RecoverError> {
    let (from, to) = (Position::segment_start(segment), Position::segment_start(segment + 1));
    let (mut batch, mut bytes, mut failed) = (Vec::new(), 0, None);
    reader.scan(from, to, |position, record, _| {
        match codec::decode_message(&record) {
            Ok(None) => return ControlFlow::Continue(()),
            Ok(Some(stored)) => batch.push((tidegate_engine::Position(position.into()), stored)),
            Err(source) => {
                failed = Some(RecoverError::Record { position, source });
                return ControlFlow::Break(());
            }
        }
        bytes += record.len();
        if batch.len() < BATCH_MESSAGES && bytes < BATCH_BYTES {
            return ControlFlow::Continue(());
        }
        bytes = 0;
        offer(std::mem::take(&mut batch))
    })?;
    if !batch.is_empty() && failed.is_none() {
        let _ = offer(batch);
    }
    failed.map_or(Ok(()), Err)
}
