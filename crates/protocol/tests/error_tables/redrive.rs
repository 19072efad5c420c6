//! Errors of redrive policies. `… for parameter` stands for the policy as sent.

use super::{ATTRIBUTE, BOTH, Row, VALUE};

/// `RedrivePolicy`; `… for parameter` stands for the policy as sent.
pub(crate) const POLICY: &[Row] = &[
    (
        "create_queue",
        "a redrive policy that is no JSON map",
        BOTH,
        ATTRIBUTE,
        "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map.",
    ),
    (
        "create_queue",
        "a redrive policy without a count",
        BOTH,
        VALUE,
        "Value {\"deadLetterTargetArn\":\"x\"} for parameter RedrivePolicy is invalid. Reason: Redrive policy does \
         not contain mandatory attribute: maxReceiveCount.",
    ),
    (
        "create_queue",
        "a redrive policy without a target",
        BOTH,
        VALUE,
        "Value {\"maxReceiveCount\":5} for parameter RedrivePolicy is invalid. Reason: Redrive policy does not \
         contain mandatory attribute: deadLetterTargetArn.",
    ),
    (
        "create_queue",
        "a redrive policy with a count out of range",
        BOTH,
        VALUE,
        "… Reason: Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive.",
    ),
    (
        "create_queue",
        "a redrive policy with a count that is no number",
        BOTH,
        VALUE,
        "… Reason: Invalid value for maxReceiveCount: x, valid values are from 1 to 1000 both inclusive.",
    ),
    (
        "create_queue",
        "a redrive policy with another key",
        BOTH,
        VALUE,
        "… Reason: Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].",
    ),
    (
        "create_queue",
        "a redrive policy of another service",
        BOTH,
        VALUE,
        "… Reason: Only SQS queues are valid resources for deadLetterTargetArn.",
    ),
    (
        "create_queue",
        "a redrive policy of another account",
        BOTH,
        VALUE,
        "… Reason: Dead-letter target owner should be same as the source.",
    ),
    (
        "create_queue",
        "a redrive policy of another region",
        BOTH,
        VALUE,
        "… Reason: Dead letter target does not exist.",
    ),
    (
        "create_queue",
        "a redrive policy refused: DeadLetterMissing",
        BOTH,
        VALUE,
        "… Reason: Dead letter target does not exist.",
    ),
    (
        "queue_attributes",
        "set a redrive policy refused",
        BOTH,
        VALUE,
        "… Reason: Dead letter target does not exist.",
    ),
    (
        "create_queue",
        "a redrive policy refused: DeadLetterType",
        BOTH,
        VALUE,
        "… Reason: Dead-letter queue must be same type of queue as the source..",
    ),
    ("create_queue", "a redrive policy refused: DeadLetterForbidden", BOTH, VALUE, "…"),
];

/// `RedriveAllowPolicy`.
pub(crate) const ALLOW_POLICY: &[Row] = &[
    ("create_queue", "a redrive allow policy that is no JSON map", BOTH, ATTRIBUTE, UNSUPPORTED_FORMAT),
    ("create_queue", "a redrive allow policy of an unknown permission", BOTH, ATTRIBUTE, UNSUPPORTED_FORMAT),
    ("create_queue", "a redrive allow policy with another key", BOTH, ATTRIBUTE, UNSUPPORTED_FORMAT),
    ("create_queue", "a redrive allow policy with a list that is none", BOTH, ATTRIBUTE, UNSUPPORTED_FORMAT),
    (
        "create_queue",
        "a redrive allow policy by queue without queues",
        BOTH,
        VALUE,
        "Value {\"redrivePermission\":\"byQueue\"} for parameter RedriveAllowPolicy is invalid. Reason: Amazon SQS \
         can't create the redrive allow policy. When you specify the byQueue permission type, you must also specify \
         one or more sourceQueueArns values.",
    ),
    (
        "create_queue",
        "a redrive allow policy by queue with an empty list",
        BOTH,
        VALUE,
        "… When you specify the byQueue permission type, you must also specify one or more sourceQueueArns values.",
    ),
    (
        "create_queue",
        "a redrive allow policy with eleven queues",
        BOTH,
        VALUE,
        "… The maximum number of source queue ARNs you can specify is 10.",
    ),
    ("create_queue", "a redrive allow policy that allows all with a list", BOTH, VALUE, NEEDS_BY_QUEUE),
    ("create_queue", "a redrive allow policy that denies all with a list", BOTH, VALUE, NEEDS_BY_QUEUE),
];

const UNSUPPORTED_FORMAT: &str = "Invalid value for the parameter RedriveAllowPolicy. Reason: Amazon SQS can't \
                                  create the redrive allow policy, as it’s in an unsupported format.";
const NEEDS_BY_QUEUE: &str =
    "… To specify one or more source queue ARNs, you must set redrivePermission to byQueue.";
