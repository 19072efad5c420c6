//! Why a filter policy is refused, in the service's words.

use crate::limits;
use thiserror::Error;

/// A refusal of [`crate::FilterPolicy::parse`]. `Display` is the text that follows the service's prefix:
/// `Invalid parameter: FilterPolicy: ` when a subscription's attribute is set, `Invalid parameter: Attributes
/// Reason: FilterPolicy: ` when it is subscribed. Only [`FilterError::NestedUnderAttributes`] goes without the
/// `FilterPolicy: ` of the prefix. The service appends a second line with a position, which this text has not.
/// Texts that repeat something of the policy repeat it as it is, control characters included.
///
/// Texts marked "ours" belong to limits that the service does not document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The text is no JSON, or is nested deeper than 127 levels.
    #[error("failed to parse JSON. {reason}")]
    Malformed {
        /// What the parser says, with line and column.
        reason: String,
    },
    /// The document is JSON but no object.
    #[error("Filter is not an object")]
    NotAnObject,
    /// Longer than [`limits::POLICY_BYTES`]. Ours.
    #[error("Filter policy must not be longer than {} bytes", limits::POLICY_BYTES)]
    TooLong,
    /// A key is an object, and the scope is `MessageAttributes`.
    #[error("Filter policy scope MessageAttributes does not support nested filter policy")]
    NestedUnderAttributes,
    /// More than [`limits::KEYS`] keys at the top.
    #[error("Filter policy can not have more than {} keys", limits::KEYS)]
    TooManyKeys,
    /// More than [`limits::COMBINATIONS`] combinations, or than [`limits::CONDITIONS`] keys with rules.
    #[error("Filter policy is too complex")]
    TooComplex,
    /// A key with those above it exceeds [`limits::KEY_BYTES`] or [`limits::KEY_LEVELS`]. Ours.
    #[error(
        "Filter policy key must not have more than {} bytes or {} levels",
        limits::KEY_BYTES,
        limits::KEY_LEVELS
    )]
    KeyTooLong,
    /// A nested object has no keys.
    #[error("Empty objects are not allowed")]
    EmptyObject,
    /// A key has no rules.
    #[error("Empty arrays are not allowed")]
    EmptyArray,
    /// A key's value is neither rules nor keys.
    #[error("\"{key}\" must be an object or an array")]
    KeyValue {
        /// The innermost key.
        key: String,
    },
    /// A rule is an array.
    #[error("Match value must be String, number, true, false, or null")]
    RuleValue,
    /// A rule is an object without members.
    #[error("Match expression name not found")]
    OperatorMissing,
    /// A rule is an object, and its first member is no operator.
    #[error("Unrecognized match type {operator}")]
    OperatorUnknown {
        /// The member's name.
        operator: String,
    },
    /// A rule has a second member.
    #[error("Only one key allowed in match expression")]
    OneOperator,
    /// The operator's value is no string.
    #[error("{operator} match pattern must be a string")]
    PatternNotText {
        /// The operator; the service says `prefix` for `cidr`, too.
        operator: &'static str,
    },
    /// `exists` with something else than a boolean.
    #[error("exists match pattern must be either true or false.")]
    ExistsValue,
    /// `anything-but` with another operator inside than `prefix`.
    #[error("Unsupported anything-but pattern: {operator}")]
    AnythingButOperator {
        /// The operator inside.
        operator: String,
    },
    /// `anything-but` with an object without members.
    #[error("Anything-But expression name not found")]
    AnythingButOperatorMissing,
    /// `anything-but` with a boolean or null.
    #[error("Value of anything-but must be an array or single string/number value.")]
    AnythingButValue,
    /// A list of `anything-but` has something else than strings and numbers.
    #[error("Inside anything but list, start|null|boolean is not supported.")]
    AnythingButMember,
    /// `anything-but` with an empty prefix, which nothing would pass.
    #[error("Null prefix not allowed")]
    AnythingButPrefixEmpty,
    /// A CIDR block without exactly one slash.
    #[error("Malformed CIDR, one '/' required")]
    CidrSlash,
    /// The mask of a CIDR block is no integer.
    #[error("Malformed CIDR, mask bits must be an integer")]
    CidrMask,
    /// The mask of a CIDR block is negative.
    #[error("Malformed CIDR, mask bits must not be negative")]
    CidrMaskNegative,
    /// The mask of a CIDR block has all the address's bits, or more.
    #[error("{family} mask bits must be < {bits}")]
    CidrMaskTooLong {
        /// `IPv4` or `IPv6`.
        family: &'static str,
        /// Bits of an address.
        bits: u8,
    },
    /// The address of a CIDR block is none.
    #[error("Nonstandard IP address: {address}")]
    CidrAddress {
        /// The text before the slash.
        address: String,
    },
    /// `numeric` without an array.
    #[error("Value of numeric must be an array.")]
    NumericValue,
    /// The first term of `numeric` is no string.
    #[error("Invalid member in numeric match: {found}")]
    NumericMember {
        /// The term; `]` when there is none.
        found: String,
    },
    /// The first term of `numeric` is no comparison.
    #[error("Unrecognized numeric range operator: {operator}")]
    NumericOperator {
        /// The term.
        operator: String,
    },
    /// What follows a comparison is no number.
    #[error("Value of {operator} must be numeric")]
    NumericOperand {
        /// The comparison; `equals` for `=`.
        operator: &'static str,
    },
    /// More than one comparison where the first is no lower bound, or a second member beside `numeric` or
    /// `anything-but`.
    #[error("Too many elements in numeric expression")]
    TooManyElements,
    /// The second comparison of a range is no string.
    #[error("Bad value in numeric range: {found}")]
    RangeMember {
        /// The term.
        found: String,
    },
    /// The second comparison of a range is no upper bound.
    #[error("Bad numeric range operator: {operator}")]
    RangeOperator {
        /// The term.
        operator: String,
    },
    /// A range is empty.
    #[error("Bottom must be less than top")]
    RangeEmpty,
    /// A third comparison.
    #[error("Too many terms in numeric range expression")]
    TooManyTerms,
}

/// What an error repeats of the policy: at most [`limits::ECHO_BYTES`] bytes of it.
pub(crate) fn echo(text: &str) -> String {
    let mut end = limits::ECHO_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
