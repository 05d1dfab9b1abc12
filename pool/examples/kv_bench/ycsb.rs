//! The loads A to D of YCSB.

use super::store::{Key, Store};
use super::{Job, sums};
use crate::common::board::Board;
use crate::common::zipf::{Random, Zipf};

/// Records, and bytes of each.
const RECORDS: u64 = 200_000;
const BYTES: usize = 1_000;
/// Choices are made before the time begins.
const CHOICES: usize = 1 << 18;

/// One of the loads.
#[derive(Clone, Copy)]
pub struct Ycsb {
    /// Writes in a thousand operations.
    pub writes: u64,
    /// Whether these are new records, and reads prefer the newest ones.
    pub is_latest: bool,
}

pub fn records(share: f64) -> u64 {
    ((RECORDS as f64 * share) as u64).max(1_000)
}

fn key(record: u64) -> Key {
    Key::new(1, record, 0)
}

/// A record has its number and the number of its write at both ends, so one that is half of another one is found.
fn fill_record(value: &mut [u8], record: u64, stamp: u64) {
    value[..8].copy_from_slice(&record.to_le_bytes());
    value[8..16].copy_from_slice(&stamp.to_le_bytes());
    let end = value.len() - 8;
    value[end..].copy_from_slice(&stamp.to_le_bytes());
}

fn is_record(value: &[u8], record: u64) -> bool {
    value.len() == BYTES && value[..8] == record.to_le_bytes() && value[8..16] == value[BYTES - 8..]
}

pub fn fill(store: &impl Store, share: f64) {
    let mut value = vec![7; BYTES];
    for record in 0..records(share) {
        fill_record(&mut value, record, 0);
        store.put(key(record), &value);
    }
}

/// A client at work.
pub struct Work<'a> {
    board: &'a Board<'a>,
    load: Ycsb,
    records: u64,
    choices: Vec<(bool, u32)>,
    next: usize,
    stamp: u64,
    value: Vec<u8>,
    into: Vec<u8>,
}

impl<'a> Work<'a> {
    pub fn new(load: Ycsb, board: &'a Board<'a>, share: f64, seed: u64) -> Work<'a> {
        let (mut random, records) = (Random::new(seed), records(share));
        let zipf = Zipf::new(records);
        let choices = (0..CHOICES).map(|_| {
            let is_write = random.below(1_000) < load.writes;
            let rank =
                if load.is_latest { zipf.rank(&mut random) } else { zipf.spread(&mut random) };
            (is_write, rank as u32)
        });
        let (choices, value, stamp) = (choices.collect(), vec![7; BYTES], seed << 40);
        Work { board, load, records, choices, next: 0, stamp, value, into: vec![] }
    }
}

impl Job for Work<'_> {
    fn act(&mut self, store: &impl Store) {
        let (is_write, rank) = self.choices[self.next % CHOICES];
        self.next += 1;
        let rank = u64::from(rank);
        if is_write {
            self.stamp += 1;
            let record = if self.load.is_latest {
                self.records + self.board.sum(sums::INSERTED).fetch_add(1, super::ORDER)
            } else {
                rank
            };
            fill_record(&mut self.value, record, self.stamp);
            store.put(key(record), &self.value);
            return;
        }
        let record = if self.load.is_latest {
            let newest = self.records + self.board.value(sums::INSERTED);
            newest - 1 - rank
        } else {
            rank
        };
        let is_there = store.get(key(record), &mut self.into);
        // A new record may have its number, and not be there yet.
        let is_new = !is_there && record >= self.records;
        assert!(
            is_new || is_record(&self.into, record),
            "record {record}: {} bytes",
            self.into.len()
        );
    }
}

/// Nobody is at work: each record is there and whole, and there is nothing else.
pub fn check(store: &impl Store, board: &Board, share: f64) -> Result<(), String> {
    let (mut count, mut wrong) = (0, 0);
    let expected = records(share) + board.value(sums::INSERTED);
    store.scan(|key, value| {
        count += 1;
        let is_right = key.number() < expected && is_record(value, key.number());
        wrong += u64::from(!is_right);
    });
    if (count, wrong) == (expected, 0) {
        Ok(())
    } else {
        Err(format!("{count} records in place of {expected}, {wrong} of them wrong"))
    }
}
