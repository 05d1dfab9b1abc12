//! Random numbers, uniform and by Zipf's law.

/// Numbers that look random, the same for the same seed.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Ranks by Zipf's law with the exponent of YCSB (Gray et al., "Quickly generating billion-record
/// synthetic databases").
#[derive(Clone)]
pub struct Zipf {
    keys: u64,
    all: f64,
    eta: f64,
}

const THETA: f64 = 0.99;

impl Zipf {
    pub fn new(keys: u64) -> Zipf {
        let zeta = |n: u64| (1..=n).map(|i| (i as f64).powf(-THETA)).sum::<f64>();
        let all = zeta(keys);
        let eta = (1.0 - (2.0 / keys as f64).powf(1.0 - THETA)) / (1.0 - zeta(2) / all);
        Zipf { keys, all, eta }
    }

    /// From 0, the most frequent one.
    pub fn rank(&self, random: &mut Random) -> u64 {
        let part = (random.next() % (1 << 50)) as f64 / (1u64 << 50) as f64;
        let sum = part * self.all;
        if sum < 1.0 {
            return 0;
        }
        if sum < 1.0 + 0.5f64.powf(THETA) {
            return 1;
        }
        let rank = self.keys as f64 * (self.eta * part - self.eta + 1.0).powf(1.0 / (1.0 - THETA));
        (rank as u64).min(self.keys - 1)
    }

    /// The same, with the frequent ones spread over all keys.
    pub fn spread(&self, random: &mut Random) -> u64 {
        self.rank(random).wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.keys
    }
}
