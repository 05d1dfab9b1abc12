//! Compressed dumps: a gzip file that readers can begin to read at any block, as `java` writes them.
//!
//! Each block of the dump is a member of the file. The first member's comment is `HPROF BLOCKSIZE=` and the bytes of
//! every block but the last: readers such as Eclipse MAT look for it, and then skip to a part of the dump.

use flate2::{Compression, GzBuilder};
use std::io::{self, Write};

/// Writes what it gets as a file of such blocks; [`flush`](Write::flush) ends the last one.
pub struct GzipBlocks<W> {
    out: W,
    level: Compression,
    /// Of the present block, not compressed.
    block: Vec<u8>,
    has_comment: bool,
}

impl<W: Write> GzipBlocks<W> {
    /// With a level from 1 to 9.
    pub fn new(out: W, level: u32) -> GzipBlocks<W> {
        let block = Vec::with_capacity(BLOCK_BYTES);
        GzipBlocks { out, level: Compression::new(level), block, has_comment: false }
    }

    fn end_block(&mut self) -> io::Result<()> {
        let mut builder = GzBuilder::new();
        if !self.has_comment {
            builder = builder.comment(format!("HPROF BLOCKSIZE={BLOCK_BYTES}"));
        }
        let mut member = builder.write(Vec::with_capacity(BLOCK_BYTES / 2), self.level);
        member.write_all(&self.block)?;
        self.has_comment = true;
        self.block.clear();
        self.out.write_all(&member.finish()?)
    }
}

impl<W: Write> Write for GzipBlocks<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(BLOCK_BYTES - self.block.len());
        self.block.extend_from_slice(&bytes[..count]);
        if self.block.len() == BLOCK_BYTES {
            self.end_block()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.out.flush()
    }
}

const BLOCK_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::{GzDecoder, MultiGzDecoder};
    use std::io::Read;

    #[test]
    fn the_first_block_names_the_size_of_all() {
        let dump: Vec<u8> = (0..BLOCK_BYTES * 2 + 5).map(|i| (i / 7) as u8).collect();
        let mut file = Vec::new();
        let mut blocks = GzipBlocks::new(&mut file, 1);
        dump.chunks(1000).for_each(|part| blocks.write_all(part).expect("a vector grows"));
        blocks.flush().expect("a vector grows");
        let mut first = Vec::new();
        let mut decoder = GzDecoder::new(&file[..]);
        decoder.read_to_end(&mut first).expect("it is sound");
        let comment = decoder.header().and_then(|header| header.comment());
        assert_eq!(comment, Some(&b"HPROF BLOCKSIZE=1048576"[..]));
        assert_eq!(first, dump[..BLOCK_BYTES]);
        let mut all = Vec::new();
        MultiGzDecoder::new(&file[..]).read_to_end(&mut all).expect("it is sound");
        assert_eq!(all, dump);
    }
}
