//! The binary under test, on a directory of its own.

use super::http::{self, Answer};
use super::sqs::Client;
use super::tls::{Authority, Issued};
use super::{PATIENCE, wait_until};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Names of the files that [`Setup::tls`] writes.
pub const CERTIFICATE: &str = "certificate.pem";
pub const KEY: &str = "key.pem";

/// What stands in the last line of the banner.
const BANNER_END: &str = "sqs send-message";

/// What a server is started with. Started again, it continues on the same data.
pub struct Setup {
    directory: Arc<TempDir>,
    environment: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl Setup {
    /// Defaults, but for free ports, an empty directory, and small files.
    pub fn new() -> Self {
        let directory = Arc::new(TempDir::new().unwrap());
        Setup { directory, environment: Vec::new(), arguments: Vec::new() }
            .env("TIDEGATE_SEGMENT_BYTES", "16MiB")
    }

    /// Sets an environment variable from the next start on.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.set_env(name, value);
        self
    }

    /// The same for a setup that is in use.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Adds an argument from the next start on.
    #[must_use]
    pub fn arg(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Lets names be used again at once, and queues be purged again at once.
    #[must_use]
    pub fn without_cooldowns(self) -> Self {
        self.env("TIDEGATE_STRICT_COOLDOWNS", "false")
    }

    /// Writes the configuration file, which is used from the next start on.
    #[must_use]
    pub fn config(self, text: &str) -> Self {
        fs::write(self.config_path(), text).unwrap();
        self
    }

    /// Where [`Setup::config`] writes.
    pub fn config_path(&self) -> PathBuf {
        self.directory.path().join("tidegate.toml")
    }

    /// A file in the directory of this setup.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Encrypts with this certificate from the next start on.
    #[must_use]
    pub fn tls(self, certificate: &Issued) -> Self {
        self.replace_certificate(certificate);
        let path = |name| self.file(name).to_str().unwrap().to_owned();
        let (certificate, key) = (path(CERTIFICATE), path(KEY));
        self.env("TIDEGATE_TLS_CERTIFICATE", &certificate).env("TIDEGATE_TLS_KEY", &key)
    }

    /// Writes the files of [`Setup::tls`] anew.
    pub fn replace_certificate(&self, certificate: &Issued) {
        fs::write(self.file(CERTIFICATE), &certificate.chain).unwrap();
        fs::write(self.file(KEY), &certificate.key).unwrap();
    }

    /// The server's data.
    pub fn data_dir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Starts the server and waits until it says where it listens.
    ///
    /// # Panics
    /// When it ends instead.
    pub fn start(&self) -> Server {
        self.try_start().unwrap_or_else(|log| panic!("the server did not start: {log}"))
    }

    /// The same for a server that may end instead: what it said then.
    pub fn try_start(&self) -> Result<Server, String> {
        let log = self.directory.path().join(format!("stderr-{}", started_count()));
        let mut child = self.command(&log).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut addresses = Vec::new();
        let mut banner = String::new();
        let mut lines = stdout.lines();
        for line in lines.by_ref().map_while(Result::ok) {
            let mut words = line.split_whitespace();
            if let (Some("endpoint" | "console"), Some(url)) = (words.next(), words.next()) {
                let (_, address) = url.split_once("://").unwrap();
                addresses.push(address.parse().unwrap());
            }
            banner.push_str(&line);
            banner.push('\n');
            if line.contains(BANNER_END) {
                break;
            }
        }
        let [endpoint, console] = addresses[..] else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(fs::read_to_string(&log).unwrap_or_default());
        };
        // A full pipe would stop the server.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Server { child, log, endpoint, console, banner, _directory: self.directory.clone() })
    }

    /// Starts the server without waiting for anything; its log goes to `stderr` in the setup's directory.
    pub fn spawn(&self) -> Child {
        let mut command = self.command(&self.file("stderr"));
        command.stdout(Stdio::null()).spawn().unwrap()
    }

    /// Starts a server that is expected to end by itself: how it ended, and what it said.
    pub fn start_refused(&self) -> (ExitStatus, String) {
        let log = self.directory.path().join(format!("stderr-{}", started_count()));
        let mut child = self.command(&log).spawn().unwrap();
        let status = wait_for(&mut child, PATIENCE);
        if status.is_none() {
            let _ = child.kill();
        }
        let status = status.expect("the server ends by itself");
        (status, fs::read_to_string(log).unwrap())
    }

    fn command(&self, log: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.arg("serve").arg("--data-dir").arg(self.data_dir());
        for listener in ["--listen", "--admin"] {
            if !self.arguments.iter().any(|argument| argument == listener) {
                command.args([listener, "127.0.0.1:0"]);
            }
        }
        // What the person who runs the tests has set is not for the servers under test.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TIDEGATE_") {
                command.env_remove(name);
            }
        }
        let config = self.config_path();
        if config.exists() {
            command.arg("--config").arg(config);
        }
        command.args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(log).unwrap());
        command
    }
}

fn started_count() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    STARTED.fetch_add(1, Ordering::Relaxed)
}

/// A running server; killed at the latest when dropped, and then its log is searched for panics.
pub struct Server {
    child: Child,
    log: PathBuf,
    /// Where the APIs are.
    pub endpoint: SocketAddr,
    /// Where the operators' pages are.
    pub console: SocketAddr,
    /// What it said on standard output.
    pub banner: String,
    /// Kept as long as the server runs, which may be longer than its setup.
    _directory: Arc<TempDir>,
}

impl Server {
    /// A client with a connection of its own.
    pub fn client(&self) -> Client {
        Client::new(self.endpoint)
    }

    /// A client that trusts `authority`, with an encrypted connection of its own.
    pub fn tls_client(&self, authority: &Authority) -> Client {
        Client::encrypted(self.endpoint, authority.trust())
    }

    /// One page of the operators' listener.
    pub fn page(&self, path: &str) -> Answer {
        http::get(self.console, path)
    }

    /// The value of one sample of `/metrics`, its labels spelled as there; `None` when it is not listed.
    pub fn metric(&self, sample: &str) -> Option<f64> {
        let text = self.page("/metrics").text();
        let line =
            text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ').map(str::to_owned));
        line.map(|value| value.parse().unwrap())
    }

    /// Waits until exactly so many long polls wait.
    pub fn wait_for_polls(&self, count: usize) {
        wait_until(&format!("{count} receives wait"), || {
            self.metric("tidegate_waiting_receives") == Some(count as f64)
        });
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process as a crash would: it gets no say.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Asks the process to end.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Asks the process to read its certificate anew.
    pub fn hang_up(&self) {
        self.signal("-HUP");
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.pid().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the end of the process.
    ///
    /// # Panics
    /// When it lives on.
    pub fn wait(&mut self, patience: Duration) -> ExitStatus {
        wait_for(&mut self.child, patience).expect("the server ends in time")
    }

    /// A clean stop.
    pub fn stop(mut self) {
        self.terminate();
        let status = self.wait(PATIENCE);
        assert!(status.success(), "it ended with {status}: {}", self.log());
    }

    /// What it wrote to standard error.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Bytes of the process that are in RAM; 0 where the system does not tell.
    pub fn resident_bytes(&self) -> u64 {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.pid())).unwrap_or_default();
        statm.split(' ').nth(1).map_or(0, |pages| pages.parse::<u64>().unwrap() * 4096)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            let log = self.log();
            assert!(!log.contains("panicked"), "the server panicked: {log}");
        }
    }
}

/// Waits for the end of a process; `None` when it lives on.
pub fn wait_for(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > patience {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
