//! The suite of `workloads/suite`: its programs, and the result of one run of a program.
//!
//! A program prints a line for each iteration with its nanoseconds and at last a checksum. The steady state is
//! the last half of the iterations: by then hot methods have been compiled, by any VM's compiler.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::harness::process::{self, End};
use crate::harness::scratch::Scratch;
use crate::java::jdk::{self, Jdk};

/// The suite, compiled.
pub struct Suite {
    /// Names of the programs, sorted.
    pub programs: Vec<String>,
    classes: PathBuf,
    // Holds the classes until the suite is dropped.
    _scratch: Scratch,
}

/// How much a program is to do.
#[derive(Clone, Copy)]
pub struct Amount {
    pub iterations: usize,
    /// Work of one iteration, as a percentage of the default.
    pub size: usize,
    /// A run in which garbage is collected fails: the program alone is measured.
    pub without_collection: bool,
}

/// One run of one program.
#[derive(Debug, PartialEq)]
pub struct Iterations {
    pub ms: Vec<f64>,
    pub checksum: String,
}

impl Iterations {
    /// The last half, at least one.
    pub fn steady(&self) -> &[f64] {
        &self.ms[self.ms.len() / 2..]
    }
}

impl Suite {
    /// Compiles the programs in the folder `suite` of `workloads`.
    pub fn compile(workloads: &Path, jdk: &Jdk) -> io::Result<Suite> {
        let sources = jdk::sources(&workloads.join("suite"))?;
        let scratch = Scratch::new("suite")?;
        let classes = scratch.folder("classes")?;
        jdk.compile(&sources, &classes)?;
        let stems = sources.iter().filter_map(|source| source.file_stem()?.to_str());
        let programs: Vec<String> = stems.filter(|s| *s != HARNESS).map(str::to_string).collect();
        Ok(Suite { programs, classes, _scratch: scratch })
    }

    /// Runs `program` on `command`, a VM with its options. The error says in one line what went wrong.
    pub fn run(
        &self,
        mut command: Command,
        program: &str,
        amount: Amount,
        limit: Duration,
    ) -> Result<Iterations, String> {
        self.add_program(&mut command, program, amount);
        Suite::judge(command, amount, limit)
    }

    /// Adds the arguments that run `program` to `command`, a VM with its options.
    pub fn add_program(&self, command: &mut Command, program: &str, amount: Amount) {
        if amount.without_collection {
            command.arg("-Xlog:gc:stderr");
        }
        command.arg("-cp").arg(&self.classes).arg(format!("suite.{program}"));
        command.arg(amount.iterations.to_string()).arg(amount.size.to_string());
    }

    /// Runs a complete command. The error says in one line what went wrong.
    pub fn judge(command: Command, amount: Amount, limit: Duration) -> Result<Iterations, String> {
        let run = Scratch::new("program")
            .and_then(|scratch| process::run(command, scratch.path(), b"", limit))
            .map_err(|error| error.to_string())?;
        let stdout = String::from_utf8_lossy(&run.stdout);
        if run.end != End::Exit(0) {
            let stderr = String::from_utf8_lossy(&run.stderr);
            let last = stdout.lines().last().filter(|line| line.contains("instead of"));
            let why = last.or(stderr.lines().next()).unwrap_or("");
            let done = stdout.lines().count();
            return Err(format!("{} after {done} iterations: {why}", run.end));
        }
        if amount.without_collection {
            let log = String::from_utf8_lossy(&run.stderr);
            let collections = log.lines().filter(|line| is_collection(line)).count();
            if collections > 0 {
                return Err(format!("{collections} collections; it needs a larger heap"));
            }
        }
        parse(&stdout).filter(|found| found.ms.len() == amount.iterations).ok_or_else(|| {
            format!("the output is not that of the harness: {:?}", stdout.lines().last())
        })
    }
}

/// Is this line of the log about a collection?
fn is_collection(line: &str) -> bool {
    line.contains(" GC(")
}

/// Reads `iteration N NANOS` lines and the final `checksum HEX`.
pub fn parse(stdout: &str) -> Option<Iterations> {
    let mut ms = Vec::new();
    let mut lines = stdout.lines();
    loop {
        let line = lines.next()?;
        if let Some(checksum) = line.strip_prefix("checksum ") {
            let complete = lines.next().is_none();
            return complete.then(|| Iterations { ms, checksum: checksum.to_string() });
        }
        let (_, nanos) = line.strip_prefix("iteration ")?.split_once(' ')?;
        ms.push(nanos.parse::<u64>().ok()? as f64 / 1e6);
    }
}

/// The class that all programs share.
const HARNESS: &str = "Harness";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_and_checksum_are_read() {
        let text = "iteration 1 9000000\niteration 2 3000000\niteration 3 1500000\nchecksum ab12\n";
        let found = parse(text).unwrap();
        assert_eq!(found.ms, [9.0, 3.0, 1.5]);
        assert_eq!(found.checksum, "ab12");
        assert_eq!(found.steady(), [3.0, 1.5]);
    }

    #[test]
    fn collections_are_found_in_the_log() {
        let line = "[1.2s][info][gc] GC(0) Pause Full (Allocation Failure) 9M->1M(16M) 9.5ms";
        assert!(is_collection(line));
        assert!(!is_collection("[0.0s][info][gc] Using Mako"));
    }

    #[test]
    fn a_cut_or_foreign_output_is_not_taken() {
        for text in ["", "iteration 1 5\n", "iteration x\nchecksum 1\n", "hello\nchecksum 1\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(parse("iteration 1 5\nchecksum 1\nchecksum 2\n"), None);
    }
}
