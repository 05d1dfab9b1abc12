//! The memory that an agent's tables take, by kind. It lies outside of the heap, and outside of local memory.

use super::wire::{Malformed, Reader, Writer};
use std::time::{Duration, Instant};

/// A kind of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// The server's copies of the pages of entries; with two copies of the heap, those of another server too.
    Entries,
    /// The snapshot of allocation bits.
    AllocationBits,
    MarkBits,
    /// Which objects the program has touched.
    TouchedBits,
    /// The objects that tracing a region begins with.
    RootBits,
    /// Live bytes and jumps, by region.
    RegionFigures,
    /// The order in which objects were traced.
    TraceOrder,
    /// Objects copied ahead and their copies: the most of them at one time since the last report.
    Forwarding,
    /// Roots, objects and references that wait to be traced or sent. They keep the memory of a cycle's maximum.
    Queues,
}

impl Table {
    pub const ALL: [Table; 9] = [
        Table::Entries,
        Table::AllocationBits,
        Table::MarkBits,
        Table::TouchedBits,
        Table::RootBits,
        Table::RegionFigures,
        Table::TraceOrder,
        Table::Forwarding,
        Table::Queues,
    ];

    /// The name in statistics.
    pub fn name(self) -> &'static str {
        match self {
            Table::Entries => "entries",
            Table::AllocationBits => "allocation_bits",
            Table::MarkBits => "mark_bits",
            Table::TouchedBits => "touched_bits",
            Table::RootBits => "root_bits",
            Table::RegionFigures => "region_figures",
            Table::TraceOrder => "trace_order",
            Table::Forwarding => "forwarding_at_most",
            Table::Queues => "queues",
        }
    }
}

/// Bytes by kind. Tables in the server's segment count the memory that the system has given for them, which may be
/// swapped out; the others what is allocated for them, used or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableBytes([u64; Table::ALL.len()]);

impl TableBytes {
    /// Adds to a kind.
    pub fn add(&mut self, table: Table, bytes: u64) {
        self.0[table as usize] += bytes;
    }

    /// The kinds that take memory.
    pub fn used(&self) -> impl Iterator<Item = (Table, u64)> {
        let bytes = self.0;
        Table::ALL.into_iter().map(move |table| (table, bytes[table as usize])).filter(|t| t.1 > 0)
    }

    pub fn encode(&self, w: &mut Writer) {
        self.0.iter().for_each(|bytes| {
            w.u64(*bytes);
        });
    }

    pub fn decode(r: &mut Reader) -> Result<TableBytes, Malformed> {
        let mut all = TableBytes::default();
        for bytes in &mut all.0 {
            *bytes = r.u64()?;
            if *bytes > BYTES_MAX {
                return Err(Malformed("tables larger than any memory"));
            }
        }
        Ok(all)
    }
}

/// No machine has more; so the sum over all servers cannot overflow.
const BYTES_MAX: u64 = 1 << 48;

/// Measures an agent's tables now and then: to measure large ones takes milliseconds. Beyond the first time it takes no
/// more than a hundredth of the time.
#[derive(Default)]
pub struct Meter {
    /// When the last measurement ended, and how long it took.
    last: Option<(Instant, Duration)>,
    found: TableBytes,
}

impl Meter {
    /// The tables as they were last measured.
    pub fn found(&self) -> TableBytes {
        self.found
    }

    /// Measures by `measure`, unless it is too soon.
    pub fn measure(&mut self, measure: impl FnOnce() -> TableBytes) {
        if self.last.is_some_and(|(ended, took)| ended.elapsed() < took * 100) {
            return;
        }
        let begun = Instant::now();
        self.found = measure();
        self.last = Some((Instant::now(), begun.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_memory_has_are_refused() {
        let mut tables = TableBytes::default();
        tables.add(Table::MarkBits, BYTES_MAX);
        let sent = |tables: &TableBytes| {
            let mut w = Writer::default();
            tables.encode(&mut w);
            TableBytes::decode(&mut Reader::new(&w.bytes))
        };
        assert_eq!(sent(&tables), Ok(tables));
        assert_eq!(tables.used().collect::<Vec<_>>(), [(Table::MarkBits, BYTES_MAX)]);
        tables.add(Table::MarkBits, 1);
        assert!(sent(&tables).is_err());
    }

    #[test]
    fn measuring_takes_a_hundredth_of_the_time() {
        let mut meter = Meter::default();
        let times = std::cell::Cell::new(0);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(250) {
            meter.measure(|| {
                times.set(times.get() + 1);
                std::thread::sleep(Duration::from_millis(1));
                TableBytes::default()
            });
        }
        assert!((1..=3).contains(&times.get()), "{} times", times.get());
    }

    #[test]
    fn every_kind_has_its_place_and_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = Table::ALL.map(Table::name).into();
        assert_eq!(names.len(), Table::ALL.len());
        assert!(Table::ALL.iter().enumerate().all(|(place, table)| *table as usize == place));
    }
}
