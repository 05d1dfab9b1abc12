//! Options of `java` that supervisors and scripts rely on do what they do under HotSpot: the reactions to an
//! `OutOfMemoryError`, to crashes and signals, and the ways to hand options over.
//!
//! Needs the release `vm` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use programs::program;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// Does what its first argument says.
const EFFECTS: &str = r#"
import java.util.ArrayList;
import java.util.List;

public class Effects {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "fill" -> {
                List<byte[]> kept = new ArrayList<>();
                try {
                    while (true) {
                        kept.add(new byte[1 << 18]);
                    }
                } catch (OutOfMemoryError expected) {
                    kept = null;
                    System.out.println("caught");
                }
            }
            case "length" -> {
                try {
                    System.out.println(new int[Integer.MAX_VALUE].length);
                } catch (OutOfMemoryError expected) {
                    System.out.println("caught");
                }
            }
            case "crash" -> {
                var field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
                field.setAccessible(true);
                ((sun.misc.Unsafe) field.get(null)).putInt(16L, 1);
            }
            case "signal" -> {
                Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
                String me = Long.toString(ProcessHandle.current().pid());
                new ProcessBuilder("kill", "-" + args[1], me).start().waitFor();
                Thread.sleep(60_000);
            }
            case "classes" -> {
                byte[] file = Effects.class.getResourceAsStream("Effects.class").readAllBytes();
                var kept = new java.util.ArrayList<Class<?>>();
                int count = 0;
                try {
                    for (; count < 5_000; count++) {
                        var made = java.lang.invoke.MethodHandles.lookup().defineHiddenClass(file, false);
                        if (args.length > 1) {
                            kept.add(made.lookupClass());
                        }
                    }
                    System.out.println("all");
                } catch (OutOfMemoryError expected) {
                    System.out.println(expected.getMessage() + " " + (count > 100));
                }
            }
            case "agent" -> {
                String address = "service:jmx:rmi:///jndi/rmi://localhost:" + args[1] + "/jmxrmi";
                var url = new javax.management.remote.JMXServiceURL(address);
                try (var connector = javax.management.remote.JMXConnectorFactory.connect(url)) {
                    var name = new javax.management.ObjectName("java.lang:type=Runtime");
                    Object pid = connector.getMBeanServerConnection().getAttribute(name, "Pid");
                    System.out.println(pid.equals(ProcessHandle.current().pid()));
                }
                System.exit(0);
            }
            default -> System.out.println(String.join(" ", args) + " " + System.getProperty("given"));
        }
    }
}
"#;

/// How a run has ended: its code, as a shell reports it, and its output.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs programs with `Effects` in the current folder.
struct Runner {
    scratch: Scratch,
}

impl Runner {
    fn new(name: &str) -> Runner {
        let scratch = Scratch::new(name).unwrap();
        Jdk::find().unwrap().compile_text("Effects", EFFECTS, scratch.path()).unwrap();
        Runner { scratch }
    }

    /// The command `vm` with these arguments.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("vm"));
        command.args(arguments).current_dir(self.scratch.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        ended(&mut self.command(arguments))
    }
}

fn ended(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().or(output.status.signal().map(|signal| 128 + signal));
    Ended { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn the_first_out_of_memory_error_runs_commands() {
    let runner = Runner::new("effects-commands");
    let commands = "-XX:OnOutOfMemoryError=echo first $((40 + 2)); echo second %p %%";
    for gc in ["serial", "g1", "shenandoah", "mako"] {
        let gc = format!("-XX:Collector={gc}");
        let ended = runner.run(&["run", &gc, "-Xmx32m", commands, "-cp", ".", "Effects", "fill"]);
        let lines: Vec<&str> = ended.stdout.lines().collect();
        assert_eq!(ended.code, Some(0), "{gc}: {ended:?}");
        assert_eq!(lines.iter().filter(|line| **line == "first 42").count(), 1, "{ended:?}");
        let second = lines.iter().find(|line| line.starts_with("second ")).expect(&ended.stdout);
        let pid = second.split(' ').nth(1).unwrap();
        assert!(pid.parse::<u32>().is_ok() && second.ends_with(" %"), "{second}");
        assert_eq!(lines.last(), Some(&"caught"));
        assert!(lines.contains(&"# java.lang.OutOfMemoryError: Java heap space"), "{ended:?}");
    }
}

#[test]
fn every_kind_of_out_of_memory_error_ends_the_process_if_asked() {
    let runner = Runner::new("effects-ends");
    for (what, why) in
        [("fill", "Java heap space"), ("length", "Requested array size exceeds VM limit")]
    {
        let run = |options: &[&str]| {
            let rest = ["-cp", ".", "Effects", what];
            runner.run(&[&["-Xmx32m"], options, &rest].concat())
        };
        let exit = run(&["-XX:+ExitOnOutOfMemoryError"]);
        let line = format!("Terminating due to java.lang.OutOfMemoryError: {why}\n");
        assert_eq!((exit.code, exit.stdout.as_str()), (Some(3), line.as_str()), "{exit:?}");
        let line = format!("Aborting due to java.lang.OutOfMemoryError: {why}\n");
        let crash = run(&["-XX:+CrashOnOutOfMemoryError", "-XX:+ExitOnOutOfMemoryError"]);
        assert_eq!(crash.code, Some(134), "{crash:?}");
        let error = format!("#  fatal error: OutOfMemory encountered: {why}\n");
        assert!(crash.stdout.starts_with(&line) && crash.stdout.contains(&error), "{crash:?}");
        let both = run(&["-XX:+ExitOnOutOfMemoryError", "-XX:OnOutOfMemoryError=echo told"]);
        assert!(both.code == Some(3) && both.stdout.contains("\ntold\nTerminating"), "{both:?}");
        let crash = run(&["-XX:+CrashOnOutOfMemoryError", "-XX:OnError=echo $((40 + 2))"]);
        assert!(crash.code == Some(134) && crash.stdout.ends_with("\n42\n"), "{crash:?}");
        assert_eq!(run(&[]).stdout, "caught\n");
    }
}

#[test]
fn a_fault_of_native_code_runs_commands() {
    let runner = Runner::new("effects-crash");
    for far in ["--local-memory=100%", "--local-memory=25%"] {
        let options = [far, "-Xmx64m", "-XX:OnError=echo crash of %p; echo and more"];
        let ended = runner.run(&[&options[..], &["-cp", ".", "Effects", "crash"]].concat());
        assert_eq!(ended.code, Some(134), "{ended:?}");
        let lines: Vec<&str> = ended.stdout.lines().collect();
        assert!(lines.iter().any(|line| line.starts_with("crash of ")), "{ended:?}");
        assert_eq!(lines.last(), Some(&"and more"));
    }
}

#[test]
fn signals_run_no_hooks_if_their_use_is_reduced() {
    let runner = Runner::new("effects-signals");
    // Jobs in the background inherit that some signals are ignored.
    let run = |options: &[&str], signal: &str| {
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(program("vm")).args(options);
        command.args(["-cp", ".", "Effects", "signal", signal]);
        let ended = ended(command.current_dir(runner.scratch.path()).stdin(Stdio::null()));
        (ended.code, ended.stdout)
    };
    for (signal, code) in [("HUP", 129), ("INT", 130), ("TERM", 143), ("QUIT", 131)] {
        for option in ["-Xrs", "-XX:+ReduceSignalUsage"] {
            assert_eq!(run(&[option], signal), (Some(code), String::new()), "{signal}");
        }
        if signal != "QUIT" {
            assert_eq!(run(&["-Xmx64m"], signal), (Some(code), "hook\n".to_string()));
        }
    }
}

#[test]
fn vm_is_java_if_its_first_argument_is_an_option() {
    let runner = Runner::new("effects-java");
    std::fs::write(runner.scratch.path().join("options"), "-Dgiven=file -cp .\n").unwrap();
    for arguments in [
        &["-Dgiven=file", "-cp", ".", "Effects", "-x", "run"][..],
        &["run", "-Dgiven=file", "-cp", ".", "Effects", "-x", "run"],
        &["@options", "Effects", "-x", "run"],
    ] {
        let ended = runner.run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "-x run file\n"), "{ended:?}");
    }
    let version = runner.run(&["-version"]);
    assert!(version.code == Some(0) && version.stderr.starts_with("openjdk version \"17."));
    let version = runner.run(&["--version"]);
    assert!(version.stdout.starts_with("openjdk 17."), "{version:?}");
    assert!(runner.run(&["version"]).stdout.contains("Farheap"));
    let unknown = runner.run(&["Effects"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("unknown command"), "{unknown:?}");
}

#[test]
fn options_come_from_variables_and_files() {
    let runner = Runner::new("effects-sources");
    let file = runner.scratch.path().join("vm-options");
    std::fs::write(&file, "-Dgiven=file -XX:+PrintCommandLineFlags").unwrap();
    let file = format!("-XX:VMOptionsFile={}", file.display());
    let run = |variable: &str, value: &str, options: &[&str]| {
        let all = [options, &["-cp", ".", "Effects", "x"]].concat();
        ended(runner.command(&all).env(variable, value))
    };
    let last = |ended: &Ended| ended.stdout.lines().last().unwrap_or_default().to_string();
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        let ended = run(variable, "-Dgiven='a b' -XX:+UseSerialGC", &[]);
        assert_eq!(last(&ended), "x a b", "{ended:?}");
        assert!(
            ended.stderr.contains(&format!("Picked up {variable}: -Dgiven='a b'")),
            "{ended:?}"
        );
    }
    let ended = run("JAVA_TOOL_OPTIONS", &file, &["-XX:+UseSerialGC"]);
    assert!(last(&ended) == "x file" && ended.stdout.contains("-XX:+UseSerialGC"), "{ended:?}");
    let ended = run("JDK_JAVA_OPTIONS", "-cp . Effects", &[]);
    assert!(
        ended.code == Some(1) && ended.stderr.contains("Cannot specify main class"),
        "{ended:?}"
    );
}

#[test]
fn flags_are_printed_in_the_form_of_java() {
    let runner = Runner::new("effects-flags");
    let ended =
        runner.run(&["-XX:+PrintFlagsFinal", "-Xmx48m", "-XX:MaxGCPauseMillis=7", "-version"]);
    let java = Command::new("java")
        .args([
            "-XX:+PrintFlagsFinal",
            "-Xmx48m",
            "-XX:MaxGCPauseMillis=7",
            "-XX:+UseG1GC",
            "-version",
        ])
        .output()
        .unwrap();
    let java = String::from_utf8(java.stdout).unwrap();
    // Of a flag that is set on the command line, all but the spaces must agree.
    let line = |text: &str, name: &str| {
        let wanted = text.lines().find(|line| line.split_whitespace().nth(1) == Some(name));
        wanted.unwrap_or_else(|| panic!("{name} is missing")).to_string()
    };
    let same = ["MaxHeapSize", "MaxGCPauseMillis", "UseTLAB", "AliasLevel", "UseParallelGC"];
    for name in same.into_iter().chain(["UseCompressedOops", "MaxDirectMemorySize"]) {
        assert_eq!(line(&ended.stdout, name), line(&java, name));
    }
    let names = |text: &str| {
        let names = text.lines().filter_map(|line| line.split_whitespace().nth(1));
        names.map(String::from).collect::<std::collections::HashSet<_>>()
    };
    let (ours, theirs) = (names(&ended.stdout), names(&java));
    let missing: Vec<_> = theirs.iter().filter(|name| !ours.contains(*name)).collect();
    assert!(missing.len() < 5 && theirs.len() > 400, "{missing:?}");
}

#[test]
fn what_the_start_prints_goes_to_a_file_as_well_and_not_to_stdout_if_asked() {
    let runner = Runner::new("effects-output");
    let unlock = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+PrintFlagsFinal"];
    let run =
        |options: &[&str]| runner.run(&[&unlock, options, &["-cp", ".", "Effects", "x"]].concat());
    let read = |name: &str| std::fs::read_to_string(runner.scratch.path().join(name));
    let plain = run(&[]);
    assert!(
        plain.stdout.contains(" MaxHeapSize ") && plain.stdout.ends_with("x null\n"),
        "{plain:?}"
    );
    let both = run(&["-XX:+LogVMOutput", "-XX:LogFile=both.log"]);
    let logged = read("both.log").unwrap();
    assert!(logged.lines().count() > 400, "{logged}");
    assert_eq!(both.stdout, format!("{logged}x null\n"));
    let only = run(&["-XX:-DisplayVMOutput", "-XX:+LogVMOutput", "-XX:LogFile=only_%p.log"]);
    assert_eq!((only.code, only.stdout.as_str()), (Some(0), "x null\n"), "{only:?}");
    let files = std::fs::read_dir(runner.scratch.path()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let named: Vec<_> = names.filter(|name| name.starts_with("only_")).collect();
    assert!(named.len() == 1 && !named[0].contains('%'), "{named:?}");
    assert!(read(&named[0]).unwrap().contains(" MaxHeapSize "));
    let refused = run(&["-XX:+LogVMOutput", "-XX:LogFile=none/x.log"]);
    assert_eq!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("warning: Cannot open log file"), "{refused:?}");
}

#[test]
fn what_has_no_effect_is_said_and_what_cannot_be_is_refused() {
    let runner = Runner::new("effects-classes");
    let run = |options: &[&str]| runner.run(&[options, &["-cp", ".", "Effects", "x"]].concat());
    let warning = "OpenJDK 64-Bit Server VM warning: ";
    for (option, said) in [
        ("-XX:+UseBiasedLocking", "Ignoring option UseBiasedLocking"),
        ("-XX:+UseParallelGC", "Option UseParallelGC: there is no such collector; g1 runs instead"),
        ("-XX:+UseZGC", "Option UseZGC: there is no such collector; shenandoah runs instead"),
        ("-Xlog:jit+compilation=debug", "Ignoring the log selection jit+compilation=debug"),
    ] {
        let ended = run(&[option]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "x null\n"), "{ended:?}");
        assert!(ended.stderr.starts_with(&format!("{warning}{said}")), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        for quiet in ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:-PrintWarnings"] {
            assert_eq!(run(&[option, quiet]).stderr, "", "{option} {quiet}");
        }
    }
    for (option, said) in [
        ("-XX:NoSuchOption=1", "Unrecognized VM option 'NoSuchOption=1'"),
        ("-Xshare:dump", "this VM makes and reads no class archives"),
        ("-XX:TieredStopAtLevel=9", "outside the allowed range [ 0 ... 4 ]"),
    ] {
        let ended = run(&[option]);
        assert!(ended.stderr.contains(said), "{ended:?}");
        let last = "Error: A fatal exception has occurred. Program will exit.";
        assert_eq!((ended.code, ended.stderr.lines().last()), (Some(1), Some(last)), "{ended:?}");
    }
}

#[test]
fn logs_go_to_files_that_are_rotated() {
    let runner = Runner::new("effects-log");
    let log = "-Xlog:gc*,startuptime:file=gc.log:uptime,pid,level,tags:filecount=3,filesize=1k";
    let ended = runner.run(&[log, "-Xmx32m", "-cp", ".", "Effects", "fill"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "caught\n"), "{ended:?}");
    let read = |name: &str| std::fs::read_to_string(runner.scratch.path().join(name));
    for name in ["gc.log", "gc.log.0", "gc.log.1", "gc.log.2"] {
        let text = read(name).expect(name);
        assert!(text.len() < 2048 && (name == "gc.log" || text.len() >= 1024), "{name}: {text}");
        for line in text.lines() {
            assert!(line.starts_with('[') && line.matches("][").count() >= 3, "{line}");
        }
    }
    assert!(read("gc.log.3").is_err());
    let ended = runner.run(&["-Xlog:exceptions", "-cp", ".", "Effects", "length"]);
    assert!(ended.stdout.contains("Exception <a 'java/lang/OutOfMemoryError'"), "{ended:?}");
    for (class, collector) in [("Always", "G1"), ("Never", "Serial")] {
        let class = format!("-XX:+{class}ActAsServerClassMachine");
        let options = [&class, "-XX:+PrintGC", "-Xlog:disable"];
        let ended = runner.run(&[&options[..], &["-cp", ".", "Effects", "x"]].concat());
        assert!(ended.stdout.contains(&format!("[gc] Using {collector}")), "{ended:?}");
    }
    let help = runner.run(&["-Xlog:help"]);
    assert!(help.code == Some(0) && help.stdout.contains("uptimenanos (un)"), "{help:?}");
    let wrong = runner.run(&["-Xlog:gc:file=x:foo", "-version"]);
    assert!(wrong.code == Some(1) && wrong.stderr.contains("Invalid decorator 'foo'"), "{wrong:?}");
}

#[test]
fn modules_of_the_boot_loader_are_patched() {
    let runner = Runner::new("effects-patches");
    let folder = runner.scratch.path();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let added = |package: &str, name: &str| format!("package {package}; public class {name} {{}}");
    write("base/java/util/Extra.java", &added("java.util", "Extra"));
    write("base/added/Package.java", &added("added", "Package"));
    let replaced = "package java.util.logging;
        public class ErrorManager { public String toString() { return \"patched\"; } }";
    write("log/java/util/logging/ErrorManager.java", replaced);
    let main = "public class Patched {
        public static void main(String[] names) throws Exception {
            for (String name : names) {
                Class<?> found = Class.forName(name);
                System.out.println(found.getModule() + \" \" + found.getConstructor().newInstance());
            }
        }
    }";
    write("Patched.java", main);
    let jdk = Jdk::find().unwrap();
    let compile = |arguments: &[&str]| {
        let status = jdk.javac().args(arguments).current_dir(folder).status();
        assert!(status.unwrap().success(), "javac {arguments:?}");
    };
    compile(&["Patched.java"]);
    let base = ["base/java/util/Extra.java", "base/added/Package.java"];
    compile(&[&["-d", "b", "--patch-module=java.base=base"], &base[..]].concat());
    let manager = "log/java/util/logging/ErrorManager.java";
    compile(&["-d", "l", "--patch-module=java.logging=log", manager]);
    let jar = ["--create", "--file=b.jar", "-C", "b", "."];
    let packed = Command::new(jdk.home.join("bin/jar")).args(jar).current_dir(folder).status();
    assert!(packed.unwrap().success());
    let names = ["java.util.Extra", "added.Package", "java.util.logging.ErrorManager"];
    for entries in ["b", "missing:b.jar"] {
        let base = format!("--patch-module=java.base={entries}");
        let opened = "--add-exports=java.base/added=ALL-UNNAMED";
        let options = [&base, "--patch-module=java.logging=l", opened, "-cp", ".", "Patched"];
        let ended = runner.run(&[&options[..], &names].concat());
        let lines: Vec<&str> = ended.stdout.lines().collect();
        assert_eq!((ended.code, lines.len()), (Some(0), 3), "{ended:?}");
        assert!(lines[0].starts_with("module java.base java.util.Extra@"), "{ended:?}");
        assert!(lines[1].starts_with("module java.base added.Package@"), "{ended:?}");
        assert_eq!(lines[2], "module java.logging patched");
    }
}

#[test]
fn classes_have_a_limit() {
    let runner = Runner::new("effects-metaspace");
    let run = |options: &[&str]| {
        let program = ["-cp", ".", "Effects", "classes", "kept"];
        runner.run(&[&["-XX:MaxMetaspaceSize=4m"], options, &program].concat())
    };
    let dropped = ["-XX:MaxMetaspaceSize=4m", "-cp", ".", "Effects", "classes"];
    let unloaded = runner.run(&dropped);
    assert_eq!((unloaded.code, unloaded.stdout.as_str()), (Some(0), "all\n"), "{unloaded:?}");
    let caught = run(&[]);
    assert_eq!((caught.code, caught.stdout.as_str()), (Some(0), "Metaspace true\n"), "{caught:?}");
    let exit = run(&["-XX:+ExitOnOutOfMemoryError"]);
    let line = "Terminating due to java.lang.OutOfMemoryError: Metaspace\n";
    assert_eq!((exit.code, exit.stdout.as_str()), (Some(3), line), "{exit:?}");
}

/// What classes took before and after a collection, in K, by a line of its log.
fn metaspace(line: &str) -> Option<(u64, u64)> {
    let (before, after) = line.split_once(" Metaspace: ")?.1.split_once("->")?;
    let number = |text: &str| text.split_once("K(")?.0.parse().ok();
    Some((number(before)?, number(after)?))
}

#[test]
fn collections_say_what_classes_take() {
    let runner = Runner::new("effects-class-log");
    for gc in ["serial", "g1", "shenandoah", "mako"] {
        let (limit, gc) = ("-XX:MaxMetaspaceSize=4m", format!("-XX:Collector={gc}"));
        let log = "-Xlog:gc*,safepoint";
        let ended = runner.run(&["run", limit, &gc, log, "-cp", ".", "Effects", "classes"]);
        assert!(ended.code == Some(0) && ended.stdout.ends_with("all\n"), "{ended:?}");
        // Under every collector, with the times of a pause.
        let is_pause = |line: &str| line.contains("[safepoint") && line.contains("At safepoint: ");
        assert!(ended.stdout.lines().any(is_pause), "{gc}: {ended:?}");
        let is_about_classes = |line: &&str| line.contains("[gc,metaspace");
        let lines: Vec<&str> = ended.stdout.lines().filter(is_about_classes).collect();
        let changes: Vec<_> = lines.iter().map(|line| metaspace(line).expect(line)).collect();
        assert!(changes.iter().any(|(before, after)| before > after), "{gc}: {ended:?}");
        for line in lines {
            let parts = [" GC(", "K) NonClass: ", "K) Class: "];
            assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        }
    }
}

#[test]
fn properties_start_the_management_agent() {
    let runner = Runner::new("effects-agent");
    // Another process may take the port in between: then there is another try.
    let try_once = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        drop(listener);
        let agent = "-Dcom.sun.management.jmxremote";
        runner.run(&[
            &format!("{agent}.port={port}"),
            &format!("{agent}.authenticate=false"),
            &format!("{agent}.ssl=false"),
            &format!("{agent}.host=127.0.0.1"),
            "-Djava.rmi.server.hostname=127.0.0.1",
            "-cp",
            ".",
            "Effects",
            "agent",
            &port,
        ])
    };
    let worked = (0..3).map(|_| try_once()).find(|ended| ended.code == Some(0));
    assert_eq!(worked.expect("the agent can be reached").stdout, "true\n");
    let wrong = runner.run(&["-Dcom.sun.management.jmxremote.port=x", "-cp", ".", "Effects", "x"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(1), ""), "{wrong:?}");
    assert!(
        wrong.stderr.contains("Invalid com.sun.management.jmxremote.port number: x"),
        "{wrong:?}"
    );
}
