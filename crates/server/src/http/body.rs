//! Reading the body of a request, within its limits.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::EXPECT;
use std::time::Duration;

/// Bytes and time that a client has to send the rest of a body that was refused.
const REST_BYTES_MAX: usize = 16 << 20;
const REST_TIME_MAX: Duration = Duration::from_secs(5);

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is longer than the limit.
    TooLong,
    /// It broke off, or was not HTTP.
    Broken,
    /// It did not come in time.
    Late,
}

/// Reads a body of at most `limit` bytes to its end.
///
/// A longer one is refused at once, but what comes of it is still taken for a while: a client that writes on would
/// otherwise find its connection reset, and never see the answer.
pub(crate) async fn collect(
    headers: &HeaderMap,
    mut body: Incoming,
    limit: usize,
    timeout: Duration,
) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > limit as u64 {
        // Who waits for leave to send has sent nothing, and reading would be giving leave.
        if !headers.contains_key(EXPECT) {
            tokio::spawn(discard(body));
        }
        return Err(Unread::TooLong);
    }
    match tokio::time::timeout(timeout, read(&mut body, limit)).await {
        Err(_) => Err(Unread::Late),
        Ok(Err(Unread::TooLong)) => {
            tokio::spawn(discard(body));
            Err(Unread::TooLong)
        }
        Ok(read) => read,
    }
}

async fn read(body: &mut Incoming, limit: usize) -> Result<Bytes, Unread> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        if whole.len() + data.len() > limit {
            return Err(Unread::TooLong);
        }
        if whole.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

async fn discard(mut body: Incoming) {
    let mut left = REST_BYTES_MAX;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await
            && let Some(after) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len))
        {
            left = after;
        }
    };
    let _ = tokio::time::timeout(REST_TIME_MAX, rest).await;
}
