//! How keys are called in etcd: where a server keeps everything, and how etcd writes the end of a range.

use bytes::Bytes;

/// What keys begin with here.
const HERE: &[u8] = b"/registry/";
/// Sorts before every key, and means as the end of a range: to the end of the key space.
pub const EDGE: Bytes = Bytes::from_static(b"\0");

/// Keys of this side and of etcd's: they differ where a server was told to keep its keys somewhere else.
#[derive(Clone, Debug)]
pub struct Names {
    /// With a slash at the end; `None` where it is the same.
    there: Option<Bytes>,
}

impl Names {
    /// Keys under a prefix, which is written as people like to: `/registry`, `registry/`.
    pub fn under(prefix: &str) -> Self {
        let there = format!("/{}/", prefix.trim_matches('/')).replace("//", "/");
        Self { there: (there.as_bytes() != HERE).then(|| Bytes::from(there)) }
    }

    pub fn there(&self, key: &Bytes) -> Bytes {
        match &self.there {
            Some(there) => exchange(key, HERE, there),
            None => key.clone(),
        }
    }

    pub fn here(&self, key: &Bytes) -> Bytes {
        match &self.there {
            Some(there) => exchange(key, there, HERE),
            None => key.clone(),
        }
    }

    /// Whether a key of etcd looks like one of this side and is somebody else's.
    pub fn is_foreign(&self, key: &Bytes) -> bool {
        self.there.as_ref().is_some_and(|there| key.starts_with(HERE) && !key.starts_with(there))
    }

    /// A range as etcd wants it: `start <= key < end`, where an empty end is none.
    pub fn range(&self, start: &Bytes, end: &Bytes) -> (Bytes, Bytes) {
        let key = if start.is_empty() { EDGE } else { self.there(start) };
        // The end of everything below a prefix is no key below it: it is found again from the prefix.
        let end = match &self.there {
            Some(there) if end.as_ref() == &*after_all(&Bytes::from_static(HERE)) => after_all(there),
            _ if end.is_empty() => EDGE,
            _ => self.there(end),
        };
        (key, end)
    }

    /// All keys that start with a prefix.
    pub fn prefix(&self, prefix: &Bytes) -> (Bytes, Bytes) {
        if prefix.is_empty() {
            return (EDGE, EDGE);
        }
        let prefix = self.there(prefix);
        let end = after_all(&prefix);
        (prefix, end)
    }
}

fn exchange(key: &Bytes, from: &[u8], to: &[u8]) -> Bytes {
    key.strip_prefix(from).map_or_else(|| key.clone(), |rest| [to, rest].concat().into())
}

/// The first key after all that start with a prefix.
fn after_all(prefix: &Bytes) -> Bytes {
    let Some(place) = prefix.iter().rposition(|byte| *byte != u8::MAX) else { return EDGE };
    let mut end = prefix.get(..=place).unwrap_or_default().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn a_prefix_ends_before_the_next() {
        let names = Names::under("/registry");
        assert_eq!(names.prefix(&bytes("/a/")), (bytes("/a/"), bytes("/a0")));
        assert_eq!(names.prefix(&Bytes::new()), (EDGE, EDGE));
        assert_eq!(after_all(&Bytes::from_static(b"a\xff")), bytes("b"));
        assert_eq!(after_all(&Bytes::from_static(b"\xff\xff")), EDGE);
        assert_eq!(names.range(&bytes("/a"), &Bytes::new()), (bytes("/a"), EDGE));
    }

    #[test]
    fn keys_may_be_kept_somewhere_else() {
        for prefix in ["/other/place", "other/place/", "//other/place"] {
            let names = Names::under(prefix);
            let there = names.there(&bytes("/registry/pods/a/b"));
            assert_eq!(there, bytes("/other/place/pods/a/b"), "{prefix}");
            assert_eq!(names.here(&there), bytes("/registry/pods/a/b"));
            assert_eq!(names.prefix(&bytes("/registry/")), (bytes("/other/place/"), bytes("/other/place0")));
            assert_eq!(names.range(&bytes("/registry/"), &bytes("/registry0")), names.prefix(&bytes("/registry/")));
        }
        let names = Names::under("/other");
        assert!(names.is_foreign(&bytes("/registry/pods/a/b")));
        assert!(!names.is_foreign(&bytes("/other/pods/a/b")));
        let below = Names::under("/registry/mine");
        assert!(below.is_foreign(&bytes("/registry/pods/a/b")) && !below.is_foreign(&bytes("/registry/mine/pods/a/b")));
        assert!(!Names::under("/registry").is_foreign(&bytes("/registry/pods/a/b")));
        assert_eq!(Names::under("/registry").there(&bytes("/registry/a")), bytes("/registry/a"));
    }
}
