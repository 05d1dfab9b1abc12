//! Which mappings are to become far.

use libc::c_int;

use crate::java::JavaHeap;
use crate::settings::Wanted;

/// The arguments of a program's `mmap`.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub address: usize,
    pub bytes: usize,
    pub protection: c_int,
    pub flags: c_int,
}

impl Request {
    /// Anonymous memory of the process's own?
    pub fn is_anonymous(&self) -> bool {
        let private = self.flags & libc::MAP_TYPE == libc::MAP_PRIVATE;
        private && self.flags & libc::MAP_ANONYMOUS != 0
    }

    /// Exactly at that address, replacing what was mapped?
    pub fn is_fixed(&self) -> bool {
        self.flags & libc::MAP_FIXED != 0
    }

    /// Is the memory to be used at once, not only reserved?
    pub fn is_accessible(&self) -> bool {
        self.protection & (libc::PROT_READ | libc::PROT_WRITE) != 0
    }
}

/// Decides about mappings.
pub struct Recogniser {
    wanted: Wanted,
    java: Option<JavaHeap>,
}

impl Recogniser {
    /// `java`: the heap of this process, if it is a JVM.
    pub fn new(wanted: Wanted, java: Option<JavaHeap>) -> Recogniser {
        Recogniser { wanted, java }
    }

    /// Looks for a Java heap, and this is a JVM?
    pub fn expects_heap(&self) -> bool {
        self.wanted == Wanted::Heap && self.java.is_some()
    }

    /// Should this mapping become far? A new one, not a part of another.
    pub fn is_wanted(&self, request: &Request) -> bool {
        // Memory that has to be local, at once or for good, cannot be far memory.
        const UNFIT: c_int = libc::MAP_FIXED
            | libc::MAP_GROWSDOWN
            | libc::MAP_STACK
            | libc::MAP_HUGETLB
            | libc::MAP_POPULATE
            | libc::MAP_LOCKED;
        if !request.is_anonymous() || request.flags & UNFIT != 0 {
            return false;
        }
        match (self.wanted, self.java) {
            (Wanted::AtLeast(bytes), _) => {
                request.bytes >= bytes && request.protection & libc::PROT_EXEC == 0
            }
            (Wanted::Heap, Some(java)) => is_heap(request, java),
            (Wanted::Heap, None) => false,
        }
    }
}

/// HotSpot reserves its heap without access, and with compressed references at an address of its
/// own choice, which it does for nothing else before the heap. The length is `-Xmx`, rounded up,
/// plus a page to catch null where references count from an address other than 0.
fn is_heap(request: &Request, java: JavaHeap) -> bool {
    let reserves =
        request.protection == libc::PROT_NONE && request.flags & libc::MAP_NORESERVE != 0;
    let placed = request.address != 0 || !java.compressed;
    let fits = match java.max_bytes {
        Some(max) => {
            let slack = (max / 8).max(HEAP_SLACK_BYTES);
            (max..=max.saturating_add(slack)).contains(&request.bytes)
        }
        None => java.compressed && request.bytes >= HEAP_BYTES_MIN,
    };
    reserves && placed && fits
}

/// The largest regions have 32 MiB, and the heap may be aligned to one.
const HEAP_SLACK_BYTES: usize = 64 << 20;
/// The least that HotSpot takes without a size on its command line.
const HEAP_BYTES_MIN: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const RESERVE: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

    fn reserve(address: usize, bytes: usize) -> Request {
        Request { address, bytes, protection: libc::PROT_NONE, flags: RESERVE }
    }

    #[test]
    fn the_heap_is_told_from_other_reservations() {
        let java = JavaHeap { max_bytes: Some(240 << 20), compressed: true };
        let heap = Recogniser::new(Wanted::Heap, Some(java));
        assert!(heap.is_wanted(&reserve(0xf100_0000, 240 << 20)));
        assert!(heap.is_wanted(&reserve(0xf100_0000, 242 << 20)));
        assert!(!heap.is_wanted(&reserve(0, 240 << 20)), "the code cache");
        assert!(!heap.is_wanted(&reserve(0x8_0000_0000, 1040 << 20)), "the class space");
        assert!(!heap.is_wanted(&reserve(0xf100_0000, 8 << 20)));
        let used = Request { protection: libc::PROT_READ, ..reserve(0xf100_0000, 240 << 20) };
        assert!(!heap.is_wanted(&used));
        let long = JavaHeap { max_bytes: Some(40 << 30), compressed: false };
        assert!(Recogniser::new(Wanted::Heap, Some(long)).is_wanted(&reserve(0, 40 << 30)));
        assert!(!Recogniser::new(Wanted::Heap, None).is_wanted(&reserve(1 << 30, 240 << 20)));
    }

    #[test]
    fn everything_large_if_asked_for() {
        let large = Recogniser::new(Wanted::AtLeast(1 << 20), None);
        let used = Request { protection: libc::PROT_READ, ..reserve(0, 1 << 20) };
        assert!(large.is_wanted(&reserve(0, 1 << 20)) && large.is_wanted(&used));
        assert!(!large.is_wanted(&reserve(0, 1 << 19)));
        let shared = Request { flags: libc::MAP_SHARED | libc::MAP_ANONYMOUS, ..used };
        assert!(!large.is_wanted(&shared));
        let fixed = Request { flags: RESERVE | libc::MAP_FIXED, ..used };
        assert!(!large.is_wanted(&fixed));
    }
}
