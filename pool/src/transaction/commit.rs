//! Committing a transaction, step by step.

use super::row::Row;
use super::{Found, Seen, Transactions};
use crate::PoolError;
use crate::crash::crash_point;
use crate::flaw::flawed;

impl Transactions<'_, '_> {
    /// Whether all rows have what was seen: then there was a moment when they had it together.
    pub(super) fn are_at_one_moment(&self, rows: &[Seen]) -> Result<bool, PoolError> {
        if rows.len() > 1 {
            for row in rows {
                if self.look(&row.key)?.version != row.found.version {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Commits a transaction of one row, which needs no intent.
    pub(super) fn change(&self, row: &Seen) -> Result<bool, PoolError> {
        Ok(self.exchange(row, |_| row.after().map(Row::Plain))?.is_some())
    }

    /// Exchanges what was seen of a row for what `make` makes, which gets the version of the entry. Returns the new
    /// version, 0 for none. `None`: the row has another value. Settles the intents of others.
    fn exchange<'r>(
        &self,
        row: &Seen,
        make: impl Fn(u64) -> Option<Row<'r>>,
    ) -> Result<Option<u64>, PoolError> {
        let mut plain = row.found.plain;
        loop {
            if let Some(version) = plain {
                let done = match make(version) {
                    Some(made) => self.put_row(&row.key, version, &made)?,
                    None if version == 0 => Some(0),
                    None => self.map.remove_if(&row.key, version)?.then_some(0),
                };
                if done.is_some() {
                    return Ok(done);
                }
            }
            self.settle(&row.key)?;
            let Found { value, plain: now, .. } = self.look(&row.key)?;
            if value != row.found.value {
                return Ok(None);
            }
            plain = now;
        }
    }
}

/// A transaction of several rows that is being committed.
pub(super) struct Commit<'t, 'm, 'c> {
    of: &'t Transactions<'m, 'c>,
    /// By key. The first one is the primary row.
    rows: Vec<Seen>,
    /// Those of the intents of the first rows.
    versions: Vec<u64>,
    phase: Phase,
}

#[derive(Clone, Copy)]
enum Phase {
    Take,
    /// The number of the row that is next, from 1. The primary row's version.
    Apply(usize, u64),
    /// The row that is next.
    Undo(usize),
}

impl<'t, 'm, 'c> Commit<'t, 'm, 'c> {
    pub(super) fn new(of: &'t Transactions<'m, 'c>, mut rows: Vec<Seen>) -> Commit<'t, 'm, 'c> {
        rows.sort_unstable_by(|one, two| one.key.cmp(&two.key));
        Commit { of, versions: Vec::with_capacity(rows.len()), rows, phase: Phase::Take }
    }

    pub(super) fn run(mut self) -> Result<bool, PoolError> {
        loop {
            if let Some(done) = self.step()? {
                return Ok(done);
            }
        }
    }

    /// Whether it is committed: `None` if that needs more steps. Each changes one row.
    pub(super) fn step(&mut self) -> Result<Option<bool>, PoolError> {
        match self.phase {
            Phase::Take if self.versions.len() < self.rows.len() => self.take(),
            Phase::Take => self.decide(),
            Phase::Apply(n, primary) => Ok(self.apply(n, primary)),
            Phase::Undo(n) => self.undo(n),
        }
    }

    fn take(&mut self) -> Result<Option<bool>, PoolError> {
        let (n, primary) = (self.versions.len(), &self.rows[0]);
        let row = &self.rows[n];
        let intent = |base: u64| {
            let (old, new) = (row.before(), row.after());
            Some(match n {
                0 => Row::Pending { base, old },
                _ => {
                    let (transaction, primary) = (self.versions[0], &primary.key[..]);
                    Row::Held { transaction, base, primary, old, new }
                }
            })
        };
        match self.of.exchange(row, intent) {
            Ok(Some(version)) => {
                crash_point!("transaction.taken");
                self.versions.push(version);
                if flawed!(self.of, EarlyApply) && n > 0 {
                    self.of.settle_as(&row.key, version, row.after())?;
                }
            }
            Ok(None) => self.phase = Phase::Undo(0),
            Err(error) => {
                // It is never decided. If a row cannot be settled now, others do it.
                self.phase = Phase::Undo(0);
                while let Ok(None) = self.step() {}
                return Err(error);
            }
        }
        Ok(None)
    }

    fn decide(&mut self) -> Result<Option<bool>, PoolError> {
        let (primary, others) = self.rows.split_first().expect("a transaction has rows");
        let (transaction, others) = (self.versions[0], others.iter().map(|row| &row.key[..]));
        let new = primary.after();
        let committed = Row::Committed { transaction, new, others: others.collect() };
        match self.of.put_row(&primary.key, transaction, &committed)? {
            Some(version) => {
                crash_point!("transaction.committed");
                self.phase = Phase::Apply(1, version);
                if flawed!(self.of, EarlyEnd) {
                    self.of.settle_as(&primary.key, version, new)?;
                }
            }
            None => self.phase = Phase::Undo(0),
        }
        Ok(None)
    }

    /// The transaction is committed, whatever happens here: others do what it leaves.
    fn apply(&mut self, n: usize, primary: u64) -> Option<bool> {
        let (n, version) = if n < self.rows.len() { (n, self.versions[n]) } else { (0, primary) };
        let row = &self.rows[n];
        if n == 0 {
            let _ = self.of.settle_as(&row.key, version, row.after());
            crash_point!("transaction.ended");
            return Some(true);
        }
        // The primary row stays committed until all others have their values.
        if self.of.settle_as(&row.key, version, row.after()).is_err() {
            return Some(true);
        }
        crash_point!("transaction.applied");
        self.phase = Phase::Apply(n + 1, primary);
        None
    }

    fn undo(&mut self, n: usize) -> Result<Option<bool>, PoolError> {
        let Some(version) = self.versions.get(n) else { return Ok(Some(false)) };
        let row = &self.rows[n];
        // The primary row first: from then on it is aborted, if others did not do that.
        self.of.settle_as(&row.key, *version, row.before())?;
        crash_point!("transaction.undone");
        self.phase = Phase::Undo(n + 1);
        Ok(None)
    }
}
