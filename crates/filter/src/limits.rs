//! Every limit of a filter policy in one place. Together they bound the memory of a policy and the work of a match.

/// Bytes of a policy's text (SNS developer guide, "Filter policy constraints": 256 KB).
pub const POLICY_BYTES: usize = 256 * 1024;
/// Keys at the top of a policy; nested keys do not count, `$or` is one key (SNS developer guide).
pub const KEYS: usize = 5;
/// Combinations of a policy's values (SNS developer guide; [`crate::FilterPolicy::parse`] says how they count).
pub const COMBINATIONS: u64 = 150;
/// Keys with rules in the whole policy: ours; a policy at both limits above has as many.
pub const CONDITIONS: usize = KEYS * COMBINATIONS as usize;
/// Levels of a key, nested or written with dots: ours. JSON nested deeper than 127 levels is not read at all.
pub const KEY_LEVELS: usize = 32;
/// Bytes of a key with those above it: ours; a message attribute's name has at most 256.
pub const KEY_BYTES: usize = 4_096;
/// Bytes of a policy's value that an error text repeats.
pub const ECHO_BYTES: usize = 2_048;

const _: () = assert!(CONDITIONS <= u16::MAX as usize);
