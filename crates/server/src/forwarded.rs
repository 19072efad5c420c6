//! Where a request comes from when a proxy stands in between.

use crate::http::Peer;
use std::net::{IpAddr, SocketAddr};
use tidegate_protocol::Headers;

/// The client behind a trusted proxy: its address is the last of `X-Forwarded-For`, which the proxy itself wrote there,
/// whereas all before it may be the client's invention. Without such headers the peer is the client.
pub(crate) fn client(peer: Peer, headers: &dyn Headers) -> Peer {
    let last = |name| {
        let mut last = None;
        headers.visit(name, &mut |value| last = std::str::from_utf8(value).ok().map(str::to_owned));
        last.and_then(|value| value.rsplit(',').next().map(|entry| entry.trim().to_owned()))
    };
    let address = last("x-forwarded-for").and_then(|address| parse_address(&address));
    let secure = last("x-forwarded-proto").map(|scheme| scheme.eq_ignore_ascii_case("https"));
    Peer {
        address: address.map_or(peer.address, |address| address.to_canonical()),
        secure: secure.unwrap_or(peer.secure),
    }
}

/// An address, with or without brackets and port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_of(headers: &[(&'static str, &'static str)]) -> (String, bool) {
        let peer = Peer { address: [10, 0, 0, 1].into(), secure: false };
        let client = client(peer, &headers);
        (client.address.to_string(), client.secure)
    }

    #[test]
    fn the_last_entry_is_the_proxys_own() {
        for (header, expected) in [
            ("203.0.113.7", "203.0.113.7"),
            ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
            ("203.0.113.7:4711", "203.0.113.7"),
            ("2001:db8::7", "2001:db8::7"),
            ("[2001:db8::7]", "2001:db8::7"),
            ("[2001:db8::7]:4711", "2001:db8::7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("unknown", "10.0.0.1"),
            ("", "10.0.0.1"),
        ] {
            assert_eq!(client_of(&[("x-forwarded-for", header)]).0, expected, "{header}");
        }
        let twice = [("x-forwarded-for", "198.51.100.1"), ("x-forwarded-for", "203.0.113.7")];
        assert_eq!(client_of(&twice).0, "203.0.113.7");
    }

    #[test]
    fn the_scheme_is_that_of_the_clients_connection() {
        assert!(client_of(&[("x-forwarded-proto", "HTTPS")]).1);
        assert!(client_of(&[("x-forwarded-proto", "http, https")]).1);
        assert!(!client_of(&[("x-forwarded-proto", "http")]).1);
        assert!(!client_of(&[]).1);
    }
}
