//! Actions and resources with wildcards (`*` any text, `?` one character), as credentials list them.
//!
//! The wildcards are those of policies.

use tidegate_policy::Pattern;

/// What a credential may be used for. A list that is absent restricts nothing; both absent is everything in the
/// credential's account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The actions that are allowed.
    pub actions: Option<Box<[ActionPattern]>>,
    /// The resources on which they are allowed.
    pub resources: Option<Box<[ResourcePattern]>>,
}

impl Grant {
    /// Whether nothing is restricted.
    pub(super) fn is_everything(&self) -> bool {
        self.actions.is_none() && self.resources.is_none()
    }

    /// Whether both lists allow an action, `sqs:SendMessage`, on the resource of an ARN.
    pub(super) fn allows(&self, action: &str, resource: &str) -> bool {
        let actions = self.actions.as_deref();
        let resources = self.resources.as_deref();
        actions.is_none_or(|list| list.iter().any(|pattern| pattern.0.matches_ignore_case(action)))
            && resources.is_none_or(|list| list.iter().any(|pattern| pattern.0.matches(resource)))
    }
}

/// `*`, or a service and an action, such as `sqs:Send*`; in lower case, since actions are compared without regard
/// to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionPattern(Pattern);

impl ActionPattern {
    /// Parses a pattern; `None` when no action could match it.
    pub fn parse(text: &str) -> Option<Self> {
        let is_part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'*' | b'?' | b'-'))
        };
        let fits = text.len() <= ACTION_BYTES;
        let formed = text == "*"
            || text.split_once(':').is_some_and(|(service, name)| is_part(service) && is_part(name));
        (fits && formed).then(|| ActionPattern(Pattern::new(&text.to_ascii_lowercase())))
    }

    /// The pattern in lower case.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// `*`, or an ARN, such as `arn:aws:sqs:*:123456789012:orders-*`; case matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePattern(Pattern);

impl ResourcePattern {
    /// Parses a pattern; `None` when it is neither `*` nor an ARN of six parts.
    pub fn parse(text: &str) -> Option<Self> {
        let formed = text == "*" || (text.starts_with("arn:") && text.split(':').count() >= ARN_PARTS);
        let plain = text.len() <= RESOURCE_BYTES && text.bytes().all(|b| b.is_ascii_graphic());
        (formed && plain).then(|| ResourcePattern(Pattern::new(text)))
    }

    /// The pattern.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Parts of an ARN: `arn:partition:service:region:account:resource`.
const ARN_PARTS: usize = 6;
/// Bytes of an action pattern; the longest action has 35.
const ACTION_BYTES: usize = 128;
/// Bytes of a resource pattern; the longest ARN of a queue has 146.
const RESOURCE_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_could_match_are_kept_and_others_refused() {
        for good in ["*", "sqs:*", "SQS:SendMessage", "sqs:Send*", "sq?:?eceiveMessage", "*:*"] {
            let parsed = ActionPattern::parse(good).unwrap();
            assert_eq!(parsed.as_str(), good.to_lowercase());
        }
        for bad in ["", "SendMessage", "sqs:", ":Send", "sqs:Send Message", "sqs:a:b", "**", &"s:".repeat(99)]
        {
            assert_eq!(ActionPattern::parse(bad), None, "{bad}");
        }
        for good in
            ["*", "arn:aws:sqs:us-east-1:123456789012:orders", "arn:*:sqs:*:*:a?-*", "arn:a:b:c:d:e:f"]
        {
            assert_eq!(ResourcePattern::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "orders", "arn:aws:sqs:orders", "arn:aws:sqs:us-east-1:1:a b", &"arn:".repeat(200)] {
            assert_eq!(ResourcePattern::parse(bad), None, "{bad}");
        }
    }
}
