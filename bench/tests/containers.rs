//! Programs in containers: limits of memory and CPUs, whose memory it is that servers hold, and filters of system
//! calls.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`), a JDK, and for filters a
//! C compiler. Groups are made where root may make them; elsewhere those tests print why they are skipped.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use programs::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Prints what the program may use, and with an argument keeps that many MiB and reads them all again.
const USES: &str = r#"
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

public class Uses {
    public static void main(String[] args) {
        OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.println("heap " + (Runtime.getRuntime().maxMemory() >> 20));
        System.out.println("memory " + (os.getTotalMemorySize() >> 20));
        System.out.println("cpus " + os.getAvailableProcessors());
        if (args.length > 0) {
            int[][] kept = new int[Integer.parseInt(args[0])][];
            for (int i = 0; i < kept.length; i++) {
                kept[i] = new int[(1 << 18) - 8];
                for (int j = 0; j < kept[i].length; j++) {
                    kept[i][j] = i;
                }
            }
            long sum = 0;
            for (int[] one : kept) {
                sum += one[0] + one[one.length - 1];
            }
            System.out.println("sum " + sum);
        }
    }
}
"#;

/// A control group of this test; removed when dropped, when its processes have ended.
struct Group {
    /// The folders of all hierarchies that it is in: one of version 2, or memory and CPU of version 1.
    folders: Vec<PathBuf>,
}

impl Group {
    /// `None`, with a line that says why, where no group can be made. The CPU limit is in percent of one CPU.
    fn make(label: &str, memory_mib: u64, cpu_percent: Option<u64>) -> Option<Group> {
        let made = Group::try_make(label, memory_mib, cpu_percent);
        made.map_err(|why| eprintln!("skipped: no control group can be made: {why}")).ok()
    }

    fn try_make(label: &str, memory_mib: u64, cpu_percent: Option<u64>) -> Result<Group, String> {
        let name = format!("farheap-test-{label}-{}", std::process::id());
        let top = Path::new("/sys/fs/cgroup");
        let bytes = (memory_mib << 20).to_string();
        let mut group = Group { folders: Vec::new() };
        if top.join("memory/memory.limit_in_bytes").exists() {
            let memory = group.add(top.join("memory").join(&name))?;
            write(memory.join("memory.limit_in_bytes"), &bytes)?;
            if let Some(percent) = cpu_percent {
                let cpu = group.add(top.join("cpu").join(&name))?;
                write(cpu.join("cpu.cfs_period_us"), "100000")?;
                write(cpu.join("cpu.cfs_quota_us"), &(percent * 1000).to_string())?;
            }
        } else {
            let own = group.add(top.join(&name))?;
            write(own.join("memory.max"), &bytes)?;
            // Nothing of it is to be hidden by swapping.
            let _ = write(own.join("memory.swap.max"), "0");
            if let Some(percent) = cpu_percent {
                write(own.join("cpu.max"), &format!("{} 100000", percent * 1000))?;
            }
        }
        Ok(group)
    }

    fn add(&mut self, folder: PathBuf) -> Result<PathBuf, String> {
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        self.folders.push(folder.clone());
        Ok(folder)
    }

    /// A command that runs a program in it.
    fn command(&self, path: &Path) -> Command {
        let mut enter = String::new();
        for folder in &self.folders {
            enter += &format!("echo $$ > {}/cgroup.procs || exit 97; ", folder.display());
        }
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{enter} exec \"$@\""), "sh"]).arg(path);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            let end = Instant::now() + Duration::from_secs(5);
            while fs::remove_dir(folder).is_err() && Instant::now() < end {
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn write(file: PathBuf, text: &str) -> Result<(), String> {
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// A server that listens under a name; it is killed when dropped.
struct Server {
    process: Child,
    name: String,
}

impl Server {
    fn start(mut command: Command, label: &str) -> Server {
        let name = format!("farheap-test-{label}-{}", std::process::id());
        command.args(["--listen", &format!("unix:{name}")]).stderr(Stdio::piped());
        let process = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(10);
        while !fs::read_to_string("/proc/net/unix").unwrap().contains(&format!("@{name}")) {
            assert!(Instant::now() < end, "no server listens at {name}");
            thread::sleep(Duration::from_millis(5));
        }
        Server { process, name }
    }

    fn address(&self) -> String {
        format!("unix:{}", self.name)
    }

    /// Ends it, and returns what it has said.
    fn end(mut self) -> String {
        let _ = self.process.kill();
        let mut stderr = self.process.stderr.take().unwrap();
        let _ = self.process.wait();
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut stderr, &mut text);
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn classes() -> Scratch {
    let scratch = Scratch::new("containers").unwrap();
    Jdk::find().unwrap().compile_text("Uses", USES, scratch.path()).unwrap();
    scratch
}

/// Standard output of a run that has succeeded.
fn succeeded(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {stderr}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_limits_of_a_group_bound_heap_and_cpus() {
    let Some(group) = Group::make("limits", 512, Some(100)) else { return };
    let classes = classes();
    let run = |options: &[&str]| {
        let mut command = group.command(&program("vm"));
        command.arg("run").args(options).arg("-cp").arg(classes.path()).arg("Uses");
        succeeded(&command.output().unwrap())
    };
    assert_eq!(run(&[]), "heap 128\nmemory 512\ncpus 1\n");
    let text = run(&["-XX:MaxRAMPercentage=50", "-XX:ActiveProcessorCount=3"]);
    assert_eq!(text, "heap 256\nmemory 512\ncpus 3\n");
    let text = run(&["-Xlog:os+container", "-XX:+PrintFlagsFinal"]);
    for line in
        ["Memory limit 536870912 bytes in", "CPU quota 1 in", "Memory 536870912 bytes, 1 CPUs"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    let parallel = text.lines().find(|line| line.contains("MaxHeapSize")).unwrap();
    assert!(parallel.contains("134217728"), "{parallel}");
    let text = run(&["-XX:-UseContainerSupport", "-Xmx64m"]);
    assert!(!text.contains("memory 512"), "{text}");
}

/// The program's memory is larger than its group. Where the server's pages counted for the group, the system would end
/// it.
#[test]
fn pages_of_a_server_outside_count_for_the_server() {
    let Some(group) = Group::make("server", 230, None) else { return };
    let classes = classes();
    let server = Server::start(Command::new(program("memory-server")), "outside");
    let stats = classes.path().join("stats.json");
    let mut command = group.command(&program("vm"));
    command.args(["run", "--gc", "g1", "-Xmx512m", "--local-memory", "64m", "--memory-server"]);
    command.arg(server.address()).arg("--stats").arg(&stats).arg("-cp").arg(classes.path());
    let text = succeeded(&command.args(["Uses", "350"]).output().unwrap());
    let sum: u64 = (0..350).map(|i| 2 * i).sum();
    assert!(text.ends_with(&format!("sum {sum}\n")), "{text}");
    let stats: serde_json::Value = serde_json::from_slice(&fs::read(stats).unwrap()).unwrap();
    let mib = |name: &str| stats["heap"]["memory"][name].as_u64().unwrap() >> 20;
    assert_eq!(mib("child_server_bytes"), 0, "{}", stats["heap"]["memory"]);
    assert!(mib("other_server_bytes") > 250, "{}", stats["heap"]["memory"]);
    assert!(mib("vm_bytes") < 230, "{}", stats["heap"]["memory"]);
}

#[test]
fn a_server_whose_group_is_full_refuses_and_the_program_ends_with_a_line() {
    let Some(group) = Group::make("full", 100, None) else { return };
    let classes = classes();
    let server = Server::start(group.command(&program("memory-server")), "full");
    let mut command = Command::new(program("vm"));
    command.args(["run", "--gc", "g1", "-Xmx512m", "--local-memory", "64m", "--memory-server"]);
    command.arg(server.address()).arg("-cp").arg(classes.path()).args(["Uses", "350"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let line = stderr.lines().find(|line| line.contains("has no more memory for this VM"));
    assert!(line.is_some_and(|line| line.contains("of 100 MiB are in use")), "{stderr}");
    assert!(server.end().contains("KiB more for a VM are refused"));
}

/// Prints the memory map of its process.
const MAPS: &str = r#"
import java.nio.file.Files;
import java.nio.file.Path;

public class Maps {
    public static void main(String[] args) throws Exception {
        System.out.print(Files.readString(Path.of("/proc/self/maps")));
    }
}
"#;

/// Addresses are reserved, not committed: where the system does not overcommit memory, it counts what can be written.
#[test]
fn a_large_heap_that_is_not_used_is_not_writable() {
    let scratch = Scratch::new("maps").unwrap();
    Jdk::find().unwrap().compile_text("Maps", MAPS, scratch.path()).unwrap();
    let far = ["g1", "serial", "shenandoah", "mako"].map(|gc| (gc, "-Xmx8g", "512m"));
    let local = ["g1", "serial", "shenandoah"].map(|gc| (gc, "-Xmx20g", "100%"));
    for (collector, heap, local_memory) in far.into_iter().chain(local) {
        let mut command = Command::new(program("vm"));
        command.args(["run", "--gc", collector, heap, "--local-memory", local_memory]);
        let maps = succeeded(&command.arg("-cp").arg(scratch.path()).arg("Maps").output().unwrap());
        let private = |line: &str| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let at = |text| u64::from_str_radix(text, 16).ok();
            rest.starts_with("rw-p").then_some(at(end)? - at(start)?)
        };
        let bytes: u64 = maps.lines().filter_map(private).sum();
        eprintln!("{collector} {heap} {local_memory}: {} MiB private and writable", bytes >> 20);
        assert!(bytes < 5 << 30, "{collector} {heap} {local_memory}: {} MiB", bytes >> 20);
    }
}

#[test]
fn a_filter_of_system_calls_leaves_the_device_or_gets_a_line() {
    let classes = classes();
    let deny = classes.path().join("deny");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/container-programs/deny.c");
    let compiled = Command::new("/usr/bin/cc").arg("-o").arg(&deny).arg(source).status();
    match compiled {
        Ok(status) => assert!(status.success()),
        Err(error) => return eprintln!("skipped: no C compiler: {error}"),
    }
    let run = |denied: &str, options: &[&str]| {
        let mut command = Command::new(&deny);
        command.arg(denied).arg(program("vm")).arg("run").args(options);
        command.arg("-Xmx64m").arg("-cp").arg(classes.path()).args(["Uses", "30"]);
        command.output().unwrap()
    };
    let far = ["--gc", "g1", "--local-memory", "25%"];
    let output = run("both", &far);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let lines: Vec<&str> = stderr.lines().filter(|line| line.contains("userfaultfd")).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    for words in ["seccomp profile", "/dev/userfaultfd", "--local-memory 100% --gc g1"] {
        assert!(lines[0].contains(words), "{words}: {stderr}");
    }
    assert!(succeeded(&run("both", &["--gc", "g1"])).contains("sum "));
    let device = fs::File::options().read(true).write(true).open("/dev/userfaultfd");
    match device {
        Ok(_) => assert!(succeeded(&run("call", &far)).contains("sum ")),
        Err(error) => eprintln!("skipped: /dev/userfaultfd: {error}"),
    }
}
