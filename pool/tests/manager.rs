//! The program `pool-manager` and clients that are killed, as users start them.

use pool::{Backing, Heap, Pool, PoolError, Refs};
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const MANAGER: &str = env!("CARGO_BIN_EXE_pool-manager");
const PATH: &str = "FARHEAP_POOL_MANAGED";
const BYTES: u64 = 64 << 20;
const RESERVED: u64 = 16 << 10;
const CLIENTS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(20);

/// A pool in a file, and processes that use it: all of them end with it.
struct Stage {
    path: PathBuf,
    pool: Pool,
    processes: Vec<Child>,
}

impl Stage {
    fn new(name: &str) -> Stage {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { shared.into() } else { env::temp_dir() };
        let path = folder.join(format!("farheap-manager-{}-{name}", std::process::id()));
        let pool = Pool::create(&Backing::File { path: &path, bytes: BYTES }, CLIENTS).unwrap();
        Stage { path, pool, processes: Vec::new() }
    }

    /// Starts a client that holds objects, and waits until it does.
    fn start_client(&mut self) {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture"]).env(PATH, &self.path);
        self.processes.push(command.stdout(Stdio::null()).spawn().unwrap());
        let heap = Heap::new(&self.pool, RESERVED).unwrap();
        let refs = Refs::new(&heap, self.pool.data()).unwrap();
        let client = refs.join().unwrap();
        wait_until(|| client.read().unwrap().persistent(0).unwrap().is_some());
    }

    fn start_manager(&mut self) {
        let mut command = Command::new(MANAGER);
        command.args(["--interval", "1"]).arg(&self.path).stdout(Stdio::null());
        self.processes.push(command.spawn().unwrap());
    }

    /// Kills the last process that was started.
    fn kill(&mut self) {
        let mut process = self.processes.pop().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// How many identities are free.
    fn free(&self) -> usize {
        std::iter::from_fn(|| self.pool.join().ok()).collect::<Vec<_>>().len()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        while !self.processes.is_empty() {
            self.kill();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it takes too long");
        sleep(Duration::from_millis(1));
    }
}

fn once(path: &Path) -> Output {
    Command::new(MANAGER).arg("--once").arg(path).output().unwrap()
}

/// What a process does that another test started. By itself it passes.
#[test]
fn child() {
    let Some(path) = env::var_os(PATH) else { return };
    let pool = Pool::open(Path::new(&path)).unwrap();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    // Most of the large blocks.
    let held: Vec<_> = (0..20).map(|_| client.alloc(500 << 10, 1).unwrap()).collect();
    client.set_persistent(0, Some(&held[0])).unwrap();
    sleep(PATIENCE);
}

#[test]
fn a_killed_client_is_recovered_once() {
    let mut stage = Stage::new("once");
    stage.start_client();
    assert_eq!(String::from_utf8(once(&stage.path).stdout).unwrap(), "");
    stage.kill();
    assert_eq!(stage.free(), CLIENTS - 1);
    let said = once(&stage.path);
    assert!(said.status.success() && said.stderr.is_empty());
    assert_eq!(String::from_utf8(said.stdout).unwrap(), "recovered 1 clients, 0 changes\n");
    assert_eq!(stage.free(), CLIENTS);
    // The persistent root has kept one object; the rest is free.
    let heap = Heap::find(&stage.pool).unwrap().unwrap();
    let refs = Refs::find(&heap).unwrap().unwrap();
    let client = refs.join().unwrap();
    assert!(client.read().unwrap().persistent(0).unwrap().is_some());
    let held: Vec<_> = (0..20).map(|_| client.alloc(500 << 10, 0).unwrap()).collect();
    assert_eq!(held.len(), 20);
}

#[test]
fn a_manager_that_is_killed_is_replaced_by_the_next_one() {
    let mut stage = Stage::new("killed");
    for _ in 0..10 {
        stage.start_manager();
        stage.start_client();
        stage.kill();
        // The manager dies at any instruction of its recovery.
        stage.kill();
        stage.start_manager();
        // The pool is not full any more when it has recovered both.
        wait_until(|| stage.free() == CLIENTS - 1);
        stage.kill();
        assert!(once(&stage.path).status.success());
        assert_eq!(stage.free(), CLIENTS);
    }
}

/// Nobody reads what it says any more, and its pool has a name that is no text.
#[test]
fn a_manager_goes_on_when_nobody_listens() {
    let mut stage = Stage::new("unheard");
    let mut name = stage.path.clone().into_os_string();
    name.push(OsStr::from_bytes(b"-\xff"));
    std::fs::rename(&stage.path, &name).unwrap();
    stage.path = name.into();
    let mut command = Command::new(MANAGER);
    command.args(["--interval", "1"]).arg(&stage.path);
    let mut manager = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((manager.stdout.take(), manager.stderr.take()));
    stage.processes.push(manager);
    for _ in 0..2 {
        stage.start_client();
        stage.kill();
        wait_until(|| stage.free() == CLIENTS - 1);
    }
    assert!(stage.processes[0].try_wait().unwrap().is_none(), "the manager lives");
}

#[test]
fn what_users_do_wrong_is_said() {
    let run = |arguments: &[&str]| Command::new(MANAGER).args(arguments).output().unwrap();
    for wrong in [
        &[][..],
        &["--interval"],
        &["--interval", "0", "a"],
        &["--interval", "x", "a"],
        &["--twice", "a"],
        &["a", "b"],
    ] {
        let said = run(wrong);
        assert_eq!(said.status.code(), Some(2), "{wrong:?}");
        assert!(String::from_utf8(said.stderr).unwrap().contains("Usage: "), "{wrong:?}");
    }
    assert!(run(&["--help"]).status.success());
    let missing = run(&["/nonexistent/pool"]);
    assert_eq!(missing.status.code(), Some(1));
    let stage = Stage::new("full");
    let clients: Vec<_> = (0..CLIENTS).map(|_| stage.pool.join().unwrap()).collect();
    assert!(matches!(stage.pool.join(), Err(PoolError::Full { .. })));
    let full = once(&stage.path);
    assert_eq!(full.status.code(), Some(1));
    assert!(String::from_utf8(full.stderr).unwrap().contains("all 4 identities"));
    drop(clients);
}
