//! Entries: a key and a value, which never change.

use crate::PoolError;
use crate::refs::{Reader, Ref};
use crate::sync::AtomicU64;

/// Bytes in a pool that nobody changes while they can be looked at.
#[derive(Clone, Copy)]
pub struct Bytes<'r> {
    words: &'r [AtomicU64],
    len: usize,
}

/// An entry that a reader looks at. It may have been replaced or removed meanwhile; its memory is whole.
#[derive(Clone, Copy)]
pub struct Entry<'r, 'c> {
    reader: &'r Reader<'c>,
    words: &'r [AtomicU64],
}

/// An entry with a counted reference, which keeps it: a value that was replaced or removed stays until its last `Value`
/// is dropped. May be sent to other clients as the reference that it is.
#[derive(Clone)]
pub struct Value<'c> {
    reference: Ref<'c>,
}

/// An entry that nobody else knows.
pub struct Draft<'c> {
    reference: Ref<'c>,
}

impl<'r> Bytes<'r> {
    /// How many.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where they are in this process, 8-byte aligned.
    pub fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    /// Copies them, from this one on, as many as fit. Returns how many.
    pub fn copy_to(&self, from: usize, into: &mut [u8]) -> usize {
        let _ = (from, into);
        todo!()
    }

    /// Copies them to the end of a buffer.
    pub fn append_to(&self, into: &mut Vec<u8>) {
        let _ = into;
        todo!()
    }

    /// A copy.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut copy = Vec::new();
        self.append_to(&mut copy);
        copy
    }

    /// Whether they are these.
    pub fn is(&self, other: &[u8]) -> bool {
        let _ = other;
        todo!()
    }
}

impl<'r, 'c> Entry<'r, 'c> {
    /// The key.
    pub fn key(&self) -> Bytes<'r> {
        let _ = self.words;
        todo!()
    }

    /// The value.
    pub fn value(&self) -> Bytes<'r> {
        todo!()
    }

    /// The version of the value: another one for each value of the pool.
    pub fn version(&self) -> u64 {
        todo!()
    }

    /// When it expires, milliseconds of Unix time. 0: never.
    pub fn until(&self) -> u64 {
        todo!()
    }

    /// Counts the entry. `None`: it was removed, and its last reference is gone.
    pub fn share(&self) -> Result<Option<Value<'c>>, PoolError> {
        let _ = self.reader;
        todo!()
    }
}

impl<'c> Value<'c> {
    /// The key.
    pub fn key(&self) -> Bytes<'_> {
        todo!()
    }

    /// The bytes.
    pub fn bytes(&self) -> Bytes<'_> {
        todo!()
    }

    /// The version: another one for each value of the pool.
    pub fn version(&self) -> u64 {
        todo!()
    }

    /// When it expires, milliseconds of Unix time. 0: never.
    pub fn until(&self) -> u64 {
        todo!()
    }

    /// The reference: it may be sent through a ring. Another client makes a value of it again by [`Value::of`].
    pub fn into_ref(self) -> Ref<'c> {
        self.reference
    }

    /// The entry that a reference refers to, which came from [`Value::into_ref`]. An error if it cannot be one.
    pub fn of(reference: Ref<'c>) -> Result<Value<'c>, PoolError> {
        let _ = reference;
        todo!()
    }
}

impl Draft<'_> {
    /// Bytes of the value.
    pub fn len(&self) -> usize {
        let _ = &self.reference;
        todo!()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes a part of the value. Panics if the part is not within it.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        let _ = (at, bytes);
        todo!()
    }

    /// Where the value is in this process, 8-byte aligned: to be written before the draft is put. It is undefined at
    /// first.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        todo!()
    }
}
