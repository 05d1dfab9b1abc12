//! Swap devices and cgroups of the runners, with real ones: pages that come back as they were evicted, and a machine
//! that is as it was before, however the runner ended.
//!
//! Needs root, cgroup v1's memory controller, zram, FUSE, loop devices, and a machine where no other process swaps;
//! says why it skips where one is missing.

#[path = "support/programs.rs"]
mod programs;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bench::harness::process;
use bench::kernel_swap::guard::Answer;
use bench::kernel_swap::relief::{self, Relief};
use programs::program;
use serde_json::Value;

/// The machine's swap for one test; `None` if this machine can have none.
fn machine() -> Option<MutexGuard<'static, ()>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(|broken| broken.into_inner());
    let why = [
        (!process::is_root(), "only root may make swap devices"),
        (!Path::new(CGROUPS).join("memory.limit_in_bytes").exists(), "no cgroup v1"),
        (!Path::new("/sys/class/zram-control").exists(), "no zram"),
        (!Path::new("/dev/fuse").exists(), "no FUSE"),
        (!Path::new("/dev/loop-control").exists(), "no loop devices"),
        (!State::now().swaps.is_empty(), "the machine uses swap already"),
    ];
    match why.iter().find(|(is_missing, _)| *is_missing) {
        Some((_, why)) => {
            eprintln!("skipped: {why}");
            None
        }
        None => Some(guard),
    }
}

/// The state of the machine that a runner changes.
#[derive(Debug, PartialEq)]
struct State {
    swaps: Vec<String>,
    cgroups: BTreeSet<String>,
    /// Devices of zram, and loop devices with a file.
    devices: BTreeSet<String>,
    mounts: Vec<String>,
}

impl State {
    fn now() -> State {
        let lines = |path: &str| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().map(str::to_string).collect::<Vec<String>>()
        };
        let names = |folder: &str| -> BTreeSet<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let is_used = |name: &String| {
            name.starts_with("zram") || Path::new("/sys/block").join(name).join("loop").exists()
        };
        let mut mounts = lines("/proc/self/mounts");
        mounts.retain(|line| line.starts_with("farheap-swap"));
        State {
            swaps: lines("/proc/swaps").split_off(1),
            cgroups: names(CGROUPS).into_iter().filter(|n| n.starts_with("farheap")).collect(),
            devices: names("/sys/block").into_iter().filter(is_used).collect(),
            mounts,
        }
    }

    /// Waits until the machine is like this.
    fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        while State::now() != *self {
            assert!(Instant::now() < deadline, "{:?} is not {self:?}", State::now());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A guard that holds a device; its input is closed when it is dropped.
struct Held {
    guard: Child,
    cgroup: PathBuf,
    model: String,
}

fn hold(arguments: &[&str]) -> Result<Held, String> {
    let mut command = Command::new(program("gc-bench"));
    command
        .args(["swap-guard", "hold"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut guard = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(guard.stdout.take().unwrap()).read_line(&mut line).unwrap();
    match serde_json::from_str(&line).unwrap() {
        Answer::Made { cgroup, model } => Ok(Held { guard, cgroup, model }),
        Answer::Refused(why) => {
            assert!(guard.wait().unwrap().success(), "it leaves something behind");
            Err(why)
        }
    }
}

impl Held {
    /// The command in the cgroup, with this much memory.
    fn confined(&self, bytes: u64) -> Command {
        std::fs::write(self.cgroup.join("memory.limit_in_bytes"), bytes.to_string()).unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", r#"echo $$ > "$0" && exec "$@""#])
            .arg(self.cgroup.join("cgroup.procs"));
        command
    }

    fn let_go(mut self) {
        drop(self.guard.stdin.take());
        assert!(self.guard.wait().unwrap().success(), "it leaves something behind");
    }
}

/// A program with `MIB` MiB of memory, 4 of them local, which checks each page that it reads.
fn swapping(held: &Held) -> Value {
    let mut command = held.confined(20 << 20);
    command.arg(program("gc-bench")).args(["faults", "--part", "kernel-swap", "--threads", "2"]);
    command.args(["--mib", MIB, "--local", "10", "--accesses", "4000"]);
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn pages_come_back_from_a_file_of_fuse_as_they_went_and_take_the_time_of_the_network() {
    let Some(_machine) = machine() else { return };
    let before = State::now();
    let p50 = |arguments: &[&str], model: &str| {
        let held = hold(arguments).unwrap();
        assert!(held.model.starts_with(model), "{}", held.model);
        assert_ne!(State::now(), before);
        let report = swapping(&held);
        held.let_go();
        assert_eq!(State::now(), before);
        assert!(report["count"].as_u64().unwrap() > 1000, "{report}: nothing is swapped");
        report["p50_us"].as_f64().unwrap()
    };
    let near = p50(
        &["fuse", "--bytes=268435456"],
        "loop device (direct) over FUSE, 0 us, no bandwidth limit",
    );
    let far = ["fuse", "--bytes=268435456", "--latency-ns=2000000", "--bandwidth=1000000000"];
    let far = p50(&far, "loop device (direct) over FUSE, 2000 us, 8 Gbit/s, page-cluster");
    assert!(far >= 2000.0 && near < 1000.0, "{near} us, 2 ms away {far} us");
    p50(&["zram", "--bytes=268435456"], "zram, ");
}

#[test]
fn who_finds_swap_full_gets_more_memory_for_a_time_and_is_not_killed() {
    let Some(_machine) = machine() else { return };
    let before = State::now();
    let held = hold(&["zram", "--bytes=16777216"]).unwrap();
    let relief = Relief::new(&held.cgroup, 20 << 20).unwrap();
    swapping(&held);
    let relieved = relief.end();
    assert!(relieved.times > 0 && relieved.time > Duration::ZERO, "{relieved:?}");
    assert!((8 << 20..48 << 20).contains(&relieved.bytes_max), "{relieved:?}");
    let limit = std::fs::read_to_string(held.cgroup.join(relief::LIMIT)).unwrap();
    assert_eq!(limit.trim(), (20 << 20).to_string());
    held.let_go();
    assert_eq!(State::now(), before);
}

#[test]
fn what_still_runs_is_ended_before_its_swap_is_taken_away() {
    let Some(_machine) = machine() else { return };
    let before = State::now();
    for arguments in [["fuse", "--bytes=134217728"], ["zram", "--bytes=134217728"]] {
        let held = hold(&arguments).unwrap();
        let mut sleeper = held.confined(16 << 20).args(["sleep", "600"]).spawn().unwrap();
        let deadline = Instant::now() + PATIENCE;
        let members = held.cgroup.join("cgroup.procs");
        while std::fs::read_to_string(&members).unwrap().is_empty() {
            assert!(Instant::now() < deadline, "no process enters the cgroup");
            std::thread::sleep(Duration::from_millis(5));
        }
        let name = std::fs::read_to_string(format!("/proc/{}/comm", held.guard.id())).unwrap();
        assert_eq!(
            name, "swap-guard\n",
            "a command that ends all runners by their name ends it too"
        );
        // Ctrl-C, which a terminal sends to all, changes nothing yet.
        interrupt(held.guard.id(), "INT");
        std::thread::sleep(Duration::from_millis(100));
        assert_ne!(State::now(), before);
        held.let_go();
        assert!(!sleeper.wait().unwrap().success(), "it ended by itself");
        assert_eq!(State::now(), before);
    }
}

/// A runner that is killed may have started a program that is not yet in the cgroup.
#[test]
fn who_comes_while_swap_is_taken_away_is_ended_too() {
    let Some(_machine) = machine() else { return };
    let before = State::now();
    let held = hold(&["zram", "--bytes=134217728"]).unwrap();
    let cgroup = held.cgroup.clone();
    let commands: Vec<Command> = (0..200)
        .map(|_| {
            let mut command = held.confined(16 << 20);
            command.args(["sleep", "600"]).stderr(Stdio::null());
            command
        })
        .collect();
    let comers = std::thread::spawn(move || {
        let alive = commands.into_iter().take_while(|_| cgroup.exists());
        alive.map(|mut command| command.spawn().unwrap()).collect::<Vec<Child>>()
    });
    held.let_go();
    assert_eq!(State::now(), before);
    let comers = comers.join().unwrap();
    assert!(!comers.is_empty(), "no process came");
    for mut comer in comers {
        assert!(!comer.wait().unwrap().success(), "it ended by itself");
    }
}

#[test]
fn one_at_a_time_and_not_more_than_there_is() {
    let Some(_machine) = machine() else { return };
    let before = State::now();
    let held = hold(&["zram", "--bytes=134217728"]).unwrap();
    let why = hold(&["fuse", "--bytes=134217728"]).err().expect("it is the second one");
    assert!(why.contains("another comparison"), "{why}");
    held.let_go();
    let why = hold(&["fuse", "--bytes=1125899906842624"]).err().expect("a pebibyte");
    assert!(why.contains("MiB are free"), "{why}");
    // Too small for a header.
    let why = hold(&["fuse", "--bytes=4096"]).err().expect("one page");
    assert!(why.contains("mkswap"), "{why}");
    assert_eq!(State::now(), before);
}

#[test]
fn only_root_is_served() {
    if !process::is_root() {
        let why = hold(&["zram", "--bytes=134217728"]).err().expect("only root may");
        return assert!(why.contains("only root"), "{why}");
    }
    let mut command = Command::new(program("gc-bench"));
    command
        .args(["swap-guard", "hold", "zram", "--bytes=134217728"])
        .uid(NOBODY)
        .stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("only root may"), "{said}");
        }
        Err(error) => eprintln!("skipped: the user `nobody` may not run the guard: {error}"),
    }
}

#[test]
fn whatever_ends_a_runner_the_machine_is_as_before() {
    let Some(_machine) = machine() else { return };
    let before = State::now();
    for signal in ["INT", "TERM", "ABRT", "KILL"] {
        // A shell that runs the tests in the background may have programs ignore Ctrl-C.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(program("gc-bench"));
        command.args([
            "faults",
            "--mib",
            MIB,
            "--threads",
            "1",
            "--rounds",
            "1000",
            "--accesses",
            "100",
        ]);
        let mut runner = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while State::now().swaps == before.swaps {
            assert!(Instant::now() < deadline, "it makes no swap device");
            assert_eq!(runner.try_wait().unwrap(), None, "it ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_ne!(State::now().cgroups, before.cgroups);
        std::thread::sleep(Duration::from_millis(300));
        interrupt(runner.id(), signal);
        assert!(!runner.wait().unwrap().success());
        before.wait();
    }
}

/// Sends a signal.
fn interrupt(process: u32, signal: &str) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(process.to_string()).status();
    assert!(sent.unwrap().success());
}

const CGROUPS: &str = "/sys/fs/cgroup/memory";
const MIB: &str = "48";
const PATIENCE: Duration = Duration::from_secs(20);
/// The user that owns nothing.
const NOBODY: u32 = 65534;
