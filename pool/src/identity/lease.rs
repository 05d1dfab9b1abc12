//! The word that says who has an identity.

/// One lease of an identity:
///
/// ```text
///   63                                24  23 22  21                0
///   +-----------------------------------+-------+-------------------+
///   | era                               | state | who               |
///   +-----------------------------------+-------+-------------------+
/// ```
///
/// `who` is the number of a process, or the identity of a recoverer. The era grows with each claim and with each
/// take-over, so no value comes twice. Zero is an identity that nobody ever had.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease(u64);

/// What the holder of a lease may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// There is none.
    Free,
    /// A process is about to hold it, and has changed nothing yet. Others may revoke it.
    Claiming,
    /// A process acts under the identity.
    Held,
    /// The process is dead; `who` finishes its change.
    Recovering,
}

const WHO_BITS: u32 = 22;
const STATE_BITS: u32 = 2;
const ERA_SHIFT: u32 = WHO_BITS + STATE_BITS;

/// The last era. A lease that has reached it is never taken again.
pub(crate) const ERA_MAX: u64 = u64::MAX >> ERA_SHIFT;

// The kernel numbers no process above this.
const _: () = assert!(1 << WHO_BITS >= 4 << 20);

impl Lease {
    pub(crate) fn new(era: u64, state: State, who: u32) -> Lease {
        assert!(era <= ERA_MAX && who < 1 << WHO_BITS, "era {era}, who {who}");
        Lease(era << ERA_SHIFT | (state as u64) << WHO_BITS | u64::from(who))
    }

    pub(crate) fn from_bits(bits: u64) -> Lease {
        Lease(bits)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn era(self) -> u64 {
        self.0 >> ERA_SHIFT
    }

    pub(crate) fn state(self) -> State {
        match self.0 >> WHO_BITS & ((1 << STATE_BITS) - 1) {
            0 => State::Free,
            1 => State::Claiming,
            2 => State::Held,
            _ => State::Recovering,
        }
    }

    pub(crate) fn who(self) -> u32 {
        (self.0 & ((1 << WHO_BITS) - 1)) as u32
    }

    /// The same era in another state.
    pub(crate) fn turned(self, state: State, who: u32) -> Lease {
        Lease::new(self.era(), state, who)
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} by {} in era {}", self.state(), self.who(), self.era())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_parts_come_back() {
        for state in [State::Free, State::Claiming, State::Held, State::Recovering] {
            for (era, who) in [(0, 0), (1, 1), (ERA_MAX, (1 << WHO_BITS) - 1), (5, 4242)] {
                let lease = Lease::from_bits(Lease::new(era, state, who).bits());
                assert_eq!((lease.era(), lease.state(), lease.who()), (era, state, who));
            }
        }
        assert_eq!(Lease::from_bits(0), Lease::new(0, State::Free, 0));
    }
}
