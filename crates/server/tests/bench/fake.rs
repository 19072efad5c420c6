//! A server with one queue that breaks its word in a chosen way, ten times in a hundred.

use super::support::md5;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What it does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Messages are acknowledged and forgotten.
    Lose,
    /// Bodies are changed.
    Change,
    /// Bodies are changed, and the digest is that of the changed one.
    ChangeWithDigest,
    /// The digest in the answer to a send is another.
    WrongDigest,
    /// Messages are delivered twice.
    Twice,
    /// The last message comes first.
    Backwards,
    /// All messages of a group are given away without waiting for deletes.
    Unlocked,
    /// Sends are refused.
    Refuse,
    /// Nothing wrong: answers in chunks, byte by byte.
    Chunks,
    /// Nothing wrong: the connection is closed after each answer, which is how its end is told.
    Closing,
}

struct Message {
    group: String,
    body: String,
    digest: String,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Message>,
    sent_count: usize,
}

/// A running one. Its listener ends when it is dropped.
pub struct Fake {
    address: SocketAddr,
    listener: TcpListener,
}

impl Fake {
    pub fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, queue) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Queue::default())));
        let accepting = listener.try_clone().unwrap();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = accepting.accept() {
                let queue = queue.clone();
                std::thread::spawn(move || serve(stream, fault, &queue));
            }
        });
        Fake { address, listener }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        // Wakes the thread that accepts, and lets it fail.
        self.listener.set_nonblocking(true).unwrap();
        let _ = TcpStream::connect(self.address);
    }
}

/// Answers requests until the connection ends; `None` is its end.
fn serve(stream: TcpStream, fault: Fault, queue: &Mutex<Queue>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut input = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (operation, body) = read(&mut input)?;
        let (status, answer) = answer(&operation, &body, fault, queue);
        write(&stream, fault, status, &answer.to_string())?;
        if fault == Fault::Closing {
            return None;
        }
    }
}

fn read(input: &mut impl BufRead) -> Option<(String, Value)> {
    let (mut operation, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("X-Amz-Target", target)) => operation = target.trim_start_matches("AmazonSQS.").to_owned(),
            Some(("Content-Length", value)) => length = value.parse().ok()?,
            None if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some((operation, serde_json::from_slice(&body).unwrap()))
}

fn write(mut stream: &TcpStream, fault: Fault, status: u16, body: &str) -> Option<()> {
    match fault {
        Fault::Closing => {
            let all = format!("HTTP/1.1 {status} x\r\nConnection: close\r\n\r\n{body}");
            stream.write_all(all.as_bytes()).ok()
        }
        Fault::Chunks => {
            let (first, second) = body.split_at(body.len() / 2);
            let mut all = format!("HTTP/1.1 {status} x\r\nTransfer-Encoding: chunked\r\n\r\n");
            for part in [first, second].into_iter().filter(|part| !part.is_empty()) {
                all += &format!("{:x};extension\r\n{part}\r\n", part.len());
            }
            all += "0\r\n\r\n";
            // In pieces of a prime length, so that every kind of place is cut.
            all.as_bytes().chunks(7).try_for_each(|piece| stream.write_all(piece)).ok()
        }
        _ => {
            let all = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(all.as_bytes()).ok()
        }
    }
}

fn answer(operation: &str, body: &Value, fault: Fault, queue: &Mutex<Queue>) -> (u16, Value) {
    let entries = || body["Entries"].as_array().unwrap().iter();
    match operation {
        "GetQueueUrl" => {
            (200, json!({ "QueueUrl": format!("http://fake/{}", body["QueueName"].as_str().unwrap()) }))
        }
        "SendMessage" => queue.lock().unwrap().send(body, fault),
        "SendMessageBatch" => {
            let mut queue = queue.lock().unwrap();
            let done = entries().map(|entry| {
                let mut done = queue.send(entry, fault).1;
                done["Id"] = entry["Id"].clone();
                done
            });
            (200, json!({ "Successful": done.collect::<Vec<_>>() }))
        }
        "ReceiveMessage" => {
            if fault == Fault::Unlocked {
                // Several receives wait here, and are then answered at once.
                std::thread::sleep(Duration::from_millis(5));
            }
            let max = body["MaxNumberOfMessages"].as_u64().unwrap();
            let mut queue = queue.lock().unwrap();
            let messages: Vec<_> = (0..max).map_while(|_| queue.receive(fault)).collect();
            drop(queue);
            if messages.is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            (200, json!({ "Messages": messages }))
        }
        "DeleteMessageBatch" => (
            200,
            json!({ "Successful": entries().map(|entry| json!({ "Id": entry["Id"] })).collect::<Vec<_>>() }),
        ),
        _ => (200, json!({})),
    }
}

impl Queue {
    fn send(&mut self, entry: &Value, fault: Fault) -> (u16, Value) {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let (mut body, group) = (text("MessageBody"), text("MessageGroupId"));
        let digest = md5::hex(body.as_bytes());
        let mut told = digest.clone();
        let mut kept = digest;
        let mut copies = 1;
        self.sent_count += 1;
        if self.sent_count.is_multiple_of(10) {
            match fault {
                Fault::Lose => copies = 0,
                Fault::Twice => copies = 2,
                Fault::Change => body.replace_range(60..61, "#"),
                Fault::ChangeWithDigest => {
                    body.replace_range(60..61, "#");
                    kept = md5::hex(body.as_bytes());
                }
                Fault::WrongDigest => told = md5::hex(b"another"),
                Fault::Refuse => {
                    let refusal = json!({ "__type": "com.amazonaws.sqs#ServiceUnavailable", "message": "Come back later." });
                    return (503, refusal);
                }
                _ => {}
            }
        }
        for _ in 0..copies {
            let message = Message { group: group.clone(), body: body.clone(), digest: kept.clone() };
            self.messages.push_back(message);
        }
        (200, json!({ "MessageId": "m", "MD5OfMessageBody": told }))
    }

    fn receive(&mut self, fault: Fault) -> Option<Value> {
        let message = match fault {
            Fault::Backwards => self.messages.pop_back()?,
            Fault::Unlocked => {
                let first =
                    self.messages.iter().enumerate().min_by_key(|(_, message)| message.group.clone())?.0;
                self.messages.remove(first)?
            }
            _ => self.messages.pop_front()?,
        };
        let Message { body, digest, .. } = message;
        Some(json!({ "MessageId": "m", "ReceiptHandle": "h\"", "Body": body, "MD5OfBody": digest }))
    }
}
