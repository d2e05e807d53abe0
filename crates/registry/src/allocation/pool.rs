//! A range of numbers, and which of them to give out. Addresses and ports are both numbers here.

use rand::Rng;

/// Numbers to give out. The lower part is left for those who ask for a number by name, as long as the upper has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    pub first: u128,
    pub last: u128,
    /// How many numbers make up the lower part.
    pub lower: u128,
}

/// How large the lower part is: a share of the range, within bounds; nothing of a range that is small itself.
#[derive(Clone, Copy, Debug)]
pub struct LowerPart {
    pub min: u128,
    pub max: u128,
    pub share: u128,
}

impl LowerPart {
    pub fn of(self, size: u128) -> u128 {
        if size <= self.min { 0 } else { (size / self.share).clamp(self.min, self.max) }
    }
}

impl Pool {
    pub fn holds(&self, number: u128) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// A number that is free; `None` when all are taken.
    pub fn pick(&self, taken: impl Fn(u128) -> bool) -> Option<u128> {
        let middle = self.first.saturating_add(self.lower);
        pick_between(middle, self.last, &taken)
            .or_else(|| middle.checked_sub(1).and_then(|end| pick_between(self.first, end, &taken)))
    }
}

/// Goes through a range once, from a random place on.
fn pick_between(first: u128, last: u128, taken: &dyn Fn(u128) -> bool) -> Option<u128> {
    if first > last {
        return None;
    }
    let start = rand::rng().random_range(first..=last);
    (start..=last).chain(first..start).find(|number| !taken(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_part_is_used_last() {
        let pool = Pool { first: 10, last: 29, lower: 16 };
        for _ in 0..50 {
            assert!((26..=29).contains(&pool.pick(|_| false).unwrap()));
        }
        assert!((10..=25).contains(&pool.pick(|n| n >= 26).unwrap()));
        assert_eq!(pool.pick(|n| n != 12), Some(12));
        assert_eq!(pool.pick(|_| true), None);
    }

    #[test]
    fn lower_parts_are_a_share_within_bounds() {
        let ports = LowerPart { min: 16, max: 128, share: 32 };
        assert_eq!([16, 17, 1024, 2768, 65536].map(|size| ports.of(size)), [0, 16, 32, 86, 128]);
    }
}
