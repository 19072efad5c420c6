//! The `Policy` attribute: checked for its form, kept as sent, not enforced.

use crate::fault::Fault;
use crate::limits;
use crate::text::forbidden_character;
use crate::wire::{self, Value};
use tidegate_engine::Document;

const INVALID: Fault = Fault::AttributeValue { attribute: "Policy" };

/// Checks a policy document's form.
pub(super) fn parse(text: &str) -> Result<Document, Fault> {
    if text.len() > limits::POLICY_BYTES || forbidden_character(text).is_some() {
        return Err(INVALID);
    }
    let policy = wire::parse_json(text.as_bytes()).map_err(|_| INVALID)?;
    check(&policy)?;
    Ok(Document { text: text.into(), canonical: policy.canonical().into() })
}

fn check(policy: &Value<'_>) -> Result<(), Fault> {
    let Value::Map(members) = policy else { return Err(INVALID) };
    let mut statements: &[Value<'_>] = &[];
    for (name, value) in members {
        match (&**name, value) {
            ("Version", Value::Text(version)) if version == "2008-10-17" || version == "2012-10-17" => {}
            ("Id", Value::Text(_)) => {}
            ("Statement", Value::List(list)) => statements = list,
            ("Statement", one @ Value::Map(_)) => statements = std::slice::from_ref(one),
            _ => return Err(INVALID),
        }
    }
    if statements.is_empty() {
        return Err(INVALID);
    }
    if statements.len() > limits::POLICY_STATEMENTS {
        return Err(Fault::PolicyStatements { found: statements.len(), limit: limits::POLICY_STATEMENTS });
    }
    statements.iter().try_for_each(check_statement)
}

fn check_statement(statement: &Value<'_>) -> Result<(), Fault> {
    let Value::Map(members) = statement else { return Err(INVALID) };
    let mut effect = false;
    for (name, value) in members {
        match (&**name, value) {
            ("Effect", Value::Text(text)) if text == "Allow" || text == "Deny" => effect = true,
            ("Sid", Value::Text(_)) | ("Condition", Value::Map(_)) => {}
            ("Principal" | "NotPrincipal", Value::Text(_) | Value::Map(_)) => {}
            ("Action" | "NotAction" | "Resource" | "NotResource", Value::Text(_) | Value::List(_)) => {}
            _ => return Err(INVALID),
        }
    }
    if effect { Ok(()) } else { Err(INVALID) }
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
    fn bad_forms_are_refused() {
        for bad in [
            "no json",
            "[]",
            "{}",
            r#"{"Version":"2012-10-17"}"#,
            r#"{"Version":"2012-10-17","Statement":[]}"#,
            r#"{"Version":"2013-10-17","Statement":[{"Effect":"Allow"}]}"#,
            r#"{"Foo":1,"Statement":[{"Effect":"Allow"}]}"#,
            r#"{"Statement":[{"Effect":"Perhaps"}]}"#,
            r#"{"Statement":[{"Action":"*"}]}"#,
            r#"{"Statement":[7]}"#,
        ] {
            assert_eq!(parse(bad), Err(INVALID), "{bad}");
        }
        assert_eq!(
            parse(&format!("{{\"Statement\":[{STATEMENT}],\"Id\":\"{}\"}}", "x".repeat(8_192))),
            Err(INVALID)
        );
        let many = [STATEMENT; 22].join(",");
        assert_eq!(
            parse(&format!("{{\"Statement\":[{many}]}}")).unwrap_err().to_string(),
            "22 statements were found in the submitted policy, max allowed is 20"
        );
    }
}
