//! Blocks of IP addresses.

use crate::error::{FilterError, echo};
use std::net::IpAddr;

/// A block in CIDR notation, IPv4 or IPv6. It holds every address with its network's bits, also when the address
/// it was written with is not the network's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    /// Bits of the network: at most 31, or 127.
    bits: u8,
}

impl Cidr {
    /// Reads `address/bits`. The order of the checks is the service's.
    pub(crate) fn parse(text: &str) -> Result<Self, FilterError> {
        let (address, bits) = text.split_once('/').ok_or(FilterError::CidrSlash)?;
        if bits.is_empty() || bits.contains('/') {
            return Err(FilterError::CidrSlash);
        }
        let bits: i32 = bits.parse().map_err(|_| FilterError::CidrMask)?;
        if bits < 0 {
            return Err(FilterError::CidrMaskNegative);
        }
        let Ok(address) = address.parse::<IpAddr>() else {
            return Err(FilterError::CidrAddress { address: echo(address) });
        };
        let (family, width) = if address.is_ipv4() { ("IPv4", 32) } else { ("IPv6", 128) };
        match u8::try_from(bits) {
            Ok(bits) if bits < width => Ok(Self { address, bits }),
            _ => Err(FilterError::CidrMaskTooLong { family, bits: width }),
        }
    }

    /// Whether the address is of the block's family and network.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                let differing = mine.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits.into()
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => {
                let differing = mine.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits.into()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_where_its_network_does() {
        for (block, inside, outside) in [
            ("10.0.0.0/24", ["10.0.0.0", "10.0.0.255"], ["9.255.255.255", "10.0.1.0"]),
            ("10.0.0.77/24", ["10.0.0.0", "10.0.0.255"], ["9.255.255.255", "10.0.1.0"]),
            ("10.0.0.128/25", ["10.0.0.128", "10.0.0.255"], ["10.0.0.127", "10.0.1.0"]),
            ("10.0.0.2/31", ["10.0.0.2", "10.0.0.3"], ["10.0.0.1", "10.0.0.4"]),
            ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::", "::ffff:1.2.3.4"]),
            ("2001:db8::/32", ["2001:db8::", "2001:db8:ffff::1"], ["2001:db7:ffff::", "2001:db9::"]),
            ("::/0", ["::1", "ffff::"], ["0.0.0.0", "1.2.3.4"]),
        ] {
            let parsed = Cidr::parse(block).unwrap();
            for address in inside {
                assert!(parsed.contains(address.parse().unwrap()), "{block} {address}");
            }
            for address in outside {
                assert!(!parsed.contains(address.parse().unwrap()), "{block} {address}");
            }
        }
    }
}
