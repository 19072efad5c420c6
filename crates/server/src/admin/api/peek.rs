//! `GET /api/queues/QUEUE/messages?after=TOKEN&max=N&body_bytes=N`: one page of messages, whatever their state.

use super::error::ApiError;
use super::message::MessageView;
use super::{QueueApi, decoded};
use crate::shard::system_time;
use serde::Serialize;
use std::str::FromStr;
use tidegate_engine::{MessageSeq, QueueAddress, limits};
use tidegate_log::Storage;

/// Messages of a page that asks for no number.
const MAX_DEFAULT: usize = 100;
/// A page ends with the message with which it shows more bytes than this.
const SHOWN_BYTES: usize = 1 << 20;
/// A page ends with the message with which more bytes than this were read for it.
const READ_BYTES: usize = 16 << 20;

/// What of a queue is wanted.
pub(super) struct Parameters {
    after: Option<MessageSeq>,
    max: usize,
    body_bytes: usize,
}

/// A page.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    /// ARN of the queue.
    queue: String,
    /// The server's time, to which instants of the messages compare.
    now: u64,
    messages: Vec<MessageView>,
    /// Token of the page that follows; `null` when there is nothing more.
    next: Option<String>,
}

impl Parameters {
    pub(super) fn parse(query: &str) -> Result<Self, ApiError> {
        let mut parameters = Parameters { after: None, max: MAX_DEFAULT, body_bytes: usize::MAX };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value).unwrap_or_default();
            match name {
                "after" => {
                    let refused = ApiError::ValueRefused { name: "after", allowed: "a token of a page" };
                    parameters.after = Some(MessageSeq(number(&value).ok_or(refused)?));
                }
                "max" => {
                    let max = number(&value).filter(|max| (1..=limits::PEEK_MAX).contains(max));
                    let refused = ApiError::ValueRefused { name: "max", allowed: "a number from 1 to 1000" };
                    parameters.max = max.ok_or(refused)?;
                }
                "body_bytes" => {
                    let refused = ApiError::ValueRefused { name: "body_bytes", allowed: "a number of bytes" };
                    parameters.body_bytes = number(&value).ok_or(refused)?;
                }
                _ => return Err(ApiError::ParameterUnknown { name: name.chars().take(100).collect() }),
            }
        }
        Ok(parameters)
    }
}

/// A number in plain digits.
fn number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl<S: Storage> QueueApi<S> {
    /// Looks at one page of messages. Nothing about them changes.
    pub(super) async fn page(&self, queue: QueueAddress, wanted: Parameters) -> Result<Page, ApiError> {
        let peeked = self.peek(&queue, wanted.after, wanted.max).await?;
        let mut page =
            Page { queue: queue.arn(), now: system_time().as_millis(), messages: Vec::new(), next: None };
        let more = peeked.len() == wanted.max;
        let (mut shown, mut read) = (0, 0);
        let mut last = None;
        let mut rest = peeked.into_iter();
        for peeked in rest.by_ref() {
            last = Some(peeked.touched.stored.seq);
            let Some(seen) = self.content(&queue, peeked).await? else { continue };
            let view = MessageView::new(&queue, &seen, wanted.body_bytes);
            shown += view.size();
            read += seen.content.as_ref().map_or(0, |stored| stored.message.size());
            page.messages.push(view);
            if shown > SHOWN_BYTES || read > READ_BYTES {
                break;
            }
        }
        if more || rest.len() > 0 {
            page.next = last.map(|seq| seq.0.to_string());
        }
        Ok(page)
    }
}
