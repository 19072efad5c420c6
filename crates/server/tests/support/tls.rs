//! Certificates made for one test, and clients that trust them.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::sync::Arc;

/// A certificate authority that nobody knows but this test.
pub struct Authority {
    root: CertifiedIssuer<'static, KeyPair>,
}

/// A server's certificate with its key.
pub struct Issued {
    /// The certificate and those above it, as PEM.
    pub chain: String,
    /// The private key, as PEM.
    pub key: String,
    /// The certificate alone, as it travels.
    pub der: Vec<u8>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority { root: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    /// A certificate for the loopback address.
    pub fn issue(&self) -> Issued {
        let key = KeyPair::generate().unwrap();
        let certificate = loopback().signed_by(&key, &self.root).unwrap();
        Issued {
            chain: certificate.pem() + &self.root.pem(),
            key: key.serialize_pem(),
            der: certificate.der().to_vec(),
        }
    }

    /// A client that trusts this authority.
    pub fn trust(&self) -> Arc<ClientConfig> {
        Arc::new(self.trust_with(&[&TLS13, &TLS12], &["http/1.1"]))
    }

    /// A client that speaks these versions of TLS and offers these protocols on top.
    pub fn trust_with(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        protocols: &[&str],
    ) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.der().clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        // Each handshake is to show the certificate of its own time.
        config.resumption = rustls::client::Resumption::disabled();
        config
    }
}

/// A certificate for the loopback address that nobody vouches for.
pub fn self_signed() -> Issued {
    let key = KeyPair::generate().unwrap();
    let certificate = loopback().self_signed(&key).unwrap();
    Issued { chain: certificate.pem(), key: key.serialize_pem(), der: certificate.der().to_vec() }
}

fn loopback() -> CertificateParams {
    CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap()
}
