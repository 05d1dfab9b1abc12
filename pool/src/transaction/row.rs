//! What the value of an entry says of a row.

use crate::PoolError;

/// The value of an entry.
///
/// ```text
///   +------+---------+
///   | kind | parts   |   the parts of the variant, in this order: numbers of 8 bytes, and byte strings behind a length
///   +------+---------+   of 8 bytes. A value that is absent has the length -1, one that stays as it was, -2, and the
///                        value of a plain row none.
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Row<'a> {
    /// The row has this value.
    Plain(&'a [u8]),
    /// The primary row of a transaction that is not decided. The version of the entry is the transaction's name.
    Pending {
        /// The version of the old value.
        base: u64,
        old: Option<&'a [u8]>,
    },
    /// The primary row of a committed transaction.
    Committed { transaction: u64, new: Option<&'a [u8]>, others: Vec<&'a [u8]> },
    /// Another row of a transaction.
    Held {
        transaction: u64,
        base: u64,
        primary: &'a [u8],
        old: Option<&'a [u8]>,
        new: Option<&'a [u8]>,
    },
}

pub(super) const PLAIN: u8 = 0xd0;
const PENDING: u8 = 0xd1;
const COMMITTED: u8 = 0xd2;
const HELD: u8 = 0xd3;

impl<'a> Row<'a> {
    /// What the value of an entry says. An error if no transaction wrote it.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Row<'a>, PoolError> {
        let wrong = PoolError::Row { bytes: bytes.len() as u64 };
        let Some((kind, rest)) = bytes.split_first() else { return Err(wrong) };
        if *kind == PLAIN {
            return Ok(Row::Plain(rest));
        }
        let mut parts = Parts(rest);
        let row = match *kind {
            PENDING => parts.pending(),
            COMMITTED => parts.committed(),
            HELD => parts.held(),
            _ => None,
        };
        row.filter(|_| parts.0.is_empty()).ok_or(wrong)
    }

    /// Writes the value of an entry that says this to the end of a buffer.
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>) {
        match self {
            Row::Plain(value) => {
                bytes.push(PLAIN);
                bytes.extend_from_slice(value);
            }
            Row::Pending { base, old } => {
                bytes.push(PENDING);
                put(bytes, *base);
                put_value(bytes, *old);
            }
            Row::Committed { transaction, new, others } => {
                bytes.push(COMMITTED);
                put(bytes, *transaction);
                put_value(bytes, *new);
                others.iter().for_each(|other| put_value(bytes, Some(other)));
            }
            Row::Held { transaction, base, primary, old, new } => {
                bytes.push(HELD);
                put(bytes, *transaction);
                put(bytes, *base);
                put_value(bytes, Some(primary));
                put_value(bytes, *old);
                if old == new {
                    put(bytes, SAME);
                } else {
                    put_value(bytes, *new);
                }
            }
        }
    }
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put_value(bytes: &mut Vec<u8>, value: Option<&[u8]>) {
    put(bytes, value.map_or(ABSENT, |value| value.len() as u64));
    bytes.extend_from_slice(value.unwrap_or_default());
}

const ABSENT: u64 = u64::MAX;
/// A row that is only read is not written twice.
const SAME: u64 = u64::MAX - 1;

/// What was not read yet. They come out of shared memory.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn value(&mut self) -> Option<Option<&'a [u8]>> {
        let len = self.number()?;
        if len == ABSENT {
            return Some(None);
        }
        let (value, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(Some(value))
    }

    fn pending(&mut self) -> Option<Row<'a>> {
        Some(Row::Pending { base: self.number()?, old: self.value()? })
    }

    fn committed(&mut self) -> Option<Row<'a>> {
        let (transaction, new, mut others) = (self.number()?, self.value()?, Vec::new());
        while !self.0.is_empty() {
            others.push(self.value()??);
        }
        Some(Row::Committed { transaction, new, others })
    }

    fn held(&mut self) -> Option<Row<'a>> {
        let (transaction, base, primary) = (self.number()?, self.number()?, self.value()??);
        let old = self.value()?;
        let is_same = self.0.first_chunk() == Some(&SAME.to_le_bytes());
        let new = if is_same { self.number().map(|_| old)? } else { self.value()? };
        Some(Row::Held { transaction, base, primary, old, new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_damaged_ones_are_refused() {
        let values = [None, Some(&b""[..]), Some(b"value"), Some(&[0xff; 300])];
        for old in values {
            for new in values {
                let others = old.into_iter().chain(new).collect();
                let rows = [
                    Row::Plain(old.unwrap_or_default()),
                    Row::Pending { base: 7, old },
                    Row::Committed { transaction: 1 << 50, new, others },
                    Row::Held { transaction: 9, base: 0, primary: b"key", old, new },
                ];
                for row in rows {
                    let mut bytes = vec![];
                    row.append_to(&mut bytes);
                    assert_eq!(Row::of(&bytes).unwrap(), row);
                    let twice = matches!(row, Row::Held { .. }) && old == new && old.is_some();
                    assert!(!twice || bytes.len() < 350, "a value that stays is written twice");
                    if matches!(row, Row::Plain(_)) {
                        continue;
                    }
                    let longer = [&bytes[..], b"x"].concat();
                    assert!(Row::of(&longer).is_err());
                    for end in 0..bytes.len() {
                        // A list of other rows may end behind each of them.
                        let cut = Row::of(&bytes[..end]);
                        let is_list = matches!(cut, Ok(Row::Committed { .. }));
                        assert!(cut.is_err() || is_list, "{row:?} cut at {end}: {cut:?}");
                    }
                }
            }
        }
        let wrong = Row::of(b"another one");
        assert!(matches!(wrong, Err(PoolError::Row { bytes: 11 })), "{wrong:?}");
    }
}
