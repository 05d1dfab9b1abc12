//! jtreg, the harness of the OpenJDK's tests. It runs on HotSpot, and starts the VM under test as its `java`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::harness::process::{self, End};
use crate::harness::scratch::Scratch;
use crate::java::jdk::Jdk;

/// The settings that all runs have in common.
pub struct Jtreg<'a> {
    pub jdk: &'a Jdk,
    /// Tests that run at a time.
    pub jobs: usize,
    /// Tests may take this many times as long as they say.
    pub timeout_factor: f64,
    /// Of tests of the class library that do not state one.
    pub heap: String,
    /// Of one run of all tests of a suite.
    pub limit: Duration,
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Such as `jdk/java/lang/String/Chars.java`, with `#name` where a file has several tests.
    pub id: String,
    pub passed: bool,
    /// jtreg's words; empty if it passed.
    pub error: String,
    pub wall_ms: u64,
}

impl Jtreg<'_> {
    /// Runs the tests of files below a suite, such as `test/jdk`, on the JDK at `home`. Each that ends, or that jtreg
    /// cannot begin, has an outcome; none have those that do not fit this VM (`@requires`), are for people only, or are
    /// known to be broken. True: jtreg came to the end.
    pub fn run(
        &self,
        suite: &Path,
        tests: &[&str],
        home: &Path,
        told: &mut dyn FnMut(Outcome),
    ) -> io::Result<bool> {
        if !Path::new(JAR).is_file() {
            // The status of a JVM that finds no file is that of jtreg when tests failed.
            let why = format!("jtreg is not installed: there is no {JAR} (Debian package jtreg7)");
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        let scratch = Scratch::new("jtreg")?;
        let (work, list) = (scratch.folder("work")?, scratch.path().join("tests"));
        let lines = tests.iter().map(|test| format!("{}\n", suite.join(test).display()));
        fs::write(&list, lines.collect::<String>())?;
        let mut command = self.jdk.java();
        command.arg("-jar").arg(JAR);
        // Not what a tester has to judge, and not what the list of known problems names.
        command.args(["-agentvm", "-automatic", "-ignore:quiet", "-verbose:summary", "-noreport"]);
        command.arg(format!("-exclude:{}", suite.join("ProblemList.txt").display()));
        command.arg(format!("-concurrency:{}", self.jobs));
        command.arg(format!("-timeoutFactor:{}", self.timeout_factor));
        command.arg(format!("-workDir:{}", work.display()));
        command.arg(format!("-testjdk:{}", home.display()));
        // The same class files for all VMs, sooner.
        command.arg(format!("-compilejdk:{}", self.jdk.home.display()));
        // Tests of HotSpot choose by the machine.
        if suite.ends_with("jdk") {
            command.arg(format!("-vmoption:-Xmx{}", self.heap));
        }
        command.arg(format!("@{}", list.display()));
        let run = process::run(command, scratch.path(), b"", self.limit)?;
        let name = if suite.ends_with("jdk") { "jdk" } else { "hotspot/jtreg" };
        let count = read_outcomes(&work, name, told)?;
        if count == 0 && !matches!(run.end, End::Exit(0..=3)) {
            let text = [run.stdout, run.stderr].concat();
            let text = String::from_utf8_lossy(&text).into_owned();
            return Err(io::Error::other(format!("jtreg: {}: {text}", run.end)));
        }
        Ok(matches!(run.end, End::Exit(_)))
    }
}

/// Reads the files that jtreg has left, one for each test. Returns how many there are.
fn read_outcomes(work: &Path, suite: &str, told: &mut dyn FnMut(Outcome)) -> io::Result<usize> {
    let (mut open, mut count) = (vec![work.to_path_buf()], 0);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path: PathBuf = entry?.path();
            // Tests leave links in their scratch folders, and whole trees.
            if path.is_dir() && !path.is_symlink() && !OTHER_FOLDERS.contains(&name_of(&path)) {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jtr") {
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                if let Some(outcome) = outcome(&text, suite) {
                    told(outcome);
                    count += 1;
                }
            }
        }
    }
    Ok(count)
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

/// The outcome in a test's file.
fn outcome(text: &str, suite: &str) -> Option<Outcome> {
    let field = |key: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let mut values = lines.filter(|(name, _)| *name == key);
        values.next().map(|(_, value)| unescaped(value))
    };
    let (test, status) = (field("test")?, field("execStatus")?);
    let elapsed = field("elapsed").unwrap_or_default();
    let wall_ms = elapsed.split(' ').next().and_then(|ms| ms.parse().ok()).unwrap_or(0);
    let passed = status.starts_with("Passed.");
    let error = if passed { String::new() } else { status };
    Some(Outcome { id: format!("{suite}/{test}"), passed, error, wall_ms })
}

/// The value in a file of Java properties, on one line.
fn unescaped(value: &str) -> String {
    let value = value.replace("\\n", " ").replace("\\t", " ");
    value.replace("\\\\", "\u{1}").replace('\\', "").replace('\u{1}', "\\")
}

/// Debian's package `jtreg7` installs it.
const JAR: &str = "/usr/share/jtreg/lib/jtreg.jar";

/// Below the work folder, but without results.
const OTHER_FOLDERS: [&str; 3] = ["classes", "scratch", "extraPropDefns"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_from_what_jtreg_leaves() {
        let text = "#Test Results (version 2)\n$file=/t/A.java\nelapsed=18424 0\\:00\\:18.424\n\
                    execStatus=Failed. Execution failed\\: `main' threw\\nException\n\
                    test=java/util/A.java\\#id1\n#section:main\ntest=other\n";
        let outcome = outcome(text, "jdk").unwrap();
        assert_eq!(outcome.id, "jdk/java/util/A.java#id1");
        assert_eq!((outcome.passed, outcome.wall_ms), (false, 18424));
        assert_eq!(outcome.error, "Failed. Execution failed: `main' threw Exception");
    }
}
