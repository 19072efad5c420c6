//! The two spellings of one request and one answer: AWS JSON 1.0 and AWS Query with XML.
//!
//! Both are read into one tree of [`Value`]s, asked through [`Input`], and written through [`Output`], so
//! that an action is decoded and encoded once.

mod input;
mod json;
mod output;
mod query;
mod value;
mod xml;

pub(crate) use input::Input;
pub(crate) use json::{JsonOutput, json_error, parse_json, repair_surrogates};
pub(crate) use output::{ListName, MapName, Output};
pub(crate) use query::{Pair, pairs, parse_query};
pub(crate) use value::{Members, Value};
pub(crate) use xml::{XmlOutput, xml_error};

/// How a request is spelled, and so its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// AWS JSON 1.0.
    Json,
    /// AWS Query, answered in XML.
    Query,
}

#[cfg(test)]
mod tests;
