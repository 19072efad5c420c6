//! Every answer that is not a success: the one table of error shapes, and the faults with their texts.

use std::borrow::Cow;
use thiserror::Error;
use tidegate_engine::Error as EngineError;

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client's.
    Sender,
    /// The server's.
    Receiver,
}

/// One row of the table: how an error shape looks on the wire.
#[derive(Debug)]
pub struct Row {
    /// JSON `__type`, with its namespace.
    pub json_type: &'static str,
    /// Code of Query errors, of failed batch entries and of the `x-amzn-query-error` header.
    pub code: &'static str,
    /// The header `x-amzn-query-error`.
    pub header: &'static str,
    /// HTTP status.
    pub status: u16,
    /// Whose fault it is.
    pub side: Side,
    /// Whether the same request may succeed later.
    pub retry: bool,
}

macro_rules! namespace {
    (sqs $shape:literal) => {
        concat!("com.amazonaws.sqs#", $shape)
    };
    (coral $shape:literal) => {
        concat!("com.amazon.coral.service#", $shape)
    };
}

macro_rules! shapes {
    ($($name:ident: $space:ident $shape:literal, $code:literal, $status:literal, $side:ident, $retry:literal;)+) => {
        /// The error shapes in use, in order of precedence: when a request has several faults, the one
        /// that stands first is answered.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Shape {
            $(#[doc = concat!("`", $shape, "`, code `", $code, "`.")] $name,)+
        }

        impl Shape {
            /// All shapes in order of precedence.
            pub const ALL: &'static [Shape] = &[$(Shape::$name),+];

            /// How the shape looks on the wire.
            pub fn row(self) -> &'static Row {
                match self {
                    $(Shape::$name => &Row {
                        json_type: namespace!($space $shape),
                        code: $code,
                        header: concat!($code, ";", stringify!($side)),
                        status: $status,
                        side: Side::$side,
                        retry: $retry,
                    },)+
                }
            }
        }
    };
}

shapes! {
    // variant: namespace "shape", "query code", status, side, retry;
    RequestTooLong: coral "RequestEntityTooLargeException", "RequestEntityTooLarge", 413, Sender, false;
    IncompleteSignature: coral "IncompleteSignatureException", "IncompleteSignature", 400, Sender, false;
    InvalidSignature: coral "InvalidSignatureException", "SignatureDoesNotMatch", 403, Sender, false;
    UnknownAccessKey: coral "UnrecognizedClientException", "InvalidClientTokenId", 403, Sender, false;
    AccessDenied: coral "AccessDeniedException", "AccessDenied", 403, Sender, false;
    UnknownOperation: coral "UnknownOperationException", "InvalidAction", 400, Sender, false;
    Serialization: coral "SerializationException", "MalformedInput", 400, Sender, false;
    Unavailable: coral "ServiceUnavailableException", "ServiceUnavailable", 503, Receiver, true;
    Internal: coral "InternalFailure", "InternalFailure", 500, Receiver, true;
    Throttled: sqs "RequestThrottled", "RequestThrottled", 403, Sender, true;
    InvalidAddress: sqs "InvalidAddress", "InvalidAddress", 404, Sender, false;
    QueueMissing: sqs "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", 400, Sender, false;
    MissingParameter: coral "MissingRequiredParameterException", "MissingParameter", 400, Sender, false;
    EmptyBatch: sqs "EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", 400, Sender, false;
    TooManyEntries: sqs "TooManyEntriesInBatchRequest",
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400, Sender, false;
    EntryId: sqs "InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId", 400, Sender, false;
    EntryIdsRepeated: sqs "BatchEntryIdsNotDistinct",
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400, Sender, false;
    BatchTooLong: sqs "BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", 400, Sender, false;
    AttributeName: sqs "InvalidAttributeName", "InvalidAttributeName", 400, Sender, false;
    AttributeValue: sqs "InvalidAttributeValue", "InvalidAttributeValue", 400, Sender, false;
    MessageContents: sqs "InvalidMessageContents", "InvalidMessageContents", 400, Sender, false;
    ParameterValue: coral "InvalidParameterValueException", "InvalidParameterValue", 400, Sender, false;
    ReceiptHandle: sqs "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404, Sender, false;
    Unsupported: sqs "UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", 400, Sender, false;
    QueueDeletedRecently: sqs "QueueDeletedRecently",
        "AWS.SimpleQueueService.QueueDeletedRecently", 400, Sender, true;
    QueueNameExists: sqs "QueueNameExists", "QueueAlreadyExists", 400, Sender, false;
    PurgeInProgress: sqs "PurgeQueueInProgress",
        "AWS.SimpleQueueService.PurgeQueueInProgress", 403, Sender, true;
    ResourceMissing: sqs "ResourceNotFoundException", "ResourceNotFoundException", 404, Sender, false;
    OverLimit: sqs "OverLimit", "OverLimit", 403, Sender, true;
}

const ALLOWED: &str = "the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | \
                       [#x10000-#x10FFFF].";

/// A refused request or batch entry; `Display` is the text for JSON clients.
///
/// The texts are the service's own where they are known. Values of clients in them are cut and cleaned by
/// `text::echo` before they come here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant's text says what it is")]
pub enum Fault {
    #[error("The request is longer than {limit} bytes.")]
    RequestTooLong { limit: usize },
    #[error("{reason}")]
    IncompleteSignature { reason: Cow<'static, str> },
    #[error("Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.")]
    TwoSignatures,
    #[error("Signature expired: {signed} is now earlier than {earliest} ({now} - {allowed})")]
    SignatureExpired { signed: Box<str>, earliest: Box<str>, now: Box<str>, allowed: Box<str> },
    #[error("Signature not yet current: {signed} is still later than {latest} ({now} + {allowed})")]
    SignatureNotYetCurrent { signed: Box<str>, latest: Box<str>, now: Box<str>, allowed: Box<str> },
    #[error("{header} must be a 'SignedHeader' in the AWS Authorization.")]
    HeaderNotSigned { header: &'static str },
    #[error("{reasons}")]
    SignatureScope { reasons: Box<str> },
    #[error("The security token included in the request is invalid.")]
    UnknownAccessKey,
    /// Some services append the canonical request and the string to sign; SQS does not.
    #[error(
        "The request signature we calculated does not match the signature you provided. \
         Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
    )]
    SignatureMismatch,
    #[error(
        "User: {user} is not authorized to perform: {action} on resource: {resource} {}",
        denial.reason(action)
    )]
    AccessDenied { user: Box<str>, action: Box<str>, resource: Box<str>, denial: Denial },
    #[error("Access to the resource {resource} is denied.")]
    Unsigned { resource: Box<str> },
    #[error("The action {action} is not valid for this endpoint.")]
    UnknownAction { action: Box<str> },
    /// Neither an action nor a target: answered by a bare element, not by an error response.
    #[error("The request names no action.")]
    NoAction,
    #[error("{reason}")]
    Malformed { reason: Cow<'static, str> },
    #[error("The server cannot take the request now: {reason}.")]
    Unavailable { reason: Cow<'static, str> },
    #[error("The request could not be processed because of an internal failure.")]
    Internal,
    #[error("Too many requests wait for messages on this server. Try again later.")]
    TooManyWaiting,
    #[error("The address {address} is not valid for this endpoint.")]
    Address { address: Box<str> },
    #[error("The specified queue does not exist.")]
    QueueMissing,

    #[error("The request must contain the parameter {name}.")]
    Missing { name: Cow<'static, str> },
    #[error("There should be at least one {entry} in the request.")]
    EmptyBatch { entry: &'static str },
    #[error("Maximum number of entries per request are 10. You have sent {sent}.")]
    TooManyEntries { sent: usize },
    #[error(
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
         It can be at most 80 letters long."
    )]
    EntryId,
    #[error("Id {id} repeated.")]
    EntryIdRepeated { id: Box<str> },
    #[error("Batch requests cannot be longer than {limit} bytes. You have sent {sent} bytes.")]
    BatchTooLong { limit: usize, sent: usize },

    #[error("Unknown Attribute {name}.")]
    UnknownAttribute { name: Box<str> },
    #[error("You can specify the {attribute} only when FifoQueue is set to true.")]
    AttributeNeedsFifo { attribute: &'static str },
    #[error(
        "You can use one type of server-side encryption (SSE) at one time. \
         You can either enable KMS SSE or SQS SSE."
    )]
    EncryptionConflict,
    #[error("Invalid value for the parameter {attribute}.")]
    AttributeValue { attribute: &'static str },
    #[error("Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")]
    QueueTypeFixed,
    #[error(
        "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup"
    )]
    ThroughputLimitNeedsGroupScope,
    #[error("Invalid value for the parameter Policy. Reason: {reason}")]
    Policy { reason: Box<str> },
    /// Seen with this code in production reports: too long, too many statements, actions, and so on.
    #[error("{reason}")]
    PolicyOverLimit { reason: Box<str> },
    #[error("{found} Actions were found, maximum allowed is {limit}.")]
    TooManyActions { found: usize, limit: usize },
    #[error("Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map.")]
    RedrivePolicyForm,
    #[error(
        "Invalid value for the parameter RedriveAllowPolicy. Reason: \
         Amazon SQS can't create the redrive allow policy, as it’s in an unsupported format."
    )]
    RedriveAllowPolicyForm,

    #[error("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")]
    QueueName,
    #[error(
        "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, \
         must end with .fifo suffix and be 1 to 80 in length"
    )]
    FifoQueueName,
    #[error("Value for parameter QueueName is invalid. Reason: Must specify a queue name.")]
    NoQueueName,
    #[error("Queue name cannot be empty")]
    EmptyQueueName,
    #[error("Value {value} for parameter {name} is invalid. Reason: {reason}")]
    Value { name: &'static str, value: Box<str>, reason: Cow<'static, str> },
    #[error(
        "Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and {most}."
    )]
    MaxResults { most: usize },
    #[error("Invalid or expired next token.")]
    NextToken,
    #[error("{reason}")]
    Tag { reason: &'static str },
    #[error("Too many tags added for queue {queue}.")]
    TooManyTags { queue: Box<str> },

    #[error("Invalid binary character '#x{character:X}' was found in the message body, {}", ALLOWED)]
    BodyCharacter { character: u32 },
    #[error(
        "Invalid binary character '#x{character:X}' was found in the message attribute '{attribute}' value, {}",
        ALLOWED
    )]
    AttributeCharacter { attribute: Box<str>, character: u32 },
    #[error("One or more parameters are invalid. Reason: Message must be shorter than {limit} bytes.")]
    MessageTooLong { limit: u32 },
    #[error(
        "One or more parameters cannot be validated. Reason: Message must be shorter than {limit} bytes."
    )]
    EntryTooLong { limit: u32 },
    #[error("The request include parameter that is not valid for this queue type")]
    EntryNotForQueueType,
    /// The text of a missing parameter under another code, as recorded.
    #[error("The request must contain the parameter MessageGroupId.")]
    EntryWithoutGroup,
    #[error(
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided \
         explicitly"
    )]
    DeduplicationIdMissing,
    #[error("Number of message attributes [{sent}] exceeds the allowed maximum [{limit}].")]
    TooManyAttributes { sent: usize, limit: usize },
    #[error("The request must contain non-empty message (user) attribute names.")]
    EmptyAttributeName,
    #[error("Message (user) attribute name must be shorter than 256 bytes.")]
    AttributeNameTooLong,
    #[error("Message (user) attribute type must be shorter than 256 bytes.")]
    AttributeTypeTooLong,
    #[error(
        "You can't use message attribute names beginning with 'AWS.' or 'Amazon'. \
         These strings are reserved for internal use."
    )]
    ReservedAttributeName,
    #[error(
        "The message attribute name '{name}' is invalid. Attribute name can contain A-Z, a-z, 0-9, \
         underscore (_), hyphen (-), and period (.) characters."
    )]
    AttributeNameCharacters { name: Box<str> },
    #[error(
        "The type of message (user) attribute '{name}' is invalid. \
         You must use only the following supported type prefixes: Binary, Number, String."
    )]
    AttributeType { name: Box<str> },
    #[error("The message (user) attribute '{name}' must contain a non-empty message attribute value.")]
    AttributeWithoutValue { name: Box<str> },
    #[error("Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'.")]
    EmptyAttributeValue { name: Box<str>, kind: &'static str },
    #[error("Can't cast the value of message (user) attribute '{name}' to a number.")]
    NotANumber { name: Box<str> },
    #[error("Message attribute list values in SendMessage operation are not supported.")]
    ListValues,
    #[error("Message system attribute name '{name}' is invalid.")]
    SystemAttributeName { name: Box<str> },
    #[error("Message system attribute '{name}' must contain a non-empty value of type 'String'.")]
    SystemAttributeValue { name: Box<str> },

    #[error("The input receipt handle \"{handle}\" is not a valid receipt handle.")]
    ReceiptHandle { handle: Box<str> },
    #[error(
        "You must wait 60 seconds after deleting a queue before you can create another with the same name."
    )]
    QueueDeletedRecently,
    #[error("A queue already exists with the same name and a different value for attribute {attribute}")]
    QueueExists { attribute: &'static str },
    #[error("Only one PurgeQueue operation on {queue} is allowed every 60 seconds.")]
    PurgeInProgress { queue: Box<str> },
    #[error(
        "Too many messages have been received without being deleted.\n\
         Please delete your received messages or let them timeout before receiving more."
    )]
    TooManyInFlight,
    #[error("This server holds at most {limit} queues.")]
    TooManyQueues { limit: usize },

    #[error(
        "You must use this format to specify the {parameter}: \
         arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
    )]
    ArnForm { parameter: &'static str },
    #[error("The resource that you specified for the {parameter} parameter doesn't exist.")]
    ResourceMissing { parameter: &'static str },
    #[error(
        "Value for parameter MaxNumberOfMessagesPerSecond is invalid. \
         Reason: You must enter a number that's between 1 and 500."
    )]
    MoveRate,
    #[error("Value for parameter TaskHandle is invalid.")]
    TaskHandle,
    #[error("Source queue must be configured as a Dead Letter Queue.")]
    SourceNotDeadLetterQueue,
    #[error("Source queue arn and destination queue arn cannot be the same.")]
    MoveToItself,
    #[error("The source queue and destination queue must be of the same queue type.")]
    MoveTypesDiffer,
    #[error(
        "There is already a task running. \
         Only one active task is allowed for a source queue arn at a given time."
    )]
    MoveTaskRunning,
    #[error("Task does not exist.")]
    MoveTaskMissing,
    #[error("At most {limit} message move tasks of an account can run at a time.")]
    TooManyMoveTasks { limit: usize },
}

/// Why a caller may not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// A statement of the queue's policy denies it.
    ByPolicy,
    /// It needs a policy of the queue that allows it, and there is none.
    PolicySilent,
    /// The lists of the credential do not have it.
    NotGranted,
}

impl Denial {
    /// The end of the error's text, as production reports show it.
    fn reason(self, action: &str) -> String {
        match self {
            Denial::ByPolicy => "with an explicit deny in a resource-based policy".into(),
            Denial::PolicySilent => format!("because no resource-based policy allows the {action} action"),
            Denial::NotGranted => format!("because no identity-based policy allows the {action} action"),
        }
    }
}

impl Fault {
    /// The row of the table that the fault belongs to.
    pub fn shape(&self) -> Shape {
        match self {
            Fault::RequestTooLong { .. } => Shape::RequestTooLong,
            Fault::IncompleteSignature { .. } => Shape::IncompleteSignature,
            Fault::TwoSignatures
            | Fault::SignatureExpired { .. }
            | Fault::SignatureNotYetCurrent { .. }
            | Fault::HeaderNotSigned { .. }
            | Fault::SignatureScope { .. }
            | Fault::SignatureMismatch => Shape::InvalidSignature,
            Fault::UnknownAccessKey => Shape::UnknownAccessKey,
            Fault::AccessDenied { .. } | Fault::Unsigned { .. } => Shape::AccessDenied,
            Fault::UnknownAction { .. } | Fault::NoAction => Shape::UnknownOperation,
            Fault::Malformed { .. } => Shape::Serialization,
            Fault::Unavailable { .. } => Shape::Unavailable,
            Fault::Internal => Shape::Internal,
            Fault::TooManyWaiting => Shape::Throttled,
            Fault::Address { .. } => Shape::InvalidAddress,
            Fault::QueueMissing => Shape::QueueMissing,
            Fault::Missing { .. } => Shape::MissingParameter,
            Fault::EmptyBatch { .. } => Shape::EmptyBatch,
            Fault::TooManyEntries { .. } => Shape::TooManyEntries,
            Fault::EntryId => Shape::EntryId,
            Fault::EntryIdRepeated { .. } => Shape::EntryIdsRepeated,
            Fault::BatchTooLong { .. } => Shape::BatchTooLong,
            Fault::UnknownAttribute { .. } | Fault::AttributeNeedsFifo { .. } | Fault::EncryptionConflict => {
                Shape::AttributeName
            }
            Fault::AttributeValue { .. }
            | Fault::QueueTypeFixed
            | Fault::ThroughputLimitNeedsGroupScope
            | Fault::Policy { .. }
            | Fault::RedrivePolicyForm
            | Fault::RedriveAllowPolicyForm => Shape::AttributeValue,
            Fault::QueueName
            | Fault::FifoQueueName
            | Fault::NoQueueName
            | Fault::EmptyQueueName
            | Fault::Value { .. }
            | Fault::MaxResults { .. }
            | Fault::NextToken
            | Fault::Tag { .. }
            | Fault::TooManyTags { .. }
            | Fault::AttributeCharacter { .. }
            | Fault::MessageTooLong { .. }
            | Fault::EntryTooLong { .. }
            | Fault::EntryNotForQueueType
            | Fault::EntryWithoutGroup
            | Fault::DeduplicationIdMissing
            | Fault::TooManyAttributes { .. }
            | Fault::EmptyAttributeName
            | Fault::AttributeNameTooLong
            | Fault::AttributeTypeTooLong
            | Fault::ReservedAttributeName
            | Fault::AttributeNameCharacters { .. }
            | Fault::AttributeType { .. }
            | Fault::AttributeWithoutValue { .. }
            | Fault::EmptyAttributeValue { .. }
            | Fault::NotANumber { .. }
            | Fault::SystemAttributeName { .. }
            | Fault::SystemAttributeValue { .. }
            | Fault::ArnForm { .. }
            | Fault::MoveRate
            | Fault::TaskHandle
            | Fault::SourceNotDeadLetterQueue
            | Fault::MoveToItself
            | Fault::MoveTypesDiffer
            | Fault::MoveTaskRunning => Shape::ParameterValue,
            Fault::BodyCharacter { .. } => Shape::MessageContents,
            Fault::ReceiptHandle { .. } => Shape::ReceiptHandle,
            Fault::ListValues => Shape::Unsupported,
            Fault::QueueDeletedRecently => Shape::QueueDeletedRecently,
            Fault::QueueExists { .. } => Shape::QueueNameExists,
            Fault::PurgeInProgress { .. } => Shape::PurgeInProgress,
            Fault::ResourceMissing { .. } | Fault::MoveTaskMissing => Shape::ResourceMissing,
            Fault::TooManyInFlight
            | Fault::TooManyQueues { .. }
            | Fault::TooManyMoveTasks { .. }
            | Fault::PolicyOverLimit { .. }
            | Fault::TooManyActions { .. } => Shape::OverLimit,
        }
    }

    /// The text for Query clients.
    pub(crate) fn query_text(&self) -> Cow<'static, str> {
        match self {
            Fault::QueueMissing => "The specified queue does not exist for this wsdl version.".into(),
            other => other.to_string().into(),
        }
    }

    /// A request that cannot be read as what it claims to be.
    pub(crate) fn malformed(reason: impl Into<Cow<'static, str>>) -> Self {
        Fault::Malformed { reason: reason.into() }
    }

    /// A required parameter that is absent or empty.
    pub(crate) fn missing(name: impl Into<Cow<'static, str>>) -> Self {
        Fault::Missing { name: name.into() }
    }

    /// A parameter whose value is refused for a reason.
    pub(crate) fn value(name: &'static str, value: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        Fault::Value { name, value: crate::text::echo(value), reason: reason.into() }
    }

    /// The engine's refusal in the client's terms.
    pub(crate) fn of_engine(error: &EngineError, echo: &Echo) -> Self {
        let redrive = |reason: &'static str| Fault::value("RedrivePolicy", &echo.redrive_policy, reason);
        match *error {
            EngineError::QueueMissing => Fault::QueueMissing,
            EngineError::QueueExists { attribute } => Fault::QueueExists { attribute },
            EngineError::QueueDeletedRecently => Fault::QueueDeletedRecently,
            EngineError::PurgeInProgress => Fault::PurgeInProgress { queue: echo.queue.clone() },
            EngineError::AttributeOfFifo { attribute } => match attribute {
                "DeduplicationScope" | "FifoThroughputLimit" => Fault::AttributeNeedsFifo { attribute },
                _ => Fault::UnknownAttribute { name: attribute.into() },
            },
            EngineError::QueueTypeFixed => Fault::QueueTypeFixed,
            EngineError::ThroughputLimitNeedsGroupScope => Fault::ThroughputLimitNeedsGroupScope,
            EngineError::DeduplicationIdMissing => Fault::DeduplicationIdMissing,
            EngineError::EncryptionConflict => Fault::EncryptionConflict,
            EngineError::DeadLetterMissing => redrive("Dead letter target does not exist."),
            // Two full stops: recorded so by others.
            EngineError::DeadLetterType => {
                redrive("Dead-letter queue must be same type of queue as the source..")
            }
            EngineError::DeadLetterForbidden => {
                redrive("The dead-letter queue's RedriveAllowPolicy does not allow this source queue.")
            }
            EngineError::TooManyTags { .. } => Fault::TooManyTags { queue: echo.queue.clone() },
            EngineError::TooManyQueues { limit } => Fault::TooManyQueues { limit },
            EngineError::MessageTooLong { limit } if echo.in_batch => Fault::EntryTooLong { limit },
            EngineError::MessageTooLong { limit } => Fault::MessageTooLong { limit },
            EngineError::OverLimit => Fault::TooManyInFlight,
            EngineError::TooManyWaiting => Fault::TooManyWaiting,
            EngineError::ReceiptOfOtherQueue => Fault::ReceiptHandle { handle: echo.handle.clone() },
            EngineError::NotAvailable => Fault::value(
                "ReceiptHandle",
                &echo.handle,
                "Message does not exist or is not available for visibility timeout change.",
            ),
            EngineError::ReceiptExpired => {
                Fault::value("ReceiptHandle", &echo.handle, "The receipt handle has expired.")
            }
            EngineError::AttemptNotRetryable => Fault::value(
                "ReceiveRequestAttemptId",
                &echo.handle,
                "The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.",
            ),
            EngineError::VisibilityBeyondLimit => Fault::value(
                "VisibilityTimeout",
                &echo.visibility_timeout.to_string(),
                "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
            ),
            EngineError::PolicyChanged => {
                Fault::Unavailable { reason: "others keep changing the policy of the queue".into() }
            }
            EngineError::StorageFull => {
                Fault::Unavailable { reason: "there is no room for new messages on its disk".into() }
            }
            EngineError::MoveSourceMissing => Fault::ResourceMissing { parameter: "SourceArn" },
            EngineError::MoveDestinationMissing => Fault::ResourceMissing { parameter: "DestinationArn" },
            EngineError::SourceNotDeadLetterQueue => Fault::SourceNotDeadLetterQueue,
            EngineError::MoveToItself => Fault::MoveToItself,
            EngineError::MoveTypesDiffer => Fault::MoveTypesDiffer,
            EngineError::MoveTaskRunning => Fault::MoveTaskRunning,
            EngineError::MoveTaskMissing => Fault::MoveTaskMissing,
            EngineError::TooManyMoveTasks { limit } => Fault::TooManyMoveTasks { limit },
            // The engine's errors are open-ended; one without a mapping is a fault of ours.
            _ => Fault::Internal,
        }
    }
}

/// What error texts repeat of a request, kept until the engine has answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echo {
    /// Name of the queue.
    pub(crate) queue: Box<str>,
    /// The redrive policy as sent.
    pub(crate) redrive_policy: Box<str>,
    /// The receipt handle, or the id of a receive attempt.
    pub(crate) handle: Box<str>,
    /// The visibility timeout asked for, in seconds.
    pub(crate) visibility_timeout: u64,
    /// Whether this is an entry of a batch: some texts differ.
    pub(crate) in_batch: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_statuses_are_those_of_the_service() {
        let row = Shape::QueueMissing.row();
        assert_eq!(row.json_type, "com.amazonaws.sqs#QueueDoesNotExist");
        assert_eq!(row.header, "AWS.SimpleQueueService.NonExistentQueue;Sender");
        let row = Shape::ParameterValue.row();
        assert_eq!(row.json_type, "com.amazon.coral.service#InvalidParameterValueException");
        assert_eq!(row.code, "InvalidParameterValue");
        for shape in Shape::ALL {
            let row = shape.row();
            assert_eq!(row.side == Side::Receiver, row.status >= 500, "{shape:?}");
            assert!((400..600).contains(&row.status), "{shape:?}");
        }
    }
}
