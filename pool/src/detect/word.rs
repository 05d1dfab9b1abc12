//! A shared word that says who changed it last.

use crate::sync::{AtomicU64, Ordering};

/// Who changed a word last, and in which of its changes:
///
/// ```text
///   63                                          10 9              0
///   +---------------------------------------------+---------------+
///   | era                                         | client        |
///   +---------------------------------------------+---------------+
/// ```
///
/// At 20 million changes a second by one client the eras last for 28 years.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag(u64);

const CLIENT_BITS: u32 = 10;

/// The last era. A client that has reached it changes nothing any more.
pub(crate) const ERA_MAX: u64 = u64::MAX >> CLIENT_BITS;

/// Identities of a pool at most.
pub(crate) const CLIENTS_MAX: usize = (1 << CLIENT_BITS) - 1;

impl Tag {
    pub(crate) fn new(client: u16, era: u64) -> Tag {
        assert!(usize::from(client) <= CLIENTS_MAX && era <= ERA_MAX, "client {client}, era {era}");
        Tag(era << CLIENT_BITS | u64::from(client))
    }

    /// 0: nobody has changed the word.
    pub fn client(self) -> u16 {
        (self.0 & CLIENTS_MAX as u64) as u16
    }

    /// Counts the changes of the client.
    pub fn era(self) -> u64 {
        self.0 >> CLIENT_BITS
    }
}

impl std::fmt::Debug for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "client {} era {}", self.client(), self.era())
    }
}

/// A value with the tag of its last change.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Marked {
    pub value: u64,
    pub tag: Tag,
}

/// A word that clients change by detectable compare-and-swap. Zeros are the value 0, changed by nobody.
///
/// ```text
///   0                     8                     16
///   +---------------------+---------------------+
///   | value               | tag                 |
///   +---------------------+---------------------+
/// ```
///
/// Both halves change together, by `cmpxchg16b`. A tag never comes twice, so no value of the word does.
#[cfg(not(loom))]
#[repr(C, align(16))]
#[derive(Default, Debug)]
pub struct Word {
    value: AtomicU64,
    tag: AtomicU64,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Word>() == 16 && std::mem::offset_of!(Word, tag) == 8);

// SAFETY: two atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Word {}

/// Whether this CPU can change words.
#[cfg(not(loom))]
pub(crate) fn is_supported() -> bool {
    std::arch::is_x86_feature_detected!("cmpxchg16b")
}

#[cfg(not(loom))]
impl Word {
    /// The value and its tag, of one moment. Acquire: what was written before the change is seen.
    pub fn load(&self) -> Marked {
        loop {
            let before = self.tag.load(Ordering::Acquire);
            let value = self.value.load(Ordering::Acquire);
            // Between two equal tags the word did not change: tags do not come back.
            if self.tag.load(Ordering::Acquire) == before {
                return Marked { value, tag: Tag(before) };
            }
            std::hint::spin_loop();
        }
    }

    /// The value alone. Acquire.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }

    /// Makes the word new: changed by nobody. For a client that alone knows the word.
    ///
    /// There may have been another word here, about which recovery asks now. If it finds that tag gone, it must see the
    /// note about it, which was written before the memory could be used again: so the new tag releases it. Plain data
    /// that replaces a tag does not. That is harmless on the one machine that there is a version for: it stores in
    /// order, and recovery reads the word by an acquiring load.
    #[inline(always)]
    pub(crate) fn reset(&self, value: u64) {
        self.tag.store(0, Ordering::Release);
        self.value.store(value, Ordering::Relaxed);
    }

    /// Whether nobody has changed the word since it was new.
    #[inline(always)]
    pub(crate) fn is_new(&self) -> bool {
        self.tag.load(Ordering::Acquire) == 0
    }

    /// Writes a tag of nobody. For a client without which nobody changes the word any more, and nobody asks about the
    /// change that its tag names.
    pub(crate) fn stamp(&self, tag: Tag) {
        assert_eq!(tag.client(), 0, "a stamp has no client");
        self.tag.store(tag.0, Ordering::Release);
    }

    /// On failure, what the word has instead. Acquire and release.
    pub(super) fn compare_exchange(&self, seen: Marked, next: Marked) -> Result<(), Marked> {
        let (mut value, mut tag) = (seen.value, seen.tag.0);
        let exchanged: u8;
        // The intrinsic would do, but the compiler turns it into a call of a library that is not there.
        // SAFETY: `self` is 16 bytes, aligned to them, of atomics, which may change behind a shared reference. Pools
        // are opened only where the CPU has the instruction (`is_supported`). `rbx` cannot be named as an operand, and
        // has its value again at the end.
        unsafe {
            std::arch::asm!(
                "xchg {next}, rbx",
                "lock cmpxchg16b [rdi]",
                "sete sil",
                "mov rbx, {next}",
                next = inout(reg) next.value => _,
                in("rdi") std::ptr::from_ref(self),
                in("rcx") next.tag.0,
                inout("rax") value,
                inout("rdx") tag,
                out("sil") exchanged,
                options(nostack),
            );
        }
        if exchanged != 0 { Ok(()) } else { Err(Marked { value, tag: Tag(tag) }) }
    }
}

/// The model's word: 16 bits of value, and tags whose eras have 38 bits.
#[cfg(loom)]
#[derive(Default, Debug)]
pub struct Word {
    packed: AtomicU64,
}

#[cfg(loom)]
impl Word {
    pub fn load(&self) -> Marked {
        Word::unpack(self.packed.load(Ordering::Acquire))
    }

    pub fn value(&self) -> u64 {
        self.load().value
    }

    pub(crate) fn reset(&self, value: u64) {
        self.packed.store(value, Ordering::Release);
    }

    pub(crate) fn is_new(&self) -> bool {
        self.load().tag == Tag::default()
    }

    pub(crate) fn stamp(&self, tag: Tag) {
        assert!(tag.client() == 0 && tag.0 < 1 << 48);
        self.packed.store(tag.0 << 16 | self.value(), Ordering::Release);
    }

    pub(super) fn compare_exchange(&self, seen: Marked, next: Marked) -> Result<(), Marked> {
        let pack = |marked: Marked| {
            assert!(marked.value < 1 << 16 && marked.tag.0 < 1 << 48);
            marked.tag.0 << 16 | marked.value
        };
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let changed = self.packed.compare_exchange(pack(seen), pack(next), success, failure);
        changed.map(|_| ()).map_err(Word::unpack)
    }

    fn unpack(packed: u64) -> Marked {
        Marked { value: packed & 0xffff, tag: Tag(packed >> 16) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn tags_have_both_parts() {
        for (client, era) in [(0, 0), (1, 1), (CLIENTS_MAX as u16, ERA_MAX), (5, 77)] {
            let tag = Tag::new(client, era);
            assert_eq!((tag.client(), tag.era()), (client, era));
        }
    }

    #[test]
    fn a_change_that_saw_another_value_or_tag_fails() {
        let word = Word::default();
        let first = Marked { value: 3, tag: Tag::new(1, 1) };
        word.compare_exchange(Marked::default(), first).unwrap();
        let next = Marked { value: 4, tag: Tag::new(2, 1) };
        for stale in [Marked { value: 2, ..first }, Marked { tag: Tag::new(1, 2), ..first }] {
            assert_eq!(word.compare_exchange(stale, next), Err(first));
        }
        word.compare_exchange(first, next).unwrap();
        assert_eq!(word.load(), next);
    }

    /// A load never has the value of one change and the tag of another.
    #[test]
    fn loads_are_of_one_moment() {
        const CHANGES: u64 = 200_000;
        let word = Word::default();
        thread::scope(|scope| {
            for client in [1, 2] {
                let word = &word;
                scope.spawn(move || {
                    for era in 1..=CHANGES {
                        let next = Marked {
                            value: era * 1000 + client,
                            tag: Tag::new(client as u16, era),
                        };
                        while word.compare_exchange(word.load(), next).is_err() {}
                    }
                });
            }
            scope.spawn(|| {
                loop {
                    let Marked { value, tag } = word.load();
                    let is_whole = value == tag.era() * 1000 + u64::from(tag.client());
                    assert!(is_whole || tag.client() == 0, "{value} {tag:?}");
                    if tag.era() == CHANGES {
                        break;
                    }
                }
            });
        });
    }
}
