//! The `tidegate` binary: a durable message service that speaks the protocol of Amazon SQS.

mod cli;
mod config;
mod telemetry;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::parse() {
        cli::Invocation::Serve(flags) => serve(&flags),
        cli::Invocation::Check { .. } => ExitCode::from(2),
    }
}

fn serve(flags: &config::Flags) -> ExitCode {
    match config::Config::load(flags, std::env::vars_os()) {
        Ok(config) => {
            telemetry::start(config.log_format, config.log_level);
            tracing::info!(?config, "configured");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("tidegate: {}", cli::sentence(&error));
            ExitCode::FAILURE
        }
    }
}
