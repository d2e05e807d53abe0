//! Addresses of mail, alone or with a name in front: `Ann <ann@example.com>`.

/// Whether a text is one address.
pub(super) fn is_address(text: &str) -> bool {
    let mut rest = Rest { text };
    rest.skip_space();
    if rest.is_empty() {
        return false;
    }
    let alone = rest.clone();
    if rest.address() && rest.ends() {
        return true;
    }
    rest = alone;
    if !rest.text.starts_with('<') && !rest.phrase() {
        return false;
    }
    rest.skip_space();
    rest.take('<') && rest.address() && rest.take('>') && rest.ends()
}

#[derive(Clone)]
struct Rest<'t> {
    text: &'t str,
}

impl Rest<'_> {
    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn skip_space(&mut self) {
        self.text = self.text.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, c: char) -> bool {
        match self.text.strip_prefix(c) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    /// Nothing but spaces and remarks in parentheses.
    fn ends(&mut self) -> bool {
        loop {
            self.skip_space();
            if self.is_empty() {
                return true;
            }
            if !self.comment() {
                return false;
            }
        }
    }

    fn comment(&mut self) -> bool {
        let mut depth = 0;
        let mut chars = self.text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                '\\' => {
                    chars.next();
                }
                _ if depth == 0 => return false,
                _ => {}
            }
            if depth == 0 {
                self.text = self.text.get(at + 1..).unwrap_or_default();
                return true;
            }
        }
        false
    }

    fn address(&mut self) -> bool {
        self.skip_space();
        let has_local = if self.text.starts_with('"') { self.quoted() } else { self.dotted() };
        has_local && self.take('@') && (if self.text.starts_with('[') { self.literal() } else { self.dotted() })
    }

    fn atom(&mut self) -> Option<&str> {
        let end = self.text.find(|c: char| !is_atom_char(c) && c != '.').unwrap_or(self.text.len());
        let (atom, rest) = self.text.split_at_checked(end)?;
        self.text = rest;
        (!atom.is_empty()).then_some(atom)
    }

    fn dotted(&mut self) -> bool {
        self.skip_space();
        self.atom().is_some_and(|atom| !atom.starts_with('.') && !atom.ends_with('.') && !atom.contains(".."))
    }

    /// At least one word or quoted text.
    fn phrase(&mut self) -> bool {
        let mut words = 0;
        loop {
            self.skip_space();
            let found = if self.text.starts_with('"') { self.quoted() } else { self.atom().is_some() };
            if !found {
                return words > 0;
            }
            words += 1;
        }
    }

    fn quoted(&mut self) -> bool {
        let mut chars = self.text.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    let is_empty = at == 1;
                    self.text = self.text.get(at + 1..).unwrap_or_default();
                    return !is_empty;
                }
                '\\' => {
                    if chars.next().is_none() {
                        return false;
                    }
                }
                c if c.is_ascii_control() && c != '\t' => return false,
                _ => {}
            }
        }
        false
    }

    /// An address in brackets.
    fn literal(&mut self) -> bool {
        let Some(end) = self.text.find(']') else { return false };
        let inside = self.text.get(1..end).unwrap_or_default();
        let inside = inside.strip_prefix("IPv6:").unwrap_or(inside);
        let is_address = inside.parse::<std::net::IpAddr>().is_ok();
        self.text = self.text.get(end + 1..).unwrap_or_default();
        is_address
    }
}

fn is_atom_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}
