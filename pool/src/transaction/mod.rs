//! Transactions over several rows of a map: all of their changes are there, or none, also if clients die.
//!
//! A map changes one key at a time. So a transaction writes *intents* into its rows, and then one of them decides.
//!
//! 1. **Read.** A transaction keeps what it has seen of each row. It changes nothing.
//! 2. **Take.** In the order of the keys, each row that it has read or written gets an intent with the old value, if
//!    the row still has what was seen. The first row is the *primary* one. The version of its intent is the name of
//!    the transaction, which the intents of the others have: versions never come again.
//! 3. **Decide.** The intent of the primary row is exchanged for one that says that the transaction is committed, and
//!    which rows are in it: one compare-and-swap. If another client has aborted it, that fails.
//! 4. **Apply.** The other rows get their new values, and the primary row last.
//!
//! ```text
//!             take                    decide                          apply
//!   plain ----------> pending (primary) ----------> committed (primary) ------> plain, new
//!     |                    |
//!     |                    +---- abort, by anybody ---> plain, old
//!     | take
//!     +-------------> held (others) ---- as the primary row says -------------> plain, new or old
//! ```
//!
//! Whoever meets an intent can settle it. A row that is held has the old value while its primary row is pending, and
//! the new one while that is committed. If the primary row is neither, for this transaction, then it was aborted, or
//! all is applied; the second cannot be if the row is still held. Readers do no more than that: they change nothing,
//! and wait for nobody. A transaction that needs a row which another one has, waits a little, and then aborts that
//! one. So nothing is left of a dead client but its intents, and recovery has nothing to do here.
//!
//! Invariants:
//!
//! * Only the owner puts intents into rows, each once, and all of them before it decides. If it is stopped and aborted
//!   meanwhile, the intents that it puts later are found aborted, and its decision fails.
//! * From the decision until all others are applied the primary row is committed.
//! * A committed transaction had all rows that it read or wrote at the moment of its decision. So transactions happen
//!   one after the other, in the order of these moments, and those that write nothing at a moment when all that
//!   they have seen was there.
//!
//! Looking is wait-free but for changes of the same row, a transaction is obstruction-free: two that want the same rows
//! may abort each other, and each is repeated.

mod commit;
mod row;

use crate::PoolError;
use crate::map::{Map, Replaced};
use commit::Commit;
use row::{PLAIN, Row};
use std::cell::{Cell, RefCell};
use std::hint::spin_loop;
use std::thread::yield_now;

/// Transactions over the rows of a map, which nothing else changes. One thread at a time may use it, as the map.
pub struct Transactions<'m, 'c> {
    map: &'m Map<'c>,
    conflicts: Cell<u64>,
    settled: Cell<u64>,
    /// For what is put.
    buffer: RefCell<Vec<u8>>,
    #[cfg(test)]
    flaw: Option<crate::flaw::Flaw>,
}

/// A transaction that is not committed: what it has read, and is to write. Dropping it forgets it.
pub struct Transaction<'t, 'm, 'c> {
    of: &'t Transactions<'m, 'c>,
    rows: Vec<Seen>,
}

/// A row of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    key: Vec<u8>,
    found: Found,
    /// What it is to have; `None`: what it had.
    new: Option<Option<Vec<u8>>>,
}

/// What a row had at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Found {
    value: Option<Vec<u8>>,
    /// A row that had a value has had it all the time between two moments with the same version. 0: no value.
    version: u64,
    /// The version of the entry, 0 for none, if it is no intent.
    plain: Option<u64>,
}

/// What became of a transaction, as its primary row says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Undecided,
    Committed,
    /// Aborted, or all is applied.
    Gone,
}

/// How often a transaction looks again at an intent before it aborts it, and after how often it gives its CPU away.
const PATIENCE: u32 = 40;
const SPINS: u32 = 32;

impl<'m, 'c> Transactions<'m, 'c> {
    /// Transactions over a map. Whatever else puts values there writes what they cannot read. An error if the map
    /// evicts entries: rows would be lost one by one.
    pub fn new(map: &'m Map<'c>) -> Result<Transactions<'m, 'c>, PoolError> {
        if map.evicts() {
            return Err(PoolError::Evicts);
        }
        let [conflicts, settled] = [0; 2].map(Cell::new);
        Ok(Transactions {
            map,
            conflicts,
            settled,
            buffer: RefCell::default(),
            #[cfg(test)]
            flaw: None,
        })
    }

    /// Copies the value of a row to the end of a buffer. False: it has none. It sees what is committed, and waits for
    /// nobody.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, PoolError> {
        match self.plain(key, Some(into))? {
            Some(0) => Ok(false),
            Some(_) => Ok(true),
            None => {
                let found = self.look(key)?.value;
                into.extend_from_slice(found.as_deref().unwrap_or_default());
                Ok(found.is_some())
            }
        }
    }

    /// A transaction that gives a row a value, whatever it had.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), PoolError> {
        loop {
            match self.plain(key, None)? {
                Some(version) => {
                    if self.put_row(key, version, &Row::Plain(value))?.is_some() {
                        return Ok(());
                    }
                    self.conflicts.set(self.conflicts.get() + 1);
                }
                None => self.settle(key)?,
            }
        }
    }

    /// Begins a transaction.
    pub fn begin(&self) -> Transaction<'_, 'm, 'c> {
        Transaction { of: self, rows: Vec::new() }
    }

    /// Runs a transaction, again and again until it is committed. `None`: `body` has declined it, by what it had read
    /// at one moment. While `body` runs, what it reads may come from several moments; then it is run once more, also if
    /// it returned an error.
    pub fn run<T>(
        &self,
        mut body: impl FnMut(&mut Transaction) -> Result<Option<T>, PoolError>,
    ) -> Result<Option<T>, PoolError> {
        loop {
            let mut transaction = self.begin();
            let made = match body(&mut transaction) {
                Ok(made) => made,
                Err(error) if self.are_at_one_moment(&transaction.rows)? => return Err(error),
                Err(_) => continue,
            };
            if made.is_none() {
                transaction.rows.iter_mut().for_each(|row| row.new = None);
            }
            if transaction.commit()? {
                return Ok(made);
            }
            // The other one may need this CPU.
            yield_now();
        }
    }

    /// Calls `visit` for the key and the value of each row: of each at another moment. For when nobody is at work: then
    /// it is exact.
    pub fn scan(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<(), PoolError> {
        let mut from = Some(0);
        while let Some(part) = from {
            let mut keys = Vec::new();
            {
                let reader = self.map.client().read()?;
                from = self.map.scan(&reader, part, |entry| keys.push(entry.key().to_vec()))?;
            }
            for key in keys {
                if let Some(value) = self.look(&key)?.value {
                    visit(&key, &value);
                }
            }
        }
        Ok(())
    }

    /// How many transactions of this client failed, because others changed or had what they had seen.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.get()
    }

    /// How many intents of others this client has settled.
    pub fn settled(&self) -> u64 {
        self.settled.get()
    }

    /// The map.
    pub fn map(&self) -> &'m Map<'c> {
        self.map
    }

    #[cfg(test)]
    fn with_flaw(mut self, flaw: Option<crate::flaw::Flaw>) -> Self {
        self.flaw = flaw;
        self
    }

    /// The entry of a key, and its version.
    fn entry(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>, PoolError> {
        let mut bytes = Vec::new();
        Ok(self.map.get(key, &mut bytes)?.map(|version| (version, bytes)))
    }

    /// The version of a row that has no intent, 0 for no value, which is copied to the end of a buffer.
    #[inline]
    fn plain(&self, key: &[u8], into: Option<&mut Vec<u8>>) -> Result<Option<u64>, PoolError> {
        let reader = self.map.client().read()?;
        let Some(entry) = self.map.peek(&reader, key)? else { return Ok(Some(0)) };
        let (value, mut kind) = (entry.value(), [0]);
        value.copy_to(0, &mut kind);
        if kind != [PLAIN] {
            return Ok(None);
        }
        if let Some(into) = into {
            let before = into.len();
            into.resize(before + value.len() - 1, 0);
            value.copy_to(1, &mut into[before..]);
        }
        Ok(Some(entry.version()))
    }

    /// What a row has now.
    fn look(&self, key: &[u8]) -> Result<Found, PoolError> {
        let mut value = Vec::new();
        if let Some(version) = self.plain(key, Some(&mut value))? {
            let value = (version != 0).then_some(value);
            return Ok(Found { value, version, plain: Some(version) });
        }
        loop {
            let Some((entry, bytes)) = self.entry(key)? else {
                return Ok(Found { value: None, version: 0, plain: Some(0) });
            };
            let (value, version) = match Row::of(&bytes)? {
                Row::Plain(value) => {
                    let (value, plain) = (Some(value.to_vec()), Some(entry));
                    return Ok(Found { value, version: entry, plain });
                }
                Row::Pending { old, base } => (old, base),
                Row::Committed { new, .. } => (new, entry),
                Row::Held { transaction, primary, old, new, base } => {
                    match self.fate(primary, transaction)? {
                        Fate::Undecided => (old, base),
                        Fate::Committed => (new, entry),
                        Fate::Gone => {
                            let now = self.entry(key)?;
                            if now.is_none_or(|(now, _)| now != entry) {
                                continue;
                            }
                            (old, base)
                        }
                    }
                }
            };
            let version = if value.is_some() { version } else { 0 };
            return Ok(Found { value: value.map(<[u8]>::to_vec), version, plain: None });
        }
    }

    /// What became of a transaction.
    fn fate(&self, primary: &[u8], transaction: u64) -> Result<Fate, PoolError> {
        let Some((version, bytes)) = self.entry(primary)? else { return Ok(Fate::Gone) };
        Ok(match Row::of(&bytes)? {
            Row::Pending { .. } if version == transaction => Fate::Undecided,
            Row::Committed { transaction: found, .. } if found == transaction => Fate::Committed,
            _ => Fate::Gone,
        })
    }

    /// Puts an entry in place of the one of this version, or, for version 0, of none. Returns its version. `None`: the
    /// key has another one.
    fn put_row(&self, key: &[u8], version: u64, row: &Row) -> Result<Option<u64>, PoolError> {
        let mut bytes = self.buffer.borrow_mut();
        bytes.clear();
        row.append_to(&mut bytes);
        if version == 0 {
            return self.map.put_if_absent(key, &bytes, 0);
        }
        match self.map.replace_likely(key, version, &bytes)? {
            Replaced::Stored(version) => Ok(Some(version)),
            _ => Ok(None),
        }
    }

    /// Gives a row a value, or none, in place of the entry of this version. False: it has another one.
    fn settle_as(&self, key: &[u8], version: u64, value: Option<&[u8]>) -> Result<bool, PoolError> {
        match value {
            Some(value) => Ok(self.put_row(key, version, &Row::Plain(value))?.is_some()),
            None => self.map.remove_if(key, version),
        }
    }

    /// Settles the intent of another transaction, if a row has one.
    #[cold]
    fn settle(&self, key: &[u8]) -> Result<(), PoolError> {
        let mut turns = 0;
        let mut is_patient = || {
            turns += 1;
            if turns <= SPINS {
                spin_loop()
            } else {
                yield_now()
            }
            turns < PATIENCE
        };
        loop {
            let Some((entry, bytes)) = self.entry(key)? else { return Ok(()) };
            match Row::of(&bytes)? {
                Row::Plain(_) => return Ok(()),
                Row::Pending { .. } if is_patient() => continue,
                Row::Pending { old, .. } => _ = self.settle_as(key, entry, old)?,
                Row::Committed { transaction, new, others } => {
                    for other in others {
                        self.apply(other, key, transaction)?;
                    }
                    self.settle_as(key, entry, new)?;
                }
                Row::Held { transaction, primary, old, new, .. } => {
                    let fate = if crate::flaw::flawed!(self, BlindRollBack) {
                        Fate::Gone
                    } else {
                        self.fate(primary, transaction)?
                    };
                    match fate {
                        Fate::Undecided if is_patient() => continue,
                        Fate::Undecided => self.abort(primary, transaction)?,
                        Fate::Committed => _ = self.settle_as(key, entry, new)?,
                        // If the row is still held, it was aborted.
                        Fate::Gone => _ = self.settle_as(key, entry, old)?,
                    }
                }
            }
            self.settled.set(self.settled.get() + 1);
        }
    }

    /// Gives a row of a committed transaction its new value, unless it has it already.
    fn apply(&self, key: &[u8], primary: &[u8], transaction: u64) -> Result<(), PoolError> {
        let Some((entry, bytes)) = self.entry(key)? else { return Ok(()) };
        if let Row::Held { transaction: found, primary: of, new, .. } = Row::of(&bytes)?
            && found == transaction
            && of == primary
        {
            // If another client is faster, it does the same.
            self.settle_as(key, entry, new)?;
        }
        Ok(())
    }

    /// Aborts a transaction that is not decided.
    fn abort(&self, primary: &[u8], transaction: u64) -> Result<(), PoolError> {
        if let Some((version, bytes)) = self.entry(primary)?
            && version == transaction
            && let Row::Pending { old, .. } = Row::of(&bytes)?
        {
            self.settle_as(primary, version, old)?;
        }
        Ok(())
    }
}

impl Transaction<'_, '_, '_> {
    /// The value of a row: what this transaction gave it, or what was committed when it was first read.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, PoolError> {
        let row = self.row(key)?;
        Ok(row.new.as_ref().unwrap_or(&row.found.value).as_deref())
    }

    /// Gives a row a value.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), PoolError> {
        self.row(key)?.new = Some(Some(value.to_vec()));
        Ok(())
    }

    /// Removes a row. It may be absent.
    pub fn remove(&mut self, key: &[u8]) -> Result<(), PoolError> {
        self.row(key)?.new = Some(None);
        Ok(())
    }

    /// Commits it. False: others have changed what it has read, or aborted it, and it has changed nothing. If it
    /// returns an error, as if memory is used up, it may have happened or not: clients that come to its rows find out.
    pub fn commit(self) -> Result<bool, PoolError> {
        let of = self.of;
        let is_done = match &self.rows[..] {
            rows if self.is_read_only() => of.are_at_one_moment(rows)?,
            [row] => of.change(row)?,
            _ => Commit::new(of, self.rows).run()?,
        };
        of.conflicts.set(of.conflicts.get() + u64::from(!is_done));
        Ok(is_done)
    }

    /// Whether nothing is written, and the versions tell all. An absent row has no version: if one was removed and
    /// made and removed meanwhile, another one may have been at other moments.
    fn is_read_only(&self) -> bool {
        let absent = self.rows.iter().filter(|row| row.found.version == 0).count();
        absent <= 1 && self.rows.iter().all(|row| row.new.is_none())
    }

    fn row(&mut self, key: &[u8]) -> Result<&mut Seen, PoolError> {
        let n = match self.rows.iter().position(|row| row.key == key) {
            Some(n) => n,
            None => {
                let found = self.of.look(key)?;
                self.rows.push(Seen { key: key.to_vec(), found, new: None });
                self.rows.len() - 1
            }
        };
        Ok(&mut self.rows[n])
    }
}

impl Seen {
    /// What the row had.
    fn before(&self) -> Option<&[u8]> {
        self.found.value.as_deref()
    }

    /// What it is to have.
    fn after(&self) -> Option<&[u8]> {
        self.new.as_ref().unwrap_or(&self.found.value).as_deref()
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod torture;
#[cfg(test)]
mod usage;
