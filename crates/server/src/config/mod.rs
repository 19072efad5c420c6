//! The server's settings: one plain struct of checked values, built once at start.
//!
//! A setting is written down in one place, the table in `settings.rs`. The keys of the configuration file, the names of
//! environment variables, the flags with their help, and the table in `docs/operating.md` all come from it.
//!
//! Four sources are laid over each other, each overriding the former: the embedded defaults, the TOML file named by
//! `--config` or `TIDEGATE_CONFIG`, the environment variables `TIDEGATE_*`, and the flags. Every source hands over text,
//! and one parser for each setting turns the text that won into a value, so that a value means the same wherever it
//! stands.

mod credentials;
mod error;
mod form;
mod manual;
mod queues;
mod settings;
mod sources;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;
use std::net::SocketAddr;

pub(crate) use credentials::DeclaredCredential;
pub(crate) use error::ConfigError;
pub(crate) use manual::settings_help;
pub(crate) use queues::DeclaredQueue;
pub(crate) use settings::{Config, Flag, SETTINGS};
pub(crate) use sources::{Flags, Origin};
pub(crate) use values::{AdminToken, Durability, LogFormat, PublicUrl};

use crate::tls::TlsFiles;
use sources::Layers;

impl Config {
    /// Lays the sources over each other and checks the result.
    ///
    /// `environment` is all of the process's variables; those that do not begin with `TIDEGATE_` are passed over.
    ///
    /// # Errors
    ///
    /// The first thing found wrong, with the place where it was written and what would be right.
    pub(crate) fn load(
        flags: &Flags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let environment = sources::sort_environment(environment)?;
        let mut layers = Layers::default();
        let file = flags.config.clone().or(environment.config);
        let declared = match &file {
            Some(path) => layers.add_file(path)?,
            None => sources::Tables::default(),
        };
        layers.add_environment(environment.values);
        layers.add_flags(flags);

        let mut config = Config::from_layers(&layers)?;
        config.queues = queues::check(declared.queues, config.account, &config.region)?;
        config.credentials = credentials::check(declared.credentials, config.account)?;
        config.check_relations(&layers)?;
        Ok(config)
    }

    /// The files for TLS, if it is wanted.
    pub(crate) fn tls_files(&self) -> Option<TlsFiles> {
        let (certificate, key) = (self.tls_certificate.clone()?, self.tls_key.clone()?);
        Some(TlsFiles { certificate, key })
    }

    /// The operators' token, from the setting or from the file that another one names.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or holds no token. No error holds a part of it.
    pub(crate) fn read_admin_token(&self) -> Result<Option<AdminToken>, ConfigError> {
        let Some(path) = &self.admin_token_file else { return Ok(self.admin_token.clone()) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::TokenUnreadable { path: path.clone(), source })?;
        let token = AdminToken::parse(text.trim_end_matches(['\r', '\n']));
        let refused = || ConfigError::TokenRefused { path: path.clone(), allowed: form::TOKEN_ALLOWED };
        token.map(Some).ok_or_else(refused)
    }

    /// Whether operators' tokens would cross a network in plain text.
    pub(crate) fn admin_is_overheard(&self) -> bool {
        let encrypted = self.admin_tls && self.tls_certificate.is_some();
        !encrypted && !is_loopback(self.admin)
    }

    /// What no setting can check alone.
    fn check_relations(&self, layers: &Layers) -> Result<(), ConfigError> {
        if !self.allow_anonymous && self.credentials.is_empty() && !is_loopback(self.listen) {
            return Err(ConfigError::NotLoopback { address: self.listen, origin: layers.origin("listen") });
        }
        if self.admin_token.is_some() && self.admin_token_file.is_some() {
            return Err(ConfigError::TokenTwice);
        }
        let guarded = self.admin_token.is_some() || self.admin_token_file.is_some();
        if !guarded && !is_loopback(self.admin) {
            return Err(ConfigError::AdminOpen { address: self.admin, origin: layers.origin("admin") });
        }
        if self.listen == self.admin && self.listen.port() != 0 {
            return Err(ConfigError::SameAddress { address: self.listen });
        }
        match (&self.tls_certificate, &self.tls_key) {
            (Some(_), None) => return Err(half_of_tls(layers, "tls_certificate", "tls_key")),
            (None, Some(_)) => return Err(half_of_tls(layers, "tls_key", "tls_certificate")),
            _ => {}
        }
        let disk_min = u64::from(self.segment_bytes) * SEGMENTS_MIN;
        match self.disk_max {
            Some(given) if given < disk_min => Err(ConfigError::DiskTooSmall {
                given: form::show_bytes(given),
                min: form::show_bytes(disk_min),
                segments: SEGMENTS_MIN,
                segment: form::show_bytes(u64::from(self.segment_bytes)),
            }),
            _ => Ok(()),
        }
    }
}

fn half_of_tls(layers: &Layers, given: &'static str, missing: &'static str) -> ConfigError {
    ConfigError::HalfOfTls { given, missing, origin: layers.origin(given) }
}

/// Segments that the quota of the log must have room for: the one that is written, the one being emptied, the room
/// beyond each one's end (an eighth), and one to seal. With less the log would be full at once.
const SEGMENTS_MIN: u64 = 4;

/// Whether only programs on this machine can reach the address. An IPv4 address inside an IPv6 one counts as itself.
fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
