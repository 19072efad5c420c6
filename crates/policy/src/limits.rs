//! Limits of a policy (SQS developer guide, quotas of policies). They bound what one evaluation costs.

/// Bytes of a document.
pub const BYTES: usize = 8_192;
/// Statements of a document.
pub const STATEMENTS: usize = 20;
/// Principals of a document, those of all statements together.
pub const PRINCIPALS: usize = 50;
/// Conditions of a statement: keys under all of its operators. By statement, because documents with one
/// condition in each of twenty statements are known to be taken by the service.
pub const CONDITIONS: usize = 10;
/// Actions of a statement.
pub const ACTIONS: usize = 7;
/// Bytes of a user agent that are compared with a policy's; ours. With the length of a document it bounds the
/// steps of one evaluation.
pub const USER_AGENT_BYTES: usize = 1_024;
