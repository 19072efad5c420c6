//! A small HTTP client for the operators' API: one connection a request, plain or encrypted.

use super::error::OperatorError;
use super::{Access, TOKEN_FILE_VARIABLE, TOKEN_VARIABLE, URL_DEFAULT, URL_VARIABLE, variable};
use crate::tls;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::pki_types::ServerName;
use serde_json::Value;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Time for a connection, its handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the first byte of an answer, and between two parts of one. A redrive of one message a second still tells
/// how far it is every second; large pages of large bodies take longest.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Port of a URL that names none.
const PORT_DEFAULT: u16 = 9325;
/// Bytes of an answer that is a refusal; more is not one of ours.
const REFUSAL_BYTES: usize = 1 << 20;
/// What stands in a path as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b':');

/// Asks one server.
pub(super) struct Client {
    url: String,
    host: String,
    port: u16,
    /// What stands before each path, without a slash at its end.
    base: String,
    tls: Option<TlsConnector>,
    token: Option<Token>,
}

struct Token {
    header: HeaderValue,
    /// Where it was found.
    origin: String,
}

impl Client {
    pub(super) fn new(access: &Access) -> Result<Self, OperatorError> {
        let url = access.url.clone().or_else(|| variable(URL_VARIABLE)).unwrap_or_else(|| URL_DEFAULT.into());
        let refused = || OperatorError::Url { url: url.clone() };
        let uri: Uri = url.parse().map_err(|_| refused())?;
        let tls = match uri.scheme_str() {
            Some("http") => None,
            Some("https") => Some(tls::connector(access.ca.as_deref())?),
            _ => return Err(refused()),
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        let host = authority.map(Authority::host).filter(|host| !host.is_empty());
        Ok(Client {
            host: host.ok_or_else(refused)?.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: uri.port_u16().unwrap_or(PORT_DEFAULT),
            base: uri.path().trim_end_matches('/').to_owned(),
            tls,
            token: token(access)?,
            url,
        })
    }

    /// Asks for one JSON document about a queue.
    pub(super) async fn get(&self, queue: &str, resource: &str) -> Result<Value, OperatorError> {
        let response = self.exchange(Method::GET, queue, resource, None).await?;
        let body = self.in_time(response.into_body().collect()).await?;
        let body = body.map_err(|source| self.broken(source))?.to_bytes();
        serde_json::from_slice(&body).map_err(|_| self.stranger(StatusCode::OK))
    }

    /// Sends a JSON document; the answer comes line by line.
    pub(super) async fn post(
        &self,
        queue: &str,
        resource: &str,
        body: &Value,
    ) -> Result<Lines<'_>, OperatorError> {
        let response = self.exchange(Method::POST, queue, resource, Some(body)).await?;
        Ok(Lines { client: self, body: response.into_body(), rest: Vec::new() })
    }

    async fn exchange(
        &self,
        method: Method,
        queue: &str,
        resource: &str,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, OperatorError> {
        let path = format!("{}/api/queues/{}/{resource}", self.base, utf8_percent_encode(queue, PLAIN));
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, format!("{host}:{}", self.port))
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, &token.header);
        }
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request =
            request.body(Full::new(body)).map_err(|_| OperatorError::Url { url: self.url.clone() })?;
        let response = self.send(request).await?;
        if response.status().is_success() { Ok(response) } else { Err(self.refusal(response).await?) }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, OperatorError> {
        let unreachable = |error: io::Error| OperatorError::Unreachable {
            url: self.url.clone(),
            reason: error.to_string(),
        };
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let stream = match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(stream) => stream.map_err(unreachable)?,
            Err(_) => return Err(unreachable(io::ErrorKind::TimedOut.into())),
        };
        let Some(tls) = &self.tls else { return self.send_over(stream, request).await };
        let failed =
            |error: io::Error| OperatorError::Handshake { url: self.url.clone(), reason: error.to_string() };
        let name =
            ServerName::try_from(self.host.clone()).map_err(|error| failed(io::Error::other(error)))?;
        let shaking = tls.connect(name, stream);
        match tokio::time::timeout(CONNECT_TIMEOUT, shaking).await {
            Ok(stream) => self.send_over(stream.map_err(failed)?, request).await,
            Err(_) => Err(failed(io::ErrorKind::TimedOut.into())),
        }
    }

    async fn send_over<I>(
        &self,
        stream: I,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, OperatorError>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|source| self.broken(source))?;
        // Its end is seen in the answer.
        tokio::spawn(async move { drop(connection.await) });
        self.in_time(sender.send_request(request)).await?.map_err(|source| self.broken(source))
    }

    /// What an answer that is no success says.
    async fn refusal(&self, response: Response<Incoming>) -> Result<OperatorError, OperatorError> {
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            return Ok(match &self.token {
                None => OperatorError::TokenMissing,
                Some(token) => OperatorError::TokenWrong { origin: token.origin.clone() },
            });
        }
        let body = http_body_util::Limited::new(response.into_body(), REFUSAL_BYTES).collect();
        let Ok(body) = self.in_time(body).await? else { return Ok(self.stranger(status)) };
        let parsed: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        let fault = &parsed["error"];
        let Some(message) = fault["message"].as_str() else { return Ok(self.stranger(status)) };
        let near = fault["near"].as_array().into_iter().flatten();
        let near = near.filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(OperatorError::Refused { message: message.to_owned(), near })
    }

    async fn in_time<T>(&self, answer: impl Future<Output = T>) -> Result<T, OperatorError> {
        let silent = |_| OperatorError::Silent { url: self.url.clone() };
        tokio::time::timeout(ANSWER_TIMEOUT, answer).await.map_err(silent)
    }

    fn broken(&self, source: hyper::Error) -> OperatorError {
        OperatorError::Broken { url: self.url.clone(), source }
    }

    fn stranger(&self, status: StatusCode) -> OperatorError {
        OperatorError::Stranger { url: self.url.clone(), status: status.as_u16() }
    }
}

/// An answer of JSON documents, one a line.
pub(super) struct Lines<'a> {
    client: &'a Client,
    body: Incoming,
    /// What came and is no whole line yet.
    rest: Vec<u8>,
}

impl Lines<'_> {
    /// The next line. The last one is known by what it says: an answer that just ends was cut off.
    pub(super) async fn next(&mut self) -> Result<Value, OperatorError> {
        let cut_off = || OperatorError::CutOff { url: self.client.url.clone() };
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return serde_json::from_slice(&line).map_err(|_| self.client.stranger(StatusCode::OK));
            }
            let frame = self.client.in_time(self.body.frame()).await?;
            let frame = frame.ok_or_else(cut_off)?.map_err(|_| cut_off())?;
            if let Some(data) = frame.data_ref() {
                self.rest.extend_from_slice(data);
            }
        }
    }
}

/// The operators' token: of the file that the flag names, of the variable, of the file that the other variable names.
fn token(access: &Access) -> Result<Option<Token>, OperatorError> {
    let from_file = |path: PathBuf| {
        let text = std::fs::read_to_string(&path)
            .map_err(|source| OperatorError::File { path: path.clone(), source })?;
        header(text.trim_end_matches(['\r', '\n']), format!("the file {}", path.display())).map(Some)
    };
    if let Some(path) = &access.token_file {
        return from_file(path.clone());
    }
    if let Some(text) = variable(TOKEN_VARIABLE) {
        return header(&text, TOKEN_VARIABLE.into()).map(Some);
    }
    variable(TOKEN_FILE_VARIABLE).map_or(Ok(None), |path| from_file(path.into()))
}

fn header(token: &str, origin: String) -> Result<Token, OperatorError> {
    let plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let value = plain.then(|| HeaderValue::try_from(format!("Bearer {token}")).ok()).flatten();
    match value {
        Some(mut header) => {
            header.set_sensitive(true);
            Ok(Token { header, origin })
        }
        None => Err(OperatorError::Token { origin }),
    }
}
