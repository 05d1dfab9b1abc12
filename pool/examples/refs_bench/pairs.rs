//! What the two processes of a pair do, whatever carries their messages, and how long it takes.
//!
//! The time is that of the median batch, or message: so the moments count less in which another program has one of the
//! CPUs.

use super::common::now;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The first word of the message that ends a stream.
pub const LAST: u64 = u64::MAX;
/// Messages of a batch: as many as are under way at most. There is one batch, or call, at least.
const MESSAGES: usize = super::RING;
/// Calls of a batch.
const CALLS: usize = 100;
/// Words of a cache line: of each line of a message one word is written and read.
pub const LINE: usize = 8;

/// Operations, and the nanoseconds that they took.
pub type Figure = (u64, u64);

/// What the two processes tell each other beside their messages.
#[derive(Clone, Copy)]
pub struct Signs<'a> {
    /// Not 0: the time is over.
    pub end: &'a AtomicU64,
    /// The last message that was received, for those that wait for it.
    pub seen: &'a AtomicU64,
    /// For pairs that have no messages.
    pub asked: &'a AtomicU64,
    pub answered: &'a AtomicU64,
}

impl Signs<'_> {
    /// Does something until the time is over, once at least.
    fn repeat(&self, mut something: impl FnMut()) {
        loop {
            something();
            if self.end.load(Ordering::Relaxed) != 0 {
                return;
            }
        }
    }

    /// Waits until a message was received. So the one that ends a stream arrives before its sender is gone.
    fn wait_for(&self, message: u64) {
        let mut pause = Pause::new();
        while self.seen.load(Ordering::Acquire) != message {
            pause.turn();
        }
    }
}

/// Sends messages as fast as it can.
pub fn send_all(signs: Signs, mut send: impl FnMut(u64)) -> Figure {
    signs.repeat(|| (0..MESSAGES).for_each(|_| send(1)));
    send(LAST);
    signs.wait_for(LAST);
    (0, 0)
}

/// Receives them.
pub fn receive_all(signs: Signs, mut receive: impl FnMut() -> u64) -> Figure {
    let mut times = Vec::new();
    let (mut start, mut messages) = (now(), 0);
    while receive() != LAST {
        messages += 1;
        if messages == MESSAGES {
            let end = now();
            times.push(end - start);
            (start, messages) = (end, 0);
        }
    }
    signs.seen.store(LAST, Ordering::Release);
    (MESSAGES as u64, median(times))
}

/// Sends messages one at a time, each with the time when it was begun.
pub fn send_each(signs: Signs, mut send: impl FnMut(u64)) -> Figure {
    signs.repeat(|| {
        let message = now();
        send(message);
        signs.wait_for(message);
    });
    send(LAST);
    signs.wait_for(LAST);
    (0, 0)
}

/// Receives them. The time is that of one on its way.
pub fn receive_each(signs: Signs, mut receive: impl FnMut() -> u64) -> Figure {
    let mut times = Vec::new();
    loop {
        let message = receive();
        if message != LAST {
            times.push(now() - message);
        }
        signs.seen.store(message, Ordering::Release);
        if message == LAST {
            return (1, median(times));
        }
    }
}

/// Calls a function with numbers, to which it adds 1; in the end the function `LAST`, which has no answer.
pub fn call_all(signs: Signs, mut call: impl FnMut(u64, u64) -> u64) -> Figure {
    let (mut times, mut number) = (Vec::new(), 0);
    signs.repeat(|| {
        let start = now();
        for _ in 0..CALLS {
            assert_eq!(call(1, number), number + 1);
            number += 1;
        }
        times.push(now() - start);
    });
    call(LAST, number);
    signs.wait_for(LAST);
    (CALLS as u64, median(times))
}

/// Answers calls, until one has no answer.
pub fn serve_all(signs: Signs, mut answer: impl FnMut() -> bool) -> Figure {
    while answer() {}
    signs.seen.store(LAST, Ordering::Release);
    (0, 0)
}

/// Calls by one word for each way. No call is faster on the two CPUs.
pub fn ask_all(signs: Signs) -> Figure {
    call_all(signs, |function, number| {
        let asked = if function == LAST { LAST } else { number + 1 };
        signs.asked.store(asked, Ordering::Release);
        let answer = || Some(signs.answered.load(Ordering::Acquire)).filter(|word| *word == asked);
        if function == LAST { 0 } else { wait(answer) }
    })
}

pub fn answer_all(signs: Signs) -> Figure {
    let mut last = 0;
    serve_all(signs, || {
        last = wait(|| Some(signs.asked.load(Ordering::Acquire)).filter(|word| *word != last));
        if last != LAST {
            signs.answered.store(last, Ordering::Release);
        }
        last != LAST
    })
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2]
}

/// What is there in the end.
pub fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let mut pause = Pause::new();
    loop {
        match look() {
            Some(found) => return found,
            None => pause.turn(),
        }
    }
}

/// The other side may need this CPU: a wait that takes long gives it up.
pub struct Pause {
    turns: u32,
}

impl Pause {
    pub fn new() -> Pause {
        Pause { turns: 0 }
    }

    pub fn turn(&mut self) {
        self.turns += 1;
        if self.turns.is_multiple_of(2_000) { thread::yield_now() } else { spin_loop() }
    }
}
