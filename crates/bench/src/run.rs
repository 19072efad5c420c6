//! One measurement, or two endpoints in turns.

use crate::endpoint::Endpoint;
use crate::error::BenchError;
use crate::options::Load;
use crate::progress::Progress;
use crate::queue::Queue;
use crate::report::{self, Comparison, Side};
use crate::request::Requests;
use crate::sign::Credential;
use crate::slice::{Outcome, Slice, interruptible};
use crate::worker::now_ns;
use crate::{Trust, Verdict};
use std::io::{self, Write};
use std::sync::Arc;
use tokio::sync::watch;

/// Measures and prints the result.
pub(crate) async fn run(load: &Load, trust: Trust) -> Result<Verdict, BenchError> {
    // Tells what one queue holds of several runs apart; the same number comes again after 71 minutes.
    let run = (now_ns() / 1_000) as u32;
    let mut queues = vec![queue(load, &load.endpoint, run, trust).await?];
    if let Some((url, _)) = &load.compared {
        match queue(load, url, run, trust).await {
            Ok(queue) => queues.push(queue),
            Err(error) => {
                leave(load, queues).await;
                return Err(error);
            }
        }
    }
    let sides = interruptible(async |interrupt| measure(load, &queues, run, interrupt).await).await;
    let verdict = sides.iter().map(Side::verdict).max().unwrap_or(Verdict::Faulty);
    let printed = print(load, &sides);
    leave(load, queues).await;
    printed.map(|()| verdict)
}

async fn queue(load: &Load, url: &str, run: u32, trust: Trust) -> Result<Queue, BenchError> {
    let endpoint = Arc::new(Endpoint::find(url, load.ca.as_deref(), trust).await?);
    let requests = Requests::new(endpoint.clone(), Credential::from_environment(), &load.region());
    match &load.queue_url {
        Some(url) => Ok(Queue::at(endpoint, &requests, url)),
        None => {
            Queue::named(
                endpoint,
                requests,
                &load.queue_name(run),
                load.groups.is_some(),
                load.creates_queue(),
            )
            .await
        }
    }
}

/// Each endpoint in its turn, as often as it has one.
async fn measure(load: &Load, queues: &[Queue], run: u32, interrupt: watch::Receiver<bool>) -> Vec<Side> {
    let mut progress = Progress::on_terminal();
    let rounds = load.compared.as_ref().map_or(1, |(_, rounds)| *rounds);
    let mut outcomes: Vec<Vec<Outcome>> = queues.iter().map(|_| Vec::new()).collect();
    'turns: for round in 0..rounds {
        for (index, queue) in queues.iter().enumerate() {
            if *interrupt.borrow() {
                break 'turns;
            }
            if queues.len() > 1 {
                progress.label(format!("round {} of {rounds}, {}: ", round + 1, queue.endpoint.url));
            }
            let slice = Slice {
                load,
                queue,
                run: run.wrapping_add(round * queues.len() as u32 + index as u32),
                progress: &mut progress,
                interrupt: interrupt.clone(),
            };
            outcomes[index].push(slice.measure().await);
        }
    }
    progress.clear();
    let sides = queues.iter().zip(outcomes).filter(|(_, outcomes)| !outcomes.is_empty());
    sides.map(|(queue, outcomes)| Side::new(&queue.endpoint.url, &queue.url, outcomes)).collect()
}

fn print(load: &Load, sides: &[Side]) -> Result<(), BenchError> {
    let text = match sides {
        [a, b] => {
            let comparison = Comparison::of(a, b);
            if load.json {
                report::json::comparison(load, a, b, &comparison).to_string()
            } else {
                report::table::comparison(load, a, b, &comparison)
            }
        }
        [side] if load.json => report::json::side(load, side).to_string(),
        [side] => report::table::side(load, side),
        _ => return Ok(()),
    };
    let written = writeln!(io::stdout(), "{}", text.trim_end());
    // Whoever read this has seen enough.
    written.or_else(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(BenchError::Output(error)) }
    })
}

/// Deletes the queues that were created. The result is there already, so a failure is only told.
async fn leave(load: &Load, queues: Vec<Queue>) {
    for queue in queues {
        let url = queue.url.clone();
        if let Err(error) = queue.leave(load.keeps).await {
            drop(writeln!(io::stderr(), "tidegate: the queue {url} is left behind: {error}"));
        }
    }
}
