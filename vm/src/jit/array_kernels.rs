//! `Arrays.fill` of primitive arrays: leaf functions, called by compiled code.

use crate::runtime::headers::array_base;
use gc::object::ObjectRef;

/// Fills the elements from `from` to below `end` with the lowest bytes of `value`, as many as an element has; true if
/// that was done. Left to the bytecode are indices outside, and parts of more than [`BYTES_MAX`]: no safepoint comes
/// before the end, and pages may have to be fetched.
type Fill = extern "C" fn(array: ObjectRef, from: i32, end: i32, value: i64) -> i32;

/// Bytes that are filled at a time.
const BYTES_MAX: usize = 64 << 10;

/// The function for elements of 1, 2, 4 or 8 bytes.
pub fn fill_of(element_bytes: usize) -> Fill {
    match element_bytes {
        1 => fill::<1>,
        2 => fill::<2>,
        4 => fill::<4>,
        8 => fill::<8>,
        _ => panic!("an element of {element_bytes} bytes"),
    }
}

extern "C" fn fill<const BYTES: usize>(array: ObjectRef, from: i32, end: i32, value: i64) -> i32 {
    let [Ok(from), Ok(end)] = [from, end].map(usize::try_from) else { return 0 };
    if from > end || end > array.array_length() || (end - from) * BYTES > BYTES_MAX {
        return 0;
    }
    let value = value.to_le_bytes();
    let first = array.address() + array_base(BYTES) + from * BYTES;
    macro_rules! fill {
        ($type:ty) => {{
            let value = <$type>::from_le_bytes(value[..BYTES].try_into().expect("as long"));
            // SAFETY: elements of a live array of this element size, by the checks above; they are aligned, and no
            // safepoint comes before the end. Threads that read them meanwhile see old or new elements.
            unsafe { std::slice::from_raw_parts_mut(first as *mut $type, end - from) }.fill(value);
        }};
    }
    match BYTES {
        1 => fill!(u8),
        2 => fill!(u16),
        4 => fill!(u32),
        _ => fill!(u64),
    }
    1
}
