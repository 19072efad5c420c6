//! Errors of queues: their names, their life, their attributes.

use super::{ATTRIBUTE, BOTH, JSON, MISSING, MISSING_QUEUE, NAME, QUERY, Row, VALUE};

/// Queues: their names, life and attributes.
pub(crate) const QUEUES: &[Row] = &[
    ("delete_and_purge_queue", "delete a missing queue", JSON, MISSING_QUEUE, MISSING_QUEUE_JSON),
    ("delete_and_purge_queue", "delete a missing queue", QUERY, MISSING_QUEUE, MISSING_QUEUE_QUERY),
    ("delete_and_purge_queue", "no queue", JSON, MISSING_QUEUE, MISSING_QUEUE_JSON),
    ("delete_and_purge_queue", "an empty queue", JSON, MISSING_QUEUE, MISSING_QUEUE_JSON),
    (
        "delete_and_purge_queue",
        "an empty queue",
        QUERY,
        "InvalidAddress",
        "The address  is not valid for this endpoint.",
    ),
    ("send_message", "no body and no queue", JSON, MISSING_QUEUE, MISSING_QUEUE_JSON),
    ("send_message_batch", "empty and no queue", QUERY, MISSING_QUEUE, MISSING_QUEUE_QUERY),
    ("get_queue_url", "a missing queue", JSON, MISSING_QUEUE, MISSING_QUEUE_JSON),
    ("get_queue_url", "a missing queue", QUERY, MISSING_QUEUE, MISSING_QUEUE_QUERY),
    (
        "create_queue",
        "a queue that differs",
        BOTH,
        "QueueAlreadyExists",
        "A queue already exists with the same name and a different value for attribute VisibilityTimeout",
    ),
    (
        "create_queue",
        "deleted recently",
        BOTH,
        "AWS.SimpleQueueService.QueueDeletedRecently",
        "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
    ),
    (
        "delete_and_purge_queue",
        "purge again",
        BOTH,
        "AWS.SimpleQueueService.PurgeQueueInProgress",
        "Only one PurgeQueue operation on orders is allowed every 60 seconds.",
    ),
    ("create_queue", "a bad name", BOTH, VALUE, BAD_NAME),
    ("create_queue", "a FIFO name without FifoQueue", BOTH, VALUE, BAD_NAME),
    ("create_queue", "FifoQueue=false with a FIFO name", BOTH, VALUE, BAD_NAME),
    ("create_queue", "FifoQueue with a plain name", BOTH, VALUE, BAD_FIFO_NAME),
    ("create_queue", "a FIFO name that is too long", BOTH, VALUE, BAD_FIFO_NAME),
    ("create_queue", "no name", BOTH, VALUE, NO_NAME),
    ("get_queue_url", "no name", BOTH, VALUE, NO_NAME),
    ("create_queue", "an empty name", BOTH, VALUE, "Queue name cannot be empty"),
    ("queue_attributes", "an unknown name", BOTH, NAME, "Unknown Attribute Foobar."),
    ("queue_attributes", "set an unknown one", BOTH, NAME, "Unknown Attribute Foobar."),
    ("create_queue", "an unknown attribute", BOTH, NAME, "Unknown Attribute Foobar."),
    ("queue_attributes", "set a read-only one", BOTH, NAME, "Unknown Attribute QueueArn."),
    ("create_queue", "FifoQueue=false", BOTH, NAME, "Unknown Attribute FifoQueue."),
    ("queue_attributes", "set a FIFO attribute", BOTH, NAME, "Unknown Attribute FifoQueue."),
    (
        "create_queue",
        "ContentBasedDeduplication on a standard queue",
        BOTH,
        NAME,
        "Unknown Attribute ContentBasedDeduplication.",
    ),
    (
        "queue_attributes",
        "set ContentBasedDeduplication of a standard queue",
        BOTH,
        NAME,
        "Unknown Attribute ContentBasedDeduplication.",
    ),
    (
        "create_queue",
        "DeduplicationScope on a standard queue",
        BOTH,
        NAME,
        "You can specify the DeduplicationScope only when FifoQueue is set to true.",
    ),
    (
        "queue_attributes",
        "set DeduplicationScope of a standard queue",
        BOTH,
        NAME,
        "You can specify the DeduplicationScope only when FifoQueue is set to true.",
    ),
    (
        "create_queue",
        "FifoThroughputLimit on a standard queue",
        BOTH,
        NAME,
        "You can specify the FifoThroughputLimit only when FifoQueue is set to true.",
    ),
    (
        "queue_attributes",
        "set FifoThroughputLimit of a standard queue",
        BOTH,
        NAME,
        "You can specify the FifoThroughputLimit only when FifoQueue is set to true.",
    ),
    (
        "queue_attributes",
        "set FifoQueue=false",
        BOTH,
        ATTRIBUTE,
        "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
    ),
    (
        "create_queue",
        "an attribute out of range",
        BOTH,
        ATTRIBUTE,
        "Invalid value for the parameter DelaySeconds.",
    ),
    (
        "create_queue",
        "a boolean that is none",
        BOTH,
        ATTRIBUTE,
        "Invalid value for the parameter ContentBasedDeduplication.",
    ),
    (
        "create_queue",
        "an unknown DeduplicationScope",
        BOTH,
        ATTRIBUTE,
        "Invalid value for the parameter DeduplicationScope.",
    ),
    (
        "create_queue",
        "an unknown FifoThroughputLimit",
        BOTH,
        ATTRIBUTE,
        "Invalid value for the parameter FifoThroughputLimit.",
    ),
    (
        "create_queue",
        "a KMS reuse period out of range",
        BOTH,
        ATTRIBUTE,
        "Invalid value for the parameter KmsDataKeyReusePeriodSeconds.",
    ),
    ("create_queue", "perMessageGroupId without its scope", BOTH, ATTRIBUTE, NEEDS_GROUP_SCOPE),
    ("queue_attributes", "set perMessageGroupId without its scope", BOTH, ATTRIBUTE, NEEDS_GROUP_SCOPE),
    ("create_queue", "two kinds of encryption", BOTH, NAME, TWO_ENCRYPTIONS),
    ("queue_attributes", "set two kinds of encryption", BOTH, NAME, TWO_ENCRYPTIONS),
    (
        "queue_attributes",
        "set nothing",
        BOTH,
        MISSING,
        "The request must contain the parameter Attribute.Name.",
    ),
    (
        "list_queues",
        "MaxResults out of range",
        BOTH,
        VALUE,
        "Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and 1000.",
    ),
    ("list_queues", "a bad token", BOTH, VALUE, "Invalid or expired next token."),
    (
        "list_dead_letter_source_queues",
        "a token of another list",
        BOTH,
        VALUE,
        "Invalid or expired next token.",
    ),
];

const MISSING_QUEUE_JSON: &str = "The specified queue does not exist.";
const MISSING_QUEUE_QUERY: &str = "The specified queue does not exist for this wsdl version.";
const BAD_NAME: &str = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length";
const BAD_FIFO_NAME: &str = "The name of a FIFO queue can only include alphanumeric characters, hyphens, or \
                             underscores, must end with .fifo suffix and be 1 to 80 in length";
const NO_NAME: &str = "Value for parameter QueueName is invalid. Reason: Must specify a queue name.";
const NEEDS_GROUP_SCOPE: &str =
    "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup";
const TWO_ENCRYPTIONS: &str = "You can use one type of server-side encryption (SSE) at one time. You can either \
                               enable KMS SSE or SQS SSE.";
