//! The file of a recording: a chunk, in format 2.1 (a recording of several chunks is their files one behind the other).
//!
//! ```text
//!   0 "FLR\0"       4 version (2 and 2 bytes)     8 size           16 last checkpoint    24 metadata
//!  32 start (ns since 1970)    40 duration (ns)  48 start (ticks)  56 ticks a second
//!  64 generation (0: finished, 255: the head is being changed)    65 0    66 flags (2 bytes)    68 events
//! ```
//!
//! All integers of the head are big-endian. Offsets are from the chunk's start. Two kinds of event are for readers: a
//! *checkpoint* (type 1) has constants, to which events refer by type and number, and says how far before it the last
//! one is; *metadata* (type 0) describes the types of all events. One thread at a time uses a chunk.

use super::encoding::Encoder;
use base::now_ns;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A chunk that is being written.
pub struct Chunk {
    file: File,
    start: Moment,
    bytes: u64,
    last_checkpoint: u64,
    metadata_at: u64,
    /// The metadata that the chunk has.
    metadata: u64,
    generation: u8,
}

/// A moment, on two clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub epoch_ns: u64,
    /// Of the monotonic clock, nanoseconds.
    pub ticks: u64,
}

/// The descriptions of all types, as the class library writes them.
pub struct Metadata<'a> {
    /// Another number for each version.
    pub number: u64,
    pub description: &'a [u8],
}

impl Chunk {
    /// Makes or empties a file.
    pub fn create(path: &Path, start: Moment) -> io::Result<Chunk> {
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(path)?;
        let chunk = Chunk {
            file,
            start,
            bytes: HEAD_BYTES,
            last_checkpoint: 0,
            metadata_at: 0,
            metadata: 0,
            generation: 1,
        };
        chunk.write_head(start.epoch_ns, chunk.generation, false)?;
        Ok(chunk)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends whole events.
    pub fn append(&mut self, events: &[u8]) -> io::Result<()> {
        self.file.write_all_at(events, self.bytes)?;
        self.bytes += events.len() as u64;
        Ok(())
    }

    /// Appends the constants that the events before need (`pools` of them, encoded), and metadata that the chunk does
    /// not have. Readers of a file that is being written see what comes before.
    pub fn flush(
        &mut self,
        pools: u64,
        constants: &[u8],
        metadata: Metadata<'_>,
        now_epoch_ns: u64,
    ) -> io::Result<()> {
        self.append_tables(pools, constants, metadata, FLUSH)?;
        self.generation = self.generation % GENERATION_MAX + 1;
        self.write_head(now_epoch_ns, self.generation, false)
    }

    /// The same for the end of the chunk. No further one follows if it is the last one of its repository.
    pub fn finish(
        mut self,
        pools: u64,
        constants: &[u8],
        metadata: Metadata<'_>,
        end_epoch_ns: u64,
        is_last: bool,
    ) -> io::Result<()> {
        self.append_tables(pools, constants, metadata, 0)?;
        self.write_head(end_epoch_ns, FINISHED, is_last)
    }

    fn append_tables(
        &mut self,
        pools: u64,
        constants: &[u8],
        metadata: Metadata<'_>,
        kind: u8,
    ) -> io::Result<()> {
        if metadata.number != self.metadata || self.metadata_at == 0 {
            let mut event = Encoder::new();
            event.sized(|event| {
                event.number(METADATA);
                event.number(now_ns());
                event.number(0);
                event.number(metadata.number);
                event.raw(metadata.description);
            });
            let at = self.bytes;
            self.append(event.bytes())?;
            (self.metadata_at, self.metadata) = (at, metadata.number);
        }
        let at = self.bytes;
        let mut event = Encoder::new();
        event.sized(|event| {
            event.number(CHECKPOINT);
            event.number(now_ns());
            event.number(0);
            let before = match self.last_checkpoint {
                0 => 0,
                last => last.wrapping_sub(at),
            };
            event.number(before);
            event.byte(kind);
            event.number(pools);
            event.raw(constants);
        });
        self.append(event.bytes())?;
        self.last_checkpoint = at;
        Ok(())
    }

    fn write_head(&self, now_epoch_ns: u64, generation: u8, is_last: bool) -> io::Result<()> {
        // A reader that sees the mark tries again later.
        self.file.write_all_at(&[CHANGING], GENERATION_AT)?;
        let mut head = Encoder::new();
        head.raw(b"FLR\0\0\x02\0\x01");
        for number in [
            self.bytes,
            self.last_checkpoint,
            self.metadata_at,
            self.start.epoch_ns,
            now_epoch_ns.saturating_sub(self.start.epoch_ns),
            self.start.ticks,
            TICKS_PER_SECOND,
        ] {
            head.raw(&number.to_be_bytes());
        }
        self.file.write_all_at(head.bytes(), 0)?;
        let flags = COMPRESSED | if is_last { LAST } else { 0 };
        self.file.write_all_at(&[0, 0, flags], GENERATION_AT + 1)?;
        self.file.write_all_at(&[generation], GENERATION_AT)
    }
}

/// The monotonic clock counts nanoseconds.
pub const TICKS_PER_SECOND: u64 = 1_000_000_000;

const HEAD_BYTES: u64 = 68;
const GENERATION_AT: u64 = 64;
const CHANGING: u8 = 255;
const FINISHED: u8 = 0;
const GENERATION_MAX: u8 = 254;

/// Flags of the head: integers in events are compressed; the repository gets no further chunk.
const COMPRESSED: u8 = 1;
const LAST: u8 = 2;

const METADATA: u64 = 0;
const CHECKPOINT: u64 = 1;
/// A checkpoint up to which a file that is being written can be read.
const FLUSH: u8 = 1;
