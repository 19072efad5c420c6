//! What is known of a caller once it is known.

use super::pattern::Grant;
use std::fmt;
use std::sync::Arc;
use tidegate_engine::{AccountId, Region};

/// An account in a region: where a queue lives that is called by its name alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The account.
    pub account: AccountId,
    /// The region.
    pub region: Region,
}

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The caller's account, and the region of its signature.
    pub home: Home,
    /// Who in that account.
    pub principal: Principal,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// Somebody: the server has no credentials and believes what callers say of themselves.
    Anonymous,
    /// A user whose signature was verified.
    User(Arc<User>),
}

/// The owner of a credential, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The account.
    pub account: AccountId,
    /// The name, unique by convention only: several credentials may be one user's.
    pub name: Box<str>,
    /// The access key that signed.
    pub access_key: Box<str>,
    /// What the credential may be used for.
    pub grant: Grant,
}

impl Identity {
    /// The caller as messages name their sender: a user's name; the account of an anonymous caller.
    ///
    /// The service names an IAM user by its unique id (`AIDA…`), which users here do not have.
    pub(crate) fn sender_id(&self) -> Box<str> {
        match &self.principal {
            Principal::Anonymous => {
                let digits = self.home.account.encode();
                std::str::from_utf8(&digits).expect("digits are ASCII").into()
            }
            Principal::User(user) => user.name.clone(),
        }
    }
}

impl User {
    /// `arn:aws:iam::<account>:user/<name>`, as policies name the user.
    pub fn arn(&self) -> String {
        format!("arn:aws:iam::{}:user/{}", self.account, self.name)
    }
}

/// As policies name a caller: a user's ARN, or `*`.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Principal::Anonymous => f.write_str("*"),
            Principal::User(user) => f.write_str(&user.arn()),
        }
    }
}
