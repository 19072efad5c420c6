//! One statement of a policy.

use crate::condition::{self, Condition};
use crate::error::PolicyError;
use crate::json::Json;
use crate::limits;
use crate::pattern::Pattern;
use crate::principal::{self, Named};
use crate::request::Request;

/// What a statement does to the requests that it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Allow,
    Deny,
}

/// A statement: it fits a request if every one of its elements does.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sid: Option<Box<str>>,
    pub(crate) effect: Effect,
    pub(crate) principals: Choice<Named>,
    actions: Choice<Pattern>,
    resources: Choice<Pattern>,
    conditions: Vec<Condition>,
}

/// The things listed, or all but these.
#[derive(Clone, Debug)]
pub(crate) enum Choice<T> {
    These(Vec<T>),
    AllBut(Vec<T>),
}

impl<T> Choice<T> {
    pub(crate) fn listed(&self) -> &[T] {
        match self {
            Choice::These(list) | Choice::AllBut(list) => list,
        }
    }

    fn has(&self, fits: impl Fn(&T) -> bool) -> bool {
        self.listed().iter().any(fits) == matches!(self, Choice::These(_))
    }
}

/// Whether `${…}` in values means a policy variable: in documents of the newer version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variables {
    Literal,
    Refused,
}

impl Variables {
    pub(crate) fn check(self, value: &str) -> Result<(), PolicyError> {
        if self == Variables::Refused && value.contains("${") {
            return Err(PolicyError::Variable { value: value.into() });
        }
        Ok(())
    }
}

impl Statement {
    pub(crate) fn fits(&self, request: &Request<'_>) -> bool {
        self.actions.has(|action| action.matches_ignore_case(request.action))
            && self.principals.has(|named| named.is(request.principal))
            && self.resources.has(|resource| resource.matches(request.resource))
            && self.conditions.iter().all(|condition| condition.holds(request, self.effect))
    }

    pub(crate) fn parse(json: &Json, variables: Variables) -> Result<Self, PolicyError> {
        let Json::Object(members) = json else {
            return Err(PolicyError::Form { name: "Statement", expected: "an object or a list of objects" });
        };
        const ELEMENTS: [&str; 9] = [
            "Sid",
            "Effect",
            "Principal",
            "NotPrincipal",
            "Action",
            "NotAction",
            "Resource",
            "NotResource",
            "Condition",
        ];
        if let Some((name, _)) = members.iter().find(|(name, _)| !ELEMENTS.contains(&&**name)) {
            return Err(PolicyError::UnknownElement { place: "a statement", name: name.as_str().into() });
        }
        let effect = match json.member("Effect").map(Json::as_text) {
            Some(Some("Allow")) => Effect::Allow,
            Some(Some("Deny")) => Effect::Deny,
            Some(_) => return Err(PolicyError::Form { name: "Effect", expected: "Allow or Deny" }),
            None => return Err(PolicyError::Missing { name: "Effect" }),
        };
        let sid = match json.member("Sid") {
            Some(sid) => {
                let text = sid.as_text().ok_or(PolicyError::Form { name: "Sid", expected: "a text" })?;
                Some(text.into())
            }
            None => None,
        };
        let principals = choice(json, "Principal", principal::parse)?;
        if effect == Effect::Allow && matches!(principals, Some(Choice::AllBut(_))) {
            return Err(PolicyError::NotPrincipalAllowed);
        }
        let actions = choice(json, "Action", parse_actions)?;
        // A policy is attached to one resource, and without this element means that one.
        let everything = || Choice::These(vec![Pattern::new("*")]);
        let resources = choice(json, "Resource", |json| parse_resources(json, variables))?;
        Ok(Statement {
            sid,
            effect,
            principals: principals.ok_or(PolicyError::Missing { name: "Principal" })?,
            actions: actions.ok_or(PolicyError::Missing { name: "Action" })?,
            resources: resources.unwrap_or_else(everything),
            conditions: match json.member("Condition") {
                Some(json) => condition::parse(json, effect, variables)?,
                None => Vec::new(),
            },
        })
    }
}

/// The element `name`, or the one that begins with `Not`.
fn choice<T>(
    statement: &Json,
    name: &'static str,
    parse: impl Fn(&Json) -> Result<Vec<T>, PolicyError>,
) -> Result<Option<Choice<T>>, PolicyError> {
    match (statement.member(name), statement.member(&format!("Not{name}"))) {
        (Some(_), Some(_)) => Err(PolicyError::Both { name }),
        (Some(json), None) => Ok(Some(Choice::These(parse(json)?))),
        (None, Some(json)) => Ok(Some(Choice::AllBut(parse(json)?))),
        (None, None) => Ok(None),
    }
}

fn parse_actions(json: &Json) -> Result<Vec<Pattern>, PolicyError> {
    let texts = texts(json, "Action")?;
    if texts.len() > limits::ACTIONS {
        return Err(PolicyError::TooManyActions { found: texts.len(), limit: limits::ACTIONS });
    }
    let is_action = |text: &str| {
        let split = text.split_once(':');
        text == "*" || split.is_some_and(|(service, action)| !service.is_empty() && !action.is_empty())
    };
    if let Some(bad) = texts.iter().find(|text| !is_action(text)) {
        return Err(PolicyError::Action { action: (*bad).into() });
    }
    Ok(texts.into_iter().map(Pattern::new).collect())
}

fn parse_resources(json: &Json, variables: Variables) -> Result<Vec<Pattern>, PolicyError> {
    let texts = texts(json, "Resource")?;
    texts.iter().try_for_each(|text| variables.check(text))?;
    Ok(texts.into_iter().map(Pattern::new).collect())
}

/// One text or a list of at least one.
fn texts<'a>(json: &'a Json, name: &'static str) -> Result<Vec<&'a str>, PolicyError> {
    let texts: Option<Vec<_>> = json.elements().iter().map(Json::as_text).collect();
    let form = PolicyError::Form { name, expected: "a text or a list of texts" };
    texts.filter(|texts| !texts.is_empty()).ok_or(form)
}
