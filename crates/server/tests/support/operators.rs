//! The operators' API and the commands that speak it.

use super::http::{Answer, Connection, request};
use super::server::Server;
use super::sqs::escape;
use serde_json::Value;
use std::process::{Command, Output};

/// Every message of a queue, in order, page by page.
pub fn peek(server: &Server, queue: &str) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let answer = server.page(&format!("/api/queues/{}/messages?max=1000{after}", escape(queue)));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let page = answer.json();
        all.extend(page["messages"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(token) => after = format!("&after={token}"),
            None => return all,
        }
    }
}

/// One text of every message of a queue.
pub fn peek_texts(server: &Server, queue: &str, name: &str) -> Vec<String> {
    peek(server, queue).iter().map(|message| message[name].as_str().unwrap().to_owned()).collect()
}

/// Begins a redrive; the answer is still to be read.
pub fn begin_redrive(server: &Server, queue: &str, body: &Value) -> Connection {
    let mut connection = Connection::open(server.console).unwrap();
    let target = format!("/api/queues/{}/redrive", escape(queue));
    let headers = [("Content-Type", "application/json")];
    connection.write(&request("POST", &target, &headers, body.to_string().as_bytes())).unwrap();
    connection
}

/// A redrive to its end; the whole answer.
pub fn redrive_answer(server: &Server, queue: &str, body: &Value) -> Answer {
    begin_redrive(server, queue, body).read().unwrap()
}

/// A redrive to its end; its last line.
pub fn redrive(server: &Server, queue: &str, body: &Value) -> Value {
    let answer = redrive_answer(server, queue, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let lines: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, progress) = lines.split_last().unwrap();
    assert!(last["done"].is_boolean(), "{last}");
    assert!(progress.iter().all(|line| line["done"].is_null() && line["examined"].is_u64()), "{progress:?}");
    last.clone()
}

/// A command line of the binary, with nothing of ours in its environment.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TIDEGATE_") {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command
}

/// What a command said, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// Runs a command that asks this server.
pub fn ask(server: &Server, arguments: &[&str]) -> Said {
    let url = format!("http://{}", server.console);
    command(arguments).env("TIDEGATE_ADMIN_URL", url).output().unwrap().into()
}
