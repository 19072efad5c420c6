use super::*;

const TARGET: &str = "arn:aws:sqs:us-east-1:000000000000:dlq";

fn read(text: &str) -> Result<RedrivePolicy, String> {
    let owner = Home { account: AccountId::default(), region: Region::default() };
    parse(text, &owner).map_err(|fault| fault.to_string())
}

#[test]
fn a_policy_comes_back_compact_with_a_number() {
    for count in ["42", "\"42\""] {
        let policy =
            read(&format!("{{ \"maxReceiveCount\": {count}, \"deadLetterTargetArn\": \"{TARGET}\" }}"))
                .unwrap();
        assert_eq!(text(&policy), format!("{{\"deadLetterTargetArn\":\"{TARGET}\",\"maxReceiveCount\":42}}"));
    }
    let with = |count: &str| {
        read(&format!("{{\"deadLetterTargetArn\":\"{TARGET}\",\"maxReceiveCount\":{count}}}")).unwrap()
    };
    assert_eq!(with("42"), with("\"42\""), "equal for a second CreateQueue");
    let gov = TARGET.replace("arn:aws:", "arn:aws-us-gov:");
    assert!(read(&format!("{{\"maxReceiveCount\":1,\"deadLetterTargetArn\":\"{gov}\"}}")).is_ok());
}

#[test]
fn faults_of_a_redrive_policy_have_their_texts() {
    assert_eq!(
        read("[]").unwrap_err(),
        "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map."
    );
    let bad_count = |count: &str| {
        format!("Invalid value for maxReceiveCount: {count}, valid values are from 1 to 1000 both inclusive.")
    };
    for (policy, reason) in [
        (
            r#"{"deadLetterTargetArn":"x"}"#.to_owned(),
            "Redrive policy does not contain mandatory attribute: maxReceiveCount.".to_owned(),
        ),
        (
            r#"{"maxReceiveCount":1}"#.to_owned(),
            "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.".to_owned(),
        ),
        (format!(r#"{{"maxReceiveCount":0,"deadLetterTargetArn":"{TARGET}"}}"#), bad_count("0")),
        (format!(r#"{{"maxReceiveCount":"1001","deadLetterTargetArn":"{TARGET}"}}"#), bad_count("1001")),
        (format!(r#"{{"maxReceiveCount":-1,"deadLetterTargetArn":"{TARGET}"}}"#), bad_count("-1")),
        (format!(r#"{{"maxReceiveCount":true,"deadLetterTargetArn":"{TARGET}"}}"#), bad_count("true")),
        (
            r#"{"maxReceiveCount":1,"deadLetterTargetArn":"x","foo":1}"#.to_owned(),
            "Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].".to_owned(),
        ),
        (
            r#"{"maxReceiveCount":1,"deadLetterTargetArn":"arn:aws:sns:us-east-1:000000000000:t"}"#
                .to_owned(),
            "Only SQS queues are valid resources for deadLetterTargetArn.".to_owned(),
        ),
        (
            r#"{"maxReceiveCount":1,"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000001:q"}"#
                .to_owned(),
            "Dead-letter target owner should be same as the source.".to_owned(),
        ),
        (
            r#"{"maxReceiveCount":1,"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:q"}"#
                .to_owned(),
            "Dead letter target does not exist.".to_owned(),
        ),
    ] {
        let text = format!("Value {policy} for parameter RedrivePolicy is invalid. Reason: {reason}");
        assert_eq!(read(&policy).unwrap_err(), text);
    }
}

#[test]
fn an_allow_policy_comes_back_compact() {
    let by_queue = format!("{{ \"sourceQueueArns\": [\"{TARGET}\"], \"redrivePermission\": \"byQueue\" }}");
    assert_eq!(
        allow_text(&parse_allow(&by_queue).unwrap()),
        format!("{{\"redrivePermission\":\"byQueue\",\"sourceQueueArns\":[\"{TARGET}\"]}}")
    );
    let deny = "{\"redrivePermission\":\"denyAll\"}";
    assert_eq!(allow_text(&parse_allow(deny).unwrap()), deny);
}

#[test]
fn faults_of_an_allow_policy_have_their_shapes() {
    for malformed in [
        "x",
        "[]",
        "{}",
        r#"{"redrivePermission":"some"}"#,
        r#"{"redrivePermission":"denyAll","foo":1}"#,
        r#"{"redrivePermission":"byQueue","sourceQueueArns":"x"}"#,
        r#"{"redrivePermission":"byQueue","sourceQueueArns":[1]}"#,
    ] {
        assert_eq!(parse_allow(malformed), Err(Fault::RedriveAllowPolicyForm), "{malformed}");
    }
    let eleven = ["\"a\""; 11].join(",");
    for (policy, reason) in [
        (
            r#"{"redrivePermission":"byQueue"}"#.to_owned(),
            "you must also specify one or more sourceQueueArns values.",
        ),
        (
            format!(r#"{{"redrivePermission":"byQueue","sourceQueueArns":[{eleven}]}}"#),
            "The maximum number of source queue ARNs you can specify is 10.",
        ),
        (
            r#"{"redrivePermission":"allowAll","sourceQueueArns":["a"]}"#.to_owned(),
            "you must set redrivePermission to byQueue.",
        ),
    ] {
        let text = parse_allow(&policy).unwrap_err().to_string();
        assert!(
            text.starts_with(&format!(
                "Value {policy} for parameter RedriveAllowPolicy is invalid. Reason: "
            ))
        );
        assert!(text.ends_with(reason), "{text}");
    }
}
