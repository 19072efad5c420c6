//! A certificate and its key: read, checked against each other, and asked when it ends.

use super::TlsFiles;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::sign::CertifiedKey;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use webpki::{EndEntityCert, KeyUsage};

/// Why a certificate cannot be used. No message holds a part of the key.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum CertificateError {
    /// A file cannot be read.
    #[error("`{setting}`: the file {} cannot be read", path.display())]
    Unreadable {
        /// `tls_certificate` or `tls_key`.
        setting: &'static str,
        /// The file, as it was named.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// There is no certificate in the file.
    #[error(
        "`tls_certificate`: the file {} holds no certificates in PEM form (BEGIN CERTIFICATE)", path.display()
    )]
    NoCertificate {
        /// The file, as it was named.
        path: PathBuf,
    },
    /// There is no key in the file.
    #[error(
        "`tls_key`: the file {} holds no private key in PEM form (BEGIN PRIVATE KEY), or an encrypted one",
        path.display()
    )]
    NoKey {
        /// The file, as it was named.
        path: PathBuf,
    },
    /// The certificate and the key do not work, or not together.
    #[error("the certificate {} cannot be used with the key {}", certificate.display(), key.display())]
    Unusable {
        /// The certificate's file, as it was named.
        certificate: PathBuf,
        /// The key's file, as it was named.
        key: PathBuf,
        /// The cause.
        #[source]
        source: rustls::Error,
    },
}

/// The content of both files.
#[derive(PartialEq, Eq)]
pub(super) struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pem {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, CertificateError> {
        let read = |setting, path: &Path| {
            fs::read(path).map_err(|source| CertificateError::Unreadable {
                setting,
                path: path.into(),
                source,
            })
        };
        Ok(Pem {
            certificate: read("tls_certificate", &files.certificate)?,
            key: read("tls_key", &files.key)?,
        })
    }
}

/// A certificate with its chain and key, ready for handshakes.
pub(super) struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    /// End of validity, counted from 1970.
    pub(super) expires_at: Duration,
    /// Whether the certificate is its own issuer.
    pub(super) self_signed: bool,
}

impl Certificate {
    pub(super) fn parse(
        files: &TlsFiles,
        pem: &Pem,
        provider: &CryptoProvider,
    ) -> Result<Self, CertificateError> {
        let no_certificate = || CertificateError::NoCertificate { path: files.certificate.clone() };
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem.certificate)
            .collect::<Result<_, _>>()
            .map_err(|_| no_certificate())?;
        let leaf = chain.first().cloned().ok_or_else(no_certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&pem.key)
            .map_err(|_| CertificateError::NoKey { path: files.key.clone() })?;
        let unusable = |source| CertificateError::Unusable {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            source,
        };
        let key = CertifiedKey::from_der(chain, key, provider).map_err(unusable)?;
        let (expires_at, self_signed) =
            inspect(&leaf).map_err(|error| unusable(rustls::Error::General(error.to_string())))?;
        Ok(Certificate { key: Arc::new(key), expires_at, self_signed })
    }
}

/// When a certificate ends, and whether it is its own issuer.
///
/// The library that verifies certificates is in the server anyway and has no other way to tell the end than to refuse
/// a certificate for it. So it is asked to verify at the end of all time, and looks at validity first.
fn inspect(leaf: &CertificateDer<'_>) -> Result<(Duration, bool), webpki::Error> {
    let certificate = EndEntityCert::try_from(leaf)?;
    let end_of_time = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX));
    let usage = KeyUsage::server_auth();
    let expires_at = match certificate.verify_for_usage(&[], &[], &[], end_of_time, usage, None, None) {
        Err(webpki::Error::CertExpired { not_after, .. }) => not_after.as_secs(),
        Err(error) => return Err(error),
        Ok(_) => u64::MAX,
    };
    Ok((Duration::from_secs(expires_at), certificate.issuer() == certificate.subject()))
}

/// Time left for whoever renews the certificate when the log begins to warn.
const NEAR: Duration = Duration::from_secs(7 * DAY);
const DAY: u64 = 86_400;

/// How much of a certificate's validity is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    Ample,
    /// Less than a week.
    Near,
    Over,
}

impl Certificate {
    /// What is left at `now`, counted from 1970.
    pub(super) fn validity(&self, now: Duration) -> Validity {
        match self.expires_at.checked_sub(now) {
            None => Validity::Over,
            Some(left) if left < NEAR => Validity::Near,
            Some(_) => Validity::Ample,
        }
    }

    /// The day of the end in UTC, such as `2027-03-31`.
    pub(super) fn last_day(&self) -> String {
        date(self.expires_at.as_secs() / DAY)
    }
}

/// A day, counted from 1970, in the calendar. Years begin in March, so that a leap day is the last of its year, and
/// 400 of them, an era, are 146,097 days.
fn date(day: u64) -> String {
    // 1 March of the year 0 was 719,468 days before 1970.
    let day = day.saturating_add(719_468);
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    format!("{:04}-{month:02}-{day_of_month:02}", era * 400 + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (day, expected) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_788, "2026-12-01"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
            (2_932_896, "9999-12-31"),
        ] {
            assert_eq!(date(day), expected);
        }
    }

    #[test]
    fn a_certificate_says_when_it_ends_and_whether_it_is_its_own_issuer() {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2031, 5, 6);
        let key = rcgen::KeyPair::generate().unwrap();
        let own = params.self_signed(&key).unwrap();
        let (expires_at, self_signed) = inspect(own.der()).unwrap();
        let certificate = |provider: &CryptoProvider| {
            let files = TlsFiles { certificate: "c".into(), key: "k".into() };
            let pem = Pem { certificate: own.pem().into(), key: key.serialize_pem().into() };
            Certificate::parse(&files, &pem, provider).unwrap()
        };
        let certificate = certificate(&rustls::crypto::ring::default_provider());
        assert_eq!((certificate.last_day().as_str(), self_signed), ("2031-05-06", true));
        for (left, expected) in [
            (30 * DAY, Validity::Ample),
            (7 * DAY, Validity::Ample),
            (7 * DAY - 1, Validity::Near),
            (0, Validity::Near),
        ] {
            assert_eq!(certificate.validity(expires_at - Duration::from_secs(left)), expected, "{left}");
        }
        assert_eq!(certificate.validity(expires_at + Duration::from_secs(1)), Validity::Over);

        let root = rcgen::CertifiedIssuer::self_signed(
            {
                let mut root = rcgen::CertificateParams::default();
                root.distinguished_name.push(rcgen::DnType::CommonName, "a root");
                root
            },
            rcgen::KeyPair::generate().unwrap(),
        )
        .unwrap();
        let issued = params.signed_by(&key, &root).unwrap();
        assert_eq!(inspect(issued.der()).unwrap(), (expires_at, false));
    }
}
