//! Resource policies: the JSON documents that say who may do what with a queue.
//!
//! Pure functions of a document and a request. This crate reads no clock, opens no socket or file, and knows
//! neither queues nor wire formats: actions and resources are texts, and time and address of a request are
//! arguments.
//!
//! * [`Policy::parse`] reads a document. What it cannot enforce it refuses: nothing in a policy is ignored.
//! * [`Policy::evaluate`] decides on a [`Request`].
//! * [`add_statement`] and [`remove_statement`] edit a document by the labels of its statements.
//! * [`Pattern`] is the language's wildcard pattern, for whoever else compares actions and resources.
//!
//! ```
//! use tidegate_policy::{Context, Decision, Policy, Principal, Request};
//!
//! let policy = Policy::parse(r#"{
//!     "Version": "2012-10-17",
//!     "Statement": [{
//!         "Effect": "Allow",
//!         "Principal": {"AWS": "111122223333"},
//!         "Action": "sqs:Send*",
//!         "Resource": "arn:aws:sqs:us-east-1:000000000000:orders"
//!     }]
//! }"#)?;
//! let request = Request {
//!     principal: Principal::Account { account: "111122223333", arn: "arn:aws:iam::111122223333:user/ada" },
//!     action: "sqs:SendMessage",
//!     resource: "arn:aws:sqs:us-east-1:000000000000:orders",
//!     context: Context::new([127, 0, 0, 1].into(), 1_700_000_000),
//! };
//! assert_eq!(policy.evaluate(&request), Decision::Allow);
//! assert_eq!(policy.evaluate(&Request { action: "sqs:PurgeQueue", ..request }), Decision::NoMatch);
//! # Ok::<(), tidegate_policy::PolicyError>(())
//! ```

mod condition;
mod edit;
mod error;
mod json;
pub mod limits;
mod pattern;
mod policy;
mod principal;
mod request;
mod statement;

pub use edit::{EditError, Grant, add_statement, remove_statement};
pub use error::PolicyError;
pub use pattern::Pattern;
pub use policy::{Decision, Policy};
pub use request::{Context, Principal, Request};
