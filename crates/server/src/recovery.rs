//! Bringing the state back while the listeners answer already.

use crate::config::{Config, Durability};
use crate::serve::ServeError;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_log::{LogConfig, SegmentedLog, Storage};
use tidegate_store::{MemoryBudget, Progress, Progressed, Recovered, recover_watched};
use tokio::sync::oneshot;

/// Brings the state back on a thread of its own, and says now and then how far it is: in a line on the terminal, or else
/// in the log. Dropped before the end, it leaves the thread to end with the process, as a crash would.
///
/// # Errors
/// When the data directory cannot be used or recovered.
pub(crate) async fn run<S: Storage>(
    storage: S,
    config: &Config,
    progress: Arc<Progress>,
) -> Result<Recovered<S>, ServeError> {
    let start = Instant::now();
    let (sender, mut outcome) = oneshot::channel();
    let (watched, settings) = (progress.clone(), config.clone());
    let bring_back = move || drop(sender.send(bring_back(storage, &settings, &watched)));
    std::thread::Builder::new().name("recovery".into()).spawn(bring_back).map_err(ServeError::Runtime)?;
    let mut report = Report::on_standard_error();
    let mut ticks = tokio::time::interval(report.period());
    // The first tick comes at once, and by then there is nothing to tell.
    ticks.tick().await;
    let recovered = loop {
        tokio::select! {
            outcome = &mut outcome => {
                break outcome.expect("the thread ends with an outcome");
            }
            _ = ticks.tick() => report.tell(progress.look()),
        }
    };
    drop(report);
    let recovered = recovered?;
    tell(&recovered, config, start.elapsed());
    Ok(recovered)
}

fn bring_back<S: Storage>(
    storage: S,
    config: &Config,
    progress: &Progress,
) -> Result<Recovered<S>, ServeError> {
    let dir = || config.data_dir.display().to_string();
    let memory = MemoryBudget::of(config.memory);
    let log_config = LogConfig {
        segment_bytes: config.segment_bytes,
        durability: log_durability(config.durability),
        max_bytes: config.disk_max,
        recent_bytes: memory.recent_bytes(),
    };
    let opened = SegmentedLog::open(storage, log_config, rand::random())
        .map_err(|source| ServeError::Log { dir: dir(), source })?;
    let mut engine = tidegate_engine::Config {
        in_flight_max: config.in_flight_max,
        fifo_in_flight_max: config.fifo_in_flight_max,
        ..Default::default()
    };
    if !config.strict_cooldowns {
        engine.cooldown = Duration::ZERO;
    }
    recover_watched(opened, engine, memory, progress)
        .map_err(|source| ServeError::Recover { dir: dir(), source })
}

/// How far an append goes in each mode of the server.
fn log_durability(durability: Durability) -> tidegate_log::Durability {
    match durability {
        Durability::Fsync => tidegate_log::Durability::Fsync,
        Durability::Os | Durability::Memory => tidegate_log::Durability::Os,
    }
}

/// Tells the log what was found.
fn tell<S: Storage>(recovered: &Recovered<S>, config: &Config, elapsed: Duration) {
    let report = &recovered.report;
    tracing::info!(
        data_dir = %config.data_dir.display(),
        epoch = report.epoch,
        queues = report.queues,
        messages = report.messages,
        records = report.records,
        elapsed_ms = elapsed.as_millis() as u64,
        "recovered"
    );
    if let Some(position) = recovered.log.torn_at {
        tracing::info!(%position, "cut off an interrupted write; nothing in it had been acknowledged");
    }
    for name in &recovered.log.damaged_checkpoints {
        tracing::warn!(name, "skipped a damaged checkpoint; the one before it was used");
    }
}

/// Where progress is told.
enum Report {
    /// In one line that is written over; whether it stands there now.
    Line { shown: bool },
    /// In the log.
    Log,
}

impl Report {
    fn on_standard_error() -> Self {
        if io::stderr().is_terminal() { Report::Line { shown: false } } else { Report::Log }
    }

    /// Often enough that a line moves, and that a log shows life without being filled.
    fn period(&self) -> Duration {
        match self {
            Report::Line { .. } => Duration::from_millis(200),
            Report::Log => Duration::from_secs(2),
        }
    }

    fn tell(&mut self, progressed: Progressed) {
        match self {
            Report::Line { shown } => {
                *shown = true;
                drop(write!(io::stderr(), "\r\x1b[Krecovering: {progressed}"));
            }
            Report::Log => tracing::info!(
                percent = progressed.percent(),
                bytes = progressed.bytes,
                bytes_total = progressed.bytes_total,
                records = progressed.records,
                "recovering"
            ),
        }
    }
}

impl Drop for Report {
    /// Takes the line away, also when the server is told to stop before the end.
    fn drop(&mut self) {
        if let Report::Line { shown: true } = self {
            drop(write!(io::stderr(), "\r\x1b[K"));
        }
    }
}
