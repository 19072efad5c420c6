//! Goal: bytes that are hardly HTTP, or HTTP of an unusual kind, get the answer that HTTP has for them, or none.
//!
//! Where HTTP cannot answer, a closed connection is right. The server must serve as before in every case.

use crate::bad_requests::survive;
use crate::support::http::{Answer, Connection, request};
use crate::support::server::Server;
use crate::support::sqs::{JSON, errors::*};
use serde_json::json;
use std::io;

const LIST: [(&str, &str); 2] = [("X-Amz-Target", "AmazonSQS.ListQueues"), ("Content-Type", JSON)];

/// Sends bytes on a connection of their own and reads what comes back.
fn answer_to(server: &Server, bytes: &[u8]) -> io::Result<Answer> {
    let mut connection = Connection::open(server.endpoint)?;
    // A server that has seen enough closes before everything is sent.
    let _ = connection.write(bytes);
    connection.read()
}

/// The same, and then the end of what is sent.
fn answer_to_all(server: &Server, bytes: &[u8]) -> io::Result<Answer> {
    let mut connection = Connection::open(server.endpoint)?;
    let _ = connection.write(bytes);
    connection.close_write();
    connection.read()
}

/// Expects a status of 4xx, or a connection that is closed without an answer.
#[track_caller]
fn assert_refused(what: &str, answer: io::Result<Answer>) {
    match answer {
        Ok(answer) => assert!((400..500).contains(&answer.status), "{what}: {answer:?}"),
        Err(error) => assert!(
            matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset),
            "{what}: {error}"
        ),
    }
}

#[test]
fn what_is_not_http_is_refused() {
    survive(|server| {
        for bytes in [
            &b"\r\n\r\n\r\n\r\nx\r\n\r\n"[..],
            b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x01\x02\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET / HTTP/3.0\r\n\r\n",
            b"GET / HTTP/1.1 x\r\n\r\n",
            b"GET /\r\n\r\n",
            b"G\0T / HTTP/1.1\r\n\r\n",
            b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET  / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost\r\n\r\n",
            b"GET / HTTP/1.1\r\n: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: \0\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nx",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\nx",
            b"GET http:// HTTP/1.1\r\n\r\n",
            b"GET * HTTP/1.1\r\n\r\n",
            b"\xff\xfe\xfd\xfc\r\n\r\n",
        ] {
            assert_refused(&String::from_utf8_lossy(bytes), answer_to(server, bytes));
        }
        let noise: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert_refused("noise", answer_to(server, &noise));
    });
}

#[test]
fn heads_over_the_limits_are_refused_with_431() {
    survive(|server| {
        let head = |lines: String| format!("GET /health HTTP/1.1\r\nHost: x\r\n{lines}\r\n").into_bytes();
        let status = |bytes: Vec<u8>| answer_to(server, &bytes).map(|answer| answer.status).unwrap();
        let headers = |count: usize| (0..count).map(|n| format!("X-{n}: x\r\n")).collect::<String>();
        // A hundred headers are allowed, and 32 KiB.
        assert_eq!(status(head(headers(99))), 200);
        assert_eq!(status(head(headers(100))), 431);
        assert_eq!(status(head(headers(1_000))), 431);
        assert_eq!(status(head(headers(10_000))), 431);
        let long = |length: usize| head(format!("X: {}\r\n", "x".repeat(length)));
        assert_eq!(status(long(30_000)), 200);
        assert_eq!(status(long(40_000)), 431);
        assert_eq!(status(long(10_000_000)), 431);
        let target = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(100_000));
        let refused = answer_to(server, target.as_bytes()).unwrap().status;
        assert!([414, 431].contains(&refused), "{refused}");
        let endless = [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 1_000_000]].concat();
        assert_eq!(status(endless), 431, "it does not wait for the end of the line");
    });
}

#[test]
fn clients_that_stop_sending_in_the_middle_are_let_go() {
    survive(|server| {
        let body = json!({ "QueueUrl": "q", "MessageBody": "x".repeat(1000) }).to_string();
        let headers = [("X-Amz-Target", "AmazonSQS.SendMessage"), ("Content-Type", JSON)];
        let whole = request("POST", "/", &headers, body.as_bytes());
        let chunked = [
            ("X-Amz-Target", "AmazonSQS.SendMessage"),
            ("Content-Type", JSON),
            ("Transfer-Encoding", "chunked"),
        ];
        let chunk = [format!("{:x}\r\n", body.len()).as_bytes(), body.as_bytes(), b"\r\n"].concat();
        let unended = request("POST", "/", &chunked, &chunk);
        for bytes in [
            &whole[..1],
            &whole[..20],
            &whole[..100],
            &whole[..whole.len() - body.len()],
            &whole[..whole.len() - 1],
            &unended,
        ] {
            assert_refused(&String::from_utf8_lossy(bytes), answer_to_all(server, bytes));
        }
        assert_refused("nothing", answer_to_all(server, b""));
        // And those that leave without a word.
        for bytes in [&whole[..20], &whole[..whole.len() - 1], &unended] {
            let mut connection = Connection::open(server.endpoint).unwrap();
            connection.write(bytes).unwrap();
        }
    });
}

#[test]
fn a_request_may_come_byte_by_byte() {
    survive(|server| {
        let mut connection = Connection::open(server.endpoint).unwrap();
        let chunked = [LIST[0], LIST[1], ("Transfer-Encoding", "chunked")];
        for bytes in [
            request("POST", "/", &LIST, b"{}"),
            request("POST", "/", &chunked, b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"),
        ] {
            for byte in bytes.chunks(1) {
                connection.write(byte).unwrap();
            }
            let answer = connection.read().unwrap();
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(answer.keeps_alive());
        }
    });
}

#[test]
fn chunked_bodies_are_read_and_broken_ones_refused() {
    survive(|server| {
        let chunked = [LIST[0], LIST[1], ("Transfer-Encoding", "chunked")];
        for body in [
            &b"0\r\n\r\n"[..],
            b"2\r\n{}\r\n0\r\n\r\n",
            b"1;extension=x\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
            b"0002\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
        ] {
            let answer = answer_to(server, &request("POST", "/", &chunked, body)).unwrap();
            assert_eq!(answer.status, 200, "{}: {}", String::from_utf8_lossy(body), answer.text());
        }
        for body in [
            &b"zz\r\n{}\r\n0\r\n\r\n"[..],
            b"-1\r\n{}\r\n0\r\n\r\n",
            b"\r\n{}\r\n0\r\n\r\n",
            b"2{}\r\n0\r\n\r\n",
            b"1\r\n{}\r\n0\r\n\r\n",
            b"ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
            b"2\n{}\n0\n\n",
        ] {
            let what = String::from_utf8_lossy(body);
            let answer = answer_to_all(server, &request("POST", "/", &chunked, body));
            match answer {
                Ok(answer) => drop(answer.assert_error(MALFORMED)),
                closed => assert_refused(&what, closed),
            }
        }
        let extension = [b"1;".to_vec(), vec![b'x'; 1_000_000]].concat();
        assert_refused(
            "an endless extension",
            answer_to(server, &request("POST", "/", &chunked, &extension)),
        );
        let trailer = [b"2\r\n{}\r\n0\r\n".to_vec(), b"X: y\r\n".repeat(100_000)].concat();
        assert_refused("endless trailers", answer_to(server, &request("POST", "/", &chunked, &trailer)));
    });
}

#[test]
fn chunked_bodies_over_the_limit_are_refused_with_413() {
    survive(|server| {
        let chunked = [LIST[0], LIST[1], ("Transfer-Encoding", "chunked")];
        answer_to(server, &request("POST", "/", &chunked, &chunks(9))).unwrap().assert_error(TOO_LARGE);
    });
}

/// Chunks of a mebibyte, without the last one.
fn chunks(count: usize) -> Vec<u8> {
    [b"100000\r\n".to_vec(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat().repeat(count)
}

/// Many clients look for an answer only when they have sent everything: the connection must not be reset before.
#[test]
fn a_client_that_sends_on_after_a_refusal_gets_to_read_it() {
    survive(|server| {
        let chunked = [LIST[0], LIST[1], ("Transfer-Encoding", "chunked")];
        let whole = request("POST", "/", &LIST, &vec![b' '; 12 << 20]);
        let chunks = request("POST", "/", &chunked, &[chunks(12), b"0\r\n\r\n".to_vec()].concat());
        for bytes in [whole, chunks] {
            for _ in 0..5 {
                let mut connection = Connection::open(server.endpoint).unwrap();
                bytes.chunks(1 << 16).for_each(|part| connection.write(part).unwrap());
                connection.read().unwrap().assert_error(TOO_LARGE);
            }
        }
    });
}

/// A length that is over the limit is refused before the bytes are sent: nobody waits for them.
#[test]
fn an_announced_length_over_the_limit_is_refused_at_once() {
    survive(|server| {
        for length in ["8388609", "1000000000000", "18446744073709551000"] {
            let headers = [LIST[0], LIST[1], ("Content-Length", length)];
            let answer = answer_to(server, &request("POST", "/", &headers, b"{")).unwrap();
            answer.assert_error(TOO_LARGE);
            let headers = [LIST[0], LIST[1], ("Content-Length", length), ("Expect", "100-continue")];
            let mut connection = Connection::open(server.endpoint).unwrap();
            connection.write(&request("POST", "/", &headers, b"")).unwrap();
            assert_eq!(connection.read_any().unwrap().status, 413, "and is not asked to continue");
        }
    });
}

/// A length beside chunks is how requests are smuggled past a proxy: one of the two must not be believed silently.
#[test]
fn a_length_beside_chunks_starts_no_second_request() {
    survive(|server| {
        let smuggled = request("GET", "/health", &[], b"");
        let body = [b"2\r\n{}\r\n0\r\n\r\n", &smuggled[..]].concat();
        let headers = [LIST[0], LIST[1], ("Content-Length", "6"), ("Transfer-Encoding", "chunked")];
        let mut connection = Connection::open(server.endpoint).unwrap();
        connection.write(&request("POST", "/", &headers, &body)).unwrap();
        match connection.read() {
            // Read as chunks, what follows is a request of its own; a proxy in front reads it the same way.
            Ok(answer) if answer.status == 200 => assert_ne!(answer.text(), "ok\n"),
            other => assert_refused("a length beside chunks", other),
        }
    });
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    survive(|server| {
        let client = &mut server.client();
        let queues: Vec<_> = (0..20).map(|n| client.create(&format!("p{n}"))).collect();
        let mut bytes = Vec::new();
        for url in &queues {
            let body = json!({ "QueueUrl": url, "AttributeNames": ["QueueArn"] }).to_string();
            let headers = [("X-Amz-Target", "AmazonSQS.GetQueueAttributes"), ("Content-Type", JSON)];
            bytes.extend(request("POST", "/", &headers, body.as_bytes()));
        }
        let mut connection = Connection::open(server.endpoint).unwrap();
        connection.write(&bytes).unwrap();
        for n in 0..20 {
            let answer = connection.read().unwrap();
            let arn = format!("arn:aws:sqs:us-east-1:000000000000:p{n}");
            assert_eq!(answer.json()["Attributes"]["QueueArn"], arn);
        }
        // Errors and a poll in between do not change the order.
        let poll = json!({ "QueueUrl": queues[0], "WaitTimeSeconds": 1 }).to_string();
        let headers = |target| [("X-Amz-Target", target), ("Content-Type", JSON)];
        let mut bytes = request("POST", "/", &headers("AmazonSQS.ReceiveMessage"), poll.as_bytes());
        bytes.extend(request("POST", "/", &headers("AmazonSQS.Nonsense"), b"{}"));
        bytes.extend(request("GET", "/health", &[], b""));
        connection.write(&bytes).unwrap();
        assert_eq!(connection.read().unwrap().text(), "{}");
        connection.read().unwrap().assert_error(UNKNOWN_ACTION);
        assert_eq!(connection.read().unwrap().text(), "ok\n");
    });
}

#[test]
fn an_answer_does_not_wait_for_a_poll_behind_it() {
    survive(|server| {
        let client = &mut server.client();
        client.create("slow");
        let poll = json!({ "QueueUrl": "slow", "WaitTimeSeconds": 20 }).to_string();
        let headers = [("X-Amz-Target", "AmazonSQS.ReceiveMessage"), ("Content-Type", JSON)];
        let health = request("GET", "/health", &[], b"");
        let poll = request("POST", "/", &headers, poll.as_bytes());
        let mut connection = Connection::open(server.endpoint).unwrap();
        connection.write(&[&health[..], &poll, &health].concat()).unwrap();
        assert_eq!(connection.read().unwrap().text(), "ok\n");
        server.wait_for_polls(1);
        client.send("slow", "m");
        assert_eq!(connection.read().unwrap().json()["Messages"][0]["Body"], "m");
        assert_eq!(connection.read().unwrap().text(), "ok\n");
    });
}

#[test]
fn http_1_0_and_requests_without_a_host_are_served() {
    survive(|server| {
        let lines = "X-Amz-Target: AmazonSQS.GetQueueUrl\r\nContent-Type: application/x-amz-json-1.0\r\n";
        let body = r#"{"QueueName":"q"}"#;
        let length = format!("Content-Length: {}\r\n", body.len());
        // Without a host, URLs have the address on which the server listens.
        let url = format!("http://{}/000000000000/q", server.endpoint);
        for version in ["1.0", "1.1"] {
            let bytes = format!("POST / HTTP/{version}\r\n{lines}{length}\r\n{body}");
            let answer = answer_to(server, bytes.as_bytes()).unwrap();
            assert_eq!((answer.status, &answer.json()["QueueUrl"]), (200, &json!(url)), "HTTP/{version}");
        }
        let mut connection = Connection::open(server.endpoint).unwrap();
        connection.write(b"GET /health HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!(connection.read().unwrap().text(), "ok\n");
        assert_eq!(connection.read_to_end().unwrap(), 0, "HTTP/1.0 closes");
        connection = Connection::open(server.endpoint).unwrap();
        for _ in 0..2 {
            connection.write(b"GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").unwrap();
            assert_eq!(connection.read().unwrap().text(), "ok\n");
        }
        let closing = request("GET", "/health", &[("Connection", "close")], b"");
        connection = Connection::open(server.endpoint).unwrap();
        connection.write(&closing).unwrap();
        assert!(!connection.read().unwrap().keeps_alive());
        assert_eq!(connection.read_to_end().unwrap(), 0);
    });
}

#[test]
fn a_client_that_asks_is_told_to_continue() {
    survive(|server| {
        let headers = [LIST[0], LIST[1], ("Expect", "100-continue")];
        let bytes = request("POST", "/", &headers, b"{}");
        let mut connection = Connection::open(server.endpoint).unwrap();
        connection.write(&bytes[..bytes.len() - 2]).unwrap();
        assert_eq!(connection.read_any().unwrap().status, 100);
        connection.write(b"{}").unwrap();
        assert_eq!(connection.read_any().unwrap().status, 200);
        // A client that does not wait for it is served all the same.
        connection.write(&bytes).unwrap();
        assert_eq!(connection.read().unwrap().status, 200);
        let odd = [LIST[0], LIST[1], ("Expect", "the-unexpected")];
        connection.write(&request("POST", "/", &odd, b"{}")).unwrap();
        let answer = connection.read().unwrap();
        assert!([200, 417].contains(&answer.status), "{answer:?}");
    });
}

#[test]
fn methods_that_mean_nothing_here_are_refused() {
    survive(|server| {
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO", "get"] {
            let bytes = request(method, "/000000000000/q", &[], b"");
            assert_refused(method, answer_to(server, &bytes));
        }
        assert_refused("CONNECT", answer_to(server, b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"));
        let absolute = request("POST", "http://elsewhere.example.com/", &LIST, b"{}");
        assert_eq!(answer_to(server, &absolute).unwrap().status, 200, "as a proxy would be asked");
    });
}
