//! The table of settings.
//!
//! To add one, add a row: its documentation, its key and type, the form of its text, its default as text, its cost, and
//! how it is given as a flag. `docs/operating.md` is checked against the table by a test, which also rewrites it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_engine::{AccountId, Region, limits};
use tracing::Level;

use super::form::{
    Account, Address, BaseUrl, Bytes, Choice, Count, Directory, FilePath, Form, Memory, Optional, RegionName,
    Switch, Threads, Time, Token,
};
use super::sources::Layers;
use super::{AdminToken, ConfigError, DeclaredCredential, DeclaredQueue, Durability, LogFormat, PublicUrl};

/// How a setting is given on the command line. Few are: those that differ between servers of one installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Not at all.
    None,
    /// With a value, which the help calls by this name.
    Value(&'static str),
    /// Without a value; present means `true`.
    Switch,
}

/// One row of the table, as the help and the manual need it.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The key in the configuration file, words joined by underscores.
    pub(crate) key: &'static str,
    /// The default as it would be written.
    pub(crate) default: &'static str,
    /// What it does, in sentences. The first is a summary.
    pub(crate) about: &'static str,
    /// What a larger value costs, as a sentence; empty when nothing.
    pub(crate) cost: &'static str,
    /// How it is given on the command line.
    pub(crate) flag: Flag,
    allowed: fn() -> String,
}

impl Setting {
    /// The environment variable: `TIDEGATE_` and the key in capitals.
    pub(crate) fn variable(&self) -> String {
        format!("TIDEGATE_{}", self.key.to_ascii_uppercase())
    }

    /// The flag, without the two hyphens: the key with its words joined by hyphens.
    pub(crate) fn flag_name(&self) -> String {
        self.key.replace('_', "-")
    }

    /// The values that are accepted, as a noun phrase.
    pub(crate) fn allowed(&self) -> String {
        (self.allowed)()
    }

    /// The first sentence of what it does, without the full stop.
    pub(crate) fn summary(&self) -> &'static str {
        let about = self.about.trim_start();
        about.split_once(". ").map_or(about.trim_end_matches('.'), |(first, _)| first)
    }
}

/// Ties a form to the type of its setting.
fn allowed<T>(form: &impl Form<Value = T>) -> String {
    form.allowed()
}

macro_rules! settings {
    ($(
        $(#[doc = $about:literal])+
        $key:ident: $type:ty = $form:expr, default $default:literal, cost $cost:literal, flag $flag:expr;
    )+) => {
        /// The checked values of all settings.
        #[derive(Clone, Debug)]
        pub(crate) struct Config {
            $( $(#[doc = $about])+ pub(crate) $key: $type, )+
            /// Queues that are created or updated at start, in the order of the file.
            pub(crate) queues: Vec<DeclaredQueue>,
            /// Keys that may sign requests, in the order of the file. While there are none, every caller is accepted.
            pub(crate) credentials: Vec<DeclaredCredential>,
        }

        /// All settings, in the order in which the manual lists them.
        pub(crate) const SETTINGS: &[Setting] = &[$(
            Setting {
                key: stringify!($key),
                default: $default,
                about: concat!($($about),+),
                cost: $cost,
                flag: $flag,
                allowed: || allowed::<$type>(&$form),
            },
        )+];

        impl Config {
            /// The value of each setting from the uppermost source that has it. Without queues and
            /// credentials.
            pub(super) fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
                Ok(Config {
                    $( $key: layers.value(stringify!($key), $default, &$form)?, )+
                    queues: Vec::new(),
                    credentials: Vec::new(),
                })
            }

            /// The value of one setting as `Debug` shows it.
            #[cfg(test)]
            pub(super) fn shown(&self, key: &str) -> String {
                match key {
                    $( stringify!($key) => format!("{:?}", self.$key), )+
                    _ => panic!("there is no setting {key}"),
                }
            }
        }
    };
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Shortest idle timeout. A connection whose long poll has just been answered is not idle before that, but a proxy's
/// clock may say otherwise; the margin keeps both apart.
const IDLE_TIMEOUT_MIN: Duration = Duration::from_secs(25);
const _: () = assert!(IDLE_TIMEOUT_MIN.as_secs() > limits::WAIT_TIME_MAX.as_secs());

/// Longest time that a stop may take. Supervisors kill after 10 s (Docker) to 90 s (systemd), and nothing that was
/// acknowledged depends on it.
const SHUTDOWN_GRACE_MAX: Duration = Duration::from_secs(5);

settings! {
    /// Address and port of the APIs. All protocols share it. Port 0 takes a free one, which the banner names.
    listen: SocketAddr = Address, default "127.0.0.1:9324",
        cost "", flag Flag::Value("ADDRESS");
    /// Address and port for operators: health, metrics and the console. Port 0 takes a free one.
    admin: SocketAddr = Address, default "127.0.0.1:9325",
        cost "", flag Flag::Value("ADDRESS");
    /// Directory that holds all messages and queues. It is created if it does not exist, and one server at a time
    /// may use it. A relative path starts at the working directory.
    data_dir: PathBuf = Directory, default "./tidegate-data",
        cost "", flag Flag::Value("DIR");
    /// What an acknowledged message survives. With `fsync` also a power failure, with `os` the end of the process but
    /// not of the machine, with `memory` neither: there are no files at all.
    durability: Durability = Choice(&[
        ("fsync", Durability::Fsync), ("os", Durability::Os), ("memory", Durability::Memory),
    ]), default "fsync",
        cost "`fsync` adds the time of one fsync to a request; many requests share one.", flag Flag::Value("MODE");
    /// What queue URLs begin with, whatever host the caller used. Needed behind a proxy that changes the host or adds
    /// a path.
    public_url: Option<PublicUrl> = Optional(BaseUrl), default "none",
        cost "", flag Flag::Value("URL");
    /// Build queue URLs from `X-Forwarded-Host` and `X-Forwarded-Proto`. Policies then see the address and scheme in
    /// `X-Forwarded-For` and `X-Forwarded-Proto`. Only for servers that nothing but a proxy can reach, since anyone
    /// can send these headers.
    trust_forwarded: bool = Switch, default "false",
        cost "", flag Flag::None;
    /// Accept every caller on addresses that other machines can reach. Without it, and while no credentials are
    /// configured, the APIs must be on a loopback address. With credentials they accept signed requests only, whatever
    /// this says.
    allow_anonymous: bool = Switch, default "false",
        cost "", flag Flag::Switch;
    /// File with the certificate for TLS. Both listeners then speak TLS (1.2 or 1.3) and nothing else. In PEM form: the
    /// server's own certificate first, then those that lead from it to the root. The file is watched, and a new
    /// certificate taken without a restart.
    tls_certificate: Option<PathBuf> = Optional(FilePath), default "none",
        cost "About 7 KiB of memory more for each connection.", flag Flag::Value("FILE");
    /// File with the private key of the certificate. In PEM form, not encrypted.
    tls_key: Option<PathBuf> = Optional(FilePath), default "none",
        cost "", flag Flag::Value("FILE");
    /// Speak TLS on the operators' listener, too, when there is a certificate. `false` leaves it plain, for scrapers
    /// and probes on the same machine.
    admin_tls: bool = Switch, default "true",
        cost "", flag Flag::None;
    /// Token that operators prove themselves with. Needed when `admin` is not a loopback address. All but `/health` and
    /// `/ready` then asks for it, as `Authorization: Bearer` or as the password of any user in a browser. Never on the
    /// command line, where every user of the machine sees it.
    admin_token: Option<AdminToken> = Optional(Token), default "none",
        cost "", flag Flag::None;
    /// File with that token instead. One line; a line break at its end does not count. It is read at start.
    admin_token_file: Option<PathBuf> = Optional(FilePath), default "none",
        cost "", flag Flag::None;
    /// Keep the service's waits of 60 seconds. A queue can then be purged once in that time only, and the name of a
    /// deleted queue be used again only after it. Tests often want `false`.
    strict_cooldowns: bool = Switch, default "true",
        cost "", flag Flag::None;
    /// Account of declared queues and credentials that name none. While no credentials are configured, also that of
    /// callers whose access key is not 12 digits.
    account: AccountId = Account, default "000000000000",
        cost "", flag Flag::None;
    /// Region of requests that carry no signature. Also that of declared queues that name none. Queue URLs leave it
    /// out.
    region: Region = RegionName, default "us-east-1",
        cost "", flag Flag::None;
    /// Form of the log on standard error. `human` is text, `json` is one object a line, `auto` is text on a terminal
    /// and JSON elsewhere.
    log_format: LogFormat = Choice(&[
        ("auto", LogFormat::Auto), ("human", LogFormat::Human), ("json", LogFormat::Json),
    ]), default "auto",
        cost "", flag Flag::Value("FORMAT");
    /// Least important level that is logged. `error` means that an operator must act; `debug` adds a line for each
    /// request, `trace` for each message.
    log_level: Level = Choice(&[
        ("error", Level::ERROR), ("warn", Level::WARN), ("info", Level::INFO), ("debug", Level::DEBUG),
        ("trace", Level::TRACE),
    ]), default "info",
        cost "`debug` and `trace` take a good part of the throughput.", flag Flag::Value("LEVEL");
    /// Connections to the APIs that are open at the same time. Further ones wait in the system's queue until one
    /// closes. The default lets every consumer of a large installation hold a long poll.
    connections_max: usize = Count { min: 1, max: 1_000_000 }, default "10000",
        cost "One file descriptor and about 20 KiB of memory for each connection that is open.", flag Flag::None;
    /// Size of a request's line and headers together. Longer ones are refused with status 431.
    header_bytes_max: usize = Bytes::range(8 << 10, 1 << 20), default "32KiB",
        cost "As much memory for each connection, while its headers are read.", flag Flag::None;
    /// Headers of one request. More are refused with status 431.
    headers_max: usize = Count { min: 16, max: 1_000 }, default "100",
        cost "", flag Flag::None;
    /// Size of a request's body. Longer ones are refused with status 413. The default is enough for the largest batch,
    /// 1 MiB, with each of its bytes written as a six-character escape, and for what surrounds it.
    body_bytes_max: usize = Bytes::range(16 << 10, 64 << 20), default "8MiB",
        cost "As much memory for each request, while its body is read.", flag Flag::None;
    /// Time in which the body of a request must arrive after its headers.
    body_timeout: Duration = Time { min: SECOND, max: HOUR }, default "30s",
        cost "A slow caller holds its connection and its part of the body so long.", flag Flag::None;
    /// Time in which the head of a request must arrive. It counts from the connection's start or its last answer, and closes
    /// idle connections and slow senders alike; a receive that waits is neither. Longer than the idle timeout of a
    /// proxy in front, or that meets connections that are just closing.
    idle_timeout: Duration = Time { min: IDLE_TIMEOUT_MIN, max: HOUR }, default "75s",
        cost "An idle caller holds its connection so long.", flag Flag::None;
    /// Time that requests in progress get when the server is told to stop. Waiting receives are answered empty at
    /// once.
    shutdown_grace: Duration = Time { min: Duration::ZERO, max: SHUTDOWN_GRACE_MAX }, default "3s",
        cost "A stop takes at most so long, and a little more.", flag Flag::None;
    /// Size at which a file of the log is full and the next one begins. Space is reclaimed by whole files.
    segment_bytes: u32 = Bytes::range(64 << 10, 1 << 30), default "64MiB",
        cost "Disk space for at least three files, each an eighth larger than this.", flag Flag::None;
    /// Disk space that the log may take. At the limit sends are refused and deletes go on, as on a full disk.
    disk_max: Option<u64> = Optional(Bytes::range(256 << 10, 1 << 50)), default "none",
        cost "", flag Flag::None;
    /// Memory for what could be read from the disk as well. Backlogs that take more leave memory, and recent messages are
    /// kept in it as far as it goes. `half` is half of what the machine or the control group has, at most 4GiB. `K`, `M`
    /// and `G` mean the same as `KiB`, `MiB` and `GiB`.
    memory: u64 = Memory { min: 16 << 20, max: 1 << 50 }, default "half",
        cost "As much memory, when there is much to keep. Connections, queues and messages in flight come on top.",
        flag Flag::Value("SIZE");
    /// Messages of one standard queue that can be in flight at the same time. At the limit receives fail with
    /// `OverLimit`.
    in_flight_max: usize = Count { min: 1, max: 10_000_000 }, default "120000",
        cost "About 85 bytes of memory for each message in flight.", flag Flag::None;
    /// Messages of one FIFO queue that can be in flight at the same time. At the limit receives find nothing.
    fifo_in_flight_max: usize = Count { min: 1, max: 10_000_000 }, default "120000",
        cost "About 150 bytes of memory for each message in flight.", flag Flag::None;
    /// Threads that read and write requests. The queues themselves are worked on by one more thread.
    worker_threads: usize = Threads(Count { min: 1, max: 1_024 }), default "cores",
        cost "About 2 MiB of address space for each.", flag Flag::None;
}
