//! Listening and serving HTTP/1.1, with a bound on everything a client can make the server hold.

pub(crate) mod body;
mod direct;
mod patience;
mod request;
mod response;
mod resumed;

use crate::tls::{Encrypted, Tls};
use bytes::Bytes;
use direct::End;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::metrics::gauge::Gauge;
use resumed::Resumed;
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

/// How the connections of a listener are served.
pub(crate) trait Connections: Clone + Send + 'static {
    /// Serves one connection to its end; soon after `stop` becomes true there is one.
    fn serve<I>(
        self,
        stream: I,
        peer: Peer,
        limits: Limits,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static;
}

/// Serves connections until `stop` becomes true, then lets requests under way end within the grace period.
pub(crate) async fn serve(
    listener: Listener,
    limits: Limits,
    open: Gauge,
    mut stop: watch::Receiver<bool>,
    connections: impl Connections,
) {
    let Listener { socket, tls } = listener;
    let places = Arc::new(Semaphore::new(limits.connections_max));
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
        let (connections, open, tls, stop) = (connections.clone(), open.clone(), tls.clone(), stop.clone());
        open.inc();
        tokio::spawn(async move {
            match tls {
                None => connections.serve(stream, peer, limits, stop).await,
                Some(tls) => {
                    if let Some(stream) = encrypt(&tls, stream, peer, stop.clone()).await {
                        connections.serve(stream, peer, limits, stop).await;
                    }
                }
            }
            open.dec();
            drop(place);
        });
    }
    drop(socket);
    let all = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
    if tokio::time::timeout(limits.shutdown_grace, places.acquire_many(all)).await.is_err() {
        tracing::warn!("some requests were still under way when the grace period ended");
    }
}

/// Waits until the server stops.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Without a sender it stops, too.
    let _ = stop.wait_for(|stop| *stop).await;
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

/// Serves every request through hyper.
#[derive(Clone)]
pub(crate) struct General<F>(pub(crate) F);

impl<F, R, B> Connections for General<F>
where
    F: Fn(Peer, Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    async fn serve<I>(self, stream: I, peer: Peer, limits: Limits, mut stop: watch::Receiver<bool>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(move |request| {
            let answer = self.0(peer, request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let mut builder = hyper::server::conn::http1::Builder::new();
        if limits.headers_max != HYPER_HEADERS_MAX {
            // Asked for its own default, hyper would allocate room for so many headers with every request.
            builder.max_headers(limits.headers_max);
        }
        let connection = builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.idle_timeout)
            // The size of the buffer is a bound as well, but a loose one.
            .max_header_size(limits.header_bytes_max)
            .max_buf_size(limits.header_bytes_max)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = Box::pin(connection);
        // A connection that ends badly is the client's affair.
        tokio::select! {
            _ = &mut connection => {}
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// Serves requests of the common form itself, and the rest of a connection through hyper from the first other one on.
#[derive(Clone)]
pub(crate) struct Common<A, F> {
    /// Decodes a common request; what it returns answers it, and holds nothing of it.
    pub(crate) direct: A,
    pub(crate) general: General<F>,
}

impl<A, D, F> Connections for Common<A, F>
where
    A: Fn(Peer, &tidegate_protocol::Request<'_>) -> D + Clone + Send + Sync + 'static,
    D: Future<Output = tidegate_protocol::Response> + Send + 'static,
    F: Clone + Send + Sync + 'static,
    General<F>: Connections,
{
    async fn serve<I>(self, mut stream: I, peer: Peer, limits: Limits, mut stop: watch::Receiver<bool>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match direct::serve(&mut stream, peer, limits, &mut stop, &self.direct).await {
            End::Closed => {}
            End::Uncommon(read) => {
                // On the heap: few connections come to this, and those that do not should not have room for it.
                Box::pin(self.general.serve(Resumed::new(read, stream), peer, limits, stop)).await;
            }
        }
    }
}
