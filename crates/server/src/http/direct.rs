//! Requests of the common form, read and answered without a general HTTP server in between.
//!
//! What clients send all day is a POST with a length, whole in one or two packets. Such requests are parsed where they
//! lie, and their answers written in one piece. Everything else (other methods, chunks, expectations, long bodies,
//! slow senders, anything that is not quite HTTP) makes the connection uncommon: it goes on with hyper, which gets to see
//! what was read so far. So there is one place for what is difficult, and nothing here has to be lenient.

use super::patience::Patience;
use super::request::{Taken, take};
use super::response;
use super::{Limits, Peer, stopped};
use bytes::BytesMut;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tidegate_protocol::{Request, Response};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

/// Room that a connection keeps for what it reads; most requests fit.
const INPUT_BYTES: usize = 4096;
/// Room beyond which a buffer is given back once it is empty.
const KEPT_BYTES_MAX: usize = 16 << 10;
/// Most that is read ahead of the request that is being answered.
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// Time and reads that a request may take to come in whole.
const ARRIVAL_MAX: Duration = Duration::from_secs(1);
const READS_MAX: usize = 64;

/// How the direct part of a connection ended.
pub(super) enum End {
    /// The connection is over.
    Closed,
    /// The next request is not of the common form; this was read of it.
    Uncommon(BytesMut),
}

/// Serves requests until one is not of the common form, the client goes, or `stop` changes.
///
/// `answer` decodes a request at once; the future that it returns holds nothing of it.
pub(super) async fn serve<I, A, R>(
    stream: &mut I,
    peer: Peer,
    limits: Limits,
    stop: &mut watch::Receiver<bool>,
    answer: &A,
) -> End
where
    I: AsyncRead + AsyncWrite + Unpin,
    A: Fn(Peer, &Request<'_>) -> R,
    R: Future<Output = Response>,
{
    let mut input = BytesMut::with_capacity(INPUT_BYTES);
    let mut output = Vec::new();
    let mut patience = Patience::new(limits.idle_timeout);
    loop {
        if input.is_empty() && !first_bytes(stream, &mut input, &mut patience, stop).await {
            return End::Closed;
        }
        let Some(answering) = arrive(stream, &mut input, |request| answer(peer, request)).await else {
            return End::Uncommon(input);
        };
        let Some(response) = while_connected(stream, &mut input, answering).await else {
            return End::Closed;
        };
        let last = *stop.borrow();
        output.clear();
        response::write(&response, last, &mut output);
        if stream.write_all(&output).await.is_err() || last {
            return End::Closed;
        }
        output.shrink_to(KEPT_BYTES_MAX);
        if input.is_empty() && input.capacity() > KEPT_BYTES_MAX {
            input = BytesMut::with_capacity(INPUT_BYTES);
        }
        patience.renew();
    }
}

/// Waits for the next request to begin; `false` when none comes.
async fn first_bytes<I: AsyncRead + Unpin>(
    stream: &mut I,
    input: &mut BytesMut,
    patience: &mut Patience,
    stop: &mut watch::Receiver<bool>,
) -> bool {
    input.reserve(INPUT_BYTES);
    let mut stopped = pin!(stopped(stop));
    let read = poll_fn(|context| {
        if let Poll::Ready(read) = pin!(stream.read_buf(input)).poll(context) {
            return Poll::Ready(read.ok());
        }
        if patience.poll_over(context).is_ready() || stopped.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Poll::Pending
    });
    read.await.is_some_and(|bytes| bytes > 0)
}

/// Reads until `input` begins with a whole request and puts that to `answer`; `None` when it will not be a common one.
async fn arrive<I: AsyncRead + Unpin, R>(
    stream: &mut I,
    input: &mut BytesMut,
    answer: impl Fn(&Request<'_>) -> R,
) -> Option<R> {
    let mut deadline = None;
    for _ in 0..READS_MAX {
        let missing = match take(input, &answer) {
            Taken::Whole { answering, bytes } => {
                let _ = input.split_to(bytes);
                return Some(answering);
            }
            Taken::Uncommon => return None,
            Taken::Part { missing } => missing,
        };
        input.reserve(missing);
        let deadline = *deadline.get_or_insert_with(|| tokio::time::Instant::now() + ARRIVAL_MAX);
        match tokio::time::timeout_at(deadline, stream.read_buf(input)).await {
            Ok(Ok(1..)) => {}
            // Slow or broken off: hyper knows what to say, if anything.
            _ => return None,
        }
    }
    None
}

/// Waits for an answer as long as the client is there; `None` when it has gone. What it sends meanwhile is kept.
async fn while_connected<I: AsyncRead + Unpin>(
    stream: &mut I,
    input: &mut BytesMut,
    answering: impl Future<Output = Response>,
) -> Option<Response> {
    let mut answering = pin!(answering);
    poll_fn(|context| {
        while input.len() < AHEAD_BYTES_MAX {
            input.reserve(1);
            match pin!(stream.read_buf(input)).poll(context) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return Poll::Ready(None),
                Poll::Pending => break,
            }
        }
        // Last: whoever has gone must not be given the messages that have just come.
        answering.as_mut().poll(context).map(Some)
    })
    .await
}
