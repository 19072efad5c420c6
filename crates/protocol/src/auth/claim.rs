//! What a request says of its signature, read but not believed.
//!
//! ```text
//! header form    Authorization: AWS4-HMAC-SHA256 Credential=<scope>, SignedHeaders=<a;b>, Signature=<hex>
//!                X-Amz-Date: <date>
//! pre-signed     ?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=<scope>&X-Amz-Date=<date>
//!                &X-Amz-Expires=<seconds>&X-Amz-SignedHeaders=<a;b>&X-Amz-Signature=<hex>
//! scope          <access key>/<YYYYMMDD>/<region>/<service>/aws4_request
//! ```
//!
//! The texts of errors are those of the service (IAM user guide, "Troubleshoot signed requests for AWS APIs", and as
//! other services of AWS were seen to answer), but that they do not repeat the `Authorization` header.

use super::canonical::decoded_params;
use super::signing_key::{KeyScope, TERMINATOR};
use crate::fault::Fault;
use crate::http::Request;
use crate::{limits, text};
use std::borrow::Cow;
use std::time::Duration;
use tidegate_engine::Region;

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The services whose scope is accepted.
const SERVICES: [&str; 1] = ["sqs"];

/// How far a signature's date may be from the server's clock, and how long a signature is good that does not say:
/// "more than 15 minutes after the date stamp on the request […] or […] more than 15 minutes in the future"
/// (SQS API reference, "Common Errors", RequestExpired).
pub(super) const SKEW: Duration = Duration::from_secs(15 * 60);

/// Longest life of a pre-signed request (IAM user guide, "Authenticating requests: using query parameters": 7 days).
pub(super) const EXPIRES_MAX: u64 = 604_800;

/// A signature and what it claims to sign.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claim<'a> {
    pub(super) form: Form,
    pub(super) credential: Cow<'a, str>,
    /// The date as sent.
    pub(super) date: Cow<'a, str>,
    /// Names in lower case, separated by semicolons.
    pub(super) signed_headers: String,
    pub(super) signature: Cow<'a, str>,
    /// Whether a session token came with it.
    pub(super) has_token: bool,
}

/// Where the signature stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Header,
    /// In the URL, for as long as that says.
    PreSigned {
        life: Duration,
    },
}

/// The parts of a credential scope.
pub(super) struct Scope<'a> {
    pub(super) access_key: &'a str,
    pub(super) key: KeyScope<'a>,
    pub(super) region: Region,
}

impl<'a> Claim<'a> {
    /// Reads the signature of a request; `None` when it has none.
    ///
    /// # Errors
    /// A signature that is not complete, of another algorithm or version, or in both places.
    pub(super) fn read(request: &Request<'a>) -> Result<Option<Self>, Fault> {
        let header = request.headers.get("authorization");
        let params = PreSigned::read(request.query.unwrap_or_default());
        match (header, params) {
            (Some(_), Some(_)) => Err(Fault::TwoSignatures),
            (Some(header), None) => of_header(header, request).map(Some),
            (None, Some(params)) => params.claim(request).map(Some),
            (None, None) if is_version_2(request) => Err(incomplete(NOT_VERSION_4)),
            (None, None) => Ok(None),
        }
    }

    pub(super) fn signs(&self, header: &str) -> bool {
        self.signed_headers.split(';').any(|name| name == header)
    }

    /// The parts of the scope.
    ///
    /// # Errors
    /// A scope that is not five parts, or that this server does not serve.
    pub(super) fn scope(&self) -> Result<Scope<'_>, Fault> {
        let parts: Vec<_> = self.credential.splitn(6, '/').collect();
        let &[access_key, date, region, service, terminator] = &parts[..] else {
            return Err(incomplete(
                "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.",
            ));
        };
        let mut reasons = Vec::new();
        let parsed = Region::parse(region);
        if parsed.is_none() {
            reasons.push(format!(
                "Credential should be scoped to a valid region, not '{}'.",
                text::echo(region)
            ));
        }
        if !SERVICES.contains(&service) {
            reasons.push(format!(
                "Credential should be scoped to correct service: '{}'.",
                SERVICES.join("' or '")
            ));
        }
        if terminator != TERMINATOR {
            reasons.push(format!(
                "Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{}'.",
                text::echo(terminator)
            ));
        }
        if self.date.split('T').next() != Some(date) {
            reasons.push(format!(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: \
                 '{}' != '{}', from '{}'.",
                text::echo(date),
                text::echo(self.date.split('T').next().unwrap_or_default()),
                text::echo(&self.date)
            ));
        }
        match parsed {
            Some(parsed) if reasons.is_empty() => {
                Ok(Scope { access_key, key: KeyScope { date, region, service }, region: parsed })
            }
            _ => Err(Fault::SignatureScope { reasons: reasons.join(" ").into() }),
        }
    }
}

const NOT_VERSION_4: &str =
    "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.";

pub(super) fn incomplete(reason: impl Into<Cow<'static, str>>) -> Fault {
    Fault::IncompleteSignature { reason: reason.into() }
}

fn of_header<'a>(header: &'a str, request: &Request<'a>) -> Result<Claim<'a>, Fault> {
    let header = header.trim();
    let (algorithm, rest) = header.split_once([' ', '\t']).unwrap_or((header, ""));
    if algorithm != ALGORITHM && algorithm.starts_with("AWS4-") {
        return Err(unsupported(algorithm));
    }
    // `AWS <key>:<signature>` and `AWS3 …`.
    if algorithm.starts_with("AWS") && algorithm != ALGORITHM {
        return Err(incomplete(NOT_VERSION_4));
    }
    // Another scheme's credentials say nothing in this one.
    let rest = if algorithm == ALGORITHM { rest } else { "" };
    let mut found = [None; HEADER_PARAMS.len()];
    for part in rest.split([',', ' ', '\t']).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| {
            incomplete(
                "A part of the Authorization header is not a valid key=value pair (missing equal-sign).",
            )
        })?;
        let Some(at) = HEADER_PARAMS.iter().position(|known| *known == name) else { continue };
        if found[at].replace(value).is_some() {
            return Err(incomplete(format!("Authorization header has the '{name}' parameter twice.")));
        }
    }
    let date = request.headers.get("x-amz-date").or_else(|| request.headers.get("date"));
    let missing = HEADER_PARAMS.iter().zip(&found).filter(|(_, value)| value.is_none_or(str::is_empty));
    let mut missing: Vec<_> =
        missing.map(|(name, _)| format!("Authorization header requires '{name}' parameter.")).collect();
    if date.is_none() {
        missing.push(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.".to_owned(),
        );
    }
    match (found, date) {
        ([Some(credential), Some(signature), Some(signed_headers)], Some(date)) if missing.is_empty() => {
            Ok(Claim {
                form: Form::Header,
                credential: credential.into(),
                date: date.into(),
                signed_headers: signed_headers.to_ascii_lowercase(),
                signature: signature.into(),
                has_token: request.headers.get(TOKEN).is_some(),
            })
        }
        _ => Err(incomplete(missing.join(" "))),
    }
}

/// In the order in which missing ones are named.
const HEADER_PARAMS: [&str; 3] = ["Credential", "Signature", "SignedHeaders"];

const TOKEN: &str = "x-amz-security-token";

fn unsupported(algorithm: &str) -> Fault {
    incomplete(format!("Unsupported AWS 'algorithm': '{}'.", text::echo(algorithm)))
}

/// The signature's parameters in a URL, decoded.
#[derive(Default)]
struct PreSigned<'a> {
    required: [Option<Cow<'a, str>>; QUERY_PARAMS.len()],
    expires: Option<Cow<'a, str>>,
    has_token: bool,
}

/// In the order in which missing ones are named.
const QUERY_PARAMS: [&str; 5] =
    ["X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date"];

/// Names any of these, and it is meant to be signed.
const TELLING: usize = 3;

impl<'a> PreSigned<'a> {
    /// `None` when the URL has no signature.
    fn read(query: &'a str) -> Option<Self> {
        // Most URLs have no parameters at all, or none of these.
        if !query.contains("X-Amz-") {
            return None;
        }
        let mut found = PreSigned::default();
        for (name, value) in decoded_params(query).take(limits::PAIRS) {
            match &*name {
                "X-Amz-Expires" => found.expires = Some(value),
                "X-Amz-Security-Token" => found.has_token = true,
                name => {
                    if let Some(at) = QUERY_PARAMS.iter().position(|known| *known == name) {
                        found.required[at] = Some(value);
                    }
                }
            }
        }
        found.required[..TELLING].iter().any(Option::is_some).then_some(found)
    }

    fn claim(self, request: &Request<'a>) -> Result<Claim<'a>, Fault> {
        let missing = QUERY_PARAMS.iter().zip(&self.required);
        let mut missing: Vec<_> = missing
            .filter(|(_, value)| value.as_deref().is_none_or(str::is_empty))
            .map(|(name, _)| format!("AWS query-string parameters must include '{name}'."))
            .collect();
        let [Some(algorithm), Some(credential), Some(signature), Some(signed_headers), Some(date)] =
            self.required
        else {
            missing.push("Re-examine the query-string parameters.".to_owned());
            return Err(incomplete(missing.join(" ")));
        };
        if !missing.is_empty() {
            missing.push("Re-examine the query-string parameters.".to_owned());
            return Err(incomplete(missing.join(" ")));
        }
        if algorithm != ALGORITHM {
            return Err(unsupported(&algorithm));
        }
        Ok(Claim {
            form: Form::PreSigned { life: life(self.expires.as_deref())? },
            credential,
            date,
            signed_headers: signed_headers.to_ascii_lowercase(),
            signature,
            has_token: self.has_token || request.headers.get(TOKEN).is_some(),
        })
    }
}

fn life(expires: Option<&str>) -> Result<Duration, Fault> {
    let Some(expires) = expires else { return Ok(SKEW) };
    match text::decimal(expires) {
        Some(seconds @ 1..=EXPIRES_MAX) => Ok(Duration::from_secs(seconds)),
        Some(0) => Err(incomplete("X-Amz-Expires must be greater than 0 seconds.")),
        Some(_) => Err(incomplete(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less \
             than 604800 seconds.",
        )),
        None => Err(incomplete("X-Amz-Expires should be a number.")),
    }
}

/// Whether a request has a signature of version 2, in its URL or its form.
fn is_version_2(request: &Request<'_>) -> bool {
    let is_key = |pair: &[u8]| pair.starts_with(b"AWSAccessKeyId=");
    let media_type = request.headers.get("content-type").unwrap_or_default();
    let body = if media_type.starts_with("application/x-www-form-urlencoded") { request.body } else { b"" };
    request.query.unwrap_or_default().as_bytes().split(|&b| b == b'&').any(is_key)
        || body.split(|&b| b == b'&').any(is_key)
}
