//! Pseudo-random decisions. The sequence of a seed must never change: a seed stands for a program.

/// A generator of the splitmix kind.
pub struct Rng {
    state: u64,
}

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed ^ 0x6A09_E667_F3BC_C909 }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound - 1`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both possible.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// One of the items, each as likely as its weight says.
    pub fn weighted<T: Copy>(&mut self, items: &[(usize, T)]) -> T {
        let sum = items.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(sum);
        for (weight, item) in items {
            if left < *weight {
                return *item;
            }
            left -= weight;
        }
        unreachable!("the weights sum up to {sum}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_stands_for_one_sequence() {
        let mut rng = Rng::new(1);
        let numbers: Vec<usize> = (0..6).map(|_| rng.below(100)).collect();
        assert_eq!(numbers, FIRST_OF_SEED_1);
    }

    #[test]
    fn weights_are_respected() {
        let mut rng = Rng::new(5);
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            counts[rng.weighted(&[(1, 0), (0, 1), (3, 2)])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((2300..2700).contains(&counts[0]), "{counts:?}");
    }

    const FIRST_OF_SEED_1: [usize; 6] = [10, 74, 60, 76, 75, 70];
}
