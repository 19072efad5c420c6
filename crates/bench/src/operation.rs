//! The operations of the service that a measurement uses.

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    SendMessage,
    SendMessageBatch,
    ReceiveMessage,
    DeleteMessage,
    DeleteMessageBatch,
    GetQueueUrl,
    CreateQueue,
    DeleteQueue,
}

impl Operation {
    pub(crate) const ALL: [Operation; 8] = [
        Operation::SendMessage,
        Operation::SendMessageBatch,
        Operation::ReceiveMessage,
        Operation::DeleteMessage,
        Operation::DeleteMessageBatch,
        Operation::GetQueueUrl,
        Operation::CreateQueue,
        Operation::DeleteQueue,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::SendMessage => "SendMessage",
            Operation::SendMessageBatch => "SendMessageBatch",
            Operation::ReceiveMessage => "ReceiveMessage",
            Operation::DeleteMessage => "DeleteMessage",
            Operation::DeleteMessageBatch => "DeleteMessageBatch",
            Operation::GetQueueUrl => "GetQueueUrl",
            Operation::CreateQueue => "CreateQueue",
            Operation::DeleteQueue => "DeleteQueue",
        }
    }
}
