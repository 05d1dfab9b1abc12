//! Budgets that change, and pools of several pagers, in one process and in many.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rdma::{PeerId, Segment, ShmSegment};
use swap::{
    Membership, PAGE_BYTES, Page, PageRange, Pager, PagerOptions, PoolChange, PoolMember,
    PoolOptions, SwapError,
};

/// A pager whose budget may change; `None` where userfaultfd is not allowed.
fn pager(pages: usize, budget: usize) -> Option<Arc<Pager>> {
    let bytes = pages * PAGE_BYTES;
    let segment = Arc::new(ShmSegment::create(PeerId::Server(0), bytes as u64).unwrap());
    let options = PagerOptions {
        far_bytes: bytes,
        budget_bytes: budget * PAGE_BYTES,
        budget_changes: true,
        ..PagerOptions::default()
    };
    match Pager::new(options, vec![segment as Arc<dyn Segment>]) {
        Ok(pager) => Some(pager),
        Err(error @ SwapError::Userfaultfd { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn word(pager: &Pager, page: usize) -> &AtomicU64 {
    // SAFETY: inside the far space, aligned, and as long-lived as the pager.
    unsafe { AtomicU64::from_ptr(pager.address(Page(page)).cast::<u64>()) }
}

/// Waits until something holds.
fn until(what: &str, limit: Duration, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Ends other threads, also when a test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_smaller_budget_is_reached_in_the_background_and_a_larger_one_at_once() {
    let Some(pager) = pager(4096, 4096) else { return };
    (0..4096).for_each(|page| word(&pager, page).store(page as u64, Ordering::SeqCst));
    assert_eq!((pager.resident_pages(), pager.limit_pages()), (4096, 4096));
    assert_eq!(pager.set_budget(1000), 1000);
    // No thread touches anything meanwhile.
    until("it has gone", SOON, || pager.limit_pages() == 1000 && pager.resident_pages() <= 1000);
    assert_eq!(pager.set_budget(3000), 3000);
    assert_eq!(pager.limit_pages(), 3000);
    assert!((0..4096).all(|page| word(&pager, page).load(Ordering::SeqCst) == page as u64));
    assert!(pager.resident_pages() > 2500, "{} fit", pager.resident_pages());
    assert_eq!(pager.set_budget(1 << 40), 4096);
    assert_eq!(pager.set_budget(0), 256);
    until("it has gone", SOON, || pager.limit_pages() == 256);
}

#[test]
fn no_write_is_lost_while_the_budget_changes() {
    const THREADS: usize = 3;
    let Some(pager) = pager(4096, 2000) else { return };
    let stop = AtomicBool::new(false);
    let counted = thread::scope(|scope| {
        let _stop = Stop(&stop);
        let count = |seed: u64| {
            let (pager, stop) = (&pager, &stop);
            move || {
                let mut random = StdRng::seed_from_u64(seed);
                let mut counts = vec![0_u64; 4096];
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..64 {
                        let page = random.random_range(0..4096);
                        counts[page] += 1;
                        word(pager, page).fetch_add(1, Ordering::Relaxed);
                    }
                }
                counts
            }
        };
        let threads: Vec<_> = (0..THREADS as u64).map(|seed| scope.spawn(count(seed))).collect();
        let mut random = StdRng::seed_from_u64(99);
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            let budget = pager.set_budget(random.random_range(256..4096));
            for _ in 0..random.random_range(1..200) {
                // In this order: the limit is lowered only after the resident pages.
                let limit = pager.limit_pages().max(budget);
                let resident = pager.resident_pages();
                assert!(resident <= limit, "{resident} pages of {limit}");
                thread::sleep(Duration::from_micros(50));
            }
        }
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for page in 0..4096 {
        let expected: u64 = counted.iter().map(|counts| counts[page]).sum();
        assert_eq!(word(&pager, page).load(Ordering::Relaxed), expected, "page {page}");
    }
    assert!(pager.stats().evicted_pages > 0);
}

#[test]
fn pins_hold_the_budget_up() {
    let Some(pager) = pager(4096, 2000) else { return };
    let pinned = PageRange::new(Page(100), 600);
    pager.pin(pinned).unwrap();
    assert_eq!(pager.set_budget(500), 1200);
    assert!(matches!(pager.pin(PageRange::new(Page(0), 1)), Err(SwapError::PinnedTooMuch { .. })));
    assert!(pinned.pages().all(|page| pager.is_resident(page)));
    pager.unpin(pinned);
    assert_eq!(pager.set_budget(500), 500);
}

#[test]
#[should_panic(expected = "does not change")]
fn a_budget_that_is_said_to_stay_stays() {
    let segment = Arc::new(ShmSegment::create(PeerId::Server(0), 1 << 22).unwrap());
    let options =
        PagerOptions { far_bytes: 1 << 22, budget_bytes: 1 << 21, ..PagerOptions::default() };
    let pager = Pager::new(options, vec![segment as Arc<dyn Segment>]);
    let Ok(pager) = pager else { panic!("skipped, where a budget does not change") };
    pager.set_budget(700);
}

/// A folder of this test alone.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("farheap-pool-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Folder(folder)
    }

    fn pool(&self, spec: &str) -> PoolOptions {
        PoolOptions { folder: self.0.clone(), ..spec.parse().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        // SAFETY: no memory is involved.
        self.0.join(format!("farheap-pool.{}.{name}", unsafe { libc::geteuid() }))
    }

    fn refusal(&self, spec: &str) -> String {
        match Membership::join(&self.pool(spec), 1 << 30) {
            Err(error @ SwapError::Pool { .. }) => error.to_string(),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("joined {spec}"),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A member with a program that reads among its first pages, as many as are wanted, again and again.
struct Member {
    wanted: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    reader: Option<thread::JoinHandle<()>>,
    changes: Arc<Mutex<Vec<PoolChange>>>,
    pager: Arc<Pager>,
    // Dropped last: gives the memory back.
    pool: Option<PoolMember>,
}

impl Member {
    fn new(pool: &PoolOptions, wanted: usize) -> Option<Member> {
        let member = Membership::join(pool, FAR_PAGES * PAGE_BYTES).unwrap();
        let pager = pager(FAR_PAGES, member.budget_bytes() / PAGE_BYTES)?;
        let changes = Arc::new(Mutex::new(Vec::new()));
        let report = changes.clone();
        let report = Box::new(move |change| report.lock().unwrap().push(change));
        let pool = Some(member.serve(pager.clone(), report).unwrap());
        let wanted = Arc::new(AtomicUsize::new(wanted));
        let stop = Arc::new(AtomicBool::new(false));
        let (their_pager, theirs, their_stop) = (pager.clone(), wanted.clone(), stop.clone());
        let reader = thread::spawn(move || {
            let mut random = StdRng::seed_from_u64(5);
            while !their_stop.load(Ordering::Relaxed) {
                match theirs.load(Ordering::Relaxed) {
                    0 => thread::sleep(Duration::from_millis(1)),
                    pages => {
                        word(&their_pager, random.random_range(0..pages)).load(Ordering::Relaxed);
                    }
                }
            }
        });
        let reader = Some(reader);
        Some(Member { wanted, stop, reader, changes, pager, pool })
    }

    fn budget(&self) -> usize {
        self.pager.budget_pages()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }
}

/// The sum of all limits, if nothing changed while they were read.
fn sum_of_limits(limits: &dyn Fn() -> Vec<usize>) -> Option<usize> {
    let (first, second) = (limits(), limits());
    (first == second).then(|| first.iter().sum())
}

#[test]
fn members_share_fairly_and_never_have_more_than_the_pool() {
    let folder = Folder::new();
    let pool = folder.pool("fair=16m");
    let Some(first) = Member::new(&pool, 8000) else { return };
    assert_eq!(first.budget(), POOL_PAGES, "alone it has all");
    until("it is full", SOON, || first.pager.resident_pages() > POOL_PAGES * 7 / 8);
    let second = Member::new(&folder.pool("fair"), 8000).unwrap();
    let members = [&first, &second];
    let limits = || members.iter().map(|member| member.pager.limit_pages()).collect::<Vec<_>>();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            let mut seen = 0;
            while !stop.load(Ordering::Relaxed) {
                if let Some(sum) = sum_of_limits(&limits) {
                    assert!(sum <= POOL_PAGES, "{:?} of {POOL_PAGES}", limits());
                    seen += 1;
                }
                for member in members {
                    let (resident, limit) =
                        (member.pager.resident_pages(), member.pager.limit_pages());
                    assert!(resident <= limit || member.pager.limit_pages() != limit);
                }
                thread::sleep(Duration::from_micros(100));
            }
            assert!(seen > 1000, "{seen}");
        });
        let near = |pages: usize, goal: usize| pages.abs_diff(goal) <= goal / 8;
        until("both want all, each has half", SOON, || {
            near(first.budget(), POOL_PAGES / 2) && near(second.budget(), POOL_PAGES / 2)
        });
        // One that needs little leaves the rest.
        second.wanted.store(500, Ordering::Relaxed);
        until("the other has what it does not need", Duration::from_secs(60), || {
            first.budget() > POOL_PAGES - 1000
        });
        thread::sleep(Duration::from_secs(3));
        assert!(second.budget() >= 400, "it keeps what it needs: {}", second.budget());
        // And gets it back when it needs more.
        second.wanted.store(8000, Ordering::Relaxed);
        until("each has half again", SOON, || {
            near(first.budget(), POOL_PAGES / 2) && near(second.budget(), POOL_PAGES / 2)
        });
    });
    assert_eq!(second.pool.as_ref().unwrap().status().members, 2);
    drop(second);
    until("one is left and has all", SOON, || first.budget() == POOL_PAGES);
    assert_eq!(first.pool.as_ref().unwrap().status().members, 1);
    let changes = first.changes.lock().unwrap().clone();
    assert!(changes.iter().any(|c| matches!(c, PoolChange::Budget { members: 2, .. })));
    assert!(!changes.iter().any(|c| matches!(c, PoolChange::Trouble(_))), "{changes:?}");
    drop(first);
    assert!(!folder.file("fair").exists(), "the last one takes the file with him");
}

#[test]
fn a_removed_file_is_made_again_and_nobody_has_too_much() {
    let folder = Folder::new();
    let pool = folder.pool("gone=16m");
    let Some(first) = Member::new(&pool, 8000) else { return };
    let second = Member::new(&pool, 8000).unwrap();
    until("each has a part", SOON, || second.budget() > POOL_PAGES / 4);
    fs::remove_file(folder.file("gone")).unwrap();
    until("it is there again", SOON, || folder.file("gone").exists());
    let status = |member: &Member| member.pool.as_ref().unwrap().status().members;
    until("both are in it", SOON, || status(&first) == 2 && status(&second) == 2);
    let limits = || vec![first.pager.limit_pages(), second.pager.limit_pages()];
    for _ in 0..3000 {
        let sum = sum_of_limits(&limits);
        assert!(sum.is_none_or(|sum| sum <= POOL_PAGES), "{:?}", limits());
        thread::sleep(Duration::from_millis(1));
    }
    drop(second);
    until("one is left and has all", SOON, || first.budget() == POOL_PAGES);
}

#[test]
fn pools_that_cannot_be_joined_say_why() {
    let folder = Folder::new();
    let says = |spec: &str, why: &str| {
        let refusal = folder.refusal(spec);
        assert!(refusal.starts_with("local memory pool ") && refusal.contains(why), "{refusal}");
    };
    says("none", "it has no members; the first one must give its size: none=2g");
    let member = Membership::join(&folder.pool("small=2m"), 1 << 30).unwrap();
    assert_eq!(member.budget_bytes(), 2 << 20);
    says("small=3m", "it has 2097152 bytes, not 3145728 (1 member(s); omit the size");
    // The second one waits in vain for the first, which does not manage its budget.
    says("small", "its 1 member(s) have not released memory for this one within 10s");
    let waiting = folder.pool("small");
    thread::scope(|scope| {
        let second = scope.spawn(|| Membership::join(&waiting, 1 << 30));
        thread::sleep(Duration::from_millis(200));
        says("small", "its 512 pages are too few for more than its 2 member(s)");
        drop(member);
        assert!(second.join().unwrap().is_ok());
    });
    // A pool without members imposes nothing on the next one.
    assert!(Membership::join(&folder.pool("small=3m"), 1 << 30).is_ok());

    let file = |name: &str, bytes: &[u8]| {
        fs::write(folder.file(name), bytes).unwrap();
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(folder.file(name), private).unwrap();
    };
    file("short", b"farheap");
    says("short=2m", "its file is not that of a pool");
    file("other", &[7; 4096]);
    says("other=2m", "its file is not that of a pool");
    let keep = Membership::join(&folder.pool("old=2m"), 1 << 30).unwrap();
    let old = fs::File::options().write(true).open(folder.file("old")).unwrap();
    old.write_all_at(&[9], 16).unwrap();
    says("old=2m", "its file is of another version of Farheap");
    drop(keep);
    file("open", b"");
    let open = fs::Permissions::from_mode(0o622);
    fs::set_permissions(folder.file("open"), open).unwrap();
    says("open=2m", "belongs to another user, or other users may write to it");
    std::os::unix::fs::symlink("/dev/null", folder.file("link")).unwrap();
    says("link=2m", "is a link");
    fs::create_dir(folder.file("folder")).unwrap();
    says("folder=2m", "s a directory");
    file("locked", b"");
    let locked = fs::File::open(folder.file("locked")).unwrap();
    locked.lock().unwrap();
    says("locked=2m", "has held the lock");
    // The check of the file's owner can only be tested by a process that may change owners.
    file("foreign", b"");
    if std::os::unix::fs::chown(folder.file("foreign"), Some(1), None).is_ok() {
        says("foreign=2m", "belongs to another user");
    }
    let nowhere = PoolOptions { folder: "/nowhere".into(), ..folder.pool("a=2m") };
    assert!(Membership::join(&nowhere, 1 << 30).is_err());
}

#[test]
fn a_pool_has_a_limited_number_of_members() {
    let folder = Folder::new();
    let pool = folder.pool("many=64m");
    // Each has the least that there is, since it wants no more.
    let members: Vec<_> = (0..63).map(|_| Membership::join(&pool, 1 << 20).unwrap()).collect();
    assert!(folder.refusal("many").contains("it has 63 members, the maximum"));
    drop(members);
    assert!(!folder.file("many").exists());
}

/// A member in a process of its own. It is this program, which runs one test in it: the one below.
struct Process {
    child: Child,
    status: PathBuf,
}

impl Process {
    fn start(folder: &Folder, number: usize, spec: &str) -> Process {
        let status = folder.0.join(format!("status-{number}"));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["a_member_in_a_process_of_its_own", "--exact", "--nocapture"])
            .env(FOLDER_VARIABLE, &folder.0)
            .env(SPEC_VARIABLE, spec)
            .env(STATUS_VARIABLE, &status)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let process = Process { child, status };
        until("it has joined", SOON, || process.limit() > 0);
        process
    }

    fn limit(&self) -> usize {
        fs::read(&self.status).map_or(0, |bytes| match bytes.try_into() {
            Ok(bytes) => usize::from_le_bytes(bytes),
            Err(_) => 0,
        })
    }

    fn signal(&self, signal: i32) {
        // SAFETY: no memory is involved; the child was not waited for, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_member_in_a_process_of_its_own() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let spec = std::env::var(SPEC_VARIABLE).unwrap();
    let status = std::env::var_os(STATUS_VARIABLE).unwrap();
    let pool = PoolOptions { folder: folder.into(), ..spec.parse().unwrap() };
    let member = Member::new(&pool, 8000).unwrap();
    let status = fs::File::create(Path::new(&status)).unwrap();
    loop {
        let (resident, limit) = (member.pager.resident_pages(), member.pager.limit_pages());
        assert!(resident <= limit || member.pager.limit_pages() != limit);
        status.write_all_at(&limit.to_le_bytes(), 0).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn processes_come_go_and_are_killed_and_never_have_more_than_the_pool() {
    if pager(256, 256).is_none() {
        return;
    }
    let folder = Folder::new();
    let first = Process::start(&folder, 1, "procs=16m");
    assert_eq!(first.limit(), POOL_PAGES);
    let second = Process::start(&folder, 2, "procs");
    let third = Process::start(&folder, 3, "procs=16m");
    let (stop, ended) = (AtomicBool::new(false), AtomicUsize::new(0));
    let statuses: Vec<PathBuf> = (1..=3).map(|n| folder.0.join(format!("status-{n}"))).collect();
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        let (ended, stop) = (&ended, &stop);
        scope.spawn(move || {
            let limit = |path: &PathBuf| {
                let bytes = fs::read(path).ok().and_then(|bytes| bytes.try_into().ok());
                bytes.map_or(0, usize::from_le_bytes)
            };
            let mut seen = 0;
            while !stop.load(Ordering::Relaxed) {
                let before = ended.load(Ordering::SeqCst);
                let limits = || statuses[before..].iter().map(limit).collect::<Vec<_>>();
                // The reported limits are a millisecond old, or more on a busy machine.
                let first = limits();
                thread::sleep(Duration::from_millis(30));
                if first == limits() && ended.load(Ordering::SeqCst) == before {
                    let sum: usize = first.iter().sum();
                    assert!(sum <= POOL_PAGES, "{first:?}");
                    seen += 1;
                }
            }
            assert!(seen > 20, "{seen}");
        });
        let near = |process: &Process, goal: usize| process.limit().abs_diff(goal) <= goal / 8;
        until("each has a third", SOON, || {
            [&first, &second, &third].iter().all(|process| near(process, POOL_PAGES / 3))
        });
        // From now on the status of the first one is not counted: it has ended.
        ended.store(1, Ordering::SeqCst);
        first.kill();
        until("each has half", SOON, || {
            near(&second, POOL_PAGES / 2) && near(&third, POOL_PAGES / 2)
        });
        // A stopped member is still alive, and keeps its memory.
        second.signal(libc::SIGSTOP);
        thread::sleep(Duration::from_secs(3));
        assert!(near(&third, POOL_PAGES / 2), "{}", third.limit());
        ended.store(2, Ordering::SeqCst);
        second.kill();
        until("one has all", SOON, || third.limit() == POOL_PAGES);
    });
    third.kill();
    // No process cleaned up, and nothing stands in the way.
    assert!(folder.file("procs").exists());
    let next = Membership::join(&folder.pool("procs=8m"), 1 << 30).unwrap();
    assert_eq!(next.budget_bytes(), 8 << 20);
}

const FAR_PAGES: usize = 16384;
/// 16 MiB.
const POOL_PAGES: usize = 4096;
/// On a machine that has other things to do.
const SOON: Duration = Duration::from_secs(30);
const FOLDER_VARIABLE: &str = "FARHEAP_TEST_POOL_FOLDER";
const SPEC_VARIABLE: &str = "FARHEAP_TEST_POOL";
const STATUS_VARIABLE: &str = "FARHEAP_TEST_STATUS";
