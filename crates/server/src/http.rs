//! Listening and serving HTTP/1.1, with a bound on everything a client can make the server hold.

use crate::tls::{Encrypted, Tls};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use prometheus_client::metrics::gauge::Gauge;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// Headers that hyper takes when nothing is said.
const HYPER_HEADERS_MAX: usize = 100;

/// What a body may fail with.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Limits of one listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at once; further ones wait in the system's backlog.
    pub(crate) connections_max: usize,
    /// Bytes of a request's head.
    pub(crate) header_bytes_max: usize,
    /// Headers of a request.
    pub(crate) headers_max: usize,
    /// Time for a request's head to arrive, counted from the connection's start or the last answer: it bounds
    /// idle connections and slow senders alike.
    pub(crate) idle_timeout: Duration,
    /// Time for requests under way once the server stops.
    pub(crate) shutdown_grace: Duration,
}

/// Who sent a request, as far as its connection tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Address of the other end: a proxy's, if there is one. Always in its own family, never IPv4 within IPv6.
    pub(crate) address: IpAddr,
    /// Whether the connection is encrypted.
    pub(crate) secure: bool,
}

/// Where connections come from.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    /// With what connections are encrypted; `None` leaves them plain.
    pub(crate) tls: Option<Tls>,
}

impl Listener {
    /// What URLs of this listener begin with.
    pub(crate) fn scheme(&self) -> &'static str {
        scheme(self.tls.is_some())
    }
}

/// The scheme of URLs over connections that are encrypted or not.
pub(crate) fn scheme(secure: bool) -> &'static str {
    if secure { "https" } else { "http" }
}

/// Serves connections until `stop` changes, then lets requests under way end within the grace period.
pub(crate) async fn serve<F, R, B>(
    listener: Listener,
    limits: Limits,
    open: Gauge,
    mut stop: watch::Receiver<bool>,
    answer: F,
) where
    F: Fn(Peer, Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let Listener { socket, tls } = listener;
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let graceful = GracefulShutdown::new();
    loop {
        let place = places.clone().acquire_owned();
        let accepted = tokio::select! {
            accepted = async { (place.await, socket.accept().await) } => accepted,
            _ = stop.changed() => break,
        };
        let (Ok(place), Ok((stream, address))) = accepted else {
            // Out of file descriptors, most likely: wait for some to be closed instead of spinning.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        // Answers are small and complete: waiting to fill packets only delays them.
        let _ = stream.set_nodelay(true);
        let peer = Peer { address: address.ip().to_canonical(), secure: tls.is_some() };
        let (answer, watcher, open) = (answer.clone(), graceful.watcher(), open.clone());
        let (tls, stopped) = (tls.clone(), stop.clone());
        open.inc();
        tokio::spawn(async move {
            // A connection that ends badly is the client's affair.
            match tls {
                None => drop(watcher.watch(connect(stream, peer, limits, answer)).await),
                Some(tls) => {
                    if let Some(stream) = encrypt(&tls, stream, peer, stopped).await {
                        drop(watcher.watch(connect(stream, peer, limits, answer)).await);
                    }
                }
            }
            open.dec();
            drop(place);
        });
    }
    drop(socket);
    if tokio::time::timeout(limits.shutdown_grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were still under way when the grace period ended");
    }
}

/// Shakes hands; `None` when that fails or the server stops, and the connection is closed.
async fn encrypt(
    tls: &Tls,
    stream: TcpStream,
    peer: Peer,
    mut stop: watch::Receiver<bool>,
) -> Option<Encrypted> {
    let shaken = tokio::select! {
        shaken = tls.accept(stream) => shaken,
        _ = stop.changed() => return None,
    };
    shaken.inspect_err(|error| tracing::debug!(peer = %peer.address, %error, "the TLS handshake failed")).ok()
}

fn connect<I, F, R, B>(
    stream: I,
    peer: Peer,
    limits: Limits,
    answer: F,
) -> impl GracefulConnection<Error = hyper::Error>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Fn(Peer, Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answer = answer(peer, request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    if limits.headers_max != HYPER_HEADERS_MAX {
        // Asked for its own default, hyper would allocate room for so many headers with every request.
        builder.max_headers(limits.headers_max);
    }
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout)
        // The size of the buffer is a bound as well, but a loose one.
        .max_header_size(limits.header_bytes_max)
        .max_buf_size(limits.header_bytes_max)
        .serve_connection(TokioIo::new(stream), service)
}
