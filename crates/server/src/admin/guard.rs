//! What a request to the operators' listener has to pass: the token, and, when it changes or shows messages, the proof
//! that no page of another site made a browser send it.

use crate::api::plain;
use crate::config::AdminToken;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, WWW_AUTHENTICATE,
};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use std::net::{IpAddr, Ipv6Addr};

/// Decides who is let in.
pub(crate) struct Guard {
    /// The operators' token; `None` lets everyone in who reaches the listener, which is on loopback then.
    pub(crate) token: Option<AdminToken>,
}

/// Why a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The token is missing or wrong.
    Unauthorized,
    /// A browser sent it for a page of another site.
    CrossSite,
    /// It does not say that its body is JSON. A form of any site could send it without being asked for consent.
    NotJson,
}

/// Paths without a token: probes cannot send one, and they tell no more than a failing send does.
const OPEN: [&str; 2] = ["/health", "/ready"];

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl Guard {
    /// Lets a request through or not. Looks at its head alone.
    pub(super) fn admit<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let headers = request.headers();
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if reads && OPEN.contains(&request.uri().path()) {
            return Ok(());
        }
        if self.token.as_ref().is_some_and(|token| !is_authorized(token, headers)) {
            return Err(Refusal::Unauthorized);
        }
        // The API shows what messages say, so reading it takes the proof as well.
        if reads && !request.uri().path().starts_with(super::api::PREFIX) {
            return Ok(());
        }
        if is_cross_site(headers) || (self.token.is_none() && is_rebound(headers)) {
            return Err(Refusal::CrossSite);
        }
        if request.method() == Method::POST && !is_json(headers) {
            return Err(Refusal::NotJson);
        }
        Ok(())
    }
}

/// Whether the token is there, as a bearer's or as the password of any user.
fn is_authorized(token: &AdminToken, headers: &HeaderMap) -> bool {
    let Some((scheme, value)) = text(headers, &AUTHORIZATION).and_then(|value| value.split_once(' ')) else {
        return false;
    };
    if scheme.eq_ignore_ascii_case("bearer") {
        return token.matches(value.as_bytes());
    }
    let pair = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(value).ok()).flatten();
    let pair = pair.unwrap_or_default();
    // A user's name has no colon; a password may.
    let password = pair.iter().position(|byte| *byte == b':').map(|colon| &pair[colon + 1..]);
    password.is_some_and(|password| token.matches(password))
}

/// Whether a browser says that a page of another origin sent this. The rules of `http.CrossOriginProtection` in Go's
/// standard library: `Sec-Fetch-Site` decides when it is there, else `Origin` must name the host that was asked.
/// Programs that are no browsers send neither.
fn is_cross_site(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site != "same-origin" && site != "none";
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, rest)| rest);
    authority.is_none_or(|authority| {
        !text(headers, &HOST).is_some_and(|host| authority.eq_ignore_ascii_case(host))
    })
}

/// Whether a name that is not this machine's led here. A site can let its own name resolve to a loopback address, and
/// its pages are then of the same origin as the operators' page; nobody but the token would stop them.
fn is_rebound(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return false };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return true };
    let name = authority.host();
    let address = name.parse::<IpAddr>().is_ok()
        || name.trim_start_matches('[').trim_end_matches(']').parse::<Ipv6Addr>().is_ok();
    !address && !name.eq_ignore_ascii_case("localhost")
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = text(headers, &CONTENT_TYPE).and_then(|value| value.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

impl Refusal {
    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        match self {
            Refusal::Unauthorized => {
                let mut http = plain(
                    StatusCode::UNAUTHORIZED,
                    "the operators' token is needed: as Authorization: Bearer, or as the password of any user\n",
                );
                // Browsers ask for a password when they see it.
                let challenge = HeaderValue::from_static("Basic realm=\"tidegate\"");
                http.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                http
            }
            Refusal::CrossSite => plain(StatusCode::FORBIDDEN, "pages of other sites are not served here\n"),
            Refusal::NotJson => {
                plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "requests need Content-Type: application/json\n")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a-token-of-24:characters";

    fn check(guard: &Guard, method: &str, path: &str, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.admit(&request.body(()).unwrap())
    }

    fn open() -> Guard {
        Guard { token: None }
    }

    fn guarded() -> Guard {
        Guard { token: AdminToken::parse(TOKEN) }
    }

    #[test]
    fn the_token_is_taken_from_bearers_and_passwords_alone() {
        let bearer = format!("Bearer {TOKEN}");
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        for good in [
            bearer.clone(),
            bearer.replace("Bearer", "bearer"),
            basic(&format!("anyone:{TOKEN}")),
            basic(&format!(":{TOKEN}")),
            basic(&format!("x:{TOKEN}")).replace("Basic", "BASIC"),
        ] {
            assert_eq!(check(&guarded(), "GET", "/", &[("authorization", &good)]), Ok(()), "{good}");
        }
        for bad in [
            "",
            "Bearer",
            "Bearer ",
            TOKEN,
            &bearer[..bearer.len() - 1],
            &format!("{bearer}x"),
            &format!("Bearer  {TOKEN}"),
            &bearer.to_uppercase(),
            &format!("Digest {TOKEN}"),
            &format!("Basic {TOKEN}"),
            "Basic",
            "Basic ",
            "Basic !!!",
            &basic(TOKEN),
            &basic(&format!("{TOKEN}:")),
            &basic(&format!("{TOKEN}:x")),
            &basic(""),
        ] {
            let refused = check(&guarded(), "GET", "/", &[("authorization", bad)]);
            assert_eq!(refused, Err(Refusal::Unauthorized), "{bad}");
        }
        assert_eq!(check(&guarded(), "GET", "/metrics", &[]), Err(Refusal::Unauthorized));
        assert_eq!(check(&guarded(), "POST", "/api/x", &[]), Err(Refusal::Unauthorized));
    }

    #[test]
    fn probes_need_no_token_and_nothing_like_them_gets_by() {
        for path in ["/health", "/ready", "/ready?verbose"] {
            assert_eq!(check(&guarded(), "GET", path, &[]), Ok(()), "{path}");
            assert_eq!(check(&guarded(), "HEAD", path, &[]), Ok(()), "{path}");
            assert_eq!(check(&guarded(), "POST", path, &[]), Err(Refusal::Unauthorized), "{path}");
        }
        for path in ["/", "//health", "/health/", "/Health", "/health/../metrics", "/%68ealth"] {
            assert_eq!(check(&guarded(), "GET", path, &[]), Err(Refusal::Unauthorized), "{path}");
        }
    }

    #[test]
    fn other_sites_change_nothing() {
        const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");
        let host = |host| ("host", host);
        let bearer = format!("Bearer {TOKEN}");
        for (headers, expected) in [
            (&[host("127.0.0.1:9325"), JSON][..], Ok(())),
            (&[host("localhost:9325"), JSON], Ok(())),
            (&[host("[::1]:9325"), JSON], Ok(())),
            (&[host("localhost:1"), ("origin", "http://localhost:1"), JSON], Ok(())),
            (&[host("localhost:1"), ("origin", "null"), JSON], Err(Refusal::CrossSite)),
            (&[host("localhost:1"), ("origin", "http://localhost:2"), JSON], Err(Refusal::CrossSite)),
            (&[host("localhost:1"), ("origin", "http://evil.example"), JSON], Err(Refusal::CrossSite)),
            (&[("origin", "http://evil.example"), JSON], Err(Refusal::CrossSite)),
            (&[host("localhost"), ("sec-fetch-site", "same-origin"), JSON], Ok(())),
            (&[host("localhost"), ("sec-fetch-site", "none"), JSON], Ok(())),
            (&[host("localhost"), ("sec-fetch-site", "same-site"), JSON], Err(Refusal::CrossSite)),
            (&[host("localhost"), ("sec-fetch-site", "cross-site"), JSON], Err(Refusal::CrossSite)),
            (&[host("localhost")], Err(Refusal::NotJson)),
            (&[host("localhost"), ("content-type", "text/plain")], Err(Refusal::NotJson)),
            (&[host("localhost"), ("content-type", "application/jsonx")], Err(Refusal::NotJson)),
        ] {
            assert_eq!(check(&open(), "POST", "/api/x", headers), expected, "{headers:?}");
            // Browsers add a password that they know to whatever any page sends.
            let with_token = [headers, &[("authorization", bearer.as_str())]].concat();
            assert_eq!(check(&guarded(), "POST", "/api/x", &with_token), expected, "{headers:?}");
        }
        // A name that may be an attacker's and resolve to this machine; with a token it may be the server's own.
        for name in ["ops.example", "localhost.evil.example", "127.0.0.1.evil.example", "a b"] {
            let origin = format!("http://{name}");
            for proof in [("origin", origin.as_str()), ("sec-fetch-site", "same-origin")] {
                let headers = [host(name), proof, JSON];
                assert_eq!(check(&open(), "POST", "/api/x", &headers), Err(Refusal::CrossSite), "{name}");
                let with_token = [&headers[..], &[("authorization", bearer.as_str())]].concat();
                assert_eq!(check(&guarded(), "POST", "/api/x", &with_token), Ok(()), "{name}");
            }
        }
        assert_eq!(check(&open(), "DELETE", "/", &[("origin", "null")]), Err(Refusal::CrossSite));
        for (headers, expected) in [
            ([host("localhost:9325"), ("accept", "*/*")], Ok(())),
            ([host("ops.example"), ("sec-fetch-site", "same-origin")], Err(Refusal::CrossSite)),
            ([host("localhost:9325"), ("sec-fetch-site", "cross-site")], Err(Refusal::CrossSite)),
        ] {
            assert_eq!(check(&open(), "GET", "/api/queues/q/messages", &headers), expected, "{headers:?}");
        }
        assert_eq!(check(&open(), "GET", "/", &[host("ops.example"), ("origin", "null")]), Ok(()));
    }
}
