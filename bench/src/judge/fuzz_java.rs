//! Random programs on our VM and on HotSpot: `make fuzz-java`.
//!
//! A seed stands for one Java program and for one class file of random bytecode, as long as their generators do not
//! change; seeds are counted up from `--seed`. Every program must print the same and
//! end the same way in all modes of our VM as on HotSpot. One that does not is kept under `--out`, with its output.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;

use crate::fuzz::bytecode::{self, Limits};
use crate::fuzz::judge::{Judge, Mismatch, Mode};
use crate::fuzz::program::Program;
use crate::fuzz::reduce;
use crate::harness::pool;
use crate::harness::progress::Progress;
use crate::harness::scratch::Scratch;
use crate::java::compiler::Compiler;
use crate::java::jdk::Jdk;
use crate::java::vm::Vm;

/// Compare random programs on our VM with HotSpot
#[derive(Args)]
pub struct Options {
    /// The seed of the first program
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Programs of each kind
    #[arg(long, default_value_t = 100)]
    programs: u64,
    #[arg(long, value_enum, value_delimiter = ',', default_value = "java,bytecode")]
    kinds: Vec<Kind>,
    /// Modes of our VM: xint, default, xcomp, or NAME=OPTIONS such as 'zeal=-Xint -XX:GcZeal=1000'
    #[arg(long, value_delimiter = ',', default_value = "xint,default,xcomp")]
    modes: Vec<String>,
    /// Folder for programs whose results differ
    #[arg(long, default_value = "fuzz-failures")]
    out: PathBuf,
    /// Reduce each program whose results differ; takes minutes for each
    #[arg(long)]
    reduce: bool,
    /// Print the Java program of the first seed and end
    #[arg(long)]
    print: bool,
    /// Programs in one process
    #[arg(long, default_value_t = 10)]
    batch: usize,
    /// Number of processes that run concurrently
    #[arg(long, default_value_t = pool::default_threads())]
    jobs: usize,
    /// Time limit of one program, in seconds
    #[arg(long, default_value_t = 120)]
    timeout: u64,
    #[arg(long, default_value = "256m")]
    heap: String,
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
}

/// The kinds of generated programs.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Java programs, compiled by javac
    Java,
    /// Class files
    Bytecode,
}

/// Runs the programs of the seeds; true if all were judged and none differs.
pub fn run(options: &Options) -> io::Result<bool> {
    if options.print {
        print!("{}", java_program(options.seed).source());
        return Ok(true);
    }
    let modes: io::Result<Vec<Mode>> = options.modes.iter().map(|text| Mode::parse(text)).collect();
    let judge = Judge {
        jdk: Jdk::find()?,
        vm: Vm::find(options.vm.clone())?,
        modes: modes?,
        heap: options.heap.clone(),
        limit: Duration::from_secs(options.timeout),
    };
    let compiler = Compiler::start(&judge.jdk)?;
    let seeds: Vec<u64> = (options.seed..options.seed + options.programs).collect();
    let chunks = seeds.chunks(options.batch.max(1));
    let batches: Vec<(Kind, &[u64])> =
        chunks.flat_map(|seeds| options.kinds.iter().map(move |kind| (*kind, seeds))).collect();
    let mut progress = Progress::new(batches.len());
    let (mut different, mut broken) = (0, 0);
    let printing = Mutex::new(());
    let work = |(kind, seeds): &(Kind, &[u64])| {
        let batch = Batch::new(*kind, seeds)?;
        batch.run(&judge, &compiler, options)
    };
    pool::run(&batches, options.jobs, work, |(_, seeds), result| {
        let _guard = printing.lock();
        let label = format!("seeds {} to {}", seeds[0], seeds[seeds.len() - 1]);
        progress.step(result.as_ref().is_ok_and(Vec::is_empty), &label);
        match result {
            Ok(mismatches) => {
                different += mismatches.len();
                mismatches
                    .iter()
                    .for_each(|m| progress.message(&format!("DIFFERENT {}", m.summary())));
            }
            Err(error) => {
                broken += 1;
                progress.message(&format!("{label}: {error}"));
            }
        }
    });
    progress.finish();
    let modes: Vec<&str> = judge.modes.iter().map(|mode| mode.name.as_str()).collect();
    println!(
        "{} programs of each kind in modes {}: {different} differences, {broken} batches skipped",
        options.programs,
        modes.join(", ")
    );
    if different > 0 {
        println!("they are kept in {}", options.out.display());
    }
    Ok(different == 0 && broken == 0)
}

fn java_program(seed: u64) -> Program {
    Program::generate(&format!("F{seed}"), seed)
}

/// Programs that run in one process.
struct Batch {
    kind: Kind,
    seeds: Vec<u64>,
    names: Vec<String>,
    /// Sources, and classes.
    scratch: Scratch,
    classes: PathBuf,
}

impl Batch {
    fn new(kind: Kind, seeds: &[u64]) -> io::Result<Batch> {
        let letter = if kind == Kind::Java { 'F' } else { 'G' };
        let names = seeds.iter().map(|seed| format!("{letter}{seed}")).collect();
        let scratch = Scratch::new("fuzz")?;
        let classes = scratch.folder("classes")?;
        Ok(Batch { kind, seeds: seeds.to_vec(), names, scratch, classes })
    }

    fn run(
        &self,
        judge: &Judge,
        compiler: &Compiler,
        options: &Options,
    ) -> io::Result<Vec<Mismatch>> {
        let folder = self.scratch.folder("sources")?;
        let mut programs = Vec::new();
        if self.kind == Kind::Java {
            programs.extend(self.seeds.iter().map(|seed| java_program(*seed)));
        } else {
            std::fs::write(folder.join("Sink.java"), SINK)?;
            for (name, seed) in self.names.iter().zip(&self.seeds) {
                let (bytes, _) = bytecode::generate(name, *seed, &Limits::new());
                std::fs::write(self.classes.join(format!("{name}.class")), bytes)?;
            }
        }
        if self.names.len() > 1 {
            Judge::write_driver(&self.names, &folder)?;
        }
        reduce::compile(compiler, &programs.iter().collect::<Vec<_>>(), &folder, &self.classes)?;
        let found = judge.compare(&self.names, &self.classes)?;
        for mismatch in &found {
            self.keep(judge, compiler, mismatch, options)?;
        }
        Ok(found)
    }

    /// Writes a program, its classes and both outputs to a folder of its own.
    fn keep(
        &self,
        judge: &Judge,
        compiler: &Compiler,
        mismatch: &Mismatch,
        options: &Options,
    ) -> io::Result<()> {
        let folder = options.out.join(format!("{}-{}", mismatch.program, mismatch.mode));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("expected.txt"), &mismatch.expected.stdout)?;
        std::fs::write(folder.join("actual.txt"), &mismatch.actual.stdout)?;
        std::fs::write(folder.join("stderr.txt"), &mismatch.stderr)?;
        copy_files(&self.scratch.path().join("sources"), &folder)?;
        copy_files(&self.classes, &folder.join("classes"))?;
        let mode = judge.modes.iter().find(|mode| mode.name == mismatch.mode);
        let mode = mode.expect("it was found in this mode");
        let mut words = mismatch.after.clone();
        words.push(mismatch.program.clone());
        let repeat = judge.command_line(mode, &words);
        std::fs::write(folder.join("repeat.txt"), format!("{}\n\n{repeat}\n", mismatch.summary()))?;
        if !options.reduce || !mismatch.after.is_empty() {
            return Ok(());
        }
        let at = self.names.iter().position(|name| *name == mismatch.program);
        let seed = self.seeds[at.expect("it was in the batch")];
        let into = folder.join("reduced");
        std::fs::create_dir_all(&into)?;
        if self.kind == Kind::Java {
            let small = reduce::reduce(judge, compiler, &java_program(seed), mode)?;
            return reduce::compile(compiler, &[&small], &into, &into);
        }
        copy_files(&self.classes, &into)?;
        reduce::reduce_class(judge, &mismatch.program, seed, mode, &into).map(drop)
    }
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The methods that the generated classes call.
const SINK: &str = include_str!("../../java/Sink.java");
