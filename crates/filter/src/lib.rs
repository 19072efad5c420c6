//! Filter policies of Amazon SNS: which messages a subscription, or a selective redrive, takes.
//!
//! Pure functions of text: no clock, no I/O, no randomness, nothing of the other crates. A policy is parsed once
//! ([`FilterPolicy::parse`]) and tested against many messages; so is a message ([`Attributes`] or [`Body`]), which
//! a topic tests against many policies. Every refusal has the service's own text ([`FilterError`]).
//!
//! ```text
//! policy   = { key: [rule, ...], ... }                all keys must match; of a key's rules, one
//!          | { key: policy, ... }                     scope MessageBody only
//!          | { "$or": [policy, policy, ...], ... }    one of these, beside the other keys
//! rule     = "text" | number | true | false | null
//!          | {"prefix": "text"} | {"suffix": "text"} | {"equals-ignore-case": "text"}
//!          | {"anything-but": exact | [exact, ...] | {"prefix": "text"}}        exact = "text" | number
//!          | {"numeric": [op, number]} | {"numeric": [">" or ">=", number, "<" or "<=", number]}
//!          | {"cidr": "10.0.0.0/24"} | {"exists": true or false}
//! ```
//!
//! ```
//! use tidegate_filter::{Attribute, Attributes, Body, FilterPolicy, FilterScope};
//!
//! let policy = FilterPolicy::parse(r#"{"price": [{"numeric": ["<", 100]}]}"#, FilterScope::MessageAttributes)?;
//! let price = Attribute { name: "price", data_type: "Number", text: Some("99.5") };
//! assert!(policy.matches_attributes(&Attributes::new([price])));
//!
//! let policy = FilterPolicy::parse(r#"{"order": {"id": [{"prefix": "eu-"}]}}"#, FilterScope::MessageBody)?;
//! assert!(policy.matches_body(&Body::parse(r#"{"order": {"id": "eu-17"}}"#)));
//! # Ok::<(), tidegate_filter::FilterError>(())
//! ```
//!
//! Sources: the SNS developer guide, "Message filtering"; recordings of the service's answers; and, for texts that
//! neither shows, the service's published rule engine (Event Ruler), whose words the recorded texts are.

mod attributes;
mod body;
mod error;
mod json;
pub mod limits;
mod number;
mod policy;
mod rule;

pub use attributes::{Attribute, Attributes};
pub use body::Body;
pub use error::FilterError;
pub use policy::{FilterPolicy, FilterScope};
