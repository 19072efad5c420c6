//! Types of settings that belong to the server alone.

use std::fmt;

use hyper::Uri;
use subtle::ConstantTimeEq;

/// How far a change goes before its reply leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// To the medium. Survives a power failure.
    Fsync,
    /// To the operating system. Survives the end of the process, not of the machine.
    Os,
    /// Nowhere: there are no files. Everything ends with the process.
    Memory,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Durability::Fsync => "fsync",
            Durability::Os => "os",
            Durability::Memory => "memory",
        })
    }
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// `Human` on a terminal, `Json` elsewhere.
    Auto,
    /// One line of text for each event.
    Human,
    /// One JSON object for each event.
    Json,
}

/// What queue URLs begin with: `http` or `https`, an authority without user, perhaps a path. Ends in no slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicUrl(Box<str>);

impl PublicUrl {
    /// Parses a base URL; `None` when it is relative, has another scheme, a user, a query or a fragment.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let scheme = matches!(uri.scheme_str(), Some("http" | "https"));
        let authority = uri.authority().is_some_and(|a| !a.as_str().contains('@') && !a.host().is_empty());
        let plain = scheme && authority && !text.contains(['?', '#']);
        plain.then(|| PublicUrl(text.trim_end_matches('/').into()))
    }

    /// The URL's text, without a slash at the end.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What operators prove themselves with: visible ASCII characters without spaces, enough of them that guessing is
/// hopeless. Nothing shows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AdminToken(Box<str>);

impl AdminToken {
    /// Parses a token; `None` when it is too short, too long, or has characters that a header cannot carry.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let sized = (16..=256).contains(&text.len());
        (sized && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| AdminToken(text.into()))
    }

    /// Whether `given` is the token. Takes the same time wherever they differ, and tells at most the length.
    pub(crate) fn matches(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken(hidden)")
    }
}
