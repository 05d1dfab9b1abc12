//! The inner loops of strings: the work of methods of `StringLatin1`, `StringUTF16`, `StringCoding` and
//! `ArraysSupport` that the library marks `@IntrinsicCandidate`, and `hashCode`.
//!
//! Leaf functions, called by compiled code with the methods' own arguments, of which references are not null unless
//! said otherwise. They answer with the method's `int` or `boolean` (0 for `void`), or with [`LEFT`]: nothing was
//! done, for the arguments are out of bounds, and the interpreter executes the method's bytecode.
//!
//! A thread that writes to the arrays at the same time only changes the answer.

use crate::runtime::headers::array_base;
use gc::object::ObjectRef;
use memchr::{memchr, memmem};

/// Nothing was done.
pub const LEFT: i64 = i64::MIN;

const NOT_FOUND: i64 = -1;

/// The first of an array's elements, which have one or two bytes.
fn start<T>(array: ObjectRef) -> *mut T {
    (array.address() + array_base(1)) as *mut T
}

fn bytes<'a>(array: ObjectRef) -> &'a [u8] {
    // SAFETY: the contents of a live array; no safepoint comes before the slice is dropped.
    unsafe { std::slice::from_raw_parts(start(array), array.array_length()) }
}

/// The characters of a `byte[]` in UTF-16.
fn wide<'a>(array: ObjectRef) -> &'a [u16] {
    // SAFETY: as in `bytes`; elements of arrays begin at a multiple of 4.
    unsafe { std::slice::from_raw_parts(start(array), array.array_length() / 2) }
}

/// The characters of a `char[]`.
fn chars<'a>(array: ObjectRef) -> &'a [u16] {
    // SAFETY: as in `wide`.
    unsafe { std::slice::from_raw_parts(start(array), array.array_length()) }
}

fn part<T>(all: &[T], from: i32, count: i32) -> Option<&[T]> {
    let (from, count) = (usize::try_from(from).ok()?, usize::try_from(count).ok()?);
    all.get(from..from + count)
}

fn found(index: Option<usize>) -> i64 {
    index.map_or(NOT_FOUND, |index| index as i64)
}

/// `StringLatin1.indexOfChar`
pub extern "C" fn latin1_index_of_char(value: ObjectRef, ch: i32, from: i32, end: i32) -> i64 {
    if from >= end {
        return NOT_FOUND;
    }
    match part(bytes(value), from, end - from) {
        Some(range) => found(memchr(ch as u8, range).map(|index| index + from as usize)),
        None => LEFT,
    }
}

/// `StringUTF16.indexOfChar`
pub extern "C" fn utf16_index_of_char(value: ObjectRef, ch: i32, from: i32, end: i32) -> i64 {
    match part(wide(value), from, end.saturating_sub(from)) {
        Some(range) => {
            // `String.indexOf` passes values on that are no characters.
            let Ok(wanted) = u16::try_from(ch) else { return NOT_FOUND };
            let index = range.iter().position(|unit| *unit == wanted);
            found(index.map(|index| index + from as usize))
        }
        None => LEFT,
    }
}

/// `StringLatin1.indexOf(byte[], byte[])`
pub extern "C" fn latin1_index_of(value: ObjectRef, text: ObjectRef) -> i64 {
    found(memmem::find(bytes(value), bytes(text)))
}

/// `StringLatin1.indexOf(byte[], int, byte[], int, int)`
pub extern "C" fn latin1_index_of_from(
    value: ObjectRef,
    count: i32,
    text: ObjectRef,
    text_count: i32,
    from: i32,
) -> i64 {
    if text_count < 1 {
        return LEFT;
    }
    if from > count.saturating_sub(text_count) {
        return NOT_FOUND;
    }
    match (part(bytes(value), from, count - from), part(bytes(text), 0, text_count)) {
        (Some(range), Some(text)) => {
            found(memmem::find(range, text).map(|index| index + from as usize))
        }
        _ => LEFT,
    }
}

/// How many bytes two texts have in common at their beginnings, at most as many as the shorter one has.
fn common(a: &[u8], b: &[u8]) -> usize {
    let count = a.len().min(b.len());
    // Compared by vector instructions.
    let blocks = a[..count].as_chunks::<32>().0.iter().zip(b[..count].as_chunks::<32>().0);
    let mut at = 32 * blocks.take_while(|(a, b)| a == b).count();
    while at + 8 <= count {
        let word =
            |bytes: &[u8]| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let differs = word(a) ^ word(b);
        if differs != 0 {
            return at + differs.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < count && a[at] == b[at] {
        at += 1;
    }
    at
}

/// `StringLatin1.compareTo`
pub extern "C" fn latin1_compare(a: ObjectRef, b: ObjectRef) -> i64 {
    let (a, b) = (bytes(a), bytes(b));
    let common = common(a, b);
    match (a.get(common), b.get(common)) {
        (Some(a), Some(b)) => i64::from(*a) - i64::from(*b),
        _ => a.len() as i64 - b.len() as i64,
    }
}

/// `StringUTF16.compareTo`
fn compare_units(a: &[u16], b: &[u16]) -> i64 {
    let count = a.len().min(b.len());
    for at in 0..count {
        if a[at] != b[at] {
            return i64::from(a[at]) - i64::from(b[at]);
        }
    }
    a.len() as i64 - b.len() as i64
}

pub extern "C" fn utf16_compare(a: ObjectRef, b: ObjectRef) -> i64 {
    compare_units(wide(a), wide(b))
}

/// `equals` of both encodings.
pub extern "C" fn equal(a: ObjectRef, b: ObjectRef) -> i64 {
    i64::from(bytes(a) == bytes(b))
}

/// Eight characters at a time: their products do not wait for each other.
fn hash<T: Copy + Into<u32>>(units: &[T]) -> i64 {
    const POWERS: [u32; 8] = {
        let mut powers = [1u32; 8];
        let mut at = 7;
        while at > 0 {
            powers[at - 1] = powers[at].wrapping_mul(31);
            at -= 1;
        }
        powers
    };
    let mut hash = 0u32;
    let mut chunks = units.chunks_exact(8);
    for chunk in &mut chunks {
        let terms =
            chunk.iter().zip(POWERS).map(|(unit, power)| (*unit).into().wrapping_mul(power));
        let sum = terms.fold(0, u32::wrapping_add);
        hash = hash.wrapping_mul(POWERS[0].wrapping_mul(31)).wrapping_add(sum);
    }
    for unit in chunks.remainder() {
        hash = hash.wrapping_mul(31).wrapping_add((*unit).into());
    }
    i64::from(hash as i32)
}

pub extern "C" fn latin1_hash(value: ObjectRef) -> i64 {
    hash(bytes(value))
}

pub extern "C" fn utf16_hash(value: ObjectRef) -> i64 {
    hash(wide(value))
}

/// `StringCoding.hasNegatives`
pub extern "C" fn has_negatives(value: ObjectRef, from: i32, count: i32) -> i64 {
    match part(bytes(value), from, count) {
        Some(range) => i64::from(!range.is_ascii()),
        None => LEFT,
    }
}

/// The address at which `count` elements from `from` on can be written, in an array of `elements` elements.
fn room<T>(array: ObjectRef, elements: usize, from: i32, count: i32) -> Option<*mut T> {
    let (from, count) = (usize::try_from(from).ok()?, usize::try_from(count).ok()?);
    // SAFETY: inside of the array.
    (from + count <= elements).then(|| unsafe { start::<T>(array).add(from) })
}

/// `StringLatin1.inflate`
fn inflate(from: Option<&[u8]>, to: Option<*mut u16>) -> i64 {
    let (Some(from), Some(to)) = (from, to) else { return LEFT };
    for (index, byte) in from.iter().enumerate() {
        // SAFETY: `room` found as many elements as there are bytes.
        unsafe { to.add(index).write(u16::from(*byte)) }
    }
    0
}

pub extern "C" fn inflate_to_chars(
    from: ObjectRef,
    from_index: i32,
    to: ObjectRef,
    to_index: i32,
    count: i32,
) -> i64 {
    inflate(part(bytes(from), from_index, count), room(to, to.array_length(), to_index, count))
}

pub extern "C" fn inflate_to_bytes(
    from: ObjectRef,
    from_index: i32,
    to: ObjectRef,
    to_index: i32,
    count: i32,
) -> i64 {
    inflate(part(bytes(from), from_index, count), room(to, to.array_length() / 2, to_index, count))
}

/// Writes the characters up to the first that is above `largest`, and returns their number.
///
/// # Safety
/// As many bytes can be written from `to` on as there are characters.
unsafe fn narrow(from: &[u16], to: *mut u8, largest: u16) -> usize {
    let mut done = 0;
    for block in from.chunks(32) {
        let fits = block.iter().fold(0, |all, unit| all | unit) <= largest;
        let count = match fits {
            true => block.len(),
            false => block.iter().position(|unit| *unit > largest).unwrap_or(block.len()),
        };
        for (index, unit) in block[..count].iter().enumerate() {
            // SAFETY: by the contract.
            unsafe { to.add(done + index).write(*unit as u8) }
        }
        done += count;
        if !fits {
            break;
        }
    }
    done
}

/// Of `count` characters from an index on, to the elements of a `byte[]` from another one on.
fn narrow_part(
    all: &[u16],
    from_index: i32,
    (to, to_index): (ObjectRef, i32),
    count: i32,
    largest: u16,
) -> i64 {
    let from = part(all, from_index, count);
    let Some((from, to)) = from.zip(room(to, to.array_length(), to_index, count)) else {
        return LEFT;
    };
    // SAFETY: `room` found as many elements as there are characters.
    unsafe { narrow(from, to, largest) as i64 }
}

/// `StringUTF16.compress` answers 0 when not all fit, `StringCoding.implEncode...Array` how many did.
fn all_or_none(done: i64, count: i32) -> i64 {
    if done == LEFT || done == i64::from(count) { done } else { 0 }
}

pub extern "C" fn compress_chars(
    from: ObjectRef,
    from_index: i32,
    to: ObjectRef,
    to_index: i32,
    count: i32,
) -> i64 {
    all_or_none(narrow_part(chars(from), from_index, (to, to_index), count, 0xff), count)
}

pub extern "C" fn compress_bytes(
    from: ObjectRef,
    from_index: i32,
    to: ObjectRef,
    to_index: i32,
    count: i32,
) -> i64 {
    all_or_none(narrow_part(wide(from), from_index, (to, to_index), count, 0xff), count)
}

pub extern "C" fn encode_latin1(
    from: ObjectRef,
    from_index: i32,
    to: ObjectRef,
    to_index: i32,
    count: i32,
) -> i64 {
    narrow_part(wide(from), from_index, (to, to_index), count, 0xff)
}

pub extern "C" fn encode_ascii(
    from: ObjectRef,
    from_index: i32,
    to: ObjectRef,
    to_index: i32,
    count: i32,
) -> i64 {
    narrow_part(chars(from), from_index, (to, to_index), count, 0x7f)
}

/// `StringUTF16.getChars`
pub extern "C" fn get_chars(
    from: ObjectRef,
    from_index: i32,
    from_end: i32,
    to: ObjectRef,
    to_index: i32,
) -> i64 {
    let count = from_end.saturating_sub(from_index);
    let source = part(wide(from), from_index, count);
    let target = room::<u16>(to, to.array_length(), to_index, count);
    let (Some(source), Some(target)) = (source, target) else { return LEFT };
    // SAFETY: `room` found as many elements; a `byte[]` is no `char[]`.
    unsafe { target.copy_from_nonoverlapping(source.as_ptr(), source.len()) }
    0
}

/// `ArraysSupport.vectorizedMismatch`: the index of the first elements of `1 << log2_bytes` bytes that differ, else
/// the complement of the number of elements that were not compared: none. Callers compare the rest of bytes, shorts and
/// ints themselves, but not of longs, of which there must be none. Where an array is null the offset is an address.
pub extern "C" fn mismatch(
    a: ObjectRef,
    a_offset: i64,
    b: ObjectRef,
    b_offset: i64,
    count: i32,
    log2_bytes: i32,
) -> i64 {
    let bytes = (count.max(0) as usize) << (log2_bytes & 3);
    // SAFETY: the callers in the library have checked that the arrays, or the buffers at the addresses, have this many
    // elements.
    let [a, b] = [(a, a_offset), (b, b_offset)].map(|(array, offset)| unsafe {
        std::slice::from_raw_parts((array.address() + offset as usize) as *const u8, bytes)
    });
    match common(a, b) {
        common if common == bytes => !0,
        common => (common >> (log2_bytes & 3)) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_definition() {
        for count in 0..40u8 {
            let units: Vec<u8> = (0..count).map(|index| index.wrapping_mul(37) ^ 0xa5).collect();
            let slowly = units
                .iter()
                .fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(*unit)));
            assert_eq!(hash(&units), i64::from(slowly), "{units:?}");
        }
    }

    #[test]
    fn characters_become_narrow_up_to_the_first_that_does_not() {
        for bad in 0..70 {
            let mut wide: Vec<u16> = (0..70).map(|index| 0x40 + index).collect();
            wide[bad] = 0x100;
            let mut narrow_ones = [0u8; 70];
            // SAFETY: both have 70 elements.
            let done = unsafe { narrow(&wide, narrow_ones.as_mut_ptr(), 0xff) };
            assert_eq!(done, bad);
            assert!(narrow_ones[..bad].iter().zip(&wide).all(|(a, b)| u16::from(*a) == *b));
            assert!(narrow_ones[bad..].iter().all(|byte| *byte == 0));
        }
        assert_eq!(compare_units(&[1, 2, 3], &[1, 2]), 1);
        assert_eq!(compare_units(&[1, 2], &[1, 0xffff]), 2 - 0xffff);
    }

    #[test]
    fn elements_outside_of_arrays_are_compared() {
        let a: Vec<u64> = (0..40).collect();
        for log2_bytes in 0..4 {
            let count = (40 * 8) >> log2_bytes;
            let compared = |b: &[u64], count| {
                let [a, b] = [a.as_ptr(), b.as_ptr()].map(|first| first as i64);
                mismatch(ObjectRef::NULL, a, ObjectRef::NULL, b, count, log2_bytes)
            };
            assert_eq!(compared(&a.clone(), count), !0);
            for at in 0..40 {
                let mut b = a.clone();
                b[at] ^= 1 << 63;
                let index = (at as i64 * 8 + 7) >> log2_bytes;
                assert_eq!(compared(&b, count), index);
                assert_eq!(compared(&b, index as i32), !0);
            }
        }
    }

    #[test]
    fn beginnings_are_common_up_to_the_first_byte_that_differs() {
        let a: Vec<u8> = (0..40).collect();
        for at in 0..40 {
            let mut b = a.clone();
            b[at] ^= 0x80;
            assert_eq!((common(&a, &b), common(&a[..at], &b)), (at, at));
        }
        assert_eq!(common(&a, &a), 40);
    }
}
