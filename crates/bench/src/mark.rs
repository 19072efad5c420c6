//! What stands in a message body: a mark that tells which message it is, and filler that is known in advance.
//!
//! ```text
//! run (8) . number (10) . sent at, ns (16) . group (6) . place in the group (8) . filler
//! ```
//!
//! The numbers are hexadecimal, of the width in parentheses. The filler is the beginning of one and the same text, so
//! every byte of a received body can be checked without remembering what was sent.

use crate::sign::hex_digits;
use std::sync::LazyLock;

/// Bytes of the longest message body that the service takes.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;

/// Which message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The measurement that sent it.
    pub(crate) run: u32,
    /// Counted from 0 in its run; below 2⁴⁰.
    pub(crate) number: u64,
    /// When it was sent, or should have been: nanoseconds since 1970.
    pub(crate) sent_ns: u64,
    /// Its message group; below 2²⁴. 0 in a standard queue.
    pub(crate) group: u32,
    /// Counted from 1 in its group; 0 in a standard queue.
    pub(crate) place: u32,
}

impl Mark {
    /// Bytes of a mark: of the smallest body that can be verified.
    pub(crate) const BYTES: usize = 53;

    /// Appends a body of `size` bytes, at least those of the mark.
    pub(crate) fn write_body(self, size: usize, out: &mut Vec<u8>) {
        write_hex(u64::from(self.run), 8, out);
        write_hex(self.number, 10, out);
        write_hex(self.sent_ns, 16, out);
        write_hex(u64::from(self.group), 6, out);
        write_hex(u64::from(self.place), 8, out);
        out.extend_from_slice(&FILLER[..size.saturating_sub(Mark::BYTES)]);
    }

    /// Reads a body; `None` if any byte of it was not written by [`Mark::write_body`].
    pub(crate) fn read_body(body: &[u8]) -> Option<Self> {
        let (mut mark, filler) = body.split_at_checked(Mark::BYTES)?;
        let mut next = |width| {
            let (digits, rest) = mark.split_at_checked(width + 1)?;
            mark = rest;
            let (digits, end) = digits.split_at(width);
            (end == b".").then(|| read_hex(digits))?
        };
        let run = u32::try_from(next(8)?).ok()?;
        let (number, sent_ns) = (next(10)?, next(16)?);
        let group = u32::try_from(next(6)?).ok()?;
        let place = u32::try_from(next(8)?).ok()?;
        let mark = Mark { run, number, sent_ns, group, place };
        (FILLER.get(..filler.len()) == Some(filler)).then_some(mark)
    }
}

fn write_hex(number: u64, width: usize, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    for byte in &bytes[bytes.len() - width / 2..] {
        out.extend_from_slice(&hex_digits(*byte));
    }
    out.push(b'.');
}

/// Lower-case digits only: those that were written.
fn read_hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}

/// Letters and digits without a pattern: what compresses as little as text without being random bytes.
static FILLER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        // Xorshift (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        LETTERS[(state >> 58) as usize]
    };
    std::iter::repeat_with(next).take(BODY_BYTES_MAX).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark {
        run: 0xdead_beef,
        number: 0xff_ffff_ffff,
        sent_ns: u64::MAX,
        group: 0xff_ffff,
        place: u32::MAX,
    };

    #[test]
    fn bodies_are_read_as_they_were_written() {
        let smallest = Mark { run: 0, number: 0, sent_ns: 0, group: 0, place: 0 };
        for mark in [MARK, smallest, Mark { run: 7, number: 1 << 33, sent_ns: 1 << 60, group: 300, place: 9 }]
        {
            for size in [Mark::BYTES, Mark::BYTES + 1, 300, BODY_BYTES_MAX] {
                let mut body = Vec::new();
                mark.write_body(size, &mut body);
                assert_eq!(body.len(), size);
                assert_eq!(Mark::read_body(&body), Some(mark));
            }
        }
    }

    #[test]
    fn no_byte_can_be_changed_added_or_taken_unseen() {
        let mut body = Vec::new();
        MARK.write_body(200, &mut body);
        for at in 0..body.len() {
            let mut changed = body.clone();
            changed[at] ^= 1;
            assert_ne!(Mark::read_body(&changed), Some(MARK), "byte {at}");
        }
        for cut in 0..Mark::BYTES {
            assert_eq!(Mark::read_body(&body[..cut]), None);
        }
        body.push(b'!');
        assert_eq!(Mark::read_body(&body), None);
        assert_eq!(Mark::read_body("ä".repeat(100).as_bytes()), None);
    }
}
