//! The principals of a statement.

use crate::error::PolicyError;
use crate::json::Json;
use crate::request::Principal;

/// Whom a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Everybody, the anonymous and services included.
    Everybody,
    /// Every credential of an account.
    Account(Box<str>),
    /// One user or role.
    Arn(Box<str>),
    /// A service.
    Service(Box<str>),
}

impl Named {
    pub(crate) fn is(&self, principal: Principal<'_>) -> bool {
        match (self, principal) {
            (Named::Everybody, _) => true,
            (Named::Account(named), Principal::Account { account, .. }) => **named == *account,
            (Named::Arn(named), Principal::Account { arn, .. }) => **named == *arn,
            (Named::Service(named), Principal::Service(service)) => **named == *service,
            _ => false,
        }
    }

    /// `*`, an account, or an ARN.
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Named::Everybody);
        }
        if is_account(text) {
            return Some(Named::Account(text.into()));
        }
        let parts: Vec<_> = text.splitn(6, ':').collect();
        let ["arn", partition, "iam" | "sts", "", account, name] = parts[..] else { return None };
        if !partition.starts_with("aws") || !is_account(account) {
            return None;
        }
        if name == "root" {
            return Some(Named::Account(account.into()));
        }
        // The language has no wildcards here.
        let (kind, path) = name.split_once('/')?;
        let known = matches!(kind, "user" | "role" | "assumed-role" | "federated-user");
        (known && !path.is_empty() && !path.contains(['*', '?'])).then(|| Named::Arn(text.into()))
    }

    fn parse_service(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.' || b == b'-';
        (text.contains('.') && text.bytes().all(plain)).then(|| Named::Service(text.into()))
    }
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit())
}

/// Reads `"*"`, `{"AWS": …}` or `{"Service": …}`, each with one text or a list.
pub(crate) fn parse(json: &Json) -> Result<Vec<Named>, PolicyError> {
    const FORM: PolicyError =
        PolicyError::Form { name: "Principal", expected: "\"*\" or an object of AWS and Service" };
    let kinds = match json {
        Json::Text(text) if text == "*" => return Ok(vec![Named::Everybody]),
        Json::Object(kinds) => kinds,
        _ => return Err(FORM),
    };
    let mut principals = Vec::new();
    for (kind, names) in kinds {
        let parse = match &**kind {
            "AWS" => Named::parse,
            "Service" => Named::parse_service,
            _ => return Err(PolicyError::UnknownElement { place: "Principal", name: kind.as_str().into() }),
        };
        for name in names.elements() {
            let name = name.as_text().ok_or(FORM)?;
            let principal = parse(name).ok_or_else(|| PolicyError::Principal { principal: name.into() })?;
            principals.push(principal);
        }
    }
    if principals.is_empty() { Err(FORM) } else { Ok(principals) }
}
