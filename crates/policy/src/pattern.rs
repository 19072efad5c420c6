//! Wildcard patterns.

use std::fmt;

/// A text in which `*` stands for any characters, also none, and `?` for exactly one.
///
/// A match takes at most pattern length × text length steps, whatever the pattern: a failed attempt goes back
/// to the last `*` only, since an earlier one could not do better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Box<str>);

impl Pattern {
    /// A pattern; every text is one.
    pub fn new(text: &str) -> Self {
        Pattern(text.into())
    }

    /// Whether the whole of `text` fits; letters must agree in case.
    pub fn matches(&self, text: &str) -> bool {
        wild(self.0.as_bytes(), text, |a, b| a == b)
    }

    /// Whether the whole of `text` fits, whatever the case of ASCII letters: how actions are compared.
    pub fn matches_ignore_case(&self, text: &str) -> bool {
        wild(self.0.as_bytes(), text, |a, b| a.eq_ignore_ascii_case(&b))
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes are compared, since `*` and `?` are single bytes; only `?` has to know where a character ends.
fn wild(pattern: &[u8], text: &str, same: impl Fn(u8, u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let next_character = |at: usize| (at + 1..).find(|&at| text.is_char_boundary(at) || at >= bytes.len());
    let (mut p, mut t) = (0, 0);
    // Where to go on after the last `*`: behind it in the pattern, and in the text.
    let mut retry: Option<(usize, usize)> = None;
    while t < bytes.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            // Tried again inside of a character, it fits what it fitted from that character's start.
            Some(b'?') => {
                t = next_character(t).unwrap_or(bytes.len());
                p += 1;
                continue;
            }
            Some(&literal) if same(literal, bytes[t]) => {
                p += 1;
                t += 1;
                continue;
            }
            _ => {}
        }
        let Some((after_star, from)) = retry else { return false };
        (p, t) = (after_star, from + 1);
        retry = Some((after_star, t));
    }
    pattern[p..].iter().all(|&b| b == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the words of the definition say, with no thought of cost.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match (pattern.first(), text.first()) {
            (None, None) => true,
            (Some('*'), _) => naive(&pattern[1..], text) || (!text.is_empty() && naive(pattern, &text[1..])),
            (Some('?'), Some(_)) => naive(&pattern[1..], &text[1..]),
            (Some(a), Some(b)) => a == b && naive(&pattern[1..], &text[1..]),
            _ => false,
        }
    }

    #[test]
    fn wildcards_stand_for_what_they_should() {
        for (pattern, text, fits) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything: at all", true),
            ("?", "", false),
            ("?", "ä", true),
            ("??", "ä", false),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("arn:aws:sqs:*:123456789012:*", "arn:aws:sqs:us-east-1:123456789012:orders", true),
            ("sqs:Send*", "sqs:sendMessage", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), fits, "{pattern} on {text}");
        }
        assert!(Pattern::new("SQS:send*").matches_ignore_case("sqs:SendMessage"));
        assert!(!Pattern::new("SQS:send?").matches_ignore_case("sqs:SendMessage"));
    }

    #[test]
    fn many_wildcards_cost_no_more_than_the_product_of_the_lengths() {
        let pattern = Pattern::new(&"a*".repeat(2_000));
        let text = format!("{}b", "a".repeat(4_000));
        assert!(pattern.matches(&text));
        // With naive backtracking this one would not end.
        assert!(!Pattern::new(&format!("{pattern}c")).matches(&text));
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_matcher(pattern in "[ab*?ä]{0,10}", text in "[abäöX]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(Pattern::new(&pattern).matches(&text), naive(&chars(&pattern), &chars(&text)));
        }
    }
}
