//! Rules for characters, and values repeated in error texts.

use crate::limits;

/// The first character of `text` that neither a message nor XML 1.0 may hold.
///
/// Allowed are `#x9 | #xA | #xD | #x20–#xD7FF | #xE000–#xFFFD | #x10000–#x10FFFF`.
pub(crate) fn forbidden_character(text: &str) -> Option<char> {
    // Only two byte patterns can begin a forbidden character: an ASCII control, and EF BF (U+FFFE, U+FFFF).
    // Most bodies have neither, and are cleared without decoding characters.
    let bytes = text.as_bytes();
    let suspect = |b| (b < 0x20) & (b != 9) & (b != 10) & (b != 13) | (b == 0xEF);
    let start = find_byte(bytes, suspect)?;
    // Both patterns begin a character, so the text can be cut here.
    text[start..].chars().find(|&c| is_forbidden(c))
}

/// The first byte that `matches`, which must be free of branches: blocks without one are passed over by
/// vector instructions, which a plain search is not.
pub(crate) fn find_byte(bytes: &[u8], matches: impl Fn(u8) -> bool) -> Option<usize> {
    const BLOCK: usize = 32;
    let clean =
        bytes.chunks_exact(BLOCK).take_while(|block| !block.iter().fold(false, |any, &b| any | matches(b)));
    let start = clean.count() * BLOCK;
    bytes[start..].iter().position(|&b| matches(b)).map(|at| start + at)
}

fn is_forbidden(c: char) -> bool {
    (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{FFFE}' | '\u{FFFF}')
}

/// A client's value as an error text repeats it: cut at 2 KiB, forbidden characters replaced.
pub(crate) fn echo(value: &str) -> Box<str> {
    let end = (0..=value.len().min(limits::ECHO_BYTES)).rev().find(|&i| value.is_char_boundary(i));
    let cut = &value[..end.unwrap_or(0)];
    match forbidden_character(cut) {
        None => cut.into(),
        Some(_) => {
            cut.chars().map(|c| if is_forbidden(c) { '\u{FFFD}' } else { c }).collect::<String>().into()
        }
    }
}

/// Whether `text` may be a message group id or a deduplication id: 1–128 printable ASCII characters but
/// space.
pub(crate) fn is_group_id(text: &str) -> bool {
    limits::GROUP_ID_LENGTH.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Whether `text` may be the id of a batch entry.
pub(crate) fn is_entry_id(text: &str) -> bool {
    limits::ENTRY_ID_LENGTH.contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// A strict decimal number: digits only, no sign, no space.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// The decimal digits of a number without an allocation.
pub(crate) struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    pub(crate) fn new(mut number: u64) -> Self {
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + u8::try_from(number % 10).expect("a digit is below ten");
            number /= 10;
            if number == 0 {
                return Decimal { digits, start };
            }
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.digits[self.start..]).expect("digits are ASCII")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_characters_are_found_and_others_pass() {
        for good in ["", "a", "\t\n\r", "\u{20}", "\u{7f}", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{10FFFF}"]
        {
            assert_eq!(forbidden_character(good), None, "{good:?}");
        }
        for bad in ['\0', '\u{8}', '\u{b}', '\u{1f}', '\u{FFFE}', '\u{FFFF}'] {
            assert_eq!(forbidden_character(&format!("ok {bad} ok")), Some(bad));
        }
    }

    #[test]
    fn echoes_are_cut_at_a_character_and_clean() {
        assert_eq!(&*echo("a\0b"), "a\u{FFFD}b");
        assert_eq!(echo(&"ä".repeat(2_000)).len(), limits::ECHO_BYTES);
        assert_eq!(echo(&"€".repeat(2_000)).len(), limits::ECHO_BYTES - limits::ECHO_BYTES % 3);
    }

    #[test]
    fn a_byte_is_found_wherever_it_is() {
        for at in 0..100 {
            let mut bytes = [b'a'; 100];
            bytes[at] = b'x';
            assert_eq!(find_byte(&bytes, |b| b == b'x'), Some(at));
            assert_eq!(find_byte(&bytes[..at], |b| b == b'x'), None);
        }
    }

    #[test]
    fn decimals_are_strict() {
        for bad in ["", " 6", "6 ", "-45", "+1", "544.43", "true", "1234567890123456789", "٣"] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
        assert_eq!(decimal("0042"), Some(42));
        for n in [0, 9, 10, 1_048_576, u64::MAX] {
            assert_eq!(Decimal::new(n).as_str(), n.to_string());
        }
    }
}
