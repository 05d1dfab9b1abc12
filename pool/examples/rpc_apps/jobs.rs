//! The functions that workers run, and what a sequential program makes of the same data.

use crate::common::zipf::{Random, Zipf};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Data of a call: words, of which the first one says how many follow.
pub trait Words {
    fn words(&self) -> impl Iterator<Item = u64> + '_;
}

impl Words for [AtomicU64] {
    #[inline]
    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        let count = self[0].load(Ordering::Relaxed) as usize;
        self[1..1 + count].iter().map(|word| word.load(Ordering::Relaxed))
    }
}

impl Words for [u64] {
    #[inline]
    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self[1..1 + self[0] as usize].iter().copied()
    }
}

pub const COUNT: u64 = 1;
pub const ASSIGN: u64 = 2;

/// Runs functions. It keeps its memory from one to the next.
#[derive(Default)]
pub struct Runner {
    counts: Counts,
    result: Vec<u64>,
}

impl Runner {
    /// Runs a function. The result is data, as the arguments are.
    pub fn call<W: Words + ?Sized>(&mut self, function: u64, arguments: &[&W]) -> &[u64] {
        let Runner { counts, result } = self;
        result.clear();
        result.push(0);
        match function {
            COUNT => {
                counts.clear();
                count(arguments[0].words(), counts);
                let entries = counts.iter();
                result.extend(entries.flat_map(|(word, count)| [word.0, word.1, *count]));
            }
            ASSIGN => {
                let centres: Vec<_> = arguments[1].words().collect();
                result.extend(assign(arguments[0].words(), &centres));
            }
            _ => panic!("no function {function}"),
        }
        result[0] = result.len() as u64 - 1;
        result
    }
}

/// A word of text: at most 16 letters.
type Text = (u64, u64);
pub type Counts = HashMap<Text, u64, BuildHasherDefault<TextHasher>>;

/// Words are short and of no enemy.
#[derive(Default)]
pub struct TextHasher(u64);

impl Hasher for TextHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Adds how often each word is in a text: words are between spaces.
fn count(text: impl Iterator<Item = u64>, counts: &mut Counts) {
    let (mut word, mut len) = ([0; 2], 0);
    for eight in text {
        for letter in eight.to_le_bytes() {
            if letter.is_ascii_lowercase() {
                word[len / 8] |= u64::from(letter) << (8 * (len % 8));
                len += 1;
            } else if len != 0 {
                *counts.entry((word[0], word[1])).or_insert(0) += 1;
                (word, len) = ([0; 2], 0);
            }
        }
    }
}

pub fn add_entries(counts: &mut Counts, entries: impl Iterator<Item = u64>) {
    let mut entries = entries;
    while let (Some(one), Some(two), Some(count)) = (entries.next(), entries.next(), entries.next())
    {
        *counts.entry((one, two)).or_insert(0) += count;
    }
}

pub fn count_all(chunks: &[Vec<u64>]) -> Counts {
    let mut counts = Counts::default();
    chunks.iter().for_each(|chunk| count(chunk[..].words(), &mut counts));
    counts
}

/// Dimensions of a point, and clusters.
const DIMENSIONS: usize = 4;
const CLUSTERS: usize = 16;
/// Words of a cluster: how many points it has, and the sums of their coordinates.
const CLUSTER: usize = 1 + DIMENSIONS;

/// Which centre is nearest to each point: the sums over the points of each. Numbers are whole, so their order does not
/// matter.
fn assign(points: impl Iterator<Item = u64>, centres: &[u64]) -> Vec<u64> {
    let (mut sums, mut points) = (vec![0u64; CLUSTERS * CLUSTER], points);
    let centres: [[i64; DIMENSIONS]; CLUSTERS] =
        std::array::from_fn(|n| std::array::from_fn(|d| centres[n * DIMENSIONS + d] as i64));
    while let Some(first) = points.next() {
        let mut point = [first as i64; DIMENSIONS];
        for coordinate in &mut point[1..] {
            *coordinate = points.next().expect("a point is whole") as i64;
        }
        let (mut nearest, mut least) = (0, i64::MAX);
        for (n, centre) in centres.iter().enumerate() {
            let parts: [i64; DIMENSIONS] = std::array::from_fn(|d| (point[d] - centre[d]).pow(2));
            let distance = parts.iter().sum();
            if distance < least {
                (nearest, least) = (n, distance);
            }
        }
        let sums = &mut sums[nearest * CLUSTER..(nearest + 1) * CLUSTER];
        sums[0] += 1;
        for (sum, coordinate) in sums[1..].iter_mut().zip(point) {
            *sum = sum.wrapping_add(coordinate as u64);
        }
    }
    sums
}

pub fn add_sums(sums: &mut Vec<u64>, more: impl Iterator<Item = u64>) {
    sums.resize(CLUSTERS * CLUSTER, 0);
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
}

/// The centres of clusters: those of empty ones stay.
pub fn centres(sums: &[u64], before: &[u64]) -> Vec<u64> {
    let mut after = before.to_vec();
    for (n, sums) in sums.chunks(CLUSTER).enumerate().filter(|(_, sums)| sums[0] != 0) {
        for (d, sum) in sums[1..].iter().enumerate() {
            after[n * DIMENSIONS + d] = (*sum as i64 / sums[0] as i64) as u64;
        }
    }
    after
}

pub fn first_centres(chunks: &[Vec<u64>]) -> Vec<u64> {
    chunks[0][1..1 + CLUSTERS * DIMENSIONS].to_vec()
}

pub fn cluster_all(chunks: &[Vec<u64>], rounds: usize) -> Vec<u64> {
    let mut now = first_centres(chunks);
    for _ in 0..rounds {
        let mut sums = vec![];
        for chunk in chunks {
            add_sums(&mut sums, assign(chunk[..].words(), &now).into_iter());
        }
        now = centres(&sums, &now);
    }
    now
}

/// Bytes of a chunk.
const CHUNK: usize = 256 << 10;

/// Text in chunks, words by Zipf's law.
pub fn text(chunks: usize) -> Vec<Vec<u64>> {
    let (mut random, zipf) = (Random::new(1), Zipf::new(20_000));
    let word = |rank: u64| {
        let mut letters = Random::new(rank + 1);
        let len = 2 + letters.below(11);
        (0..len).map(|_| b'a' + letters.below(26) as u8).collect::<Vec<_>>()
    };
    let words: Vec<_> = (0..20_000).map(word).collect();
    let chunk = |_| {
        let mut text = Vec::with_capacity(CHUNK);
        while text.len() < CHUNK - 16 {
            text.extend(&words[zipf.rank(&mut random) as usize]);
            text.push(b' ');
        }
        text.resize(CHUNK, b' ');
        let words = text.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight));
        data(words.collect())
    };
    (0..chunks).map(chunk).collect()
}

/// Points in chunks, around as many places as there are clusters.
pub fn points(chunks: usize) -> Vec<Vec<u64>> {
    let mut random = Random::new(2);
    let places: Vec<[u64; DIMENSIONS]> =
        (0..CLUSTERS).map(|_| std::array::from_fn(|_| random.below(1 << 20))).collect();
    let chunk = |_| {
        let points = (0..CHUNK / 8 / DIMENSIONS).flat_map(|_| {
            let place = places[random.below(CLUSTERS as u64) as usize];
            place.map(|coordinate| coordinate + random.below(1 << 17))
        });
        data(points.collect())
    };
    (0..chunks).map(chunk).collect()
}

/// Words with their number in front.
pub fn data(mut words: Vec<u64>) -> Vec<u64> {
    words.insert(0, words.len() as u64);
    words
}
