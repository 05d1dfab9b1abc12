//! Pools in files, and clients of them in one process.

use super::torture::Nothing;
use super::*;
use crate::test_folder::Folder;
use std::fs::OpenOptions;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;

const BYTES: u64 = 1 << 20;

fn memory(clients: usize) -> Pool {
    Pool::create(&Backing::Memory { bytes: BYTES }, clients).unwrap()
}

#[test]
fn places_do_not_overlap() {
    for clients in [1, 2, 63, 64, CLIENTS_MAX as u64] {
        let places = Places::of(clients).unwrap();
        assert_eq!(places.rows as u64, clients + 1);
        assert!(HEADER_BYTES + (clients + 1) * 64 <= places.intents);
        assert!(places.intents + (clients + 1) * 64 <= places.notes);
        assert!(places.notes + (clients + 1) * (clients + 1) * 8 <= places.data);
        assert!(places.data.is_multiple_of(PAGE_BYTES));
    }
}

#[test]
fn impossible_sizes_are_refused() {
    let create = |bytes, clients| Pool::create(&Backing::Memory { bytes }, clients).map(|_| ());
    for clients in [0, CLIENTS_MAX + 1, usize::MAX] {
        assert!(matches!(create(BYTES, clients), Err(PoolError::Clients { .. })));
    }
    assert!(matches!(create(4096, 2), Err(PoolError::Bytes { bytes: 4096, .. })));
    assert!(create(1 << 30, CLIENTS_MAX).is_ok());
}

#[test]
fn a_header_that_does_not_fit_is_refused() {
    let folder = Folder::new();
    let path = folder.path("pool");
    drop(Pool::create(&Backing::File { path: &path, bytes: BYTES }, 3).unwrap());
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let with = |at: u64, value: u64| {
        let mut saved = [0; 8];
        file.read_exact_at(&mut saved, at).unwrap();
        file.write_all_at(&value.to_le_bytes(), at).unwrap();
        let error = Pool::open(&path).map(|_| ()).unwrap_err();
        file.write_all_at(&saved, at).unwrap();
        error
    };
    assert!(matches!(with(16, 5), PoolError::Layout { found: 5, .. }));
    for clients in [0, 1024, u64::MAX] {
        assert!(matches!(with(32, clients), PoolError::Clients { .. }), "{clients}");
    }
    // More structures than the file can hold.
    assert!(matches!(with(32, 1000), PoolError::Bytes { bytes: BYTES, .. }));
    assert!(matches!(with(40, 1), PoolError::Namespace { found: 1, .. }));
    assert!(Pool::open(&path).is_ok());
}

#[test]
fn data_is_what_callers_get() {
    let pool = memory(3);
    assert!(pool.words(pool.data(), 1).is_ok());
    let words = (BYTES - pool.data()) / 16;
    assert!(pool.words(pool.data(), words as usize).is_ok());
    let refused = [
        pool.words(pool.data() - 16, 1).map(|_| ()),
        pool.words(pool.data() + 8, 1).map(|_| ()),
        pool.words(pool.data(), words as usize + 1).map(|_| ()),
        pool.atomics(0, 1).map(|_| ()),
    ];
    for error in refused {
        assert!(matches!(error, Err(PoolError::Range { .. })));
    }
}

#[test]
fn a_full_pool_says_so() {
    let pool = memory(2);
    let clients = [pool.join().unwrap(), pool.join().unwrap()];
    assert!(matches!(pool.join(), Err(PoolError::Full { clients: 2 })));
    drop(clients);
    assert!(pool.join().is_ok());
}

/// The next holder would be taken for the one that has it open.
#[test]
fn a_client_with_an_open_change_keeps_its_identity() {
    let pool = memory(1);
    let mut client = pool.join().unwrap();
    let change = Change { target: pool.data(), operation: [0; 5] };
    let done = client.exchange(&change, Marked::default(), 1).unwrap().unwrap();
    let again = client.exchange(&change, Marked::default(), 1);
    assert!(matches!(again, Err(PoolError::Unfinished { client: 1 })));
    client.finish(done);
    drop(client);
    let mut client = pool.join().unwrap();
    let seen = pool.words(pool.data(), 1).unwrap()[0].load();
    let _open = client.exchange(&change, seen, 2).unwrap().unwrap();
    drop(client);
    assert!(matches!(pool.join(), Err(PoolError::Full { .. })));
}

#[test]
fn a_target_outside_of_the_data_is_refused() {
    let pool = memory(2);
    let mut client = pool.join().unwrap();
    for target in [0, pool.data() + 1, BYTES, u64::MAX] {
        let change = Change { target, operation: [0; 5] };
        let refused = client.exchange(&change, Marked::default(), 1);
        assert!(matches!(refused, Err(PoolError::Range { .. })));
    }
    assert_eq!(client.recover(&Nothing(&pool)).unwrap(), Recovered::default());
    assert!(matches!(client.fence(9, Duration::ZERO), Err(PoolError::Clients { .. })));
    assert!(!client.fence(2, Duration::ZERO).unwrap());
}

#[test]
fn threads_are_clients_of_their_own() {
    const CHANGES: u64 = 20_000;
    let pool = memory(8);
    let change = Change { target: pool.data(), operation: [0; 5] };
    let word = &pool.words(pool.data(), 1).unwrap()[0];
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = pool.join().unwrap();
                for _ in 0..CHANGES {
                    let mut seen = word.load();
                    let done = loop {
                        match client.exchange(&change, seen, seen.value + 1).unwrap() {
                            Ok(done) => break done,
                            Err(other) => seen = other,
                        }
                    };
                    client.finish(done);
                }
            });
        }
    });
    assert_eq!(word.load().value, 4 * CHANGES);
}

#[test]
fn two_mappings_of_one_file_are_one_pool() {
    let pool = memory(2);
    let other = Pool::of(pool.segment().fd().try_clone_to_owned().unwrap()).unwrap();
    let [first, second] = [pool.join().unwrap(), other.join().unwrap()];
    assert_eq!([first.id(), second.id()], [1, 2]);
    pool.atomics(pool.data(), 1).unwrap()[0].store(9, Ordering::Relaxed);
    assert_eq!(other.atomics(other.data(), 1).unwrap()[0].load(Ordering::Relaxed), 9);
}

/// A user that recovers again in the middle of a recovery.
struct Nested<'a>(&'a Pool, &'a Client<'a>, Cell<bool>);

impl Redo for Nested<'_> {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        Ok(&self.0.words(target, 1)?[0])
    }

    fn redo(&self, _: u16, _: &Change, _: bool) -> Result<(), PoolError> {
        let again = self.1.recover(self);
        self.2.set(matches!(again, Err(PoolError::Recovering { client: 1 })));
        Ok(())
    }
}

#[test]
fn a_recovery_begins_no_other_one() {
    let pool = Pool::create(&Backing::Memory { bytes: 1 << 20 }, 4).unwrap();
    let own = pool.join().unwrap();
    let me = Kernel::new().unwrap().own().unwrap();
    for _ in 0..2 {
        let ended = Process { birth: me.birth ^ 1, ..me };
        let mut client = ManuallyDrop::new(pool.join_as(ended).unwrap());
        let change = Change { target: pool.data(), operation: [0; 5] };
        let seen = pool.words(pool.data(), 1).unwrap()[0].load();
        let _open = client.exchange(&change, seen, 1).unwrap().unwrap();
        let user = Nested(&pool, &own, Cell::new(false));
        assert_eq!(own.recover(&user).unwrap().changes, 1);
        assert!(user.2.get());
    }
}

/// Eras that no client of this version has counted to. None comes twice because of that.
#[test]
fn eras_that_are_none_are_errors() {
    let pool = memory(3);
    let own = pool.join().unwrap();
    let me = Kernel::new().unwrap().own().unwrap();
    let ended = Process { birth: me.birth ^ 1, ..me };
    let mut client = ManuallyDrop::new(pool.join_as(ended).unwrap());
    let change = Change { target: pool.data(), operation: [0; 5] };
    for wrong in [1 << 54, u64::MAX] {
        pool.detector().skip_to(client.id(), wrong);
        let refused = client.exchange(&change, Marked::default(), 1);
        assert!(matches!(refused, Err(PoolError::EraExhausted { client: 2 })), "{refused:?}");
    }
    pool.detector().acknowledge(client.id(), 0);
    let refused = own.recover(&Nothing(&pool));
    assert!(matches!(refused, Err(PoolError::Damaged { client: 2, .. })), "{refused:?}");
}

/// As those that a program has started may outlive it.
#[test]
fn the_dead_keep_their_memory_while_other_processes_have_it() {
    let folder = Folder::new();
    let path = folder.path("pool");
    let pool = Pool::create(&Backing::File { path: &path, bytes: BYTES }, 3).unwrap();
    let survivor = pool.join().unwrap();
    // No process of this number was born then.
    let dead = Process { pid: std::process::id(), birth: 1 };
    let dead = ManuallyDrop::new(pool.join_as(dead).unwrap());
    let recovered = || survivor.recover(&Nothing(&pool)).unwrap().clients;
    assert!(!dead.is_shared().unwrap() && pool.outlived().unwrap() == 0);
    let [first, second] = [(); 2].map(|()| dead.share().unwrap());
    assert!(!survivor.is_shared().unwrap());
    let other = |fd| Command::new("sleep").arg("1000").stdin(fd).spawn().unwrap();
    for mut other in [first, second].map(other) {
        assert_eq!((recovered(), pool.outlived().unwrap()), (0, 1));
        other.kill().unwrap();
        other.wait().unwrap();
    }
    assert_eq!(pool.outlived().unwrap(), 0);
    assert_eq!(recovered(), 1);
    let private = Pool::create(&Backing::Private { bytes: BYTES }, 3).unwrap();
    assert!(!private.join().unwrap().is_shared().unwrap() && private.outlived().unwrap() == 0);
}
