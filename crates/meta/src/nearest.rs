//! What somebody probably meant by a word that nobody knows.

/// The known word that is nearest to a mistyped one, if one is near enough to be meant.
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    /// Nobody mistypes longer words into these.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let most = 1 + word.chars().count() / 5;
    let near = known.into_iter().map(|known| (distance(word, known), known)).filter(|(steps, _)| *steps <= most);
    near.min_by_key(|(steps, _)| *steps).map(|(_, known)| known)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let at = |row: &[usize], i: usize| row.get(i).copied().unwrap_or(usize::MAX / 2);
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (at(&above, j) + usize::from(x != y)).min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    at(&above, b.len())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_is_near_is_meant() {
        let known = ["serve", "version", "assets", "run"];
        for (word, meant) in [
            ("sreve", Some("serve")),
            ("verison", Some("version")),
            ("Serve", Some("serve")),
            ("asset", Some("assets")),
            ("completely-else", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
    }
}
