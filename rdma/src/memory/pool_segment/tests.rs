//! Far spaces in pools of files.

use super::*;
use crate::PeerId;
use crate::memory::segment::ShmSegment;
use crate::memory::split_segment::SplitSegment;
use pool::{Heap, HugeUse, Manager, Pool};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A folder that is removed with all that it holds.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("farheap-pool-segment-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn pool(&self) -> PathBuf {
        self.0.join("pool")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options(folder: &Folder, far_bytes: u64) -> PoolOptions {
    PoolOptions { path: folder.pool(), pool_bytes: None, far_bytes, is_shared: false }
}

fn usage(folder: &Folder) -> HugeUse {
    let pool = Pool::open(&folder.pool()).unwrap();
    let heap = Heap::find(&pool).unwrap().expect("there is a heap");
    heap.huge_use()
}

fn refused(options: &PoolOptions) -> String {
    PoolSegment::open(options).expect_err("it is refused").to_string()
}

#[test]
fn words_come_back_also_across_pieces_and_all_is_freed() {
    let folder = Folder::new();
    let bytes = 2 * PIECE_BYTES + 3 * PAGE_BYTES;
    let segment = PoolSegment::open(&options(&folder, bytes)).unwrap();
    assert!(usage(&folder).used >= bytes);
    let data: Vec<u64> = (0..1024).collect();
    for offset in [0, PIECE_BYTES - 4096, PIECE_BYTES - 8, bytes - 8192] {
        segment.write(offset, &data).unwrap();
        let mut back = vec![0; data.len()];
        segment.read(offset, &mut back).unwrap();
        assert_eq!(back, data, "{offset}");
    }
    let there = segment.mapped(bytes - 8192, 8192).expect("it is mapped");
    // SAFETY: the range is mapped, and nobody writes it.
    assert_eq!(unsafe { there.at().cast::<u64>().add(5).read() }, 5);
    drop(there);
    assert!(segment.mapped(PIECE_BYTES - 4096, 8192).is_none(), "two blocks are not one range");
    assert!(segment.mapped(bytes, 8).is_none());
    assert!(segment.held_bytes() >= 3 * PART_BYTES && segment.held_bytes() < PIECE_BYTES);
    let held = || std::fs::metadata(folder.pool()).unwrap().blocks() * 512;
    let before = held();
    segment.punch(PIECE_BYTES - PART_BYTES, 2 * PART_BYTES).unwrap();
    assert!(held() + PART_BYTES <= before);
    let mut back = [1; 2];
    segment.read(PIECE_BYTES - 8, &mut back).unwrap();
    assert_eq!(back, [0; 2]);
    for (offset, words) in [(bytes, 1), (4, 1), (bytes - 8, 2), (u64::MAX - 7, 1)] {
        let outside = segment.read(offset, &mut vec![0; words]);
        assert!(matches!(outside, Err(RdmaError::OutOfSegment { .. })), "{offset}");
    }
    drop(segment);
    assert_eq!(usage(&folder).used, 0);
}

#[test]
fn several_far_spaces_share_a_pool_until_it_is_full() {
    let folder = Folder::new();
    let mib = 1 << 20;
    let room = PoolOptions { pool_bytes: Some(100 * mib), ..options(&folder, 50 * mib) };
    let first = PoolSegment::open(&room).unwrap();
    let second = PoolSegment::open(&options(&folder, 50 * mib)).unwrap();
    first.write(0, &[1]).unwrap();
    second.write(0, &[2]).unwrap();
    let mut back = [0];
    first.read(0, &mut back).unwrap();
    assert_eq!(back, [1]);
    let why = refused(&options(&folder, 50 * mib));
    assert!(why.contains("no room for 50 MiB of this heap"), "{why}");
    let why = refused(&PoolOptions { pool_bytes: Some(200 * mib), ..options(&folder, mib) });
    assert!(why.contains("not that for 200 MiB"), "{why}");
    assert!(second.close(Duration::from_secs(5), || {}));
    // The same program may use the pool again.
    let third = PoolSegment::open(&room).unwrap();
    drop((first, second, third));
    assert_eq!(usage(&folder).used, 0);
}

#[test]
fn what_is_no_pool_is_refused() {
    let folder = Folder::new();
    let mib = 1 << 20;
    std::fs::write(folder.pool(), [7; 8192]).unwrap();
    let why = refused(&options(&folder, mib));
    assert!(why.starts_with("memory pool") && why.contains("not a pool"), "{why}");
    std::fs::write(folder.pool(), []).unwrap();
    assert!(refused(&options(&folder, mib)).contains("too short"));
    let nowhere = PoolOptions { path: folder.0.join("no/pool"), ..options(&folder, mib) };
    assert!(refused(&nowhere).contains("No such file"));
    let whole = PoolOptions { path: folder.0.clone(), ..options(&folder, mib) };
    assert!(refused(&whole).contains("directory"));
    let null = PoolOptions { path: "/dev/null".into(), ..options(&folder, mib) };
    assert!(refused(&null).contains("neither a regular file nor a DAX device"));
    std::fs::remove_file(folder.pool()).unwrap();
    let huge = PoolOptions { pool_bytes: Some(u64::MAX), ..options(&folder, mib) };
    assert!(refused(&huge).contains("no memory for"));
    assert!(!folder.pool().exists());
    // A manager finds nothing to do after an orderly end.
    drop(PoolSegment::open(&options(&folder, mib)).unwrap());
    let pool = Pool::open(&folder.pool()).unwrap();
    assert_eq!(Manager::new(&pool).unwrap().pass().unwrap().clients, 0);
}

/// Two servers' memory over the same pool, each with two pages of its own behind it.
#[test]
fn servers_see_the_pool_and_behind_it_their_own_memory() {
    let folder = Folder::new();
    let bytes = 2 * PIECE_BYTES + 3 * PAGE_BYTES;
    let all = bytes + 2 * PAGE_BYTES;
    let shared = PoolOptions { is_shared: true, ..options(&folder, bytes) };
    let pool = Arc::new(PoolSegment::open(&shared).unwrap());
    let share = pool.share().unwrap();
    assert!(pool.share().is_none(), "once");
    let server = |n| {
        let mut memory = ShmSegment::create(PeerId::Server(n), all).unwrap();
        let fd = share.fd.try_clone().unwrap();
        memory.lay_over(fd, share.pieces.clone()).unwrap();
        Arc::new(memory)
    };
    let servers = [0, 1].map(server);
    // As the VM has it, to which a server lends all of its memory.
    let vm = servers.each_ref().map(|server| SplitSegment::new(pool.clone(), server.clone()));
    assert_eq!((vm[0].bytes(), vm[0].is_alive()), (all, true));
    let data: Vec<u64> = (1..=1024).collect();
    for offset in
        [0, PIECE_BYTES - 4096, 2 * PIECE_BYTES - 8, bytes - 8192, bytes - 8, bytes - 4096]
    {
        vm[0].write(offset, &data).unwrap();
        for (n, segment) in vm.iter().enumerate() {
            let mut back = vec![0; data.len()];
            segment.read(offset, &mut back).unwrap();
            // What is behind the pool is the first server's.
            let in_pool = if n == 0 { 1024 } else { (bytes - offset).min(8192) as usize / 8 };
            assert_eq!(back[..in_pool], data[..in_pool], "{n} {offset}");
            assert!(back[in_pool..].iter().all(|word| *word == 0), "{n} {offset}");
            // An agent sees the same.
            let seen = (0..1024).map(|word| servers[n].load(offset + 8 * word));
            assert!(seen.eq(back), "{n} {offset}");
        }
    }
    // An agent writes, at both sides of the border of two pieces.
    for (n, offset) in [(0, PIECE_BYTES - 8), (1, PIECE_BYTES), (1, bytes)] {
        servers[n].reserve(offset, 8).unwrap();
        servers[n].store(offset, 70 + n as u64);
        let mut back = [0];
        vm[n].read(offset, &mut back).unwrap();
        assert_eq!(back, [70 + n as u64]);
    }
    let at = |offset: u64| vm.each_ref().map(|segment| segment.mapped(offset, 4096).is_some());
    assert_eq!(at(bytes - 4096), [true; 2]);
    assert_eq!(at(bytes), [true; 2]);
    assert!(vm[0].mapped(bytes - 4096, 8192).is_none(), "two memories are not one range");
    // What agents alone have written is memory of the pool, too.
    let before = pool.held_bytes();
    servers[0].store(PIECE_BYTES / 2, 1);
    assert_eq!(pool.held_bytes(), before + PART_BYTES);
    // The holes of one are those of the others, and no further.
    vm[1].punch(bytes - 4096, 8192).unwrap();
    assert_eq!(servers[0].load(bytes - 4096), 0);
    assert_eq!((servers[1].load(bytes), servers[0].load(bytes)), (0, 513));
    servers[0].punch(PIECE_BYTES - 4096, 8192).unwrap();
    assert_eq!([8, 0].map(|back| servers[1].load(PIECE_BYTES - back)), [0, 0]);
    assert!(servers[0].load(PIECE_BYTES - 4096 - 8) == 0 && servers[0].load(0) == 1);
    drop(share);
    drop((vm, servers));
    drop(pool);
    assert_eq!(usage(&folder).used, 0);
}

/// Not even by its own process.
#[test]
fn memory_that_another_process_has_is_not_freed() {
    let folder = Folder::new();
    let shared = PoolOptions { is_shared: true, ..options(&folder, PIECE_BYTES) };
    let with_sleeper = || {
        let pool = PoolSegment::open(&shared).unwrap();
        // As good as one that has it mapped.
        let mut sleeper = Command::new("sleep");
        let sleeper = sleeper.arg("1000").stdin(pool.share().unwrap().fd).spawn().unwrap();
        (pool, sleeper)
    };
    let end = |sleeper: &mut std::process::Child| {
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    };
    let (pool, mut sleeper) = with_sleeper();
    assert!(pool.close(Duration::from_secs(5), || end(&mut sleeper)));
    assert_eq!(usage(&folder).used, 0);
    let (pool, mut sleeper) = with_sleeper();
    assert!(!pool.close(Duration::from_secs(5), || {}));
    drop(pool);
    let why = refused(&options(&folder, PIECE_BYTES));
    assert!(why.contains("no room"), "{why}");
    end(&mut sleeper);
    // This process lives, so its identity does.
    assert!(usage(&folder).used >= PIECE_BYTES);
}
