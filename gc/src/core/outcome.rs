//! The causes of collections, and the outcomes of allocations.

/// Why an allocation did not succeed after the collector had tried everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocFailure {
    /// The heap is full of live objects: `OutOfMemoryError: Java heap space`.
    HeapFull,
    /// No array of that size can ever fit: `OutOfMemoryError: Requested array size exceeds VM limit`.
    TooLarge,
}

/// Why a collection is asked for; printed in logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectCause {
    SystemGc,
    /// The reachable objects are wanted, see [`crate::core::inspection`]: for a histogram or the like.
    HeapInspection,
    /// The same for a heap dump.
    HeapDump,
    AllocationFailure,
    /// The last cycle before `OutOfMemoryError`: soft references are cleared, everything is compacted.
    LastDitch,
    /// It is time to look which classes can go, by the memory that they have taken.
    ClassMemory,
    /// No thread needs memory, but the collector estimates that the program will be faster.
    Proactive,
    Zeal,
    /// A test asks for a collection of young objects, where there are generations.
    WhiteBoxYoung,
    /// A test asks for a marking beside the program, where that is another thing than a full cycle.
    WhiteBoxMarking,
    /// A test asks for a cycle that leaves only what is strongly reachable.
    WhiteBoxFull,
}

impl CollectCause {
    /// Whether the program or its user asks for the collection: no thread needs the memory soon.
    pub fn is_user_requested(self) -> bool {
        matches!(
            self,
            CollectCause::SystemGc | CollectCause::HeapInspection | CollectCause::HeapDump
        )
    }

    /// Whether softly reachable objects go, too.
    pub fn clears_soft_references(self) -> bool {
        matches!(self, CollectCause::LastDitch | CollectCause::WhiteBoxFull)
    }

    /// As the logs of `java` name it.
    pub fn title(self) -> &'static str {
        match self {
            CollectCause::SystemGc => "System.gc()",
            CollectCause::HeapInspection => "Heap Inspection Initiated GC",
            CollectCause::HeapDump => "Heap Dump Initiated GC",
            CollectCause::AllocationFailure => "Allocation Failure",
            CollectCause::LastDitch => "Last ditch collection",
            CollectCause::ClassMemory => "Metadata GC Threshold",
            CollectCause::Proactive => "Proactive",
            CollectCause::Zeal => "Zeal",
            CollectCause::WhiteBoxYoung => "WhiteBox Initiated Young GC",
            CollectCause::WhiteBoxMarking => "WhiteBox Initiated Concurrent Mark",
            CollectCause::WhiteBoxFull => "WhiteBox Initiated Full GC",
        }
    }
}
