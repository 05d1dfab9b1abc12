//! A collector's data of each thread that compiled code does not touch: a value behind the thread's block.

use crate::threads::mutator::Mutator;

/// The type of it.
///
/// # Safety
/// Wherever a type has a value taken or looked at, the thread was attached with a value of this type: so it is with
/// the types that a collector keeps to itself, since a thread belongs to one heap, and a heap to one collector.
pub unsafe trait ThreadData: Sized {
    /// Gives it to a thread that attaches.
    fn attach(self, m: &Mutator) {
        let before = m.collector_data.replace(Box::into_raw(Box::new(self)).cast());
        assert!(before.is_null(), "a thread attached twice");
    }

    /// Takes it from a thread that detaches.
    fn detach(m: &Mutator) -> Self {
        let data = m.collector_data.replace(std::ptr::null_mut()).cast::<Self>();
        assert!(!data.is_null(), "a thread detached that was not attached");
        // SAFETY: made by Box::into_raw in `attach`, of this type by the contract, and taken out of the thread above.
        *unsafe { Box::from_raw(data) }
    }

    /// That of an attached thread.
    #[inline]
    fn of(m: &Mutator) -> &Self {
        // SAFETY: of this type by the contract; set in `attach` and removed in `detach`; in between it stays in place.
        unsafe { &*m.collector_data.get().cast::<Self>() }
    }
}
