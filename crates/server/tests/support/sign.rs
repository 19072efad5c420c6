//! Signature Version 4 as a client makes it: written apart from the server's, for requests that are canonical already.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::time::{SystemTime, UNIX_EPOCH};

/// A client's credential, and what it signs for.
#[derive(Clone)]
pub struct Signer {
    pub access_key: String,
    pub secret_key: String,
    pub region: String,
    pub service: String,
    /// Added to the clock.
    pub late_s: i64,
    /// The scope's date, if it is not that of the request.
    pub day: Option<String>,
}

impl Signer {
    pub fn new(access_key: &str, secret_key: &str) -> Self {
        Signer {
            access_key: access_key.to_owned(),
            secret_key: secret_key.to_owned(),
            region: "us-east-1".to_owned(),
            service: "sqs".to_owned(),
            late_s: 0,
            day: None,
        }
    }

    /// The headers that sign a request which has `headers` and will be sent with them.
    pub fn headers(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> [(String, String); 2] {
        let date = self.date();
        let mut signed: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        if !signed.iter().any(|(name, _)| name == "host") {
            signed.push(("host".to_owned(), "127.0.0.1".to_owned()));
        }
        signed.push(("x-amz-date".to_owned(), date.clone()));
        signed.sort();
        let names: Vec<_> = signed.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let signature = self.signature(&date, &canonical(method, path, query, &signed, &names, body));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}, SignedHeaders={names}, Signature={signature}",
            self.scope(&date)
        );
        [("X-Amz-Date".to_owned(), date), ("Authorization".to_owned(), authorization)]
    }

    /// The target of a request that carries its signature; `query` is encoded.
    pub fn presign(&self, method: &str, path: &str, query: &str, expires_s: u32, body: &[u8]) -> String {
        let date = self.date();
        let query = format!(
            "{query}&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}&X-Amz-Date={date}&X-Amz-Expires={expires_s}&\
             X-Amz-SignedHeaders=host",
            self.scope(&date).replace('/', "%2F")
        );
        let host = [("host".to_owned(), "127.0.0.1".to_owned())];
        let signature = self.signature(&date, &canonical(method, path, &query, &host, "host", body));
        format!("{path}?{query}&X-Amz-Signature={signature}")
    }

    fn scope(&self, date: &str) -> String {
        format!("{}/{}", self.access_key, self.own_scope(date))
    }

    fn own_scope(&self, date: &str) -> String {
        let day = self.day.as_deref().unwrap_or(&date[..8]);
        format!("{day}/{}/{}/aws4_request", self.region, self.service)
    }

    fn signature(&self, date: &str, canonical: &str) -> String {
        let scope = self.own_scope(date);
        let mut key = format!("AWS4{}", self.secret_key).into_bytes();
        for part in scope.split('/') {
            key = mac(&key, part);
        }
        let digest = hex(&Sha256::digest(canonical));
        hex(&mac(&key, &format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{digest}")))
    }

    fn date(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        date(now.saturating_add_signed(self.late_s))
    }
}

fn canonical(
    method: &str,
    path: &str,
    query: &str,
    headers: &[(String, String)],
    names: &str,
    body: &[u8],
) -> String {
    let mut params: Vec<_> = query.split('&').filter(|param| !param.is_empty()).collect();
    params.sort_unstable();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    format!("{method}\n{path}\n{}\n{headers}\n{names}\n{}", params.join("&"), hex(&Sha256::digest(body)))
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `YYYYMMDDTHHMMSSZ`, counted out day by day.
fn date(seconds: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut days, mut year) = (seconds / 86_400, 1970);
    while days >= if is_leap(year) { 366 } else { 365 } {
        days -= if is_leap(year) { 366 } else { 365 };
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{:02}T{hour:02}{minute:02}{second:02}Z", days + 1)
}
