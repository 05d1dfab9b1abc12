//! Copies of long ranges of memory.

/// Copies `bytes` bytes, with any overlap. Elements of a width to which both ranges are aligned do not tear: `memmove`
/// moves aligned ranges by whole words on this machine.
///
/// Long ranges are copied in pieces. The C library copies 2 KB and more by `rep movsb`, which takes up to 25 times
/// longer on some CPUs (AMD Zen 3 and 4) where the target lies 1 to 31 bytes behind the source modulo 4096: so do
/// neighbouring arrays of 4 KB, 8 KB, 16 KB, whose headers lie between.
///
/// # Safety
/// Both ranges are readable and writable.
#[inline]
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes <= PIECE_BYTES {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(from, to, bytes) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { copy_in_pieces(from, to, bytes) }
    }
}

/// Less than the C library's threshold, and a multiple of all widths.
const PIECE_BYTES: usize = 1 << 10;

/// # Safety
/// As `copy`.
unsafe fn copy_in_pieces(from: *const u8, to: *mut u8, bytes: usize) {
    let piece = |start: usize| {
        let count = (bytes - start).min(PIECE_BYTES);
        // SAFETY: inside of both ranges, by the caller's promise.
        unsafe { std::ptr::copy(from.add(start), to.add(start), count) }
    };
    let starts = (0..bytes).step_by(PIECE_BYTES);
    // Where the target begins inside of the source, the end of the source is overwritten first.
    match (to as usize).wrapping_sub(from as usize) < bytes {
        true => starts.rev().for_each(piece),
        false => starts.for_each(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_may_overlap_either_way() {
        let original: Vec<u8> = (0..20_000u32).map(|i| ((i * 7919) >> 5) as u8).collect();
        for (from, to) in [(0, 16), (16, 0), (0, 1), (1, 0), (5000, 100), (100, 5000), (0, 10_000)]
        {
            for count in [0, 1, 1023, 1024, 1025, 4096, 9999] {
                let (mut expected, mut copied) = (original.clone(), original.clone());
                expected.copy_within(from..from + count, to);
                let start = copied.as_mut_ptr();
                // SAFETY: both ranges lie in the vector.
                unsafe { copy(start.add(from), start.add(to), count) };
                assert!(copied == expected, "{count} bytes from {from} to {to}");
            }
        }
    }
}
