//! Verification: a signed request to an identity, or a fault.
//!
//! The order of checks: is there a complete signature, is its date one and near enough, does it sign what matters, is
//! its scope this service's, is its access key known, is it right, does it come without a session token. A request
//! with an unknown access key goes through all of it, so that the time of the answer tells nothing.

use super::canonical::canonical_request;
use super::claim::{Claim, Form, SKEW};
use super::credentials::Credentials;
use super::identity::{Home, Identity, Principal};
use super::signing_key::{KeyScope, derive};
use super::{claim, date};
use crate::Context;
use crate::fault::Fault;
use crate::http::Request;
use crate::queue_url;
use crate::text;
use hmac::Mac as _;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use tidegate_engine::Timestamp;

/// Header with the digest of the body. It may be absent.
const CONTENT_DIGEST: &str = "x-amz-content-sha256";
/// What stands there when the body is not signed.
const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";
/// Headers that must be signed when they are there: with another host or another action it is another request.
const SIGNED_IF_SENT: [&str; 2] = ["host", "x-amz-target"];

impl Credentials {
    /// Who signed the request.
    ///
    /// Costs a SHA-256 of the body and of the canonical request, and one MAC; four more on the first request of a
    /// credential in a day and region.
    ///
    /// # Errors
    /// A fault of the caller's for everything but a right signature of a known key, in time.
    pub(crate) fn verify(&self, request: &Request<'_>, context: &Context<'_>) -> Result<Identity, Fault> {
        let claim = Claim::read(request)?.ok_or_else(|| unsigned(request, context))?;
        let signed_at = date::parse(&claim.date).ok_or_else(|| {
            let got = text::echo(&claim.date);
            claim::incomplete(format!(
                "Date must be in ISO-8601 'basic format'. Got '{got}'. See http://en.wikipedia.org/wiki/ISO_8601"
            ))
        })?;
        check_age(&claim, signed_at, context.now)?;
        check_signed_headers(request, &claim)?;
        let scope = claim.scope()?;

        let digest = hex(&Sha256::digest(request.body));
        let declared = request.headers.get(CONTENT_DIGEST);
        let is_body_right =
            declared.is_none_or(|declared| declared == digest || declared == UNSIGNED_PAYLOAD);
        let host = queue_url::forwarded_host(request, &context.urls);
        let canonical = canonical_request(request, &claim, host, declared.unwrap_or(&digest))?;

        let credential = self.find(scope.access_key);
        let kept = credential.and_then(|credential| credential.keys.find(scope.key));
        let secret = credential.map_or(&self.stand_in, |credential| &credential.secret);
        let key = kept.clone().unwrap_or_else(|| derive(secret.expose(), scope.key));
        let mut mac = key.clone();
        mac.update(string_to_sign(&claim.date, scope.key, &canonical).as_bytes());
        // Compares in constant time.
        let is_right = mac.verify_slice(&signature_bytes(&claim.signature)).is_ok();

        let credential = credential.ok_or(Fault::UnknownAccessKey)?;
        if !is_right || !is_body_right {
            return Err(Fault::SignatureMismatch);
        }
        if kept.is_none() {
            credential.keys.keep(scope.key, key);
        }
        if claim.has_token {
            // There are no sessions here, so no token is a valid one.
            return Err(Fault::UnknownAccessKey);
        }
        let home = Home { account: credential.user.account, region: scope.region };
        Ok(Identity { home, principal: Principal::User(credential.user.clone()) })
    }
}

fn unsigned(request: &Request<'_>, context: &Context<'_>) -> Fault {
    let base = queue_url::base(request, &context.urls);
    Fault::Unsigned { resource: text::echo(&format!("{base}{}", request.path)) }
}

fn check_age(claim: &Claim<'_>, signed_at: Timestamp, now: Timestamp) -> Result<(), Fault> {
    let signed = || date::format(signed_at).into();
    let (life, allowed) = match claim.form {
        Form::Header => (SKEW, format!("{} min.", SKEW.as_secs() / 60)),
        Form::PreSigned { life } => (life, format!("{} sec.", life.as_secs())),
    };
    if now.since(signed_at) > life {
        let earliest = Timestamp::from_millis(now.as_millis().saturating_sub(millis(life)));
        return Err(Fault::SignatureExpired {
            signed: signed(),
            earliest: date::format(earliest).into(),
            now: date::format(now).into(),
            allowed: allowed.into(),
        });
    }
    if signed_at.since(now) > SKEW {
        let latest = Timestamp::from_millis(now.as_millis().saturating_add(millis(SKEW)));
        return Err(Fault::SignatureNotYetCurrent {
            signed: signed(),
            latest: date::format(latest).into(),
            now: date::format(now).into(),
            allowed: format!("{} min.", SKEW.as_secs() / 60).into(),
        });
    }
    Ok(())
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn check_signed_headers(request: &Request<'_>, claim: &Claim<'_>) -> Result<(), Fault> {
    let is_sent = |name: &str| {
        let mut found = false;
        request.headers.visit(name, &mut |_| found = true);
        found
    };
    let unsigned =
        SIGNED_IF_SENT.iter().find(|name| !claim.signs(name) && (**name == "host" || is_sent(name)));
    match unsigned {
        Some(&"host") => Err(Fault::HeaderNotSigned { header: "'Host' or ':authority'" }),
        Some(_) => Err(Fault::HeaderNotSigned { header: "'X-Amz-Target'" }),
        None => Ok(()),
    }
}

fn string_to_sign(date: &str, scope: KeyScope<'_>, canonical: &[u8]) -> String {
    let KeyScope { date: day, region, service } = scope;
    let digest = hex(&Sha256::digest(canonical));
    let (algorithm, terminator) = (claim::ALGORITHM, super::signing_key::TERMINATOR);
    format!("{algorithm}\n{date}\n{day}/{region}/{service}/{terminator}\n{digest}")
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes of a signature; none when it is not 64 hexadecimal digits, which no signature equals.
fn signature_bytes(text: &str) -> Vec<u8> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len() == 64).unwrap_or_default();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[cfg(test)]
mod tests;
