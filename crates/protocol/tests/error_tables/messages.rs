//! Errors of messages: sends, receives, and what is done with receipt handles.

use super::{BOTH, CONTENTS, EMPTY_BATCH, HANDLE, JSON, MISSING, NAME, Row, VALUE};

/// Single sends.
pub(crate) const SENDS: &[Row] = &[
    ("send_message", "no body", BOTH, MISSING, "The request must contain the parameter MessageBody."),
    ("send_message", "an empty body", BOTH, MISSING, "The request must contain the parameter MessageBody."),
    (
        "send_message",
        "too long",
        BOTH,
        VALUE,
        "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
    ),
    ("send_message", "a forbidden character", BOTH, CONTENTS, FORBIDDEN_8),
    ("send_message", "an attribute with a forbidden character", BOTH, VALUE, FORBIDDEN_END),
    (
        "send_message",
        "FIFO: no group",
        BOTH,
        MISSING,
        "The request must contain the parameter MessageGroupId.",
    ),
    ("send_message", "FIFO: no deduplication id", BOTH, VALUE, NO_DEDUPLICATION_ID),
    (
        "send_message",
        "a group id that is empty",
        BOTH,
        VALUE,
        "Value  for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric and \
         punctuation characters. 1 to 128 in length.",
    ),
    (
        "send_message",
        "FIFO: an empty group",
        BOTH,
        VALUE,
        "Value  for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric and \
         punctuation characters. 1 to 128 in length.",
    ),
    ("send_message", "a group id that is too long", BOTH, VALUE, BAD_GROUP_END),
    (
        "send_message",
        "FIFO: a bad group",
        BOTH,
        VALUE,
        "Value g 1 for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric \
         and punctuation characters. 1 to 128 in length.",
    ),
    (
        "send_message",
        "FIFO: an empty deduplication id",
        BOTH,
        VALUE,
        "Value  for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId can only include \
         alphanumeric and punctuation characters. 1 to 128 in length.",
    ),
    (
        "send_message",
        "a deduplication id that is empty",
        BOTH,
        VALUE,
        "Value  for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId can only include \
         alphanumeric and punctuation characters. 1 to 128 in length.",
    ),
    (
        "send_message",
        "a deduplication id",
        BOTH,
        VALUE,
        "Value d-1 for parameter MessageDeduplicationId is invalid. Reason: The request include parameter that is \
         not valid for this queue type.",
    ),
    ("send_message", "FIFO: DelaySeconds", BOTH, VALUE, FIFO_DELAY),
    (
        "send_message",
        "a delay out of range",
        BOTH,
        VALUE,
        "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
    ),
    (
        "send_message",
        "an attribute with an empty value",
        BOTH,
        VALUE,
        "Message (user) attribute 'a' must contain a non-empty value of type 'String'.",
    ),
    (
        "send_message",
        "an attribute with a list",
        BOTH,
        "AWS.SimpleQueueService.UnsupportedOperation",
        "Message attribute list values in SendMessage operation are not supported.",
    ),
    (
        "send_message",
        "eleven attributes",
        BOTH,
        VALUE,
        "Number of message attributes [11] exceeds the allowed maximum [10].",
    ),
    (
        "send_message",
        "an attribute without a name",
        BOTH,
        VALUE,
        "The request must contain non-empty message (user) attribute names.",
    ),
    (
        "send_message",
        "an attribute without a value",
        BOTH,
        VALUE,
        "The message (user) attribute 'a' must contain a non-empty message attribute value.",
    ),
    (
        "send_message",
        "an attribute of an unknown type",
        BOTH,
        VALUE,
        "The type of message (user) attribute 'a' is invalid. You must use only the following supported type \
         prefixes: Binary, Number, String.",
    ),
    (
        "send_message",
        "an attribute that is no number",
        BOTH,
        VALUE,
        "Can't cast the value of message (user) attribute 'a' to a number.",
    ),
    (
        "send_message",
        "an attribute with a reserved name",
        BOTH,
        VALUE,
        "You can't use message attribute names beginning with 'AWS.' or 'Amazon'. These strings are reserved for \
         internal use.",
    ),
    (
        "send_message",
        "an attribute with a long name",
        BOTH,
        VALUE,
        "Message (user) attribute name must be shorter than 256 bytes.",
    ),
    (
        "send_message",
        "an attribute of a long type",
        BOTH,
        VALUE,
        "Message (user) attribute type must be shorter than 256 bytes.",
    ),
    ("send_message", "an attribute with a bad name", BOTH, VALUE, "…"),
    (
        "send_message",
        "an unknown system attribute",
        BOTH,
        VALUE,
        "Message system attribute name 'Foo' is invalid.",
    ),
];

const FORBIDDEN_8: &str = "Invalid binary character '#x8' was found in the message body, the set of allowed \
                           characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].";
const FORBIDDEN_END: &str = "… value, the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | \
                             [#xE000-#xFFFD] | [#x10000-#x10FFFF].";
const NO_DEDUPLICATION_ID: &str = "The queue should either have ContentBasedDeduplication enabled or \
                                   MessageDeduplicationId provided explicitly";
const BAD_GROUP_END: &str = "… for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include \
                             alphanumeric and punctuation characters. 1 to 128 in length.";
const FIFO_DELAY: &str = "Value 5 for parameter DelaySeconds is invalid. Reason: The request include parameter that \
                          is not valid for this queue type.";

/// Whole batches. `BatchRequestTooLong` needs a mebibyte: `malformed.rs` shows it.
pub(crate) const BATCHES: &[Row] = &[
    (
        "send_message_batch",
        "empty",
        BOTH,
        EMPTY_BATCH,
        "There should be at least one SendMessageBatchRequestEntry in the request.",
    ),
    (
        "delete_message",
        "batch, empty",
        BOTH,
        EMPTY_BATCH,
        "There should be at least one DeleteMessageBatchRequestEntry in the request.",
    ),
    (
        "change_message_visibility",
        "batch, empty",
        BOTH,
        EMPTY_BATCH,
        "There should be at least one ChangeMessageVisibilityBatchRequestEntry in the request.",
    ),
    ("send_message_batch", "no entries", JSON, MISSING, "The request must contain the parameter Entries."),
    (
        "send_message_batch",
        "eleven",
        BOTH,
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
        "Maximum number of entries per request are 10. You have sent 11.",
    ),
    (
        "send_message_batch",
        "a bad id before repeated ones",
        BOTH,
        "AWS.SimpleQueueService.InvalidBatchEntryId",
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 \
         letters long.",
    ),
    (
        "send_message_batch",
        "an absent id",
        BOTH,
        MISSING,
        "The request must contain the parameter SendMessageBatchRequestEntry.2.Id.",
    ),
    (
        "send_message_batch",
        "repeated ids",
        BOTH,
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
        "Id a repeated.",
    ),
    (
        "send_message_batch",
        "FIFO: one without a group",
        BOTH,
        VALUE,
        "The request must contain the parameter MessageGroupId.",
    ),
    (
        "send_message_batch",
        "FIFO: a missing group before a missing body",
        BOTH,
        VALUE,
        "The request must contain the parameter MessageGroupId.",
    ),
    ("send_message_batch", "FIFO: one without a deduplication id", BOTH, VALUE, NO_DEDUPLICATION_ID),
    (
        "send_message_batch",
        "FIFO: one without a body",
        BOTH,
        MISSING,
        "The request must contain the parameter SendMessageBatchRequestEntry.2.MessageBody.",
    ),
    (
        "send_message_batch",
        "FIFO: one too long",
        BOTH,
        VALUE,
        "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
    ),
    ("send_message_batch", "FIFO: one with DelaySeconds", BOTH, VALUE, FIFO_DELAY),
];

/// Failed entries of batches that are answered with 200.
pub(crate) const ENTRIES: &[Row] = &[
    (
        "send_message_batch",
        "one too long",
        BOTH,
        VALUE,
        "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
    ),
    (
        "send_message_batch",
        "one without a body",
        BOTH,
        MISSING,
        "The request must contain the parameter SendMessageBatchRequestEntry.1.MessageBody.",
    ),
    (
        "send_message_batch",
        "a deduplication id on a standard queue",
        BOTH,
        VALUE,
        "The request include parameter that is not valid for this queue type",
    ),
    ("send_message_batch", "every fault of an entry", BOTH, CONTENTS, "…[#x10000-#x10FFFF]."),
    ("send_message_batch", "a value of a forbidden character and a list", BOTH, VALUE, FORBIDDEN_END),
    (
        "send_message_batch",
        "a value of a forbidden character and a list",
        BOTH,
        "AWS.SimpleQueueService.UnsupportedOperation",
        "Message attribute list values in SendMessage operation are not supported.",
    ),
    (
        "change_message_visibility",
        "batch with faults",
        BOTH,
        MISSING,
        "The request must contain the parameter ChangeMessageVisibilityBatchRequestEntry.1.VisibilityTimeout.",
    ),
    (
        "change_message_visibility",
        "batch with faults",
        BOTH,
        VALUE,
        "Value 43201 for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an integer \
         between 0 and 43200.",
    ),
    ("change_message_visibility", "batch with faults", BOTH, HANDLE, GARBAGE_HANDLE),
    ("change_message_visibility", "batch", BOTH, VALUE, BEYOND_LIMIT),
    ("change_message_visibility", "batch, unavailable", BOTH, VALUE, UNAVAILABLE_END),
    ("change_message_visibility", "FIFO: batch with an expired handle", BOTH, VALUE, EXPIRED),
    ("delete_message", "batch with faults", BOTH, HANDLE, GARBAGE_HANDLE),
    ("delete_message", "FIFO: batch with an expired handle", BOTH, VALUE, EXPIRED),
];

/// Receives, deletes and changes of visibility.
pub(crate) const RECEIVES: &[Row] = &[
    (
        "receive_message",
        "too many in flight",
        BOTH,
        "OverLimit",
        "Too many messages have been received without being deleted.\n\
         Please delete your received messages or let them timeout before receiving more.",
    ),
    ("receive_message", "too many waiting", BOTH, "RequestThrottled", "…"),
    (
        "receive_message",
        "FIFO: an attempt id that is no longer good",
        BOTH,
        VALUE,
        "Value attempt-1 for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is \
         not valid anymore since the receive call is not retryable.",
    ),
    (
        "receive_message",
        "FIFO: a bad attempt id",
        BOTH,
        VALUE,
        "Value attempt 1 for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can \
         only include alphanumeric and punctuation characters. 1 to 128 in length.",
    ),
    (
        "receive_message",
        "MaxNumberOfMessages 11",
        BOTH,
        VALUE,
        "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
    ),
    (
        "receive_message",
        "MaxNumberOfMessages 0",
        BOTH,
        VALUE,
        "Value 0 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
    ),
    (
        "receive_message",
        "WaitTimeSeconds 21",
        BOTH,
        VALUE,
        "Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.",
    ),
    (
        "receive_message",
        "VisibilityTimeout 43201",
        BOTH,
        VALUE,
        "Value 43201 for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided.",
    ),
    ("receive_message", "an unknown system attribute", BOTH, NAME, "Unknown Attribute Foobar."),
    ("delete_message", "no handle", BOTH, MISSING, "The request must contain the parameter ReceiptHandle."),
    (
        "change_message_visibility",
        "no handle",
        BOTH,
        MISSING,
        "The request must contain the parameter ReceiptHandle.",
    ),
    (
        "change_message_visibility",
        "no timeout",
        BOTH,
        MISSING,
        "The request must contain the parameter VisibilityTimeout.",
    ),
    (
        "change_message_visibility",
        "a timeout out of range",
        BOTH,
        VALUE,
        "Value 43201 for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200.",
    ),
    ("change_message_visibility", "refused: VisibilityBeyondLimit", BOTH, VALUE, BEYOND_LIMIT),
    ("change_message_visibility", "refused: NotAvailable", BOTH, VALUE, UNAVAILABLE_END),
    ("change_message_visibility", "a garbage handle", BOTH, HANDLE, GARBAGE_HANDLE),
    ("delete_message", "a garbage handle", BOTH, HANDLE, GARBAGE_HANDLE),
    ("delete_message", "another queue's handle", BOTH, HANDLE, "… is not a valid receipt handle."),
    ("delete_message", "FIFO: an expired handle", BOTH, VALUE, EXPIRED),
    ("change_message_visibility", "FIFO: an expired handle", BOTH, VALUE, EXPIRED),
];

const GARBAGE_HANDLE: &str = "The input receipt handle \"garbage\" is not a valid receipt handle.";
const BEYOND_LIMIT: &str = "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout \
                            for the message is beyond the limit [43200 seconds]";
const UNAVAILABLE_END: &str = "… for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not \
                               available for visibility timeout change.";
const EXPIRED: &str = "Value AQAAAAAAAAAHAAAAAAAAAAEAAAAB5G7mUrtyEOeg8Yo8wEoADg for parameter ReceiptHandle is \
                       invalid. Reason: The receipt handle has expired.";
