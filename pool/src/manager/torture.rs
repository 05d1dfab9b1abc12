//! Managers that are killed, beside clients that are killed and one that survives.

use super::Manager;
use crate::alloc::Heap;
use crate::crash::Death;
use crate::pool::Pool;
use crate::pool::torture::{Process, Random, cpu_time, length_and_seed, started};
use crate::refs::torture::{CLIENTS, Survivor, WORKER, work_has_begun};
use crate::segment::Backing;
use crate::test_folder::Folder;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

const BYTES: u64 = 128 << 20;
const PATIENCE: Duration = Duration::from_secs(20);
const CHILD: &str = "manager::torture::child";

/// What a process does that another test started. By itself it passes.
#[test]
fn child() {
    let Some((pool, _)) = started() else { return };
    let start = Instant::now();
    // The pool is full while another one counts its free identities.
    let manager = loop {
        match Manager::new(&pool) {
            Ok(manager) => break manager,
            Err(_) => assert!(start.elapsed() < PATIENCE, "the pool is full"),
        }
    };
    while start.elapsed() < PATIENCE {
        manager.pass().unwrap();
    }
}

/// `FARHEAP_POOL_SECONDS` and `FARHEAP_POOL_SEED` repeat a run, or make it longer.
#[test]
fn killed_managers_recover_all() {
    let (seconds, seed) = length_and_seed();
    let mut random = Random(seed);
    let folder = Folder::new();
    let path = folder.path("pool");
    let pool = Pool::create(&Backing::File { path: &path, bytes: BYTES }, CLIENTS).unwrap();
    let heap = Heap::new(&pool, crate::refs::torture::RESERVED).unwrap();
    let survivor = Survivor::new(&pool, &heap);
    let (mut kills, mut longest) = (0, Duration::ZERO);
    let start_manager = || Process::of_test(CHILD, &path, "manage", None);
    let kill = |child: Process| {
        child.signal(libc::SIGKILL);
        drop(child);
    };
    let end = Instant::now() + Duration::from_secs(seconds.div_ceil(2));
    while Instant::now() < end {
        let mut manager = start_manager();
        let workers = ["first", "second"].map(|role| Process::of_test(WORKER, &path, role, None));
        while work_has_begun(&pool) < kills + 2 && !manager.has_ended() {
            sleep(Duration::from_micros(100));
        }
        sleep(Duration::from_micros(random.below(2_000)));
        for worker in workers {
            kill(worker);
            kills += 1;
        }
        // It dies at any instruction of a recovery.
        sleep(Duration::from_micros(random.below(1_000)));
        kill(manager);
        let mut manager = start_manager();
        longest = longest.max(survivor.act(&mut random, 1000, cpu_time));
        // The manager has one.
        let free = || std::iter::from_fn(|| pool.join().ok()).collect::<Vec<_>>().len();
        let start = Instant::now();
        while free() < CLIENTS - 1 {
            assert!(start.elapsed() < PATIENCE && !manager.has_ended(), "seed {seed}: no recovery");
            yield_now();
        }
        manager.signal(libc::SIGKILL);
        manager.wait(Death::Kill);
        Manager::new(&pool).unwrap().pass().unwrap();
        survivor.check().unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
    println!(
        "{kills} clients were killed, longest operations of the survivor {longest:?} of CPU time"
    );
    assert!(kills > 0);
}
