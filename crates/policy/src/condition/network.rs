//! Address ranges.

use std::net::IpAddr;

/// A range of IPv4 or IPv6 addresses, `<address>[/<prefix length>]` (RFC 4632, RFC 4291).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    prefix_bits: u32,
}

impl Network {
    /// Reads a range. Bits behind the prefix may be set; they do not count.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let width = width(address);
        let prefix_bits = match prefix {
            None => width,
            Some(digits) if digits.len() <= 3 && digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().ok().filter(|bits| *bits <= width)?
            }
            Some(_) => return None,
        };
        Some(Network { address, prefix_bits })
    }

    /// Whether the address is in the range; never for one of the other version.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let behind = width(address).saturating_sub(self.prefix_bits);
        let start = |bits: u128| bits.checked_shr(behind).unwrap_or(0);
        self.address.is_ipv4() == address.is_ipv4() && start(bits(self.address)) == start(bits(address))
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_their_prefix_says() {
        for (network, address, inside) in [
            ("203.0.113.0/24", "203.0.113.255", true),
            ("203.0.113.0/24", "203.0.114.0", false),
            ("203.0.113.77/24", "203.0.113.1", true),
            ("203.0.113.7", "203.0.113.7", true),
            ("203.0.113.7", "203.0.113.8", false),
            ("0.0.0.0/0", "255.255.255.255", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("::/0", "127.0.0.1", false),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("2001:db8::1/128", "2001:db8::1", true),
        ] {
            let parsed = Network::parse(network).unwrap();
            assert_eq!(parsed.contains(address.parse().unwrap()), inside, "{network} and {address}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for bad in
            ["", "*", "203.0.113.0/33", "::/129", "203.0.113/24", "203.0.113.0/", "1.2.3.4/+1", "1.2.3.4/1/1"]
        {
            assert_eq!(Network::parse(bad), None, "{bad}");
        }
    }
}
