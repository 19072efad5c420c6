//! Messages whose every byte follows from a number, so that whoever sees one knows which it is and whether it is whole.

use bytes::Bytes;
use tidegate_engine::{Message, MessageId};

/// The number of a message: every entry of every send that goes in has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// Shorter bodies have no room for the number.
const BODY_BYTES_MIN: usize = 8;

/// The body of a message.
pub fn body(tag: Tag, bytes: usize) -> Bytes {
    let mut body = vec![0; bytes.max(BODY_BYTES_MIN)];
    fastrand::Rng::with_seed(tag.0).fill(&mut body);
    body[..8].copy_from_slice(&tag.0.to_le_bytes());
    body.into()
}

/// The public id of a message.
pub fn id(tag: Tag) -> MessageId {
    let mut bytes = [0; 16];
    fastrand::Rng::with_seed(!tag.0).fill(&mut bytes);
    MessageId::from_random(bytes)
}

/// Which message this is; `None` if it is not as it was sent.
pub fn recognize(message: &Message) -> Option<Tag> {
    let tag = Tag(u64::from_le_bytes(message.body.get(..8)?.try_into().ok()?));
    let is_whole = message.body == body(tag, message.body.len()) && message.body_md5 == digest(tag);
    is_whole.then_some(tag)
}

/// Stands for the digest of the body: the server only stores it and gives it back.
pub fn digest(tag: Tag) -> [u8; 16] {
    id(tag).0
}
