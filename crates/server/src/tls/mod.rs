//! TLS for both listeners: versions 1.2 and 1.3, a certificate that can be replaced while the server runs.
//!
//! Nothing here asks clients for certificates, and nothing is served over a connection whose handshake did not
//! succeed: bytes of plain HTTP on an encrypted listener end in an alert and a closed connection.

mod certificate;
mod reload;
mod trust;

use certificate::{Certificate, Pem};
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, crypto::CryptoProvider};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) use certificate::CertificateError;
pub(crate) use reload::follow;
pub(crate) use trust::{TrustError, connector};

/// Time for a handshake, which a client does within two round trips. A client that says nothing, or says it
/// slowly, holds its place no longer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection after its handshake. On the heap: the session's state is larger than what else a connection is.
pub(crate) type Encrypted = Box<TlsStream<TcpStream>>;

/// The files that hold the certificate and its key, both in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The server's certificate first, then those that lead from it to the root.
    pub(crate) certificate: PathBuf,
    /// The private key of the first certificate.
    pub(crate) key: PathBuf,
}

/// Takes connections into TLS. Clones share one certificate.
#[derive(Clone)]
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
    current: Arc<Current>,
}

impl Tls {
    /// Reads the files and prepares for connections.
    ///
    /// # Errors
    /// When a file cannot be read, or its content not be used.
    pub(crate) fn load(files: TlsFiles) -> Result<Self, CertificateError> {
        let provider = Arc::new(ring::default_provider());
        let pem = Pem::read(&files)?;
        let certificate = Certificate::parse(&files, &pem, &provider)?;
        let current = Arc::new(Current { files, provider, shown: RwLock::new(Shown { certificate, pem }) });
        let mut config = ServerConfig::builder_with_provider(current.provider.clone())
            .with_protocol_versions(&[&TLS13, &TLS12])
            .expect("the provider has suites of both versions")
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { acceptor: Arc::new(config).into(), current })
    }

    /// Shakes hands with a client.
    ///
    /// # Errors
    /// When the client speaks something else, breaks off, or takes too long.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<Encrypted> {
        let shaken = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.acceptor.accept(stream)).await;
        shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map(Box::new)
    }

    /// The file that clients need to trust the certificate, if it is its own issuer.
    pub(crate) fn self_signed(&self) -> Option<PathBuf> {
        self.current.read().certificate.self_signed.then(|| self.current.files.certificate.clone())
    }
}

/// The certificate that new connections are shown.
struct Current {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    /// Read once for each handshake, written when the files change; never held across an await.
    shown: RwLock<Shown>,
}

/// A certificate with the bytes that it came from, by which a change of the files is seen.
struct Shown {
    certificate: Certificate,
    pem: Pem,
}

impl Current {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Shown> {
        // A value is replaced as a whole: a panic elsewhere leaves none half-written.
        self.shown.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, shown: Shown) {
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = shown;
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.read().certificate.key.clone())
    }
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").field("files", &self.files).finish_non_exhaustive()
    }
}
