//! Every condition operator on requests that it holds for and on others, as a table.

mod util;

use tidegate_policy::{Decision, Policy, PolicyError, Request, limits};
use util::request;

const ARN: &str = "arn:aws:sns:us-east-1:111122223333:orders";

/// A request with a value for every key.
fn full() -> Request<'static> {
    let mut request = request();
    request.context.source_ip = [203, 0, 113, 7].into();
    request.context.secure_transport = true;
    request.context.user_agent = Some("aws-cli/2.0 Python");
    request.context.source_arn = Some(ARN);
    request.context.source_account = Some("444455556666");
    request
}

fn with_condition(effect: &str, condition: &str) -> Result<Policy, PolicyError> {
    Policy::parse(&format!(
        r#"{{"Statement":{{"Effect":"{effect}","Principal":"*","Action":"*","Condition":{{{condition}}}}}}}"#
    ))
}

/// Whether a condition holds, by what an Allow under it does.
fn holds(condition: &str, request: &Request<'_>) -> bool {
    let policy = with_condition("Allow", condition).unwrap_or_else(|error| panic!("{condition}: {error}"));
    policy.evaluate(request) == Decision::Allow
}

#[test]
fn operators_compare_as_documented() {
    for (operator, key, values, expected) in [
        ("StringEquals", "aws:SourceAccount", r#""444455556666""#, true),
        ("StringEquals", "aws:SourceAccount", r#"["1", "444455556666"]"#, true),
        ("StringEquals", "AWS:sourceACCOUNT", "444455556666", true),
        ("StringEquals", "aws:SourceAccount", r#""44445555666*""#, false),
        ("StringEquals", "aws:UserAgent", r#""AWS-CLI/2.0 Python""#, false),
        ("StringNotEquals", "aws:SourceAccount", r#""444455556666""#, false),
        ("StringNotEquals", "aws:SourceAccount", r#"["1", "444455556666"]"#, false),
        ("StringNotEquals", "aws:SourceAccount", r#"["1", "2"]"#, true),
        ("StringEqualsIgnoreCase", "aws:UserAgent", r#""AWS-CLI/2.0 Python""#, true),
        ("StringEqualsIgnoreCase", "aws:UserAgent", r#""AWS-CLI/2.1 Python""#, false),
        ("StringNotEqualsIgnoreCase", "aws:UserAgent", r#""AWS-CLI/2.0 Python""#, false),
        ("StringNotEqualsIgnoreCase", "aws:UserAgent", r#""other""#, true),
        ("StringLike", "aws:UserAgent", r#""aws-cli/?.*""#, true),
        ("StringLike", "aws:UserAgent", r#""AWS-cli*""#, false),
        ("StringLike", "aws:SourceIp", r#""203.0.*""#, true),
        ("StringNotLike", "aws:UserAgent", r#""aws-cli/*""#, false),
        ("StringNotLike", "aws:UserAgent", r#""boto*""#, true),
        ("ArnEquals", "aws:SourceArn", r#""arn:aws:sns:us-east-1:111122223333:orders""#, true),
        ("ArnEquals", "aws:SourceArn", r#""arn:aws:sns:*:111122223333:*""#, true),
        ("ArnEquals", "aws:SourceArn", r#""arn:aws:sns:us-east-1:111122223333:order""#, false),
        ("ArnLike", "aws:SourceArn", r#""*""#, true),
        ("ArnLike", "aws:SourceArn", r#""arn:*:*:*:*:order?""#, true),
        // No wildcard reaches over a colon.
        ("ArnLike", "aws:SourceArn", r#""arn:*:111122223333:x:y:*""#, false),
        ("ArnNotEquals", "aws:SourceArn", r#""arn:aws:sns:*:*:*""#, false),
        ("ArnNotLike", "aws:SourceArn", r#""arn:aws:s3:::*""#, true),
        ("ArnEquals", "aws:PrincipalArn", r#""arn:aws:iam::111122223333:user/*""#, true),
        ("StringEquals", "aws:PrincipalAccount", r#""111122223333""#, true),
        ("StringEquals", "aws:PrincipalAccount", r#""444455556666""#, false),
        ("Bool", "aws:SecureTransport", r#""true""#, true),
        ("Bool", "aws:SecureTransport", "true", true),
        ("Bool", "aws:SecureTransport", r#""False""#, false),
        ("Bool", "aws:SecureTransport", r#"["true", "false"]"#, true),
        ("IpAddress", "aws:SourceIp", r#""203.0.113.0/24""#, true),
        ("IpAddress", "aws:SourceIp", r#"["198.51.100.0/24", "203.0.113.7"]"#, true),
        ("IpAddress", "aws:SourceIp", r#"["198.51.100.0/24", "::/0"]"#, false),
        ("NotIpAddress", "aws:SourceIp", r#""203.0.113.0/24""#, false),
        ("NotIpAddress", "aws:SourceIp", r#""198.51.100.0/24""#, true),
        ("DateEquals", "aws:CurrentTime", r#""2023-11-14T22:13:20Z""#, true),
        ("DateNotEquals", "aws:CurrentTime", r#""2023-11-14T22:13:20Z""#, false),
        ("DateLessThan", "aws:CurrentTime", r#""2023-11-14T22:13:21Z""#, true),
        ("DateLessThan", "aws:CurrentTime", r#""2023-11-14T22:13:20Z""#, false),
        ("DateLessThanEquals", "aws:CurrentTime", r#""2023-11-14T22:13:20Z""#, true),
        ("DateLessThanEquals", "aws:CurrentTime", r#""2023-11-14T22:13:19Z""#, false),
        ("DateGreaterThan", "aws:CurrentTime", r#""2023-11-14""#, true),
        ("DateGreaterThan", "aws:EpochTime", r#""1700000000""#, false),
        ("DateGreaterThanEquals", "aws:EpochTime", r#""1700000000""#, true),
        ("DateGreaterThanEquals", "aws:CurrentTime", r#""2023-11-15""#, false),
        ("NumericEquals", "aws:EpochTime", "1700000000", true),
        ("NumericNotEquals", "aws:EpochTime", "1700000000", false),
        ("NumericLessThan", "aws:EpochTime", r#""1700000000.5""#, true),
        ("NumericLessThanEquals", "aws:EpochTime", "1699999999", false),
        ("NumericGreaterThan", "aws:EpochTime", "1699999999", true),
        ("NumericGreaterThanEquals", "aws:EpochTime", "1700000001", false),
        ("Null", "aws:SourceArn", r#""false""#, true),
        ("Null", "aws:SourceArn", "true", false),
        ("ForAnyValue:ArnEquals", "aws:SourceArn", r#""arn:aws:sns:*:*:orders""#, true),
        ("ForAllValues:StringLike", "aws:SourceArn", r#""arn:aws:s3:*""#, false),
    ] {
        let condition = format!(r#""{operator}":{{"{key}":{values}}}"#);
        assert_eq!(holds(&condition, &full()), expected, "{condition}");
        // What is there is compared all the same.
        if operator != "Null" {
            let condition = format!(r#""{operator}IfExists":{{"{key}":{values}}}"#);
            assert_eq!(holds(&condition, &full()), expected, "{condition}");
        }
    }
}

#[test]
fn an_absent_value_is_different_from_every_other() {
    for (operator, values, expected) in [
        ("StringEquals", r#""x""#, false),
        ("StringNotEquals", r#""x""#, true),
        ("StringEqualsIfExists", r#""x""#, true),
        ("StringNotEqualsIfExists", r#""x""#, true),
        ("ArnLike", r#""*""#, false),
        ("ArnNotLike", r#""*""#, true),
        ("Null", "true", true),
        ("Null", "false", false),
        ("ForAnyValue:StringEquals", r#""x""#, false),
        ("ForAnyValue:StringNotEquals", r#""x""#, false),
        ("ForAllValues:StringEquals", r#""x""#, true),
        ("ForAnyValue:StringEqualsIfExists", r#""x""#, true),
    ] {
        let condition = format!(r#""{operator}":{{"aws:SourceArn":{values}}}"#);
        assert_eq!(holds(&condition, &request()), expected, "{condition}");
    }
}

#[test]
fn all_conditions_of_a_statement_must_hold() {
    let secure = r#""Bool":{"aws:SecureTransport":"true"}"#;
    let network = r#""IpAddress":{"aws:SourceIp":"203.0.113.0/24"}"#;
    let both = format!("{secure},{network}");
    assert!(holds(&both, &full()));
    let mut request = full();
    request.context.secure_transport = false;
    assert!(!holds(&both, &request));
    let mut request = full();
    request.context.source_ip = [127, 0, 0, 1].into();
    assert!(!holds(&both, &request));
    let account = r#""StringEquals":{"aws:PrincipalAccount":"111122223333","aws:SourceAccount":"1"}"#;
    assert!(!holds(account, &full()), "two keys under one operator must both match");
    assert!(holds("", &full()) && holds(r#""Bool":{}"#, &full()));
}

#[test]
fn addresses_of_both_versions_and_mapped_ones_are_compared() {
    let mut request = full();
    request.context.source_ip = "::ffff:203.0.113.7".parse().unwrap();
    assert!(holds(r#""IpAddress":{"aws:SourceIp":"203.0.113.0/24"}"#, &request));
    request.context.source_ip = "2001:db8::7".parse().unwrap();
    assert!(holds(r#""IpAddress":{"aws:SourceIp":"2001:DB8::/32"}"#, &request));
    assert!(!holds(r#""IpAddress":{"aws:SourceIp":"0.0.0.0/0"}"#, &request));
}

#[test]
fn keys_without_values_here_never_open_a_queue() {
    let unknown = |operator: &str, value: &str| format!(r#""{operator}":{{"aws:PrincipalOrgID":{value}}}"#);
    for (operator, value, expected) in [
        ("StringEquals", r#""o-1""#, false),
        // It would hold on the original service, too, but only for those outside.
        ("StringNotEquals", r#""o-1""#, false),
        ("ForAllValues:StringEquals", r#""o-1""#, false),
        ("StringEqualsIfExists", r#""o-1""#, true),
        ("Null", "true", true),
        ("Null", "false", false),
    ] {
        assert_eq!(holds(&unknown(operator, value), &full()), expected, "Allow {operator}");
    }
}

#[test]
fn a_deny_that_could_never_take_effect_is_refused() {
    let deny = |condition: &str| {
        with_condition("Deny", condition).map(|policy| policy.evaluate(&full()) == Decision::Deny)
    };
    let never = Err(PolicyError::NeverDenies { key: "aws:PrincipalOrgID".into() });
    for (operator, value, expected) in [
        ("StringEquals", r#""o-1""#, never.clone()),
        ("ForAnyValue:StringNotEquals", r#""o-1""#, never.clone()),
        ("Null", "false", never),
        ("StringNotEquals", r#""o-1""#, Ok(true)),
        ("StringEqualsIfExists", r#""o-1""#, Ok(true)),
        ("ForAllValues:StringEquals", r#""o-1""#, Ok(true)),
        ("Null", "true", Ok(true)),
    ] {
        let condition = format!(r#""{operator}":{{"aws:PrincipalOrgID":{value}}}"#);
        assert_eq!(deny(&condition), expected, "Deny {condition}");
    }
    assert_eq!(deny(r#""Bool":{"aws:SecureTransport":"false"}"#), Ok(false), "a known key is no such case");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let error = |condition: &str| with_condition("Allow", condition).unwrap_err();
    for operator in [
        "StringMatches",
        "stringequals",
        "BinaryEquals",
        "Numeric",
        "DateBefore",
        "NullIfExists",
        "ForAnyValue:Null",
        "ForSomeValues:StringEquals",
        "StringEqualsIfExistsIfExists",
        "NotBool",
        "",
    ] {
        let condition = format!(r#""{operator}":{{"aws:SourceArn":"x"}}"#);
        assert_eq!(error(&condition), PolicyError::Operator { operator: operator.into() });
    }
    for key in ["SourceArn", "aws:", ":SourceArn", "a b:c", ""] {
        let condition = format!(r#""StringEquals":{{"{key}":"x"}}"#);
        assert_eq!(error(&condition), PolicyError::Key { key: key.into() });
    }
    for (operator, key) in [
        ("IpAddress", "aws:SourceArn"),
        ("Bool", "aws:SourceIp"),
        ("DateLessThan", "aws:SourceAccount"),
        ("StringEquals", "aws:CurrentTime"),
        ("NumericEquals", "aws:CurrentTime"),
        ("NumericEquals", "aws:SourceAccount"),
        ("ArnEquals", "aws:UserAgent"),
    ] {
        let condition = format!(r#""{operator}":{{"{key}":"x"}}"#);
        assert_eq!(
            error(&condition),
            PolicyError::OperatorOfKey { operator: operator.into(), key: key.into() }
        );
    }
    for (operator, key, value) in [
        ("IpAddress", "aws:SourceIp", "localhost"),
        ("Bool", "aws:SecureTransport", "yes"),
        ("DateLessThan", "aws:CurrentTime", "tomorrow"),
        ("NumericEquals", "aws:EpochTime", "NaN"),
        ("ArnLike", "aws:SourceArn", "arn:aws:sns:*"),
        ("Null", "aws:SourceArn", "maybe"),
        // Keys that no request has are checked alike.
        ("IpAddress", "aws:VpcSourceIp", "localhost"),
    ] {
        let condition = format!(r#""{operator}":{{"{key}":["{value}"]}}"#);
        assert_eq!(error(&condition), PolicyError::Value { operator: operator.into(), value: value.into() });
    }
    for form in [
        r#""Bool":"true""#,
        r#""Bool":{"aws:SecureTransport":[]}"#,
        r#""Bool":{"aws:SecureTransport":null}"#,
        r#""Bool":{"aws:SecureTransport":{}}"#,
        r#""Bool":{"aws:SecureTransport":[["true"]]}"#,
    ] {
        assert!(matches!(error(form), PolicyError::Form { .. }), "{form}");
    }
}

#[test]
fn a_long_user_agent_is_compared_by_its_start() {
    let ending_at = |bytes: usize| format!("{}x", "a".repeat(bytes - 1));
    for (bytes, expected) in [(limits::USER_AGENT_BYTES, true), (limits::USER_AGENT_BYTES + 1, false)] {
        let agent = ending_at(bytes);
        let mut request = request();
        request.context.user_agent = Some(&agent);
        assert_eq!(holds(r#""StringLike":{"aws:UserAgent":"a*x"}"#, &request), expected);
    }
    let mut request = request();
    let wide = format!("a{}", "ä".repeat(4_000));
    request.context.user_agent = Some(&wide);
    assert!(holds(r#""StringLike":{"aws:UserAgent":"a*ä"}"#, &request));
}
