//! The JDK's tools against a running VM: `jcmd`, `jstack`, `jmap`, `jinfo`, `jps`, `jstat`; and heap dumps.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/hprof.rs"]
mod hprof;
#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::{self, Jdk};
use bench::java::vm::{Setting, Vm};
use gc::options::CollectorKind;
use hprof::Dump;
use programs::program;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Keeps a list of its own objects, holds locks, and has threads that wait for them.
const TARGET: &str = r#"
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

public class Target {
    static Target kept;
    static final long[] NUMBERS = {1, -2, Long.MAX_VALUE};
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();

    final Target next;
    final int number;

    Target(Target next, int number) {
        this.next = next;
        this.number = number;
    }

    static void start(String name, Runnable body, Thread.State until) throws Exception {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != until) {
            Thread.sleep(1);
        }
    }

    /** Locks the first, and once both threads have done so the second. */
    static Thread startBoth(String name, Object first, Object second, CountDownLatch both) {
        Thread thread = new Thread(() -> {
            synchronized (first) {
                both.countDown();
                while (both.getCount() > 0) {
                    Thread.onSpinWait();
                }
                synchronized (second) {
                }
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 12345; i++) {
            kept = new Target(kept, i);
        }
        LOCK.lock();
        synchronized (MONITOR) {
            start("entering", () -> { synchronized (MONITOR) { } }, Thread.State.BLOCKED);
            start("parked", LOCK::lock, Thread.State.WAITING);
            Object left = new Object();
            Object right = new Object();
            CountDownLatch both = new CountDownLatch(2);
            Thread stuck = startBoth("stuck-1", left, right, both);
            Thread other = startBoth("stuck-2", right, left, both);
            while (stuck.getState() != Thread.State.BLOCKED || other.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            System.out.println("ready");
            while (System.in.read() >= 0) {
            }
        }
    }
}
"#;

const OBJECTS: usize = 12345;

/// The compiled program, and the JDK.
struct Site {
    jdk: Jdk,
    scratch: Scratch,
    /// The program's class.
    class: &'static str,
}

impl Site {
    fn new(label: &str) -> Site {
        Site::named(label, "Target")
    }

    /// With a name for the program that tools can find it by: other tests run at the same time.
    fn named(label: &str, class: &'static str) -> Site {
        let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new(label).unwrap());
        jdk.compile_text(class, &TARGET.replace("Target", class), scratch.path()).unwrap();
        Site { jdk, scratch, class }
    }

    /// Starts the program, which is ready when this returns.
    fn start(&self, collector: &str, options: &[&str]) -> Target {
        let setting = Setting {
            collector: collector.into(),
            local_memory: "25%".into(),
            memory_servers: 2,
            options: ["-Xmx128m"].iter().chain(options).map(|option| option.to_string()).collect(),
        };
        let mut command: Command =
            Vm::find(Some(program("vm"))).unwrap().command(&setting, &self.jdk);
        command.arg("-cp").arg(self.scratch.path()).arg(self.class).arg("an argument");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{collector} {options:?}");
        Target { child, stdout }
    }

    /// The output of a tool of the JDK, stdout and stderr, and whether it was successful.
    fn run(&self, tool: &str, arguments: &[&str]) -> (bool, String) {
        let mut command = jdk::plain(&self.jdk.home.join("bin").join(tool), &self.jdk);
        let output = command.args(arguments).output().unwrap();
        let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        (output.status.success(), texts.concat())
    }

    fn ok(&self, tool: &str, arguments: &[&str]) -> String {
        let (is_ok, output) = self.run(tool, arguments);
        assert!(is_ok, "{tool} {arguments:?}: {output}");
        output
    }
}

/// The running program; killed when dropped.
struct Target {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Target {
    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Ends the program; what it has printed since it was ready.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        rest
    }

    /// The files by which tools find the process.
    fn files(&self) -> Vec<PathBuf> {
        let pid = self.pid();
        let perf = std::fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.path());
        let perf = perf.filter(|path| path.to_string_lossy().contains("hsperfdata_"));
        let mut files: Vec<PathBuf> = perf.map(|path| path.join(&pid)).collect();
        files.push(format!("/tmp/.java_pid{pid}").into());
        files.push(format!("/tmp/.attach_pid{pid}").into());
        files.retain(|file| file.exists());
        files
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn has_all(text: &str, parts: &[&str], what: &str) {
    for part in parts {
        assert!(text.contains(part), "{what} without {part:?}: {text}");
    }
}

#[test]
fn jcmd_runs_the_commands_and_the_program_prints_nothing() {
    let site = Site::new("jcmd");
    let target =
        site.start("serial", &["-Dsome.property=a value", "-XX:SoftRefLRUPolicyMSPerMB=7"]);
    let pid = target.pid();
    for (command, parts) in [
        ("VM.version", &["Farheap 64-Bit Server VM version 17.", "JDK 17."][..]),
        ("VM.command_line", &["jvm_args: ", "-Xmx128m", "java_command: Target an argument"]),
        ("VM.flags", &["-XX:SoftRefLRUPolicyMSPerMB=7", "-XX:MaxHeapSize=134217728"]),
        ("VM.flags -all", &["HeapDumpOnOutOfMemoryError", "UsePerfData"]),
        ("VM.system_properties", &["some.property=a value", "java.vm.name=Farheap"]),
        ("VM.uptime", &[" s\n"]),
        ("VM.native_memory", &["Java Heap (reserved=131072KB, committed=", "thread #"]),
        (
            "VM.native_memory",
            &["Class (reserved=", "Memory servers, not in the total: child processes "],
        ),
        ("VM.native_memory summary scale=MB", &["Java Heap (reserved=128MB"]),
        ("Compiler.codecache", &["CodeCache: size=", "used="]),
        ("GC.heap_info", &["serial heap", "max 131072K", "local memory 327"]),
        ("GC.class_histogram", &["#instances", " Target\n", "Total "]),
        ("GC.run", &["Command executed successfully"]),
        ("GC.run_finalization", &["Command executed successfully"]),
        ("Thread.print -l", &["\"main\" #1 prio=5", "Locked ownable synchronizers:"]),
        ("ManagementAgent.status", &["Agent"]),
        ("help", &["Thread.print\n", "GC.heap_dump\n", "ManagementAgent.start_local\n"]),
        ("help GC.heap_dump", &["filename", "-gz : [optional]", "Impact: High"]),
        ("help VM.fault_profile", &["filename : [optional] The file", "Impact: Low"]),
    ] {
        has_all(&site.ok("jcmd", &[&pid, command]), parts, command);
    }
    // Refused, with a reason.
    for (command, reason) in [
        ("VM.none_such", "Unknown diagnostic command"),
        ("GC.heap_dump", "The argument 'filename' is mandatory."),
        ("VM.fault_profile", "There is no profile: start the VM with --fault-profile FILE"),
        ("Thread.print -x", "Unknown argument '-x' in diagnostic command."),
        ("VM.native_memory scale=Q", "Incorrect scale value: Q"),
    ] {
        let (is_ok, output) = site.run("jcmd", &[&pid, command]);
        assert!(!is_ok && output.contains(reason), "{command}: {output}");
    }
    // A JMX agent for tools on this machine.
    site.ok("jcmd", &[&pid, "ManagementAgent.start_local"]);
    let properties = site.ok("jinfo", &["-sysprops", &pid]);
    has_all(&properties, &["some.property"], "jinfo");
    assert_eq!(target.end(), "");
    // Its module is loaded if the program was started without it.
    let small = site.start("g1", &["--limit-modules=java.base"]);
    site.ok("jcmd", &[&small.pid(), "ManagementAgent.start_local"]);
    assert_eq!(small.end(), "");
}

#[test]
fn jinfo_shows_options_and_sets_those_that_can_be_changed() {
    let site = Site::new("jinfo");
    let target = site.start("g1", &[]);
    let pid = target.pid();
    let flag = |name: &str| site.ok("jinfo", &["-flag", name, &pid]).trim().to_string();
    assert_eq!(flag("HeapDumpOnOutOfMemoryError"), "-XX:-HeapDumpOnOutOfMemoryError");
    site.ok("jinfo", &["-flag", "+HeapDumpOnOutOfMemoryError", &pid]);
    assert_eq!(flag("HeapDumpOnOutOfMemoryError"), "-XX:+HeapDumpOnOutOfMemoryError");
    site.ok("jcmd", &[&pid, "VM.set_flag", "HeapDumpPath", "/a/b"]);
    assert_eq!(flag("HeapDumpPath"), "-XX:HeapDumpPath=/a/b");
    let (is_ok, output) = site.run("jinfo", &["-flag", "MaxHeapSize=1", &pid]);
    assert!(!is_ok && output.contains("cannot be changed"), "{output}");
    let output = site.ok("jcmd", &[&pid, "VM.set_flag", "NoSuchFlag", "1"]);
    assert!(output.contains("does not exist"), "{output}");
    assert_eq!(target.end(), "");
}

#[test]
fn thread_dumps_are_hotspots() {
    let site = Site::new("jstack");
    let target = site.start("shenandoah", &[]);
    let dump = site.ok("jstack", &["-l", "-e", &target.pid()]);
    has_all(&dump, &["Full thread dump Farheap", "JNI global refs: "], "the dump");
    let thread = |name: &str| -> Vec<&str> {
        let mut lines = dump.lines().skip_while(|line| !line.starts_with(&format!("\"{name}\"")));
        let head: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        // Behind the empty line: the ownable synchronizers.
        head.into_iter().chain(lines.take_while(|line| !line.is_empty())).collect()
    };
    let address = |line: &str| -> String {
        line.split(['<', '>']).nth(1).unwrap_or_else(|| panic!("no address: {line}")).to_string()
    };
    let find = |lines: &[&str], part: &str| -> String {
        let found = lines.iter().find(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("no {part:?} in {lines:#?}")).to_string()
    };
    let (main, entering, parked) = (thread("main"), thread("entering"), thread("parked"));
    for part in [" prio=5 os_prio=0 cpu=", "ms elapsed=", "s allocated=", " tid=0x", " nid=0x"] {
        [&main, &entering, &parked].iter().for_each(|lines| _ = find(&lines[..1], part));
    }
    assert!(entering[0].contains(" daemon ") && !main[0].contains(" daemon "));
    assert!(
        entering[0].contains("waiting for monitor entry") && parked[0].contains("on condition")
    );
    find(&entering, "java.lang.Thread.State: BLOCKED (on object monitor)");
    find(&parked, "java.lang.Thread.State: WAITING (parking)");
    let monitor = address(&find(&main, "> (a java.lang.Object)"));
    assert!(
        dump.contains(&format!("- waiting to lock <{monitor}> (a java.lang.Object)")),
        "{dump}"
    );
    let lock = "(a java.util.concurrent.locks.ReentrantLock$NonfairSync)";
    let wanted = address(&find(&parked, "- parking to wait for  <"));
    assert_eq!(address(&find(&main, &format!("> {lock}"))), wanted);
    find(&parked, "Locked ownable synchronizers:");
    find(&parked, "\t- None");
    let deadlock = dump.split("Found one Java-level deadlock:").nth(1).expect("a deadlock");
    let parts =
        ["\"stuck-1\":\n  waiting to lock monitor <", "held by \"stuck-1\"", "Found 1 deadlock."];
    has_all(deadlock, &parts, "the deadlock");
    assert_eq!(target.end(), "");
}

#[test]
fn sigquit_still_prints_a_dump_and_an_attached_tool_none() {
    let site = Site::new("sigquit");
    let target = site.start("mako", &[]);
    let pid = target.pid();
    site.ok("jcmd", &[&pid, "VM.version"]);
    // Somebody removes the socket: the next tool gets a new one.
    std::fs::remove_file(format!("/tmp/.java_pid{pid}")).unwrap();
    site.ok("jcmd", &[&pid, "VM.version"]);
    assert!(Command::new("kill").args(["-QUIT", &pid]).status().unwrap().success());
    // Is answered after the signal was dispatched.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(target.end().matches("Full thread dump").count(), 1);
}

#[test]
fn tools_cannot_attach_where_that_is_forbidden() {
    let site = Site::new("no-attach");
    let target = site.start("serial", &["-XX:+DisableAttachMechanism", "-XX:-UsePerfData"]);
    let pid = target.pid();
    let timeout = "-J-Dsun.tools.attach.attachTimeout=2000";
    let (is_ok, output) = site.run("jcmd", &[timeout, &pid, "VM.version"]);
    assert!(!is_ok && output.contains("AttachNotSupportedException"), "{output}");
    assert!(!site.ok("jps", &[]).contains(&pid));
    assert_eq!(target.files(), Vec::<PathBuf>::new());
    // To the VM these were signals of a user.
    assert!(target.end().contains("Full thread dump"));
}

#[test]
fn jps_and_jstat_read_the_counters() {
    let site = Site::named("jps", "Counted");
    let target = site.start("g1", &["-Dsome=thing"]);
    let pid = target.pid();
    let listed = site.ok("jps", &["-lmv"]);
    let line = listed.lines().find(|line| line.starts_with(&format!("{pid} ")));
    let line = line.unwrap_or_else(|| panic!("no {pid} in {listed}"));
    has_all(line, &["Counted an argument", "-Xmx128m", "-Dsome=thing"], "jps");
    site.ok("jcmd", &["Counted", "GC.run"]);
    // The next sample.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let column = |option: &str, name: &str| -> f64 {
        let text = site.ok("jstat", &[option, &pid]);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let at = rows[0].iter().position(|title| *title == name);
        let at = at.unwrap_or_else(|| panic!("no {name} in {text}"));
        rows[1][at].parse().unwrap_or_else(|_| panic!("{name} in {text}"))
    };
    assert!(column("-gc", "FGC") >= 1.0);
    let (capacity, used) = (column("-gc", "OC"), column("-gc", "OU"));
    assert!(0.0 < used && used <= capacity && capacity <= 131_072.0, "{used} of {capacity}");
    assert!((0.0..=100.0).contains(&column("-gcutil", "O")));
    assert_eq!(column("-gccapacity", "OGCMX"), 131_072.0);
    assert!(column("-class", "Loaded") > 300.0);
    let files = target.files();
    assert_eq!(files.len(), 2, "counters and the socket: {files:?}");
    assert_eq!(target.end(), "");
    assert!(files.iter().all(|file| !file.exists()), "left behind: {files:?}");
}

#[test]
fn counters_of_a_killed_vm_are_removed_by_the_next_one() {
    let site = Site::new("killed");
    let mut killed = site.start("serial", &[]);
    let files = killed.files();
    assert_eq!(files.len(), 1, "{files:?}");
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(files[0].exists());
    let next = site.start("serial", &[]);
    assert!(!files[0].exists());
    assert_eq!(next.end(), "");
}

/// Under every collector: the objects and fields that the program made, and no reference to anything that is missing.
#[test]
fn heap_dumps_are_complete_under_every_collector() {
    let site = Site::new("dump");
    for kind in CollectorKind::ALL {
        let name = kind.name();
        let target = site.start(name, &[]);
        let file = site.scratch.path().join(format!("{name}.hprof"));
        let path = file.display().to_string();
        let output = site.ok("jmap", &[&format!("-dump:live,format=b,file={path}"), &target.pid()]);
        assert!(output.contains("Heap dump file created ["), "{name}: {output}");
        check_dump(&file, name);
        // A dump does not replace a file.
        let output = site.ok("jcmd", &[&target.pid(), "GC.heap_dump", &path]);
        assert!(output.contains("Unable to create") && output.contains("File exists"), "{output}");
        assert_eq!(target.end(), "", "{name}");
    }
}

fn check_dump(file: &Path, collector: &str) {
    let dump = Dump::read(file).unwrap_or_else(|error| panic!("{collector}: {error}"));
    let target = dump.class("Target");
    assert_eq!(dump.instances_of(target), OBJECTS, "{collector}");
    // The list from its static field on: every number once, in order.
    let mut at = dump.static_reference(target, "kept");
    for expected in (0..OBJECTS).rev() {
        assert_eq!(dump.int_field(at, "number"), expected as i32, "{collector}");
        at = dump.reference_field(at, "next");
    }
    assert_eq!(at, 0, "{collector}");
    let numbers = dump.static_reference(target, "NUMBERS");
    assert_eq!(dump.longs(numbers), [1, -2, i64::MAX], "{collector}");
    assert_eq!(dump.missing_references(), 0, "{collector}");
    assert_eq!(dump.unrooted(target), 0, "{collector}: no root reaches them");
    assert!(dump.stacks_with(target) >= 3, "{collector}");
}

#[test]
fn compressed_dumps_hold_the_same() {
    let site = Site::new("gzip");
    let target = site.start("serial", &[]);
    let file = site.scratch.path().join("a.hprof.gz");
    let command = format!("GC.heap_dump -gz=1 {}", file.display());
    let output = site.ok("jcmd", &[&target.pid(), &command]);
    assert!(output.contains("Heap dump file created"), "{output}");
    assert!(Command::new("gunzip").arg(&file).status().unwrap().success());
    check_dump(&file.with_extension(""), "serial");
    assert_eq!(target.end(), "");
}

/// Numbers all cells anew, in their order, again and again, while the heap is dumped; then exits, or does so in the
/// middle of the dump.
const SWEEP: &str = r#"
import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;

public class Sweep {
    static final class Cell {
        int round;
        Object latest;
    }

    static final Cell[] CELLS = new Cell[1_500_000];

    static void dump(String file) {
        try {
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file, true);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    static void sweep() {
        for (int round = 1; ; round++) {
            for (int i = 0; i < CELLS.length; i++) {
                CELLS[i].round = round;
                if (i % 50 == 0) {
                    CELLS[i].latest = new long[i % 7];
                }
            }
        }
    }

    static Thread start(Runnable body) {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < CELLS.length; i++) {
            CELLS[i] = new Cell();
        }
        start(Sweep::sweep);
        Thread dumping = start(() -> dump(args[0]));
        if (args[1].equals("wait")) {
            dumping.join();
        } else {
            while (new File(args[0]).length() < 5_000_000) {
                Thread.sleep(1);
            }
            System.out.println("exits");
        }
    }
}
"#;

/// A program that goes on while its heap is written changes nothing of the dump, and does not end before it is whole.
#[test]
fn a_dump_is_of_one_moment_though_the_program_goes_on() {
    let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new("moment").unwrap());
    jdk.compile_text("Sweep", SWEEP, scratch.path()).unwrap();
    for end in ["wait", "exit"] {
        let setting = Setting {
            collector: "mako".into(),
            local_memory: "24m".into(),
            memory_servers: 2,
            options: vec!["-Xmx256m".into(), "-Xlog:safepoint".into()],
        };
        let file = scratch.path().join(format!("{end}.hprof"));
        let mut command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &jdk);
        command.arg("-cp").arg(scratch.path()).arg("Sweep").arg(&file).arg(end);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("Pause Inspect"), "{end}: {text}");
        assert_eq!(text.contains("exits"), end == "exit", "{text}");
        let dump = Dump::read(&file).unwrap_or_else(|error| panic!("{end}: {error}"));
        let (sweep, cell) = (dump.class("Sweep"), dump.class("Sweep$Cell"));
        let cells = dump.elements(dump.static_reference(sweep, "CELLS"));
        assert_eq!((cells.len(), dump.instances_of(cell)), (1_500_000, 1_500_000), "{end}");
        let rounds: Vec<_> = cells.iter().map(|id| dump.int_field(*id, "round")).collect();
        // Up to some cell those of the round that was under way, then those of the one before.
        let (first, last) = (rounds[0], rounds[rounds.len() - 1]);
        assert!(first > 0 && first - last <= 1, "{end}: from round {first} to {last}");
        let changes: Vec<_> = (1..rounds.len()).filter(|n| rounds[n - 1] != rounds[*n]).collect();
        assert!(changes.len() <= 1, "{end}: rounds change at cells {changes:?}");
        assert_eq!(dump.missing_references(), 0, "{end}");
    }
}

/// Fills the heap, and goes on.
const FULL: &str = r#"
import java.util.ArrayList;

public class Full {
    public static void main(String[] args) {
        for (int i = 0; i < 2; i++) {
            ArrayList<long[]> all = new ArrayList<>();
            try {
                while (true) {
                    all.add(new long[1000]);
                }
            } catch (OutOfMemoryError e) {
                int size = all.size();
                all = null;
                System.out.println("full " + (size > 1000));
            }
        }
    }
}
"#;

#[test]
fn the_first_out_of_memory_error_dumps_the_heap() {
    let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new("oom-dump").unwrap());
    jdk.compile_text("Full", FULL, scratch.path()).unwrap();
    for kind in CollectorKind::ALL {
        let folder = scratch.folder(kind.name()).unwrap();
        let setting = Setting {
            collector: kind.name().into(),
            local_memory: "50%".into(),
            memory_servers: 2,
            options: vec![
                "-Xmx48m".into(),
                "-XX:+HeapDumpOnOutOfMemoryError".into(),
                format!("-XX:HeapDumpPath={}", folder.display()),
            ],
        };
        let mut command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &jdk);
        let output = command.arg("-cp").arg(scratch.path()).arg("Full").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        has_all(
            &text,
            &["java.lang.OutOfMemoryError: Java heap space\nDumping heap to "],
            kind.name(),
        );
        // The program continues where memory can be freed.
        assert_eq!(
            text.matches("full true").count(),
            if kind.collects() { 2 } else { 0 },
            "{text}"
        );
        assert_eq!(text.matches("Heap dump file created [").count(), 1, "{}: {text}", kind.name());
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{}", kind.name());
        assert!(files[0].file_name().to_string_lossy().starts_with("java_pid"));
        let dump = Dump::read(&files[0].path()).unwrap();
        assert!(dump.arrays_of_longs() > 1000, "{}", kind.name());
        assert_eq!(dump.missing_references(), 0, "{}", kind.name());
    }
}

/// Prints the heap's pools and who manages them, in an order of its own, and whether their figures go together.
const POOLS: &str = r#"
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

public class Pools {
    static Object kept;

    public static void main(String[] args) throws Exception {
        kept = new byte[1 << 20];
        System.gc();
        for (int i = 0; i < 50; i++) {
            Object garbage = new byte[20_000];
        }
        TreeMap<String, String> lines = new TreeMap<>();
        long used = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == MemoryType.HEAP) {
                long collected = pool.getCollectionUsage().getUsed();
                used += pool.getUsage().getUsed();
                boolean isSound = pool.getPeakUsage().getUsed() >= pool.getUsage().getUsed()
                    && pool.getUsage().getCommitted() >= pool.getUsage().getUsed();
                lines.put(pool.getName(), new TreeSet<>(Set.of(pool.getMemoryManagerNames()))
                    + " max " + pool.getUsage().getMax() + " thresholds " + pool.isUsageThresholdSupported()
                    + " " + pool.isCollectionUsageThresholdSupported()
                    + " emptied " + (collected == 0) + " sound " + isSound);
            }
        }
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            lines.put(bean.getName(), new TreeSet<>(Set.of(bean.getMemoryPoolNames())).toString());
        }
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Metaspace")) {
                pool.setUsageThreshold(1);
                for (int i = 0; i < 500 && pool.getUsageThresholdCount() == 0; i++) {
                    System.gc();
                    Thread.sleep(10);
                }
                long inUse = pool.getUsage().getUsed();
                lines.put(pool.getName(), pool.getUsageThresholdCount() + " " + pool.isUsageThresholdExceeded()
                    + " " + pool.isCollectionUsageThresholdSupported() + " " + pool.getCollectionUsage()
                    + " " + (pool.getPeakUsage().getUsed() >= inUse));
            } else if (pool.getName().endsWith("Eden Space")) {
                pool.setCollectionUsageThreshold(1L << 40);
                lines.put(pool.getName() + ", threshold", pool.isCollectionUsageThresholdExceeded() + "");
            }
        }
        lines.forEach((name, text) -> System.out.println(name + ": " + text));
        System.out.println("a megabyte and more: " + (used > 1 << 20));
    }
}
"#;

#[test]
fn pools_of_g1_are_hotspots() {
    let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new("pools").unwrap());
    jdk.compile_text("Pools", POOLS, scratch.path()).unwrap();
    let path = scratch.path().to_str().unwrap();
    let arguments = ["-Xmx128m", "-cp", path, "Pools"];
    let theirs = jdk.java().arg("-XX:+UseG1GC").args(arguments).output().unwrap();
    let ours = Command::new(program("vm")).args(["run", "--gc", "g1"]).args(arguments).output();
    let [ours, theirs] =
        [ours.unwrap(), theirs].map(|output| String::from_utf8(output.stdout).unwrap());
    assert!(theirs.contains("G1 Eden Space: [G1 Old Generation, G1 Young"), "{theirs}");
    assert_eq!(ours, theirs);
}

const NAMES: &str = r#"
import java.lang.management.ManagementFactory;
import java.util.function.Supplier;
import javax.management.MBeanServer;
import javax.management.ObjectName;

public class Names extends ClassLoader {
    public static class Made00000 implements Supplier<String> {
        int field00000 = 7;

        public String get() {
            return method00000();
        }

        String method00000() {
            return "Made00000" + field00000;
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] file = Names.class.getResourceAsStream("Names$Made00000.class").readAllBytes();
        make(file, 0);
        int before = names();
        int most = 0;
        for (int i = 1; i <= 3000; i++) {
            make(file, i);
            if (i % 1000 == 0) {
                most = Math.max(most, names());
                System.gc();
            }
        }
        int after = before + 3000;
        for (int i = 0; i < 200 && after - before > 500; i++) {
            System.gc();
            Thread.sleep(10);
            after = names();
        }
        System.out.println("made " + (most - before >= 2000) + ", kept " + (after - before > 500));
    }

    /** A class of its own loader, with names that no other class has. */
    static void make(byte[] file, int number) throws Exception {
        String digits = String.format("%05d", number);
        String text = new String(file, "ISO-8859-1").replace("00000", digits);
        byte[] bytes = text.getBytes("ISO-8859-1");
        Class<?> made = new Names().defineClass("Names$Made" + digits, bytes, 0, bytes.length);
        Object object = made.getDeclaredConstructor().newInstance();
        if (!((Supplier<?>) object).get().equals("Made" + digits + "7")) {
            throw new AssertionError(digits);
        }
    }

    static int names() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
        Object[] arguments = {new String[0]};
        String[] signature = {String[].class.getName()};
        String text = (String) server.invoke(commands, "vmSymboltable", arguments, signature);
        return Integer.parseInt(text.replaceFirst("(?s).*Number of entries *: *(\\d+).*", "$1"));
    }
}
"#;

#[test]
fn names_of_unloaded_classes_are_freed() {
    let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new("names").unwrap());
    jdk.compile_text("Names", NAMES, scratch.path()).unwrap();
    for gc in ["g1", "mako"] {
        let mut vm = Command::new(program("vm"));
        vm.args(["run", "--gc", gc, "-Xmx64m", "-cp"]).arg(scratch.path()).arg("Names");
        let output = vm.output().unwrap();
        let (text, error) = (output.stdout, String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&text), "made true, kept false\n", "{gc}: {error}");
    }
}
