//! Errors of policies and permissions.

use super::{ATTRIBUTE, BOTH, MISSING, MISSING_QUEUE, Row, VALUE};

const LIMIT: &str = "OverLimit";
const DENIED: &str = "AccessDenied";

/// `AddPermission` and `RemovePermission`.
pub(crate) const PERMISSIONS: &[Row] = &[
    ("permissions", "no label", BOTH, MISSING, "The request must contain the parameter Label."),
    ("permissions", "no accounts", BOTH, MISSING, "The request must contain the parameter PrincipalId."),
    ("permissions", "no actions", BOTH, MISSING, "The request must contain the parameter ActionName."),
    ("permissions", "no queue", BOTH, MISSING_QUEUE, "…"),
    ("permissions", "no label and no queue", BOTH, MISSING_QUEUE, "…"),
    (
        "permissions",
        "label taken",
        BOTH,
        VALUE,
        "Value label-0 for parameter Label is invalid. Reason: Already exists.",
    ),
    (
        "permissions",
        "label unknown, no policy",
        BOTH,
        VALUE,
        "Value auditors for parameter Label is invalid. Reason: can't find label.",
    ),
    (
        "permissions",
        "label unknown",
        BOTH,
        VALUE,
        "Value auditors for parameter Label is invalid. Reason: can't find label on existing policy.",
    ),
    (
        "permissions",
        "an action of the owner",
        BOTH,
        VALUE,
        "Value SQS:CreateQueue for parameter ActionName is invalid. Reason: Only the queue owner is allowed to invoke \
         this action.",
    ),
    (
        "permissions",
        "an unknown action",
        BOTH,
        VALUE,
        "Value SQS:Fly for parameter ActionName is invalid. Reason: Please refer to the appropriate WSDL for a list \
         of valid actions.",
    ),
    (
        "permissions",
        "a batch action",
        BOTH,
        VALUE,
        "Value SQS:SendMessageBatch for parameter ActionName is invalid. Reason: Please refer to the appropriate WSDL \
         for a list of valid actions.",
    ),
    (
        "permissions",
        "a bad account",
        BOTH,
        VALUE,
        "Value [111122223333, 1234] for parameter PrincipalId is invalid. Reason: Unable to verify.",
    ),
    ("permissions", "too many statements", BOTH, LIMIT, "21 Statements were found, maximum allowed is 20."),
    ("permissions", "too many actions", BOTH, LIMIT, "8 Actions were found, maximum allowed is 7."),
];

/// The `Policy` attribute.
pub(crate) const POLICY: &[Row] = &[
    ("queue_attributes", "a policy that is no JSON", BOTH, ATTRIBUTE, INVALID),
    ("queue_attributes", "a policy with an unknown element", BOTH, ATTRIBUTE, INVALID),
    (
        "queue_attributes",
        "a policy with too many statements",
        BOTH,
        LIMIT,
        "21 statements were found in the submitted policy, max allowed is 20",
    ),
    (
        "queue_attributes",
        "a policy with too many actions",
        BOTH,
        LIMIT,
        "8 actions were found in a statement from the submitted policy, max allowed is 7",
    ),
];

const INVALID: &str = "Invalid value for the parameter Policy.";

/// Who may not.
pub(crate) const AUTHORIZATION: &[Row] = &[
    (
        "authorization",
        "another account's queue without policy",
        BOTH,
        DENIED,
        "User: arn:aws:iam::123456789012:user/shop is not authorized to perform: sqs:sendmessage on resource: \
         arn:aws:sqs:us-east-1:000000000000:orders because no resource-based policy allows the sqs:sendmessage \
         action",
    ),
    ("authorization", "another account's queue that denies it", BOTH, DENIED, EXPLICIT),
    ("authorization", "the caller's own queue that denies it", BOTH, DENIED, EXPLICIT),
];

const EXPLICIT: &str = "… with an explicit deny in a resource-based policy";
