//! The walk of a redrive through its queue.

use super::pace::Pace;
use super::selection::Selection;
use super::{Lines, NO_SOURCE, NOT_VISIBLE, Progress, UNREADABLE, reason};
use crate::admin::api::QueueApi;
use crate::admin::api::error::ApiError;
use std::collections::BTreeMap;
use tidegate_engine::{Command, MessageSeq, MoveTaskId, Peeked, PeekedState, QueueAddress, Reply};
use tidegate_log::Storage;

/// Messages that are looked at before the caller hears of it.
const PAGE: usize = 100;
/// Ids that a dry run names.
const FIRST_IDS: usize = 10;

/// A redrive under way.
pub(super) struct Walk<S: Storage> {
    pub(super) api: QueueApi<S>,
    pub(super) queue: QueueAddress,
    pub(super) destination: Option<QueueAddress>,
    /// Messages with this number or a higher one came after it began.
    pub(super) end: MessageSeq,
    pub(super) selection: Selection,
    pub(super) dry_run: bool,
    pub(super) max: u64,
    pub(super) pace: Pace,
    pub(super) progress: Progress,
    pub(super) reasons: BTreeMap<&'static str, u64>,
    pub(super) first_ids: Vec<String>,
}

/// Why a walk ends before the last message.
pub(super) enum Halt {
    /// The caller went away.
    Disconnected,
    /// It cannot go on.
    Refused(ApiError),
}

impl From<ApiError> for Halt {
    fn from(error: ApiError) -> Self {
        Halt::Refused(error)
    }
}

impl<S: Storage> Walk<S> {
    /// Goes through the queue once, in the order of numbers.
    pub(super) async fn go(&mut self, lines: &mut Lines) -> Result<(), Halt> {
        let mut after = None;
        while !self.has_enough() && after.is_none_or(|MessageSeq(after)| after + 1 < self.end.0) {
            let page = self.api.peek(&self.queue, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.touched.stored.seq);
            let chosen = self.choose(page).await?;
            for turn in chosen.chunks(self.pace.turn()) {
                self.wait(turn.len()).await?;
                self.move_some(turn).await?;
                lines.send(&self.progress).await?;
            }
            if chosen.is_empty() {
                lines.send(&self.progress).await?;
            }
            self.check_stop()?;
        }
        Ok(())
    }

    fn has_enough(&self) -> bool {
        self.progress.matched >= self.max || self.selection.is_exhausted()
    }

    /// Those of a page that are to be moved. Of a dry run that is none, but they are counted.
    async fn choose(&mut self, page: Vec<Peeked>) -> Result<Vec<MessageSeq>, Halt> {
        let mut chosen = Vec::with_capacity(page.len());
        for peeked in page {
            let seq = peeked.touched.stored.seq;
            if self.has_enough() || seq >= self.end {
                break;
            }
            let is_visible = peeked.state == PeekedState::Visible;
            // One that was asked for by its id is found and reported, whatever its state.
            if !is_visible && self.selection.ids.is_none() {
                continue;
            }
            let has_source = peeked.touched.origin.as_ref().is_some_and(|origin| origin.source.is_some());
            self.progress.examined += u64::from(is_visible);
            let Some(id) = self.wanted(peeked).await? else { continue };
            self.progress.matched += 1;
            if !is_visible {
                self.skip(NOT_VISIBLE);
            } else if self.destination.is_none() && !has_source {
                self.skip(NO_SOURCE);
            } else if self.dry_run {
                self.first_ids.extend(id.filter(|_| self.first_ids.len() < FIRST_IDS));
            } else {
                chosen.push(seq);
            }
        }
        Ok(chosen)
    }

    /// Whether a message is wanted, and its id if that had to be read.
    async fn wanted(&mut self, peeked: Peeked) -> Result<Option<Option<String>>, Halt> {
        let names_it = self.dry_run && self.first_ids.len() < FIRST_IDS;
        if !self.selection.needs_content() && !names_it {
            return Ok(Some(None));
        }
        let Some(seen) = self.api.content(&self.queue, peeked).await? else { return Ok(None) };
        let id = seen.id().map(|id| id.to_string());
        let (Some(id), Some(stored)) = (id, &seen.content) else {
            self.skip(UNREADABLE);
            return Ok(None);
        };
        Ok(self.selection.takes(&id, &stored.message).then_some(Some(id)))
    }

    async fn move_some(&mut self, messages: &[MessageSeq]) -> Result<(), Halt> {
        let command = Command::Redrive {
            queue: self.queue.clone(),
            destination: self.destination.clone(),
            messages: messages.to_vec(),
            id: MoveTaskId(rand::random()),
        };
        let Reply::Settled(results) = self.api.command(command).await? else {
            unreachable!("a redrive is answered message by message")
        };
        for result in results {
            match result {
                Ok(()) => self.progress.moved += 1,
                Err(error) => self.skip(reason(&error)),
            }
        }
        Ok(())
    }

    fn skip(&mut self, reason: &'static str) {
        self.progress.skipped += 1;
        *self.reasons.entry(reason).or_default() += 1;
    }

    /// Waits until so many may be moved, or the server stops.
    async fn wait(&mut self, count: usize) -> Result<(), Halt> {
        let begin = self.pace.begin(count);
        tokio::select! {
            () = tokio::time::sleep_until(begin) => {}
            _ = self.api.stopped.changed() => {}
        }
        self.check_stop()
    }

    fn check_stop(&self) -> Result<(), Halt> {
        if *self.api.stopped.borrow() { Err(ApiError::Stopping.into()) } else { Ok(()) }
    }
}
