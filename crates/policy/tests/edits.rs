//! Adding and removing statements: the exact texts, and what is refused.

mod util;

use tidegate_policy::{EditError, Grant, Policy, PolicyError, add_statement, remove_statement};
use util::QUEUE;

fn grant<'a>(label: &'a str, accounts: &'a [&'a str], actions: &'a [&'a str]) -> Grant<'a> {
    Grant {
        label,
        accounts,
        actions,
        resource: QUEUE,
        policy_id: "arn:aws:sqs:us-east-1:000000000000:orders/SQSDefaultPolicy",
    }
}

fn receive(label: &str) -> Grant<'_> {
    grant(label, &["111122223333"], &["SQS:ReceiveMessage"])
}

#[test]
fn the_first_grant_makes_the_recorded_document() {
    let text = add_statement(None, &receive("auditors")).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"Version":"2008-10-17","Id":"arn:aws:sqs:us-east-1:000000000000:orders/SQSDefaultPolicy","#,
            r#""Statement":[{"Sid":"auditors","Effect":"Allow","#,
            r#""Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"SQS:ReceiveMessage","#,
            r#""Resource":"arn:aws:sqs:us-east-1:000000000000:orders"}]}"#
        )
    );
}

#[test]
fn several_accounts_and_actions_are_lists() {
    let several = grant("x", &["111122223333", "444455556666"], &["SQS:SendMessage", "SQS:DeleteMessage"]);
    let text = add_statement(None, &several).unwrap();
    let lists = concat!(
        r#""Principal":{"AWS":["arn:aws:iam::111122223333:root","arn:aws:iam::444455556666:root"]},"#,
        r#""Action":["SQS:SendMessage","SQS:DeleteMessage"],"#
    );
    assert!(text.contains(lists), "{text}");
}

#[test]
fn what_was_there_keeps_its_text() {
    let own = r#"{ "Effect":"Deny", "Principal" : "*",
        "Action":"sqs:*", "Condition":{"Bool":{"aws:SecureTransport": false}} }"#;
    let existing = format!("{{ \"Statement\": {own}, \"Version\":\"2012-10-17\" }}");
    let text = add_statement(Some(&existing), &receive("a")).unwrap();
    let granted = add_statement(None, &receive("a")).unwrap();
    let granted = &granted[granted.find("[{").unwrap() + 1..granted.len() - 2];
    assert_eq!(text, format!(r#"{{"Statement":[{own},{granted}],"Version":"2012-10-17"}}"#));
    let removed = remove_statement(Some(&text), "a").unwrap().unwrap();
    assert_eq!(removed, format!(r#"{{"Statement":[{own}],"Version":"2012-10-17"}}"#));
}

#[test]
fn removing_finds_its_statement_and_the_last_takes_the_document_along() {
    let mut text = None;
    for label in ["a", "b", "c"] {
        text = Some(add_statement(text.as_deref(), &receive(label)).unwrap());
    }
    let without_b = remove_statement(text.as_deref(), "b").unwrap().unwrap();
    assert!(without_b.contains(r#""Sid":"a""#) && without_b.contains(r#""Sid":"c""#), "{without_b}");
    assert!(!without_b.contains(r#""Sid":"b""#), "{without_b}");
    assert!(Policy::parse(&without_b).is_ok());
    let only_c = remove_statement(Some(&without_b), "a").unwrap().unwrap();
    assert_eq!(remove_statement(Some(&only_c), "c"), Ok(None));
    // One that is no list either.
    let single = r#"{"Statement":{"Sid":"x","Effect":"Allow","Principal":"*","Action":"*"}}"#;
    assert_eq!(remove_statement(Some(single), "x"), Ok(None));
}

#[test]
fn labels_that_do_not_fit_are_refused() {
    let text = add_statement(None, &receive("a")).unwrap();
    assert_eq!(add_statement(Some(&text), &receive("a")), Err(EditError::LabelExists));
    assert_eq!(remove_statement(Some(&text), "b"), Err(EditError::LabelMissing));
    assert_eq!(remove_statement(None, "a"), Err(EditError::NoPolicy));
    // An escaped label is the same label.
    let escaped = text.replace(r#""Sid":"a""#, r#""Sid":"\u0061""#);
    assert_eq!(add_statement(Some(&escaped), &receive("a")), Err(EditError::LabelExists));
    assert_eq!(remove_statement(Some(&escaped), "a"), Ok(None));
}

#[test]
fn limits_hold_for_grants() {
    let mut text = None;
    for i in 0..20 {
        text = Some(add_statement(text.as_deref(), &receive(&i.to_string())).unwrap());
    }
    let error = add_statement(text.as_deref(), &receive("x")).unwrap_err();
    assert_eq!(error.to_string(), "21 Statements were found, maximum allowed is 20.");

    let error = |grant: &Grant<'_>| match add_statement(None, grant) {
        Err(EditError::Policy(error)) => Some(error),
        _ => None,
    };
    let accounts = ["111122223333"; 51];
    assert_eq!(error(&grant("x", &accounts[..50], &["SQS:*"])), None);
    let too_many = error(&grant("x", &accounts, &["SQS:*"]));
    assert_eq!(too_many, Some(PolicyError::TooManyPrincipals { found: 51, limit: 50 }));
    let too_many = error(&grant("x", &accounts[..1], &["SQS:SendMessage"; 8]));
    assert_eq!(too_many, Some(PolicyError::TooManyActions { found: 8, limit: 7 }));
    let long = "x".repeat(8_000);
    assert!(matches!(error(&receive(&long)), Some(PolicyError::TooLong { .. })));
}

#[test]
fn a_document_that_is_no_policy_is_not_edited() {
    for bad in ["", "[]", r#"{"Statement":[]}"#, r#"{"Statement":[{"Sid":"a"}]}"#] {
        assert!(matches!(add_statement(Some(bad), &receive("a")), Err(EditError::Policy(_))), "{bad}");
        assert!(matches!(remove_statement(Some(bad), "a"), Err(EditError::Policy(_))), "{bad}");
    }
}
