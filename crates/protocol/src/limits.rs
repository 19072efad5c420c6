//! Limits on what a client may send, beside those of the engine ([`tidegate_engine::limits`]) and of policies
//! ([`tidegate_policy::limits`]).

use std::ops::RangeInclusive;
use tidegate_engine::limits as engine;

/// Bytes of one request body. A batch of 1 MiB is six times as long when a JSON client escapes every
/// character.
pub const REQUEST_BYTES: usize = 8 * 1024 * 1024;
/// Values of one JSON document: a full batch has about 500; bounds the memory of a parsed request.
pub const VALUES: usize = 10_000;
/// Nesting of a JSON document, and parts of a Query parameter name. The deepest input has seven.
pub const DEPTH: usize = 16;
/// Members of one JSON object, or of one level of Query names; bounds the search by name.
pub const MEMBERS: usize = 512;
/// Parameters of one Query request, URL and body together.
pub const PAIRS: usize = 10_000;
/// Bytes of a value that an error text repeats.
pub const ECHO_BYTES: usize = 2_048;
/// Bytes of a receipt handle or a page token (SQS API reference: 1,024).
pub const HANDLE_BYTES: usize = 1_024;
/// Message attributes of one message.
pub const MESSAGE_ATTRIBUTES: usize = 10;
/// Bytes of an attribute's name, and of its type.
pub const ATTRIBUTE_NAME_BYTES: usize = 256;
/// Bytes of an `AWSTraceHeader`: ours; X-Ray's own limit is 256.
pub const TRACE_HEADER_BYTES: usize = 1_024;
/// Characters of a message group or deduplication id.
pub const GROUP_ID_LENGTH: RangeInclusive<usize> = 1..=128;
/// Characters of a batch entry id.
pub const ENTRY_ID_LENGTH: RangeInclusive<usize> = 1..=80;
/// Characters of a tag's key.
pub const TAG_KEY_LENGTH: RangeInclusive<usize> = 1..=128;
/// Characters of a tag's value.
pub const TAG_VALUE_LENGTH: usize = 256;
/// Characters of a permission's label.
pub const LABEL_LENGTH: RangeInclusive<usize> = 1..=80;
/// Bytes of the other JSON attributes; ten ARNs take about 1,300.
pub const POLICY_ATTRIBUTE_BYTES: usize = 4_096;
/// Bytes of a `KmsMasterKeyId` (KMS API reference: 2,048).
pub const KMS_KEY_BYTES: usize = 2_048;
/// Range of `KmsDataKeyReusePeriodSeconds`.
pub const KMS_REUSE_PERIOD: RangeInclusive<u64> = 60..=86_400;
/// Range of `maxReceiveCount`.
pub const MAX_RECEIVE_COUNT: RangeInclusive<u32> = 1..=1_000;
/// Messages a second of a move task (SQS API reference, `StartMessageMoveTask`).
pub const MOVE_RATE: RangeInclusive<u32> = 1..=500;
/// Move tasks of one answer.
pub const MOVE_TASKS: RangeInclusive<usize> = 1..=engine::MOVE_TASKS_KEPT;
/// Source queue ARNs of a redrive allow policy.
pub const SOURCE_QUEUES: usize = 10;
/// Bytes of a host name with its port (RFC 1035: 253 and a port).
pub const HOST_BYTES: usize = 260;
/// Headers that one signature may cover. SDKs sign about ten.
pub const SIGNED_HEADERS: usize = 128;
