//! Servers that show what the machine itself allows. There is no queue in them.
//!
//! `limit-http` reads each request and answers a constant of the size of a real answer: no HTTP server of the same library
//! can be faster. `limit-fsync` moreover writes the body of every send and delete to a preallocated file and answers when
//! that is on stable storage; what comes while one fsync is under way shares the next. It keeps no index, finds nothing
//! again, and overwrites the file from its beginning when it is full: no durable server that does more can be faster.

use crate::Verdict;
use crate::error::BenchError;
use bytes::Bytes;
use clap::{Arg, ArgMatches, Command, value_parser};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::meter::unpoisoned;

const HTTP: &str = "limit-http";
const FSYNC: &str = "limit-fsync";

/// Messages of the largest batch.
const BATCH_MAX: usize = 10;
/// Bytes of the file that is overwritten again and again.
const FILE_BYTES: u64 = 512 << 20;

/// One of the two servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    listen: String,
    /// Bytes of the body of a message in an answer.
    size: usize,
    pub(crate) threads: u32,
    /// Where sends and deletes are written; `None` writes nothing.
    file: Option<PathBuf>,
}

impl Limit {
    pub(crate) fn commands() -> [Command; 2] {
        let command = |name: &'static str, listen: &'static str, about: &'static str| {
            let value = |id: &'static str, name: &'static str, about: &'static str| {
                Arg::new(id).long(id).value_name(name).help(about)
            };
            Command::new(name)
                .about(about)
                .arg(value("listen", "ADDR", "Where to listen").default_value(listen))
                .arg(
                    value("size", "BYTES", "Bytes of a message in an answer")
                        .value_parser(value_parser!(u32).range(1..=1 << 20))
                        .default_value("300"),
                )
                .arg(
                    value("threads", "N", "Threads [default: one for each processor]")
                        .value_parser(value_parser!(u32).range(1..=256)),
                )
        };
        [
            command(
                HTTP,
                "127.0.0.1:9390",
                "Serve constants: what the machine allows a server that keeps nothing",
            ),
            command(
                FSYNC,
                "127.0.0.1:9391",
                "The same, with sends and deletes on stable storage: what it allows a durable one",
            )
            .arg(
                Arg::new("file")
                    .long("file")
                    .value_name("FILE")
                    .value_parser(value_parser!(PathBuf))
                    .required(true)
                    .help("The file to write, 512 MiB, on the disk in question"),
            ),
        ]
    }

    pub(crate) fn from_matches(name: &str, matches: &ArgMatches) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get().min(256));
        Limit {
            listen: matches.get_one("listen").cloned().unwrap_or_default(),
            size: matches.get_one::<u32>("size").map_or(0, |size| *size as usize),
            threads: matches.get_one("threads").copied().unwrap_or(processors as u32),
            file: if name == FSYNC { matches.get_one("file").cloned() } else { None },
        }
    }

    /// Serves until the process is ended.
    pub(crate) async fn serve(&self) -> Result<Verdict, BenchError> {
        let refused = |source| BenchError::Listen { address: self.listen.clone(), source };
        let listener = TcpListener::bind(&self.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let answers = Arc::new(Answers::new(self.size, &format!("http://{address}/000000000000/limit")));
        let journal = self.file.as_deref().map(Journal::start).transpose()?;
        let told =
            writeln!(io::stdout(), "{} at http://{address}", if journal.is_some() { FSYNC } else { HTTP });
        told.and_then(|()| io::stdout().flush()).map_err(BenchError::Output)?;
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted.map(|(stream, _)| stream),
                _ = tokio::signal::ctrl_c() => return Ok(Verdict::Sound),
            };
            // An error of accept is that of one connection.
            if let Ok(stream) = stream {
                tokio::spawn(serve_connection(stream, answers.clone(), journal.clone()));
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, answers: Arc<Answers>, journal: Option<Arc<Journal>>) {
    // Without it an answer may wait for an acknowledgement; an error shows with the first byte.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: Request<Incoming>| {
        let (answers, journal) = (answers.clone(), journal.clone());
        async move {
            let target = request.headers().get("x-amz-target").cloned();
            let body = request.into_body().collect().await?.to_bytes();
            let target = target.as_ref().map_or(&b""[..], |target| target.as_bytes());
            let operation = target.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
            let answer = answers.to(operation, &body);
            let is_stored = operation.starts_with(b"Send") || operation.starts_with(b"Delete");
            if let Some(journal) = journal.filter(|_| is_stored) {
                journal.append(&body).await;
            }
            let response = Response::builder()
                .header("Content-Type", "application/x-amz-json-1.0")
                .header("x-amzn-RequestId", ID)
                .body(Full::new(answer))
                .expect("these headers are valid");
            Ok::<_, hyper::Error>(response)
        }
    });
    // Its end is the client's business.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

const ID: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

/// The constants, of batches by their size.
struct Answers {
    send: Bytes,
    send_batch: Vec<Bytes>,
    receive: Vec<Bytes>,
    delete_batch: Vec<Bytes>,
    queue_url: Bytes,
}

impl Answers {
    fn new(size: usize, queue_url: &str) -> Self {
        let digest = "d41d8cd98f00b204e9800998ecf8427e";
        let (handle, body) = ("A".repeat(72), "x".repeat(size));
        let message = format!(
            r#"{{"MessageId":"{ID}","ReceiptHandle":"{handle}","MD5OfBody":"{digest}","Body":"{body}"}}"#
        );
        let sent = format!(r#""MessageId":"{ID}","MD5OfMessageBody":"{digest}""#);
        let batches = |answer: &dyn Fn(usize) -> String| {
            (0..=BATCH_MAX).map(|count| Bytes::from(answer(count))).collect()
        };
        let entries = |count: usize, rest: &str| {
            let entries: Vec<_> = (0..count).map(|index| format!(r#"{{"Id":"{index}"{rest}}}"#)).collect();
            format!(r#"{{"Successful":[{}],"Failed":[]}}"#, entries.join(","))
        };
        Answers {
            send: format!("{{{sent}}}").into(),
            send_batch: batches(&|count| entries(count, &format!(",{sent}"))),
            receive: batches(&|count| format!(r#"{{"Messages":[{}]}}"#, vec![&*message; count].join(","))),
            delete_batch: batches(&|count| entries(count, "")),
            queue_url: format!(r#"{{"QueueUrl":"{queue_url}"}}"#).into(),
        }
    }

    fn to(&self, operation: &[u8], body: &[u8]) -> Bytes {
        match operation {
            b"SendMessage" => self.send.clone(),
            b"SendMessageBatch" => {
                self.send_batch[count_after(body, b"\"Id\":\"").map_or(0, |last| last + 1)].clone()
            }
            b"ReceiveMessage" => {
                self.receive[count_after(body, b"\"MaxNumberOfMessages\":").unwrap_or(1)].clone()
            }
            b"DeleteMessageBatch" => {
                self.delete_batch[count_after(body, b"\"Id\":\"").map_or(0, |last| last + 1)].clone()
            }
            b"GetQueueUrl" | b"CreateQueue" => self.queue_url.clone(),
            _ => Bytes::new(),
        }
    }
}

/// The number, up to what fits a batch, after the last place of `name` in a body: what the requests of this program have
/// there. Sought from the end, where it is near.
fn count_after(body: &[u8], name: &[u8]) -> Option<usize> {
    let at = body.windows(name.len()).rposition(|window| window == name)? + name.len();
    let digits = body[at..].iter().take_while(|byte| byte.is_ascii_digit()).take(2);
    let number = digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
    Some(number.min(BATCH_MAX - usize::from(name.starts_with(b"\"Id"))))
}

/// The file, and what waits to be written to it.
struct Journal {
    pending: Mutex<Pending>,
    arrived: Condvar,
}

#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Journal {
    /// Preallocates the file and starts the thread that writes it.
    fn start(path: &Path) -> Result<Arc<Self>, BenchError> {
        let failed = |source| BenchError::File { path: path.to_owned(), source };
        let file = preallocated(path).map_err(failed)?;
        let journal = Arc::new(Journal { pending: Mutex::default(), arrived: Condvar::new() });
        let (writer, path) = (journal.clone(), path.to_owned());
        std::thread::spawn(move || {
            let error = BenchError::File { path, source: writer.write(&file) };
            // Without stable storage there is nothing to measure.
            drop(writeln!(io::stderr(), "tidegate: {error}"));
            std::process::exit(1);
        });
        Ok(journal)
    }

    /// Done when the body is on stable storage.
    async fn append(&self, body: &[u8]) {
        let (done, stored) = oneshot::channel();
        {
            let mut pending = unpoisoned(&self.pending);
            pending.bytes.extend_from_slice(body);
            pending.waiting.push(done);
        }
        self.arrived.notify_one();
        // The other end is kept until it is stored; should the writer fail, the process ends.
        let _ = stored.await;
    }

    /// Writes what waits, with one fsync, again and again; why that failed.
    fn write(&self, file: &File) -> io::Error {
        let (mut batch, mut offset) = (Pending::default(), 0);
        loop {
            let mut pending = unpoisoned(&self.pending);
            while pending.waiting.is_empty() {
                pending = self.arrived.wait(pending).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            std::mem::swap(&mut *pending, &mut batch);
            drop(pending);
            if offset + batch.bytes.len() as u64 > FILE_BYTES {
                offset = 0;
            }
            if let Err(error) = file.write_all_at(&batch.bytes, offset).and_then(|()| file.sync_data()) {
                return error;
            }
            offset += batch.bytes.len() as u64;
            batch.bytes.clear();
            // One that went away does not wait any more.
            for done in batch.waiting.drain(..) {
                let _ = done.send(());
            }
        }
    }
}

/// A file whose every block was written, so that an fsync changes no metadata.
fn preallocated(path: &Path) -> io::Result<File> {
    let mut file = File::create(path)?;
    let zeros = vec![0; 1 << 20];
    for _ in 0..FILE_BYTES / zeros.len() as u64 {
        file.write_all(&zeros)?;
    }
    file.sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer;

    /// The answers are those that the client of this program expects.
    #[test]
    fn answers_have_as_many_entries_as_the_request() {
        let answers = Answers::new(60, "http://h/q");
        for count in 1..=BATCH_MAX {
            let entries: Vec<_> =
                (0..count).map(|index| format!(r#"{{"Id":"{index}","MessageBody":"b"}}"#)).collect();
            let body = format!(r#"{{"QueueUrl":"q","Entries":[{}]}}"#, entries.join(","));
            for operation in ["SendMessageBatch", "DeleteMessageBatch"] {
                let text = answers.to(operation.as_bytes(), body.as_bytes());
                assert_eq!(answer::batch(&text, count).ok().unwrap().done.len(), count, "{operation}");
            }
            let body = format!(r#"{{"QueueUrl":"q","MaxNumberOfMessages":{count},"WaitTimeSeconds":1}}"#);
            let text = answers.to(b"ReceiveMessage", body.as_bytes());
            let messages = answer::received(&text).unwrap();
            assert_eq!((messages.len(), messages[0].body.len()), (count, 60));
        }
        assert!(answer::sent(&answers.to(b"SendMessage", b"{}")).is_ok());
        assert_eq!(answer::queue_url(&answers.to(b"CreateQueue", b"{}")).unwrap(), "http://h/q");
        assert_eq!(answers.to(b"SendMessageBatch", br#"{"Id":"99"}"#), answers.send_batch[BATCH_MAX]);
        assert_eq!(
            answers.to(b"ReceiveMessage", br#"{"MaxNumberOfMessages":99}"#),
            answers.receive[BATCH_MAX]
        );
    }
}
