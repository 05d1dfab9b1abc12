//! A ring whose ends run at the same time, in every order.

use super::Words;
use crate::flaw::Flaw;
use crate::sync::{AtomicU64, Ordering};
use loom::sync::Arc;
use loom::thread;
use std::panic::catch_unwind;

struct Memory {
    counts: [AtomicU64; 2],
    words: Vec<AtomicU64>,
}

impl Memory {
    fn words(&self, flaw: Option<Flaw>) -> Words<'_> {
        Words { sent: &self.counts[0], received: &self.counts[1], words: &self.words, flaw }
    }
}

const ALL: u64 = 3;

/// Three words go through a ring of two.
fn explore(flaw: Option<Flaw>) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let words = (0..2).map(|_| AtomicU64::new(0)).collect();
        let memory = Arc::new(Memory { counts: Default::default(), words });
        let other = memory.clone();
        let producer = thread::spawn(move || {
            let words = other.words(flaw);
            for sent in 0..ALL {
                while words.room(sent).unwrap() == 0 {
                    thread::yield_now();
                }
                words.put(sent, sent + 10);
                words.send(sent + 1);
            }
        });
        let words = memory.words(flaw);
        for received in 0..ALL {
            while words.ready(received).unwrap() == 0 {
                thread::yield_now();
            }
            assert_eq!(words.word(received).load(Ordering::Acquire), received + 10);
            words.release(received + 1);
        }
        producer.join().unwrap();
    });
}

#[test]
fn model_words_arrive_once_and_in_order() {
    explore(None);
}

#[test]
fn model_a_word_that_is_sent_before_it_is_written_is_found() {
    assert!(catch_unwind(|| explore(Some(Flaw::EarlySend))).is_err());
}
