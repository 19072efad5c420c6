//! Numbers that compare by value, whatever they were written as.

use std::cmp::Ordering;
use std::fmt;

/// A number of a policy or a message. Integers that fit 64 bits are exact; everything else has the precision of a
/// double, far beyond the service's own range of ±10^9 with five digits after the point. The same text gives the
/// same number wherever it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Integer(i128),
    /// Finite, and either not a whole number or outside the range of `Integer`.
    Float(f64),
}

/// 2^127: no `Integer` reaches it.
const BEYOND_INTEGERS: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

impl Number {
    /// A finite float.
    pub(crate) fn from_float(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let whole = value.fract() == 0.0 && value.abs() < BEYOND_INTEGERS;
        Some(if whole { Self::Integer(value as i128) } else { Self::Float(value) })
    }

    /// The text of an attribute of type `Number`: decimal, with an optional sign, point and exponent.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(value) = text.parse::<i64>() {
            return Some(value.into());
        }
        if let Ok(value) = text.parse::<u64>() {
            return Some(value.into());
        }
        // Finite leaves no words: "inf" and "nan" parse, but are not finite.
        text.parse().ok().and_then(Self::from_float)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::Integer(value.into())
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (*self, *other) {
            (Self::Integer(left), Self::Integer(right)) => Some(left.cmp(&right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right),
            (Self::Integer(left), Self::Float(right)) => Some(compare(left, right)),
            (Self::Float(left), Self::Integer(right)) => Some(compare(right, left).reverse()),
        }
    }
}

/// A float that is no integer lies between two, or beyond all of them.
fn compare(integer: i128, float: f64) -> Ordering {
    if float.abs() >= BEYOND_INTEGERS {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    if integer <= float.floor() as i128 { Ordering::Less } else { Ordering::Greater }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn equal_values_are_equal_however_written() {
        for (left, right) in [
            ("301.5", "3.015e2"),
            ("100", "1e2"),
            ("-0", "0"),
            ("007", "7"),
            ("+5", "5.0"),
            (".5", "0.50"),
            ("18446744073709551615", "18446744073709551615"),
            ("12345678901234567890123", "1.2345678901234567890123e22"),
        ] {
            assert_eq!(number(left), number(right), "{left} {right}");
        }
    }

    #[test]
    fn neighbours_are_ordered() {
        let rising = [
            "-1e300",
            "-1e9",
            "-0.00001",
            "0",
            "0.00001",
            "0.1",
            "0.99999",
            "1",
            "1.00001",
            "999999999.99999",
            "1000000000",
            "9007199254740992",
            "9007199254740993",
            "9223372036854775807",
            "18446744073709551615",
            "1e30",
            "1e300",
        ];
        for pair in rising.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
            assert!(number(pair[1]) > number(pair[0]), "{pair:?}");
        }
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for text in
            ["", " 1", "1 ", "x", "inf", "-Infinity", "NaN", "1e400", "0x10", "1_000", "1,5", "--1", "1e"]
        {
            assert!(Number::parse(text).is_none(), "{text}");
        }
    }
}
