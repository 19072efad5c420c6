//! Adding and removing single statements by their labels.

use crate::error::PolicyError;
use crate::json::Json;
use crate::limits;
use crate::policy::Policy;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use thiserror::Error;

/// A statement to add: these accounts may do these things.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    /// The statement's `Sid`.
    pub label: &'a str,
    /// Accounts of twelve digits; at least one.
    pub accounts: &'a [&'a str],
    /// Actions as the document shall name them, `SQS:SendMessage`; at least one.
    pub actions: &'a [&'a str],
    /// ARN of the resource.
    pub resource: &'a str,
    /// `Id` of the document if the grant begins it.
    pub policy_id: &'a str,
}

/// Why a document is not edited.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// A statement has the label already.
    #[error("A statement has this label already.")]
    LabelExists,
    /// There is no document.
    #[error("There is no policy.")]
    NoPolicy,
    /// No statement has the label.
    #[error("No statement has this label.")]
    LabelMissing,
    /// There would be too many statements.
    #[error("{found} Statements were found, maximum allowed is {limit}.")]
    TooManyStatements {
        /// Statements with the new one.
        found: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The document, as it is or as it would be, is no policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// The document with one statement more, which comes last. Everything that was in it keeps its text.
///
/// # Errors
/// [`EditError::LabelExists`], [`EditError::TooManyStatements`], or [`EditError::Policy`] if the result passes
/// another limit or `existing` is no policy.
pub fn add_statement(existing: Option<&str>, grant: &Grant<'_>) -> Result<String, EditError> {
    let statement = grant.statement();
    let text = match existing {
        None => {
            let id = quote(grant.policy_id);
            format!(r#"{{"Version":"2008-10-17","Id":{id},"Statement":[{statement}]}}"#)
        }
        Some(text) => {
            let document = Document::parse(text)?;
            if document.labels().any(|label| label.as_deref() == Some(grant.label)) {
                return Err(EditError::LabelExists);
            }
            let found = document.statements.len() + 1;
            if found > limits::STATEMENTS {
                return Err(EditError::TooManyStatements { found, limit: limits::STATEMENTS });
            }
            document.with_statements(document.statements.iter().map(|raw| raw.get()).chain([&*statement]))
        }
    };
    Policy::parse(&text)?;
    Ok(text)
}

/// The document without the statement of a label; `None` if nothing is left of it. The rest keeps its text.
///
/// # Errors
/// [`EditError::NoPolicy`], [`EditError::LabelMissing`], or [`EditError::Policy`] if `existing` is no policy.
pub fn remove_statement(existing: Option<&str>, label: &str) -> Result<Option<String>, EditError> {
    let document = Document::parse(existing.ok_or(EditError::NoPolicy)?)?;
    let removed = document.labels().position(|found| found.as_deref() == Some(label));
    let removed = removed.ok_or(EditError::LabelMissing)?;
    if document.statements.len() == 1 {
        return Ok(None);
    }
    let left = document.statements.iter().enumerate().filter(|(at, _)| *at != removed);
    Ok(Some(document.with_statements(left.map(|(_, raw)| raw.get()))))
}

impl Grant<'_> {
    /// The statement's text, member for member as the service writes it.
    fn statement(&self) -> String {
        let principals: Vec<_> =
            self.accounts.iter().map(|account| quote(&format!("arn:aws:iam::{account}:root"))).collect();
        let actions: Vec<_> = self.actions.iter().map(|action| quote(action)).collect();
        format!(
            r#"{{"Sid":{},"Effect":"Allow","Principal":{{"AWS":{}}},"Action":{},"Resource":{}}}"#,
            quote(self.label),
            one_or_list(&principals),
            one_or_list(&actions),
            quote(self.resource),
        )
    }
}

fn one_or_list(values: &[String]) -> String {
    match values {
        [one] => one.clone(),
        several => format!("[{}]", several.join(",")),
    }
}

fn quote(text: &str) -> String {
    // Every text has a JSON form.
    serde_json::Value::from(text).to_string()
}

/// A policy with its parts as they were written.
struct Document<'a> {
    members: Vec<(String, &'a RawValue)>,
    statements: Vec<&'a RawValue>,
}

impl<'a> Document<'a> {
    fn parse(text: &'a str) -> Result<Self, PolicyError> {
        Policy::parse(text)?;
        let unreadable = |error: serde_json::Error| PolicyError::NotJson { reason: error.to_string().into() };
        let Members(members) = serde_json::from_str(text).map_err(unreadable)?;
        let statement = members.iter().find(|(name, _)| name == STATEMENT).map(|(_, raw)| *raw);
        let statement = statement.ok_or(PolicyError::NoStatement)?;
        let statements = if statement.get().starts_with('[') {
            serde_json::from_str(statement.get()).map_err(unreadable)?
        } else {
            vec![statement]
        };
        Ok(Document { members, statements })
    }

    /// The label of each statement.
    fn labels(&self) -> impl Iterator<Item = Option<String>> {
        self.statements.iter().map(|raw| {
            let json: Json = serde_json::from_str(raw.get()).ok()?;
            json.member("Sid")?.as_text().map(str::to_owned)
        })
    }

    fn with_statements<'s>(&self, statements: impl Iterator<Item = &'s str>) -> String {
        let statements = format!("[{}]", statements.collect::<Vec<_>>().join(","));
        let members: Vec<_> = self
            .members
            .iter()
            .map(|(name, raw)| {
                let value = if name == STATEMENT { &statements } else { raw.get() };
                format!("{}:{value}", quote(name))
            })
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

const STATEMENT: &str = "Statement";

/// The members of an object in order, unread.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = entries.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}
