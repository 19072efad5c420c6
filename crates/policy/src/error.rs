//! Why a document is refused.

use thiserror::Error;

/// Why a document is no policy that can be enforced. `Display` is a sentence for whoever wrote it; values of
/// the document in it are not shortened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's text says what it is")]
pub enum PolicyError {
    #[error("Submitted policy is over max allowed size.")]
    TooLong { bytes: usize, limit: usize },
    #[error("It is not valid JSON: {reason}.")]
    NotJson { reason: Box<str> },
    #[error("Version must be 2008-10-17 or 2012-10-17.")]
    Version,
    #[error("It has no statement.")]
    NoStatement,
    #[error("{name} is not an element of {place}.")]
    UnknownElement { place: &'static str, name: Box<str> },
    #[error("{name} must be {expected}.")]
    Form { name: &'static str, expected: &'static str },
    #[error("A statement lacks the element {name}.")]
    Missing { name: &'static str },
    #[error("A statement has both {name} and Not{name}.")]
    Both { name: &'static str },
    #[error("Two statements have the Sid {sid}.")]
    SidRepeated { sid: Box<str> },

    #[error("{found} statements were found in the submitted policy, max allowed is {limit}")]
    TooManyStatements { found: usize, limit: usize },
    #[error("{found} principals were found in the submitted policy, max allowed is {limit}")]
    TooManyPrincipals { found: usize, limit: usize },
    #[error("{found} actions were found in a statement from the submitted policy, max allowed is {limit}")]
    TooManyActions { found: usize, limit: usize },
    #[error("{found} conditions were found in a statement from the submitted policy, max allowed is {limit}")]
    TooManyConditions { found: usize, limit: usize },

    #[error(
        "{principal} is not a principal; it must be *, an account, or the ARN of an account, a user or a role."
    )]
    Principal { principal: Box<str> },
    #[error("NotPrincipal is for Deny only: with Allow it would let in everybody else.")]
    NotPrincipalAllowed,
    #[error("{action} is not an action; it must be * or <service>:<action>.")]
    Action { action: Box<str> },
    #[error("{value} holds a policy variable, which is not supported.")]
    Variable { value: Box<str> },

    #[error("The condition operator {operator} is not supported.")]
    Operator { operator: Box<str> },
    #[error("{key} is not a condition key; it must be <service>:<name>.")]
    Key { key: Box<str> },
    #[error("The condition operator {operator} does not apply to {key}.")]
    OperatorOfKey { operator: Box<str>, key: Box<str> },
    #[error("{value} is not a value for the condition operator {operator}.")]
    Value { operator: Box<str>, value: Box<str> },
    #[error("No request has a value for {key} here, so that the Deny would never take effect.")]
    NeverDenies { key: Box<str> },
}

impl PolicyError {
    /// Whether a limit on the number or size of something was passed, not the language broken.
    pub fn is_over_limit(&self) -> bool {
        matches!(
            self,
            PolicyError::TooLong { .. }
                | PolicyError::TooManyStatements { .. }
                | PolicyError::TooManyPrincipals { .. }
                | PolicyError::TooManyActions { .. }
                | PolicyError::TooManyConditions { .. }
        )
    }
}
