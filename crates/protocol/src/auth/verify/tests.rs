//! Requests signed by botocore 1.44.8 with the key and secret of AWS's examples, whole and altered.

use super::*;
use crate::auth::{Credential, Grant, SecretKey, User};
use crate::{ReceiptKey, UrlSettings};
use std::time::Duration;
use tidegate_engine::{AccountId, Region};

/// 20231114T221320Z.
const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const DATE: &str = "20231114T221320Z";
const JSON: &str = "application/x-amz-json-1.0";

fn credentials() -> Credentials {
    let credential = |access_key: &str, secret: &str| {
        let user = User {
            account: AccountId::parse("123456789012").unwrap(),
            name: "shop".into(),
            access_key: access_key.into(),
            grant: Grant::default(),
        };
        Credential::new(user, SecretKey::parse(secret).unwrap())
    };
    let example = credential("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
    Credentials::new([example, credential("AKIDOTHER", "another")])
}

/// A request that can be altered.
#[derive(Clone)]
struct Signed {
    method: &'static str,
    path: &'static str,
    query: String,
    headers: Vec<(&'static str, String)>,
    body: &'static [u8],
}

impl Signed {
    fn verify_at(
        &self,
        credentials: &Credentials,
        now: Timestamp,
        trust_forwarded: bool,
    ) -> Result<Identity, Fault> {
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = Request {
            method: self.method,
            path: self.path,
            query: Some(self.query.as_str()).filter(|query| !query.is_empty()),
            headers: &&headers[..],
            body: self.body,
        };
        let context = Context {
            now,
            request_id: [b'0'; 36],
            receipt_key: ReceiptKey([0; 16]),
            credentials: Some(credentials),
            account: AccountId::default(),
            region: &Region::default(),
            urls: UrlSettings { public_url: None, trust_forwarded, scheme: "http", fallback_host: "h" },
            random: &mut || [0; 16],
        };
        credentials.verify(&request, &context)
    }

    fn verify(&self) -> Result<Identity, Fault> {
        self.verify_at(&credentials(), NOW, false)
    }

    /// The text of the refusal.
    fn refusal(&self) -> String {
        self.verify().map(|identity| panic!("accepted: {identity:?}")).unwrap_err().to_string()
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self
    }

    fn edit(mut self, name: &str, from: &str, to: &str) -> Self {
        let (_, value) = self.headers.iter_mut().find(|(known, _)| *known == name).unwrap();
        assert!(value.contains(from), "{value}");
        *value = value.replacen(from, to, 1);
        self
    }

    fn edit_query(mut self, from: &str, to: &str) -> Self {
        assert!(self.query.contains(from));
        self.query = self.query.replacen(from, to, 1);
        self
    }
}

fn signed(
    method: &'static str,
    target: &'static str,
    headers: &[(&'static str, &str)],
    body: &'static [u8],
    signed_headers: &str,
    signature: &str,
) -> Signed {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    headers.push(("Host", "localhost:9324".into()));
    headers.push(("X-Amz-Date", DATE.into()));
    headers.push((
        "Authorization",
        format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/us-east-1/sqs/aws4_request, \
             SignedHeaders={signed_headers}, Signature={signature}"
        ),
    ));
    Signed { method, path, query: query.to_owned(), headers, body }
}

fn json() -> Signed {
    signed(
        "POST",
        "/",
        &[("X-Amz-Target", "AmazonSQS.ListQueues"), ("Content-Type", JSON)],
        b"{}",
        "content-type;host;x-amz-date;x-amz-target",
        "ee1fd662328a70e042e8dd8999067c7ba42ca81537ffadf10ab7d5d342e17d66",
    )
}

fn presigned() -> Signed {
    Signed {
        method: "GET",
        path: "/",
        query: "Action=ListQueues&Version=2012-11-05&QueueNamePrefix=a%20b&X-Amz-Algorithm=AWS4-HMAC-SHA256&\
                X-Amz-Credential=AKIDEXAMPLE%2F20231114%2Fus-east-1%2Fsqs%2Faws4_request&X-Amz-Date=20231114T221320Z&\
                X-Amz-Expires=3600&X-Amz-SignedHeaders=host&\
                X-Amz-Signature=247d8f437ef95590f640e100af9b0a98846af178c8d234c2007dbc7102acc4c4"
            .into(),
        headers: vec![("Host", "localhost:9324".into())],
        body: b"",
    }
}

#[test]
fn what_an_sdk_signs_is_accepted() {
    let spaced = [
        ("X-Amz-Target", "AmazonSQS.ListQueues"),
        ("Content-Type", JSON),
        ("User-Note", "  a   b  c "),
        ("My-Header", "x\ty"),
    ];
    let form = [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")];
    let unsigned_body = [
        ("X-Amz-Target", "AmazonSQS.ListQueues"),
        ("Content-Type", JSON),
        ("X-Amz-Content-SHA256", UNSIGNED_PAYLOAD),
    ];
    let presigned_post = Signed {
        method: "POST",
        query: "Action=ListQueues&Version=2012-11-05&X-Amz-Algorithm=AWS4-HMAC-SHA256&\
                X-Amz-Credential=AKIDEXAMPLE%2F20231114%2Fus-east-1%2Fsqs%2Faws4_request&X-Amz-Date=20231114T221320Z&\
                X-Amz-Expires=3600&X-Amz-SignedHeaders=host&\
                X-Amz-Signature=5f3b0328ca65c3b3805e769984a94332884f6a5a1b4516da1b67d581e936939d"
            .into(),
        ..presigned()
    };
    for request in [
        json(),
        signed(
            "POST",
            "/",
            &spaced,
            br#"{"QueueNamePrefix":"a"}"#,
            "content-type;host;my-header;user-note;x-amz-date;x-amz-target",
            "40a3a192f949a7af65b3436c61b33afd31dcd3ab2cc6c389e7a93be788fcbda3",
        ),
        signed(
            "POST",
            "/123456789012/orders",
            &form,
            b"Action=ListQueues&Version=2012-11-05",
            "content-type;host;x-amz-date",
            "613f60fae985d21b0898c643759c62c8cdd392cabec13cfc176790afa0117ced",
        ),
        signed(
            "GET",
            "/?Version=2012-11-05&Action=ListQueues&QueueNamePrefix=a%20b&Z=&A=2&A=1&%C3%BC=%2F",
            &[],
            b"",
            "host;x-amz-date",
            "4ac5190acaf49bb45f2404f7d619b87d20e9a7c6ce69cbbcf6b970c093b76ba5",
        ),
        signed(
            "GET",
            "//a/./b/../c%20d/~x/?Action=ListQueues",
            &[],
            b"",
            "host;x-amz-date",
            "85a43f1f79c8e8de63c9eed6e79a5621375ab6b1b271e73fb7ecff0aa977fb73",
        ),
        signed(
            "POST",
            "/",
            &unsigned_body,
            b"{}",
            "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-target",
            "fdce7064292a7d5bd90e98af88471d76854dcebd092d65e091b220c785df3993",
        ),
        presigned(),
        presigned_post,
    ] {
        let identity =
            request.verify().unwrap_or_else(|fault| panic!("{} {}: {fault}", request.path, request.query));
        assert_eq!(identity.home.account.to_string(), "123456789012");
        assert_eq!(identity.home.region.as_str(), "us-east-1");
        assert_eq!(identity.principal.to_string(), "arn:aws:iam::123456789012:user/shop");
        assert_eq!(identity.sender_id(), "shop".into());
    }
    let elsewhere = json().edit("Authorization", "us-east-1", "eu-west-1").edit(
        "Authorization",
        "ee1fd662328a70e042e8dd8999067c7ba42ca81537ffadf10ab7d5d342e17d66",
        "e7cd5fa7a4f3c35f3fc5dce5ee42931e164b789cd68d7e44bbb6e9cc1e4ca15a",
    );
    assert_eq!(elsewhere.verify().unwrap().home.region.as_str(), "eu-west-1");
}

#[test]
fn the_second_request_uses_the_kept_key() {
    let credentials = credentials();
    let scope = KeyScope { date: "20231114", region: "us-east-1", service: "sqs" };
    let kept = |access_key| credentials.find(access_key).unwrap().keys.find(scope).is_some();
    let wrong = json().edit("Authorization", "Signature=e", "Signature=f");
    assert_eq!(wrong.verify_at(&credentials, NOW, false), Err(Fault::SignatureMismatch));
    assert!(!kept("AKIDEXAMPLE"), "a forger leaves nothing");
    for _ in 0..2 {
        assert!(json().verify_at(&credentials, NOW, false).is_ok());
        assert!(kept("AKIDEXAMPLE") && !kept("AKIDOTHER"));
    }
    assert_eq!(wrong.verify_at(&credentials, NOW, false), Err(Fault::SignatureMismatch));
}

#[test]
fn whatever_is_altered_the_signature_is_wrong() {
    let mismatch = Fault::SignatureMismatch;
    for altered in [
        Signed { body: b"{ }", ..json() },
        Signed { body: b"", ..json() },
        Signed { method: "PUT", ..json() },
        Signed { path: "/123456789012/orders", ..json() },
        Signed { query: "Action=DeleteQueue".into(), ..json() },
        json().with("X-Amz-Target", "AmazonSQS.DeleteQueue"),
        json().with("Content-Type", "application/json"),
        json().with("Host", "localhost:9325"),
        json().with("X-Amz-Date", "20231114T221321Z"),
        json()
            .with("X-Amz-Content-SHA256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        json().with("X-Amz-Content-SHA256", UNSIGNED_PAYLOAD),
        json().with("X-Amz-Content-SHA256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
        json().edit("Authorization", "Signature=e", "Signature=f"),
        json().edit("Authorization", "d66", "d6"),
        json().edit("Authorization", "d66", "d66d66"),
        json().edit("Authorization", "d66", "dxx"),
        json().edit("Authorization", "AKIDEXAMPLE", "AKIDOTHER"),
        json().edit("Authorization", "us-east-1", "eu-west-1"),
        json().edit("Authorization", "content-type;", ""),
        presigned().edit_query("ListQueues", "DeleteQueue"),
        presigned().edit_query("a%20b", "a"),
        presigned().edit_query("3600", "3601"),
        presigned().edit_query("Version=2012-11-05&", ""),
        presigned().edit_query("Action=", "x=y&Action="),
        presigned().edit_query("4c4", "4c5"),
        presigned().with("Host", "elsewhere"),
        Signed { body: b"x", ..presigned() },
        Signed { path: "/x", ..presigned() },
    ] {
        assert_eq!(altered.verify(), Err(mismatch.clone()), "{} {:?}", altered.query, altered.headers);
    }
    // A second header of a signed name counts as part of its value.
    let mut twice = json();
    twice.headers.push(("x-amz-target", "AmazonSQS.DeleteQueue".into()));
    assert_eq!(twice.verify(), Err(mismatch));
    // What is only spelled otherwise is the same request.
    assert!(presigned().edit_query("a%20b", "a+b").verify().is_ok());
    assert!(json().with("Host", "  localhost:9324 ").verify().is_ok());
    assert!(json().with("Not-Signed", "x").verify().is_ok());
}

/// The digest that was signed is one thing, the body that came another.
#[test]
fn a_signed_digest_must_be_that_of_the_body() {
    let declared = [
        ("X-Amz-Target", "AmazonSQS.ListQueues"),
        ("Content-Type", JSON),
        ("X-Amz-Content-SHA256", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
    ];
    let request = signed(
        "POST",
        "/",
        &declared,
        b"{}",
        "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-target",
        "c6ac246356daca6a815edd78c9fbdce1d8526fed04a5684ab5b380c6f1e91a95",
    );
    assert!(request.verify().is_ok());
    assert_eq!(Signed { body: b"{ }", ..request }.verify(), Err(Fault::SignatureMismatch));
}

#[test]
fn what_matters_must_be_signed() {
    let text = "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.";
    assert_eq!(json().edit("Authorization", "host;", "").refusal(), text);
    assert_eq!(presigned().edit_query("=host", "=x-other").refusal(), text);
    let text = "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.";
    assert_eq!(json().edit("Authorization", ";x-amz-target", "").refusal(), text);
    assert_eq!(presigned().with("X-Amz-Target", "AmazonSQS.DeleteQueue").refusal(), text);
    let text = "'x-gone' is named as a SignedHeader, but it does not exist in the HTTP request.";
    assert_eq!(json().edit("Authorization", "host;", "host;x-gone;").refusal(), text);
    let many = "x;".repeat(200);
    assert_eq!(
        json().edit("Authorization", "host;", &format!("host;{many}")).refusal(),
        "The request has too many signed headers."
    );
}

#[test]
fn a_signature_is_good_for_a_while() {
    let at = |request: &Signed, seconds: i64| {
        let now = Timestamp::from_millis(NOW.as_millis().saturating_add_signed(seconds * 1_000));
        request.verify_at(&credentials(), now, false).map(drop).map_err(|fault| fault.to_string())
    };
    for (request, good, bad) in
        [(json(), [-900, 900], [-901, 901]), (presigned(), [-900, 3_600], [-901, 3_601])]
    {
        for seconds in good {
            assert_eq!(at(&request, seconds), Ok(()), "{seconds}");
        }
        for seconds in bad {
            assert!(at(&request, seconds).is_err(), "{seconds}");
        }
    }
    let text = "Signature expired: 20231114T221320Z is now earlier than 20231114T221321Z (20231114T222821Z - 15 min.)";
    assert_eq!(at(&json(), 901).unwrap_err(), text);
    let text = "Signature not yet current: 20231114T221320Z is still later than 20231114T221319Z (20231114T215819Z + 15 min.)";
    assert_eq!(at(&json(), -901).unwrap_err(), text);
    let text = "Signature expired: 20231114T221320Z is now earlier than 20231114T221321Z (20231114T231321Z - 3600 sec.)";
    assert_eq!(at(&presigned(), 3_601).unwrap_err(), text);
    // At the end of time nothing overflows.
    assert!(json().verify_at(&credentials(), Timestamp::ZERO, false).is_err());
    assert!(json().verify_at(&credentials(), Timestamp::MAX, false).is_err());
}

#[test]
fn the_life_of_a_presigned_request_is_bounded() {
    for (expires, text) in [
        ("0", "X-Amz-Expires must be greater than 0 seconds."),
        ("604801", "X-Amz-Expires must be less than a week"),
        ("999999999999999999999", "X-Amz-Expires should be a number."),
        ("-1", "X-Amz-Expires should be a number."),
        ("", "X-Amz-Expires should be a number."),
        ("1h", "X-Amz-Expires should be a number."),
    ] {
        let refusal = presigned().edit_query("3600", expires).refusal();
        assert!(refusal.starts_with(text), "{expires}: {refusal}");
    }
    // Without it, as long as any signature.
    let unlimited = presigned().edit_query("X-Amz-Expires=3600&", "");
    let late = Timestamp::from_millis(NOW.as_millis() + 901_000);
    assert!(matches!(unlimited.verify_at(&credentials(), late, false), Err(Fault::SignatureExpired { .. })));
    assert_eq!(presigned().edit_query("3600", "604800").verify(), Err(Fault::SignatureMismatch));
}

#[test]
fn the_scope_must_be_this_services() {
    for (from, to, text) in [
        ("us-east-1", "US-EAST-1", "Credential should be scoped to a valid region, not 'US-EAST-1'."),
        ("/sqs/", "/s3/", "Credential should be scoped to correct service: 'sqs'."),
        (
            "aws4_request",
            "aws5",
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5'.",
        ),
        (
            "/20231114/",
            "/20231115/",
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: \
             '20231115' != '20231114', from '20231114T221320Z'.",
        ),
        ("/sqs/", "/", "Credential must have exactly 5 slash-delimited elements"),
        ("/sqs/", "/sqs/sqs/", "Credential must have exactly 5 slash-delimited elements"),
        (
            "/20231114/us-east-1/sqs/aws4_request",
            "",
            "Credential must have exactly 5 slash-delimited elements",
        ),
    ] {
        let refusal = json().edit("Authorization", from, to).refusal();
        assert!(refusal.contains(text), "{to}: {refusal}");
    }
    let both = json().edit("Authorization", "/sqs/aws4_request", "/s3/x").refusal();
    assert!(both.contains("service: 'sqs'. Credential should be scoped with a valid terminator"), "{both}");
}

#[test]
fn an_unknown_key_and_a_session_token_are_refused_alike() {
    assert_eq!(
        json().edit("Authorization", "AKIDEXAMPLE", "AKIDNOBODY").verify(),
        Err(Fault::UnknownAccessKey)
    );
    assert_eq!(json().edit("Authorization", "AKIDEXAMPLE", "").verify(), Err(Fault::UnknownAccessKey));
    assert_eq!(presigned().edit_query("AKIDEXAMPLE", "AKIDNOBODY").verify(), Err(Fault::UnknownAccessKey));
    assert_eq!(json().with("X-Amz-Security-Token", "t").verify(), Err(Fault::UnknownAccessKey));
    assert_eq!(presigned().with("X-Amz-Security-Token", "t").verify(), Err(Fault::UnknownAccessKey));
}

#[test]
fn half_a_signature_is_told_what_it_lacks() {
    let header = |value: &str| json().with("Authorization", value).refusal();
    let all = "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' \
               parameter. Authorization header requires 'SignedHeaders' parameter.";
    for none in [
        "",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 ",
        "Bearer abc",
        "Basic YTpi",
        "x=y",
        "AWS4-HMAC-SHA256 a=b",
    ] {
        assert_eq!(header(none), all, "{none}");
    }
    assert_eq!(
        header("AWS4-HMAC-SHA256 Credential=a, Signature=, SignedHeaders=host"),
        "Authorization header requires 'Signature' parameter."
    );
    assert!(header("AWS4-HMAC-SHA256 Credential").contains("missing equal-sign"));
    assert!(header("AWS4-HMAC-SHA256 Credential= key/1/2/3/4").contains("missing equal-sign"));
    assert!(header("AWS4-HMAC-SHA256 Credential=a,Credential=b").contains("'Credential' parameter twice"));
    assert_eq!(header("AWS4-HMAC-SHA1 Credential=a"), "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA1'.");
    for version in ["AWS AKID:c2ln", "AWS3-HTTPS AWSAccessKeyId=a"] {
        assert!(header(version).contains("Please use AWS4-HMAC-SHA256."), "{version}");
    }
    let undated = json().without("X-Amz-Date").refusal();
    assert!(
        undated.ends_with("requires existence of either a 'X-Amz-Date' or a 'Date' header."),
        "{undated}"
    );
    let date = json().with("X-Amz-Date", "Tue, 14 Nov 2023 22:13:20 GMT").refusal();
    assert!(date.starts_with("Date must be in ISO-8601 'basic format'. Got 'Tue, 14"), "{date}");

    let query = |query: &str| Signed { query: query.to_owned(), ..presigned() }.refusal();
    assert_eq!(
        query("X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=&X-Amz-Date=x"),
        "AWS query-string parameters must include 'X-Amz-Credential'. AWS query-string parameters must include \
         'X-Amz-Signature'. AWS query-string parameters must include 'X-Amz-SignedHeaders'. Re-examine the \
         query-string parameters."
    );
    let empty = presigned().edit_query("SignedHeaders=host", "SignedHeaders=").refusal();
    assert_eq!(
        empty,
        "AWS query-string parameters must include 'X-Amz-SignedHeaders'. Re-examine the query-string parameters."
    );
    assert!(presigned().edit_query("HMAC-SHA256", "MD5").refusal().contains("'AWS4-MD5'"));
    assert_eq!(presigned().with("Authorization", "Bearer x").verify(), Err(Fault::TwoSignatures));
}

#[test]
fn no_signature_is_denied_and_version_2_told_apart() {
    let unsigned = json().without("Authorization");
    assert_eq!(unsigned.refusal(), "Access to the resource http://localhost:9324/ is denied.");
    let on_path = Signed { path: "/123456789012/orders", ..unsigned.clone() };
    assert_eq!(
        on_path.refusal(),
        "Access to the resource http://localhost:9324/123456789012/orders is denied."
    );
    let form = "application/x-www-form-urlencoded";
    let version_2 = Signed { body: b"Action=ListQueues&AWSAccessKeyId=a&Signature=b", ..unsigned.clone() };
    assert!(matches!(version_2.verify(), Err(Fault::Unsigned { .. })), "not in JSON");
    for version_2 in [
        version_2.with("Content-Type", form),
        Signed { query: "Action=ListQueues&AWSAccessKeyId=a&SignatureVersion=2".into(), ..unsigned },
    ] {
        assert!(version_2.refusal().contains("Please use AWS4-HMAC-SHA256."));
    }
}

#[test]
fn a_trusted_proxy_tells_the_host_that_was_signed() {
    let through_proxy = json().with("Host", "backend:80").with("X-Forwarded-Host", "localhost:9324");
    assert_eq!(through_proxy.verify(), Err(Fault::SignatureMismatch));
    assert!(through_proxy.verify_at(&credentials(), NOW, true).is_ok());
}

#[test]
fn no_refusal_tells_a_secret_or_the_right_signature() {
    for request in
        [json().edit("Authorization", "Signature=e", "Signature=f"), json().with("Authorization", "AWS4-X")]
    {
        let refusal = request.refusal();
        assert!(!refusal.contains("wJalr") && !refusal.contains("ee1fd"), "{refusal}");
    }
    assert_eq!(Duration::from_secs(900), SKEW);
}
