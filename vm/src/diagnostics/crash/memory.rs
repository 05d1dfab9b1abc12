//! Reading memory that may not be there.

use super::state;
use libc::{c_void, iovec};

/// Copies memory of this process as far as it can be read; the number of bytes. Memory of the heap is never read.
/// The kernel copies: a page that is not there, or that the pager would have to fetch, is an error and no fault.
/// Async-signal-safe.
pub fn read(address: usize, into: &mut [u8]) -> usize {
    let Some(end) = address.checked_add(into.len()) else { return 0 };
    if let Some(vm) = state::vm()
        && (vm.heap.contains(address) || vm.heap.contains(end.saturating_sub(1)))
    {
        return 0;
    }
    let to = iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let from = iovec {
        iov_base: std::ptr::with_exposed_provenance_mut::<c_void>(address),
        iov_len: into.len(),
    };
    // SAFETY: the target is a slice that can be written; the kernel checks the source.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// As [`read`], of one word.
pub fn word(address: usize) -> Option<usize> {
    let mut bytes = [0; size_of::<usize>()];
    (read(address, &mut bytes) == bytes.len()).then(|| usize::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_no_fault() {
        let kept = [1usize, 2, 3];
        assert_eq!(word(&raw const kept[1] as usize), Some(2));
        let mut bytes = [0; 64];
        for address in [0, 64, usize::MAX - 8, 0xffff_8000_0000_0000] {
            assert_eq!((word(address), read(address, &mut bytes)), (None, 0), "{address:#x}");
        }
    }
}
