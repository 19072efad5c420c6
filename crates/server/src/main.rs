//! The `tidegate` binary: a durable message service that speaks the protocol of Amazon SQS.

mod admin;
mod allocator;
mod api;
mod check;
mod cli;
mod config;
mod declared;
mod door;
mod forwarded;
mod http;
mod metrics;
mod operator;
mod recovery;
mod serve;
mod shard;
mod telemetry;
mod tls;

use std::process::ExitCode;

/// Exit code after a failed write or fsync of the log.
const EXIT_LOG_FAILED: i32 = 3;

fn main() -> ExitCode {
    match cli::parse() {
        cli::Invocation::Serve(flags) => serve(&flags),
        cli::Invocation::Check { dir } => check::run(&dir),
        cli::Invocation::Peek(peek) => peek.run(),
        cli::Invocation::Redrive(redrive) => redrive.run(),
        cli::Invocation::Bench(bench) => measure(&bench),
    }
}

fn serve(flags: &config::Flags) -> ExitCode {
    let config = match config::Config::load(flags, std::env::vars_os()) {
        Ok(config) => config,
        Err(error) => return fail(&error),
    };
    telemetry::start(config.log_format, config.log_level);
    match serve::run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn measure(bench: &tidegate_bench::Bench) -> ExitCode {
    match bench.run(|ca| tls::connector(ca).map_err(Into::into)) {
        Ok(verdict) => verdict.exit_code().into(),
        Err(error) => {
            fail(&error);
            error.exit_code().into()
        }
    }
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("tidegate: {}", cli::sentence(error));
    ExitCode::FAILURE
}
