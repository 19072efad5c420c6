//! Goal: what operators and their tools look at is right, and in the form that they parse.

use crate::support::http::{Connection, get, request};
use crate::support::server::{Server, Setup};
use crate::support::sqs::errors::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::thread;

#[test]
fn both_listeners_say_that_they_are_healthy() {
    let server = Setup::new().start();
    for address in [server.endpoint, server.console] {
        let answer = get(address, "/health");
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"));
    }
    let ready = server.page("/ready");
    assert_eq!((ready.status, ready.text().as_str()), (200, "ready\n"));
}

#[test]
fn the_operators_listener_serves_its_pages_and_nothing_else() {
    let server = Setup::new().start();
    assert_eq!(server.page("/nothing").status, 404);
    assert_eq!(server.page("//").status, 404);
    let mut connection = Connection::open(server.console).unwrap();
    let json = ("Content-Type", "application/json");
    for (method, status) in [("POST", 405), ("DELETE", 405), ("GET", 200)] {
        connection.write(&request(method, "/ready", &[json], b"")).unwrap();
        assert_eq!(connection.read().unwrap().status, status, "{method}");
    }
    let headers = [("X-Amz-Target", "AmazonSQS.CreateQueue"), json];
    connection.write(&request("POST", "/", &headers, b"{\"QueueName\":\"q\"}")).unwrap();
    assert_eq!(connection.read().unwrap().status, 405, "the API is not served here");
    // Neither are the operators' pages on the API's listener.
    assert_eq!(get(server.endpoint, "/metrics").status, 404);
    assert_eq!(server.metric("tidegate_queues"), Some(0.0));
}

const TOKEN: &str = "a-token-of-this-test";

/// Status, challenge and text of one request with this `Authorization`, if any.
fn ask(server: &Server, method: &str, path: &str, authorization: Option<&str>) -> (u16, bool, String) {
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(authorization.map(|value| ("Authorization", value)));
    let mut connection = Connection::open(server.console).unwrap();
    connection.write(&request(method, path, &headers, b"")).unwrap();
    let answer = connection.read().unwrap();
    let challenge = answer.header("www-authenticate") == Some("Basic realm=\"tidegate\"");
    (answer.status, challenge, answer.text())
}

#[test]
fn a_token_guards_everything_but_the_probes() {
    let server = Setup::new().env("TIDEGATE_ADMIN_TOKEN", TOKEN).env("TIDEGATE_LOG_LEVEL", "trace").start();
    server.client().create("q");
    let bearer = format!("Bearer {TOKEN}");
    // `anyone:a-token-of-this-test`, and the same with another last letter.
    let basic = "Basic YW55b25lOmEtdG9rZW4tb2YtdGhpcy10ZXN0";
    let basic_wrong = "Basic YW55b25lOmEtdG9rZW4tb2YtdGhpcy10ZXNz";
    for (path, found) in [("/", 200), ("/metrics", 200), ("/nothing", 404), ("/api/anything", 404)] {
        assert_eq!(ask(&server, "GET", path, Some(&bearer)).0, found, "{path}");
        assert_eq!(ask(&server, "GET", path, Some(basic)).0, found, "{path}");
        for wrong in [None, Some("Bearer wrong-but-long-enough"), Some(basic_wrong), Some(TOKEN)] {
            for method in ["GET", "POST", "DELETE"] {
                let (status, challenge, text) = ask(&server, method, path, wrong);
                assert_eq!((status, challenge), (401, true), "{method} {path} {wrong:?}");
                assert!(text.contains("token") && !text.contains(TOKEN), "{text}");
            }
        }
    }
    for path in ["/health", "/ready"] {
        assert_eq!(ask(&server, "GET", path, None).0, 200, "{path}");
    }
    assert_eq!(get(server.endpoint, "/health").status, 200);
    let log = server.log();
    assert!(log.contains("refused a request to the operators' listener"), "{log}");
    assert!(!log.contains(TOKEN) && !log.contains(&basic[6..]) && !server.banner.contains(TOKEN), "{log}");
}

#[test]
fn other_sites_cannot_make_a_browser_change_anything() {
    let server = Setup::new().start();
    let host = server.console.to_string();
    let json = ("Content-Type", "application/json");
    for (headers, status) in [
        (&[json][..], 405),
        (&[json, ("Host", &host), ("Origin", &format!("http://{host}"))], 405),
        (&[json, ("Origin", "https://evil.example")], 403),
        (&[json, ("Sec-Fetch-Site", "cross-site")], 403),
        (&[json, ("Host", "evil.example")], 403),
        (&[("Content-Type", "application/x-www-form-urlencoded")], 415),
        (&[], 415),
    ] {
        let mut connection = Connection::open(server.console).unwrap();
        connection.write(&request("POST", "/", headers, b"{}")).unwrap();
        assert_eq!(connection.read().unwrap().status, status, "{headers:?}");
    }
}

#[test]
fn a_reachable_operators_listener_needs_a_token() {
    let reachable = || Setup::new().arg("--admin").arg("0.0.0.0:0");
    let (status, text) = reachable().arg("--allow-anonymous").start_refused();
    assert_eq!(status.code(), Some(1), "{text}");
    for expected in ["flag --admin: `admin` is 0.0.0.0:0", "TIDEGATE_ADMIN_TOKEN", "`admin_token_file`"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let (_, text) = reachable().env("TIDEGATE_ADMIN_TOKEN", "short-secret").start_refused();
    assert!(text.contains("must be 16 to 256 ASCII characters") && !text.contains("short-secret"), "{text}");

    let setup = reachable();
    fs::write(setup.file("token"), format!("{TOKEN}\n")).unwrap();
    let file = setup.file("token").to_str().unwrap().to_owned();
    let mut server = setup.env("TIDEGATE_ADMIN_TOKEN_FILE", &file).start();
    server.console.set_ip([127, 0, 0, 1].into());
    assert_eq!(ask(&server, "GET", "/", None).0, 401);
    assert_eq!(ask(&server, "GET", "/", Some(&format!("Bearer {TOKEN}"))).0, 200);
    let log = server.log();
    assert!(log.contains("operators' tokens cross the network unencrypted") && !log.contains(TOKEN), "{log}");
}

#[test]
fn the_page_shows_the_queues() {
    let server = Setup::new().start();
    let empty = server.page("/");
    assert_eq!((empty.status, empty.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(empty.text().contains("No queues yet"), "{}", empty.text());
    let client = &mut server.client();
    for name in ["first-queue", "second_queue"] {
        client.create(name);
    }
    client.send("first-queue", "<script>alert(1)</script>");
    let page = server.page("/").text();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
    for expected in ["first-queue", "second_queue", "us-east-1", &format!("http://{}", server.endpoint)] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    for left_over in ["<script>", "{endpoint}", "{version}", "{waiting}", "{note}", "{rows}"] {
        assert!(!page.contains(left_over), "{left_over}: {page}");
    }
}

#[test]
fn metrics_are_well_formed_and_count_what_happened() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    for _ in 0..5 {
        client.send("q", "m");
    }
    client.call("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "m", "DelaySeconds": 900 }));
    client.call("ReceiveMessage", json!({ "QueueUrl": "q", "MaxNumberOfMessages": 2 }));
    client.json("GetQueueUrl", &json!({ "QueueName": "nope" })).assert_error(QUEUE_MISSING);
    client.query("GetQueueUrl", &[("QueueName", "nope")]).assert_error(QUEUE_MISSING);
    client.json("Nonsense", &json!({})).assert_error(UNKNOWN_ACTION);
    thread::scope(|scope| {
        let empty = client.create("empty");
        let waiting = scope.spawn({
            let body = json!({ "QueueUrl": empty, "WaitTimeSeconds": 20 });
            let server = &server;
            move || server.client().json("ReceiveMessage", &body).status
        });
        server.wait_for_polls(1);
        client.send("empty", "m");
        assert_eq!(waiting.join().unwrap(), 200);
    });

    let answer = server.page("/metrics");
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    let metrics = parse(&answer.text());
    let requests = |action: &str, code: &str| {
        let sample = format!("tidegate_requests_total{{action=\"{action}\",code=\"{code}\"}}");
        metrics.samples.get(&sample).copied().unwrap_or_default()
    };
    assert_eq!(requests("CreateQueue", "ok"), 2.0);
    assert_eq!(requests("SendMessage", "ok"), 7.0);
    assert_eq!(requests("ReceiveMessage", "ok"), 2.0);
    assert_eq!(requests("GetQueueUrl", "AWS.SimpleQueueService.NonExistentQueue"), 2.0);
    assert_eq!(requests("unknown", "InvalidAction"), 1.0);
    let sent = metrics.samples["tidegate_request_duration_seconds_count{action=\"SendMessage\"}"];
    assert_eq!(sent, 7.0);
    for (state, count) in [("visible", 3.0), ("in_flight", 2.0), ("delayed", 1.0)] {
        let labels = format!("account=\"000000000000\",region=\"us-east-1\",queue=\"q\",state=\"{state}\"");
        assert_eq!(metrics.samples[&format!("tidegate_messages{{{labels}}}")], count);
    }
    assert_eq!(metrics.samples["tidegate_queues"], 2.0);
    assert_eq!(metrics.samples["tidegate_queues_unlisted"], 0.0);
    assert_eq!(metrics.samples["tidegate_waiting_receives"], 0.0);
    assert_eq!(metrics.samples["tidegate_storage_full"], 0.0);
    assert!(metrics.samples["tidegate_connections"] >= 1.0, "this test's own");
    assert!(metrics.samples["tidegate_log_append_seconds_count"] >= 10.0);
    assert!(metrics.samples["tidegate_log_appended_bytes_total"] >= 100.0);
    assert!(metrics.samples["tidegate_process_resident_memory_bytes"] >= 1_000_000.0);
    for (family, kind) in [
        ("tidegate_requests", "counter"),
        ("tidegate_request_duration_seconds", "histogram"),
        ("tidegate_connections", "gauge"),
        ("tidegate_log_append_seconds", "histogram"),
        ("tidegate_log_appended_bytes", "counter"),
        ("tidegate_log_disk_bytes", "gauge"),
        ("tidegate_messages", "gauge"),
        ("tidegate_oldest_message_age_seconds", "gauge"),
    ] {
        assert_eq!(metrics.families.get(family).map(String::as_str), Some(kind), "{family}");
    }
}

#[test]
fn metrics_count_the_noisy_tenants_of_each_queue() {
    let server = Setup::new().start();
    let client = &mut server.client();
    client.create("q");
    let noisy = || {
        let metrics = parse(&server.page("/metrics").text());
        assert_eq!(metrics.families.get("tidegate_noisy_tenants").map(String::as_str), Some("gauge"));
        let labels = "account=\"000000000000\",region=\"us-east-1\",queue=\"q\"";
        metrics.samples[&format!("tidegate_noisy_tenants{{{labels}}}")]
    };
    for _ in 0..30 {
        client
            .call("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "m", "MessageGroupId": "tenant" }));
    }
    for _ in 0..3 {
        assert_eq!(noisy(), 0.0);
        client.call("ReceiveMessage", json!({ "QueueUrl": "q", "MaxNumberOfMessages": 10 }));
    }
    assert_eq!(noisy(), 1.0);
}

/// An exposition, taken apart.
struct Metrics {
    /// Type by family.
    families: BTreeMap<String, String>,
    /// Value by name with labels.
    samples: BTreeMap<String, f64>,
}

/// Parses the OpenMetrics text format, and checks what scrapers are strict about.
fn parse(text: &str) -> Metrics {
    let mut metrics = Metrics { families: BTreeMap::new(), samples: BTreeMap::new() };
    let mut current = String::new();
    let body = text.strip_suffix("# EOF\n").expect("it ends with the end mark");
    for line in body.lines() {
        assert!(!line.is_empty(), "no empty lines");
        if let Some(comment) = line.strip_prefix("# ") {
            let [keyword, family, rest] = comment.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            match keyword {
                "TYPE" => {
                    assert!(["counter", "gauge", "histogram"].contains(&rest), "{line}");
                    let known = metrics.families.insert(family.to_owned(), rest.to_owned());
                    assert!(known.is_none(), "a family stands in one place: {line}");
                    family.clone_into(&mut current);
                }
                "UNIT" => assert!(family.ends_with(&format!("_{rest}")), "{line}"),
                "HELP" => {
                    if family != current {
                        family.clone_into(&mut current);
                    }
                    assert!(!rest.is_empty(), "{line}");
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        let name = sample.split('{').next().unwrap();
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
        check_labels(sample[name.len()..].as_ref(), line);
        let suffix = name.strip_prefix(&current).unwrap_or_else(|| panic!("{line} stands under {current}"));
        let allowed: &[&str] = match metrics.families[&current].as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            _ => &["_bucket", "_sum", "_count"],
        };
        assert!(allowed.contains(&suffix), "{line}");
        assert!(value >= 0.0, "{line}");
        assert!(metrics.samples.insert(sample.to_owned(), value).is_none(), "given twice: {line}");
    }
    metrics
}

/// `{name="value",…}` or nothing; the values that we write hold neither quotes nor backslashes.
fn check_labels(labels: &str, line: &str) {
    if labels.is_empty() {
        return;
    }
    let inner = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    for label in inner.unwrap_or_else(|| panic!("{line}")).split(',') {
        let (name, value) = label.split_once('=').unwrap_or_else(|| panic!("{line}"));
        assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
        let value = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        assert!(value.is_some_and(|value| !value.contains(['"', '\\', '\n'])), "{line}");
    }
}
