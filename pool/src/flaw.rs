//! Mistakes that the tests must find: without them a test that passes shows nothing.

/// One mistake in a protocol. Only unit tests can make it.
#[cfg(test)]
#[allow(dead_code, reason = "some are made in models only, and the others elsewhere only")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flaw {
    /// Another client's mark is replaced without a note of it.
    NoVouching,
    /// The note comes after the mark is gone.
    LateVouching,
    /// Recovery reads the notes before the word.
    NotesFirst,
    /// Eras of 4 bits, which come again.
    NarrowEras,
    /// A claimer writes its signature without a look at its lease.
    BlindSignature,
    /// A take-over leaves the lease's era as it is.
    SameEra,
    /// The changes of a dead recoverer are left to themselves.
    NoSweep,
    /// A block is taken before the step says so.
    NoStep,
    /// A block that a dead client was about to get is not taken back.
    NoTakingBack,
    /// A free is acknowledged before its step is closed.
    EarlyAcknowledgement,
    /// The owner has the blocks that others freed before the change that takes them.
    EarlyCollection,
    /// The step does not say that all granules of a run are claimed.
    NoHold,
    /// The step does not say that granules of a run may be other clients'.
    NoDrop,
    /// A word of a ring is sent before it is written.
    EarlySend,
    /// What is known of a slab stays in the cache of the owner that gives it up.
    KeptSlab,
    /// The links of free blocks stay in the cache of an owner that gives up their slab, or its list.
    KeptLinks,
    /// The link of a block of another client's slab stays in the cache of the one that frees it.
    KeptLink,
    /// The new owner of a slab has an old copy of what is known of it.
    OldSlab,
    /// The owner of free blocks has old copies of their links.
    OldLinks,
    /// What a client has stays in its cache when it leaves.
    KeptHolding,
    /// The next holder of an identity has an old copy of what it has.
    OldHolding,
    /// The slabs of the dead stay where they are.
    NoRelease,
    /// A count falls before the step says that it will.
    EarlyRelease,
    /// A change of a count is acknowledged before its step is closed.
    EarlyCount,
    /// A cell is cleared after the count has fallen.
    LateClear,
    /// An embedded reference is changed before the new object is counted.
    EarlyChange,
    /// A reference moves without a step.
    NoMoveStep,
    /// A move is repeated although a word of it belongs to another client.
    LateMove,
    /// Objects are freed while others look at them.
    NoHazard,
    /// The roots of the dead stay counted.
    NoRootRelease,
    /// A change of a shared cell is acknowledged before what belongs to it is written.
    EarlySwap,
    /// A root keeps the reference that a shared cell has got.
    NoRootClear,
    /// What was in a shared cell is listed in front of what is listed now, however often that is repeated.
    RelativeList,
    /// A spare object is taken without a step.
    NoTakeStep,
    /// Objects for shared cells are made as private ones.
    PrivateEntry,
    /// A row of a transaction gets its new value before the decision.
    EarlyApply,
    /// The primary row of a transaction gets its new value before the others.
    EarlyEnd,
    /// A row that is held is rolled back without a look at the primary row.
    BlindRollBack,
}

/// Whether this structure was made with the flaw: never, outside of unit tests.
macro_rules! flawed {
    ($of:expr, $flaw:ident) => {{
        #[cfg(test)]
        let is = $of.flaw == Some($crate::flaw::Flaw::$flaw);
        #[cfg(not(test))]
        let is = false;
        is
    }};
}
pub(crate) use flawed;
