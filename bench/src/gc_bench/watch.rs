//! A run seen from outside: CPU time and memory of its processes, and the cores that they stay on.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::gc_bench::cores::Cores;
use crate::gc_bench::hotspot_log;
use crate::gc_bench::residency::{self, Averager};
use crate::harness::process::{self, Watch, ticks_per_second};
use crate::java::footprint;

/// The resources that the processes of a run took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// CPU time of the VM's process, which for our VM has the collector's and pager's threads too.
    pub program_s: f64,
    /// CPU time of all that the VM started, memory servers, as of their last sample; and of the server behind a swap
    /// device.
    pub servers_s: f64,
    /// CPU time of the VM's threads by kind, as of their last sample.
    pub threads_s: BTreeMap<String, f64>,
    /// The most that was resident, without the servers.
    pub peak_bytes: u64,
    /// The sum of the servers' resident memory at their peaks.
    pub servers_peak_bytes: u64,
}

/// How a Java heap is distinguished from the rest of a process.
pub enum HeapAt {
    /// By its addresses, which HotSpot writes to this log.
    Logged(PathBuf),
    /// It is shared memory, mapped several times, and nothing else is: ZGC's.
    Shared,
}

impl HeapAt {
    /// The addresses of those pages of the heap that would count as the process's own; `None` if the log does not
    /// hold them yet.
    fn find(&self) -> Option<Range<u64>> {
        match self {
            HeapAt::Logged(log) => hotspot_log::heap(&std::fs::read_to_string(log).ok()?),
            HeapAt::Shared => Some(0..0),
        }
    }
}

/// Looks at a run now and then.
pub struct Observer {
    cores: Option<Cores>,
    /// If it is set, the resident memory of the process is measured, of its heap and outside of it.
    pub heap: Option<HeapAt>,
    /// Whether its memory outside of the heap is measured too.
    pub seeks_own: bool,
    /// The most of it; 0 if no heap was found.
    pub own_bytes: u64,
    /// The resident memory, if the heap is known.
    pub residency: Averager,
    next_residency: Duration,
    start: Instant,
    pub resources: Resources,
    /// Seconds since the start, and bytes resident in the VM's process.
    pub resident: Vec<(f64, u64)>,
    /// Processes that the VM started, which are orphaned when the VM has ended: CPU time and memory at the peak.
    servers: BTreeMap<u32, (f64, u64)>,
    /// Servers of the run that ran before it: the process that started them, and the CPU time that they had taken by
    /// then.
    lent: Option<(u32, f64)>,
    next_sample: Duration,
    interval: Duration,
}

impl Observer {
    pub fn new(cores: Option<Cores>) -> Observer {
        Observer {
            cores,
            heap: None,
            seeks_own: false,
            own_bytes: 0,
            residency: Averager::default(),
            next_residency: Duration::ZERO,
            start: Instant::now(),
            resources: Resources::default(),
            resident: Vec::new(),
            servers: BTreeMap::new(),
            lent: None,
            next_sample: Duration::ZERO,
            interval: SAMPLE_EVERY,
        }
    }

    /// The children of this process serve the run too, though they are not the run's: they are pinned to the servers'
    /// cores, and the CPU time that they take from now on counts as the servers'.
    pub fn lend(&mut self, parent: u32) {
        if let Some(cores) = &self.cores {
            descendants(parent).into_iter().for_each(|server| cores.pin_server(server));
        }
        self.lent = Some((parent, seconds_of_children(parent)));
    }

    /// Reads the CPU time and memory of a server, if it still runs.
    fn look(&mut self, server: u32) {
        let (seconds, peak) = self.servers.entry(server).or_default();
        if let Some(stat) = Stat::read(&format!("/proc/{server}/stat")) {
            *seconds = seconds.max(stat.own_s);
        }
        if let Some(memory) = memory(server) {
            *peak = memory.peak_bytes.max(*peak);
        }
    }

    fn sample(&mut self, pid: u32) {
        let Some(status) = memory(pid) else { return };
        self.resources.peak_bytes = self.resources.peak_bytes.max(status.peak_bytes);
        self.resident.push((self.start.elapsed().as_secs_f64(), status.resident_bytes));
        if self.resident.len() >= SAMPLES_MAX {
            let mut at = 0;
            self.resident.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.interval *= 2;
        }
        if self.seeks_own
            && let Some(heap) = self.heap.as_ref().and_then(HeapAt::find)
        {
            self.own_bytes = self.own_bytes.max(footprint::outside_bytes(pid, &heap).unwrap_or(0));
        }
        let mut threads = BTreeMap::new();
        for thread in tasks(pid) {
            let Some(stat) = Stat::read(&format!("/proc/{pid}/task/{thread}/stat")) else {
                continue;
            };
            *threads.entry(kind(&stat.name)).or_insert(0.0) += stat.own_s;
        }
        self.resources.threads_s = threads;
    }

    /// Measures the resident memory. Meanwhile the program cannot change its mappings, so this takes a small part of
    /// the time only.
    fn look_at_heap(&mut self, pid: u32) {
        let Some(place) = &self.heap else { return };
        let before = self.start.elapsed();
        let found = place.find().and_then(|heap| residency::of_process(pid, &heap));
        let now = self.start.elapsed();
        self.next_residency = now
            + match found {
                // A short run is to have more than one or two samples.
                Some(_) if now < STARTING => LOOKS_FOR_HEAP.max((now - before) * LOOKS_RARELY),
                Some(_) => SAMPLE_EVERY.max((now - before) * LOOKS_RARELY),
                None => LOOKS_FOR_HEAP,
            };
        if let Some(resident) = found {
            self.residency.add(before.as_secs_f64(), resident);
        }
    }
}

impl Watch for Observer {
    fn tick(&mut self, pid: u32) -> Duration {
        for server in descendants(pid) {
            self.look(server);
            if let Some(cores) = &self.cores {
                cores.pin_server(server);
            }
        }
        let elapsed = self.start.elapsed();
        if elapsed >= self.next_sample {
            self.sample(pid);
            self.next_sample = elapsed + self.interval;
        }
        if elapsed >= self.next_residency {
            self.look_at_heap(pid);
        }
        // Servers begin with the program, and are to be put where they belong before they have worked.
        match (self.cores.is_some() && elapsed < STARTING, self.heap.is_some()) {
            (true, _) => LOOKS_WHILE_STARTING,
            // Soon while the heap is not known yet, and never as seldom as the other samples of a long run.
            (false, true) => {
                let now = self.start.elapsed();
                self.next_residency.saturating_sub(now).clamp(LOOKS_WHILE_STARTING, SAMPLE_EVERY)
            }
            (false, false) => self.interval,
        }
    }

    fn ended(&mut self, pid: u32) {
        let mut waited_for_s = 0.0;
        if let Some(stat) = Stat::read(&format!("/proc/{pid}/stat")) {
            self.resources.program_s = stat.own_s;
            waited_for_s = stat.children_s;
        }
        for server in self.servers.keys().copied().collect::<Vec<u32>>() {
            self.look(server);
        }
        let looked_s: f64 = self.servers.values().fold(0.0, |sum, (seconds, _)| sum + seconds);
        let lent_s =
            self.lent.map_or(0.0, |(parent, before_s)| seconds_of_children(parent) - before_s);
        self.resources.servers_s = looked_s.max(waited_for_s) + lent_s.max(0.0);
        self.resources.servers_peak_bytes = self.servers.values().map(|(_, bytes)| bytes).sum();
    }
}

/// A thread's name without the numbers that distinguish it from others of its kind.
fn kind(name: &str) -> String {
    let ends = |c: char| c.is_ascii_digit() || ['#', '-', ' ', '/', ':', '.'].contains(&c);
    let kind = name.trim_end_matches(ends);
    if kind.is_empty() { "nameless".to_string() } else { kind.to_string() }
}

/// CPU time of the threads that only collect, out of that of all kinds of threads, by their names. Collector work of
/// a program's own threads is not in it, nor that of HotSpot's "VM Thread".
pub fn collector_s(threads_s: &BTreeMap<String, f64>) -> f64 {
    let collects = |name: &str| COLLECTORS.iter().any(|collector| name.starts_with(collector));
    threads_s.iter().filter(|(name, _)| collects(name)).map(|(_, seconds)| seconds).sum()
}

/// How names of threads that collect begin, HotSpot's and ours.
const COLLECTORS: &[&str] = &[
    "G1",
    "GC Thread",
    "ParGC",
    "Shenandoah",
    "ZD",
    "ZW",
    "ZS",
    "ZU",
    "Semeru",
    "Mako",
    "MemLiner",
];

struct Memory {
    resident_bytes: u64,
    peak_bytes: u64,
}

fn memory(pid: u32) -> Option<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let bytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
    };
    Some(Memory { resident_bytes: bytes("VmRSS:")?, peak_bytes: bytes("VmHWM:")? })
}

/// The fields that are read of a process or of a thread.
struct Stat {
    name: String,
    parent: u32,
    own_s: f64,
    children_s: f64,
}

impl Stat {
    fn read(path: &str) -> Option<Stat> {
        Stat::parse(&std::fs::read_to_string(path).ok()?, ticks_per_second())
    }

    /// The name is in parentheses and may hold anything, also parentheses.
    fn parse(text: &str, ticks: f64) -> Option<Stat> {
        let (before, after) = text.rsplit_once(')')?;
        let name = before.split_once('(')?.1.to_string();
        let fields: Vec<&str> = after.split_whitespace().collect();
        let seconds = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / ticks);
        Some(Stat {
            name,
            parent: fields.get(1)?.parse().ok()?,
            own_s: seconds(11)? + seconds(12)?,
            children_s: seconds(13)? + seconds(14)?,
        })
    }
}

/// All descendants of `pid`; servers are in groups of their own.
fn descendants(pid: u32) -> Vec<u32> {
    let parent = |child: u32| Some(Stat::read(&format!("/proc/{child}/stat"))?.parent);
    let all: Vec<(u32, u32)> =
        numbers(Path::new("/proc")).filter_map(|child| Some((child, parent(child)?))).collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(next) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, parent)| *parent == next).map(|(child, _)| *child));
        at += 1;
    }
    found.split_off(1)
}

/// CPU time of all that a process has started and that still runs.
fn seconds_of_children(pid: u32) -> f64 {
    let read = |child: u32| Stat::read(&format!("/proc/{child}/stat"));
    descendants(pid).into_iter().filter_map(read).fold(0.0, |sum, stat| sum + stat.own_s)
}

fn tasks(pid: u32) -> Vec<u32> {
    numbers(Path::new(&format!("/proc/{pid}/task"))).collect()
}

impl Cores {
    /// Puts all threads of a process where servers belong.
    fn pin_server(&self, pid: u32) {
        for thread in tasks(pid) {
            process::pin(thread, &self.servers);
        }
    }
}

/// The entries of a folder that are numbers; none if it does not exist any more.
fn numbers(folder: &Path) -> impl Iterator<Item = u32> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

const SAMPLE_EVERY: Duration = Duration::from_millis(200);
/// When there are this many, every second one is dropped, and half as many are taken from then on.
const SAMPLES_MAX: usize = 1000;
const LOOKS_FOR_HEAP: Duration = Duration::from_millis(50);
/// The time between two measurements of residency, as a multiple of the duration of one.
const LOOKS_RARELY: u32 = 50;
const STARTING: Duration = Duration::from_secs(2);
const LOOKS_WHILE_STARTING: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::scratch::Scratch;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let text = "7 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 1 0 99";
        let stat = Stat::parse(text, 100.0).unwrap();
        assert_eq!((stat.name.as_str(), stat.parent), ("a) b (c", 1));
        assert_eq!((stat.own_s, stat.children_s), (2.0, 0.5));
        assert!(Stat::parse("7 (a", 100.0).is_none());
    }

    #[test]
    fn threads_of_a_kind_have_one_name() {
        let names = ["GC Thread#0", "GC Thread#11", "G1 Conc#0", "7", "java"].map(kind);
        assert_eq!(names, ["GC Thread", "GC Thread", "G1 Conc", "nameless", "java"]);
    }

    /// A shell that computes, and a child of it that does so too and still runs at the end.
    #[test]
    fn a_program_and_its_servers_are_told_apart_and_pinned() {
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let allowed = "grep Cpus_allowed_list /proc/self/status";
        let child = format!("({work}; {allowed} > part; mv part ready; sleep 30) & ");
        let script =
            format!("{child} {work}; while [ ! -e ready ]; do sleep 0.05; done; cat ready");
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        let last = std::thread::available_parallelism().unwrap().get() - 1;
        let mut watch = Observer::new(Some(Cores { program: vec![0], servers: vec![last] }));
        let scratch = Scratch::new("watch").unwrap();
        let limit = Duration::from_secs(60);
        let run = process::run_watched(command, scratch.path(), b"", limit, &mut watch).unwrap();
        assert_eq!(run.end, process::End::Exit(0));
        let stdout = String::from_utf8_lossy(&run.stdout);
        assert_eq!(stdout.split_whitespace().last(), Some(last.to_string().as_str()), "{stdout}");
        let found = &watch.resources;
        assert!(found.program_s > 0.02 && found.servers_s > 0.02, "{found:?}");
        assert!(found.peak_bytes > 100_000 && found.servers_peak_bytes > 100_000, "{found:?}");
        assert!(!watch.resident.is_empty());
    }

    /// A child of a process computes while another command runs: as a swap device's server does.
    #[test]
    fn what_serves_a_run_from_outside_counts_as_its_servers() {
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec sleep 5";
        let script = format!("({work}) & echo $!; wait");
        let mut guard = Command::new("sh");
        let mut guard = guard.args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut server = String::new();
        BufReader::new(guard.stdout.take().unwrap()).read_line(&mut server).unwrap();
        let last = std::thread::available_parallelism().unwrap().get() - 1;
        let mut watch = Observer::new(Some(Cores { program: vec![0], servers: vec![last] }));
        watch.lend(guard.id());
        let status = format!("/proc/{}/status", server.trim());
        let allowed = std::fs::read_to_string(status).unwrap();
        let mut command = Command::new("sleep");
        command.arg("1.5");
        let scratch = Scratch::new("lent").unwrap();
        let limit = Duration::from_secs(60);
        let run = process::run_watched(command, scratch.path(), b"", limit, &mut watch).unwrap();
        let _ = guard.kill();
        let _ = guard.wait();
        assert_eq!(run.end, process::End::Exit(0));
        assert!(allowed.contains(&format!("Cpus_allowed_list:\t{last}\n")), "{allowed}");
        assert!(watch.resources.servers_s > 0.05, "{:?}", watch.resources);
    }
}
