//! Detection without processes.

use super::*;
use crate::flaw::Flaw;

struct Shared {
    intents: Vec<Intent>,
    notes: Vec<AtomicU64>,
    word: Word,
}

impl Shared {
    fn new(clients: usize) -> Shared {
        let rows = clients + 1;
        Shared {
            intents: (0..rows).map(|_| Intent::default()).collect(),
            notes: (0..rows * rows).map(|_| AtomicU64::new(0)).collect(),
            word: Word::default(),
        }
    }

    fn detector(&self, flaw: Option<Flaw>) -> Detector<'_> {
        Detector::new(&self.intents, &self.notes).with_flaw(flaw)
    }
}

const CHANGE: Change = Change { target: 64, operation: [1, 2, 3, 4, 5] };

#[test]
fn a_change_is_open_until_it_is_acknowledged() {
    let shared = Shared::new(2);
    let detector = shared.detector(None);
    assert_eq!(detector.open(1), None);
    let era = detector.exchange(1, &shared.word, Marked::default(), 7, &CHANGE).unwrap().unwrap();
    assert_eq!(detector.open(1), Some(Open { era, change: CHANGE }));
    assert!(detector.has_happened(1, era, &shared.word));
    let next = detector.exchange(1, &shared.word, shared.word.load(), 8, &CHANGE);
    assert!(matches!(next, Err(PoolError::Unfinished { client: 1 })));
    detector.acknowledge(1, era);
    assert_eq!(detector.open(1), None);
    assert_eq!(shared.word.load().value, 7);
}

#[test]
fn a_change_that_failed_is_not_open() {
    let shared = Shared::new(2);
    let detector = shared.detector(None);
    let stale = Marked { value: 1, tag: Tag::default() };
    let other = detector.exchange(1, &shared.word, stale, 7, &CHANGE).unwrap().unwrap_err();
    assert_eq!(other, Marked::default());
    assert_eq!(detector.open(1), None);
}

/// Whether a change of client 1 that never took place is taken for one that did, after many others.
fn is_deceived(flaw: Option<Flaw>) -> bool {
    let shared = Shared::new(2);
    let detector = shared.detector(flaw);
    let change = |client| {
        let seen = shared.word.load();
        let era = detector
            .exchange(client, &shared.word, seen, seen.value + 1, &CHANGE)
            .unwrap()
            .unwrap();
        detector.acknowledge(client, era);
        era
    };
    // Client 2 notes each era of client 1, up to the fifteenth.
    let mut last = 0;
    for _ in 0..15 {
        last = change(1);
        change(2);
    }
    (last + 1..last + 20).any(|era| detector.has_happened(1, era, &shared.word))
}

#[test]
fn an_old_note_does_not_vouch_for_a_new_change() {
    assert!(!is_deceived(None));
}

#[test]
fn eras_that_come_back_are_found() {
    assert!(is_deceived(Some(Flaw::NarrowEras)));
}

#[test]
fn eras_end_with_an_error() {
    let shared = Shared::new(1);
    let detector = shared.detector(None);
    detector.skip_to(1, word::ERA_MAX - 1);
    let change = || detector.exchange(1, &shared.word, shared.word.load(), 1, &CHANGE);
    let era = change().unwrap().unwrap();
    assert_eq!(shared.word.load().tag, Tag::new(1, word::ERA_MAX));
    detector.acknowledge(1, era);
    assert!(matches!(change(), Err(PoolError::EraExhausted { client: 1 })));
}

#[test]
fn a_tag_of_no_client_is_replaced_without_harm() {
    let shared = Shared::new(1);
    let detector = shared.detector(None);
    let strange = Marked { value: 5, tag: Tag::new(900, 3) };
    shared.word.compare_exchange(Marked::default(), strange).unwrap();
    assert!(detector.exchange(1, &shared.word, strange, 6, &CHANGE).unwrap().is_ok());
}
