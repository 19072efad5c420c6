//! A measurement from its first message to its last:
//!
//! ```text
//! connect · fill · warm up · measure · receive what is left
//! ```
//!
//! What is left is received so that loss can be told: a message that was acknowledged must come, if not in the measured
//! time, then afterwards.

use crate::ledger::Findings;
use crate::meter::{Counts, Errors, Latencies, unpoisoned};
use crate::options::{Load, Mode};
use crate::progress::{Progress, Sight};
use crate::queue::Queue;
use crate::worker::{Messages, Shared, Stage, Worker, now_ns};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Time between two looks at how far it is.
const TICK: Duration = Duration::from_millis(20);
/// Without any successful answer for so long, it is given up. Longer than the longest poll.
const STALLED: Duration = Duration::from_secs(60);
/// Without a new message for so long, what is missing is lost.
const SETTLED: Duration = Duration::from_secs(10);
/// Time for requests on their way to be answered, after the longest poll.
const GRACE: Duration = Duration::from_secs(10);
/// Receives in a row that bring nothing, until a connection takes the queue for empty.
const EMPTY_RECEIVES: u32 = 3;
/// Messages of a receive that is not bound to the size of a batch.
const RECEIVE_MAX: usize = 10;

/// What was measured.
pub(crate) struct Outcome {
    /// What took the time: messages sent in mode `send`, deleted in the others.
    pub(crate) messages: u64,
    pub(crate) took: Duration,
    /// In the measured time.
    pub(crate) counts: Counts,
    pub(crate) latencies: Latencies,
    /// Processor time of this program in the measured time.
    pub(crate) cpu: Duration,
    /// From the beginning to the end, like what follows.
    pub(crate) errors: Errors,
    /// `None`: nothing was verified.
    pub(crate) findings: Option<Findings>,
    /// Whether all was received that could be, so that what is missing is lost.
    pub(crate) is_settled: bool,
    pub(crate) was_interrupted: bool,
}

/// A measurement in the making.
pub(crate) struct Slice<'a> {
    pub(crate) load: &'a Load,
    pub(crate) queue: &'a Queue,
    /// Tells its messages from those of other measurements.
    pub(crate) run: u32,
    pub(crate) progress: &'a mut Progress,
    /// True once the person at the terminal has had enough.
    pub(crate) interrupt: watch::Receiver<bool>,
}

/// How waiting for connections ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// They were done.
    Done,
    Deadline,
    Interrupted,
    Stalled,
}

/// Connections at work; each comes back when it is done.
type Crew = JoinSet<Worker>;

impl Slice<'_> {
    pub(crate) async fn measure(mut self) -> Outcome {
        let load = self.load;
        let messages = Messages {
            run: self.run,
            size: load.size,
            groups: load.groups,
            senders: load.connections,
            come_back: load.mode != Mode::Send,
            is_timed: load.mode == Mode::PingPong,
        };
        let shared = Arc::new(Shared::new(messages, load.verifies, load.threads as usize));
        let workers = self.connect(&shared).await;
        self.progress.restart();
        let workers = self.fill(&shared, workers).await;

        shared.allow(if load.mode == Mode::Drain { 0 } else { load.count.unwrap_or(u64::MAX) });
        let (senders, receivers): (Vec<_>, Vec<_>) =
            workers.into_iter().partition(|worker| worker.index() < load.connections as usize);
        self.progress.restart();
        // A drain is measured from its first receive on; everything else may warm up.
        let warm_up_from = Snapshot::take(&shared);
        shared.meter.measure(load.warm_up.is_zero());
        let mut crew = self.set_to_work(&shared, senders);
        let mut consumers: Crew = JoinSet::new();
        for worker in receivers {
            consumers.spawn(consume_until_stopped(shared.clone(), worker, load.wait_s));
        }
        let mut begin = warm_up_from;
        if !load.warm_up.is_zero() {
            self.wait(&shared, &mut crew, "warming up", Some(load.warm_up)).await;
            shared.meter.measure(true);
            begin = Snapshot::take(&shared);
        }
        let end = self.wait(&shared, &mut crew, load.mode.doing(), load.duration).await;
        let latencies = shared.meter.latencies();
        shared.meter.measure(false);
        let finish = Snapshot::take(&shared);

        shared.stage.send_replace(Stage::Finish);
        let workers = self.gather(&mut crew).await;
        let is_settled = match load.mode {
            Mode::Send => true,
            Mode::Drain => end == End::Done,
            _ if !load.verifies || end == End::Interrupted => false,
            _ => self.settle(&shared, &mut consumers, workers).await,
        };
        shared.stage.send_replace(Stage::Stop);
        self.gather(&mut consumers).await;

        let counts = finish.counts.since(begin.counts);
        let took = match end {
            // The last answers of a queue that is empty took time, and brought nothing.
            End::Done => shared.meter.last_done().saturating_duration_since(begin.at),
            _ => finish.at - begin.at,
        };
        Outcome {
            messages: if load.mode == Mode::Send { counts.sent } else { counts.deleted },
            took,
            counts,
            latencies,
            cpu: finish.cpu.saturating_sub(begin.cpu),
            errors: shared.meter.errors(),
            findings: shared.ledger.as_ref().map(|ledger| unpoisoned(ledger).findings()),
            is_settled,
            was_interrupted: *self.interrupt.borrow(),
        }
    }

    /// Makes all connections before anything is measured.
    async fn connect(&self, shared: &Arc<Shared>) -> Vec<Worker> {
        let load = self.load;
        let consumers = if load.mode == Mode::PingPong { load.consumers } else { 0 };
        let mut opening = JoinSet::new();
        for index in 0..(load.connections + consumers) as usize {
            let mut worker = Worker::new(shared, &self.queue.endpoint, &self.queue.requests, index);
            opening.spawn(async move {
                worker.open().await;
                worker
            });
        }
        opening.join_all().await
    }

    /// Sends what is to wait in the queue beforehand.
    async fn fill(&mut self, shared: &Arc<Shared>, workers: Vec<Worker>) -> Vec<Worker> {
        if self.load.fill == 0 {
            return workers;
        }
        shared.allow(self.load.fill);
        let mut crew = JoinSet::new();
        for worker in workers {
            crew.spawn(send(shared.clone(), worker, RECEIVE_MAX));
        }
        self.wait(shared, &mut crew, "filling", None).await;
        // Those that failed are not sent again; what is there is what is measured.
        shared.allow(0);
        self.gather(&mut crew).await
    }

    fn set_to_work(&self, shared: &Arc<Shared>, workers: Vec<Worker>) -> Crew {
        let load = self.load;
        let (batch, wait_s) = (load.batch, load.wait_s);
        let mut crew = JoinSet::new();
        for worker in workers {
            let shared = shared.clone();
            match load.mode {
                Mode::Send => crew.spawn(send(shared, worker, batch)),
                Mode::Mixed => crew.spawn(send_and_consume(shared, worker, batch, wait_s)),
                Mode::PingPong => match load.rate {
                    None => crew.spawn(send(shared, worker, batch)),
                    Some(rate) => {
                        let every = Duration::from_secs_f64(
                            f64::from(load.connections) * batch as f64 / f64::from(rate),
                        );
                        crew.spawn(send_at_rate(shared, worker, batch, every, load.connections))
                    }
                },
                Mode::Drain => {
                    let count = load.count.or((load.fill > 0).then_some(load.fill));
                    crew.spawn(drain(shared, worker, batch, wait_s, count))
                }
            };
        }
        crew
    }

    /// Waits until the connections are done, or until it is time to stop them.
    async fn wait(&mut self, shared: &Shared, crew: &mut Crew, doing: &str, limit: Option<Duration>) -> End {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut answered = (Instant::now(), shared.meter.counts().requests);
        let mut done = Vec::new();
        let end = loop {
            while let Some(worker) = crew.try_join_next() {
                done.extend(worker);
            }
            let now = Instant::now();
            let counts = shared.meter.counts();
            if counts.requests != answered.1 {
                answered = (now, counts.requests);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            if crew.is_empty() {
                break End::Done;
            } else if left.is_some_and(|left| left.is_zero()) {
                break End::Deadline;
            } else if *self.interrupt.borrow() {
                break End::Interrupted;
            } else if now - answered.0 > STALLED {
                break End::Stalled;
            }
            let messages =
                if doing == "filling" || self.load.mode == Mode::Send { counts.sent } else { counts.deleted };
            self.progress.show(&shared.meter, &Sight { doing, mode: self.load.mode, messages, left });
            let nap = left.unwrap_or(TICK).min(TICK);
            drop(tokio::time::timeout(nap, self.interrupt.changed()).await);
        };
        for worker in done {
            crew.spawn(std::future::ready(worker));
        }
        end
    }

    /// The connections, when they have done what they were at; those that get no answer are left behind.
    async fn gather(&self, crew: &mut Crew) -> Vec<Worker> {
        let patience = GRACE + Duration::from_secs(self.load.wait_s.into());
        let deadline = tokio::time::Instant::now() + patience;
        let mut workers = Vec::new();
        while let Ok(Some(joined)) = tokio::time::timeout_at(deadline, crew.join_next()).await {
            workers.extend(joined);
        }
        crew.abort_all();
        workers
    }

    /// Receives what is left; whether all came, or all that ever will.
    async fn settle(&mut self, shared: &Arc<Shared>, consumers: &mut Crew, workers: Vec<Worker>) -> bool {
        // In mode `pingpong` there are consumers at work already.
        if consumers.is_empty() {
            for worker in workers {
                consumers.spawn(consume_until_stopped(shared.clone(), worker, self.load.wait_s));
            }
        }
        let mut last = (Instant::now(), shared.new_count());
        while shared.missing().is_some_and(|missing| missing > 0) && last.0.elapsed() < SETTLED {
            if *self.interrupt.borrow() {
                return false;
            }
            let new = shared.new_count();
            if new != last.1 {
                last = (Instant::now(), new);
            }
            let messages = shared.meter.counts().deleted;
            let sight = Sight { doing: "receiving what is left", mode: self.load.mode, messages, left: None };
            self.progress.show(&shared.meter, &sight);
            tokio::time::sleep(TICK).await;
        }
        true
    }
}

impl Mode {
    fn doing(self) -> &'static str {
        match self {
            Mode::Send => "sending",
            Mode::Drain => "draining",
            Mode::Mixed | Mode::PingPong => "passing",
        }
    }
}

/// Sends until told to stop, or until there is no more to send.
async fn send(shared: Arc<Shared>, mut worker: Worker, batch: usize) -> Worker {
    while shared.is_at(Stage::Run) && worker.send(batch, None).await.is_some() {}
    worker
}

/// Sends at its share of a rate: each connection at its own offset, `every` so often.
async fn send_at_rate(
    shared: Arc<Shared>,
    mut worker: Worker,
    batch: usize,
    every: Duration,
    connections: u32,
) -> Worker {
    let mut stage = shared.stage.subscribe();
    let mut due = Instant::now() + every.mul_f64(worker.index() as f64 / f64::from(connections));
    loop {
        let late = Instant::now().saturating_duration_since(due);
        if late.is_zero() {
            let stopping = stage.wait_for(|stage| *stage != Stage::Run);
            if tokio::time::timeout_at(due.into(), stopping).await.is_ok() {
                return worker;
            }
        }
        // Late because the answer before was slow: the message counts from when it should have been sent.
        let due_ns = (!late.is_zero())
            .then(|| now_ns().saturating_sub(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX)));
        due += every;
        if !shared.is_at(Stage::Run) || worker.send(batch, due_ns).await.is_none() {
            return worker;
        }
    }
}

/// Sends, and receives and deletes as many messages, whoever sent them.
async fn send_and_consume(shared: Arc<Shared>, mut worker: Worker, batch: usize, wait_s: u32) -> Worker {
    while shared.is_at(Stage::Run) {
        match worker.send(batch, None).await {
            None => break,
            Some(false) => continue,
            Some(true) => {}
        }
        let (mut due, mut empty) = (batch, 0);
        while due > 0 && empty < EMPTY_RECEIVES && shared.is_at(Stage::Run) {
            match worker.consume(batch.min(due), wait_s).await {
                Some(0) | None => empty += 1,
                Some(count) => due = due.saturating_sub(count),
            }
        }
    }
    worker
}

/// Receives and deletes until the queue is empty, or `count` messages came.
async fn drain(
    shared: Arc<Shared>,
    mut worker: Worker,
    batch: usize,
    wait_s: u32,
    count: Option<u64>,
) -> Worker {
    let mut empty = 0;
    while shared.is_at(Stage::Run) && empty < EMPTY_RECEIVES && !is_drained(&shared, count) {
        match worker.consume(batch, wait_s).await {
            Some(0) => empty += 1,
            Some(_) => empty = 0,
            None => {}
        }
    }
    worker
}

/// Whether nothing more is to be received: all that was sent before came, or as many as were asked for.
fn is_drained(shared: &Shared, count: Option<u64>) -> bool {
    let received = shared.meter.counts().received;
    match count {
        None => false,
        Some(count) if shared.issued() == 0 => received >= count,
        // Copies may have come instead of those that are still there; a server that makes messages up never ends.
        Some(count) => {
            received >= 2 * count || received >= count && shared.missing().unwrap_or_default() == 0
        }
    }
}

async fn consume_until_stopped(shared: Arc<Shared>, mut worker: Worker, wait_s: u32) -> Worker {
    while !shared.is_at(Stage::Stop) {
        worker.consume(RECEIVE_MAX, wait_s).await;
    }
    worker
}

/// Where the counts were at an instant.
#[derive(Clone, Copy)]
struct Snapshot {
    at: Instant,
    cpu: Duration,
    counts: Counts,
}

impl Snapshot {
    fn take(shared: &Shared) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = Duration::new(cpu.tv_sec.unsigned_abs(), u32::try_from(cpu.tv_nsec).unwrap_or_default());
        Snapshot { at: Instant::now(), cpu, counts: shared.meter.counts() }
    }
}

/// Runs `work` and tells it when the person at the terminal interrupts; a second interrupt ends the process.
pub(crate) async fn interruptible<T>(work: impl AsyncFnOnce(watch::Receiver<bool>) -> T) -> T {
    let (interrupt, interrupted) = watch::channel(false);
    let listening = listen(interrupt);
    let work = work(interrupted);
    tokio::select! {
        done = work => done,
        never = listening => match never {},
    }
}

async fn listen(interrupt: watch::Sender<bool>) -> std::convert::Infallible {
    loop {
        if tokio::signal::ctrl_c().await.is_err() {
            // Then there is no telling, and the signal ends the process as it would anyway.
            std::future::pending::<()>().await;
        }
        if interrupt.send_replace(true) {
            std::process::exit(i32::from(crate::Verdict::Interrupted.exit_code()));
        }
    }
}
