//! What can be wrong with the configuration. Every message names the place and says what to write instead.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

use super::Origin;

/// Why the server cannot start with the configuration that it was given.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read", path.display())]
    FileUnreadable {
        /// The file, as it was named.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration file {} is not valid TOML: line {line}, column {column}: {message}", path.display())]
    FileSyntax {
        /// The file, as it was named.
        path: PathBuf,
        /// Line of the fault, from 1.
        line: usize,
        /// Column of the fault, from 1.
        column: usize,
        /// The cause, without an excerpt.
        message: String,
    },
    /// A key of the file, or of a table in it, is unknown.
    #[error("{origin}: there is no setting `{key}`{}", suggestion(nearest.as_ref()))]
    KeyUnknown {
        /// The key as written, with its table in front.
        key: String,
        /// Where it was written.
        origin: Origin,
        /// The known key that looks most like it, if one does.
        nearest: Option<String>,
    },
    /// An environment variable begins with `TIDEGATE_` and names no setting.
    #[error("there is no setting for the environment variable {name}{}", suggestion(nearest.as_ref()))]
    VariableUnknown {
        /// Name of the variable.
        name: String,
        /// The known variable that looks most like it, if one does.
        nearest: Option<String>,
    },
    /// An environment variable is not text.
    #[error("the environment variable {name} is not valid UTF-8")]
    VariableNotText {
        /// Name of the variable.
        name: String,
    },
    /// A value does not fit its setting.
    #[error("{origin}: `{key}` is `{value}`, but must be {allowed}")]
    ValueRefused {
        /// The setting.
        key: &'static str,
        /// The value as written.
        value: String,
        /// Where it was written.
        origin: Origin,
        /// What would be accepted, as a noun phrase.
        allowed: String,
    },
    /// A value of the file has a type that no setting has.
    #[error("{origin}: `{key}` is {found}, but must be {allowed}")]
    TypeRefused {
        /// The key as written, with its table in front.
        key: String,
        /// The type found, as a noun phrase.
        found: &'static str,
        /// Where it was written.
        origin: Origin,
        /// What would be accepted, as a noun phrase.
        allowed: &'static str,
    },
    /// The APIs would be reachable from other machines, and nothing would ask callers who they are.
    #[error(
        "{origin}: `listen` is {address}, which other machines can reach, while no credentials are configured and every \
         caller is accepted. Listen on 127.0.0.1 or [::1], or, if the network keeps strangers out, accept them with \
         --allow-anonymous (`allow_anonymous = true`, TIDEGATE_ALLOW_ANONYMOUS=true)"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
        /// Where it was written.
        origin: Origin,
    },
    /// The operators' listener would be reachable from other machines, and nothing would ask who they are.
    #[error(
        "{origin}: `admin` is {address}, which other machines can reach, while operators need no token. Set one of at \
         least 16 characters in TIDEGATE_ADMIN_TOKEN, or in a file that `admin_token_file` names (`openssl rand -hex \
         24` makes one), or listen on 127.0.0.1 or [::1]"
    )]
    AdminOpen {
        /// The address.
        address: SocketAddr,
        /// Where it was written.
        origin: Origin,
    },
    /// There are two places for one token.
    #[error("`admin_token` and `admin_token_file` are both set; keep one of them")]
    TokenTwice,
    /// The file of a token cannot be read.
    #[error("`admin_token_file`: the file {} cannot be read", path.display())]
    TokenUnreadable {
        /// The file, as it was named.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file of a token holds something else.
    #[error("`admin_token_file`: the file {} must hold one line, {allowed}", path.display())]
    TokenRefused {
        /// The file, as it was named.
        path: PathBuf,
        /// What would be accepted, as a noun phrase.
        allowed: &'static str,
    },
    /// Both listeners have one address.
    #[error("`listen` and `admin` are both {address}; give them different ports")]
    SameAddress {
        /// The address.
        address: SocketAddr,
    },
    /// There is a certificate without its key, or a key without its certificate.
    #[error("{origin}: `{given}` is set, but `{missing}` is not; TLS needs both")]
    HalfOfTls {
        /// The setting that is there.
        given: &'static str,
        /// The setting that is not.
        missing: &'static str,
        /// Where the one that is there was written.
        origin: Origin,
    },
    /// The quota leaves the log no room to work.
    #[error(
        "`disk_max` is {given}, but must be at least {min}, room for {segments} segments of {segment}; raise it, or \
         lower `segment_bytes`"
    )]
    DiskTooSmall {
        /// The quota.
        given: String,
        /// The smallest quota at this size of segments.
        min: String,
        /// How many segments must fit.
        segments: u64,
        /// The size of segments.
        segment: String,
    },
    /// A declared queue has no name.
    #[error("{origin}: this [[queue]] has no `name`")]
    QueueUnnamed {
        /// Where the table begins.
        origin: Origin,
    },
    /// A value that names a declared queue is not well-formed.
    #[error("{origin}: the {what} of this queue is `{value}`, but must be {allowed}")]
    QueueRefused {
        /// `name`, `account` or `region`.
        what: &'static str,
        /// The value as written.
        value: String,
        /// Where it was written.
        origin: Origin,
        /// What would be accepted, as a noun phrase.
        allowed: &'static str,
    },
    /// One queue is declared twice.
    #[error("{second}: the queue {name} was already declared: {first}")]
    QueueTwice {
        /// Name of the queue.
        name: String,
        /// Where it was declared first.
        first: Origin,
        /// Where it was declared again.
        second: Origin,
    },
    /// A credential lacks what every one has.
    #[error("{origin}: this [[credentials]] has no `{what}`")]
    CredentialWithout {
        /// `access_key` or `secret_key`.
        what: &'static str,
        /// Where the table begins.
        origin: Origin,
    },
    /// A value of a credential, other than its secret, is not well-formed.
    #[error("{origin}: `credentials.{what}` has `{value}`, but must be {allowed}")]
    CredentialRefused {
        /// The key in the table.
        what: &'static str,
        /// The value as written.
        value: String,
        /// Where it was written.
        origin: Origin,
        /// What would be accepted, as a noun phrase.
        allowed: &'static str,
    },
    /// A secret is not well-formed. It is not shown.
    #[error("{origin}: `credentials.secret_key` must be {allowed}")]
    SecretRefused {
        /// Where it was written.
        origin: Origin,
        /// What would be accepted, as a noun phrase.
        allowed: &'static str,
    },
    /// One access key has two credentials.
    #[error("{second}: the access key {access_key} already has credentials: {first}")]
    CredentialTwice {
        /// The access key.
        access_key: String,
        /// Where it was declared first.
        first: Origin,
        /// Where it was declared again.
        second: Origin,
    },
    /// There are more credentials than the server takes.
    #[error("{given} [[credentials]] are configured, but at most {max} may be")]
    TooManyCredentials {
        /// How many there are.
        given: usize,
        /// How many there may be.
        max: usize,
    },
}

fn suggestion(nearest: Option<&String>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => "; `tidegate serve --help` lists the settings".into(),
    }
}
