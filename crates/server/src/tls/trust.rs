//! Whom the commands trust that connect to a server over TLS.

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use tokio_rustls::TlsConnector;

/// Why nobody is trusted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum TrustError {
    #[error("the file {} cannot be read", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the file {} holds no certificates in PEM form", path.display())]
    Authorities { path: PathBuf },
    #[error("the system names no authorities to trust; name a file of certificates with --ca")]
    NoAuthorities,
}

/// Encrypts connections, trusting the authorities of a file or those of the system.
pub(crate) fn connector(ca: Option<&Path>) -> Result<TlsConnector, TrustError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            let pem =
                std::fs::read(path).map_err(|source| TrustError::File { path: path.to_owned(), source })?;
            let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect();
            if roots.add_parsable_certificates(certificates).0 == 0 {
                return Err(TrustError::Authorities { path: path.to_owned() });
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            if roots.add_parsable_certificates(found.certs).0 == 0 {
                return Err(TrustError::NoAuthorities);
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites of both versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}
