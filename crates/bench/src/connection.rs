//! One connection, with one request on its way at a time: HTTP/1.1 with no more than such servers answer with.

use crate::endpoint::{Endpoint, Stream};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the head of an answer.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes of the body of an answer: ten messages of the largest size, with every character escaped, are less.
const BODY_BYTES_MAX: usize = 64 << 20;
/// Headers of an answer.
const HEADERS_MAX: usize = 64;

/// A connection that is made when it is first used, and anew after an error.
pub(crate) struct Connection {
    endpoint: Arc<Endpoint>,
    stream: Option<Stream>,
    output: Vec<u8>,
    input: Vec<u8>,
    body: Range<usize>,
}

/// What the head of an answer says.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    bytes: usize,
    framing: Framing,
    closes: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    /// Up to the end of the connection.
    Close,
}

impl Connection {
    pub(crate) fn new(endpoint: Arc<Endpoint>) -> Self {
        Connection { endpoint, stream: None, output: Vec::new(), input: Vec::new(), body: 0..0 }
    }

    /// Connects, if it is not connected.
    pub(crate) async fn open(&mut self) -> io::Result<()> {
        if self.stream.is_none() {
            self.stream = Some(self.endpoint.connect().await?);
        }
        Ok(())
    }

    /// Sends a request and reads the answer; its status. Nothing is sent a second time.
    ///
    /// `head` is everything up to the value of the header `Content-Length`, which comes last.
    ///
    /// # Errors
    /// Those of the connection, and `InvalidData` for what is no HTTP. The next exchange uses a new connection.
    pub(crate) async fn exchange(&mut self, head: &[u8], body: &[u8]) -> io::Result<u16> {
        self.open().await?;
        let mut stream = self.stream.take().expect("it was opened");
        self.output.clear();
        self.output.extend_from_slice(head);
        write!(self.output, "{}\r\n\r\n", body.len())?;
        self.output.extend_from_slice(body);
        stream.write(&self.output).await?;
        let head = self.read(&mut stream).await?;
        if !head.closes {
            self.stream = Some(stream);
        }
        Ok(head.status)
    }

    /// The body of the last answer.
    pub(crate) fn body(&self) -> &[u8] {
        &self.input[self.body.clone()]
    }

    async fn read(&mut self, stream: &mut Stream) -> io::Result<Head> {
        self.input.clear();
        let head = loop {
            stream.read(&mut self.input).await?;
            if let Some(head) = parse_head(&self.input)? {
                break head;
            }
            if self.input.len() > HEAD_BYTES_MAX {
                return Err(invalid("the head of the answer is too long"));
            }
        };
        self.body = match head.framing {
            Framing::Length(bytes) => {
                while self.input.len() < head.bytes + bytes {
                    stream.read(&mut self.input).await?;
                }
                head.bytes..head.bytes + bytes
            }
            Framing::Chunked => self.read_chunks(stream, head.bytes).await?,
            Framing::Close => self.read_to_end(stream, head.bytes).await?,
        };
        Ok(head)
    }

    /// Reads chunks, and moves them together where they are.
    async fn read_chunks(&mut self, stream: &mut Stream, start: usize) -> io::Result<Range<usize>> {
        let (mut end, mut next) = (start, start);
        loop {
            let status = httparse::parse_chunk_size(&self.input[next..]);
            match status.map_err(|_| invalid("the answer has a chunk without a size"))? {
                httparse::Status::Partial => stream.read(&mut self.input).await?,
                httparse::Status::Complete((head, size)) => {
                    let size = usize::try_from(size).ok().filter(|size| end - start + size <= BODY_BYTES_MAX);
                    let size = size.ok_or_else(|| invalid("the answer is too long"))?;
                    let data = next + head;
                    // The data and the line break after it.
                    while self.input.len() < data + size + 2 {
                        stream.read(&mut self.input).await?;
                    }
                    self.input.copy_within(data..data + size, end);
                    end += size;
                    next = data + size + 2;
                    if size == 0 {
                        return Ok(start..end);
                    }
                }
            }
        }
    }

    async fn read_to_end(&mut self, stream: &mut Stream, start: usize) -> io::Result<Range<usize>> {
        loop {
            match stream.read(&mut self.input).await {
                Ok(()) if self.input.len() - start > BODY_BYTES_MAX => {
                    return Err(invalid("the answer is too long"));
                }
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(start..self.input.len());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The head of an answer, once all of it is there.
fn parse_head(input: &[u8]) -> io::Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let bytes = match response.parse(input) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the answer is no HTTP: {error}"),
            ));
        }
    };
    let mut closes = response.version == Some(0);
    let (mut length, mut chunked) = (None, false);
    for header in response.headers.iter() {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let parsed = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            let parsed = parsed.filter(|bytes| *bytes <= BODY_BYTES_MAX);
            length = Some(parsed.ok_or_else(|| invalid("the answer's length is no number, or too large"))?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.eq_ignore_ascii_case(b"chunked");
        } else if header.name.eq_ignore_ascii_case("connection") {
            closes = if closes {
                !value.eq_ignore_ascii_case(b"keep-alive")
            } else {
                value.eq_ignore_ascii_case(b"close")
            };
        }
    }
    let status = response.code.unwrap_or_default();
    let framing = match length {
        _ if chunked => Framing::Chunked,
        Some(bytes) => Framing::Length(bytes),
        None if status == 204 || !closes => Framing::Length(0),
        None => Framing::Close,
    };
    Ok(Some(Head { status, bytes, framing, closes }))
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_how_the_body_ends() {
        for (text, status, framing, closes) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, Framing::Length(5), false),
            (
                "HTTP/1.1 200 OK\r\ncontent-length:0\r\nConnection: close\r\n\r\n",
                200,
                Framing::Length(0),
                true,
            ),
            ("HTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n", 503, Framing::Chunked, false),
            ("HTTP/1.0 200 OK\r\n\r\n", 200, Framing::Close, true),
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n",
                200,
                Framing::Length(1),
                false,
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, Framing::Length(0), false),
        ] {
            let head = parse_head(text.as_bytes()).unwrap().unwrap();
            assert_eq!(head, Head { status, bytes: text.len(), framing, closes }, "{text}");
            assert_eq!(parse_head(&text.as_bytes()[..text.len() - 1]).unwrap(), None);
        }
        for text in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        ] {
            assert_eq!(parse_head(text.as_bytes()).unwrap_err().kind(), io::ErrorKind::InvalidData, "{text}");
        }
    }
}
