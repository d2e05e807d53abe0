//! A few short texts in one piece of memory.
//!
//! Every object in a cache has its labels and selectable fields at hand; with a million objects, an allocation for each of
//! them would take more room than the texts.

/// Texts in their order, each behind its length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts(Box<[u8]>);

/// The bytes of a length.
const LENGTH: usize = size_of::<u32>();

impl<'t> FromIterator<&'t str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'t str>>(texts: I) -> Self {
        let mut all = Vec::new();
        for text in texts {
            // A text is part of an object, and no object is that large.
            let length = u32::try_from(text.len()).unwrap_or_default();
            all.extend_from_slice(&length.to_le_bytes());
            all.extend_from_slice(text.as_bytes().get(..length as usize).unwrap_or_default());
        }
        Self(all.into_boxed_slice())
    }
}

impl Texts {
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (length, after) = rest.split_first_chunk::<LENGTH>()?;
            let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = after;
            std::str::from_utf8(text).ok()
        })
    }

    pub fn get(&self, at: usize) -> Option<&str> {
        self.iter().nth(at)
    }

    /// The text after a text, of texts that are pairs.
    pub fn value_of(&self, key: &str) -> Option<&str> {
        let mut texts = self.iter();
        while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
            if name == key {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

    use super::Texts;

    #[test]
    fn texts_come_back_as_they_were() {
        let texts: Texts = ["a", "", "\u{0}ü", "a", "last"].into_iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "", "\u{0}ü", "a", "last"]);
        assert_eq!((texts.get(2), texts.get(5)), (Some("\u{0}ü"), None));
        assert_eq!(
            (texts.value_of("a"), texts.value_of("\u{0}ü"), texts.value_of("last")),
            (Some(""), Some("a"), None)
        );
        assert_eq!(Texts::default().get(0), None);
    }
}
