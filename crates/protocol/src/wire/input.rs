//! Typed access to the parameters of one action, or of one structure inside it, in either dialect.

use super::{Dialect, ListName, MapName, Members, Value};
use crate::fault::Fault;
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;

/// Base64 as clients write it: the padding may be missing.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The parameters of an action or of a structure. Each is taken out at most once.
pub(crate) struct Input<'a> {
    dialect: Dialect,
    members: Members<'a>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(dialect: Dialect, members: Members<'a>) -> Self {
        Input { dialect, members }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Takes a parameter; `Null` when absent.
    fn take(&mut self, name: &str) -> Value<'a> {
        let found = self.members.iter_mut().find(|(key, _)| key == name);
        found.map(|(_, value)| std::mem::take(value)).unwrap_or_default()
    }

    /// A text. JSON numbers and booleans are taken as their text.
    ///
    /// # Errors
    /// `Malformed` when it is a list or structure.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<Cow<'a, str>>, Fault> {
        let value = self.take(name);
        into_text(self.dialect, value)
    }

    /// A text that must be there and not empty.
    ///
    /// # Errors
    /// `Missing`, or as [`Input::text`].
    pub(crate) fn required(&mut self, name: &'static str) -> Result<Cow<'a, str>, Fault> {
        self.text(name)?.filter(|text| !text.is_empty()).ok_or_else(|| Fault::missing(name))
    }

    /// A whole number. An empty Query parameter counts as absent.
    ///
    /// # Errors
    /// `Malformed` when it is anything else.
    pub(crate) fn integer(&mut self, name: &str) -> Result<Option<i64>, Fault> {
        let refuse = |kind: &str| Fault::malformed(format!("{kind} can not be converted to an Integer"));
        match self.take(name) {
            Value::Null => Ok(None),
            Value::Integer(number) => Ok(Some(number)),
            // Beyond 64 bits is beyond every range; the cast saturates.
            #[expect(clippy::cast_possible_truncation, reason = "saturation is what is wanted")]
            Value::Float(number) if number.fract() == 0.0 => Ok(Some(number as i64)),
            Value::Float(_) => Err(refuse("FLOATING_POINT_VALUE")),
            Value::Bool(true) => Err(refuse("TRUE_VALUE")),
            Value::Bool(false) => Err(refuse("FALSE_VALUE")),
            Value::Text(text) if self.dialect == Dialect::Query && text.is_empty() => Ok(None),
            Value::Text(text) if self.dialect == Dialect::Query => {
                text.parse().map(Some).map_err(|_| refuse("STRING_VALUE"))
            }
            Value::Text(_) => Err(refuse("STRING_VALUE")),
            other => into_text(self.dialect, other).map(|_| None),
        }
    }

    /// Raw bytes sent as base64.
    ///
    /// # Errors
    /// `Malformed` when it is no base64 text.
    pub(crate) fn blob(&mut self, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let bytes = BASE64.decode(text.as_bytes());
        bytes
            .map(Some)
            .map_err(|_| Fault::malformed("STRING_VALUE can not be converted to a Blob: not base64"))
    }

    /// A list of texts; empty when absent.
    ///
    /// # Errors
    /// `Malformed` when it is no list, or holds something else.
    pub(crate) fn texts(&mut self, name: ListName) -> Result<Vec<Cow<'a, str>>, Fault> {
        let items = self.list(name)?.unwrap_or_default();
        items.into_iter().filter_map(|item| into_text(self.dialect, item).transpose()).collect()
    }

    /// A list of structures; `None` when absent.
    ///
    /// # Errors
    /// `Malformed` when it is no list, or holds something else.
    pub(crate) fn structures(&mut self, name: ListName) -> Result<Option<Vec<Input<'a>>>, Fault> {
        let Some(items) = self.list(name)? else { return Ok(None) };
        items.into_iter().map(|item| self.structure(item)).collect::<Result<_, _>>().map(Some)
    }

    /// A map from text to text; empty when absent. A `null` value counts as absent.
    ///
    /// # Errors
    /// `Malformed` when it is no map, or a value is no text.
    pub(crate) fn text_map(&mut self, name: MapName) -> Result<Vec<TextMember<'a>>, Fault> {
        match self.dialect {
            Dialect::Json => {
                let members = self.json_map(name)?.into_iter();
                let read = members.map(|(key, value)| Ok(into_text(self.dialect, value)?.map(|v| (key, v))));
                read.filter_map(Result::transpose).collect()
            }
            Dialect::Query => {
                let mut map = Vec::new();
                for mut entry in self.query_map(name)? {
                    let key = entry.text(name.key)?.ok_or_else(|| query_missing(name, name.key))?;
                    let value = entry.text(name.value)?.ok_or_else(|| query_missing(name, name.value))?;
                    put(&mut map, key, value);
                }
                Ok(map)
            }
        }
    }

    /// A map from text to structure; empty when absent.
    ///
    /// # Errors
    /// `Malformed` when it is no map, or a value is no structure.
    pub(crate) fn structure_map(&mut self, name: MapName) -> Result<Vec<(Cow<'a, str>, Input<'a>)>, Fault> {
        match self.dialect {
            Dialect::Json => {
                let members = self.json_map(name)?;
                // What most messages have is not worth the general way.
                if members.is_empty() {
                    return Ok(Vec::new());
                }
                members.into_iter().map(|(key, value)| Ok((key, self.structure(value)?))).collect()
            }
            Dialect::Query => {
                let mut map = Vec::new();
                for mut entry in self.query_map(name)? {
                    let key = entry.text(name.key)?.unwrap_or_default();
                    let value = entry.take(name.value);
                    put(&mut map, key, entry.structure(value)?);
                }
                Ok(map)
            }
        }
    }

    fn json_map(&mut self, name: MapName) -> Result<Members<'a>, Fault> {
        match self.take(name.json) {
            Value::Null => Ok(Vec::new()),
            Value::Map(members) => Ok(members),
            other => Err(not_expected(&other)),
        }
    }

    fn query_map(&mut self, name: MapName) -> Result<Vec<Input<'a>>, Fault> {
        let mut entries = Vec::new();
        for spelling in name.query {
            let items = numbered(self.take(spelling));
            for item in items {
                entries.push(self.structure(item)?);
            }
        }
        Ok(entries)
    }

    fn list(&mut self, name: ListName) -> Result<Option<Vec<Value<'a>>>, Fault> {
        match self.dialect {
            Dialect::Json => match self.take(name.json) {
                Value::Null => Ok(None),
                Value::List(items) => Ok(Some(items)),
                other => Err(not_expected(&other)),
            },
            Dialect::Query => Ok(match self.take(name.query) {
                Value::Null => None,
                value => Some(numbered(value)),
            }),
        }
    }

    fn structure(&self, value: Value<'a>) -> Result<Input<'a>, Fault> {
        match value {
            Value::Map(members) => Ok(Input::new(self.dialect, members)),
            Value::Null => Ok(Input::new(self.dialect, Vec::new())),
            other => Err(not_expected(&other)),
        }
    }
}

/// A member of a map of texts.
pub(crate) type TextMember<'a> = (Cow<'a, str>, Cow<'a, str>);

fn query_missing(name: MapName, part: &str) -> Fault {
    Fault::missing(format!("{}.{part}", name.query[0]))
}

/// Adds a member, replacing an earlier one of the same name.
fn put<'a, T>(map: &mut Vec<(Cow<'a, str>, T)>, key: Cow<'a, str>, value: T) {
    match map.iter_mut().find(|(known, _)| *known == key) {
        Some(member) => member.1 = value,
        None => map.push((key, value)),
    }
}

fn into_text(dialect: Dialect, value: Value<'_>) -> Result<Option<Cow<'_, str>>, Fault> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(text)),
        Value::Bool(value) => Ok(Some(Cow::Borrowed(if value { "true" } else { "false" }))),
        Value::Integer(number) => Ok(Some(number.to_string().into())),
        Value::Float(number) => Ok(Some(number.to_string().into())),
        // `Name=x` beside `Name.1=y`: the plain one is the text.
        Value::Map(members) if dialect == Dialect::Query => {
            let own = members.into_iter().find(|(name, _)| name.is_empty());
            own.map_or(Ok(None), |(_, value)| into_text(dialect, value))
        }
        other => Err(not_expected(&other)),
    }
}

fn not_expected(found: &Value<'_>) -> Fault {
    Fault::malformed(match found {
        Value::List(_) => "Start of list found where not expected",
        Value::Map(_) => "Start of structure or map found where not expected.",
        Value::Text(_) => "STRING_VALUE found where not expected",
        Value::Integer(_) | Value::Float(_) => "NUMBER_VALUE found where not expected",
        Value::Bool(true) => "TRUE_VALUE found where not expected",
        Value::Bool(false) => "FALSE_VALUE found where not expected",
        Value::Null => "NULL_VALUE found where not expected",
    })
}

/// The items of a flattened Query list: `Name.1`, `Name.2` … in the order of their numbers, gaps allowed.
/// `Name` without a number is a list of one; a structure without a number (`Attribute.Name`) likewise.
fn numbered(value: Value<'_>) -> Vec<Value<'_>> {
    match value {
        Value::Null => Vec::new(),
        // Some clients send an empty list as `Name=`.
        Value::Text(text) if text.is_empty() => Vec::new(),
        Value::Map(members) => {
            let number = |name: &str| if name.is_empty() { Some(0) } else { crate::text::decimal(name) };
            if members.iter().any(|(name, _)| number(name).is_none()) {
                return vec![Value::Map(members)];
            }
            let mut items: Vec<_> =
                members.into_iter().map(|(name, value)| (number(&name).unwrap_or(0), value)).collect();
            items.sort_by_key(|(number, _)| *number);
            items.into_iter().map(|(_, value)| value).collect()
        }
        other => vec![other],
    }
}
