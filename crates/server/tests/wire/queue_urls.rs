//! Goal: everyone gets queue URLs under the host by which they reached the server, and all of them mean the same
//! queue.

use crate::support::server::{Server, Setup};
use crate::support::sqs::Client;
use serde_json::json;

/// The URL of `q` in every answer that has one, asked for with these headers.
fn urls(server: &Server, headers: &[(&str, &str)]) -> Vec<String> {
    let add = |client: Client, (name, value): &(&str, &str)| client.with_header(name, value);
    let client = &mut headers.iter().fold(server.client(), add);
    let json = |url: &serde_json::Value| url.as_str().unwrap().to_owned();
    vec![
        json(&client.call("CreateQueue", json!({ "QueueName": "q" }))["QueueUrl"]),
        json(&client.call("GetQueueUrl", json!({ "QueueName": "q" }))["QueueUrl"]),
        json(&client.call("ListQueues", json!({}))["QueueUrls"][0]),
        client.query_call("CreateQueue", &[("QueueName", "q")]).texts("QueueUrl").remove(0),
        client.query_call("GetQueueUrl", &[("QueueName", "q")]).texts("QueueUrl").remove(0),
        client.query_call("ListQueues", &[]).texts("QueueUrl").remove(0),
    ]
}

#[track_caller]
fn check(server: &Server, headers: &[(&str, &str)], base: &str) {
    for url in urls(server, headers) {
        assert_eq!(url, format!("{base}/000000000000/q"), "{headers:?}");
    }
}

const PROXIED: [(&str, &str); 3] = [
    ("Host", "queue.internal:9324"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "queues.example.com"),
];

#[test]
fn urls_carry_the_host_that_the_caller_used() {
    let server = Setup::new().start();
    for host in ["queue.internal:9324", "127.0.0.1:9324", "[::1]:9324", "localhost", "tidegate_1:80"] {
        check(&server, &[("Host", host)], &format!("http://{host}"));
    }
    check(&server, &PROXIED, "http://queue.internal:9324");
    // What cannot be a host is not repeated to others.
    let own = format!("http://{}", server.endpoint);
    for host in ["", "evil\"/><script>", "user@host", "a b", "h/path"] {
        check(&server, &[("Host", host)], &own);
    }
}

#[test]
fn headers_of_a_proxy_count_only_when_they_are_trusted() {
    let mut setup = Setup::new();
    let server = setup.start();
    check(&server, &PROXIED, "http://queue.internal:9324");
    server.stop();

    setup = setup.env("TIDEGATE_TRUST_FORWARDED", "true");
    let server = setup.start();
    check(&server, &PROXIED, "https://queues.example.com");
    check(&server, &PROXIED[..1], "http://queue.internal:9324");
    check(&server, &PROXIED[..2], "https://queue.internal:9324");
    let chain = [("Host", "a"), ("X-Forwarded-Proto", "https, http"), ("X-Forwarded-Host", "b:8443, c")];
    check(&server, &chain, "https://b:8443");
    let strange = [("Host", "a"), ("X-Forwarded-Proto", "gopher"), ("X-Forwarded-Host", "b/../c")];
    check(&server, &strange, "http://a");
    server.stop();

    setup = setup.env("TIDEGATE_PUBLIC_URL", "https://public.example.com/sqs/");
    let server = setup.start();
    check(&server, &PROXIED, "https://public.example.com/sqs");
    check(&server, &[("Host", "[::1]:1")], "https://public.example.com/sqs");
    server.stop();
}

#[test]
fn every_url_of_a_queue_works_whatever_host_it_is_used_at() {
    let setup = Setup::new().env("TIDEGATE_TRUST_FORWARDED", "true");
    let server = setup.start();
    let hosts = ["queue.internal:9324", "127.0.0.1:9324", "[::1]:9324"];
    let mut all: Vec<String> = hosts.iter().flat_map(|host| urls(&server, &[("Host", host)])).collect();
    all.extend(urls(&server, &PROXIED));
    all.extend(
        [
            "https://proxy.example.com/some/prefix/000000000000/q",
            "http://queue.internal:9324/000000000000/q/",
            "/000000000000/q",
            "000000000000/q",
            "q",
            "https://sqs.us-east-1.amazonaws.com/000000000000/q",
            "https://us-east-1.queue.amazonaws.com/000000000000/q",
            "https://queue.amazonaws.com/000000000000/q",
            "http://x/us-east-1/000000000000/q",
        ]
        .map(str::to_owned),
    );
    all.sort();
    all.dedup();
    let mut sent = 0;
    for host in hosts {
        let client = &mut server.client().with_header("Host", host);
        for url in &all {
            client.send(url, "json");
            client.query_call("SendMessage", &[("QueueUrl", url), ("MessageBody", "query")]);
            sent += 2;
        }
        // SDKs send to the queue's own path, too, and a proxy may leave a prefix in front of it.
        for path in
            ["/000000000000/q", "/000000000000/q/", "/prefix/000000000000/q", "/us-east-1/000000000000/q"]
        {
            let answer = client.json_at(path, "SendMessage", br#"{"MessageBody":"by path"}"#);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            let target = format!("{path}?Action=SendMessage&MessageBody=by+path");
            let answer = client.exchange("GET", &target, &[], b"");
            assert_eq!(answer.status, 200, "{target}: {}", answer.text());
            sent += 2;
        }
    }
    assert_eq!(server.client().counts("q"), [sent, 0, 0]);
    assert_eq!(server.metric("tidegate_queues"), Some(1.0));
}

#[test]
fn the_parameter_wins_over_the_path() {
    let server = Setup::new().start();
    let client = &mut server.client();
    let (a, b) = (client.create("a"), client.create("b"));
    let body = json!({ "QueueUrl": b, "MessageBody": "for b" }).to_string();
    assert_eq!(client.json_at("/000000000000/a", "SendMessage", body.as_bytes()).status, 200);
    assert_eq!((client.counts(&a), client.counts(&b)), ([0, 0, 0], [1, 0, 0]));
}
