//! Which documents are policies: their elements, and each limit at its last good and first bad value.

mod util;

use tidegate_policy::{Policy, PolicyError, limits};
use util::document;

fn parse(text: &str) -> Result<(), PolicyError> {
    Policy::parse(text).map(drop)
}

/// A statement with elements put in place of, or beside, the usual ones.
fn statement(change: &str) -> String {
    let usual = [r#""Effect":"Allow""#, r#""Principal":"*""#, r#""Action":"SQS:*""#, r#""Resource":"*""#];
    let name = |element: &str| element.split(':').next().map(|name| name.replace("Not", ""));
    let kept = usual.iter().filter(|element| name(element) != name(change)).copied();
    let all: Vec<_> = kept.chain((!change.is_empty()).then_some(change)).collect();
    format!("{{{}}}", all.join(","))
}

fn parse_statement(change: &str) -> Result<(), PolicyError> {
    parse(&document(&[statement(change)]))
}

#[test]
fn templates_in_the_field_are_taken() {
    for good in [
        // The console's default, a topic's subscription, an encrypted-transport rule, a bucket's notifications.
        r#"{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Sid":"__owner_statement","Effect":"Allow",
            "Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"SQS:*","Resource":"arn:aws:sqs:x:1:q"}]}"#,
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},
            "Action":"sqs:SendMessage","Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":"arn:aws:sns:x:1:t"}}}]}"#,
        r#"{"Statement":{"Effect":"Deny","Principal":{"AWS":"*"},"Action":"sqs:*","Resource":"*",
            "Condition":{"Bool":{"aws:SecureTransport":"false"}}}}"#,
        r#"{"Statement":[{"Effect":"Allow","Principal":"*","Action":["sqs:SendMessage"],"Resource":["*"],"Condition":
            {"ArnLike":{"aws:SourceArn":"arn:aws:s3:*:*:bucket"},"StringEquals":{"aws:SourceAccount":"123456789012"}}}]}"#,
        r#"{"Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sqs:*","Resource":"*",
            "Condition":{"StringEquals":{"aws:PrincipalOrgID":"o-abc"}}}]}"#,
    ] {
        assert_eq!(parse(good), Ok(()), "{good}");
    }
}

#[test]
fn elements_have_their_forms() {
    for good in [
        "",
        r#""Sid":"a label, of any kind""#,
        r#""Action":"*""#,
        r#""NotAction":["sqs:DeleteQueue"]"#,
        r#""NotResource":"arn:aws:sqs:*:*:secret""#,
        r#""Principal":{"AWS":["111122223333","arn:aws:iam::111122223333:role/a/b","arn:aws-cn:iam::111122223333:root"]}"#,
        r#""Principal":{"Service":["sns.amazonaws.com"],"AWS":"*"}"#,
        r#""Principal":{"AWS":"arn:aws:sts::111122223333:assumed-role/a/session"}"#,
        r#""Condition":{}"#,
    ] {
        assert_eq!(parse_statement(good), Ok(()), "{good}");
    }
    for bad in [
        r#""Effect":"allow""#,
        r#""Sid":7"#,
        r#""sid":"x""#,
        r#""Principal":[]"#,
        r#""Principal":"111122223333""#,
        r#""Principal":{}"#,
        r#""Principal":{"AWS":[]}"#,
        r#""Principal":{"AWS":"11112222333"}"#,
        r#""Principal":{"AWS":"arn:aws:iam::111122223333:user/*"}"#,
        r#""Principal":{"AWS":"arn:aws:iam::*:root"}"#,
        r#""Principal":{"AWS":"arn:aws:iam::111122223333:group/all"}"#,
        r#""Principal":{"AWS":"arn:aws:s3:::bucket"}"#,
        r#""Principal":{"AWS":{"x":"y"}}"#,
        r#""Principal":{"Service":"*"}"#,
        r#""Principal":{"Federated":"cognito-identity.amazonaws.com"}"#,
        r#""NotPrincipal":{"AWS":"111122223333"}"#,
        r#""Action":[]"#,
        r#""Action":[7]"#,
        r#""Action":"SendMessage""#,
        r#""Action":"sqs:""#,
        r#""Action":["sqs:SendMessage",":x"]"#,
        r#""Resource":[]"#,
        r#""Resource":{"x":"y"}"#,
        r#""Resource":"arn:aws:sqs:*:*:${aws:username}""#,
        r#""Condition":[]"#,
        r#""Foo":"x""#,
    ] {
        assert!(parse_statement(bad).is_err(), "{bad}");
    }
    for (name, both) in [
        ("Action", r#""Action":"*","NotAction":"sqs:x""#),
        ("Principal", r#""Principal":"*","NotPrincipal":"*""#),
        ("Resource", r#""Resource":"*","NotResource":"x""#),
    ] {
        assert_eq!(parse_statement(both), Err(PolicyError::Both { name }));
    }
    for (name, text) in [
        ("Effect", r#"{"Principal":"*","Action":"*"}"#),
        ("Principal", r#"{"Effect":"Allow","Action":"*"}"#),
        ("Action", r#"{"Effect":"Allow","Principal":"*"}"#),
    ] {
        assert_eq!(parse(&document(&[text.into()])), Err(PolicyError::Missing { name }));
    }
}

#[test]
fn documents_have_their_form() {
    let one = statement("");
    for bad in [
        String::new(),
        "no json".into(),
        "[]".into(),
        "{}".into(),
        r#"{"Statement":[]}"#.into(),
        r#"{"Statement":[7]}"#.into(),
        format!(r#"{{"Version":"2013-10-17","Statement":[{one}]}}"#),
        format!(r#"{{"Version":2012,"Statement":[{one}]}}"#),
        format!(r#"{{"Id":7,"Statement":[{one}]}}"#),
        format!(r#"{{"Foo":"x","Statement":[{one}]}}"#),
        format!(r#"{{"Statement":[{one}]}} x"#),
        // Readers disagree on which of two counts.
        format!(r#"{{"Statement":[{one}],"Statement":[{one}]}}"#),
        document(&[r#"{"Effect":"Allow","Effect":"Deny","Principal":"*","Action":"*"}"#.into()]),
        format!("{}{}", "[".repeat(4_000), "]".repeat(4_000)),
    ] {
        assert!(parse(&bad).is_err(), "{bad}");
    }
    let variable = r#""Resource":"${aws:username}""#;
    let old = format!(r#"{{"Version":"2008-10-17","Statement":[{}]}}"#, statement(variable));
    assert_eq!(parse(&old), Ok(()), "the old version has no variables, only texts");
}

#[test]
fn labels_are_given_once() {
    let labelled = |sid: &str| statement(&format!(r#""Sid":"{sid}""#));
    assert_eq!(parse(&document(&[labelled("a"), labelled("b")])), Ok(()));
    assert_eq!(parse(&document(&[labelled(""), labelled("")])), Ok(()));
    assert_eq!(
        parse(&document(&[labelled("a"), labelled("b"), labelled("a")])),
        Err(PolicyError::SidRepeated { sid: "a".into() })
    );
}

#[test]
fn limits_hold_at_their_last_value_and_not_beyond() {
    let statements = |n| document(&vec![statement(""); n]);
    assert_eq!(parse(&statements(limits::STATEMENTS)), Ok(()));
    let error = parse(&statements(limits::STATEMENTS + 1)).unwrap_err();
    assert_eq!(error.to_string(), "21 statements were found in the submitted policy, max allowed is 20");
    assert!(error.is_over_limit());

    let list = |n: usize, value: &str| vec![format!("\"{value}\""); n].join(",");
    let actions = |n| parse_statement(&format!(r#""Action":[{}]"#, list(n, "sqs:SendMessage")));
    assert_eq!(actions(limits::ACTIONS), Ok(()));
    assert_eq!(
        actions(10).unwrap_err().to_string(),
        "10 actions were found in a statement from the submitted policy, max allowed is 7"
    );
    assert_eq!(actions(limits::ACTIONS + 1), Err(PolicyError::TooManyActions { found: 8, limit: 7 }));

    let principals = |n: usize| {
        let half = |n| statement(&format!(r#""Principal":{{"AWS":[{}]}}"#, list(n, "111122223333")));
        parse(&document(&[half(n / 2), half(n - n / 2)]))
    };
    assert_eq!(principals(limits::PRINCIPALS), Ok(()));
    assert_eq!(principals(51), Err(PolicyError::TooManyPrincipals { found: 51, limit: 50 }));

    let conditions = |n: usize| {
        let keys: Vec<_> = (0..n - 1).map(|i| format!(r#""aws:key{i}":"x""#)).collect();
        let keys = keys.join(",");
        statement(&format!(
            r#""Condition":{{"StringEquals":{{{keys}}},"Bool":{{"aws:SecureTransport":"true"}}}}"#
        ))
    };
    let many = vec![conditions(limits::CONDITIONS); 3];
    assert_eq!(parse(&document(&many)), Ok(()), "the limit is one of each statement");
    let error = parse(&document(&[conditions(limits::CONDITIONS + 1)])).unwrap_err();
    assert_eq!(error, PolicyError::TooManyConditions { found: 11, limit: 10 });

    let with_id = |bytes: usize| {
        let frame = format!(r#"{{"Id":"","Statement":{}}}"#, statement("")).len();
        format!(r#"{{"Id":"{}","Statement":{}}}"#, "x".repeat(bytes - frame), statement(""))
    };
    assert_eq!(parse(&with_id(limits::BYTES)), Ok(()));
    assert_eq!(parse(&with_id(8_193)), Err(PolicyError::TooLong { bytes: 8_193, limit: 8_192 }));
}
