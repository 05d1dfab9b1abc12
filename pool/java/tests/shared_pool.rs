//! The module `farheap.pool` in real processes: on HotSpot, on this VM, on both at a time, and when they are killed.
//!
//! Needs a JDK. Our VM is `target/PROFILE/vm` beside the tests, or what `FARHEAP_VM` names; without it, HotSpot is all
//! that is tested. `KILLS=500` kills as many processes, at moments that `SEED` chooses; without it they are killed for
//! ten seconds.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use pool::{Manager, Pool, Recovered};

/// The compiled module and the programs, and a folder for pools. Removed when it is dropped.
struct Bench {
    jdk: PathBuf,
    vm: Option<PathBuf>,
    folder: PathBuf,
}

/// Which JVM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Machine {
    HotSpot,
    Farheap,
}

use Machine::{Farheap, HotSpot};

impl Bench {
    fn new() -> Bench {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("farheap-shared-pool-{}-{number}", std::process::id());
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { shared.into() } else { env::temp_dir() }.join(name);
        fs::create_dir(&folder).unwrap();
        let bench = Bench { jdk: jdk(), vm: vm(), folder };
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let module = crate_folder.join("src/main/java");
        let [module_classes, programs] = ["module", "programs"].map(|name| bench.folder.join(name));
        bench.compile(&sources(&module), &module_classes, None);
        let tests = sources(&crate_folder.join("tests/programs"));
        bench.compile(&tests, &programs, Some(&module_classes));
        bench
    }

    fn compile(&self, sources: &[PathBuf], classes: &Path, with: Option<&Path>) {
        let mut command = Command::new(self.jdk.join("bin/javac"));
        command.args(["--release", "17", "-Xlint:all", "-Werror", "-d"]).arg(classes);
        if let Some(with) = with {
            command.arg("-cp").arg(with);
        }
        let output = command.args(sources).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Those that there are.
    fn machines(&self) -> Vec<Machine> {
        let all = [HotSpot, Farheap].into_iter();
        all.filter(|machine| *machine == HotSpot || self.vm.is_some()).collect()
    }

    /// Runs a program of the tests with the library that is beside them.
    fn command(&self, machine: Machine, program: &str) -> Command {
        let mut command = self.bare_command(machine, &self.folder.join("module"));
        let deps = env::current_exe().unwrap().parent().unwrap().to_path_buf();
        command.arg(format!("-Djava.library.path={}", deps.display())).arg(program);
        command
    }

    /// The class path has the programs and this folder; the name of the program is to follow.
    fn bare_command(&self, machine: Machine, module: &Path) -> Command {
        let mut command = match machine {
            HotSpot => Command::new(self.jdk.join("bin/java")),
            Farheap => {
                let mut command = Command::new(self.vm.as_ref().expect("there is one"));
                command.arg("run").env("JAVA_HOME", &self.jdk);
                command
            }
        };
        let programs = self.folder.join("programs");
        command.arg("-Xmx128m").env("LC_ALL", "C.UTF-8");
        command.arg("-cp").arg(format!("{}:{}", module.display(), programs.display()));
        command
    }

    /// An empty folder.
    fn inner_folder(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::create_dir(&path).unwrap();
        path
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A JDK 17 with a compiler.
fn jdk() -> PathBuf {
    let named = env::var_os("JAVA_HOME").map(PathBuf::from).into_iter();
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let is_17 = |home: &PathBuf| {
        let release = fs::read_to_string(home.join("release")).unwrap_or_default();
        release.contains("JAVA_VERSION=\"17") && home.join("bin/javac").exists()
    };
    let mut all = named.chain(installed.map(|entry| entry.path()));
    all.find(is_17).expect("a JDK 17: install openjdk-17-jdk-headless or set JAVA_HOME")
}

fn vm() -> Option<PathBuf> {
    let beside = env::current_exe().unwrap().parent().unwrap().with_file_name("vm");
    let named = env::var_os("FARHEAP_VM").map(PathBuf::from);
    let found = named.or_else(|| beside.is_file().then_some(beside));
    if found.is_none() {
        println!("no vm beside the tests: only HotSpot is tested (make build, or FARHEAP_VM)");
    }
    found
}

/// All sources of Java below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|end| end == "java"))
        .collect();
    found.sort();
    found
}

/// The output of a program that ended well and complained of nothing.
#[track_caller]
fn output_of(output: &Output, who: impl std::fmt::Debug) -> String {
    let [said, complained] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success() && complained.is_empty(), "{who:?}: {said}{complained}");
    said
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn maps_and_channels_keep_their_promises_in_one_process() {
    let bench = Bench::new();
    for machine in bench.machines() {
        let pools = bench.inner_folder(&format!("{machine:?}"));
        let mut command = bench.command(machine, "Semantics");
        command.arg(&pools).arg(number("SEED").unwrap_or(1).to_string()).arg("30000");
        let said = output_of(&command.output().unwrap(), machine);
        assert_eq!(said.lines().filter(|line| line.ends_with(": right")).count(), 12, "{said}");
    }
}

#[test]
fn nothing_stays_of_what_is_gone() {
    let bench = Bench::new();
    for machine in bench.machines() {
        let pools = bench.inner_folder(&format!("{machine:?}"));
        let said =
            output_of(&bench.command(machine, "Ends").arg(&pools).output().unwrap(), machine);
        let right = said.lines().filter(|line| line.ends_with(": right")).count();
        assert_eq!(right, ENDS, "{said}");
    }
}

/// Parts of the program `Ends`.
const ENDS: usize = 5;

#[test]
fn calls_are_right_for_a_jvm_that_checks_them() {
    let bench = Bench::new();
    let pools = bench.inner_folder("pools");
    let mut command = bench.bare_command(HotSpot, &bench.folder.join("module"));
    let deps = env::current_exe().unwrap().parent().unwrap().to_path_buf();
    command.arg("-Xcheck:jni").arg(format!("-Djava.library.path={}", deps.display()));
    command.arg("Semantics").arg(&pools).args(["2", "3000"]);
    let said = output_of(&command.output().unwrap(), "-Xcheck:jni");
    assert!(!said.contains("WARNING") && !said.contains("FATAL"), "{said}");
    assert_eq!(said.lines().filter(|line| line.ends_with(": right")).count(), 12, "{said}");
}

/// As it is in the jar.
#[test]
fn the_library_is_found_beside_the_classes() {
    let bench = Bench::new();
    let module = bench.folder.join("module");
    let library = "libfarheap_pool.so";
    let deps = env::current_exe().unwrap().with_file_name(library);
    fs::copy(deps, module.join("farheap/pool").join(library)).unwrap();
    let temporary = bench.inner_folder("temporary");
    for machine in bench.machines() {
        let pool = bench.folder.join(format!("{machine:?}"));
        let mut command = bench.bare_command(machine, &module);
        command.arg(format!("-Djava.io.tmpdir={}", temporary.display()));
        command.arg("Torture").arg(pool).arg("fill");
        assert!(output_of(&command.output().unwrap(), machine).starts_with("filled "));
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left");
    }
    // Without a library there is one error, which says so.
    let mut command = bench.bare_command(HotSpot, &bench.inner_folder("none"));
    command.arg("-Djava.library.path=/nowhere").arg("Torture").arg("pool").arg("fill");
    assert!(!command.output().unwrap().status.success());
}

#[test]
fn two_jvms_exchange_values() {
    let bench = Bench::new();
    let mut pairs = vec![[HotSpot; 2]];
    if bench.vm.is_some() {
        pairs.extend([[HotSpot, Farheap], [Farheap, HotSpot], [Farheap; 2]]);
    }
    for (n, pair) in pairs.into_iter().enumerate() {
        let pool = bench.folder.join(format!("exchange-{n}"));
        let children: Vec<Child> = pair
            .into_iter()
            .enumerate()
            .map(|(side, machine)| {
                let mut command = bench.command(machine, "Peer");
                command.arg(&pool).arg(side.to_string()).arg("2000");
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output_of(&output, pair), "exchanged 2000\n");
        }
    }
}

#[test]
fn threads_share_the_clients_that_are_left() {
    let bench = Bench::new();
    let path = bench.folder.join("crowd");
    let run = |has_some: &str| {
        let mut command = bench.command(HotSpot, "Crowd");
        let output = command.arg(&path).arg(has_some).output().unwrap();
        output_of(&output, has_some)
    };
    let mut fill = bench.command(HotSpot, "Torture");
    output_of(&fill.arg(&path).arg("fill").output().unwrap(), "fill");
    let pool = Pool::open(&path).unwrap();
    let mut clients: Vec<_> = (0..1023).map_while(|_| pool.join().ok()).collect();
    assert_eq!((clients.len(), pool.clients()), (1023, 1023));
    assert_eq!(run("false"), "refused\n");
    // One for the thread that recovers others.
    clients.truncate(1021);
    assert_eq!(run("true"), "8000\n");
}

#[test]
fn the_example_of_the_documents_works() {
    let bench = Bench::new();
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = crate_folder.join("example/Visits.java");
    let documented = crate_folder.join("../../docs/reference/farheap-pool.md");
    let [text, documented] = [&file, &documented].map(|path| fs::read_to_string(path).unwrap());
    assert!(documented.contains(&text), "the document has another version");
    let programs = bench.folder.join("programs");
    bench.compile(&[file], &programs, Some(&bench.folder.join("module")));
    let pool = bench.folder.join("visits");
    let start = |what: &str| {
        let mut command = bench.command(HotSpot, "Visits");
        command.arg(&pool).arg(what).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let (receiver, sender) = (start("receive"), start("send"));
    assert_eq!(output_of(&sender.wait_with_output().unwrap(), "send"), "");
    let said = output_of(&receiver.wait_with_output().unwrap(), "receive");
    assert_eq!(said, "a page for ada: User[name=Ada, visits=1]\n");
}

#[test]
fn the_comparison_with_other_servers_works() {
    let bench = Bench::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/CacheBench.java");
    bench.compile(&[source], &bench.folder.join("programs"), Some(&bench.folder.join("module")));
    // Its clients get the class path alone: the library lies beside the classes.
    let library = "libfarheap_pool.so";
    let inner = bench.folder.join("module/farheap/pool").join(library);
    fs::copy(env::current_exe().unwrap().with_file_name(library), inner).unwrap();
    let mut command = bench.bare_command(HotSpot, &bench.folder.join("module"));
    // Servers are not found.
    let output = command.args(["CacheBench", "0.1"]).env("PATH", "/nowhere").output().unwrap();
    let said = output_of(&output, "CacheBench");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 7, "{said}");
    assert!(lines[1..5].iter().all(|line| line.starts_with("farheap.pool")), "{said}");
    assert!(lines[5..].iter().all(|line| line.contains("not installed")), "{said}");
}

/// A process that is killed when it is dropped, whose lines are collected meanwhile.
struct Victim {
    child: Child,
    lines: Receiver<String>,
}

impl Victim {
    fn start(mut command: Command) -> Victim {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            // The last one may be cut by the kill: it says nothing then.
            let whole = output.split(b'\n').map_while(Result::ok);
            whole.for_each(|line| _ = sender.send(String::from_utf8(line).unwrap()));
        });
        Victim { child, lines }
    }

    /// Kills it, and returns what it has said.
    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.lines.iter().collect()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn killed_jvms_lose_and_repeat_nothing() {
    let bench = Bench::new();
    let pool = bench.folder.join("torture");
    let machines = bench.machines();
    let run = |machine, what: &str| {
        let mut command = bench.command(machine, "Torture");
        command.arg(&pool).arg(what);
        command
    };
    // By kind of block.
    let fill = || -> Vec<u64> {
        let said = output_of(&run(HotSpot, "fill").output().unwrap(), "fill");
        let counts = said.trim().strip_prefix("filled ").unwrap();
        counts.split(' ').map(|count| count.parse().unwrap()).collect()
    };
    let room = fill();
    let survivor = Victim::start(run(HotSpot, "survive"));
    assert_eq!(survivor.lines.recv_timeout(LIMIT).unwrap(), "ready");

    let kills = number("KILLS");
    let mut seed = number("SEED").unwrap_or(1);
    println!("SEED={seed}");
    let (start, mut round) = (Instant::now(), 0);
    // By slot: the last value that was acknowledged.
    let mut acknowledged: BTreeMap<String, String> = BTreeMap::new();
    let (mut puts, mut sent, mut last_got, mut skipped) = (0u64, 0u64, None::<u64>, 0);
    while kills.map_or(round < 3 || start.elapsed() < Duration::from_secs(10), |all| round < all) {
        let mut command = run(machines[round as usize % machines.len()], "victim");
        let victim = Victim::start({
            command.arg(round.to_string());
            command
        });
        let first = victim.lines.recv_timeout(LIMIT).expect("the victim works");
        // Linear congruence: the numbers need not be good.
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        thread::sleep(Duration::from_micros((seed >> 33) % 150_000));
        for line in [first].into_iter().chain(victim.kill()) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["p", slot, _, _] => {
                    puts += 1;
                    acknowledged.insert(slot.to_string(), line.clone());
                }
                ["s", number] => sent = number.parse::<u64>().unwrap() + 1,
                ["g", number] => {
                    let number: u64 = number.parse().unwrap();
                    let next = last_got.map_or(0, |last| last + 1);
                    assert!(number >= next, "message {number} comes twice");
                    skipped += number - next;
                    last_got = Some(number);
                }
                _ => panic!("{line}"),
            }
        }
        round += 1;
    }
    // A message is received before that is said. It dies with its receiver.
    assert!(skipped <= round, "{skipped} messages are missing after {round} kills");

    let mut survivor = survivor;
    drop(survivor.child.stdin.take());
    let last = survivor.lines.recv_timeout(LIMIT).expect("the survivor has found nothing wrong");
    assert!(survivor.child.wait().unwrap().success());
    let words: Vec<&str> = last.split(' ').collect();
    let ["longest", longest, "operations", operations, "received", received] = words[..] else {
        panic!("{last}")
    };
    // Each was the next one: none is missing, none came twice.
    assert!(received.parse::<u64>().unwrap() + 1024 >= sent, "{last}, and {sent} were sent");

    recover_all(&pool);
    let mut command = run(HotSpot, "verify");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut verifier = command.spawn().unwrap();
    let mut input = verifier.stdin.take().unwrap();
    for line in acknowledged.values() {
        // One that has found something wrong reads no more, and says what it was.
        let _ = writeln!(input, "{line}");
    }
    drop(input);
    let said = output_of(&verifier.wait_with_output().unwrap(), "verify");
    assert_eq!(said, format!("verified {}\n", acknowledged.len()));
    recover_all(&pool);
    let left = fill();
    println!(
        "{round} kills, {puts} acknowledged puts, {sent} messages; the survivor: {operations} \
         operations, the longest three took {longest} us; room for {room:?} entries before, \
         {left:?} after"
    );
    // A single table or message that is left keeps a whole slab of its kind, which is room for more.
    let is_whole = |(left, room): (&u64, &u64)| left + (room / 50).max(1) >= *room;
    assert!(
        room.len() == 4 && left.iter().zip(&room).all(is_whole),
        "memory is lost: {room:?} entries before, {left:?} after"
    );
}

/// Recovers the dead of a pool that no living process has open.
fn recover_all(path: &Path) {
    let pool = Pool::open(path).unwrap();
    let manager = Manager::new(&pool).unwrap();
    let start = Instant::now();
    // What the dead had leased or held is freed in passes that find nobody.
    while manager.pass().unwrap() != Recovered::default() || pool.leased() > 1 {
        assert!(start.elapsed() < LIMIT, "{} identities are leased", pool.leased());
        thread::sleep(Duration::from_millis(1));
    }
}

/// A process that was killed at its start has no lines.
#[test]
fn the_end_of_a_dead_process_is_taken_over() {
    let bench = Bench::new();
    let pool = bench.folder.join("ends");
    let start = |round: &str| {
        let mut command = bench.command(HotSpot, "Torture");
        command.arg(&pool).arg("victim").arg(round);
        Victim::start(command)
    };
    let wait_for = |victim: &Victim, kind: &str| {
        let end = Instant::now() + LIMIT;
        loop {
            let line = victim.lines.recv_timeout(end - Instant::now()).expect("it works");
            if line.starts_with(kind) {
                return line;
            }
        }
    };
    let first = start("0");
    wait_for(&first, "s");
    let said = first.kill();
    let sent = said.iter().filter(|line| line.starts_with("s ")).count();
    // Nobody receives: the ring is soon full.
    assert!(sent <= 1024);
    let mut receiver = bench.command(HotSpot, "Torture");
    receiver.arg(&pool).arg("survive").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut receiver = receiver.spawn().unwrap();
    let second = start("1");
    wait_for(&second, "s");
    wait_for(&second, "g");
    drop(second);
    drop(receiver.stdin.take());
    let mut said = String::new();
    receiver.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(receiver.wait().unwrap().success(), "{said}");
    assert!(said.contains("longest "), "{said}");
}
