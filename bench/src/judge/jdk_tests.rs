//! The OpenJDK regression tests as an outside judge: `make jdk-tests`.
//!
//! 1. The Debian source package of openjdk-17 is downloaded into the cache folder, once.
//! 2. The tests that need no harness are selected (`jtreg`) and compiled, once.
//! 3. The JDK's own VM runs each; those that pass are the list. This is kept per JDK version.
//! 4. Our VM runs the list with the same command lines; it leaves a summary by folder and a file of failures.
//!
//! A test passes if it ends by itself with exit code 0. The JDK's VM interprets (`-Xint`), so that the
//! list holds no test that an interpreter cannot finish in time; ours runs as it does for users, or
//! as `--vm-option` says.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::harness::apt::Apt;
use crate::harness::cache;
use crate::harness::pool;
use crate::harness::process::{self, End, Run};
use crate::harness::progress::Progress;
use crate::harness::scratch::Scratch;
use crate::java::jdk::{self, Jdk};
use crate::java::vm::{Setting, Vm};
use crate::judge::jtreg::Test;

/// Run the OpenJDK 17 regression tests that need no harness on our VM
#[derive(Args)]
pub struct Options {
    /// Only tests whose id, such as jdk/java/lang/String/Chars, contains one of these
    filter: Vec<String>,
    /// Only tests listed in this file, one id per line
    #[arg(long)]
    from: Option<PathBuf>,
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
    /// The collector of our VM
    #[arg(long, default_value = "serial")]
    gc: String,
    #[arg(long, default_value = "100%")]
    local_memory: String,
    #[arg(long, default_value_t = 1)]
    memory_servers: u32,
    /// Maximum heap of tests that do not state one, for both VMs
    #[arg(long, default_value = "512m")]
    heap: String,
    /// More options for our VM, such as -Xint (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
    /// Number of tests that run concurrently
    #[arg(long, default_value_t = pool::default_threads())]
    jobs: usize,
    /// Time limit of a test on our VM, in seconds
    #[arg(long, default_value_t = 180)]
    timeout: u64,
    /// Time limit of a test on the JDK's VM, in seconds
    #[arg(long, default_value_t = 60)]
    hotspot_timeout: u64,
    /// Run only every n-th test of the list
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Keep the existing results and run the rest
    #[arg(long)]
    resume: bool,
    /// Make the JDK's list and end
    #[arg(long)]
    hotspot_only: bool,
    /// Print the list as an earlier run has made it, and end
    #[arg(long)]
    list: bool,
    /// The folder for results
    #[arg(long, default_value = "target/jdk-tests")]
    results: PathBuf,
}

/// One line of a results file.
#[derive(Clone, Serialize, Deserialize)]
struct Outcome {
    id: String,
    passed: bool,
    /// The first error line, or how it ended; empty if it passed.
    error: String,
    wall_ms: u64,
}

/// Runs the chosen tests; true if all passed.
pub fn run(options: &Options) -> io::Result<bool> {
    let jdk = Jdk::find()?;
    let cache = cache::folder()?;
    if options.list {
        let suite = Suite::find(&cache, &jdk)?.filter(|suite| suite.hotspot_log.exists());
        let suite = suite.ok_or_else(|| {
            io::Error::other("there is no list yet: `judge jdk-tests --hotspot-only` makes it")
        })?;
        let chosen = choose(&suite, &known_outcomes(&suite.hotspot_log), options)?;
        chosen.iter().for_each(|test| println!("{}", test.id));
        return Ok(true);
    }
    let suite = Suite::prepare(&cache, &jdk)?;
    let hotspot = suite.hotspot_outcomes(&jdk, options)?;
    let passed = suite.tests.iter().filter(|test| has_passed(&hotspot, test)).count();
    println!("{passed} of {} tests pass on the JDK's VM {}", suite.tests.len(), jdk.version);
    if options.hotspot_only {
        return Ok(true);
    }
    let list = choose(&suite, &hotspot, options)?;
    judge(&suite, &list, &jdk, options)
}

fn has_passed(outcomes: &HashMap<String, Outcome>, test: &Test) -> bool {
    outcomes.get(&test.id).is_some_and(|outcome| outcome.passed)
}

/// The tests that the JDK's VM passes and the options name.
fn choose<'a>(
    suite: &'a Suite,
    hotspot: &HashMap<String, Outcome>,
    options: &Options,
) -> io::Result<Vec<&'a Test>> {
    let mut list: Vec<&Test> =
        suite.tests.iter().filter(|test| has_passed(hotspot, test)).collect();
    if let Some(from) = &options.from {
        let wanted = std::fs::read_to_string(from)?;
        list.retain(|test| {
            wanted.lines().any(|line| line.split_whitespace().next() == Some(&test.id))
        });
    }
    if !options.filter.is_empty() {
        list.retain(|test| options.filter.iter().any(|filter| test.id.contains(filter.as_str())));
    }
    Ok(list.into_iter().step_by(options.every.max(1)).collect())
}

/// Runs our VM over `list` and reports. True if every test passed.
fn judge(suite: &Suite, list: &[&Test], jdk: &Jdk, options: &Options) -> io::Result<bool> {
    let vm = Vm::find(options.vm.clone())?;
    let setting = Setting {
        collector: options.gc.clone(),
        local_memory: options.local_memory.clone(),
        memory_servers: options.memory_servers,
        options: options.vm_option.clone(),
    };
    std::fs::create_dir_all(&options.results)?;
    let log = options.results.join(format!("{}.jsonl", options.gc));
    if !options.resume {
        File::create(&log)?;
    }
    let limit = Duration::from_secs(options.timeout);
    let outcomes = run_all(suite, list, &log, options, |test| {
        let scratch = Scratch::new("jdk-test")?;
        let command = suite.command(vm.command(&setting, jdk), test, jdk, &scratch, options)?;
        process::run(command, scratch.path(), b"", limit)
    })?;
    let chosen: Vec<&Outcome> = list.iter().filter_map(|test| outcomes.get(&test.id)).collect();
    report(&chosen, &options.results.join(format!("{}-failures.txt", options.gc)))
}

/// The downloaded, selected and compiled tests.
struct Suite {
    /// `test/` of the source package.
    root: PathBuf,
    classes: PathBuf,
    /// Results of the JDK's VM.
    hotspot_log: PathBuf,
    tests: Vec<Test>,
}

impl Suite {
    /// Downloads and compiles what is missing.
    fn prepare(cache: &Path, jdk: &Jdk) -> io::Result<Suite> {
        let mut suite = match Suite::find(cache, jdk)? {
            Some(suite) => suite,
            None => {
                eprintln!("downloading the source package of openjdk-17 (64 MB)");
                let source = cache.join(SOURCE);
                let version = download(cache, &source)?;
                std::fs::write(source.join(MARKER), version)?;
                Suite::find(cache, jdk)?.expect("the marker was written")
            }
        };
        suite.compile(jdk)?;
        Ok(suite)
    }

    /// The tests as they were downloaded, compiled or not; `None` before the download.
    fn find(cache: &Path, jdk: &Jdk) -> io::Result<Option<Suite>> {
        let source = cache.join(SOURCE);
        let marker = source.join(MARKER);
        if !marker.exists() {
            return Ok(None);
        }
        let version = std::fs::read_to_string(&marker)?;
        let root = source.join("test");
        let mut tests = Vec::new();
        for folder in FOLDERS {
            for path in jdk::sources(&root.join(folder))? {
                // A few sources are deliberately not UTF-8.
                let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
                tests.extend(Test::parse(&root, &path, &text));
            }
        }
        let name = |kind: &str| format!("{kind}-{}-{version}", jdk.version).replace('/', "_");
        Ok(Some(Suite {
            root,
            classes: cache.join(name("jdk-tests-classes")),
            hotspot_log: cache.join(name("jdk-tests-hotspot") + ".jsonl"),
            tests,
        }))
    }

    /// Compiles the tests that are not compiled yet, and drops the tests that do not compile.
    fn compile(&mut self, jdk: &Jdk) -> io::Result<()> {
        let mut missing = String::new();
        for test in &self.tests {
            let classes = self.classes_of(test);
            if !classes.join(".compiled").exists() && !classes.join(".failed").exists() {
                missing += &format!("{}\t{}\n", test.source.display(), classes.display());
            }
        }
        if !missing.is_empty() {
            let scratch = Scratch::new("compile")?;
            let (list, program) =
                (scratch.path().join("list"), scratch.path().join("CompileTests.java"));
            std::fs::write(&list, missing)?;
            std::fs::write(&program, include_str!("../../java/CompileTests.java"))?;
            let status = jdk.java().arg(&program).arg(&list).status()?;
            if !status.success() {
                return Err(io::Error::other("compiling the tests failed"));
            }
        }
        let compiled = |test: &Test| self.classes_of(test).join(".compiled").exists();
        self.tests = self.tests.iter().filter(|test| compiled(test)).cloned().collect();
        Ok(())
    }

    fn classes_of(&self, test: &Test) -> PathBuf {
        self.classes.join(&test.id)
    }

    /// The outcome of every test on the JDK's VM; measured where it is not known yet.
    fn hotspot_outcomes(
        &self,
        jdk: &Jdk,
        options: &Options,
    ) -> io::Result<HashMap<String, Outcome>> {
        let limit = Duration::from_secs(options.hotspot_timeout);
        let tests: Vec<&Test> = self.tests.iter().collect();
        run_all(self, &tests, &self.hotspot_log, options, |test| {
            let scratch = Scratch::new("jdk-test")?;
            let mut java = jdk.java();
            java.arg("-Xint");
            let command = self.command(java, test, jdk, &scratch, options)?;
            process::run(command, scratch.path(), b"", limit)
        })
    }

    /// Completes `command`, which names the VM and its own options, with the test's. The system
    /// properties are those that the JDK's harness sets.
    fn command(
        &self,
        mut command: Command,
        test: &Test,
        jdk: &Jdk,
        scratch: &Scratch,
        options: &Options,
    ) -> io::Result<Command> {
        let temporary = scratch.folder("tmp")?;
        let classes = self.classes_of(test);
        let folder = test.source.parent().unwrap_or(&self.root);
        if !test.options.iter().any(|option| option.starts_with("-Xmx")) {
            command.arg(format!("-Xmx{}", options.heap));
        }
        for (key, value) in [
            ("test.src", folder),
            ("test.src.path", folder),
            ("test.classes", &classes),
            ("test.class.path", &classes),
            ("test.jdk", &jdk.home),
            ("compile.jdk", &jdk.home),
            ("java.io.tmpdir", &temporary),
        ] {
            command.arg(format!("-D{key}={}", value.display()));
        }
        command.args(["-Dtest.vm.opts=", "-Dtest.java.opts=", "-Dtest.tool.vm.opts="]);
        command.args(&test.options).arg("-cp");
        command.arg(format!("{}:{}", classes.display(), folder.display()));
        command.arg(&test.main_class).args(&test.args);
        Ok(command)
    }
}

/// Downloads the source package and unpacks its tests into `target`; returns its version.
fn download(cache: &Path, target: &Path) -> io::Result<String> {
    let folder = cache.join("source");
    let version = Apt::new(cache)?.download_source("openjdk-17", &folder)?;
    let upstream = version.split('-').next().unwrap_or(&version);
    let archive = folder.join(format!("openjdk-17_{upstream}.orig.tar.xz"));
    std::fs::create_dir_all(target)?;
    let mut tar = Command::new("tar");
    tar.arg("-xJf").arg(&archive).arg("-C").arg(target).arg("--strip-components=1");
    tar.arg("--wildcards").args(FOLDERS.map(|folder| format!("*/test/{folder}")));
    if !tar.status()?.success() {
        return Err(io::Error::other(format!("cannot unpack {}", archive.display())));
    }
    Ok(version)
}

/// The outcomes in a results file; none if there is no such file.
fn known_outcomes(log: &Path) -> HashMap<String, Outcome> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    // The last line is cut short where an earlier run was killed; its test is run again.
    let outcomes = text.lines().flat_map(serde_json::from_str::<Outcome>);
    outcomes.map(|outcome| (outcome.id.clone(), outcome)).collect()
}

/// Runs those of `tests` that `log` has no line for, appends a line for each, and returns all.
fn run_all(
    suite: &Suite,
    tests: &[&Test],
    log: &Path,
    options: &Options,
    run: impl Fn(&Test) -> io::Result<Run> + Sync,
) -> io::Result<HashMap<String, Outcome>> {
    let mut known = known_outcomes(log);
    let missing: Vec<&Test> =
        tests.iter().filter(|test| !known.contains_key(&test.id)).copied().collect();
    if missing.is_empty() {
        return Ok(known);
    }
    eprintln!("{} tests to run; results go to {}", missing.len(), log.display());
    let file = OpenOptions::new().create(true).append(true).open(log)?;
    let file = Mutex::new(file);
    let mut progress = Progress::new(missing.len());
    let hide = suite.root.display().to_string();
    pool::run(
        &missing,
        options.jobs,
        |test| run(test),
        |test, result| {
            let outcome = outcome(test, result, &hide);
            progress.step(outcome.passed, &test.id);
            let line =
                serde_json::to_string(&outcome).expect("an outcome is plain text and numbers");
            let mut file = file.lock().expect("writers do not panic");
            if let Err(error) = writeln!(file, "{line}") {
                progress.message(&format!("{}: {error}", log.display()));
            }
            known.insert(outcome.id.clone(), outcome);
        },
    );
    progress.finish();
    Ok(known)
}

fn outcome(test: &Test, result: io::Result<Run>, hide: &str) -> Outcome {
    let id = test.id.clone();
    match result {
        Ok(run) => {
            let passed = run.end == End::Exit(0);
            let error = if passed { String::new() } else { first_error(&run, hide) };
            Outcome { id, passed, error, wall_ms: run.wall.as_millis() as u64 }
        }
        Err(error) => Outcome { id, passed: false, error: error.to_string(), wall_ms: 0 },
    }
}

/// The end of the run and the line that most likely says why.
fn first_error(run: &Run, hide: &str) -> String {
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling = |line: &&str| ERROR_WORDS.iter().any(|word| line.contains(word));
    let line = lines().find(telling).or_else(|| lines().next()).unwrap_or("");
    let line: String = line.replace(hide, "").chars().take(200).collect();
    format!("{}: {line}", run.end)
}

/// Prints the summary by folder and writes the failures. True if there are none.
fn report(outcomes: &[&Outcome], failures: &Path) -> io::Result<bool> {
    let mut folders: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut file = File::create(failures)?;
    for outcome in outcomes {
        let folder = outcome.id.split('/').take(3).collect::<Vec<_>>().join("/");
        let counts = folders.entry(folder).or_default();
        counts.0 += usize::from(outcome.passed);
        counts.1 += 1;
        if !outcome.passed {
            writeln!(file, "{}  {}", outcome.id, outcome.error)?;
        }
    }
    let line = |name: &str, passed: usize, total: usize| {
        let share = 100.0 * passed as f64 / total.max(1) as f64;
        println!("{name:32} {passed:5} of {total:5}  {share:5.1} %");
    };
    folders.iter().for_each(|(folder, (passed, total))| line(folder, *passed, *total));
    let passed = outcomes.iter().filter(|outcome| outcome.passed).count();
    line("all", passed, outcomes.len());
    println!("failures: {}", failures.display());
    Ok(passed == outcomes.len())
}

/// In the cache folder: the unpacked source package, and in it the file that says its version when it is complete.
const SOURCE: &str = "jdk-source";
const MARKER: &str = "VERSION";

/// Below `test/` of the source package.
const FOLDERS: [&str; 8] = [
    "jdk/java/lang",
    "jdk/java/util",
    "jdk/java/io",
    "jdk/java/nio",
    "jdk/java/math",
    "jdk/java/text",
    "jdk/java/time",
    "hotspot/jtreg/runtime",
];

const ERROR_WORDS: [&str; 5] = ["Exception", "Error", "panicked", "fatal", "rror:"];
