//! What a VM with far memory leaves behind, how it dies, and how much memory it keeps: seen from outside.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

use bench::jdk::Jdk;
use bench::scratch::Scratch;
use bench::vm::{Setting, Vm};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Keeps changing a list of 24 MB and says so once a round; ends by itself.
const BUSY: &str = r#"
public class Busy {
    public static void main(String[] args) {
        int rounds = Integer.parseInt(args[0]);
        Object[][] kept = new Object[24][];
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < kept.length; i++) {
                Object[] row = new Object[8192];
                for (int j = 0; j < row.length; j++) {
                    row[j] = new int[] {round, i, j};
                }
                kept[i] = row;
            }
            long sum = 0;
            for (Object[] row : kept) {
                for (Object cell : row) {
                    sum += ((int[]) cell)[2];
                }
            }
            System.out.println("round " + round + " " + sum);
        }
    }
}
"#;

const HEAP_BYTES: u64 = 64 << 20;
const LOCAL_BYTES: u64 = HEAP_BYTES / 4;
/// What resident heap pages may exceed the budget by: pages on their way in or out.
const SLACK_BYTES: u64 = 1 << 20;

/// A running VM; killed when dropped.
struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    scratch: Scratch,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `Busy` under Mako at 25 % local memory with two servers.
fn start(label: &str, rounds: u32) -> Running {
    let scratch = Scratch::new(label).unwrap();
    let jdk = Jdk::find().unwrap();
    let source = scratch.path().join("Busy.java");
    std::fs::write(&source, BUSY).unwrap();
    let classes = scratch.folder("classes").unwrap();
    jdk.compile(&[source], &classes).unwrap();
    let setting = Setting {
        collector: "mako".into(),
        local_memory: "25%".into(),
        memory_servers: 2,
        options: vec![format!("-Xmx{}m", HEAP_BYTES >> 20)],
    };
    let mut command: Command = Vm::find(Some(vm_path())).unwrap().command(&setting, &jdk);
    command.arg("-cp").arg(&classes).arg("Busy").arg(rounds.to_string());
    command.env("TMPDIR", scratch.folder("tmp").unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    let mut running = Running { child, lines, scratch };
    // The servers work and the heap is in use from here on.
    for _ in 0..2 {
        let mut line = String::new();
        running.lines.read_line(&mut line).unwrap();
        assert!(line.starts_with("round "), "{line:?}, stderr {}", running.stderr());
    }
    running
}

impl Running {
    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything on standard error until it is closed.
    fn stderr(&mut self) -> String {
        let _ = self.child.kill();
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn servers(&self) -> Vec<u32> {
        let servers = children(self.pid(), "memory-server");
        assert_eq!(servers.len(), 2, "two memory servers of VM {}", self.pid());
        servers
    }
}

/// `vm` in the folder above the test's own.
fn vm_path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("vm")
}

/// Processes with this parent and name.
fn children(parent: u32, name: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let Some((head, tail)) = stat.rsplit_once(") ") else {
            return false;
        };
        let ppid = tail.split(' ').nth(1).and_then(|field| field.parse().ok());
        head.ends_with(&format!("({name}")) && ppid == Some(parent)
    };
    pids.filter(is_child).collect()
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, tail)| !tail.starts_with('Z'))
}

fn wait_until(what: &str, limit: Duration, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mounts").unwrap()
}

#[test]
fn a_killed_vm_leaves_nothing_behind() {
    let shared = Path::new("/dev/shm");
    let (segments, mounted) = (names_in(shared), mounts());
    let mut vm = start("killed", 100_000);
    let servers = vm.servers();
    vm.child.kill().unwrap();
    vm.child.wait().unwrap();
    let limit = Duration::from_secs(3);
    wait_until("memory servers end", limit, || !servers.iter().any(|pid| is_alive(*pid)));
    let left: Vec<String> = names_in(shared).difference(&segments).cloned().collect();
    assert!(left.is_empty(), "shared segments left: {left:?}");
    assert_eq!(mounts(), mounted);
    assert_eq!(names_in(&vm.scratch.path().join("tmp")), BTreeSet::new());
}

#[test]
fn a_vm_whose_server_is_killed_ends_with_one_line() {
    let mut vm = start("orphan", 100_000);
    let servers = vm.servers();
    // Its output must not hold it up.
    let stdout = std::mem::replace(&mut vm.lines, BufReader::new(empty_pipe()));
    let drain = std::thread::spawn(move || stdout.lines().map_while(Result::ok).count());
    let killed = Command::new("kill").args(["-9", &servers[1].to_string()]).status().unwrap();
    assert!(killed.success());
    let start = Instant::now();
    let status = loop {
        if let Some(status) = vm.child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "the VM goes on without its server");
        std::thread::sleep(Duration::from_millis(10));
    };
    drain.join().unwrap();
    let text = vm.stderr();
    assert_eq!(status.code(), Some(1), "{text}");
    assert_eq!(text.lines().count(), 1, "one clear line: {text}");
    assert!(text.contains("memory server"), "{text}");
    wait_until("the other server ends", Duration::from_secs(3), || !is_alive(servers[0]));
}

/// Standard output of a process that ends at once.
fn empty_pipe() -> std::process::ChildStdout {
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let pipe = child.stdout.take().unwrap();
    child.wait().unwrap();
    pipe
}

#[test]
fn resident_heap_pages_stay_within_the_budget() {
    let mut vm = start("budget", 14);
    let (mut samples, mut most) = (0, 0);
    let mut line = String::new();
    loop {
        if let Some(bytes) = resident_heap_bytes(vm.pid()) {
            samples += 1;
            most = most.max(bytes);
        }
        line.clear();
        if vm.lines.read_line(&mut line).unwrap() == 0 {
            break;
        }
    }
    assert!(vm.child.wait().unwrap().success());
    assert!(samples >= 5, "only {samples} samples");
    assert!(most > LOCAL_BYTES / 2, "the heap was found: {most} bytes resident at most");
    assert!(most <= LOCAL_BYTES + SLACK_BYTES, "{most} bytes resident, budget {LOCAL_BYTES}");
}

/// Resident bytes of mappings that a userfaultfd watches (`um` in their flags): the heap.
fn resident_heap_bytes(pid: u32) -> Option<u64> {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    let (mut resident_kib, mut sum_kib) = (0, 0);
    for line in smaps.lines() {
        if let Some(rest) = line.strip_prefix("Rss:") {
            resident_kib = rest.trim().trim_end_matches(" kB").parse().ok()?;
        } else if let Some(flags) = line.strip_prefix("VmFlags:")
            && flags.split_whitespace().any(|flag| flag == "um")
        {
            sum_kib += resident_kib;
        }
    }
    (sum_kib > 0).then_some(sum_kib << 10)
}
