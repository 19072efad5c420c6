//! Queue URLs: built so that their caller can reach them, and read in every form in use.
//!
//! ```text
//! <base>/<account>/<name>             a queue of the default region
//! <base>/<region>/<account>/<name>    any other
//! ```
//!
//! Reading ignores scheme, port and leading path. The region is the first found of: the path's, an AWS
//! host's, the caller's. A bare queue name is a queue of the caller's account.

use crate::auth::Home;
use crate::http::Request;
use crate::limits;
use tidegate_engine::{AccountId, QueueAddress, QueueName, Region};

/// How queue URLs are to be built.
#[derive(Clone, Copy, Debug)]
pub struct UrlSettings<'a> {
    /// Base of every URL, such as `https://queues.example.com`; wins over what the request says.
    pub public_url: Option<&'a str>,
    /// Whether `X-Forwarded-Proto` and `X-Forwarded-Host` come from a proxy that is trusted.
    pub trust_forwarded: bool,
    /// Scheme under which the server itself listens: `http` or `https`.
    pub scheme: &'a str,
    /// Host and port for requests that name none.
    pub fallback_host: &'a str,
}

/// The base of URLs for the caller of `request`: scheme and host, without a slash at the end.
pub(crate) fn base(request: &Request<'_>, settings: &UrlSettings<'_>) -> String {
    if let Some(url) = settings.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let scheme = match forwarded("x-forwarded-proto", request, settings) {
        Some(proto) if proto.eq_ignore_ascii_case("https") => "https",
        Some(proto) if proto.eq_ignore_ascii_case("http") => "http",
        _ => settings.scheme,
    };
    let host = forwarded_host(request, settings)
        .or_else(|| request.headers.get("host").filter(|host| is_host(host)))
        .unwrap_or(settings.fallback_host);
    format!("{scheme}://{host}")
}

/// The host that the client called, if a trusted proxy says so.
pub(crate) fn forwarded_host<'a>(request: &Request<'a>, settings: &UrlSettings<'_>) -> Option<&'a str> {
    forwarded("x-forwarded-host", request, settings).filter(|host| is_host(host))
}

fn forwarded<'a>(name: &str, request: &Request<'a>, settings: &UrlSettings<'_>) -> Option<&'a str> {
    let header = request.headers.get(name).filter(|_| settings.trust_forwarded)?;
    header.split(',').next().map(str::trim).filter(|value| !value.is_empty())
}

/// Whether `text` can stand as host and port in a URL that is handed back to a client.
fn is_host(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'[' | b']');
    (1..=limits::HOST_BYTES).contains(&text.len()) && text.bytes().all(plain)
}

/// The URL of `queue` for callers that reach the server at `base`.
pub(crate) fn build(base: &str, queue: &QueueAddress, default_region: &Region) -> String {
    let QueueAddress { account, region, name } = queue;
    if region == default_region {
        format!("{base}/{account}/{name}")
    } else {
        format!("{base}/{region}/{account}/{name}")
    }
}

/// Reads a `QueueUrl` parameter. `None` when its last part is no queue name.
pub(crate) fn parse(url: &str, caller: &Home) -> Option<QueueAddress> {
    // Bytes are looked for, not patterns: this is done for every message.
    let scheme = url.as_bytes().windows(3).position(|window| window == b"://");
    let (host, path) = match scheme.map(|at| &url[at + 3..]) {
        Some(rest) => rest.split_at(rest.bytes().position(|b| b == b'/').unwrap_or(rest.len())),
        None => ("", url),
    };
    let end = path.bytes().position(|b| matches!(b, b'?' | b'#')).unwrap_or(path.len());
    resolve(host, &path[..end], caller)
}

/// Reads what people call a queue by: its ARN, its URL, or its name alone, which is a queue of this account and
/// region. `None` when it is none of these.
pub fn parse_reference(text: &str, account: AccountId, region: &Region) -> Option<QueueAddress> {
    if !text.starts_with("arn:") {
        return parse(text, &Home { account, region: region.clone() });
    }
    let parts: Vec<_> = text.splitn(6, ':').collect();
    let ["arn", _partition, "sqs", region, account, name] = parts[..] else { return None };
    Some(QueueAddress {
        account: AccountId::parse(account)?,
        region: Region::parse(region)?,
        name: QueueName::parse(name)?,
    })
}

/// Reads the path of a request: `None` unless it is a queue's, `…/<12-digit account>/<name>`.
pub(crate) fn parse_path(path: &str, host: &str, caller: &Home) -> Option<QueueAddress> {
    let (before, _name) = split_last(path.trim_end_matches('/'));
    AccountId::parse(split_last(before?).1)?;
    resolve(host, path, caller)
}

fn resolve(host: &str, path: &str, caller: &Home) -> Option<QueueAddress> {
    let (before_name, name) = split_last(path.trim_end_matches('/'));
    let name = QueueName::parse(name)?;
    let (before_account, account) = before_name.map(split_last).unzip();
    let account = account.and_then(AccountId::parse);
    // Without an account there is no region either: what stands before the name is leading path.
    let before_account = account.and(before_account.flatten());
    let in_path = before_account.map(|before| split_last(before).1).and_then(region_form);
    let region = in_path.or_else(|| host_region(host)).unwrap_or_else(|| caller.region.clone());
    Some(QueueAddress { account: account.unwrap_or(caller.account), region, name })
}

/// The last part of a path, and what stands before its slash if there is one.
fn split_last(path: &str) -> (Option<&str>, &str) {
    match path.bytes().rposition(|b| b == b'/') {
        Some(at) => (Some(&path[..at]), &path[at + 1..]),
        None => (None, path),
    }
}

/// The region in an AWS endpoint's host: `sqs.<region>.…` or `<region>.queue.…`, and `queue.amazonaws.com`.
fn host_region(host: &str) -> Option<Region> {
    let is_end = |b: u8| matches!(b, b'.' | b':');
    let first = host.bytes().position(is_end)?;
    let rest = &host[first + 1..];
    let second = rest.bytes().position(is_end).unwrap_or(rest.len());
    match (&host[..first], &rest[..second]) {
        ("queue", "amazonaws") => Some(Region::default()),
        ("sqs" | "sqs-fips", region) | (region, "queue") => region_form(region),
        _ => None,
    }
}

/// A region as AWS spells them, `us-gov-west-1`: other words in a path are leading path.
fn region_form(text: &str) -> Option<Region> {
    let at = text.bytes().rposition(|b| b == b'-')?;
    let (words, number) = (&text[..at], &text[at + 1..]);
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    let fits = words.contains('-') && words.split('-').all(is_word);
    let counted = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    if fits && counted { Region::parse(text) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Home {
        Home {
            account: AccountId::parse("111111111111").unwrap(),
            region: Region::parse("eu-west-1").unwrap(),
        }
    }

    fn read(url: &str) -> Option<String> {
        parse(url, &caller()).map(|queue| queue.arn())
    }

    #[test]
    fn all_forms_of_a_url_name_the_same_queue() {
        for url in [
            "http://127.0.0.1:9324/000000000000/q",
            "https://[::1]:9324/000000000000/q",
            "http://proxy.example.com/some/prefix/000000000000/q",
            "http://queue.internal:9324/000000000000/q/",
            "/000000000000/q",
            "000000000000/q",
            "https://sqs.eu-west-1.amazonaws.com/000000000000/q",
            "https://eu-west-1.queue.amazonaws.com/000000000000/q",
            "http://localhost/eu-west-1/000000000000/q",
            "http://localhost/000000000000/q?Action=x",
        ] {
            assert_eq!(read(url).as_deref(), Some("arn:aws:sqs:eu-west-1:000000000000:q"), "{url}");
        }
        for url in ["q", "http://localhost:9324/queue/q", "http://localhost/q"] {
            assert_eq!(read(url).as_deref(), Some("arn:aws:sqs:eu-west-1:111111111111:q"), "{url}");
        }
    }

    #[test]
    fn people_name_queues_by_arn_url_or_name() {
        let Home { account, region } = caller();
        let read = |text| parse_reference(text, account, &region).map(|queue| queue.arn());
        for (text, arn) in [
            ("q", "arn:aws:sqs:eu-west-1:111111111111:q"),
            ("http://h:1/000000000000/q", "arn:aws:sqs:eu-west-1:000000000000:q"),
            ("000000000000/q", "arn:aws:sqs:eu-west-1:000000000000:q"),
            ("us-east-2/000000000000/q", "arn:aws:sqs:us-east-2:000000000000:q"),
            ("arn:aws:sqs:us-east-1:222222222222:q.fifo", "arn:aws:sqs:us-east-1:222222222222:q.fifo"),
            ("arn:aws-cn:sqs:cn-north-1:222222222222:q", "arn:aws:sqs:cn-north-1:222222222222:q"),
        ] {
            assert_eq!(read(text).as_deref(), Some(arn), "{text}");
        }
        for text in ["", "a b", "arn:", "arn:aws:sns:us-east-1:000000000000:q", "arn:aws:sqs:us-east-1:0:q"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_region_comes_from_path_then_host_then_caller() {
        let region = |url| parse(url, &caller()).unwrap().region.to_string();
        assert_eq!(
            region("http://sqs.ap-east-1.amazonaws.com/us-gov-west-1/000000000000/q"),
            "us-gov-west-1"
        );
        assert_eq!(region("http://sqs.ap-east-1.amazonaws.com/000000000000/q"), "ap-east-1");
        assert_eq!(region("https://queue.amazonaws.com/000000000000/q"), "us-east-1");
        assert_eq!(region("https://sqs.internal/000000000000/q"), "eu-west-1");
    }

    #[test]
    fn what_ends_in_no_queue_name_is_none() {
        for url in ["", "/", "http://localhost", "http://localhost/", "http://h/000000000000/a.b", "ä", "//"]
        {
            assert_eq!(read(url), None, "{url}");
        }
        assert_eq!(parse_path("/", "", &caller()), None);
        assert_eq!(parse_path("/queue/q", "", &caller()), None, "an endpoint's prefix, not a queue");
        assert!(parse_path("/x/000000000000/q", "", &caller()).is_some());
    }

    #[test]
    fn urls_carry_the_callers_host() {
        let settings = UrlSettings {
            public_url: None,
            trust_forwarded: false,
            scheme: "http",
            fallback_host: "localhost:9324",
        };
        let base_of = |headers: &[(&str, &str)], settings: UrlSettings<'_>| {
            let request = Request { method: "POST", path: "/", query: None, headers: &headers, body: b"" };
            base(&request, &settings)
        };
        for host in ["queue.internal:9324", "127.0.0.1:9324", "[::1]:9324"] {
            assert_eq!(base_of(&[("Host", host)], settings), format!("http://{host}"));
        }
        assert_eq!(base_of(&[], settings), "http://localhost:9324");
        assert_eq!(base_of(&[("Host", "evil\"/><script>")], settings), "http://localhost:9324");
        let proxied = [
            ("Host", "10.0.0.1"),
            ("X-Forwarded-Proto", "https, http"),
            ("X-Forwarded-Host", "q.example.com, 10.0.0.1"),
        ];
        assert_eq!(base_of(&proxied, settings), "http://10.0.0.1");
        let trusting = UrlSettings { trust_forwarded: true, ..settings };
        assert_eq!(base_of(&proxied, trusting), "https://q.example.com");
        let fixed = UrlSettings { public_url: Some("https://fixed/base/"), ..trusting };
        assert_eq!(base_of(&proxied, fixed), "https://fixed/base");
    }

    #[test]
    fn built_urls_read_back_as_the_same_queue() {
        let name = QueueName::parse("q.fifo").unwrap();
        for region in ["us-east-1", "ap-southeast-2"] {
            let queue = QueueAddress {
                account: AccountId::default(),
                region: Region::parse(region).unwrap(),
                name: name.clone(),
            };
            let url = build("http://h:1/prefix", &queue, &Region::default());
            let reader = Home { account: AccountId::default(), region: Region::default() };
            assert_eq!(parse(&url, &reader), Some(queue), "{url}");
        }
    }
}
