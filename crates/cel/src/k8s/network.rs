//! IP addresses and address ranges.
//!
//! Zones and IPv4 addresses in IPv6 clothes are refused: they mean different
//! things to different readers.

use crate::env::Library;
use crate::error::EvalError;
use crate::library::text;
use crate::types::Type;
use crate::value::{Opaque, Val, quoted};
use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const IP: &str = "net.IP";
const CIDR: &str = "net.CIDR";

type Evaluated<'a> = Result<Val<'a>, EvalError>;

#[derive(Debug)]
struct Address(IpAddr);

#[derive(Debug, PartialEq)]
struct Range {
    address: IpAddr,
    bits: u32,
}

impl Opaque for Address {
    fn type_name(&self) -> &'static str {
        IP
    }

    fn equals(&self, other: &dyn Opaque) -> Option<bool> {
        other.as_any().downcast_ref::<Address>().map(|other| self.0 == other.0)
    }

    fn size(&self) -> Option<u64> {
        Some(if self.0.is_ipv4() { 4 } else { 16 })
    }

    fn text(&self) -> Option<String> {
        Some(self.0.to_string())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Opaque for Range {
    fn type_name(&self) -> &'static str {
        CIDR
    }

    fn equals(&self, other: &dyn Opaque) -> Option<bool> {
        other.as_any().downcast_ref::<Range>().map(|other| self == other)
    }

    fn size(&self) -> Option<u64> {
        Some(u64::from(self.bits.div_ceil(8)))
    }

    fn text(&self) -> Option<String> {
        Some(format!("{}/{}", self.address, self.bits))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Adds the functions on addresses and ranges.
pub fn add(library: &mut Library) {
    let (ip, cidr) = (Type::opaque(IP), Type::opaque(CIDR));
    library.type_names.insert(IP.into(), ip.clone());
    library.type_names.insert(CIDR.into(), cidr.clone());
    let one_ip = std::slice::from_ref(&ip);
    let one_cidr = std::slice::from_ref(&cidr);
    let f = &mut library.functions;
    f.global("ip", "string_to_ip", &[Type::String], ip.clone(), |args| to_ip(text(args, 0)?));
    f.global("isIP", "is_ip", &[Type::String], Type::Bool, |args| Ok(Val::Bool(parse_ip(text(args, 0)?).is_ok())));
    f.global("ip.isCanonical", "ip_is_canonical", &[Type::String], Type::Bool, |args| {
        let text = text(args, 0)?;
        parse_ip(text).map(|ip| Val::Bool(ip.to_string() == text)).map_err(EvalError::new)
    });
    f.global("string", "ip_to_string", one_ip, Type::String, written);
    f.member("family", "ip_family", one_ip, Type::Int, |args| {
        Ok(Val::Int(if address(args, 0)?.is_ipv4() { 4 } else { 6 }))
    });
    f.member("isUnspecified", "ip_is_unspecified", one_ip, Type::Bool, |args| {
        Ok(Val::Bool(address(args, 0)?.is_unspecified()))
    });
    f.member("isLoopback", "ip_is_loopback", one_ip, Type::Bool, |args| Ok(Val::Bool(address(args, 0)?.is_loopback())));
    f.member("isLinkLocalMulticast", "ip_is_link_local_multicast", one_ip, Type::Bool, |args| {
        Ok(Val::Bool(match address(args, 0)? {
            IpAddr::V4(ip) => matches!(ip.octets(), [224, 0, 0, _]),
            IpAddr::V6(ip) => ip.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
        }))
    });
    f.member("isLinkLocalUnicast", "ip_is_link_local_unicast", one_ip, Type::Bool, |args| {
        Ok(Val::Bool(is_link_local(address(args, 0)?)))
    });
    f.member("isGlobalUnicast", "ip_is_global_unicast", one_ip, Type::Bool, |args| {
        let ip = address(args, 0)?;
        let special = ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local(ip);
        Ok(Val::Bool(!special && ip != IpAddr::V4(Ipv4Addr::BROADCAST)))
    });
    f.global("cidr", "string_to_cidr", &[Type::String], cidr.clone(), |args| to_cidr(text(args, 0)?));
    f.global("isCIDR", "is_cidr", &[Type::String], Type::Bool, |args| {
        Ok(Val::Bool(parse_cidr(text(args, 0)?).is_ok()))
    });
    f.global("string", "cidr_to_string", one_cidr, Type::String, written);
    f.member("containsIP", "cidr_contains_ip_string", &[cidr.clone(), Type::String], Type::Bool, |args| {
        let ip = parse_ip(text(args, 1)?).map_err(EvalError::new)?;
        Ok(Val::Bool(range(args, 0)?.contains(ip)))
    });
    f.member("containsIP", "cidr_contains_ip_ip", &[cidr.clone(), ip.clone()], Type::Bool, |args| {
        Ok(Val::Bool(range(args, 0)?.contains(address(args, 1)?)))
    });
    f.member("containsCIDR", "cidr_contains_cidr_string", &[cidr.clone(), Type::String], Type::Bool, |args| {
        let other = parse_cidr(text(args, 1)?).map_err(twice)?;
        Ok(Val::Bool(range(args, 0)?.covers(&other)))
    });
    f.member("containsCIDR", "cidr_contains_cidr", &[cidr.clone(), cidr.clone()], Type::Bool, |args| {
        Ok(Val::Bool(range(args, 0)?.covers(range(args, 1)?)))
    });
    f.member("ip", "cidr_ip", one_cidr, ip, |args| Ok(Val::opaque(Address(range(args, 0)?.address))));
    f.member("prefixLength", "cidr_prefix_length", one_cidr, Type::Int, |args| {
        Ok(Val::Int(i64::from(range(args, 0)?.bits)))
    });
    f.member("masked", "cidr_masked", one_cidr, cidr.clone(), |args| Ok(Val::opaque(range(args, 0)?.masked())));
}

fn address(args: &[Val<'_>], index: usize) -> Result<IpAddr, EvalError> {
    args.get(index).and_then(Val::downcast::<Address>).map(|ip| ip.0).ok_or(EvalError::NO_OVERLOAD)
}

fn range<'v>(args: &'v [Val<'_>], index: usize) -> Result<&'v Range, EvalError> {
    args.get(index).and_then(Val::downcast).ok_or(EvalError::NO_OVERLOAD)
}

fn written<'a>(args: &[Val<'a>]) -> Evaluated<'a> {
    match args.first() {
        Some(Val::Opaque(opaque)) => opaque.text().map(Val::string).ok_or(EvalError::NO_OVERLOAD),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn to_ip<'a>(text: &str) -> Evaluated<'a> {
    parse_ip(text).map(|ip| Val::opaque(Address(ip))).map_err(EvalError::new)
}

fn to_cidr<'a>(text: &str) -> Evaluated<'a> {
    parse_cidr(text).map(Val::opaque).map_err(twice)
}

/// The reference says both when parsing and when converting what went wrong.
fn twice(error: String) -> EvalError {
    EvalError::new(format!("network address parse error during conversion from string: {error}"))
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments().first().is_some_and(|first| first & 0xffc0 == 0xfe80),
    }
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let (plain, zone) = text.split_once('%').map_or((text, None), |(plain, zone)| (plain, Some(zone)));
    let parsed = parse_address(if zone.is_some() { plain } else { text }, text);
    let ip = parsed
        .map_err(|why| format!("IP Address {} parse error during conversion from string: {why}", quoted(text)))?;
    if zone.is_some() {
        return Err(format!("IP address {} with zone value is not allowed", quoted(text)));
    }
    if is_mapped(ip) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)));
    }
    Ok(ip)
}

/// Reads an address; failures are in the words of Go's parser.
fn parse_address(text: &str, shown: &str) -> Result<IpAddr, String> {
    let failed = |why: &str| format!("ParseAddr({}): {why}", quoted(shown));
    match text.find(['.', ':']).and_then(|at| text.as_bytes().get(at)) {
        Some(b'.') => text.parse::<Ipv4Addr>().map(IpAddr::V4).map_err(|_| failed(&why_not_ipv4(text))),
        Some(_) => text.parse::<Ipv6Addr>().map(IpAddr::V6).map_err(|_| failed(&why_not_ipv6(text))),
        None => Err(failed("unable to parse IP")),
    }
}

fn why_not_ipv4(text: &str) -> String {
    let (mut fields, mut digits, mut value) = (0, 0, 0u32);
    let bytes = text.as_bytes();
    let at = |index: usize| format!(" (at {})", quoted(text.get(index..).unwrap_or_default()));
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return "IPv4 field has octet with leading zero".to_owned();
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return "IPv4 field has value >255".to_owned();
                }
            }
            b'.' => {
                if digits == 0 || index + 1 == bytes.len() {
                    return format!("IPv4 field must have at least one digit{}", at(index));
                }
                if fields == 3 {
                    return "IPv4 address too long".to_owned();
                }
                (fields, digits, value) = (fields + 1, 0, 0);
            }
            _ => return format!("unexpected character{}", at(index)),
        }
    }
    "IPv4 address too short".to_owned()
}

fn why_not_ipv6(text: &str) -> String {
    let at = |rest: &str| format!(" (at {})", quoted(rest));
    let mut rest = text;
    let mut fields = 0;
    let mut ellipsis = false;
    if let Some(behind) = rest.strip_prefix("::") {
        (ellipsis, rest) = (true, behind);
    }
    while fields < 8 && !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits == 0 {
            return format!("each colon-separated field must have at least one digit{}", at(rest));
        }
        if digits > 4 {
            return format!("each group must have 4 or less digits{}", at(rest));
        }
        let behind = rest.get(digits..).unwrap_or_default();
        fields += 1;
        match behind.strip_prefix(':') {
            None if behind.is_empty() => return "address string too short".to_owned(),
            None => return format!("unexpected character, want colon{}", at(behind)),
            Some("") => return format!("colon must be followed by more characters{}", at(behind)),
            Some(next) => match next.strip_prefix(':') {
                Some(_) if ellipsis => return format!("multiple :: in address{}", at(next)),
                Some(after) => (ellipsis, rest) = (true, after),
                None => rest = next,
            },
        }
    }
    if rest.is_empty() {
        "address string too short".to_owned()
    } else {
        format!("trailing garbage after address{}", at(rest))
    }
}

fn parse_cidr(text: &str) -> Result<Range, String> {
    let failed = |why: &str| {
        format!("network address parse error during conversion from string: netip.ParsePrefix({}): {why}", quoted(text))
    };
    let Some((address, bits)) = text.rsplit_once('/') else { return Err(failed("no '/'")) };
    let address = match address.contains('%') {
        true => return Err(failed("IPv6 zones cannot be present in a prefix")),
        false => parse_address(address, address).map_err(|why| failed(&why))?,
    };
    let plain =
        !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
    let bits: u32 = match bits.parse() {
        Ok(bits) if plain => bits,
        _ => return Err(failed(&format!("bad bits after slash: {}", quoted(bits)))),
    };
    if bits > if address.is_ipv4() { 32 } else { 128 } {
        return Err(failed("prefix length out of range"));
    }
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)));
    }
    Ok(Range { address, bits })
}

impl Range {
    fn masked(&self) -> Range {
        Range { address: mask(self.address, self.bits), bits: self.bits }
    }

    fn contains(&self, ip: IpAddr) -> bool {
        self.address.is_ipv4() == ip.is_ipv4() && mask(ip, self.bits) == mask(self.address, self.bits)
    }

    fn covers(&self, other: &Range) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

fn mask(ip: IpAddr, bits: u32) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V4((u32::from(ip) & u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or(0)).into()),
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) & u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0)).into()),
    }
}
