//! Looking at messages, and reading their content, while the queue goes on working.

use super::QueueApi;
use super::error::ApiError;
use tidegate_engine::{Command, MessageId, MessageSeq, Peeked, QueueAddress, Reply, StoredMessage};
use tidegate_log::Storage;

/// How often the content of one message is looked for. It is missed only when the record moves between two steps, and
/// a record moves once in the life of a segment.
const ATTEMPTS: usize = 4;

/// A message that was looked at.
pub(super) struct Seen {
    pub(super) peeked: Peeked,
    /// `None` when it cannot be read; the log says why.
    pub(super) content: Option<StoredMessage>,
}

impl Seen {
    /// The message's public id; a redrive gave it another one than its record has.
    pub(super) fn id(&self) -> Option<MessageId> {
        let renewed = self.peeked.touched.origin.as_ref().and_then(|origin| origin.id);
        renewed.or_else(|| self.content.as_ref().map(|stored| stored.message.id))
    }
}

impl<S: Storage> QueueApi<S> {
    /// Up to `max` messages after a number, in the order of their numbers; none when there are no more.
    pub(super) async fn peek(
        &self,
        queue: &QueueAddress,
        after: Option<MessageSeq>,
        max: usize,
    ) -> Result<Vec<Peeked>, ApiError> {
        match self.command(Command::Peek { queue: queue.clone(), after, max }).await? {
            Reply::Peeked(page) => Ok(page),
            other => unreachable!("a peek is answered by what it found, not by {other:?}"),
        }
    }

    /// Reads the content of a message that was looked at. `None` when the message is gone meanwhile.
    pub(super) async fn content(
        &self,
        queue: &QueueAddress,
        mut peeked: Peeked,
    ) -> Result<Option<Seen>, ApiError> {
        // Reading is work, and there may be much of it.
        tokio::task::yield_now().await;
        for _ in 0..ATTEMPTS {
            let stored = &peeked.touched.stored;
            let (seq, position) = (stored.seq, stored.position);
            let recorded_as = peeked.touched.origin.as_ref().map_or(seq, |origin| origin.sent_as);
            let read = self.shard.read_one(position);
            if let Ok(Some(content)) = read {
                // Positions of segments that are used again differ, so it is no other message's record.
                debug_assert_eq!(content.seq, recorded_as, "a position leads to its message");
                return Ok(Some(Seen { peeked, content: Some(content) }));
            }
            // Its record moved, or it was deleted and its segment is used again: the queue knows which.
            let before = seq.0.checked_sub(1).map(MessageSeq);
            let again = self.peek(queue, before, 1).await?.pop();
            let Some(again) = again.filter(|again| again.touched.stored.seq == seq) else { return Ok(None) };
            if let Err(error) = read
                && again.touched.stored.position == position
            {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "a stored message cannot be read; run `tidegate check` on a copy of the data directory"
                );
                return Ok(Some(Seen { peeked: again, content: None }));
            }
            peeked = again;
        }
        Ok(None)
    }
}
