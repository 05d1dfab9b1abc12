//! `make test-verbs`: RDMA over verbs, tried in a small virtual machine that has soft-RoCE.
//!
//! Needs programs that were built with the feature `verbs`, and QEMU; the kernel is downloaded once. Exit code 0:
//! all passed, or it was skipped, and why is said; 1: something failed; 2: it could not begin.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use crate::harness::progress::Progress;
use crate::harness::scratch::Scratch;
use crate::java::jdk::Jdk;
use crate::judge::guest::{Guest, Job, Outcome};

/// Test the transport over verbs in a virtual machine
#[derive(Args)]
pub struct Options {
    /// Run only jobs with one of these words in their names, and those that create the device
    only: Vec<String>,
    /// Print the output of every job
    #[arg(long)]
    verbose: bool,
}

/// Runs the jobs in the guest; true if none failed, or where there can be no guest.
pub fn run(options: &Options) -> io::Result<bool> {
    let guest = match Guest::prepare(MODULES) {
        Ok(guest) => guest,
        Err(error) => {
            println!("judge verbs: skipped: {error}");
            return Ok(true);
        }
    };
    Jdk::find()?;
    let programs = Programs::find()?;
    let mut jobs = programs.jobs();
    let wanted = |job: &Job| {
        let all = options.only.is_empty() || job.name == DEVICE;
        all || options.only.iter().any(|word| job.name.contains(word.as_str()))
    };
    jobs.retain(wanted);
    let limit = jobs.iter().map(|job| job.limit).sum::<Duration>() + BOOT_LIMIT;
    let mut progress = Progress::new(jobs.len());
    let mut began = Instant::now();
    let (outcomes, run) = guest.run(&jobs, limit, |number, outcome| {
        let (name, seconds) = (&jobs[number].name, began.elapsed().as_secs_f64());
        began = Instant::now();
        progress.message(&format!("{:6.1} s  {}: {name}", seconds, verdict(outcome)));
        progress.step(outcome.code == Some(0), name);
    })?;
    progress.finish();
    let failed: Vec<(&Job, &Outcome)> =
        jobs.iter().zip(&outcomes).filter(|(_, outcome)| outcome.code != Some(0)).collect();
    let all = jobs.iter().zip(&outcomes).filter(|_| options.verbose);
    for (job, outcome) in failed.iter().copied().chain(all) {
        println!("---- {}: {}\n{}", job.name, verdict(outcome), outcome.output.trim_end());
    }
    let console = String::from_utf8_lossy(&run.stdout);
    let trouble = KERNEL_TROUBLE.iter().any(|sign| console.contains(sign));
    if !failed.is_empty() || trouble {
        println!("---- the guest's console ({})\n{}", run.end, console.trim_end());
        println!("{}", String::from_utf8_lossy(&run.stderr).trim_end());
    }
    println!("judge verbs: {} of {} passed", jobs.len() - failed.len(), jobs.len());
    Ok(failed.is_empty() && !trouble)
}

fn verdict(outcome: &Outcome) -> String {
    match outcome.code {
        Some(0) => "passed".into(),
        Some(124 | 137) => "took too long".into(),
        Some(code) => format!("FAILED with {code}"),
        None => "NOT REACHED".into(),
    }
}

/// The jobs of the guest.
struct Programs {
    /// The folder of `vm`, `memory-server` and the runners.
    folder: PathBuf,
    unit_tests: PathBuf,
    processes: PathBuf,
    /// With the compiled [`HELLO`]; the guest sees it under another path.
    classes: PathBuf,
    _scratch: Scratch,
}

impl Programs {
    fn find() -> io::Result<Programs> {
        let own = std::env::current_exe()?.canonicalize()?;
        let folder = own.parent().map(Path::to_path_buf).unwrap_or_default();
        // In the build folder, which the guest sees, unlike temporary folders.
        let classes = folder.join("test-verbs-classes");
        let scratch = Scratch::new("test-verbs")?;
        let source = scratch.path().join("Hello.java");
        std::fs::write(&source, HELLO)?;
        std::fs::create_dir_all(&classes)?;
        Jdk::find()?.compile(&[source], &classes)?;
        let (unit_tests, processes) = (test_program("rdma")?, test_program("processes")?);
        Ok(Programs { folder, unit_tests, processes, classes, _scratch: scratch })
    }

    fn jobs(&self) -> Vec<Job> {
        let bin = self.folder.display();
        let (unit, processes) = (self.unit_tests.display(), self.processes.display());
        let hello = format!("-cp {} Hello", self.classes.display());
        let far = "--gc mako --local-memory 25% -Xmx64m";
        let job = |name: &str, seconds: u64, script: String| Job {
            name: name.into(),
            script: format!("set -e\n{script}"),
            limit: Duration::from_secs(seconds),
        };
        vec![
            job(
                "programs do not need the library to start",
                30,
                format!("! ldd {bin}/memory-server {bin}/libjvm.so | grep ibverbs"),
            ),
            job(
                "without a device it reports that",
                60,
                format!(
                    "code=0; {bin}/vm run {far} --transport verbs {hello} > /tmp/out 2>&1 || code=$?\n\
                     cat /tmp/out; test $code = 1; grep 'has no RDMA device' /tmp/out"
                ),
            ),
            job(
                DEVICE,
                30,
                "ip link set lo up\n\
                 ip link show dummy0 2> /dev/null || ip link add dummy0 type dummy\n\
                 ip address add 10.0.0.1/24 dev dummy0\n\
                 ip link set dummy0 mtu 4500 up\n\
                 rdma link add rxe0 type rxe netdev dummy0\n\
                 rdma link | grep ACTIVE"
                    .into(),
            ),
            job(
                "unit tests",
                120,
                format!("export FARHEAP_TEST_VERBS=1; {unit} conversation:: verbs::"),
            ),
            job("processes", 120, format!("{processes} --only verbs")),
            job(
                "a running server, with a token, at an address of the device",
                120,
                format!(
                    "(umask 077; head -c 32 /dev/urandom | base64 > /tmp/token)\n\
                     {bin}/memory-server --listen 10.0.0.1:7411 --token-file /tmp/token &\n\
                     server=$!; sleep 1\n\
                     run() {{ {bin}/vm run {far} --memory-server verbs:10.0.0.1:7411 \"$@\" {hello}; }}\n\
                     test \"$(run --token-file /tmp/token)\" = 'Hello, 499500'\n\
                     (umask 077; head -c 32 /dev/urandom | base64 > /tmp/wrong)\n\
                     ! run --token-file /tmp/wrong 2>&1 | grep Hello\n\
                     ! run 2>&1 | grep Hello\n\
                     kill -9 $server"
                ),
            ),
            job(
                "a low limit of locked memory is reported at the start",
                60,
                format!(
                    "code=0\n\
                     setpriv --inh-caps=-ipc_lock --bounding-set=-ipc_lock sh -c 'ulimit -l 16384; exec \"$@\"' sh \\\n\
                     {bin}/vm run {far} --transport verbs {hello} > /tmp/out 2>&1 || code=$?\n\
                     cat /tmp/out; test $code = 1; grep 'ulimit -l' /tmp/out"
                ),
            ),
            job(
                "no write is lost",
                120,
                format!("{bin}/judge torture --transport verbs --seconds 20"),
            ),
            job(
                "no write is lost with latency and limited bandwidth",
                120,
                format!(
                    "{bin}/judge torture --transport verbs --seconds 10 --pages 2048 --budget 15 \
                     --far-latency 200us --far-bandwidth 1gbit"
                ),
            ),
            job(
                "a program under Mako, compared with HotSpot",
                600,
                format!(
                    "{bin}/judge conformance --transport verbs --gc mako --local-memory 25% --zeal '' \
                     --programs workloads/graph --heap 32m --arg 20000 --arg 160"
                ),
            ),
            job(
                "a killed server ends the VM with one line",
                300,
                format!(
                    "{bin}/judge survive --replicas 1 --gc mako --runs 2 --timeout 200 \
                     --vm-option=--transport --vm-option=verbs 20000 80"
                ),
            ),
            job(
                "a killed server is survived with two copies",
                400,
                format!(
                    "{bin}/judge survive --replicas 2 --gc mako --runs 2 --timeout 200 \
                     --vm-option=--transport --vm-option=verbs 20000 80"
                ),
            ),
            job(
                "pages went through the device",
                30,
                "cd /sys/class/infiniband/rxe0/ports/1/hw_counters\n\
                 grep . sent_pkts rcvd_pkts; test $(cat sent_pkts) -gt 1000"
                    .into(),
            ),
        ]
    }
}

/// A test executable of the crate `rdma`, built with the feature.
fn test_program(target: &str) -> io::Result<PathBuf> {
    let output = Command::new("cargo")
        .args(["test", "--release", "--no-run", "-p", "rdma", "--features", "verbs"])
        .args(["--message-format", "json"])
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs = messages.filter_map(|message: serde_json::Value| {
        let is_it = message["target"]["name"] == target && message["profile"]["test"] == true;
        let program = message["executable"].as_str().filter(|_| is_it)?;
        Some(PathBuf::from(program))
    });
    programs.next().filter(|_| output.status.success()).ok_or_else(|| {
        io::Error::other(format!("cargo builds no test program {target} with the feature verbs"))
    })
}

/// The jobs that make the device. All other jobs but the first two need it.
const DEVICE: &str = "a soft-RoCE device";

/// A program that uses its heap a little.
const HELLO: &str = "public class Hello {
    public static void main(String[] args) {
        java.util.List<Integer> list = new java.util.ArrayList<>();
        for (int i = 0; i < 1000; i++) list.add(i);
        byte[][] pages = new byte[4000][];
        for (int i = 0; i < pages.length; i++) pages[i] = new byte[4096];
        System.out.println(\"Hello, \" + list.stream().mapToInt(i -> i).sum());
    }
}
";

/// Soft-RoCE with its checksum, a network device for it, and the modules of the shared folders.
const MODULES: &[&str] =
    &["virtio_pci", "9p", "9pnet_virtio", "crc32_generic", "dummy", "ib_uverbs", "rdma_rxe"];
/// How long the guest may take apart from its jobs.
const BOOT_LIMIT: Duration = Duration::from_secs(60);
/// Kernel messages that show that it is in trouble.
const KERNEL_TROUBLE: &[&str] = &["BUG:", "Oops", "WARNING:", "Kernel panic"];
