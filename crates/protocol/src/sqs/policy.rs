//! The `Policy` attribute: checked as a policy, kept as sent.

use crate::fault::Fault;
use crate::text::{echo, forbidden_character};
use crate::wire;
use tidegate_engine::Document;
use tidegate_policy::{Policy, PolicyError};

const INVALID: Fault = Fault::AttributeValue { attribute: "Policy" };

/// Checks a policy document.
pub(super) fn parse(text: &str) -> Result<Document, Fault> {
    if forbidden_character(text).is_some() {
        return Err(INVALID);
    }
    Policy::parse(text).map_err(|error| fault_of(&error))?;
    let canonical = wire::parse_json(text.as_bytes()).map_err(|_| INVALID)?.canonical().into();
    Ok(Document { text: text.into(), canonical })
}

/// The fault of a document that is refused: with a reason where the service's own text is not known to have none.
pub(super) fn fault_of(error: &PolicyError) -> Fault {
    let reason = || echo(&error.to_string());
    match error {
        error if error.is_over_limit() => Fault::PolicyOverLimit { reason: reason() },
        PolicyError::NotJson { .. }
        | PolicyError::UnknownElement { .. }
        | PolicyError::Version
        | PolicyError::NoStatement => INVALID,
        _ => Fault::Policy { reason: reason() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATEMENT: &str = r#"{"Effect":"Allow","Principal":"*","Action":"SQS:*","Resource":"*"}"#;

    #[test]
    fn a_policy_is_kept_as_sent_and_compared_by_meaning() {
        let spaced = format!("{{ \"Version\" : \"2012-10-17\", \"Statement\" : [ {STATEMENT} ] }}");
        let turned = format!("{{\"Statement\":[{STATEMENT}],\"Version\":\"2012-10-17\"}}");
        let (spaced_policy, turned_policy) = (parse(&spaced).unwrap(), parse(&turned).unwrap());
        assert_eq!(&*spaced_policy.text, spaced);
        assert_eq!(spaced_policy, turned_policy);
        assert_ne!(spaced_policy, parse(&turned.replace("Allow", "Deny")).unwrap());
    }

    #[test]
    fn refusals_have_the_known_texts() {
        for bad in [
            "no json",
            "{}",
            r#"{"Version":"2012-10-17"}"#,
            r#"{"Version":"2012-10-17","Statement":[]}"#,
            r#"{"Version":"2013-10-17","Statement":[{"Effect":"Allow"}]}"#,
            r#"{"Foo":1,"Statement":[{"Effect":"Allow"}]}"#,
            r#"{"Statement":[{"Effect":"Allow","Principle":"*"}]}"#,
            "{\"Id\":\"\u{FFFE}\",\"Statement\":[]}",
        ] {
            assert_eq!(parse(bad), Err(INVALID), "{bad}");
        }
        let deep = format!("{{\"Statement\":[{}{}]}}", "[".repeat(4_000), "]".repeat(4_000));
        assert_eq!(parse(&deep), Err(INVALID));
        let text = |policy: &str| parse(policy).unwrap_err().to_string();
        assert_eq!(
            text(&format!("{{\"Statement\":[{}]}}", STATEMENT.replace("Allow", "Perhaps"))),
            "Invalid value for the parameter Policy. Reason: Effect must be Allow or Deny."
        );
        let many = [STATEMENT; 22].join(",");
        assert_eq!(
            text(&format!("{{\"Statement\":[{many}]}}")),
            "22 statements were found in the submitted policy, max allowed is 20"
        );
        let long = format!("{{\"Statement\":[{STATEMENT}],\"Id\":\"{}\"}}", "x".repeat(8_192));
        assert_eq!(text(&long), "Submitted policy is over max allowed size.");
        let principal =
            STATEMENT.replace("\"*\",\"Action", &format!("{{\"AWS\":\"{}\"}},\"Action", "x".repeat(4_000)));
        assert!(text(&format!("{{\"Statement\":[{principal}]}}")).len() < 2_200, "texts are cut");
    }
}
