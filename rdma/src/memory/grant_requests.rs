//! How the VM's threads ask a server for parts of its memory, and how the server answers: see [`super::grants`].
//!
//! A part's state is NONE until the server has populated it, then GRANTED, or REFUSED until it is asked for again. A
//! thread that needs a part writes its number to a free slot, counts up `asked`, and sleeps on `answered`. The server
//! takes each slot's part, writes its state, frees the slot, and counts up `answered`. Several threads may ask for
//! one part in several slots: the part is then populated several times, which changes nothing.

use std::time::Duration;

use crate::sync::{AtomicU8, AtomicU32, AtomicU64, Ordering, futex};

/// The shared words.
pub(crate) trait Words {
    /// Slots for requests: threads that can wait for a part at the same time; more wait for a free slot.
    const REQUESTS: usize;

    /// Counts requests; the server sleeps on it.
    fn asked(&self) -> &AtomicU32;
    /// Counts answers; the VM's threads sleep on it.
    fn answered(&self) -> &AtomicU32;
    /// A slot: the number of a part, plus 1, or 0 when it is free.
    fn request(&self, number: usize) -> &AtomicU64;
    /// The state of a part, whose number is in range.
    fn state(&self, part: usize) -> &AtomicU8;

    fn requests(&self) -> impl Iterator<Item = &AtomicU64> {
        (0..Self::REQUESTS).map(|number| self.request(number))
    }
}

/// How a thread's request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted,
    Refused,
    /// The server has ended.
    Lost,
    /// Parts need no grants any more.
    Closed,
}

/// Whether the server has populated a part. What it wrote there is visible then.
pub(crate) fn is_granted(words: &impl Words, part: usize) -> bool {
    words.state(part).load(Ordering::Acquire) == GRANTED
}

/// Asks for a part that is not granted, and sleeps until there is an answer.
#[cold]
pub(crate) fn ask<W: Words>(
    words: &W,
    part: usize,
    is_alive: impl Fn() -> bool,
    is_closed: impl Fn() -> bool,
) -> Answer {
    let (state, request) = (words.state(part), part as u64 + 1);
    // An answer of before: there may be memory now.
    let _ = state.compare_exchange(REFUSED, NONE, Ordering::SeqCst, Ordering::SeqCst);
    let mut slot: Option<&AtomicU64> = None;
    loop {
        let seen = words.answered().load(Ordering::SeqCst);
        // Read before the state: a slot that was answered has left its answer there.
        let is_pending = slot.is_some_and(|slot| slot.load(Ordering::SeqCst) == request);
        match state.load(Ordering::SeqCst) {
            GRANTED => return Answer::Granted,
            REFUSED => return Answer::Refused,
            _ if !is_alive() => return Answer::Lost,
            _ if is_closed() => return Answer::Closed,
            _ => {}
        }
        if !is_pending {
            // Not yet asked for, or given back since.
            slot = words.requests().find(|slot| {
                slot.compare_exchange(0, request, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            });
            if slot.is_some() {
                words.asked().fetch_add(1, Ordering::SeqCst);
                futex::wake_all(words.asked());
                continue;
            }
        }
        futex::wait(words.answered(), seen, CHECK_INTERVAL);
    }
}

/// The memory of a part was given back.
pub(crate) fn forget(words: &impl Words, part: usize) {
    words.state(part).store(NONE, Ordering::SeqCst);
}

/// Answers all requests that there are; waits for one if there is none, for `timeout` at most. `populate` says whether
/// a part below `parts` could be populated.
pub(crate) fn answer(
    words: &impl Words,
    parts: usize,
    timeout: Duration,
    mut populate: impl FnMut(usize) -> bool,
) {
    let seen = words.asked().load(Ordering::SeqCst);
    let mut answers = 0;
    for slot in words.requests() {
        let Some(part) = (slot.load(Ordering::SeqCst) as usize).checked_sub(1) else {
            continue;
        };
        if part < parts {
            let state = if populate(part) { GRANTED } else { REFUSED };
            words.state(part).store(state, Ordering::SeqCst);
        }
        slot.store(0, Ordering::SeqCst);
        answers += 1;
    }
    if answers > 0 {
        words.answered().fetch_add(1, Ordering::SeqCst);
        futex::wake_all(words.answered());
    } else {
        futex::wait(words.asked(), seen, timeout);
    }
}

/// How often a thread that waits looks whether the server lives.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
const NONE: u8 = 0;
const GRANTED: u8 = 1;
const REFUSED: u8 = 2;
