//! Following the certificate's files: what they hold anew is shown to new connections, running ones go on.

use super::certificate::{Certificate, CertificateError, Pem, Validity};
use super::{Shown, Tls};
use crate::shard::system_time;
use std::time::{Duration, Instant};
use tokio::signal::unix::Signal;
use tokio::time::MissedTickBehavior;

/// How often the files are read. They are small, and comparing what they hold finds every change, also one that
/// replaces a directory by way of a symbolic link, as Kubernetes does.
const PERIOD: Duration = Duration::from_secs(5);

/// How often the log warns of a certificate that ends soon.
const REMINDER: Duration = Duration::from_secs(86_400);

/// Follows the files for ever; `hangup` makes it look at once.
pub(crate) async fn follow(tls: Tls, mut hangup: Signal) {
    let mut follower = Follower { tls, pending: None };
    tracing::info!(expires_on = follower.expires_on(), "loaded the TLS certificate");
    follower.warn();
    let mut reported = Instant::now();
    let mut period = tokio::time::interval(PERIOD);
    period.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let cause = tokio::select! {
            _ = period.tick() => Cause::Period,
            Some(()) = hangup.recv() => Cause::Signal,
        };
        let files = follower.tls.current.files.clone();
        // A file system may take its time.
        let Ok(read) = tokio::task::spawn_blocking(move || Pem::read(&files)).await else { return };
        follower.look(read, cause);
        if reported.elapsed() >= REMINDER {
            follower.warn();
            reported = Instant::now();
        }
    }
}

/// Why the files were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Period,
    Signal,
}

struct Follower {
    tls: Tls,
    pending: Option<Pending>,
}

/// What the files hold other than what is shown.
struct Pending {
    /// `None` when they cannot be read.
    pem: Option<Pem>,
    /// Whether it was tried, and the log has the reason.
    refused: bool,
}

impl Follower {
    fn look(&mut self, read: Result<Pem, CertificateError>, cause: Cause) {
        let pem = read.as_ref().ok();
        if pem == Some(&self.tls.current.read().pem) {
            self.pending = None;
            if cause == Cause::Signal {
                tracing::info!("the files of the TLS certificate have not changed");
            }
            return;
        }
        // Two files cannot be replaced in one step: what is seen for the first time may be half of a change.
        let known = self.pending.as_ref().filter(|pending| pending.pem.as_ref() == pem);
        let due = match cause {
            Cause::Signal => true,
            Cause::Period => known.is_some_and(|pending| !pending.refused),
        };
        let refused = known.is_some_and(|pending| pending.refused);
        if !due {
            self.pending = Some(Pending { pem: read.ok(), refused });
            return;
        }
        self.pending = match read.map(|pem| (self.parse(&pem), pem)) {
            Ok((Ok(certificate), pem)) => {
                self.tls.current.replace(Shown { certificate, pem });
                tracing::info!(expires_on = self.expires_on(), "reloaded the TLS certificate");
                self.warn();
                None
            }
            Ok((Err(error), pem)) => Some(refuse(Some(pem), &error)),
            Err(error) => Some(refuse(None, &error)),
        };
    }

    fn parse(&self, pem: &Pem) -> Result<Certificate, CertificateError> {
        Certificate::parse(&self.tls.current.files, pem, &self.tls.current.provider)
    }

    fn expires_on(&self) -> String {
        self.tls.current.read().certificate.last_day()
    }

    /// Says so when the certificate ends soon, or has ended.
    fn warn(&self) {
        let shown = self.tls.current.read();
        let now = Duration::from_millis(system_time().as_millis());
        let expires_on = shown.certificate.last_day();
        match shown.certificate.validity(now) {
            Validity::Ample => {}
            Validity::Near => tracing::warn!(expires_on, "the TLS certificate ends within a week"),
            Validity::Over => tracing::error!(expires_on, "the TLS certificate has ended; clients refuse it"),
        }
    }
}

fn refuse(pem: Option<Pem>, error: &CertificateError) -> Pending {
    let error = crate::cli::sentence(error);
    tracing::error!(error, "the new TLS certificate cannot be used; the old one stays");
    Pending { pem, refused: true }
}
