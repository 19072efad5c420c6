//! What names a queue: account, region and name, parsed once at the edge.

use crate::limits;
use std::fmt;
use std::sync::Arc;

/// A 12-digit account number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(u64);

impl AccountId {
    /// Parses exactly twelve decimal digits; anything else is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| AccountId(text.bytes().fold(0, |n, b| n * 10 + u64::from(b - b'0'))))
    }

    /// The account as a number below 10^12.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// The twelve digits.
    pub fn encode(self) -> [u8; 12] {
        let mut digits = [b'0'; 12];
        let mut rest = self.0;
        for digit in digits.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        digits
    }

    /// From a number below 10^12; `None` above.
    pub fn from_u64(number: u64) -> Option<Self> {
        (number < 1_000_000_000_000).then_some(AccountId(number))
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.encode()).expect("digits are ASCII"))
    }
}

/// A region name such as `us-east-1`: 1–32 lower-case letters, digits and hyphens.
///
/// Kept in place: every request makes some.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// The text and zeros after it, so that the order is that of the texts.
    bytes: [u8; REGION_BYTES],
    length: u8,
}

const REGION_BYTES: usize = *limits::REGION_LENGTH.end();

impl Region {
    /// Parses a region name; `None` when it has other characters or length.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = limits::REGION_LENGTH.contains(&text.len());
        let plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        (fits && plain).then(|| {
            let mut bytes = [0; REGION_BYTES];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            Region { length: text.len() as u8, bytes }
        })
    }

    /// The region's text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).expect("regions are ASCII")
    }
}

impl Default for Region {
    fn default() -> Self {
        Region::parse("us-east-1").expect("it has the form of a region")
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Region").field(&self.as_str()).finish()
    }
}

/// A queue name: 1–80 of `A-Z a-z 0-9 - _`, for FIFO queues ending in `.fifo` (the suffix counts).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueName(Arc<str>);

/// The suffix that every FIFO queue's name has and no standard queue's.
pub const FIFO_SUFFIX: &str = ".fifo";

impl QueueName {
    /// Parses a queue name of either kind; `None` when it has other characters or length.
    pub fn parse(text: &str) -> Option<Self> {
        let stem = text.strip_suffix(FIFO_SUFFIX).unwrap_or(text);
        let plain = stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        let fits = limits::QUEUE_NAME_LENGTH.contains(&text.len()) && !stem.is_empty();
        (fits && plain).then(|| QueueName(text.into()))
    }

    /// The name that no other comes before.
    pub(crate) fn lowest() -> Self {
        // The hyphen is the lowest of the characters that a name may have.
        QueueName("-".into())
    }

    /// The name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the name of a FIFO queue.
    pub fn is_fifo(&self) -> bool {
        self.0.ends_with(FIFO_SUFFIX)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The address of a queue; unique in a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueAddress {
    /// The owning account.
    pub account: AccountId,
    /// The region it lives in.
    pub region: Region,
    /// Its name within account and region.
    pub name: QueueName,
}

impl QueueAddress {
    /// The queue's ARN, `arn:aws:sqs:<region>:<account>:<name>`.
    pub fn arn(&self) -> String {
        format!("arn:aws:sqs:{}:{}:{}", self.region, self.account, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_by_the_documented_rule() {
        let longest = "q".repeat(80);
        for good in ["q", "A-z_0", "orders.fifo", longest.as_str()] {
            assert!(QueueName::parse(good).is_some(), "{good}");
        }
        let long = "q".repeat(81);
        let long_fifo = format!("{}.fifo", "q".repeat(76));
        for bad in ["", ".fifo", "a.b", "a/b", "q.fifo.fifo", "ä", " q", long.as_str(), long_fifo.as_str()] {
            assert!(QueueName::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn accounts_have_twelve_digits() {
        assert_eq!(AccountId::parse("000000000000"), Some(AccountId::default()));
        assert_eq!(AccountId::parse("012345678901").map(|a| a.to_string()), Some("012345678901".into()));
        for bad in ["", "12345678901", "1234567890123", "AKIAIOSFODNN", "+12345678901"] {
            assert_eq!(AccountId::parse(bad), None, "{bad}");
        }
    }
}
