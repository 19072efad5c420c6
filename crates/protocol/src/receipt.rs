//! Receipt handles and page tokens: opaque to clients, authenticated, URL-safe.
//!
//! ```text
//! receipt handle   base64url( 01 | queue: u64 | seq: u64 | receive: u32 | tag: 16 bytes )      50 characters
//! page token       base64url( 02 | queue name | tag: 16 bytes )
//! ```
//!
//! Integers are big-endian. The tag is SipHash-2-4-128 over all bytes before it; a page token's tag also
//! covers what it belongs to. A handle that was not made with this key is refused.

use crate::limits;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use siphasher::sip128::SipHasher24;
use std::fmt;
use tidegate_engine::{MessageSeq, QueueAddress, QueueId, QueueName, Receipt};

const RECEIPT: u8 = 1;
const PAGE: u8 = 2;
const RECEIPT_BYTES: usize = 1 + 8 + 8 + 4;
const TAG_BYTES: usize = 16;

/// The secret that authenticates receipt handles and page tokens. It must outlive restarts, else handles that
/// are out become invalid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ReceiptKey(pub [u8; 16]);

impl fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReceiptKey(..)")
    }
}

impl ReceiptKey {
    /// The handle of a receipt.
    pub fn encode(&self, receipt: &Receipt) -> String {
        let mut bytes = [0; RECEIPT_BYTES + TAG_BYTES];
        bytes[0] = RECEIPT;
        bytes[1..9].copy_from_slice(&receipt.queue.0.to_be_bytes());
        bytes[9..17].copy_from_slice(&receipt.seq.0.to_be_bytes());
        bytes[17..RECEIPT_BYTES].copy_from_slice(&receipt.receive.to_be_bytes());
        let tag = self.tag(&[&bytes[..RECEIPT_BYTES]]);
        bytes[RECEIPT_BYTES..].copy_from_slice(&tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The receipt of a handle; `None` for every text that [`ReceiptKey::encode`] did not make with this key.
    pub fn decode(&self, handle: &str) -> Option<Receipt> {
        let mut bytes = [0; RECEIPT_BYTES + TAG_BYTES];
        let length = URL_SAFE_NO_PAD.decode_slice(handle, &mut bytes).ok()?;
        if length != bytes.len() || bytes[0] != RECEIPT {
            return None;
        }
        let (body, tag) = bytes.split_at(RECEIPT_BYTES);
        if !is_equal(&self.tag(&[body]), tag) {
            return None;
        }
        Some(Receipt {
            queue: QueueId(u64::from_be_bytes(body[1..9].try_into().ok()?)),
            seq: MessageSeq(u64::from_be_bytes(body[9..17].try_into().ok()?)),
            receive: u32::from_be_bytes(body[17..21].try_into().ok()?),
        })
    }

    /// The token of a listing's next page, after `last`. It is good for the same account, region and prefix.
    pub(crate) fn encode_page(&self, last: &QueueAddress, prefix: &str) -> String {
        let mut bytes = vec![PAGE];
        bytes.extend_from_slice(last.name.as_str().as_bytes());
        let tag = self.page_tag(&bytes, last, prefix);
        bytes.extend_from_slice(&tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The name that a page token continues after. `owner` tells account and region; its name does not
    /// matter.
    pub(crate) fn decode_page(
        &self,
        token: &str,
        owner: &crate::auth::Home,
        prefix: &str,
    ) -> Option<QueueName> {
        if token.len() > limits::HANDLE_BYTES {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (body, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?;
        let name = std::str::from_utf8(body.strip_prefix(&[PAGE])?).ok()?;
        let last = QueueAddress {
            account: owner.account,
            region: owner.region.clone(),
            name: QueueName::parse(name)?,
        };
        is_equal(&self.page_tag(body, &last, prefix), tag).then_some(last.name)
    }

    fn page_tag(&self, body: &[u8], owner: &QueueAddress, prefix: &str) -> [u8; TAG_BYTES] {
        let account = owner.account.as_u64().to_be_bytes();
        // Neither a region nor a queue name can hold the separator, so no two inputs are spelled alike.
        self.tag(&[body, b"\0", &account, owner.region.as_str().as_bytes(), b"\0", prefix.as_bytes()])
    }

    fn tag(&self, parts: &[&[u8]]) -> [u8; TAG_BYTES] {
        let hasher = SipHasher24::new_with_key(&self.0);
        match parts {
            [one] => hasher.hash(one).as_bytes(),
            many => hasher.hash(&many.concat()).as_bytes(),
        }
    }
}

/// Compares in a time that does not tell where the difference is.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Home;
    use tidegate_engine::{AccountId, Region};

    const KEY: ReceiptKey = ReceiptKey(*b"0123456789abcdef");

    #[test]
    fn handles_round_trip_and_every_forgery_is_refused() {
        let receipt = Receipt { queue: QueueId(7), seq: MessageSeq(u64::MAX), receive: 3 };
        let handle = KEY.encode(&receipt);
        assert_eq!(handle.len(), 50);
        assert_eq!(KEY.decode(&handle), Some(receipt));
        assert_eq!(ReceiptKey([0; 16]).decode(&handle), None, "another server's");
        for at in 0..handle.len() {
            let mut forged = handle.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(KEY.decode(std::str::from_utf8(&forged).unwrap()), None, "changed at {at}");
        }
        let long = "A".repeat(5_000);
        for garbage in ["", "garbage", "====", &handle[1..], &format!("{handle}A"), &long, "ä"] {
            assert_eq!(KEY.decode(garbage), None);
        }
    }

    #[test]
    fn page_tokens_belong_to_their_listing() {
        let owner = Home { account: AccountId::default(), region: Region::default() };
        let last = QueueAddress {
            account: owner.account,
            region: owner.region.clone(),
            name: QueueName::parse("orders-5").unwrap(),
        };
        let token = KEY.encode_page(&last, "orders");
        assert_eq!(KEY.decode_page(&token, &owner, "orders"), Some(last.name.clone()));
        assert_eq!(KEY.decode_page(&token, &owner, "order"), None);
        let elsewhere = Home { region: Region::parse("eu-west-1").unwrap(), ..owner.clone() };
        assert_eq!(KEY.decode_page(&token, &elsewhere, "orders"), None);
        for garbage in ["", "A", "garbage", &token[2..]] {
            assert_eq!(KEY.decode_page(garbage, &owner, "orders"), None);
        }
    }
}
