//! What a parent and its children tell each other, in words of the pool's reserved part.

use super::{Shared, wait_for};
use pool::Pool;
use std::hint::spin_loop;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Words for beginning and ending, and sums of the children's figures. Each has a cache line.
pub struct Board<'a> {
    words: &'a [AtomicU64],
}

impl<'a> Board<'a> {
    pub const SUMS: usize = 13;
    /// Bytes that it takes.
    pub const BYTES: u64 = 128 * (3 + Board::SUMS as u64);

    /// The board at an offset of a pool's data.
    pub fn of(pool: &'a Pool, at: u64) -> Board<'a> {
        let words = pool.atomics(pool.data() + at, Board::BYTES as usize / 8);
        Board { words: words.expect("the reserved part") }
    }

    fn word(&self, n: usize) -> &'a AtomicU64 {
        &self.words[16 * n]
    }

    /// How many threads of children are ready.
    pub fn ready(&self) -> &'a AtomicU64 {
        self.word(0)
    }

    /// Not 0: the time is over.
    pub fn end(&self) -> &'a AtomicU64 {
        self.word(2)
    }

    /// One of the sums.
    pub fn sum(&self, n: usize) -> &'a AtomicU64 {
        assert!(n < Board::SUMS);
        self.word(3 + n)
    }

    pub fn value(&self, n: usize) -> u64 {
        self.sum(n).load(Ordering::Acquire)
    }

    pub fn add(&self, n: usize, value: u64) {
        self.sum(n).fetch_add(value, Ordering::AcqRel);
    }

    /// A child is ready, and waits for the others.
    pub fn begin(&self) {
        self.ready().fetch_add(1, Ordering::AcqRel);
        while self.word(1).load(Ordering::Acquire) == 0 {
            spin_loop();
        }
    }

    /// Starts children one after the other, when the one before is ready.
    pub fn start(&self, shared: &Shared, roles: &[Vec<String>]) -> Vec<Child> {
        let start = |(n, role): (usize, &Vec<String>)| {
            let child = shared.start(&role.iter().map(|part| &part[..]).collect::<Vec<_>>());
            wait_for(self.ready(), |ready| ready > n as u64);
            child
        };
        roles.iter().enumerate().map(start).collect()
    }

    /// Lets the children work for a time. Returns how long that was. `between` may do something meanwhile.
    pub fn run(&self, time: Duration, mut between: impl FnMut()) -> Duration {
        let start = Instant::now();
        self.word(1).store(1, Ordering::Release);
        while start.elapsed() < time {
            thread::sleep(Duration::from_millis(5).min(time - start.elapsed().min(time)));
            between();
        }
        self.end().store(1, Ordering::Release);
        start.elapsed()
    }
}
