//! The class library's table of strings that have a number (`jdk.jfr.internal.StringPool`).
//!
//! A thread that finds no number for a string takes the next one, puts it into the table, and tells the VM after that.
//! Until then other threads may commit events with the number. When a chunk ends, the VM waits for the strings whose
//! numbers were taken before its events were collected; HotSpot 17 does not, and such events lose their text.

use crate::java::objects;
use crate::loading::call;
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef, object};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::time::{Duration, Instant};

/// The numbers of strings that have come. No safepoint is reached with the lock held.
pub struct Arrivals(Mutex<Numbers>);

struct Numbers {
    /// All numbers below have come.
    next: u64,
    /// Those above that have.
    ahead: FxHashSet<u64>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals(Mutex::new(Numbers { next: FIRST_NUMBER, ahead: FxHashSet::default() }))
    }
}

impl Arrivals {
    /// The VM has the string.
    pub fn add(&self, number: u64) {
        let numbers = &mut *self.0.lock();
        if number >= numbers.next {
            numbers.ahead.insert(number);
        }
        while numbers.ahead.remove(&numbers.next) {
            numbers.next += 1;
        }
    }

    /// Returns when all strings below have come, or after a time that no running thread needs: a thread that ended with
    /// an error between the two steps never tells. Blocks; for threads in the safe state.
    pub fn wait_for(&self, below: u64) {
        let deadline = Instant::now() + WAIT_MAX;
        while self.0.lock().next < below && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let numbers = &mut *self.0.lock();
        numbers.next = numbers.next.max(below);
        numbers.ahead.retain(|number| *number >= below);
    }
}

/// The table. Of any thread that runs.
pub struct StringTable(KlassRef);

impl StringTable {
    /// A safepoint, and it may run Java code.
    pub fn find(t: &JavaThread) -> JResult<StringTable> {
        Ok(StringTable(objects::boot_class(t, TABLE)?))
    }

    /// A safepoint, and it runs Java code.
    pub fn empty(&self, t: &JavaThread) -> JResult<()> {
        t.call(call::find(self.0, "reset", "()V"), &[])?;
        Ok(())
    }

    /// The number that the next string gets. No safepoint.
    pub fn next_number(&self, t: &JavaThread) -> u64 {
        let table_type = format!("L{TABLE}$SimpleStringIdPool;");
        let counter_type = "Ljava/util/concurrent/atomic/AtomicLong;";
        let table = t.load_ref(t.load_root(self.0.mirror), self.0.offset_of("sp", &table_type));
        let counter = t.load_ref(table, t.klass_of(table).offset_of("sidIdx", counter_type));
        object::get::<i64>(counter, t.klass_of(counter).offset_of("value", "J")) as u64
    }
}

const TABLE: &str = "jdk/jfr/internal/StringPool";

/// Where the class library begins to count.
const FIRST_NUMBER: u64 = 1;

const WAIT_MAX: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_in_any_order() {
        let arrivals = Arrivals::default();
        [2, 4, 1].iter().for_each(|number| arrivals.add(*number));
        assert_eq!(arrivals.0.lock().next, 3);
        std::thread::scope(|scope| {
            scope.spawn(|| arrivals.add(3));
            arrivals.wait_for(5);
        });
        let numbers = arrivals.0.lock();
        assert_eq!((numbers.next, numbers.ahead.len()), (5, 0));
    }

    #[test]
    fn a_string_that_never_comes_is_given_up_once() {
        let arrivals = Arrivals::default();
        arrivals.add(2);
        arrivals.wait_for(3);
        let begun = Instant::now();
        arrivals.wait_for(3);
        arrivals.add(1);
        arrivals.add(3);
        assert!(begun.elapsed() < WAIT_MAX);
        assert_eq!(arrivals.0.lock().next, 4);
    }
}
