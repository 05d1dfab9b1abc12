//! Copying runs of pages into frames.

use crate::PAGE_BYTES;

/// Copies `count` pages, past the CPU's habit to foresee nothing beyond a page: several side by side, each of
/// which it foresees, while those that come next are on their way.
///
/// # Safety
/// `count` pages can be read at `from` and written at `to`, where a page begins. No other thread uses the target,
/// and no thread is writing the source.
pub unsafe fn copy_run(from: *const u8, to: *mut u8, count: usize) {
    let mut done = 0;
    while done < count {
        let (from, to) = (from.wrapping_add(done * PAGE_BYTES), to.wrapping_add(done * PAGE_BYTES));
        // SAFETY: pages that the caller vouches for.
        done += unsafe {
            match count - done {
                rest if rest >= ABREAST => copy_abreast::<ABREAST>(from, to),
                _ => copy_abreast::<1>(from, to),
            }
        };
    }
}

/// Copies `PAGES` pages side by side, and returns `PAGES`.
///
/// # Safety
/// As for [`copy_run`].
unsafe fn copy_abreast<const PAGES: usize>(from: *const u8, to: *mut u8) -> usize {
    use std::arch::x86_64::{__m128i, _MM_HINT_T1, _mm_loadu_si128, _mm_prefetch, _mm_store_si128};
    for line in (0..PAGE_BYTES).step_by(LINE_BYTES) {
        for at in (0..PAGES).map(|page| page * PAGE_BYTES + line) {
            let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
            let ahead = from.wrapping_add(ABREAST * PAGE_BYTES).cast();
            let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
            // SAFETY: inside the pages that the caller vouches for, and aligned where it has to be; a prefetch may be
            // of any address.
            unsafe {
                _mm_prefetch::<_MM_HINT_T1>(ahead);
                let first = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
                let second = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
                _mm_store_si128(to, first.0);
                _mm_store_si128(to.add(1), first.1);
                _mm_store_si128(to.add(2), second.0);
                _mm_store_si128(to.add(3), second.1);
            }
        }
    }
    PAGES
}

/// Pages that are copied side by side. Two gain a third of that, eight no more.
const ABREAST: usize = 4;
const LINE_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_all_lengths_are_copied_and_nothing_else() {
        const PAGES: usize = 2 * ABREAST + 2;
        // Sources begin anywhere (pages that arrived in a buffer), targets where a page does.
        let source: Vec<u16> = (0..(PAGES + 1) * PAGE_BYTES / 2).map(|n| n as u16 | 1).collect();
        let from = &source.as_slice()[3..];
        let space = vec![0_u16; (PAGES + 1) * PAGE_BYTES / 2];
        for count in 0..PAGES {
            let mut space = space.clone();
            let start = space.as_ptr().align_offset(PAGE_BYTES);
            let to = &mut space[start..][..PAGES * PAGE_BYTES / 2];
            // SAFETY: both have `count` pages, and the target begins with one.
            unsafe { copy_run(from.as_ptr().cast(), to.as_mut_ptr().cast(), count) };
            let (copied, rest) = to.split_at(count * PAGE_BYTES / 2);
            assert!(copied == &from[..copied.len()], "{count} pages");
            assert!(rest.iter().all(|word| *word == 0), "{count} pages");
        }
    }
}
