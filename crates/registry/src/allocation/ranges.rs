//! The ranges that a server gives out of: addresses of services, and ports on nodes.

use std::fmt;
use std::net::IpAddr;

use super::pool::{LowerPart, Pool};

/// What services get their addresses and ports from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRanges {
    pub addresses: AddressRange,
    pub node_ports: PortRange,
}

/// Addresses: a base and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    pub base: IpAddr,
    pub bits: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl AddressRange {
    /// `IPv4` or `IPv6`: the only family that the server has addresses of.
    pub fn family(&self) -> &'static str {
        family_of(&self.base)
    }

    /// The addresses that can be given out: neither the network's own nor, in IPv4, the broadcast one.
    pub(super) fn pool(&self) -> Pool {
        let width: u32 = if self.base.is_ipv4() { 32 } else { 128 };
        let host_bits = width.saturating_sub(u32::from(self.bits));
        let size = 1u128.checked_shl(host_bits).unwrap_or(u128::MAX);
        let base = number(&self.base);
        let last = base.saturating_add(size.saturating_sub(if self.base.is_ipv4() { 2 } else { 1 }));
        let lower = LowerPart { min: 16, max: 256, share: 16 }.of(size);
        Pool { first: base.saturating_add(1), last, lower }
    }

    pub(super) fn address(&self, number: u128) -> IpAddr {
        match self.base {
            IpAddr::V4(_) => IpAddr::V4(u32::try_from(number).unwrap_or_default().into()),
            IpAddr::V6(_) => IpAddr::V6(number.into()),
        }
    }

    pub(super) fn holds(&self, address: &IpAddr) -> bool {
        address.is_ipv4() == self.base.is_ipv4() && self.pool().holds(number(address))
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.bits)
    }
}

impl PortRange {
    pub(super) fn pool(&self) -> Pool {
        let (first, last) = (u128::from(self.first), u128::from(self.last));
        let size = last.saturating_sub(first) + 1;
        Pool { first, last, lower: LowerPart { min: 16, max: 128, share: 32 }.of(size) }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

pub(super) fn family_of(address: &IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

pub(super) fn number(address: &IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(*address)),
        IpAddr::V6(address) => u128::from(*address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_and_broadcast_are_not_given_out() {
        let range = AddressRange { base: "10.0.0.0".parse().unwrap(), bits: 24 };
        let check =
            |address: &str, expect: bool| assert_eq!(range.holds(&address.parse().unwrap()), expect, "{address}");
        check("10.0.0.0", false);
        check("10.0.0.1", true);
        check("10.0.0.254", true);
        check("10.0.0.255", false);
        check("10.0.1.1", false);
        check("::a00:1", false);
        assert_eq!(range.pool().lower, 16);
        assert_eq!(range.to_string(), "10.0.0.0/24");
    }
}
