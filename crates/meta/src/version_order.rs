//! Which versions of a group come first.

use std::cmp::Ordering;

/// The order of versions in discovery: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then other names by the alphabet.
pub fn by_priority(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(left), Some(right)) => right.cmp(&left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability, major and minor number of a version that is named as Kubernetes names them.
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let rest = version.strip_prefix('v')?;
    for (word, stability) in [("alpha", 0), ("beta", 1)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, digits(major)?, digits(minor)?));
        }
    }
    Some((2, digits(rest)?, 0))
}
