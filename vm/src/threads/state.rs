//! The part of a `JavaThread` that has to do with other threads.

/// Parking permit, interrupt flag, what the thread waits for.
#[derive(Default)]
pub struct ThreadState {}
