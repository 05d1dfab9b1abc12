//! Heaps whose remote part lies in a crash-safe pool: under each collector, several at a time, and after VMs or agents
//! that were killed.
//!
//! Needs the release programs beside the test runner's folder (`make build`) and a JDK. `KILLS=200` kills as many VMs,
//! at moments that `SEED` chooses.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::{self, Jdk};
use gc::options::CollectorKind;
use pool::{Heap, Manager, Pool};
use programs::program;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Keeps changing some MB that do not fit local memory, and prints a summary of them in each round.
const ROUNDS: &str = r#"
public class Rounds {
    static volatile int found;

    public static void main(String[] args) {
        Object[][] kept = new Object[12][];
        if (args.length > 1) {
            // Still at it when the process ends.
            Thread reader = new Thread(() -> {
                while (true) {
                    for (Object[] row : kept) {
                        for (int j = 0; row != null && j < row.length; j++) {
                            found += row[j] == null ? 0 : ((int[]) row[j])[1];
                        }
                    }
                }
            });
            reader.setDaemon(true);
            reader.start();
        }
        for (int round = 0; round < Integer.parseInt(args[0]); round++) {
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
                    sum += ((int[]) cell)[0] + ((int[]) cell)[2];
                }
            }
            System.out.println("round " + round + " " + sum);
        }
        if (args.length > 1 && !args[1].equals("return")) {
            System.exit(Integer.parseInt(args[1]));
        }
    }
}
"#;

/// The output of this many rounds.
fn output_of(rounds: u64) -> String {
    let line = |round| format!("round {round} {}\n", 12 * (8192 * 8191 / 2 + 8192 * round));
    (0..rounds).map(line).collect()
}

/// The program, and a folder for pools.
struct Bench {
    jdk: Jdk,
    classes: Scratch,
    /// In shared memory.
    memory: Folder,
}

/// A folder that is removed with all that it holds.
struct Folder(PathBuf);

impl Folder {
    fn in_shared_memory(label: &str) -> Folder {
        let name = format!("farheap-memory-pool-{label}-{}", std::process::id());
        let path = Path::new("/dev/shm").join(name);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Bench {
    fn new(label: &str) -> Bench {
        let (jdk, classes) = (Jdk::find().unwrap(), Scratch::new(label).unwrap());
        jdk.compile_text("Rounds", ROUNDS, classes.path()).unwrap();
        Bench { jdk, classes, memory: Folder::in_shared_memory(label) }
    }

    /// In shared memory.
    fn pool(&self) -> PathBuf {
        self.memory.0.join("pool")
    }

    fn command(&self, pool: &Path, collector: &str, options: &[&str]) -> Command {
        let mut command = jdk::plain(&program("vm"), &self.jdk);
        command.args(["run", "--gc", collector, "--local-memory", "25%", "--memory-pool"]);
        command.arg(pool).arg("-Xmx24m").args(options);
        command.arg("-cp").arg(self.classes.path()).arg("Rounds");
        command
    }

    /// Runs the program for some rounds, all of which must be right.
    fn run(&self, pool: &Path, collector: &str, options: &[&str], rounds: u64) {
        let output = self.command(pool, collector, options).arg(rounds.to_string()).output();
        check(&output.unwrap(), collector, rounds);
    }

    /// The same, and what `--stats` says.
    fn run_with_stats(
        &self,
        pool: &Path,
        collector: &str,
        options: &[&str],
        rounds: u64,
    ) -> serde_json::Value {
        let stats = self.classes.path().join("stats.json");
        let options = [options, &["--stats", stats.to_str().unwrap()]].concat();
        self.run(pool, collector, &options, rounds);
        let stats = std::fs::read_to_string(stats).unwrap();
        serde_json::from_str(&stats).unwrap()
    }

    /// What the VM says that refuses the options, without the lines of every VM that cannot be made.
    fn refused(&self, pool: &Path, collector: &str, options: &[&str]) -> String {
        let output = self.command(pool, collector, options).arg("1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{options:?}: {said}");
        assert!(output.stdout.is_empty() && !said.contains("panicked"), "{said}");
        let is_frame =
            |line: &&str| line.starts_with("Error: ") || line.starts_with("Error occurred");
        let lines: Vec<&str> = said.lines().filter(|line| !is_frame(line)).collect();
        let line = match lines[..] {
            [line] => line,
            [] => said.lines().next().unwrap(),
            _ => panic!("more than one line: {said}"),
        };
        line.to_string()
    }
}

#[track_caller]
fn check(output: &Output, who: &str, rounds: u64) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{who}: {said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), output_of(rounds), "{who}: {said}");
    assert_eq!(said, "", "{who}");
}

/// What of a pool is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Usage {
    /// Bytes of huge blocks.
    huge: u64,
    /// Bytes of memory that its file takes.
    held: u64,
}

fn usage(path: &Path) -> Usage {
    let pool = Pool::open(path).unwrap();
    let heap = Heap::find(&pool).unwrap().expect("a VM has made a heap in it");
    let held = std::fs::metadata(path).unwrap().blocks() * 512;
    Usage { huge: heap.huge_use().used, held }
}

#[test]
fn every_collector_works_in_a_pool() {
    let bench = Bench::new("collectors");
    // A file on a disk, and one in shared memory.
    let pools = [bench.classes.path().join("pool"), bench.pool()];
    for (n, kind) in CollectorKind::ALL.iter().enumerate() {
        let (pool, name) = (&pools[n % 2], kind.name());
        let mut options = vec!["-XX:MemoryPoolSize=256m"];
        match kind {
            // All that is ever allocated stays.
            CollectorKind::Epsilon => options.push("-Xmx192m"),
            // Those with agents are below.
            CollectorKind::Mako => continue,
            CollectorKind::Semeru => options.push("-XX:-SemeruOffloadTracing"),
            _ => {}
        }
        let stats = bench.run_with_stats(pool, name, &options, 20);
        let pager = &stats["heap"]["pager"];
        let [written, fetched] =
            ["written_bytes", "fetched_bytes"].map(|bytes| pager[bytes].as_u64().unwrap());
        assert!(written > 1 << 20 && fetched > 1 << 16, "{name}: {written}, {fetched}");
        let memory = &stats["heap"]["memory"];
        assert!(memory["other_server_bytes"].as_u64().unwrap() > 1 << 20, "{memory}");
        assert_eq!(memory["child_server_bytes"], 0, "{name}");
        assert_eq!(usage(pool).huge, 0, "{name}");
    }
}

/// Agents are processes that map the pool; what each has for itself does not lie in it.
#[test]
fn agents_trace_and_evacuate_in_a_pool() {
    let bench = Bench::new("agents");
    let pools = [bench.classes.path().join("pool"), bench.pool()];
    for (n, (collector, servers)) in
        [("mako", "1"), ("mako", "2"), ("mako", "3"), ("semeru", "1"), ("semeru", "2")]
            .into_iter()
            .enumerate()
    {
        let pool = &pools[n % 2];
        let who = format!("{collector} with {servers} agents");
        let mut options = vec!["-XX:MemoryPoolSize=64m", "--memory-servers", servers];
        if collector == "mako" {
            options.push("-XX:-MakoGenerational");
        }
        let stats = bench.run_with_stats(pool, collector, &options, 40);
        let count = |name: &str| stats["heap"]["counters"][name].as_u64().unwrap_or(0);
        match collector {
            "mako" => {
                let [groups, parts] = ["evacuated_groups", "evacuated_parts"].map(count);
                assert!(groups > 0 && parts > 0, "{who}: {groups}, {parts}");
                assert_eq!(count("cycles_without_agents"), 0, "{who}");
            }
            _ => assert!(count("tracing_us") > 0 && count("tracing_regions") > 0, "{who}"),
        }
        let tables = &stats["heap"]["server_metadata"]["mark_bits"];
        assert!(tables.as_u64().unwrap() > 0, "{who}: {stats}");
        let memory = &stats["heap"]["memory"];
        let bytes = |name: &str| memory[name].as_u64().unwrap();
        // Tables of agents are of these processes, and the heap is in the pool.
        assert!(bytes("child_server_bytes") > 1 << 12, "{who}: {memory}");
        assert!(bytes("child_server_bytes") < bytes("other_server_bytes"), "{who}: {memory}");
        assert!(bytes("other_server_bytes") > 1 << 20, "{who}: {memory}");
        assert!(bytes("other_server_bytes") <= 40 << 20, "{who}: {memory}");
        assert_eq!(usage(pool).huge, 0, "{who}");
        assert!(agents_of(pool).is_empty(), "{who}");
    }
    // With an injected network, and its accidents.
    for collector in ["mako", "semeru"] {
        let options = ["--far-latency", "20us", "-XX:FarBandwidth=400m", "-XX:FarDisturbance=7"];
        bench.run(&bench.pool(), collector, &options, 6);
        assert_eq!(usage(&bench.pool()).huge, 0, "{collector}");
    }
}

/// The processes that have mapped this pool and are memory servers.
fn agents_of(pool: &Path) -> Vec<u32> {
    let pool = std::fs::canonicalize(pool).unwrap();
    let has_mapped = |id: &u32| {
        let read = |what: &str| std::fs::read_to_string(format!("/proc/{id}/{what}"));
        read("comm").is_ok_and(|name| name.trim() == "memory-server")
            && read("maps").is_ok_and(|maps| maps.contains(&*pool.to_string_lossy()))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(has_mapped).collect()
}

#[test]
fn a_vm_whose_agent_is_killed_ends_with_a_line_and_its_memory_is_had_again() {
    let bench = Bench::new("agent");
    let pool = bench.pool();
    let mut seed = number("SEED").unwrap_or(1);
    for (n, collector) in ["mako", "semeru", "mako", "semeru"].into_iter().enumerate() {
        let mut command = bench.command(&pool, collector, &["-XX:MemoryPoolSize=32m"]);
        command.arg("100000").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut vm = Victim(command.spawn().unwrap());
        let end = Instant::now() + LIMIT;
        let agents = loop {
            assert!(Instant::now() < end, "{collector}: there are never two agents");
            match pool.exists().then(|| agents_of(&pool)) {
                Some(agents) if agents.len() == 2 => break agents,
                _ => thread::sleep(Duration::from_millis(2)),
            }
        };
        thread::sleep(Duration::from_micros(next(&mut seed) % 300_000));
        let status = Command::new("kill").args(["-9", &agents[n / 2].to_string()]).status();
        assert!(status.unwrap().success());
        let status = vm.0.wait().unwrap();
        let mut said = String::new();
        vm.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(status.code(), Some(1), "{collector}: {said}");
        assert!(said.contains("is lost") && said.lines().count() == 1, "{collector}: {said}");
        // There is room for one.
        bench.run(&pool, collector, &[], 3);
        assert_eq!(usage(&pool).huge, 0, "{collector}, SEED={seed}");
    }
}

/// One that this user may mount, in a namespace of mounts; the VMs see it, and nobody else.
#[test]
fn a_full_file_system_ends_the_vm_with_a_line() {
    let bench = Bench::new("full");
    let folder = bench.memory.0.join("small");
    std::fs::create_dir(&folder).unwrap();
    let in_small = |command: &Command| {
        let quoted = |text: &OsStr| format!("'{}'", text.to_str().unwrap());
        let words: Vec<String> =
            std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect();
        let mount = format!("mount -t tmpfs -o size=5m none '{}'", folder.display());
        let mut shell = Command::new("unshare");
        // Not in a namespace of processes: the pool would be of that one.
        shell.args(["-Urm", "sh", "-c"]);
        shell.arg(format!("{mount} || exit 77; exec {}", words.join(" ")));
        command.get_envs().for_each(|(name, value)| match value {
            Some(value) => _ = shell.env(name, value),
            None => _ = shell.env_remove(name),
        });
        shell.output()
    };
    for collector in ["g1", "mako", "semeru"] {
        let options = ["-Xmx96m", "--local-memory", "2m"];
        let mut command = bench.command(&folder.join("pool"), collector, &options);
        let output = match in_small(command.arg("300")) {
            Ok(output) if output.status.code() != Some(77) => output,
            _ => {
                eprintln!("skipped: this user may not mount a file system");
                return;
            }
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{collector}: {said}");
        let is_full = said.contains("memory of the pool: No space left on device")
            || said.contains("memory of the pool cannot be had: its file system is full");
        assert!(is_full && !said.contains("panicked"), "{collector}: {said}");
    }
}

/// By `System.exit` or its return, beside a thread that still uses the heap.
#[test]
fn a_vm_frees_its_memory_however_its_program_ends() {
    let bench = Bench::new("ends");
    let pool = bench.pool();
    for (end, injected) in [("return", "0us"), ("0", "20us"), ("3", "0us"), ("return", "20us")] {
        for collector in ["g1", "shenandoah", "mako", "semeru"] {
            let options = ["--far-latency", injected];
            let mut command = bench.command(&pool, collector, &options);
            let output = command.args(["6", end]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(end.parse().unwrap_or(0)), "{said}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), output_of(6), "{said}");
            assert_eq!((usage(&pool).huge, &*said), (0, ""), "{collector} {end}");
        }
    }
}

#[test]
fn two_vms_use_one_pool_at_a_time() {
    let bench = Bench::new("two");
    let pool = bench.pool();
    let start = |collector: &str| {
        let mut command = bench.command(&pool, collector, &["-XX:MemoryPoolSize=64m"]);
        command.arg("60").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let (first, second) = (start("g1"), start("shenandoah"));
    let end = Instant::now() + LIMIT;
    while !pool.exists() || used_by(&pool) < 48 << 20 {
        assert!(Instant::now() < end, "there are never two");
        thread::sleep(Duration::from_millis(2));
    }
    for (vm, name) in [(first, "g1"), (second, "shenandoah")] {
        check(&vm.wait_with_output().unwrap(), name, 60);
    }
    assert_eq!(usage(&pool).huge, 0);
}

/// The same of a pool that may be without a heap yet.
fn used_by(path: &Path) -> u64 {
    let pool = Pool::open(path).unwrap();
    let heap = Heap::find(&pool).unwrap();
    heap.map_or(0, |heap| heap.huge_use().used)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The next of a row of numbers. Linear congruence: they need not be good.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *seed >> 33
}

/// A VM that is killed when dropped.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_is_lost_when_vms_are_killed() {
    let bench = Bench::new("kills");
    let pool = bench.pool();
    let kills = number("KILLS").unwrap_or(20);
    let mut seed = number("SEED").unwrap_or(1);
    eprintln!("KILLS={kills} SEED={seed}");
    // The pool as it is between two programs.
    bench.run(&pool, "g1", &["-XX:MemoryPoolSize=64m"], 4);
    let mut first = None;
    for kill in 0..kills {
        let collector = ["mako", "g1", "semeru", "serial", "shenandoah"][kill as usize % 5];
        let mut command = bench.command(&pool, collector, &[]);
        command.arg("100000").stdout(Stdio::null()).stderr(Stdio::null());
        let victim = Victim(command.spawn().unwrap());
        let end = Instant::now() + LIMIT;
        while used_by(&pool) == 0 {
            assert!(Instant::now() < end, "it never has memory");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(next(&mut seed) % 400_000));
        drop(victim);
        assert!(used_by(&pool) > 0, "its memory cannot be free yet");
        if kill % 2 == 0 {
            let opened = Pool::open(&pool).unwrap();
            let manager = Manager::new(&opened).unwrap();
            // At once, or when the last agent is gone.
            let has_agents = ["mako", "semeru"].contains(&collector);
            let end = Instant::now() + LIMIT;
            let recovered = loop {
                match manager.pass().unwrap().clients {
                    0 if has_agents && Instant::now() < end => {
                        thread::sleep(Duration::from_millis(1));
                    }
                    clients => break clients,
                }
            };
            assert_eq!((recovered, agents_of(&pool)), (1, vec![]), "{collector}");
        } else {
            // The next VM.
            bench.run(&pool, ["g1", "mako"][kill as usize / 2 % 2], &[], 2);
        }
        let now = usage(&pool);
        assert_eq!(now.huge, 0, "after {} kills", kill + 1);
        let first = *first.get_or_insert(now);
        assert!(now.held <= first.held + SLACK, "after {} kills: {now:?}, {first:?}", kill + 1);
    }
    // All of it can be had.
    bench.run(&pool, "g1", &["-Xmx60m"], 20);
}

#[test]
fn pools_that_cannot_be_used_are_refused_with_one_line() {
    let bench = Bench::new("refused");
    let pool = bench.pool();
    let refused = |options: &[&str], wanted: &str| {
        let why = bench.refused(&pool, "g1", options);
        assert!(why.contains(wanted), "{options:?}: {why}");
    };
    refused(&["--memory-servers", "2"], "exclude each other: g1 has no agents");
    refused(&["-XX:MemoryServerProgram=/bin/true"], "-XX:MemoryServerProgram requires");
    refused(&["--memory-server", "unix:none"], "--memory-server");
    refused(&["--replicas", "2"], "--replicas requires memory servers");
    refused(&["--transport", "tcp"], "--transport requires memory servers");
    refused(&["--page-checksums"], "--page-checksums requires memory servers");
    refused(&["--local-memory", "100%"], "requires a limit of local memory");
    refused(&["-XX:MemoryPoolSize=1"], "MemoryPoolSize");
    for collector in ["mako", "semeru"] {
        for (options, wanted) in [
            (&["--memory-server", "unix:none"][..], "--memory-server"),
            (&["--replicas", "2"], "--replicas requires memory servers"),
            (&["--transport", "tcp"], "--transport requires memory servers"),
            (&["--page-checksums"], "--page-checksums requires memory servers"),
            (&["--memory-servers", "0"], "MemoryServers"),
        ] {
            let why = bench.refused(&pool, collector, options);
            assert!(why.contains(wanted), "{collector} {options:?}: {why}");
        }
    }
    assert!(!pool.exists());
    bench.run(&pool, "g1", &["-XX:MemoryPoolSize=32m"], 2);
    // Too small for this heap, full, and made for another size.
    refused(&["-Xmx200m"], "MiB are used");
    refused(&["-XX:MemoryPoolSize=64m"], "it exists, with a length of");
    let holder = bench.command(&pool, "g1", &[]).arg("100000").stdout(Stdio::null()).spawn();
    let holder = Victim(holder.unwrap());
    while used_by(&pool) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    refused(&[], "no room for");
    drop(holder);
    bench.run(&pool, "g1", &[], 2);
    let mut bytes = std::fs::read(&pool).unwrap();
    bytes[8] = 99;
    std::fs::write(&pool, &bytes).unwrap();
    refused(&[], "a pool of version 99; this program has version 2");
    std::fs::write(&pool, "no pool at all".repeat(1000)).unwrap();
    refused(&[], "not a pool");
    std::fs::remove_file(&pool).unwrap();
    std::fs::create_dir(&pool).unwrap();
    refused(&[], "directory");
    let nowhere = bench.refused(Path::new("/nowhere/pool"), "g1", &[]);
    assert!(nowhere.contains("memory pool /nowhere/pool: No such file"), "{nowhere}");
    let mut without = jdk::plain(&program("vm"), &bench.jdk);
    let without = without.args(["-XX:MemoryPoolSize=64m", "-version"]).output().unwrap();
    let said = String::from_utf8_lossy(&without.stderr);
    assert!(said.contains("-XX:MemoryPoolSize requires --memory-pool"), "{said}");
}

const LIMIT: Duration = Duration::from_secs(60);
/// Pages of the structures of clients that were not used before.
const SLACK: u64 = 256 << 10;
