//! Is this thread in the library's own code? Then its calls are not interposed.

use std::cell::Cell;

thread_local! {
    // Without destructor and lazy initialisation: it is read in signal handlers and before main().
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks the calling thread; dropping it ends that.
pub struct Inside {
    outer: bool,
}

impl Inside {
    /// From now on the calling thread's calls go to the kernel and the C library as they are.
    pub fn enter() -> Inside {
        Inside { outer: INSIDE.replace(true) }
    }

    /// Is the calling thread inside?
    pub fn is_entered() -> bool {
        INSIDE.get()
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.outer);
    }
}
