//! CRC32, CRC32C and the inner loops of MD5 and SHA: methods of the library marked `@IntrinsicCandidate`.
//!
//! The functions for checksums take ranges of any length, so they reach a safepoint after each part. They are called
//! with the arguments of the methods, whose callers in the library have checked them. The functions for digests are
//! leaf functions, take one block, and answer 0 where they have done nothing, because the arguments are out of bounds.

use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::{JResult, Throw};
use crate::threads::guarded;
use gc::object::ObjectRef;

/// Which checksum. Compiled code passes it as a number.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Checksum {
    /// As zlib's function, which inverts the sum before and after.
    Crc32,
    /// The object keeps the sum that is not inverted yet.
    Crc32c,
}

impl Checksum {
    /// Continues a sum.
    fn add(self, sum: i32, bytes: &[u8]) -> i32 {
        match self {
            Checksum::Crc32 => {
                let mut hasher = crc32fast::Hasher::new_with_initial(sum as u32);
                hasher.update(bytes);
                hasher.finalize() as i32
            }
            Checksum::Crc32c => !crc32c::crc32c_append(!sum as u32, bytes) as i32,
        }
    }
}

/// Bytes between two safepoints.
const PART_BYTES: usize = 1 << 16;
/// Bytes of native memory that are copied at once.
const COPY_BYTES: usize = 1 << 12;

/// Leaf. `CRC32.update(int, int)`: of one byte.
pub extern "C" fn crc32_of_byte(sum: i32, byte: i32) -> i32 {
    Checksum::Crc32.add(sum, &[byte as u8])
}

/// Continues a sum over the elements from `from` to `end` of a `byte[]` that is not null.
pub extern "C" fn sum_of_array(
    t: &JavaThread,
    checksum: Checksum,
    sum: i32,
    array: ObjectRef,
    from: i32,
    end: i32,
) -> i64 {
    let range = usize::try_from(from).ok().zip(usize::try_from(end).ok());
    let Some((from, end)) = range.filter(|(_, end)| *end <= array.array_length()) else {
        let message = format!("bytes {from} to {end} of {}", array.array_length());
        let thrown: JResult<i64> =
            errors::fail(t, "java/lang/ArrayIndexOutOfBoundsException", &message);
        return thrown.unwrap_or(0);
    };
    let _scope = t.scope();
    let array = t.root(array);
    let (mut sum, mut at) = (sum, from);
    while at < end {
        let count = (end - at).min(PART_BYTES);
        let start = (array.get().address() + array_base(1) + at) as *const u8;
        // SAFETY: inside of a live array; no safepoint comes before the slice is dropped. A thread that writes at the
        // same time only changes the sum.
        sum = checksum.add(sum, unsafe { std::slice::from_raw_parts(start, count) });
        at += count;
        if at < end {
            t.poll();
        }
    }
    sum.into()
}

/// Continues a sum over native memory. Pages behind the end of a file that has been truncated throw, as with the
/// library's own accesses; so the bytes are copied first.
pub extern "C" fn sum_of_memory(
    t: &JavaThread,
    checksum: Checksum,
    sum: i32,
    address: i64,
    count: i32,
) -> i64 {
    let count = usize::try_from(count).unwrap_or(0);
    let end = address as usize + count;
    let mut copy = [0u8; COPY_BYTES];
    let (mut sum, mut at) = (sum, address as usize);
    while at < end {
        let count = (end - at).min(COPY_BYTES);
        let copied: Result<(), Throw> = guarded::copy(t, at, copy.as_mut_ptr() as usize, count);
        if copied.is_err() {
            return 0;
        }
        sum = checksum.add(sum, &copy[..count]);
        at += count;
        if at < end {
            t.poll();
        }
    }
    sum.into()
}

/// Leaf. `MD5.implCompress0`, with the object's state.
pub extern "C" fn md5(state: ObjectRef, bytes: ObjectRef, offset: i32) -> u32 {
    compress(state, bytes, offset, md5::block_api::compress)
}

/// Leaf. `SHA.implCompress0`.
pub extern "C" fn sha1(state: ObjectRef, bytes: ObjectRef, offset: i32) -> u32 {
    compress(state, bytes, offset, sha1::block_api::compress)
}

/// Leaf. `SHA2.implCompress0`.
pub extern "C" fn sha256(state: ObjectRef, bytes: ObjectRef, offset: i32) -> u32 {
    compress(state, bytes, offset, sha2::block_api::compress256)
}

/// Leaf. `SHA5.implCompress0`.
pub extern "C" fn sha512(state: ObjectRef, bytes: ObjectRef, offset: i32) -> u32 {
    compress(state, bytes, offset, sha2::block_api::compress512)
}

/// Puts a block, which begins at `offset`, into a state. Both are copied, because the compressions take what nobody
/// else writes to.
fn compress<Word: Copy, const WORDS: usize, const BYTES: usize>(
    state: ObjectRef,
    bytes: ObjectRef,
    offset: i32,
    compression: fn(&mut [Word; WORDS], &[[u8; BYTES]]),
) -> u32 {
    let Ok(offset) = usize::try_from(offset) else { return 0 };
    if offset + BYTES > bytes.array_length() || state.array_length() < WORDS {
        return 0;
    }
    let state = (state.address() + array_base(size_of::<Word>())) as *mut [Word; WORDS];
    let block = (bytes.address() + array_base(1) + offset) as *const [u8; BYTES];
    // SAFETY: inside of live arrays, as was checked; elements are aligned to 4 bytes at least; no safepoint comes
    // before the end.
    unsafe {
        let mut next = state.read_unaligned();
        compression(&mut next, &[block.read()]);
        state.write_unaligned(next);
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, of a polynomial with its bits reversed.
    fn slowly(mut sum: u32, bytes: &[u8], polynomial: u32) -> u32 {
        for byte in bytes {
            sum ^= u32::from(*byte);
            for _ in 0..8 {
                sum = (sum >> 1) ^ if sum & 1 == 1 { polynomial } else { 0 };
            }
        }
        sum
    }

    #[test]
    fn sums_are_those_of_their_polynomials() {
        let byte = |index: u32| (index.wrapping_mul(0x9e37_79b9) >> 23) as u8;
        let bytes: Vec<u8> = (0..5000).map(byte).collect();
        for count in (0..200).chain([1023, 1024, 4096, 5000]) {
            let sum = 0x1234_5678 + count as u32;
            let part = &bytes[..count];
            let expected = !slowly(!sum, part, 0xedb8_8320);
            assert_eq!(Checksum::Crc32.add(sum as i32, part) as u32, expected, "{count} bytes");
            let expected = slowly(sum, part, 0x82f6_3b78);
            assert_eq!(Checksum::Crc32c.add(sum as i32, part) as u32, expected, "{count} bytes");
        }
        assert_eq!(crc32_of_byte(77, 0x1ab), Checksum::Crc32.add(77, &[0xab]));
    }
}
