//! Reading big-endian numbers from bytes that may end at any point.

use crate::error::ClassFormat;

/// A position in the bytes of a class file. Reading past the end is a `ClassFormatError`.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error unless `length` bytes are left.
    pub fn require(&self, length: usize) -> Result<(), ClassFormat> {
        self.clone().take(length).map(drop)
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], ClassFormat> {
        let taken = self.bytes[self.at..].get(..length);
        let taken = taken.ok_or_else(|| ClassFormat::format_error("Truncated class file"))?;
        self.at += length;
        Ok(taken)
    }

    pub fn u1(&mut self) -> Result<u8, ClassFormat> {
        Ok(self.take(1)?[0])
    }

    pub fn u2(&mut self) -> Result<u16, ClassFormat> {
        Ok(u16::from_be_bytes(self.take(2)?.try_into().expect("two bytes taken")))
    }

    pub fn u4(&mut self) -> Result<u32, ClassFormat> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into().expect("four bytes taken")))
    }

    pub fn u8(&mut self) -> Result<u64, ClassFormat> {
        Ok(u64::from_be_bytes(self.take(8)?.try_into().expect("eight bytes taken")))
    }

    /// A vector for `count` items of at least `item_bytes` each, with no more room than the
    /// remaining bytes can fill.
    pub fn vec_for<T>(&self, count: u16, item_bytes: usize) -> Vec<T> {
        Vec::with_capacity((count as usize).min(self.remaining() / item_bytes))
    }
}
