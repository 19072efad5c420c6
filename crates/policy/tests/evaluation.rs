//! Which statements fit a request, and what several of them decide together.

mod util;

use proptest::prelude::*;
use tidegate_policy::{Context, Decision, Policy, Principal, Request};
use util::{ADA, QUEUE, of_statements, request};

fn fits(elements: &str, request: &Request<'_>) -> bool {
    let policy = of_statements(&[format!(r#"{{"Effect":"Deny",{elements}}}"#)]);
    policy.evaluate(request) == Decision::Deny
}

fn by(principal: Principal<'_>) -> Request<'_> {
    Request { principal, ..request() }
}

#[test]
fn principals_are_who_they_say() {
    let root = Principal::Account { account: "111122223333", arn: "arn:aws:iam::111122223333:root" };
    let topics = Principal::Service("sns.amazonaws.com");
    for (named, ada, other, service, anonymous) in [
        (r#""*""#, true, true, true, true),
        (r#"{"AWS":"*"}"#, true, true, true, true),
        (r#"{"AWS":"111122223333"}"#, true, true, false, false),
        (r#"{"AWS":"arn:aws:iam::111122223333:root"}"#, true, true, false, false),
        (r#"{"AWS":"arn:aws:iam::111122223333:user/ada"}"#, true, false, false, false),
        (r#"{"AWS":["444455556666","arn:aws:iam::111122223333:user/bob"]}"#, false, false, false, false),
        (r#"{"Service":"sns.amazonaws.com"}"#, false, false, true, false),
        (r#"{"Service":"s3.amazonaws.com","AWS":"111122223333"}"#, true, true, false, false),
    ] {
        for (principal, expected) in
            [(ADA, ada), (root, other), (topics, service), (Principal::Anonymous, anonymous)]
        {
            let elements = |name: &str| format!(r#""{name}":{named},"Action":"*""#);
            assert_eq!(fits(&elements("Principal"), &by(principal)), expected, "{named} {principal:?}");
            assert_eq!(
                fits(&elements("NotPrincipal"), &by(principal)),
                !expected,
                "not {named} {principal:?}"
            );
        }
    }
}

#[test]
fn actions_and_resources_fit_by_pattern() {
    for (elements, expected) in [
        (r#""Action":"*""#, true),
        (r#""Action":"SQS:SENDMESSAGE""#, true),
        (r#""Action":"sqs:Send*""#, true),
        (r#""Action":["sqs:ReceiveMessage","sqs:???dMessage"]"#, true),
        (r#""Action":"sqs:Send""#, false),
        (r#""Action":"sns:*""#, false),
        (r#""NotAction":"sqs:SendMessage""#, false),
        (r#""NotAction":["sqs:ReceiveMessage","sqs:DeleteMessage"]"#, true),
        (r#""Action":"*","Resource":"arn:aws:sqs:us-east-1:000000000000:orders""#, true),
        (r#""Action":"*","Resource":["arn:aws:sqs:x","arn:aws:sqs:*:ord*"]"#, true),
        (r#""Action":"*","Resource":"arn:aws:sqs:us-east-1:000000000000:Orders""#, false),
        (r#""Action":"*","NotResource":"arn:aws:sqs:us-east-1:000000000000:orders""#, false),
        (r#""Action":"*","NotResource":"arn:aws:sqs:us-east-1:000000000000:secret""#, true),
    ] {
        assert_eq!(fits(&format!(r#""Principal":"*",{elements}"#), &request()), expected, "{elements}");
    }
}

#[test]
fn a_policy_that_says_nothing_of_a_request_decides_nothing() {
    let statement = r#"{"Effect":"Allow","Principal":{"AWS":"444455556666"},"Action":"*"}"#;
    assert_eq!(of_statements(&[statement.into()]).evaluate(&request()), Decision::NoMatch);
}

/// One statement, of few enough kinds for many to fit a request.
fn statement() -> impl Strategy<Value = String> {
    let element = |values: &'static [&'static str]| proptest::sample::select(values);
    (
        element(&["Allow", "Deny"]),
        element(&[
            r#""Principal":"*""#,
            r#""Principal":{"AWS":"111122223333"}"#,
            r#""Principal":{"AWS":["444455556666","arn:aws:iam::111122223333:user/ada"]}"#,
            r#""Principal":{"Service":"sns.amazonaws.com"}"#,
        ]),
        element(&[r#""Action":"sqs:*""#, r#""Action":"sqs:Receive*""#, r#""NotAction":"sqs:SendMessage""#]),
        element(&[r#""Resource":"*""#, r#""Resource":"arn:aws:sqs:*:*:or*""#, r#""NotResource":"*:orders""#]),
        element(&[
            "{}",
            r#"{"Bool":{"aws:SecureTransport":"true"}}"#,
            r#"{"NotIpAddress":{"aws:SourceIp":["10.0.0.0/8","::1"]}}"#,
            r#"{"DateLessThan":{"aws:CurrentTime":"2023-11-15"},"StringLikeIfExists":{"aws:UserAgent":"a*"}}"#,
            r#"{"ArnNotLike":{"aws:SourceArn":"arn:*:sns:*:*:*"}}"#,
            r#"{"Null":{"aws:SourceAccount":"true"}}"#,
        ]),
    )
        .prop_map(|(effect, principal, action, resource, condition)| {
            format!(r#"{{"Effect":"{effect}",{principal},{action},{resource},"Condition":{condition}}}"#)
        })
}

fn some_request() -> impl Strategy<Value = Request<'static>> {
    let principals = vec![ADA, Principal::Anonymous, Principal::Service("sns.amazonaws.com")];
    let agents = vec![None, Some("aws"), Some("ä")];
    (
        proptest::sample::select(principals),
        proptest::sample::select(&["sqs:SendMessage", "SQS:receivemessage", ""][..]),
        proptest::sample::select(&[QUEUE, "arn:aws:sqs:us-east-1:000000000000:other", "*"][..]),
        any::<std::net::IpAddr>(),
        any::<bool>(),
        any::<i64>(),
        proptest::sample::select(agents),
        proptest::option::of(Just("arn:aws:sns:us-east-1:111122223333:t")),
    )
        .prop_map(
            |(principal, action, resource, source_ip, secure_transport, now_s, user_agent, source_arn)| {
                let context = Context {
                    secure_transport,
                    user_agent,
                    source_arn,
                    source_account: source_arn.map(|_| "111122223333"),
                    ..Context::new(source_ip, now_s)
                };
                Request { principal, action, resource, context }
            },
        )
}

proptest! {
    /// What statements decide together follows from what each decides alone: a Deny wins wherever it stands.
    #[test]
    fn deny_beats_allow_in_every_order(
        statements in proptest::collection::vec(statement(), 1..6),
        request in some_request(),
        turn in 0..6usize,
    ) {
        let alone: Vec<_> = statements
            .iter()
            .map(|statement| of_statements(std::slice::from_ref(statement)).evaluate(&request))
            .collect();
        let expected = [Decision::Deny, Decision::Allow]
            .into_iter()
            .find(|decision| alone.contains(decision))
            .unwrap_or(Decision::NoMatch);
        let mut turned = statements.clone();
        turned.rotate_left(turn % statements.len());
        prop_assert_eq!(of_statements(&statements).evaluate(&request), expected);
        prop_assert_eq!(of_statements(&turned).evaluate(&request), expected);
        turned.reverse();
        prop_assert_eq!(of_statements(&turned).evaluate(&request), expected);
    }

    /// Documents that are nearly policies end in a policy or an error, and policies in a decision.
    #[test]
    fn nothing_panics(
        statement in statement(),
        cut in 0..300usize,
        noise in r#"[{}\[\]",:*?$ä0-9a-zA-Z/ .-]{0,12}"#,
        request in some_request(),
    ) {
        let text = util::document(&[statement]);
        let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        for changed in [format!("{}{noise}{}", &text[..at], &text[at..]), format!("{}{noise}", &text[..at])] {
            if let Ok(policy) = Policy::parse(&changed) {
                policy.evaluate(&request);
            }
        }
    }
}
