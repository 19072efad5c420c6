//! A policy: conditions, and the branches that they make.

use crate::attributes::Attributes;
use crate::body::{self, Body};
use crate::error::{FilterError, echo};
use crate::json::{Members, Node};
use crate::limits;
use crate::rule::{Rule, is_reserved};

/// What of a message a policy looks at: the subscription attribute `FilterPolicyScope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FilterScope {
    /// The message attributes. The default.
    #[default]
    MessageAttributes,
    /// The body, which has to be a JSON object.
    MessageBody,
}

/// A parsed filter policy: at most [`limits::CONDITIONS`] conditions in [`limits::COMBINATIONS`] branches.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterPolicy {
    scope: FilterScope,
    conditions: Vec<Condition>,
    /// Of each way through the choices, its conditions by their index. A message matches if all of one match.
    branches: Vec<Vec<u16>>,
}

/// A key and its rules, one of which has to match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    /// The key with those above it, joined by dots.
    pub(crate) path: String,
    pub(crate) rules: Vec<Rule>,
}

impl FilterPolicy {
    /// Reads a policy. One without keys, `{}`, matches every message.
    ///
    /// Combinations multiply over the keys of an object and add up over the alternatives of `$or`; a key counts
    /// as many as it has rules, times its level in scope `MessageBody`.
    ///
    /// # Errors
    ///
    /// The first fault in the order of the document; then nesting, number of keys and combinations.
    pub fn parse(text: &str, scope: FilterScope) -> Result<Self, FilterError> {
        if text.len() > limits::POLICY_BYTES {
            return Err(FilterError::TooLong);
        }
        let document: Node<'_> = serde_json::from_str(text)
            .map_err(|error| FilterError::Malformed { reason: echo(&error.to_string()) })?;
        let Node::Object(members) = document else { return Err(FilterError::NotAnObject) };
        let mut reader = Reader::default();
        let top = reader.group(&members, "", 1)?;
        if reader.nested && scope == FilterScope::MessageAttributes {
            return Err(FilterError::NestedUnderAttributes);
        }
        if members.len() > limits::KEYS {
            return Err(FilterError::TooManyKeys);
        }
        if top.combinations > limits::COMBINATIONS {
            return Err(FilterError::TooComplex);
        }
        Ok(Self { scope, conditions: reader.conditions, branches: top.branches() })
    }

    /// What of a message the policy looks at.
    pub fn scope(&self) -> FilterScope {
        self.scope
    }

    /// Whether the policy has no keys, which clears a subscription's policy.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether a message with these attributes passes. Cost: a look-up for each condition of each branch.
    pub fn matches_attributes(&self, attributes: &Attributes<'_>) -> bool {
        self.branches()
            .any(|mut branch| branch.all(|condition| attributes.satisfy(&condition.path, &condition.rules)))
    }

    /// Whether a message with this body passes. Cost: a walk over the parts of the body that the keys name, for
    /// each branch.
    pub fn matches_body(&self, body: &Body<'_>) -> bool {
        if self.is_empty() {
            return true;
        }
        let Some(object) = body.object() else { return false };
        // Absence does not depend on the branch, and takes a walk of its own.
        let absent = |condition: &&Condition| {
            condition.rules.iter().any(Rule::matches_absence) && body::is_absent(object, &condition.path)
        };
        let absent: Vec<bool> = self.conditions.iter().map(|condition| absent(&condition)).collect();
        self.branches.iter().any(|branch| {
            let open = branch.iter().map(|&index| usize::from(index)).filter(|&index| !absent[index]);
            let open: Vec<&Condition> = open.map(|index| &self.conditions[index]).collect();
            body::satisfies(object, &open)
        })
    }

    fn branches(&self) -> impl Iterator<Item = impl Iterator<Item = &Condition>> {
        self.branches.iter().map(|branch| branch.iter().map(|&index| &self.conditions[usize::from(index)]))
    }
}

/// One object of the policy: its conditions, those of nested objects too, and the choices among further ones.
struct Group {
    conditions: Vec<u16>,
    choices: Vec<Vec<Group>>,
    combinations: u64,
}

impl Group {
    /// Every way through the choices. There are at most as many as combinations.
    fn branches(&self) -> Vec<Vec<u16>> {
        let mut branches = vec![self.conditions.clone()];
        for alternatives in &self.choices {
            let tails: Vec<_> = alternatives.iter().flat_map(Self::branches).collect();
            let longer =
                |head: &Vec<u16>| tails.iter().map(|tail| [&head[..], tail].concat()).collect::<Vec<_>>();
            branches = branches.iter().flat_map(longer).collect();
        }
        branches
    }
}

#[derive(Default)]
struct Reader {
    conditions: Vec<Condition>,
    /// Whether some key is an object.
    nested: bool,
}

impl Reader {
    /// Reads the keys of an object at `level`; `above` is their path up to here, empty at the top.
    fn group(&mut self, members: &Members<'_>, above: &str, level: u64) -> Result<Group, FilterError> {
        let mut group = Group { conditions: Vec::new(), choices: Vec::new(), combinations: 1 };
        for (key, value) in members {
            let combinations = match value {
                Node::Array(values) if key == "$or" && is_choice(values) => {
                    let alternatives = self.alternatives(values, above, level)?;
                    let sum = alternatives.iter().map(|alternative| alternative.combinations);
                    let sum = sum.fold(0, u64::saturating_add);
                    group.choices.push(alternatives);
                    sum
                }
                Node::Array(values) => {
                    let path = join(above, key, level)?;
                    group.conditions.push(self.condition(path, values)?);
                    level.saturating_mul(values.len() as u64)
                }
                Node::Object(members) => {
                    self.nested = true;
                    let mut inner = self.inner(members, &join(above, key, level)?, level + 1)?;
                    group.conditions.append(&mut inner.conditions);
                    group.choices.append(&mut inner.choices);
                    inner.combinations
                }
                _ => return Err(FilterError::KeyValue { key: echo(key) }),
            };
            group.combinations = group.combinations.saturating_mul(combinations);
        }
        Ok(group)
    }

    fn alternatives(
        &mut self,
        values: &[Node<'_>],
        above: &str,
        level: u64,
    ) -> Result<Vec<Group>, FilterError> {
        let objects = values.iter().filter_map(|value| match value {
            Node::Object(members) => Some(members),
            _ => None,
        });
        objects.map(|members| self.inner(members, above, level)).collect()
    }

    fn inner(&mut self, members: &Members<'_>, above: &str, level: u64) -> Result<Group, FilterError> {
        if members.is_empty() {
            return Err(FilterError::EmptyObject);
        }
        self.group(members, above, level)
    }

    /// Reads the rules of a key; returns the condition's index.
    fn condition(&mut self, path: String, values: &[Node<'_>]) -> Result<u16, FilterError> {
        if values.is_empty() {
            return Err(FilterError::EmptyArray);
        }
        let rules = values.iter().map(Rule::parse).collect::<Result<_, _>>()?;
        let index = u16::try_from(self.conditions.len()).map_err(|_| FilterError::TooComplex)?;
        if self.conditions.len() == limits::CONDITIONS {
            return Err(FilterError::TooComplex);
        }
        self.conditions.push(Condition { path, rules });
        Ok(index)
    }
}

/// Whether the value of `$or` is a choice; else `$or` is a key like others.
fn is_choice(values: &[Node<'_>]) -> bool {
    let is_alternative = |value: &Node<'_>| match value {
        Node::Object(members) => !members.iter().any(|(name, _)| is_reserved(name)),
        _ => false,
    };
    values.len() >= 2 && values.iter().all(is_alternative)
}

/// The path of a key. Levels count the same whether they are nested or written with dots.
fn join(above: &str, key: &str, level: u64) -> Result<String, FilterError> {
    let path = if level == 1 { key.to_owned() } else { format!("{above}.{key}") };
    let levels = path.split('.').count();
    if path.len() > limits::KEY_BYTES || levels > limits::KEY_LEVELS {
        return Err(FilterError::KeyTooLong);
    }
    Ok(path)
}
