//! The address of this machine, where nobody says it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The address that others would see this machine under: the one on the way to everywhere, of the family of `like`. Nothing is
/// sent to find out. `None` where there is no such way.
pub fn address(like: IpAddr) -> Option<IpAddr> {
    // Addresses that are documented to be nobody's.
    let (any, far): (IpAddr, IpAddr) = match like {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(198, 51, 100, 1).into()),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((far, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|found| can_be_endpoint(*found))
}

/// Whether others may be told to come here: not to themselves, and not only to who is on the same wire.
pub fn can_be_endpoint(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_loopback() || address.is_unspecified() || is_link_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_here_from_elsewhere_counts() {
        for like in ["127.0.0.1", "::1"] {
            let like: IpAddr = like.parse().unwrap();
            assert!(address(like).is_none_or(|found| found.is_ipv4() == like.is_ipv4() && can_be_endpoint(found)));
        }
        for (text, can_be) in
            [("127.0.0.1", false), ("0.0.0.0", false), ("169.254.1.1", false), ("fe80::1", false), ("192.0.2.1", true)]
        {
            assert_eq!(can_be_endpoint(text.parse().unwrap()), can_be, "{text}");
        }
    }
}
