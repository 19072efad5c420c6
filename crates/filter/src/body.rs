//! Message bodies as a policy sees them.
//!
//! A key finds its value whether body and policy nest it or write it with dots: `a.b` is in `{"a": {"b": 1}}` and in
//! `{"a.b": 1}`. The elements of an array, however deeply nested in arrays, are alternatives: one of them has to
//! satisfy all keys that lead into it. So two records with half of what the policy asks for each do not match.
//! Empty arrays and objects have no values.
//!
//! Each part of a body is visited at most once for each condition: where a body has a key in both forms, its
//! condition is tested alone, because to try every distribution of the conditions would take exponential time.

use crate::json::{Members, Node};
use crate::limits;
use crate::policy::Condition;
use crate::rule::{Leaf, Rule};

/// The body of one message, read once for any number of policies. Takes up to some thirty times the memory of the
/// text while it lives.
#[derive(Debug)]
pub struct Body<'a> {
    /// Objects have their members in the order of names.
    object: Option<Node<'a>>,
}

impl<'a> Body<'a> {
    /// Reads a body. What is no JSON object, or is nested deeper than 127 levels, matches only the policy without
    /// keys.
    pub fn parse(text: &'a str) -> Self {
        let mut node = serde_json::from_str(text).unwrap_or(Node::Null);
        sort(&mut node);
        Self { object: matches!(node, Node::Object(_)).then_some(node) }
    }

    pub(crate) fn object(&self) -> Option<&Node<'a>> {
        self.object.as_ref()
    }
}

fn sort(node: &mut Node<'_>) {
    match node {
        Node::Array(elements) => elements.iter_mut().for_each(sort),
        Node::Object(members) => {
            members.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
            members.iter_mut().for_each(|(_, member)| sort(member));
        }
        _ => {}
    }
}

/// Rules to be satisfied at what is left of a path; at the value itself, when nothing is.
#[derive(Clone, Copy)]
struct Goal<'a> {
    rest: Option<&'a str>,
    rules: &'a [Rule],
}

/// Whether all conditions are satisfied together.
pub(crate) fn satisfies(body: &Node<'_>, conditions: &[&Condition]) -> bool {
    let goals =
        conditions.iter().map(|condition| Goal { rest: Some(&condition.path), rules: &condition.rules });
    reaches(body, &goals.collect::<Vec<_>>())
}

/// Whether there is no value at the path, in any element of any array.
pub(crate) fn is_absent(body: &Node<'_>, path: &str) -> bool {
    !reaches(body, &[Goal { rest: Some(path), rules: &[Rule::Exists(true)] }])
}

fn reaches(value: &Node<'_>, goals: &[Goal<'_>]) -> bool {
    match value {
        Node::Array(elements) => elements.iter().any(|element| reaches(element, goals)),
        Node::Object(members) => reaches_in_object(members, goals),
        scalar => Leaf::of(scalar).is_some_and(|leaf| {
            let hit = |goal: &Goal<'_>| goal.rules.iter().any(|rule| rule.matches(&leaf));
            goals.iter().all(|goal| goal.rest.is_none() && hit(goal))
        }),
    }
}

/// Gives every goal to the member that its path names; each member has to satisfy all of its own.
fn reaches_in_object(members: &Members<'_>, goals: &[Goal<'_>]) -> bool {
    if let [goal] = goals {
        return reaches_alone(members, *goal);
    }
    let mut given = Vec::new();
    for goal in goals {
        let Some(path) = goal.rest else { return false };
        match steps(members, path)[..] {
            [] => return false,
            [(member, rest)] => given.push((member, Goal { rest, ..*goal })),
            _ if reaches_alone(members, *goal) => {}
            _ => return false,
        }
    }
    let address = |(member, _): &(&Node<'_>, Goal<'_>)| std::ptr::from_ref(*member).addr();
    given.sort_by_key(address);
    given.chunk_by(|left, right| address(left) == address(right)).all(|same| {
        let goals: Vec<_> = same.iter().map(|(_, goal)| *goal).collect();
        reaches(same[0].0, &goals)
    })
}

fn reaches_alone(members: &Members<'_>, goal: Goal<'_>) -> bool {
    let Some(path) = goal.rest else { return false };
    steps(members, path).into_iter().any(|(member, rest)| reaches(member, &[Goal { rest, ..goal }]))
}

/// The members whose names begin the path, each with what is left of it.
fn steps<'v, 'p>(members: &'v Members<'v>, path: &'p str) -> Vec<(&'v Node<'v>, Option<&'p str>)> {
    // A path has few beginnings, an object of a large array has few members: take the shorter way.
    if members.len() <= limits::KEY_LEVELS {
        let steps = members.iter().filter_map(|(name, value)| Some((value, after(path, name)?)));
        return steps.collect();
    }
    let member = |name: &str| {
        let place = members.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        Some(&members[place].1)
    };
    let cuts = path.match_indices('.').map(|(at, _)| (&path[..at], Some(&path[at + 1..])));
    let ways = cuts.chain([(path, None)]);
    ways.filter_map(|(name, rest)| member(name).map(|value| (value, rest))).collect()
}

/// What of the path is left after the name; `None` if the path does not begin with it.
fn after<'p>(path: &'p str, name: &str) -> Option<Option<&'p str>> {
    let rest = path.strip_prefix(name)?;
    if rest.is_empty() { Some(None) } else { rest.strip_prefix('.').map(Some) }
}
