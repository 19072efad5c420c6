//! Who calls: identities, credentials, and AWS Signature Version 4.
//!
//! ```text
//! access.rs         whether a caller may do what a request asks for
//! identity.rs       what is known of a caller once it is known
//! anonymous.rs      callers of a server without credentials: taken at their word
//! credentials.rs    the keys that may sign, and what their users may do
//! pattern.rs        actions and resources with wildcards, as credentials list them
//! claim.rs          what a request says of its signature: header form and pre-signed form
//! canonical.rs      the canonical request, the text whose digest is signed
//! date.rs           `X-Amz-Date`
//! signing_key.rs    keys derived from a secret, and their cache
//! verify.rs         all of it together: a request to an identity or a fault
//! ```

mod access;
mod anonymous;
mod canonical;
mod claim;
mod credentials;
mod date;
mod identity;
mod pattern;
mod signing_key;
mod verify;

pub use access::Access;
pub(crate) use anonymous::{credential_param, identify};
pub use credentials::{Credential, Credentials, SecretKey, is_access_key, is_user_name};
pub use identity::{Home, Identity, Principal, User};
pub use pattern::{ActionPattern, Grant, ResourcePattern};
