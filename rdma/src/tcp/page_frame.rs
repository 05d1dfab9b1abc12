//! Requests for pages, on a data connection. Everything is a whole number of 8-byte words, little
//! endian, and is built and read in place in a buffer of words.
//!
//! ```text
//! request  word 0   magic "FARQ", u32 | operation, u8 | flags, u8 | number of ranges, u16
//!          word 1   sequence number
//!          word 2   bytes of the payload, u32 | CRC32C of ranges and payload, u32
//!          then     the ranges: offset and length in bytes, a word each
//!          then     WRITE only: the words of all ranges
//!
//! reply    word 0   magic "FARR", u32 | 0, or the system's error number, u32
//!          word 1   sequence number of the request
//!          word 2   bytes of the payload, u32 | CRC32C of the payload, u32
//!          then     READ only: the words of all ranges; when a block is registered: its key, u64
//! ```
//! A client sends the next request on a connection after the reply to the last one. One request asks
//! for at most [`RANGES_MAX`] ranges of [`PAYLOAD_BYTES_MAX`] together. The checksum is 0 and not looked
//! at unless the flag [`CHECKSUM`] is set; a reply has one if its request had.

/// The operation on the ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read = 1,
    Write = 2,
    /// Makes whole pages zero.
    Punch = 3,
    /// Over verbs: makes one block of memory reachable, and says under which key (`verbs/remote_keys.rs`).
    Register = 4,
}

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub operation: Operation,
    pub has_checksum: bool,
    pub ranges: usize,
    pub sequence: u64,
    /// Bytes that follow the ranges.
    pub payload_bytes: usize,
    pub crc: u32,
}

/// The head of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 0, or why the system refused.
    pub errno: u32,
    pub sequence: u64,
    pub payload_bytes: usize,
    pub crc: u32,
}

impl Request {
    pub fn encode(&self) -> [u64; HEAD_WORDS] {
        let flags = if self.has_checksum { CHECKSUM } else { 0 };
        let word = u64::from(REQUEST_MAGIC)
            | (self.operation as u64) << 32
            | flags << 40
            | (self.ranges as u64) << 48;
        let sizes = self.payload_bytes as u64 | u64::from(self.crc) << 32;
        [word.to_le(), self.sequence.to_le(), sizes.to_le()]
    }

    /// `Err` names the error. A decoded request is within the limits.
    pub fn decode(words: [u64; HEAD_WORDS]) -> Result<Request, &'static str> {
        let [word, sequence, sizes] = words.map(u64::from_le);
        if word as u32 != REQUEST_MAGIC {
            return Err("not a request for pages");
        }
        let operation = match word >> 32 & 0xff {
            1 => Operation::Read,
            2 => Operation::Write,
            3 => Operation::Punch,
            4 => Operation::Register,
            _ => return Err("unknown operation"),
        };
        let has_checksum = match word >> 40 & 0xff {
            0 => false,
            CHECKSUM => true,
            _ => return Err("unknown flags"),
        };
        let ranges = (word >> 48) as usize;
        let payload_bytes = (sizes & u64::from(u32::MAX)) as usize;
        if ranges == 0 || ranges > RANGES_MAX {
            return Err("invalid number of ranges");
        }
        if operation == Operation::Register && ranges != 1 {
            return Err("more than one block");
        }
        if payload_bytes > PAYLOAD_BYTES_MAX || !payload_bytes.is_multiple_of(8) {
            return Err("invalid length");
        }
        if operation != Operation::Write && payload_bytes != 0 {
            return Err("a payload in a request without one");
        }
        let crc = (sizes >> 32) as u32;
        Ok(Request { operation, has_checksum, ranges, sequence, payload_bytes, crc })
    }

    /// Checks the ranges (offset and length alternate) against the length of the segment and the
    /// limits. Returns how many bytes the answer to a READ or the payload of a WRITE has, or a key.
    pub fn check(&self, ranges: &[u64], segment_bytes: u64) -> Result<usize, &'static str> {
        let mut sum = 0_u64;
        for range in ranges.chunks_exact(2) {
            let (offset, bytes) = (u64::from_le(range[0]), u64::from_le(range[1]));
            let unit = match self.operation {
                Operation::Read | Operation::Write => 8,
                Operation::Punch | Operation::Register => PAGE_BYTES,
            };
            if !offset.is_multiple_of(unit) || !bytes.is_multiple_of(unit) || bytes == 0 {
                return Err("a range is not aligned");
            }
            if offset > segment_bytes || bytes > segment_bytes - offset {
                return Err("a range outside of the segment");
            }
            sum = sum.saturating_add(bytes);
        }
        let limit = match self.operation {
            Operation::Read => PAYLOAD_BYTES_MAX as u64,
            Operation::Write => self.payload_bytes as u64,
            Operation::Punch => return Ok(0),
            Operation::Register => return Ok(8),
        };
        if sum > limit || self.operation == Operation::Write && sum != limit {
            return Err("ranges and payload differ");
        }
        Ok(sum as usize)
    }
}

impl Reply {
    pub fn encode(&self) -> [u64; HEAD_WORDS] {
        let word = u64::from(REPLY_MAGIC) | u64::from(self.errno) << 32;
        let sizes = self.payload_bytes as u64 | u64::from(self.crc) << 32;
        [word.to_le(), self.sequence.to_le(), sizes.to_le()]
    }

    /// `Err` names the error. `expected_bytes` is the size that was requested with this sequence number.
    pub fn decode(
        words: [u64; HEAD_WORDS],
        sequence: u64,
        expected_bytes: usize,
    ) -> Result<Reply, &'static str> {
        let [word, number, sizes] = words.map(u64::from_le);
        if word as u32 != REPLY_MAGIC {
            return Err("not a reply with pages");
        }
        let errno = (word >> 32) as u32;
        let payload_bytes = (sizes & u64::from(u32::MAX)) as usize;
        if number != sequence {
            return Err("a reply to another request");
        }
        if payload_bytes != expected_bytes {
            return Err("a reply of the wrong length");
        }
        Ok(Reply { errno, sequence, payload_bytes, crc: (sizes >> 32) as u32 })
    }
}

/// Words before the ranges, and before a reply's payload.
pub const HEAD_WORDS: usize = 3;
/// Words of one range.
pub const RANGE_WORDS: usize = 2;
/// The most ranges in one request.
pub const RANGES_MAX: usize = 64;
/// The most bytes that one request moves.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
/// Words of the largest request or reply.
pub const FRAME_WORDS_MAX: usize = HEAD_WORDS + RANGE_WORDS * RANGES_MAX + PAYLOAD_BYTES_MAX / 8;

const REQUEST_MAGIC: u32 = u32::from_le_bytes(*b"FARQ");
const REPLY_MAGIC: u32 = u32::from_le_bytes(*b"FARR");
/// The flag of requests that have a checksum.
const CHECKSUM: u64 = 1;
const PAGE_BYTES: u64 = 4096;

const _: () = assert!(RANGES_MAX <= u16::MAX as usize && PAYLOAD_BYTES_MAX <= u32::MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT_BYTES: u64 = 1 << 30;

    fn request(operation: Operation) -> Request {
        let payload_bytes = if operation == Operation::Write { 24 } else { 0 };
        Request { operation, has_checksum: true, ranges: 2, sequence: 9, payload_bytes, crc: 77 }
    }

    #[test]
    fn heads_survive_the_wire() {
        for operation in [Operation::Read, Operation::Write, Operation::Punch] {
            let request = request(operation);
            assert_eq!(Request::decode(request.encode()), Ok(request));
        }
        let reply = Reply { errno: 0, sequence: 9, payload_bytes: 24, crc: 1 };
        assert_eq!(Reply::decode(reply.encode(), 9, 24), Ok(reply));
        for (sequence, bytes) in [(8, 24), (9, 16)] {
            assert!(Reply::decode(reply.encode(), sequence, bytes).is_err());
        }
    }

    #[test]
    fn ranges_are_checked() {
        let (read, write) = (request(Operation::Read), request(Operation::Write));
        assert_eq!(read.check(&[0, 8, SEGMENT_BYTES - 16, 16], SEGMENT_BYTES), Ok(24));
        assert_eq!(write.check(&[0, 8, 64, 16], SEGMENT_BYTES), Ok(24));
        let limit = PAYLOAD_BYTES_MAX as u64;
        for wrong in [
            [4, 8, 0, 8],
            [0, 12, 0, 8],
            [0, 0, 0, 8],
            [SEGMENT_BYTES, 8, 0, 8],
            [SEGMENT_BYTES - 8, 16, 0, 8],
            [u64::MAX - 7, 8, 0, 8],
            [8, u64::MAX - 7, 0, 8],
            [0, limit, 0, 8],
        ] {
            assert!(read.check(&wrong, SEGMENT_BYTES).is_err(), "{wrong:?}");
        }
        assert!(write.check(&[0, 8, 64, 8], SEGMENT_BYTES).is_err(), "less than the payload");
        let punch = request(Operation::Punch);
        assert_eq!(punch.check(&[4096, 1 << 20], SEGMENT_BYTES), Ok(0));
        assert!(punch.check(&[8, 4096], SEGMENT_BYTES).is_err());
    }

    #[test]
    fn random_heads_are_refused_or_within_the_limits() {
        let mut random = 3_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
            random >> 16 ^ random << 40
        };
        let mut decoded = 0;
        for _ in 0..20_000 {
            let mut words = request(Operation::Write).encode();
            for _ in 0..next() % 3 {
                words[next() as usize % 3] ^= 1 << (next() % 64);
            }
            if let Ok(request) = Request::decode(words) {
                decoded += 1;
                assert!(request.ranges <= RANGES_MAX);
                assert!(request.payload_bytes <= PAYLOAD_BYTES_MAX);
                let ranges = [next(), next(), next() % 4096 * 8, next() % 64 * 8];
                if let Ok(bytes) = request.check(&ranges, SEGMENT_BYTES) {
                    assert!(bytes <= PAYLOAD_BYTES_MAX);
                }
            }
            let _ = Reply::decode(words, 9, 24);
        }
        assert!(decoded > 1000, "{decoded}");
    }
}
