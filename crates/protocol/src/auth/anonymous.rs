//! Callers of a server without credentials: account and region as the request's signature names them. Nothing is
//! verified.

use super::identity::{Home, Identity, Principal};
use crate::http::Request;
use crate::wire::Pair;
use std::borrow::Cow;
use tidegate_engine::{AccountId, Region};

/// What a request says of its credential: the access key, and the region of the signature's scope.
#[derive(Default)]
struct Credential<'a> {
    access_key: &'a str,
    region: &'a str,
}

/// Finds the caller. A 12-digit access key is the account; the region comes from the credential's scope. What
/// is missing or unreadable is taken from `default`: nobody is refused here.
///
/// `in_params` is what [`credential_param`] found.
pub(crate) fn identify(request: &Request<'_>, in_params: Option<&str>, default: &Home) -> Identity {
    let header = request.headers.get("authorization");
    let credential = header.and_then(of_header).or_else(|| in_params.map(of_scope)).unwrap_or_default();
    let home = Home {
        account: AccountId::parse(credential.access_key).unwrap_or(default.account),
        region: Region::parse(credential.region).unwrap_or_else(|| default.region.clone()),
    };
    Identity { home, principal: Principal::Anonymous }
}

/// The credential of a pre-signed request, or the access key of a legacy signature, among its parameters.
pub(crate) fn credential_param<'a>(params: &[Pair<'a>]) -> Option<Cow<'a, str>> {
    let param = |name: &str| params.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    param("X-Amz-Credential").or_else(|| param("AWSAccessKeyId"))
}

/// `AWS4-HMAC-SHA256 Credential=<scope>, SignedHeaders=…, Signature=…`
fn of_header(header: &str) -> Option<Credential<'_>> {
    // Where every client puts it; a search costs ten times as much.
    let rest = match header.strip_prefix("AWS4-HMAC-SHA256 Credential=") {
        Some(rest) => rest,
        None => header.split_once("Credential=")?.1,
    };
    let end = rest.bytes().position(|b| matches!(b, b',' | b' ')).unwrap_or(rest.len());
    Some(of_scope(&rest[..end]))
}

/// `<access key>/<date>/<region>/<service>/aws4_request`; the access key itself may hold slashes.
fn of_scope(scope: &str) -> Credential<'_> {
    let slashes = scope.bytes().enumerate().rev().filter(|(_, b)| *b == b'/').map(|(at, _)| at);
    let mut last = [0; 4];
    let found = last.iter_mut().zip(slashes).map(|(place, at)| *place = at).count();
    if found < last.len() {
        return Credential { access_key: scope, region: "" };
    }
    let [_terminator, service, region, date] = last;
    Credential { access_key: &scope[..date], region: &scope[region + 1..service] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(headers: &[(&str, &str)], params: &[(&str, &str)]) -> (String, String) {
        let request = Request { method: "POST", path: "/", query: None, headers: &headers, body: b"" };
        let params: Vec<_> =
            params.iter().map(|(key, value)| (Cow::Borrowed(*key), Cow::Borrowed(*value))).collect();
        let default = Home { account: AccountId::default(), region: Region::default() };
        let found = identify(&request, credential_param(&params).as_deref(), &default).home;
        (found.account.to_string(), found.region.to_string())
    }

    #[test]
    fn account_and_region_come_from_the_credential() {
        let signed = |credential: &str| {
            let header =
                format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=00");
            identity(&[("Authorization", &header)], &[])
        };
        let case = |account: &str, region: &str| (account.to_owned(), region.to_owned());
        assert_eq!(
            signed("123456789012/20250101/eu-west-1/sqs/aws4_request"),
            case("123456789012", "eu-west-1")
        );
        assert_eq!(
            signed("AKIAIOSFODNN7EXAMPLE/20250101/ap-east-1/sqs/aws4_request"),
            case("000000000000", "ap-east-1")
        );
        assert_eq!(signed("x"), case("000000000000", "us-east-1"));
        assert_eq!(signed("k/20250101/NOT A REGION/sqs/aws4_request"), case("000000000000", "us-east-1"));
        assert_eq!(identity(&[("Authorization", "Bearer abc")], &[]), case("000000000000", "us-east-1"));
        assert_eq!(
            identity(&[], &[("X-Amz-Credential", "123456789012/20250101/eu-west-1/sqs/aws4_request")]),
            case("123456789012", "eu-west-1")
        );
        assert_eq!(identity(&[], &[("AWSAccessKeyId", "123456789012")]), case("123456789012", "us-east-1"));
    }
}
