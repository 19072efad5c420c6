//! Goal: with credentials configured, whoever cannot sign reaches nothing, and whoever can notices nothing.

use crate::support::http::{Answer, Connection, request};
use crate::support::server::{Server, Setup};
use crate::support::sign::Signer;
use crate::support::sqs::{Client, FORM, JSON};
use serde_json::json;

const CONFIG: &str = r#"
[[credentials]]
access_key = "AKIDSHOP"
secret_key = "shops+secret/with=signs"
account = "111122223333"
user = "shop"

[[credentials]]
access_key = "AKIDPLAIN"
secret_key = "another-secret"

[[queue]]
name = "declared"
account = "111122223333"
"#;

const DENIED: (u16, &str) = (403, "AccessDenied");
const UNKNOWN: (u16, &str) = (403, "InvalidClientTokenId");
const WRONG: (u16, &str) = (403, "SignatureDoesNotMatch");
const INCOMPLETE: (u16, &str) = (400, "IncompleteSignature");

fn start() -> Server {
    Setup::new().config(CONFIG).start()
}

fn shop() -> Signer {
    Signer::new("AKIDSHOP", "shops+secret/with=signs")
}

/// Status and code of an answer, in whichever dialect it is.
fn told(answer: &Answer) -> (u16, String) {
    let text = answer.text();
    let in_header = answer.header("x-amzn-query-error").and_then(|error| error.split(';').next());
    let in_body = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    (answer.status, in_header.or(in_body.map(|(code, _)| code)).unwrap_or_default().to_owned())
}

fn assert_told(answer: &Answer, (status, code): (u16, &str), what: &str) {
    assert_eq!(told(answer), (status, code.to_owned()), "{what}: {}", answer.text());
    for secret in ["shops+secret", "another-secret"] {
        assert!(!answer.text().contains(secret), "{what}: {}", answer.text());
    }
}

const LIST: &str = "Action=ListQueues&Version=2012-11-05";

#[test]
fn signed_requests_work_in_both_dialects_and_all_forms() {
    let server = start();
    let client = &mut server.client().signed_by(&shop());
    let queue = client.create("orders");
    assert!(queue.ends_with("/111122223333/orders"), "{queue}");
    client.send(&queue, "hello & more");
    let message = client.receive(&queue, 0).remove(0);
    assert_eq!(message["Attributes"]["SenderId"], "shop");
    assert_eq!(
        client.call("ListQueues", json!({}))["QueueUrls"].as_array().unwrap().len(),
        2,
        "and the declared one"
    );

    let answer = client.query("SendMessage", &[("QueueUrl", &queue), ("MessageBody", "form + body")]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer =
        client.exchange("GET", "/111122223333/orders?Action=SendMessage&MessageBody=a%20b", &[], b"");
    assert_eq!(answer.status, 200, "{}", answer.text());

    let anonymous = &mut server.client();
    let target =
        shop().presign("GET", "/111122223333/orders", "Action=SendMessage&MessageBody=c%20d", 60, b"");
    assert_eq!(anonymous.exchange("GET", &target, &[], b"").status, 200);
    let target = shop().presign("POST", "/", LIST, 604_800, b"");
    assert_eq!(anonymous.exchange("POST", &target, &[("Content-Type", FORM)], b"").status, 200);
    let bodies: Vec<_> = client.receive(&queue, 1).iter().map(|message| message["Body"].clone()).collect();
    assert_eq!(bodies, ["form + body", "a b", "c d"]);
}

#[test]
fn account_and_region_are_those_of_the_signature() {
    let server = start();
    let plain = Signer::new("AKIDPLAIN", "another-secret");
    let url = server.client().signed_by(&plain).create("mine");
    assert!(url.ends_with("/000000000000/mine"), "{url}");
    let abroad = Signer { region: "eu-west-1".to_owned(), ..shop() };
    let url = server.client().signed_by(&abroad).create("mine");
    assert!(url.ends_with("/eu-west-1/111122223333/mine"), "{url}");
    let client = &mut server.client().signed_by(&plain);
    let queue = client.create("whose");
    client.send(&queue, "x");
    assert_eq!(client.receive(&queue, 0)[0]["Attributes"]["SenderId"], "AKIDPLAIN");
}

#[test]
fn a_signature_that_is_not_right_is_refused_in_both_dialects() {
    let server = start();
    let late = |late_s| Signer { late_s, ..shop() };
    for (what, signer, expected) in [
        ("wrong secret", Signer::new("AKIDSHOP", "wrong"), WRONG),
        ("another's secret", Signer::new("AKIDSHOP", "another-secret"), WRONG),
        ("unknown key", Signer::new("AKIDNOBODY", "shops+secret/with=signs"), UNKNOWN),
        ("no key", Signer::new("", "x"), UNKNOWN),
        ("key with a slash", Signer::new("AKID/SHOP", "x"), INCOMPLETE),
        ("too old", late(-1_000), WRONG),
        ("of the future", late(1_000), WRONG),
        ("of 1970", late(-1_000_000_000_000), WRONG),
        ("of another service", Signer { service: "s3".to_owned(), ..shop() }, WRONG),
        ("of no region", Signer { region: "US".to_owned(), ..shop() }, WRONG),
        ("of another day", Signer { day: Some("20200101".to_owned()), ..shop() }, WRONG),
    ] {
        let client = &mut server.client().signed_by(&signer);
        assert_told(&client.json("ListQueues", &json!({})), expected, what);
        assert_told(&client.query("ListQueues", &[]), expected, what);
        assert_told(&client.exchange("GET", &format!("/?{LIST}"), &[], b""), expected, what);
        let target = signer.presign("GET", "/", LIST, 60, b"");
        assert_told(&server.client().exchange("GET", &target, &[], b""), expected, what);
    }
    let near = &mut server.client().signed_by(&late(-600));
    assert_eq!(near.json("ListQueues", &json!({})).status, 200, "ten minutes are near enough");
    let expired = late(-61).presign("GET", "/", LIST, 60, b"");
    assert_told(&server.client().exchange("GET", &expired, &[], b""), WRONG, "expired");
}

/// Sends what was signed, but for one change.
fn replay(server: &Server, change: &str) -> Answer {
    let (mut method, mut target, mut body) = ("POST", "/", br#"{"QueueNamePrefix":"a"}"#.as_slice());
    let mut headers =
        vec![("X-Amz-Target", "AmazonSQS.ListQueues"), ("Content-Type", JSON), ("Host", "queues.test")];
    let signature = shop().headers(method, target, &headers, body);
    headers.extend(signature.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    match change {
        "nothing" => {}
        "method" => method = "PUT",
        "path" => target = "/111122223333/orders",
        "query" => target = "/?Action=ListQueues",
        "body" => body = br#"{"QueueNamePrefix":"b"}"#,
        "no body" => body = b"",
        "action" => headers[0].1 = "AmazonSQS.CreateQueue",
        "second action" => headers.push(("X-Amz-Target", "AmazonSQS.CreateQueue")),
        "type" => headers[1].1 = "text/plain",
        "host" => headers[2].1 = "other.test",
        "date" => headers[3].1 = "20200101T000000Z",
        "no date" => drop(headers.remove(3)),
        "no signature" => drop(headers.pop()),
        "unsigned header" => headers.push(("X-Request-Id", "1")),
        other => panic!("no change is called {other}"),
    }
    let mut connection = Connection::open(server.endpoint).unwrap();
    connection.write(&request(method, target, &headers, body)).unwrap();
    connection.read().unwrap()
}

#[test]
fn a_signature_is_good_for_its_request_only() {
    let server = start();
    assert_eq!(replay(&server, "nothing").status, 200);
    assert_eq!(replay(&server, "unsigned header").status, 200);
    for change in
        ["method", "path", "query", "body", "no body", "action", "second action", "type", "host", "date"]
    {
        assert_told(&replay(&server, change), WRONG, change);
    }
    assert_told(&replay(&server, "no date"), INCOMPLETE, "no date");
    assert_told(&replay(&server, "no signature"), DENIED, "no signature");
    let presigned = shop().presign("GET", "/", LIST, 60, b"");
    for (from, to) in
        [("ListQueues", "CreateQueue"), ("Expires=60", "Expires=600"), ("Version", "Versio"), ("/?", "/x?")]
    {
        let changed = presigned.replace(from, to);
        assert_ne!(changed, presigned);
        assert_told(&server.client().exchange("GET", &changed, &[], b""), WRONG, &changed);
    }
}

#[test]
fn malformed_signatures_are_refused() {
    let server = start();
    for (header, expected) in [
        ("", INCOMPLETE),
        (" ", INCOMPLETE),
        ("AWS4-HMAC-SHA256", INCOMPLETE),
        ("AWS4-HMAC-SHA256 Credential=AKIDSHOP", INCOMPLETE),
        ("AWS4-HMAC-SHA256 Credential=,SignedHeaders=,Signature=", INCOMPLETE),
        ("AWS4-HMAC-SHA256 garbage", INCOMPLETE),
        ("AWS4-HMAC-SHA256 =,=,=", INCOMPLETE),
        ("AWS4-HMAC-SHA512 Credential=a", INCOMPLETE),
        ("aws4-hmac-sha256 Credential=a", INCOMPLETE),
        ("AWS AKIDSHOP:c2lnbmF0dXJl", INCOMPLETE),
        ("Basic YTpi", INCOMPLETE),
        ("Bearer AKIDSHOP", INCOMPLETE),
        ("AWS4-HMAC-SHA256 Credential=a/b/c/d/e,SignedHeaders=host;x-amz-target,Signature=0", WRONG),
        // No header that a program could read: as good as none.
        ("AWS4-HMAC-SHA256 \u{e4}", DENIED),
    ] {
        let date = shop().headers("GET", "/", &[], b"")[0].1.clone();
        let client =
            &mut server.client().with_header("Authorization", header).with_header("X-Amz-Date", &date);
        assert_told(&client.json("ListQueues", &json!({})), expected, header);
        assert_told(&client.query("ListQueues", &[]), expected, header);
    }
    for query in
        ["X-Amz-Algorithm=AWS4-HMAC-SHA256", "X-Amz-Signature=00", "X-Amz-Credential=a", "AWSAccessKeyId=a"]
    {
        let answer = server.client().exchange("GET", &format!("/?{LIST}&{query}"), &[], b"");
        assert_told(&answer, INCOMPLETE, query);
    }
    let version_2 = "Action=ListQueues&AWSAccessKeyId=AKIDSHOP&SignatureVersion=2&Signature=x";
    let answer = server.client().exchange("POST", "/", &[("Content-Type", FORM)], version_2.as_bytes());
    assert_told(&answer, INCOMPLETE, version_2);
    let token = &mut server.client().signed_by(&shop()).with_header("X-Amz-Security-Token", "token");
    assert_told(&token.json("ListQueues", &json!({})), UNKNOWN, "session token");
}

const ACTIONS: [&str; 23] = [
    "AddPermission",
    "CancelMessageMoveTask",
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
    "CreateQueue",
    "DeleteMessage",
    "DeleteMessageBatch",
    "DeleteQueue",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "ListMessageMoveTasks",
    "ListQueueTags",
    "ListQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "RemovePermission",
    "SendMessage",
    "SendMessageBatch",
    "SetQueueAttributes",
    "StartMessageMoveTask",
    "TagQueue",
    "UntagQueue",
];

/// What a stranger gets for a request, without what it said itself.
fn strange(client: &mut Client, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) {
    let what = format!("{method} {target}");
    let answer = client.exchange(method, target, headers, body);
    assert_told(&answer, DENIED, &what);
    let path = target.split('?').next().unwrap();
    let text = format!("Access to the resource http://127.0.0.1{path} is denied.");
    assert!(answer.text().contains(&text), "{what}: {}", answer.text());
}

#[test]
fn a_stranger_reaches_nothing_but_health() {
    let server = start();
    let client = &mut server.client();
    let health = client.exchange("GET", "/health", &[], b"");
    assert_eq!((health.status, health.text().as_str()), (200, "ok\n"));
    for path in ["/", "/111122223333/declared", "/111122223333/missing", "/health"] {
        for action in ACTIONS.into_iter().chain(["Nope", ""]) {
            let target = format!("AmazonSQS.{action}");
            let json = [("X-Amz-Target", target.as_str()), ("Content-Type", JSON)];
            let queue = json!({ "QueueUrl": "http://127.0.0.1/111122223333/declared" }).to_string();
            for body in [queue.as_bytes(), b"{}", b"{", b"", b"\xff"] {
                strange(client, "POST", path, &json, body);
            }
            let form = format!("Action={action}&Version=2012-11-05");
            strange(client, "POST", path, &[("Content-Type", FORM)], form.as_bytes());
            strange(
                client,
                "POST",
                path,
                &[("Content-Type", FORM)],
                format!("{form}&%zz&a.b.c=d").as_bytes(),
            );
            if path != "/health" {
                strange(client, "GET", &format!("{path}?{form}"), &[], b"");
            }
        }
    }
    for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        for target in
            ["/", "/favicon.ico", "/metrics", "/ready", "/health/", "/../health", "/111122223333/declared"]
        {
            strange(client, method, target, &[], b"");
        }
    }
    let longest = server.client().signed_by(&shop()).call("ListQueues", json!({}));
    assert_eq!(longest["QueueUrls"].as_array().unwrap().len(), 1, "nothing was made");
}

#[test]
fn secrets_are_not_logged() {
    let server = Setup::new().config(CONFIG).env("TIDEGATE_LOG_LEVEL", "trace").start();
    assert_eq!(server.client().signed_by(&shop()).json("ListQueues", &json!({})).status, 200);
    assert_eq!(
        server.client().signed_by(&Signer::new("AKIDSHOP", "x")).json("ListQueues", &json!({})).status,
        403
    );
    let log = server.log();
    assert!(log.contains("answered") && !log.contains("secret"), "{log}");
}
