//! Condition keys and their values.

use super::operator::Family;
use crate::limits;
use crate::request::{Principal, Request};
use std::net::IpAddr;

/// A condition key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    SourceArn,
    SourceAccount,
    PrincipalArn,
    PrincipalAccount,
    SourceIp,
    SecureTransport,
    CurrentTime,
    EpochTime,
    UserAgent,
    /// A key that no request has a value for.
    Unknown,
}

/// The value of a key in a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    Truth(bool),
    Address(IpAddr),
    /// Seconds since 1970.
    Time(i64),
}

impl Key {
    /// Reads a key, in any case; `None` if it is not of the form `<service>:<name>`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (service, name) = text.split_once(':')?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if service.is_empty() || name.is_empty() || !service.bytes().all(plain) {
            return None;
        }
        Some(match &*text.to_ascii_lowercase() {
            "aws:sourcearn" => Key::SourceArn,
            "aws:sourceaccount" => Key::SourceAccount,
            "aws:principalarn" => Key::PrincipalArn,
            "aws:principalaccount" => Key::PrincipalAccount,
            "aws:sourceip" => Key::SourceIp,
            "aws:securetransport" => Key::SecureTransport,
            "aws:currenttime" => Key::CurrentTime,
            "aws:epochtime" => Key::EpochTime,
            "aws:useragent" => Key::UserAgent,
            _ => Key::Unknown,
        })
    }

    /// Whether operators of a family can compare the key's values.
    pub(crate) fn takes(self, family: Family) -> bool {
        match self {
            Key::Unknown => true,
            _ if family == Family::Absent => true,
            Key::SourceArn | Key::PrincipalArn => matches!(family, Family::Text(_) | Family::Arn),
            Key::SourceAccount | Key::PrincipalAccount | Key::UserAgent => matches!(family, Family::Text(_)),
            Key::SourceIp => matches!(family, Family::Address | Family::Text(_)),
            Key::SecureTransport => matches!(family, Family::Truth | Family::Text(_)),
            Key::CurrentTime => matches!(family, Family::Date(_)),
            Key::EpochTime => matches!(family, Family::Date(_) | Family::Number(_)),
        }
    }

    /// The key's value in a request, if that has one.
    pub(crate) fn value<'a>(self, request: &Request<'a>) -> Option<Value<'a>> {
        let context = &request.context;
        let principal = match request.principal {
            Principal::Account { account, arn } => Some((account, arn)),
            Principal::Anonymous | Principal::Service(_) => None,
        };
        match self {
            Key::SourceArn => context.source_arn.map(Value::Text),
            Key::SourceAccount => context.source_account.map(Value::Text),
            Key::PrincipalArn => principal.map(|(_, arn)| Value::Text(arn)),
            Key::PrincipalAccount => principal.map(|(account, _)| Value::Text(account)),
            Key::SourceIp => Some(Value::Address(context.source_ip.to_canonical())),
            Key::SecureTransport => Some(Value::Truth(context.secure_transport)),
            Key::CurrentTime | Key::EpochTime => Some(Value::Time(context.now_s)),
            Key::UserAgent => context.user_agent.map(|text| Value::Text(start_of(text))),
            Key::Unknown => None,
        }
    }
}

/// What of a text takes part in comparisons: it is the client's, and of any length.
fn start_of(text: &str) -> &str {
    let end = (0..=text.len().min(limits::USER_AGENT_BYTES)).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}
