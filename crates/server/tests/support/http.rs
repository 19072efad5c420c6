//! A blocking HTTP/1.1 client that hides nothing: it sends what it is given, and reads one answer at a time.

use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Longer than any long poll, so that an answer that never comes fails the test instead of hanging it.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// One connection.
pub struct Connection {
    stream: Stream,
    /// Bytes that came and belong to no answer yet.
    rest: Vec<u8>,
}

/// How the bytes travel.
enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Encrypted(stream) => &stream.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Encrypted(stream) => stream.flush(),
        }
    }
}

/// Closing alone may come late: a process that another test just starts has a copy of every socket until it runs
/// its own program.
impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.stream.socket().shutdown(Shutdown::Both);
    }
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&address, READ_TIMEOUT)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(READ_TIMEOUT))?;
    socket.set_write_timeout(Some(READ_TIMEOUT))?;
    Ok(socket)
}

impl Connection {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        Ok(Connection { stream: Stream::Plain(connect(address)?), rest: Vec::new() })
    }

    /// Opens a connection and shakes hands on it.
    pub fn open_tls(address: SocketAddr, config: Arc<ClientConfig>) -> io::Result<Self> {
        let mut socket = connect(address)?;
        let name = address.ip().into();
        let mut session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        let stream = Stream::Encrypted(Box::new(StreamOwned::new(session, socket)));
        Ok(Connection { stream, rest: Vec::new() })
    }

    /// What the handshake agreed on.
    ///
    /// # Panics
    /// When the connection is a plain one.
    pub fn session(&self) -> &ClientConnection {
        match &self.stream {
            Stream::Encrypted(stream) => &stream.conn,
            Stream::Plain(_) => panic!("this connection is not encrypted"),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Ends the sending direction only.
    pub fn close_write(&self) {
        // The server may have closed already.
        let _ = self.stream.socket().shutdown(Shutdown::Write);
    }

    /// Reads the next final answer.
    ///
    /// # Errors
    /// `UnexpectedEof` when the connection ends before the first byte of one or within it.
    pub fn read(&mut self) -> io::Result<Answer> {
        loop {
            let answer = self.read_any()?;
            if answer.status >= 200 {
                return Ok(answer);
            }
        }
    }

    /// Reads the next answer, which may be an interim one such as `100 Continue`.
    pub fn read_any(&mut self) -> io::Result<Answer> {
        let head_end = loop {
            if let Some(at) = self.rest.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            self.more()?;
        };
        let head = String::from_utf8_lossy(&self.rest[..head_end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status line: {head:?}")))?;
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        self.rest.drain(..head_end);
        let mut answer = Answer { status, headers, body: Vec::new() };
        if status >= 200 {
            if answer.header("transfer-encoding") == Some("chunked") {
                answer.body = self.read_chunks()?;
                return Ok(answer);
            }
            let length = answer.header("content-length").unwrap_or("0").parse().map_err(io::Error::other)?;
            while self.rest.len() < length {
                self.more()?;
            }
            answer.body = self.rest.drain(..length).collect();
        }
        Ok(answer)
    }

    /// Reads a body in chunks to its end.
    fn read_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line_end = loop {
                if let Some(at) = self.rest.windows(2).position(|window| window == b"\r\n") {
                    break at;
                }
                self.more()?;
            };
            let size = String::from_utf8_lossy(&self.rest[..line_end]).into_owned();
            let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
            while self.rest.len() < line_end + 2 + size + 2 {
                self.more()?;
            }
            body.extend_from_slice(&self.rest[line_end + 2..][..size]);
            self.rest.drain(..line_end + 2 + size + 2);
            if size == 0 {
                return Ok(body);
            }
        }
    }

    /// Reads what still comes until the server closes; how many bytes that were.
    pub fn read_to_end(&mut self) -> io::Result<usize> {
        self.bytes_to_end().map(|bytes| bytes.len())
    }

    /// Reads what still comes until the server closes.
    pub fn bytes_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.rest);
        self.stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Whether the server has closed the connection and nothing is left to read.
    pub fn is_closed(&self) -> bool {
        let socket = self.stream.socket();
        socket.set_nonblocking(true).unwrap();
        let seen = socket.peek(&mut [0]);
        socket.set_nonblocking(false).unwrap();
        match seen {
            Ok(length) => length == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    fn more(&mut self) -> io::Result<()> {
        let mut chunk = [0; 65_536];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.rest.extend_from_slice(&chunk[..length]);
                Ok(())
            }
            // A read with a time limit is not taken up again after the process was stopped for a while. Callers try again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether the connection can take another request.
    pub fn keeps_alive(&self) -> bool {
        !self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// The bytes of a request. `Host` and `Content-Length` are added unless given.
pub fn request(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
    let given = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let mut header = |name: &str, value: &str| {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    };
    for (name, value) in headers {
        header(name, value);
    }
    if !given("host") {
        header("Host", "127.0.0.1");
    }
    if !given("content-length") && !given("transfer-encoding") {
        header("Content-Length", &body.len().to_string());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// One GET on a connection of its own.
pub fn get(address: SocketAddr, target: &str) -> Answer {
    let mut connection = Connection::open(address).unwrap();
    connection.write(&request("GET", target, &[], b"")).unwrap();
    connection.read().unwrap()
}
