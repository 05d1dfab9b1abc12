//! TATP: a register of subscribers of mobile phones.
//!
//! Two columns are more than the standard has: a subscriber counts the updates of its data, and each special facility
//! those of its own. `UPDATE_SUBSCRIBER_DATA` changes both rows, so the sums of both must be equal.

use super::store::{Key, Rows, Store};
use super::{Job, sums};
use crate::common::board::Board;
use crate::common::zipf::Random;

const SUBSCRIBERS: u64 = 100_000;
const SUBSCRIBER: u8 = 10;
/// Subscribers by their numbers: 15 digits.
const NUMBER: u8 = 11;
const ACCESS: u8 = 12;
const FACILITY: u8 = 13;
const FORWARDING: u8 = 14;

/// A subscriber: 8 bytes of its number, 8 of its updates, `bit_1` to `byte2_10`, two locations of 4 bytes each.
const UPDATES_AT: usize = 8;
const BIT_AT: usize = 16;
const LOCATION_AT: usize = 46;
const SUBSCRIBER_BYTES: usize = 54;
/// A facility: 8 bytes of its updates, whether it is active, `error_cntrl`, `data_a`, and 5 bytes of `data_b`.
const ACTIVE_AT: usize = 8;
const DATA_A_AT: usize = 10;
const FACILITY_BYTES: usize = 16;
/// Call forwarding: the end time, and a number of 15 digits.
const FORWARDING_BYTES: usize = 16;

pub fn subscribers(share: f64) -> u64 {
    ((SUBSCRIBERS as f64 * share) as u64).max(1_000)
}

/// How many rows there are, about.
pub fn rows(share: f64) -> u64 {
    subscribers(share) * 11
}

fn digits(id: u64) -> [u8; 15] {
    format!("{id:015}").into_bytes().try_into().expect("15 digits")
}

/// The row that finds a subscriber by its number.
fn number_row(number: &[u8; 15]) -> Key {
    let text = std::str::from_utf8(number).expect("digits");
    Key::new(NUMBER, text.parse().expect("a number"), 0)
}

fn forwarding(id: u64, kind: u8, start: u8) -> Key {
    Key::new(FORWARDING, id, kind << 5 | start)
}

fn word(value: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(value[at..at + 8].try_into().expect("8 bytes"))
}

fn count(value: &mut [u8], at: usize) {
    let next = word(value, at) + 1;
    value[at..at + 8].copy_from_slice(&next.to_le_bytes());
}

pub fn fill(store: &impl Store, board: &Board, share: f64) {
    let mut random = Random::new(77);
    let kinds = |random: &mut Random| {
        let (count, first) = (1 + random.below(4), random.below(4));
        (0..count).map(move |n| 1 + ((first + n) % 4) as u8)
    };
    for id in 0..subscribers(share) {
        let mut row = [0; SUBSCRIBER_BYTES];
        row[..8].copy_from_slice(&id.to_le_bytes());
        row[LOCATION_AT..].copy_from_slice(&random.next().to_le_bytes());
        store.put(Key::new(SUBSCRIBER, id, 0), &row);
        store.put(number_row(&digits(id)), &id.to_le_bytes());
        for kind in kinds(&mut random) {
            store.put(Key::new(ACCESS, id, kind), &[random.below(256) as u8; 10]);
        }
        for kind in kinds(&mut random) {
            let mut row = [0; FACILITY_BYTES];
            row[ACTIVE_AT] = u8::from(random.below(100) < 85);
            store.put(Key::new(FACILITY, id, kind), &row);
            for n in 0..random.below(4) as u8 {
                store.put(forwarding(id, kind, 8 * n), &[8 * n + 8; FORWARDING_BYTES]);
                board.add(sums::INSERTED, 1);
            }
        }
    }
}

/// A client at work.
pub struct Work<'a> {
    board: &'a Board<'a>,
    subscribers: u64,
    random: Random,
    into: Vec<u8>,
    declined: u64,
}

impl<'a> Work<'a> {
    pub fn new(board: &'a Board<'a>, share: f64, seed: u64) -> Work<'a> {
        let subscribers = subscribers(share);
        Work { board, subscribers, random: Random::new(seed), into: vec![], declined: 0 }
    }

    /// The standard's distribution: some subscribers come more often.
    fn subscriber(&mut self) -> u64 {
        let mask = if self.subscribers <= 1_000_000 { 65_535 } else { 1_048_575 };
        (self.random.below(mask + 1) | self.random.below(self.subscribers)) % self.subscribers
    }

    /// The subscriber that has a number, as an application finds it.
    fn by_number(&mut self, store: &impl Store) -> u64 {
        let number = digits(self.subscriber());
        assert!(store.get(number_row(&number), &mut self.into), "a number is lost");
        word(&self.into, 0)
    }

    fn get_new_destination(&mut self, store: &impl Store) -> bool {
        let (id, kind) = (self.subscriber(), 1 + self.random.below(4) as u8);
        let (start, end) = (8 * self.random.below(3) as u8, 1 + self.random.below(24) as u8);
        let facility = Key::new(FACILITY, id, kind);
        let all = [0, 8, 16].map(|start| forwarding(id, kind, start));
        let keys = [facility, all[0], all[1], all[2]];
        let found = |rows: &mut dyn Rows| {
            let is_active = rows.get(facility)?[ACTIVE_AT] != 0;
            let is_wanted = |n: usize| 8 * n as u8 <= start;
            let mut fit = (0..3).filter(|n| is_wanted(*n));
            let is_found =
                is_active && fit.any(|n| rows.get(all[n]).is_some_and(|row| end < row[0]));
            is_found.then_some(())
        };
        store.run(&keys, found).is_some()
    }

    fn update_subscriber_data(&mut self, store: &impl Store) -> bool {
        let (id, kind) = (self.subscriber(), 1 + self.random.below(4) as u8);
        let (bit, data) = (self.random.below(2) as u8, self.random.below(256) as u8);
        let [subscriber, facility] = [Key::new(SUBSCRIBER, id, 0), Key::new(FACILITY, id, kind)];
        let update = |rows: &mut dyn Rows| {
            let mut row: [u8; FACILITY_BYTES] = rows.get(facility)?.try_into().expect("its size");
            row[DATA_A_AT] = data;
            count(&mut row, 0);
            let found = rows.get(subscriber).expect("a subscriber");
            let mut owner: [u8; SUBSCRIBER_BYTES] = found.try_into().expect("its size");
            owner[BIT_AT] = bit;
            count(&mut owner, UPDATES_AT);
            rows.put(facility, &row);
            rows.put(subscriber, &owner);
            Some(())
        };
        let is_done = store.run(&[subscriber, facility], update).is_some();
        self.board.add(sums::UPDATED, u64::from(is_done));
        is_done
    }

    fn update_location(&mut self, store: &impl Store) -> bool {
        let (id, location) = (self.by_number(store), self.random.next() as u32);
        let subscriber = Key::new(SUBSCRIBER, id, 0);
        let update = |rows: &mut dyn Rows| {
            let found = rows.get(subscriber)?;
            let mut row: [u8; SUBSCRIBER_BYTES] = found.try_into().expect("its size");
            row[LOCATION_AT + 4..].copy_from_slice(&location.to_le_bytes());
            rows.put(subscriber, &row);
            Some(())
        };
        store.run(&[subscriber], update).is_some()
    }

    fn change_forwarding(&mut self, store: &impl Store, is_insert: bool) -> bool {
        let id = self.by_number(store);
        let (kind, start) = (1 + self.random.below(4) as u8, 8 * self.random.below(3) as u8);
        let end = start + 1 + self.random.below(8) as u8;
        let [facility, key] = [Key::new(FACILITY, id, kind), forwarding(id, kind, start)];
        let insert = |rows: &mut dyn Rows| {
            rows.get(facility)?;
            if rows.get(key).is_some() {
                return None;
            }
            rows.put(key, &[end; FORWARDING_BYTES]);
            Some(())
        };
        let remove = |rows: &mut dyn Rows| {
            rows.get(key)?;
            rows.remove(key);
            Some(())
        };
        let (done, sum) = if is_insert {
            (store.run(&[facility, key], insert), sums::INSERTED)
        } else {
            (store.run(&[key], remove), sums::REMOVED)
        };
        self.board.add(sum, u64::from(done.is_some()));
        done.is_some()
    }
}

impl Job for Work<'_> {
    fn act(&mut self, store: &impl Store) {
        let kind = self.random.below(100);
        let is_done = match kind {
            0..35 => {
                let id = self.subscriber();
                let is_there = store.get(Key::new(SUBSCRIBER, id, 0), &mut self.into);
                assert!(is_there && word(&self.into, 0) == id, "subscriber {id}: {:?}", self.into);
                true
            }
            35..45 => self.get_new_destination(store),
            45..80 => {
                let (id, kind) = (self.subscriber(), 1 + self.random.below(4) as u8);
                store.get(Key::new(ACCESS, id, kind), &mut self.into)
            }
            80..82 => self.update_subscriber_data(store),
            82..96 => self.update_location(store),
            _ => self.change_forwarding(store, kind < 98),
        };
        self.declined += u64::from(!is_done);
    }

    fn declined(&self) -> u64 {
        self.declined
    }
}

/// Nobody is at work.
pub fn check(store: &impl Store, board: &Board, share: f64) -> Result<(), String> {
    let all = subscribers(share) as usize;
    let (mut of_subscriber, mut of_facilities) = (vec![None; all], vec![0; all]);
    let (mut kinds, mut forwardings, mut total) = (vec![0u8; all], vec![], 0);
    store.scan(|key, value| {
        let id = key.number() as usize;
        match key.table() {
            SUBSCRIBER => {
                of_subscriber[id] = Some(word(value, UPDATES_AT));
                total += word(value, UPDATES_AT);
            }
            FACILITY => {
                of_facilities[id] += word(value, 0);
                kinds[id] |= 1 << key.part();
            }
            FORWARDING => forwardings.push((id, key.part() >> 5)),
            _ => {}
        }
    });
    let halves = (0..all).filter(|id| of_subscriber[*id] != Some(of_facilities[*id])).count();
    let orphans = forwardings.iter().filter(|(id, kind)| kinds[*id] >> kind & 1 == 0).count();
    let expected = board.value(sums::INSERTED) - board.value(sums::REMOVED);
    let updated = board.value(sums::UPDATED);
    if (halves, orphans, total, forwardings.len() as u64) == (0, 0, updated, expected) {
        Ok(())
    } else {
        Err(format!(
            "{halves} subscribers with half of an update, {orphans} rows without a facility, {total} of {updated} \
             updates, {} of {expected} rows of call forwarding",
            forwardings.len()
        ))
    }
}
