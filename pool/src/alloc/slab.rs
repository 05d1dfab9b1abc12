//! What is known of a slab: its owner's part, and the part that all clients change.

use super::holding::Link;
use crate::detect::Word;
use crate::sync::AtomicU64;

/// What the owner knows of a slab, in a cache line of its own. Only the owner writes, or its recoverer:
///
/// ```text
///   0        8       16      24      32          64
///   +--------+-------+-------+-------+-----------+
///   | local  | next  | prev  | links | unused    |
///   +--------+-------+-------+-------+-----------+
/// ```
///
/// `next` and `prev` link it in the owner's list. `links` says which words of blocks the owner's cache perhaps has
/// ([`Links`]).
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Slab {
    pub local: AtomicU64,
    pub next: AtomicU64,
    pub prev: AtomicU64,
    pub links: AtomicU64,
}

/// What all clients know of a slab:
///
/// ```text
///   0                  16       24      32
///   +------------------+--------+-------+
///   | word             | class  | next  |
///   +------------------+--------+-------+
/// ```
///
/// `class` is one more than that of its blocks, and 0 while there are none; the owner writes it while no block is
/// handed out. `next` links it in a list of the heap; the client that pushes it writes it.
#[repr(C, align(16))]
#[derive(Default)]
pub(crate) struct Remote {
    pub word: Word,
    pub class: AtomicU64,
    pub next: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Slab>() == 64 && std::mem::offset_of!(Slab, prev) == 16);
    assert!(size_of::<Remote>() == 32 && std::mem::offset_of!(Remote, next) == 24);
};

// SAFETY: atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Slab {}

// SAFETY: atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Remote {}

/// The first word of a slab:
///
/// ```text
///   63       54  53     52     46 45     33 32     20 19      0
///   +-----------+--------+--------+---------+---------+--------+
///   | 0         | listed | class  | used    | virgin  | head   |
///   +-----------+--------+--------+---------+---------+--------+
/// ```
///
/// `head` begins the list of free blocks. The first `virgin` blocks were handed out before, the others never were.
/// `used` counts those that are not free as far as the owner knows: others may have freed some of them. `class` is one
/// more than that of the blocks, 0 for a slab without a class. All changes of a block are one store of this word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Local(u64);

/// Bits of a block in a word.
pub(super) const HEAD_BITS: u32 = 20;

const HEAD: u64 = (1 << HEAD_BITS) - 1;
const COUNT: u64 = (1 << 13) - 1;
const VIRGIN: u32 = HEAD_BITS;
const USED: u32 = VIRGIN + 13;
const CLASS: u32 = USED + 13;
const LISTED: u64 = 1 << (CLASS + 7);

impl Local {
    /// A slab of a class, all of whose blocks are free. `class` is one more.
    pub(super) fn of_class(class: u64) -> Local {
        Local(class << CLASS)
    }

    #[inline(always)]
    pub(super) fn from_bits(bits: u64) -> Local {
        Local(bits)
    }

    #[inline(always)]
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(super) fn head(self) -> Link {
        (self.0 & HEAD) as Link
    }

    #[inline(always)]
    pub(super) fn virgin(self) -> u32 {
        (self.0 >> VIRGIN & COUNT) as u32
    }

    #[inline(always)]
    pub(super) fn used(self) -> u32 {
        (self.0 >> USED & COUNT) as u32
    }

    #[inline(always)]
    pub(super) fn class(self) -> u64 {
        self.0 >> CLASS & 0x7f
    }

    pub(super) fn is_listed(self) -> bool {
        self.0 & LISTED != 0
    }

    pub(super) fn listed(self, is: bool) -> Local {
        Local(if is { self.0 | LISTED } else { self.0 & !LISTED })
    }

    /// Whether the block with this number and place may be a used one.
    #[inline(always)]
    pub(super) fn may_free(self, number: u32, block: u32) -> bool {
        number < self.virgin() && self.used() != 0 && self.head() != block + 1
    }

    /// Another list, and this number of blocks used.
    pub(super) fn with(self, head: Link, used: u32) -> Local {
        let rest = self.0 & !(HEAD | COUNT << USED);
        Local(rest | u64::from(head) | u64::from(used) << USED)
    }

    /// The first free block is used; `next` follows it.
    #[inline(always)]
    pub(super) fn popped(self, next: Link) -> Local {
        Local((self.0 & !HEAD | u64::from(next)) + (1 << USED))
    }

    /// The first virgin block is used.
    #[inline(always)]
    pub(super) fn bumped(self) -> Local {
        Local(self.0 + (1 << VIRGIN) + (1 << USED))
    }

    /// This block is free, and the first of the list.
    #[inline(always)]
    pub(super) fn pushed(self, block: u32) -> Local {
        Local((self.0 & !HEAD | u64::from(block + 1)) - (1 << USED))
    }
}

/// Where the owner of a slab has perhaps written links that are in no list of it any more: in the first words of
/// `count` blocks of one class, from the beginning on. As one word:
///
/// ```text
///   63               32 31                0
///   +------------------+------------------+
///   | class            | count            |
///   +------------------+------------------+
/// ```
///
/// `class` is one more than that of the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Links {
    pub class: u64,
    pub count: u32,
}

impl Links {
    pub(super) fn from_bits(bits: u64) -> Links {
        Links { class: bits >> 32, count: bits as u32 }
    }

    pub(super) fn bits(self) -> u64 {
        self.class << 32 | u64::from(self.count)
    }

    /// Those of a slab as well, whose blocks are of the same class.
    pub(super) fn with(self, local: Local) -> Links {
        match local.class() {
            0 => self,
            class => Links { class, count: self.count.max(local.virgin()) },
        }
    }
}

/// Who may do what with a slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// No block is handed out, and nobody owns it.
    Free,
    /// A client owns it. Others that free a block put it into the list of the word.
    Owned,
    /// All blocks are used, and nobody owns it: the next client that frees one takes it.
    Detached,
    /// Nobody owns it, and it is in a list of the heap, or on its way there. A client that frees a block puts it into
    /// the list of the word.
    Listed,
}

/// The value of a slab's shared word:
///
/// ```text
///   63         45  44  43  42       33 32      20 19      0
///   +-------------+-------+-----------+----------+--------+
///   | 0           | place | owner     | count    | head   |
///   +-------------+-------+-----------+----------+--------+
/// ```
///
/// `head` begins the list of the `count` blocks that others than the owner have freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shares(u64);

// The words of a model have 16 bits of value.
#[cfg(not(loom))]
const BITS: [u32; 3] = [HEAD_BITS, 13, 10];
#[cfg(loom)]
const BITS: [u32; 3] = [5, 4, 3];

const OWNER: u32 = BITS[0] + BITS[1];
const PLACE: u32 = OWNER + BITS[2];

impl Shares {
    pub(super) fn new(place: Place, owner: u16, head: Link, count: u32) -> Shares {
        let place = (place as u64) << PLACE | u64::from(owner) << OWNER;
        Shares(place | u64::from(count) << BITS[0] | u64::from(head))
    }

    #[inline(always)]
    pub(super) fn from_bits(bits: u64) -> Shares {
        Shares(bits)
    }

    #[inline(always)]
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    pub(super) fn place(self) -> Place {
        match self.0 >> PLACE & 3 {
            0 => Place::Free,
            1 => Place::Owned,
            2 => Place::Detached,
            _ => Place::Listed,
        }
    }

    pub(super) fn owner(self) -> u16 {
        (self.0 >> OWNER & ((1 << BITS[2]) - 1)) as u16
    }

    #[inline(always)]
    pub(super) fn head(self) -> Link {
        (self.0 & ((1 << BITS[0]) - 1)) as Link
    }

    pub(super) fn count(self) -> u32 {
        (self.0 >> BITS[0] & ((1 << BITS[1]) - 1)) as u32
    }

    /// The same blocks with another owner.
    pub(super) fn placed(self, place: Place, owner: u16) -> Shares {
        Shares::new(place, owner, self.head(), self.count())
    }

    #[inline(always)]
    pub(super) fn is_owned_by(self, client: u16) -> bool {
        let own = (Place::Owned as u64) << BITS[2] | u64::from(client);
        self.0 >> OWNER == own
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_parts_come_back() {
        let last = (1 << HEAD_BITS) - 1;
        let local = Local::of_class(37).with(last, 4096).listed(true);
        let parts = (local.head(), local.virgin(), local.used(), local.class());
        assert_eq!((parts, local.is_listed()), ((last, 0, 4096, 37), true));
        let local = Local::of_class(1).bumped().bumped().pushed(1).listed(true);
        assert_eq!((local.head(), local.virgin(), local.used(), local.class()), (2, 2, 1, 1));
        assert_eq!(local.popped(0).listed(false), Local::of_class(1).bumped().bumped());
        for place in [Place::Free, Place::Owned, Place::Detached, Place::Listed] {
            let shares = Shares::new(place, 1023, last, 4095);
            let parts = (shares.place(), shares.owner(), shares.head(), shares.count());
            assert_eq!(parts, (place, 1023, last, 4095));
            assert_eq!(shares.is_owned_by(1023), place == Place::Owned);
        }
        assert_eq!(Shares::from_bits(0), Shares::new(Place::Free, 0, 0, 0));
    }
}
