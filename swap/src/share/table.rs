//! The contents of a pool's file: one page, little endian.
//!
//! ```text
//!    0  magic (16 bytes)   version (4)   slots (4)   pages of the pool (8)   changes (8)   zeros to 64
//!   64  slot 0: process (4, 0 = free)   zeros (4)   least, most, demand, limit, resident (8 each, pages)   zeros to 64
//!  128  slot 1 ...
//! ```
//!
//! It is read and written as a whole, under the file's lock. A process that is killed while it writes leaves the old
//! page or the new one.

use super::shares::Claim;

/// The contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// How large the pool is.
    pub pages: usize,
    /// Counts changes that others have to read.
    pub changes: u64,
    pub slots: [Option<Slot>; SLOTS],
}

/// One member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// For messages only.
    pub pid: u32,
    pub claim: Claim,
    /// The most that it may have now: no other member may have that.
    pub limit: usize,
    /// For observers.
    pub resident: usize,
}

impl Table {
    pub fn new(pages: usize) -> Table {
        Table { pages, changes: 0, slots: [None; SLOTS] }
    }

    /// Members and their slots' numbers.
    pub fn members(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter_map(|(n, slot)| Some((n, slot.as_ref()?)))
    }

    /// Pages that no limit holds.
    pub fn free(&self) -> usize {
        let held = self.members().map(|(_, slot)| slot.limit).fold(0, usize::saturating_add);
        self.pages.saturating_sub(held)
    }

    pub fn encode(&self) -> [u8; FILE_BYTES] {
        let mut bytes = [0; FILE_BYTES];
        let mut writer = Cursor { bytes: &mut bytes, at: 0 };
        writer.put(MAGIC);
        writer.put(&VERSION.to_le_bytes());
        writer.put(&(SLOTS as u32).to_le_bytes());
        writer.put(&(self.pages as u64).to_le_bytes());
        assert_eq!(writer.at, CHANGES_AT);
        writer.put(&self.changes.to_le_bytes());
        for (n, slot) in self.members() {
            writer.at = SLOT_BYTES * (n + 1);
            writer.put(&slot.pid.to_le_bytes());
            writer.put(&[0; 4]);
            for pages in slot.numbers() {
                writer.put(&(pages as u64).to_le_bytes());
            }
        }
        bytes
    }

    /// `Err` says why the bytes are invalid.
    pub fn decode(bytes: &[u8; FILE_BYTES]) -> Result<Table, &'static str> {
        let u32_at =
            |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let u64_at =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        if !bytes.starts_with(MAGIC) {
            return Err("its file is not that of a pool");
        }
        if u32_at(16) != VERSION {
            return Err("its file is of another version of Farheap");
        }
        let damaged = "its file is damaged";
        let number = |at: usize| match usize::try_from(u64_at(at)) {
            Ok(pages) if pages <= PAGES_MAX => Ok(pages),
            _ => Err(damaged),
        };
        if u32_at(20) as usize != SLOTS || number(24)? == 0 {
            return Err(damaged);
        }
        let mut table = Table { changes: u64_at(CHANGES_AT), ..Table::new(number(24)?) };
        for (n, slot) in table.slots.iter_mut().enumerate() {
            let at = SLOT_BYTES * (n + 1);
            if u32_at(at) == 0 {
                continue;
            }
            let field = |field: usize| number(at + 8 + 8 * field);
            let claim = Claim { least: field(0)?, most: field(1)?, demand: field(2)? };
            if claim.least > claim.most {
                return Err(damaged);
            }
            *slot = Some(Slot { pid: u32_at(at), claim, limit: field(3)?, resident: field(4)? });
        }
        Ok(table)
    }
}

impl Slot {
    fn numbers(&self) -> [usize; 5] {
        let Claim { least, most, demand } = self.claim;
        [least, most, demand, self.limit, self.resident]
    }
}

struct Cursor<'a> {
    bytes: &'a mut [u8; FILE_BYTES],
    at: usize,
}

impl Cursor<'_> {
    fn put(&mut self, field: &[u8]) {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
    }
}

/// Members that a pool can have.
pub const SLOTS: usize = 63;
pub const FILE_BYTES: usize = 4096;
/// Where the number of changes is.
pub const CHANGES_AT: usize = 32;
const MAGIC: &[u8; 16] = b"farheap pool\n\0\0\0";
const VERSION: u32 = 1;
const SLOT_BYTES: usize = 64;
/// No sum of as many overflows.
const PAGES_MAX: usize = 1 << 48;
const _: () = assert!(SLOT_BYTES * (SLOTS + 1) == FILE_BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    fn example() -> Table {
        let mut table = Table { changes: 9, ..Table::new(1000) };
        let claim = Claim { least: 256, most: 1000, demand: 700 };
        table.slots[0] = Some(Slot { pid: 17, claim, limit: 600, resident: 5 });
        table.slots[SLOTS - 1] = Some(Slot { pid: 18, claim, limit: 300, resident: 6 });
        table
    }

    #[test]
    fn a_table_survives_its_file() {
        let table = example();
        assert_eq!(Table::decode(&table.encode()), Ok(table.clone()));
        assert_eq!(table.free(), 100);
        assert_eq!(table.members().map(|(n, _)| n).collect::<Vec<_>>(), [0, SLOTS - 1]);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert!(Table::decode(&[0; FILE_BYTES]).unwrap_err().contains("not that of a pool"));
        let with = |at: usize, byte: u8| {
            let mut bytes = example().encode();
            bytes[at] = byte;
            Table::decode(&bytes)
        };
        assert!(with(16, 2).unwrap_err().contains("version"));
        // Slots, the size of the pool, the least and the demand of the first member.
        for at in [20, 31, 79, 95] {
            assert!(with(at, 0xff).unwrap_err().contains("damaged"), "{at}");
        }
    }

    #[test]
    fn damaged_tables_are_refused_or_harmless() {
        let mut random = StdRng::seed_from_u64(3);
        for _ in 0..20_000 {
            let mut bytes = example().encode();
            for _ in 0..random.random_range(1..6) {
                bytes[random.random_range(0..192)] = random.random();
            }
            if let Ok(table) = Table::decode(&bytes) {
                assert!(table.free() <= table.pages);
                assert_eq!(Table::decode(&table.encode()), Ok(table));
            }
        }
    }
}
