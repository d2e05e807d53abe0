//! As much DER as keys need: taking one element off the front, and writing one.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const NULL: u8 = 0x05;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
/// Context-specific, constructed, number 0 and 1.
pub(super) const EXPLICIT_0: u8 = 0xa0;
pub(super) const EXPLICIT_1: u8 = 0xa1;

/// The content of the element at the front if it has this tag, and what follows it.
pub(super) fn read(tag: u8, input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, input) = input.split_first()?;
    let (&first, mut input) = input.split_first()?;
    let length = if first < 0x80 {
        usize::from(first)
    } else {
        let bytes = usize::from(first & 0x7f);
        if bytes == 0 || bytes > 4 {
            return None;
        }
        let (length, rest) = input.split_at_checked(bytes)?;
        input = rest;
        length.iter().fold(0_usize, |length, byte| length << 8 | usize::from(*byte))
    };
    (found == tag).then_some(input.split_at_checked(length)?)
}

pub(super) fn write(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 0x80 {
        out.extend(u8::try_from(length));
    } else {
        let bytes: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|b| *b == 0).collect();
        out.extend(u8::try_from(0x80 | bytes.len()));
        out.extend(bytes);
    }
    out.extend_from_slice(content);
    out
}

/// A positive number without leading zeros as an INTEGER.
pub(super) fn write_number(number: &[u8]) -> Vec<u8> {
    let signed: Vec<u8> =
        number.first().filter(|b| **b >= 0x80).map(|_| 0).into_iter().chain(number.iter().copied()).collect();
    write(INTEGER, &signed)
}

/// The bytes of a positive INTEGER without leading zeros, and what follows it.
pub(super) fn read_number(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut number, rest) = read(INTEGER, input)?;
    while let Some((0, shorter)) = number.split_first() {
        number = shorter;
    }
    Some((number, rest))
}

/// The bytes of a BIT STRING of whole bytes, and what follows it.
pub(super) fn read_bits(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (bits, rest) = read(BIT_STRING, input)?;
    let (unused, bytes) = bits.split_first()?;
    (*unused == 0).then_some((bytes, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_go_there_and_back() {
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let content = vec![7; length];
            let mut written = write(OCTET_STRING, &content);
            written.push(9);
            assert_eq!(read(OCTET_STRING, &written), Some((content.as_slice(), &[9][..])));
            assert_eq!(read(INTEGER, &written), None);
        }
        assert_eq!(read_number(&write_number(&[0x80])), Some((&[0x80][..], &[][..])));
        for broken in [&[][..], &[0x30], &[0x30, 0x05, 1], &[0x30, 0x80], &[0x30, 0x85, 1, 1, 1, 1, 1]] {
            assert_eq!(read(SEQUENCE, broken), None, "{broken:?}");
        }
    }
}
