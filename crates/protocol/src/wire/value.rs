//! A parsed request as a tree that borrows from the request's bytes.

use std::borrow::Cow;
use std::fmt::Write;

/// The members of an object in the order they were sent, each name once: a repeated one has its last value.
pub(crate) type Members<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// One value of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Value<'a> {
    /// Absent, or a JSON `null`: the two are one to every action.
    #[default]
    Null,
    Bool(bool),
    Integer(i64),
    /// A JSON number with a fraction or an exponent, or beyond 64 bits.
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Value<'a>>),
    Map(Members<'a>),
}

impl Value<'_> {
    /// The value as JSON with sorted keys and no white space: equal for documents of equal meaning.
    pub(crate) fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Integer(value) => write!(out, "{value}").expect("a String takes everything"),
            Value::Float(value) => write!(out, "{value}").expect("a String takes everything"),
            Value::Text(text) => write_text(text, out),
            Value::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write_canonical(out);
                }
                out.push(']');
            }
            Value::Map(members) => {
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                out.push('{');
                for (i, (name, value)) in sorted.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_text(name, out);
                    out.push(':');
                    value.write_canonical(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    super::json::write_string(&mut bytes, text.as_bytes());
    out.push_str(std::str::from_utf8(&bytes).expect("escaping keeps UTF-8"));
}
