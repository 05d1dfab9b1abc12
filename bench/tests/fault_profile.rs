//! `--fault-profile`: which lines of the program make pages be fetched.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`), a JDK, and `userfaultfd`.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::{self, Jdk};
use bench::java::vm::{Setting, Vm};
use programs::program;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Reads objects of a list at random in one line, and as many that are always resident in another; now and then copies
/// arrays; makes garbage; and collects.
const FAR: &str = r#"
public class Far {
    static class Node { final int[] data = new int[250]; }

    static final int COUNT = 60_000;
    static final Node[] nodes = new Node[COUNT];
    static final Node near = new Node();
    static final int[] copy = new int[250];
    static Object garbage;
    static long random = 88172645463325252L;

    static int next() {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return (int) ((random >>> 1) % COUNT);
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < COUNT; i++) {
            nodes[i] = new Node();
        }
        int sum = 0;
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            sum += visit(nodes[next()]);
            if (i % 8 == 0) {
                garbage = new int[1000];
                copy(nodes[next()]);
            }
            if (i % 20_000 == 19_999) {
                System.gc();
            }
        }
        System.out.println(sum);
        if (args.length > 1) {
            System.out.println("ready");
            System.in.read();
        }
    }

    static int visit(Node node) {
        return read(node);
    }

    static int read(Node node) {
        int value = local(1);
        value += node.data[77]; // far
        value += local(2);
        return value;
    }

    static int local(int index) {
        return near.data[index]; // near
    }

    static void copy(Node node) {
        System.arraycopy(node.data, 0, copy, 0, 250); // copied
    }
}
"#;

/// Has a class of its own for each part of the run, of a loader of its own, which dies; its code reads the same line.
const WAVES: &str = r#"
import java.net.URL;
import java.net.URLClassLoader;
import java.util.function.ToIntFunction;

public class Waves {
    static final int COUNT = 60_000;
    static long random = 88172645463325252L;

    public static int next() {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return (int) ((random >>> 1) % COUNT);
    }

    public static class Reader implements ToIntFunction<int[][]> {
        public int applyAsInt(int[][] data) {
            int sum = 0;
            for (int i = 0; i < 3000; i++) {
                sum += read(data, next());
            }
            return sum;
        }

        int read(int[][] data, int index) {
            int[] row = data[index];
            return row[7]; // far
        }
    }

    static class Loader extends URLClassLoader {
        Loader(URL[] urls) {
            super(urls, Waves.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            return name.equals("Waves$Reader") ? findClass(name) : super.loadClass(name, resolve);
        }
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        int[][] data = new int[COUNT][250];
        URL[] urls = {Waves.class.getProtectionDomain().getCodeSource().getLocation()};
        int sum = 0;
        for (int wave = 0; wave < 12; wave++) {
            Class<?> reader = new Loader(urls).loadClass("Waves$Reader");
            var made = (ToIntFunction<int[][]>) reader.getDeclaredConstructor().newInstance();
            sum += made.applyAsInt(data);
            made = null;
            reader = null;
            System.gc();
        }
        System.out.println(sum);
    }
}
"#;

struct Site {
    jdk: Jdk,
    scratch: Scratch,
    class: &'static str,
}

impl Site {
    fn new(label: &str, class: &'static str, text: &str) -> Site {
        let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new(label).unwrap());
        jdk.compile_text(class, text, scratch.path()).unwrap();
        Site { jdk, scratch, class }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn command(&self, collector: &str, local_memory: &str, options: &[&str]) -> Command {
        let setting = Setting {
            collector: collector.into(),
            local_memory: local_memory.into(),
            memory_servers: 1,
            options: options.iter().map(|option| option.to_string()).collect(),
        };
        let mut command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &self.jdk);
        command.arg("-cp").arg(self.scratch.path());
        command
    }

    /// Runs the program with a profile, which this reads.
    fn profile(&self, collector: &str, options: &[&str], arguments: &[&str]) -> (Profile, Output) {
        let file = self.file("faults.txt");
        let mut command = self.command(collector, "25%", options);
        command.arg("--fault-profile").arg(&file).arg(self.class).args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{collector} {options:?}: {output:?}");
        (Profile::read(&file), output)
    }
}

/// Faults by stack, outermost frame first.
struct Profile(BTreeMap<Vec<String>, u64>);

impl Profile {
    fn read(file: &Path) -> Profile {
        let text = std::fs::read_to_string(file).unwrap();
        let stacks = text.lines().map(|line| {
            let (frames, count) = line.rsplit_once(' ').expect("a count");
            (frames.split(';').map(str::to_string).collect(), count.parse().expect("a number"))
        });
        Profile(stacks.collect())
    }

    /// Faults of stacks of this form.
    fn of(&self, is_wanted: impl Fn(&[String]) -> bool) -> u64 {
        self.0.iter().filter(|(frames, _)| is_wanted(frames)).map(|(_, count)| count).sum()
    }

    fn of_root(&self, root: &str) -> u64 {
        self.of(|frames| frames[0] == root)
    }

    fn all(&self) -> u64 {
        self.of(|_| true)
    }

    /// The stacks with most faults, for messages.
    fn top(&self) -> String {
        let mut all: Vec<_> =
            self.0.iter().map(|(frames, count)| (count, frames.join(";"))).collect();
        all.sort_by(|a, b| b.cmp(a));
        let lines = all.iter().take(10).map(|(count, frames)| format!("\n{count} {frames}"));
        lines.collect()
    }
}

/// The number of the line that ends with a comment.
fn line(text: &str, comment: &str) -> usize {
    let is_wanted = |line: &str| line.ends_with(&format!("// {comment}"));
    // The text begins with an empty line, which the file has too.
    text.lines().position(is_wanted).expect("a line with this comment") + 1
}

const MODES: [(&str, &[&str]); 3] = [
    ("interpreted", &["-Xint"]),
    ("quick code", &["-Xcomp", "-XX:TieredStopAtLevel=1"]),
    ("full code", &["-Xbatch", "-XX:-TieredCompilation", "-XX:CompileThreshold=100"]),
];

#[test]
fn the_line_that_reads_far_memory_has_most_of_the_faults() {
    let site = Site::new("fault-profile-lines", "Far", FAR);
    let far = format!("Far.read:{}", line(FAR, "far"));
    let near = format!("Far.local:{}", line(FAR, "near"));
    let copied = format!("Far.copy:{}", line(FAR, "copied"));
    for collector in ["g1", "mako", "shenandoah", "serial"] {
        for (mode, options) in MODES {
            let stats = site.file("stats.json");
            let more = ["-Xmx128m", "--stats", stats.to_str().unwrap()];
            let more: Vec<&str> =
                more.iter().chain(options).copied().chain(["-XX:FaultProfileInterval=8"]).collect();
            let (profile, _) = site.profile(collector, &more, &["80000"]);
            let what = format!("{collector} {mode}: {}", profile.top());
            let program = profile.of_root("program");
            let ends = |frames: &[String], end: &[&str]| {
                frames
                    .iter()
                    .rev()
                    .zip(end.iter().rev())
                    .filter(|(a, b)| a.starts_with(**b))
                    .count()
                    == end.len()
            };
            let of_line =
                profile.of(|f| f[0] == "program" && ends(f, &["Far.main:", "Far.visit:", &far]));
            assert!(program > 10_000, "too few faults: {what}");
            assert!(of_line as f64 > 0.8 * program as f64, "{of_line} of {program} faults: {what}");
            let of_near = profile.of(|f| f.last() == Some(&near));
            assert!(of_near as f64 <= 0.02 * program as f64, "{of_near} near faults: {what}");
            // Copies of arrays are the VM's work, at the line that asks for them.
            let arraycopy = ["Far.main:", &copied, "java.lang.System.arraycopy"];
            let of_copies = profile.of(|f| f[0] == "native" && ends(f, &arraycopy));
            assert!(of_copies > 500, "{of_copies} faults of copies: {what}");
            let stats: serde_json::Value =
                serde_json::from_str(&std::fs::read_to_string(stats).unwrap()).unwrap();
            let pager = &stats["heap"]["pager"];
            let of = |name: &str| pager[name].as_u64().unwrap();
            let (mutator, gc) = (of("fetch_faults_mutator"), of("fetch_faults_gc"));
            let is_near = |a: u64, b: u64| (a as f64 - b as f64).abs() < 0.1 * b as f64;
            assert!(is_near(profile.all(), mutator + gc), "{mutator} and {gc} faults: {what}");
            let of_program = program + profile.of_root("native");
            assert!(is_near(of_program, mutator), "{mutator} faults of the program: {what}");
            // The agents trace for Mako.
            let roots: &[&str] = match collector {
                "g1" => &["tracing", "evacuation"],
                "shenandoah" | "serial" => &["tracing", "evacuation"],
                _ => &[],
            };
            for root in roots {
                assert!(profile.of_root(root) > 0, "no {root}: {what}");
            }
        }
    }
}

#[test]
fn faults_of_classes_that_are_gone_keep_their_names() {
    let site = Site::new("fault-profile-unloading", "Waves", WAVES);
    let far = format!("Waves$Reader.read:{}", line(WAVES, "far"));
    for collector in ["g1", "mako"] {
        for options in [&["-Xint"][..], &["-Xcomp", "-XX:ReservedCodeCacheSize=2500k"]] {
            let more: Vec<&str> = ["-Xmx128m", "-XX:FaultProfileInterval=1", "-Xlog:class+unload"]
                .iter()
                .chain(options)
                .copied()
                .collect();
            let (profile, output) = site.profile(collector, &more, &[]);
            let what = format!("{collector} {options:?}: {}", profile.top());
            let text = String::from_utf8_lossy(&output.stdout);
            let unloaded = text.matches("unloading class Waves$Reader").count();
            assert!(unloaded >= 8, "{unloaded} classes were unloaded: {what}");
            let program = profile.of_root("program");
            let of_line = profile.of(|f| f[0] == "program" && f.last() == Some(&far));
            assert!(program > 10_000, "too few faults: {what}");
            assert!(of_line as f64 > 0.7 * program as f64, "{of_line} of {program} faults: {what}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_at_the_start() {
    let site = Site::new("fault-profile-refused", "Far", FAR);
    for file in ["/none/such/faults.txt", "/"] {
        let mut command = site.command("g1", "25%", &["-Xmx64m", "--fault-profile", file]);
        let output = command.args(["Far", "10"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        let expected = format!("the fault profile cannot be written to {file}");
        assert!(!output.status.success() && message.contains(&expected), "{output:?}");
        assert!(output.stdout.is_empty(), "the program ran: {output:?}");
    }
    let mut command = site.command("g1", "25%", &["-Xmx64m", "-XX:FaultProfileInterval=0"]);
    let output = command.args(["Far", "10"]).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    // Where nothing is remote there are no faults.
    let file = site.file("none.txt");
    let options = ["-Xmx128m", "--fault-profile", file.to_str().unwrap()];
    let output = site.command("g1", "100%", &options).args(["Far", "10"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "");
}

#[test]
fn jcmd_writes_the_profile_of_a_running_program() {
    let site = Site::new("fault-profile-jcmd", "Far", FAR);
    let (own, other) = (site.file("own.txt"), site.file("other.txt"));
    let options = ["-Xmx128m", "--fault-profile", own.to_str().unwrap()];
    let mut command = site.command("mako", "25%", &options);
    command.args(["Far", "40000", "wait"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap() == "ready"));
    let pid = child.id().to_string();
    let jcmd = |arguments: &[&str]| {
        let mut command = jdk::plain(&site.jdk.home.join("bin/jcmd"), &site.jdk);
        let output = command.arg(&pid).args(arguments).output().unwrap();
        let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        (output.status.success(), texts.concat())
    };
    assert!(!own.exists(), "it is written at the end");
    for (arguments, file) in [
        (vec!["VM.fault_profile", other.to_str().unwrap()], &other),
        (vec!["VM.fault_profile"], &own),
    ] {
        let (is_ok, text) = jcmd(&arguments);
        let written = format!("pages written to {}", file.display());
        assert!(is_ok && text.contains(&written), "{arguments:?}: {text}");
        let profile = Profile::read(file);
        let far = format!("Far.read:{}", line(FAR, "far"));
        assert!(profile.of(|f| f.last() == Some(&far)) > 5_000, "{}", profile.top());
    }
    let (_, text) = jcmd(&["VM.fault_profile", "/none/such/file"]);
    assert!(text.contains("cannot write /none/such/file: No such file or directory"), "{text}");
    let before = Profile::read(&own).all();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(Profile::read(&own).all() >= before);
}
