//! Serving: listen, recover, say so, run until told to stop, stop in order.
//!
//! Both listeners answer from the start: that the server lives, and how far recovery is. A stop meanwhile is at once.
//!
//! The stop has a sequence: listeners close; waiting receives are answered empty; requests under way end within
//! the grace period; the shard writes what it has, and a last checkpoint; the process ends with 0.

use crate::admin::{Admin, Guard, Pages, QueueApi};
use crate::allocator;
use crate::api::{Api, ApiSettings};
use crate::config::{AdminToken, Config, ConfigError, DeclaredCredential, Durability};
use crate::declared::{self, DeclarationError};
use crate::door::Door;
use crate::http::{self, General, Limits, Listener};
use crate::metrics::Metrics;
use crate::recovery;
use crate::shard::Shard;
use crate::tls::{self, CertificateError, Tls};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;
use tidegate_log::{DirStorage, LogError, MemoryStorage, Storage};
use tidegate_protocol::{Credential, Credentials, ReceiptKey};
use tidegate_store::{Progress, RecoverError};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Why the server does not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ServeError {
    #[error("the data directory {dir} cannot be opened")]
    Directory {
        dir: String,
        #[source]
        source: io::Error,
    },
    #[error("the data directory {dir} cannot be used")]
    Log {
        dir: String,
        #[source]
        source: LogError,
    },
    #[error("the data directory {dir} cannot be recovered; nothing in it was changed")]
    Recover {
        dir: String,
        #[source]
        source: RecoverError,
    },
    #[error("cannot listen on {address}; is another server running there? Choose another with --{flag}")]
    Listen {
        address: SocketAddr,
        flag: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("the server's threads cannot be started")]
    Runtime(#[source] io::Error),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
}

/// What guards the listeners, read before anything is touched.
struct Access {
    token: Option<AdminToken>,
    tls: Option<Tls>,
}

/// Serves until SIGTERM or SIGINT.
pub(crate) fn run(config: Config) -> Result<(), ServeError> {
    raise_open_files_limit();
    allocator::keep_small();
    let access =
        Access { token: config.read_admin_token()?, tls: config.tls_files().map(Tls::load).transpose()? };
    if access.token.is_some() && config.admin_is_overheard() {
        tracing::warn!(address = %config.admin, "operators' tokens cross the network unencrypted; TLS would hide them");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.worker_threads)
        .enable_all()
        .build()
        .map_err(ServeError::Runtime)?;
    runtime.block_on(async {
        // Before anything is touched: most often it is another server that has the address, and the directory.
        let sockets = Sockets::bind(&config).await?;
        match config.durability {
            Durability::Memory => serve(MemoryStorage::volatile(), sockets, access, config).await,
            Durability::Fsync | Durability::Os => {
                let dir = config.data_dir.display().to_string();
                let storage = DirStorage::open(&config.data_dir)
                    .map_err(|source| ServeError::Directory { dir, source })?;
                serve(storage, sockets, access, config).await
            }
        }
    })
}

/// Lets the process open as many files as it may ask for: every connection is one, and the usual limit is 1,024.
fn raise_open_files_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_err() {
        tracing::warn!(limit = current, "the limit of open files cannot be raised; it bounds connections");
    }
}

async fn serve<S: Storage>(
    storage: S,
    sockets: Sockets,
    access: Access,
    config: Config,
) -> Result<(), ServeError> {
    let Access { token, tls } = access;
    // Before the first connection is taken: whoever was answered may ask for the stop.
    let mut signals = StopSignals::catch();
    if let Some(tls) = tls.clone() {
        let hangup = signal(SignalKind::hangup()).expect("a handler for SIGHUP can be set");
        tokio::spawn(tls::follow(tls, hangup));
    }
    let (api_address, admin_address) = (sockets.api_address, sockets.admin_address);
    let api_listener = Listener { socket: sockets.api, tls: tls.clone() };
    let admin_listener = Listener { socket: sockets.admin, tls: tls.filter(|_| config.admin_tls) };
    let places = Places {
        endpoint: format!("{}://{api_address}", api_listener.scheme()),
        console: format!("{}://{admin_address}", admin_listener.scheme()),
        certificate: api_listener.tls.as_ref().and_then(Tls::self_signed),
    };
    let limits = Limits {
        connections_max: config.connections_max,
        header_bytes_max: config.header_bytes_max,
        headers_max: config.headers_max,
        idle_timeout: config.idle_timeout,
        shutdown_grace: config.shutdown_grace,
    };
    let (metrics, progress) = (Arc::new(Metrics::new()), Arc::new(Progress::default()));
    let settings = Arc::new(api_settings(&config, api_address));
    let door = Arc::new(Door::new(settings.clone(), metrics.clone(), progress.clone()));
    let admin = Arc::new(Admin::new(Guard { token }, progress.clone()));
    let (stop, stopped) = watch::channel(false);
    let serving = tokio::spawn(http::serve(
        api_listener,
        limits,
        metrics.connections.clone(),
        stopped.clone(),
        door.connections(),
    ));
    let answering = admin.clone();
    let administering = tokio::spawn(http::serve(
        admin_listener,
        Limits { connections_max: ADMIN_CONNECTIONS_MAX, ..limits },
        Default::default(),
        stopped.clone(),
        General(move |peer, request| answering.clone().answer(peer, request)),
    ));

    let recovered = tokio::select! {
        recovered = recovery::run(storage, &config, progress) => recovered?,
        () = signals.wait() => {
            // Nothing was changed that a crash might not leave so.
            tracing::info!("stopped before the state was brought back");
            return Ok(());
        }
    };
    let receipt_key = ReceiptKey(recovered.identity);
    let (shard, threads) = Shard::start(recovered, &metrics.log);
    declared::create(&shard, &config.queues).await?;
    door.open(Api { shard: shard.clone(), receipt_key, settings });
    admin.open(Pages {
        shard: shard.clone(),
        metrics,
        endpoint: places.endpoint.clone(),
        api: QueueApi {
            shard: shard.clone(),
            account: config.account,
            region: config.region.clone(),
            stopped,
        },
    });
    announce(&places, &config);

    signals.wait().await;
    tracing::info!("stopping");
    let _ = stop.send(true);
    shard.stop_waiting();
    let _ = tokio::join!(serving, administering);
    // Joins threads that may be writing: not for the runtime's own threads.
    let _ = tokio::task::spawn_blocking(move || shard.stop(threads)).await;
    tracing::info!("stopped");
    Ok(())
}

/// Operators and scrapers are few.
const ADMIN_CONNECTIONS_MAX: usize = 256;

fn api_settings(config: &Config, address: SocketAddr) -> ApiSettings {
    ApiSettings {
        credentials: credentials(&config.credentials),
        account: config.account,
        region: config.region.clone(),
        public_url: config.public_url.as_ref().map(|url| url.as_str().to_owned()),
        trust_forwarded: config.trust_forwarded,
        fallback_host: address.to_string(),
        body_bytes_max: config.body_bytes_max,
        body_timeout: config.body_timeout,
    }
}

/// The keys that may sign; `None` when there are none, and everybody is let in.
fn credentials(declared: &[DeclaredCredential]) -> Option<Credentials> {
    let credential = |DeclaredCredential { user, secret }: &DeclaredCredential| {
        Credential::new(user.clone(), secret.clone())
    };
    (!declared.is_empty()).then(|| Credentials::new(declared.iter().map(credential)))
}

/// Both listeners' sockets, and where they are: a port may have been left to the system.
struct Sockets {
    api: TcpListener,
    api_address: SocketAddr,
    admin: TcpListener,
    admin_address: SocketAddr,
}

impl Sockets {
    async fn bind(config: &Config) -> Result<Self, ServeError> {
        let (api, api_address) = listen(config.listen, "listen").await?;
        let (admin, admin_address) = listen(config.admin, "admin").await?;
        Ok(Sockets { api, api_address, admin, admin_address })
    }
}

async fn listen(address: SocketAddr, flag: &'static str) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Listen { address, flag, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Where the server is, and what its clients need.
struct Places {
    /// URL of the APIs.
    endpoint: String,
    /// URL of the operators' page.
    console: String,
    /// The file that clients must be told to trust, if nobody else vouches for the certificate.
    certificate: Option<PathBuf>,
}

/// Tells a person, and programs that read the first lines, where the server is.
fn announce(places: &Places, config: &Config) {
    let Places { endpoint, console, certificate } = places;
    let data = match config.durability {
        Durability::Memory => "in memory only; nothing survives the end of the process".to_owned(),
        Durability::Os => {
            format!("{} (mode os: survives the process, not the machine)", config.data_dir.display())
        }
        Durability::Fsync => config.data_dir.display().to_string(),
    };
    // A secret is not for the screen.
    let (access_key, secret, account) = match config.credentials.first() {
        Some(DeclaredCredential { user, .. }) => (&*user.access_key, "'<its secret_key>'", user.account),
        None => ("any", "any", config.account),
    };
    let trust = certificate.as_ref().map_or(String::new(), |file| {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        format!("  export AWS_CA_BUNDLE={}\n", file.display())
    });
    let banner = format!(
        "Tidegate {version}\n  endpoint  {endpoint}\n  console   {console}\n  data      {data}\n\n\
         Try it:\n  export AWS_ACCESS_KEY_ID={access_key} AWS_SECRET_ACCESS_KEY={secret} AWS_DEFAULT_REGION={region}\n{trust}  \
         aws --endpoint-url {endpoint} sqs create-queue --queue-name orders\n  \
         aws --endpoint-url {endpoint} sqs send-message --queue-url {endpoint}/{account}/orders --message-body hello\n",
        version = env!("CARGO_PKG_VERSION"),
        region = config.region,
    );
    use std::io::Write;
    // A closed standard output is no reason not to serve.
    let _ = io::stdout().write_all(banner.as_bytes()).and_then(|()| io::stdout().flush());
}

/// What tells the server to stop.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// From here on a signal no longer ends the process by itself.
    fn catch() -> Self {
        StopSignals {
            terminate: signal(SignalKind::terminate()).expect("a handler for SIGTERM can be set"),
            interrupt: signal(SignalKind::interrupt()).expect("a handler for SIGINT can be set"),
        }
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
