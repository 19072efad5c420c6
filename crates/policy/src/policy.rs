//! Whole documents.

use crate::error::PolicyError;
use crate::json::Json;
use crate::limits;
use crate::request::Request;
use crate::statement::{Effect, Statement, Variables};

/// A parsed policy document.
#[derive(Clone, Debug)]
pub struct Policy {
    statements: Vec<Statement>,
}

/// What a policy says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A statement allows it and none denies it.
    Allow,
    /// A statement denies it.
    Deny,
    /// No statement is about it.
    NoMatch,
}

impl Policy {
    /// Reads a document: its structure and limits (SQS developer guide, "Custom access policy language"), and
    /// every value in it. What could not be enforced is refused here and never ignored later.
    ///
    /// # Errors
    /// The first fault found.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        if text.len() > limits::BYTES {
            return Err(PolicyError::TooLong { bytes: text.len(), limit: limits::BYTES });
        }
        let json: Json = serde_json::from_str(text)
            .map_err(|error| PolicyError::NotJson { reason: error.to_string().into() })?;
        let Json::Object(members) = &json else {
            return Err(PolicyError::Form { name: "A policy", expected: "an object" });
        };
        if let Some((name, _)) =
            members.iter().find(|(name, _)| !matches!(&**name, "Version" | "Id" | "Statement"))
        {
            return Err(PolicyError::UnknownElement { place: "a policy", name: name.as_str().into() });
        }
        let variables = match json.member("Version").map(Json::as_text) {
            None | Some(Some("2008-10-17")) => Variables::Literal,
            Some(Some("2012-10-17")) => Variables::Refused,
            Some(_) => return Err(PolicyError::Version),
        };
        if json.member("Id").is_some_and(|id| id.as_text().is_none()) {
            return Err(PolicyError::Form { name: "Id", expected: "a text" });
        }
        let statements = json.member("Statement").map(Json::elements).unwrap_or_default();
        parse_statements(statements, variables)
    }

    /// What the policy says of a request. The order of its statements does not matter: one that denies wins.
    pub fn evaluate(&self, request: &Request<'_>) -> Decision {
        let mut decision = Decision::NoMatch;
        for statement in self.statements.iter().filter(|statement| statement.fits(request)) {
            match statement.effect {
                Effect::Deny => return Decision::Deny,
                Effect::Allow => decision = Decision::Allow,
            }
        }
        decision
    }
}

fn parse_statements(statements: &[Json], variables: Variables) -> Result<Policy, PolicyError> {
    if statements.is_empty() {
        return Err(PolicyError::NoStatement);
    }
    if statements.len() > limits::STATEMENTS {
        return Err(PolicyError::TooManyStatements { found: statements.len(), limit: limits::STATEMENTS });
    }
    let mut parsed: Vec<Statement> = Vec::with_capacity(statements.len());
    for statement in statements {
        let statement = Statement::parse(statement, variables)?;
        if let Some(sid) = statement.sid.as_deref().filter(|sid| !sid.is_empty())
            && parsed.iter().any(|other| other.sid.as_deref() == Some(sid))
        {
            return Err(PolicyError::SidRepeated { sid: sid.into() });
        }
        parsed.push(statement);
    }
    let principals = parsed.iter().map(|statement| statement.principals.listed().len()).sum();
    if principals > limits::PRINCIPALS {
        return Err(PolicyError::TooManyPrincipals { found: principals, limit: limits::PRINCIPALS });
    }
    Ok(Policy { statements: parsed })
}
