//! The primitives of stored records: variable-length numbers, byte strings with their length before them.

use bytes::Bytes;
use thiserror::Error;

/// Why bytes are no record. Their checksum held, so they were written by another version, or by a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside a field.
    #[error("the record ends early")]
    Truncated,
    /// Bytes follow the last field.
    #[error("{count} bytes follow the end of the record")]
    Trailing {
        /// How many.
        count: usize,
    },
    /// A tag that this version does not know.
    #[error("unknown tag {tag} for {what}: the directory was written by a newer version")]
    UnknownTag {
        /// What the tag selects.
        what: &'static str,
        /// The tag.
        tag: u64,
    },
    /// A value that its type does not allow.
    #[error("a stored {what} is out of its range")]
    OutOfRange {
        /// What the value is.
        what: &'static str,
    },
}

/// Appends fields to a record.
pub(crate) trait Put {
    fn put_number(&mut self, value: u64);
    fn put_bytes(&mut self, bytes: &[u8]);
    fn put_text(&mut self, text: &str) {
        self.put_bytes(text.as_bytes());
    }
    fn put_optional_text(&mut self, text: Option<&str>);
}

impl Put for Vec<u8> {
    fn put_number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put_number(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }

    fn put_optional_text(&mut self, text: Option<&str>) {
        self.push(u8::from(text.is_some()));
        if let Some(text) = text {
            self.put_text(text);
        }
    }
}

/// Takes fields off a record, in the order they were put. Byte strings share the record's memory.
pub(crate) struct Fields<'a> {
    record: &'a Bytes,
    /// What is left of it.
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(record: &'a Bytes) -> Self {
        Fields { record, rest: record }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        let (byte, rest) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(*byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::OutOfRange { what: "number" })
    }

    /// A number that fits another type.
    pub(crate) fn number_as<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, DecodeError> {
        T::try_from(self.number()?).map_err(|_| DecodeError::OutOfRange { what })
    }

    pub(crate) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("took N bytes"))
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let bytes = self.slice()?;
        Ok(self.record.slice_ref(bytes))
    }

    pub(crate) fn text(&mut self) -> Result<Box<str>, DecodeError> {
        let bytes = self.slice()?;
        std::str::from_utf8(bytes).map(Box::from).map_err(|_| DecodeError::OutOfRange { what: "text" })
    }

    pub(crate) fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::OutOfRange { what: "flag" }),
        }
    }

    pub(crate) fn optional_text(&mut self) -> Result<Option<Box<str>>, DecodeError> {
        self.optional(Fields::text)
    }

    pub(crate) fn optional<T>(
        &mut self,
        field: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        match self.byte()? {
            0 => Ok(None),
            1 => field(self).map(Some),
            tag => Err(DecodeError::UnknownTag { what: "an optional field", tag: tag.into() }),
        }
    }

    /// A count and so many fields. The count is not trusted: memory grows only with fields that are there.
    pub(crate) fn list<T>(
        &mut self,
        mut field: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count: usize = self.number_as("count")?;
        let mut list = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            list.push(field(self)?);
        }
        Ok(list)
    }

    pub(crate) fn end(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Trailing { count: self.rest.len() }) }
    }

    /// A byte string.
    fn slice(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.number_as("length")?;
        self.take(len)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_survive() {
        for bits in 0..64 {
            for value in [(1u64 << bits) - 1, 1 << bits, u64::MAX] {
                let mut record = Vec::new();
                record.put_number(value);
                let record = record.into();
                let mut fields = Fields::new(&record);
                assert_eq!(fields.number(), Ok(value));
                assert_eq!(fields.end(), Ok(()));
            }
        }
    }

    #[test]
    fn lengths_beyond_the_record_are_truncation_and_take_no_memory() {
        let mut record = Vec::new();
        record.put_number(u64::MAX >> 1);
        record.push(1);
        assert_eq!(Fields::new(&record.clone().into()).bytes(), Err(DecodeError::Truncated));
        assert_eq!(Fields::new(&record.into()).list(Fields::byte), Err(DecodeError::Truncated));
    }
}
