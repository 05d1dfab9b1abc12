//! The references that marking from a snapshot (SATB) needs: those that were overwritten, or read from weak places.
//! Threads log them, and hand their logs over when these are full, in handshakes, and in pauses.

use parking_lot::Mutex;
use std::cell::RefCell;

/// Entries that one thread has logged since it last handed over. Own thread, or a pause or handshake on its behalf.
pub type Log<T> = RefCell<Vec<T>>;

/// The entries that all threads have handed over.
pub struct Logged<T> {
    handed_over: Mutex<Vec<T>>,
    log_length: usize,
}

impl<T> Logged<T> {
    /// Threads log up to `log_length` of them before they hand over.
    pub fn new(log_length: usize) -> Logged<T> {
        Logged { handed_over: Mutex::default(), log_length }
    }

    /// Logs one on its own thread.
    #[inline]
    pub fn push(&self, log: &Log<T>, item: T) {
        let mut log = log.borrow_mut();
        log.push(item);
        if log.len() >= self.log_length {
            self.handed_over.lock().append(&mut log);
        }
    }

    /// Takes over the log of a thread; by the thread, or on its behalf.
    pub fn hand_over(&self, log: &Log<T>) {
        self.handed_over.lock().append(&mut log.borrow_mut());
    }

    /// Everything handed over so far.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.handed_over.lock())
    }
}

/// References that a thread logs before it hands over.
pub const LOG_LENGTH: usize = 1024;
