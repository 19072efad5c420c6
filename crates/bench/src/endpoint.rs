//! Where the server is, and the way there.

use crate::Trust;
use crate::error::BenchError;
use hyper::Uri;
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Time for a connection, its handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server of the SQS API.
pub(crate) struct Endpoint {
    /// As it was given.
    pub(crate) url: String,
    /// What stands in the header `Host`: without the port that the scheme implies.
    pub(crate) host: String,
    /// The path that requests go to.
    pub(crate) path: String,
    /// The first address of the host that accepted a connection.
    address: SocketAddr,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Endpoint {
    /// Finds the server and connects once.
    ///
    /// # Errors
    /// A URL that is none, a host that is not known, or nobody there.
    pub(crate) async fn find(url: &str, ca: Option<&Path>, trust: Trust) -> Result<Self, BenchError> {
        let place = Place::parse(url)?;
        let tls = if place.is_encrypted {
            let connector = trust(ca).map_err(BenchError::Trust)?;
            let name =
                ServerName::try_from(place.host.clone()).map_err(|_| BenchError::Url { url: url.into() })?;
            Some((connector, name))
        } else {
            None
        };
        let unknown = |source| BenchError::Host { url: url.into(), source };
        let addresses = tokio::net::lookup_host((place.host.as_str(), place.port)).await.map_err(unknown)?;
        let mut reason = "it has no address".to_owned();
        for address in addresses {
            match tcp(address).await {
                Ok(_) => {
                    let endpoint = Endpoint {
                        url: url.into(),
                        host: place.host_header(),
                        path: place.path,
                        address,
                        tls,
                    };
                    endpoint.connect().await.map_err(|error| endpoint.handshake_failed(&error))?;
                    return Ok(endpoint);
                }
                Err(error) => reason = error.to_string(),
            }
        }
        Err(BenchError::Unreachable { url: url.into(), reason })
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> io::Result<Stream> {
        let stream = tcp(self.address).await?;
        match &self.tls {
            None => Ok(Stream::Plain(stream)),
            Some((connector, name)) => {
                let shaking = connector.connect(name.clone(), stream);
                let stream =
                    tokio::time::timeout(CONNECT_TIMEOUT, shaking).await.map_err(io::Error::from)??;
                Ok(Stream::Encrypted(Box::new(stream)))
            }
        }
    }

    fn handshake_failed(&self, error: &io::Error) -> BenchError {
        BenchError::Handshake { url: self.url.clone(), reason: error.to_string() }
    }
}

async fn tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address))
        .await
        .map_err(io::Error::from)??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    is_encrypted: bool,
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    path: String,
}

impl Place {
    fn parse(url: &str) -> Result<Self, BenchError> {
        let refused = || BenchError::Url { url: url.into() };
        let uri: Uri = url.parse().map_err(|_| refused())?;
        let is_encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refused()),
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        let authority = authority.filter(|authority| !authority.host().is_empty()).ok_or_else(refused)?;
        // A port out of range, or none after the colon.
        if authority.port_u16().is_none() && authority.as_str() != authority.host() {
            return Err(refused());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = match uri.path() {
            "" => "/",
            path => path,
        };
        if uri.query().is_some() {
            return Err(refused());
        }
        let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
        Ok(Place { is_encrypted, host, port, path: path.to_owned() })
    }

    fn host_header(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.is_encrypted, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// Bytes to and from a server.
pub(crate) enum Stream {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Sends all of it.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.write_all(bytes).await,
            Stream::Encrypted(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }

    /// Appends what has come.
    ///
    /// # Errors
    /// The other side's end of the connection is one, too.
    pub(crate) async fn read(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        let read = match self {
            Stream::Plain(stream) => stream.read_buf(into).await?,
            Stream::Encrypted(stream) => stream.read_buf(into).await?,
        };
        if read == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_scheme_and_a_host() {
        for (url, host, port, path, header) in [
            ("http://127.0.0.1:9324", "127.0.0.1", 9324, "/", "127.0.0.1:9324"),
            ("http://localhost", "localhost", 80, "/", "localhost"),
            (
                "https://sqs.eu-west-1.amazonaws.com/",
                "sqs.eu-west-1.amazonaws.com",
                443,
                "/",
                "sqs.eu-west-1.amazonaws.com",
            ),
            ("https://h:80/base", "h", 80, "/base", "h:80"),
            ("http://[::1]:9324", "::1", 9324, "/", "[::1]:9324"),
        ] {
            let place = Place::parse(url).unwrap();
            assert_eq!((place.host.as_str(), place.port, place.path.as_str()), (host, port, path), "{url}");
            assert_eq!(place.host_header(), header, "{url}");
            assert_eq!(place.is_encrypted, url.starts_with("https"), "{url}");
        }
        for url in [
            "",
            "127.0.0.1:9324",
            "ftp://h",
            "http://",
            "http://a@h",
            "http://h/?q=1",
            "h",
            "http://h:99999",
            "http://h:",
        ] {
            assert!(matches!(Place::parse(url), Err(BenchError::Url { .. })), "{url}");
        }
    }
}
