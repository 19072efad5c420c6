//! AWS Signature Version 4 for the requests of this crate, whose path and headers are canonical already.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

const SERVICE: &str = "sqs";

/// What signs: taken from the environment, as the SDKs do.
#[derive(Clone)]
pub(crate) struct Credential {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    /// Of a session.
    pub(crate) token: Option<String>,
}

impl Credential {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, if there is one, `AWS_SESSION_TOKEN`.
    pub(crate) fn from_environment() -> Option<Self> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Some(Credential {
            access_key: variable("AWS_ACCESS_KEY_ID")?,
            secret_key: variable("AWS_SECRET_ACCESS_KEY")?,
            token: variable("AWS_SESSION_TOKEN"),
        })
    }
}

/// Signs requests of one credential to one region. Keeps what stays the same for a second, and for a day.
#[derive(Clone)]
pub(crate) struct Signer {
    credential: Credential,
    region: String,
    second: u64,
    /// `YYYYMMDDTHHMMSSZ`.
    date: String,
    /// `YYYYMMDD/<region>/sqs/aws4_request`.
    scope: String,
    key: Hmac<Sha256>,
    canonical: Vec<u8>,
}

/// What of a request is signed.
pub(crate) struct Signed<'a> {
    pub(crate) path: &'a str,
    pub(crate) host: &'a str,
    pub(crate) content_type: &'a str,
    /// Value of `X-Amz-Target`.
    pub(crate) target: &'a str,
    pub(crate) body: &'a [u8],
}

impl Signer {
    pub(crate) fn new(credential: Credential, region: &str) -> Self {
        let mut signer = Signer {
            key: keyed(b""),
            credential,
            region: region.to_owned(),
            second: 0,
            date: String::new(),
            scope: String::new(),
            canonical: Vec::new(),
        };
        signer.set_time(now());
        signer
    }

    fn set_time(&mut self, second: u64) {
        self.second = second;
        self.date = date(second);
        let scope = format!("{}/{}/{SERVICE}/aws4_request", &self.date[..8], self.region);
        if scope != self.scope {
            let mut key = keyed(format!("AWS4{}", self.credential.secret_key).as_bytes());
            for part in scope.split('/') {
                key = keyed(&mac(key, part.as_bytes()));
            }
            (self.key, self.scope) = (key, scope);
        }
    }

    /// Appends the header lines that sign a request now.
    pub(crate) fn sign(&mut self, request: &Signed<'_>, out: &mut Vec<u8>) {
        let now = now();
        if now != self.second {
            self.set_time(now);
        }
        self.sign_as_of_now(request, out);
    }

    fn sign_as_of_now(&mut self, request: &Signed<'_>, out: &mut Vec<u8>) {
        let Signed { path, host, content_type, target, body } = request;
        let (date, scope) = (&self.date, &self.scope);
        let names = match &self.credential.token {
            Some(_) => "content-type;host;x-amz-date;x-amz-security-token;x-amz-target",
            None => "content-type;host;x-amz-date;x-amz-target",
        };
        let canonical = &mut self.canonical;
        canonical.clear();
        // Writing to memory does not fail.
        let _ = write!(
            canonical,
            "POST\n{path}\n\ncontent-type:{content_type}\nhost:{host}\nx-amz-date:{date}\n"
        );
        if let Some(token) = &self.credential.token {
            let _ = writeln!(canonical, "x-amz-security-token:{token}");
            let _ = write!(out, "X-Amz-Security-Token: {token}\r\n");
        }
        let _ = write!(canonical, "x-amz-target:{target}\n\n{names}\n");
        canonical.extend_from_slice(&hex(&Sha256::digest(body)));
        let digest = hex(&Sha256::digest(&*canonical));
        let mut to_sign = self.key.clone();
        to_sign.update(b"AWS4-HMAC-SHA256\n");
        for part in [date, scope] {
            to_sign.update(part.as_bytes());
            to_sign.update(b"\n");
        }
        to_sign.update(&digest);
        let signature = hex(&to_sign.finalize().into_bytes());
        let access_key = &self.credential.access_key;
        let _ = write!(
            out,
            "X-Amz-Date: {date}\r\nAuthorization: AWS4-HMAC-SHA256 Credential={access_key}/{scope}, \
             SignedHeaders={names}, Signature="
        );
        out.extend_from_slice(&signature);
        out.extend_from_slice(b"\r\n");
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("an HMAC takes keys of every length")
}

fn mac(mut keyed: Hmac<Sha256>, text: &[u8]) -> [u8; 32] {
    keyed.update(text);
    keyed.finalize().into_bytes().into()
}

/// Lower-case hexadecimal digits of a SHA-256.
fn hex(digest: &[u8]) -> [u8; 64] {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest) {
        pair.copy_from_slice(&hex_digits(*byte));
    }
    text
}

/// The two lower-case hexadecimal digits of a byte.
pub(crate) fn hex_digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// `YYYYMMDDTHHMMSSZ` of a time in seconds since 1970. The calendar is counted in years that begin in March, so that a
/// leap day is the last one of its year.
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let days = days + 719_468; // from the first of March of the year 0
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year + next_year;
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_440_938_160, "20150830T123600Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    fn signed(token: Option<&str>) -> String {
        let credential = Credential {
            access_key: "AKIDEXAMPLE".into(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            token: token.map(str::to_owned),
        };
        let mut signer = Signer::new(credential, "us-east-1");
        signer.set_time(1_440_938_160);
        let mut out = Vec::new();
        let request = Signed {
            path: "/",
            host: "127.0.0.1:9324",
            content_type: "application/x-amz-json-1.0",
            target: "AmazonSQS.SendMessage",
            body: b"{}",
        };
        signer.sign_as_of_now(&request, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// The expected signatures were made by botocore.
    #[test]
    fn signatures_are_those_of_the_sdk() {
        let plain = signed(None);
        assert!(plain.starts_with("X-Amz-Date: 20150830T123600Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/sqs/aws4_request, "), "{plain}");
        assert!(
            plain.ends_with("Signature=192c009c29c5b8fbcffe33ac27cc7cd9a759541e3d562e21bcdc77dabbfec80a\r\n"),
            "{plain}"
        );
        let session = signed(Some("a+token=="));
        assert!(session.contains("X-Amz-Security-Token: a+token==\r\n"), "{session}");
        assert!(
            session
                .ends_with("Signature=2c8290006790201816bed6c1a27899578c6907b79249d1202d89bfd8f519780e\r\n"),
            "{session}"
        );
    }
}
