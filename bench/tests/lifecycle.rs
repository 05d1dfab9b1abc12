//! The files and processes that a VM with far memory leaves behind, how it dies, how much memory it keeps, and what
//! it reports about itself: seen from outside.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/pool_file.rs"]
mod pool_file;
#[path = "support/programs.rs"]
mod programs;
#[path = "support/scrape.rs"]
mod scrape;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use pool_file::PoolFile;
use programs::program;
use scrape::scrape;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
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
/// How far resident heap pages may exceed the budget: pages on their way in or out.
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
    start_with(label, rounds, &[])
}

/// The same with more options.
fn start_with(label: &str, rounds: u32, options: &[&str]) -> Running {
    let scratch = Scratch::new(label).unwrap();
    let jdk = Jdk::find().unwrap();
    let classes = scratch.folder("classes").unwrap();
    jdk.compile_text("Busy", BUSY, &classes).unwrap();
    let setting = Setting {
        collector: "mako".into(),
        local_memory: "25%".into(),
        memory_servers: 2,
        options: vec![format!("-Xmx{}m", HEAP_BYTES >> 20)],
    };
    let mut command: Command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &jdk);
    command.args(options);
    command.arg("-cp").arg(&classes).arg("Busy").arg(rounds.to_string());
    command.env("TMPDIR", scratch.folder("tmp").unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    let mut running = Running { child, lines, scratch };
    // The servers work and the heap is in use from now on.
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

    /// Where metrics are served, which it says first.
    fn metrics_address(&mut self) -> String {
        let mut line = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        // It is written before the program begins.
        BufReader::with_capacity(1, stderr).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("metrics at http://").unwrap();
        address.strip_suffix("/metrics").unwrap().to_string()
    }

    fn servers(&self) -> Vec<u32> {
        let servers = children(self.pid(), "memory-server");
        assert_eq!(servers.len(), 2, "two memory servers of VM {}", self.pid());
        servers
    }
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
        assert!(start.elapsed() < Duration::from_secs(5), "the VM continues without its server");
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
        if let Some(bytes) = while_stopped(vm.pid(), resident_heap_bytes) {
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

/// Looks at a process none of whose threads runs meanwhile: pages that move would be counted twice.
fn while_stopped<T>(pid: u32, look: impl Fn(u32) -> Option<T>) -> Option<T> {
    let signal = |name: &str| Command::new("kill").args([name, &pid.to_string()]).status();
    signal("-STOP").unwrap();
    let is_stopped = || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        tasks.into_iter().all(|task| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, tail)| tail.starts_with(['T', 'Z', 'X']))
        })
    };
    wait_until("all threads stop", Duration::from_secs(10), is_stopped);
    let found = look(pid);
    signal("-CONT").unwrap();
    found
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

/// One page of metrics, by name and labels.
fn metrics(address: &str) -> BTreeMap<String, f64> {
    let page = scrape(address);
    let values = page.lines().filter(|line| !line.starts_with('#'));
    values
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_string(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn metrics_are_served_while_the_program_runs() {
    let mut running = start_with("metrics", 100_000, &["--metrics", "127.0.0.1:0"]);
    let address = &running.metrics_address();
    let first = metrics(address);
    let grows = [
        "farheap_pager_fault_seconds_count{cause=\"fetch\"}",
        "farheap_pager_fault_seconds_sum{cause=\"fetch\"}",
        "farheap_pager_fetched_bytes_total",
        "farheap_pager_written_bytes_total",
        "farheap_pager_evicted_pages_total",
        "farheap_heap_allocated_bytes_total",
        "farheap_gc_cycles_total",
        "farheap_gc_pause_seconds_count{phase=\"Pause PTP\"}",
        "farheap_uptime_seconds",
    ];
    let start = Instant::now();
    loop {
        let now = metrics(address);
        for (name, value) in &first {
            if name.contains("_total") || name.contains("_bucket") || name.contains("_count") {
                assert!(now[name] >= *value, "{name}: {value}, then {}", now[name]);
            }
        }
        let resident = now["farheap_pager_resident_bytes"];
        assert!(resident > 0.0 && resident <= now["farheap_pager_budget_bytes"], "{resident}");
        let still: Vec<_> =
            grows.iter().filter(|name| now.get(**name) <= first.get(**name)).collect();
        if still.is_empty() {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no growth: {still:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The port is free again when the VM has ended.
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    TcpListener::bind(address).unwrap();
}

#[test]
fn programs_share_a_pool_of_local_memory_and_a_killed_one_leaves_its_part() {
    let pool_bytes = 24.0 * f64::from(1 << 20);
    let name = format!("test-{}", std::process::id());
    let _file = PoolFile::of(&name);
    let sized = format!("{name}=24m");
    let join = |label: &str, pool: &str| {
        let all =
            ["--local-memory", "100%", "--metrics", "127.0.0.1:0", "--local-memory-pool", pool];
        let mut vm = start_with(label, 100_000, &all);
        let address = vm.metrics_address();
        (vm, address)
    };
    let figure = |address: &str, figure: &str| {
        metrics(address)[&format!("farheap_pool_{figure}{{pool=\"{name}\"}}")]
    };
    let budget = |address: &str| metrics(address)["farheap_pager_budget_bytes"];
    let (_first, address) = join("pool-1", &sized);
    assert_eq!((budget(&address), figure(&address, "bytes")), (pool_bytes, pool_bytes));
    let (mut second, other) = join("pool-2", &name);
    let limit = Duration::from_secs(60);
    let has_part = |bytes: f64| (pool_bytes / 4.0..pool_bytes * 0.75).contains(&bytes);
    wait_until("both have a part", limit, || {
        has_part(budget(&address)) && has_part(budget(&other))
    });
    assert_eq!(figure(&other, "members"), 2.0);
    let limits = || [&address, &other].map(|address| figure(address, "limit_bytes"));
    let mut seen = 0;
    let start = Instant::now();
    while seen < 20 {
        // Unless something changed between the two readings.
        let now = limits();
        if now == limits() {
            assert!(now[0] + now[1] <= pool_bytes, "{now:?}");
            seen += 1;
        }
        assert!(start.elapsed() < limit, "the limits never stay the same");
        std::thread::sleep(Duration::from_millis(50));
    }
    let refused = |pool: &str| {
        let setting = Setting {
            collector: "serial".into(),
            local_memory: "25%".into(),
            memory_servers: 1,
            options: vec!["--local-memory-pool".into(), pool.into()],
        };
        let jdk = Jdk::find().unwrap();
        let mut command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &jdk);
        let output = command.arg("-version").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{pool}");
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
    };
    let text = refused(&format!("{name}=32m"));
    assert!(text.contains("it has 25165824 bytes, not 33554432"), "{text}");
    let text = refused("../../etc");
    assert!(text.contains("malformed name of a local memory pool"), "{text}");
    let text = refused(&format!("{name}-none"));
    assert!(text.contains("it has no members"), "{text}");
    // It sends no message and gives nothing back: the kernel knows that it has ended.
    second.child.kill().unwrap();
    second.child.wait().unwrap();
    wait_until("the other one has all", limit, || budget(&address) == pool_bytes);
    assert_eq!(figure(&address, "members"), 1.0);
}

#[test]
fn an_address_for_metrics_that_is_taken_ends_the_vm() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let setting = Setting {
        collector: "serial".into(),
        local_memory: "100%".into(),
        memory_servers: 1,
        options: vec!["--metrics".into(), address.clone()],
    };
    let mut command =
        Vm::find(Some(program("vm"))).unwrap().command(&setting, &Jdk::find().unwrap());
    let output = command.arg("-version").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(&format!("metrics cannot be served at {address}")), "{stderr}");
}

/// A listening memory server; killed when dropped.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_tells_what_its_sessions_hold() {
    let mut command = Command::new(program("memory-server"));
    command.args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let mut server = Listening(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(server.0.stderr.take().unwrap()).lines();
    let mut after = |prefix: &str| {
        let line = lines.next().unwrap().unwrap();
        line.strip_prefix(prefix).unwrap_or_else(|| panic!("{line:?}")).to_string()
    };
    let at = after("memory-server: metrics at http://");
    let figures = at.strip_suffix("/metrics").unwrap();
    let address = after("memory-server: waiting for VMs at ");
    assert_eq!(metrics(figures)["farheap_server_sessions"], 0.0);
    let mut vm = start_with("server-metrics", 100_000, &["--memory-server", &address]);
    let limit = Duration::from_secs(30);
    let held = || {
        let now = metrics(figures);
        let of_session =
            |(name, _): &(&String, &f64)| name.starts_with("farheap_server_memory_bytes");
        let bytes: f64 = now.iter().filter(of_session).map(|(_, bytes)| bytes).sum();
        (now["farheap_server_sessions"], bytes)
    };
    wait_until("the heap is on the server", limit, || held().0 == 1.0 && held().1 > 1e7);
    vm.child.kill().unwrap();
    vm.child.wait().unwrap();
    wait_until("its memory is given back", limit, || held() == (0.0, 0.0));
}

#[test]
fn idle_monitors_are_retired() {
    let scratch = Scratch::new("idle-monitors").unwrap();
    let jdk = Jdk::find().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = root.join("workloads/conformance/threads/IdleMonitors.java");
    let classes = scratch.folder("classes").unwrap();
    jdk.compile(&[source], &classes).unwrap();
    let setting = Setting {
        collector: "serial".into(),
        local_memory: "100%".into(),
        memory_servers: 1,
        options: vec!["-Xmx64m".into(), "-Xlog:monitorinflation=trace:stderr".into()],
    };
    let mut command: Command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &jdk);
    let output = command.arg("-cp").arg(&classes).arg("IdleMonitors").output().unwrap();
    let (out, err) =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).into();
    assert!(output.status.success() && out.starts_with("entered "), "{out} {err}");
    // "Retired R of N monitors, which were idle"
    let mut retired = 0;
    for line in err.lines().filter_map(|line| line.split_once("Retired ")) {
        let words: Vec<u64> = line.1.split(' ').filter_map(|word| word.parse().ok()).collect();
        assert!(words[0] < words[1], "one monitor has a waiter: {}", line.1);
        retired += words[0];
    }
    assert!(retired > 1000, "{retired} monitors retired: {err}");
    // Each has the object that gets it or loses it, which lives here.
    let count = |what: &str| {
        let what = format!(" {what}: object=0x");
        let are_named = |line: &&str| line.contains(&what) && line.contains(", mark=0x");
        let lines = err.lines().filter(are_named);
        lines.filter(|line| line.ends_with(", type='java.lang.Object'")).count() as u64
    };
    let got = count("inflate(has_locker)") + count("inflate(neutral)");
    let lost = count("deflate_monitor");
    assert!(got >= lost && lost > 1000, "{got} monitors got, {lost} lost");
}
