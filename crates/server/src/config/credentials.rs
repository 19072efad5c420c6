//! Credentials that are declared in the configuration file.
//!
//! ```toml
//! [[credentials]]
//! access_key = "AKIDEXAMPLE"
//! secret_key = "…"
//! account = "123456789012"                              # the setting `account`
//! user = "shop"                                         # the access key
//! actions = ["sqs:SendMessage", "sqs:GetQueue*"]        # everything
//! resources = ["arn:aws:sqs:*:123456789012:orders-*"]   # everything in the account
//! ```
//!
//! No error repeats a secret, nor the line that it may stand in.

use std::collections::BTreeMap;

use tidegate_engine::AccountId;
use tidegate_protocol::{
    ActionPattern, Grant, ResourcePattern, SecretKey, User, is_access_key, is_user_name,
};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::form::ACCOUNT_ALLOWED;
use super::queues::{kind, table};
use super::sources::{Place, nearest, scalar};
use super::{ConfigError, Origin};

/// The table's key in the file.
pub(super) const KEY: &str = "credentials";
/// The key whose value no message may show.
pub(super) const SECRET_KEY: &str = "secret_key";

/// Credentials of one file. Each takes about 1 KiB, and 5 KiB more for the keys derived of it.
pub(super) const CREDENTIALS_MAX: usize = 1_000;
/// Patterns of one list.
const PATTERNS_MAX: usize = 100;

/// A key that may sign requests, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredCredential {
    /// The user, with the access key and what it may be used for.
    pub(crate) user: User,
    /// The secret.
    pub(crate) secret: SecretKey,
}

/// A credential as it stands in the file, before the default of its account is known.
pub(super) struct Declared {
    access_key: String,
    secret: SecretKey,
    account: Option<AccountId>,
    user: Option<String>,
    grant: Grant,
    origin: Origin,
}

const KEYS: [&str; 6] = ["access_key", SECRET_KEY, "account", "user", "actions", "resources"];
const ACCESS_KEY_ALLOWED: &str = "1 to 128 letters, digits, hyphens, underscores and full stops";
const SECRET_ALLOWED: &str = "1 to 256 visible ASCII characters, in quotes";
const USER_ALLOWED: &str = "1 to 128 letters, digits and characters of _+=,.@-";
const ACTION_ALLOWED: &str =
    "`*`, or a service and an action such as `sqs:SendMessage`, with wildcards * and ?";
const RESOURCE_ALLOWED: &str =
    "`*`, or an ARN such as `arn:aws:sqs:*:123456789012:orders`, with wildcards * and ?";

/// Reads all `[[credentials]]` tables.
pub(super) fn read(value: &Spanned<DeValue<'_>>, place: &Place<'_>) -> Result<Vec<Declared>, ConfigError> {
    let tables = value.get_ref().as_array().ok_or_else(|| ConfigError::TypeRefused {
        key: KEY.into(),
        found: kind(value.get_ref()),
        origin: place.origin(value),
        allowed: "declared in tables that begin with [[credentials]]",
    })?;
    if tables.len() > CREDENTIALS_MAX {
        return Err(ConfigError::TooManyCredentials { given: tables.len(), max: CREDENTIALS_MAX });
    }
    tables.iter().map(|table| read_credential(table, place)).collect()
}

fn read_credential(value: &Spanned<DeValue<'_>>, place: &Place<'_>) -> Result<Declared, ConfigError> {
    let table = table(KEY, value, place)?;
    if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
        return Err(ConfigError::KeyUnknown {
            key: format!("{KEY}.{}", key.get_ref()),
            origin: place.origin(key),
            nearest: nearest(key.get_ref(), KEYS),
        });
    }
    let required = |what| {
        table.get(what).ok_or_else(|| ConfigError::CredentialWithout { what, origin: place.origin(value) })
    };
    let access_key = required("access_key")?;
    Ok(Declared {
        access_key: text("access_key", access_key, place, is_access_key, ACCESS_KEY_ALLOWED)?,
        secret: secret(required(SECRET_KEY)?, place)?,
        account: optional("account", table, place, |t| AccountId::parse(t).is_some(), ACCOUNT_ALLOWED)?
            .and_then(|account| AccountId::parse(&account)),
        user: optional("user", table, place, is_user_name, USER_ALLOWED)?,
        grant: Grant {
            actions: patterns("actions", table, place, ActionPattern::parse, ACTION_ALLOWED)?,
            resources: patterns("resources", table, place, ResourcePattern::parse, RESOURCE_ALLOWED)?,
        },
        origin: place.origin(access_key),
    })
}

/// Fills in the account and the user, and refuses a second credential of an access key.
pub(super) fn check(
    declared: Vec<Declared>,
    account: AccountId,
) -> Result<Vec<DeclaredCredential>, ConfigError> {
    let mut seen = BTreeMap::new();
    let mut credentials = Vec::with_capacity(declared.len());
    for Declared { access_key, secret, account: own, user, grant, origin } in declared {
        if let Some(first) = seen.insert(access_key.clone(), origin.clone()) {
            return Err(ConfigError::CredentialTwice { access_key, first, second: origin });
        }
        let name = user.unwrap_or_else(|| access_key.clone()).into();
        let user = User { account: own.unwrap_or(account), name, access_key: access_key.into(), grant };
        credentials.push(DeclaredCredential { user, secret });
    }
    Ok(credentials)
}

fn optional(
    what: &'static str,
    table: &DeTable<'_>,
    place: &Place<'_>,
    is_fit: fn(&str) -> bool,
    allowed: &'static str,
) -> Result<Option<String>, ConfigError> {
    table.get(what).map(|value| text(what, value, place, is_fit, allowed)).transpose()
}

fn text(
    what: &'static str,
    value: &Spanned<DeValue<'_>>,
    place: &Place<'_>,
    is_fit: fn(&str) -> bool,
    allowed: &'static str,
) -> Result<String, ConfigError> {
    let text = scalar(value.get_ref()).map_err(|found| type_refused(what, found, value, place, allowed))?;
    if is_fit(&text) {
        return Ok(text);
    }
    Err(ConfigError::CredentialRefused { what, value: text, origin: place.origin(value), allowed })
}

fn secret(value: &Spanned<DeValue<'_>>, place: &Place<'_>) -> Result<SecretKey, ConfigError> {
    let refused = || ConfigError::SecretRefused { origin: place.origin(value), allowed: SECRET_ALLOWED };
    match value.get_ref() {
        DeValue::String(text) => SecretKey::parse(text).ok_or_else(refused),
        _ => Err(refused()),
    }
}

/// A list of patterns; `None` when it is absent.
fn patterns<T>(
    what: &'static str,
    credential: &DeTable<'_>,
    place: &Place<'_>,
    parse: fn(&str) -> Option<T>,
    allowed: &'static str,
) -> Result<Option<Box<[T]>>, ConfigError> {
    let Some(value) = credential.get(what) else { return Ok(None) };
    let list = value.get_ref().as_array().filter(|list| list.len() <= PATTERNS_MAX).ok_or_else(|| {
        type_refused(what, kind(value.get_ref()), value, place, "a list of at most 100 strings, in brackets")
    })?;
    let parsed = list.iter().map(|value| {
        let text =
            scalar(value.get_ref()).map_err(|found| type_refused(what, found, value, place, allowed))?;
        let refused =
            |text| ConfigError::CredentialRefused { what, value: text, origin: place.origin(value), allowed };
        parse(&text).ok_or_else(|| refused(text))
    });
    parsed.collect::<Result<_, _>>().map(Some)
}

fn type_refused(
    what: &str,
    found: &'static str,
    value: &Spanned<DeValue<'_>>,
    place: &Place<'_>,
    allowed: &'static str,
) -> ConfigError {
    ConfigError::TypeRefused { key: format!("{KEY}.{what}"), found, origin: place.origin(value), allowed }
}
