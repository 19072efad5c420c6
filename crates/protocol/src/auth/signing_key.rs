//! Keys derived from a secret for a day, a region and a service, and the few that are kept.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::sync::RwLock;

/// A keyed HMAC-SHA256: cloning it saves keying it again.
pub(super) type KeyedMac = Hmac<Sha256>;

/// What a signature is good for: the middle of a credential scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyScope<'a> {
    /// `YYYYMMDD`.
    pub(super) date: &'a str,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

/// The last part of every credential scope.
pub(super) const TERMINATOR: &str = "aws4_request";

/// Derives the key of a scope: four MACs in a chain.
pub(super) fn derive(secret: &str, scope: KeyScope<'_>) -> KeyedMac {
    let key = mac(keyed(format!("AWS4{secret}").as_bytes()), scope.date);
    let key = mac(keyed(&key), scope.region);
    let key = mac(keyed(&key), scope.service);
    keyed(&mac(keyed(&key), TERMINATOR))
}

fn keyed(key: &[u8]) -> KeyedMac {
    KeyedMac::new_from_slice(key).expect("an HMAC takes keys of every length")
}

fn mac(mut keyed: KeyedMac, text: &str) -> [u8; 32] {
    keyed.update(text.as_bytes());
    keyed.finalize().into_bytes().into()
}

/// Keys kept for each credential: a day, the next, and the regions and services that one caller uses. About 300
/// bytes each.
const KEPT: usize = 16;

/// The keys last derived of one credential.
///
/// Nobody waits here: readers share the lock, and a reader or writer that would have to wait goes without, and
/// derives the key (or forgets it), which takes some microseconds.
#[derive(Default)]
pub(super) struct SigningKeys {
    kept: RwLock<Vec<Kept>>,
}

struct Kept {
    date: Box<str>,
    region: Box<str>,
    service: Box<str>,
    key: KeyedMac,
}

impl Kept {
    fn is_of(&self, scope: KeyScope<'_>) -> bool {
        (&*self.date, &*self.region, &*self.service) == (scope.date, scope.region, scope.service)
    }
}

impl SigningKeys {
    /// The key of a scope, if it is kept and nobody is writing.
    pub(super) fn find(&self, scope: KeyScope<'_>) -> Option<KeyedMac> {
        let kept = self.kept.try_read().ok()?;
        kept.iter().find(|kept| kept.is_of(scope)).map(|kept| kept.key.clone())
    }

    /// Keeps a key in place of the oldest. For keys of verified signatures only: whoever knows an access key but not
    /// its secret must not be able to drive out the keys in use.
    pub(super) fn keep(&self, scope: KeyScope<'_>, key: KeyedMac) {
        let Ok(mut kept) = self.kept.try_write() else { return };
        if kept.iter().any(|kept| kept.is_of(scope)) {
            return;
        }
        if kept.len() == KEPT {
            kept.remove(0);
        }
        let KeyScope { date, region, service } = scope;
        kept.push(Kept { date: date.into(), region: region.into(), service: service.into(), key });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    /// The example of the guide "Signature Version 4 signing process", deriving a signing key.
    #[test]
    fn the_documented_key_is_derived() {
        let scope = KeyScope { date: "20150830", region: "us-east-1", service: "iam" };
        let mut signed = derive(SECRET, scope);
        signed.update(
            b"AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/iam/aws4_request\n\
              f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59",
        );
        let signature: String =
            signed.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(signature, "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
    }

    #[test]
    fn keys_are_kept_by_scope_and_in_a_bounded_number() {
        let keys = SigningKeys::default();
        let dates: Vec<String> = (0..KEPT + 3).map(|day| format!("202311{day:02}")).collect();
        let scope = |date| KeyScope { date, region: "us-east-1", service: "sqs" };
        for date in &dates {
            keys.keep(scope(date), derive(SECRET, scope(date)));
            keys.keep(scope(date), derive(SECRET, scope(date)));
        }
        assert_eq!(keys.kept.read().unwrap().len(), KEPT);
        assert!(keys.find(scope(&dates[2])).is_none(), "the oldest went");
        let last = keys.find(scope(&dates[KEPT + 2])).unwrap();
        assert_eq!(mac(last, "x"), mac(derive(SECRET, scope(&dates[KEPT + 2])), "x"));
        for other in [
            KeyScope { region: "eu-west-1", ..scope(&dates[KEPT]) },
            KeyScope { service: "sns", ..scope(&dates[KEPT]) },
        ] {
            assert!(keys.find(other).is_none());
        }
    }

    #[test]
    fn nobody_waits_for_a_key() {
        let keys = SigningKeys::default();
        let scope = KeyScope { date: "20231114", region: "us-east-1", service: "sqs" };
        let held = keys.kept.write().unwrap();
        assert!(keys.find(scope).is_none());
        keys.keep(scope, derive(SECRET, scope));
        drop(held);
        assert!(keys.find(scope).is_none());
    }
}
