//! Runs the conformance programs on our VM and compares them with the JDK's.
//!
//! Expected output is taken from the JDK's own VM in the same run. Every program runs under every
//! collector and share of local memory; those marked `// zeal` also with the collectors' zeal on.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;

use crate::harness::pool;
use crate::harness::process::{self, End, Run};
use crate::harness::progress::Progress;
use crate::harness::scratch::Scratch;
use crate::java::far_run::FarRun;
use crate::java::jdk::{self, Jdk};
use crate::java::vm::{Setting, Vm};
use crate::judge::directives::Directives;

/// Run the conformance programs on our VM and compare them with the JDK's VM
#[derive(Args)]
pub struct Options {
    /// Only programs whose `area/Name` contains one of these
    filter: Vec<String>,
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
    /// The folder of the programs
    #[arg(long, default_value = "workloads/conformance")]
    programs: PathBuf,
    /// Run the JDK's VM with its heap in remote memory, by far-run, instead of ours
    #[arg(long, conflicts_with_all = ["vm", "vm_option", "zeal_only"])]
    far_run: bool,
    /// Collectors to run [default: all that the VM has]
    #[arg(long, value_delimiter = ',')]
    gc: Vec<String>,
    /// Shares of local memory to run
    #[arg(long, value_delimiter = ',', default_value = "100%,25%")]
    local_memory: Vec<String>,
    #[arg(long, default_value_t = 2)]
    memory_servers: u32,
    /// Transport of our VM to its memory servers, as in its --transport
    #[arg(long)]
    transport: Option<String>,
    /// Maximum heap of programs that do not state one
    #[arg(long, default_value = "64m")]
    heap: String,
    /// The option that turns zeal on; empty: no zeal runs
    #[arg(long, default_value = "-XX:GcZeal=2000")]
    zeal: String,
    /// Only the zeal runs
    #[arg(long)]
    zeal_only: bool,
    /// More options for our VM (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
    /// Give every program this argument instead of its own (repeat for several)
    #[arg(long)]
    arg: Vec<String>,
    /// Number of programs that run concurrently
    #[arg(long, default_value_t = pool::default_threads())]
    jobs: usize,
    /// Time limit of a program on our VM, in seconds
    #[arg(long, default_value_t = 120)]
    timeout: u64,
    /// Run each program this many times
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// List the programs and end
    #[arg(long)]
    list: bool,
}

struct Program {
    /// `area/Name`.
    id: String,
    needs: Directives,
}

struct Failure {
    id: String,
    setting: String,
    text: String,
}

/// Compares every chosen program under every setting; true if all do what they do on the JDK's VM, and one ran.
pub fn run(options: &Options) -> io::Result<bool> {
    let (programs, files) = programs(options)?;
    if options.list {
        programs.iter().for_each(|program| println!("{}", program.id));
        return Ok(true);
    }
    let jdk = Jdk::find()?;
    let judged = Judged::find(options)?;
    let scratch = Scratch::new("conformance")?;
    let classes = scratch.folder("classes")?;
    jdk.compile(&files, &classes)?;
    let settings = settings(options, &judged, &jdk)?;
    let (mut expected, mut broken) = (HashMap::new(), 0);
    for (setting, _) in &settings {
        let reference = judged.reference(setting);
        if !expected.contains_key(reference) {
            let command = || judged.reference_command(reference, &jdk);
            let (runs, left_out) = expected_runs(&programs, &command, &classes, options)?;
            expected.insert(reference.to_string(), runs);
            broken += left_out;
        }
    }

    let mut jobs = Vec::new();
    for (setting, zeal) in &settings {
        let runs = &expected[judged.reference(setting)];
        for program in programs.iter().filter(|p| runs.contains_key(&p.id)) {
            if !zeal || program.needs.zeal {
                jobs.extend((0..options.repeat).map(|_| (setting, program)));
            }
        }
    }
    let mut progress = Progress::new(jobs.len());
    let mut failures = Vec::new();
    let judge = |(setting, program): &(&Setting, &Program)| {
        let limit = program.needs.limit.unwrap_or(Duration::from_secs(options.timeout));
        let run = judged
            .command(setting, &jdk)
            .and_then(|command| run_program(command, program, &classes, &options.heap, limit));
        match run {
            Ok(run) => difference(program, &expected[judged.reference(setting)][&program.id], &run),
            Err(error) => Some(format!("  cannot run: {error}\n")),
        }
    };
    pool::run(&jobs, options.jobs, judge, |(setting, program), difference| {
        progress.step(difference.is_none(), &program.id);
        if let Some(text) = difference {
            progress.message(&format!("FAILED {} ({setting})\n{text}", program.id));
            failures.push(Failure { id: program.id.clone(), setting: setting.to_string(), text });
        }
    });
    progress.finish();
    for (setting, _) in &settings {
        let name = setting.to_string();
        let total = jobs.iter().filter(|(s, _)| *s == setting).count();
        let failed = failures.iter().filter(|failure| failure.setting == name).count();
        if total > 0 {
            println!("{name:40} {:4} passed {failed:4} failed", total - failed);
        }
    }
    failures.sort_by(|a, b| (&a.id, &a.setting).cmp(&(&b.id, &b.setting)));
    for failure in &failures {
        let first = failure.text.lines().next().unwrap_or("").trim();
        println!("failed: {} ({}): {first}", failure.id, failure.setting);
    }
    let passed = jobs.len() - failures.len();
    println!("{passed} passed, {} failed, {broken} skipped", failures.len());
    Ok(failures.is_empty() && passed > 0)
}

/// The VM that is judged.
enum Judged {
    Ours(Vm),
    FarHotSpot(FarRun),
}

impl Judged {
    fn find(options: &Options) -> io::Result<Judged> {
        match options.far_run {
            true => FarRun::find().map(Judged::FarHotSpot),
            false => Vm::find(options.vm.clone()).map(Judged::Ours),
        }
    }

    fn collectors(&self, jdk: &Jdk) -> io::Result<Vec<String>> {
        match self {
            Judged::Ours(vm) => vm.collectors(jdk),
            Judged::FarHotSpot(_) => Ok(FarRun::collectors().map(str::to_string).collect()),
        }
    }

    /// The reference for a setting: HotSpot with its usual collector, and for HotSpot in far memory with the same
    /// one. Some programs ask what the collector has freed.
    fn reference<'a>(&self, setting: &'a Setting) -> &'a str {
        match self {
            Judged::Ours(_) => "",
            Judged::FarHotSpot(_) => &setting.collector,
        }
    }

    fn reference_command(&self, reference: &str, jdk: &Jdk) -> io::Result<Command> {
        match self {
            Judged::Ours(_) => Ok(jdk.java()),
            Judged::FarHotSpot(_) => FarRun::hotspot(jdk, reference),
        }
    }

    fn command(&self, setting: &Setting, jdk: &Jdk) -> io::Result<Command> {
        match self {
            Judged::Ours(vm) => Ok(vm.command(setting, jdk)),
            Judged::FarHotSpot(far_run) => far_run.command(setting, jdk, None),
        }
    }
}

fn programs(options: &Options) -> io::Result<(Vec<Program>, Vec<PathBuf>)> {
    let mut programs = Vec::new();
    let mut files = Vec::new();
    for file in jdk::sources(&options.programs)? {
        let relative = file.strip_prefix(&options.programs).expect("it was found there");
        let id = relative.with_extension("").display().to_string();
        if !options.filter.is_empty() && !options.filter.iter().any(|f| id.contains(f)) {
            continue;
        }
        let stem = file.file_stem().expect("a source has a name").to_string_lossy();
        let mut needs = Directives::parse(&stem, &std::fs::read_to_string(&file)?)
            .map_err(|error| io::Error::other(format!("{id}: {error}")))?;
        if !options.arg.is_empty() {
            needs.args = options.arg.clone();
        }
        programs.push(Program { id, needs });
        files.push(file);
    }
    if programs.is_empty() {
        return Err(io::Error::other("no program matches the filter"));
    }
    Ok((programs, files))
}

/// The settings of the matrix, and whether each is a zeal one.
fn settings(options: &Options, judged: &Judged, jdk: &Jdk) -> io::Result<Vec<(Setting, bool)>> {
    let collectors =
        if options.gc.is_empty() { judged.collectors(jdk)? } else { options.gc.clone() };
    let mut vm_options = options.vm_option.clone();
    if let Some(transport) = &options.transport {
        vm_options.extend(["--transport".into(), transport.clone()]);
    }
    let mut all = Vec::new();
    for collector in &collectors {
        for local_memory in &options.local_memory {
            let plain = Setting {
                collector: collector.clone(),
                local_memory: local_memory.clone(),
                memory_servers: options.memory_servers,
                options: vm_options.clone(),
            };
            let mut zealous = plain.clone();
            zealous.options.push(options.zeal.clone());
            if !options.zeal_only {
                all.push((plain, false));
            }
            // Zeal finds code that moves objects wrongly; less local memory adds time and no finding.
            if !options.zeal.is_empty() && !options.far_run && local_memory == "100%" {
                all.push((zealous, true));
            }
        }
    }
    Ok(all)
}

/// The runs of each program on the JDK's VM, and the number of programs that it does not run as they state. Those are
/// reported and left out: this machine lacks something that they need.
fn expected_runs(
    programs: &[Program],
    java: &(dyn Fn() -> io::Result<Command> + Sync),
    classes: &Path,
    options: &Options,
) -> io::Result<(HashMap<String, Run>, usize)> {
    let mut expected = HashMap::new();
    let mut broken = 0;
    let judge = |program: &Program| {
        let limit = program.needs.limit.unwrap_or(Duration::from_secs(60));
        run_program(java()?, program, classes, &options.heap, limit)
    };
    pool::run(programs, options.jobs, judge, |program, run| match run {
        Ok(run) if run.end == End::Exit(program.needs.exit) => {
            expected.insert(program.id.clone(), run);
        }
        Ok(run) => {
            broken += 1;
            let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
            eprintln!("skipped {}: the JDK's VM: {}\n{stderr}", program.id, run.end);
        }
        Err(error) => {
            broken += 1;
            eprintln!("skipped {}: {error}", program.id);
        }
    });
    if expected.is_empty() {
        return Err(io::Error::other("the JDK's own VM runs no program"));
    }
    Ok((expected, broken))
}

fn run_program(
    mut command: Command,
    program: &Program,
    classes: &Path,
    heap: &str,
    limit: Duration,
) -> io::Result<Run> {
    let needs = &program.needs;
    if !needs.vm.iter().any(|option| option.starts_with("-Xmx")) {
        command.arg(format!("-Xmx{heap}"));
    }
    command.args(&needs.vm).arg("-cp").arg(classes).arg(&needs.main_class).args(&needs.args);
    let scratch = Scratch::new("program")?;
    process::run(command, scratch.path(), &needs.stdin, limit)
}

/// The difference, ready to be shown; `None` if there is none.
fn difference(program: &Program, expected: &Run, actual: &Run) -> Option<String> {
    let needs = &program.needs;
    let mut text = String::new();
    if actual.end != expected.end {
        text += &format!("  {}, expected {}\n", actual.end, expected.end);
    }
    if needs.compare_stdout && expected.stdout != actual.stdout {
        text += &first_difference("stdout", &expected.stdout, &actual.stdout);
    }
    if needs.compare_stderr && expected.stderr != actual.stderr {
        text += &first_difference("stderr", &expected.stderr, &actual.stderr);
    } else if !text.is_empty() {
        let stderr = String::from_utf8_lossy(&actual.stderr);
        for line in stderr.lines().take(SHOWN_LINES) {
            text += &format!("  stderr: {line}\n");
        }
    }
    (!text.is_empty()).then_some(text)
}

fn first_difference(name: &str, expected: &[u8], actual: &[u8]) -> String {
    let (expected, actual) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(actual));
    let expected: Vec<&str> = expected.split('\n').collect();
    let actual: Vec<&str> = actual.split('\n').collect();
    let same = expected.iter().zip(&actual).take_while(|(a, b)| a == b).count();
    let mut text = format!("  {name} differs from line {}\n", same + 1);
    for line in expected.iter().skip(same).take(SHOWN_LINES) {
        text += &format!("  - {line}\n");
    }
    for line in actual.iter().skip(same).take(SHOWN_LINES) {
        text += &format!("  + {line}\n");
    }
    text
}

/// Lines of a difference, or of an error output, that are shown.
const SHOWN_LINES: usize = 8;
