//! Goal: with a certificate everything is encrypted and nothing is served in plain text; the certificate can be
//! replaced under load; and who shakes hands badly takes nothing away from those who do it well.

use crate::support::http::{Connection, get, request};
use crate::support::server::{CERTIFICATE, KEY, Server, Setup};
use crate::support::sqs::JSON;
use crate::support::tls::{Authority, Issued, self_signed};
use crate::support::wait_until;
use rustls::version::{TLS12, TLS13};
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

// Of the TLS protocol: types of records, and what an alert says.
const HANDSHAKE: u8 = 22;
const ALERT: u8 = 21;
const FATAL: u8 = 2;
const PROTOCOL_VERSION: u8 = 70;

/// One GET on an encrypted connection of its own.
fn get_tls(address: SocketAddr, authority: &Authority, target: &str) -> crate::support::http::Answer {
    let mut connection = Connection::open_tls(address, authority.trust()).unwrap();
    connection.write(&request("GET", target, &[], b"")).unwrap();
    connection.read().unwrap()
}

/// The certificate that a new connection is shown.
fn shown(server: &Server, authority: &Authority) -> Vec<u8> {
    let connection = Connection::open_tls(server.endpoint, authority.trust()).unwrap();
    connection.session().peer_certificates().unwrap()[0].to_vec()
}

/// What a server answers to bytes that are no handshake, until it closes.
fn answer_to(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut connection = Connection::open(address).unwrap();
    // It may be closed before it has taken everything.
    let _ = connection.write(bytes);
    match connection.bytes_to_end() {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn both_listeners_are_encrypted_and_queue_urls_say_so() {
    let authority = Authority::new();
    let server = Setup::new().tls(&authority.issue()).start();
    let client = &mut server.tls_client(&authority);
    let host = [("Host", "queue.example:9324")];
    let url = "https://queue.example:9324/000000000000/q";
    let body = json!({ "QueueName": "q" }).to_string();
    let target = |action| [("X-Amz-Target", action), ("Content-Type", JSON), host[0]];
    let created = client.exchange("POST", "/", &target("AmazonSQS.CreateQueue"), body.as_bytes());
    assert_eq!(created.json()["QueueUrl"], url);
    let query = client.exchange("GET", "/?Action=GetQueueUrl&QueueName=q", &host, b"").text();
    assert!(query.contains(&format!("<QueueUrl>{url}</QueueUrl>")), "{query}");
    // A whole life of a message that is larger than a TLS record.
    client.send("q", &"x".repeat(200_000));
    assert_eq!(client.receive("q", 0)[0]["Body"].as_str().unwrap().len(), 200_000);

    let page = get_tls(server.console, &authority, "/").text();
    let endpoint = format!("https://{}", server.endpoint);
    assert!(page.contains(&endpoint), "{page}");
    for expected in [format!("endpoint  {endpoint}"), format!("console   https://{}", server.console)] {
        assert!(server.banner.contains(&expected), "{}", server.banner);
    }
    assert!(
        !server.banner.contains("http://") && !server.banner.contains("AWS_CA_BUNDLE"),
        "{}",
        server.banner
    );
    server.stop();
}

#[test]
fn the_operators_listener_can_stay_plain() {
    let authority = Authority::new();
    let server = Setup::new().tls(&authority.issue()).env("TIDEGATE_ADMIN_TLS", "false").start();
    server.tls_client(&authority).create("q");
    assert_eq!(server.metric("tidegate_queues"), Some(1.0));
    assert!(server.banner.contains(&format!("console   http://{}", server.console)), "{}", server.banner);
}

#[test]
fn versions_1_2_and_1_3_are_spoken_with_http_1_1_on_top() {
    let authority = Authority::new();
    let server = Setup::new().tls(&authority.issue()).start();
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(authority.trust_with(&[version], &["h2", "http/1.1"]));
        let mut connection = Connection::open_tls(server.endpoint, config).unwrap();
        assert_eq!(connection.session().protocol_version(), Some(version.version));
        assert_eq!(connection.session().alpn_protocol(), Some(&b"http/1.1"[..]));
        connection.write(&request("GET", "/health", &[], b"")).unwrap();
        assert_eq!(connection.read().unwrap().status, 200);
    }
    // Old clients name no protocol at all; others name one that is not spoken here.
    for (protocols, accepted) in [(&[][..], true), (&["h2"][..], false)] {
        let config = Arc::new(authority.trust_with(&[&TLS13], protocols));
        assert_eq!(Connection::open_tls(server.endpoint, config).is_ok(), accepted, "{protocols:?}");
    }
}

#[test]
fn plain_http_is_not_served_and_told_nothing() {
    let authority = Authority::new();
    let server = Setup::new().tls(&authority.issue()).start();
    for address in [server.endpoint, server.console] {
        let headers = [("X-Amz-Target", "AmazonSQS.CreateQueue"), ("Content-Type", JSON)];
        for bytes in [
            request("GET", "/health", &[], b""),
            request("POST", "/", &headers, br#"{"QueueName":"q"}"#),
            vec![0; 20_000],
            vec![0xff; 20_000],
        ] {
            let answer = answer_to(address, &bytes);
            assert!(answer.is_empty() || (answer[0] == ALERT && answer.len() == 7), "{answer:?}");
        }
    }
    let urls = server.tls_client(&authority).call("ListQueues", json!({}));
    assert_eq!(urls, json!({}), "nothing was done");
}

/// A `ClientHello` that asks for this version (`[3, 2]` is TLS 1.1), written out by hand: no library of today asks for
/// the old ones.
fn client_hello(version: [u8; 2]) -> Vec<u8> {
    let mut hello = version.to_vec();
    hello.extend([7; 32]);
    // No session; ECDHE with ECDSA: AES-GCM as of 1.2, AES-CBC as of 1.0; no compression.
    hello.extend([0, 0, 4, 0xc0, 0x2b, 0xc0, 0x09, 1, 0]);
    // Extensions: the groups X25519 and P-256, signatures by P-256 with SHA-256.
    hello.extend([0, 18, 0, 10, 0, 6, 0, 4, 0, 29, 0, 23, 0, 13, 0, 4, 0, 2, 4, 3]);
    let mut record = vec![HANDSHAKE, 3, 1, 0, hello.len() as u8 + 4, 1, 0, 0, hello.len() as u8];
    record.extend(hello);
    record
}

#[test]
fn versions_before_1_2_are_refused() {
    let authority = Authority::new();
    let server = Setup::new().tls(&authority.issue()).start();
    for version in [[3, 0], [3, 1], [3, 2]] {
        let answer = answer_to(server.endpoint, &client_hello(version));
        assert_eq!((answer[0], &answer[5..]), (ALERT, &[FATAL, PROTOCOL_VERSION][..]), "{answer:?}");
    }
    let mut connection = Connection::open(server.endpoint).unwrap();
    connection.write(&client_hello([3, 3])).unwrap();
    connection.close_write();
    let answer = connection.bytes_to_end().unwrap();
    assert_eq!(answer[0], HANDSHAKE, "the version alone was the reason: {answer:?}");
}

#[test]
fn a_new_certificate_is_shown_to_new_connections_and_old_ones_go_on() {
    let authority = Authority::new();
    let [first, second, third] = [(); 3].map(|()| authority.issue());
    let setup = Setup::new().tls(&first);
    let server = setup.start();
    let old = &mut server.tls_client(&authority);
    old.create("q");
    assert_eq!(shown(&server, &authority), first.der);
    setup.replace_certificate(&second);
    server.hang_up();
    wait_until("the signal brings the new certificate", || shown(&server, &authority) == second.der);
    setup.replace_certificate(&third);
    wait_until("it is also found unasked", || shown(&server, &authority) == third.der);
    old.send("q", "on a connection from before");
    assert_eq!(server.tls_client(&authority).receive("q", 0).len(), 1);
    assert_eq!(server.log().matches("reloaded the TLS certificate").count(), 2, "{}", server.log());
}

#[test]
fn a_new_certificate_that_is_bad_leaves_the_old_one() {
    let authority = Authority::new();
    let (first, second) = (authority.issue(), authority.issue());
    let setup = Setup::new().tls(&first);
    let server = setup.start();
    let old = &mut server.tls_client(&authority);
    old.create("q");
    let errors = || server.log().matches("the old one stays").count();
    let breakages: [&dyn Fn(); 4] = [
        &|| fs::write(setup.file(KEY), &second.key).unwrap(),
        &|| fs::write(setup.file(CERTIFICATE), "-----BEGIN CERTIFICATE-----\nnonsense").unwrap(),
        &|| fs::write(setup.file(CERTIFICATE), "").unwrap(),
        &|| fs::remove_file(setup.file(KEY)).unwrap(),
    ];
    for (number, broken) in breakages.iter().enumerate() {
        setup.replace_certificate(&first);
        broken();
        server.hang_up();
        wait_until("the log says so", || errors() == number + 1);
        assert_eq!(shown(&server, &authority), first.der);
        old.send("q", "m");
    }
    setup.replace_certificate(&second);
    server.hang_up();
    wait_until("a good one is taken", || shown(&server, &authority) == second.der);
    assert_eq!(errors(), breakages.len());
}

/// Handshakes that do not end are given up after 10 s. Until then they hold a place, and nothing else.
#[test]
fn stalled_handshakes_hold_nobody_up_and_are_given_up() {
    let authority = Authority::new();
    let places = 40;
    let setup = Setup::new().tls(&authority.issue()).env("TIDEGATE_ADMIN_TLS", "false");
    let server = setup.env("TIDEGATE_CONNECTIONS_MAX", &places.to_string()).start();
    let client = &mut server.tls_client(&authority);
    client.create("q");
    let mut stalled: Vec<_> = (1..places)
        .map(|n| {
            let mut connection = Connection::open(server.endpoint).unwrap();
            // Some say nothing, some begin a handshake, some promise a long record.
            let begun: &[u8] = [&[][..], &[22, 3, 1], &[22, 3, 1, 0x3f, 0xff, 1, 0, 0]][n % 3];
            connection.write(begun).unwrap();
            connection
        })
        .collect();
    wait_until("all places are taken", || {
        server.metric("tidegate_connections") == Some(f64::from(places as u32))
    });
    for _ in 0..20 {
        client.send("q", "m");
    }
    // Others wait for a place, and get one although nobody has closed anything.
    server.tls_client(&authority).send("q", "m");
    for connection in &mut stalled {
        assert!(
            connection.bytes_to_end().is_ok_and(|bytes| bytes.is_empty()),
            "it was closed without a word"
        );
    }
}

#[test]
fn a_stop_waits_for_no_handshake() {
    let authority = Authority::new();
    let mut server = Setup::new().tls(&authority.issue()).start();
    let mut silent = Connection::open(server.endpoint).unwrap();
    let mut idle = server.tls_client(&authority);
    idle.create("q");
    server.terminate();
    assert_eq!(silent.read_to_end().unwrap(), 0);
    assert!(server.wait(std::time::Duration::from_secs(5)).success());
    assert!(!server.log().contains("grace period"), "{}", server.log());
}

#[test]
fn certificates_that_cannot_be_used_are_refused_at_start() {
    let authority = Authority::new();
    let (one, other) = (authority.issue(), authority.issue());
    let refused = |chain: &str, key: &str, expected: &str| {
        let issued = Issued { chain: chain.to_owned(), key: key.to_owned(), der: Vec::new() };
        let setup = Setup::new().tls(&issued);
        let (status, text) = setup.start_refused();
        assert_eq!(status.code(), Some(1), "{text}");
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(!setup.data_dir().exists(), "it is refused before anything is touched");
        text
    };
    refused("", &one.key, "certificate.pem holds no certificates in PEM form");
    refused(&one.key, &one.key, "certificate.pem holds no certificates in PEM form");
    refused(&one.chain, &one.chain, "key.pem holds no private key in PEM form");
    let broken = one.chain.replacen("MII", "!!!", 1);
    refused(&broken, &one.key, "certificate.pem holds no certificates in PEM form");
    refused(&one.chain, &other.key, "cannot be used with the key");
    let cut = one.key.replacen('M', "!", 1);
    let text = refused(&one.chain, &cut, "key.pem holds no private key in PEM form");
    assert!(!text.contains(&cut[30..60]), "no part of a key is shown: {text}");

    let setup = Setup::new().tls(&one);
    fs::remove_file(setup.file(KEY)).unwrap();
    let (_, text) = setup.start_refused();
    assert!(text.contains("`tls_key`: the file ") && text.contains("No such file"), "{text}");
    let (_, text) = Setup::new().env("TIDEGATE_TLS_CERTIFICATE", "/c.pem").start_refused();
    assert!(text.contains("`tls_certificate` is set, but `tls_key` is not"), "{text}");
}

#[test]
fn a_certificate_that_nobody_vouches_for_comes_with_a_hint() {
    let setup = Setup::new().tls(&self_signed());
    let server = setup.start();
    let hint = format!("export AWS_CA_BUNDLE={}", setup.file(CERTIFICATE).display());
    assert!(server.banner.contains(&hint), "{}", server.banner);
}

#[test]
fn no_log_holds_a_part_of_the_key() {
    let authority = Authority::new();
    let issued = authority.issue();
    let setup = Setup::new().tls(&issued).env("TIDEGATE_LOG_LEVEL", "trace");
    let server = setup.start();
    server.tls_client(&authority).create("q");
    answer_to(server.endpoint, b"GET / HTTP/1.1\r\n\r\n");
    setup.replace_certificate(&authority.issue());
    server.hang_up();
    wait_until("it is reloaded", || server.log().contains("reloaded the TLS certificate"));
    let log = server.log();
    assert!(log.contains("the TLS handshake failed") && log.contains("answered"), "{log}");
    for line in issued.key.lines().filter(|line| !line.starts_with("-----")) {
        assert!(!log.contains(&line[..16]), "{log}");
    }
}

#[test]
fn a_server_without_a_certificate_speaks_no_tls() {
    let authority = Authority::new();
    let server = Setup::new().start();
    assert!(Connection::open_tls(server.endpoint, authority.trust()).is_err());
    assert_eq!(get(server.endpoint, "/health").status, 200);
}
