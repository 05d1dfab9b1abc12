//! One run, as it is stored: a line of JSON.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::gc_bench::counters::{Cycles, Far, FreeEnds, Traced};
use crate::gc_bench::fault_places::FaultPlaces;
use crate::gc_bench::machine::Machine;
use crate::gc_bench::manifest::{Size, WALL};
use crate::gc_bench::noise::Noise;
use crate::gc_bench::residency::Residency;
use crate::gc_bench::trace::Pauses;
use crate::gc_bench::watch::Resources;
use crate::kernel_swap::relief::Relieved;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub workload: String,
    pub size: Size,
    /// The contender's name.
    pub contender: String,
    /// The how-manieth run of this workload on this contender, from 0.
    pub run: usize,
    /// The session's seed, which made the order of its runs.
    pub seed: u64,
    pub verdict: Verdict,
    /// The reason why the run is not right, in one line; else empty.
    pub note: String,
    /// How the process ended: `exit 0`, `signal 6`, `timed out`.
    pub end: String,
    /// Hash of the result.
    pub output: String,
    pub wall_s: f64,
    /// User and system time of the process and of those children that it waited for.
    pub cpu_s: f64,
    /// The resources that the run's processes took, each apart.
    #[serde(default)]
    pub resources: Resources,
    /// The load of other processes on the machine meanwhile.
    #[serde(default)]
    pub noise: Noise,
    /// Times in which the program made no progress.
    #[serde(default)]
    pub pauses: Pauses,
    /// The cost of far memory, where there is any and it is counted.
    #[serde(default)]
    pub far: Option<Far>,
    /// Mako's tablets after the last collection, as a part of the heap's size.
    #[serde(default)]
    pub table_share: Option<f64>,
    /// The memory of the collector's tables on memory servers after the last collection, as a part of the heap's size.
    #[serde(default)]
    pub server_table_share: Option<f64>,
    /// The VM's collections, if it counts them.
    #[serde(default)]
    pub cycles: Option<Cycles>,
    /// How MemLiner found the objects that it traced.
    #[serde(default)]
    pub traced: Option<Traced>,
    /// The fragmentation of Mako's regions.
    #[serde(default)]
    pub free_ends: Option<FreeEnds>,
    /// The places with most page faults, with `--fault-profile`.
    #[serde(default)]
    pub fault_places: Option<FaultPlaces>,
    /// When all that was, a file beside the rows; empty if nothing is known.
    #[serde(default)]
    pub trace: String,
    /// The limit for all resident memory of the process, if the kernel swapped the rest; else 0.
    #[serde(default)]
    pub cgroup_bytes: u64,
    /// The memory that it got beyond that.
    #[serde(default)]
    pub relieved: Relieved,
    /// It had more than 1 % of its byte-seconds beyond that: nothing is concluded from its figures.
    #[serde(default)]
    pub unfair: bool,
    /// How often it was run until this one was kept: an unfair one is run again. 0 in rows of old.
    #[serde(default)]
    pub tries: u32,
    /// The resident memory of a peer, bytes on the average over time, if it is known.
    #[serde(default)]
    pub resident: Residency,
    /// The peer that had as much of its heap resident as ours had local memory, with `--as-resident-as`; else empty.
    #[serde(default)]
    pub as_resident_as: String,
    /// How much that was, bytes; else 0.
    #[serde(default)]
    pub local_bytes: u64,
    /// The kind of far memory and its network; empty if all memory was local.
    #[serde(default)]
    pub far_memory: String,
    /// On which cores it ran, as `--pin` says it; empty: on all.
    #[serde(default)]
    pub pin: String,
    /// The program's own measurements, by name.
    pub metrics: BTreeMap<String, f64>,
    /// Program and arguments as they were started.
    pub command: Vec<String>,
    /// Counters of our VM, a file beside the rows; empty for others.
    pub stats: String,
    /// Seconds since 1970 at which it started.
    pub started: u64,
    pub jdk: String,
    pub commit: String,
    pub machine: Machine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It ended as it should, and its result is the expected one.
    Right,
    /// It ended as it should, with another result or without the figures of its phases.
    Wrong,
    /// It ended with an error or by a signal.
    Failed,
    TimedOut,
    /// It could not be started or its result not be judged.
    NotJudged,
}

impl Verdict {
    /// Something went wrong in the program or in the VM.
    pub fn is_broken(self) -> bool {
        matches!(self, Verdict::Wrong | Verdict::Failed | Verdict::TimedOut)
    }
}

impl Row {
    /// Whether nothing may be concluded from its figures, since it had more memory than it should. Rows of old do not
    /// say so themselves.
    pub fn is_unfair(&self) -> bool {
        self.unfair || self.relieved.is_unfair()
    }

    /// Whether its figures count: it ended with the right result, and had no more memory than others.
    pub fn counts(&self) -> bool {
        self.verdict == Verdict::Right && !self.is_unfair()
    }

    /// How good it is to keep among tries of the same run; more is better.
    fn rank(&self) -> (bool, bool, f64) {
        let is_right = self.verdict == Verdict::Right;
        (self.counts(), is_right, -self.relieved.beyond_share())
    }

    /// A figure by name; `None` if the program did not print it, or the run does not [count](Row::counts).
    pub fn figure(&self, metric: &str) -> Option<f64> {
        match (self.counts(), metric) {
            (true, WALL) => Some(self.wall_s),
            (true, name) => self.metrics.get(name).copied(),
            _ => None,
        }
    }
}

/// Runs `one`, which gets the number of the try from 1, and while it is right but unfair again, up to [`TRIES_MORE`]
/// times; kept is the fair one, or the least unfair one if none is. It says how often it was tried.
pub fn fairest(mut one: impl FnMut(u32) -> Row, goes_on: impl Fn() -> bool) -> Row {
    let mut kept = one(1);
    let mut tries = 1;
    while kept.verdict == Verdict::Right && kept.is_unfair() && tries <= TRIES_MORE && goes_on() {
        tries += 1;
        let next = one(tries);
        if next.rank() > kept.rank() {
            kept = next;
        }
    }
    kept.tries = tries;
    kept
}

/// How often an unfair run is run again at most.
pub const TRIES_MORE: u32 = 3;

/// The file of rows in the folder of a series.
pub const ROWS: &str = "rows.jsonl";

/// A contender in the names of files, for any options and any number of them.
pub fn file_name(contender: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-+=.:_".contains(c);
    let name: String = contender.replace([' ', '%'], "");
    if name.len() <= NAME_MAX && name.chars().all(is_plain) {
        return name;
    }
    let digest = Sha256::digest(contender.as_bytes());
    let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let name: String = name.chars().filter(|c| is_plain(*c)).take(NAME_MAX).collect();
    format!("{name}-{digest}")
}

/// Characters of [`file_name`] before its digest.
const NAME_MAX: usize = 80;

/// The lines `metric NAME VALUE` of a program's standard error; all other lines are skipped.
pub fn metrics(stderr: &[u8]) -> BTreeMap<String, f64> {
    let text = String::from_utf8_lossy(stderr);
    let parse = |line: &str| {
        let (name, value) = line.strip_prefix("metric ")?.split_once(' ')?;
        let value: f64 = value.trim().parse().ok()?;
        value.is_finite().then(|| (name.to_string(), value))
    };
    text.lines().filter_map(parse).collect()
}

/// Reads the rows of a file. A last line that was cut is left out: its run was not complete.
pub fn read(path: &Path) -> io::Result<Vec<Row>> {
    let text = std::fs::read_to_string(path)?;
    let mut rows = Vec::new();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    for (number, line) in complete.lines().enumerate() {
        rows.push(serde_json::from_str(line).map_err(|error| {
            io::Error::other(format!("{}:{}: {error}", path.display(), number + 1))
        })?);
    }
    Ok(rows)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::harness::scratch::Scratch;

    /// A right run of this many seconds.
    pub fn row(workload: &str, contender: &str, run: usize, wall_s: f64) -> Row {
        Row {
            workload: workload.to_string(),
            size: Size::Tiny,
            contender: contender.to_string(),
            run,
            seed: 1,
            verdict: Verdict::Right,
            note: String::new(),
            end: "exit 0".to_string(),
            output: "0123456789abcdef".to_string(),
            wall_s,
            cpu_s: wall_s,
            resources: Resources::default(),
            noise: Noise::default(),
            pauses: Pauses::default(),
            far: None,
            table_share: None,
            server_table_share: None,
            fault_places: None,
            cycles: None,
            traced: None,
            free_ends: None,
            trace: String::new(),
            cgroup_bytes: 0,
            relieved: Relieved::default(),
            unfair: false,
            tries: 1,
            resident: Residency::default(),
            as_resident_as: String::new(),
            local_bytes: 0,
            far_memory: String::new(),
            pin: String::new(),
            metrics: BTreeMap::from([("load_s".to_string(), wall_s / 2.0)]),
            command: vec!["java".to_string()],
            stats: String::new(),
            started: 0,
            jdk: "17".to_string(),
            commit: String::new(),
            machine: Machine::this(),
        }
    }

    /// A run with such a part of its byte-seconds beyond its limit.
    pub fn beyond(share: f64, wall_s: f64) -> Row {
        let mut row = row("a", "hotspot-g1 25% kernel-zram", 0, wall_s);
        row.relieved =
            Relieved { times: 1, beyond_byte_s: share, all_byte_s: 1.0, ..Relieved::default() };
        row.unfair = row.relieved.is_unfair();
        row
    }

    #[test]
    fn an_unfair_run_is_run_again_until_one_is_fair() {
        let try_all = |shares: &[f64]| {
            let one = |at: u32| beyond(shares[at as usize - 1], f64::from(at));
            let row = fairest(one, || true);
            (row.wall_s, row.tries, row.is_unfair())
        };
        assert_eq!(try_all(&[0.01]), (1.0, 1, false));
        assert_eq!(try_all(&[0.5, 0.02, 0.0]), (3.0, 3, false));
        assert_eq!(try_all(&[0.5, 0.02, 0.3, 0.4]), (2.0, 4, true), "the least unfair one");
        let stopped = fairest(|_| beyond(0.5, 1.0), || false);
        assert_eq!((stopped.tries, stopped.unfair), (1, true));
        let failing = |at: u32| {
            let mut row = beyond(if at == 1 { 0.5 } else { 0.0 }, f64::from(at));
            row.verdict = if at == 2 { Verdict::Failed } else { Verdict::Right };
            row
        };
        let row = fairest(failing, || true);
        assert_eq!(
            (row.wall_s, row.tries),
            (3.0, 3),
            "one that failed is not kept for one that did not"
        );
    }

    #[test]
    fn unfair_runs_have_no_figures_and_say_so() {
        let unfair = beyond(0.02, 1.0);
        assert_eq!((unfair.figure(WALL), unfair.figure("load_s")), (None, None));
        assert!(serde_json::to_string(&unfair).unwrap().contains("\"unfair\":true"));
        assert_eq!(beyond(0.005, 1.0).figure(WALL), Some(1.0));
    }

    #[test]
    fn rows_of_old_are_read_and_those_that_got_more_are_unfair() {
        let mut old = serde_json::to_value(row("a", "hotspot-g1 25% kernel-zram", 0, 3.0)).unwrap();
        let object = old.as_object_mut().unwrap();
        for new in ["unfair", "tries", "resident", "as_resident_as", "local_bytes"] {
            object.remove(new).unwrap();
        }
        let relieved = |times| serde_json::json!({"times": times, "bytes_max": 9, "time": {"secs": 0, "nanos": times}});
        object.insert("relieved".to_string(), relieved(0));
        let none: Row = serde_json::from_value(old.clone()).unwrap();
        assert!(none.counts() && none.tries == 0);
        old["relieved"] = relieved(3);
        let some: Row = serde_json::from_value(old).unwrap();
        assert!(some.is_unfair() && some.figure(WALL).is_none());
    }

    #[test]
    fn figures_are_those_of_right_runs() {
        let mut row = row("a", "serial 100%", 0, 3.0);
        assert_eq!(row.figure(WALL), Some(3.0));
        assert_eq!(row.figure("load_s"), Some(1.5));
        assert_eq!(row.figure("other_s"), None);
        row.verdict = Verdict::Wrong;
        assert_eq!(row.figure(WALL), None);
    }

    #[test]
    fn metrics_are_found_among_other_lines() {
        let text = b"INFO start\nmetric run_s 1.250\nmetric broken x\nmetric nan_s NaN\n metric no 1\nmetric a_us 7\n";
        let found = metrics(text);
        assert_eq!(found, BTreeMap::from([("run_s".to_string(), 1.25), ("a_us".to_string(), 7.0)]));
    }

    #[test]
    fn rows_are_read_as_they_were_written_without_a_cut_one() {
        let scratch = Scratch::new("rows").unwrap();
        let path = scratch.path().join("rows.jsonl");
        let rows = [row("a", "hotspot", 0, 1.5), row("b", "mako 25%", 1, 2.5)];
        let lines: Vec<String> =
            rows.iter().map(|row| serde_json::to_string(row).unwrap()).collect();
        std::fs::write(&path, format!("{}\n{}\n{}", lines[0], lines[1], &lines[0][..40])).unwrap();
        assert_eq!(read(&path).unwrap(), rows);
        std::fs::write(&path, "{}\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("rows.jsonl:1: "));
    }
}
