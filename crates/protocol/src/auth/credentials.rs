//! The keys that may sign requests.

use super::identity::User;
use super::signing_key::SigningKeys;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The secret of a credential. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Box<str>);

impl SecretKey {
    /// Parses a secret: 1–256 visible ASCII characters.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.bytes().all(|b| b.is_ascii_graphic());
        (plain && (1..=256).contains(&text.len())).then(|| SecretKey(text.into()))
    }

    /// The secret itself, for deriving keys.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// Whether `text` may be an access key: 1–128 letters, digits, hyphens, underscores and full stops. A slash would
/// end it in a credential scope.
pub fn is_access_key(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=128).contains(&text.len()) && text.bytes().all(plain)
}

/// Whether `text` may be a user's name: 1–128 of the characters of an IAM user name, `A-Z a-z 0-9 _ + = , . @ -`. IAM
/// itself ends at 64; every access key may be a name here.
pub fn is_user_name(text: &str) -> bool {
    let plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'=' | b',' | b'.' | b'@' | b'-');
    (1..=128).contains(&text.len()) && text.bytes().all(plain)
}

/// One key that may sign: its user and its secret.
pub struct Credential {
    pub(super) user: Arc<User>,
    pub(super) secret: SecretKey,
    pub(super) keys: SigningKeys,
}

impl Credential {
    /// A credential of `user`.
    pub fn new(user: User, secret: SecretKey) -> Self {
        Credential { user: Arc::new(user), secret, keys: SigningKeys::default() }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("user", &self.user)
            .field("secret", &self.secret)
            .finish_non_exhaustive()
    }
}

/// All keys that may sign, by access key.
#[derive(Debug)]
pub struct Credentials {
    by_access_key: BTreeMap<Box<str>, Credential>,
    /// Stands in for unknown access keys, so that these take as long to refuse as wrong signatures.
    pub(super) stand_in: SecretKey,
}

impl Credentials {
    /// Gathers credentials. Of several with one access key the last counts.
    pub fn new(credentials: impl IntoIterator<Item = Credential>) -> Self {
        let by_access_key = credentials
            .into_iter()
            .map(|credential| (credential.user.access_key.clone(), credential))
            .collect();
        Credentials { by_access_key, stand_in: SecretKey("no secret at all, only as long as one".into()) }
    }

    pub(super) fn find(&self, access_key: &str) -> Option<&Credential> {
        self.by_access_key.get(access_key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Grant;
    use tidegate_engine::AccountId;

    fn credential(access_key: &str) -> Credential {
        let user = User {
            account: AccountId::default(),
            name: "n".into(),
            access_key: access_key.into(),
            grant: Grant::default(),
        };
        Credential::new(user, SecretKey::parse("hush").unwrap())
    }

    #[test]
    fn no_secret_is_shown() {
        let shown = format!("{:?}", Credentials::new([credential("a")]));
        assert!(shown.contains("SecretKey(..)") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn names_and_secrets_have_a_form() {
        let long = "k".repeat(257);
        assert!(is_access_key("AKIDEXAMPLE") && is_access_key("123456789012") && is_access_key("a.b-c_d"));
        assert!(
            !is_access_key("") && !is_access_key("a/b") && !is_access_key("a b") && !is_access_key(&long)
        );
        assert!(is_user_name("shop@example.com,+=-_") && !is_user_name("a/b") && !is_user_name("ä"));
        assert!(SecretKey::parse("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY").is_some());
        for bad in ["", "two words", "ä", &long] {
            assert_eq!(SecretKey::parse(bad), None);
        }
    }
}
