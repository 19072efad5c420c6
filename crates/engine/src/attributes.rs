//! Queue attributes as checked values, and the changes a client may make to them.

use crate::{QueueAddress, limits};
use std::time::Duration;

/// The settable attributes of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueAttributes {
    /// `DelaySeconds`: how long a new message stays hidden. Default 0, at most 15 minutes.
    pub delay: Duration,
    /// `MaximumMessageSize` in bytes. Default 1,048,576.
    pub maximum_message_size: u32,
    /// `MessageRetentionPeriod`. Default 4 days.
    pub retention_period: Duration,
    /// `ReceiveMessageWaitTimeSeconds`: wait of a receive that names none. Default 0.
    pub wait_time: Duration,
    /// `VisibilityTimeout`. Default 30 s.
    pub visibility_timeout: Duration,
    /// `Policy`, kept as sent.
    pub policy: Option<Document>,
    /// `RedrivePolicy`.
    pub redrive_policy: Option<RedrivePolicy>,
    /// `RedriveAllowPolicy`; unset allows every source.
    pub redrive_allow_policy: Option<RedriveAllowPolicy>,
    /// `KmsMasterKeyId`: stored and returned; nothing is encrypted with it.
    pub kms_master_key_id: Option<Box<str>>,
    /// `KmsDataKeyReusePeriodSeconds`: `None` until set, shown as 300 while a key is set.
    pub kms_data_key_reuse_period: Option<Duration>,
    /// `SqsManagedSseEnabled`. Default true; setting a KMS key turns it off.
    pub sqs_managed_sse: bool,
    /// What only FIFO queues have. Its presence is the queue's type, which never changes.
    pub fifo: Option<FifoAttributes>,
}

/// The attributes of a FIFO queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoAttributes {
    /// `ContentBasedDeduplication`. Default false.
    pub content_based_deduplication: bool,
    /// `DeduplicationScope`. Default the queue.
    pub deduplication_scope: DeduplicationScope,
    /// `FifoThroughputLimit`: stored and returned; no throughput is limited. Default the queue's.
    pub throughput_limit: FifoThroughputLimit,
}

impl Default for FifoAttributes {
    fn default() -> Self {
        FifoAttributes {
            content_based_deduplication: false,
            deduplication_scope: DeduplicationScope::Queue,
            throughput_limit: FifoThroughputLimit::PerQueue,
        }
    }
}

impl Default for QueueAttributes {
    fn default() -> Self {
        QueueAttributes {
            delay: Duration::ZERO,
            maximum_message_size: *limits::MAXIMUM_MESSAGE_SIZE.end(),
            retention_period: Duration::from_secs(345_600),
            wait_time: Duration::ZERO,
            visibility_timeout: Duration::from_secs(30),
            policy: None,
            redrive_policy: None,
            redrive_allow_policy: None,
            kms_master_key_id: None,
            kms_data_key_reuse_period: None,
            sqs_managed_sse: true,
            fifo: None,
        }
    }
}

/// A JSON document that is returned as it was sent and compared by its meaning.
#[derive(Clone, Debug, Eq)]
pub struct Document {
    /// The text as sent.
    pub text: Box<str>,
    /// The same document with sorted keys and without white space.
    pub canonical: Box<str>,
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}

/// When and where a message goes that was received too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedrivePolicy {
    /// `deadLetterTargetArn`, as an address; same account and region as the source.
    pub dead_letter_target: QueueAddress,
    /// `maxReceiveCount`, 1–1000.
    pub max_receive_count: u32,
}

/// Which queues may name this one as their dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedriveAllowPolicy {
    /// Every queue of the account and region.
    AllowAll,
    /// None.
    DenyAll,
    /// The named ones: 1–10 ARNs.
    ByQueue(Vec<Box<str>>),
}

/// `DeduplicationScope` of a FIFO queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeduplicationScope {
    /// One memory of ids for the whole queue.
    Queue,
    /// One for each message group.
    MessageGroup,
}

/// `FifoThroughputLimit` of a FIFO queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FifoThroughputLimit {
    /// The quota is the queue's.
    PerQueue,
    /// Each message group has one.
    PerMessageGroupId,
}

/// One attribute given a new value. Values are in range: the protocol checked them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the attribute of its name, documented in QueueAttributes")]
pub enum AttributeChange {
    DelaySeconds(Duration),
    MaximumMessageSize(u32),
    MessageRetentionPeriod(Duration),
    ReceiveMessageWaitTimeSeconds(Duration),
    VisibilityTimeout(Duration),
    Policy(Option<Document>),
    RedrivePolicy(Option<RedrivePolicy>),
    RedriveAllowPolicy(Option<RedriveAllowPolicy>),
    KmsMasterKeyId(Option<Box<str>>),
    KmsDataKeyReusePeriodSeconds(Duration),
    SqsManagedSseEnabled(bool),
    FifoQueue(bool),
    ContentBasedDeduplication(bool),
    DeduplicationScope(DeduplicationScope),
    FifoThroughputLimit(FifoThroughputLimit),
}

impl AttributeChange {
    /// The attribute's name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            AttributeChange::DelaySeconds(_) => "DelaySeconds",
            AttributeChange::MaximumMessageSize(_) => "MaximumMessageSize",
            AttributeChange::MessageRetentionPeriod(_) => "MessageRetentionPeriod",
            AttributeChange::ReceiveMessageWaitTimeSeconds(_) => "ReceiveMessageWaitTimeSeconds",
            AttributeChange::VisibilityTimeout(_) => "VisibilityTimeout",
            AttributeChange::Policy(_) => "Policy",
            AttributeChange::RedrivePolicy(_) => "RedrivePolicy",
            AttributeChange::RedriveAllowPolicy(_) => "RedriveAllowPolicy",
            AttributeChange::KmsMasterKeyId(_) => "KmsMasterKeyId",
            AttributeChange::KmsDataKeyReusePeriodSeconds(_) => "KmsDataKeyReusePeriodSeconds",
            AttributeChange::SqsManagedSseEnabled(_) => "SqsManagedSseEnabled",
            AttributeChange::FifoQueue(_) => "FifoQueue",
            AttributeChange::ContentBasedDeduplication(_) => "ContentBasedDeduplication",
            AttributeChange::DeduplicationScope(_) => "DeduplicationScope",
            AttributeChange::FifoThroughputLimit(_) => "FifoThroughputLimit",
        }
    }

    /// Whether only FIFO queues have the attribute.
    pub fn is_fifo_only(&self) -> bool {
        matches!(
            self,
            AttributeChange::FifoQueue(_)
                | AttributeChange::ContentBasedDeduplication(_)
                | AttributeChange::DeduplicationScope(_)
                | AttributeChange::FifoThroughputLimit(_)
        )
    }
}

impl QueueAttributes {
    /// Takes over one change.
    ///
    /// # Panics
    /// On a FIFO attribute of a standard queue: the caller refused it before.
    pub(crate) fn apply(&mut self, change: &AttributeChange) {
        match change.clone() {
            AttributeChange::DelaySeconds(value) => self.delay = value,
            AttributeChange::MaximumMessageSize(value) => self.maximum_message_size = value,
            AttributeChange::MessageRetentionPeriod(value) => self.retention_period = value,
            AttributeChange::ReceiveMessageWaitTimeSeconds(value) => self.wait_time = value,
            AttributeChange::VisibilityTimeout(value) => self.visibility_timeout = value,
            AttributeChange::Policy(value) => self.policy = value,
            AttributeChange::RedrivePolicy(value) => self.redrive_policy = value,
            AttributeChange::RedriveAllowPolicy(value) => self.redrive_allow_policy = value,
            AttributeChange::KmsMasterKeyId(value) => {
                // Recorded: a key switches the managed encryption off, and clearing it does not switch it on.
                self.sqs_managed_sse &= value.is_none();
                self.kms_data_key_reuse_period = self.kms_data_key_reuse_period.filter(|_| value.is_some());
                self.kms_master_key_id = value;
            }
            AttributeChange::KmsDataKeyReusePeriodSeconds(value) => {
                self.kms_data_key_reuse_period = Some(value);
            }
            AttributeChange::SqsManagedSseEnabled(value) => {
                self.sqs_managed_sse = value;
                if value {
                    self.kms_master_key_id = None;
                    self.kms_data_key_reuse_period = None;
                }
            }
            AttributeChange::FifoQueue(value) => {
                assert!(value, "the type of a queue never changes");
                self.fifo = Some(self.fifo.unwrap_or_default());
            }
            AttributeChange::ContentBasedDeduplication(value) => {
                self.fifo_mut().content_based_deduplication = value;
            }
            AttributeChange::DeduplicationScope(value) => self.fifo_mut().deduplication_scope = value,
            AttributeChange::FifoThroughputLimit(value) => self.fifo_mut().throughput_limit = value,
        }
    }

    fn fifo_mut(&mut self) -> &mut FifoAttributes {
        self.fifo.as_mut().expect("FIFO attributes are refused before they reach a standard queue")
    }

    /// The default attributes of a FIFO queue.
    pub fn fifo() -> Self {
        QueueAttributes { fifo: Some(FifoAttributes::default()), ..QueueAttributes::default() }
    }

    /// The default attributes with `changes` taken over; the queue's type first, then in order.
    pub fn from_changes(changes: &[AttributeChange]) -> Self {
        let fifo = changes.contains(&AttributeChange::FifoQueue(true));
        let mut attributes = if fifo { QueueAttributes::fifo() } else { QueueAttributes::default() };
        changes.iter().for_each(|change| attributes.apply(change));
        attributes
    }

    /// Changes that lead from the default attributes to these.
    pub fn changes(&self) -> Vec<AttributeChange> {
        let all = [
            AttributeChange::DelaySeconds(self.delay),
            AttributeChange::MaximumMessageSize(self.maximum_message_size),
            AttributeChange::MessageRetentionPeriod(self.retention_period),
            AttributeChange::ReceiveMessageWaitTimeSeconds(self.wait_time),
            AttributeChange::VisibilityTimeout(self.visibility_timeout),
            AttributeChange::Policy(self.policy.clone()),
            AttributeChange::RedrivePolicy(self.redrive_policy.clone()),
            AttributeChange::RedriveAllowPolicy(self.redrive_allow_policy.clone()),
            AttributeChange::KmsMasterKeyId(self.kms_master_key_id.clone()),
            AttributeChange::SqsManagedSseEnabled(self.sqs_managed_sse),
        ];
        let default = QueueAttributes::default();
        let mut changes: Vec<_> = all.into_iter().filter(|change| default.differs(change)).collect();
        let reuse_period = self.kms_data_key_reuse_period;
        changes.extend(reuse_period.map(AttributeChange::KmsDataKeyReusePeriodSeconds));
        if let Some(fifo) = self.fifo {
            changes.extend([
                AttributeChange::FifoQueue(true),
                AttributeChange::ContentBasedDeduplication(fifo.content_based_deduplication),
                AttributeChange::DeduplicationScope(fifo.deduplication_scope),
                AttributeChange::FifoThroughputLimit(fifo.throughput_limit),
            ]);
        }
        changes
    }

    /// Whether taking over `change` would alter its attribute.
    pub(crate) fn differs(&self, change: &AttributeChange) -> bool {
        match change {
            AttributeChange::DelaySeconds(value) => self.delay != *value,
            AttributeChange::MaximumMessageSize(value) => self.maximum_message_size != *value,
            AttributeChange::MessageRetentionPeriod(value) => self.retention_period != *value,
            AttributeChange::ReceiveMessageWaitTimeSeconds(value) => self.wait_time != *value,
            AttributeChange::VisibilityTimeout(value) => self.visibility_timeout != *value,
            AttributeChange::Policy(value) => self.policy != *value,
            AttributeChange::RedrivePolicy(value) => self.redrive_policy != *value,
            AttributeChange::RedriveAllowPolicy(value) => self.redrive_allow_policy != *value,
            AttributeChange::KmsMasterKeyId(value) => self.kms_master_key_id != *value,
            AttributeChange::KmsDataKeyReusePeriodSeconds(value) => {
                self.kms_data_key_reuse_period.unwrap_or(KMS_REUSE_PERIOD_DEFAULT) != *value
            }
            AttributeChange::SqsManagedSseEnabled(value) => self.sqs_managed_sse != *value,
            AttributeChange::FifoQueue(value) => self.fifo.is_some() != *value,
            AttributeChange::ContentBasedDeduplication(value) => {
                self.fifo.is_none_or(|fifo| fifo.content_based_deduplication != *value)
            }
            AttributeChange::DeduplicationScope(value) => {
                self.fifo.is_none_or(|fifo| fifo.deduplication_scope != *value)
            }
            AttributeChange::FifoThroughputLimit(value) => {
                self.fifo.is_none_or(|fifo| fifo.throughput_limit != *value)
            }
        }
    }
}

/// What `KmsDataKeyReusePeriodSeconds` reads while a key is set and the period is not.
pub const KMS_REUSE_PERIOD_DEFAULT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kms_key_and_the_managed_encryption_exclude_each_other() {
        let mut attributes = QueueAttributes::default();
        assert!(attributes.sqs_managed_sse);
        attributes.apply(&AttributeChange::KmsMasterKeyId(Some("testKeyId".into())));
        attributes.apply(&AttributeChange::KmsDataKeyReusePeriodSeconds(Duration::from_secs(60)));
        assert!(!attributes.sqs_managed_sse);
        attributes.apply(&AttributeChange::KmsMasterKeyId(None));
        assert!(!attributes.sqs_managed_sse, "clearing the key leaves the managed encryption off");
        assert_eq!(attributes.kms_data_key_reuse_period, None);
        attributes.apply(&AttributeChange::KmsMasterKeyId(Some("testKeyId".into())));
        attributes.apply(&AttributeChange::SqsManagedSseEnabled(true));
        assert_eq!(attributes.kms_master_key_id, None);
    }

    #[test]
    fn changes_lead_back_to_the_attributes() {
        let seconds = Duration::from_secs(61);
        let with_key = QueueAttributes::from_changes(&[
            AttributeChange::DelaySeconds(seconds),
            AttributeChange::KmsMasterKeyId(Some("testKeyId".into())),
            AttributeChange::KmsDataKeyReusePeriodSeconds(seconds),
        ]);
        let unencrypted = QueueAttributes { sqs_managed_sse: false, ..QueueAttributes::default() };
        let fifo = QueueAttributes::from_changes(&[
            AttributeChange::DeduplicationScope(DeduplicationScope::MessageGroup),
            AttributeChange::FifoQueue(true),
        ]);
        assert!(fifo.fifo.is_some_and(|fifo| fifo.deduplication_scope == DeduplicationScope::MessageGroup));
        for attributes in [QueueAttributes::default(), with_key, unencrypted, fifo] {
            assert_eq!(QueueAttributes::from_changes(&attributes.changes()), attributes);
        }
    }

    #[test]
    fn documents_compare_by_meaning() {
        let a = Document { text: "{ \"b\":1,\"a\":2}".into(), canonical: "{\"a\":2,\"b\":1}".into() };
        let b = Document { text: "{\"a\":2,\"b\":1}".into(), canonical: "{\"a\":2,\"b\":1}".into() };
        let attributes = QueueAttributes { policy: Some(a), ..QueueAttributes::default() };
        assert!(!attributes.differs(&AttributeChange::Policy(Some(b))));
        assert!(attributes.differs(&AttributeChange::Policy(None)));
    }
}
