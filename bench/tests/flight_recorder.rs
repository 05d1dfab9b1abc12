//! The flight recorder: recordings by programs, options and tools. Programs print the same on HotSpot, and the JDK's
//! tool `jfr` reads the files.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`), and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::{self, Jdk};
use programs::program;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Records events of its own in several ways, and prints what it reads back.
const PROGRAM: &str = r#"
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import jdk.jfr.*;
import jdk.jfr.consumer.*;

public class Recorded {
    @Name("test.All") @Label("All kinds") @Category("Test")
    static class All extends Event {
        boolean flag; byte b; char c; short s; int i; long l; float f; double d;
        String text; Class<?> type; Thread thread;
        transient int left = 1;
        private static final List<String> LOADED = new ArrayList<>();
        static { LOADED.add("the class has an initializer"); }
    }

    @Name("test.Base") @Registered(false)
    static abstract class Base extends Event {
        int base;
    }

    @Name("test.Derived") @Registered(true) @StackTrace(false)
    static class Derived extends Base {
        String own;
    }

    @Name("test.Unregistered") @Registered(false)
    static class Unregistered extends Event {
    }

    @Name("test.Timed") @Threshold("20 ms")
    static class Timed extends Event {
        int number;
    }

    @Name("test.Off") @Enabled(false)
    static class Off extends Event {
    }

    static class Only extends SettingControl {
        private String value = "";
        @Override public String combine(java.util.Set<String> all) { return String.join(",", all); }
        @Override public void setValue(String value) { this.value = value; }
        @Override public String getValue() { return value; }
    }

    @Name("test.Filtered")
    static class Filtered extends Event {
        int number;
        @SettingDefinition @Name("only")
        boolean only(Only only) { return only.getValue().equals(Integer.toString(number)); }
    }

    static void all(int number, String text) {
        All all = new All();
        all.flag = number % 2 == 0;
        all.b = (byte) -number; all.c = (char) (number * 1000); all.s = (short) -number; all.i = -number;
        all.l = (long) number << 40; all.f = number / 4f; all.d = -number / 8.0;
        all.text = text;
        all.type = number == 0 ? null : number == 1 ? int.class : number == 2 ? String[].class : Recorded.class;
        all.thread = number == 0 ? null : Thread.currentThread();
        all.commit();
    }

    static String show(RecordedEvent event) {
        StringBuilder out = new StringBuilder(event.getEventType().getName());
        for (ValueDescriptor field : event.getFields()) {
            String name = field.getName();
            Object value = event.getValue(name);
            switch (name) {
                case "startTime", "duration" -> { continue; }
                case "stackTrace" -> {
                    RecordedStackTrace trace = event.getStackTrace();
                    value = null;
                    if (trace != null) {
                        RecordedFrame top = trace.getFrames().get(0);
                        value = top.getMethod().getType().getName() + "." + top.getMethod().getName()
                            + top.getMethod().getDescriptor() + ":" + top.getLineNumber() + "/"
                            + trace.isTruncated();
                    }
                }
                case "eventThread" -> value = event.getThread() == null ? null : event.getThread().getJavaName()
                    + " in " + event.getThread().getThreadGroup().getName();
                default -> {
                    if (value instanceof RecordedClass type) {
                        value = type.getName() + "/" + type.getModifiers() + "/" + (type.getClassLoader() == null
                            ? null : type.getClassLoader().getName());
                    } else if (value instanceof RecordedThread thread) {
                        value = thread.getJavaName();
                    } else if (value instanceof String text && text.length() > 40) {
                        value = text.length() + " " + text.hashCode();
                    }
                }
            }
            out.append(' ').append(name).append('=').append(value);
        }
        return out.toString();
    }

    static List<RecordedEvent> read(Recording recording) throws Exception {
        Path file = Files.createTempFile("recorded", ".jfr");
        recording.dump(file);
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        Files.delete(file);
        List<RecordedEvent> own = new ArrayList<>(events);
        own.removeIf(event -> !event.getEventType().getName().startsWith("test."));
        own.sort((a, b) -> a.getStartTime().compareTo(b.getStartTime()));
        return own;
    }

    /** Threads write while chunks end: no event is lost or changed. (HotSpot 17 sometimes loses a text.) */
    static void threads() throws Exception {
        try (Recording recording = new Recording()) {
            recording.start();
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                int number = t;
                threads.add(new Thread(() -> {
                    for (int i = 0; i < 5000; i++) {
                        All all = new All();
                        all.i = i;
                        all.l = number;
                        all.text = "a text that is longer than sixteen " + (i % 50);
                        all.type = i % 2 == 0 ? String.class : Recorded.class;
                        all.commit();
                    }
                }, "writer " + t));
            }
            threads.forEach(Thread::start);
            for (int i = 0; i < 5; i++) {
                Thread.sleep(20);
                try (Recording snapshot = FlightRecorder.getFlightRecorder().takeSnapshot()) {
                    if (snapshot.getSize() <= 0) {
                        System.out.println("an empty snapshot");
                    }
                }
            }
            for (Thread thread : threads) {
                thread.join();
            }
            recording.stop();
            TreeMap<Long, Integer> next = new TreeMap<>();
            int wrong = 0;
            for (RecordedEvent event : read(recording)) {
                int i = event.getInt("i");
                String type = event.getClass("type").getName();
                boolean isRight = event.getString("text").equals("a text that is longer than sixteen " + (i % 50))
                    && type.equals(i % 2 == 0 ? "java.lang.String" : "Recorded")
                    && event.getThread().getJavaName().equals("writer " + event.getLong("l"))
                    && event.getStackTrace().getFrames().get(0).getMethod().getName().startsWith("lambda$threads$")
                    && next.merge(event.getLong("l"), 1, Integer::sum) == i + 1;
                wrong += isRight ? 0 : 1;
            }
            System.out.println(next + " wrong " + wrong);
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            threads();
            return;
        }
        System.out.println(FlightRecorder.isAvailable() + " " + FlightRecorder.isInitialized());
        All early = new All();
        early.begin();
        System.out.println(early.isEnabled() + " " + early.shouldCommit() + " " + All.LOADED);
        early.commit();

        try (Recording recording = new Recording()) {
            recording.enable("test.Timed");
            recording.enable("test.Filtered").with("only", "2");
            recording.start();
            for (int i = 0; i < 4; i++) {
                all(i, i == 0 ? null : i == 1 ? "" : "text \u00e9 \ud83d\ude00 " + i);
            }
            all(4, "x".repeat(30000));
            // Long enough for the table of strings.
            for (int i = 0; i < 4; i++) {
                all(5, "a text that is used several times");
            }
            Derived derived = new Derived();
            derived.base = 7;
            derived.own = "own";
            derived.commit();
            new Unregistered().commit();
            new Off().commit();
            for (int i = 0; i < 2; i++) {
                Timed timed = new Timed();
                timed.number = i;
                timed.begin();
                Thread.sleep(i * 40);
                timed.end();
                timed.commit();
            }
            for (int i = 0; i < 4; i++) {
                Filtered filtered = new Filtered();
                filtered.number = i;
                filtered.commit();
            }
            Thread thread = new Thread(new ThreadGroup("own group"), () -> all(6, "in a thread"), "own thread");
            thread.start();
            thread.join();
            recording.stop();
            all(99, "after the end");
            for (RecordedEvent event : read(recording)) {
                System.out.println(show(event));
                if (event.getEventType().getName().equals("test.Timed")) {
                    System.out.println(event.getDuration().toMillis() >= 40);
                }
            }
        }

        // In memory, and two at a time.
        try (Recording memory = new Recording(); Recording second = new Recording()) {
            memory.setToDisk(false);
            memory.start();
            all(1, "one");
            System.out.println(read(memory).size());
            all(2, "two");
            second.start();
            all(3, "three");
            memory.stop();
            all(4, "four");
            second.stop();
            System.out.println(read(second).size());
        }

        // An event that the program makes up.
        List<ValueDescriptor> fields = List.of(new ValueDescriptor(int.class, "number"),
            new ValueDescriptor(String.class, "name"));
        EventFactory factory = EventFactory.create(
            List.of(new AnnotationElement(Name.class, "test.Dynamic")), fields);
        try (Recording recording = new Recording()) {
            recording.start();
            Event event = factory.newEvent();
            event.set(0, 42);
            event.set(1, "a name");
            event.commit();
            recording.stop();
            for (RecordedEvent read : read(recording)) {
                System.out.println(read.getEventType().getName() + " " + read.getInt("number") + " "
                    + read.getString("name"));
            }
        }

        // As a stream.
        CountDownLatch seen = new CountDownLatch(3);
        try (RecordingStream stream = new RecordingStream()) {
            stream.enable("test.All");
            stream.onEvent("test.All", event -> seen.countDown());
            stream.startAsync();
            while (seen.getCount() > 0) {
                all(1, "streamed");
                Thread.sleep(5);
            }
        }
        System.out.println("streamed");
    }
}
"#;

/// Has the VM's own events, and waits for a line.
const TARGET: &str = r#"
import java.util.ArrayList;
import java.util.List;

public class Target {
    public static void main(String[] args) throws Exception {
        List<byte[]> kept = new ArrayList<>();
        System.out.println("ready");
        do {
            for (int i = 0; i < 20; i++) {
                kept.add(new byte[100000]);
                System.gc();
            }
            kept.clear();
            Thread thread = new Thread(() -> { }, "short-lived");
            thread.start();
            thread.join();
            // The time after which periodic events come.
            Thread.sleep(args.length > 0 ? 0 : 2500);
        } while (args.length > 0 && System.in.read() >= 0);
    }
}
"#;

const FAR: [&str; 6] = ["--gc", "mako", "--local-memory", "25%", "--memory-servers", "2"];

struct Site {
    jdk: Jdk,
    scratch: Scratch,
}

impl Site {
    fn new(label: &str, name: &str, source: &str) -> Site {
        let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new(label).unwrap());
        jdk.compile_text(name, source, scratch.path()).unwrap();
        Site { jdk, scratch }
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path().join(name).to_str().unwrap().into()
    }

    fn vm(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("vm"));
        command.env("JAVA_HOME", &self.jdk.home).arg("run").args(arguments);
        command.current_dir(self.scratch.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.vm(arguments).output().unwrap()
    }

    /// The output of a tool of the JDK, on HotSpot.
    fn tool(&self, name: &str, arguments: &[&str]) -> String {
        let mut command = jdk::plain(&self.jdk.home.join("bin").join(name), &self.jdk);
        let output = command.current_dir(self.scratch.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{name} {arguments:?}: {output:?}");
        text(&output.stdout)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn recordings_of_programs_are_as_on_hotspot() {
    let site = Site::new("recorder-program", "Recorded", PROGRAM);
    let theirs = site.jdk.java().args(["-cp", &site.path(""), "Recorded"]).output().unwrap();
    assert!(theirs.status.success(), "{theirs:?}");
    let settings: [&[&str]; 3] = [&["--gc", "g1"], &["--gc", "g1", "-Xint"], &FAR];
    for setting in settings {
        let ours = site.run(&[setting, &["-Xmx256m", "-cp", ".", "Recorded"]].concat());
        let [ours, theirs] =
            [&ours, &theirs].map(|output| text(&output.stdout) + &text(&output.stderr));
        assert_eq!(ours, theirs, "{setting:?}");
        let threads =
            site.run(&[setting, &["-Xmx256m", "-cp", ".", "Recorded", "threads"]].concat());
        let counts = "{0=5000, 1=5000, 2=5000, 3=5000} wrong 0\n";
        assert_eq!(text(&threads.stdout), counts, "{setting:?}: {threads:?}");
    }
}

#[test]
fn options_start_recordings_that_the_tools_of_the_jdk_read() {
    let site = Site::new("recorder-options", "Target", TARGET);
    for setting in [&["--gc", "g1"][..], &FAR] {
        let option = "-XX:StartFlightRecording=filename=out.jfr,settings=profile";
        let output = site.run(
            &[
                setting,
                &[
                    "-Xmx128m",
                    option,
                    "-XX:FlightRecorderOptions=stackdepth=8",
                    "-cp",
                    ".",
                    "Target",
                ],
            ]
            .concat(),
        );
        assert!(output.status.success(), "{output:?}");
        has_all(&text(&output.stdout), &["[info][jfr,startup] Started recording 1.", "ready\n"]);
        let summary = site.tool("jfr", &["summary", "out.jfr"]);
        has_all(
            &summary,
            &[" Version: 2.1\n", " Chunks: 1\n", "jdk.GarbageCollection", "jdk.ActiveSetting"],
        );
        let print = |events: &str| site.tool("jfr", &["print", "--events", events, "out.jfr"]);
        has_all(&print("JVMInformation"), &["jvmName = \"Farheap", "javaArguments = \"Target"]);
        has_all(&print("ActiveRecording"), &["name = \"1\"", "out.jfr"]);
        let collections = print("GarbageCollection");
        has_all(&collections, &["cause = \"System.gc()\"", "longestPause = "]);
        // None is missing. Mako has collected its nursery before the recording begins.
        let ids = collections.lines().filter_map(|line| line.trim().strip_prefix("gcId = "));
        let mut ids: Vec<u32> = ids.map(|id| id.parse().unwrap()).collect();
        ids.sort_unstable();
        let is_next = |pair: &[u32]| pair[0] + 1 == pair[1];
        assert!(ids.len() > 1 && ids.windows(2).all(is_next), "{collections}");
        assert!(setting == FAR || ids.contains(&1), "{collections}");
        has_all(&print("GCPhasePause"), &["gcId = ", "name = \"Pause"]);
        has_all(
            &print("GCHeapSummary"),
            &["when = \"Before GC\"", "when = \"After GC\"", "heapUsed = "],
        );
        has_all(&print("CPULoad"), &["jvmUser = ", "machineTotal = "]);
        has_all(&print("ThreadStart"), &["thread = \"short-lived\""]);
        has_all(&print("ThreadEnd"), &["thread = \"short-lived\""]);
        site.tool("jfr", &["print", "--json", "out.jfr"]);
        site.tool("jfr", &["metadata", "out.jfr"]);
        std::fs::remove_file(site.scratch.path().join("out.jfr")).unwrap();
    }
    for (options, code, message) in [
        (
            &["-XX:StartFlightRecording=settings=none-such"][..],
            Some(1),
            "Could not parse settings file",
        ),
        (&["-XX:FlightRecorderOptions=stackdepth=0"], Some(1), "Invalid value '0'"),
        (&["-XX:StartFlightRecording=duration=1x"], Some(1), "illegal unit"),
        (
            &["-XX:-FlightRecorder", "-XX:StartFlightRecording"],
            Some(0),
            "Flight Recorder is disabled.",
        ),
        (&["-XX:FlightRecorderOptions=nonsense=1"], Some(1), "Unknown argument 'nonsense'"),
    ] {
        let output = site.run(&[options, &["-cp", ".", "Target"]].concat());
        assert_eq!(output.status.code(), code, "{options:?}: {output:?}");
        let said = text(&output.stdout) + &text(&output.stderr);
        has_all(&said, &[message]);
    }
}

#[test]
fn tools_start_and_end_recordings() {
    let site = Site::new("recorder-tools", "Target", TARGET);
    let mut command = site.vm(&["--gc", "g1", "-Xmx128m", "-cp", ".", "Target", "wait"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let pid = child.id().to_string();
    let jcmd = |command: &str| site.tool("jcmd", &[&pid, command]);
    has_all(&jcmd("JFR.check"), &["No available recordings."]);
    has_all(&jcmd("JFR.start name=first"), &["Started recording 1.", "JFR.dump name=first"]);
    has_all(&jcmd("JFR.check"), &["Recording 1: name=first"]);
    child.stdin.as_ref().unwrap().write_all(b"\n").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let file = site.path("first.jfr");
    has_all(
        &jcmd(&format!("JFR.dump name=first filename={file}")),
        &["Dumped recording \"first\""],
    );
    assert!(Path::new(&file).metadata().unwrap().len() > 1000);
    has_all(&site.tool("jfr", &["print", "--events", "GarbageCollection", &file]), &["gcId = "]);
    has_all(&jcmd("JFR.stop name=first"), &["Stopped recording \"first\"."]);
    has_all(&jcmd("JFR.check"), &["No available recordings."]);
    has_all(&jcmd("JFR.stop name=other"), &["Could not stop recording \"other\"."]);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
