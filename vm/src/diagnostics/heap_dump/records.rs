//! The records of a heap dump, big-endian:
//!
//! ```text
//! file         "JAVA PROFILE 1.0.2\0"  u4 bytes of an id (8)  u8 ms since 1970  record*
//! record       u1 tag  u4 us since then (0)  u4 length  body
//! HEAP_DUMP_SEGMENT   sub-record*, none of which is split
//! ```
//!
//! Lengths come before bodies, so a segment is gathered in a buffer. A sub-record that is larger has a segment of its
//! own: its length is known.

use std::io::{self, Write};

/// Writes a dump. After the first error nothing is written any more; [`end`](Self::end) returns it.
pub struct Records {
    out: Box<dyn Write + Send>,
    /// Bytes of the present segment that are not written yet.
    segment: Vec<u8>,
    /// The present sub-record has a segment of its own, whose head is written.
    is_large: bool,
    error: Option<io::Error>,
}

impl Records {
    pub fn new(out: Box<dyn Write + Send>) -> Records {
        let now = base::since_epoch().as_millis();
        let mut records = Records {
            out,
            segment: Vec::with_capacity(SEGMENT_BYTES),
            is_large: false,
            error: None,
        };
        records.write(b"JAVA PROFILE 1.0.2\0");
        records.write(&ID_BYTES.to_be_bytes());
        records.write(&(now as u64).to_be_bytes());
        records
    }

    /// A record that is not a part of the heap. It comes before the segment that is being gathered.
    pub fn record(&mut self, tag: u8, body: &[u8]) {
        debug_assert!(!self.is_large);
        self.head(tag, body.len() as u32);
        self.write(body);
    }

    /// A sub-record of `bytes` bytes, at most `u32::MAX`, which `fill` puts.
    #[inline]
    pub fn sub_record(&mut self, bytes: usize, fill: impl FnOnce(&mut Records)) {
        if self.segment.len() + bytes > SEGMENT_BYTES {
            self.end_segment();
        }
        self.is_large = bytes > SEGMENT_BYTES;
        if self.is_large {
            self.head(HEAP_DUMP_SEGMENT, bytes as u32);
        }
        let before = self.segment.len();
        fill(self);
        if self.is_large {
            self.write_segment();
            self.is_large = false;
        } else {
            debug_assert_eq!(self.segment.len() - before, bytes);
        }
    }

    /// A part of the present sub-record.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.segment.extend_from_slice(bytes);
        if self.is_large && self.segment.len() >= SEGMENT_BYTES {
            self.write_segment();
        }
    }

    #[inline]
    pub fn put_u1(&mut self, value: u8) {
        self.put(&[value]);
    }

    #[inline]
    pub fn put_u2(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    #[inline]
    pub fn put_u4(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    #[inline]
    pub fn put_id(&mut self, id: u64) {
        self.put(&id.to_be_bytes());
    }

    /// What is to be written cannot be had: as if writing it had failed.
    pub fn fail(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }

    /// The last record.
    pub fn end(mut self) -> io::Result<()> {
        self.end_segment();
        self.head(HEAP_DUMP_END, 0);
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn end_segment(&mut self) {
        if !self.segment.is_empty() {
            self.head(HEAP_DUMP_SEGMENT, self.segment.len() as u32);
            self.write_segment();
        }
    }

    fn head(&mut self, tag: u8, length: u32) {
        let mut head = [0; 9];
        head[0] = tag;
        head[5..].copy_from_slice(&length.to_be_bytes());
        self.write(&head);
    }

    fn write_segment(&mut self) {
        let mut segment = std::mem::take(&mut self.segment);
        self.write(&segment);
        segment.clear();
        self.segment = segment;
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.out.write_all(bytes).err();
        }
    }
}

/// Tags of records.
pub const UTF8: u8 = 0x01;
pub const LOAD_CLASS: u8 = 0x02;
pub const FRAME: u8 = 0x04;
pub const TRACE: u8 = 0x05;
const HEAP_DUMP_SEGMENT: u8 = 0x1c;
const HEAP_DUMP_END: u8 = 0x2c;

/// Tags of sub-records.
pub const ROOT_UNKNOWN: u8 = 0xff;
pub const ROOT_JNI_GLOBAL: u8 = 0x01;
pub const ROOT_JNI_LOCAL: u8 = 0x02;
pub const ROOT_JAVA_FRAME: u8 = 0x03;
pub const ROOT_STICKY_CLASS: u8 = 0x05;
pub const ROOT_MONITOR_USED: u8 = 0x07;
pub const ROOT_THREAD_OBJECT: u8 = 0x08;
pub const CLASS_DUMP: u8 = 0x20;
pub const INSTANCE_DUMP: u8 = 0x21;
pub const OBJECT_ARRAY_DUMP: u8 = 0x22;
pub const PRIMITIVE_ARRAY_DUMP: u8 = 0x23;

const ID_BYTES: u32 = 8;
const SEGMENT_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Tags and lengths of the records of a dump.
    fn parse(bytes: &[u8]) -> Vec<(u8, usize)> {
        let mut rest = &bytes[b"JAVA PROFILE 1.0.2\0".len() + 4 + 8..];
        let mut records = Vec::new();
        while !rest.is_empty() {
            let length = u32::from_be_bytes(rest[5..9].try_into().unwrap()) as usize;
            records.push((rest[0], length));
            rest = &rest[9 + length..];
        }
        records
    }

    #[test]
    fn sub_records_are_gathered_and_never_split() {
        let out = Shared::default();
        let mut records = Records::new(Box::new(out.clone()));
        for bytes in [10, SEGMENT_BYTES - 10, 1, SEGMENT_BYTES * 2 + 3, 5] {
            records.sub_record(bytes, |records| {
                (0..bytes).for_each(|i| records.put_u1(i as u8));
            });
        }
        // A name that the last sub-record needs.
        records.record(UTF8, b"name");
        records.end().unwrap();
        let expected = vec![
            (HEAP_DUMP_SEGMENT, SEGMENT_BYTES),
            (HEAP_DUMP_SEGMENT, 1),
            (HEAP_DUMP_SEGMENT, SEGMENT_BYTES * 2 + 3),
            (UTF8, 4),
            (HEAP_DUMP_SEGMENT, 5),
            (HEAP_DUMP_END, 0),
        ];
        assert_eq!(parse(&out.0.lock()), expected);
    }

    #[test]
    fn the_first_error_is_the_result() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(libc::ENOSPC))
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut records = Records::new(Box::new(Full));
        records.sub_record(1, |records| records.put_u1(0));
        assert_eq!(records.end().unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    }
}
