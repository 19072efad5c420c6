//! Queues that are declared in the configuration file.
//!
//! ```toml
//! [[queue]]
//! name = "orders"
//! attributes = { VisibilityTimeout = 60, RedrivePolicy = { deadLetterTargetArn = "arn:…", maxReceiveCount = 5 } }
//! tags = { team = "shop" }
//! ```

use serde_json::Value;
use tidegate_engine::{AccountId, QueueName, Region};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::form::{ACCOUNT_ALLOWED, REGION_ALLOWED};
use super::sources::{Place, nearest, scalar};
use super::{ConfigError, Origin};

/// A queue that is created or updated at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredQueue {
    /// Its name.
    pub(crate) name: QueueName,
    /// Its account; the setting `account` unless the declaration names one.
    pub(crate) account: AccountId,
    /// Its region; the setting `region` unless the declaration names one.
    pub(crate) region: Region,
    /// Attributes by the names of the API, in alphabetical order. The values are text as in a request, and unchecked.
    pub(crate) attributes: Vec<(String, String)>,
    /// Tags, in alphabetical order of their keys.
    pub(crate) tags: Vec<(String, String)>,
    /// Where its name is written, for messages about it.
    pub(crate) origin: Origin,
}

/// A declaration as it stands in the file, before the defaults for account and region are known.
pub(super) struct Declared {
    name: QueueName,
    account: Option<AccountId>,
    region: Option<Region>,
    attributes: Vec<(String, String)>,
    tags: Vec<(String, String)>,
    origin: Origin,
}

const KEYS: [&str; 5] = ["name", "account", "region", "attributes", "tags"];
const NAME_ALLOWED: &str = "1 to 80 letters, digits, hyphens and underscores, which may end in .fifo";

/// Reads all `[[queue]]` tables.
pub(super) fn read(value: &Spanned<DeValue<'_>>, place: &Place<'_>) -> Result<Vec<Declared>, ConfigError> {
    let tables = value.get_ref().as_array().ok_or_else(|| ConfigError::TypeRefused {
        key: "queue".into(),
        found: kind(value.get_ref()),
        origin: place.origin(value),
        allowed: "declared in tables that begin with [[queue]]",
    })?;
    tables.iter().map(|table| read_queue(table, place)).collect()
}

fn read_queue(value: &Spanned<DeValue<'_>>, place: &Place<'_>) -> Result<Declared, ConfigError> {
    let table = table("queue", value, place)?;
    if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
        return Err(ConfigError::KeyUnknown {
            key: format!("queue.{}", key.get_ref()),
            origin: place.origin(key),
            nearest: nearest(key.get_ref(), KEYS),
        });
    }
    let name = table.get("name").ok_or_else(|| ConfigError::QueueUnnamed { origin: place.origin(value) })?;
    Ok(Declared {
        name: parsed("name", name, place, QueueName::parse, NAME_ALLOWED)?,
        account: optional("account", table, place, AccountId::parse, ACCOUNT_ALLOWED)?,
        region: optional("region", table, place, Region::parse, REGION_ALLOWED)?,
        attributes: pairs("attributes", table, place, attribute)?,
        tags: pairs("tags", table, place, scalar)?,
        origin: place.origin(name),
    })
}

/// Fills in account and region, and refuses a second declaration of a queue.
pub(super) fn check(
    declared: Vec<Declared>,
    account: AccountId,
    region: &Region,
) -> Result<Vec<DeclaredQueue>, ConfigError> {
    let mut queues: Vec<DeclaredQueue> = Vec::with_capacity(declared.len());
    let mut seen = std::collections::BTreeMap::new();
    for Declared { name, account: own_account, region: own_region, attributes, tags, origin } in declared {
        let account = own_account.unwrap_or(account);
        let region = own_region.unwrap_or_else(|| region.clone());
        if let Some(first) = seen.insert((account, region.clone(), name.clone()), origin.clone()) {
            return Err(ConfigError::QueueTwice { name: name.to_string(), first, second: origin });
        }
        queues.push(DeclaredQueue { name, account, region, attributes, tags, origin });
    }
    Ok(queues)
}

fn optional<T>(
    what: &'static str,
    table: &DeTable<'_>,
    place: &Place<'_>,
    parse: fn(&str) -> Option<T>,
    allowed: &'static str,
) -> Result<Option<T>, ConfigError> {
    table.get(what).map(|value| parsed(what, value, place, parse, allowed)).transpose()
}

fn parsed<T>(
    what: &'static str,
    value: &Spanned<DeValue<'_>>,
    place: &Place<'_>,
    parse: fn(&str) -> Option<T>,
    allowed: &'static str,
) -> Result<T, ConfigError> {
    let text = scalar(value.get_ref()).map_err(|found| ConfigError::TypeRefused {
        key: format!("queue.{what}"),
        found,
        origin: place.origin(value),
        allowed,
    })?;
    parse(&text).ok_or(ConfigError::QueueRefused { what, value: text, origin: place.origin(value), allowed })
}

/// The entries of a table inside the queue's; none when it is absent.
fn pairs(
    what: &'static str,
    queue: &DeTable<'_>,
    place: &Place<'_>,
    text: fn(&DeValue<'_>) -> Result<String, &'static str>,
) -> Result<Vec<(String, String)>, ConfigError> {
    let Some(value) = queue.get(what) else { return Ok(Vec::new()) };
    let entries = table(&format!("queue.{what}"), value, place)?;
    let read = entries.iter().map(|(key, value)| {
        let text = text(value.get_ref()).map_err(|found| ConfigError::TypeRefused {
            key: format!("queue.{what}.{}", key.get_ref()),
            found,
            origin: place.origin(value),
            allowed: "a string, a number or a boolean",
        })?;
        Ok((key.get_ref().to_string(), text))
    });
    read.collect()
}

pub(super) fn table<'a, 'i>(
    what: &str,
    value: &'a Spanned<DeValue<'i>>,
    place: &Place<'_>,
) -> Result<&'a DeTable<'i>, ConfigError> {
    value.get_ref().as_table().ok_or_else(|| ConfigError::TypeRefused {
        key: what.into(),
        found: kind(value.get_ref()),
        origin: place.origin(value),
        allowed: "a table",
    })
}

/// An attribute's text as it would stand in a request: policies, which are tables here, are JSON there.
fn attribute(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::Table(_) | DeValue::Array(_) => Ok(json(value)?.to_string()),
        _ => scalar(value),
    }
}

fn json(value: &DeValue<'_>) -> Result<Value, &'static str> {
    Ok(match value {
        DeValue::Table(table) => {
            let entries =
                table.iter().map(|(key, value)| Ok((key.get_ref().to_string(), json(value.get_ref())?)));
            Value::Object(entries.collect::<Result<_, _>>()?)
        }
        DeValue::Array(array) => {
            Value::Array(array.iter().map(|value| json(value.get_ref())).collect::<Result<_, _>>()?)
        }
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Integer(_) | DeValue::Float(_) => {
            scalar(value)?.parse().map(Value::Number).map_err(|_| "a number that JSON does not have")?
        }
        DeValue::Datetime(_) => return Err("a date"),
    })
}

pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
