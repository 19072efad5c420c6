//! Goal: while the state is brought back each caller is told so in its own dialect, strangers are told nothing, probes
//! are answered; and the same connections are served afterwards. Method: both listeners on real sockets, with a state
//! that comes back when the test says so.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "all of it is test code")]

#[path = "../../tests/support/sign.rs"]
#[allow(dead_code, reason = "of the signer only headers are used here")]
mod sign;

use super::*;
use crate::admin::{Admin, Guard, Pages, QueueApi};
use crate::http::{General, Limits, Listener, serve};
use crate::shard::Shard;
use sign::Signer;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tidegate_engine::{AccountId, Region};
use tidegate_log::{LogConfig, MemoryStorage, SegmentedLog};
use tidegate_protocol::{Credential, Credentials, SecretKey, User};
use tokio::net::TcpListener;
use tokio::sync::watch;

const LIMITS: Limits = Limits {
    connections_max: 10,
    header_bytes_max: 16 << 10,
    headers_max: 100,
    idle_timeout: Duration::from_secs(60),
    shutdown_grace: Duration::from_secs(1),
};

/// Two listeners whose state is not there yet.
struct Starting {
    door: Arc<Door<MemoryStorage>>,
    admin: Arc<Admin<MemoryStorage>>,
    metrics: Arc<Metrics>,
    settings: Arc<ApiSettings>,
    api_address: SocketAddr,
    admin_address: SocketAddr,
    stop: watch::Sender<bool>,
}

impl Starting {
    async fn new(credentials: Option<Credentials>) -> Self {
        let settings = Arc::new(ApiSettings {
            credentials,
            account: AccountId::default(),
            region: Region::default(),
            public_url: None,
            trust_forwarded: false,
            fallback_host: "localhost".into(),
            body_bytes_max: 1 << 20,
            body_timeout: Duration::from_secs(60),
        });
        let (metrics, progress) = (Arc::new(Metrics::new()), Arc::new(Progress::default()));
        let door = Arc::new(Door::new(settings.clone(), metrics.clone(), progress.clone()));
        let admin = Arc::new(Admin::new(Guard { token: None }, progress));
        let (stop, stopped) = watch::channel(false);
        let socket = || async { TcpListener::bind("127.0.0.1:0").await.unwrap() };
        let (api, administration) = (socket().await, socket().await);
        let (api_address, admin_address) = (api.local_addr().unwrap(), administration.local_addr().unwrap());
        tokio::spawn(serve(
            Listener { socket: api, tls: None },
            LIMITS,
            Default::default(),
            stopped.clone(),
            door.connections(),
        ));
        let answering = admin.clone();
        tokio::spawn(serve(
            Listener { socket: administration, tls: None },
            LIMITS,
            Default::default(),
            stopped,
            General(move |peer, request| answering.clone().answer(peer, request)),
        ));
        Starting { door, admin, metrics, settings, api_address, admin_address, stop }
    }

    /// The state is there.
    fn finish(&self) {
        let opened = SegmentedLog::open(MemoryStorage::volatile(), LogConfig::default(), [1; 16]).unwrap();
        let recovered = tidegate_store::recover(
            opened,
            tidegate_engine::Config::default(),
            tidegate_store::MemoryBudget::UNLIMITED,
        )
        .unwrap();
        let (shard, _) = Shard::start(recovered, &self.metrics.log);
        self.door.open(Api {
            shard: shard.clone(),
            receipt_key: ReceiptKey([1; 16]),
            settings: self.settings.clone(),
        });
        let api = QueueApi {
            shard: shard.clone(),
            account: AccountId::default(),
            region: Region::default(),
            stopped: self.stop.subscribe(),
        };
        self.admin.open(Pages { shard, metrics: self.metrics.clone(), endpoint: String::new(), api });
    }
}

/// One connection.
struct Caller(BufReader<TcpStream>);

impl Caller {
    fn new(address: SocketAddr) -> Self {
        Caller(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    /// Status, head and body of the answer.
    fn ask(&mut self, line: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let mut request = format!("{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
        self.0.get_mut().write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.0.read_line(&mut head).unwrap(), 0, "the connection was closed: {head}");
        }
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head, String::from_utf8(body).unwrap())
    }
}

const LIST_JSON: [(&str, &str); 2] =
    [("x-amz-target", "AmazonSQS.ListQueues"), ("content-type", "application/x-amz-json-1.0")];
const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

#[tokio::test(flavor = "multi_thread")]
async fn callers_are_told_in_their_dialect_and_served_afterwards() {
    let starting = Starting::new(None).await;
    let (mut json, mut query) = (Caller::new(starting.api_address), Caller::new(starting.api_address));
    for _ in 0..2 {
        let (status, head, body) = json.ask("POST /", &LIST_JSON, "{}");
        assert_eq!(status, 503, "{body}");
        assert!(head.contains("\r\nretry-after: 1\r\n"), "{head}");
        assert!(head.contains("x-amzn-query-error: serviceunavailable;receiver"), "{head}");
        assert!(body.contains("#ServiceUnavailableException\""), "{body}");
        assert!(body.contains("it is recovering, 0 % (0 of 0 MiB, 0 records)."), "{body}");
        let (status, head, body) = query.ask("POST /", &FORM, "Action=ListQueues");
        assert_eq!(status, 503, "{body}");
        assert!(head.contains("\r\nretry-after: 1\r\n"), "{head}");
        assert!(
            body.contains("<Code>ServiceUnavailable</Code>") && body.contains("it is recovering"),
            "{body}"
        );
        assert_eq!(json.ask("GET /health", &[], "").0, 200);
    }
    let (status, head, _) = json.ask("POST /", &LIST_JSON, &"x".repeat((1 << 20) + 1));
    assert_eq!((status, head.contains("retry-after")), (413, false), "limits hold all the while");
    let mut json = Caller::new(starting.api_address);
    assert_eq!(json.ask("POST /", &LIST_JSON, "{}").0, 503);
    starting.finish();
    let (status, head, _) = json.ask("POST /", &LIST_JSON, "{}");
    assert_eq!((status, head.contains("retry-after")), (200, false));
    assert_eq!(query.ask("POST /", &FORM, "Action=ListQueues").0, 200);
    assert_eq!(query.ask("GET /health", &[], "").0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_learn_nothing_of_it() {
    let user = User {
        account: AccountId::default(),
        name: "test".into(),
        access_key: "AKIDTEST".into(),
        grant: Default::default(),
    };
    let credential = Credential::new(user, SecretKey::parse("a-secret").unwrap());
    let starting = Starting::new(Some(Credentials::new([credential]))).await;
    let mut caller = Caller::new(starting.api_address);
    let mut signed = |signer: Signer| {
        let [(date, date_value), (authorization, signature)] = signer.headers("POST", "/", &LIST_JSON, b"{}");
        let mut headers = LIST_JSON.to_vec();
        headers.extend([(date.as_str(), date_value.as_str()), (authorization.as_str(), signature.as_str())]);
        caller.ask("POST /", &headers, "{}")
    };
    let (status, head, body) = signed(Signer::new("AKIDTEST", "a-secret"));
    assert_eq!((status, head.contains("retry-after")), (503, true), "{body}");
    for (signer, code) in [
        (Signer::new("AKIDTEST", "another-secret"), "SignatureDoesNotMatch"),
        (Signer::new("AKIDNOBODY", "a-secret"), "InvalidClientTokenId"),
    ] {
        let (status, head, body) = signed(signer);
        assert_eq!(status, 403, "{body}");
        assert!(head.contains(&code.to_ascii_lowercase()), "{head}");
        assert!(!head.contains("retry-after") && !body.contains("recover"), "{head}{body}");
    }
    let (status, head, body) = caller.ask("POST /", &LIST_JSON, "{}");
    assert_eq!(status, 403, "{body}");
    assert!(!head.contains("retry-after") && !body.contains("recover"), "{head}{body}");
    assert_eq!(caller.ask("GET /health", &[], "").0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_see_how_far_it_is() {
    let starting = Starting::new(None).await;
    let mut caller = Caller::new(starting.admin_address);
    assert_eq!(caller.ask("GET /health", &[], "").0, 200);
    for path in ["/ready", "/metrics", "/", "/api/queues/q/messages"] {
        let (status, head, body) = caller.ask(&format!("GET {path}"), &[], "");
        assert_eq!(status, 503, "{path}: {body}");
        assert!(head.contains("\r\nretry-after: 1\r\n"), "{path}: {head}");
        assert!(
            body.contains("recovering") && body.contains("0 % (0 of 0 MiB, 0 records)"),
            "{path}: {body}"
        );
        assert_eq!(
            body.starts_with("{\"error\":{\"code\":\"Recovering\""),
            path.starts_with("/api"),
            "{body}"
        );
    }
    let foreign = [("host", "127.0.0.1"), ("origin", "http://evil.example")];
    assert_eq!(caller.ask("GET /api/queues/q/messages", &foreign, "").0, 403, "the guard comes first");
    let mut caller = Caller::new(starting.admin_address);
    starting.finish();
    assert_eq!(caller.ask("GET /ready", &[], "").2, "ready\n");
    assert_eq!(caller.ask("GET /metrics", &[], "").0, 200);
    assert_eq!(caller.ask("GET /api/queues/q/messages", &[], "").0, 404);
}
