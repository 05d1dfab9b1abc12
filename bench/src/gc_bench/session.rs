//! Measuring: compiled workloads, and one process for each run.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::units::{parse_bytes, parse_percent};

use crate::gc_bench::class_path::Libraries;
use crate::gc_bench::contender::{Contender, Way};
use crate::gc_bench::cores::Cores;
use crate::gc_bench::counters;
use crate::gc_bench::fault_places::FaultPlaces;
use crate::gc_bench::hotspot_log;
use crate::gc_bench::local::Local;
use crate::gc_bench::machine::{self, Machine};
use crate::gc_bench::manifest::{Manifest, Size, Workload, phase_metric};
use crate::gc_bench::noise::{Moment, Noise};
use crate::gc_bench::probe;
use crate::gc_bench::residency::Residency;
use crate::gc_bench::row::{self, Row, Verdict};
use crate::gc_bench::trace::{Pauses, Trace};
use crate::gc_bench::watch::{HeapAt, Observer, Resources};
use crate::harness::process::{self, End, Run};
use crate::harness::scratch::Scratch;
use crate::java::jdk::{self, Jdk};
use crate::java::vm::Vm;
use crate::kernel_swap::network::Network;
use crate::kernel_swap::relief::{Relief, Relieved};
use crate::kernel_swap::{Device, KernelSwap, ZRAM_BYTES};

/// A series of runs with everything that is the same in all of them.
pub struct Session<'a> {
    pub manifest: &'a Manifest,
    pub jdk: Jdk,
    pub vm: Vm,
    pub size: Size,
    /// Instead of the workloads' own.
    pub heap: Option<String>,
    pub seed: u64,
    /// The time limit of one run.
    pub limit: Duration,
    pub cores: Option<Cores>,
    /// The network to far memory, for all contenders.
    pub network: Network,
    /// Whether a thread inside of the program looks at pauses.
    pub has_probe: bool,
    /// Whether our VM says where the program has page faults.
    pub profiles_faults: bool,
    /// More options for peers.
    pub peer_options: Vec<String>,
    /// The folder of the results; the output of failed runs is written to it too.
    pub out: PathBuf,
    libraries: Libraries,
    machine: Machine,
    commit: String,
    /// Results of HotSpot in this session, by workload.
    references: HashMap<String, String>,
    classes: Scratch,
    /// Made when a run needs another one, and put back when the session ends.
    swap: Option<(Device, KernelSwap)>,
    /// The size of a swap device for these workloads.
    swap_bytes: u64,
    /// The memory that a peer takes in addition to its heap, bytes, by workload and name.
    own_bytes: HashMap<(String, String), u64>,
}

impl<'a> Session<'a> {
    pub fn new(
        manifest: &'a Manifest,
        jdk: Jdk,
        vm: Vm,
        size: Size,
        out: PathBuf,
    ) -> io::Result<Session<'a>> {
        let classes = Scratch::new("gc-bench")?;
        probe::compile(&jdk, &classes.folder(probe::MAIN)?)?;
        Ok(Session {
            jdk,
            vm,
            size,
            heap: None,
            seed: 1,
            limit: Duration::from_secs(600),
            cores: None,
            network: Network::default(),
            has_probe: true,
            profiles_faults: false,
            peer_options: Vec::new(),
            out,
            libraries: Libraries::find()?,
            machine: Machine::this(),
            commit: machine::commit(&manifest.folder),
            references: HashMap::new(),
            classes,
            swap: None,
            swap_bytes: 0,
            own_bytes: HashMap::new(),
            manifest,
        })
    }

    /// Compiles a workload's sources. The error names what is missing, or holds the compiler's messages.
    pub fn compile(&self, workload: &Workload) -> io::Result<()> {
        let class_path = self.libraries.class_path(workload)?;
        let mut sources = Vec::new();
        for source in &workload.sources {
            let path = self.manifest.folder.join(source);
            match path.is_dir() {
                true => sources.extend(jdk::sources(&path)?),
                false => sources.push(path),
            }
        }
        let classes = self.classes.folder(&workload.name)?;
        let mut command = self.jdk.javac();
        command.arg("-nowarn").arg("-d").arg(&classes);
        if !class_path.is_empty() {
            command.arg("-cp").arg(joined(&class_path)?);
        }
        let output = command.args(&sources).output()?;
        if output.status.success() {
            return Ok(());
        }
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(io::Error::other(format!("{}: javac: {messages}", workload.name)))
    }

    /// The whole command of a run: VM, options, class path, program, arguments.
    fn command(
        &self,
        workload: &Workload,
        contender: &Contender,
        notes: &Notes,
    ) -> io::Result<Command> {
        let sizing = workload.sizing(self.size)?;
        let mut class_path = vec![self.classes.path().join(&workload.name)];
        class_path.extend(self.libraries.class_path(workload)?);
        let mut command =
            contender.command(&self.vm, &self.jdk, &self.network.options(), &notes.stats)?;
        if contender.is_peer() {
            command.arg(hotspot_log::option(&notes.log));
            command.arg(hotspot_log::heap_option(&notes.heap));
        } else if self.profiles_faults {
            command.arg("--fault-profile").arg(&notes.faults);
        }
        // Files that a program leaves behind are removed with its folder.
        command.arg(format!("-Djava.io.tmpdir={}", notes.temporary.display()));
        if self.has_probe {
            command.arg(format!("-D{}={}", probe::PROPERTY, notes.probe.display()));
        }
        if !contender.has_heap() {
            command.arg(format!("-Xmx{}", self.heap.as_ref().unwrap_or(&sizing.heap)));
        }
        command.args(&workload.options);
        if contender.is_peer() {
            command.args(&self.peer_options);
        }
        if self.has_probe {
            class_path.push(self.classes.path().join(probe::MAIN));
        }
        command.arg("-cp").arg(joined(&class_path)?);
        if self.has_probe {
            command.arg(probe::MAIN);
        }
        command.arg(&workload.main);
        command.args(sizing.arguments.split_whitespace());
        Ok(command)
    }

    /// Runs the workload on HotSpot, unmeasured: its result is expected of all contenders. The row gives the reason
    /// where there is none.
    pub fn refer(&mut self, workload: &Workload) -> Result<(), Box<Row>> {
        let mut row = self.measure(workload, &Contender::Peer(0), REFERENCE, None);
        // The manifest may be of another release of a library, which gives another result.
        let has_ended = matches!(row.verdict, Verdict::Right | Verdict::NotJudged | Verdict::Wrong);
        if has_ended && !row.output.is_empty() {
            self.references.insert(workload.name.clone(), row.output);
            return Ok(());
        }
        row.run = 0;
        Err(Box::new(row))
    }

    /// One run, and where it was unfair others instead of it. Every outcome becomes a row. One whose pages our pager
    /// brings has `local` memory, if it says how much, instead of its share.
    pub fn measure(
        &mut self,
        workload: &Workload,
        contender: &Contender,
        run: usize,
        local: Option<&Local>,
    ) -> Row {
        let one = |tries| self.measure_once(workload, contender, (run, tries), local);
        row::fairest(one, || !process::is_interrupted())
    }

    fn measure_once(
        &mut self,
        workload: &Workload,
        contender: &Contender,
        (run, tries): (usize, u32),
        local: Option<&Local>,
    ) -> Row {
        let mut row = self.blank(workload, contender, (run, tries), local);
        let started = match local {
            Some(local) => contender.with_local_bytes(local.bytes),
            None => contender.clone(),
        };
        if let Err(error) = self.run(workload, &started, &mut row) {
            row.verdict = Verdict::NotJudged;
            row.note = error.to_string();
        }
        row
    }

    /// The row of a run that was not made, and why.
    pub fn not_run(
        &self,
        workload: &Workload,
        contender: &Contender,
        run: usize,
        why: String,
    ) -> Row {
        let mut row = self.blank(workload, contender, (run, 0), None);
        row.note = why;
        row
    }

    /// A row before its run.
    fn blank(
        &self,
        workload: &Workload,
        contender: &Contender,
        (run, tries): (usize, u32),
        local: Option<&Local>,
    ) -> Row {
        Row {
            workload: workload.name.clone(),
            size: self.size,
            contender: contender.to_string(),
            run,
            seed: self.seed,
            verdict: Verdict::NotJudged,
            note: String::new(),
            end: String::new(),
            output: String::new(),
            wall_s: 0.0,
            cpu_s: 0.0,
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
            tries,
            resident: Residency::default(),
            as_resident_as: local.map_or(String::new(), |local| local.peer.clone()),
            local_bytes: local.map_or(0, |local| local.bytes),
            far_memory: contender.servers().map_or(String::new(), |(servers, transport)| {
                let network = contender.network(self.network);
                format!("{servers} memory servers over {transport}, {network}")
            }),
            pin: self.cores.as_ref().map_or(String::new(), Cores::to_string),
            metrics: Default::default(),
            command: Vec::new(),
            stats: String::new(),
            started: now_ms() / 1000,
            jdk: self.jdk.version.clone(),
            commit: self.commit.clone(),
            machine: self.machine.clone(),
        }
    }

    fn run(&mut self, workload: &Workload, contender: &Contender, row: &mut Row) -> io::Result<()> {
        let scratch = Scratch::new("run")?;
        let notes = Notes::of(scratch.path())?;
        let mut command = self.command(workload, contender, &notes)?;
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        row.command = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let (mut swapped, mut relief) = (None, None);
        let mut observer = Observer::new(self.cores.clone());
        observer.heap = contender.is_peer().then(|| heap_at(contender, &notes.heap));
        if let Some((way, local_memory)) = contender.way()
            && way.is_kernel_swap()
        {
            let bytes = self.budget(workload, contender, local_memory)?;
            let swap = self.swap(way)?;
            let confined = swap.confine(&command, bytes).map_err(io::Error::other)?;
            (command, relief) = (confined.0, Some(confined.1));
            row.far_memory = swap.model().to_string();
            row.cgroup_bytes = bytes;
            swapped = Some(swap.swapped());
            observer.lend(swap.guard());
        }
        self.pin()?;
        let (before, started_ms) = (Moment::now(), now_ms());
        let run = process::run_watched(command, scratch.path(), b"", self.limit, &mut observer)?;
        row.relieved = relief.map(Relief::end).unwrap_or_default();
        row.unfair = row.relieved.is_unfair();
        row.resident = observer.residency.average();
        row.resources = observer.resources;
        row.noise = before.until_now(row.resources.program_s + row.resources.servers_s);
        row.end = run.end.to_string();
        row.wall_s = run.wall.as_secs_f64();
        row.cpu_s = run.cpu.as_secs_f64();
        row.metrics = row::metrics(&run.stderr);
        row.output = workload.judged.hash(&run.stdout);
        self.judge(workload, &run, row)?;
        let label = label(row);
        if notes.stats.exists() {
            row.stats = format!("stats/{label}.json");
            std::fs::create_dir_all(self.out.join("stats"))?;
            std::fs::copy(&notes.stats, self.out.join(&row.stats))?;
        }
        if let Some(text) = text(&notes.faults)
            && let Some(places) = FaultPlaces::parse(&text)
        {
            let file = format!("faults/{label}.txt");
            std::fs::create_dir_all(self.out.join("faults"))?;
            std::fs::write(self.out.join(&file), text)?;
            row.fault_places = Some(FaultPlaces { file, ..places });
        }
        let mut trace = notes.read(started_ms, row);
        trace.resident =
            observer.resident.iter().map(|(at_s, bytes)| (at_s * 1e3, *bytes)).collect();
        if let (Some(before), Some((_, swap))) = (swapped, &self.swap) {
            row.far = Some(counters::swapped(before, swap.swapped()));
        }
        row.pauses = trace.pauses();
        row.trace = format!("traces/{label}.json");
        std::fs::create_dir_all(self.out.join("traces"))?;
        trace.write(&self.out.join(&row.trace))?;
        if row.verdict != Verdict::Right && run.end != End::Interrupted {
            let folder = self.out.join("failed");
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(format!("{label}.out")), &run.stdout)?;
            std::fs::write(folder.join(format!("{label}.err")), &run.stderr)?;
        }
        Ok(())
    }

    /// The machine's swap, of this kind: the device of another kind is put back before.
    fn swap(&mut self, way: Way) -> io::Result<&KernelSwap> {
        let (device, bytes) = match way {
            Way::KernelFuse => (Device::Fuse(self.network), self.swap_bytes),
            _ => (Device::Zram, self.swap_bytes.max(ZRAM_BYTES)),
        };
        if self.swap.as_ref().is_none_or(|(there, _)| *there != device) {
            self.swap = None;
            let swap = KernelSwap::new(device, bytes)
                .map_err(|why| io::Error::other(format!("--far {way}: {why}")))?;
            self.swap = Some((device, swap));
        }
        let (_, swap) = self.swap.as_ref().expect("it was just made");
        Ok(swap)
    }

    /// Makes the devices that contenders need to run these workloads. The error says why that is impossible, before
    /// anything is measured.
    pub fn prepare(&mut self, contenders: &[Contender], workloads: &[&Workload]) -> io::Result<()> {
        for workload in workloads {
            let heap = self.heap_bytes(workload)?;
            self.swap_bytes = self.swap_bytes.max(SWAP_TO_HEAP * heap + SWAP_BYTES_MORE);
        }
        let swapping = |way: &Way| {
            contenders.iter().any(|contender| contender.way().is_some_and(|(its, _)| its == *way))
        };
        for way in [Way::KernelZram, Way::KernelFuse].into_iter().filter(swapping) {
            self.swap(way)?;
        }
        Ok(())
    }

    fn heap_bytes(&self, workload: &Workload) -> io::Result<u64> {
        let heap = self.heap.as_ref().unwrap_or(&workload.sizing(self.size)?.heap);
        let bytes = parse_bytes(heap).expect("manifest and options were checked");
        Ok(bytes as u64)
    }

    /// The limit for a confined peer's resident memory, bytes: the share of its heap that ours have of theirs, and
    /// the memory that it takes in addition to its heap when nothing confines it.
    fn budget(
        &mut self,
        workload: &Workload,
        contender: &Contender,
        share: &str,
    ) -> io::Result<u64> {
        let wrong = |what: String| io::Error::other(format!("{}: {what}", workload.name));
        let heap = self.heap_bytes(workload)?;
        let local = match (parse_percent(share), parse_bytes(share)) {
            (Some(percent), _) => (heap as f64 * percent / 100.0) as u64,
            (None, Some(bytes)) => bytes as u64,
            (None, None) => {
                return Err(wrong(format!("--local-memory {share}: not a percentage or a size")));
            }
        };
        let peer = contender.unconfined();
        let key = (workload.name.clone(), peer.to_string());
        if !self.own_bytes.contains_key(&key) {
            let own = self.own_bytes_of(workload, &peer)?;
            self.own_bytes.insert(key.clone(), own);
        }
        Ok(local + self.own_bytes[&key] + KERNEL_BYTES)
    }

    /// From an unmeasured run of its own.
    fn own_bytes_of(&self, workload: &Workload, peer: &Contender) -> io::Result<u64> {
        let scratch = Scratch::new("own")?;
        let notes = Notes::of(scratch.path())?;
        let plain = self.command(workload, peer, &notes)?;
        let mut command = jdk::plain(Path::new(plain.get_program()), &self.jdk);
        command.args(plain.get_args());
        let mut observer = Observer::new(None);
        observer.heap = Some(heap_at(peer, &notes.heap));
        observer.seeks_own = true;
        process::run_watched(command, scratch.path(), b"", self.limit, &mut observer)?;
        match observer.own_bytes {
            0 => Err(io::Error::other(format!(
                "the heap of {peer} cannot be told from the rest of its memory, so it cannot be confined fairly"
            ))),
            own => Ok(own),
        }
    }

    /// Pins this thread to the program's cores: a process that it starts runs on them from its first instruction.
    fn pin(&self) -> io::Result<()> {
        let Some(cores) = &self.cores else { return Ok(()) };
        match process::pin(0, &cores.program) {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "--pin {cores}: this machine does not have these cores"
            ))),
        }
    }

    /// Fills in verdict and note.
    fn judge(&self, workload: &Workload, run: &Run, row: &mut Row) -> io::Result<()> {
        row.verdict = match run.end {
            End::Exit(0) => Verdict::Right,
            End::TimedOut => Verdict::TimedOut,
            End::Interrupted => Verdict::NotJudged,
            _ => Verdict::Failed,
        };
        if let End::Signal(libc::SIGKILL) = run.end {
            row.note = "killed, by the kernel if its cgroup had no memory left".to_string();
            return Ok(());
        }
        if row.verdict != Verdict::Right {
            row.note = complaint(&run.stdout, &run.stderr);
            return Ok(());
        }
        let listed = workload.sizing(self.size)?.output.as_ref();
        (row.verdict, row.note) = verdict(&row.output, listed, self.references.get(&workload.name));
        if row.verdict == Verdict::Right
            && let Some(phase) = untold(workload, &row.metrics)
        {
            row.verdict = Verdict::Wrong;
            row.note = format!("it did not report the time of its phase {phase}");
        }
        Ok(())
    }
}

/// The first phase whose figure the program did not print.
fn untold<'a>(workload: &'a Workload, metrics: &BTreeMap<String, f64>) -> Option<&'a String> {
    workload.phases.iter().find(|phase| !metrics.contains_key(&phase_metric(phase)))
}

/// How to find the heap of a peer that was asked to log its addresses to `log`.
fn heap_at(peer: &Contender, log: &Path) -> HeapAt {
    match peer.has_shared_heap() {
        true => HeapAt::Shared,
        false => HeapAt::Logged(log.to_path_buf()),
    }
}

/// The files that a run leaves about itself.
struct Notes {
    stats: PathBuf,
    log: PathBuf,
    /// Where HotSpot's heap is.
    heap: PathBuf,
    probe: PathBuf,
    faults: PathBuf,
    temporary: PathBuf,
}

impl Notes {
    fn of(folder: &Path) -> io::Result<Notes> {
        let file = |name| folder.join(name);
        let temporary = file("tmp");
        std::fs::create_dir_all(&temporary)?;
        Ok(Notes {
            stats: file("stats.json"),
            log: file("gc.log"),
            heap: file("heap.log"),
            probe: file("probe"),
            faults: file("faults.txt"),
            temporary,
        })
    }

    /// The files that exist; a run that did not end well leaves few.
    fn read(&self, started_ms: u64, row: &mut Row) -> Trace {
        let mut trace = Trace::default();
        if let Some(stats) = text(&self.stats).and_then(|text| serde_json::from_str(&text).ok()) {
            row.far = counters::ours(&stats, &mut trace).or_else(|| counters::far_run(&stats));
            row.table_share = counters::table_share(&stats);
            row.server_table_share = counters::server_table_share(&stats);
            row.cycles = counters::cycles(&stats);
            row.traced = counters::traced(&stats);
            row.free_ends = counters::free_ends(&stats);
        }
        if let Some(log) = text(&self.log) {
            let log = hotspot_log::parse(&log);
            trace.stops = Some(log.stops);
            trace.collecting = Some(log.collecting);
            trace.footprint = log.footprint;
            row.cycles = Some(log.cycles);
        }
        if let Some((late, left_out)) =
            text(&self.probe).and_then(|text| probe::notes(&text, started_ms))
        {
            trace.late = Some(late);
            if left_out > 0 && row.note.is_empty() {
                row.note = format!("{left_out} notes of the probe were dropped for lack of room");
            }
        }
        trace
    }
}

/// The text of a file, if there is one.
fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// The verdict on a result, given the manifest's and HotSpot's in the same session.
fn verdict(output: &str, listed: Option<&String>, hotspot: Option<&String>) -> (Verdict, String) {
    match (listed, hotspot) {
        (_, Some(hotspot)) if hotspot != output => {
            (Verdict::Wrong, format!("the result is {output}, HotSpot's {hotspot}"))
        }
        (Some(listed), None) if listed != output => {
            (Verdict::Wrong, format!("the result is {output}, the manifest's {listed}"))
        }
        // Another release of a library may well give another result; then all of them must agree.
        (Some(listed), Some(_)) if listed != output => (
            Verdict::Right,
            format!("the result is HotSpot's {output}, but not the manifest's {listed}"),
        ),
        (None, None) => {
            let note = format!("the result is {output}, and the manifest has none");
            (Verdict::NotJudged, note)
        }
        _ => (Verdict::Right, String::new()),
    }
}

/// The names of the files of a run.
fn label(row: &Row) -> String {
    let name = row::file_name(&row.contender);
    // The files of the try that is kept must exist in the end.
    let again = if row.tries > 1 { format!("-try{}", row.tries) } else { String::new() };
    match row.run {
        REFERENCE => format!("{}-{name}-reference", row.workload),
        run => format!("{}-{name}-{run}{again}", row.workload),
    }
}

/// The line that most likely says why a program failed.
fn complaint(stdout: &[u8], stderr: &[u8]) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
    let telling = |line: &&str| COMPLAINTS.iter().any(|word| line.contains(word));
    let found = stderr.lines().find(telling).or_else(|| stdout.lines().find(telling));
    let line = found.or_else(|| stderr.lines().next_back()).unwrap_or("it printed no reason");
    line.chars().take(200).collect()
}

fn joined(paths: &[PathBuf]) -> io::Result<std::ffi::OsString> {
    std::env::join_paths(paths.iter().map(|path| path as &Path)).map_err(io::Error::other)
}

/// Further memory that a cgroup counts: page tables, stacks of threads in the kernel.
const KERNEL_BYTES: u64 = 4 << 20;

/// A swap device holds the heap and a program's other memory, also while slots of pages that are in memory again are
/// taken.
const SWAP_TO_HEAP: u64 = 2;
const SWAP_BYTES_MORE: u64 = 256 << 20;

/// The words that lines with a reason hold.
const COMPLAINTS: &[&str] = &[
    "panicked at",
    "Exception in thread",
    "OutOfMemoryError",
    "wrong: ",
    "Error: ",
    "error: ",
    "fatal",
];

/// The number of the run that is not measured: its result is expected of the others.
const REFERENCE: usize = usize::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_judged_by_the_manifest_and_by_hotspot() {
        let (a, b) = ("a".to_string(), "b".to_string());
        let judge = |listed, peer| verdict("a", listed, peer).0;
        assert_eq!(judge(Some(&a), None), Verdict::Right);
        assert_eq!(judge(Some(&b), None), Verdict::Wrong);
        assert_eq!(judge(None, Some(&a)), Verdict::Right);
        assert_eq!(judge(Some(&a), Some(&b)), Verdict::Wrong);
        assert_eq!(judge(None, None), Verdict::NotJudged);
        let (kind, note) = verdict("a", Some(&b), Some(&a));
        assert_eq!(kind, Verdict::Right);
        assert!(note.contains("not the manifest's b"), "{note}");
    }

    #[test]
    fn a_program_tells_how_long_its_phases_took() {
        let manifest = crate::gc_bench::manifest::tests::example();
        let told = |name: &str| {
            let metrics = BTreeMap::from([(name.to_string(), 1.0)]);
            untold(&manifest.workloads[0], &metrics).is_none()
        };
        assert!(told("load_s") && !told("load") && !told("run_s"));
    }

    #[test]
    fn files_of_runs_have_names_of_their_own() {
        let name = |contender: &str, run| {
            label(&crate::gc_bench::row::tests::row("w", contender, run, 1.0))
        };
        assert_eq!(name("mako 25%", 3), "w-mako25-3");
        assert_eq!(name("hotspot", REFERENCE), "w-hotspot-reference");
        let (one, other) =
            (name("mako 25% -Xlog:gc:/tmp/a", 0), name("mako 25% -Xlog:gc:/tmpa", 0));
        assert!(one != other && !one.contains('/'), "{one} {other}");
        let long = |last: &str| name(&format!("mako 25% {}{last}", "-XX:+UseHIT ".repeat(50)), 0);
        assert!(long("a") != long("b") && long("a").len() < 120, "{}", long("a"));
    }

    #[test]
    fn the_reason_is_found_in_the_output() {
        let log = b"INFO a\nthread 'x' panicked at y.rs:1\nINFO b\n";
        assert_eq!(complaint(b"", log), "thread 'x' panicked at y.rs:1");
        assert_eq!(complaint(b"wrong: sum\n", b"INFO\n"), "wrong: sum");
        assert_eq!(complaint(b"", b"first\nlast\n"), "last");
        assert_eq!(complaint(b"", b""), "it printed no reason");
    }
}
