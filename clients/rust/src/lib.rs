//! Runs the AWS SDK for Rust against the real server: a server of its own for each test, and small helpers.

use std::{
    future::Future,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use aws_sdk_sqs::{
    Client,
    config::{BehaviorVersion, Credentials, Region, retry::RetryConfig},
    error::SdkError,
    types::{Message, MessageAttributeValue, QueueAttributeName},
};
use md5::{Digest, Md5};

pub const REGION: &str = "us-east-1";
/// A 12-digit access key is the account.
pub const ACCOUNT: &str = "123456789012";

const START_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs `test` against a fresh server, or the one that `TIDEGATE_ENDPOINT` names. One that it started must stop cleanly.
pub fn with_server<F: Future<Output = ()>>(test: impl FnOnce(Client, String) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build().unwrap();
    let server = match std::env::var("TIDEGATE_ENDPOINT") {
        Ok(running) => Server { endpoint: running.trim_end_matches('/').into(), process: None },
        Err(_) => Server::start(),
    };
    let endpoint = server.endpoint.clone();
    runtime.block_on(async {
        wait_until_healthy(&endpoint).await;
        test(client(&endpoint), endpoint).await;
    });
    server.stop();
}

fn client(endpoint: &str) -> Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::from_static(REGION))
        .credentials_provider(Credentials::from_keys(ACCOUNT, "secret", None))
        // A retry would hide a server fault.
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    Client::from_conf(config)
}

struct Server {
    endpoint: String,
    process: Option<Process>,
}

struct Process {
    child: Child,
    _data_dir: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let binary = std::env::var_os("TIDEGATE_BIN").map(PathBuf::from).unwrap_or_else(|| {
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/release/tidegate")
        });
        let data_dir = tempfile::Builder::new().prefix("tidegate-suite-").tempdir().unwrap();
        let mut command = Command::new(&binary);
        // The server takes settings from TIDEGATE_* variables and refuses those it does not know.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TIDEGATE_") {
                command.env_remove(name);
            }
        }
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", binary.display()));

        let (found, endpoint) = mpsc::channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Reads to the end, so that a full pipe never blocks the server.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut words = line.split_whitespace().skip_while(|word| *word != "endpoint").skip(1);
                if let Some(url) = words.next().filter(|word| word.starts_with("http://")) {
                    let _ = found.send(url.trim_end_matches('/').to_owned());
                }
            }
        });
        let process = Process { child, _data_dir: data_dir };
        let endpoint = endpoint.recv_timeout(START_TIMEOUT).expect("the server announces its endpoint");
        Self { endpoint, process: Some(process) }
    }

    fn stop(mut self) {
        let Some(process) = &mut self.process else { return };
        let pid = rustix::process::Pid::from_child(&process.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            if let Some(status) = process.child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(0), "the server stops cleanly");
                return;
            }
            assert!(Instant::now() < deadline, "the server did not stop within {STOP_TIMEOUT:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Process {
    /// A failed test leaves no server behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn wait_until_healthy(endpoint: &str) {
    let deadline = Instant::now() + START_TIMEOUT;
    while !answers_health(endpoint).await.unwrap_or(false) {
        assert!(Instant::now() < deadline, "{endpoint}/health did not answer 200");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn answers_health(endpoint: &str) -> std::io::Result<bool> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = endpoint.trim_start_matches("http://");
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let status = answer.split(|byte| *byte == b' ').nth(1);
    Ok(status == Some(b"200") || std::env::var_os("TIDEGATE_ENDPOINT").is_some())
}

/// A queue name that no other test, and no earlier run against the same server, has used.
pub fn fresh_name() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    format!("rust-{:016x}", RandomState::new().build_hasher().finish())
}

pub async fn fresh_queue(sqs: &Client) -> String {
    let created = sqs.create_queue().queue_name(fresh_name()).send().await.unwrap();
    created.queue_url.unwrap()
}

pub async fn send(sqs: &Client, url: &str, body: &str) {
    sqs.send_message().queue_url(url).message_body(body).send().await.unwrap();
}

/// One message, waiting for it so that a slow machine is no failure. System and message attributes come along.
pub async fn receive_one(sqs: &Client, url: &str, visibility_timeout_s: i32) -> Message {
    let received = sqs
        .receive_message()
        .queue_url(url)
        .wait_time_seconds(5)
        .visibility_timeout(visibility_timeout_s)
        .message_attribute_names("All")
        .message_system_attribute_names("All".into())
        .send()
        .await
        .unwrap();
    let messages = received.messages.unwrap_or_default();
    assert_eq!(messages.len(), 1);
    messages.into_iter().next().unwrap()
}

pub async fn receive_all(sqs: &Client, url: &str, count: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    while messages.len() < count {
        let received =
            sqs.receive_message().queue_url(url).max_number_of_messages(10).wait_time_seconds(5).send().await;
        let batch = received.unwrap().messages.unwrap_or_default();
        assert!(!batch.is_empty(), "{} of {count} messages received", messages.len());
        messages.extend(batch);
    }
    assert_eq!(messages.len(), count);
    messages
}

/// The visible, in-flight and delayed messages.
pub async fn counts(sqs: &Client, url: &str) -> [u64; 3] {
    let names = [
        QueueAttributeName::ApproximateNumberOfMessages,
        QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        QueueAttributeName::ApproximateNumberOfMessagesDelayed,
    ];
    let request = sqs.get_queue_attributes().queue_url(url).set_attribute_names(Some(names.to_vec()));
    let found = request.send().await.unwrap().attributes.unwrap();
    names.map(|name| found[&name].parse().unwrap())
}

pub fn text(data_type: &str, value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type(data_type).string_value(value).build().unwrap()
}

pub fn blob(data_type: &str, value: &[u8]) -> MessageAttributeValue {
    let value = aws_sdk_sqs::primitives::Blob::new(value);
    MessageAttributeValue::builder().data_type(data_type).binary_value(value).build().unwrap()
}

/// The attribute digest, which this SDK does not verify itself.
pub fn md5_of_attributes<'a>(
    attributes: impl IntoIterator<Item = (&'a str, &'a MessageAttributeValue)>,
) -> String {
    let mut digest = Md5::new();
    let mut sorted: Vec<_> = attributes.into_iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    fn field(digest: &mut Md5, data: &[u8]) {
        digest.update(u32::try_from(data.len()).unwrap().to_be_bytes());
        digest.update(data);
    }
    for (name, value) in sorted {
        field(&mut digest, name.as_bytes());
        field(&mut digest, value.data_type().as_bytes());
        if value.data_type().starts_with("Binary") {
            digest.update([2]);
            field(&mut digest, value.binary_value().unwrap().as_ref());
        } else {
            digest.update([1]);
            field(&mut digest, value.string_value().unwrap().as_bytes());
        }
    }
    hex(&digest.finalize())
}

pub fn md5_of_body(body: &str) -> String {
    hex(&Md5::digest(body))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The typed error and the error code of a call that must fail.
#[track_caller]
pub fn refused<T: std::fmt::Debug, E: std::error::Error + 'static>(
    result: Result<T, SdkError<E>>,
) -> (E, String)
where
    E: aws_sdk_sqs::error::ProvideErrorMetadata,
{
    let error = match result {
        Err(SdkError::ServiceError(context)) => context.into_err(),
        other => panic!("expected an error of the service, got {other:?}"),
    };
    let code = error.code().unwrap_or_default().to_owned();
    (error, code)
}
