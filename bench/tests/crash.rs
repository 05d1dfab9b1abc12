//! Reports of crashes: `hs_err_pidN.log`, exit codes, and the commands of `-XX:OnError`.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`), a JDK and `cc`.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use programs::program;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CRASHES: &str = r#"
import java.lang.reflect.Field;
import java.util.ArrayList;
import sun.misc.Unsafe;

public class Crashes {
    static final ArrayList<byte[]> KEPT = new ArrayList<>();

    static native void fault();

    static void write(Unsafe memory, long address) {
        memory.putInt(address, 1);
    }

    static void callNative(int depth) {
        if (depth == 0) {
            fault();
        } else {
            callNative(depth - 1);
        }
    }

    public static void main(String[] args) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Unsafe memory = (Unsafe) field.get(null);
        // More than local memory has room for.
        for (int i = 0; i < 60; i++) {
            KEPT.add(new byte[1 << 19]);
        }
        switch (args[0]) {
            case "interpreted" -> write(memory, Long.parseLong(args[1]));
            case "compiled" -> {
                long good = memory.allocateMemory(8);
                for (int i = 0; i < 200_000; i++) {
                    write(memory, good);
                }
                write(memory, Long.parseLong(args[1]));
            }
            case "native" -> {
                System.load(args[1]);
                callNative(3);
            }
            case "thread" -> {
                Thread thread = new Thread(() -> write(memory, 0), "the crashing thread");
                thread.start();
                thread.join();
            }
            case "fill" -> {
                while (true) {
                    KEPT.add(new byte[1 << 18]);
                }
            }
        }
    }
}
"#;

const LIBRARY: &str = r#"
#include <jni.h>
static volatile int *nowhere = (int *)16;
__attribute__((noinline)) void touch_nowhere(void) { *nowhere = 1; }
JNIEXPORT void JNICALL Java_Crashes_fault(JNIEnv *env, jclass class) { touch_nowhere(); }
"#;

struct Site {
    jdk: Jdk,
    scratch: Scratch,
}

/// How a run has ended.
#[derive(Debug)]
struct Ended {
    /// As a shell reports it.
    code: Option<i32>,
    stdout: String,
    stderr: String,
    pid: u32,
}

impl Site {
    fn new(label: &str) -> Site {
        let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new(label).unwrap());
        jdk.compile_text("Crashes", CRASHES, scratch.path()).unwrap();
        Site { jdk, scratch }
    }

    /// A native library that crashes.
    fn library(&self) -> PathBuf {
        let (source, library) = (self.file("crash.c"), self.file("libcrash.so"));
        std::fs::write(&source, LIBRARY).unwrap();
        let include = self.jdk.home.join("include");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-fno-optimize-sibling-calls", "-I"]);
        compiler.arg(&include).arg("-I").arg(include.join("linux"));
        assert!(compiler.arg("-o").arg(&library).arg(&source).status().unwrap().success());
        library
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Runs the program in the folder, in which its report will be.
    fn run(&self, collector: &str, options: &[&str], arguments: &[&str]) -> Ended {
        let setting = Setting {
            collector: collector.into(),
            local_memory: "25%".into(),
            memory_servers: 2,
            options: ["-Xmx64m"].iter().chain(options).map(|option| option.to_string()).collect(),
        };
        let mut command = Vm::find(Some(program("vm"))).unwrap().command(&setting, &self.jdk);
        command.args(["-cp", ".", "Crashes"]).args(arguments).current_dir(self.scratch.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let pid = child.id();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended {
            code: output.status.code().or(output.status.signal().map(|signal| 128 + signal)),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            pid,
        }
    }

    /// Runs a program that crashes, and takes its report away.
    fn report(&self, collector: &str, options: &[&str], arguments: &[&str]) -> String {
        let ended = self.run(collector, options, arguments);
        let what = format!("{collector} {options:?} {arguments:?}");
        assert_eq!(ended.code, Some(134), "{what}: {ended:?}");
        let file = self.file(&format!("hs_err_pid{}.log", ended.pid));
        let said = format!(
            "# An error report file with more information is saved as:\n# {}\n",
            file.display()
        );
        has_all(
            &ended.stdout,
            &["# A fatal error has been detected by the Java Runtime", &said],
            &what,
        );
        take(&file)
    }
}

fn take(file: &Path) -> String {
    let report =
        std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    std::fs::remove_file(file).unwrap();
    report
}

fn has_all(text: &str, parts: &[&str], what: &str) {
    for part in parts {
        assert!(text.contains(part), "{what} without {part:?}: {text}");
    }
}

/// What every report has, all of it written.
const SECTIONS: &[&str] = &[
    "S U M M A R Y",
    "T H R E A D",
    "Current thread (",
    "Native frames: (J=compiled",
    "Java frames: (J=compiled",
    "P R O C E S S",
    "Java Threads: ( => current thread )\n",
    "JavaThread \"Reference Handler\"",
    "Heap address: 0x",
    "local memory ",
    "CodeCache: size=",
    "Dynamic libraries:\n",
    "VM Arguments:\njvm_args: ",
    "[Global flags]\n",
    "MaxHeapSize  ",
    "Environment Variables:\nJAVA_HOME=",
    "Signal Handlers:\n",
    "S Y S T E M",
    "/proc/meminfo:\nMemTotal:",
    "Process Memory:\nVmPeak:",
    "vm_info: Farheap 64-Bit Server VM",
    "\nEND.\n",
];

#[test]
fn faults_of_java_code_are_reported_with_its_frames() {
    let site = Site::new("crash-java");
    for collector in ["g1", "mako"] {
        for (kind, option) in [
            ("interpreted", "-Xint"),
            ("interpreted", "-Xbatch"),
            ("compiled", "-Xbatch"),
            ("compiled", "-Xcomp"),
        ] {
            let report = site.report(collector, &[option], &[kind, "0"]);
            let what = format!("{collector} {kind} {option}");
            has_all(&report, SECTIONS, &what);
            has_all(
                &report,
                &[
                    "SIGSEGV (0xb) at pc=0x",
                    "siginfo: si_signo: 11 (SIGSEGV), si_code: 1 (SEGV_MAPERR), si_addr: 0x0000000000000000",
                    "\nRIP=0x",
                    "Top of Stack: (sp=0x",
                    "Instructions: (pc=0x",
                    "\n=>0x",
                    "JavaThread \"main\" [_thread_in_Java",
                    "Crashes.main([Ljava/lang/String;)V",
                    &format!("\n {collector} heap   total "),
                ],
                &what,
            );
            assert!(!report.contains("error occurred during error reporting"), "{what}: {report}");
            assert!(!report.contains("timeout occurred"), "{what}: {report}");
        }
        // The method itself is in one of two forms.
        let report = site.report(collector, &["-Xint"], &["interpreted", "0"]);
        has_all(&report, &["\nj  Crashes.write(Lsun/misc/Unsafe;J)V+"], collector);
        let options = ["-Xbatch", "-XX:CompileCommand=dontinline,Crashes::write"];
        let report = site.report(collector, &options, &["compiled", "64"]);
        assert!(
            report.contains("Crashes.write(Lsun/misc/Unsafe;J)V @ 0x"),
            "{collector}: {report}"
        );
        has_all(&report, &["si_addr: 0x0000000000000040"], collector);
    }
}

#[test]
fn faults_of_native_code_are_reported_with_the_frames_of_both() {
    let site = Site::new("crash-native");
    let library = site.library();
    for collector in ["g1", "mako"] {
        let report = site.report(collector, &[], &["native", library.to_str().unwrap()]);
        has_all(&report, SECTIONS, collector);
        has_all(
            &report,
            &[
                "# Problematic frame:\n# C  [libcrash.so+0x",
                "  touch_nowhere+0x",
                "  Java_Crashes_fault+0x",
                "\nj  Crashes.fault()V+0\n",
                "Crashes.callNative(I)V",
                "Crashes.main([Ljava/lang/String;)V",
                "JavaThread \"main\" [_thread_in_native",
                "/libcrash.so\n",
            ],
            collector,
        );
        assert!(!report.contains("error occurred during error reporting"), "{report}");
    }
}

#[test]
fn the_thread_has_its_whole_name() {
    let site = Site::new("crash-thread");
    let report = site.report("g1", &[], &["thread"]);
    has_all(&report, &["JavaThread \"the crashing thread\"", "\"main\" [_thread_in_native"], "it");
}

#[test]
fn options_say_where_the_report_is_and_what_follows() {
    let site = Site::new("crash-options");
    let crash = |options: &[&str]| site.run("g1", options, &["interpreted", "0"]);
    // Another file, which is replaced.
    std::fs::write(site.file("own.log"), "x".repeat(1 << 20)).unwrap();
    let ended = crash(&["-XX:ErrorFile=own.log", "-XX:OnError=echo after %p; ls own.log"]);
    assert_eq!(ended.code, Some(134), "{ended:?}");
    let expected = format!("\nafter {}\n", ended.pid);
    assert!(ended.stdout.contains(&expected) && ended.stdout.ends_with("\nown.log\n"), "{ended:?}");
    let report = take(&site.file("own.log"));
    assert!(report.starts_with("#\n# A fatal error") && report.ends_with("\nEND.\n"), "{report}");
    let ended = crash(&["-XX:ErrorFile=with-%p.log"]);
    take(&site.file(&format!("with-{}.log", ended.pid)));
    // No file.
    let ended = crash(&["-XX:+ErrorFileToStdout"]);
    has_all(&ended.stdout, &["T H R E A D", "\nEND.\n"], "stdout");
    let ended = crash(&["-XX:+ErrorFileToStderr"]);
    has_all(&ended.stderr, &["T H R E A D", "\nEND.\n"], "stderr");
    let ended = crash(&["-XX:+SuppressFatalErrorMessage"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(134), ""), "{ended:?}");
    // No signal.
    let ended = crash(&["-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=own.log"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    take(&site.file("own.log"));
    let left = std::fs::read_dir(site.scratch.path()).unwrap().flatten();
    let left: Vec<_> =
        left.filter(|file| file.path().extension() == Some("log".as_ref())).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_out_of_memory_error_is_a_crash_if_asked() {
    let site = Site::new("crash-memory");
    for collector in ["g1", "mako"] {
        let report = site.report(collector, &["-XX:+CrashOnOutOfMemoryError"], &["fill"]);
        has_all(&report, SECTIONS, collector);
        has_all(
            &report,
            &[
                "#  Internal Error (vm/src/",
                "#  fatal error: OutOfMemory encountered: Java heap space\n",
                "Crashes.main([Ljava/lang/String;)V",
            ],
            collector,
        );
    }
}
